/* SPDX-License-Identifier: Apache-2.0 */
/*
 * omissions: counts what opening a dataset found and left out, by reason.
 *
 * Purpose: nothing is dropped silently. A reader counts everything that it skips (a hidden file, a
 * link, an image that no list names) under a reason; `sluice info`, verify and Python show the
 * counts, and opening warns about images, or about many things. Threads: one owner at a time; a
 * reader with several threads gives each its own and joins them. Memory: heap, from the first
 * omission to sl_omissions_close; without memory, only a total is kept. Zeroed: empty. Reasons
 * beyond the last slot are counted as "others".
 */
#ifndef SL_OMISSIONS_H
#define SL_OMISSIONS_H

#include "warnings.h"

#include <stdbool.h>
#include <stdint.h>

#define SL_OMISSIONS_MAX 20U

typedef struct sl_omission {
    bool images; /* true if each is an image, or would have been a sample's image */
    uint64_t count;
    char reason[96];   /* a plural phrase */
    char example[256]; /* the first one: a path, or "..." and its end; "" */
} sl_omission;

typedef struct sl_omissions {
    uint32_t reasons;
    uint64_t unlisted; /* omissions of any reason that could not be kept for lack of memory */
    sl_omission *of;   /* SL_OMISSIONS_MAX entries; NULL while empty */
} sl_omissions;

/* Kind of things counted under a reason. */
typedef enum sl_omitted {
    SL_OMITTED_THINGS, /* files or rows, which need no warning unless there are many */
    SL_OMITTED_IMAGES
} sl_omitted;

/* Counts one omission under `reason`; `example`, a path, may be NULL. */
void sl_omit(sl_omissions *omissions, sl_omitted what, const char *reason, const char *example);
/* Counts `count` at once, which may be 0. */
void sl_omit_many(sl_omissions *omissions, sl_omitted what, const char *reason, const char *example,
                  uint64_t count);
/* Adds all omissions of another. */
void sl_omissions_join(sl_omissions *omissions, const sl_omissions *other);
/* Warns of each reason that concerns images, or more things than a tenth of `samples`. */
void sl_omissions_warn(const sl_omissions *omissions, uint64_t samples, sl_warnings *warnings);
/* Releases the memory; empty again afterwards. */
void sl_omissions_close(sl_omissions *omissions);

#endif
