/* SPDX-License-Identifier: Apache-2.0 */
/* Tests writers in forked children: their errors, and that they leave the parent's files
 * untouched. */
#include "snapshot.h"
#include "test_folder.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SAMPLES = 40, MANY = 400, BYTES = 30000 };

static void path_of(char path[300], const char *what)
{
    (void)snprintf(path, 300, "%s/%s", test_folder(), what);
}

/* Fields are an int and bytes. Unless zstd is off, all samples that this test adds stay in memory
 * until the end. */
static sluice_status open_writer(sluice_writer **writer, const char *what, int32_t zstd_level,
                                 sluice_error *error)
{
    char path[300];
    sluice_field fields[2] = {SLUICE_FIELD_INIT, SLUICE_FIELD_INIT};
    sluice_writer_options options = SLUICE_WRITER_OPTIONS_INIT;
    (void)strcpy(fields[0].name, "number");
    fields[0].type = SLUICE_FIELD_INT;
    (void)strcpy(fields[1].name, "data");
    fields[1].type = SLUICE_FIELD_BYTES;
    options.fields = fields;
    options.field_count = 2;
    options.zstd_level = zstd_level;
    options.shard_bytes = 1 << 20;
    path_of(path, what);
    return sluice_writer_open(writer, path, &options, error);
}

static sluice_status add(sluice_writer *writer, int64_t number, sluice_error *error)
{
    uint8_t data[BYTES];
    sluice_value values[2] = {SLUICE_VALUE_INIT, SLUICE_VALUE_INIT};
    memset(data, (int)number, sizeof(data));
    values[0].integer = number;
    values[1].data = data;
    values[1].bytes = sizeof(data);
    return sluice_writer_add_values(writer, values, 2, error);
}

static void expect_whole(const char *what, uint64_t samples)
{
    char path[300];
    const char *paths = path;
    int64_t numbers[MANY];
    uint8_t present[MANY];
    sluice_dataset *dataset;
    sluice_dataset_info info = SLUICE_DATASET_INFO_INIT;
    path_of(path, what);
    assert_int_equal(sluice_dataset_open(&dataset, &paths, 1, NULL, NULL), SLUICE_OK);
    assert_int_equal(sluice_dataset_get_info(dataset, &info), SLUICE_OK);
    assert_int_equal(info.samples, samples);
    assert_int_equal(sluice_dataset_read_numbers(dataset, "number", numbers, present, NULL, NULL),
                     SLUICE_OK);
    for (uint64_t i = 0; i < samples; i++) {
        assert_int_equal(numbers[i], i);
    }
    assert_int_equal(snapshot_verify(dataset), 0);
    sluice_dataset_close(dataset);
}

static int is_refused(sluice_status status, const sluice_error *error)
{
    return status == SLUICE_STATE && strstr(error->text, "not to a fork") != NULL;
}

/* What a child does with its parent's writer. Returns 0 if everything is as expected. */
typedef int (*child_work)(sluice_writer *writer);

static int adds_and_finishes(sluice_writer *writer)
{
    sluice_error error = SLUICE_ERROR_INIT;
    if (!is_refused(add(writer, 1000, &error), &error)) {
        return 1;
    }
    return is_refused(sluice_writer_finish(writer, &error), &error) ? 0 : 2;
}

static int gives_up(sluice_writer *writer)
{
    sluice_writer_abort(writer);
    return 0;
}

static int writes_elsewhere(sluice_writer *writer)
{
    sluice_writer *own;
    int failed = open_writer(&own, "child", SLUICE_ZSTD_OFF, NULL) < 0;
    for (int64_t i = 0; failed == 0 && i < SAMPLES; i++) {
        failed = add(own, i, NULL) < 0;
    }
    sluice_writer_abort(writer);
    return failed != 0 || sluice_writer_finish(own, NULL) < 0;
}

static int in_child(child_work work, sluice_writer *writer)
{
    int status;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        _exit(work(writer));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void check_children(int32_t zstd_level)
{
    static const child_work works[] = {adds_and_finishes, gives_up, writes_elsewhere};
    sluice_writer *writer;
    assert_int_equal(open_writer(&writer, "packed", zstd_level, NULL), SLUICE_OK);
    for (int64_t i = 0; i < SAMPLES; i++) {
        assert_int_equal(add(writer, i, NULL), SLUICE_OK);
        if (i % 13 == 5) { /* in the first shard and in the second */
            assert_int_equal(in_child(works[i / 13], writer), 0);
        }
    }
    assert_int_equal(in_child(gives_up, writer), 0);
    assert_int_equal(sluice_writer_finish(writer, NULL), SLUICE_OK);
    expect_whole("packed", SAMPLES);
    expect_whole("child", SAMPLES);
}

static void children_leave_shards_alone(void **state)
{
    check_children(SLUICE_ZSTD_OFF);
}

static void children_leave_samples_in_memory_alone(void **state)
{
    check_children(0);
}

/* ---- a fork while another thread adds ---- */

typedef struct adding {
    sluice_writer *writer;
    atomic_bool over;
    sluice_status status;
} adding;

static void *add_samples(void *argument)
{
    adding *a = argument;
    for (int64_t i = 0; a->status == SLUICE_OK && i < MANY; i++) {
        a->status = add(a->writer, i, NULL);
    }
    atomic_store(&a->over, true);
    return NULL;
}

/* The thread may be interrupted anywhere, and the child has the half-finished copy. */
static void children_of_a_process_that_adds(void **state)
{
    pthread_t thread;
    adding a = {.status = SLUICE_OK};
    int failed = 0;
    assert_int_equal(open_writer(&a.writer, "packed", SLUICE_ZSTD_OFF, NULL), SLUICE_OK);
    assert_int_equal(pthread_create(&thread, NULL, add_samples, &a), 0);
    while (!atomic_load(&a.over)) {
        failed += in_child(gives_up, a.writer);
    }
    pthread_join(thread, NULL);
    assert_int_equal(a.status, SLUICE_OK);
    assert_int_equal(failed, 0);
    assert_int_equal(sluice_writer_finish(a.writer, NULL), SLUICE_OK);
    expect_whole("packed", MANY);
}

/* ---- the folder's lock ---- */

/* A child that inherits everything its parent has open, until end_sleeper. */
static pid_t sleeper;
static int gate[2];

static void begin_sleeper(void)
{
    char byte;
    assert_int_equal(pipe(gate), 0);
    sleeper = fork();
    assert_true(sleeper >= 0);
    if (sleeper == 0) {
        close(gate[1]);
        while (read(gate[0], &byte, 1) > 0) {
        }
        _exit(0);
    }
    close(gate[0]);
}

static void end_sleeper(void)
{
    int status;
    close(gate[1]);
    assert_int_equal(waitpid(sleeper, &status, 0), sleeper);
    sleeper = 0;
}

static bool is_locked(const char *what)
{
    sluice_writer *other;
    sluice_error error = SLUICE_ERROR_INIT;
    const sluice_status status = open_writer(&other, what, 0, &error);
    sluice_writer_abort(other);
    return status == SLUICE_STATE && strstr(error.text, "another process") != NULL;
}

static void a_folder_is_locked_until_its_owner_is_done(void **state)
{
    sluice_writer *writer;
    assert_int_equal(open_writer(&writer, "packed", SLUICE_ZSTD_OFF, NULL), SLUICE_OK);
    assert_int_equal(add(writer, 0, NULL), SLUICE_OK);
    begin_sleeper();
    assert_int_equal(in_child(gives_up, writer), 0);
    assert_true(is_locked("packed"));
    assert_int_equal(sluice_writer_finish(writer, NULL), SLUICE_OK);
    const bool still = is_locked("packed");
    end_sleeper();
    assert_false(still);
}

static int32_t fork_once(void *user)
{
    (void)user;
    if (sleeper == 0) {
        begin_sleeper();
    }
    return 0;
}

static void a_pack_may_follow_where_a_child_lives(void **state)
{
    char from[300];
    char to[300];
    const char *path = from;
    sluice_dataset *dataset;
    sluice_status status[2];
    sluice_pack_options options = SLUICE_PACK_OPTIONS_INIT;
    check_children(0);
    path_of(from, "packed");
    path_of(to, "again");
    assert_int_equal(sluice_dataset_open(&dataset, &path, 1, NULL, NULL), SLUICE_OK);
    options.should_stop = fork_once;
    for (int run = 0; run < 2; run++) {
        status[run] = sluice_pack(dataset, to, &options, NULL, NULL);
        options.overwrite = 1;
        options.keep_order = 1; /* makes another pack: the same one is already complete */
    }
    end_sleeper();
    assert_int_equal(status[0], SLUICE_OK);
    assert_int_equal(status[1], SLUICE_OK);
    sluice_dataset_close(dataset);
    expect_whole("again", SAMPLES);
}

#define IN_ROOT(test) cmocka_unit_test_setup_teardown(test, test_folder_make, test_folder_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_ROOT(children_leave_shards_alone),
        IN_ROOT(children_leave_samples_in_memory_alone),
        IN_ROOT(children_of_a_process_that_adds),
        IN_ROOT(a_folder_is_locked_until_its_owner_is_done),
        IN_ROOT(a_pack_may_follow_where_a_child_lives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
