/* SPDX-License-Identifier: Apache-2.0 */
#include "file_table.h"

#include "error.h"
#include "memory.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static uint32_t capacity_for(uint32_t wanted)
{
    struct rlimit limit;
    if (wanted == 0) {
        wanted = 1;
    }
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
        return wanted;
    }
    /* Half of them stay for the rest of the process. */
    rlim_t half = limit.rlim_cur / 2 < 1 ? 1 : limit.rlim_cur / 2;
    return half < wanted ? (uint32_t)half : wanted;
}

sluice_status sl_file_table_open(sl_file_table *table, uint32_t wanted, sl_cache_mode mode,
                                 sluice_error *error)
{
    *table = (sl_file_table){.capacity = capacity_for(wanted), .mode = mode};
    table->files = sl_calloc(table->capacity, sizeof(*table->files));
    table->numbers = sl_calloc(table->capacity, sizeof(*table->numbers));
    table->probe = sl_malloc((size_t)2 * SL_DIRECT_ALIGN);
    if (table->files == NULL || table->numbers == NULL || table->probe == NULL) {
        sl_file_table_close(table);
        return sl_error_set(error, SLUICE_NOMEM, "io", "no memory for a table of %u open files",
                            wanted);
    }
    for (uint32_t i = 0; i < table->capacity; i++) {
        table->files[i].fd = -1;
        table->numbers[i] = UINT32_MAX;
    }
    return SLUICE_OK;
}

void sl_file_table_close(sl_file_table *table)
{
    for (uint32_t i = 0; table->files != NULL && i < table->capacity; i++) {
        if (table->files[i].fd >= 0) {
            close(table->files[i].fd);
        }
    }
    sl_free(table->files);
    sl_free(table->numbers);
    sl_free(table->probe);
    *table = (sl_file_table){0};
}

int sl_file_table_open_path(const char *path, bool direct, uint64_t *bytes, dev_t *device)
{
    /* O_NONBLOCK: opening a FIFO must not hang the thread. It means nothing to a regular file. */
    int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | (direct ? O_DIRECT : 0);
    int fd = open(path, flags);
    if (fd < 0) {
        return -errno;
    }
    struct stat found;
    int failed = 0;
    if (fstat(fd, &found) != 0) {
        failed = errno;
    } else if (!S_ISREG(found.st_mode)) {
        failed = S_ISDIR(found.st_mode) ? EISDIR : EINVAL;
    }
    if (failed != 0) {
        close(fd);
        return -failed;
    }
    *bytes = (uint64_t)found.st_size;
    *device = found.st_dev;
    return fd;
}

/* Whether O_DIRECT reads work on this file: open may accept what read then refuses. */
static bool direct_works(sl_file_table *table, int fd, dev_t device)
{
    if (table->direct_known && table->direct_dev == device) {
        return table->direct_works;
    }
    uintptr_t address = (uintptr_t)table->probe;
    uint8_t *aligned = table->probe + (SL_DIRECT_ALIGN - address % SL_DIRECT_ALIGN);
    ssize_t got = pread(fd, aligned, SL_DIRECT_ALIGN, 0);
    if (got < 0 && errno != EINVAL) {
        return true; /* another error says nothing about O_DIRECT; the reads will tell */
    }
    table->direct_known = true;
    table->direct_dev = device;
    table->direct_works = got >= 0;
    return table->direct_works;
}

/* Opens `path` into a free entry: 0 or -errno. */
static int open_entry(sl_file_table *table, sl_file *file, const char *path, bool buffered)
{
    uint64_t bytes = 0;
    dev_t device = 0;
    bool direct = table->mode == SL_CACHE_DIRECT && !buffered;
    int fd = sl_file_table_open_path(path, direct, &bytes, &device);
    if (direct && fd >= 0 && !direct_works(table, fd, device)) {
        close(fd);
        fd = -EINVAL;
    }
    if (direct && fd == -EINVAL) {
        direct = false;
        fd = sl_file_table_open_path(path, direct, &bytes, &device);
    }
    if (fd < 0) {
        return fd;
    }
    /* io_uring takes O_NONBLOCK for "fail instead of waiting" on some file systems. */
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) != 0) {
        int failed = -errno;
        close(fd);
        return failed;
    }
    *file = (sl_file){.fd = fd, .bytes = bytes, .direct = direct, .buffered = buffered};
    return 0;
}

static void close_entry(sl_file_table *table, sl_file *file)
{
    assert(file->pins == 0 && file->fd >= 0);
    close(file->fd);
    *file = (sl_file){.fd = -1};
    table->numbers[file - table->files] = UINT32_MAX;
}

/* The least recently used open file that nobody reads, or NULL. */
static sl_file *oldest_entry(sl_file_table *table)
{
    sl_file *oldest = NULL;
    for (uint32_t i = 0; i < table->capacity; i++) {
        sl_file *file = &table->files[i];
        if (file->fd >= 0 && file->pins == 0 && (oldest == NULL || file->used < oldest->used)) {
            oldest = file;
        }
    }
    return oldest;
}

static sl_file *find_entry(sl_file_table *table, uint32_t number)
{
    for (uint32_t i = 0; i < table->capacity; i++) {
        if (table->numbers[i] == number && table->files[i].fd >= 0) {
            return &table->files[i];
        }
    }
    return NULL;
}

/* The open entry of file `number`, else the best one to use for it (free, or least recently used
 * and not pinned), else NULL. */
static sl_file *entry_for(sl_file_table *table, uint32_t number)
{
    sl_file *best = find_entry(table, number);
    for (uint32_t i = 0; best == NULL && i < table->capacity; i++) {
        best = table->files[i].fd < 0 ? &table->files[i] : NULL;
    }
    return best != NULL ? best : oldest_entry(table);
}

/* No descriptor to be had: closes the least recently used file that nobody reads. */
static bool close_oldest(sl_file_table *table)
{
    sl_file *oldest = oldest_entry(table);
    if (oldest != NULL) {
        close_entry(table, oldest);
    }
    return oldest != NULL;
}

static sluice_status fill_entry(sl_file_table *table, sl_file *file, const char *path,
                                bool buffered, sluice_error *error)
{
    int result = open_entry(table, file, path, buffered);
    while ((result == -EMFILE || result == -ENFILE) && close_oldest(table)) {
        result = open_entry(table, file, path, buffered);
    }
    if (result == -EMFILE || result == -ENFILE || result == -EINTR) {
        (void)sl_error_file(error, SLUICE_IO, "io", -result, path, -1, "cannot open the file");
        return SLUICE_AGAIN;
    }
    if (result < 0) {
        return sl_error_file(error, SLUICE_IO, "io", -result, path, -1, "cannot open the file");
    }
    return SLUICE_OK;
}

sl_file *sl_file_table_pin_open(sl_file_table *table, uint32_t number)
{
    sl_file *entry = find_entry(table, number);
    if (entry == NULL || entry->reopen) {
        return NULL;
    }
    entry->pins++;
    entry->used = ++table->clock;
    return entry;
}

sluice_status sl_file_table_pin(sl_file_table *table, uint32_t number, const char *path,
                                sl_file **file, sluice_error *error)
{
    sl_file *entry = entry_for(table, number);
    if (entry == NULL) {
        return SLUICE_AGAIN;
    }
    uint32_t *slot = &table->numbers[entry - table->files];
    if (entry->fd < 0 || *slot != number || entry->reopen) {
        if (entry->pins > 0) {
            return SLUICE_AGAIN; /* waits to be reopened */
        }
        bool buffered = *slot == number && entry->buffered;
        if (entry->fd >= 0) {
            close_entry(table, entry);
        }
        sluice_status status = fill_entry(table, entry, path, buffered, error);
        if (status != SLUICE_OK) {
            return status;
        }
        *slot = number;
    }
    entry->pins++;
    entry->used = ++table->clock;
    *file = entry;
    return SLUICE_OK;
}

void sl_file_table_unpin(sl_file_table *table, sl_file *file)
{
    (void)table;
    assert(file->pins > 0);
    file->pins--;
}

void sl_file_table_reopen(sl_file *file, bool buffered)
{
    assert(file->fd >= 0);
    file->reopen = true;
    file->buffered = file->buffered || buffered;
}
