/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tar_wds2idx: indexes that DALI's wds2idx wrote beside archives (NAME.idx beside NAME.tar).
 *
 * Purpose: saves a walk over archives on slow storage. Text: "v1.2 SAMPLES", then a line for each
 * sample, "EXTENSION OFFSET SIZE NAME" for each of its files; offsets are of payloads. One that is
 * older than its archive, that does not fit it, or whose names have blanks (they cannot be told
 * from what follows), is not an error: it is ignored. So is one that leaves more of the archive out
 * than a header before each file: that may be a link, which has to be counted or followed.
 * Threads: pure, except for the files.
 */
#ifndef SL_TAR_WDS2IDX_H
#define SL_TAR_WDS2IDX_H

#include "file_index.h"
#include "store.h"

/* Of an archive. False: there is none that can be used. */
bool sl_tar_wds2idx_load(sl_file_index *index, const sl_open_file *file);

/* Of such a text, for an archive of `file_bytes`. */
bool sl_tar_wds2idx_parse(sl_file_index *index, const char *text, size_t bytes,
                          uint64_t file_bytes);

#endif
