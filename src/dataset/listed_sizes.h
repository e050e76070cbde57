/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listed_sizes: the fields that decide which way up an image was annotated.
 *
 * Purpose: fields with the orientation BY_SIZE mean nothing without the fields of WIDTH and HEIGHT.
 * Where choices leave these out, they are added; where the annotations have none, the orientation
 * is not known. Threads: pure.
 */
#ifndef SL_LISTED_SIZES_H
#define SL_LISTED_SIZES_H

#include "listed.h"

void sl_listed_complete_sizes(sl_source_fields *found, const sl_listed_sources *sources);

#endif
