/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_pieces: reads ranges of a file, one behind the other, through the page cache.
 *
 * Purpose: rows of a volume are some hundred bytes each, thousands of them, with gaps of as much
 * between them. A gap of at most a page (SL_PIECE_GAP_BYTES) is in pages that are read from the
 * storage anyway, so many such runs are one call, which puts what is between them where nobody
 * looks: a call for each takes four times as long. Bytes of gaps are not counted as read.
 * While pieces are in the page cache they are read without waiting; at the first one that is not,
 * the kernel is told of all that are still to come, so that the storage works on them at once, and
 * does not read on behind each as it would. Threads: blocks; any.
 */
#ifndef SL_READ_PIECES_H
#define SL_READ_PIECES_H

#include "backend.h"

/* Reads until `bytes` bytes or the end of the file: bytes read or -errno. */
int64_t sl_read_up_to(const sl_handle *handle, uint8_t *buffer, uint64_t bytes, uint64_t offset);
/* All `bytes` of a file: these, or -errno, ESTALE where it is shorter by now. */
int64_t sl_read_all_of(const sl_handle *handle, uint8_t *buffer, uint64_t bytes);
/* Whether a file ends before `end` by now: then reading may have shown zeros behind its end. */
bool sl_is_cut_short(const sl_handle *handle, uint64_t end);
/* Bytes read, all of them; or -errno, ENODATA where the file ends before, also when it does so by
 * the end of the read. */
int64_t sl_read_pieces(const sl_read *read);

#endif
