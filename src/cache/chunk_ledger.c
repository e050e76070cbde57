/* SPDX-License-Identifier: Apache-2.0 */
/* chunk_ledger: reads, changes and repairs the count of a folder of chunks. */
#include "chunk_ledger.h"

#include "checksum.h"
#include "clock.h"
#include "file.h"
#include "little_endian.h"
#include "minmax.h"
#include "stop.h"
#include "thread.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define LEDGER       "ledger"
#define LOCK_NS      UINT64_C(1000000000)
#define LOCK_STEP_NS UINT64_C(500000)

static const char ledger_magic[8] = "SLLEDGER";

enum {
    LEDGER_BYTES = 64,
    AT_KEPT = 8,
    AT_LARGEST = 16,
    AT_IN_USE = 24,
    AT_CLOSED = 32,
    AT_SUM = 56,
    BYTE_CHANGE = 0,
    BYTE_PRESENT = 1,
    TRIES = 3,
    NS_PER_S = 1000000000
};

typedef struct ledger_state {
    uint64_t kept, largest, in_use;
    uint64_t closed; /* the folder's modification time when it was closed */
} ledger_state;

/* ---- the file ---- */

static bool ledger_load(int fd, ledger_state *state)
{
    uint8_t read[LEDGER_BYTES];
    if (pread(fd, read, sizeof(read), 0) != LEDGER_BYTES ||
        memcmp(read, ledger_magic, sizeof(ledger_magic)) != 0 ||
        sl_load64(read + AT_SUM) != sl_checksum(read, AT_SUM)) {
        return false;
    }
    *state = (ledger_state){.kept = sl_load64(read + AT_KEPT),
                            .largest = sl_load64(read + AT_LARGEST),
                            .in_use = sl_load64(read + AT_IN_USE),
                            .closed = sl_load64(read + AT_CLOSED)};
    return true;
}

static int ledger_store(int fd, const ledger_state *state)
{
    uint8_t written[LEDGER_BYTES] = {0};
    memcpy(written, ledger_magic, sizeof(ledger_magic));
    sl_store64(written + AT_KEPT, state->kept);
    sl_store64(written + AT_LARGEST, state->largest);
    sl_store64(written + AT_IN_USE, state->in_use);
    sl_store64(written + AT_CLOSED, state->closed);
    sl_store64(written + AT_SUM, sl_checksum(written, AT_SUM));
    const ssize_t done = pwrite(fd, written, sizeof(written), 0);
    if (done == LEDGER_BYTES) {
        return 0;
    }
    return done < 0 ? -errno : -ENOSPC;
}

/* Returns the descriptor, or -errno. */
static int open_ledger_file(const sl_chunk_folder *folder)
{
    enum { FLAGS = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC };
    struct stat facts;
    const int fd = openat(folder->fd, LEDGER, O_RDWR | O_CREAT | FLAGS, 0600);
    if (fd < 0) {
        return -errno;
    }
    if (fstat(fd, &facts) != 0 || !S_ISREG(facts.st_mode)) {
        (void)close(fd);
        return -EINVAL;
    }
    return fd;
}

/* Opens a new ledger under the same descriptor, after the folder or the ledger was removed. */
static int open_again(const sl_chunk_ledger *ledger)
{
    int fd = open_ledger_file(ledger->folder);
    if (fd == -ENOENT) {
        const int failed = sl_chunk_folder_again(ledger->folder);
        fd = failed < 0 ? failed : open_ledger_file(ledger->folder);
    }
    if (fd < 0) {
        return fd;
    }
    const int failed = dup3(fd, ledger->fd, O_CLOEXEC) < 0 ? -errno : 0;
    (void)close(fd);
    return failed < 0 ? failed : sl_chunk_lock(ledger->fd, F_RDLCK, BYTE_PRESENT);
}

/* ---- counting ---- */

typedef struct ledger_scan {
    const sl_chunk_folder *folder;
    uint64_t kept;
} ledger_scan;

static bool count_file(void *ctx, const sl_chunk_found *found)
{
    ledger_scan *scan = ctx;
    if (found->is_part) {
        sl_chunk_folder_clear(scan->folder, found->name);
    } else {
        scan->kept += sl_chunk_cost((uint64_t)found->facts.st_size);
    }
    return true;
}

static int ledger_recount(const sl_chunk_ledger *ledger, ledger_state *state)
{
    ledger_scan scan = {.folder = ledger->folder};
    if (!sl_chunk_folder_scan(ledger->folder, count_file, &scan)) {
        return errno > 0 ? -errno : -EIO;
    }
    state->kept = scan.kept;
    return 0;
}

/* ---- changing ---- */

/*
 * Waits for the lock. -EAGAIN: another process has held it for too long; -ECANCELED: the thread is
 * to stop.
 */
static int wait_for_change(int fd)
{
    const uint64_t until = sl_now_ns() + LOCK_NS;
    for (;;) {
        const int failed = sl_chunk_lock(fd, F_WRLCK, BYTE_CHANGE);
        if (failed != -EAGAIN || sl_now_ns() >= until) {
            return failed;
        }
        if (sl_stop_requested()) {
            return -ECANCELED;
        }
        sl_sleep_until_ns(sl_now_ns() + LOCK_STEP_NS);
    }
}

/* Locks a ledger that still has its name. */
static int lock_ledger(const sl_chunk_ledger *ledger)
{
    struct stat facts;
    for (int i = 0; i < TRIES; i++) {
        int failed = wait_for_change(ledger->fd);
        if (failed < 0 || (fstat(ledger->fd, &facts) == 0 && facts.st_nlink > 0)) {
            return failed;
        }
        (void)sl_chunk_lock(ledger->fd, F_UNLCK, BYTE_CHANGE);
        failed = open_again(ledger);
        if (failed < 0) {
            return failed;
        }
    }
    return -EAGAIN;
}

/* Locks and reads the ledger. 0: ledger_end must unlock it. */
static int ledger_begin(sl_chunk_ledger *ledger, ledger_state *state)
{
    if (ledger->fd < 0) {
        return -EROFS;
    }
    sl_lock(&ledger->mutex);
    int failed = lock_ledger(ledger);
    if (failed == 0 && !ledger_load(ledger->fd, state)) {
        /* relaxed, as everywhere: the quota is an independent number */
        *state = (ledger_state){
            .largest = atomic_load_explicit(&ledger->quota, memory_order_relaxed), .in_use = 1};
        failed = ledger_recount(ledger, state);
        if (failed != 0) {
            (void)sl_chunk_lock(ledger->fd, F_UNLCK, BYTE_CHANGE);
        }
    }
    if (failed != 0) {
        sl_unlock(&ledger->mutex);
    }
    return failed;
}

static int ledger_end(sl_chunk_ledger *ledger, const ledger_state *state)
{
    const int failed = state != NULL ? ledger_store(ledger->fd, state) : 0;
    (void)sl_chunk_lock(ledger->fd, F_UNLCK, BYTE_CHANGE);
    sl_unlock(&ledger->mutex);
    return failed;
}

/* Returns true if no other process has the folder open; afterwards, this one has. */
static bool ledger_is_alone(const sl_chunk_ledger *ledger)
{
    const bool alone = sl_chunk_lock(ledger->fd, F_WRLCK, BYTE_PRESENT) == 0;
    (void)sl_chunk_lock(ledger->fd, F_RDLCK, BYTE_PRESENT);
    return alone;
}

static uint64_t quota_of(const sl_chunk_ledger *ledger, uint64_t most_bytes, uint64_t kept)
{
    struct statvfs facts;
    if (most_bytes > 0 || fstatvfs(ledger->folder->fd, &facts) != 0) {
        return most_bytes;
    }
    const uint64_t free_bytes = (uint64_t)facts.f_bavail * facts.f_frsize;
    return (free_bytes + sl_min_u64(kept, UINT64_MAX - free_bytes)) / 10 * 9;
}

/* Returns a time that changes whenever anyone adds or removes a file. */
static uint64_t folder_time(const sl_chunk_folder *folder)
{
    struct stat facts;
    return fstat(folder->fd, &facts) == 0
               ? (uint64_t)facts.st_mtim.tv_sec * NS_PER_S + (uint64_t)facts.st_mtim.tv_nsec
               : 0;
}

static int ledger_enter(sl_chunk_ledger *ledger, uint64_t most_bytes, bool first)
{
    ledger_state state;
    int failed = ledger_begin(ledger, &state);
    if (failed != 0) {
        /* relaxed, as everywhere: the quota is an independent number */
        atomic_store_explicit(&ledger->quota, quota_of(ledger, most_bytes, 0),
                              memory_order_relaxed);
        return failed;
    }
    const bool alone = ledger_is_alone(ledger);
    const bool is_closed = state.in_use == 0 && state.closed == folder_time(ledger->folder);
    if (alone && first && !is_closed) {
        failed = ledger_recount(ledger, &state);
    }
    const bool shares = most_bytes == 0 && !alone && state.largest > 0;
    const uint64_t quota = shares ? state.largest : quota_of(ledger, most_bytes, state.kept);
    /* relaxed, as above */
    atomic_store_explicit(&ledger->quota, quota, memory_order_relaxed);
    state.largest = alone ? quota : sl_max_u64(state.largest, quota);
    state.in_use = 1;
    const int stored = ledger_end(ledger, failed == 0 ? &state : NULL);
    return failed != 0 ? failed : stored;
}

static void ledger_init(sl_chunk_ledger *ledger, const sl_chunk_folder *folder, uint64_t quota)
{
    ledger->folder = folder;
    ledger->fd = -1;
    ledger->attached = false;
    atomic_init(&ledger->quota, quota);
    sl_mutex_init(&ledger->mutex);
}

void sl_chunk_ledger_attach(sl_chunk_ledger *ledger, const sl_chunk_folder *folder, bool changes)
{
    ledger_init(ledger, folder, 0);
    ledger->attached = true;
    if (changes && folder->fd >= 0) {
        const int fd = open_ledger_file(folder);
        ledger->fd = fd >= 0 ? fd : -1;
    }
}

int sl_chunk_ledger_open(sl_chunk_ledger *ledger, const sl_chunk_folder *folder,
                         uint64_t most_bytes)
{
    ledger_init(ledger, folder, most_bytes);
    if (folder->fd < 0) {
        return -(folder->failed > 0 ? folder->failed : ENOENT);
    }
    const int fd = open_ledger_file(folder);
    if (fd < 0) {
        return fd;
    }
    ledger->fd = fd;
    return ledger_enter(ledger, most_bytes, true);
}

int sl_chunk_ledger_set_quota(sl_chunk_ledger *ledger, uint64_t most_bytes)
{
    return ledger->fd < 0 ? -EROFS : ledger_enter(ledger, most_bytes, false);
}

void sl_chunk_ledger_close(sl_chunk_ledger *ledger)
{
    ledger_state state;
    if (ledger->fd >= 0 && !ledger->attached && ledger_begin(ledger, &state) == 0) {
        if (sl_chunk_lock(ledger->fd, F_WRLCK, BYTE_PRESENT) == 0) {
            state.in_use = 0;
            state.closed = folder_time(ledger->folder);
        }
        /* a forked child may have the description open for longer */
        (void)sl_chunk_lock(ledger->fd, F_UNLCK, BYTE_PRESENT);
        (void)ledger_end(ledger, &state);
    }
    sl_file_close(ledger->fd);
    sl_mutex_destroy(&ledger->mutex);
}

int sl_chunk_ledger_add(sl_chunk_ledger *ledger, uint64_t cost, int (*name)(void *ctx), void *ctx)
{
    ledger_state state;
    int failed = ledger_begin(ledger, &state);
    if (failed != 0) {
        return failed;
    }
    /* relaxed: the quota is an independent number */
    const uint64_t quota = atomic_load_explicit(&ledger->quota, memory_order_relaxed);
    if (state.kept > quota || cost > quota - state.kept) {
        (void)ledger_end(ledger, &state);
        return -ENOSPC;
    }
    failed = name(ctx);
    if (failed != 0) {
        (void)ledger_end(ledger, NULL);
        return failed;
    }
    state.kept += cost;
    (void)ledger_end(ledger,
                     &state); /* if that fails, the next listing of the folder counts again */
    return 0;
}

bool sl_chunk_ledger_remove(sl_chunk_ledger *ledger, const char *name)
{
    struct stat facts;
    ledger_state state;
    const int folder = ledger->folder->fd;
    const bool locked = ledger_begin(ledger, &state) == 0;
    const bool removed = fstatat(folder, name, &facts, AT_SYMLINK_NOFOLLOW) == 0 &&
                         S_ISREG(facts.st_mode) && unlinkat(folder, name, 0) == 0;
    if (locked && removed) {
        state.kept -= sl_min_u64(state.kept, sl_chunk_cost((uint64_t)facts.st_size));
    }
    if (locked) {
        (void)ledger_end(ledger, removed ? &state : NULL);
    }
    return removed;
}

void sl_chunk_ledger_recount(sl_chunk_ledger *ledger)
{
    ledger_state state;
    if (ledger_begin(ledger, &state) == 0) {
        const int failed = ledger_recount(ledger, &state);
        (void)ledger_end(ledger, failed == 0 ? &state : NULL);
    }
}

bool sl_chunk_ledger_read(const sl_chunk_ledger *ledger, sl_chunk_count *count)
{
    ledger_state state;
    struct stat facts;
    *count = (sl_chunk_count){0};
    if (ledger->fd < 0 || fstat(ledger->fd, &facts) != 0) {
        return false;
    }
    if (facts.st_nlink == 0) { /* the folder was removed with all its contents */
        return true;
    }
    for (int i = 0; i < TRIES; i++) { /* a concurrent change makes the checksum fail */
        if (ledger_load(ledger->fd, &state)) {
            *count = (sl_chunk_count){.kept = state.kept, .largest = state.largest};
            return true;
        }
    }
    return false;
}
