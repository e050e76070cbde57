/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resident: a copy of a whole dataset in memory.
 *
 * Purpose: asking the kernel for a sample of some kB costs more than making a row of it. A small
 * enough dataset of such samples is read once, front to back in long reads, beside the ordinary
 * ones; when it is complete, nothing is read any more.
 *
 * The watchdog gives up a hanging read of the copy like any other (fetch.h): ordinary reads
 * continue, and so does the copy if the read comes back after all.
 *
 * Threads: the fetch thread loads; sl_resident_at from any thread once sl_resident_complete was
 * true.
 *
 * Invariants: bytes below `loaded` (in the order of objects) do not change.
 */
#ifndef SL_RESIDENT_H
#define SL_RESIDENT_H

#include "objects.h"
#include "slab.h"

#include <stdatomic.h>

typedef struct sl_resident {
    sl_slab slab;     /* no base: there is no copy */
    uint64_t *starts; /* start of each object in it, and the end */
    uint32_t objects;
    uint32_t object; /* the object that contains `asked` */
    uint64_t asked;  /* end of the bytes requested so far */
    uint64_t loaded; /* bytes read so far */
    bool given_up;
    _Atomic bool complete;
} sl_resident;

/* A piece to read: straight to `to`. */
typedef struct sl_resident_piece {
    uint32_t object, bytes;
    uint64_t offset;
    uint8_t *to;
} sl_resident_piece;

/* Returns the size of a copy; 0: the objects are more than `most_bytes`, or a size is not known. */
uint64_t sl_resident_needs(const sl_objects *objects, uint64_t most_bytes);
/*
 * Makes space for all objects if they are at most `most_bytes` and the budget allows it; otherwise,
 * or if a size is not known, there is no copy, which is not an error.
 */
void sl_resident_open(sl_resident *resident, const sl_objects *objects, uint64_t most_bytes,
                      sl_budget *budget);
/* A zeroed one may be closed. `leak`: the kernel may still write to it. */
void sl_resident_close(sl_resident *resident, bool leak);

/* Returns the next piece to read; false: nothing more. Pieces are read one after the other. */
bool sl_resident_next(sl_resident *resident, sl_resident_piece *piece);
/* Records that the last piece was read. */
void sl_resident_loaded(sl_resident *resident);
/* Abandons the copy after a failed read. Loaded bytes stay for their readers. */
void sl_resident_give_up(sl_resident *resident);

static inline bool sl_resident_complete(const sl_resident *resident)
{
    /* Pairs with the store in sl_resident_loaded: the bytes come before. */
    return atomic_load_explicit(&resident->complete, memory_order_acquire);
}
/* Returns the bytes of an object; NULL if they are not loaded (yet), or are outside it. */
const uint8_t *sl_resident_at(const sl_resident *resident, uint32_t object, uint64_t offset,
                              uint64_t bytes);

#endif
