/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_flat: a fast parser for typical elements of annotations.
 *
 * Purpose: jansson reads text byte by byte, at about 80 instructions per byte. Most elements are
 * simple: an object of plain numbers, short texts and lists of numbers. For those this parser
 * builds the same tree; it leaves everything else to jansson. Threads: pure.
 */
#ifndef SL_JSON_FLAT_H
#define SL_JSON_FLAT_H

#include "json_file.h"

/* Longer texts are left to jansson. */
#define SL_JSON_FLAT_BYTES_MAX ((size_t)4096)

/*
 * Returns the tree of an object, exactly as jansson builds it; the caller releases it with
 * json_decref. NULL: jansson has to read the text, which may or may not be valid.
 */
json_t *sl_json_flat_parse(sl_bytes text);

#endif
