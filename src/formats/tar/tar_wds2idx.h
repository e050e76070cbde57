/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tar_wds2idx: reads the indexes that DALI's wds2idx writes beside archives (NAME.idx beside
 * NAME.tar).
 *
 * Purpose: saves a walk over archives on slow storage. The text is "v1.2 SAMPLES", then a line per
 * sample with "EXTENSION OFFSET SIZE NAME" for each of its files; offsets are those of payloads. An
 * index is ignored, without an error, if it is older than its archive, does not fit it, or has
 * names with blanks (which are ambiguous). It is also ignored if it skips more of the archive than
 * one header before each file: a gap may be a link, which has to be counted or followed. Threads:
 * pure, except for the files.
 */
#ifndef SL_TAR_WDS2IDX_H
#define SL_TAR_WDS2IDX_H

#include "file_index.h"
#include "store.h"

/* Loads an archive's index. False: there is no usable one. */
bool sl_tar_wds2idx_load(sl_file_index *index, const sl_open_file *file);

/* Parses the text of an index for an archive of `file_bytes`. */
bool sl_tar_wds2idx_parse(sl_file_index *index, const char *text, size_t bytes,
                          uint64_t file_bytes);

#endif
