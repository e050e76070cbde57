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
 * Threads: memory and create/destroy by the opener (closing perhaps by whoever releases the last
 * batch); stream and event functions from any thread (the copier's and the consumer's). None but
 * event_synchronize and stream_close blocks for the device.
 * Errors: DEVICE with device_code; sticky: once a call failed that way all later ones may. INVALID
 * or STATE: nothing was done and nothing is broken (a stream that is none of this device's, or that
 * is being captured into a graph). Close functions do not fail; a device that is lost has nothing
 * to wait for.
 */
#ifndef SL_DEVICE_H
#define SL_DEVICE_H

#include "slab.h"

#include <sluice/common.h>

#include <stdbool.h>

typedef struct sl_device sl_device;
typedef struct sl_event sl_event;
struct CUstream_st; /* a stream of the device; NULL: its default stream */

typedef struct sl_device_ops {
    const char *name;
    sluice_status (*open)(sl_device **device, const char *argument, sluice_error *error);
    void (*close)(sl_device *device);
    /* Makes a slab a target of asynchronous copies (registers, pins). */
    sluice_status (*slab_register)(sl_device *device, sl_slab *slab, sluice_error *error);
    void (*slab_unregister)(sl_device *device, sl_slab *slab);
    sluice_status (*memory_open)(sl_device *device, size_t bytes, void **memory,
                                 sluice_error *error);
    void (*memory_close)(sl_device *device, void *memory);
    sluice_status (*stream_open)(sl_device *device, struct CUstream_st **stream,
                                 sluice_error *error);
    /* Waits until the work given to it is done. */
    void (*stream_close)(sl_device *device, struct CUstream_st *stream);
    /* host_waits: the event will be passed to event_synchronize. */
    sluice_status (*event_open)(sl_device *device, bool host_waits, sl_event **event,
                                sluice_error *error);
    void (*event_close)(sl_device *device, sl_event *event);
    sluice_status (*event_record)(sl_device *device, sl_event *event, struct CUstream_st *stream,
                                  sluice_error *error);
    /* OK when complete, AGAIN when not. */
    sluice_status (*event_query)(sl_device *device, sl_event *event, sluice_error *error);
    sluice_status (*event_synchronize)(sl_device *device, sl_event *event, sluice_error *error);
    sluice_status (*stream_wait)(sl_device *device, struct CUstream_st *stream, sl_event *event,
                                 sluice_error *error);
    sluice_status (*copy_to_device)(sl_device *device, void *to, const void *from, size_t bytes,
                                    struct CUstream_st *stream, sluice_error *error);
} sl_device_ops;

struct sl_device {
    const sl_device_ops *ops;
    /* Device memory is the slab itself: no device slots, no copies, no stream but NULL. */
    bool shares_memory;
    int32_t number; /* for sluice_tensor.device: -1 host */
};

extern const sl_device_ops sl_device_host;

/*
 * Opens by name: "host", or in general KIND[:ARGUMENT], the argument being the backend's affair.
 * UNSUPPORTED, with a reason, when there is no such device here.
 */
sluice_status sl_device_open(sl_device **device, const char *name, sluice_error *error);
void sl_device_close(sl_device *device);

#endif
