/* SPDX-License-Identifier: Apache-2.0 */
/* The record file, written over an unreliable disk, and read back by the tool's reader. */
#include "test.h"

#include "../../tools/inject/idle_writer.h"
#include "../../tools/sluice/idle/records.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

ssize_t __real_pwrite(int descriptor, const void *data, size_t bytes, off_t offset);
ssize_t __wrap_pwrite(int descriptor, const void *data, size_t bytes, off_t offset);

static struct {
    off_t capacity;  /* capacity of the disk in bytes; 0: unlimited */
    size_t piece;    /* most bytes per call; 0: all */
    int interrupted; /* number of calls that first fail with EINTR */
} disk;

ssize_t __wrap_pwrite(int descriptor, const void *data, size_t bytes, off_t offset)
{
    if (disk.interrupted > 0) {
        disk.interrupted--;
        errno = EINTR;
        return -1;
    }
    if (disk.capacity > 0 && offset + (off_t)bytes > disk.capacity) {
        errno = ENOSPC;
        return -1;
    }
    size_t now = disk.piece > 0 && bytes > disk.piece ? disk.piece : bytes;
    return __real_pwrite(descriptor, data, now, offset);
}

static char folder[64];
static struct idle_writer writer;

static int setup(void **state)
{
    memset(&disk, 0, sizeof disk);
    strcpy(folder, "/tmp/sluice-test-XXXXXX");
    return mkdtemp(folder) == NULL || !idle_writer_open(&writer, folder) ? -1 : 0;
}

static void path_of(char path[128])
{
    snprintf(path, 128, "%s/records.%d", folder, (int)getpid());
}

static int teardown(void **state)
{
    char path[128];
    path_of(path);
    idle_writer_disown(&writer);
    return unlink(path) != 0 || rmdir(folder) != 0 ? -1 : 0;
}

enum { MANY = 3 * IDLE_WRITER_ROOM + 17 };

static void add_many(void)
{
    for (int64_t i = 0; i < MANY; i++) {
        struct idle_record record = {.kind = IDLE_KERNEL, .start = 1000 + 10 * i};
        record.end = record.start + 4;
        idle_writer_add(&writer, &record);
    }
}

static void read_back(struct idle_run *run)
{
    char reason[256];
    assert_true(idle_run_read(run, folder, reason, sizeof reason));
    assert_int_equal(run->process_count, 1);
    assert_int_equal(run->processes[0].pid, getpid());
}

static void expect_all(void)
{
    struct idle_run run;
    read_back(&run);
    assert_string_equal(run.processes[0].problem, "");
    assert_int_equal(run.processes[0].records, MANY);
    assert_int_equal(run.processes[0].header.lost, 0);
    assert_int_equal(run.devices[0].trace.kernels, MANY);
    assert_int_equal(intervals_length(&run.devices[0].trace.program), 4 * MANY);
    idle_run_free(&run);
}

TEST_WITH(test_all_arrives, setup, teardown)
{
    add_many();
    idle_writer_flush(&writer, IDLE_STATE_ENDED, 5);
    expect_all();
}

TEST_WITH(test_short_and_interrupted, setup, teardown)
{
    disk.piece = 333;
    disk.interrupted = 3;
    add_many();
    idle_writer_flush(&writer, IDLE_STATE_ENDED, 5);
    expect_all();
}

TEST_WITH(test_full_disk, setup, teardown)
{
    disk.capacity = (off_t)(sizeof(struct idle_header) +
                            (size_t)2 * IDLE_WRITER_ROOM * sizeof(struct idle_record));
    add_many();
    idle_writer_flush(&writer, IDLE_STATE_ENDED, 5);
    struct idle_run run;
    read_back(&run);
    const struct idle_process *process = &run.processes[0];
    assert_int_equal(process->header.write_error, ENOSPC);
    assert_int_equal(process->records, 2 * IDLE_WRITER_ROOM);
    assert_int_equal(process->header.lost, MANY - 2 * IDLE_WRITER_ROOM);
    idle_run_free(&run);
}

/* After a process was killed, records beyond the header's count are not read. */
TEST_WITH(test_killed_between_flushes, setup, teardown)
{
    struct idle_record record = {.kind = IDLE_KERNEL, .start = 1, .end = 2};
    idle_writer_add(&writer, &record);
    idle_writer_flush(&writer, IDLE_STATE_TRACING, 0);
    add_many(); /* partly appended, header not rewritten */
    struct idle_run run;
    read_back(&run);
    assert_int_equal(run.processes[0].records, 1);
    assert_int_equal(run.processes[0].header.state, IDLE_STATE_TRACING);
    assert_string_equal(run.processes[0].problem, "");
    idle_run_free(&run);
}

TEST_WITH(test_reason, setup, teardown)
{
    idle_writer_fail(&writer, "cuptiSubscribe: no");
    struct idle_run run;
    read_back(&run);
    assert_int_equal(run.processes[0].header.state, IDLE_STATE_FAILED);
    assert_string_equal(run.processes[0].header.reason, "cuptiSubscribe: no");
    idle_run_free(&run);
}

/* A child made by fork writes nothing into its parent's file. */
TEST_WITH(test_fork, setup, teardown)
{
    struct idle_record record = {.kind = IDLE_KERNEL, .start = 1, .end = 2};
    idle_writer_add(&writer, &record);
    pid_t child = fork();
    if (child == 0) {
        idle_writer_disown(&writer);
        add_many();
        idle_writer_flush(&writer, IDLE_STATE_ENDED, 0);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    idle_writer_flush(&writer, IDLE_STATE_TRACING, 0);
    struct idle_run run;
    read_back(&run);
    assert_int_equal(run.processes[0].records, 1);
    idle_run_free(&run);
}
