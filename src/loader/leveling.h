/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leveling: which rows of each step belong to this rank, with the option level_rows.
 *
 * Purpose: sl_level (plan/level.h) deals the rows of a step. Two cursors of the feed pass each
 * step, the second one much later, so the places of recent steps are kept, by ticket: the step is
 * dealt once, on the thread of the first cursor: the fetch thread, or, for an epoch's first steps
 * and on the short path, the thread that begins steps. Each cursor or slot uses its own copy, since
 * a kept step may be replaced at any time. With one rank nothing is dealt, and the option has no
 * effect. Lock: the feed's mutex. A worker reads its slot's copy without it: it is written before
 * the slot's rows are submitted. Memory: allocated by open only; about 20 bytes a row of a global
 * batch, and 4 bytes for each row of the slots and of the kept steps.
 */
#ifndef SL_LEVELING_H
#define SL_LEVELING_H

#include "config.h"
#include "level.h"

/* Owners of the copies of places. */
enum { SL_LEVELING_ASK, SL_LEVELING_BEGIN, SL_LEVELING_SLOTS };

typedef struct sl_leveling {
    sl_level level;
    uint32_t batch;
    uint32_t kept;     /* steps; 0: rows are not levelled */
    uint64_t *tickets; /* of each; UINT64_MAX: none */
    uint32_t *tables;  /* places of each: [kept x batch] */
    uint32_t *copies;  /* of the cursors, then of the slots: [(SLOTS + prefetch) x batch] */
} sl_leveling;

/* Checks the options against the loader's order. Errors: INVALID: the order has no costs;
 * UNSUPPORTED: a global batch has more than SL_LEVEL_ROWS_MAX rows. */
sluice_status sl_leveling_check(const sl_config *config, const sl_order_kind *kind,
                                sluice_error *error);
/* Returns the bytes that open allocates; 0: nothing is levelled. */
uint64_t sl_leveling_bytes(const sl_config *config);
/* Errors: NOMEM. A zeroed one may be closed. */
sluice_status sl_leveling_open(sl_leveling *leveling, const sl_config *config, sluice_error *error);
void sl_leveling_close(sl_leveling *leveling);

/* Begins a run: its tickets may have belonged to other steps. */
void sl_leveling_begin(sl_leveling *leveling);
/* Sets the places of `at`, the plan's step number `step`, for cursor `whose`. */
void sl_leveling_place(sl_leveling *leveling, uint32_t whose, uint64_t ticket, const sl_plan *plan,
                       uint64_t step, sl_step *at);
/* Makes `at`, a copy of a cursor's step, use the copy of `slot` of the feed. */
void sl_leveling_keep(const sl_leveling *leveling, uint32_t slot, sl_step *at);

#endif
