/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slots: the state machine of batch slots. Pure: no threads, no locks, no device calls.
 *
 * Host slot:   EMPTY -> FILLING -> FULL -> COPYING -> EMPTY
 * Device slot: FREE -> COPYING -> READY -> HELD -> FREE
 *
 * A host slot is taken in the order of steps (begin), becomes FULL when it is filled, and
 * is copied in that same order, whatever the order in which slots become full. A device slot
 * carries the ticket of the step. When host and device memory are one (shared), the host slot is
 * its own device slot: it stays COPYING until the consumer has released it.
 * A released device slot is FREE for the copier at once: the copy that will overwrite it first
 * waits, on the device, for the release events (copier.c). How many hold a HELD one is counted
 * outside (release.c).
 * Discard: slots of a cancelled run go from FULL straight to EMPTY, from READY to FREE; those that
 * are FILLING or COPYING do so when they are filled or their copy is queued.
 *
 * Every function that changes state returns whether the change was legal; an illegal one changes
 * nothing. The exhaustive test walks every interleaving at small depths.
 */
#ifndef SL_SLOTS_H
#define SL_SLOTS_H

#include <stdbool.h>
#include <stdint.h>

#define SL_SLOTS_MAX 64

typedef enum sl_host_state {
    SL_HOST_EMPTY = 0,
    SL_HOST_FILLING,
    SL_HOST_FULL,
    SL_HOST_COPYING
} sl_host_state;

typedef enum sl_device_state {
    SL_DEVICE_FREE = 0,
    SL_DEVICE_COPYING,
    SL_DEVICE_READY,
    SL_DEVICE_HELD
} sl_device_state;

/* EMPTY and FREE slots are all zero. */
typedef struct sl_host_slot {
    sl_host_state state;
    uint64_t ticket;
} sl_host_slot;

typedef struct sl_device_slot {
    sl_device_state state;
    uint32_t host; /* source slot of the copy; when shared, always its own number */
    uint64_t ticket;
} sl_device_slot;

/* discard_below <= taken <= copied <= begun, always. */
typedef struct sl_slots {
    bool shared;
    uint32_t host_count, device_count; /* device_count == host_count when shared */
    uint64_t begun;                    /* tickets handed out by begin: 0, 1, 2, ... */
    uint64_t copied;                   /* tickets below this: copy started, or discarded */
    uint64_t taken;                    /* tickets below this: handed out by take, or discarded */
    uint64_t discard_below;            /* tickets below this that were not taken are discarded */
    sl_host_slot host[SL_SLOTS_MAX];
    sl_device_slot device[SL_SLOTS_MAX];
} sl_slots;

/* Counts are 1..SL_SLOTS_MAX; when shared, device_count is host_count whatever is given. */
void sl_slots_init(sl_slots *slots, uint32_t host_count, uint32_t device_count, bool shared);
/* Takes an EMPTY host slot for the next ticket; -1: none is empty. */
int sl_slots_begin(sl_slots *slots);
/* All rows of `host` are made: it is FULL now, or EMPTY when its ticket is discarded. */
bool sl_slots_filled(sl_slots *slots, uint32_t host);
/* Starts the next copy in ticket order when its slot is FULL and a device slot is FREE: fills the
 * two numbers. False: nothing to do now. */
bool sl_slots_copy_begin(sl_slots *slots, uint32_t *host, uint32_t *device);
/* The copy was given to the device: the batch may be taken by the consumer (GPU-side wait). When
 * its ticket is discarded the device slot becomes FREE (and when shared its host slot EMPTY). */
bool sl_slots_copy_queued(sl_slots *slots, uint32_t device);
/* The copy is done: the host slot is EMPTY again. Not called when shared. */
bool sl_slots_copy_done(sl_slots *slots, uint32_t host);
/* Hands out the READY device slot with the lowest ticket, in ticket order; -1: not yet. */
int sl_slots_take(sl_slots *slots);
/* The consumer is done with it. */
bool sl_slots_release(sl_slots *slots, uint32_t device);
/* Marks every ticket begun so far and not taken as discarded; FULL ones become EMPTY and READY ones
 * FREE at once. Returns whether a host slot became EMPTY. */
bool sl_slots_discard(sl_slots *slots);
/* No slot but HELD ones is in use. */
bool sl_slots_idle(const sl_slots *slots);
/* READY batches. */
uint32_t sl_slots_ready(const sl_slots *slots);
/* FULL batches: the queue in front of the copier. */
uint32_t sl_slots_full(const sl_slots *slots);

#endif
