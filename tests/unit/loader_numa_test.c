/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a loader's threads run: on the CPUs of the device's NUMA node. Since this machine may have
 * only one node, the test decides which CPUs the node has; the kernel reports where the threads may
 * run.
 */
#include "fake_cuda_client.h"
#include "loader_setup.h"
#include "numa.h"
#include "processors.h"
#include "test.h"
#include "thread.h"

#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static photo_folder photos;
static const fake_cuda_control *fake;
static cpu_set_t all;  /* CPUs on which this process may run */
static char first[24]; /* the first one, as text */
static const char *node_list;
static int asked_node;

bool __wrap_sl_numa_processors(int node, sl_processors *processors); // NOLINT: names are ld's
bool __wrap_sl_numa_processors(int node, sl_processors *processors)  // NOLINT
{
    asked_node = node;
    return node_list != NULL && sl_processors_parse(processors, node_list);
}

static int setup(void **state)
{
    photo_folder_make(&photos, 2, 8);
    assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
    size_t at = 0;
    while (!CPU_ISSET(at, &all)) {
        at++;
    }
    snprintf(first, sizeof(first), "%zu", at);
    return 0;
}

static int teardown(void **state)
{
    photo_folder_remove(&photos);
    return 0;
}

static sluice_loader *open_near(const char *list, const sluice_loader_options *options)
{
    node_list = list;
    asked_node = -1;
    fake->reset();
    fake->set(&(fake_cuda_options){.on_node_0 = true});
    return setup_loader(photos.path, options);
}

static sluice_loader_options options_on(const char *device)
{
    sluice_loader_options options = setup_options();
    options.batch_size = 4;
    options.workers = 0;
    options.device = device;
    return options;
}

/* Returns the line of a thread's status file after `key`; "" if the thread is gone. */
static void status_line(const char *thread, const char *key, char *value, size_t bytes)
{
    char path[300];
    char line[512];
    snprintf(path, sizeof(path), "/proc/self/task/%.200s/status", thread);
    FILE *file = fopen(path, "re");
    value[0] = '\0';
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, key, strlen(key)) == 0) {
            line[strcspn(line, "\n")] = '\0';
            snprintf(value, bytes, "%s", line + strlen(key));
        }
    }
    if (file != NULL) {
        fclose(file);
    }
}

/* Checks that one of the library's threads is in the right place; counts it. */
static void look_at(const char *thread, const char *expected, uint32_t *found)
{
    char name[64];
    char list[256];
    status_line(thread, "Name:\t", name, sizeof(name));
    status_line(thread, "Cpus_allowed_list:\t", list, sizeof(list));
    if (strncmp(name, "sluice-", strlen("sluice-")) == 0 && list[0] != '\0') {
        if (strcmp(list, expected) != 0) {
            fail_msg("%s may run on %s, not on %s", name, list, expected);
        }
        ++*found;
    }
}

/* Expects all of the library's threads to be allowed on the CPUs `expected`; returns their
 * number. */
static uint32_t expect_threads_on(const char *expected)
{
    DIR *folder = opendir("/proc/self/task");
    uint32_t found = 0;
    assert_non_null(folder);
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        if (entry->d_name[0] != '.') {
            look_at(entry->d_name, expected, &found);
        }
    }
    closedir(folder);
    return found;
}

static void own_list(char *list, size_t bytes)
{
    char self[32];
    snprintf(self, sizeof(self), "%d", (int)getpid());
    status_line(self, "Cpus_allowed_list:\t", list, bytes);
}

static void expect_all_here(void)
{
    cpu_set_t now;
    assert_int_equal(sched_getaffinity(0, sizeof(now), &now), 0);
    assert_true(CPU_EQUAL(&now, &all));
}

static void take_all(sluice_loader *loader)
{
    sluice_batch *batch;
    uint64_t rows = 0;
    assert_int_equal(sluice_loader_start_epoch(loader, 0), SLUICE_OK);
    while (sluice_loader_next(loader, &batch, -1) == SLUICE_OK) {
        rows += sluice_batch_rows(batch);
        sluice_batch_release(batch);
    }
    assert_int_equal(rows, 16);
}

/* Returns its number of workers. Threads are in the right place before and after an epoch, and the
 * caller's are left alone. */
static uint32_t expect_placed(sluice_loader *loader, const char *where, bool near)
{
    sluice_loader_stats stats = SLUICE_LOADER_STATS_INIT;
    assert_int_equal(sluice_loader_get_stats(loader, &stats), SLUICE_OK);
    assert_int_equal(stats.near_device, near);
    /* At least the workers, the fetch thread, the copier and the reaper. */
    assert_true(expect_threads_on(where) >= stats.workers + 3);
    expect_all_here();
    take_all(loader);
    assert_true(expect_threads_on(where) >= stats.workers + 3);
    expect_all_here();
    sluice_loader_close(loader);
    assert_int_equal(fake_cuda_complain(fake), 0);
    return stats.workers;
}

static void skip_on_one_processor(void)
{
    if (CPU_COUNT(&all) < 2) {
        print_message("this process has one processor: no node can have fewer\n");
        skip();
    }
}

TEST(threads_run_near_the_device)
{
    skip_on_one_processor();
    const sluice_loader_options options = options_on("cuda:0");
    assert_int_equal(expect_placed(open_near(first, &options), first, true), 1);
    assert_int_equal(asked_node, 0);
}

/* Readers of the pread pool are the pool's own threads. */
TEST(readers_do_too)
{
    skip_on_one_processor();
    sluice_loader_options options = options_on("cuda:0");
    options.io_backend = SLUICE_IO_PREAD;
    options.io_threads = 3;
    options.workers = 1;
    (void)expect_placed(open_near(first, &options), first, true);
}

/* A loader with more workers than nearby CPUs uses the other CPUs too. */
TEST(more_workers_run_anywhere)
{
    skip_on_one_processor();
    char own[256];
    own_list(own, sizeof(own));
    sluice_loader_options options = options_on("cuda:0");
    options.workers = 2;
    assert_int_equal(expect_placed(open_near(first, &options), own, false), 2);
}

TEST(the_option_leaves_them_alone)
{
    char own[256];
    own_list(own, sizeof(own));
    sluice_loader_options options = options_on("cuda:0");
    options.any_numa_node = 1;
    const uint32_t workers = expect_placed(open_near(first, &options), own, false);
    assert_true(workers >= 1 && workers <= (uint32_t)CPU_COUNT(&all));
    assert_int_equal(asked_node, -1);
}

/* Nothing to choose from, no CPU left, or an unknown node: threads run anywhere. */
TEST(odd_nodes_change_nothing)
{
    char own[256];
    own_list(own, sizeof(own));
    const char *lists[] = {own, "", "8191", "0-", NULL};
    const sluice_loader_options options = options_on("cuda:0");
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        (void)expect_placed(open_near(lists[i], &options), own, false);
        assert_int_equal(asked_node, 0);
    }
}

TEST(the_host_is_near_to_all)
{
    const sluice_loader_options options = options_on("host");
    sluice_loader *loader = open_near(first, &options);
    sluice_loader_stats stats = SLUICE_LOADER_STATS_INIT;
    assert_int_equal(sluice_loader_get_stats(loader, &stats), SLUICE_OK);
    assert_int_equal(stats.near_device, 0);
    assert_int_equal(asked_node, -1);
    sluice_loader_close(loader);
}

static void note_where(void *list)
{
    char self[32];
    snprintf(self, sizeof(self), "%d", (int)syscall(SYS_gettid));
    status_line(self, "Cpus_allowed_list:\t", list, 256);
}

/* CPUs that have gone offline meanwhile: the thread still starts. */
TEST(a_thread_starts_without_them)
{
    sl_processors gone;
    char own[256];
    char there[256];
    sl_thread thread = {.running = false};
    own_list(own, sizeof(own));
    assert_true(sl_processors_parse(&gone, "8191"));
    assert_int_equal(sl_thread_start_near(&thread, "sluice-test", &gone, note_where, there, NULL),
                     SLUICE_OK);
    sl_thread_join(&thread);
    assert_string_equal(there, own);
}

int main(void)
{
    fake = fake_cuda_open();
    if (fake == NULL) {
        printf("SLUICE_CUDA_DRIVER names no fake driver\n");
        return 77;
    }
    return test_run(setup, teardown);
}
