/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow_lists.h"

typedef struct measure {
    sl_arrow_reader reader;
    const sl_arrow_file *file;
    const sl_arrow_column *column;
    sl_frame *frame;
    uint64_t longest;
} measure;

static sluice_status measure_rows(measure *m, const sl_arrow_array *lists, uint64_t at,
                                  sluice_error *error)
{
    const sl_arrow_node *node = lists->levels[lists->level_count - 1].node;
    if (node->layout == SL_ARROW_AS_FIXED_LISTS) { /* there may be 2^62 of these, without bytes */
        const uint64_t items = lists->rows > 0 ? node->items : 0;
        m->longest = items > m->longest ? items : m->longest;
        return SLUICE_OK;
    }
    for (uint64_t i = 0; i < lists->rows; i++) {
        uint64_t begin;
        uint64_t end;
        const sl_refusal refusal = sl_arrow_lists_row(lists, i, &begin, &end);
        if (refusal.text != NULL) {
            return sl_arrow_refuse(&m->reader, at, refusal, error);
        }
        m->longest = end - begin > m->longest ? end - begin : m->longest;
    }
    return SLUICE_OK;
}

static sluice_status measure_batch(measure *m, const sl_arrow_place *at, sluice_error *error)
{
    sl_arrow_message message;
    sl_arrow_array lists;
    sl_arrow_body body = {.reader = &m->reader, .frame = m->frame};
    sluice_status status = sl_arrow_file_batch(m->file, at, &body, &message, error);
    if (status == SLUICE_OK) {
        status = sl_arrow_lists_open(&lists, &body, &m->column->list, error);
    }
    if (status == SLUICE_OK) {
        status = measure_rows(m, &lists, body.at, error);
        sl_arrow_array_close(&lists);
    }
    return status;
}

sluice_status sl_arrow_lists_measure(const sl_arrow_file *file, const char *path,
                                     const sl_arrow_column *column, uint32_t *longest,
                                     sluice_error *error)
{
    measure m = {.file = file, .column = column};
    const sl_open_file was = {file->kept, file->file};
    sluice_status status = sl_arrow_reader_open(&m.reader, path, &was, error);
    if (status < 0) {
        return status;
    }
    if (file->zstd) {
        status = sl_frame_open(&m.frame, error);
    }
    for (uint64_t i = 0; status == SLUICE_OK && i < file->count; i++) {
        if (file->places[i].batch) {
            status = measure_batch(&m, &file->places[i], error);
        }
    }
    *longest = m.longest < UINT32_MAX ? (uint32_t)m.longest : UINT32_MAX;
    sl_frame_close(m.frame);
    sl_arrow_reader_close(&m.reader);
    return status;
}
