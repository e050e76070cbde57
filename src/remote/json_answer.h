/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_answer: pages of the Hugging Face hub's tree API.
 *
 * Purpose: reads an array of {"type": "file"|"directory", "path", "size", "oid", "lfs": {"oid"}}.
 * Bytes are untrusted; time and memory are in proportion to them. Threads: pure.
 */
#ifndef SL_JSON_ANSWER_H
#define SL_JSON_ANSWER_H

#include "entries.h"

/* Adds the names below `prefix` ("" or with a slash at its end), which is removed from them. The
 * ETag of a file is its hash in quotes, as the hub sends it. Errors: CORRUPT, NOMEM. */
sluice_status sl_json_answer_read(sl_bytes text, const char *prefix, sl_entries *entries,
                                  sluice_error *error);

#endif
