/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses /proc/self/cgroup and mountinfo, then the limit files of each level up to the mount point.
 * Any thread; keeps nothing. A missing file, or "max", means no limit.
 */
#include "cgroup.h"

#include "minmax.h"
#include "proc.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define NONE       UINT64_MAX
#define LINE_BYTES 8192 /* a longer line belongs to another file system (overlay) */
/* v1 writes "no limit" as the largest multiple of the page size below 2^63. */
#define UNLIMITED_FROM ((uint64_t)1 << 62)

/* The parts of a mountinfo line that are used here. */
typedef struct mount {
    char root[PATH_MAX];  /* the mounted group ... */
    char point[PATH_MAX]; /* ... and its mount point */
    char type[16];
    char options[256];
} mount;

/* Returns the number in a group's file, NONE when absent or unlimited. */
static uint64_t number_in(const char *group, const char *name, const char *key)
{
    char path[PATH_MAX + 64];
    snprintf(path, sizeof(path), "%s/%s", group, name);
    const uint64_t value = sl_proc_number(path, key);
    return value >= UNLIMITED_FROM ? NONE : value;
}

static void limit_memory(sl_cgroup *all, uint64_t limit, uint64_t used, uint64_t droppable)
{
    used = used == NONE ? 0 : used;
    droppable = droppable == NONE ? 0 : sl_min_u64(droppable, used);
    const uint64_t held = used - droppable;
    all->memory_limit = sl_min_u64(all->memory_limit, limit);
    all->memory_left = sl_min_u64(all->memory_left, limit > held ? limit - held : 0);
}

static void limit_cpus(sl_cgroup *all, uint64_t quota, uint64_t period)
{
    if (quota == NONE || period == NONE || period == 0) {
        return;
    }
    const uint64_t cpus = quota / period + (quota % period != 0);
    all->cpus = sl_min_u64(all->cpus, cpus == 0 ? 1 : cpus);
}

/* Returns the page cache, which the kernel drops when memory is short, however recently it was
 * used. */
static uint64_t pages_of_files(const char *group, const char *inactive, const char *active)
{
    const uint64_t first = number_in(group, "memory.stat", inactive);
    const uint64_t second = number_in(group, "memory.stat", active);
    return first == NONE ? second : first + (second == NONE ? 0 : second);
}

/* Most groups have no limit, and then their usage does not matter. */
static void read_memory_v1(sl_cgroup *all, const char *group)
{
    const uint64_t limit = number_in(group, "memory.limit_in_bytes", "");
    if (limit != NONE) {
        limit_memory(all, limit, number_in(group, "memory.usage_in_bytes", ""),
                     pages_of_files(group, "total_inactive_file ", "total_active_file "));
    }
}

static void read_cpu_v1(sl_cgroup *all, const char *group)
{
    limit_cpus(all, number_in(group, "cpu.cfs_quota_us", ""),
               number_in(group, "cpu.cfs_period_us", ""));
}

static void read_v2(sl_cgroup *all, const char *group)
{
    const uint64_t limit =
        sl_min_u64(number_in(group, "memory.max", ""), number_in(group, "memory.high", ""));
    if (limit != NONE) {
        limit_memory(all, limit, number_in(group, "memory.current", ""),
                     pages_of_files(group, "inactive_file ", "active_file "));
    }
    char path[PATH_MAX + 64];
    snprintf(path, sizeof(path), "%s/cpu.max", group);
    uint64_t quota = NONE;
    uint64_t period = NONE;
    if (sl_proc_pair(path, &quota, &period)) {
        limit_cpus(all, quota, period);
    }
}

/* Returns whether `list` ("rw,cpu,cpuacct") has `word`. */
static bool has_word(const char *list, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = list; *at != '\0';) {
        const size_t item = strcspn(at, ",");
        if (item == length && strncmp(at, word, length) == 0) {
            return true;
        }
        at += item + (at[item] == ',');
    }
    return false;
}

/* Reads a whole line without its end; skips one that is too long. */
static char *next_line(char *line, FILE *file)
{
    while (fgets(line, LINE_BYTES, file) != NULL) {
        char *end = strchr(line, '\n');
        if (end != NULL) {
            *end = '\0';
            return line;
        }
        int c = 0;
        do {
            c = fgetc(file);
        } while (c != '\n' && c != EOF);
    }
    return NULL;
}

/*
 * Finds the path of this process' group in the hierarchy of `controller` ("" for v2), from lines
 * like "4:cpu,cpuacct:/a/b" and "0::/a/b". Empty if there is none.
 */
static void cgroup_find_group(char path[PATH_MAX], const char *cgroup_file, const char *controller)
{
    path[0] = '\0';
    FILE *file = fopen(cgroup_file, "re");
    if (file == NULL) {
        return;
    }
    char line[LINE_BYTES];
    while (next_line(line, file) != NULL) {
        char *controllers = strchr(line, ':');
        char *group = controllers == NULL ? NULL : strchr(controllers + 1, ':');
        if (group == NULL) {
            continue;
        }
        *group++ = '\0';
        controllers++;
        const bool own =
            *controller == '\0' ? *controllers == '\0' : has_word(controllers, controller);
        if (own && strlen(group) < PATH_MAX) {
            memcpy(path, group, strlen(group) + 1);
            break;
        }
    }
    (void)fclose(file);
}

/* mountinfo writes space, tab, newline and backslash as \ooo. */
static void unescape(char *text)
{
    char *to = text;
    for (const char *at = text; *at != '\0'; to++) {
        if (at[0] == '\\' && at[1] >= '0' && at[1] <= '3' && at[2] != '\0' && at[3] != '\0') {
            *to = (char)(((at[1] - '0') << 6) | ((at[2] - '0') << 3) | (at[3] - '0'));
            at += 4;
        } else {
            *to = *at++;
        }
    }
    *to = '\0';
}

/* "36 25 0:31 ROOT POINT options ... - TYPE source SUPER_OPTIONS". */
static bool parse_mount(mount *found, const char *line)
{
    const char *tail = strstr(line, " - ");
    if (tail == NULL || sscanf(tail, " - %15s %*s %255s", found->type, found->options) != 2 ||
        strncmp(found->type, "cgroup", strlen("cgroup")) != 0 ||
        sscanf(line, "%*s %*s %*s %4095s %4095s", found->root, found->point) != 2) {
        return false;
    }
    unescape(found->root);
    unescape(found->point);
    return true;
}

/* Finds the folder of the group `path`. If the mounted root is not above it (as seen from inside a
 * namespace), the mount point is the closest available. */
static void place_group(char place[PATH_MAX], const mount *at, const char *path)
{
    const size_t root = strcmp(at->root, "/") == 0 ? 0 : strlen(at->root);
    const bool below = strncmp(path, at->root, root) == 0 &&
                       (path[root] == '/' || path[root] == '\0') && strstr(path, "/..") == NULL;
    const char *relative = below ? path + root : "";
    const int length = snprintf(place, PATH_MAX, "%s%s", at->point, relative);
    if (length < 0 || length >= PATH_MAX) {
        memcpy(place, at->point, strlen(at->point) + 1);
    }
}

static void read_levels(sl_cgroup *all, const mount *at, const char *path,
                        void (*read_group)(sl_cgroup *, const char *))
{
    char place[PATH_MAX];
    place_group(place, at, path);
    for (;;) {
        read_group(all, place);
        char *last = strrchr(place, '/');
        if (last == NULL || (size_t)(last - place) < strlen(at->point)) {
            return;
        }
        *last = '\0';
    }
}

sl_cgroup sl_cgroup_read(const char *cgroup_file, const char *mountinfo_file)
{
    sl_cgroup all = {.memory_limit = NONE, .memory_left = NONE, .cpus = NONE};
    FILE *file = fopen(mountinfo_file, "re");
    if (file == NULL) {
        read_v2(&all, "/sys/fs/cgroup");
        return all;
    }
    char line[LINE_BYTES];
    mount at;
    char path[PATH_MAX];
    while (next_line(line, file) != NULL) {
        if (!parse_mount(&at, line)) {
            continue;
        }
        if (strcmp(at.type, "cgroup2") == 0) {
            cgroup_find_group(path, cgroup_file, "");
            read_levels(&all, &at, path, read_v2);
            continue;
        }
        if (has_word(at.options, "memory")) {
            cgroup_find_group(path, cgroup_file, "memory");
            read_levels(&all, &at, path, read_memory_v1);
        }
        if (has_word(at.options, "cpu")) {
            cgroup_find_group(path, cgroup_file, "cpu");
            read_levels(&all, &at, path, read_cpu_v1);
        }
    }
    (void)fclose(file);
    return all;
}
