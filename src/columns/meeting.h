/* SPDX-License-Identifier: Apache-2.0 */
/*
 * meeting: pairs the rows of a batch that are mixed, when both are made.
 *
 * Purpose: mixing is the last step over a batch (augment/recipe/batch_mixing.h), and no worker
 * waits for it: each leaves its row as samples, and reports it; the second of two then does the
 * mixing. If the partner of a row's partner is the row itself (REVERSED), that is both rows, in
 * place: a row's samples wait at the end of its own memory, so that mixing takes no memory.
 * Otherwise (PREVIOUS) it is one row, made of samples that are kept separately: a row's are needed
 * twice. A row without an image (a bad sample, or none stored) is nobody's partner: nothing is
 * mixed into the other one. Each row has its partner's number and its weight, the labels that
 * follow the column, and, if the device mixes, its instructions instead of pixels. Threads:
 * workers, and the fetch thread for rows that cannot be made, each with a row that it has just
 * made. Lock: none; `met` orders them: the second sees the writes of the first. Both report before
 * their rows count as done, so that the batch is finished when all rows are. Invariant: each row of
 * a step with rows reports once.
 */
#ifndef SL_MEETING_H
#define SL_MEETING_H

#include "batch_mixing.h"
#include "parts.h"

#include <stdatomic.h>

struct sl_column;
struct sl_column_set;
struct sl_row_place;

/* Parts of an IMAGE, from its first; with layers SHARE alone; after FLAGS only if it mixes, KEPT
 * only if the partner of a row has another partner. */
enum {
    SL_IMAGE_ROWS,
    SL_IMAGE_FLAGS,                       /* for the device */
    SL_IMAGE_MIXED_WITH,                  /* i64: number of the row that was mixed in */
    SL_IMAGE_WEIGHT,                      /* f32: weight of the row's own image */
    SL_IMAGE_MIXING,                      /* the same, for the device */
    SL_IMAGE_SHARE = SL_IMAGE_MIXED_WITH, /* f32: fraction of its own layer */
    SL_IMAGE_KEPT = SL_IMAGE_MIXING + 1   /* samples, until the row and the next one are made */
};

/* How rows of a column are mixed; of the column, once bound. */
typedef struct sl_mixer {
    sl_mixing mixing;
    uint32_t number;                      /* number among the columns that mix */
    bool later;                           /* the device mixes */
    const struct sl_converter *converter; /* makes rows of mixed samples */
    uint64_t left_bytes;                  /* of a row that waits */
} sl_mixer;

/* Rows of one step, in its slot. */
typedef struct sl_meeting {
    sl_mixing_batch batch;
    uint32_t capacity;    /* rows that it has space for */
    _Atomic uint8_t *met; /* which sides are ready, of each pair or row of each column that mixes */
} sl_meeting;

/* Begins a step: no row is ready. `mixers`: columns that mix. */
void sl_meeting_begin(sl_meeting *meeting, const sl_mixing_batch *batch, uint32_t mixers);
/* Reports a row that is made, or blank: columns that mix in `absent` lack an image (bits, by their
 * number; at most 64). */
void sl_meeting_tell(const struct sl_column_set *set, const struct sl_row_place *place,
                     uint64_t absent, sl_part_view parts);

/* Writes a row's mixing for the consumer and the device. */
void sl_meeting_note(const struct sl_column *column, sl_part_view parts, uint32_t row,
                     const sl_mixing_row *how);
/* Returns where an IMAGE that mixes on the host leaves the samples of a row. */
uint8_t *sl_column_left(const struct sl_column *column, sl_part_view parts, uint32_t row);

#endif
