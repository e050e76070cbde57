/* SPDX-License-Identifier: Apache-2.0 */
/*
 * piece: memory of a sample in flight, and its limit.
 *
 * Purpose: data made from a sample's fields is in separate memory, charged before it is allocated,
 * so that all samples in flight together stay within a budget. Threads: those of the allowance.
 */
#ifndef SL_PIECE_H
#define SL_PIECE_H

#include "allowance.h"
#include "value.h"

#include <sluice/common.h>

/*
 * Charges memory. `allowance` NULL: no limit. Unavailable memory is reported as a stop; the
 * allowance's owner distinguishes it from a piece above its own limit. Errors: CANCELED.
 */
sluice_status sl_allowance_charge(const sl_allowance *allowance, uint64_t bytes,
                                  sluice_error *error);
/* Allocates charged memory, which the caller frees (sl_free). Errors: CANCELED, NOMEM. */
sluice_status sl_piece_new(const sl_allowance *allowance, uint64_t bytes, uint8_t **piece,
                           sluice_error *error);
/*
 * Replaces a packed value (packed_value.h) by its contents, and one whose memory the next sample
 * will reuse (sl_values_pass) by a copy, in `*piece`, whose previous memory is freed; other values
 * stay. Errors: CORRUPT, UNSUPPORTED, CANCELED, NOMEM.
 */
sluice_status sl_piece_own(const sl_allowance *allowance, const sl_field *field, sl_values *values,
                           uint32_t number, uint8_t **piece, sluice_error *error);

#endif
