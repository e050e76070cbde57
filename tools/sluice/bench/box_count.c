/* SPDX-License-Identifier: Apache-2.0 */
#include "box_count.h"

#include "safe_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

struct box_counts box_counts_of(const struct column_set *columns)
{
    struct box_counts counts = {.count = 0};
    for (uint32_t i = 0; i < columns->count; i++) {
        const struct column_spec *spec = &columns->specs[i];
        if (spec->column.kind == SLUICE_COLUMN_BOXES) {
            counts.of[counts.count++] =
                (struct box_count){.column = spec->name, .padded = spec->column.padded != 0};
        }
    }
    return counts;
}

/* Counts a batch. Concatenated rows give their number by their shape, in any memory. */
static void add_batch(struct box_count *count, const sluice_batch *batch)
{
    char name[64];
    sluice_tensor tensor = SLUICE_TENSOR_INIT;
    snprintf(name, sizeof name, "%s%s", count->column, count->padded ? ".lengths" : "");
    const bool there = sluice_batch_tensor(batch, name, &tensor) == SLUICE_OK;
    if (!there || (count->padded && tensor.device_type == SLUICE_DEVICE_TYPE_CUDA)) {
        count->unknown = true;
        return;
    }
    if (!count->padded) {
        count->boxes += (uint64_t)tensor.shape[0];
        return;
    }
    const int64_t *lengths = tensor.data;
    for (int64_t i = 0; i < tensor.shape[0]; i++) {
        count->boxes += (uint64_t)lengths[i];
    }
}

void box_counts_add(struct box_counts *counts, const sluice_batch *batch)
{
    for (uint32_t i = 0; i < counts->count; i++) {
        add_batch(&counts->of[i], batch);
    }
}

void box_counts_print(const struct box_counts *counts, uint64_t samples, double seconds)
{
    for (uint32_t i = 0; i < counts->count; i++) {
        const struct box_count *count = &counts->of[i];
        const double boxes = (double)count->boxes;
        if (!count->unknown) {
            printf("boxes         %.2f a sample, %.1f/s (%" PRIu64 " kept in \"%s\")\n",
                   boxes / (double)samples, boxes / seconds, count->boxes, SAFE(count->column));
        }
    }
}

void box_counts_write(const struct box_counts *counts, struct json *json, uint64_t samples,
                      double seconds)
{
    json_open_array(json, "boxes");
    for (uint32_t i = 0; i < counts->count; i++) {
        const struct box_count *count = &counts->of[i];
        const double boxes = count->unknown ? NAN : (double)count->boxes;
        json_open_object(json, NULL);
        json_text(json, "column", count->column);
        if (count->unknown) {
            json_null(json, "boxes");
        } else {
            json_unsigned(json, "boxes", count->boxes);
        }
        json_real(json, "boxes_per_sample", boxes / (double)samples);
        json_real(json, "boxes_per_s", boxes / seconds);
        json_close_object(json);
    }
    json_close_array(json);
}
