/* SPDX-License-Identifier: Apache-2.0 */
#include "convert_emulation.h"
#include "fake_state.h"

static bool inside(const fake_block *block, const void *from, size_t bytes)
{
    return block != NULL && (uintptr_t)from + bytes <= (uintptr_t)block->bytes + block->size;
}

sluice_status fake_convert(sl_device *device, const sl_conversion *conversion,
                           const sl_conversion_rows *rows, struct CUstream_st *stream,
                           sluice_error *error)
{
    if (fake_enter(device, error) != SLUICE_OK) {
        return SLUICE_DEVICE;
    }
    fake_device *fake = (fake_device *)device;
    const size_t samples = (size_t)conversion->width * conversion->height * 3 * rows->rows;
    const size_t results = sl_conversion_row_bytes(conversion) * rows->rows;
    fake_block *from = fake_find_locked(fake, rows->from);
    fake_block *to = fake_find_locked(fake, rows->to);
    const bool fits =
        from != to && inside(from, rows->from, samples) && inside(from, rows->flags, rows->rows) &&
        inside(to, rows->to, results) &&
        (rows->mixing == NULL || inside(from, rows->mixing, rows->rows * sizeof(*rows->mixing)));
    struct CUstream_st *on = fake_resolve(fake, stream);
    fake_expect_locked(fake, fits, "conversion of memory that is not the device's");
    fake_expect_locked(fake, on->urgent, "conversion on a stream that is not urgent");
    if (fits) {
        const fake_work work = {.kind = FAKE_CONVERT,
                                .block = from,
                                .other = to,
                                .before = from->given,
                                .before_other = to->given,
                                .conversion = *conversion,
                                .rows = *rows};
        from->given.conversions_from++;
        to->given.conversions_to++;
        fake_give_locked(on, &work);
    }
    return fake_leave(fake);
}

/* Skips a conversion that breaks a rule, which would also be a data race under a sanitizer. */
void fake_run_conversion(fake_device *fake, const fake_work *work)
{
    const bool there = work->block->done.copies >= work->before.copies;
    const bool read = work->other->done.kernels >= work->before_other.kernels;
    const bool open = work->block->open && work->other->open;
    fake_expect_locked(fake, there, "conversion of a batch that is not ready");
    fake_expect_locked(fake, read, "conversion over a batch that a kernel still has to read");
    fake_expect_locked(fake, open, "conversion of closed memory");
    if (there && read && open) {
        sl_unlock(&fake->mutex);
        convert_emulate_rows(&work->conversion, &work->rows);
        sl_lock(&fake->mutex);
    }
    work->block->done.conversions_from++;
    work->other->done.conversions_to++;
    fake->conversions++;
}
