/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test: cmocka, and tests that register themselves where they are defined.
 *
 *     TEST(numbers_add_up)
 *     {
 *         assert_int_equal(1 + 1, 2);
 *     }
 *
 * defines a test with cmocka's `state`. Tests run in the order of the file, from the main of
 * tests/support or from the file's own main, which calls test_run.
 * Threads: cmocka's asserts jump, so they belong on the main thread.
 */
#ifndef SL_TEST_H
#define SL_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* A sanitizer makes a test several times slower, and finds the same errors in fewer rounds. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#    define TEST_SANITIZED 1
#else
#    define TEST_SANITIZED 0
#endif
/* Number of rounds or their spacing: `plain`, or with a sanitizer `sanitized`. */
#define TEST_AMOUNT(plain, sanitized) (TEST_SANITIZED ? (sanitized) : (plain))
/* The same, with separate amounts for AddressSanitizer and for ThreadSanitizer, to which
 * repetitions in one thread are all equal. */
#if defined(__SANITIZE_THREAD__)
#    define TEST_AMOUNTS(plain, address, thread) (thread)
#else
#    define TEST_AMOUNTS(plain, address, thread) TEST_AMOUNT(plain, address)
#endif

/* A function that writes or compares only memory of its own thread. ThreadSanitizer, which makes
 * such loops ten times slower, does not instrument it. */
#define TEST_OWN_MEMORY __attribute__((no_sanitize("thread")))

/* For TEST only. */
void test_add(const char *name, CMUnitTestFunction test, CMFixtureFunction setup,
              CMFixtureFunction teardown);
void test_set_group(CMFixtureFunction setup, CMFixtureFunction teardown);

#define TEST_WITH(name, setup, teardown)                      \
    static void name(void **state);                           \
    __attribute__((constructor)) static void add_##name(void) \
    {                                                         \
        test_add(#name, name, setup, teardown);               \
    }                                                         \
    static void name(void **state)

#define TEST(name) TEST_WITH(name, NULL, NULL)

/* A test of measurements, not of memory: runs only without a sanitizer. */
#define TEST_UNSANITIZED(name)                                \
    static void name(void **state);                           \
    __attribute__((constructor)) static void add_##name(void) \
    {                                                         \
        if (!TEST_SANITIZED) {                                \
            test_add(#name, name, NULL, NULL);                \
        }                                                     \
    }                                                         \
    static void name(void **state)

/* Fixtures before the first test and after the last, for files without their own main. */
#define TEST_GROUP(setup, teardown)                          \
    __attribute__((constructor)) static void set_group(void) \
    {                                                        \
        test_set_group(setup, teardown);                     \
    }

/* Time a test waits for an expected event, which comes at once, or after minutes on a busy
 * machine. */
#define TEST_PATIENCE_NS UINT64_C(120000000000)

/* Returns the CPU time of the process in nanoseconds: a cost that other processes do not change. */
uint64_t test_cpu_ns(void);

/* Runs all tests of the file; returns the number of failures. */
int test_run(CMFixtureFunction setup, CMFixtureFunction teardown);

#endif
