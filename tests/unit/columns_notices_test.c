/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests notices that one thread adds while another reads them. ThreadSanitizer checks that the
 * reader needs no lock.
 */
#include "notices.h"
#include "test.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>

static void *add_all(void *argument)
{
    sl_notices *notices = argument;
    for (unsigned i = 0; i <= SL_NOTICES_MAX; i++) { /* one more than there is room for */
        sl_notices_add(notices, "notice %u", i);
        sl_notices_add(notices, "notice %u", i / 2); /* was added before */
    }
    return NULL;
}

TEST(one_thread_adds_and_another_reads)
{
    pthread_t adder;
    sluice_error notice = SLUICE_ERROR_INIT;
    sl_notices *notices = sl_notices_open();
    assert_non_null(notices);
    assert_false(sl_notices_get(notices, 0, &notice));
    assert_int_equal(pthread_create(&adder, NULL, add_all, notices), 0);
    for (uint32_t i = 0; i < SL_NOTICES_MAX; i++) {
        char expected[32];
        while (!sl_notices_get(notices, i, &notice)) {
            (void)sched_yield();
        }
        (void)snprintf(expected, sizeof(expected), "notice %u", i);
        assert_string_equal(notice.text, expected);
        assert_int_equal(notice.status, SLUICE_OK);
    }
    assert_int_equal(pthread_join(adder, NULL), 0);
    assert_false(sl_notices_get(notices, SL_NOTICES_MAX, &notice));
    sl_notices_close(notices);
}

TEST(nobody_reads)
{
    sluice_error notice;
    sl_notices_add(NULL, "notice");
    assert_false(sl_notices_get(NULL, 0, &notice));
}
