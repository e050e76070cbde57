/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tar_index: where the samples of one archive lie, and which extensions they have.
 *
 * Purpose: tars have no index, so their headers are walked once (sl_tar_index_walk); payloads are
 * skipped. A sample is a stretch of the archive from its first member's first block to its last
 * one's last byte: its headers are in it, and unpacking goes by them. Members of one key that do
 * not follow one another are several samples, as WebDataset has it. Threads: one builds an index;
 * then it is immutable. Ownership: sl_tar_index_close. Memory: 12 bytes a sample.
 */
#ifndef SL_TAR_INDEX_H
#define SL_TAR_INDEX_H

#include "tar_names.h"

#include <sluice/common.h>

#include <stdint.h>

#define SL_TAR_EXTENSIONS_MAX (SL_FIELDS_MAX - 1U) /* "key" is one more */

typedef struct sl_tar_index {
    uint64_t file_bytes;
    int64_t modified_ns; /* since the epoch */
    uint64_t samples, room;
    uint64_t *offsets; /* of its first block */
    uint32_t *bytes;   /* from there to the end of its last payload; UINT32_MAX: that, or more */
    uint32_t extension_count;
    char extensions[SL_TAR_EXTENSIONS_MAX][SL_TAR_EXTENSION_BYTES]; /* as they were met */
    bool has_two_pictures; /* a sample has several members that are pictures by their names */
} sl_tar_index;

/*
 * Walks the archive at `path`. Blocks, for as long as reading its headers takes. Errors, naming
 * file and offset: IO, CORRUPT (no tar, damaged or cut short, members behind its end), UNSUPPORTED
 * (compressed, more than SL_TAR_EXTENSIONS_MAX extensions, too long ones), NOMEM.
 */
sluice_status sl_tar_index_walk(sl_tar_index *index, const char *path, sluice_error *error);
/* Of all zero is fine. */
void sl_tar_index_close(sl_tar_index *index);

/* For who fills in an index. False: no memory. */
bool sl_tar_index_add(sl_tar_index *index, uint64_t offset, uint64_t bytes);
/* Number of the extension, a new one if need be; SL_FIELD_NONE: there are too many. */
uint32_t sl_tar_index_extension(sl_tar_index *index, const char *extension);

#endif
