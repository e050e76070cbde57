/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leveling: which rows of each step are this rank's, with the option level_rows.
 *
 * Purpose: sl_level (plan/level.h) deals the rows of a step. Two cursors of the feed come by each
 * step, the second one much later, so the places of recent steps are kept, by ticket: the step is
 * dealt once, on the thread of the cursor that comes first: the fetch thread, or, for an epoch's
 * first steps and on the short path, the thread that begins steps. What a cursor or a slot uses of
 * it is its own copy, since a kept step may be replaced at any time. With one rank nothing is
 * dealt, and the option does nothing. Lock: the feed's mutex. A worker reads the copy of its slot
 * without: it is written before the slot's rows are handed over. Memory: allocated by open only;
 * about 20 bytes a row of a global batch, and 4 bytes for each row of the slots and of the steps
 * that are kept.
 */
#ifndef SL_LEVELING_H
#define SL_LEVELING_H

#include "config.h"
#include "level.h"

/* Whose copy of places it is. */
enum { SL_LEVELING_ASK, SL_LEVELING_BEGIN, SL_LEVELING_SLOTS };

typedef struct sl_leveling {
    sl_level level;
    uint32_t batch;
    uint32_t kept;     /* steps; 0: rows are not levelled */
    uint64_t *tickets; /* of each; UINT64_MAX: none */
    uint32_t *tables;  /* places of each: [kept x batch] */
    uint32_t *copies;  /* of the cursors, then of the slots: [(SLOTS + prefetch) x batch] */
} sl_leveling;

/* Whether the options go with the loader's order. Errors: INVALID: the order knows no costs;
 * UNSUPPORTED: a global batch has more than SL_LEVEL_ROWS_MAX rows. */
sluice_status sl_leveling_check(const sl_config *config, const sl_order_kind *kind,
                                sluice_error *error);
/* Bytes that open allocates; 0: nothing is levelled. */
uint64_t sl_leveling_bytes(const sl_config *config);
/* Errors: NOMEM. A zeroed one may be closed. */
sluice_status sl_leveling_open(sl_leveling *leveling, const sl_config *config, sluice_error *error);
void sl_leveling_close(sl_leveling *leveling);

/* A run begins: its tickets may have been those of other steps. */
void sl_leveling_begin(sl_leveling *leveling);
/* Sets the places of `at`, the plan's step number `step`, for cursor `whose`. */
void sl_leveling_place(sl_leveling *leveling, uint32_t whose, uint64_t ticket, const sl_plan *plan,
                       uint64_t step, sl_step *at);
/* Has `at`, a copy of a cursor's step, use the copy of `slot` of the feed. */
void sl_leveling_keep(const sl_leveling *leveling, uint32_t slot, sl_step *at);

#endif
