/* SPDX-License-Identifier: Apache-2.0 */
#include "read_pieces.h"

#include "minmax.h"
#include "retry.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

/* Runs per call; with the gaps between them below IOV_MAX. */
enum { RUNS_MAX = 512 };
/* The kernel follows an advice only as far as it reads ahead, at least 128 KiB. */
#define ADVICE_BYTES (UINT64_C(128) << 10)

int64_t sl_read_up_to(const sl_handle *handle, uint8_t *buffer, uint64_t bytes, uint64_t offset)
{
    uint64_t got = 0;
    uint32_t interrupted = 0;
    while (got < bytes) {
        const ssize_t n = handle->store->read_at(handle, buffer + got, bytes - got, offset + got);
        if (n < 0 && sl_retry_interrupted(&interrupted, (int)-n)) {
            continue;
        }
        if (n < 0) {
            return n;
        }
        if (n == 0) {
            break;
        }
        interrupted = 0;
        got += (uint64_t)n;
    }
    return (int64_t)got;
}

bool sl_is_cut_short(const sl_handle *handle, uint64_t end)
{
    sl_store_facts after;
    return sl_handle_facts(handle, &after) != 0 || after.identity.bytes < end;
}

int64_t sl_read_all_of(const sl_handle *handle, uint8_t *buffer, uint64_t bytes)
{
    const int64_t got = sl_read_up_to(handle, buffer, bytes, 0);
    return got >= 0 && ((uint64_t)got < bytes || sl_is_cut_short(handle, bytes)) ? -ESTALE : got;
}

static void read_pieces_advise(int fd, uint64_t offset, uint64_t bytes)
{
    for (uint64_t at = 0; at < bytes; at += ADVICE_BYTES) {
        const uint64_t rest = bytes - at;
        (void)posix_fadvise(fd, (off_t)(offset + at), (off_t)sl_min_u64(rest, ADVICE_BYTES),
                            POSIX_FADV_WILLNEED);
    }
}

static uint64_t read_pieces_end_of(const sl_piece *piece)
{
    return piece->offset + (uint64_t)(piece->count - 1) * piece->stride + piece->bytes;
}

static void advise_piece(int fd, const sl_piece *piece)
{
    if (piece->count == 1 || piece->stride - piece->bytes <= SL_PIECE_GAP_BYTES) {
        read_pieces_advise(fd, piece->offset, read_pieces_end_of(piece) - piece->offset);
        return;
    }
    for (uint32_t i = 0; i < piece->count; i++) {
        read_pieces_advise(fd, piece->offset + (uint64_t)i * piece->stride, piece->bytes);
    }
}

/* Runs of a piece, from `first` on, read to `to`. */
typedef struct runs {
    const sl_piece *piece;
    uint32_t first, count;
    uint8_t *to;
} runs;

static uint64_t read_pieces_offset_of(const runs *r, uint32_t number)
{
    return r->piece->offset + (uint64_t)(r->first + number) * r->piece->stride;
}

/* Reads the runs by one call. False: not all of them could be read. */
static bool read_runs(int fd, const runs *r, int flags)
{
    uint8_t gaps[SL_PIECE_GAP_BYTES];
    struct iovec parts[2 * RUNS_MAX];
    const size_t bytes = r->piece->bytes;
    const size_t gap = r->count > 1 ? r->piece->stride - bytes : 0;
    size_t count = 0;
    for (uint32_t i = 0; i < r->count; i++) {
        parts[count++] = (struct iovec){r->to + i * bytes, bytes};
        parts[count++] = (struct iovec){gaps, gap};
    }
    const size_t all = r->count * bytes + (r->count - 1) * gap;
    return preadv2(fd, parts, (int)count - 1, (off_t)read_pieces_offset_of(r, 0), flags) ==
           (ssize_t)all;
}

/* Returns whether some of the bytes may be behind a new end, where reading found zeros. */
static bool ends_before_pieces(const sl_handle *handle, const sl_read *read)
{
    uint64_t end = 0;
    for (uint32_t i = 0; i < read->piece_count; i++) {
        const uint64_t own = read_pieces_end_of(&read->pieces[i]);
        end = sl_max_u64(own, end);
    }
    return sl_is_cut_short(handle, end);
}

/* Reads the runs one by one. Returns 0, or -errno. */
static int64_t read_each(const sl_handle *handle, const runs *r)
{
    const size_t bytes = r->piece->bytes;
    for (uint32_t i = 0; i < r->count; i++) {
        const int64_t got =
            sl_read_up_to(handle, r->to + i * bytes, bytes, read_pieces_offset_of(r, i));
        if (got < (int64_t)bytes) {
            return got < 0 ? got : -ENODATA;
        }
    }
    return 0;
}

/* Reads a piece to `done` bytes behind the buffer's begin. `*asks`: nothing was missing so far, and
 * asking pays. Returns 0, or -errno. */
static int64_t read_pieces_read_piece(const sl_handle *handle, const sl_read *read, uint32_t number,
                                      uint64_t done, bool *asks)
{
    const sl_piece *piece = &read->pieces[number];
    const bool joins = piece->count == 1 || piece->stride - piece->bytes <= SL_PIECE_GAP_BYTES;
    const uint32_t each = joins ? RUNS_MAX : 1;
    int64_t result = 0;
    for (uint32_t first = 0; result == 0 && first < piece->count; first += each) {
        const uint32_t left = piece->count - first;
        const runs r = {piece, first, sl_min_u32(left, each),
                        read->buffer + done + (size_t)first * piece->bytes};
        if (*asks && read_runs(handle->fd, &r, RWF_NOWAIT)) {
            continue;
        }
        for (uint32_t rest = number; *asks && rest < read->piece_count; rest++) {
            advise_piece(handle->fd, &read->pieces[rest]);
        }
        *asks = false;
        if (r.count == 1 || !read_runs(handle->fd, &r, 0)) {
            result = read_each(handle, &r);
        }
    }
    return result;
}

int64_t sl_read_pieces(const sl_read *read)
{
    const sl_handle handle = sl_read_handle(read);
    uint64_t done = 0;
    bool asks = false;
    for (uint32_t i = 0; i < read->piece_count; i++) {
        asks = asks || (handle.fd >= 0 && read->pieces[i].count > 1);
    }
    for (uint32_t i = 0; i < read->piece_count; i++) {
        const int64_t result = read_pieces_read_piece(&handle, read, i, done, &asks);
        if (result < 0) {
            return result;
        }
        done += sl_piece_bytes(&read->pieces[i]);
    }
    return ends_before_pieces(&handle, read) ? -ENODATA : (int64_t)done;
}
