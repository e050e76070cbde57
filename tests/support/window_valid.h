/* SPDX-License-Identifier: Apache-2.0 */
/* window_valid: the invariants of window.h, for tests that walk its states. Pure. */
#ifndef SL_WINDOW_VALID_H
#define SL_WINDOW_VALID_H

#include "window.h"

/* True if every invariant holds. */
bool window_valid(const sl_window *window);

#endif
