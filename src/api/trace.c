/* SPDX-License-Identifier: Apache-2.0 */
/* The recording of events. */
#include "trace.h"

sluice_status sluice_trace_start(uint32_t threads, uint32_t events)
{
    return sl_trace_start(threads, events);
}

void sluice_trace_stop(void)
{
    sl_trace_stop();
}

size_t sluice_trace_read(sluice_trace_event *events, size_t event_bytes, size_t room,
                         uint64_t *lost)
{
    const sl_trace_room own = {
        .events = events, .event_bytes = event_bytes, .count = events == NULL ? 0 : room};
    return sl_trace_read(&own, lost);
}

void sluice_trace_get_thread_name(uint32_t thread, char *name, size_t bytes)
{
    if (name != NULL && bytes > 0) {
        sl_trace_thread_name(thread, name, bytes);
    }
}

void sluice_trace_discard(void)
{
    sl_trace_discard();
}
