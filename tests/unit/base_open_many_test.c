/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs on several threads: each runs once, and the first failure is reported. */
#include "error.h"
#include "open_many.h"
#include "test.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

enum { JOBS = 500, BAD = 40 };

typedef struct work {
    _Atomic uint32_t done[JOBS];
    bool fails, says; /* jobs from BAD on fail; they give a message */
} work;

static sluice_status job(void *ctx, uint32_t number, sluice_error *error)
{
    work *w = ctx;
    atomic_fetch_add(&w->done[number], 1);
    if (!w->fails || number < BAD) {
        return SLUICE_OK;
    }
    if (number == BAD) {
        (void)usleep(20000); /* others fail first */
    }
    const sluice_status status = number == BAD ? SLUICE_CORRUPT : SLUICE_IO;
    return w->says ? sl_error_set(error, status, "dataset", "job %u", number) : status;
}

TEST(each_is_done_once)
{
    work w = {.fails = false};
    sluice_error error;
    sl_error_clear(&error);
    assert_int_equal(sl_open_many(JOBS, job, &w, &error), SLUICE_OK);
    for (int i = 0; i < JOBS; i++) {
        assert_int_equal(w.done[i], 1);
    }
    assert_int_equal(error.status, SLUICE_OK);
    assert_int_equal(sl_open_many(0, job, NULL, &error), SLUICE_OK);
}

TEST(the_first_that_fails_is_told)
{
    work w = {.fails = true, .says = true};
    sluice_error error;
    sl_error_clear(&error);
    assert_int_equal(sl_open_many(JOBS, job, &w, &error), SLUICE_CORRUPT);
    assert_int_equal(error.status, SLUICE_CORRUPT);
    assert_string_equal(error.text, "job 40");
    uint32_t begun = 0;
    for (int i = 0; i < JOBS; i++) {
        assert_true(w.done[i] <= 1 && (i > BAD || w.done[i] == 1));
        begun += w.done[i];
    }
    assert_true(begun < JOBS); /* the others were skipped */
}

/* Also if a job gives no message, or the caller takes none. */
TEST(the_status_is_what_the_job_returned)
{
    work w = {.fails = true};
    sluice_error error;
    sl_error_clear(&error);
    assert_int_equal(sl_open_many(JOBS, job, &w, &error), SLUICE_CORRUPT);
    assert_int_equal(sl_open_many(JOBS, job, &w, NULL), SLUICE_CORRUPT);
}
