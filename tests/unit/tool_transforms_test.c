/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares docs/transforms.md with the library: the page lists each step with its arguments and
 * defaults, its examples in C equal those of the command line, and their pixels are those of the
 * committed sheet tests/data/steps.png: the image, then a tile for each example.
 *
 *     tool_transforms_test SCENES PAGE SHEET [write]
 *
 * SCENES is tests/data/scenes: two images painted by bench/photos (--count 48 --classes 12, from
 * the eighth and third class), cropped to 224 x 224 and paler, 24 + 0.75 v. The second is for steps
 * that mix images. "write" renews the sheet.
 */
#include "test.h"

#include "../../tools/sluice/common/augment_text.h"

#include <sluice/dataset.h>
#include <sluice/loader.h>

#include <math.h>
#include <png.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FRAME = 240, /* size of the central part shown; the sheet has it at a third */
    TILE = 80,
    TILE_BYTES = TILE * TILE * 3,
    COLUMNS = 7,
    GAP = 8,
    CELL = TILE + GAP,
    EPOCH = 5, /* the epoch whose draws show the most */
    EXAMPLES_MAX = 64,
    NAME_BYTES = 48,
    TEXT_BYTES = 256
};

typedef struct example {
    char name[NAME_BYTES];
    char command[TEXT_BYTES]; /* as after --augment */
    char code[TEXT_BYTES];    /* "name", numbers; or more */
    uint8_t tile[TILE_BYTES];
} example;

static const char *scenes, *page_path, *sheet_path;
static char *page;
static example examples[EXAMPLES_MAX];
static size_t example_count;
static uint8_t plain[TILE_BYTES];

/* ---- the page ---- */

static char *read_page(const char *path)
{
    static char text[1 << 17];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    const size_t length = fread(text, 1, sizeof(text) - 1, file);
    assert_true(length < sizeof(text) - 1);
    fclose(file);
    text[length] = '\0';
    return text;
}

/* Returns cell `number` of a table row, without its backquotes. */
static bool take_cell(const char *row, size_t number, char *cell, size_t bytes)
{
    for (size_t i = 0; i < number; i++) {
        row = strstr(row, " | ");
        if (row == NULL) {
            return false;
        }
        row += 2;
    }
    const char *begin = row + strspn(row, "| `");
    const char *line = strchr(begin, '\n');
    const char *end = strstr(begin, " |");
    if (line == NULL || end == NULL || end > line) {
        return false;
    }
    end -= end > begin && end[-1] == '`';
    assert_true((size_t)(end - begin) < bytes);
    memcpy(cell, begin, (size_t)(end - begin));
    cell[end - begin] = '\0';
    return true;
}

/* Also takes the arguments in the rows below that have no name: they continue this row. */
static bool take_arguments(const char *row, char *text, size_t bytes)
{
    bool fine = take_cell(row, 1, text, bytes);
    for (row = strchr(row, '\n'); fine && row != NULL && strncmp(row, "\n| | ", 5) == 0;
         row = strchr(row + 1, '\n')) {
        const size_t used = strlen(text);
        assert_true(used + 1 < bytes);
        text[used] = ' ';
        fine = take_cell(row + 1, 1, text + used + 1, bytes - used - 1);
    }
    return fine;
}

static void take_examples(void)
{
    const char *row = strstr(page, "\n| step | on the command line | in C | in Python |");
    assert_non_null(row);
    row = strchr(strchr(row + 1, '\n') + 1, '\n') + 1;
    for (; strncmp(row, "| `", 3) == 0; row = strchr(row, '\n') + 1) {
        example *e = &examples[example_count++];
        assert_true(example_count <= EXAMPLES_MAX);
        assert_true(take_cell(row, 0, e->name, sizeof(e->name)));
        assert_true(take_cell(row, 1, e->command, sizeof(e->command)));
        assert_true(take_cell(row, 2, e->code, sizeof(e->code)));
    }
}

static const example *find_example(const char *name)
{
    for (size_t i = 0; i < example_count; i++) {
        if (strcmp(examples[i].name, name) == 0) {
            return &examples[i];
        }
    }
    return NULL;
}

/* ---- pictures ---- */

static void add(sluice_augment *recipe, const char *name, double width, double height)
{
    const double size[2] = {width, height};
    assert_int_equal(sluice_augment_add(recipe, name, size, 2), SLUICE_OK);
}

/* Converts normalised float pixels, between -2.12 and 2.64, to bytes. */
static uint8_t byte_of(float value)
{
    return (uint8_t)lrintf(fminf(fmaxf(53.5F * (value + 2.12F), 0), 255));
}

/* Computes row 0 of a batch of both scenes with the recipe and then the frame. Destroys the
 * recipe. */
static void draw(sluice_augment *recipe, bool floats, uint8_t tile[TILE_BYTES])
{
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_loader_options options = SLUICE_LOADER_OPTIONS_INIT;
    sluice_dataset *dataset = NULL;
    sluice_loader *loader = NULL;
    sluice_batch *batch = NULL;
    sluice_tensor image = SLUICE_TENSOR_INIT;
    add(recipe, "center_crop", FRAME, FRAME);
    add(recipe, "resize", TILE, TILE);
    options.batch_size = 2;
    options.workers = 1;
    options.shuffle = SLUICE_SHUFFLE_NONE;
    options.dtype = floats ? SLUICE_F32 : SLUICE_U8;
    assert_int_equal(sluice_dataset_open(&dataset, &scenes, 1, NULL, &error), SLUICE_OK);
    if (sluice_loader_open(&loader, dataset, recipe, &options, &error) != SLUICE_OK) {
        fail_msg("%s", error.text);
    }
    assert_int_equal(sluice_loader_start_epoch(loader, EPOCH), SLUICE_OK);
    assert_int_equal(sluice_loader_next(loader, &batch, -1), SLUICE_OK);
    assert_int_equal(sluice_batch_tensor(batch, "image", &image), SLUICE_OK);
    for (size_t i = 0; i < TILE_BYTES; i++) {
        tile[i] =
            floats ? byte_of(((const float *)image.data)[i]) : ((const uint8_t *)image.data)[i];
    }
    sluice_batch_release(batch);
    sluice_loader_close(loader);
    sluice_dataset_close(dataset);
    sluice_augment_destroy(recipe);
}

static sluice_augment *new_recipe(void)
{
    sluice_augment *recipe = NULL;
    assert_int_equal(sluice_augment_create(&recipe), SLUICE_OK);
    return recipe;
}

static bool is_converted(const example *e)
{
    return strcmp(e->name, "normalize") == 0;
}

static bool add_steps(sluice_augment *recipe, const char *command)
{
    struct augment_text list = {.count = 0};
    bool fine = augment_text_cut(&list, command, 0);
    for (uint32_t i = 0; i < list.count && fine; i++) {
        fine = augment_text_add(recipe, list.steps[i]);
    }
    return fine;
}

static void draw_all(void)
{
    draw(new_recipe(), false, plain);
    for (size_t i = 0; i < example_count; i++) {
        sluice_augment *recipe = new_recipe();
        if (!add_steps(recipe, examples[i].command)) {
            sluice_error error = SLUICE_ERROR_INIT;
            sluice_augment_get_error(recipe, &error);
            fail_msg("%s: %s: %s", page_path, examples[i].command, error.text);
        }
        draw(recipe, is_converted(&examples[i]), examples[i].tile);
    }
}

/* ---- the sheet ---- */

typedef struct sheet {
    uint32_t width, height;
    uint8_t *rgb;
} sheet;

static void put_tile(const sheet *s, size_t number, const uint8_t *tile)
{
    const uint32_t x = GAP + (uint32_t)(number % COLUMNS) * CELL;
    const uint32_t y = GAP + (uint32_t)(number / COLUMNS) * CELL;
    for (size_t row = 0; row < TILE; row++) {
        // NOLINTNEXTLINE(bugprone-implicit-widening-of-multiplication-result): small
        memcpy(s->rgb + ((y + row) * s->width + x) * 3, tile + row * TILE * 3, TILE * 3);
    }
}

static sheet make_sheet(void)
{
    const size_t rows = (example_count + 1 + COLUMNS - 1) / COLUMNS;
    sheet s = {.width = GAP + COLUMNS * CELL, .height = GAP + (uint32_t)rows * CELL};
    s.rgb = malloc((size_t)s.width * s.height * 3);
    assert_non_null(s.rgb);
    memset(s.rgb, 48, (size_t)s.width * s.height * 3);
    put_tile(&s, 0, plain);
    for (size_t i = 0; i < example_count; i++) {
        put_tile(&s, i + 1, examples[i].tile);
    }
    return s;
}

static int write_sheet(void)
{
    const sheet s = make_sheet();
    png_image image = {.version = PNG_IMAGE_VERSION, .format = PNG_FORMAT_RGB};
    image.width = s.width;
    image.height = s.height;
    const int written = png_image_write_to_file(&image, sheet_path, 0, s.rgb, 0, NULL);
    if (written == 0) {
        fprintf(stderr, "%s: %s\n", sheet_path, image.message);
    }
    free(s.rgb);
    return written == 0;
}

/* ---- what arguments are said to be ---- */

static size_t put_list(char *text, size_t bytes, const sluice_augment_argument *a)
{
    size_t used = (size_t)snprintf(text, bytes, "%s...", a->name);
    for (uint32_t i = 0; i < a->preset_count && used < bytes; i++) {
        used +=
            (size_t)snprintf(text + used, bytes - used, "%s%g", i == 0 ? "=" : ":", a->presets[i]);
    }
    if (a->preset_count == 0 && !isnan(a->preset) && used < bytes) {
        used += (size_t)snprintf(text + used, bytes - used, "=%g", a->preset);
    }
    return used;
}

static size_t put_argument(char *text, size_t bytes, const sluice_augment_argument *a)
{
    const bool fill = strcmp(a->name, "fill_r") == 0;
    const char *name = fill ? "fill" : a->name;
    if (a->list_most > 0) {
        return put_list(text, bytes, a);
    }
    if (isnan(a->preset)) {
        return (size_t)snprintf(text, bytes, "%s", name);
    }
    return a->words != NULL
               ? (size_t)snprintf(text, bytes, "%s=%s", name, a->words[(size_t)a->preset])
               : (size_t)snprintf(text, bytes, "%s=%g", name, a->preset);
}

/* Writes "width, height, interpolation=bilinear": fill_r, _g and _b as one argument, "weights...=1"
 * for a list. */
static void describe(uint32_t number, const sluice_augment_step *step, char *text, size_t bytes)
{
    size_t used = 0;
    (void)snprintf(text, bytes, "none");
    for (uint32_t i = 0; i < step->arguments; i++) {
        sluice_augment_argument a = SLUICE_AUGMENT_ARGUMENT_INIT;
        assert_int_equal(sluice_augment_get_argument(number, i, &a), SLUICE_OK);
        if (strcmp(a.name, "fill_g") == 0 || strcmp(a.name, "fill_b") == 0) {
            continue;
        }
        used += (size_t)snprintf(text + used, bytes - used, "%s", i > 0 ? ", " : "");
        used += put_argument(text + used, bytes - used, &a);
        assert_true(used < bytes);
    }
}

/* ---- the tests ---- */

/* True for steps that need more than an image: the sizes of a loader's buckets (docs/buckets.md) or
 * the shapes of objects (docs/several.md). */
static bool has_no_example(const char *name)
{
    return strcmp(name, "bucket_crop") == 0 || strcmp(name, "copy_paste") == 0;
}

TEST(each_step_is_on_the_page_with_its_arguments)
{
    sluice_augment_step step = SLUICE_AUGMENT_STEP_INIT;
    uint32_t count = 0;
    uint32_t without = 0;
    for (; sluice_augment_get_step(count, &step) == SLUICE_OK; count++) {
        char expected[512];
        char said[512] = "";
        char start[NAME_BYTES + 8];
        snprintf(start, sizeof(start), "\n| `%s` | ", step.name);
        const char *row = strstr(page, start);
        describe(count, &step, expected, sizeof(expected));
        without += has_no_example(step.name);
        if (row == NULL || (find_example(step.name) == NULL) != has_no_example(step.name)) {
            fail_msg("%s: \"%s\" is not in both tables; its arguments: `%s`", page_path, step.name,
                     expected);
        }
        assert_true(take_arguments(row + 1, said, sizeof(said)));
        assert_string_equal(said, expected);
    }
    assert_int_equal(example_count + without, count);
}

/* Without boxes, the step leaves the image of the scene unchanged. */
static bool looks_at_boxes(const example *e)
{
    return strcmp(e->name, "random_iou_crop") == 0;
}

TEST(each_step_can_be_seen)
{
    for (size_t i = 0; i < example_count; i++) {
        if (looks_at_boxes(&examples[i])) {
            assert_memory_equal(examples[i].tile, plain, TILE_BYTES);
        } else if (memcmp(examples[i].tile, plain, TILE_BYTES) == 0) {
            fail_msg("%s: %s changes nothing", page_path, examples[i].command);
        }
    }
}

TEST(examples_in_c_are_those_of_the_command_line)
{
    size_t compared = 0;
    for (size_t i = 0; i < example_count; i++) {
        const example *e = &examples[i];
        double numbers[16];
        uint32_t count = 0;
        uint8_t tile[TILE_BYTES];
        if (e->code[0] != '"') {
            continue;
        }
        assert_memory_equal(e->code + 1, e->name, strlen(e->name));
        for (const char *at = strchr(e->code, ','); at != NULL; at = strchr(at + 1, ',')) {
            assert_true(count < 16);
            numbers[count++] = strtod(at + 1, NULL);
        }
        sluice_augment *recipe = new_recipe();
        assert_int_equal(sluice_augment_add(recipe, e->name, numbers, count), SLUICE_OK);
        draw(recipe, is_converted(e), tile);
        assert_memory_equal(tile, e->tile, TILE_BYTES);
        compared++;
    }
    assert_true(compared + 9 > example_count);
}

TEST(the_sheet_is_what_is_drawn_now)
{
    const sheet now = make_sheet();
    png_image image = {.version = PNG_IMAGE_VERSION};
    assert_true(png_image_begin_read_from_file(&image, sheet_path));
    image.format = PNG_FORMAT_RGB;
    uint8_t *there = malloc(PNG_IMAGE_SIZE(image));
    assert_non_null(there);
    assert_true(png_image_finish_read(&image, NULL, there, 0, NULL));
    if (image.width != now.width || image.height != now.height ||
        memcmp(there, now.rgb, PNG_IMAGE_SIZE(image)) != 0) {
        fail_msg("%s differs from the sheet drawn now; look at the changes and renew it: "
                 "tool_transforms_test %s %s %s write",
                 sheet_path, scenes, page_path, sheet_path);
    }
    free(there);
    free(now.rgb);
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: tool_transforms_test SCENES PAGE SHEET [write]\n");
        return 2;
    }
    scenes = argv[1];
    page_path = argv[2];
    sheet_path = argv[3];
    page = read_page(page_path);
    take_examples();
    draw_all();
    return argc > 4 && strcmp(argv[4], "write") == 0 ? write_sheet() : test_run(NULL, NULL);
}
