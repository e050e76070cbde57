/* SPDX-License-Identifier: Apache-2.0 */
#include "subvolume.h"

#include "philox.h"

/* A stream of its own beside those of images (recipe.c): one draw for all tensors of a sample, so
 * that tensors of one shape get the same part. */
enum { OPERATION_PART = 65535 };

#define TENSOR_BYTES_MAX UINT64_C(0x7fffffff)
/* Bytes that may be read per `NEEDED` needed ones. */
enum { READ_MOST = 6, NEEDED = 5 };
/* Factor by which a partial read must cost less than the whole. */
enum { COST_MOST = 4, COST_OF = 5 };

bool sl_subvolume_fits(const sl_subvolume *taken, const uint64_t *whole)
{
    for (uint32_t i = 0; i < taken->dims; i++) {
        if (taken->shape[i] == 0 || whole[i] < taken->shape[i] ||
            (taken->part == SLUICE_PART_WHOLE && whole[i] != taken->shape[i])) {
            return false;
        }
    }
    return true;
}

void sl_subvolume_begin(const sl_subvolume *taken, const uint64_t *whole,
                        const sl_subvolume_key *key, uint64_t *begin)
{
    for (uint32_t i = 0; i < taken->dims; i++) {
        begin[i] = (whole[i] - taken->shape[i]) / 2;
    }
    if (taken->part != SLUICE_PART_RANDOM) {
        return;
    }
    sl_random random = sl_random_for(key->seed, key->epoch, key->index, OPERATION_PART);
    for (uint32_t i = 0; i < taken->dims; i++) {
        const uint64_t places = whole[i] - taken->shape[i] + 1;
        begin[i] = (uint64_t)(sl_random_unit(&random) * (double)places);
    }
}

/* ---- the box to read ---- */

static uint64_t product(const uint64_t *shape, uint32_t from, uint32_t end)
{
    uint64_t elements = 1;
    for (uint32_t i = from; i < end; i++) {
        elements *= shape[i];
    }
    return elements;
}

/* Returns the bytes of the tensor; 0: it has none, or too many. */
static uint64_t whole_bytes(const sl_subvolume *taken, const uint64_t *whole)
{
    uint64_t bytes = taken->element_bytes;
    for (uint32_t i = 0; i < taken->dims; i++) {
        if (whole[i] == 0 || whole[i] > TENSOR_BYTES_MAX / bytes) {
            return 0;
        }
        bytes *= whole[i];
    }
    return bytes;
}

/* Returns the cost of a piece besides its bytes. */
static uint64_t cost_of_piece(const sl_box *box)
{
    const uint64_t gap = box->count > 1 ? box->stride - box->run_bytes : 0;
    return gap <= SL_PIECE_GAP_BYTES
               ? SL_SUBVOLUME_CALL_BYTES + (box->count - 1) * (gap + SL_SUBVOLUME_RUN_BYTES)
               : box->count * SL_SUBVOLUME_CALL_BYTES;
}

/* Returns the box of a split, 1 .. dims; for a tensor without dimensions all of it. */
static sl_box box_of(const sl_subvolume *taken, const uint64_t *whole, uint32_t split)
{
    const uint64_t *part = taken->shape;
    sl_box box = {.split = split, .count = 1};
    for (uint32_t i = 0; i < taken->dims; i++) {
        box.shape[i] = i < split ? part[i] : whole[i];
    }
    /* Neighbours: along the last dimension that is cut, and all after it. */
    const uint32_t outer = split > 0 ? split - 1 : 0;
    box.run_bytes = (uint32_t)(product(box.shape, outer, taken->dims) * taken->element_bytes);
    if (outer > 0) {
        box.count = (uint32_t)part[outer - 1];
        box.stride = (uint32_t)(product(whole, outer, taken->dims) * taken->element_bytes);
    }
    const uint64_t pieces = product(part, 0, outer > 0 ? outer - 1 : 0);
    box.pieces = pieces <= SL_SUBVOLUME_PIECES_MAX ? (uint32_t)pieces : 0;
    box.bytes = product(box.shape, 0, taken->dims) * taken->element_bytes;
    box.cost = box.bytes + pieces * cost_of_piece(&box);
    return box;
}

bool sl_subvolume_box(const sl_subvolume *taken, const uint64_t *whole, sl_box *box)
{
    const uint64_t all = whole_bytes(taken, whole);
    if (all == 0 || !sl_subvolume_fits(taken, whole)) {
        return false;
    }
    const uint64_t needed = product(taken->shape, 0, taken->dims) * taken->element_bytes;
    sl_box cheapest = box_of(taken, whole, taken->dims > 0 ? 1 : 0);
    bool found = false;
    for (uint32_t split = 1; split <= taken->dims; split++) {
        const sl_box one = box_of(taken, whole, split);
        if (one.pieces == 0) {
            continue;
        }
        if (one.cost < cheapest.cost) {
            cheapest = one;
        }
        if (one.bytes <= needed * READ_MOST / NEEDED && (!found || one.cost < box->cost)) {
            *box = one;
            found = true;
        }
    }
    if (!found || box->cost > all * COST_MOST / COST_OF) {
        *box = cheapest;
    }
    return true;
}

sl_piece sl_subvolume_piece(const sl_subvolume *taken, const uint64_t *whole, const sl_box *box,
                            const uint64_t *begin, uint32_t number)
{
    /* A piece's first run; dimensions from `walked` on are those within a piece. */
    const uint32_t walked = box->split > 2 ? box->split - 2 : 0;
    uint64_t at[SLUICE_TENSOR_DIMS_MAX] = {0};
    for (uint32_t i = walked; i > 0; i--) {
        at[i - 1] = number % taken->shape[i - 1];
        number /= (uint32_t)taken->shape[i - 1];
    }
    uint64_t element = 0;
    for (uint32_t i = 0; i < taken->dims; i++) {
        element = element * whole[i] + (i < box->split ? begin[i] + at[i] : 0);
    }
    return (sl_piece){.offset = element * taken->element_bytes,
                      .bytes = box->run_bytes,
                      .count = box->count,
                      .stride = box->stride};
}
