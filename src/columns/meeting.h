/* SPDX-License-Identifier: Apache-2.0 */
/*
 * meeting: rows of a batch that are mixed meet when both are made.
 *
 * Purpose: mixing is the last step over a batch (augment/recipe/batch_mixing.h), and no worker
 * waits for it: each leaves its row as samples, and tells; whoever is the second of two does what
 * can be done then. Where the partner of a row's partner is the row itself (REVERSED), that is both
 * rows, in place: a row's samples wait at the end of its own memory, so that mixing takes no
 * memory. Else (PREVIOUS) it is one row, made of samples that are kept apart: a row's are needed
 * twice. A row without a picture (a bad sample, or none stored) is nobody's partner: nothing is
 * mixed into the other one. With a row go its partner's number and its weight, the labels that
 * follow the column, and, where the device mixes, what it is to do instead of pixels. Threads:
 * workers, and the fetch thread for rows that cannot be made, each with a row that it has just
 * made. Lock: none; `met` orders them: what the first wrote the second sees. Both tell before their
 * rows count as done, so that the batch is finished when all rows are. Invariant: each row of a
 * step with rows tells once.
 */
#ifndef SL_MEETING_H
#define SL_MEETING_H

#include "batch_mixing.h"
#include "parts.h"

#include <stdatomic.h>

struct sl_column;
struct sl_column_set;
struct sl_row_place;

/* Parts of an IMAGE, from its first; of layers SHARE alone; behind FLAGS only where it mixes, KEPT
 * only where a row has another partner than it is one to. */
enum {
    SL_IMAGE_ROWS,
    SL_IMAGE_FLAGS,                       /* for the device */
    SL_IMAGE_MIXED_WITH,                  /* i64: the row that was mixed in */
    SL_IMAGE_WEIGHT,                      /* f32: the share of its own */
    SL_IMAGE_MIXING,                      /* the same, for the device */
    SL_IMAGE_SHARE = SL_IMAGE_MIXED_WITH, /* f32: of its own layer */
    SL_IMAGE_KEPT = SL_IMAGE_MIXING + 1 /* samples, until the row and the one behind it are made */
};

/* How rows of a column are mixed; of the column, once bound. */
typedef struct sl_mixer {
    sl_mixing mixing;
    uint32_t number;                      /* among the columns that mix */
    bool later;                           /* the device mixes */
    const struct sl_converter *converter; /* makes rows of what met */
    uint64_t left_bytes;                  /* of a row that waits */
} sl_mixer;

/* Of one step, in its slot. */
typedef struct sl_meeting {
    sl_mixing_batch batch;
    uint32_t capacity;    /* rows that there is space for */
    _Atomic uint8_t *met; /* of each pair or row of each column that mixes: who is there */
} sl_meeting;

/* A step begins: nobody is there. `mixers`: columns that mix. */
void sl_meeting_begin(sl_meeting *meeting, const sl_mixing_batch *batch, uint32_t mixers);
/* The row is made, or blank: of columns that mix `absent` are without a picture (bits, by their
 * number; at most 64). */
void sl_meeting_tell(const struct sl_column_set *set, const struct sl_row_place *place,
                     uint64_t absent, sl_part_view parts);

/* Writes what is told of a row to the consumer and the device. */
void sl_meeting_note(const struct sl_column *column, sl_part_view parts, uint32_t row,
                     const sl_mixing_row *how);
/* Returns where an IMAGE that mixes on the host leaves the samples of a row. */
uint8_t *sl_column_left(const struct sl_column *column, sl_part_view parts, uint32_t row);

#endif
