/* SPDX-License-Identifier: Apache-2.0 */
#include "sample_gate.h"

#include "cpu.h"
#include "memory.h"
#include "thread.h"

#define STAGE        "dataset"
#define MOST_DEFAULT ((uint64_t)1 << 30)
/* Limits of a share; below the minimum, available memory is not checked. */
#define SHARE_MIN ((uint64_t)16 << 20)
#define SHARE_MAX ((uint64_t)1 << 30)

void sl_sample_gate_open(sl_sample_gate *gate, uint32_t threads, uint64_t most)
{
    const uint64_t share = sl_memory_available() / 4 / threads;
    gate->share = share < SHARE_MIN ? SHARE_MIN : share > SHARE_MAX ? SHARE_MAX : share;
    gate->most = most > 0 ? most : MOST_DEFAULT;
    sl_mutex_init(&gate->mutex);
}

void sl_sample_gate_close(sl_sample_gate *gate)
{
    sl_mutex_destroy(&gate->mutex);
}

static bool sample_gate_charge(void *ctx, uint64_t bytes)
{
    sl_sample_pass *pass = ctx;
    return sl_sample_pass_take(pass, bytes, NULL) == SLUICE_OK;
}

static void sample_gate_give_back(void *ctx, uint64_t bytes)
{
    (void)ctx; /* memory kept for the next sample was taken by that sample */
    (void)bytes;
}

void sl_sample_pass_open(sl_sample_pass *pass, sl_sample_gate *gate)
{
    *pass = (sl_sample_pass){.gate = gate,
                             .allowance = {.charge = sample_gate_charge,
                                           .give_back = sample_gate_give_back,
                                           .ctx = pass}};
}

sluice_status sl_sample_pass_take(sl_sample_pass *pass, uint64_t bytes, sluice_error *error)
{
    if (bytes > pass->gate->most) {
        pass->is_refused = true;
        return sl_error_set(
            error, SLUICE_UNSUPPORTED, STAGE,
            "the sample, or a part of it, has %llu bytes, more than the limit of %llu (" SL_OPTION(
                "max_sample_bytes") ")",
            (unsigned long long)bytes, (unsigned long long)pass->gate->most);
    }
    return sl_sample_pass_work(pass, bytes, error);
}

sluice_status sl_sample_pass_work(sl_sample_pass *pass, uint64_t bytes, sluice_error *error)
{
    pass->taken += bytes;
    if (pass->taken <= pass->gate->share) {
        return SLUICE_OK;
    }
    if (!pass->is_large) {
        sl_lock(&pass->gate->mutex);
        pass->is_large = true;
    }
    if (bytes <= sl_memory_available()) {
        return SLUICE_OK;
    }
    sl_memory_note_shortage();
    return sl_no_memory(error, STAGE, "for %llu bytes of a sample", (unsigned long long)bytes);
}

bool sl_sample_pass_was_large(const sl_sample_pass *pass)
{
    return pass->is_large;
}

void sl_sample_pass_end(sl_sample_pass *pass)
{
    if (pass->is_large) {
        sl_unlock(&pass->gate->mutex);
    }
    pass->taken = 0;
    pass->is_large = pass->is_refused = false;
}
