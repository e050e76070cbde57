/* SPDX-License-Identifier: Apache-2.0 */
/*
 * boundary: resolves the paths that a list names, to keep them below its folder. One thread
 * opens it and checks names; any thread checks files. Names and links are untrusted.
 */
#include "boundary.h"

#include "error.h"
#include "file.h"
#include "memory.h"
#include "minmax.h"
#include "retry.h"
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STAGE "dataset"

/* Most bytes of a name and of a folder that an error quotes. */
enum { QUOTED = 180 };

/* A folder as an absolute path, "" for the root; paths below it begin with it and a slash. */
typedef struct prefix {
    char *path; /* NULL: there is none */
    size_t bytes;
} prefix;

struct sl_boundary {
    prefix folder; /* its real path */
    prefix known;  /* its name in absolute names, if it differs */
    prefix blobs;  /* blobs folder of the Hugging Face hub's cache that contains it, if any */
    dev_t device;  /* device of `folder` */
    ino_t inode;
    bool plain;     /* its path has no links, and the kernel can check that */
    bool has_links; /* its store has links */
};

/* Returns false if memory is short. */
static bool set_prefix(prefix *of, const char *path)
{
    sl_free(of->path);
    of->path = sl_strdup(path);
    of->bytes = strlen(path);
    return of->path != NULL;
}

/* ---- names ---- */

/* Nearly no name has two dots; this check costs half as much as splitting the name. */
static bool has_two_dots(sl_bytes name)
{
    const uint8_t *end = name.data + name.size;
    const uint8_t *dot = memchr(name.data, '.', name.size);
    while (dot != NULL && dot + 1 < end) {
        if (dot[0] == '.' && dot[1] == '.') {
            return true;
        }
        dot++;
    }
    return false;
}

bool sl_boundary_stays(sl_bytes name, uint32_t depth)
{
    const uint8_t *at = name.data;
    const uint8_t *end = at + name.size;
    uint64_t level = depth;
    if (at < end && *at == '/') {
        return false;
    }
    if (!has_two_dots(name)) {
        return true;
    }
    while (at < end) {
        const uint8_t *slash = memchr(at, '/', (size_t)(end - at));
        const size_t length = (size_t)((slash != NULL ? slash : end) - at);
        const bool up = length == 2 && at[0] == '.' && at[1] == '.';
        const bool down = length > 0 && !up && (length > 1 || at[0] != '.');
        if (up && level == 0) {
            return false;
        }
        level = up ? level - 1 : level + down;
        at = slash != NULL ? slash + 1 : end;
    }
    return true;
}

/* Returns whether an absolute path begins with a folder, and stays there. */
static bool is_below(sl_bytes name, const prefix *folder)
{
    size_t from = folder->bytes;
    if (folder->path == NULL || name.size <= from || name.data[from] != '/' ||
        memcmp(name.data, folder->path, from) != 0) {
        return false;
    }
    while (from < name.size && name.data[from] == '/') {
        from++;
    }
    return sl_boundary_stays((sl_bytes){name.data + from, name.size - from}, 0);
}

/* Learns the folder's other name, through links above it, if this absolute name uses one. */
static bool learn_name(sl_boundary *b, sl_bytes name)
{
    char path[SL_PATH_BYTES];
    struct stat facts;
    if (!b->has_links || name.size >= sizeof(path)) {
        return false;
    }
    memcpy(path, name.data, name.size);
    path[name.size] = '\0';
    for (char *slash = strrchr(path, '/'); slash != NULL && slash != path;
         slash = strrchr(path, '/')) {
        *slash = '\0';
        if (stat(path, &facts) == 0 && facts.st_dev == b->device && facts.st_ino == b->inode) {
            return set_prefix(&b->known, path) && is_below(name, &b->known);
        }
    }
    return false;
}

bool sl_boundary_has_name(sl_boundary *boundary, sl_bytes name, uint32_t depth)
{
    if (boundary == NULL) {
        return true;
    }
    if (name.size == 0 || name.data[0] != '/') {
        return sl_boundary_stays(name, depth);
    }
    return is_below(name, &boundary->folder) || is_below(name, &boundary->known) ||
           learn_name(boundary, name);
}

/* ---- files ---- */

/* Finds the real path of an open file; by its path if there is no /proc. */
static bool find_real(int fd, const char *path, char real[SL_PATH_BYTES])
{
    char link[64];
    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    const ssize_t length = readlink(link, real, SL_PATH_BYTES - 1);
    if (length > 0 && real[0] == '/') {
        real[length] = '\0';
        return true;
    }
    return realpath(path, real) != NULL;
}

static bool boundary_begins(const char *real, const prefix *folder)
{
    return folder->path != NULL && strncmp(real, folder->path, folder->bytes) == 0 &&
           (real[folder->bytes] == '/' || real[folder->bytes] == '\0');
}

/* Opens like open(), again after a signal. */
static int boundary_open_again(const char *path, int flags)
{
    int fd;
    uint32_t interrupted = 0;
    do {
        fd = open(path, flags);
    } while (fd < 0 && sl_retry_interrupted(&interrupted, errno));
    return fd;
}

/* Returns whether the file open as `fd`, by that path, is inside the boundary. */
static bool has_open(const sl_boundary *boundary, int fd, const char *path)
{
    char real[SL_PATH_BYTES];
    return find_real(fd, path, real) &&
           (boundary_begins(real, &boundary->folder) || boundary_begins(real, &boundary->blobs));
}

/* Opens a path without links; -ELOOP: it has one; other errors if the kernel is older than 5.6 or a
 * filter forbids the call. */
static int open_plain(const char *path, int flags)
{
#ifdef SYS_openat2
    /* struct open_how and RESOLVE_NO_SYMLINKS, of headers that need not be as new */
    const struct {
        uint64_t flags, mode, resolve;
    } how = {.flags = (uint64_t)(unsigned)flags, .resolve = 4};
    const long fd = syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
    return fd >= 0 ? (int)fd : -errno;
#else
    (void)path;
    (void)flags;
    return -ENOSYS;
#endif
}

/* A name that stays inside by its text also does so on disk if it meets no link. Further checks
 * would cost half as much again as reading a small file. */
int sl_boundary_open_file(const sl_boundary *boundary, const char *path, int flags)
{
    int fd = boundary != NULL && boundary->plain ? open_plain(path, flags) : -ELOOP;
    if (fd >= 0 || fd == -ENOENT || fd == -EMFILE || fd == -ENFILE) {
        return fd;
    }
    fd = boundary_open_again(path, flags);
    if (fd >= 0 && boundary != NULL && !has_open(boundary, fd, path)) {
        sl_file_close(fd);
        return -EXDEV;
    }
    return fd >= 0 ? fd : -errno;
}

/* ---- opening ---- */

/* The blobs of a cache: CACHE/REPOSITORY/blobs, of CACHE/REPOSITORY/snapshots/REVISION. */
static bool find_blobs(sl_boundary *b)
{
    static const char name[] = "/snapshots/";
    char path[SL_PATH_BYTES];
    struct stat facts;
    const char *found = NULL;
    for (const char *at = strstr(b->folder.path, name); at != NULL; at = strstr(at + 1, name)) {
        found = at;
    }
    if (found == NULL) {
        return true;
    }
    (void)snprintf(path, sizeof(path), "%.*s/blobs", (int)(found - b->folder.path), b->folder.path);
    return lstat(path, &facts) != 0 || !S_ISDIR(facts.st_mode) || set_prefix(&b->blobs, path);
}

static sluice_status boundary_no_memory(sluice_error *error)
{
    return sl_no_memory(error, STAGE, "for the path of a folder");
}

/* Sets the folder to `below` its real path. */
static sluice_status name_folder(sl_boundary *b, const char *folder, const char *real,
                                 const char *below, sluice_error *error)
{
    char path[SL_PATH_BYTES];
    const int length = snprintf(path, sizeof(path), "%s%s%s", strcmp(real, "/") == 0 ? "" : real,
                                below[0] != '\0' ? "/" : "", below);
    if (length < 0 || (size_t)length >= sizeof(path)) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, folder, -1, "the path is too long");
    }
    return set_prefix(&b->folder, path) ? SLUICE_OK : boundary_no_memory(error);
}

static sluice_status boundary_find_folder(sl_boundary *b, const char *folder, const char *below,
                                          sluice_error *error)
{
    char real[SL_PATH_BYTES];
    struct stat facts;
    b->has_links = sl_store_of(folder)->has_links;
    if (!b->has_links) {
        return name_folder(b, folder, folder, below, error);
    }
    const int fd = boundary_open_again(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    const bool found = fd >= 0 && find_real(fd, folder, real);
    const int reason = errno;
    sl_file_close(fd);
    if (!found) {
        return sl_error_file(error, SLUICE_IO, STAGE, reason, folder, -1,
                             "cannot resolve the path of the folder");
    }
    const sluice_status status = name_folder(b, folder, real, below, error);
    if (status < 0) {
        return status;
    }
    if (lstat(b->folder.path[0] != '\0' ? b->folder.path : "/", &facts) == 0) {
        b->device = facts.st_dev;
        b->inode = facts.st_ino;
    }
    const int plain = open_plain(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    sl_file_close(plain);
    b->plain = plain >= 0;
    return find_blobs(b) ? SLUICE_OK : boundary_no_memory(error);
}

sluice_status sl_boundary_open(sl_boundary **boundary, const char *folder, const char *below,
                               sluice_error *error)
{
    sl_boundary *b = sl_calloc(1, sizeof(*b));
    *boundary = NULL;
    if (b == NULL) {
        return boundary_no_memory(error);
    }
    const sluice_status status = boundary_find_folder(b, folder, below, error);
    if (status < 0) {
        sl_boundary_close(b);
        return status;
    }
    *boundary = b;
    return SLUICE_OK;
}

sluice_status sl_boundary_open_beside(sl_boundary **boundary, const char *file, sluice_error *error)
{
    char folder[SL_PATH_BYTES] = ".";
    const char *slash = strrchr(file, '/');
    const size_t length = slash != NULL ? (size_t)(slash - file) + 1 : 1;
    *boundary = NULL;
    if (length >= sizeof(folder)) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, file, -1, "the path is too long");
    }
    memcpy(folder, slash != NULL ? file : ".", length);
    folder[length] = '\0';
    return sl_boundary_open(boundary, folder, "", error);
}

void sl_boundary_close(sl_boundary *boundary)
{
    if (boundary != NULL) {
        sl_free(boundary->folder.path);
        sl_free(boundary->known.path);
        sl_free(boundary->blobs.path);
        sl_free(boundary);
    }
}

/* ---- errors ---- */

/* Returns the part of a path that errors quote: its end, which says most. */
static const char *quoted(const char *path)
{
    const size_t length = strlen(path);
    return length > QUOTED ? path + (length - QUOTED) : path[0] != '\0' ? path : "/";
}

void sl_boundary_explain(const sl_boundary *boundary, sl_bytes name, char *why, size_t bytes)
{
    (void)snprintf(why, bytes, "\"%.*s\" is outside \"%s\": " SL_BOUNDARY_ADVICE,
                   (int)sl_min_u64(name.size, QUOTED), (const char *)name.data,
                   quoted(boundary->folder.path));
}

sluice_status sl_boundary_check(const sl_boundary *boundary, const char *list, const char *path,
                                sluice_error *error)
{
    const bool asks = boundary != NULL && boundary->has_links;
    const int fd = asks ? boundary_open_again(path, O_PATH | O_CLOEXEC) : -1;
    const bool outside = fd >= 0 && !has_open(boundary, fd, path);
    sl_file_close(fd);
    return !outside ? SLUICE_OK
                    : sl_error_file(error, SLUICE_INVALID, STAGE, 0, list, -1,
                                    "names \"%s\", which a symbolic link leads outside "
                                    "\"%s\": " SL_BOUNDARY_ADVICE,
                                    quoted(path), quoted(boundary->folder.path));
}

sluice_status sl_boundary_refuse(const sl_boundary *boundary, const char *path, sluice_error *error)
{
    return sl_error_file(error, SLUICE_UNSUPPORTED, "io", 0, path, -1,
                         "a symbolic link leads outside \"%s\", the folder of the list that names "
                         "the file: " SL_BOUNDARY_ADVICE,
                         quoted(boundary->folder.path));
}
