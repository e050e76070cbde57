/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unchecked: describes which bytes of a dataset no checksum covers.
 *
 * Purpose: data that verify found valid is only valid as far as checksums reach; this says how far.
 * A list of short phrases ("tars have no checksums"), without duplicates, separated by "; ". The
 * dataset adds its files' gaps, and checking adds the rest. Empty: everything was checked. "..."
 * replaces phrases that do not fit. Threads: one owner at a time. Zeroed: empty.
 */
#ifndef SL_UNCHECKED_H
#define SL_UNCHECKED_H

#include <sluice/dataset.h>

typedef struct sl_unchecked {
    char text[SLUICE_UNCHECKED_BYTES];
} sl_unchecked;

/* Adds a phrase, which must not contain "; "; a duplicate is not added. */
void sl_unchecked_add(sl_unchecked *unchecked, const char *phrase);
/* Adds all phrases of another. */
void sl_unchecked_join(sl_unchecked *unchecked, const sl_unchecked *other);

#endif
