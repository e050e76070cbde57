/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test: cmocka, and tests that are in its list by being defined.
 *
 *     TEST(numbers_add_up)
 *     {
 *         assert_int_equal(1 + 1, 2);
 *     }
 *
 * is a test with cmocka's `state`, run in the order of the file by the main that tests/support has,
 * or by a main of the file's own that calls test_run. Threads: cmocka's asserts jump, so they stand
 * on the main thread.
 */
#ifndef SL_TEST_H
#define SL_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* A sanitizer makes a test several times slower, and sees in some rounds what it would see in all.
 */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#    define TEST_SANITIZED 1
#else
#    define TEST_SANITIZED 0
#endif
/* How many rounds, or how far apart: `plain`, or with a sanitizer `sanitized`. */
#define TEST_AMOUNT(plain, sanitized) (TEST_SANITIZED ? (sanitized) : (plain))
/* The same with an amount for AddressSanitizer and one for ThreadSanitizer, for which repetitions
 * in one thread are all alike. */
#if defined(__SANITIZE_THREAD__)
#    define TEST_AMOUNTS(plain, address, thread) (thread)
#else
#    define TEST_AMOUNTS(plain, address, thread) TEST_AMOUNT(plain, address)
#endif

/* A function that makes or compares bytes in memory of its own thread only. ThreadSanitizer, which
 * makes such loops ten times slower, does not look into it. */
#define TEST_OWN_MEMORY __attribute__((no_sanitize("thread")))

/* For TEST alone. */
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

/* A test of figures, not of memory: without a sanitizer only. */
#define TEST_UNSANITIZED(name)                                \
    static void name(void **state);                           \
    __attribute__((constructor)) static void add_##name(void) \
    {                                                         \
        if (!TEST_SANITIZED) {                                \
            test_add(#name, name, NULL, NULL);                \
        }                                                     \
    }                                                         \
    static void name(void **state)

/* Before the first test and behind the last, where the file has no main. */
#define TEST_GROUP(setup, teardown)                          \
    __attribute__((constructor)) static void set_group(void) \
    {                                                        \
        test_set_group(setup, teardown);                     \
    }

/* How long a test waits for what has to come: it is there at once, or after minutes of a busy
 * machine. */
#define TEST_PATIENCE_NS UINT64_C(120000000000)

/* Nanoseconds of CPU that the process has used: what something costs, which other processes do not
 * change. */
uint64_t test_cpu_ns(void);

/* Runs all tests of the file; how many failed. */
int test_run(CMFixtureFunction setup, CMFixtureFunction teardown);

#endif
