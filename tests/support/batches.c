/* SPDX-License-Identifier: Apache-2.0 */
#include "batches.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static void *grow(void *memory, uint64_t count, uint64_t bytes)
{
    void *grown = realloc(memory, count * bytes + 1);
    if (grown == NULL) {
        abort();
    }
    return grown;
}

static sluice_tensor tensor_of(const sluice_batch *batch, const char *field)
{
    sluice_tensor tensor = SLUICE_TENSOR_INIT;
    if (sluice_batch_tensor(batch, field, &tensor) != SLUICE_OK) {
        abort();
    }
    return tensor;
}

void batches_append(batches *all, const batches *more)
{
    const uint64_t total = all->rows + more->rows;
    if (more->rows > 0) {
        all->row_bytes = more->row_bytes;
    }
    all->images = grow(all->images, total, all->row_bytes);
    all->labels = grow(all->labels, total, sizeof(int64_t));
    all->indices = grow(all->indices, total, sizeof(int64_t));
    all->status = grow(all->status, total, 1);
    all->mask = grow(all->mask, total, 1);
    all->rows_of_step = grow(all->rows_of_step, all->steps + more->steps, sizeof(uint32_t));
    memcpy(all->images + all->rows * all->row_bytes, more->images, more->rows * all->row_bytes);
    memcpy(all->labels + all->rows, more->labels, more->rows * sizeof(int64_t));
    memcpy(all->indices + all->rows, more->indices, more->rows * sizeof(int64_t));
    memcpy(all->status + all->rows, more->status, more->rows);
    memcpy(all->mask + all->rows, more->mask, more->rows);
    memcpy(all->rows_of_step + all->steps, more->rows_of_step, more->steps * sizeof(uint32_t));
    all->steps += more->steps;
    all->rows = total;
}

static void append(batches *all, const sluice_batch *batch)
{
    uint32_t rows = sluice_batch_rows(batch);
    const sluice_tensor image = tensor_of(batch, "image");
    const batches one = {.rows = rows,
                         .steps = 1,
                         .row_bytes = rows > 0 ? image.size_bytes / rows : 0,
                         .images = image.data,
                         .labels = tensor_of(batch, "label").data,
                         .indices = tensor_of(batch, "index").data,
                         .status = tensor_of(batch, "status").data,
                         .mask = tensor_of(batch, "mask").data,
                         .rows_of_step = &rows};
    batches_append(all, &one);
}

void batches_continue(batches *all, sluice_loader *loader, uint64_t steps)
{
    memset(all, 0, sizeof(*all));
    for (uint64_t i = 0; i < steps; i++) {
        sluice_batch *batch;
        all->end = sluice_loader_next(loader, &batch, -1);
        if (all->end != SLUICE_OK) {
            return;
        }
        append(all, batch);
        sluice_batch_release(batch);
    }
}

void batches_collect(batches *all, sluice_loader *loader, uint64_t epoch)
{
    const sluice_status status = sluice_loader_start_epoch(loader, epoch);
    if (status == SLUICE_OK) {
        batches_continue(all, loader, UINT64_MAX);
        return;
    }
    memset(all, 0, sizeof(*all));
    all->end = status;
}

/* Two empty arrays are equal; memcmp must not be given NULL. */
static bool same(const void *a, const void *b, size_t bytes)
{
    return bytes == 0 || memcmp(a, b, bytes) == 0;
}

bool batches_equal(const batches *a, const batches *b)
{
    return a->rows == b->rows && a->steps == b->steps && a->row_bytes == b->row_bytes &&
           same(a->images, b->images, a->rows * a->row_bytes) &&
           same(a->labels, b->labels, a->rows * sizeof(int64_t)) &&
           same(a->indices, b->indices, a->rows * sizeof(int64_t)) &&
           same(a->status, b->status, a->rows) && same(a->mask, b->mask, a->rows) &&
           same(a->rows_of_step, b->rows_of_step, a->steps * sizeof(uint32_t));
}

void batches_free(batches *all)
{
    free(all->images);
    free(all->labels);
    free(all->indices);
    free(all->status);
    free(all->mask);
    free(all->rows_of_step);
    memset(all, 0, sizeof(*all));
}
