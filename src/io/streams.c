/* SPDX-License-Identifier: Apache-2.0 */
#include "streams.h"

#include "error.h"
#include "memory.h"
#include "thread.h"

enum { OPEN_MAX = 2 };
/* What is kept of each: 32 MiB less a chunk, for samples that are read twice, or in another order
 * than they lie in by some. */
#define CHUNKS ((uint32_t)(((size_t)32 << 20) / SL_STREAM_CHUNK_BYTES))

typedef struct opened {
    sl_stream *stream; /* NULL: none */
    uint32_t object;
    uint64_t used; /* for LRU */
} opened;

struct sl_streams {
    pthread_mutex_t mutex;
    /* under mutex */
    opened all[OPEN_MAX];
    uint64_t clock;
};

sluice_status sl_streams_open(sl_streams **streams, sluice_error *error)
{
    sl_streams *made = sl_calloc(1, sizeof(*made));
    *streams = made;
    if (made == NULL) {
        return sl_error_set(error, SLUICE_NOMEM, "io", "no memory for unpacking");
    }
    sl_mutex_init(&made->mutex);
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
    sl_free(streams);
}

/* In the place of the one that was used least recently. */
static sluice_status open_locked(sl_streams *streams, const sl_streamed *of, opened **found,
                                 sluice_error *error)
{
    opened *oldest = &streams->all[0];
    for (uint32_t i = 1; i < OPEN_MAX; i++) {
        oldest = streams->all[i].used < oldest->used ? &streams->all[i] : oldest;
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
    sl_lock(&streams->mutex);
    sluice_status status = find_locked(streams, of, &found, error);
    if (status == SLUICE_OK) {
        found->used = ++streams->clock;
        status = sl_stream_read(found->stream, offset, to, bytes, error);
    }
    sl_unlock(&streams->mutex);
    return status;
}
