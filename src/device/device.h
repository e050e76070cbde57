/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device: the contract of the memory that batches end up in.
 *
 * Purpose: pinned host memory, device memory, streams and events behind one table, so that no code
 * above depends on CUDA. device_host implements it with plain memory: its "device" memory is the
 * host slab itself (shares_memory), copies do nothing, and events are always complete.
 *
 * Semantics: work queued on one stream runs in order; streams are independent; an event is complete
 * when all work queued on its stream before record is done; an event that was never recorded counts
 * as complete.
 *
 * Threads: memory and create/destroy by the opener (closing possibly by the thread that releases
 * the last batch); stream and event functions from any thread (the copier's and the consumer's).
 * Only event_synchronize and the close functions block for the device, and copy_to_device if the
 * slab is pageable.
 *
 * After a fork the device belongs to the parent: the child must not call any function of it.
 *
 * Errors: DEVICE with device_code; sticky: once a call failed that way, all later ones may. NOMEM:
 * only from functions that open something. INVALID or STATE: nothing was done and nothing is broken
 * (the stream is not one of this device's, or is being captured into a graph). Close functions do
 * not fail; after the device is lost there is nothing to wait for.
 */
#ifndef SL_DEVICE_H
#define SL_DEVICE_H

#include "conversion.h"
#include "slab.h"

#include <sluice/common.h>

#include <stdbool.h>

typedef struct sl_device sl_device;
typedef struct sl_event sl_event;
struct CUstream_st; /* a stream of the device; NULL: its default stream */

typedef enum sl_event_kind {
    SL_EVENT_ORDER, /* for streams to wait for, and event_query */
    SL_EVENT_HOST,  /* for event_synchronize as well */
    SL_EVENT_TIMED  /* for event_query and event_elapsed */
} sl_event_kind;

typedef struct sl_device_ops {
    const char *name;
    sluice_status (*open)(sl_device **device, const char *argument, sluice_error *error);
    void (*close)(sl_device *device);
    /* Writes one line: what the device is, and what it cannot do. */
    void (*describe)(const sl_device *device, char *text, size_t bytes);
    /* Makes a slab a source of asynchronous copies: pins it, near the device. If its memory cannot
     * be pinned, other zeroed memory may replace it (base changes); if none can be pinned, copies
     * are slower; device->pinning says so, with a reason. slab_unregister must be called before
     * sl_slab_close. */
    sluice_status (*slab_register)(sl_device *device, sl_slab *slab, sluice_error *error);
    void (*slab_unregister)(sl_device *device, sl_slab *slab);
    sluice_status (*memory_open)(sl_device *device, size_t bytes, void **memory,
                                 sluice_error *error);
    void (*memory_close)(sl_device *device, void *memory);
    /* Checks that all of a caller's memory belongs to this device, by its first and its last byte,
     * so that kernels may write to it. INVALID, saying what it is instead. NULL: as convert. */
    sluice_status (*memory_check)(sl_device *device, const void *memory, size_t bytes,
                                  sluice_error *error);
    /* urgent: its kernels run before those of other streams (copies have no priority). */
    sluice_status (*stream_open)(sl_device *device, bool urgent, struct CUstream_st **stream,
                                 sluice_error *error);
    /* Waits until the work queued on it is done. */
    void (*stream_close)(sl_device *device, struct CUstream_st *stream);
    sluice_status (*event_open)(sl_device *device, sl_event_kind kind, sl_event **event,
                                sluice_error *error);
    void (*event_close)(sl_device *device, sl_event *event);
    sluice_status (*event_record)(sl_device *device, sl_event *event, struct CUstream_st *stream,
                                  sluice_error *error);
    /* Returns OK when complete, else AGAIN. */
    sluice_status (*event_query)(sl_device *device, sl_event *event, sluice_error *error);
    sluice_status (*event_synchronize)(sl_device *device, sl_event *event, sluice_error *error);
    /* Measures the device time between two TIMED events that event_query reported complete; it
     * must not be used to wait for them, and may not notice a failure. AGAIN if they are not
     * complete. */
    sluice_status (*event_elapsed)(sl_device *device, sl_event *begin, sl_event *end, uint64_t *ns,
                                   sluice_error *error);
    sluice_status (*stream_wait)(sl_device *device, struct CUstream_st *stream, sl_event *event,
                                 sluice_error *error);
    sluice_status (*copy_to_device)(sl_device *device, void *to, const void *from, size_t bytes,
                                    struct CUstream_st *stream, sluice_error *error);
    /* Queues a conversion. NULL, or device->converts false: the device cannot convert. */
    sluice_status (*convert)(sl_device *device, const sl_conversion *conversion,
                             const sl_conversion_rows *rows, struct CUstream_st *stream,
                             sluice_error *error);
} sl_device_ops;

struct sl_device {
    const sl_device_ops *ops;
    /* Device memory is the slab itself: there are no device slots, no copies, and no stream but
     * NULL. */
    bool shares_memory;
    bool converts;
    bool measures;           /* event_elapsed may be called */
    sluice_device_type type; /* these two as in sluice_tensor */
    int32_t number;
    int32_t numa_node;        /* of the nearest host memory; -1: none, or not known */
    const char *pinning;      /* how the slab is pinned, for stats: a literal; "none" before */
    char pinning_reason[256]; /* why it is not pinned by registration, or "" */
};

extern const sl_device_ops sl_device_host, sl_device_cuda;

/*
 * Opens a device by name: "host", "cuda", "cuda:N", in general KIND[:ARGUMENT], where the backend
 * interprets the argument; or "auto": the first CUDA device if there is one, else the host (also if
 * CUDA does not start; a device that exists and fails is an error). INVALID: no such name.
 * UNSUPPORTED, with a reason: no such device here. NOMEM, DEVICE: the device exists and failed.
 */
sluice_status sl_device_open(sl_device **device, const char *name, sluice_error *error);
/* Writes one line: what sl_device_open would open, or why it would fail; returns its status. */
sluice_status sl_device_describe(const char *name, char *text, size_t bytes);
void sl_device_close(sl_device *device);

#endif
