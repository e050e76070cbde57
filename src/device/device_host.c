/* SPDX-License-Identifier: Apache-2.0 */
/* Host memory as the device: nothing is copied, everything is complete at once. */
#include "device.h"
#include "error.h"
#include "memory.h"

#include <stdio.h>
#include <string.h>

struct sl_event {
    char unused;
};

/* All events are equally complete, so one is enough. */
static sl_event complete;

static sluice_status host_open(sl_device **device, const char *argument, sluice_error *error)
{
    if (argument[0] != '\0') {
        return sl_error_set(error, SLUICE_INVALID, "staging",
                            "device \"host\" takes no number or name (\"%s\")", argument);
    }
    sl_device *made = sl_calloc(1, sizeof(*made));
    if (made == NULL) {
        return sl_no_memory(error, "staging", "for the device");
    }
    made->ops = &sl_device_host;
    made->shares_memory = true;
    made->type = SLUICE_DEVICE_TYPE_CPU;
    made->numa_node = -1;
    made->pinning = "none";
    *device = made;
    return SLUICE_OK;
}

static void host_close(sl_device *device)
{
    sl_free(device);
}

static void host_describe(const sl_device *device, char *text, size_t bytes)
{
    (void)device;
    snprintf(text, bytes, "host memory");
}

static sluice_status host_slab_register(sl_device *device, sl_slab *slab, sluice_error *error)
{
    (void)device;
    (void)slab;
    (void)error;
    return SLUICE_OK;
}

static void host_slab_unregister(sl_device *device, sl_slab *slab)
{
    (void)device;
    (void)slab;
}

static sluice_status host_memory_open(sl_device *device, size_t bytes, void **memory,
                                      sluice_error *error)
{
    (void)device;
    *memory = sl_malloc(bytes);
    if (*memory == NULL) {
        return sl_no_memory(error, "staging", "for %zu bytes", bytes);
    }
    return SLUICE_OK;
}

static void host_memory_close(sl_device *device, void *memory)
{
    (void)device;
    sl_free(memory);
}

/* The only stream is the calling thread, whose work is done when it calls. */
static sluice_status host_stream_open(sl_device *device, bool urgent, struct CUstream_st **stream,
                                      sluice_error *error)
{
    (void)device;
    (void)urgent;
    (void)error;
    *stream = NULL;
    return SLUICE_OK;
}

static void host_stream_close(sl_device *device, struct CUstream_st *stream)
{
    (void)device;
    (void)stream;
}

static sluice_status device_host_check_stream(const struct CUstream_st *stream, sluice_error *error)
{
    if (stream != NULL) {
        return sl_error_set(error, SLUICE_INVALID, "staging",
                            "batches in host memory have no stream: it must be NULL");
    }
    return SLUICE_OK;
}

static sluice_status host_event_open(sl_device *device, sl_event_kind kind, sl_event **event,
                                     sluice_error *error)
{
    (void)device;
    (void)kind;
    (void)error;
    *event = &complete;
    return SLUICE_OK;
}

static void host_event_close(sl_device *device, sl_event *event)
{
    (void)device;
    (void)event;
}

static sluice_status host_event_record(sl_device *device, sl_event *event,
                                       struct CUstream_st *stream, sluice_error *error)
{
    (void)device;
    (void)event;
    return device_host_check_stream(stream, error);
}

static sluice_status host_event_query(sl_device *device, sl_event *event, sluice_error *error)
{
    (void)device;
    (void)event;
    (void)error;
    return SLUICE_OK;
}

static sluice_status host_event_elapsed(sl_device *device, sl_event *begin, sl_event *end,
                                        uint64_t *ns, sluice_error *error)
{
    (void)device;
    (void)begin;
    (void)end;
    (void)error;
    *ns = 0;
    return SLUICE_OK;
}

static sluice_status host_stream_wait(sl_device *device, struct CUstream_st *stream,
                                      sl_event *event, sluice_error *error)
{
    (void)device;
    (void)event;
    return device_host_check_stream(stream, error);
}

static sluice_status host_copy_to_device(sl_device *device, void *to, const void *from,
                                         size_t bytes, struct CUstream_st *stream,
                                         sluice_error *error)
{
    (void)device;
    const sluice_status status = device_host_check_stream(stream, error);
    if (status == SLUICE_OK && to != from) {
        memcpy(to, from, bytes);
    }
    return status;
}

const sl_device_ops sl_device_host = {
    .name = "host",
    .open = host_open,
    .close = host_close,
    .describe = host_describe,
    .slab_register = host_slab_register,
    .slab_unregister = host_slab_unregister,
    .memory_open = host_memory_open,
    .memory_close = host_memory_close,
    .stream_open = host_stream_open,
    .stream_close = host_stream_close,
    .event_open = host_event_open,
    .event_close = host_event_close,
    .event_record = host_event_record,
    .event_query = host_event_query,
    .event_synchronize = host_event_query,
    .event_elapsed = host_event_elapsed,
    .stream_wait = host_stream_wait,
    .copy_to_device = host_copy_to_device,
};
