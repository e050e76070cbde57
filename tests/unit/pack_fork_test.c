/* SPDX-License-Identifier: Apache-2.0 */
/* Tests packing and unpacking in a process that forks children meanwhile: the output is the same as
 * without them. */
#include "pack_setup.h"
#include "test.h"
#include "unpack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static pack_setup setup;
static char root[256];

static void path_of(char path[300], const char *what)
{
    (void)snprintf(path, 300, "%s/%s", root, what);
}

/* The work done inside a callback, on the caller's thread. */
typedef int32_t (*ask)(void *user);

static void wait_for(pid_t child)
{
    int status;
    assert_true(child >= 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* Does what exit() does to open streams; the rest of exit() belongs to the test program. */
static int32_t child_exits(void *user)
{
    (void)user;
    const pid_t child = fork();
    if (child == 0) {
        (void)fflush(NULL);
        _exit(0);
    }
    wait_for(child);
    return 0;
}

static sluice_status pack(const char *to, ask should_stop, sluice_error *error)
{
    char path[300];
    sluice_pack_options options = pack_options();
    path_of(path, to);
    options.should_stop = should_stop;
    options.skip_verify = 1; /* writes nothing, and has threads that no child has */
    return pack_run(&setup, path, &options, NULL, error);
}

/* Packs to archives. */
static sluice_status unpack(const char *to, ask should_stop, sluice_error *error)
{
    char path[300];
    sluice_unpack_result result;
    const sluice_unpack_options options = {.struct_size = sizeof(options),
                                           .form = SLUICE_UNPACK_TAR,
                                           .workers = 1,
                                           .on_bad = SLUICE_PACK_BAD_SKIP,
                                           .shard_bytes = 1 << 20,
                                           .should_stop = should_stop};
    path_of(path, to);
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

static void lists_of_bad_samples_are_written_once(void **state)
{
    assert_int_equal(pack("packed", NULL, NULL), SLUICE_OK);
    assert_int_equal(pack("packed while children exit", child_exits, NULL), SLUICE_OK);
    expect_equal("packed", "packed while children exit");
    assert_int_equal(unpack("files", NULL, NULL), SLUICE_OK);
    assert_int_equal(unpack("files while children exit", child_exits, NULL), SLUICE_OK);
    expect_equal("files", "files while children exit");
}

/* ---- a child that returns from a callback ---- */

static bool in_child;

/* Forks repeatedly, each time once everything is read ahead, so that a child, which has no threads,
 * could continue with it. */
static int32_t child_returns(void *user)
{
    (void)user;
    (void)usleep(in_child ? 0 : 20000);
    const pid_t child = in_child ? -1 : fork();
    if (child == 0) {
        in_child = true;
        (void)alarm(300); /* a failing child would wait for threads forever */
    } else if (!in_child) {
        wait_for(child);
    }
    return 0;
}

static void children_that_return_do_nothing(void **state)
{
    for (int unpacks = 0; unpacks < 2; unpacks++) {
        const char *plain = unpacks != 0 ? "files" : "packed";
        const char *forked = unpacks != 0 ? "files, forked" : "packed, forked";
        sluice_error error = SLUICE_ERROR_INIT;
        assert_int_equal(unpacks != 0 ? unpack(plain, NULL, NULL) : pack(plain, NULL, NULL),
                         SLUICE_OK);
        const sluice_status status = unpacks != 0 ? unpack(forked, child_returns, &error)
                                                  : pack(forked, child_returns, &error);
        if (in_child) {
            _exit(status == SLUICE_STATE && strstr(error.text, "not to a fork") != NULL ? 0 : 1);
        }
        assert_int_equal(status, SLUICE_OK);
        expect_equal(plain, forked);
    }
}

static int make_all(void **state)
{
    temporary_directory(root, sizeof(root));
    pack_setup_make(&setup, 2, 6, true);
    return 0;
}

static int remove_all(void **state)
{
    pack_setup_remove(&setup);
    remove_tree(root);
    return 0;
}

#define IN_ROOT(test) cmocka_unit_test_setup_teardown(test, make_all, remove_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_ROOT(lists_of_bad_samples_are_written_once),
        IN_ROOT(children_that_return_do_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
