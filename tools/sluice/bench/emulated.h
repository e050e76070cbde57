/* SPDX-License-Identifier: Apache-2.0 */
/*
 * emulated: an accelerator that is not there. A step begins when the one before is over and its
 * batch is there, and ends the step's time later; no processor works on it, and its memory is the
 * host's. As with a real device the host gives steps to it ahead of time, and sleeps only so as not
 * to be further ahead than allowed; so the host's oversleeping costs nothing unless it is longer
 * than the steps ahead. With 0 ahead the host sleeps through each step, and a step ends when it
 * wakes, as in DLIO's emulation.
 */
#ifndef TOOL_EMULATED_H
#define TOOL_EMULATED_H

#include "accelerator.h"

/* NULL: no memory. Closed with ops->close, nothing under way. */
struct accelerator *emulated_open(double step_s, uint32_t ahead);

#endif
