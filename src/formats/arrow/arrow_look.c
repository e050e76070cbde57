/* SPDX-License-Identifier: Apache-2.0 */
/* arrow_look: looks at the first values of an Arrow file's column. */
#include "arrow_rows.h"
#include "media.h"

#include <string.h>

enum { BATCHES_MAX = 64, VALUES_MAX = 16, BEGIN_BYTES = 16 };

typedef struct looker {
    sl_arrow_reader reader;
    const sl_arrow_file *file;
    const sl_arrow_column *column;
    sl_frame *frame;
    uint32_t seen, pictures;
} looker;

static sluice_status arrow_look_at(looker *look, const sl_arrow_data *data,
                                   const sl_arrow_span *span, sluice_error *error)
{
    uint8_t begin[BEGIN_BYTES];
    const size_t bytes = span->bytes < sizeof(begin) ? (size_t)span->bytes : sizeof(begin);
    sluice_status status = SLUICE_OK;
    if (data->bytes != NULL) {
        memcpy(begin, data->bytes + span->offset, bytes);
    } else {
        status = sl_arrow_read(&look->reader, data->at + span->offset, begin, bytes, error);
    }
    look->seen++;
    look->pictures += status == SLUICE_OK && sl_media_is_picture((sl_bytes){begin, bytes});
    return status;
}

static sluice_status arrow_look_at_rows(looker *look, const sl_arrow_array *array,
                                        sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    for (uint64_t i = 0; status == SLUICE_OK && i < array->rows && look->seen < VALUES_MAX; i++) {
        sl_arrow_span span;
        const sl_refusal refusal = sl_arrow_array_row(array, i, &span);
        if (refusal.text != NULL) {
            return sl_arrow_refuse(&look->reader, 0, refusal, error);
        }
        if (span.state == SL_ARROW_PRESENT && span.bytes > 0) {
            status = arrow_look_at(look, &array->data[span.data], &span, error);
        }
    }
    return status;
}

static sluice_status look_at_batch(looker *look, const sl_arrow_place *at, sluice_error *error)
{
    sl_arrow_message message;
    sl_arrow_array array;
    sl_arrow_body body = {.reader = &look->reader, .frame = look->frame};
    sluice_status status = sl_arrow_file_batch(look->file, at, &body, &message, error);
    if (status < 0) {
        return status;
    }
    const bool packed = message.batch.codec != SL_ARROW_PLAIN;
    status = sl_arrow_array_open(&array, &body, &look->column->chain, packed, error);
    if (status == SLUICE_OK) {
        status = arrow_look_at_rows(look, &array, error);
        sl_arrow_array_close(&array);
    }
    return status;
}

sluice_status sl_arrow_look_for_pictures(const sl_arrow_file *file, const char *path,
                                         const sl_arrow_column *column, bool *are,
                                         sluice_error *error)
{
    looker look = {.file = file, .column = column};
    *are = false;
    const sl_open_file was = {file->kept, file->file};
    sluice_status status = sl_arrow_reader_open(&look.reader, path, &was, error);
    if (status < 0) {
        return status;
    }
    if (file->zstd) {
        status = sl_frame_open(&look.frame, error);
    }
    uint32_t batches = 0;
    for (uint64_t i = 0; status == SLUICE_OK && i < file->count && look.seen == 0; i++) {
        if (file->places[i].batch && batches++ < BATCHES_MAX) {
            status = look_at_batch(&look, &file->places[i], error);
        }
    }
    *are = look.seen > 0 && look.pictures == look.seen;
    sl_frame_close(look.frame);
    sl_arrow_reader_close(&look.reader);
    return status;
}
