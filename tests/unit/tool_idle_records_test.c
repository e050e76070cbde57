/* SPDX-License-Identifier: Apache-2.0 */
/* Tests record files and marks with every foreseeable fault and with random ones. */
#include "test.h"

#include "../../tools/sluice/idle/records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RECORDS = 12, PID = 4242, MUTATIONS = 3000 };

struct record_file {
    struct idle_header header;
    struct idle_record records[RECORDS];
};

static char folder[64];

static int setup(void **state)
{
    strcpy(folder, "/tmp/sluice-test-XXXXXX");
    return mkdtemp(folder) == NULL ? -1 : 0;
}

static void path_of(char path[128], const char *prefix, int pid)
{
    snprintf(path, 128, "%s/%s%d", folder, prefix, pid);
}

static int teardown(void **state)
{
    char path[128];
    for (int pid = PID; pid <= PID + 1; pid++) {
        path_of(path, IDLE_RECORDS_PREFIX, pid);
        unlink(path);
        path_of(path, IDLE_MARKS_PREFIX, pid);
        unlink(path);
    }
    return rmdir(folder);
}

static struct record_file good_file(void)
{
    struct record_file file = {.header = {.version = IDLE_VERSION,
                                          .header_bytes = sizeof(struct idle_header),
                                          .record_bytes = sizeof(struct idle_record),
                                          .state = IDLE_STATE_ENDED,
                                          .pid = PID,
                                          .records = RECORDS}};
    memcpy(file.header.magic, IDLE_MAGIC, sizeof IDLE_MAGIC);
    for (int i = 0; i < RECORDS; i++) {
        file.records[i] = (struct idle_record){.start = 100 * i + 50,
                                               .end = 100 * i + 90,
                                               .kind = (uint8_t)(IDLE_KERNEL + i % 3),
                                               .detail = (uint8_t)(i % 2)};
    }
    return file;
}

static void write_bytes(const char *prefix, int pid, const void *data, size_t bytes)
{
    char path[128];
    path_of(path, prefix, pid);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

static void read_folder(struct idle_run *run)
{
    char reason[256];
    assert_true(idle_run_read(run, folder, reason, sizeof reason));
}

static void expect_problem(const void *data, size_t bytes, const char *words, uint64_t records)
{
    write_bytes(IDLE_RECORDS_PREFIX, PID, data, bytes);
    struct idle_run run;
    read_folder(&run);
    assert_int_equal(run.process_count, 1);
    if (strstr(run.processes[0].problem, words) == NULL) {
        print_error("'%s' instead of '%s'\n", run.processes[0].problem, words);
    }
    assert_non_null(strstr(run.processes[0].problem, words));
    assert_int_equal(run.processes[0].records, records);
    idle_run_free(&run);
}

TEST_WITH(test_good, setup, teardown)
{
    struct record_file file = good_file();
    file.header.clock_offset_ns = 50;
    write_bytes(IDLE_RECORDS_PREFIX, PID, &file, sizeof file);
    struct idle_run run;
    read_folder(&run);
    assert_int_equal(run.processes[0].records, RECORDS);
    assert_string_equal(run.processes[0].problem, "");
    assert_int_equal(run.device_count, 1);
    const struct idle_trace *trace = &run.devices[0].trace;
    assert_int_equal(trace->kernels, 4);
    assert_int_equal(trace->memory_operations, 8);
    assert_int_equal(trace->program.items[0].start, 0); /* the clock's offset is subtracted */
    assert_int_equal(trace->program.count + trace->sluice.count, 4);
    assert_int_equal(trace->copies_in.count + trace->copies.count, 4);
    assert_int_equal(trace->fills.count, 4);
    idle_run_free(&run);
}

TEST_WITH(test_cut_anywhere, setup, teardown)
{
    struct record_file file = good_file();
    for (size_t bytes = 0; bytes < sizeof file; bytes += bytes < sizeof file.header ? 61 : 1) {
        if (bytes < sizeof file.header) {
            expect_problem(&file, bytes, "no whole header", 0);
        } else {
            uint64_t whole = (bytes - sizeof file.header) / sizeof *file.records;
            expect_problem(&file, bytes, "truncated", whole);
        }
    }
}

TEST_WITH(test_wrong_headers, setup, teardown)
{
    struct record_file file = good_file();
    file.header.magic[3] ^= 1;
    expect_problem(&file, sizeof file, "not a record file", 0);
    file = good_file();
    file.header.version++;
    expect_problem(&file, sizeof file, "another version", 0);
    file = good_file();
    file.header.record_bytes = 0;
    expect_problem(&file, sizeof file, "another version", 0);
    file = good_file();
    file.header.state = 9;
    expect_problem(&file, sizeof file, "damaged", 0);
    file = good_file();
    file.header.records = UINT64_MAX;
    expect_problem(&file, sizeof file, "truncated", RECORDS);
    file = good_file();
    memset(file.header.reason, 'x', sizeof file.header.reason); /* unterminated */
    memset(file.header.visible_devices, '7', sizeof file.header.visible_devices);
    expect_problem(&file, sizeof file, "", RECORDS);
}

TEST_WITH(test_wrong_records, setup, teardown)
{
    struct record_file file = good_file();
    file.records[0].kind = 0;
    file.records[1].kind = 4;
    file.records[2].end = file.records[2].start - 1;
    file.records[3].start = -1;
    file.records[4].end = INT64_MAX;
    file.records[5].device = IDLE_DEVICES_MAX;
    write_bytes(IDLE_RECORDS_PREFIX, PID, &file, sizeof file);
    struct idle_run run;
    read_folder(&run);
    assert_int_equal(run.processes[0].wrong_records, 6);
    assert_int_equal(run.processes[0].records, RECORDS - 6);
    idle_run_free(&run);
    file = good_file();
    file.header.clock_offset_ns = INT64_MIN;
    write_bytes(IDLE_RECORDS_PREFIX, PID, &file, sizeof file);
    read_folder(&run);
    assert_int_equal(run.processes[0].wrong_records, RECORDS);
    idle_run_free(&run);
}

TEST_WITH(test_random_damage, setup, teardown)
{
    uint32_t seed = 99;
    for (int i = 0; i < MUTATIONS; i++) {
        struct record_file file = good_file();
        uint8_t *bytes = (uint8_t *)&file;
        for (int j = 0; j < 4; j++) {
            seed = seed * 1664525u + 1013904223u;
            bytes[(seed >> 8) % sizeof file] ^= (uint8_t)(1u << (seed >> 4) % 8);
        }
        write_bytes(IDLE_RECORDS_PREFIX, PID, &file, sizeof file);
        struct idle_run run;
        read_folder(&run);
        assert_true(run.processes[0].records + run.processes[0].wrong_records <= RECORDS);
        for (size_t j = 0; j < run.device_count; j++) {
            struct idle_window_options options = {.skip_s = -1};
            struct idle_window window;
            struct idle_figures figures;
            if (idle_choose_window(&run.devices[j].trace, &options, &window)) {
                assert_true(idle_compute(&run.devices[j].trace, &window, &figures));
                assert_true(figures.compute_idle >= 0 && figures.compute_idle <= 1);
            }
        }
        idle_run_free(&run);
    }
}

/* Two processes that enumerate the GPUs in different orders share a device. */
TEST_WITH(test_devices_by_name, setup, teardown)
{
    struct record_file file = good_file();
    strcpy(file.header.visible_devices, "5,3");
    file.records[1].device = 1;
    write_bytes(IDLE_RECORDS_PREFIX, PID, &file, sizeof file);
    strcpy(file.header.visible_devices, "3");
    file.records[1].device = 0;
    write_bytes(IDLE_RECORDS_PREFIX, PID + 1, &file, sizeof file);
    struct idle_run run;
    read_folder(&run);
    assert_int_equal(run.process_count, 2);
    assert_int_equal(run.device_count, 2);
    assert_string_equal(run.devices[0].name, "5");
    assert_int_equal(run.devices[0].processes, 1);
    assert_string_equal(run.devices[1].name, "3");
    assert_int_equal(run.devices[1].processes, 2);
    idle_run_free(&run);
}

/* If the processes report their devices' addresses, numbers do not matter; nonsense is ignored. */
TEST_WITH(test_devices_by_address, setup, teardown)
{
    struct record_file file = good_file();
    strcpy(file.header.visible_devices, "0");
    strcpy(file.header.devices[0], "0000:1a:00.0");
    file.records[1].device = 0;
    write_bytes(IDLE_RECORDS_PREFIX, PID, &file, sizeof file);
    strcpy(file.header.visible_devices, "GPU-ab");
    write_bytes(IDLE_RECORDS_PREFIX, PID + 1, &file, sizeof file);
    struct idle_run run;
    read_folder(&run);
    assert_int_equal(run.process_count, 2);
    assert_int_equal(run.device_count, 1);
    assert_string_equal(run.devices[0].name, "0000:1a:00.0");
    idle_run_free(&run);
    strcpy(file.header.devices[0], "0000:1a:00.0; rm");
    write_bytes(IDLE_RECORDS_PREFIX, PID + 1, &file, sizeof file);
    read_folder(&run);
    assert_int_equal(run.device_count, 2);
    idle_run_free(&run);
}

TEST_WITH(test_marks, setup, teardown)
{
    static const char marks[] =
        "wait 100 200\nstall 150 260\r\nstep 300\nwait 70 70\n"
        "wait 5\nstep -3\nstep 1 2\nnap 1 2\nwait 9 8\n\n"
        "step 99999999999999999999\nwait 1 2 3\nwait 1 x\n"
        "step 11111111111111111111111111111111111111111111111111111111111111"
        "1111111111111111111111111111111111111111111111111111111111111111111"
        "\nstep 400\nwait 500 6"; /* the last one was being written */
    struct record_file file = good_file();
    write_bytes(IDLE_RECORDS_PREFIX, PID, &file, sizeof file);
    write_bytes(IDLE_MARKS_PREFIX, PID, marks, sizeof marks - 1);
    write_bytes(IDLE_MARKS_PREFIX, PID + 1, marks, sizeof marks - 1);
    struct idle_run run;
    read_folder(&run);
    const struct idle_trace *trace = &run.devices[0].trace;
    assert_int_equal(run.processes[0].marks, 5);
    assert_int_equal(run.processes[0].wrong_marks, 10);
    assert_int_equal(trace->wait_marks, 2);
    assert_int_equal(trace->stall_marks, 1);
    assert_int_equal(intervals_length(&trace->waits), 100);
    assert_int_equal(intervals_length(&trace->stalls), 110);
    assert_int_equal(trace->step_count, 2);
    assert_int_equal(trace->steps[1], 400);
    assert_int_equal(run.stray_marks, 1);
    idle_run_free(&run);
}

TEST(test_no_folder)
{
    struct idle_run run;
    char reason[256] = "";
    assert_false(idle_run_read(&run, "/nowhere/at/all", reason, sizeof reason));
    assert_non_null(strstr(reason, "/nowhere/at/all"));
}
