/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slots: the state machine of batch slots. Pure: no threads, no locks, no device calls.
 *
 * Host slot:   EMPTY -> FILLING -> FULL -> COPYING -> EMPTY
 * Device slot: FREE -> COPYING -> READY -> HELD -> FREE
 *
 * Host slots are taken in the order of steps (begin) and become FULL when they are filled, in any
 * order. They are copied in the order of steps. A device slot carries the ticket of the step. If
 * host and device memory are one (shared), the host slot is its own device slot: it stays COPYING
 * until the consumer has released it. A released device slot is FREE for the copier at once: the
 * copy that will overwrite it first waits, on the device, for the release events (copier.c).
 * release.c counts the holders of a HELD slot. Discard: slots of a cancelled run go from FULL
 * directly to EMPTY, and from READY to FREE. FILLING slots do so when they are filled, COPYING
 * slots when their copy is queued.
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

/* An EMPTY or FREE slot is all zeros. */
typedef struct sl_host_slot {
    sl_host_state state;
    uint64_t ticket;
} sl_host_slot;

typedef struct sl_device_slot {
    sl_device_state state;
    uint32_t host; /* source slot of the copy; when shared, always its own number */
    uint64_t ticket;
} sl_device_slot;

/* Always: discard_below <= taken <= copied <= begun. */
typedef struct sl_slots {
    bool shared;
    uint32_t host_count, device_count; /* device_count == host_count when shared */
    uint64_t begun;                    /* tickets that begin returned: 0, 1, 2, ... */
    /* tickets below this: their copy started, or they were discarded */
    uint64_t copied;
    /* tickets below this: take returned them, or they were discarded */
    uint64_t taken;
    uint64_t discard_below; /* tickets below this that were not taken are discarded */
    sl_host_slot host[SL_SLOTS_MAX];
    sl_device_slot device[SL_SLOTS_MAX];
} sl_slots;

/* Counts are 1..SL_SLOTS_MAX. When shared, device_count is ignored: it equals host_count. */
void sl_slots_init(sl_slots *slots, uint32_t host_count, uint32_t device_count, bool shared);
/* Takes an EMPTY host slot for the next ticket. Returns -1 if no slot is EMPTY. */
int sl_slots_begin(sl_slots *slots);
/* Marks `host` as written: it becomes FULL, or EMPTY if its ticket is discarded. */
bool sl_slots_filled(sl_slots *slots, uint32_t host);
/* Starts the next copy in ticket order if its slot is FULL and a device slot is FREE, and fills
 * in both numbers. Returns false if nothing can be copied now. */
bool sl_slots_copy_begin(sl_slots *slots, uint32_t *host, uint32_t *device);
/* Marks the copy as queued on the device: the consumer may take the batch (and waits on the
 * GPU). If its ticket is discarded, the device slot becomes FREE (and, if shared, its host slot
 * EMPTY). */
bool sl_slots_copy_queued(sl_slots *slots, uint32_t device);
/* Marks the copy as complete: the host slot is EMPTY again. Not called if shared. */
bool sl_slots_copy_done(sl_slots *slots, uint32_t host);
/* Takes the READY device slot of the next ticket. Returns -1 if it is not READY yet. */
int sl_slots_take(sl_slots *slots);
/* Marks the slot as released by the consumer. */
bool sl_slots_release(sl_slots *slots, uint32_t device);
/* Discards every ticket that was begun and not taken: FULL slots become EMPTY and READY ones
 * FREE at once. Returns whether a host slot became EMPTY. */
bool sl_slots_discard(sl_slots *slots);
/* Returns whether all used slots are HELD. */
bool sl_slots_idle(const sl_slots *slots);
/* Returns the number of READY batches. */
uint32_t sl_slots_ready(const sl_slots *slots);
/* Returns the number of FULL batches: the queue before the copier. */
uint32_t sl_slots_full(const sl_slots *slots);

#endif
