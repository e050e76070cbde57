/* SPDX-License-Identifier: Apache-2.0 */
#include "resident.h"

#include "memory.h"
#include "minmax.h"

/* Long enough that asking costs nothing, short enough not to delay other reads. */
#define PIECE_BYTES ((uint64_t)1 << 20)
/* Readable bytes behind the last one, as behind every sample. */
#define PADDING_BYTES ((uint64_t)64)

uint64_t sl_resident_needs(const sl_objects *objects, uint64_t most_bytes)
{
    uint64_t sum = 0;
    if (most_bytes == 0) {
        return 0;
    }
    for (uint32_t i = 0; i < sl_objects_count(objects); i++) {
        const uint64_t bytes = sl_objects_bytes(objects, i);
        if (bytes == 0 || bytes > most_bytes - sum) {
            return 0;
        }
        sum += bytes;
    }
    return sum + PADDING_BYTES;
}

static void fill_starts(sl_resident *resident, const sl_objects *objects)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < resident->objects; i++) {
        resident->starts[i] = sum;
        sum += sl_objects_bytes(objects, i);
    }
    resident->starts[resident->objects] = sum;
}

void sl_resident_open(sl_resident *resident, const sl_objects *objects, uint64_t most_bytes,
                      sl_budget *budget)
{
    *resident = (sl_resident){.objects = 0};
    const uint64_t bytes = sl_resident_needs(objects, most_bytes);
    if (bytes == 0) {
        return;
    }
    resident->objects = sl_objects_count(objects);
    resident->starts = sl_calloc((size_t)resident->objects + 1, sizeof(*resident->starts));
    if (resident->starts == NULL ||
        sl_slab_open(&resident->slab, bytes, budget, NULL) != SLUICE_OK) {
        sl_resident_close(resident, false);
        return;
    }
    fill_starts(resident, objects);
}

void sl_resident_close(sl_resident *resident, bool leak)
{
    if (leak) {
        sl_slab_forget(&resident->slab);
    } else {
        sl_slab_close(&resident->slab);
    }
    sl_free(resident->starts);
    resident->starts = NULL;
}

bool sl_resident_next(sl_resident *resident, sl_resident_piece *piece)
{
    if (resident->slab.base == NULL || resident->given_up || resident->asked > resident->loaded ||
        resident->asked == resident->starts[resident->objects]) {
        return false;
    }
    while (resident->asked == resident->starts[resident->object + 1]) {
        resident->object++;
    }
    const uint64_t left = resident->starts[resident->object + 1] - resident->asked;
    *piece = (sl_resident_piece){.object = resident->object,
                                 .bytes = (uint32_t)sl_min_u64(left, PIECE_BYTES),
                                 .offset = resident->asked - resident->starts[resident->object],
                                 .to = resident->slab.base + resident->asked};
    resident->asked += piece->bytes;
    return true;
}

void sl_resident_loaded(sl_resident *resident)
{
    resident->loaded = resident->asked;
    if (resident->loaded == resident->starts[resident->objects]) {
        /* Pairs with the load in sl_resident_complete. */
        atomic_store_explicit(&resident->complete, true, memory_order_release);
    }
}

void sl_resident_give_up(sl_resident *resident)
{
    resident->given_up = true;
}

const uint8_t *sl_resident_at(const sl_resident *resident, uint32_t object, uint64_t offset,
                              uint64_t bytes)
{
    if (resident->slab.base == NULL || object >= resident->objects) {
        return NULL;
    }
    const uint64_t start = resident->starts[object];
    const uint64_t size = resident->starts[object + 1] - start;
    const bool inside = offset <= size && bytes <= size - offset;
    return inside && start + offset + bytes <= resident->loaded
               ? resident->slab.base + start + offset
               : NULL;
}
