/* SPDX-License-Identifier: Apache-2.0 */
/* Tests Megatron-LM's indexed datasets with files assembled here: sequences opened by either of the
 * two files, empty sequences, which are not samples, and indexes that are truncated or refer to
 * missing data. */
#include "dataset_checks.h"
#include "test_folder.h"

#include <sluice/sequences.h>

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { HEAD = 34, SEQUENCES = 4, TOKENS = 9, INDEX = HEAD + SEQUENCES * 12 + (SEQUENCES + 1) * 8 };

/* Elements of each i32 sequence; token t overall is 1000 t. */
static const uint32_t lengths[SEQUENCES] = {3, 0, 5, 1};

static uint8_t idx[INDEX];

static void put(size_t at, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        idx[at + i] = (uint8_t)(value >> 8 * i);
    }
}

static void write_index(size_t bytes)
{
    write_file(test_path("set.idx"), idx, (uint32_t)bytes);
}

static int setup(void **state)
{
    int32_t tokens[TOKENS];
    test_folder_make(state);
    static const char magic[9] = "MMIDIDX";
    memcpy(idx, magic, sizeof(magic));
    put(9, 1, 8);  /* version */
    put(17, 4, 1); /* i32 */
    put(18, SEQUENCES, 8);
    put(26, SEQUENCES + 1, 8);
    for (unsigned i = 0, first = 0; i < SEQUENCES; first += lengths[i], i++) {
        put(HEAD + 4 * i, lengths[i], 4);
        put(HEAD + 4 * SEQUENCES + 8 * i, (uint64_t)4 * first, 8);
    }
    for (int i = 0; i < TOKENS; i++) {
        tokens[i] = 1000 * i;
    }
    write_file(test_path("set.bin"), tokens, sizeof(tokens));
    return 0;
}

TEST(sequences_by_either_file)
{
    static const int32_t tokens[TOKENS] = {0, 1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000};
    static const char *const names[] = {"set.bin", "set.idx"};
    write_index(INDEX);
    for (size_t i = 0; i < 2; i++) {
        sluice_dataset *dataset = dataset_opened(test_path("%s", names[i]));
        sluice_field field = SLUICE_FIELD_INIT;
        dataset_expect(dataset, "megatron", SEQUENCES - 1);
        assert_int_equal(sluice_dataset_get_field(dataset, 0, &field), SLUICE_OK);
        assert_string_equal(field.name, "tokens");
        assert_int_equal(field.dtype, SLUICE_I32);
        dataset_expect_bytes(dataset, 0, "tokens", tokens, 3 * sizeof(*tokens));
        dataset_expect_bytes(dataset, 1, "tokens", tokens + 3, 5 * sizeof(*tokens));
        dataset_expect_bytes(dataset, 2, "tokens", tokens + 8, 1 * sizeof(*tokens));
        sluice_dataset_close(dataset);
    }
}

/* All files of a folder are used, even if there are more than are examined to recognize the format.
 * A file that has only the format's name is left out. */
TEST(folders_of_many_files)
{
    enum { FILES = 70 };
    assert_int_equal(mkdir(test_path("many"), 0777), 0);
    write_file(test_path("many/part0.idx"), "no index", 8);
    for (int i = 0; i < FILES; i++) {
        const int32_t tokens[TOKENS] = {i};
        write_file(test_path("many/set%03d.idx", i), idx, INDEX);
        write_file(test_path("many/set%03d.bin", i), tokens, sizeof(tokens));
    }
    sluice_dataset *dataset = dataset_opened(test_path("many"));
    dataset_expect(dataset, "megatron", (uint64_t)FILES * (SEQUENCES - 1));
    for (int32_t i = 0; i < FILES; i++) {
        const int32_t first[3] = {i};
        dataset_expect_bytes(dataset, (uint64_t)i * (SEQUENCES - 1), "tokens", first,
                             sizeof(first));
    }
    sluice_dataset_close(dataset);
}

/* Sequences back to back, whose positions follow from their lengths, and with gaps, in files larger
 * than a block: each sequence is found and has the length that packing requests. */
TEST(sequences_with_and_without_gaps)
{
    enum { MANY = 300, ROOM = 4096 };
    assert_int_equal(mkdir(test_path("gaps"), 0777), 0);
    static uint8_t file[HEAD + MANY * 12 + 8];
    static uint8_t tokens[ROOM];
    static uint64_t read[2 * MANY];
    for (size_t i = 0; i < ROOM; i++) {
        tokens[i] = (uint8_t)(i * 7 + i / 256);
    }
    uint64_t offsets[2 * MANY];
    uint32_t sizes[2 * MANY];
    uint32_t count = 0;
    for (uint32_t gaps = 0; gaps < 2; gaps++) {
        uint64_t at = 0;
        memcpy(file, idx, HEAD);
        file[17] = 1; /* u8 */
        const uint64_t counts[2] = {MANY, 1};
        memcpy(file + 18, counts, sizeof(counts));
        for (uint32_t i = 0; i < MANY; i++) {
            const uint32_t size = i % 9 == 4 ? 0 : i % 13 + 1;
            at += gaps == 1 && i == 111 ? 5 : 0;
            memcpy(file + HEAD + (size_t)4 * i, &size, 4);
            memcpy(file + HEAD + (size_t)4 * MANY + (size_t)8 * i, &at, 8);
            if (size > 0) {
                offsets[count] = at;
                sizes[count++] = size;
            }
            at += size;
        }
        write_file(test_path("gaps/set%u.idx", gaps), file, sizeof(file));
        write_file(test_path("gaps/set%u.bin", gaps), tokens, ROOM);
    }
    sluice_dataset *dataset = dataset_opened(test_path("gaps"));
    dataset_expect(dataset, "megatron", count);
    assert_int_equal(sluice_dataset_read_lengths(dataset, "tokens", read, NULL, NULL), SLUICE_OK);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(read[i], sizes[i]);
        dataset_expect_bytes(dataset, i, "tokens", tokens + offsets[i], sizes[i]);
    }
    sluice_dataset_close(dataset);
}

TEST(indexes_that_are_cut_short)
{
    for (size_t bytes = HEAD; bytes < INDEX; bytes++) {
        write_index(bytes);
        dataset_refused(test_path("set.idx"), SLUICE_CORRUPT, "set.idx", "");
    }
}

TEST(indexes_that_lie)
{
    static const struct {
        size_t at, bytes;
        uint64_t value;
        sluice_status status;
    } wrong[] = {
        {9, 8, 2, SLUICE_UNSUPPORTED},
        {17, 1, 0, SLUICE_UNSUPPORTED},
        {17, 1, 99, SLUICE_UNSUPPORTED},
        {18, 8, UINT64_C(1) << 62, SLUICE_CORRUPT},
        {18, 8, SEQUENCES - 1, SLUICE_CORRUPT},
        {26, 8, UINT64_C(1) << 60, SLUICE_CORRUPT},
        {HEAD, 4, 0xffffffff, SLUICE_CORRUPT},
        {HEAD, 4, TOKENS + 1, SLUICE_CORRUPT},
        {HEAD + 4 * SEQUENCES, 8, UINT64_MAX - 1, SLUICE_CORRUPT},
        {HEAD + 4 * SEQUENCES + 24, 8, (uint64_t)4 * TOKENS, SLUICE_CORRUPT},
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        uint8_t good[INDEX];
        memcpy(good, idx, sizeof(good));
        put(wrong[i].at, wrong[i].value, wrong[i].bytes);
        write_index(INDEX);
        dataset_refused(test_path("set.idx"), wrong[i].status, "set.idx", "");
        memcpy(idx, good, sizeof(good));
    }
}

TEST_GROUP(setup, test_folder_remove)
