/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_pieces: reads ranges of a file into adjacent memory, through the page cache.
 *
 * Purpose: rows of a volume are some hundred bytes each, thousands of them, with gaps of a similar
 * size between them. A gap of at most a page (SL_PIECE_GAP_BYTES) is in pages that are read from
 * the storage anyway, so one call reads many such runs, and writes the gaps to memory that is
 * ignored: one call per run takes four times as long. Bytes of gaps are not counted as read.
 *
 * While pieces are in the page cache they are read without waiting. At the first one that is not,
 * all remaining ones are announced to the kernel, so that the storage reads them in parallel,
 * without read-ahead after each. Threads: blocks; any.
 */
#ifndef SL_READ_PIECES_H
#define SL_READ_PIECES_H

#include "backend.h"

/* Reads up to `bytes` bytes, fewer at the end of the file. Returns bytes read or -errno. */
int64_t sl_read_up_to(const sl_handle *handle, uint8_t *buffer, uint64_t bytes, uint64_t offset);
/* Reads all `bytes` of a file. Returns them, or -errno, ESTALE if it has become shorter. */
int64_t sl_read_all_of(const sl_handle *handle, uint8_t *buffer, uint64_t bytes);
/* Returns whether a file now ends before `end`: then reading may have shown zeros past its end. */
bool sl_is_cut_short(const sl_handle *handle, uint64_t end);
/* Reads all pieces. Returns their bytes; or -errno, ENODATA if the file ends earlier, also by the
 * end of the read. */
int64_t sl_read_pieces(const sl_read *read);

#endif
