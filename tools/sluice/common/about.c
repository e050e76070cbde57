/* SPDX-License-Identifier: Apache-2.0 */
#include "about.h"

#include "report.h"
#include "safe_text.h"

#include <inttypes.h>
#include <stdio.h>

void about_warn(const sluice_dataset *dataset, const char *path)
{
    const char *text = sluice_dataset_get_warning(dataset, 0);
    for (uint32_t i = 1; text != NULL; i++) {
        report_note("warning: %s: %s", path, text);
        text = sluice_dataset_get_warning(dataset, i);
    }
}

void about_print_left_out(const sluice_dataset *dataset)
{
    sluice_left_out found = SLUICE_LEFT_OUT_INIT;
    for (uint32_t i = 0; sluice_dataset_get_left_out(dataset, i, &found) == SLUICE_OK; i++) {
        printf("%-12s %" PRIu64 " %s%s%s\n", i == 0 ? "left out" : "", found.count,
               SAFE(found.reason), found.example[0] != '\0' ? ", the first " : "",
               SAFE(found.example));
    }
}

void about_write_left_out(struct json *json, const sluice_dataset *dataset)
{
    sluice_left_out found = SLUICE_LEFT_OUT_INIT;
    json_open_array(json, "left_out");
    for (uint32_t i = 0; sluice_dataset_get_left_out(dataset, i, &found) == SLUICE_OK; i++) {
        json_open_object(json, NULL);
        json_text(json, "reason", found.reason);
        json_unsigned(json, "count", found.count);
        json_bool(json, "images", found.images != 0);
        json_text(json, "example", found.example[0] != '\0' ? found.example : NULL);
        json_close_object(json);
    }
    json_close_array(json);
}

void about_write_warnings(struct json *json, const sluice_dataset *dataset)
{
    json_open_array(json, "warnings");
    const char *text = sluice_dataset_get_warning(dataset, 0);
    for (uint32_t i = 1; text != NULL; i++) {
        json_text(json, NULL, text);
        text = sluice_dataset_get_warning(dataset, i);
    }
    json_close_array(json);
}

/* Writes a word for a number other than 0; nothing for an unknown one. */
static void write_word(struct json *json, const char *key, int32_t number, const char *const *words,
                       int32_t count)
{
    if (number > 0 && number <= count) {
        json_text(json, key, words[number - 1]);
    }
}

#define WRITE_WORD(json, field, member, words) \
    write_word(json, #member, (field)->member, words, (int32_t)(sizeof(words) / sizeof((words)[0])))

void about_write_meaning(struct json *json, const sluice_field *field)
{
    static const char *const roles[] = {"boxes", "points", "shapes", "mask", "width", "height"};
    static const char *const formats[] = {"xyxy", "xywh", "cxcywh"};
    static const char *const units[] = {"relative", "pixels", "indices"};
    static const char *const ways_up[] = {"stored", "upright", "by_size"};
    char words[8];
    sluice_field_get_meaning(field, words, sizeof words);
    if (words[0] == '\0') {
        return; /* nothing is known */
    }
    json_open_object(json, "meaning");
    WRITE_WORD(json, field, role, roles);
    WRITE_WORD(json, field, box_format, formats);
    WRITE_WORD(json, field, coordinates, units);
    WRITE_WORD(json, field, orientation, ways_up);
    if (field->per_box != 0) {
        json_bool(json, "per_box", true);
    }
    if (field->of[0] != '\0') {
        json_text(json, "of", field->of);
    }
    json_close_object(json);
}
