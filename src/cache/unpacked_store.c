/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unpacked_store: names, locks and lists of the store of unpacked files.
 *
 * Its caller waits while threads unpack missing files. A file with its final name is complete.
 */
#include "unpacked_store.h"

#include "clock.h"
#include "cpu.h"
#include "error.h"
#include "frame.h"
#include "little_endian.h"
#include "memory.h"
#include "minmax.h"
#include "open_many.h"
#include "stop.h"
#include "store.h"
#include "thread.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define STAGE   "dataset"
#define KEPT    ".unpacked"
#define PART    ".part"
#define WAIT_NS UINT64_C(20000000)

/* Limit on files unpacked at once: each takes memory and a CPU. */
enum { UNPACKING_MAX = 16 };

/* A compressed file of the list. */
typedef struct entry {
    uint32_t file; /* its number */
    sl_file_identity source;
    char *folder, *kept; /* owned */
    bool there;          /* true if it was already unpacked when looked up */
    uint64_t claim;      /* minimum unpacked size according to the file; 0: unknown */
} entry;

typedef struct store {
    sl_file_list *list;
    const sl_unpacked_how *how;
    entry *entries;
    uint32_t count;
    uint32_t *missing; /* numbers of the files to unpack */
    uint32_t missing_count, first;
    _Atomic uint32_t next; /* next missing one; relaxed: the entries were made before the threads */
    atomic_bool stop;      /* true if one failed; relaxed: a hint */
} store;

static sl_unpack_told told_of(const store *s, const entry *e)
{
    return s->how->told != NULL ? s->how->told[e->file] : (sl_unpack_told){{0, 0}, NULL};
}

static const char *unpacked_store_path_of(const store *s, const entry *e)
{
    return s->list->files[e->file].path;
}

/* ---- names ---- */

/* Returns a checksum of the file's identity and of the index's data about it. */
static uint64_t sum_key(const sl_file_identity *is, sl_packing packing, const sl_unpack_told *told)
{
    sl_checksum_stream stream;
    const char *hashes = told->hashes != NULL ? told->hashes : "";
    sl_checksum_begin(&stream);
    sl_checksum_add_u64(&stream, is->bytes);
    sl_checksum_add_u64(&stream, is->inode);
    sl_checksum_add_u64(&stream, (uint64_t)is->modified_ns);
    sl_checksum_add_u64(&stream, (uint64_t)is->changed_ns);
    sl_checksum_add_u64(&stream, (uint64_t)packing);
    sl_checksum_add_u64(&stream, told->bytes[0]);
    sl_checksum_add_u64(&stream, told->bytes[1]);
    sl_checksum_add(&stream, hashes, strlen(hashes));
    return sl_checksum_value(&stream);
}

/* Joins a path in memory of sl_malloc; NULL: no memory. */
static char *unpacked_store_join(const char *folder, const char *name)
{
    const size_t bytes = strlen(folder) + strlen(name) + 2;
    char *path = sl_malloc(bytes);
    if (path != NULL) {
        (void)snprintf(path, bytes, "%s/%s", folder, name);
    }
    return path;
}

static sluice_status unpacked_store_name_entry(const store *s, entry *e, const char *real,
                                               sluice_error *error)
{
    char name[256];
    const sl_unpack_told told = told_of(s, e);
    const sl_packing packing = s->list->files[e->file].packing;
    (void)snprintf(name, sizeof(name), "%.100s-%016llx", sl_path_name(real),
                   (unsigned long long)sl_checksum(real, strlen(real)));
    e->folder = unpacked_store_join(s->how->folder, name);
    (void)snprintf(name, sizeof(name), "%016llx" KEPT,
                   (unsigned long long)sum_key(&e->source, packing, &told));
    e->kept = e->folder != NULL ? unpacked_store_join(e->folder, name) : NULL;
    if (e->kept == NULL) {
        (void)sl_no_memory_file(error, STAGE, real, "for a path");
        return SLUICE_NOMEM;
    }
    return SLUICE_OK;
}

/* ---- existing contents ---- */

/* Returns whether only the user, or root, can change it. */
static bool is_unshared(const struct stat *facts)
{
    return (facts->st_mode & (S_IWGRP | S_IWOTH)) == 0 &&
           (facts->st_uid == geteuid() || facts->st_uid == 0);
}

/*
 * Returns whether a valid unpacked file exists. In another user's folder, the file could be
 * exchanged after the check.
 */
static bool is_kept(const store *s, const entry *e)
{
    struct stat folder;
    struct stat facts;
    const sl_unpack_told told = told_of(s, e);
    if (lstat(e->folder, &folder) != 0 || !S_ISDIR(folder.st_mode) || !is_unshared(&folder) ||
        lstat(e->kept, &facts) != 0 || !S_ISREG(facts.st_mode)) {
        return false;
    }
    const uint64_t bytes = (uint64_t)facts.st_size;
    return is_unshared(&facts) && facts.st_mtim.tv_nsec == 0 &&
           (sl_unpack_most(&told) == 0 || bytes == told.bytes[0] || bytes == told.bytes[1]);
}

/*
 * Reads the unpacked size from the end of a gzip (modulo 2^32, last member only) or from the first
 * zstd frame's head. It is never more than the real size of an undamaged file.
 */
static uint64_t read_own_size(const char *path, sl_packing packing, uint64_t bytes)
{
    enum { HEAD_BYTES = 18, TAIL_BYTES = 4, RATIO_MOST = 1032 /* of deflate */ };
    uint8_t read[HEAD_BYTES] = {0};
    uint64_t claim = 0;
    sl_handle handle;
    if ((packing != SL_PACKING_GZIP && packing != SL_PACKING_ZSTD) || bytes < HEAD_BYTES ||
        sl_handle_open(&handle, (sl_file_name){STAGE, path}, NULL, NULL) != SLUICE_OK) {
        return 0;
    }
    if (packing == SL_PACKING_GZIP) {
        const bool there =
            sl_handle_read(&handle, read, TAIL_BYTES, bytes - TAIL_BYTES, NULL) == SLUICE_OK;
        claim = there ? sl_load32(read) : 0;
        claim = claim / RATIO_MOST <= bytes
                    ? claim
                    : 0; /* otherwise these bytes are not the end of a gzip */
    } else if (sl_handle_read(&handle, read, HEAD_BYTES, 0, NULL) == SLUICE_OK) {
        claim = sl_frame_claim((sl_bytes){read, HEAD_BYTES});
    }
    sl_handle_close(&handle);
    return claim;
}

static sluice_status unpacked_store_look_at(void *ctx, uint32_t number, sluice_error *error)
{
    store *s = ctx;
    entry *e = &s->entries[number];
    char real[SL_PATH_BYTES];
    sl_store_facts facts;
    int failed = sl_store_real_path(unpacked_store_path_of(s, e), real);
    failed = failed == 0 ? sl_store_stat(real, &facts) : failed;
    if (failed < 0) {
        return sl_error_file(error, SLUICE_IO, STAGE, -failed, unpacked_store_path_of(s, e), -1,
                             "cannot open the file");
    }
    e->source = facts.identity;
    const sluice_status status = unpacked_store_name_entry(s, e, real, error);
    e->there = status == SLUICE_OK && is_kept(s, e);
    if (status == SLUICE_OK && !e->there) {
        e->claim = read_own_size(real, s->list->files[e->file].packing, e->source.bytes);
    }
    return status;
}

/* ---- folders ---- */

static bool make_private(const char *folder)
{
    return mkdir(folder, 0700) == 0 || errno == EEXIST;
}

/*
 * Creates a folder of the user's own. A link would have the files at its target cleared, and in
 * another user's folder the owner could replace files.
 */
static sluice_status make_own(const char *folder, sluice_error *error)
{
    struct stat facts;
    if (!make_private(folder) || lstat(folder, &facts) != 0) {
        return sl_error_file(error, SLUICE_IO, STAGE, errno, folder, -1,
                             "cannot create the folder for an unpacked file");
    }
    if (!S_ISDIR(facts.st_mode)) {
        return sl_error_file(error, SLUICE_IO, STAGE, ENOTDIR, folder, -1,
                             "cannot create the folder for an unpacked file");
    }
    return is_unshared(&facts)
               ? SLUICE_OK
               : sl_error_file(error, SLUICE_IO, STAGE, 0, folder, -1,
                               "the folder for an unpacked file belongs to another user, or others "
                               "may write to it: remove it, or choose another folder for unpacked "
                               "files");
}

/* Creates a folder with all its parents. */
static sluice_status unpacked_store_make_folder(const char *folder, sluice_error *error)
{
    char path[SL_PATH_BYTES];
    const int length = snprintf(path, sizeof(path), "%s", folder);
    if (length <= 0 || (size_t)length >= sizeof(path)) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, folder, -1,
                             "the path of the folder for unpacked files is empty or too long");
    }
    bool good = true;
    for (char *slash = strchr(path + 1, '/'); good && slash != NULL;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        good = make_private(path);
        *slash = '/';
    }
    struct stat facts;
    if (good && make_private(path) && stat(path, &facts) == 0) {
        errno = S_ISDIR(facts.st_mode) ? 0 : ENOTDIR;
        good = errno == 0;
    } else {
        good = false;
    }
    return good ? SLUICE_OK
                : sl_error_file(error, SLUICE_IO, STAGE, errno, folder, -1,
                                "cannot create the folder for unpacked files");
}

/* Calls `visit` for each file NAME + suffix in the folder of an entry. */
static void each_file(const entry *e, const char *suffix,
                      void (*visit)(const entry *e, const char *path, void *context), void *context)
{
    DIR *folder = opendir(e->folder);
    for (const struct dirent *at;
         folder != NULL && (at = readdir(folder)) != NULL;) { // NOLINT(concurrency-mt-unsafe)
        char *path =
            sl_ends_with(at->d_name, suffix) ? unpacked_store_join(e->folder, at->d_name) : NULL;
        if (path != NULL) {
            visit(e, path, context);
        }
        sl_free(path);
    }
    if (folder != NULL) {
        (void)closedir(folder);
    }
}

/* Removes a file, unless it is the kept one. */
static void remove_other(const entry *e, const char *path, void *context)
{
    (void)context;
    if (strcmp(path, e->kept) != 0) {
        (void)unlink(path);
    }
}

static void unpacked_store_sync_folder(const char *folder)
{
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        (void)fsync(fd); /* some file systems cannot */
        (void)close(fd);
    }
}

/* ---- space ---- */

static void add_blocks(const entry *e, const char *path, void *context)
{
    (void)e;
    struct stat facts;
    uint64_t *bytes = context;
    *bytes += stat(path, &facts) == 0 ? (uint64_t)facts.st_blocks * 512 : 0;
}

/*
 * Returns the minimum number of bytes still needed: for files whose index lacks the size, the size
 * according to the file, and hardly less than its compressed size. Subtracts what other processes
 * have already written of them.
 */
static uint64_t missing_bytes(store *s, uint32_t *count)
{
    uint64_t bytes = 0;
    *count = 0;
    for (uint32_t i = 0; i < s->missing_count; i++) {
        const entry *e = &s->entries[s->missing[i]];
        const sl_unpack_told told = told_of(s, e);
        const uint64_t most = sl_unpack_most(&told);
        const uint64_t least = e->source.bytes - e->source.bytes / 32;
        const uint64_t wanted = most > 0 ? most : sl_max_u64(least, e->claim);
        uint64_t written = 0;
        if (!is_kept(s, e)) {
            each_file(e, PART, add_blocks, &written);
            const uint64_t more = wanted - (written < wanted ? written : wanted);
            bytes = more > UINT64_MAX - bytes ? UINT64_MAX : bytes + more; /* claims cost nothing */
            (*count)++;
        }
    }
    return bytes;
}

static sluice_status check_capacity(store *s, sluice_error *error)
{
    struct statvfs facts;
    uint64_t before = UINT64_MAX;
    for (;;) {
        uint32_t count;
        const uint64_t wanted = missing_bytes(s, &count);
        if (statvfs(s->how->folder, &facts) != 0) {
            return SLUICE_OK; /* writing reports it */
        }
        const uint64_t there = (uint64_t)facts.f_bavail * facts.f_frsize;
        if (wanted <= there) {
            return SLUICE_OK;
        }
        if (wanted >= before) { /* nobody else is working on it */
            return sl_error_file(error, SLUICE_IO, STAGE, ENOSPC, s->how->folder, -1,
                                 "unpacking %u files (the first is %.512s) needs %llu bytes here, "
                                 "but only %llu are free",
                                 count, unpacked_store_path_of(s, &s->entries[s->missing[0]]),
                                 (unsigned long long)wanted, (unsigned long long)there);
        }
        before = wanted;
    }
}

/* ---- locks ---- */

typedef enum lock {
    LOCK_HELD,
    LOCK_BUSY, /* another process or thread has it */
    LOCK_NONE  /* no locks here, or the holder makes no progress */
} lock;

static lock try_lock(int fd)
{
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
        return LOCK_HELD;
    }
    return errno == EWOULDBLOCK ? LOCK_BUSY : LOCK_NONE;
}

static bool unpacked_store_is_stopped(const store *s)
{
    /* relaxed: a thread that sees it late unpacks a little more */
    return sl_stop_requested() || atomic_load_explicit(&s->stop, memory_order_relaxed);
}

/*
 * Waits until the lock is available, or not needed any more (BUSY), or not worth waiting for
 * (NONE).
 */
static lock wait_for_lock(const store *s, const entry *e, int fd)
{
    struct stat facts = {0};
    struct timespec beat = {0};
    const uint64_t stall_ns = s->how->stall_ns > 0 ? s->how->stall_ns : SL_UNPACKED_STALL_NS;
    uint64_t changed_ns = sl_now_ns();
    lock got = try_lock(fd);
    while (got == LOCK_BUSY && !is_kept(s, e) && !unpacked_store_is_stopped(s)) {
        const uint64_t now_ns = sl_now_ns();
        if (fstat(fd, &facts) == 0 && memcmp(&facts.st_mtim, &beat, sizeof(beat)) != 0) {
            beat = facts.st_mtim;
            changed_ns = now_ns;
        }
        if (now_ns - changed_ns > stall_ns) {
            return LOCK_NONE;
        }
        sl_sleep_until_ns(now_ns + WAIT_NS);
        got = try_lock(fd);
    }
    return got;
}

/* ---- unpacking ---- */

static sluice_status write_part(store *s, const entry *e, int beat, sluice_error *error)
{
    /*
     * distinguishes threads that unpack the same file without locks; relaxed: only uniqueness
     * matters
     */
    static atomic_uint count;
    char name[64];
    (void)snprintf(name, sizeof(name), "%ld.%u" PART, (long)getpid(),
                   atomic_fetch_add_explicit(&count, 1, memory_order_relaxed));
    char *part = unpacked_store_join(e->folder, name);
    if (part == NULL) {
        return sl_no_memory_file(error, STAGE, e->kept, "for a path");
    }
    const sl_packed packed = {.packing = s->list->files[e->file].packing, .file = e->source};
    const sl_unpack_job job = {.from = unpacked_store_path_of(s, e),
                               .packed = packed,
                               .told = told_of(s, e),
                               .to = part,
                               .beat = beat,
                               .stop = &s->stop};
    (void)unlink(part); /* left by a killed process with that number */
    sluice_status status = sl_unpacked_file_write(&job, error);
    if (status == SLUICE_OK && rename(part, e->kept) != 0 && !is_kept(s, e)) {
        status =
            sl_error_file(error, SLUICE_IO, STAGE, errno, e->kept, -1, "cannot rename the file");
        (void)unlink(part);
    }
    sl_free(part);
    return status;
}

static sluice_status unpack_locked(store *s, const entry *e, lock held, int fd, sluice_error *error)
{
    if (is_kept(s, e)) {
        return SLUICE_OK;
    }
    if (held == LOCK_HELD) { /* any other writer here was killed, or has no locks */
        each_file(e, PART, remove_other, NULL);
    }
    const sluice_status status = write_part(s, e, fd, error);
    if (status == SLUICE_OK) {
        unpacked_store_sync_folder(e->folder);
        if (held == LOCK_HELD) {
            each_file(e, KEPT, remove_other, NULL);
        }
    }
    return status;
}

/* Unpacks a file. `*busy`: set, without waiting, if another is working on it; NULL: waits. */
static sluice_status unpack_entry(store *s, const entry *e, bool *busy, sluice_error *error)
{
    char *path = unpacked_store_join(e->folder, "lock");
    if (path == NULL) {
        return sl_no_memory_file(error, STAGE, e->folder, "for a path");
    }
    int fd = -1;
    sluice_status status = make_own(e->folder, error);
    if (status == SLUICE_OK) {
        fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
        status = fd >= 0 ? SLUICE_OK
                         : sl_error_file(error, SLUICE_IO, STAGE, errno, path, -1,
                                         "cannot create the file");
    }
    sl_free(path);
    if (fd < 0) {
        return status;
    }
    const lock held = busy == NULL ? wait_for_lock(s, e, fd) : try_lock(fd);
    if (busy != NULL) {
        *busy = held == LOCK_BUSY;
    }
    if (held != LOCK_BUSY) {
        status = unpack_locked(s, e, held, fd, error);
    }
    if (held == LOCK_HELD) {
        (void)flock(fd, LOCK_UN); /* closing is not enough: forked children have it open too */
    }
    (void)close(fd);
    return status;
}

/* Returns the next missing file; NULL: none. */
static const entry *take_next(store *s)
{
    /* relaxed: only uniqueness matters; the entries are older than the threads */
    const uint32_t number = atomic_fetch_add_explicit(&s->next, 1, memory_order_relaxed);
    return number < s->missing_count
               ? &s->entries[s->missing[(number + s->first) % s->missing_count]]
               : NULL;
}

/* Unpacks first the files that nobody works on, then those that were busy. */
static sluice_status unpack_some(store *s, const entry **busy, sluice_error *error)
{
    uint32_t count = 0;
    sluice_status status = SLUICE_OK;
    const entry *e;
    while (status == SLUICE_OK && !unpacked_store_is_stopped(s) && (e = take_next(s)) != NULL) {
        bool is_busy = false;
        status = unpack_entry(s, e, &is_busy, error);
        busy[count] = e;
        count += is_busy;
    }
    for (uint32_t i = 0; status == SLUICE_OK && !unpacked_store_is_stopped(s) && i < count; i++) {
        status = unpack_entry(s, busy[i], NULL, error);
    }
    return status;
}

/* Runs the work of a thread. */
static sluice_status work(void *ctx, uint32_t number, sluice_error *error)
{
    (void)number;
    store *s = ctx;
    const entry **busy = (const entry **)sl_calloc(s->missing_count, sizeof(const entry *));
    sluice_status status = busy != NULL
                               ? unpack_some(s, busy, error)
                               : sl_no_memory(error, STAGE, "for %u files", s->missing_count);
    sl_free((void *)busy);
    if (status < 0) {
        /* relaxed: see unpacked_store_is_stopped */
        atomic_store_explicit(&s->stop, true, memory_order_relaxed);
    }
    if (sl_stop_requested()) {
        return sl_stop_check(STAGE, error);
    }
    return status == SLUICE_CANCELED ? SLUICE_OK : status; /* another thread's error is reported */
}

static sluice_status unpack_missing(store *s, sluice_error *error)
{
    sluice_status status = unpacked_store_make_folder(s->how->folder, error);
    status = status == SLUICE_OK ? check_capacity(s, error) : status;
    if (status < 0) {
        return status;
    }
    /* each process begins with a different file */
    const uint64_t own[] = {sl_now_ns(), (uint64_t)getpid()};
    s->first = (uint32_t)(sl_checksum(own, sizeof(own)) % s->missing_count);
    uint32_t threads = sl_cpu_count();
    threads = threads < UNPACKING_MAX ? threads : UNPACKING_MAX;
    status = sl_open_many(threads < s->missing_count ? threads : s->missing_count, work, s, error);
    for (uint32_t i = 0; status == SLUICE_OK && i < s->missing_count; i++) {
        const entry *e = &s->entries[s->missing[i]];
        if (!is_kept(s, e)) {
            status = sl_error_file(error, SLUICE_IO, STAGE, 0, e->kept, -1,
                                   "the unpacked file is not the one just written: it was modified "
                                   "or removed, or a file server maps it to another user");
        }
    }
    unpacked_store_sync_folder(s->how->folder);
    return status;
}

/* ---- the list ---- */

/* Returns the length of the name that unpacking programs give the file. */
static size_t plain_length(const char *name)
{
    static const char *const suffixes[] = {".gz", ".zst"};
    const size_t length = strlen(name);
    for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
        if (sl_ends_with(name, suffixes[i])) {
            return length - strlen(suffixes[i]);
        }
    }
    const bool is_tar = sl_ends_with(name, ".tgz") || sl_ends_with(name, ".tzst");
    return is_tar ? (size_t)(strrchr(name, '.') - name) : length;
}

static char *plain_name(const char *path)
{
    const char *name = sl_path_name(path);
    const size_t length = plain_length(name);
    const char *end =
        strcmp(name + length, ".tgz") == 0 || strcmp(name + length, ".tzst") == 0 ? ".tar" : "";
    char *plain = sl_malloc(length + sizeof(".tar"));
    if (plain != NULL) {
        (void)snprintf(plain, length + sizeof(".tar"), "%.*s%s", (int)length, name, end);
    }
    return plain;
}

static sluice_status unpacked_store_replace(store *s, sluice_error *error)
{
    for (uint32_t i = 0; i < s->count; i++) {
        entry *e = &s->entries[i];
        sl_listed_file *file = &s->list->files[e->file];
        const sl_unpack_told told = told_of(s, e);
        file->name = file->name != NULL ? file->name : plain_name(file->path);
        if (file->name == NULL) {
            return sl_no_memory_file(error, STAGE, file->path, "for a path");
        }
        file->source = file->path;
        file->path = e->kept;
        e->kept = NULL;
        file->packing = SL_PACKING_NONE;
        file->unpacked = 0;
        file->file = (sl_file_identity){.bytes = told.bytes[0]};
    }
    return SLUICE_OK;
}

static sluice_status find_packed(store *s, sluice_error *error)
{
    s->entries = sl_calloc(s->list->count, sizeof(*s->entries));
    s->missing = sl_calloc(s->list->count, sizeof(*s->missing));
    if (s->entries == NULL || s->missing == NULL) {
        return sl_no_memory(error, STAGE, "for %u files", s->list->count);
    }
    for (uint32_t i = 0; i < s->list->count; i++) {
        if (s->list->files[i].packing != SL_PACKING_NONE) {
            s->entries[s->count++].file = i;
        }
    }
    const sluice_status status =
        s->count > 0 ? sl_open_many(s->count, unpacked_store_look_at, s, error) : SLUICE_OK;
    for (uint32_t i = 0; status == SLUICE_OK && i < s->count; i++) {
        if (!s->entries[i].there) {
            s->missing[s->missing_count++] = i;
        }
    }
    return status;
}

sluice_status sl_unpacked_store_take(sl_file_list *list, const sl_unpacked_how *how,
                                     sluice_error *error)
{
    store s = {.list = list, .how = how};
    sluice_status status = list->count > 0 ? find_packed(&s, error) : SLUICE_OK;
    if (status == SLUICE_OK && s.missing_count > 0) {
        status = unpack_missing(&s, error);
    }
    if (status == SLUICE_OK) {
        status = unpacked_store_replace(&s, error);
    }
    for (uint32_t i = 0; i < s.count; i++) {
        sl_free(s.entries[i].folder);
        sl_free(s.entries[i].kept);
    }
    sl_free(s.entries);
    sl_free(s.missing);
    return status;
}
