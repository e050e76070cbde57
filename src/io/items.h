/* SPDX-License-Identifier: Apache-2.0 */
/*
 * items: the requests to a fetch thread and the bytes it delivers. Plain data.
 */
#ifndef SL_ITEMS_H
#define SL_ITEMS_H

#include "view.h"

#include <sluice/common.h>

#include <stdbool.h>

/* The sequence number of an inserted item. */
#define SL_INSERTED UINT64_MAX
/* Not a want: the end of a list of them. */
#define SL_WANT_NONE UINT32_MAX
/* The handle of bytes that need no release. */
#define SL_HANDLE_NONE     UINT32_MAX
#define SL_READABLE_BEHIND 64U /* readable bytes behind an item's own */

/* What follows an item in its pass through a compressed object. */
typedef enum sl_pass_end {
    SL_PASS_GOES_ON = 0, /* perhaps more */
    /* nothing: it reads on to the end, where the checksums are, and the item fails if they are
     * wrong */
    SL_PASS_FINISHES,
    SL_PASS_CLOSES /* nothing, and nothing is checked */
} sl_pass_end;

/* One wanted range of an object. */
typedef struct sl_fetch_item {
    uint64_t sequence; /* set by fetch: its place, or SL_INSERTED */
    uint64_t tag;      /* the source's own; comes back in deliver */
    uint64_t offset;
    uint32_t bytes; /* 0: the whole object, from offset 0 */
    uint32_t object;
    /* `bytes` are those of this many pieces of the object, back to back, the first of them at
     * `offset`; source.piece returns their locations. 0: they are one range. */
    uint32_t pieces;
    /* Its bytes give the source the item's real location: they go to source.learn as soon as they
     * are read, regardless of the credit. */
    bool lookup;
    /* a lookup that is not repeated: it goes the way of the read behind it, so that one
     * descriptor serves both */
    bool once;
    /*
     * Set by the source. due: with a `spread` (fetch.h), its place in the order of delivery, if
     * that differs from the order of reading; without, the sequence. pass: of compressed objects,
     * the number of the front-to-back pass that it belongs to, and what follows.
     */
    uint64_t due, pass;
    sl_pass_end end;
} sl_fetch_item;

/* Bytes of one item. `handle` must be released once. */
typedef struct sl_fetch_bytes {
    sl_bytes bytes;
    uint32_t handle;
} sl_fetch_bytes;

#endif
