/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the watchdog of packing and unpacking. Hand-overs between the caller's thread and the
 * workers are broken on purpose (--wrap): the watchdog must notice, and the same call must then
 * continue. */
#include "pack_setup.h"
#include "prepare.h"
#include "standstill.h"
#include "test.h"
#include "unpack.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* More samples than a worker runs ahead. */
enum { CLASSES = 2, PER_CLASS = 60 };

static pack_setup setup;
static char root[256];
static pthread_t owner;
static _Atomic bool worker_waits;            /* a worker waits */
static _Atomic uint64_t changes, worker_saw; /* changes so far, and when the worker began to wait */
static _Atomic bool loses;                   /* the owner's changes are lost from now on */
static uint32_t lost_from;                   /* the sample the owner then takes; 0: loses nothing */
static uint32_t taken;
static char begun[320]; /* samples count while this file exists: not the measured ones */

/* The linker chose these names (--wrap).
 * NOLINTBEGIN(*-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming) */
void __real_sl_standstill_change(sl_standstill *standstill, pthread_cond_t *cond);
void __wrap_sl_standstill_change(sl_standstill *standstill, pthread_cond_t *cond);

bool __real_sl_standstill_wait(sl_standstill *standstill, pthread_cond_t *cond,
                               pthread_mutex_t *mutex, uint64_t deadline_ns);
bool __wrap_sl_standstill_wait(sl_standstill *standstill, pthread_cond_t *cond,
                               pthread_mutex_t *mutex, uint64_t deadline_ns);

sluice_status __real_sl_prepare_next(sl_prepare *prepare, sl_prepared **prepared,
                                     sluice_error *error);
sluice_status __wrap_sl_prepare_next(sl_prepare *prepare, sl_prepared **prepared,
                                     sluice_error *error);

/* The worker then runs until it has to wait for the owner. */
sluice_status __wrap_sl_prepare_next(sl_prepare *prepare, sl_prepared **prepared,
                                     sluice_error *error)
{
    taken += begun[0] == '\0' || access(begun, F_OK) == 0;
    if (!loses && taken > 0 && taken == lost_from) {
        loses = true;
        while (!worker_waits || worker_saw != changes) { /* or it has been woken */
            (void)usleep(1000);
        }
    }
    return __real_sl_prepare_next(prepare, prepared, error);
}

bool __wrap_sl_standstill_wait(sl_standstill *standstill, pthread_cond_t *cond,
                               pthread_mutex_t *mutex, uint64_t deadline_ns)
{
    const bool is_worker = pthread_equal(pthread_self(), owner) == 0;
    worker_saw = is_worker ? changes : worker_saw;
    worker_waits = worker_waits || is_worker;
    const bool goes_on = __real_sl_standstill_wait(standstill, cond, mutex, deadline_ns);
    worker_waits = worker_waits && !is_worker;
    return goes_on;
}

void __wrap_sl_standstill_change(sl_standstill *standstill, pthread_cond_t *cond)
{
    /* Closes the dataset once this is noticed. */
    if (!loses || standstill->found || pthread_equal(pthread_self(), owner) == 0) {
        __real_sl_standstill_change(standstill, cond);
        changes++;
    }
}
/* NOLINTEND(*-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming) */

static void path_of(char path[300], const char *name)
{
    (void)snprintf(path, 300, "%s/%s", root, name);
}

static void begin_losing(uint32_t from)
{
    begun[0] = '\0';
    loses = false;
    lost_from = from;
    taken = 0;
}

/* `from` 0: loses nothing. */
static sluice_status pack(const char *to, uint32_t from, sluice_error *error)
{
    char path[300];
    const sluice_pack_options options = pack_options();
    path_of(path, to);
    begin_losing(from);
    (void)snprintf(begun, sizeof(begun), "%s/pack.journal", path);
    return pack_run(&setup, path, &options, NULL, error);
}

static sluice_status unpack(const char *to, uint32_t from, sluice_error *error)
{
    char path[300];
    sluice_unpack_result result;
    const sluice_unpack_options options = {.struct_size = sizeof(options),
                                           .form = SLUICE_UNPACK_TAR,
                                           .workers = 1,
                                           .on_bad = SLUICE_PACK_BAD_SKIP,
                                           .shard_bytes = 1 << 20};
    path_of(path, to);
    begin_losing(from);
    return sl_unpack(setup.dataset, path, &options, &result, error);
}

static void expect_equal(const char *a, const char *b)
{
    char left[300];
    char right[300];
    path_of(left, a);
    path_of(right, b);
    assert_true(folders_equal(left, right));
}

/* Nobody is notified of free slots: almost at once, and in the middle. */
static void what_is_lost_is_noticed(void **state)
{
    static const uint32_t from[] = {1, 30};
    (void)state;
    assert_int_equal(pack("packed", 0, NULL), SLUICE_OK);
    assert_int_equal(unpack("files", 0, NULL), SLUICE_OK);
    for (uint32_t i = 0; i < 2; i++) {
        sluice_error error = SLUICE_ERROR_INIT;
        char again[20];
        (void)snprintf(again, sizeof(again), "again %u", i);
        assert_int_equal(pack(again, from[i], &error), SLUICE_INTERNAL);
        assert_non_null(strstr(error.text, "will never be ready"));
        assert_int_equal(pack(again, 0, &error), SLUICE_OK);
        expect_equal("packed", again);
        (void)snprintf(again, sizeof(again), "files %u", i);
        assert_int_equal(unpack(again, from[i], &error), SLUICE_INTERNAL);
        assert_non_null(strstr(error.text, "will never be ready"));
        assert_int_equal(unpack(again, 0, &error), SLUICE_OK);
        expect_equal("files", again);
    }
}

static int make_all(void **state)
{
    (void)state;
    owner = pthread_self();
    temporary_directory(root, sizeof(root));
    pack_setup_make(&setup, CLASSES, PER_CLASS, true);
    return 0;
}

static int remove_all(void **state)
{
    (void)state;
    pack_setup_remove(&setup);
    remove_tree(root);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_lost_is_noticed)};
    return cmocka_run_group_tests(tests, make_all, remove_all);
}
