/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>

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

int test_run(CMFixtureFunction setup, CMFixtureFunction teardown)
{
    if (test_count == 0) {
        fprintf(stderr, "no test: TEST(name) defines one\n");
        return 1;
    }
    return _cmocka_run_group_tests("tests", tests, test_count, setup != NULL ? setup : group_setup,
                                   teardown != NULL ? teardown : group_teardown);
}
