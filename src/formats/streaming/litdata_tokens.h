/* SPDX-License-Identifier: Apache-2.0 */
/*
 * litdata_tokens: LitData's chunks of tokens (TokensLoader).
 *
 * Purpose: LitData cuts such a chunk into blocks across text boundaries, so here each chunk is a
 * sample: a tensor of one dimension, for window columns. Chunks without tokens are skipped. Memory:
 * 4 bytes per text and per chunk. Threads: one opens it; then it is immutable.
 */
#ifndef SL_LITDATA_TOKENS_H
#define SL_LITDATA_TOKENS_H

#include "offset_files.h"
#include "source_columns.h"

/* Source of the tokens. */
typedef struct sl_litdata_tokens_from {
    const char *path;         /* of the dataset, for errors */
    const char *unpacked_dir; /* sluice_dataset_options.unpacked_dir */
} sl_litdata_tokens_from;

/*
 * Opens the chunks. Takes over `files`, even on error; their tables are not read yet. `fields` all
 * use the only column, the tokens. Errors: those of unpacking and reading (offset_files.h); CORRUPT
 * (a partial token), UNSUPPORTED (a chunk above 2^31 - 1 bytes), INVALID (no tokens), NOMEM.
 */
sluice_status sl_litdata_tokens_open(sl_dataset **dataset, sl_offset_files *files,
                                     const sl_source_fields *fields,
                                     const sl_litdata_tokens_from *from, sluice_error *error);

#endif
