/* SPDX-License-Identifier: Apache-2.0 */
/* Tests tar archives through the public interface, opened by several threads, with and without
 * cached indexes: every sample once per epoch, from whichever archive. python/tests/test_tar.py
 * tests archives of other writers. */
#include "record_files.h"
#include "tar_make.h"
#include "test.h"
#include "test_folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static size_t put_text(uint8_t *to, unsigned label)
{
    memset(to, 'a' + (int)(label % 100), label);
    return label;
}

static size_t put_sample(uint8_t *to, unsigned label)
{
    char name[64];
    char number[16];
    char text[1024] = "";
    size_t at = 0;
    (void)put_text((uint8_t *)text, label);
    (void)snprintf(number, sizeof(number), "%u", label);
    (void)snprintf(name, sizeof(name), "%u-%u.cls", label / 100, label % 100);
    at += tar_put(to, name, number, strlen(number));
    (void)snprintf(name, sizeof(name), "%u-%u.txt", label / 100, label % 100);
    return at + tar_put(to + at, name, text, label);
}

static void check_key(const sluice_dataset *dataset, uint64_t index, unsigned label)
{
    char key[32];
    sluice_sample_info sample = SLUICE_SAMPLE_INFO_INIT;
    assert_int_equal(sluice_dataset_get_sample(dataset, index, &sample, NULL), SLUICE_OK);
    (void)snprintf(key, sizeof(key), "%u-%u", label / 100, label % 100);
    assert_string_equal(sample.key, key);
}

static record_files files = {.format = "tar",
                             .words = "tar archives",
                             .name = "set-%02u.tar",
                             .range = "set-{00..08}.tar",
                             .put = put_sample,
                             .put_end = tar_put_end,
                             .field = "txt",
                             .element = 1,
                             .payload = put_text,
                             .check = check_key};

static size_t put_link(uint8_t *to, const char *name, char type, const char *target)
{
    uint32_t sum = 0;
    const size_t bytes = tar_put(to, name, "", 0);
    to[156] = (uint8_t)type;
    (void)snprintf((char *)to + 157, 100, "%s", target);
    memset(to + 148, ' ', 8);
    for (size_t i = 0; i < TAR_BLOCK; i++) {
        sum += to[i];
    }
    (void)snprintf((char *)to + 148, 8, "%06o", sum & 0777777U);
    return bytes;
}

/* A link has the contents of its target: a hard link's is a path in the archive, a symbolic link's
 * a path from its own folder. Links that lead nowhere are missing from the dataset. */
static void links_stand_for_files(void **state)
{
    enum { HARD = '1', SYMBOLIC = '2' };
    static const struct {
        char type; /* 0: a file, whose contents `target` are */
        const char *name, *target, *contents;
    } members[] = {
        {0, "d/a.txt", "A", "A"},
        {HARD, "d/b.txt", "d/a.txt", "A"},
        {SYMBOLIC, "d/c.txt", "a.txt", "A"},
        {SYMBOLIC, "d/e.txt", "../d/c.txt", "A"}, /* a link to a link */
        {SYMBOLIC, "d/f.txt", "later.txt", "later"},
        {SYMBOLIC, "d/g.txt", "/d/a.txt", NULL},
        {SYMBOLIC, "d/h.txt", "../../a.txt", NULL},
        {SYMBOLIC, "d/i.txt", "i.txt", NULL},
        {HARD, "d/j.txt", "a.txt", NULL},
        {0, "d/later.txt", "later", "later"},
        /* "__name__" is in no sample, and occurs twice: a hard link means the one before it */
        {0, "__name__", "first", NULL},
        {HARD, "e/a.txt", "__name__", "first"},
        {SYMBOLIC, "e/b.txt", "../__name__", "last"},
        {0, "__name__", "last", NULL},
    };
    uint8_t file[40 * TAR_BLOCK];
    char text[16];
    size_t size = 0;
    uint64_t samples = 0;
    sluice_dataset *dataset = NULL;
    const char *path = test_path("links.tar");
    (void)state;
    for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++) {
        const char *target = members[i].target;
        size += members[i].type == 0
                    ? tar_put(file + size, members[i].name, target, strlen(target))
                    : put_link(file + size, members[i].name, members[i].type, target);
    }
    size += tar_put_end(file + size);
    write_file(path, file, (uint32_t)size);
    assert_int_equal(sluice_dataset_open(&dataset, &path, 1, NULL, NULL), SLUICE_OK);
    for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++) {
        size_t bytes = 0;
        sluice_sample_info sample = SLUICE_SAMPLE_INFO_INIT;
        if (members[i].contents == NULL) {
            continue;
        }
        assert_int_equal(sluice_dataset_get_sample(dataset, samples, &sample, NULL), SLUICE_OK);
        assert_int_equal(strncmp(members[i].name, sample.key, strlen(sample.key)), 0);
        assert_int_equal(
            sluice_dataset_read(dataset, samples, "txt", text, sizeof(text), &bytes, NULL),
            SLUICE_OK);
        assert_int_equal(bytes, strlen(members[i].contents));
        assert_memory_equal(text, members[i].contents, bytes);
        samples++;
    }
    sluice_dataset_info info = SLUICE_DATASET_INFO_INIT;
    assert_int_equal(sluice_dataset_get_info(dataset, &info), SLUICE_OK);
    assert_int_equal(info.samples, samples);
    sluice_dataset_close(dataset);
    assert_int_equal(unlink(path), 0);
}

/* The checksum covers all bytes of the header, taken as signed or unsigned. */
static void sums_of_whole_headers(void **state)
{
    static const struct {
        size_t at;
        uint8_t byte;
        bool is_signed, good;
    } cases[] = {
        {500, 1, false, true},  {511, 1, false, true},  {511, 200, false, true},
        {511, 200, true, true}, {511, 100, true, true}, /* the same either way */
        {511, 1, false, false},
    };
    (void)state;
    (void)mkdir(test_path("sums"), 0700);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        uint8_t file[8 * TAR_BLOCK];
        char sum[8];
        sluice_dataset *dataset = NULL;
        sluice_error error = SLUICE_ERROR_INIT;
        const char *path = test_path("sums/a.tar");
        size_t size = tar_put(file, "a.txt", "x", 1);
        size += tar_put_end(file + size);
        const int added =
            cases[i].is_signed && cases[i].byte > 127 ? cases[i].byte - 256 : cases[i].byte;
        file[cases[i].at] = cases[i].byte;
        memcpy(sum, file + 148, 6);
        sum[6] = '\0';
        const unsigned wanted = (unsigned)((int)strtoul(sum, NULL, 8) + added);
        if (cases[i].good) {
            (void)snprintf((char *)file + 148, 8, "%06o", wanted & 0777777U);
        }
        write_file(path, file, (uint32_t)size);
        assert_int_equal(sluice_dataset_open(&dataset, &path, 1, NULL, &error),
                         cases[i].good ? SLUICE_OK : SLUICE_CORRUPT);
        sluice_dataset_close(dataset);
    }
    remove_tree(test_path("sums"));
}

/* Octal numbers as tars write them: between blanks or zeros, or filling the field. */
static void numbers_of_headers(void **state)
{
    enum { SIZE = 124, SIZE_BYTES = 12 };
    static const struct {
        char size[SIZE_BYTES + 1];
        bool good;
    } cases[] = {
        {"00000000003", true},   {"00000000003 ", true}, {"000000000003", true},
        {"          3 ", true},  {"3 ", true},           {"3", true},
        {"3x", false},           {"00000000008", false}, {"-3", false},
        {"00000000003x", false},
    };
    (void)state;
    (void)mkdir(test_path("numbers"), 0700);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        uint8_t file[8 * TAR_BLOCK];
        char text[8] = "";
        unsigned sum = 0;
        size_t bytes = 0;
        sluice_dataset *dataset = NULL;
        sluice_error error = SLUICE_ERROR_INIT;
        const char *path = test_path("numbers/a.tar");
        size_t size = tar_put(file, "a.txt", "abc", 3);
        size += tar_put_end(file + size);
        memcpy(file + SIZE, cases[i].size, SIZE_BYTES);
        file[SIZE + SIZE_BYTES] = '1'; /* of the time, which follows */
        memset(file + 148, ' ', 8);
        for (size_t k = 0; k < TAR_BLOCK; k++) {
            sum += file[k];
        }
        (void)snprintf((char *)file + 148, 8, "%06o", sum & 0777777U);
        write_file(path, file, (uint32_t)size);
        assert_int_equal(sluice_dataset_open(&dataset, &path, 1, NULL, &error),
                         cases[i].good ? SLUICE_OK : SLUICE_CORRUPT);
        if (cases[i].good) {
            assert_int_equal(
                sluice_dataset_read(dataset, 0, "txt", text, sizeof(text), &bytes, &error),
                SLUICE_OK);
            assert_int_equal(bytes, 3);
        }
        sluice_dataset_close(dataset);
    }
    remove_tree(test_path("numbers"));
}

/* POSIX: a name in a separate header, whose records state their length. */
static void names_of_extended_headers(void **state)
{
    static const char line[] = "17 path=long.txt\n";
    uint8_t file[8 * TAR_BLOCK];
    char text[8] = "";
    unsigned sum = 0;
    size_t bytes = 0;
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_sample_info sample = SLUICE_SAMPLE_INFO_INIT;
    (void)state;
    size_t size = tar_put(file, "PaxHeader", line, sizeof(line) - 1);
    file[156] = 'x';
    memset(file + 148, ' ', 8);
    for (size_t k = 0; k < TAR_BLOCK; k++) {
        sum += file[k];
    }
    (void)snprintf((char *)file + 148, 8, "%06o", sum & 0777777U);
    size += tar_put(file + size, "short.bin", "abc", 3);
    size += tar_put_end(file + size);
    (void)mkdir(test_path("extended"), 0700);
    write_file(test_path("extended/a.tar"), file, (uint32_t)size);
    sluice_dataset *dataset = record_open("extended", NULL);
    assert_int_equal(sluice_dataset_get_sample(dataset, 0, &sample, NULL), SLUICE_OK);
    assert_string_equal(sample.key, "long");
    assert_int_equal(sluice_dataset_read(dataset, 0, "txt", text, sizeof(text), &bytes, &error),
                     SLUICE_OK);
    assert_int_equal(bytes, 3);
    sluice_dataset_close(dataset);
    remove_tree(test_path("extended"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RECORD_TEST(records_walked_and_from_an_index, &files),
        cmocka_unit_test(links_stand_for_files),
        cmocka_unit_test(sums_of_whole_headers),
        cmocka_unit_test(numbers_of_headers),
        cmocka_unit_test(names_of_extended_headers),
        RECORD_TEST(records_once_in_an_epoch, &files),
        RECORD_TEST(records_first_bad_file_is_told, &files),
    };
    record_files_begin(&files);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    record_files_end();
    return failed;
}
