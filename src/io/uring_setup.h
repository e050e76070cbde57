/* SPDX-License-Identifier: Apache-2.0 */
/*
 * uring_setup: makes a ring that is known to work, or returns the reason it cannot.
 *
 * Threads: the ring belongs to the thread that opens it; no other may touch it.
 */
#ifndef SL_URING_SETUP_H
#define SL_URING_SETUP_H

#include "slab.h"

#include <sluice/common.h>

#include <liburing.h>
#include <stdbool.h>

/* Most bytes of one registered buffer: the kernel's limit. */
#define SL_RING_BUFFER_BYTES ((size_t)1 << 30)

/* Opens a ring with space for `entries` requests that has passed a NOP and a real read. UNSUPPORTED
 * if this machine refuses it: error->sys_errno and text have the reason. */
sluice_status sl_ring_open(struct io_uring *ring, uint32_t entries, sluice_error *error);
/* Registers as many of the slab's bytes, from its base on, as the machine permits; returns their
 * number. Buffer i holds those from i * SL_RING_BUFFER_BYTES on. */
size_t sl_ring_register(struct io_uring *ring, const sl_slab *slab);
/* Returns whether a kernel of this release ("6.1.0-18-amd64") is suitable: 5.15 from 5.15.90 on
 * (earlier ones close files late), and 6.1 or newer. */
bool sl_ring_kernel_fit(const char *release);

#endif
