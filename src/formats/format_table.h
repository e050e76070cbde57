/* SPDX-License-Identifier: Apache-2.0 */
/*
 * format_table: the formats in the order in which they are asked.
 *
 * Each folder of src/formats declares its formats and their priorities in its sluice_module(...
 * FORMATS ...); the build generates format_rows.inc from these. The last format is the folder of
 * images, which accepts any folder. Threads: constant.
 */
#ifndef SL_FORMAT_TABLE_H
#define SL_FORMAT_TABLE_H

#include "dataset.h"

#define SL_FORMAT_ROW(format) extern const sl_format format;
#include "format_rows.inc"
#undef SL_FORMAT_ROW

enum {
#define SL_FORMAT_ROW(format) NUMBER_OF_##format,
#include "format_rows.inc"
#undef SL_FORMAT_ROW
    SL_FORMATS,
    SL_FORMAT_FOLDER = SL_FORMATS - 1
};

extern const sl_format *const sl_formats[SL_FORMATS];

#endif
