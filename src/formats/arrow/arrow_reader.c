/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow_reader.h"

#include "memory.h"
#include "store.h"

#include <string.h>

#define STAGE        "dataset"
#define WINDOW_BYTES ((size_t)32 << 10)

sluice_status sl_arrow_corrupt(const sl_arrow_reader *reader, uint64_t at, const char *text,
                               sluice_error *error)
{
    return sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, reader->path, (int64_t)at, "%s", text);
}

sluice_status sl_arrow_refuse(const sl_arrow_reader *reader, uint64_t at, sl_refusal refusal,
                              sluice_error *error)
{
    return sl_error_file(error, refusal.status, STAGE, 0, reader->path, (int64_t)at, "%s",
                         refusal.text);
}

static void arrow_reader_leave(sl_arrow_reader *reader)
{
    if (!reader->is_borrowed) {
        sl_handle_close(&reader->from);
    }
}

sluice_status sl_arrow_reader_open(sl_arrow_reader *reader, const char *path,
                                   const sl_open_file *was, sluice_error *error)
{
    const sl_file_name name = {STAGE, path};
    *reader = (sl_arrow_reader){.path = path};
    sluice_status status;
    if (was == NULL) {
        status = sl_handle_open(&reader->from, name, &reader->file, error);
    } else if (was->handle.store != NULL) {
        reader->file = was->identity;
        reader->from = was->handle;
        reader->is_borrowed = true;
        status = SLUICE_OK;
    } else {
        reader->file = was->identity;
        status = sl_handle_open_again(&reader->from, name, &was->identity, error);
    }
    if (status < 0) {
        return status;
    }
    reader->window = sl_malloc(WINDOW_BYTES);
    if (reader->window == NULL) {
        arrow_reader_leave(reader);
        return sl_error_file(error, SLUICE_NOMEM, STAGE, 0, path, -1,
                             "out of memory for reading it");
    }
    sl_handle_advise(&reader->from, SL_ADVICE_RANDOM, 0, 0); /* most of it is not read */
    sl_handle_advise(&reader->from, SL_ADVICE_REMEMBER, 0, 0);
    return SLUICE_OK;
}

void sl_arrow_reader_close(sl_arrow_reader *reader)
{
    arrow_reader_leave(reader);
    sl_free(reader->window);
    sl_free(reader->metadata);
    memset(reader, 0, sizeof(*reader));
}

sluice_status sl_arrow_read(sl_arrow_reader *reader, uint64_t at, void *to, uint64_t bytes,
                            sluice_error *error)
{
    const bool there = at >= reader->window_at && at - reader->window_at <= reader->window_bytes &&
                       bytes <= reader->window_bytes - (at - reader->window_at);
    if (!there && bytes >= WINDOW_BYTES) {
        return sl_handle_read(&reader->from, to, bytes, at, error);
    }
    if (!there) {
        const uint64_t left = reader->file.bytes - at;
        const size_t wanted = left < WINDOW_BYTES ? (size_t)left : WINDOW_BYTES;
        reader->window_bytes = 0;
        const sluice_status status =
            sl_handle_read(&reader->from, reader->window, wanted, at, error);
        if (status < 0) {
            return status;
        }
        reader->window_at = at;
        reader->window_bytes = wanted;
    }
    if (bytes > 0) {
        memcpy(to, reader->window + (at - reader->window_at), bytes);
    }
    return SLUICE_OK;
}

sluice_status sl_arrow_read_flat(sl_arrow_reader *reader, uint64_t at, uint64_t bytes,
                                 sluice_error *error)
{
    if (bytes > SL_FLATBUFFER_BYTES_MAX) {
        return sl_error_file(error, SLUICE_UNSUPPORTED, STAGE, 0, reader->path, (int64_t)at,
                             "its metadata have more than 64 MiB");
    }
    if (bytes > reader->metadata_capacity) {
        sl_free(reader->metadata);
        reader->metadata = sl_malloc(bytes);
        reader->metadata_capacity = reader->metadata != NULL ? bytes : 0;
        if (reader->metadata == NULL) {
            return sl_error_file(error, SLUICE_NOMEM, STAGE, 0, reader->path, (int64_t)at,
                                 "out of memory for its metadata");
        }
    }
    const sluice_status status = sl_arrow_read(reader, at, reader->metadata, bytes, error);
    reader->flat = sl_flatbuffer_of((sl_bytes){reader->metadata, bytes});
    return status;
}

sluice_status sl_arrow_read_message(sl_arrow_reader *reader, const sl_arrow_place *place,
                                    sl_arrow_message *message, sluice_error *error)
{
    const sluice_status status =
        sl_arrow_read_flat(reader, place->metadata, place->metadata_bytes, error);
    if (status < 0) {
        return status;
    }
    const sl_refusal refusal = sl_arrow_message_parse(message, &reader->flat);
    return refusal.text == NULL ? SLUICE_OK
                                : sl_arrow_refuse(reader, place->metadata, refusal, error);
}
