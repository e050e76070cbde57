/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unpacked_file: unpacks one file into the store, on the calling thread.
 *
 * A file gets its final name only after its size, hashes and checksums were checked and it was
 * synced.
 */
#include "unpacked_file.h"

#include "digest_list.h"
#include "error.h"
#include "memory.h"
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define STAGE       "dataset"
#define PIECE_BYTES ((size_t)1 << 20)
/*
 * How often free space is checked, and how much must stay free: a hundredth of the file system, up
 * to a maximum.
 */
#define ASK_BYTES    ((uint64_t)64 << 20)
#define RESERVE_MOST ((uint64_t)1 << 30)
enum { CHUNKS = 5, RESERVE_SHARE = 100 };

typedef struct writer {
    const sl_unpack_job *job;
    sl_stream *stream;
    int fd;
    sl_digest_list digests;
    uint64_t written;
    uint8_t piece[PIECE_BYTES];
} writer;

/* ---- space ---- */

static bool unpacked_file_is_full(int sys_errno)
{
    return sys_errno == ENOSPC || sys_errno == EDQUOT || sys_errno == EFBIG;
}

static sluice_status refuse_capacity(const writer *w, int sys_errno, sluice_error *error)
{
    const uint64_t most = sl_unpack_most(&w->job->told);
    if (most > 0) {
        return sl_error_file(error, SLUICE_IO, STAGE, sys_errno, w->job->to, (int64_t)w->written,
                             "no space left for the %llu bytes that %.1024s unpacks to",
                             (unsigned long long)most, w->job->from);
    }
    return sl_error_file(error, SLUICE_IO, STAGE, sys_errno, w->job->to, (int64_t)w->written,
                         "no space left for the contents of %.1024s, more than %llu bytes",
                         w->job->from, (unsigned long long)w->written);
}

/* Keeps a reserve: a file of unknown size must not fill a file system that others use. */
static sluice_status keep_reserve(const writer *w, sluice_error *error)
{
    struct statvfs facts;
    if (sl_unpack_most(&w->job->told) > 0 || w->written % ASK_BYTES != 0 ||
        fstatvfs(w->fd, &facts) != 0) {
        return SLUICE_OK;
    }
    const uint64_t share = (uint64_t)facts.f_blocks * facts.f_frsize / RESERVE_SHARE;
    const uint64_t reserve = share < RESERVE_MOST ? share : RESERVE_MOST;
    return (uint64_t)facts.f_bavail * facts.f_frsize > reserve ? SLUICE_OK
                                                               : refuse_capacity(w, ENOSPC, error);
}

static sluice_status unpacked_file_put(writer *w, size_t bytes, sluice_error *error)
{
    sluice_error reason;
    sl_error_clear(&reason);
    sluice_status status = keep_reserve(w, error);
    if (status < 0) {
        return status;
    }
    const sl_file_name name = {STAGE, w->job->to};
    status = sl_file_write(w->fd, name, w->piece, bytes, w->written, &reason);
    if (status < 0 && unpacked_file_is_full(reason.sys_errno)) {
        return refuse_capacity(w, reason.sys_errno, error);
    }
    if (status < 0) {
        *error = reason;
        return status;
    }
    sl_digest_list_add(&w->digests, w->piece, bytes);
    w->written += bytes;
    if (w->job->beat >= 0) {
        (void)futimens(w->job->beat, NULL);
    }
    return SLUICE_OK;
}

/* ---- what comes out ---- */

static bool unpacked_file_is_stopped(const sl_unpack_job *job)
{
    /* relaxed: a thread that sees it late works a little longer */
    return atomic_load_explicit(job->stop, memory_order_relaxed);
}

static sluice_status copy_all(writer *w, sluice_error *error)
{
    const uint64_t most = sl_unpack_most(&w->job->told);
    size_t got = PIECE_BYTES;
    while (got == PIECE_BYTES) {
        if (unpacked_file_is_stopped(w->job)) {
            return sl_error_set(error, SLUICE_CANCELED, STAGE, "unpacking was abandoned");
        }
        sluice_status status =
            sl_stream_read_some(w->stream, w->written, w->piece, PIECE_BYTES, &got, error);
        if (status == SLUICE_OK && most > 0 && got > most - w->written) {
            status = sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, w->job->from, -1,
                                   "it unpacks to more than the %llu bytes that its index lists",
                                   (unsigned long long)most);
        }
        if (status == SLUICE_OK && got > 0) {
            status = unpacked_file_put(w, got, error);
        }
        if (status < 0) {
            return status;
        }
    }
    return SLUICE_OK;
}

static sluice_status unpacked_file_check(writer *w, sluice_error *error)
{
    const sl_unpack_told *told = &w->job->told;
    if (sl_unpack_most(told) > 0 && w->written != told->bytes[0] && w->written != told->bytes[1]) {
        return sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, w->job->from, -1,
                             "it unpacks to %llu bytes, but its index says %llu",
                             (unsigned long long)w->written, (unsigned long long)told->bytes[0]);
    }
    for (uint32_t i = 0; i < w->digests.count; i++) {
        char name[16];
        if (sl_digest_list_differs(&w->digests, i, name)) {
            return sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, w->job->from, -1,
                                 "its unpacked content does not match the hash in index.json (%s)",
                                 name);
        }
    }
    return SLUICE_OK;
}

/* Checks that the source is unmodified, also at its path. */
static sluice_status check_source(const sl_unpack_job *job, sluice_error *error)
{
    sl_handle file;
    const sluice_status status =
        sl_handle_open_again(&file, (sl_file_name){STAGE, job->from}, &job->packed.file, error);
    sl_handle_close(&file);
    return status;
}

static sluice_status make_last(const writer *w, sluice_error *error)
{
    struct stat facts;
    if (fstat(w->fd, &facts) == 0) {
        const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = facts.st_mtime}};
        if (futimens(w->fd, times) == 0 && fsync(w->fd) == 0) {
            return SLUICE_OK;
        }
    }
    return unpacked_file_is_full(errno) ? refuse_capacity(w, errno, error)
                                        : sl_error_file(error, SLUICE_IO, STAGE, errno, w->job->to,
                                                        -1, "cannot sync the file");
}

static sluice_status unpacked_file_write_all(writer *w, sluice_error *error)
{
    const sl_unpack_job *job = w->job;
    sluice_status status = sl_stream_open(&w->stream, job->from, &job->packed, CHUNKS, error);
    if (status == SLUICE_OK) {
        status = sl_digest_list_open(&w->digests, job->told.hashes, error);
    }
    if (status == SLUICE_OK) {
        w->fd = open(job->to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        status = w->fd >= 0 ? copy_all(w, error)
                            : sl_error_file(error, SLUICE_IO, STAGE, errno, job->to, -1,
                                            "cannot create the file");
    }
    status = status == SLUICE_OK ? unpacked_file_check(w, error) : status;
    status = status == SLUICE_OK ? make_last(w, error) : status;
    return status == SLUICE_OK ? check_source(job, error) : status;
}

sluice_status sl_unpacked_file_write(const sl_unpack_job *job, sluice_error *error)
{
    sluice_error reason;
    sl_error_clear(&reason);
    writer *w = sl_calloc(1, sizeof(*w));
    if (w == NULL) {
        return sl_no_memory_file(error, STAGE, job->from, "unpacking");
    }
    w->job = job;
    w->fd = -1;
    const sluice_status status = unpacked_file_write_all(w, &reason);
    if (w->fd >= 0 && status < 0) {
        (void)unlink(job->to);
    }
    sl_file_close(w->fd);
    sl_digest_list_close(&w->digests);
    sl_stream_close(w->stream);
    sl_free(w);
    if (status < 0 && error != NULL) {
        *error = reason;
    }
    return status;
}
