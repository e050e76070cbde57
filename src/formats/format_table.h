/* SPDX-License-Identifier: Apache-2.0 */
/*
 * format_table: the formats in the order in which they are asked.
 *
 * Each folder of src/formats names its own, with their priorities, in its sluice_module(... FORMATS
 * ...); format_rows.inc is made of these. The last one is that of folders of pictures, which takes
 * any folder. Threads: constant.
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
