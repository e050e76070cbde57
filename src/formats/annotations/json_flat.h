/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_flat: a fast parser for the usual element of annotations.
 *
 * Purpose: jansson reads a text byte by byte, at about 80 instructions a byte. Most elements need
 * little of it: an object of plain numbers, short texts and lists of numbers. This parser makes
 * the same tree of those, and leaves everything else to jansson. Threads: pure.
 */
#ifndef SL_JSON_FLAT_H
#define SL_JSON_FLAT_H

#include "json_file.h"

/* Longer texts are left to jansson. */
#define SL_JSON_FLAT_BYTES_MAX ((size_t)4096)

/* Returns the tree of an object, exactly as jansson makes it. NULL: jansson has to read the text,
 * which may be valid or not. Ownership: json_decref by the caller. */
json_t *sl_json_flat_parse(sl_bytes text);

#endif
