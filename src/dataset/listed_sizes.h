/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listed_sizes: adds the fields that determine the orientation in which an image was annotated.
 *
 * Purpose: fields with the orientation BY_SIZE need the fields of WIDTH and HEIGHT. If choices
 * leave these out, they are added; if the annotations lack them, the orientation is unknown.
 * Threads: pure.
 */
#ifndef SL_LISTED_SIZES_H
#define SL_LISTED_SIZES_H

#include "listed.h"

void sl_listed_complete_sizes(sl_source_fields *found, const sl_listed_sources *sources);

#endif
