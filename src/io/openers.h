/* SPDX-License-Identifier: Apache-2.0 */
/*
 * openers: a backend that opens objects, around another one for all other requests.
 *
 * Purpose: open() takes as long as a server does, and the fetch thread must not wait for it:
 * meanwhile it must be able to cancel, to end and to notice hanging reads. One thread pins the
 * objects of SL_READ_OPEN, in the order of the requests, which are in flight like any read: they
 * can stall, be abandoned, and be left behind when the loader closes.
 *
 * Threads: as backend.h, plus its own. Lock: its own mutex, not held while opening. Memory: a few
 * words for each request. An open that never comes back keeps the thread, and needs the objects,
 * forever: close counts it as abandoned, and then the objects must not be closed.
 */
#ifndef SL_OPENERS_H
#define SL_OPENERS_H

#include "backend.h"
#include "objects.h"

typedef struct sl_openers_config {
    sl_objects *objects;
    sl_backend *inner; /* already open */
    uint32_t depth;    /* most requests in flight, of both kinds together */
    bool rare;         /* nearly all requests are others: the thread starts with the first open */
} sl_openers_config;

/* Owns `inner` from then on, also on failure. Errors: NOMEM. */
sluice_status sl_openers_open(sl_backend **backend, const sl_openers_config *config,
                              sluice_error *error);

#endif
