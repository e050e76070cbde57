/* SPDX-License-Identifier: Apache-2.0 */
/*
 * piece: memory of one sample under way, and who bounds it.
 *
 * Purpose: what is made of a sample's fields is in memory of its own, charged before it is taken,
 * so that all samples under way together keep to a budget. Threads: those of the allowance.
 */
#ifndef SL_PIECE_H
#define SL_PIECE_H

#include "allowance.h"
#include "value.h"

#include <sluice/common.h>

/* `allowance` NULL: there is no bound. What is not to be had is a stop here, which who made the
 * allowance tells from a piece above a limit of its own. Errors: CANCELED. */
sluice_status sl_allowance_charge(const sl_allowance *allowance, uint64_t bytes,
                                  sluice_error *error);
/* Charged memory, which the caller frees (sl_free). Errors: CANCELED, NOMEM. */
sluice_status sl_piece_new(const sl_allowance *allowance, uint64_t bytes, uint8_t **piece,
                           sluice_error *error);
/*
 * Replaces the value of a field that is packed (packed_value.h) by what it holds, and one that is
 * where the next sample's will (sl_values_pass) by a copy, in `*piece`, whose old memory is freed;
 * others stay. Errors: CORRUPT, UNSUPPORTED, CANCELED, NOMEM.
 */
sluice_status sl_piece_own(const sl_allowance *allowance, const sl_field *field, sl_values *values,
                           uint32_t number, uint8_t **piece, sluice_error *error);

#endif
