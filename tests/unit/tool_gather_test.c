/* SPDX-License-Identifier: Apache-2.0 */
/* Tests ranks, as processes, that meet through files, also where an earlier run left its own. */
#include "../../tools/sluice/bench/gather.h"
#include "../../tools/sluice/bench/rank_figures.h"
#include "../../tools/sluice/common/clock.h"
#include "../../tools/sluice/common/exit_code.h"
#include "test_folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RANKS = 3 };

static sluice_ranks ranks_of(uint32_t rank, uint32_t world_size)
{
    sluice_ranks ranks = SLUICE_RANKS_INIT;
    ranks.rank = rank;
    ranks.world_size = world_size;
    snprintf(ranks.job, sizeof(ranks.job), "job-1");
    return ranks;
}

/* Runs one rank in a process of its own. Returns 0 on success. */
typedef int (*rank_work)(struct gather *gather, uint32_t rank);

static pid_t start(uint32_t rank, double wait_s, rank_work work)
{
    const pid_t child = fork();
    if (child == 0) {
        struct gather gather;
        const sluice_ranks ranks = ranks_of(rank, RANKS);
        int code = gather_open(&gather, &ranks, test_folder(), wait_s);
        code = code == TOOL_FINE ? work(&gather, rank) : code;
        gather_close(&gather);
        _exit(code);
    }
    assert_true(child > 0);
    return child;
}

static int end_of(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int exchange(struct gather *gather, uint32_t rank)
{
    char text[GATHER_TEXT_MAX];
    char expected[64];
    int code = gather_meet(gather);
    if (code != TOOL_FINE || rank != 0) {
        snprintf(text, sizeof(text), "figures of %u\nin two lines", rank);
        return code != TOOL_FINE ? code : gather_give(gather, text);
    }
    for (uint32_t other = 1; other < RANKS; other++) {
        code = gather_take(gather, other, text);
        snprintf(expected, sizeof(expected), "figures of %u\nin two lines", other);
        if (code != TOOL_FINE || strcmp(text, expected) != 0) {
            return 70;
        }
    }
    return TOOL_FINE;
}

static void path_of(const char *name, char path[512])
{
    snprintf(path, 512, "%s/sluice-bench-job-1%s%s", test_folder(), name[0] != '\0' ? "/" : "",
             name);
}

static void put(const char *name, const char *text)
{
    char path[512];
    path_of("", path);
    mkdir(path, 0700);
    path_of(name, path);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void expect_all_meet(void)
{
    char path[512];
    struct stat status;
    pid_t children[RANKS];
    for (uint32_t i = 0; i < RANKS; i++) {
        children[i] = start(RANKS - 1 - i, 120, exchange); /* rank 0 comes last */
        usleep(30000);
    }
    for (uint32_t i = 0; i < RANKS; i++) {
        assert_int_equal(end_of(children[i]), TOOL_FINE);
    }
    path_of("", path);
    assert_int_not_equal(stat(path, &status), 0); /* nothing remains */
}

TEST(ranks_meet)
{
    expect_all_meet();
    expect_all_meet();
}

TEST(an_earlier_run_does_not_count)
{
    put("run", "00000000000000aa");
    put("ready.1", "00000000000000aa 00000000000000bb");
    put("ready.2", "00000000000000aa 00000000000000cc");
    put("go", "00000000000000aa\n00000000000000bb\n00000000000000cc\n");
    put("figures.1", "00000000000000aa\nfigures of yesterday");
    put("figures.2", "figures without a run");
    expect_all_meet();
}

TEST(what_is_no_file_of_ours_does_not_count)
{
    static char large[4 * GATHER_TEXT_MAX];
    memset(large, 'f', sizeof(large) - 1);
    put("run", large);
    put("ready.1", "");
    put("ready.2", "zz");
    put("go", large);
    put("figures.1", large);
    expect_all_meet();
}

static int meet(struct gather *gather, uint32_t rank)
{
    (void)rank;
    return gather_meet(gather);
}

TEST(a_missing_rank_ends_the_wait)
{
    char path[512];
    const double begin = clock_seconds();
    const pid_t second = start(1, 300, meet);
    const pid_t first = start(0, 0.2, meet);
    assert_int_equal(end_of(first), TOOL_FAILED);
    assert_int_equal(end_of(second), TOOL_FAILED); /* reported by the other, long before */
    assert_true(clock_seconds() - begin < 120);
    assert_int_equal(end_of(start(2, 0.1, meet)), TOOL_FAILED); /* alone, with their files */
    path_of("", path);
    remove_tree(path);
}

static int meet_and_leave(struct gather *gather, uint32_t rank)
{
    char text[GATHER_TEXT_MAX];
    const int code = gather_meet(gather);
    return code == TOOL_FINE && rank == 0 ? gather_take(gather, 2, text) : code;
}

TEST(a_rank_that_dies_is_waited_for_so_long)
{
    char path[512];
    pid_t children[RANKS];
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        children[rank] = start(rank, rank == 0 ? 4 : 120, meet_and_leave);
    }
    assert_int_equal(end_of(children[0]), TOOL_FAILED);
    assert_int_equal(end_of(children[1]), TOOL_FINE);
    assert_int_equal(end_of(children[2]), TOOL_FINE);
    path_of("", path);
    remove_tree(path);
}

TEST(folders_that_do_not_serve)
{
    struct gather gather;
    char path[512];
    sluice_ranks ranks = ranks_of(0, 4);
    ranks.local_size = 2; /* on several machines */
    assert_int_equal(gather_open(&gather, &ranks, NULL, 1), TOOL_USAGE);
    gather_close(&gather);
    assert_int_equal(gather_open(&gather, &ranks, "/nonexistent/folder", 1), TOOL_FAILED);
    gather_close(&gather);
    ranks.local_size = 0;
    setenv("TMPDIR", test_folder(), 1);
    path_of("", path);
    assert_int_equal(symlink("/tmp", path), 0); /* somebody's trap */
    assert_int_equal(gather_open(&gather, &ranks, NULL, 1), TOOL_FAILED);
    gather_close(&gather);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(gather_open(&gather, &ranks, NULL, 1), TOOL_FINE);
    gather_close(&gather);
    assert_int_equal(rmdir(path), 0);
}

TEST(shares_cross_over)
{
    char text[GATHER_TEXT_MAX];
    struct rank_figures back;
    struct rank_figures figures = {.machine = "a b",
                                   .samples = 1234567890123,
                                   .seconds = 1.0 / 3,
                                   .rows_per_s = 1e300,
                                   .delivered_per_s = 0.1,
                                   .cpu_ms = 2,
                                   .first_batch_ms = 3,
                                   .peak_rss_mib = 4,
                                   .verdict = "reading: all of it"};
    rank_figures_write(&figures, text, sizeof(text));
    assert_true(rank_figures_read(text, &back));
    assert_string_equal(back.machine, figures.machine);
    assert_string_equal(back.verdict, figures.verdict);
    assert_true(back.samples == figures.samples && back.seconds == figures.seconds &&
                back.rows_per_s == figures.rows_per_s && back.peak_rss_mib == 4 && !back.failed);
    figures = (struct rank_figures){.failed = true};
    rank_figures_write(&figures, text, sizeof(text));
    assert_true(rank_figures_read(text, &back) && back.failed);
    assert_false(rank_figures_read("", &back));
    assert_false(rank_figures_read("0 1 2 3 4 5 6\nvm\nx\n", &back));
    assert_false(rank_figures_read("0 1 2 3 4 5 6 7\nvm", &back));
}

TEST_GROUP(test_folder_make, test_folder_remove)
