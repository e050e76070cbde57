/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tar_make: members of tar archives, put together from the description of ustar. Threads: pure.
 */
#ifndef SL_TAR_MAKE_H
#define SL_TAR_MAKE_H

#include <stddef.h>
#include <stdint.h>

enum { TAR_BLOCK = 512 };

/* A file of the archive: header and payload, in whole blocks. How many bytes were put. */
size_t tar_put(uint8_t *to, const char *name, const void *payload, size_t bytes);
/* The archive's end: two blocks of zeros. */
size_t tar_put_end(uint8_t *to);

#endif
