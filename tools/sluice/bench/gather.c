/* SPDX-License-Identifier: Apache-2.0 */
/* The two sides of the exchange (rank 0, all others), over files that are renamed into place.
 * Main thread; waits by polling, up to the given timeout. */
#include "gather.h"

#include "clock.h"
#include "exit_code.h"
#include "files.h"
#include "interrupt.h"
#include "report.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* Interval between looks at the folder: longer if a look takes long, to spare the file system. */
static const double look_again_s = 0.01, look_again_most_s = 0.1;

enum { NAME_BYTES = 32, GO_BYTES_A_RANK = 32 };

/* ---- files ---- */

static bool path_of(const struct gather *gather, const char *name, char path[PATH_MAX])
{
    const int length = snprintf(path, PATH_MAX, "%s/%s", gather->folder, name);
    return length > 0 && length < PATH_MAX;
}

static bool put(const struct gather *gather, const char *name, const char *text, size_t size)
{
    char path[PATH_MAX];
    if (path_of(gather, name, path) && files_write(path, text, size)) {
        return true;
    }
    report("%s/%s: cannot be written: %s", gather->folder, name, strerror(errno)); // NOLINT
    return false;
}

/* Reads a file, with a NUL at the end; false: it does not exist, or is larger than `bytes` - 1. */
static bool get(const struct gather *gather, const char *name, char *text, size_t bytes)
{
    char path[PATH_MAX];
    if (!path_of(gather, name, path)) {
        return false;
    }
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) {
        return false;
    }
    size_t size = 0;
    ssize_t got;
    while ((got = read(fd, text + size, bytes - size)) > 0) {
        size += (size_t)got;
    }
    close(fd);
    if (got < 0 || size == bytes) {
        return false;
    }
    text[size] = '\0';
    return true;
}

static void drop(const struct gather *gather, const char *name)
{
    char path[PATH_MAX];
    if (path_of(gather, name, path)) {
        unlink(path);
    }
}

/* ---- waiting ---- */

struct patience {
    double begin, limit_s;
};

static struct patience patience_of(double limit_s)
{
    return (struct patience){clock_seconds(), limit_s};
}

/* Waits before the next look. False: Ctrl-C, or the timeout has passed. */
static bool wait_a_moment(const struct patience *patience)
{
    const double now = clock_seconds();
    const double waited = now - patience->begin;
    if (interrupt_pending() || waited >= patience->limit_s) {
        return false;
    }
    clock_sleep_until(now + fmin(look_again_most_s, look_again_s + 0.05 * waited));
    return true;
}

static int gave_up(const char *what, double wait_s)
{
    if (interrupt_pending()) {
        report("interrupted while waiting for other ranks: no results");
        return TOOL_INTERRUPTED;
    }
    report("%s within %g s: check that all run and share a folder (--rank-files), or wait longer "
           "(--rank-wait); --rank 0 --world-size 1 measures this process alone",
           what, wait_s);
    return TOOL_FAILED;
}

static int report_missing(const struct gather *gather)
{
    char names[256] = "";
    uint32_t missing = 0;
    for (uint32_t rank = 1; rank < gather->world_size; rank++) {
        const size_t length = strlen(names);
        if (gather->answers[rank] != 0) {
            continue;
        }
        if (missing++ < 16) {
            snprintf(names + length, sizeof names - length, "%s%" PRIu32, missing > 1 ? ", " : "",
                     rank);
        }
    }
    char text[384];
    snprintf(text, sizeof text, "rank%s %s%s of %" PRIu32 " did not report",
             missing == 1 ? "" : "s", names, missing > 16 ? ", ..." : "", gather->world_size);
    return gave_up(text, gather->wait_s);
}

/* ---- meeting ---- */

static uint64_t draw(void)
{
    uint64_t number = 0;
    while (number == 0 && getrandom(&number, sizeof number, 0) == (ssize_t)sizeof number) {
    }
    return number;
}

/* Returns the number that `rank` answered this run with; 0: none yet. */
static uint64_t answer_of(const struct gather *gather, uint32_t rank)
{
    char name[NAME_BYTES];
    char text[64];
    uint64_t run;
    uint64_t own;
    snprintf(name, sizeof name, "ready.%" PRIu32, rank);
    const bool there = get(gather, name, text, sizeof text) &&
                       sscanf(text, "%" SCNx64 " %" SCNx64, &run, &own) == 2; // NOLINT
    return there && run == gather->run ? own : 0;
}

/* Names all ranks that answered, so that each sees whether it is included. */
static bool say_go(const struct gather *gather)
{
    const size_t capacity = (size_t)gather->world_size * GO_BYTES_A_RANK + NAME_BYTES;
    char *text = malloc(capacity);
    if (text == NULL) {
        report("out of memory for %" PRIu32 " ranks", gather->world_size);
        return false;
    }
    size_t length = (size_t)snprintf(text, capacity, "%s\n", gather->runs_name);
    for (uint32_t rank = 1; rank < gather->world_size; rank++) {
        length += (size_t)snprintf(text + length, capacity - length, "%016" PRIx64 "\n",
                                   gather->answers[rank]);
    }
    const bool said = put(gather, "go", text, length);
    free(text);
    return said;
}

static int meet_as_first(struct gather *gather)
{
    gather->run = draw();
    snprintf(gather->runs_name, sizeof gather->runs_name, "%016" PRIx64, gather->run);
    gather->answers = calloc(gather->world_size, sizeof *gather->answers);
    if (gather->answers == NULL || !put(gather, "run", gather->runs_name, 16)) {
        return TOOL_FAILED;
    }
    const struct patience patience = patience_of(gather->wait_s);
    uint32_t came = 1;
    while (came < gather->world_size) {
        for (uint32_t rank = 1; rank < gather->world_size; rank++) {
            if (gather->answers[rank] == 0) {
                gather->answers[rank] = answer_of(gather, rank);
                came += gather->answers[rank] != 0;
            }
        }
        if (came < gather->world_size && !wait_a_moment(&patience)) {
            (void)say_go(gather); /* shows waiting ranks that some are missing */
            return report_missing(gather);
        }
    }
    return say_go(gather) ? TOOL_FINE : TOOL_FAILED;
}

/* Answers the current run. */
static bool answer(struct gather *gather)
{
    char text[64];
    char name[NAME_BYTES];
    uint64_t run;
    if (!get(gather, "run", text, sizeof text) || sscanf(text, "%" SCNx64, &run) != 1 || // NOLINT
        run == gather->run) {
        return true;
    }
    gather->run = run;
    snprintf(gather->runs_name, sizeof gather->runs_name, "%016" PRIx64, run);
    snprintf(name, sizeof name, "ready.%" PRIu32, gather->rank);
    snprintf(text, sizeof text, "%016" PRIx64 " %016" PRIx64, run, gather->own);
    return put(gather, name, text, strlen(text));
}

/* Returns rank 0's decision: 1: all ranks answered, 0: not all, -1: none yet, or for another
 * run. */
static int heard_go(const struct gather *gather, char *text, size_t bytes)
{
    char number[24];
    if (!get(gather, "go", text, bytes) || strncmp(text, gather->runs_name, 16) != 0) {
        return -1;
    }
    snprintf(number, sizeof number, "\n%016" PRIx64 "\n", gather->own);
    if (strstr(text, number) == NULL) {
        return -1;
    }
    return strstr(text, "\n0000000000000000\n") == NULL;
}

static int meet_as_other(struct gather *gather)
{
    const size_t capacity = (size_t)gather->world_size * GO_BYTES_A_RANK + NAME_BYTES;
    /* Rank 0 itself may wait as long for others. */
    const struct patience patience = patience_of(2 * gather->wait_s);
    char *text = malloc(capacity);
    int heard = -1;
    int code = TOOL_FINE;
    gather->own = draw();
    while (text != NULL && heard < 0 && code == TOOL_FINE) {
        code = answer(gather) ? TOOL_FINE : TOOL_FAILED;
        heard = heard_go(gather, text, capacity);
        if (heard < 0 && code == TOOL_FINE && !wait_a_moment(&patience)) {
            code = gave_up("rank 0 did not report", 2 * gather->wait_s);
        }
    }
    if (text == NULL || heard == 0) {
        report(text == NULL ? "no memory" : "rank 0 gave up: not all ranks reported");
        code = TOOL_FAILED;
    }
    free(text);
    return code;
}

int gather_meet(struct gather *gather)
{
    return gather->rank == 0 ? meet_as_first(gather) : meet_as_other(gather);
}

/* ---- figures ---- */

int gather_give(struct gather *gather, const char *text)
{
    char name[NAME_BYTES];
    char whole[GATHER_TEXT_MAX + NAME_BYTES];
    snprintf(name, sizeof name, "figures.%" PRIu32, gather->rank);
    const int length = snprintf(whole, sizeof whole, "%s\n%s", gather->runs_name, text);
    return put(gather, name, whole, (size_t)length) ? TOOL_FINE : TOOL_FAILED;
}

int gather_take(struct gather *gather, uint32_t rank, char text[GATHER_TEXT_MAX])
{
    char name[NAME_BYTES];
    char whole[GATHER_TEXT_MAX + NAME_BYTES];
    const struct patience patience = patience_of(gather->wait_s);
    snprintf(name, sizeof name, "figures.%" PRIu32, rank);
    do {
        if (get(gather, name, whole, sizeof whole) && strncmp(whole, gather->runs_name, 16) == 0 &&
            whole[16] == '\n') {
            snprintf(text, GATHER_TEXT_MAX, "%.*s", GATHER_TEXT_MAX - 1, whole + 17);
            gather->taken++;
            return TOOL_FINE;
        }
    } while (wait_a_moment(&patience));
    char what[64];
    snprintf(what, sizeof what, "rank %" PRIu32 " did not report its results", rank);
    return gave_up(what, gather->wait_s);
}

/* ---- the folder ---- */

/* Returns whether the folder is the user's: in a folder that everybody may write to, another
 * user's would be a trap. */
static bool is_own(const char *folder)
{
    struct stat status;
    return lstat(folder, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid();
}

int gather_open(struct gather *gather, const sluice_ranks *ranks, const char *folder, double wait_s)
{
    *gather =
        (struct gather){.rank = ranks->rank, .world_size = ranks->world_size, .wait_s = wait_s};
    const bool shared = folder != NULL;
    if (!shared && ranks->local_size > 0 && ranks->local_size < ranks->world_size) {
        report("%" PRIu32 " of %" PRIu32
               " ranks are on this machine: give --rank-files a FOLDER that all machines share",
               ranks->local_size, ranks->world_size);
        return TOOL_USAGE;
    }
    if (!shared) {
        folder = getenv("TMPDIR"); // NOLINT(concurrency-mt-unsafe): one thread
        folder = folder == NULL || *folder == '\0' ? "/tmp" : folder;
    }
    const int length = snprintf(gather->folder, sizeof gather->folder, "%s/sluice-bench-%s", folder,
                                ranks->job[0] != '\0' ? ranks->job : "run");
    if (length >= (int)sizeof gather->folder - NAME_BYTES) {
        report("--rank-files %s: the path is too long", folder);
        return TOOL_USAGE;
    }
    if (mkdir(gather->folder, shared ? 0777 : 0700) != 0 && errno != EEXIST) {
        report("%s: cannot create the folder: %s", gather->folder, strerror(errno)); // NOLINT
        return TOOL_FAILED;
    }
    if (!shared && !is_own(gather->folder)) {
        report("%s: belongs to another user: give another folder by --rank-files", gather->folder);
        return TOOL_FAILED;
    }
    return TOOL_FINE;
}

void gather_close(struct gather *gather)
{
    char name[NAME_BYTES];
    if (gather->rank == 0 && gather->taken + 1 == gather->world_size) {
        for (uint32_t rank = 1; rank < gather->world_size; rank++) {
            snprintf(name, sizeof name, "ready.%" PRIu32, rank);
            drop(gather, name);
            snprintf(name, sizeof name, "figures.%" PRIu32, rank);
            drop(gather, name);
        }
        drop(gather, "run");
        drop(gather, "go");
        rmdir(gather->folder);
    }
    free(gather->answers);
    gather->answers = NULL;
}
