/* SPDX-License-Identifier: Apache-2.0 */
#include "jpeg_sink.h"

#include "memory.h"
#include "minmax.h"

#include <assert.h>

#include <jerror.h>

/* More than this is given back before the next picture. */
#define KEEP_BYTES ((size_t)16 << 20)

static sl_jpeg_sink *sink_of(j_compress_ptr cinfo)
{
    return (sl_jpeg_sink *)(void *)cinfo->dest;
}

static void jpeg_sink_nothing(j_compress_ptr cinfo)
{
    (void)cinfo;
}

/* libjpeg calls this when all room is used, whatever its counters say. */
static boolean jpeg_sink_grow(j_compress_ptr cinfo)
{
    sl_jpeg_sink *sink = sink_of(cinfo);
    size_t used = sink->room;
    size_t room = used < sink->limit / 2 ? used * 2 : sink->limit;
    if (room == used) {
        ERREXIT(cinfo, JERR_FILE_WRITE);
    }
    uint8_t *grown = sl_realloc_array(sink->bytes, room, 1);
    if (grown == NULL) {
        sink->no_memory = true;
        ERREXIT1(cinfo, JERR_OUT_OF_MEMORY, 0);
    }
    sink->bytes = grown;
    sink->room = room;
    sink->pub.next_output_byte = grown + used;
    sink->pub.free_in_buffer = room - used;
    return TRUE;
}

bool sl_jpeg_sink_open(sl_jpeg_sink *sink, size_t expected, size_t limit)
{
    assert(expected > 0);
    size_t room = sl_min_size(expected, limit);
    sink->no_memory = false;
    sink->limit = limit;
    if (sink->room > KEEP_BYTES) {
        sl_jpeg_sink_close(sink);
        sink->limit = limit;
    }
    if (sink->room < room) {
        sl_free(sink->bytes);
        sink->bytes = sl_malloc(room);
        sink->room = sink->bytes != NULL ? room : 0;
    }
    return sink->bytes != NULL;
}

void sl_jpeg_sink_begin(sl_jpeg_sink *sink, j_compress_ptr cinfo)
{
    sink->pub = (struct jpeg_destination_mgr){.next_output_byte = sink->bytes,
                                              .free_in_buffer = sink->room,
                                              .init_destination = jpeg_sink_nothing,
                                              .empty_output_buffer = jpeg_sink_grow,
                                              .term_destination = jpeg_sink_nothing};
    cinfo->dest = &sink->pub;
}

sl_bytes sl_jpeg_sink_bytes(const sl_jpeg_sink *sink)
{
    return (sl_bytes){sink->bytes, sink->room - sink->pub.free_in_buffer};
}

void sl_jpeg_sink_close(sl_jpeg_sink *sink)
{
    sl_free(sink->bytes);
    *sink = (sl_jpeg_sink){0};
}
