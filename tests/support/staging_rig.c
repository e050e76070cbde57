/* SPDX-License-Identifier: Apache-2.0 */
#include "staging_rig.h"

#include "clock.h"

#include <assert.h>
#include <string.h>

#define NAP_NS      UINT64_C(100000)
#define PATIENCE_NS UINT64_C(20000000000)

const char *rig_device_name(rig_device kind)
{
    static const char *const names[] = {"shared host", "copying host", "fake"};
    return names[kind];
}

sl_device *rig_device_open(rig_device kind, const fake_options *options, fake_device **fake)
{
    *fake = NULL;
    if (kind == RIG_FAKE) {
        *fake = fake_device_new(options);
        return fake_device_get(*fake);
    }
    sl_device *device = NULL;
    const sluice_status status = sl_device_open(&device, "host", NULL);
    assert(status == SLUICE_OK);
    (void)status;
    device->shares_memory = kind == RIG_SHARED;
    return device;
}

sluice_status rig_open(rig *r, rig_device kind, const rig_options *options, sluice_error *error)
{
    memset(r, 0, sizeof(*r));
    r->kind = kind;
    r->options = *options;
    sl_device *device = rig_device_open(kind, &options->fake, &r->fake);
    r->stream = kind == RIG_FAKE ? fake_stream_new(r->fake) : NULL;
    const sl_staging_config config = {
        .host_slots = options->host_slots,
        .device_slots = options->device_slots,
        .batch = options->batch,
        .image_row_bytes = options->image_bytes,
        .format = {.dtype = SLUICE_U8, .layout = SLUICE_NCHW, .width = 7, .height = 5},
        .budget = options->budget,
        .on_empty = options->on_empty,
        .ctx = options->ctx,
    };
    return sl_staging_open(&r->staging, device, &config, error);
}

uint64_t rig_close(rig *r)
{
    sl_staging_close(r->staging);
    r->staging = NULL;
    if (r->fake == NULL) {
        return 0;
    }
    const uint64_t violations = fake_violations(r->fake);
    fake_device_free(r->fake);
    r->fake = NULL;
    return violations;
}

/* ---- contents ---- */

static uint8_t image_byte(uint64_t step, uint32_t row, uint32_t at)
{
    const uint64_t mixed =
        (step * 1000003 + (uint64_t)row * 7919 + at / 8) * UINT64_C(0x9E3779B97F4A7C15);
    return (uint8_t)(mixed >> 40) ^ (uint8_t)at;
}

static int64_t label_of(uint64_t step, uint32_t row)
{
    return (int64_t)(step * 131 + row);
}

static int64_t index_of(uint64_t step, uint32_t row)
{
    return -(int64_t)(step << 16 | row);
}

void rig_fill_row(const sl_slot_view *view, uint32_t image_bytes, uint64_t step, uint32_t row)
{
    uint8_t *image = view->images + (size_t)row * image_bytes;
    for (uint32_t i = 0; i < image_bytes; i++) {
        image[i] = image_byte(step, row, i);
    }
    view->labels[row] = label_of(step, row);
    view->indices[row] = index_of(step, row);
    view->status[row] = (uint8_t)((step + row) % 4);
    view->mask[row] = (uint8_t)((step ^ row) & 1);
}

static int row_is_good(const sl_slot_view *view, uint32_t image_bytes, uint64_t step, uint32_t row)
{
    const uint8_t *image = view->images + (size_t)row * image_bytes;
    for (uint32_t i = 0; i < image_bytes; i++) {
        if (image[i] != image_byte(step, row, i)) {
            return 0;
        }
    }
    return view->labels[row] == label_of(step, row) && view->indices[row] == index_of(step, row) &&
           view->status[row] == (step + row) % 4 && view->mask[row] == ((step ^ row) & 1);
}

uint32_t rig_bad_rows(const sl_slot_view *view, uint32_t image_bytes, uint64_t step, uint32_t rows)
{
    uint32_t bad = 0;
    for (uint32_t row = 0; row < rows; row++) {
        bad += !row_is_good(view, image_bytes, step, row);
    }
    return bad;
}

/* ---- steps ---- */

int rig_begin(rig *r, uint64_t step, uint32_t rows)
{
    const sl_batch_facts facts = {.epoch = 1, .step = step, .rows = rows};
    sl_slot_view view;
    uint32_t slot;
    return sl_staging_begin(r->staging, &facts, &slot, &view) == SLUICE_OK ? (int)slot : -1;
}

void rig_complete(rig *r, int slot, uint32_t rows)
{
    for (uint32_t row = 0; row < rows; row++) {
        sl_staging_row_done(r->staging, (uint32_t)slot);
    }
}

int rig_try_fill(rig *r, uint64_t epoch, uint64_t step, uint32_t rows)
{
    const sl_batch_facts facts = {.epoch = epoch, .step = step, .rows = rows};
    sl_slot_view view;
    uint32_t slot;
    if (sl_staging_begin(r->staging, &facts, &slot, &view) != SLUICE_OK) {
        return -1;
    }
    for (uint32_t row = rows; row-- > 0;) {
        rig_fill_row(&view, r->options.image_bytes, step, row);
        sl_staging_row_done(r->staging, slot);
    }
    return (int)slot;
}

int rig_fill(rig *r, uint64_t epoch, uint64_t step, uint32_t rows)
{
    const uint64_t deadline = sl_now_ns() + PATIENCE_NS;
    int slot;
    while ((slot = rig_try_fill(r, epoch, step, rows)) < 0 && sl_now_ns() < deadline) {
        sl_sleep_until_ns(sl_now_ns() + NAP_NS);
    }
    return slot;
}

typedef struct reading {
    const sluice_batch *batch;
    uint32_t image_bytes;
    uint32_t bad;
} reading;

static void read_batch(void *ctx)
{
    reading *this = ctx;
    this->bad = rig_bad_rows(&this->batch->view, this->image_bytes, this->batch->facts.step,
                             this->batch->facts.rows);
}

uint32_t rig_read(rig *r, sluice_batch *batch)
{
    reading this = {
        .batch = batch, .image_bytes = r->options.image_bytes, .bad = batch->facts.rows};
    if (sl_staging_wait(batch, r->stream) != SLUICE_OK) {
        return this.bad;
    }
    if (r->kind != RIG_FAKE) {
        read_batch(&this);
        return this.bad;
    }
    fake_kernel(r->fake, r->stream, batch->view.images, read_batch, &this);
    fake_stream_synchronize(r->fake, r->stream);
    return this.bad;
}
