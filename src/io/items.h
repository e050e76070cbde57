/* SPDX-License-Identifier: Apache-2.0 */
/*
 * items: what is asked of a fetch thread, and what it hands over. Plain data.
 */
#ifndef SL_ITEMS_H
#define SL_ITEMS_H

#include "view.h"

#include <sluice/common.h>

#include <stdbool.h>

/* The sequence number of an inserted item. */
#define SL_INSERTED UINT64_MAX
/* No want: the end of a list of them. */
#define SL_WANT_NONE UINT32_MAX
/* The handle of bytes that need no release. */
#define SL_HANDLE_NONE     UINT32_MAX
#define SL_READABLE_BEHIND 64U /* bytes behind an item's own */

/* What comes behind an item in its pass through a compressed object. */
typedef enum sl_pass_end {
    SL_PASS_GOES_ON = 0, /* perhaps more */
    SL_PASS_FINISHES,    /* nothing: it reads on to the end, where the checksums are, and the item
                            fails where they are wrong */
    SL_PASS_CLOSES       /* nothing, and nobody looks */
} sl_pass_end;

/* One wanted piece of an object. */
typedef struct sl_fetch_item {
    uint64_t sequence; /* set by fetch: its place, or SL_INSERTED */
    uint64_t tag;      /* the source's own; comes back in deliver */
    uint64_t offset;
    uint32_t bytes; /* 0: the whole object, from offset 0 */
    uint32_t object;
    /* `bytes` are those of so many pieces of the object, one behind the other, the first of which
     * is at `offset`; source.piece tells where. 0: they are one range. */
    uint32_t pieces;
    /* Its bytes tell the source where the item really is: they go to source.learn as soon as they
     * are read, whatever the credit. */
    bool lookup;
    bool once; /* a lookup that is not made again: it goes the way of what will be read behind it,
                  so that one descriptor does for both */
    /*
     * Set by the source. With a `spread` (fetch.h), its place in the order of delivery, where that
     * is another than the order of reading; without, it is the sequence. Of compressed objects,
     * which pass through one of them from front to back it belongs to, any number, and how that
     * goes on.
     */
    uint64_t due, pass;
    sl_pass_end end;
} sl_fetch_item;

/* Bytes of one item. `handle` is to be released once. */
typedef struct sl_fetch_bytes {
    sl_bytes bytes;
    uint32_t handle;
} sl_fetch_bytes;

#endif
