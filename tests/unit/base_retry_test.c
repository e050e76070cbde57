/* SPDX-License-Identifier: Apache-2.0 */
/* Which errors are retried, how often, and after which delays. */
#include "retry.h"
#include "test.h"

#include <errno.h>

#define MS UINT64_C(1000000)

/* Tries until the verdict is not AGAIN; `*ns` is the sum of the delays. */
static uint32_t count_tries(int sys_errno, bool several, sl_verdict *last, uint64_t *ns)
{
    sl_retry retry = {0};
    uint32_t tries = 0;
    uint64_t delay = 0;
    *ns = 0;
    *last = sl_retry_next(&retry, sys_errno, several, &delay);
    for (; *last == SL_VERDICT_AGAIN && tries < 1000; tries++) {
        *ns += delay;
        *last = sl_retry_next(&retry, sys_errno, several, &delay);
    }
    return tries;
}

TEST(of_the_moment)
{
    const int errors[] = {EINTR, EAGAIN, EBUSY, ENOMEM, EMFILE, ENFILE, ECANCELED};
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        sl_verdict last;
        uint64_t ns;
        assert_int_equal(count_tries(errors[i], false, &last, &ns), 10);
        assert_int_equal(last, SL_VERDICT_FAILED);
        assert_int_equal(ns, (1 + 2 + 4 + 8 + 16 + 32 + 64 + 128 + 256 + 512) * MS);
        assert_int_equal(count_tries(errors[i], true, &last, &ns), 10);
        assert_int_equal(last, SL_VERDICT_SPLIT);
    }
}

/* Retried at once, but not forever. */
TEST(interrupted)
{
    uint32_t times = 0;
    for (uint32_t i = 0; i < SL_INTERRUPTIONS_MAX; i++) {
        assert_true(sl_retry_interrupted(&times, EINTR));
        assert_false(sl_retry_interrupted(&times, EAGAIN));
    }
    assert_false(sl_retry_interrupted(&times, EINTR));
}

TEST(of_the_device)
{
    const int errors[] = {EIO, ETIMEDOUT, ESTALE, EREMOTEIO};
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        sl_verdict last;
        uint64_t ns;
        assert_int_equal(count_tries(errors[i], false, &last, &ns), 3);
        assert_int_equal(last, SL_VERDICT_FAILED);
        assert_int_equal(ns, 1110 * MS);
        assert_int_equal(count_tries(errors[i], true, &last, &ns), 0);
        assert_int_equal(last, SL_VERDICT_SPLIT);
    }
}

TEST(final_ones)
{
    sl_verdict last;
    uint64_t ns;
    assert_int_equal(count_tries(EACCES, false, &last, &ns), 0);
    assert_int_equal(last, SL_VERDICT_FAILED);
    assert_int_equal(count_tries(EINVAL, true, &last, &ns), 0);
    assert_int_equal(last, SL_VERDICT_SPLIT);
}

/* Kinds of errors are counted separately. */
TEST(mixed)
{
    sl_retry retry = {0};
    uint64_t delay;
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(sl_retry_next(&retry, EIO, false, &delay), SL_VERDICT_AGAIN);
        assert_int_equal(sl_retry_next(&retry, EAGAIN, false, &delay), SL_VERDICT_AGAIN);
    }
    assert_int_equal(sl_retry_next(&retry, EIO, false, &delay), SL_VERDICT_FAILED);
    assert_int_equal(sl_retry_next(&retry, EAGAIN, false, &delay), SL_VERDICT_AGAIN);
    assert_int_equal(delay, 8 * MS);
}
