/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unchecked: what of a dataset's bytes no checksum was checked of, in words.
 *
 * Purpose: what verify found to be good is good as far as checksums go; this says how far. A list
 * of short phrases ("tars have no checksums"), each once, "; " between them: a dataset says what
 * its files have none for, and checking them finds the rest. Empty: all was checked. What does not
 * fit is "...". Threads: one owner at a time. Zeroed: empty.
 */
#ifndef SL_UNCHECKED_H
#define SL_UNCHECKED_H

#include <sluice/dataset.h>

typedef struct sl_unchecked {
    char text[SLUICE_UNCHECKED_BYTES];
} sl_unchecked;

/* Adds a phrase, without "; " in it, unless it is there. */
void sl_unchecked_add(sl_unchecked *unchecked, const char *phrase);
/* Adds all phrases of another. */
void sl_unchecked_join(sl_unchecked *unchecked, const sl_unchecked *other);

#endif
