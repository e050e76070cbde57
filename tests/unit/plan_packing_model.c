/* SPDX-License-Identifier: Apache-2.0 */
#include "plan_packing_model.h"

#include "test.h"

#include <stdbool.h>
#include <stdlib.h>

/* An entry and its row. */
typedef struct model_item {
    uint64_t need; /* aligned elements, whole pieces excluded */
    uint32_t place;
    uint32_t row;
} model_item;

typedef struct model_row {
    uint64_t space;
    uint32_t pieces, changed, first_place;
    uint32_t number;
} model_row;

static model_item items[70000];
static model_row rows[MODEL_ROWS];

static uint64_t model_aligned(const sl_packing_shape *shape, uint64_t length)
{
    uint64_t blocks = 0;
    while (blocks * shape->align < length) {
        blocks++;
    }
    return blocks * shape->align;
}

static int by_need(const void *left, const void *right)
{
    const model_item *a = left;
    const model_item *b = right;
    if (a->need != b->need) {
        return a->need > b->need ? -1 : 1;
    }
    return a->place < b->place ? -1 : a->place > b->place;
}

static int by_place(const void *left, const void *right)
{
    const model_item *a = left;
    const model_item *b = right;
    return a->place < b->place ? -1 : a->place > b->place;
}

static int by_first_place(const void *left, const void *right)
{
    const model_row *a = left;
    const model_row *b = right;
    return a->first_place < b->first_place ? -1 : a->first_place > b->first_place;
}

static void add_piece(packing_model *model, uint32_t row, uint64_t document, uint64_t first,
                      uint64_t count)
{
    assert_true(model->pieces < MODEL_PIECES);
    model->piece[model->pieces++] = (model_piece){document, first, count, row};
}

static uint32_t fullest(const sl_packing_shape *shape, uint32_t opened, uint64_t need)
{
    uint32_t best = UINT32_MAX;
    for (uint32_t r = 0; r < opened; r++) {
        const bool fits =
            rows[r].space >= need && rows[r].pieces + shape->unit <= shape->max_documents;
        if (fits && (best == UINT32_MAX || rows[r].space < rows[best].space ||
                     (rows[r].space == rows[best].space && rows[r].changed > rows[best].changed))) {
            best = r;
        }
    }
    return best;
}

/* Opens rows for all items, in order of their needs. Returns the number of rows. */
static uint32_t fit_items(const sl_packing_shape *shape, uint32_t count)
{
    uint32_t opened = 0;
    qsort(items, count, sizeof(*items), by_need);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t r = fullest(shape, opened, items[i].need);
        if (r == UINT32_MAX) {
            assert_true(opened < MODEL_ROWS);
            r = opened++;
            rows[r] = (model_row){.space = shape->length, .first_place = UINT32_MAX, .number = r};
        }
        rows[r].space -= items[i].need;
        rows[r].pieces += shape->unit;
        rows[r].changed = i;
        items[i].row = r;
        if (items[i].place < rows[r].first_place) {
            rows[r].first_place = items[i].place;
        }
    }
    return opened;
}

static void fit_model(packing_model *model, const sl_packing_shape *shape,
                      const uint64_t *documents, const uint64_t *lengths, uint32_t count)
{
    static uint32_t number_of[MODEL_ROWS];
    static uint64_t rest_of[70000];
    uint32_t left = 0;
    for (uint32_t i = 0; i < count; i += shape->unit) {
        uint64_t need = 0;
        for (uint32_t k = i; k < i + shape->unit; k++) {
            rest_of[k] = 0;
            while (shape->cut == SL_PACKING_CUT_LONG && lengths[k] > shape->length &&
                   lengths[k] - rest_of[k] >= shape->length) {
                add_piece(model, model->rows++, documents[k], rest_of[k], shape->length);
                rest_of[k] += shape->length;
            }
            need += model_aligned(shape, lengths[k] - rest_of[k]);
        }
        if (need > 0) {
            items[left++] = (model_item){need, i, 0};
        }
    }
    const uint32_t opened = fit_items(shape, left);
    for (uint32_t r = 0; r < opened; r++) {
        model->closed += rows[r].pieces + shape->unit > shape->max_documents && rows[r].space > 0;
    }
    qsort(rows, opened, sizeof(*rows), by_first_place);
    for (uint32_t r = 0; r < opened; r++) {
        number_of[rows[r].number] = r;
    }
    qsort(items, left, sizeof(*items), by_place);
    for (uint32_t r = 0; r < opened; r++) {
        for (uint32_t i = 0; i < left; i++) {
            for (uint32_t k = items[i].place;
                 number_of[items[i].row] == r && k < items[i].place + shape->unit; k++) {
                add_piece(model, model->rows + r, documents[k], rest_of[k],
                          lengths[k] - rest_of[k]);
            }
        }
    }
    model->rows += opened;
}

/* Block by block, each of `align` elements. */
static void split_model(packing_model *model, const sl_packing_shape *shape,
                        const uint64_t *documents, const uint64_t *lengths, uint32_t count)
{
    uint64_t fill = 0;
    uint32_t pieces = 0; /* in the row */
    for (uint32_t i = 0; i < count; i++) {
        for (uint64_t at = 0; at < lengths[i]; at += shape->align) {
            const bool early = at == 0 && pieces == shape->max_documents;
            if (fill == shape->length || early) {
                model->closed += early && fill < shape->length;
                model->rows++;
                fill = 0;
                pieces = 0;
            }
            const uint64_t left = lengths[i] - at;
            const uint64_t block = left < shape->align ? left : shape->align;
            if (at == 0 || fill == 0) {
                add_piece(model, model->rows, documents[i], at, 0);
                pieces++;
            }
            model->piece[model->pieces - 1].count += block;
            fill += shape->align;
        }
    }
    model->rows += fill > 0;
}

void packing_model_make(packing_model *model, const sl_packing_shape *shape,
                        const uint64_t *documents, const uint64_t *lengths, uint32_t count)
{
    model->rows = 0;
    model->pieces = 0;
    model->closed = 0;
    if (shape->cut == SL_PACKING_CUT_SPLIT) {
        split_model(model, shape, documents, lengths, count);
    } else {
        fit_model(model, shape, documents, lengths, count);
    }
}
