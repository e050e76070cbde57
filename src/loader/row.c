/* SPDX-License-Identifier: Apache-2.0 */
#include "row.h"

#include "clock.h"
#include "error.h"
#include "memory.h"
#include "trace.h"

sluice_status sl_row_maker_open(sl_row_maker *maker, sl_feed *feed, uint32_t workers,
                                sluice_error *error)
{
    maker->feed = feed;
    maker->rows = sl_calloc(workers, sizeof(*maker->rows));
    if (maker->rows == NULL) {
        return sl_error_set(error, SLUICE_NOMEM, "loader", "no memory for rows");
    }
    for (uint32_t i = 0; i < workers; i++) {
        maker->rows[i].values.wanted = feed->columns->wanted;
        maker->rows[i].seed = feed->config->options.seed;
        maker->rows[i].exact = feed->config->options.exact != 0;
        maker->rows[i].timed = true;
    }
    return SLUICE_OK;
}

void sl_row_maker_close(sl_row_maker *maker)
{
    sl_free(maker->rows);
    maker->rows = NULL;
}

static void trace(sluice_trace_kind kind, const sl_job *job, uint64_t begin, uint64_t end)
{
    if (sl_trace_running()) {
        sl_trace_write(&(sluice_trace_event){.begin_ns = begin,
                                             .end_ns = end,
                                             .ticket = job->want.ticket,
                                             .sample = (int64_t)job->want.sample.index,
                                             .kind = (uint32_t)kind,
                                             .slot = job->slot->number});
    }
}

/* Makes the row; its times are those of decoding, in one, and of the rest. */
static sluice_status make(sl_row_maker *maker, const sl_job *job, sl_row *row, sluice_error *error)
{
    const sl_feed *feed = maker->feed;
    const sl_sample *sample = &job->want.sample;
    const uint64_t start = sl_now_ns();
    row->blame = NULL;
    row->decode_ns = 0;
    row->epoch = job->want.epoch;
    row->at = (sl_row_place){.index = (int64_t)sample->index,
                             .number = job->want.row,
                             .status = job->want.attempt > 0 ? SLUICE_ROW_REPLACED : SLUICE_ROW_OK};
    sluice_status status =
        sl_dataset_unpack(feed->dataset, sample, job->bytes.bytes, &row->values, error);
    const uint64_t unpacked = sl_now_ns();
    if (status == SLUICE_OK) {
        status = sl_columns_make(feed->columns, row, job->slot->parts, error);
    }
    const uint64_t done = sl_now_ns();
    const uint64_t decoded = unpacked + row->decode_ns;
    sl_stage_add(&maker->decode, decoded - start);
    trace(SLUICE_TRACE_DECODE, job, start, decoded);
    if (status == SLUICE_OK) {
        sl_stage_add(&maker->augment, done - decoded);
        trace(SLUICE_TRACE_AUGMENT, job, decoded, done);
    }
    return status;
}

void sl_row_run(void *ctx, uint32_t worker, sl_decoder *decoder, void *job_memory)
{
    sl_row_maker *maker = ctx;
    const sl_job *job = job_memory;
    if (atomic_load_explicit(&maker->feed->stopping, memory_order_relaxed)) {
        sl_fetch_release(maker->feed->fetch, job->bytes.handle);
        sl_feed_drop(maker->feed, job);
        return;
    }
    sluice_error error;
    sl_error_clear(&error);
    sl_row *row = &maker->rows[worker];
    row->decoder = decoder;
    const sluice_status status = make(maker, job, row, &error);
    sl_fetch_release(maker->feed->fetch, job->bytes.handle);
    if (status == SLUICE_OK) {
        sl_feed_good(maker->feed, job);
        return;
    }
    sl_sample_blame(maker->feed->dataset, &job->want.sample, row->blame, &error);
    sl_feed_bad(maker->feed, job, &error);
}
