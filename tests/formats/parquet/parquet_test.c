/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests Parquet files through the public interface, from files assembled here and from another
 * library: encodings, codecs and layouts of pages; several files; which bytes are read from disk;
 * damage. test_parquet.py (Python) covers more kinds of columns and lists of images.
 *
 *   parquet_test FOLDER   python/tests/foreign, whose README.md says what made the files
 */
#include "dataset_checks.h"
#include "epochs.h"
#include "json_file.h"
#include "parquet_make.h"
#include "row_model.h"
#include "test_folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { GROUPS = 3, ROWS = 21, ALL = GROUPS * ROWS };

static const char *foreign; /* the folder */

static void write_rows(const char *name, const parquet_options *options)
{
    parquet_made file;
    parquet_make(&file, options);
    write_file(test_path("%s", name), file.data, (uint32_t)file.size);
    parquet_free(&file);
}

typedef struct found {
    uint64_t count;
    sluice_error last;
} found;

static void note(void *user, const sluice_error *finding)
{
    found *all = user;
    all->count++;
    all->last = *finding;
}

static found findings_of(const sluice_dataset *dataset)
{
    found all = {0};
    sluice_verify_options options = {
        .struct_size = sizeof(options), .workers = 1, .on_finding = note, .user = &all};
    sluice_verify_result result = SLUICE_VERIFY_RESULT_INIT;
    assert_int_equal(sluice_dataset_verify(dataset, &options, &result, NULL), SLUICE_OK);
    return all;
}

static void check_info(const sluice_dataset *dataset, uint64_t samples)
{
    static const struct {
        const char *name;
        int32_t type;
    } fields[] = {{"image", SLUICE_FIELD_BYTES},
                  {"label", SLUICE_FIELD_INT},
                  {"word", SLUICE_FIELD_TEXT},
                  {"list", SLUICE_FIELD_TENSOR},
                  {"pair", SLUICE_FIELD_TENSOR}};
    sluice_dataset_info info = SLUICE_DATASET_INFO_INIT;
    assert_int_equal(sluice_dataset_get_info(dataset, &info), SLUICE_OK);
    assert_string_equal(info.format, "parquet");
    assert_int_equal(info.samples, samples);
    assert_int_equal(info.fields, 5);
    assert_int_equal(info.classes, 3);
    assert_string_equal(sluice_dataset_class_name(dataset, 2), "cat");
    for (uint32_t i = 0; i < info.fields; i++) {
        sluice_field field = SLUICE_FIELD_INIT;
        assert_int_equal(sluice_dataset_get_field(dataset, i, &field), SLUICE_OK);
        assert_string_equal(field.name, fields[i].name);
        assert_int_equal(field.type, fields[i].type);
    }
}

/* ---- layouts ---- */

#define LAYOUT(...)                                 \
    &(parquet_options)                              \
    {                                               \
        .groups = GROUPS, .rows = ROWS, __VA_ARGS__ \
    }

/* Reads from first row to last, then back: unpacked pages may be kept. */
static void every_row_is_read(void **state)
{
    write_rows("a.parquet", *state);
    sluice_dataset *dataset = dataset_opened(test_path("a.parquet"));
    check_info(dataset, ALL);
    for (unsigned i = 0; i < ALL; i++) {
        row_check(dataset, i, i, ROW_IMAGE);
    }
    for (unsigned i = ALL; i-- > 0;) {
        row_check(dataset, i, i, ROW_IMAGE);
    }
    assert_int_equal(findings_of(dataset).count, 0);
    sluice_dataset_close(dataset);
    assert_int_equal(unlink(test_path("a.parquet")), 0);
}

/* ---- several files, epochs ---- */

static void look_at_pair(int64_t row, const uint8_t *bytes, size_t size)
{
    const float wanted[2] = {(float)row, -(float)row};
    assert_int_equal(size, sizeof(wanted));
    assert_memory_equal(bytes, wanted, sizeof(wanted));
}

/* The columns of a file are one of these, whichever encoding and codec it has. */
static void several_files_in_an_epoch(void **state)
{
    enum { FILES = 4, MOST = FILES * ALL };
    static const parquet_options layouts[FILES] = {
        {.codec = PARQUET_ZSTD, .page_rows = 4},
        {.encoding = PARQUET_DICTIONARY},
        {.encoding = PARQUET_DELTA, .version2 = true, .codec = PARQUET_SNAPPY},
        {.page_rows = 1}};
    for (unsigned i = 0; i < FILES; i++) {
        parquet_options options = layouts[i];
        char name[32];
        options.groups = GROUPS;
        options.rows = ROWS;
        options.first = i * ALL;
        (void)snprintf(name, sizeof(name), "train-%05u.parquet", i);
        write_rows(name, &options);
    }
    sluice_dataset *dataset = dataset_opened(test_folder());
    check_info(dataset, MOST);
    for (unsigned i = 0; i < MOST; i++) {
        row_check(dataset, i, i, ROW_IMAGE);
    }
    const epochs what = {
        .keys = MOST, .column = "pair", .most = 2, .element = sizeof(float), .look = look_at_pair};
    epochs_run(&what, dataset);
    test_folder_remove(NULL);
    test_folder_make(NULL);
}

/* ---- large columns ---- */

enum { LARGE = 40000 };

/* The images stay in the file: a sample is a position there, either of a page's bytes or of the
 * page. */
static void a_large_column_is_read_from_disk(void **state)
{
    parquet_options options = **(parquet_options **)state;
    parquet_made file;
    options.image = LARGE;
    parquet_make(&file, &options);
    write_file(test_path("a.parquet"), file.data, (uint32_t)file.size);
    sluice_dataset *dataset = dataset_opened(test_path("a.parquet"));
    const bool as_stored = options.codec == PARQUET_STORED && options.encoding == PARQUET_PLAIN;
    for (unsigned i = 0; i < ALL; i++) {
        sluice_sample_info info = SLUICE_SAMPLE_INFO_INIT;
        row_check(dataset, i, i, LARGE);
        assert_int_equal(sluice_dataset_get_sample(dataset, i, &info, NULL), SLUICE_OK);
        assert_string_equal(info.file, test_path("a.parquet"));
        assert_int_equal(info.label, row_has_label(i) ? (int64_t)i % 3 : -1);
        assert_true(info.offset + info.bytes <= file.footer);
        if (as_stored && row_has_image(i)) { /* a length of 4 bytes, and that many */
            assert_int_equal(info.bytes, 4 + LARGE + i);
            assert_int_equal(file.data[info.offset + 4], i);
            assert_int_equal(file.data[info.offset + info.bytes - 1], i);
        }
    }
    sluice_dataset_close(dataset);
    parquet_free(&file);
}

/* ---- files of another library ---- */

/* Converts a value of the JSON that describes the files: {"hex": ...}, a text, or null. */
static size_t bytes_of(const json_t *value, uint8_t *to, size_t capacity)
{
    const char *hex = json_is_object(value) ? sl_json_text(value, "hex") : NULL;
    if (hex == NULL) {
        const char *text = json_is_string(value) ? json_string_value(value) : "";
        assert_true(strlen(text) <= capacity);
        memcpy(to, text, strlen(text)); /* NOLINT(bugprone-not-null-terminated-result): bytes */
        return strlen(text);
    }
    for (size_t i = 0; hex[2 * i] != '\0'; i++) {
        const char digits[3] = {hex[2 * i], hex[2 * i + 1], '\0'};
        assert_true(i < capacity);
        to[i] = (uint8_t)strtoul(digits, NULL, 16);
    }
    return strlen(hex) / 2;
}

/* Bytes, a number or nothing; "ratio" has fractional numbers. */
static void expect_field(const sluice_dataset *dataset, uint64_t row, const char *field,
                         const json_t *wanted)
{
    uint8_t read[1024];
    uint8_t bytes[1024];
    size_t size = 0;
    sluice_error error = SLUICE_ERROR_INIT;
    if (sluice_dataset_read(dataset, row, field, read, sizeof(read), &size, &error) != SLUICE_OK) {
        fail_msg("\"%s\" of row %llu: %s", field, (unsigned long long)row, error.text);
    }
    if (json_is_number(wanted)) {
        double real = 0;
        int64_t whole = 0;
        const bool is_real = strcmp(field, "ratio") == 0;
        assert_int_equal(size, 8);
        memcpy(is_real ? (void *)&real : (void *)&whole, read, 8);
        assert_true(real + (double)whole == json_number_value(wanted));
    } else {
        assert_int_equal(size, bytes_of(wanted, bytes, sizeof(bytes)));
        assert_memory_equal(read, bytes, size);
    }
}

static void expect_row(const sluice_dataset *dataset, const json_t *columns, size_t row)
{
    static const char *const plain[] = {"id", "small", "label", "ratio", "text", "data"};
    for (size_t i = 0; i < sizeof(plain) / sizeof(*plain); i++) {
        expect_field(dataset, row, plain[i],
                     json_array_get(json_object_get(columns, plain[i]), row));
    }
    const json_t *image = json_array_get(json_object_get(columns, "image"), row);
    const json_t *images = json_array_get(json_object_get(columns, "images"), row);
    expect_field(dataset, row, "image", sl_json_member(image, "bytes"));
    for (size_t k = 0; k < 3; k++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "images.%zu", k);
        expect_field(dataset, row, name, sl_json_member(json_array_get(images, k), "bytes"));
    }
}

static void another_librarys_file(void **state)
{
    char path[600];
    const char *given = path;
    sl_json_tree tree = {0};
    sluice_dataset *dataset = NULL;
    sluice_dataset_info info = SLUICE_DATASET_INFO_INIT;
    sluice_error error = SLUICE_ERROR_INIT;
    (void)snprintf(path, sizeof(path), "%s/rust_%s.parquet", foreign, *(const char *const *)*state);
    const sluice_status status = sluice_dataset_open(&dataset, &given, 1, NULL, &error);
    if (status == SLUICE_UNSUPPORTED && strstr(error.text, "built without") != NULL) {
        print_message("skipped: %s\n", error.text);
        skip();
    }
    if (status != SLUICE_OK) {
        fail_msg("%s", error.text);
    }
    (void)snprintf(path, sizeof(path), "%s/arrowjs_file.json", foreign);
    assert_int_equal(sl_json_load(&tree, path, NULL), SLUICE_OK);
    assert_int_equal(sluice_dataset_get_info(dataset, &info), SLUICE_OK);
    assert_int_equal(info.samples, 60);
    for (size_t row = 0; row < info.samples; row++) {
        expect_row(dataset, json_object_get(tree.root, "columns"), row);
    }
    sl_json_drop(&tree);
    sluice_dataset_close(dataset);
}

/* ---- damage ---- */

static const parquet_options small = {.groups = 2,
                                      .rows = 6,
                                      .page_rows = 4,
                                      .encoding = PARQUET_PLAIN,
                                      .crc = true};

/* A file that is in no folder, since the test writes thousands of them in turn. */
static const char *bad_file(const uint8_t *data, size_t size)
{
    static int memory = -1;
    static char path[64];
    if (memory < 0) {
        memory = memfd_create("parquet", MFD_CLOEXEC);
        assert_true(memory >= 0);
        (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", memory);
    }
    assert_int_equal(ftruncate(memory, 0), 0);
    assert_int_equal(pwrite(memory, data, size, 0), size);
    return path;
}

/* Checks that opening returns CORRUPT and names a position in this file. */
static void expect_corrupt(const uint8_t *data, size_t size)
{
    const char *path = test_path("bad.parquet"); /* recognized by its name, if not by its bytes */
    if (size < 4) {
        write_file(path, data, (uint32_t)size);
    } else {
        path = bad_file(data, size);
    }
    sluice_dataset *dataset = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(sluice_dataset_open(&dataset, &path, 1, NULL, &error), SLUICE_CORRUPT);
    assert_null(dataset);
    assert_string_equal(error.file, path);
    assert_true(error.offset <= (int64_t)size);
    assert_true(error.text[0] != '\0');
}

static void cut_short_anywhere(void **state)
{
    parquet_made file;
    parquet_make(&file, &small);
    for (size_t size = 0; size < file.size; size += TEST_AMOUNTS(1, 3, 31)) {
        expect_corrupt(file.data, size);
    }
    parquet_free(&file);
}

static void footers_that_are_not_there(void **state)
{
    parquet_made file;
    parquet_make(&file, &small);
    uint8_t *length = file.data + file.size - 8;
    const uint32_t good = (uint32_t)(file.size - 8 - file.footer);
    const uint32_t wrong[] = {0, 1, good - 1, good + 1, good / 2, (uint32_t)file.size, UINT32_MAX};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        for (unsigned byte = 0; byte < 4; byte++) {
            length[byte] = (uint8_t)(wrong[i] >> 8 * byte);
        }
        expect_corrupt(file.data, file.size);
    }
    parquet_free(&file);
}

/* Reads everything: readable values must belong to their row, the others need a reason. Returns the
 * number of errors. */
static unsigned read_all(const char *path)
{
    static const char *const fields[] = {"image", "label", "word", "list", "pair"};
    unsigned errors = 0;
    sluice_dataset *dataset = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    if (sluice_dataset_open(&dataset, &path, 1, NULL, &error) != SLUICE_OK) {
        assert_true(error.text[0] != '\0');
        return 1;
    }
    for (uint64_t i = 0; i < (uint64_t)small.groups * small.rows; i++) {
        for (size_t f = 0; f < sizeof(fields) / sizeof(*fields); f++) {
            uint8_t read[256];
            size_t size;
            if (sluice_dataset_read(dataset, i, fields[f], read, sizeof(read), &size, &error) !=
                SLUICE_OK) {
                assert_true(error.text[0] != '\0');
                errors++;
            }
        }
    }
    errors += findings_of(dataset).count > 0;
    sluice_dataset_close(dataset);
    return errors;
}

static void flip_and_read(parquet_made *file, const parquet_page *page)
{
    const size_t begin = page->at + page->header;
    for (size_t at = begin; at < begin + page->bytes; at += TEST_AMOUNTS(1, 7, 61)) {
        file->data[at] ^= (uint8_t)(1U << at % 8);
        if (read_all(bad_file(file->data, file->size)) == 0) {
            fail_msg("byte %zu, of leaf %u, was not noticed", at, page->leaf);
        }
        file->data[at] ^= (uint8_t)(1U << at % 8);
    }
}

/* Every byte of the pages is covered by a checksum; at the latest, verify checks it. The paths'
 * pages are excluded: they are not a field. */
static void every_flipped_byte_of_a_page_is_noticed(void **state)
{
    parquet_made file;
    parquet_make(&file, &small);
    for (uint32_t p = 0; p < file.page_count; p++) {
        if (file.pages[p].leaf != PARQUET_PATH) {
            flip_and_read(&file, &file.pages[p]);
        }
    }
    assert_int_equal(read_all(bad_file(file.data, file.size)), 0);
    parquet_free(&file);
}

/* Headers and the footer have no checksum: a change there is an error or harmless. */
static void flips_elsewhere_do_no_harm(void **state)
{
    parquet_made file;
    unsigned noticed = 0;
    parquet_make(&file, &small);
    for (size_t at = 0; at < file.size; at += TEST_AMOUNTS(1, 3, 31)) {
        file.data[at] ^= (uint8_t)(1U << at % 8);
        if (at >= file.footer || at < file.pages[4].at) {
            noticed += read_all(bad_file(file.data, file.size)) > 0;
        }
        file.data[at] ^= (uint8_t)(1U << at % 8);
    }
    assert_true(noticed > TEST_AMOUNTS(300, 100, 5));
    parquet_free(&file);
}

static void a_checksum_that_is_wrong_is_found(void **state)
{
    parquet_made file;
    parquet_make(&file, &small);
    const parquet_page *page = &file.pages[0];
    assert_int_equal(page->leaf, PARQUET_IMAGE);
    file.data[page->at + page->header + page->bytes - 1] ^= 1; /* a byte of an image */
    sluice_dataset *dataset = dataset_opened(bad_file(file.data, file.size));
    const found all = findings_of(dataset);
    assert_int_equal(all.count, 1);
    assert_int_equal(all.last.status, SLUICE_CORRUPT);
    assert_non_null(strstr(all.last.file, "/fd/"));
    assert_in_range(all.last.offset, page->at, page->at + page->header);
    assert_non_null(strstr(all.last.text, "checksum"));
    sluice_dataset_close(dataset);
    parquet_free(&file);
}

/* Reads everything in a process of its own. True if an error was found and little memory was
 * used. */
static bool is_noticed_for_little(const char *path)
{
    enum { KIB_MOST = 48 << 10 };
    int status = 0;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct rusage usage;
        (void)getrusage(RUSAGE_SELF, &usage);
        const long before = usage.ru_maxrss;
        const unsigned errors = read_all(path);
        (void)getrusage(RUSAGE_SELF, &usage);
        _exit(errors > 0 && usage.ru_maxrss - before < KIB_MOST ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Counts of bytes, values, rows and groups that do not exist. */
static void claims_are_noticed_for_little(void **state)
{
    static const int64_t claims[] = {0, 1, 1000, 100000000, INT32_MAX, -1};
    static const unsigned liars[] = {PARQUET_IMAGE, PARQUET_LABEL, PARQUET_LIST};
    enum { CLAIMS = sizeof(claims) / sizeof(*claims), LIARS = sizeof(liars) / sizeof(*liars) };
    for (unsigned i = 0; i < (PARQUET_CLAIMS - 1) * CLAIMS * LIARS; i += TEST_AMOUNTS(1, 5, 29)) {
        const parquet_claim claim = (parquet_claim)(1 + i / (CLAIMS * LIARS));
        parquet_made file;
        parquet_options options = small;
        options.crc = false;
        options.encoding = claim == PARQUET_CLAIM_ENTRIES ? PARQUET_DICTIONARY : PARQUET_PLAIN;
        options.codec = claim == PARQUET_CLAIM_RAW ? PARQUET_ZSTD : PARQUET_STORED;
        options.claim = claim;
        options.claimed = claims[i / LIARS % CLAIMS];
        options.liar = liars[i % LIARS];
        parquet_make(&file, &options);
        if (!is_noticed_for_little(bad_file(file.data, file.size))) {
            fail_msg("claim %d of %lld by leaf %u", (int)claim, (long long)options.claimed,
                     options.liar);
        }
        parquet_free(&file);
    }
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        return 2;
    }
    foreign = argv[1];
    const struct CMUnitTest tests[] = {
        {"plain", every_row_is_read, NULL, NULL, LAYOUT(.crc = true)},
        {"plain, version 2", every_row_is_read, NULL, NULL,
         LAYOUT(.version2 = true, .page_rows = 5)},
        {"packed levels", every_row_is_read, NULL, NULL, LAYOUT(.packed = true, .page_rows = 8)},
        {"a row a page", every_row_is_read, NULL, NULL, LAYOUT(.page_rows = 1)},
        {"dictionaries", every_row_is_read, NULL, NULL,
         LAYOUT(.encoding = PARQUET_DICTIONARY, .page_rows = 6)},
        {"old dictionaries, packed", every_row_is_read, NULL, NULL,
         LAYOUT(.encoding = PARQUET_OLD_DICTIONARY, .packed = true)},
        {"dictionaries, version 2, zstd", every_row_is_read, NULL, NULL,
         LAYOUT(.encoding = PARQUET_DICTIONARY, .version2 = true, .codec = PARQUET_ZSTD)},
        {"deltas", every_row_is_read, NULL, NULL, LAYOUT(.encoding = PARQUET_DELTA)},
        {"deltas, version 2, gzip", every_row_is_read, NULL, NULL,
         LAYOUT(.encoding = PARQUET_DELTA, .version2 = true, .codec = PARQUET_GZIP,
                .page_rows = 7)},
        {"snappy", every_row_is_read, NULL, NULL, LAYOUT(.codec = PARQUET_SNAPPY, .page_rows = 9)},
        {"snappy, version 2", every_row_is_read, NULL, NULL,
         LAYOUT(.codec = PARQUET_SNAPPY, .version2 = true)},
        {"gzip", every_row_is_read, NULL, NULL, LAYOUT(.codec = PARQUET_GZIP, .page_rows = 10)},
        {"zstd", every_row_is_read, NULL, NULL, LAYOUT(.codec = PARQUET_ZSTD, .crc = true)},
        cmocka_unit_test(several_files_in_an_epoch),
        {"large, stored", a_large_column_is_read_from_disk, NULL, NULL, LAYOUT(.page_rows = 5)},
        {"large, packed", a_large_column_is_read_from_disk, NULL, NULL,
         LAYOUT(.codec = PARQUET_SNAPPY, .page_rows = 3)},
        {"large, dictionary", a_large_column_is_read_from_disk, NULL, NULL,
         LAYOUT(.encoding = PARQUET_DICTIONARY, .page_rows = 6, .version2 = true)},
        {"arrow-rs, stored", another_librarys_file, NULL, NULL, &(const char *){"plain"}},
        {"arrow-rs, snappy", another_librarys_file, NULL, NULL, &(const char *){"snappy"}},
        {"arrow-rs, gzip", another_librarys_file, NULL, NULL, &(const char *){"gzip"}},
        {"arrow-rs, zstd", another_librarys_file, NULL, NULL, &(const char *){"zstd"}},
        {"arrow-rs, brotli", another_librarys_file, NULL, NULL, &(const char *){"brotli"}},
        {"arrow-rs, LZ4", another_librarys_file, NULL, NULL, &(const char *){"lz4_raw"}},
        cmocka_unit_test(cut_short_anywhere),
        cmocka_unit_test(footers_that_are_not_there),
        cmocka_unit_test(every_flipped_byte_of_a_page_is_noticed),
        cmocka_unit_test(flips_elsewhere_do_no_harm),
        cmocka_unit_test(a_checksum_that_is_wrong_is_found),
        cmocka_unit_test(claims_are_noticed_for_little),
    };
    test_folder_make(NULL);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    test_folder_remove(NULL);
    return failed;
}
