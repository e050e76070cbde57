/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tar_index: builds the index of a tar archive by walking it.
 *
 * Purpose: tars have no index, so their headers are walked once, skipping payloads. An archive
 * compressed by gzip or zstd is unpacked entirely for this; its sample offsets, and those in
 * errors, then refer to the unpacked data, except in errors about damaged compressed data. A sample
 * is the byte range of the archive from the first block of its first member to the last byte of its
 * last member; it includes the headers, which unpacking uses. The names of the index are the
 * extensions. Members with the same key that are not adjacent form several samples, as in
 * WebDataset. Threads: as for an index (file_index.h).
 */
#ifndef SL_TAR_INDEX_H
#define SL_TAR_INDEX_H

#include "file_index.h"
#include "store.h"

/*
 * Walks an archive. Blocks while it reads the headers, or unpacks the archive. Memory: 1.1 MiB,
 * plus a stream of 2 chunks (stream.h) for a compressed archive. Errors, with file and offset: IO,
 * CORRUPT (not a tar, damaged or cut short, members behind its end), UNSUPPORTED (other
 * compression, more than SL_INDEX_NAMES_MAX extensions or too long ones, a sample above
 * SL_RECORD_BYTES_MAX), NOMEM.
 */
sluice_status sl_tar_index_walk(sl_file_index *index, const sl_open_file *file,
                                sluice_error *error);

#endif
