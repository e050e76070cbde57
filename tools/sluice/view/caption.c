/* SPDX-License-Identifier: Apache-2.0 */
#include "caption.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { KEY_SHOWN = 480 };

void caption_row(const struct view *view, uint32_t row, char *text, size_t bytes)
{
    const struct view_row *shown = &view->rows[row];
    sluice_sample_info sample = {.struct_size = sizeof sample};
    const char *name = sluice_dataset_class_name(view->dataset, shown->label);
    const char *key = "";
    if (sluice_dataset_get_sample(view->dataset, (uint64_t)shown->sample, &sample, NULL) >= 0) {
        size_t length = strlen(sample.key); /* the end of a long one says more */
        key = sample.key + (length > KEY_SHOWN ? length - KEY_SHOWN : 0);
    }
    snprintf(text, bytes, "#%" PRId64 "  %" PRId64 " %s  %s%.*s", shown->sample, shown->label,
             name == NULL ? "-" : name, shown->status == SLUICE_ROW_OK ? "" : "BAD SAMPLE  ",
             KEY_SHOWN, key);
}

void caption_steps(const struct view *view, char *text, size_t bytes)
{
    size_t used = (size_t)snprintf(text, bytes, "0 the picture");
    for (uint64_t i = 1; i < view->args->draws && used < bytes; i++) {
        used +=
            (size_t)snprintf(text + used, bytes - used, ", %" PRIu64 " %s", i, view->steps[i - 1]);
    }
}
