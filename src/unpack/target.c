/* SPDX-License-Identifier: Apache-2.0 */
/*
 * target: the output folder of an unpack, created as PATH.part and renamed at the end. One owner.
 *
 * Only folders with the mark of unpack are removed.
 */
#include "target.h"

#include "error.h"
#include "file.h"
#include "fork.h"
#include "own_source.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define STAGE "unpack"

static const char mark_text[] =
    "Made by sluice unpack, which may replace this folder and all that is in it (--overwrite).\n";

static sluice_status target_fail(const char *path, const char *what, sluice_error *error)
{
    return sl_error_file(error, SLUICE_IO, STAGE, errno, path, -1, "cannot %s", what);
}

static sluice_status target_refuse(sluice_status status, const char *path, const char *why,
                                   sluice_error *error)
{
    return sl_error_file(error, status, STAGE, 0, path, -1, "%s", why);
}

/* ---- removing ---- */

enum { OPEN_FOLDERS = 16 };

/* Removes an entry, except the mark: if this is interrupted, the next run can remove the rest. */
static int remove_one(const char *path, const struct stat *facts, int kind, struct FTW *where)
{
    (void)facts;
    (void)kind;
    const bool mark = where->level == 1 && strcmp(path + where->base, SL_TARGET_MARK) == 0;
    return where->level > 0 && !mark ? remove(path) : 0;
}

/* Removes everything but the mark from a folder that has one. Links are not followed. */
static sluice_status empty_folder(const char *path, sluice_error *error)
{
    /* only changing the current folder would not be thread-safe */
    const int how = FTW_DEPTH | FTW_PHYS;
    const int left = nftw(path, remove_one, OPEN_FOLDERS, how); /* NOLINT(concurrency-mt-unsafe) */
    return left == 0 ? SLUICE_OK
                     : target_fail(path, "remove what an earlier unpack left in the folder", error);
}

static bool mark_path(const char *folder, char *path)
{
    const int length = snprintf(path, SL_TARGET_PATH_BYTES, "%s/" SL_TARGET_MARK, folder);
    return length > 0 && length < SL_TARGET_PATH_BYTES;
}

static sluice_status remove_folder(const char *path, sluice_error *error)
{
    char mark[SL_TARGET_PATH_BYTES];
    const sluice_status status = empty_folder(path, error);
    if (status == SLUICE_OK && mark_path(path, mark)) {
        (void)unlink(mark);
        if (rmdir(path) != 0) {
            return target_fail(path, "remove the folder", error);
        }
    }
    return status;
}

/* ---- existing contents ---- */

typedef enum found { NOTHING, EMPTY, MADE, OTHER } found;

static int keep_looking(const char *path, const struct stat *facts, int kind, struct FTW *where)
{
    (void)path;
    (void)facts;
    (void)kind;
    return where->level > 0;
}

static found target_look(const char *path)
{
    char mark[SL_TARGET_PATH_BYTES];
    struct stat facts;
    if (lstat(path, &facts) != 0) {
        return NOTHING;
    }
    if (!S_ISDIR(facts.st_mode)) {
        return OTHER;
    }
    if (mark_path(path, mark) && lstat(mark, &facts) == 0 && S_ISREG(facts.st_mode)) {
        return MADE;
    }
    const int many = nftw(path, keep_looking, 1, FTW_PHYS); /* NOLINT(concurrency-mt-unsafe) */
    return many == 0 ? EMPTY : OTHER;
}

/* ---- opening ---- */

/*
 * Sets the path without links, independent of later changes of the current folder: PATH, or its
 * parent folder and a name.
 */
static sluice_status set_path(sl_target *target, const char *path, sluice_error *error)
{
    char above[SL_TARGET_PATH_BYTES];
    size_t end = strlen(path);
    char buffer[SL_TARGET_PATH_BYTES];
    const char *real = realpath(path, buffer);
    if (real == NULL && end < sizeof(above)) {
        while (end > 1 && path[end - 1] == '/') {
            end--;
        }
        size_t name = end;
        while (name > 0 && path[name - 1] != '/') {
            name--;
        }
        (void)snprintf(above, sizeof(above), "%.*s", name > 0 ? (int)name : 1,
                       name > 0 ? path : ".");
        real = realpath(above, buffer);
        path += name;
        end -= name;
    } else {
        end = 0;
    }
    if (real == NULL) {
        return target_fail(path, "find its parent folder", error);
    }
    const int length = snprintf(target->path, sizeof(target->path), "%s%s%.*s", real,
                                end > 0 && strcmp(real, "/") != 0 ? "/" : "", (int)end, path);
    return length > 0 && length < SL_TARGET_PATH_BYTES
               ? SLUICE_OK
               : target_refuse(SLUICE_INVALID, path, "the path is too long", error);
}

static sluice_status set_paths(sl_target *target, const char *path, sluice_error *error)
{
    if (*path == '\0') {
        return target_refuse(SLUICE_INVALID, path, "the path is empty", error);
    }
    const sluice_status status = set_path(target, path, error);
    if (status < 0) {
        return status;
    }
    const int length = snprintf(target->part, sizeof(target->part), "%s.part", target->path);
    return length > 0 && length < SL_TARGET_PATH_BYTES
               ? SLUICE_OK
               : target_refuse(SLUICE_INVALID, path, "the path is too long", error);
}

/* Checks that the folder will be able to replace an existing one. */
static sluice_status check_place(const sl_target *target, sluice_error *error)
{
    struct stat facts;
    struct stat other;
    char above[SL_TARGET_PATH_BYTES + 4];
    if (stat(target->path, &facts) != 0) {
        return SLUICE_OK;
    }
    (void)snprintf(above, sizeof(above), "%s/..", target->path);
    if (stat(above, &other) == 0 &&
        (other.st_dev != facts.st_dev || other.st_ino == facts.st_ino)) {
        return target_refuse(SLUICE_INVALID, target->path,
                             "it is a mount point: choose a folder in it", error);
    }
    if (stat(".", &other) == 0 && other.st_dev == facts.st_dev && other.st_ino == facts.st_ino) {
        return target_refuse(
            SLUICE_INVALID, target->path,
            "it is the current folder, which cannot be replaced: choose another one", error);
    }
    return SLUICE_OK;
}

static sluice_status check_path(sl_target *target, bool overwrite, sluice_error *error)
{
    const found what = target_look(target->path);
    target->replaces = what == MADE;
    if (what == OTHER) {
        return target_refuse(SLUICE_STATE, target->path,
                             "it exists, is not an empty folder, and was not made by unpack",
                             error);
    }
    if (what == MADE && !overwrite) {
        return target_refuse(SLUICE_STATE, target->path,
                             "the folder contains the result of an earlier unpack: " SL_OPTION(
                                 "overwrite") " to replace it",
                             error);
    }
    return check_place(target, error);
}

/* Opens and locks PATH.part, so that only one process uses it; then checks it. */
static sluice_status open_part(sl_target *target, sluice_error *error)
{
    const bool made = mkdir(target->part, 0777) == 0;
    if (!made && errno != EEXIST) {
        return target_fail(target->part, "create the folder", error);
    }
    const int fd = open(target->part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        return target_fail(target->part, "open the folder", error);
    }
    const bool locked = flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
    const found what = target_look(target->part);
    if (!locked || what == OTHER) {
        sl_file_close(fd);
        return locked ? target_refuse(
                            SLUICE_STATE, target->part,
                            "the folder for temporary files exists and was not made by unpack: "
                            "move it away",
                            error)
                      : target_refuse(SLUICE_STATE, target->part,
                                      "another process is writing to this folder", error);
    }
    target->fd = fd;
    return what == MADE ? empty_folder(target->part, error) : SLUICE_OK;
}

static sluice_status write_mark(const sl_target *target, sluice_error *error)
{
    char path[SL_TARGET_PATH_BYTES];
    if (!mark_path(target->part, path)) {
        return target_refuse(SLUICE_INVALID, target->path, "the path is too long", error);
    }
    const int fd = openat(target->fd, SL_TARGET_MARK,
                          O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0) {
        return target_fail(path, "create the file", error);
    }
    const sluice_status status =
        sl_file_write(fd, (sl_file_name){STAGE, path}, mark_text, strlen(mark_text), 0, error);
    sl_file_close(fd);
    return status;
}

sluice_status sl_target_open(sl_target *target, const char *path, bool overwrite,
                             const sl_dataset *dataset, sluice_error *error)
{
    *target = (sl_target){.fd = -1, .forks = sl_fork_count()};
    sluice_status status = set_paths(target, path, error);
    if (status == SLUICE_OK) {
        status = sl_refuse_own_source(dataset, target->path, STAGE, error);
    }
    if (status == SLUICE_OK) {
        status = sl_refuse_source_within(dataset, target->path, STAGE, error);
    }
    if (status == SLUICE_OK) {
        status = sl_refuse_source_within(dataset, target->part, STAGE, error);
    }
    if (status == SLUICE_OK) {
        status = check_path(target, overwrite, error);
    }
    if (status == SLUICE_OK) {
        status = open_part(target, error);
    }
    return status == SLUICE_OK ? write_mark(target, error) : status;
}

/* ---- the end ---- */

/*
 * Replaces the old folder by the new one atomically, if the file system can. Parts of the old one
 * that cannot be removed are removed by the next unpack to this path; the new folder is complete.
 */
static sluice_status target_replace(const sl_target *target, sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    if (renameat2(AT_FDCWD, target->part, AT_FDCWD, target->path, RENAME_EXCHANGE) == 0) {
        (void)remove_folder(target->part, NULL);
        return SLUICE_OK;
    }
    status = remove_folder(target->path, error);
    if (status == SLUICE_OK && rename(target->part, target->path) != 0) {
        status = target_fail(target->path, "rename the folder", error);
    }
    return status;
}

static sluice_status sync_above(const sl_target *target, sluice_error *error)
{
    char path[SL_TARGET_PATH_BYTES + 4];
    (void)snprintf(path, sizeof(path), "%s/..", target->path);
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    sluice_status status = SLUICE_OK;
    if (fd >= 0 && fsync(fd) != 0 && errno != EINVAL && errno != EROFS && errno != ENOTSUP) {
        status = target_fail(path, "sync the folder above", error);
    }
    sl_file_close(fd);
    return status;
}

bool sl_target_is_ours(const sl_target *target)
{
    return target->forks == sl_fork_count();
}

/* Unlocks the folder, even if forked children have it open too. */
static void let_go(sl_target *target)
{
    if (target->fd >= 0 && sl_target_is_ours(target)) {
        (void)flock(target->fd, LOCK_UN);
    }
    sl_file_close(target->fd);
    target->fd = -1;
}

sluice_status sl_target_finish(sl_target *target, sluice_error *error)
{
    if (!sl_target_is_ours(target)) {
        return target_refuse(SLUICE_STATE, target->path,
                             "it is being written by the process before the fork", error);
    }
    if (syncfs(target->fd) != 0) {
        return target_fail(target->part, "sync the files in the folder", error);
    }
    sluice_status status = SLUICE_OK;
    if (target->replaces) {
        status = target_replace(target, error);
    } else if (rename(target->part, target->path) != 0) {
        status = target_fail(target->path, "rename the folder", error);
    }
    if (status < 0) {
        return status;
    }
    let_go(target);
    return sync_above(target, error);
}

void sl_target_close(sl_target *target)
{
    if (target->fd >= 0 && sl_target_is_ours(target)) {
        (void)remove_folder(target->part, NULL);
    }
    let_go(target);
}
