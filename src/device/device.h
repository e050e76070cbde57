/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device: the contract of the memory that batches end up in.
 *
 * Purpose: pinned host memory, device memory, streams and events behind one table, so that nothing
 * above knows CUDA. device_host implements it with plain memory: its "device" memory is the host
 * slab itself (shares_memory), copies are nothing, events are always complete.
 * Semantics: work given to one stream runs in order; streams are independent; an event is complete
 * when all work given to its stream before record is done; an event never recorded counts as
 * complete.
 * Threads: memory and create/destroy by the opener (closing perhaps by the thread that releases the
 * last batch); stream and event functions from any thread (the copier's and the consumer's). None
 * but event_synchronize and the close functions blocks for the device, and copy_to_device where the
 * slab is pageable.
 * After a fork the device belongs to the parent: nothing of it may be called in the child.
 * Errors: DEVICE with device_code; sticky: once a call failed that way all later ones may. NOMEM:
 * only from what opens something. INVALID or STATE: nothing was done and nothing is broken (a
 * stream that is none of this device's, or that is being captured into a graph). Close functions do
 * not fail; a device that is lost has nothing to wait for.
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
    /* One line: what it is, and what it cannot do. */
    void (*describe)(const sl_device *device, char *text, size_t bytes);
    /* Makes a slab a source of asynchronous copies: pins it, near the device. Its memory may be
     * exchanged for other zeroed memory (base changes) where this one cannot be pinned; where
     * nothing can be, copies are slower; device->pinning says so, with a reason. slab_unregister
     * goes before sl_slab_close. */
    sluice_status (*slab_register)(sl_device *device, sl_slab *slab, sluice_error *error);
    void (*slab_unregister)(sl_device *device, sl_slab *slab);
    sluice_status (*memory_open)(sl_device *device, size_t bytes, void **memory,
                                 sluice_error *error);
    void (*memory_close)(sl_device *device, void *memory);
    /* Whether all of somebody else's memory is this device's, by its first and its last byte, so
     * that kernels may write there. INVALID, with what it is instead. NULL: as convert. */
    sluice_status (*memory_check)(sl_device *device, const void *memory, size_t bytes,
                                  sluice_error *error);
    /* urgent: its kernels go before those of other streams (copies know no priority). */
    sluice_status (*stream_open)(sl_device *device, bool urgent, struct CUstream_st **stream,
                                 sluice_error *error);
    /* Waits until the work given to it is done. */
    void (*stream_close)(sl_device *device, struct CUstream_st *stream);
    sluice_status (*event_open)(sl_device *device, sl_event_kind kind, sl_event **event,
                                sluice_error *error);
    void (*event_close)(sl_device *device, sl_event *event);
    sluice_status (*event_record)(sl_device *device, sl_event *event, struct CUstream_st *stream,
                                  sluice_error *error);
    /* OK when complete, AGAIN when not. */
    sluice_status (*event_query)(sl_device *device, sl_event *event, sluice_error *error);
    sluice_status (*event_synchronize)(sl_device *device, sl_event *event, sluice_error *error);
    /* Device time between two TIMED events that are complete by event_query: this is no way to
     * wait for that, and may not see what has failed. AGAIN if they are not. */
    sluice_status (*event_elapsed)(sl_device *device, sl_event *begin, sl_event *end, uint64_t *ns,
                                   sluice_error *error);
    sluice_status (*stream_wait)(sl_device *device, struct CUstream_st *stream, sl_event *event,
                                 sluice_error *error);
    sluice_status (*copy_to_device)(sl_device *device, void *to, const void *from, size_t bytes,
                                    struct CUstream_st *stream, sluice_error *error);
    /* Queues a conversion. NULL, or device->converts false: this device cannot. */
    sluice_status (*convert)(sl_device *device, const sl_conversion *conversion,
                             const sl_conversion_rows *rows, struct CUstream_st *stream,
                             sluice_error *error);
} sl_device_ops;

struct sl_device {
    const sl_device_ops *ops;
    /* Device memory is the slab itself: no device slots, no copies, no stream but NULL. */
    bool shares_memory;
    bool converts;
    bool measures;           /* event_elapsed may be asked */
    sluice_device_type type; /* these two as in sluice_tensor */
    int32_t number;
    int32_t numa_node;        /* of the host's memory that is near, -1: none, or not known */
    const char *pinning;      /* how the slab is pinned, for stats: a literal, "none" before */
    char pinning_reason[256]; /* why not as registered, or "" */
};

extern const sl_device_ops sl_device_host, sl_device_cuda;

/*
 * Opens by name: "host", "cuda", "cuda:N", in general KIND[:ARGUMENT], the argument being the
 * backend's affair; or "auto": the first CUDA device where there is one, else the host (also where
 * CUDA does not start; a device that is there and fails is an error). INVALID: no such name.
 * UNSUPPORTED, with a reason: no such device here. NOMEM, DEVICE: it is there, and failed.
 */
sluice_status sl_device_open(sl_device **device, const char *name, sluice_error *error);
/* One line: what sl_device_open opens, or why it fails; its status. */
sluice_status sl_device_describe(const char *name, char *text, size_t bytes);
void sl_device_close(sl_device *device);

#endif
