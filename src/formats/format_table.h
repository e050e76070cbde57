/* SPDX-License-Identifier: Apache-2.0 */
/*
 * format_table: the formats in the order in which they are asked.
 *
 * The last one is that of folders of pictures, which takes any folder. Threads: constant.
 */
#ifndef SL_FORMAT_TABLE_H
#define SL_FORMAT_TABLE_H

#include "dataset.h"

enum { SL_FORMATS = 18, SL_FORMAT_FOLDER = SL_FORMATS - 1 };

extern const sl_format *const sl_formats[SL_FORMATS];

#endif
