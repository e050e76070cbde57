/* SPDX-License-Identifier: Apache-2.0 */
/* The interface of a set of objects for callers that may block. */
#include "objects.h"

#include "error.h"
#include "read_files.h"
#include "retry.h"
#include "streams.h"

#include <errno.h>

#define STAGE "io"

/* Returns whether the object's store is remote, which has retried already. */
static bool is_remote(const sl_objects *objects, uint32_t object)
{
    char path[SL_PATH_BYTES];
    return sl_objects_path(objects, object, path, sizeof(path)) == SLUICE_OK &&
           sl_store_of(path)->remote;
}

/* Returns whether to retry a failed read; sleeps before it does. */
static bool try_again(const sl_objects *objects, uint32_t object, sl_retry *retry,
                      const sluice_error *reason)
{
    if (reason->status != SLUICE_IO || is_remote(objects, object)) {
        return false;
    }
    return sl_objects_is_failing(objects) ? sl_retry_once(retry, reason->sys_errno)
                                          : sl_retry_wait(retry, reason->sys_errno);
}

static void note_end(sl_objects *objects, sluice_status status, const sl_retry *retry)
{
    if (status == SLUICE_OK || (status == SLUICE_IO && retry->moment + retry->device > 0)) {
        sl_objects_note_read(objects, status == SLUICE_OK);
    }
}

/* Object and range to read. */
typedef struct part {
    uint32_t object;
    uint64_t offset;
    void *to;
    size_t bytes;
} part;

static sluice_status read_once(sl_objects *objects, const part *of, sluice_error *error)
{
    sl_pin pin;
    char path[SL_PATH_BYTES] = "";
    const sl_pin_how how = {.wait_ns = SL_OBJECTS_WAIT_NS};
    sluice_status status = sl_objects_pin(objects, of->object, how, &pin, error);
    if (status != SLUICE_OK) {
        return status;
    }
    (void)sl_objects_path(objects, of->object, path, sizeof(path));
    sl_handle named = *pin.handle;
    named.name = (sl_file_name){STAGE, path};
    status = sl_handle_read_once(&named, of->to, of->bytes, of->offset, error);
    if (status == SLUICE_IO && error->sys_errno == ESTALE) {
        sl_objects_reopen(objects, &pin, false);
    }
    sl_objects_unpin(objects, &pin);
    return status;
}

static sluice_status objects_read_packed(sl_objects *objects, const part *of, sluice_error *error)
{
    char path[SL_PATH_BYTES];
    if (sl_objects_path(objects, of->object, path, sizeof(path)) != SLUICE_OK) {
        return sl_error_set(error, SLUICE_INVALID, STAGE, "the path of file %u is too long",
                            of->object);
    }
    const sl_streamed streamed = {
        .object = of->object, .path = path, .packed = sl_objects_packed(objects, of->object)};
    return sl_streams_read(sl_objects_streams(objects), &streamed, of->offset, of->to, of->bytes,
                           error);
}

sluice_status sl_objects_read(sl_objects *objects, uint32_t object, uint64_t offset, void *to,
                              size_t bytes, sluice_error *error)
{
    const part of = {object, offset, to, bytes};
    sluice_error reason;
    sluice_status status;
    sl_retry retry = {0};
    if (sl_objects_packed(objects, object).packing != SL_PACKING_NONE) {
        return objects_read_packed(objects, &of, error);
    }
    do {
        status = read_once(objects, &of, &reason);
    } while (status < 0 && try_again(objects, object, &retry, &reason));
    note_end(objects, status, &retry);
    if (status < 0 && error != NULL) {
        *error = reason;
    }
    return status;
}

/* A file that is one sample, and the folder that must contain it. */
typedef struct whole {
    const char *path;
    const sl_boundary *boundary;
    bool front; /* of a larger one its beginning */
} whole;

static sluice_status read_whole_once(whole file, void *to, size_t capacity, size_t *size,
                                     sluice_error *error)
{
    sl_handle handle;
    sl_store_facts found;
    const char *path = file.path;
    const sl_open_how how = {.boundary = file.boundary};
    const int failed = sl_handle_open_how(&handle, path, &how, &found);
    if (failed == -EXDEV && file.boundary != NULL) {
        return sl_boundary_refuse(file.boundary, path, error);
    }
    if (failed < 0) {
        const char *reason = sl_store_of(path)->remote ? sl_store_reason() : "";
        return sl_error_file(error, SLUICE_IO, STAGE, -failed, path, -1, "cannot open the file%s%s",
                             reason[0] != '\0' ? ": " : "", reason);
    }
    handle.name.stage = STAGE;
    *size = (size_t)found.identity.bytes;
    sluice_status status = SLUICE_AGAIN;
    if (*size <= capacity || file.front) {
        status = sl_handle_read_once(&handle, to, *size < capacity ? *size : capacity, 0, error);
    }
    sl_handle_close(&handle);
    return status;
}

static sluice_status read_files_once(const sl_files_read *read, size_t *size, sluice_error *error)
{
    char path[SL_PATH_BYTES] = "";
    sl_files_end end = {.bytes = 0};
    const int64_t got = sl_read_files(read, &end);
    *size = (size_t)end.bytes;
    if (got >= 0 || got == -EFBIG) {
        return got >= 0 ? SLUICE_OK : SLUICE_AGAIN;
    }
    (void)sl_objects_file_path(read->objects, read->object, end.file, path, sizeof(path));
    const sl_boundary *boundary = sl_objects_boundary(read->objects, read->object);
    return got == -EXDEV && boundary != NULL ? sl_boundary_refuse(boundary, path, error)
                                             : sl_error_file(error, SLUICE_IO, STAGE, (int)-got,
                                                             path, -1, "cannot read the file");
}

static sluice_status objects_read_files(sl_objects *objects, const sl_files_read *read,
                                        size_t *size, sluice_error *error)
{
    sluice_error reason;
    sluice_status status;
    sl_retry retry = {0};
    do {
        status = read_files_once(read, size, &reason);
    } while (status < 0 && try_again(objects, read->object, &retry, &reason));
    note_end(objects, status, &retry);
    if (status < 0 && error != NULL) {
        *error = reason;
    }
    return status;
}

typedef struct space {
    void *to;
    size_t capacity;
} space;

static sluice_status read_file(sl_objects *objects, uint32_t object, bool front, space into,
                               size_t *size, sluice_error *error)
{
    char path[SL_PATH_BYTES];
    sluice_error reason;
    sluice_status status;
    sl_retry retry = {0};
    if (sl_objects_path(objects, object, path, sizeof(path)) != SLUICE_OK) {
        return sl_error_set(error, SLUICE_INVALID, STAGE, "the path of file %u is too long",
                            object);
    }
    const whole file = {path, sl_objects_boundary(objects, object), front};
    do {
        status = read_whole_once(file, into.to, into.capacity, size, &reason);
    } while (status < 0 && try_again(objects, object, &retry, &reason));
    note_end(objects, status, &retry);
    if (status < 0 && error != NULL) {
        *error = reason;
    }
    return status;
}

sluice_status sl_objects_finish(sl_objects *objects, sluice_error *error)
{
    sl_streams *streams = sl_objects_streams(objects);
    return streams != NULL ? sl_streams_finish(streams, error) : SLUICE_OK;
}

bool sl_objects_failure(sl_objects *objects, uint32_t number, uint32_t *object, sluice_error *error)
{
    sl_streams *streams = sl_objects_streams(objects);
    return streams != NULL && sl_streams_failure(streams, number, object, error);
}

bool sl_objects_lack_checksum(sl_objects *objects)
{
    sl_streams *streams = sl_objects_streams(objects);
    return streams != NULL && sl_streams_lack_checksum(streams);
}

sluice_status sl_objects_read_whole(sl_objects *objects, uint32_t object, void *to, size_t capacity,
                                    size_t *size, sluice_error *error)
{
    const uint32_t files = sl_objects_files(objects, object);
    if (files > 0) {
        const sl_files_read read = {
            .objects = objects, .object = object, .files = files, .buffer = to, .length = capacity};
        return objects_read_files(objects, &read, size, error);
    }
    return read_file(objects, object, false, (space){to, capacity}, size, error);
}

sluice_status sl_objects_read_front(sl_objects *objects, uint32_t object, void *to, size_t capacity,
                                    size_t *size, sluice_error *error)
{
    return read_file(objects, object, true, (space){to, capacity}, size, error);
}
