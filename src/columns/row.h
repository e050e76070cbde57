/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row: one row of a batch in the making, and the values of the current sample.
 *
 * Purpose: everything that a worker keeps from row to row (decoder, draws, lists of boxes,
 * canvases), the constants of the batch, and the row's own state. A row is made of one or more
 * members: its own sample and its partners, one after the other; `values` are those of `member`.
 *
 * Threads: a row belongs to one worker; workers make different rows of a slot at the same time.
 * Memory: the row's own, from sl_row_open to sl_row_close (columns.h); temporary memory is the
 * decoder's scratch.
 */
#ifndef SL_COLUMNS_ROW_H
#define SL_COLUMNS_ROW_H

#include "column.h"
#include "decoder.h"
#include "meeting.h"
#include "work.h"

/* Units of work (base/work.h) for a row's shapes, each time that the row is drawn: so many times
 * the pixels of each of its images' outputs, and SL_WORK_LEAST more; also the pixels of each mask
 * of INSTANCES, which its `length` bounds. */
#define SL_WORK_TIMES UINT64_C(64)
#define SL_WORK_LEAST (UINT64_C(1) << 28)

/* Identifies a row of a slot, with its index and status. */
struct sl_row_place {
    int64_t index;       /* of the sample or window, as the plan counts; -1: none */
    uint32_t number;     /* in the slot */
    uint8_t status;      /* as the consumer will see it */
    bool again;          /* the epoch has counted the sample */
    sl_meeting *meeting; /* pairs it with its partner; NULL: it has none (padding) */
    uint32_t bucket;     /* of its batch: the size of its images, if they have the bucket's */
};

/* One row in the making. */
struct sl_row {
    /* the worker's, for all its rows */
    const sl_column_set *columns;
    sl_decoder *decoder;
    struct sl_canvas *canvases;  /* by column; NULL: no group has several members (composition.h) */
    struct sl_group_draw *draws; /* by group, as many as the set has (group.h) */
    sl_box_list *boxes;          /* by column of boxes, as many as the set has */
    sl_paste *pastes;            /* by group; NULL: none pastes */
    sl_values values;            /* of the sample, unpacked */
    const sl_value *blame;       /* the value that the error is about; NULL: no field */
    bool blames;                 /* an error was blamed (sl_row_blame) */
    uint64_t decode_ns;          /* images add to it when `timed` */
    uint64_t opened_ns;          /* when the current image was opened, when `timed` */
    bool timed;
    sl_profile profile; /* of operations on images; added to when `timed` */
    /* of the batch */
    uint64_t seed;
    bool exact;
    /* of the row */
    uint64_t epoch; /* for draws */
    sl_row_place at;
    uint64_t repetition;      /* added to the sample's number for draws: 0, or behind all samples */
    uint32_t members, member; /* number of members; the unpacked one */
    sl_work work;             /* work left for its shapes */
    uint32_t attempt;         /* how often the whole row was drawn before */
    uint64_t absent;          /* bits: columns that mix and have no image */
};

/* Blames a field for an error: SL_FIELD_NONE for none. Returns `status`, and does nothing for
 * SLUICE_OK or if a function below has blamed one already. */
sluice_status sl_row_blame(sl_row *row, uint32_t field, sluice_status status);
/* Finds the value of the column's field, unpacked if it is packed. `*bytes` stays until the next
 * call. */
sluice_status sl_column_bytes(const sl_column *column, sl_row *row, sl_bytes *bytes,
                              sluice_error *error);
/* Finds the same of any field of the sample, in scratch that is not reset. */
sluice_status sl_row_bytes(sl_row *row, uint32_t field, sl_bytes *bytes, sluice_error *error);

#endif
