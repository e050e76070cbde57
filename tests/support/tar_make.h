/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tar_make: members of tar archives, built from the description of ustar. Threads: pure.
 */
#ifndef SL_TAR_MAKE_H
#define SL_TAR_MAKE_H

#include <stddef.h>
#include <stdint.h>

enum { TAR_BLOCK = 512 };

/* Writes a file of the archive: header and payload, in whole blocks. Returns the number of
 * bytes. */
size_t tar_put(uint8_t *to, const char *name, const void *payload, size_t bytes);
/* Writes the archive's end: two blocks of zeros. */
size_t tar_put_end(uint8_t *to);

#endif
