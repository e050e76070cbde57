/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tar_index: the index of a tar archive, by walking it.
 *
 * Purpose: tars have no index, so their headers are walked once; payloads are skipped. One that is
 * compressed by gzip or zstd is unpacked for that, all of it, and its samples are in what comes
 * out; so do the offsets in errors, but of those that say that the compressed data are damaged. A
 * sample is a range of the archive from its first member's first block to its last one's last
 * byte: its headers are in it, and unpacking goes by them. The index's names are the extensions.
 * Members of one key that do not follow one another are several samples, as WebDataset has it.
 * Threads: as those of an index (file_index.h).
 */
#ifndef SL_TAR_INDEX_H
#define SL_TAR_INDEX_H

#include "file_index.h"
#include "store.h"

/*
 * Walks an archive. Blocks, for as long as reading its headers takes, or unpacking it.
 * Memory: 1.1 MiB, and of a compressed one that of a stream of 2 chunks (stream.h). Errors, naming
 * file and offset: IO, CORRUPT (no tar, damaged or cut short, members behind its end), UNSUPPORTED
 * (compressed in another way, more than SL_INDEX_NAMES_MAX extensions, too long ones, a sample
 * above SL_RECORD_BYTES_MAX), NOMEM.
 */
sluice_status sl_tar_index_walk(sl_file_index *index, const sl_open_file *file,
                                sluice_error *error);

#endif
