/* SPDX-License-Identifier: Apache-2.0 */
/* Files that a server does not open: the fetch thread continues, notices, and can be left in
 * time. */
#include "clock.h"
#include "io_harness.h"
#include "test.h"
#include "thread.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MS ((uint64_t)1000000)

enum { GOOD = 5, BAD = 3 };

static io_harness h;
static atomic_bool hangs;    /* opening file 0 hangs */
static atomic_uint inside;   /* number of hanging opens */
static atomic_bool released; /* the heir was notified */

/* ---- a store whose opens hang ---- */

static int slow_open(const char *path, const sl_open_how *how, sl_handle *handle,
                     sl_store_facts *facts)
{
    char slow[300];
    io_path(&h, 0, slow, sizeof(slow));
    if (strcmp(path, slow) == 0) {
        atomic_fetch_add(&inside, 1);
        while (atomic_load(&hangs)) {
            (void)usleep(1000);
        }
        atomic_fetch_sub(&inside, 1);
    }
    return sl_store_local.open(path, how, handle, facts);
}

static int slow_stat(const char *path, sl_store_facts *facts)
{
    return sl_store_local.stat(path, facts);
}

static int slow_list(const char *path, sl_listing *listing)
{
    return sl_store_local.list(path, listing);
}

static int slow_facts(const sl_handle *handle, sl_store_facts *facts)
{
    return sl_store_local.facts(handle, facts);
}

static ssize_t slow_read_at(const sl_handle *handle, void *to, size_t bytes, uint64_t offset)
{
    return sl_store_local.read_at(handle, to, bytes, offset);
}

static void slow_close(sl_handle *handle)
{
    sl_store_local.close(handle);
}

static int slow_real_path(const char *path, char *real)
{
    return sl_store_local.real_path(path, real);
}

static const sl_store slow = {.scheme = "",
                              .has_links = true,
                              .stat = slow_stat,
                              .list = slow_list,
                              .open = slow_open,
                              .facts = slow_facts,
                              .read_at = slow_read_at,
                              .close = slow_close,
                              .real_path = slow_real_path};

const sl_store *const sl_stores[] = {&slow};

/* ---- the tests ---- */

static void begin(uint64_t stall_ns)
{
    atomic_store(&hangs, true);
    atomic_store(&released, false);
    io_harness_init(&h, SLUICE_IO_PREAD);
    h.config.stall_fail_ns = stall_ns;
    h.config.stall_warn_ns = stall_ns;
    h.config.merge_gap_bytes = 0;
    io_make_file(&h, 0, 50000);
    io_make_file(&h, 1, 50000);
    for (uint32_t i = 0; i < GOOD; i++) {
        io_add(&h, 1, (uint64_t)i * 9000, 2000);
    }
    for (uint32_t i = 0; i < BAD; i++) {
        io_add(&h, 0, (uint64_t)i * 9000, 2000);
    }
    io_open(&h);
    io_give_credit(&h, h.count);
}

static void wait_until_inside(void)
{
    const uint64_t deadline = sl_now_ns() + TEST_PATIENCE_NS;
    while (atomic_load(&inside) == 0 && sl_now_ns() < deadline) {
        (void)usleep(1000);
    }
    assert_int_equal(inside, 1);
}

static void note_release(void *ctx)
{
    atomic_store((atomic_bool *)ctx, true);
}

static bool comes(const atomic_bool *what)
{
    const uint64_t deadline = sl_now_ns() + TEST_PATIENCE_NS;
    while (!atomic_load(what) && sl_now_ns() < deadline) {
        (void)usleep(1000);
    }
    return atomic_load(what);
}

/* Everything else is delivered, and the sequence can be abandoned. */
TEST(others_go_on)
{
    begin(2 * TEST_PATIENCE_NS);
    assert_true(io_wait(&h, GOOD));
    wait_until_inside();
    sl_fetch_restart(h.fetch);
    assert_int_equal(h.delivered, GOOD + BAD);
    for (uint32_t i = 0; i < GOOD + BAD; i++) {
        assert_int_equal(h.results[i].delivered, 1);
        assert_int_equal(h.results[i].status, i < GOOD ? SLUICE_OK : SLUICE_CANCELED);
    }
    atomic_store(&hangs, false);
    io_restart(&h);
    io_run_all(&h);
    io_expect(&h, SLUICE_OK, GOOD + BAD);
    io_harness_destroy(&h);
    assert_int_equal(h.pins_left, 0);
}

/* Closing waits for as long as requested; the memory of a hanging open stays until it returns. */
TEST(it_is_left)
{
    const sl_fetch_heir heir = {note_release, &released};
    begin(2 * TEST_PATIENCE_NS);
    assert_true(io_wait(&h, GOOD));
    wait_until_inside();
    sl_fetch_leave(h.fetch, 20 * MS, &heir);
    h.fetch = NULL;
    assert_false(atomic_load(&released));
    assert_int_equal(h.delivered, GOOD + BAD);
    atomic_store(&hangs, false);
    assert_true(comes(&released));
    assert_int_equal(sl_objects_pins(h.objects), 0);
    sl_objects_close(h.objects);
    sl_budget_init(&h.budget, UINT64_MAX); /* the budget is forgotten on leaving */
    io_harness_destroy(&h);
}

/* An open that takes too long fails the items waiting for it, like a slow read. */
TEST(it_stalls)
{
    begin(2000 * MS);
    assert_true(io_wait(&h, GOOD + BAD));
    io_expect(&h, SLUICE_OK, GOOD);
    io_expect(&h, SLUICE_IO, BAD);
    for (uint32_t i = GOOD; i < GOOD + BAD; i++) {
        assert_int_equal(h.results[i].error.sys_errno, ETIMEDOUT);
    }
    atomic_store(&hangs, false);
    io_close(&h);
    assert_int_equal(h.pins_left, 0);
    io_harness_destroy(&h);
}

/* An open that never returns needs the objects forever. */
static int leave_for_good(void *unused)
{
    const sl_fetch_heir heir = {note_release, &released};
    begin(200 * MS);
    wait_until_inside();
    sl_fetch_leave(h.fetch, TEST_PATIENCE_NS, &heir); /* it gives up after 200 ms */
    const bool kept = !atomic_load(&released);
    _exit(kept ? 0 : 1);
}

TEST(it_never_comes_back)
{
    assert_int_equal(io_in_child(leave_for_good, NULL), 0);
}
