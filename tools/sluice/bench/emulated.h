/* SPDX-License-Identifier: Apache-2.0 */
/*
 * emulated: an accelerator without hardware. A step begins when the previous one has ended and its
 * batch is available, and ends after the step's time; no CPU works on it, and its memory is the
 * host's. Like with a real device, the host queues steps ahead of time, and sleeps only so as not
 * to be further ahead than allowed; so the host's oversleeping costs nothing unless it is longer
 * than the steps ahead. With 0 ahead, the host sleeps through each step, and a step ends when it
 * wakes, like in DLIO's emulation.
 */
#ifndef TOOL_EMULATED_H
#define TOOL_EMULATED_H

#include "accelerator.h"

/* Opens one; NULL: no memory. Close it with ops->close, with nothing in progress. */
struct accelerator *emulated_open(double step_s, uint32_t ahead);

#endif
