/* SPDX-License-Identifier: Apache-2.0 */
/* The test's side of the fake device. */
#include "fake_state.h"

void fake_fail(fake_device *fake, uint64_t nth, bool sticky)
{
    sl_lock(&fake->mutex);
    fake->fail_in = nth;
    fake->sticky = sticky;
    fake->failed = false;
    fake_leave(fake);
}

bool fake_has_failed(fake_device *fake)
{
    sl_lock(&fake->mutex);
    const bool failed = fake->failed;
    sl_unlock(&fake->mutex);
    return failed;
}

void fake_refuse_streams(fake_device *fake, bool refuse)
{
    sl_lock(&fake->mutex);
    fake->refuse = refuse;
    fake_leave(fake);
}

void fake_hold(fake_device *fake, bool hold)
{
    sl_lock(&fake->mutex);
    for (size_t i = 0; i < fake->stream_count; i++) {
        fake->streams[i]->hold = hold;
    }
    fake_leave(fake);
}

void fake_hold_stream(fake_device *fake, struct CUstream_st *stream, bool hold)
{
    sl_lock(&fake->mutex);
    fake_resolve(fake, stream)->hold = hold;
    fake_leave(fake);
}

void fake_hold_urgent(fake_device *fake, bool hold)
{
    sl_lock(&fake->mutex);
    for (size_t i = 0; i < fake->stream_count; i++) {
        if (fake->streams[i]->urgent) {
            fake->streams[i]->hold = hold;
        }
    }
    fake_leave(fake);
}

struct CUstream_st *fake_stream_new(fake_device *fake)
{
    sl_lock(&fake->mutex);
    struct CUstream_st *stream = fake_stream_make_locked(fake, false, false);
    fake_leave(fake);
    return stream;
}

void fake_kernel(fake_device *fake, struct CUstream_st *stream, const void *address,
                 void (*run)(void *ctx), void *ctx)
{
    const void *const addresses[2] = {address, NULL};
    fake_kernel_on(fake, stream, addresses, run, ctx);
}

void fake_kernel_on(fake_device *fake, struct CUstream_st *stream, const void *const addresses[2],
                    void (*run)(void *ctx), void *ctx)
{
    sl_lock(&fake->mutex);
    fake_block *block = fake_find_locked(fake, addresses[0]);
    fake_block *other = addresses[1] == NULL ? NULL : fake_find_locked(fake, addresses[1]);
    const bool there = block != NULL && (addresses[1] == NULL || other != NULL);
    fake_expect_locked(fake, there, "kernel on memory that is not the device's");
    if (there) {
        fake_work work = {.kind = FAKE_KERNEL, .block = block, .run = run, .ctx = ctx};
        work.before = block->given;
        block->given.kernels++;
        if (other != NULL && other != block) {
            work.other = other;
            work.before_other = other->given;
            other->given.kernels++;
        }
        fake_give_locked(fake_resolve(fake, stream), &work);
    }
    fake_leave(fake);
}

void *fake_memory_new(fake_device *fake, size_t bytes)
{
    sl_lock(&fake->mutex);
    void *memory = fake_block_make_locked(fake, bytes, false);
    fake_leave(fake);
    return memory;
}

void fake_stream_synchronize(fake_device *fake, struct CUstream_st *stream)
{
    sl_lock(&fake->mutex);
    const struct CUstream_st *waited = fake_resolve(fake, stream);
    const uint64_t given = waited->given;
    while (waited->done < given) {
        sl_cond_wait(&fake->changed, &fake->mutex);
    }
    sl_unlock(&fake->mutex);
}

uint64_t fake_violations(fake_device *fake)
{
    sl_lock(&fake->mutex);
    const uint64_t violations = fake->violations;
    sl_unlock(&fake->mutex);
    return violations;
}

const char *fake_first_violation(fake_device *fake)
{
    return fake->first;
}

uint64_t fake_copies(fake_device *fake)
{
    sl_lock(&fake->mutex);
    const uint64_t copies = fake->copies;
    sl_unlock(&fake->mutex);
    return copies;
}

uint64_t fake_conversions(fake_device *fake)
{
    sl_lock(&fake->mutex);
    const uint64_t conversions = fake->conversions;
    sl_unlock(&fake->mutex);
    return conversions;
}
