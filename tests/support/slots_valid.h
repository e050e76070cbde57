/* SPDX-License-Identifier: Apache-2.0 */
/* slots_valid: the invariants of slots.h, for tests that walk its states. Pure. */
#ifndef SL_SLOTS_VALID_H
#define SL_SLOTS_VALID_H

#include "slots.h"

/* True if every invariant holds. */
bool slots_valid(const sl_slots *slots);

#endif
