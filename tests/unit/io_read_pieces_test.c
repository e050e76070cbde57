/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges of a file, with and without gaps, cached or not, compared with the file's bytes; and files
 * that end early. */
#include "philox.h"
#include "photo_folder.h"
#include "read_pieces.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BYTES = 3 << 20, PIECES = 20, ROUNDS = 60 };

static uint8_t file_bytes[BYTES], wanted[BYTES * 2], got[BYTES * 2];
static char folder[256], path[300];

static sl_piece any_piece(sl_random *chance)
{
    sl_piece piece = {.offset = sl_random_below(chance, BYTES / 2), .count = 1};
    piece.bytes = 1 + sl_random_below(chance, 2000);
    if (sl_random_below(chance, 8) == 0) { /* more than one call takes */
        piece.bytes = 1 + sl_random_below(chance, 3);
        piece.count = 1000 + sl_random_below(chance, 300);
        piece.stride = piece.bytes + sl_random_below(chance, 1000);
    } else if (sl_random_below(chance, 4) > 0) {
        piece.count = 1 + sl_random_below(chance, 40);
        piece.stride =
            piece.bytes + sl_random_below(chance, sl_random_below(chance, 2) == 0 ? 4200 : 30000);
    }
    while ((uint64_t)piece.count * piece.stride > BYTES / 2 - 4000) {
        piece.count--;
    }
    return piece;
}

static uint32_t want(const sl_piece *pieces, uint32_t count)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < pieces[i].count; k++, at += pieces[i].bytes) {
            memcpy(wanted + at, file_bytes + pieces[i].offset + (size_t)k * pieces[i].stride,
                   pieces[i].bytes);
        }
    }
    return at;
}

TEST(any_pieces)
{
    sl_random chance = sl_random_for(1, 2, 3, 4);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    for (int round = 0; round < ROUNDS; round++) {
        sl_piece pieces[PIECES];
        for (uint32_t i = 0; i < PIECES; i++) {
            pieces[i] = any_piece(&chance);
        }
        const uint32_t bytes = want(pieces, PIECES);
        const sl_read read = {.kind = SL_READ_PIECES,
                              .fd = fd,
                              .length = bytes,
                              .buffer = got,
                              .pieces = pieces,
                              .piece_count = PIECES};
        if (round % 2 == 0) {
            (void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
        }
        memset(got, 0, bytes + 1);
        assert_int_equal(sl_read_pieces(&read), bytes);
        assert_memory_equal(got, wanted, bytes);
        assert_int_equal(got[bytes], 0);
    }
    close(fd);
}

TEST(a_file_that_ends_before)
{
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    const sl_piece pieces[] = {{.offset = BYTES - 100, .bytes = 10, .count = 5, .stride = 20},
                               {.offset = 7, .bytes = 9, .count = 1}};
    const sl_read read = {
        .fd = fd, .length = 59, .buffer = got, .pieces = pieces, .piece_count = 2};
    assert_int_equal(sl_read_pieces(&read), 59);
    assert_int_equal(ftruncate(fd, BYTES - 10), 0);
    assert_int_equal(sl_read_pieces(&read), 59);
    assert_int_equal(ftruncate(fd, BYTES - 11), 0);
    assert_int_equal(sl_read_pieces(&read), -ENODATA);
    assert_int_equal(ftruncate(fd, BYTES - 1000), 0);
    assert_int_equal(sl_read_pieces(&read), -ENODATA);
    close(fd);
    const sl_read gone = {
        .fd = fd, .length = 59, .buffer = got, .pieces = pieces, .piece_count = 2};
    assert_int_equal(sl_read_pieces(&gone), -EBADF);
}

static int make(void **state)
{
    temporary_directory(folder, sizeof(folder));
    (void)snprintf(path, sizeof(path), "%s/file", folder);
    for (size_t i = 0; i < BYTES; i++) {
        file_bytes[i] = (uint8_t)(i * 31 + (i >> 8) * 7 + (i >> 16));
    }
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(file_bytes, 1, BYTES, out), BYTES);
    assert_int_equal(fflush(out), 0);
    assert_int_equal(fsync(fileno(out)), 0); /* unwritten pages cannot be dropped */
    assert_int_equal(fclose(out), 0);
    return 0;
}

static int clean(void **state)
{
    remove_tree(folder);
    return 0;
}

TEST_GROUP(make, clean)
