/* SPDX-License-Identifier: Apache-2.0 */
/*
 * litdata_tokens: LitData's chunks of tokens (TokensLoader).
 *
 * Purpose: such a chunk is cut into blocks by whoever reads it, whichever texts they are of, so
 * each chunk is a sample here: a tensor of one dimension, for window columns. Chunks without a
 * token are none. Memory: 4 bytes a text and a chunk. Threads: one opens it; then it is immutable.
 */
#ifndef SL_LITDATA_TOKENS_H
#define SL_LITDATA_TOKENS_H

#include "offset_files.h"
#include "source_columns.h"

/*
 * `files`, which are taken over whatever comes of it, are not read yet; `fields` are all of the one
 * column of tokens. Errors: those of sl_offset_files_read; CORRUPT (part of a token), UNSUPPORTED
 * (a chunk above 2^31 - 1 bytes), INVALID (no token), NOMEM.
 */
sluice_status sl_litdata_tokens_open(sl_dataset **dataset, sl_offset_files *files,
                                     const sl_source_fields *fields, const char *path,
                                     sluice_error *error);

#endif
