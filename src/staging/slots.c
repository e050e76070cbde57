/* SPDX-License-Identifier: Apache-2.0 */
/* slots: the transitions of host and device slots. Pure: staging calls it under its mutex. */
#include "slots.h"

#include <assert.h>
#include <string.h>

void sl_slots_init(sl_slots *slots, uint32_t host_count, uint32_t device_count, bool shared)
{
    assert(host_count >= 1 && host_count <= SL_SLOTS_MAX);
    assert(shared || (device_count >= 1 && device_count <= SL_SLOTS_MAX));
    memset(slots, 0, sizeof(*slots));
    slots->shared = shared;
    slots->host_count = host_count;
    slots->device_count = shared ? host_count : device_count;
}

static bool discarded(const sl_slots *slots, uint64_t ticket)
{
    return ticket < slots->discard_below;
}

static void empty_host(sl_slots *slots, uint32_t host)
{
    memset(&slots->host[host], 0, sizeof(slots->host[host]));
}

/* In shared memory the host slot becomes free with its device slot. */
static void free_device(sl_slots *slots, uint32_t device)
{
    if (slots->shared) {
        empty_host(slots, device);
    }
    memset(&slots->device[device], 0, sizeof(slots->device[device]));
}

int sl_slots_begin(sl_slots *slots)
{
    for (uint32_t i = 0; i < slots->host_count; i++) {
        sl_host_slot *host = &slots->host[i];
        if (host->state == SL_HOST_EMPTY) {
            host->state = SL_HOST_FILLING;
            host->ticket = slots->begun++;
            return (int)i;
        }
    }
    return -1;
}

bool sl_slots_filled(sl_slots *slots, uint32_t host)
{
    if (host >= slots->host_count || slots->host[host].state != SL_HOST_FILLING) {
        return false;
    }
    sl_host_slot *slot = &slots->host[host];
    if (discarded(slots, slot->ticket)) {
        empty_host(slots, host);
    } else {
        slot->state = SL_HOST_FULL;
    }
    return true;
}

/* Returns the slot of the next ticket to copy, or -1 when it is not FULL yet. */
static int next_full(const sl_slots *slots)
{
    for (uint32_t i = 0; i < slots->host_count; i++) {
        const sl_host_slot *host = &slots->host[i];
        if (host->state == SL_HOST_FULL && host->ticket == slots->copied) {
            return (int)i;
        }
    }
    return -1;
}

static int free_device_for(const sl_slots *slots, uint32_t host)
{
    if (slots->shared) {
        return (int)host;
    }
    for (uint32_t i = 0; i < slots->device_count; i++) {
        if (slots->device[i].state == SL_DEVICE_FREE) {
            return (int)i;
        }
    }
    return -1;
}

bool sl_slots_copy_begin(sl_slots *slots, uint32_t *host, uint32_t *device)
{
    const int from = next_full(slots);
    if (from < 0) {
        return false;
    }
    const int to = free_device_for(slots, (uint32_t)from);
    if (to < 0) {
        return false;
    }
    slots->host[from].state = SL_HOST_COPYING;
    slots->device[to] = (sl_device_slot){
        .state = SL_DEVICE_COPYING, .host = (uint32_t)from, .ticket = slots->host[from].ticket};
    slots->copied++;
    *host = (uint32_t)from;
    *device = (uint32_t)to;
    return true;
}

bool sl_slots_copy_queued(sl_slots *slots, uint32_t device)
{
    if (device >= slots->device_count || slots->device[device].state != SL_DEVICE_COPYING) {
        return false;
    }
    if (discarded(slots, slots->device[device].ticket)) {
        free_device(slots, device);
    } else {
        slots->device[device].state = SL_DEVICE_READY;
    }
    return true;
}

/* Returns whether a copy from `host` was begun and is not queued yet. */
static bool unqueued_from(const sl_slots *slots, uint32_t host)
{
    for (uint32_t i = 0; i < slots->device_count; i++) {
        if (slots->device[i].state == SL_DEVICE_COPYING && slots->device[i].host == host) {
            return true;
        }
    }
    return false;
}

bool sl_slots_copy_done(sl_slots *slots, uint32_t host)
{
    if (slots->shared || host >= slots->host_count || slots->host[host].state != SL_HOST_COPYING ||
        unqueued_from(slots, host)) {
        return false;
    }
    empty_host(slots, host);
    return true;
}

int sl_slots_take(sl_slots *slots)
{
    for (uint32_t i = 0; i < slots->device_count; i++) {
        sl_device_slot *device = &slots->device[i];
        if (device->state == SL_DEVICE_READY && device->ticket == slots->taken) {
            device->state = SL_DEVICE_HELD;
            slots->taken++;
            return (int)i;
        }
    }
    return -1;
}

bool sl_slots_release(sl_slots *slots, uint32_t device)
{
    if (device >= slots->device_count || slots->device[device].state != SL_DEVICE_HELD) {
        return false;
    }
    free_device(slots, device);
    return true;
}

bool sl_slots_discard(sl_slots *slots)
{
    bool emptied = false;
    slots->discard_below = slots->begun;
    slots->copied = slots->begun;
    slots->taken = slots->begun;
    for (uint32_t i = 0; i < slots->host_count; i++) {
        if (slots->host[i].state == SL_HOST_FULL) {
            empty_host(slots, i);
            emptied = true;
        }
    }
    for (uint32_t i = 0; i < slots->device_count; i++) {
        if (slots->device[i].state == SL_DEVICE_READY) {
            free_device(slots, i);
            emptied |= slots->shared;
        }
    }
    return emptied;
}

static uint32_t count_device(const sl_slots *slots, sl_device_state state)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < slots->device_count; i++) {
        count += slots->device[i].state == state;
    }
    return count;
}

static uint32_t count_host(const sl_slots *slots, sl_host_state state)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < slots->host_count; i++) {
        count += slots->host[i].state == state;
    }
    return count;
}

bool sl_slots_idle(const sl_slots *slots)
{
    const uint32_t held = count_device(slots, SL_DEVICE_HELD);
    const uint32_t host_used = slots->host_count - count_host(slots, SL_HOST_EMPTY);
    const uint32_t device_used = slots->device_count - count_device(slots, SL_DEVICE_FREE);
    return device_used == held && host_used == (slots->shared ? held : 0);
}

uint32_t sl_slots_ready(const sl_slots *slots)
{
    return count_device(slots, SL_DEVICE_READY);
}

uint32_t sl_slots_full(const sl_slots *slots)
{
    return count_host(slots, SL_HOST_FULL);
}
