/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packed_media: the second field of packed documents, such as the patches of their images.
 *
 * Purpose: a document's media are a tensor whose first dimension varies, n patches. A row has those
 * of its documents back to back, as stored; so are the rows of a batch. Parts, in this order:
 * NAME.media, NAME.media_offsets (lengths.h), NAME.media_lengths.
 *
 * Invariant: a row has at most `media_length` patches, for which its slot has space. A sample
 * without the field has none. Units: patches; a patch is everything after the first dimension.
 * Threads: those of the row; `finish` runs on the thread that made the slot's last row. Memory: the
 * set's copies of the request; media that must be unpacked are in the decoder's scratch, which is
 * reset for them.
 */
#ifndef SL_PACKED_MEDIA_H
#define SL_PACKED_MEDIA_H

#include "row.h"

typedef struct sl_packed_media {
    bool asked;
    uint32_t part;         /* number of NAME.media among the column's */
    uint64_t elements;     /* of a patch */
    uint32_t stored_bytes; /* of an element */
    uint64_t most;         /* patches of a row */
    sl_cast copy;
} sl_packed_media;

/* Once: checks request.media, per_token and media_length, finds the default of the last, and adds
 * the parts; without a request.media does nothing. INVALID: the field or the numbers are not
 * suitable. */
sluice_status sl_packed_media_bind(sl_column *column, sl_column_set *set, sl_packed_media *media,
                                   sluice_error *error);
/* Adds the current member's media after those of earlier ones. Errors: UNSUPPORTED (more than a row
 * holds, an invalid bool), CORRUPT (bytes or shape differ from the field's). Blames the field. */
sluice_status sl_packed_media_make(const sl_column *column, const sl_packed_media *media,
                                   sl_row *row, sl_part_view parts, sluice_error *error);
/* Ends a row of `members`, which were made; 0: makes a row without a sample. */
void sl_packed_media_end(const sl_column *column, const sl_packed_media *media, uint32_t row,
                         uint32_t members, sl_part_view parts);
void sl_packed_media_finish(const sl_column *column, const sl_packed_media *media, uint32_t rows,
                            sl_part_view parts, uint64_t *sizes);

#endif
