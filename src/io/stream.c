/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream: unpacks a file chunk by chunk and keeps the last chunks for reads behind the front. One
 * thread at a time uses it, and unpacks on it. An offset before the kept chunks starts over.
 */
#include "stream.h"

#include "error.h"
#include "memory.h"
#include "retry.h"
#include "stop.h"
#include "store.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#define STAGE    "io"
#define IN_BYTES ((size_t)256 << 10)

struct sl_stream {
    char *path; /* owned */
    sl_packed packed;
    sl_handle file;
    bool is_borrowed; /* the caller closes the file */
    sl_unpack_stream *unpacker;
    uint64_t in_at; /* in the file: all bytes before it were read */
    sl_bytes in;    /* of `capacity`: read and not yet unpacked */
    uint8_t *capacity;
    uint64_t front; /* bytes unpacked so far */
    bool ended;     /* no more will follow */
    uint32_t chunk_count;
    uint8_t **chunks; /* byte b is in chunk b / SL_STREAM_CHUNK_BYTES % chunk_count; NULL: not yet
                         taken */
    uint64_t restarts, file_bytes, all_bytes;
    sl_stream_watch watch;
    sluice_error failed; /* error that stops the front; status 0: none */
};

/* ---- life ---- */

static sluice_status stream_check_file(const sl_stream *stream, sluice_error *error)
{
    if (sl_handle_is_unchanged(&stream->file, &stream->packed.file)) {
        return SLUICE_OK;
    }
    return sl_error_file(error, SLUICE_IO, STAGE, 0, stream->path, (int64_t)stream->in_at,
                         SL_FILE_REPLACED);
}

static void stream_close_file(sl_stream *stream)
{
    if (!stream->is_borrowed) {
        sl_handle_close(&stream->file);
    }
    stream->is_borrowed = false;
}

/* Source to read: a path to open, or an open handle. */
typedef struct stream_source {
    const char *path;
    const sl_handle *from; /* NULL: the path is opened */
} stream_source;

/* Resets the unpacker, and the file to its first byte. */
static sluice_status stream_begin(sl_stream *stream, sluice_error *error)
{
    sl_unpack_stream_close(stream->unpacker);
    stream->in_at = 0;
    stream->in = (sl_bytes){stream->capacity, 0};
    stream->front = 0;
    stream->ended = false;
    stream->failed.status = 0;
    return sl_unpack_stream_open(&stream->unpacker, stream->packed.packing, error);
}

/* `from` NULL: opens the path. */
static sluice_status stream_open_all(sl_stream *stream, const char *path, const sl_handle *from,
                                     sluice_error *error)
{
    stream->path = sl_strdup(path);
    stream->capacity = sl_malloc(IN_BYTES);
    stream->chunks = (uint8_t **)sl_calloc(stream->chunk_count, sizeof(*stream->chunks));
    if (stream->path == NULL || stream->capacity == NULL || stream->chunks == NULL) {
        return sl_no_memory_file(error, STAGE, path, "unpacking");
    }
    sluice_status status = SLUICE_OK;
    if (from != NULL) {
        stream->file = *from;
        stream->is_borrowed = true;
    } else {
        status = sl_handle_open_again(&stream->file, (sl_file_name){STAGE, stream->path},
                                      &stream->packed.file, error);
    }
    if (status == SLUICE_OK) {
        sl_handle_advise(&stream->file, SL_ADVICE_SEQUENTIAL, 0, 0);
        status = stream_check_file(stream, error);
    }
    return status == SLUICE_OK ? stream_begin(stream, error) : status;
}

static sluice_status stream_make(sl_stream **stream, stream_source source, const sl_packed *packed,
                                 uint32_t chunks, sluice_error *error)
{
    const char *path = source.path;
    *stream = NULL;
    assert(chunks > 0 && packed->packing != SL_PACKING_NONE);
    sl_stream *made = sl_calloc(1, sizeof(*made));
    if (made == NULL) {
        return sl_no_memory_file(error, STAGE, path, "unpacking");
    }
    made->packed = *packed;
    made->chunk_count = chunks;
    const sluice_status status = stream_open_all(made, path, source.from, error);
    if (status < 0) {
        sl_stream_close(made);
        return status;
    }
    *stream = made;
    return SLUICE_OK;
}

sluice_status sl_stream_open(sl_stream **stream, const char *path, const sl_packed *packed,
                             uint32_t chunks, sluice_error *error)
{
    return stream_make(stream, (stream_source){path, NULL}, packed, chunks, error);
}

sluice_status sl_stream_open_over(sl_stream **stream, const sl_handle *from,
                                  const sl_packed *packed, uint32_t chunks, sluice_error *error)
{
    return stream_make(stream, (stream_source){from->name.path, from}, packed, chunks, error);
}

void sl_stream_close(sl_stream *stream)
{
    if (stream == NULL) {
        return;
    }
    sl_unpack_stream_close(stream->unpacker);
    stream_close_file(stream);
    for (uint32_t i = 0; stream->chunks != NULL && i < stream->chunk_count; i++) {
        sl_free(stream->chunks[i]);
    }
    sl_free((void *)stream->chunks);
    sl_free(stream->capacity);
    sl_free(stream->path);
    sl_free(stream);
}

/* ---- unpacking ---- */

/* Returns the chunk of a byte; NULL: no memory. */
static uint8_t *chunk_of(sl_stream *stream, uint64_t at)
{
    uint8_t **chunk = &stream->chunks[at / SL_STREAM_CHUNK_BYTES % stream->chunk_count];
    if (*chunk == NULL) {
        *chunk = sl_malloc(SL_STREAM_CHUNK_BYTES);
    }
    return *chunk;
}

/* Returns the first byte that is still kept. */
static uint64_t back(const sl_stream *stream)
{
    const uint64_t kept = (stream->chunk_count - 1) * (uint64_t)SL_STREAM_CHUNK_BYTES;
    /* The chunk of the last byte: a full one lasts until the next byte comes. A failed unpack may
     * have written to the next chunk's place. */
    const bool written = stream->failed.status != 0;
    const uint64_t last = stream->front > 0 && !written ? stream->front - 1 : stream->front;
    const uint64_t begun = last - last % SL_STREAM_CHUNK_BYTES;
    return begun > kept ? begun - kept : 0;
}

/* Opens the file again, for example after its server was restarted. */
static void open_stale(sl_stream *stream)
{
    sl_handle anew;
    const sl_file_name name = {STAGE, stream->path};
    if (sl_handle_open_again(&anew, name, &stream->packed.file, NULL) == SLUICE_OK) {
        stream_close_file(stream);
        stream->file = anew;
    }
}

static sluice_status read_more(sl_stream *stream, sluice_error *error)
{
    const uint64_t left = stream->packed.file.bytes - stream->in_at;
    const size_t bytes = left < IN_BYTES ? (size_t)left : IN_BYTES;
    sl_retry retry = {0};
    sluice_status status;
    do {
        status = stream_check_file(stream, error);
        if (status < 0) {
            return status;
        }
        status = sl_handle_read_once(&stream->file, stream->capacity, bytes, stream->in_at, error);
        if (status == SLUICE_IO && error->sys_errno == ESTALE) {
            open_stale(stream);
        }
    } while (status == SLUICE_IO && sl_retry_wait(&retry, error->sys_errno));
    if (status == SLUICE_OK) {
        stream->in_at += bytes;
        stream->file_bytes += bytes;
        stream->in = (sl_bytes){stream->capacity, bytes};
    }
    return status;
}

/* Ends the stream for good, or, if memory was short, until it begins again: `*why` has the place
 * and the reason. */
static sluice_status stream_give_up(sl_stream *stream, sluice_error *why)
{
    sl_error_set_path(why, stream->path);
    why->offset = (int64_t)(stream->in_at - stream->in.size);
    stream->failed = *why;
    return (sluice_status)why->status;
}

/* Checks that exactly the expected number of bytes came out, and no more before the end. */
static sluice_status check_bytes(const sl_stream *stream, bool over, sluice_error *error)
{
    const uint64_t told = stream->packed.bytes;
    if (told == 0 || stream->front == told || (stream->front < told && !over)) {
        return SLUICE_OK;
    }
    if (!over) {
        return sl_error_set(error, SLUICE_CORRUPT, STAGE,
                            "the file unpacks to more than the %llu bytes given in its index",
                            (unsigned long long)told);
    }
    return sl_error_set(error, SLUICE_CORRUPT, STAGE,
                        "the file unpacks to %llu bytes, but its index says %llu",
                        (unsigned long long)stream->front, (unsigned long long)told);
}

/* Moves the front on, by as much as the present input gives and the chunk has space for. */
static sluice_status stream_unpack(sl_stream *stream, sluice_error *error)
{
    const size_t within = stream->front % SL_STREAM_CHUNK_BYTES;
    uint8_t *chunk = chunk_of(stream, stream->front);
    if (chunk == NULL) {
        return sl_no_memory_file(error, STAGE, stream->path, "unpacking");
    }
    sl_unpack_step step = {
        .in = stream->in, .to = chunk + within, .capacity = SL_STREAM_CHUNK_BYTES - within};
    sluice_status status = sl_unpack_stream_run(stream->unpacker, &step, error);
    const size_t came = SL_STREAM_CHUNK_BYTES - within - step.capacity;
    stream->in = step.in;
    stream->front += came;
    stream->all_bytes += came;
    const bool over = came == 0 && step.in.size == 0 && stream->in_at == stream->packed.file.bytes;
    if (status == SLUICE_OK && over) {
        status = sl_unpack_stream_end(stream->unpacker, error);
    }
    if (status == SLUICE_OK) {
        status = check_bytes(stream, over, error);
    }
    stream->ended = over && status == SLUICE_OK;
    return status < 0 ? stream_give_up(stream, error) : status;
}

/* Relaxed, both: read now and then. */
static bool stream_is_stopped(const sl_stream *stream)
{
    const sl_stream_watch *watch = &stream->watch;
    if (watch->progress != NULL) {
        atomic_fetch_add_explicit(watch->progress, 1, memory_order_relaxed);
    }
    return sl_stop_requested() ||
           (watch->stop != NULL && atomic_load_explicit(watch->stop, memory_order_relaxed));
}

/* Moves the front on, or finds that it has ended. */
static sluice_status stream_go_on(sl_stream *stream, sluice_error *error)
{
    const uint64_t before = stream->front;
    while (stream->front == before && !stream->ended) {
        sluice_status status = SLUICE_OK;
        if (stream->failed.status != 0) {
            *error = stream->failed;
            return (sluice_status)error->status;
        }
        if (stream_is_stopped(stream)) {
            return sl_error_set(error, SLUICE_CANCELED, STAGE, "the read was cancelled");
        }
        if (stream->in.size == 0 && stream->in_at < stream->packed.file.bytes) {
            status = read_more(stream, error);
        }
        if (status == SLUICE_OK) {
            status = stream_unpack(stream, error);
        }
        if (status < 0 && stream->front == before) {
            return status;
        }
    }
    return SLUICE_OK;
}

/* ---- reading ---- */

/* Returns whether to begin again: an unpacker without memory does not continue; a shortage says
 * nothing about the file. */
static bool must_begin(const sl_stream *stream)
{
    return stream->unpacker == NULL || stream->failed.status == SLUICE_NOMEM;
}

static sluice_status stream_read_some(sl_stream *stream, uint64_t offset, uint8_t *to, size_t bytes,
                                      size_t *got, sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    if (offset < back(stream) || must_begin(stream)) {
        stream->restarts++;
        status = stream_begin(stream, error);
    }
    while (status == SLUICE_OK && *got < bytes) {
        const uint64_t at = offset + *got;
        if (at < stream->front) {
            const size_t within = at % SL_STREAM_CHUNK_BYTES;
            const uint64_t there = stream->front - at;
            size_t some = SL_STREAM_CHUNK_BYTES - within;
            some = there < some ? (size_t)there : some;
            some = bytes - *got < some ? bytes - *got : some;
            memcpy(to + *got, chunk_of(stream, at) + within, some);
            *got += some;
        } else if (stream->ended) {
            break;
        } else {
            status = stream_go_on(stream, error);
        }
    }
    return status;
}

sluice_status sl_stream_read_some(sl_stream *stream, uint64_t offset, void *to, size_t bytes,
                                  size_t *got, sluice_error *error)
{
    sluice_error reason;
    *got = 0;
    if (offset > INT64_MAX - bytes) {
        return SLUICE_OK; /* the file never has so many bytes */
    }
    sl_error_clear(&reason);
    const sluice_status status = stream_read_some(stream, offset, to, bytes, got, &reason);
    if (status < 0 && error != NULL) {
        *error = reason;
    }
    return status;
}

sluice_status sl_stream_read_good(sl_stream *stream, uint64_t offset, void *to, size_t bytes,
                                  size_t *good, sluice_error *error)
{
    const sluice_status status = sl_stream_read_some(stream, offset, to, bytes, good, error);
    const size_t got = *good;
    if (status < 0 || got == bytes) {
        return status;
    }
    return sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, stream->path,
                         (int64_t)stream->packed.file.bytes,
                         "the unpacked content ends here, %zu bytes early", bytes - got);
}

sluice_status sl_stream_read(sl_stream *stream, uint64_t offset, void *to, size_t bytes,
                             sluice_error *error)
{
    size_t good = 0;
    return sl_stream_read_good(stream, offset, to, bytes, &good, error);
}

sluice_status sl_stream_finish(sl_stream *stream, sluice_error *error)
{
    sluice_error reason;
    sl_error_clear(&reason);
    sluice_status status = must_begin(stream) ? stream_begin(stream, &reason) : SLUICE_OK;
    while (status == SLUICE_OK && !stream->ended) {
        status = stream_go_on(stream, &reason);
    }
    if (status < 0 && error != NULL) {
        *error = reason;
    }
    return status;
}

void sl_stream_set_watch(sl_stream *stream, const sl_stream_watch *watch)
{
    stream->watch = *watch;
}

bool sl_stream_lacks_checksum(const sl_stream *stream)
{
    return stream->unpacker != NULL && !stream->packed.is_summed &&
           sl_unpack_stream_lacks_checksum(stream->unpacker);
}

uint64_t sl_stream_bytes(const sl_stream *stream)
{
    return stream->front;
}

uint64_t sl_stream_all_bytes(const sl_stream *stream)
{
    return stream->all_bytes;
}

uint64_t sl_stream_file_bytes(const sl_stream *stream)
{
    return stream->file_bytes;
}

uint64_t sl_stream_restarts(const sl_stream *stream)
{
    return stream->restarts;
}
