/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { TESTS_MAX = 128 };

static struct CMUnitTest tests[TESTS_MAX];
static size_t test_count;
static CMFixtureFunction group_setup, group_teardown;

void test_add(const char *name, CMUnitTestFunction test, CMFixtureFunction setup,
              CMFixtureFunction teardown)
{
    if (test_count == TESTS_MAX) {
        fprintf(stderr, "more than %d tests in a file\n", TESTS_MAX);
        abort();
    }
    tests[test_count++] = (struct CMUnitTest){name, test, setup, teardown, NULL};
}

void test_set_group(CMFixtureFunction setup, CMFixtureFunction teardown)
{
    group_setup = setup;
    group_teardown = teardown;
}

uint64_t test_cpu_ns(void)
{
    struct timespec used;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
}

int test_run(CMFixtureFunction setup, CMFixtureFunction teardown)
{
    if (test_count == 0) {
        fprintf(stderr, "no test: TEST(name) defines one\n");
        return 1;
    }
    return _cmocka_run_group_tests("tests", tests, test_count, setup != NULL ? setup : group_setup,
                                   teardown != NULL ? teardown : group_teardown);
}
