/* SPDX-License-Identifier: Apache-2.0 */
#include "view_report.h"

#include "caption.h"
#include "json.h"
#include "picture.h"
#include "safe_text.h"
#include "sheet_file.h"

#include <inttypes.h>
#include <stdio.h>

/* Returns the full path of the sample's file, if known. */
static const char *file_of(const struct view *view, const struct view_row *shown,
                           sluice_sample_info *sample, const struct reason *reason)
{
    const bool known =
        sluice_dataset_get_sample(view->dataset, (uint64_t)shown->sample, sample, NULL) >= 0;
    return known ? sample->file : reason->file;
}

static void print_captions(const struct view *view)
{
    if (view->steps != NULL) {
        char text[CAPTION_STEPS_BYTES];
        caption_steps(view, text, sizeof text);
        printf("%s\n", SAFE(text));
    }
    for (uint32_t row = 0; row < view->count; row++) {
        char text[CAPTION_BYTES];
        caption_row(view, row, text, sizeof text);
        printf("%s\n", SAFE(text));
        for (uint32_t i = 0; i < view->value_count; i++) {
            printf("    %s: %s\n", SAFE(view->values[i].column), SAFE(view_text(view, row, i)));
        }
    }
}

static void print_reasons(const struct view *view)
{
    for (uint32_t row = 0; row < view->count; row++) {
        const struct view_row *shown = &view->rows[row];
        sluice_sample_info sample = SLUICE_SAMPLE_INFO_INIT;
        struct reason reason;
        if (shown->status != SLUICE_ROW_OK) {
            if (!reasons_find(&view->reasons, shown->sample, &reason)) {
                reason = (struct reason){.text = "no reason is known"};
            }
            printf("bad: sample %" PRId64 ", %s: %s\n", shown->sample,
                   SAFE(file_of(view, shown, &sample, &reason)), SAFE(reason.text));
        }
    }
}

static void print_text(const struct view *view)
{
    const struct layout *layout = &view->layout;
    printf("%" PRIu32 " samples x %" PRIu64 " draws in %s", view->count, view->args->draws,
           SAFE(view->args->out));
    if (sheet_file_is_page(view->args->out)) {
        printf("\n");
    } else {
        printf(" (%" PRIu32 " x %" PRIu32 " pixels)\n", layout->width, layout->height);
        print_captions(view);
    }
    print_reasons(view);
}

static void write_reason(const struct view *view, struct json *json, const struct view_row *shown)
{
    sluice_sample_info sample = SLUICE_SAMPLE_INFO_INIT;
    struct reason reason;
    if (shown->status == SLUICE_ROW_OK || !reasons_find(&view->reasons, shown->sample, &reason)) {
        json_null(json, "error");
        return;
    }
    json_open_object(json, "error");
    json_text(json, "status", reason.status);
    json_text(json, "file", file_of(view, shown, &sample, &reason));
    json_signed(json, "offset", reason.offset);
    json_text(json, "text", reason.text);
    json_close_object(json);
}

/* Writes the size; a page has none. */
static void write_size(const struct view *view, struct json *json)
{
    if (sheet_file_is_page(view->args->out)) {
        json_null(json, "width");
        json_null(json, "height");
    } else {
        json_unsigned(json, "width", view->layout.width);
        json_unsigned(json, "height", view->layout.height);
    }
}

static void write_box(struct json *json, const struct layout_box *box)
{
    json_unsigned(json, "left", box->left);
    json_unsigned(json, "top", box->top);
    json_unsigned(json, "width", box->width);
    json_unsigned(json, "height", box->height);
}

/* Writes the positions of a row's images in the PNG. */
static void write_tiles(const struct view *view, struct json *json, uint32_t row)
{
    if (view->args->source) {
        const struct layout_box whole = picture_source_place(view, row);
        json_open_object(json, "source");
        write_box(json, &whole);
        json_close_object(json);
    }
    json_open_array(json, "tiles");
    for (uint32_t i = 0; i < view->args->draws * view->picture_count; i++) {
        const struct sheet_place at = {row, i / view->picture_count, i % view->picture_count};
        const struct layout_box box = picture_place(view, at);
        json_open_object(json, NULL);
        json_unsigned(json, "draw", at.draw);
        json_text(json, "picture", view->pictures[at.number]);
        write_box(json, &box);
        json_close_object(json);
    }
    json_close_array(json);
}

static void write_row(const struct view *view, struct json *json, uint32_t row)
{
    const struct view_row *shown = &view->rows[row];
    json_open_object(json, NULL);
    json_signed(json, "sample", shown->sample);
    json_signed(json, "label", shown->label);
    json_text(json, "class", sluice_dataset_class_name(view->dataset, shown->label));
    json_bool(json, "bad", shown->status != SLUICE_ROW_OK);
    write_reason(view, json, shown);
    json_open_object(json, "values");
    for (uint32_t i = 0; i < view->value_count; i++) {
        json_text(json, view->values[i].column, view_text(view, row, i));
    }
    json_close_object(json);
    if (!sheet_file_is_page(view->args->out)) {
        write_tiles(view, json, row);
    }
    json_close_object(json);
}

static void print_json(const struct view *view)
{
    struct json json;
    json_begin(&json, stdout);
    json_open_object(&json, NULL);
    json_text(&json, "file", view->args->out);
    write_size(view, &json);
    json_unsigned(&json, "draws", view->args->draws);
    json_open_array(&json, "pictures");
    for (uint32_t i = 0; i < view->picture_count; i++) {
        json_text(&json, NULL, view->pictures[i]);
    }
    json_close_array(&json);
    json_open_array(&json, "steps");
    for (uint64_t i = 1; view->steps != NULL && i < view->args->draws; i++) {
        json_text(&json, NULL, view->steps[i - 1]);
    }
    json_close_array(&json);
    json_open_array(&json, "samples");
    for (uint32_t row = 0; row < view->count; row++) {
        write_row(view, &json, row);
    }
    json_close_array(&json);
    json_close_object(&json);
}

void view_report_print(const struct view *view)
{
    if (view->args->json) {
        print_json(view);
    } else {
        print_text(view);
    }
}
