/* SPDX-License-Identifier: Apache-2.0 */
#include "read_pieces.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE_BYTES UINT64_C(4096)
/* The kernel takes no more of an advice than it reads ahead, 128 KiB at least. */
#define ADVICE_BYTES (UINT64_C(128) << 10)

int64_t sl_read_up_to(int fd, uint8_t *buffer, uint64_t bytes, uint64_t offset)
{
    uint64_t got = 0;
    while (got < bytes) {
        ssize_t n = pread(fd, buffer + got, bytes - got, (off_t)(offset + got));
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return -errno;
        }
        if (n == 0) {
            break;
        }
        got += (uint64_t)n;
    }
    return (int64_t)got;
}

static void advise(int fd, uint64_t offset, uint64_t bytes)
{
    for (uint64_t at = 0; at < bytes; at += ADVICE_BYTES) {
        const uint64_t rest = bytes - at;
        (void)posix_fadvise(fd, (off_t)(offset + at),
                            (off_t)(rest < ADVICE_BYTES ? rest : ADVICE_BYTES),
                            POSIX_FADV_WILLNEED);
    }
}

static uint64_t end_of(const sl_piece *piece)
{
    return piece->offset + (uint64_t)(piece->count - 1) * piece->stride + piece->bytes;
}

static void advise_piece(int fd, const sl_piece *piece)
{
    if (piece->count == 1 || piece->stride - piece->bytes <= PAGE_BYTES) {
        advise(fd, piece->offset, end_of(piece) - piece->offset);
        return;
    }
    for (uint32_t i = 0; i < piece->count; i++) {
        advise(fd, piece->offset + (uint64_t)i * piece->stride, piece->bytes);
    }
}

/* Whether the bytes were there, all of them, and have been read. */
static bool read_cached(int fd, struct iovec to, uint64_t offset)
{
    return preadv2(fd, &to, 1, (off_t)offset, RWF_NOWAIT) == (ssize_t)to.iov_len;
}

/* Some of the bytes may be behind a new end, where reading found zeros. */
static bool is_cut_short(const sl_read *read)
{
    struct stat file;
    uint64_t end = 0;
    for (uint32_t i = 0; i < read->piece_count; i++) {
        const uint64_t own = end_of(&read->pieces[i]);
        end = own > end ? own : end;
    }
    return fstat(read->fd, &file) != 0 || (uint64_t)file.st_size < end;
}

int64_t sl_read_pieces(const sl_read *read)
{
    uint64_t done = 0;
    bool asks = false; /* with gaps, and nothing was missing so far */
    for (uint32_t i = 0; i < read->piece_count; i++) {
        asks = asks || read->pieces[i].count > 1;
    }
    for (uint32_t i = 0; i < read->piece_count; i++) {
        const sl_piece *piece = &read->pieces[i];
        for (uint32_t k = 0; k < piece->count; k++, done += piece->bytes) {
            const uint64_t offset = piece->offset + (uint64_t)k * piece->stride;
            uint8_t *to = read->buffer + done;
            if (asks && read_cached(read->fd, (struct iovec){to, piece->bytes}, offset)) {
                continue;
            }
            for (uint32_t rest = i; asks && rest < read->piece_count; rest++) {
                advise_piece(read->fd, &read->pieces[rest]);
            }
            asks = false;
            const int64_t got = sl_read_up_to(read->fd, to, piece->bytes, offset);
            if (got < (int64_t)piece->bytes) {
                return got < 0 ? got : -ENODATA;
            }
        }
    }
    return is_cut_short(read) ? -ENODATA : (int64_t)done;
}
