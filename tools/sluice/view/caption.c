/* SPDX-License-Identifier: Apache-2.0 */
#include "caption.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { KEY_SHOWN = 480 };

void caption_sheet(const struct view *view, char *text, size_t bytes)
{
    const uint64_t draws = view->args->draws;
    const char *plural = view->samples == 1 ? "" : "s";
    int used = snprintf(text, bytes, "%" PRIu32 " of %" PRIu64 " sample%s", view->count,
                        view->samples, plural);
    if (view->steps != NULL) {
        snprintf(text + used, bytes - (size_t)used, ", after each step of epoch 0");
    } else if (draws > 1) {
        snprintf(text + used, bytes - (size_t)used, ", in epochs 0 to %" PRIu64, draws - 1);
    }
}

void caption_title(const struct view *view, uint32_t row, char *text, size_t bytes)
{
    const struct view_row *shown = &view->rows[row];
    const char *name = sluice_dataset_class_name(view->dataset, shown->label);
    char label[24] = "";
    if (shown->label >= 0) {
        snprintf(label, sizeof label, "  %" PRId64, shown->label);
    }
    snprintf(text, bytes, "#%" PRId64 "%s%s%.120s%s", shown->sample, label, name == NULL ? "" : " ",
             name == NULL ? "" : name, shown->status == SLUICE_ROW_OK ? "" : "  BAD SAMPLE");
}

void caption_key(const struct view *view, uint32_t row, char *text, size_t bytes)
{
    sluice_sample_info sample = {.struct_size = sizeof sample};
    const uint64_t number = (uint64_t)view->rows[row].sample;
    text[0] = '\0';
    if (sluice_dataset_get_sample(view->dataset, number, &sample, NULL) >= 0) {
        const size_t length = strlen(sample.key);
        snprintf(text, bytes, "%s", sample.key + (length > KEY_SHOWN ? length - KEY_SHOWN : 0));
    }
}

void caption_row(const struct view *view, uint32_t row, char *text, size_t bytes)
{
    caption_title(view, row, text, bytes);
    const size_t used = strlen(text);
    if (used + 2 < bytes) {
        memcpy(text + used, "  ", 3);
        caption_key(view, row, text + used + 2, bytes - used - 2);
    }
}

void caption_reason(const struct view *view, uint32_t row, char *text, size_t bytes)
{
    const struct view_row *shown = &view->rows[row];
    struct reason reason;
    text[0] = '\0';
    if (shown->status != SLUICE_ROW_OK && reasons_find(&view->reasons, shown->sample, &reason)) {
        snprintf(text, bytes, "%s: %s", reason.status, reason.text);
    }
}

void caption_tile(const struct view *view, uint64_t draw, uint32_t picture, char *text,
                  size_t bytes)
{
    const bool several = view->picture_count > 1;
    const char *name = several ? view->pictures[picture] : "";
    text[0] = '\0';
    if (view->steps != NULL) {
        snprintf(text, bytes, "%" PRIu64 " %s", draw,
                 draw > 0 ? view->steps[draw - 1] : "the image");
    } else if (view->args->draws > 1) {
        snprintf(text, bytes, "epoch %" PRIu64 "%s%s", draw, several ? ": " : "", name);
    } else {
        snprintf(text, bytes, "%s", name);
    }
}

void caption_steps(const struct view *view, char *text, size_t bytes)
{
    size_t used = (size_t)snprintf(text, bytes, "0 the image");
    for (uint64_t i = 1; i < view->args->draws && used < bytes; i++) {
        used +=
            (size_t)snprintf(text + used, bytes - used, ", %" PRIu64 " %s", i, view->steps[i - 1]);
    }
}
