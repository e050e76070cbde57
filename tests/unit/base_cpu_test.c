/* SPDX-License-Identifier: Apache-2.0 */
/* The limits of the process: control groups from made-up files, and values of the real machine. */
#include "cgroup.h"
#include "cpu.h"
#include "proc.h"
#include "processors.h"
#include "test_folder.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_BYTES 1024
#define NONE       UINT64_MAX
#define GIB        ((uint64_t)1 << 30)

/* Makes root/name with its folders; each '@' in the text is replaced by the root. */
static void put(const char *name, const char *text)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof(path), "%s/%s", test_folder(), name);
    for (char *at = path + strlen(test_folder()) + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        mkdir(path, 0700);
        *at = '/';
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (const char *at = text; *at != '\0'; at++) {
        if (*at == '@') {
            fputs(test_folder(), file);
        } else {
            fputc(*at, file);
        }
    }
    assert_int_equal(fclose(file), 0);
}

static sl_cgroup read_with(const char *groups, const char *mounts)
{
    char own[PATH_BYTES];
    char mountinfo[PATH_BYTES];
    put("cgroup", groups);
    put("mountinfo", mounts);
    snprintf(own, sizeof(own), "%s/cgroup", test_folder());
    snprintf(mountinfo, sizeof(mountinfo), "%s/mountinfo", test_folder());
    return sl_cgroup_read(own, mountinfo);
}

TEST(numbers_of_text_files)
{
    char path[PATH_BYTES];
    put("numbers", "a 1\nabc:   77 kB\nab max\nneg -1\nbig 99999999999999999999\n");
    snprintf(path, sizeof(path), "%s/numbers", test_folder());
    assert_true(sl_proc_number(path, "abc:") == 77);
    assert_true(sl_proc_number(path, "a ") == 1);
    assert_true(sl_proc_number(path, "ab ") == SL_PROC_NONE);
    assert_true(sl_proc_number(path, "neg") == SL_PROC_NONE);
    assert_true(sl_proc_number(path, "big") == SL_PROC_NONE);
    assert_true(sl_proc_number(path, "zzz") == SL_PROC_NONE);
    assert_true(sl_proc_number("/does/not/exist", "") == SL_PROC_NONE);
    uint64_t a = 0;
    uint64_t b = 0;
    assert_false(sl_proc_pair(path, &a, &b));
    put("numbers", "12 34\n");
    assert_true(sl_proc_pair(path, &a, &b));
    assert_true(a == 12 && b == 34);
    put("numbers", "");
    assert_false(sl_proc_pair(path, &a, &b));
    assert_true(sl_proc_number(path, "") == SL_PROC_NONE);
}

TEST(v2_takes_the_tightest_level)
{
    put("v2/a/memory.max", "8589934592\n");
    put("v2/a/memory.current", "3221225472\n");
    put("v2/a/memory.stat", "anon 5\ninactive_file 1073741800\nactive_file 24\n");
    put("v2/a/cpu.max", "250000 100000\n");
    put("v2/a/b/memory.max", "max\n");
    put("v2/a/b/memory.current", "1\n");
    put("v2/a/b/cpu.max", "max 100000\n");
    put("v2/other/memory.max", "1\n");
    const sl_cgroup found =
        read_with("0::/a/b\n", "25 1 0:1 / /proc rw - proc proc rw\n"
                               "30 23 0:26 / @/v2 rw,nosuid shared:9 - cgroup2 cgroup2 rw\n");
    assert_true(found.memory_limit == 8 * GIB);
    assert_true(found.memory_left == 6 * GIB); /* 8 - (3 - 1) */
    assert_true(found.cpus == 3);
}

TEST(v2_high_counts_as_limit)
{
    put("high/memory.max", "max\n");
    put("high/memory.high", "1073741824\n");
    put("high/memory.current", "2147483648\n");
    const sl_cgroup found = read_with("0::/\n", "30 23 0:26 / @/high rw - cgroup2 cgroup2 rw\n");
    assert_true(found.memory_limit == GIB);
    assert_true(found.memory_left == 0);
    assert_true(found.cpus == NONE);
}

TEST(v1_controllers_have_their_own_paths)
{
    put("mem/job/memory.limit_in_bytes", "2147483648\n");
    put("mem/job/memory.usage_in_bytes", "1073741824\n");
    put("mem/job/memory.stat",
        "inactive_file 9\ntotal_inactive_file 268435456\ntotal_active_file 268435456\n");
    put("mem/memory.limit_in_bytes", "9223372036854771712\n");
    put("mem/memory.usage_in_bytes", "9999999999\n");
    put("cpu/batch/cpu.cfs_quota_us", "400000\n");
    put("cpu/batch/cpu.cfs_period_us", "100000\n");
    put("cpu/cpu.cfs_quota_us", "-1\n");
    put("cpu/cpu.cfs_period_us", "100000\n");
    put("cpuset/job/cpu.cfs_quota_us", "1\n");
    put("cpuset/job/cpu.cfs_period_us", "1\n");
    const sl_cgroup found = read_with("9:cpuset:/job\n4:memory:/job\n1:cpuacct,cpu:/batch\n0::/\n",
                                      "31 30 0:9 / @/cpuset rw - cgroup cgroup rw,cpuset\n"
                                      "32 30 0:1 / @/mem rw - cgroup cgroup rw,memory\n"
                                      "33 30 0:2 / @/cpu rw - cgroup cgroup rw,cpuacct,cpu\n");
    assert_true(found.memory_limit == 2 * GIB);
    assert_true(found.memory_left == GIB + GIB / 2);
    assert_true(found.cpus == 4);
}

/* A container without a cgroup namespace: the mount shows only its own part of the tree. */
TEST(mounted_subtrees_are_cut_off)
{
    put("sub tree/memory.max", "1073741824\n");
    put("sub tree/in/memory.max", "536870912\n");
    const char *mounts = "30 23 0:26 /docker/x @/sub\\040tree rw - cgroup2 cgroup2 rw\n";
    assert_true(read_with("0::/docker/x\n", mounts).memory_limit == GIB);
    assert_true(read_with("0::/docker/x/in\n", mounts).memory_limit == GIB / 2);
    /* Not below the mounted part, or seen from inside a namespace: the mount point itself. */
    assert_true(read_with("0::/docker/xyz\n", mounts).memory_limit == GIB);
    assert_true(read_with("0::/../../in\n", mounts).memory_limit == GIB);
    assert_true(read_with("", mounts).memory_limit == GIB);
}

TEST(odd_files_are_no_limits)
{
    put("odd/cpu.max", "100000 0\n");
    put("odd/memory.max", "lots\n");
    sl_cgroup found =
        read_with("nonsense\n0:\n:::\n0::/\n", "\n - \n30 23 - cgroup2\n30 - cgroup2 a b\n"
                                               "30 23 0:26 / @/odd rw - cgroup2 cgroup2 rw\n");
    assert_true(found.memory_limit == NONE && found.memory_left == NONE && found.cpus == NONE);
    put("odd/cpu.max", "1000 100000\n");
    found = read_with("0::/\n", "30 23 0:26 / @/odd rw - cgroup2 cgroup2 rw\n");
    assert_true(found.cpus == 1);
    char *mounts = malloc(40000);
    assert_non_null(mounts);
    memset(mounts, 'x', 39000);
    snprintf(mounts + 39000, 1000, "\n30 23 0:26 / @/odd rw - cgroup2 cgroup2 rw\n");
    found = read_with("0::/\n", mounts);
    free(mounts);
    assert_true(found.cpus == 1);
}

TEST(cpu_count_follows_the_affinity)
{
    cpu_set_t before;
    assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
    assert_in_range(sl_cpu_count(), 1, (uint32_t)CPU_COUNT(&before));
    cpu_set_t one;
    CPU_ZERO(&one);
    for (size_t i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++) {
        if (CPU_ISSET(i, &before)) {
            CPU_SET(i, &one);
        }
    }
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    const uint32_t count = sl_cpu_count();
    assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
    assert_int_equal(count, 1);
}

static bool has(const sl_processors *processors, uint32_t number)
{
    const size_t bits = 8 * sizeof(unsigned long);
    return (processors->words[number / bits] >> (number % bits) & 1) != 0;
}

TEST(lists_of_processors)
{
    static const struct {
        const char *text;
        uint32_t count, first, last;
    } lists[] = {
        {"0", 1, 0, 0},
        {"0\n", 1, 0, 0},
        {"0-3,8-11\n", 8, 0, 11},
        {"64-64", 1, 64, 64},
        {"63,64,65", 3, 63, 65},
        {"8191", 1, 8191, 8191},
        {"0-8191", 8192, 0, 8191},
        {"2-4,3-5", 4, 2, 5},
    };
    sl_processors found;
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        assert_true(sl_processors_parse(&found, lists[i].text));
        assert_int_equal(sl_processors_count(&found), lists[i].count);
        assert_true(has(&found, lists[i].first) && has(&found, lists[i].last));
    }
    assert_true(sl_processors_parse(&found, ""));
    assert_int_equal(sl_processors_count(&found), 0);
    assert_true(sl_processors_parse(&found, "\n"));
    static const char *const odd[] = {"x",    "-1",    "1-",  "3-2",  "1,",
                                      ",1",   "1,,2",  "1 2", "8192", "0-8192",
                                      "1\n2", "0-1-2", "+1",  " 1",   "99999999999999999999"};
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        assert_false(sl_processors_parse(&found, odd[i]));
    }
}

TEST(sets_of_processors)
{
    sl_processors a;
    sl_processors b;
    assert_true(sl_processors_parse(&a, "0-9,100-200"));
    assert_true(sl_processors_parse(&b, "5-100,8191"));
    sl_processors_keep(&a, &b);
    assert_int_equal(sl_processors_count(&a), 6);
    assert_true(has(&a, 5) && has(&a, 9) && has(&a, 100) && !has(&a, 4) && !has(&a, 101));
    cpu_set_t own;
    assert_int_equal(sched_getaffinity(0, sizeof(own), &own), 0);
    assert_true(sl_processors_own(&a));
    for (uint32_t i = 0; i < CPU_SETSIZE; i++) {
        assert_int_equal(has(&a, i), CPU_ISSET(i, &own) != 0);
    }
}

TEST(memory_figures_are_plausible)
{
    const uint64_t machine = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    const uint64_t total = sl_memory_total();
    assert_true(total > 0 && total <= machine);
    assert_true(sl_memory_available() > 0 && sl_memory_available() <= total);
}

/* Every name that we print is a flag in cpuinfo, which spells sse4.2 as "sse4_2". */
TEST(features_are_those_of_cpuinfo)
{
    char names[256];
    sl_cpu_features(names, sizeof(names));
    assert_true(names[0] != '\0');
#if defined(__x86_64__)
    char line[8192] = "";
    FILE *file = fopen("/proc/cpuinfo", "r");
    assert_non_null(file);
    while (strncmp(line, "flags", 5) != 0) {
        assert_non_null(fgets(line, sizeof(line) - 1, file));
    }
    (void)fclose(file);
    line[strcspn(line, "\n")] = ' ';
    char *rest = NULL;
    for (char *name = strtok_r(names, " ", &rest); name != NULL;
         name = strtok_r(NULL, " ", &rest)) {
        char wanted[40];
        snprintf(wanted, sizeof(wanted), " %.30s ", name);
        for (char *dot = wanted; (dot = strchr(dot, '.')) != NULL;) {
            *dot = '_';
        }
        assert_non_null(strstr(line, wanted));
    }
#endif
}

TEST(features_fit_their_capacity)
{
    char whole[256];
    sl_cpu_features(whole, sizeof(whole));
    for (size_t capacity = 0; capacity < 64; capacity++) {
        char text[66];
        memset(text, '#', sizeof(text));
        sl_cpu_features(text, capacity);
        assert_int_equal(text[capacity], '#');
        if (capacity > 0) {
            assert_true(strlen(text) < capacity);
        }
    }
}

TEST_GROUP(test_folder_make, test_folder_remove)
