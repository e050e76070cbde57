/* SPDX-License-Identifier: Apache-2.0 */
#include "power.h"

#include "power_parts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct {
    dev_t device;
    ino_t inode;
} watched[POWER_NODES_MAX];
power_recording power_recorded;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static bool recording;
static char root[POWER_NAME_BYTES];
_Noreturn void power_abort(const char *what)
{
    (void)fprintf(stderr, "power: %s\n", what);
    abort();
}

uint32_t power_operations(void)
{
    return power_recorded.count;
}

/* ---- recording ---- */

static int node_of(const struct stat *facts)
{
    for (int i = power_recorded.node_count - 1; i >= 0; i--) {
        if (watched[i].inode == facts->st_ino && watched[i].device == facts->st_dev) {
            return i;
        }
    }
    return POWER_FOLDER;
}

static int new_node(const struct stat *facts)
{
    power_recording *r = &power_recorded;
    power_must(r->node_count < POWER_NODES_MAX, "too many files");
    watched[r->node_count].device = facts->st_dev;
    watched[r->node_count].inode = facts->st_ino;
    r->nodes[r->node_count] = (power_bytes){NULL, 0};
    return r->node_count++;
}

/* Writes the name of `path` relative to the root, "" for the root itself; false if it is
 * elsewhere. */
static bool name_of(int folder, const char *path, char name[POWER_NAME_BYTES])
{
    char full[PATH_MAX];
    char link[64];
    if (path[0] == '/') {
        (void)snprintf(full, sizeof(full), "%s", path);
    } else {
        char base[PATH_MAX / 2] = "";
        (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", folder);
        const ssize_t length = folder == AT_FDCWD ? -1 : readlink(link, base, sizeof(base) - 1);
        if (length <= 0) {
            return false;
        }
        base[length] = '\0';
        (void)snprintf(full, sizeof(full), "%s%s%s", base, path[0] != '\0' ? "/" : "", path);
    }
    const size_t length = strlen(root);
    if (strncmp(full, root, length) != 0 || (full[length] != '/' && full[length] != '\0')) {
        return false;
    }
    const char *rest = full + length + (full[length] == '/');
    power_must(strlen(rest) < POWER_NAME_BYTES, "a name is too long");
    (void)snprintf(name, POWER_NAME_BYTES, "%s", rest);
    return true;
}

static power_operation *note(power_kind kind, int node)
{
    power_must(power_recorded.count < POWER_OPERATIONS_MAX, "too many operations");
    power_operation *made = &power_recorded.operations[power_recorded.count++];
    memset(made, 0, sizeof(*made));
    made->kind = kind;
    made->node = node;
    return made;
}

static void note_name(power_kind kind, int folder, const char *path, int node)
{
    char name[POWER_NAME_BYTES];
    if (recording && name_of(folder, path, name)) {
        memcpy(note(kind, node)->name, name, sizeof(name));
    }
}

static void note_move(int from_folder, const char *from, int to_folder, const char *to)
{
    char names[2][POWER_NAME_BYTES];
    struct stat facts;
    if (recording && name_of(from_folder, from, names[0]) && name_of(to_folder, to, names[1])) {
        power_must(fstatat(to_folder, to, &facts, AT_SYMLINK_NOFOLLOW) == 0, "nothing was moved");
        power_operation *made = note(POWER_MOVE, node_of(&facts));
        memcpy(made->from, names[0], POWER_NAME_BYTES);
        memcpy(made->name, names[1], POWER_NAME_BYTES);
    }
}

/* Returns the watched file that is open as `fd`; POWER_FOLDER: not watched. */
static int node_of_open(int fd)
{
    struct stat facts;
    return recording && fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) ? node_of(&facts)
                                                                         : POWER_FOLDER;
}

static void note_write(int fd, const void *data, size_t bytes, off_t offset)
{
    const int node = node_of_open(fd);
    if (node != POWER_FOLDER && bytes > 0) {
        power_operation *made = note(POWER_WRITE, node);
        made->offset = (uint64_t)offset;
        made->bytes = bytes;
        made->data = malloc(bytes);
        power_must(made->data != NULL, "no memory");
        memcpy(made->data, data, bytes);
    }
}

static void note_sync(int fd)
{
    struct stat facts;
    if (!recording || fstat(fd, &facts) != 0) {
        return;
    }
    if (S_ISDIR(facts.st_mode)) {
        note_name(POWER_SYNC_FOLDER, fd, "", POWER_FOLDER);
    } else if (node_of(&facts) != POWER_FOLDER) {
        (void)note(POWER_SYNC, node_of(&facts));
    }
}

static void note_open(int fd, int folder, const char *path, int flags, bool existed)
{
    struct stat facts;
    char name[POWER_NAME_BYTES];
    if (fd < 0 || !recording || !name_of(folder, path, name) || fstat(fd, &facts) != 0 ||
        !S_ISREG(facts.st_mode)) {
        return;
    }
    if (!existed) {
        note_name(POWER_MAKE, folder, path, new_node(&facts));
    } else if ((flags & O_TRUNC) != 0 && node_of(&facts) != POWER_FOLDER) {
        (void)note(POWER_CUT, node_of(&facts));
    }
}

/* ---- the calls ---- */

/* The linker chose these names (--wrap).
 * NOLINTBEGIN(*-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming) */
int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __real_openat(int folder, const char *path, int flags, ...);
int __wrap_openat(int folder, const char *path, int flags, ...);
ssize_t __real_pwrite(int fd, const void *data, size_t bytes, off_t offset);
ssize_t __wrap_pwrite(int fd, const void *data, size_t bytes, off_t offset);
int __wrap_fsync(int fd);
int __real_ftruncate(int fd, off_t bytes);
int __wrap_ftruncate(int fd, off_t bytes);
int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);
int __real_renameat(int from_folder, const char *from, int to_folder, const char *to);
int __wrap_renameat(int from_folder, const char *from, int to_folder, const char *to);
int __real_linkat(int from_folder, const char *from, int to_folder, const char *to, int flags);
int __wrap_linkat(int from_folder, const char *from, int to_folder, const char *to, int flags);
int __real_unlink(const char *path);
int __wrap_unlink(const char *path);
int __real_unlinkat(int folder, const char *path, int flags);
int __wrap_unlinkat(int folder, const char *path, int flags);
int __real_mkdir(const char *path, mode_t mode);
int __wrap_mkdir(const char *path, mode_t mode);
int __real_mkdirat(int folder, const char *path, mode_t mode);
int __wrap_mkdirat(int folder, const char *path, mode_t mode);

static int open_noted(int folder, const char *path, int flags, mode_t mode)
{
    struct stat facts;
    (void)pthread_mutex_lock(&mutex);
    const bool existed = fstatat(folder, path, &facts, AT_SYMLINK_NOFOLLOW) == 0;
    const int fd = __real_openat(folder, path, flags, mode);
    const int reason = errno;
    note_open(fd, folder, path, flags, existed);
    errno = reason;
    (void)pthread_mutex_unlock(&mutex);
    return fd;
}

int __wrap_open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    return open_noted(AT_FDCWD, path, flags, mode);
}

int __wrap_openat(int folder, const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    return open_noted(folder, path, flags, mode);
}

ssize_t __wrap_pwrite(int fd, const void *data, size_t bytes, off_t offset)
{
    (void)pthread_mutex_lock(&mutex);
    const ssize_t done = __real_pwrite(fd, data, bytes, offset);
    if (done > 0) {
        note_write(fd, data, (size_t)done, offset);
    }
    (void)pthread_mutex_unlock(&mutex);
    return done;
}

int __wrap_fsync(int fd)
{
    (void)pthread_mutex_lock(&mutex);
    note_sync(fd);
    (void)pthread_mutex_unlock(&mutex);
    return 0;
}

int __wrap_ftruncate(int fd, off_t bytes)
{
    (void)pthread_mutex_lock(&mutex);
    const int result = __real_ftruncate(fd, bytes);
    const int node = result == 0 ? node_of_open(fd) : POWER_FOLDER;
    if (node != POWER_FOLDER) {
        note(POWER_CUT, node)->offset = (uint64_t)bytes;
    }
    (void)pthread_mutex_unlock(&mutex);
    return result;
}

int __wrap_renameat(int from_folder, const char *from, int to_folder, const char *to)
{
    (void)pthread_mutex_lock(&mutex);
    const int result = __real_renameat(from_folder, from, to_folder, to);
    if (result == 0) {
        note_move(from_folder, from, to_folder, to);
    }
    (void)pthread_mutex_unlock(&mutex);
    return result;
}

int __wrap_rename(const char *from, const char *to)
{
    return __wrap_renameat(AT_FDCWD, from, AT_FDCWD, to);
}

int __wrap_linkat(int from_folder, const char *from, int to_folder, const char *to, int flags)
{
    struct stat facts;
    (void)pthread_mutex_lock(&mutex);
    const int result = __real_linkat(from_folder, from, to_folder, to, flags);
    if (result == 0 && fstatat(to_folder, to, &facts, AT_SYMLINK_NOFOLLOW) == 0) {
        note_name(POWER_MAKE, to_folder, to, node_of(&facts));
    }
    (void)pthread_mutex_unlock(&mutex);
    return result;
}

int __wrap_unlinkat(int folder, const char *path, int flags)
{
    (void)pthread_mutex_lock(&mutex);
    const int result = __real_unlinkat(folder, path, flags);
    if (result == 0) {
        note_name(POWER_REMOVE, folder, path, POWER_FOLDER);
    }
    (void)pthread_mutex_unlock(&mutex);
    return result;
}

int __wrap_unlink(const char *path)
{
    return __wrap_unlinkat(AT_FDCWD, path, 0);
}

int __wrap_mkdirat(int folder, const char *path, mode_t mode)
{
    (void)pthread_mutex_lock(&mutex);
    const int result = __real_mkdirat(folder, path, mode);
    const int reason = errno;
    if (result == 0) {
        note_name(POWER_MAKE, folder, path, POWER_FOLDER);
    }
    errno = reason;
    (void)pthread_mutex_unlock(&mutex);
    return result;
}

int __wrap_mkdir(const char *path, mode_t mode)
{
    return __wrap_mkdirat(AT_FDCWD, path, mode);
}
/* NOLINTEND(*-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming) */

/* ---- initial contents ---- */

static void start_file(const char *path, const struct stat *facts, power_start *at)
{
    at->node = new_node(facts);
    const size_t bytes = (size_t)facts->st_size;
    uint8_t *data = malloc(bytes + 1);
    const int fd = __real_open(path, O_RDONLY | O_CLOEXEC);
    power_must(data != NULL && fd >= 0 && pread(fd, data, bytes, 0) == (ssize_t)bytes, "a file");
    (void)close(fd);
    power_recorded.nodes[at->node] = (power_bytes){data, bytes};
}

static void start_folder(const char *below)
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof(path), "%s/%s", root, below);
    DIR *folder = opendir(path);
    power_must(folder != NULL, "the folder cannot be listed");
    for (const struct dirent *entry;
         (entry = readdir(folder)) != NULL;) { /* NOLINT(concurrency-mt-unsafe) */
        struct stat facts;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) {
            continue;
        }
        power_must(power_recorded.start_count < POWER_NAMES_MAX, "too many names");
        power_start *at = &power_recorded.starts[power_recorded.start_count++];
        (void)snprintf(at->name, sizeof(at->name), "%.140s%s%.150s", below,
                       below[0] != '\0' ? "/" : "", entry->d_name);
        (void)snprintf(path, sizeof(path), "%s/%s", root, at->name);
        power_must(lstat(path, &facts) == 0, "a name is gone");
        at->node = POWER_FOLDER;
        if (S_ISDIR(facts.st_mode)) {
            start_folder(at->name);
        } else {
            start_file(path, &facts, at);
        }
    }
    (void)closedir(folder);
}

void power_record(const char *folder)
{
    power_recording *r = &power_recorded;
    char real[PATH_MAX];
    for (uint32_t i = 0; i < r->count; i++) {
        free(r->operations[i].data);
    }
    for (int i = 0; i < r->node_count; i++) {
        free(r->nodes[i].data);
    }
    r->count = r->start_count = 0;
    r->node_count = 0;
    power_must(realpath(folder, real) != NULL && strlen(real) < sizeof(root), "no such folder");
    memcpy(root, real, strlen(real) + 1);
    start_folder("");
    recording = true;
}

void power_stop(void)
{
    recording = false;
}
