/* SPDX-License-Identifier: Apache-2.0 */
/* Compares run lengths with the output of COCO's own tool (tests/data/shapes) and with an encoder
 * that counts pixels; then tests hostile input.
 *
 *   shapes_run_lengths_test FILE     FILE: tests/data/shapes/coco_masks.txt */
#include "polygon_cases.h"
#include "run_lengths.h"
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIXELS = 1 << 16, LINE = 1 << 14 };

static const char *coco;
static uint32_t ends[PIXELS];
static uint8_t drawn[PIXELS], wanted[PIXELS];

/* Returns NULL, or why they are invalid. */
static const char *read_text(const char *text, double width, double height, sl_run_lengths *runs)
{
    sl_run_reader reader = {.ends = ends};
    const char *why = NULL;
    for (; why == NULL && *text != '\0'; text++)
        why = sl_run_reader_add_sign(&reader, (uint8_t)*text);
    why = why != NULL ? why : sl_run_reader_check(&reader, width, height);
    *runs = (sl_run_lengths){(uint32_t)width, (uint32_t)height, reader.count, ends};
    return why;
}

static void fill(const sl_run_lengths *runs)
{
    const sl_mask mask = {drawn, runs->width, runs->width, runs->height, 1, NULL, NULL};
    memset(drawn, 0, (size_t)runs->width * runs->height);
    sl_run_lengths_fill(runs, &mask);
}

static uint32_t next_number(char **at)
{
    return (uint32_t)strtoul(*at, at, 10);
}

/* ---- COCO's tool ---- */

static void check_line(char *at)
{
    sl_run_lengths runs;
    const uint32_t number = next_number(&at);
    const uint32_t width = next_number(&at);
    const uint32_t height = next_number(&at);
    const uint32_t area = next_number(&at);
    uint32_t box[4];
    for (int i = 0; i < 4; i++)
        box[i] = next_number(&at);
    const uint64_t hash = strtoull(at, &at, 16);
    const char *why = read_text(at + 1, width, height, &runs);
    if (why != NULL)
        fail_msg("%u: %s", number, why);
    const sl_rect found = sl_run_lengths_box(&runs);
    assert_int_equal(sl_run_lengths_area(&runs), area);
    assert_true(found.x == box[0] && found.y == box[1]);
    assert_true(found.width == box[2] && found.height == box[3]);
    fill(&runs);
    assert_int_equal(mask_hash(drawn, (size_t)width * height), hash);
}

TEST(texts_are_read_as_cocos_tool_wrote_them)
{
    static char line[LINE];
    FILE *file = fopen(coco, "r");
    uint32_t checked = 0;
    assert_non_null(file);
    while (fgets(line, sizeof(line), file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        char *at = strchr(line, ' ');
        if (strncmp(line, "cases ", 6) != 0) {
            check_line(at);
            checked++;
        }
    }
    assert_int_equal(checked, 260);
    (void)fclose(file);
}

/* ---- masks that are encoded here ---- */

/* Writes the lengths of runs as text by COCO's rule. */
static void encode(const uint32_t *lengths, uint32_t count, char *text)
{
    for (uint32_t i = 0; i < count; i++) {
        int64_t rest = (int64_t)lengths[i] - (i > 2 ? (int64_t)lengths[i - 2] : 0);
        bool more = true;
        while (more) {
            const int64_t group = ((rest % 32) + 32) % 32;
            rest = (rest - group) / 32;
            more = group >= 16 ? rest != -1 : rest != 0;
            *text++ = (char)('0' + group + (more ? 32 : 0));
        }
    }
    *text = '\0';
}

static uint32_t count_runs(const uint8_t *mask, uint32_t width, uint32_t height, uint32_t *lengths)
{
    uint32_t count = 0;
    uint8_t last = 0;
    lengths[0] = 0;
    for (uint32_t i = 0; i < width * height; i++) {
        const uint8_t now = mask[i % height * width + i / height];
        if (now != last)
            lengths[++count] = 0;
        last = now;
        lengths[count]++;
    }
    return count + 1;
}

static void make_noise(uint64_t *random, uint32_t width, uint32_t height)
{
    const uint64_t stay = 1 + split_mix(random) % 60;
    bool now = split_mix(random) % 2 != 0;
    for (uint32_t i = 0; i < width * height; i++) {
        now = now != (split_mix(random) % stay == 0);
        wanted[i % height * width + i / height] = now;
    }
}

static void check_box(sl_rect box, uint32_t width, uint32_t height, uint64_t area)
{
    uint64_t inside = 0;
    bool touched[4] = {false};
    for (uint32_t y = box.y; y < box.y + box.height; y++) {
        for (uint32_t x = box.x; x < box.x + box.width; x++) {
            const bool is = wanted[y * width + x] != 0;
            inside += is;
            touched[0] |= is && x == box.x;
            touched[1] |= is && y == box.y;
            touched[2] |= is && x + 1 == box.x + box.width;
            touched[3] |= is && y + 1 == box.y + box.height;
        }
    }
    assert_true(box.x + box.width <= width && box.y + box.height <= height);
    assert_int_equal(inside, area);
    assert_true(area == 0 ? box.width == 0 : touched[0] && touched[1] && touched[2] && touched[3]);
}

TEST(masks_come_back)
{
    enum { MASKS = 4000, SIDE = 90 };
    static uint32_t lengths[PIXELS];
    static char text[PIXELS];
    uint64_t random = 1;
    for (uint32_t i = 0; i < MASKS; i++) {
        sl_run_lengths runs;
        const uint32_t width = 1 + (uint32_t)(split_mix(&random) % SIDE);
        const uint32_t height = 1 + (uint32_t)(split_mix(&random) % SIDE);
        uint64_t area = 0;
        make_noise(&random, width, height);
        for (uint32_t k = 0; k < width * height; k++)
            area += wanted[k];
        encode(lengths, count_runs(wanted, width, height, lengths), text);
        assert_null(read_text(text, width, height, &runs));
        fill(&runs);
        assert_memory_equal(drawn, wanted, (size_t)width * height);
        assert_int_equal(sl_run_lengths_area(&runs), area);
        check_box(sl_run_lengths_box(&runs), width, height, area);
    }
}

/* Runs of 0 pixels, which COCO's tool writes only at the beginning. */
TEST(runs_may_be_empty)
{
    static const double lengths[] = {0, 0, 2, 0, 1, 2, 0, 0, 1};
    sl_run_reader reader = {.ends = ends};
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
        assert_null(sl_run_reader_add(&reader, lengths[i]));
    assert_null(sl_run_reader_check(&reader, 2, 3));
    const sl_run_lengths runs = {2, 3, reader.count, ends};
    static const uint8_t mask[6] = {0, 1, 0, 1, 0, 0}; /* two rows of pixels 3 and 4 of columns */
    fill(&runs);
    assert_memory_equal(drawn, mask, sizeof(mask));
    assert_int_equal(sl_run_lengths_area(&runs), 2);
    const sl_rect box = sl_run_lengths_box(&runs);
    assert_true(box.x == 1 && box.y == 0 && box.width == 1 && box.height == 2);
}

/* ---- sampling ---- */

/* The pixel's centre, moved: by the decoded mask. */
static uint8_t sample_of(const double m[9], const sl_run_lengths *runs, uint32_t x, uint32_t y)
{
    const double depth = m[6] * (x + .5) + m[7] * (y + .5) + m[8];
    const double u = (m[0] * (x + .5) + m[1] * (y + .5) + m[2]) / depth;
    const double v = (m[3] * (x + .5) + m[4] * (y + .5) + m[5]) / depth;
    if (depth <= 0 || u < 0 || v < 0 || u >= runs->width || v >= runs->height)
        return 7;
    return wanted[(uint32_t)v * runs->width + (uint32_t)u] != 0 ? 1 : 7;
}

TEST(samples_are_those_of_the_decoded_mask)
{
    enum { MASKS = 400, SIDE = 60, TO_WIDTH = 37, TO_HEIGHT = 41 };
    static uint32_t lengths[PIXELS];
    static char text[PIXELS];
    uint64_t random = 2;
    for (uint32_t i = 0; i < MASKS; i++) {
        sl_run_lengths runs;
        const uint32_t width = 1 + (uint32_t)(split_mix(&random) % SIDE);
        const uint32_t height = 1 + (uint32_t)(split_mix(&random) % SIDE);
        double matrix[9];
        for (int k = 0; k < 9; k++)
            matrix[k] = (double)(int64_t)(split_mix(&random) % 4001 - 2000) / 1000;
        matrix[2] *= 20;
        matrix[5] *= 20;
        matrix[6] /= i % 2 == 0 ? INFINITY : 50;
        matrix[7] /= i % 2 == 0 ? INFINITY : 50;
        matrix[8] = 1;
        make_noise(&random, width, height);
        encode(lengths, count_runs(wanted, width, height, lengths), text);
        assert_null(read_text(text, width, height, &runs));
        memset(drawn, 7, sizeof(drawn));
        sl_rect at;
        const sl_mask mask = {.pixels = drawn,
                              .stride_bytes = TO_WIDTH,
                              .width = TO_WIDTH,
                              .height = TO_HEIGHT,
                              .value = 1,
                              .drawn = &at};
        assert_int_equal(sl_run_lengths_sample(&runs, matrix, &mask, NULL), SLUICE_OK);
        for (uint32_t k = 0; k < TO_WIDTH * TO_HEIGHT; k++) {
            const uint32_t x = k % TO_WIDTH;
            const uint32_t y = k / TO_WIDTH;
            assert_int_equal(drawn[k], sample_of(matrix, &runs, x, y));
            assert_true(drawn[k] == 7 ||
                        (x >= at.x && x < at.x + at.width && y >= at.y && y < at.y + at.height));
        }
    }
}

enum { BOX_SIDE = 200, BOX_WIDTH = 90, BOX_HEIGHT = 70, BOX_COLUMNS = 8 };

/* A small object in a large mask: runs in eight columns from `left` on. */
static void make_runs(uint64_t *random, uint32_t left, uint32_t top, uint32_t *behind)
{
    for (size_t k = 0; k < BOX_COLUMNS; k++) {
        behind[2 * k] = (left + (uint32_t)k) * BOX_SIDE + top;
        behind[2 * k + 1] = behind[2 * k] + 1 + (uint32_t)(split_mix(random) % 8);
    }
    behind[(size_t)2 * BOX_COLUMNS] = BOX_SIDE * BOX_SIDE;
}

/* Every third matrix is affine; the centre of the output is at (left, top). */
static void make_matrix(uint64_t *random, bool affine, uint32_t left, uint32_t top,
                        double matrix[9])
{
    for (int k = 0; k < 9; k++)
        matrix[k] = (double)(int64_t)(split_mix(random) % 33 - 16) / (k < 6 ? 8 : 512);
    matrix[6] = affine ? 0 : matrix[6];
    matrix[7] = affine ? 0 : matrix[7];
    matrix[8] = 1;
    matrix[2] = left - matrix[0] * BOX_WIDTH / 2 - matrix[1] * BOX_HEIGHT / 2;
    matrix[5] = top - matrix[3] * BOX_WIDTH / 2 - matrix[4] * BOX_HEIGHT / 2;
}

/* True if the centre of output pixel (x, y) falls into a run. */
static bool is_covered(const double matrix[9], const uint32_t *behind, uint32_t left, uint32_t k)
{
    const double x = k % BOX_WIDTH + .5;
    const uint32_t row = k / BOX_WIDTH;
    const double y = row + .5;
    const double depth = matrix[6] * x + matrix[7] * y + matrix[8];
    const double u = (matrix[0] * x + matrix[1] * y + matrix[2]) / depth;
    const double v = (matrix[3] * x + matrix[4] * y + matrix[5]) / depth;
    if (!(depth > 0 && u >= left && u < left + BOX_COLUMNS && v >= 0 && v < BOX_SIDE)) {
        return false;
    }
    const uint32_t at = (uint32_t)u * BOX_SIDE + (uint32_t)v;
    const size_t column = (uint32_t)u - left;
    return at >= behind[2 * column] && at < behind[2 * column + 1];
}

/* A small object in a large mask, found by its position: rotated, enlarged, and under perspectives
 * whose horizon is near. Now and then, borders of its pixels fall on pixel centres of the
 * output. */
TEST(samples_of_a_box_are_all_that_there_are)
{
    enum { MASKS = 300 };
    static uint8_t drawn_to[BOX_WIDTH * BOX_HEIGHT];
    uint64_t random = 5;
    uint32_t covered = 0;
    for (uint32_t i = 0; i < MASKS; i++) {
        const uint32_t left = (uint32_t)(split_mix(&random) % (BOX_SIDE - 8));
        const uint32_t top = (uint32_t)(split_mix(&random) % (BOX_SIDE - 8));
        uint32_t behind[2 * BOX_COLUMNS + 1];
        make_runs(&random, left, top, behind);
        const sl_run_lengths runs = {BOX_SIDE, BOX_SIDE, 2 * BOX_COLUMNS + 1, behind};
        double matrix[9];
        make_matrix(&random, i % 3 == 0, left, top, matrix);
        const sl_mask mask = {drawn_to, BOX_WIDTH, BOX_WIDTH, BOX_HEIGHT, 1, NULL, NULL};
        memset(drawn_to, 0, sizeof(drawn_to));
        assert_int_equal(sl_run_lengths_sample(&runs, matrix, &mask, NULL), SLUICE_OK);
        for (uint32_t k = 0; k < BOX_WIDTH * BOX_HEIGHT; k++) {
            const bool in = is_covered(matrix, behind, left, k);
            assert_int_equal(drawn_to[k], in);
            covered += in;
        }
    }
    assert_true(covered > 10 * MASKS);
}

/* The budget is charged for the mask's box, not for the size it is drawn at. */
TEST(samples_are_charged)
{
    enum { SIDE = 1000 };
    static uint8_t drawn_to[SIDE * SIDE];
    const uint32_t behind[] = {500 * SIDE + 500, 500 * SIDE + 510, SIDE * SIDE};
    const sl_run_lengths runs = {SIDE, SIDE, 3, behind};
    const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    _Atomic bool stop = false;
    sl_work work = {.left = 100, .stop = &stop};
    sluice_error error;
    const sl_mask mask = {drawn_to, SIDE, SIDE, SIDE, 1, &work, NULL};
    assert_int_equal(sl_run_lengths_sample(&runs, identity, &mask, &error), SLUICE_OK);
    assert_true(work.left > 20 && work.left < 90);
    work.left = 10;
    assert_int_equal(sl_run_lengths_sample(&runs, identity, &mask, &error), SLUICE_UNSUPPORTED);
    assert_non_null(strstr(error.text, "too much work"));
    work.left = 100;
    atomic_store(&stop, true);
    assert_int_equal(sl_run_lengths_sample(&runs, identity, &mask, &error), SLUICE_CANCELED);
}

/* ---- hostile ones ---- */

static const struct {
    const char *text;
    double width, height;
    const char *words;
} bad[] = {
    {"6", 2, 2, "different numbers of pixels"},
    {"", 2, 2, "different numbers of pixels"},
    {"4", 0, 4, "size of its mask"},
    {"4", 4, -1, "size of its mask"},
    {"4", 1.5, 2, "size of its mask"},
    {"4", NAN, 2, "size of its mask"},
    {"0", 65536, 65536, "size of its mask"},
    {"0", 1e300, 1e-300, "size of its mask"},
    {"@", 2, 2, "negative"},
    {"00100O", 1, 1, "negative"},
    {"T", 2, 2, "ends inside"},
    {"PPPPPP0", 2, 2, "different numbers of pixels"},
    {"PPPPPPP0", 2, 2, "more than 32 bits"},
    {"oooooo?", 2, 2, "2^32 - 1 pixels"},
    {"4/", 2, 2, "run lengths cannot have"},
    {"4p", 2, 2, "run lengths cannot have"},
    {"4\x7f", 2, 2, "run lengths cannot have"},
    {"4\xff", 2, 2, "run lengths cannot have"},
};

TEST(bad_texts_are_refused)
{
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        sl_run_lengths runs;
        const char *why = read_text(bad[i].text, bad[i].width, bad[i].height, &runs);
        if (why == NULL || strstr(why, bad[i].words) == NULL)
            fail_msg("%zu: %s", i, why != NULL ? why : "accepted");
    }
}

TEST(bad_lengths_are_refused)
{
    static const double lengths[] = {-1, .5, -.5, NAN, INFINITY, -INFINITY, 4294967296.0, 1e300};
    sl_run_reader reader = {0};
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
        assert_non_null(sl_run_reader_add(&reader, lengths[i]));
    assert_null(sl_run_reader_add(&reader, 4294967295.0));
    assert_null(sl_run_reader_check(&reader, 65537, 65535));
    assert_non_null(sl_run_reader_add(&reader, 1));
}

/* The largest possible mask. None of it is decoded. */
TEST(a_claim_costs_nothing)
{
    sl_run_lengths runs;
    sl_run_reader reader = {.ends = ends};
    const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    const sl_mask mask = {.pixels = drawn, .stride_bytes = 8, .width = 8, .height = 8, .value = 1};
    assert_null(sl_run_reader_add(&reader, 65535));
    assert_null(sl_run_reader_add(&reader, 4294967295.0 - 65535));
    assert_null(sl_run_reader_check(&reader, 65537, 65535));
    runs = (sl_run_lengths){65537, 65535, reader.count, ends};
    assert_int_equal(sl_run_lengths_area(&runs), UINT32_MAX - 65535);
    memset(drawn, 0, sizeof(drawn));
    assert_int_equal(sl_run_lengths_sample(&runs, identity, &mask, NULL), SLUICE_OK);
    for (int i = 0; i < 64; i++)
        assert_int_equal(drawn[i], i % 8 > 0);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        (void)printf("usage: %s FILE\n", argv[0]);
        return 2;
    }
    coco = argv[1];
    return test_run(NULL, NULL);
}
