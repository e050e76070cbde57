/* SPDX-License-Identifier: Apache-2.0 */
/* The invariants of slots.h. */
#include "slots_valid.h"

static bool counters_valid(const sl_slots *slots)
{
    return slots->host_count >= 1 && slots->host_count <= SL_SLOTS_MAX &&
           slots->device_count >= 1 && slots->device_count <= SL_SLOTS_MAX &&
           (!slots->shared || slots->device_count == slots->host_count) &&
           slots->discard_below <= slots->taken && slots->taken <= slots->copied &&
           slots->copied <= slots->begun;
}

static bool host_valid(const sl_slots *slots, const sl_host_slot *host)
{
    const bool waiting = host->ticket >= slots->copied && host->ticket < slots->begun;
    switch (host->state) {
    case SL_HOST_EMPTY:
        return host->ticket == 0;
    case SL_HOST_FILLING:
        return waiting || host->ticket < slots->discard_below;
    case SL_HOST_FULL:
        return waiting;
    case SL_HOST_COPYING:
        return host->ticket < slots->copied;
    }
    return false;
}

/* The copy's source holds the same ticket. */
static bool source_valid(const sl_slots *slots, const sl_device_slot *device)
{
    return device->host < slots->host_count && slots->host[device->host].state == SL_HOST_COPYING &&
           slots->host[device->host].ticket == device->ticket;
}

static bool device_valid(const sl_slots *slots, const sl_device_slot *device)
{
    const bool untaken = device->ticket >= slots->taken && device->ticket < slots->copied;
    switch (device->state) {
    case SL_DEVICE_FREE:
        return device->ticket == 0 && device->host == 0;
    case SL_DEVICE_COPYING:
        return source_valid(slots, device) && (untaken || device->ticket < slots->discard_below);
    case SL_DEVICE_READY:
        return untaken;
    case SL_DEVICE_HELD:
        return device->ticket < slots->taken;
    }
    return false;
}

/* Shared memory: one slot seen from two sides. */
static bool pair_valid(const sl_slots *slots, uint32_t slot)
{
    const bool copying = slots->host[slot].state == SL_HOST_COPYING;
    const bool used = slots->device[slot].state != SL_DEVICE_FREE;
    if (!used) {
        return !copying;
    }
    return slots->device[slot].host == slot && source_valid(slots, &slots->device[slot]);
}

static bool hosts_distinct(const sl_slots *slots, uint32_t slot)
{
    for (uint32_t i = 0; i < slot; i++) {
        if (slots->host[i].state != SL_HOST_EMPTY &&
            slots->host[i].ticket == slots->host[slot].ticket) {
            return false;
        }
    }
    return true;
}

static bool devices_distinct(const sl_slots *slots, uint32_t slot)
{
    for (uint32_t i = 0; i < slot; i++) {
        if (slots->device[i].state != SL_DEVICE_FREE &&
            slots->device[i].ticket == slots->device[slot].ticket) {
            return false;
        }
    }
    return true;
}

/* Every ticket that is not yet copied has its own host slot. */
static bool hosts_valid(const sl_slots *slots)
{
    uint64_t waiting = 0;
    for (uint32_t i = 0; i < slots->host_count; i++) {
        const sl_host_slot *host = &slots->host[i];
        const bool used = host->state != SL_HOST_EMPTY;
        if (!host_valid(slots, host) || (used && !hosts_distinct(slots, i))) {
            return false;
        }
        waiting += used && host->ticket >= slots->copied;
    }
    return waiting == slots->begun - slots->copied;
}

/* Every ticket that is copied but not yet taken has its own device slot. */
static bool devices_valid(const sl_slots *slots)
{
    uint64_t untaken = 0;
    for (uint32_t i = 0; i < slots->device_count; i++) {
        const sl_device_slot *device = &slots->device[i];
        const bool used = device->state != SL_DEVICE_FREE;
        if (!device_valid(slots, device) || (slots->shared && !pair_valid(slots, i)) ||
            (used && !devices_distinct(slots, i))) {
            return false;
        }
        untaken += used && device->ticket >= slots->taken;
    }
    return untaken == slots->copied - slots->taken;
}

bool slots_valid(const sl_slots *slots)
{
    return counters_valid(slots) && hosts_valid(slots) && devices_valid(slots);
}
