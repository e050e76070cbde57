/* SPDX-License-Identifier: Apache-2.0 */
/*
 * litdata_tokens: LitData's chunks of tokens (TokensLoader).
 *
 * Purpose: such a chunk is cut into blocks by its reader, whichever texts they are of, so
 * each chunk is a sample here: a tensor of one dimension, for window columns. Chunks without a
 * token are none. Memory: 4 bytes a text and a chunk. Threads: one opens it; then it is immutable.
 */
#ifndef SL_LITDATA_TOKENS_H
#define SL_LITDATA_TOKENS_H

#include "offset_files.h"
#include "source_columns.h"

/* Where they are from. */
typedef struct sl_litdata_tokens_from {
    const char *path;         /* of the dataset, for errors */
    const char *unpacked_dir; /* sluice_dataset_options.unpacked_dir */
} sl_litdata_tokens_from;

/*
 * `files`, which are taken over whatever comes of it, are not read yet; `fields` are all of the one
 * column of tokens. Errors: those of unpacking and reading (offset_files.h); CORRUPT (part of a
 * token), UNSUPPORTED (a chunk above 2^31 - 1 bytes), INVALID (no token), NOMEM.
 */
sluice_status sl_litdata_tokens_open(sl_dataset **dataset, sl_offset_files *files,
                                     const sl_source_fields *fields,
                                     const sl_litdata_tokens_from *from, sluice_error *error);

#endif
