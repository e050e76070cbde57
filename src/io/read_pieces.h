/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_pieces: reads stretches of a file, one behind the other, through the page cache.
 *
 * Purpose: rows of a volume are some hundred bytes each, thousands of them, with gaps of as much
 * between them. While they are in the page cache they are read without waiting; at the first one
 * that is not, the kernel is told of all that are still to come, so that the storage works on them
 * at once, and does not read on behind each as it would. Gaps of less than a page are in pages that
 * are read anyway. Threads: blocks; any.
 */
#ifndef SL_READ_PIECES_H
#define SL_READ_PIECES_H

#include "backend.h"

/* pread until `bytes` bytes or the end of the file: bytes read or -errno. */
int64_t sl_read_up_to(int fd, uint8_t *buffer, uint64_t bytes, uint64_t offset);
/* Bytes read, all of them; or -errno, ENODATA where the file ends before, also when it does so by
 * the end of the read. */
int64_t sl_read_pieces(const sl_read *read);

#endif
