/* SPDX-License-Identifier: Apache-2.0 */
/*
 * streams: the few open streams of a set of objects, the least recently used closed first. Any
 * thread, one at a time: the mutex is held while reading. A file is read to its end, where its
 * checksums are, before it is closed.
 */
#include "streams.h"

#include "error.h"
#include "memory.h"
#include "thread.h"

enum { OPEN_MAX = 2 };
/* Kept bytes of each: 32 MiB less a chunk, for samples that are read twice, or slightly out of
 * order. */
#define CHUNKS ((uint32_t)(((size_t)32 << 20) / SL_STREAM_CHUNK_BYTES))

/* Knowledge about a file. */
typedef enum state {
    UNREAD,
    READ,  /* partly read; its end was not seen */
    WHOLE, /* read to its end, and all was right */
    FAILED
} state;

typedef struct opened {
    sl_stream *stream; /* NULL: none */
    uint32_t object;
    uint64_t used; /* for LRU */
} opened;

typedef struct failure {
    uint32_t object;
    sluice_error error;
} failure;

struct sl_streams {
    pthread_mutex_t mutex;
    /* under mutex */
    opened all[OPEN_MAX];
    uint64_t clock;
    uint8_t *states;   /* a state of each object */
    failure *failures; /* in the order they were found */
    uint32_t failed;
    uint64_t capacity;
    bool lacks_checksum; /* of a part of one that is WHOLE */
};

sluice_status sl_streams_open(sl_streams **streams, uint32_t count, sluice_error *error)
{
    *streams = NULL;
    sl_streams *made = sl_calloc(1, sizeof(*made));
    uint8_t *states = sl_calloc(count, 1);
    if (made == NULL || states == NULL) {
        sl_free(made);
        sl_free(states);
        return sl_no_memory(error, "io", "unpacking");
    }
    made->states = states;
    sl_mutex_init(&made->mutex);
    *streams = made;
    return SLUICE_OK;
}

void sl_streams_close(sl_streams *streams)
{
    if (streams == NULL) {
        return;
    }
    for (uint32_t i = 0; i < OPEN_MAX; i++) {
        sl_stream_close(streams->all[i].stream);
    }
    sl_mutex_destroy(&streams->mutex);
    sl_free(streams->states);
    sl_free(streams->failures);
    sl_free(streams);
}

/* ---- what fails ---- */

/* Keeps a failure; NOMEM, which ends the caller's work, if it cannot. */
static sluice_status streams_note_failure_locked(sl_streams *streams, uint32_t object,
                                                 sluice_error *error)
{
    if (streams->states[object] == FAILED) {
        return (sluice_status)error->status;
    }
    if (!sl_grow(&streams->failures, &streams->capacity, streams->failed + (uint64_t)1,
                 sizeof(*streams->failures))) {
        return sl_no_memory(error, "io", "unpacking");
    }
    streams->states[object] = FAILED;
    streams->failures[streams->failed++] = (failure){object, *error};
    return (sluice_status)error->status;
}

/* Updates the file's state by `status`: failing storage and a lack of memory are not faults of the
 * file. */
static sluice_status settle_locked(sl_streams *streams, uint32_t object, sluice_status status,
                                   sluice_error *error)
{
    return status == SLUICE_CORRUPT || status == SLUICE_UNSUPPORTED
               ? streams_note_failure_locked(streams, object, error)
               : status;
}

/* Reads on to the end, before it is closed, or at the end of all. */
static sluice_status streams_finish_locked(sl_streams *streams, opened *of, sluice_error *error)
{
    if (of->stream == NULL || streams->states[of->object] != READ) {
        return SLUICE_OK;
    }
    const sluice_status status = sl_stream_finish(of->stream, error);
    if (status == SLUICE_OK) {
        streams->states[of->object] = WHOLE;
        streams->lacks_checksum = streams->lacks_checksum || sl_stream_lacks_checksum(of->stream);
    }
    return settle_locked(streams, of->object, status, error);
}

/* ---- reading ---- */

/* Opens a file in the place of the least recently used one, whose failure is reported on request:
 * this read is of another file. */
static sluice_status open_locked(sl_streams *streams, const sl_streamed *of, opened **found,
                                 sluice_error *error)
{
    opened *oldest = &streams->all[0];
    for (uint32_t i = 1; i < OPEN_MAX; i++) {
        oldest = streams->all[i].used < oldest->used ? &streams->all[i] : oldest;
    }
    const sluice_status status = streams_finish_locked(streams, oldest, error);
    if (status == SLUICE_IO || status == SLUICE_NOMEM) {
        return status;
    }
    sl_stream_close(oldest->stream);
    oldest->object = of->object;
    *found = oldest;
    return sl_stream_open(&oldest->stream, of->path, &of->packed, CHUNKS, error);
}

static sluice_status find_locked(sl_streams *streams, const sl_streamed *of, opened **found,
                                 sluice_error *error)
{
    for (uint32_t i = 0; i < OPEN_MAX; i++) {
        *found = &streams->all[i];
        if ((*found)->stream != NULL && (*found)->object == of->object) {
            return SLUICE_OK;
        }
    }
    return open_locked(streams, of, found, error);
}

sluice_status sl_streams_read(sl_streams *streams, const sl_streamed *of, uint64_t offset, void *to,
                              size_t bytes, sluice_error *error)
{
    opened *found = NULL;
    sluice_error reason;
    sl_error_clear(&reason);
    sl_lock(&streams->mutex);
    sluice_status status = find_locked(streams, of, &found, &reason);
    if (status == SLUICE_OK) {
        uint8_t *known = &streams->states[of->object];
        *known = *known == UNREAD ? READ : *known;
        found->used = ++streams->clock;
        status = sl_stream_read(found->stream, offset, to, bytes, &reason);
        status = settle_locked(streams, of->object, status, &reason);
    }
    sl_unlock(&streams->mutex);
    if (status < 0 && error != NULL) {
        *error = reason;
    }
    return status;
}

sluice_status sl_streams_finish(sl_streams *streams, sluice_error *error)
{
    sluice_error reason;
    sl_error_clear(&reason);
    sl_lock(&streams->mutex);
    sluice_status status = SLUICE_OK;
    for (uint32_t i = 0; status == SLUICE_OK && i < OPEN_MAX; i++) {
        status = streams_finish_locked(streams, &streams->all[i], &reason);
        status = status == SLUICE_CORRUPT || status == SLUICE_UNSUPPORTED ? SLUICE_OK : status;
    }
    if (status == SLUICE_OK && streams->failed > 0) {
        reason = streams->failures[0].error;
        status = (sluice_status)reason.status;
    }
    sl_unlock(&streams->mutex);
    if (status < 0 && error != NULL) {
        *error = reason;
    }
    return status;
}

bool sl_streams_failure(sl_streams *streams, uint32_t number, uint32_t *object, sluice_error *error)
{
    sl_lock(&streams->mutex);
    const bool there = number < streams->failed;
    if (there && object != NULL) {
        *object = streams->failures[number].object;
    }
    if (there && error != NULL) {
        *error = streams->failures[number].error;
    }
    sl_unlock(&streams->mutex);
    return there;
}

bool sl_streams_lack_checksum(sl_streams *streams)
{
    sl_lock(&streams->mutex);
    const bool lacks = streams->lacks_checksum;
    sl_unlock(&streams->mutex);
    return lacks;
}
