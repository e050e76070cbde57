/* SPDX-License-Identifier: Apache-2.0 */
/*
 * omissions: what opening a dataset found and left out, counted by reason.
 *
 * Purpose: nothing is dropped in silence. A reader counts each thing that it passes over (a hidden
 * file, a link, an image that no list names) under a reason; `sluice info`, verify and Python show
 * the counts, and opening warns where images are concerned, or many things. Threads: one owner at a
 * time; a reader of several threads gives each its own and joins them. Memory: of the heap, from
 * the first one to sl_omissions_close; what is counted without memory is only counted. Zeroed:
 * empty. Reasons behind the last slot are counted as "others".
 */
#ifndef SL_OMISSIONS_H
#define SL_OMISSIONS_H

#include "warnings.h"

#include <stdbool.h>
#include <stdint.h>

#define SL_OMISSIONS_MAX 20U

typedef struct sl_omission {
    bool images; /* each is an image, or would have been one of a sample */
    uint64_t count;
    char reason[96];   /* a phrase in the plural */
    char example[256]; /* the first: a path, or its end behind "..."; "" */
} sl_omission;

typedef struct sl_omissions {
    uint32_t reasons;
    uint64_t unlisted; /* of any reason, when there was no memory to keep it */
    sl_omission *of;   /* SL_OMISSIONS_MAX of them; NULL while there is none */
} sl_omissions;

/* What is counted under a reason. */
typedef enum sl_omitted {
    SL_OMITTED_THINGS, /* files or rows that need no warning unless they are many */
    SL_OMITTED_IMAGES
} sl_omitted;

/* Counts one under `reason`; `example`, a path, may be NULL. */
void sl_omit(sl_omissions *omissions, sl_omitted what, const char *reason, const char *example);
/* Counts `count` at once; 0 is fine. */
void sl_omit_many(sl_omissions *omissions, sl_omitted what, const char *reason, const char *example,
                  uint64_t count);
/* Adds all of another. */
void sl_omissions_join(sl_omissions *omissions, const sl_omissions *other);
/* Warns of each reason that is of images, or of more things than a tenth of `samples`. */
void sl_omissions_warn(const sl_omissions *omissions, uint64_t samples, sl_warnings *warnings);
/* Empty again. */
void sl_omissions_close(sl_omissions *omissions);

#endif
