/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_recipe: bytes choose steps, groups, arguments and an image's size. The recipe is rejected
 * with a reason; or a draw fails or makes a row of the recipe's size, with the same bytes from the
 * scalar and the best kernels, reading only the pixels that the draw needs. */
#include "fuzz.h"

#include "converter.h"
#include "error.h"
#include "recipe.h"
#include "whole_params.h"

#include <math.h>
#include <string.h>

enum {
    PIXELS_MAX = 1 << 14,
    SCRATCH = 1 << 19,
    ROW_SIDE_MAX = 64,
    TEXT_MAX = 40,
    CANVAS_MOST = 1 << 24
};

/* The bytes after the sizes of image and row: they give as many steps as they can. */
typedef struct input {
    const uint8_t *data;
    size_t size;
} input;

static uint64_t take_bytes(input *in, size_t bytes)
{
    uint64_t value = 0;
    const size_t taken = in->size < bytes ? in->size : bytes;
    memcpy(&value, in->data, taken);
    in->data += taken;
    in->size -= taken;
    return value;
}

static double take_argument(input *in, const sl_argument *a)
{
    const uint64_t how = take_bytes(in, 1);
    double value = 0;
    switch (how % 8) {
    case 0:
        return a->least;
    case 1:
        return a->most;
    case 2:
        return isnan(a->preset) ? a->least : a->preset;
    case 3: {
        const uint64_t bits = take_bytes(in, 8);
        memcpy(&value, &bits, sizeof(value));
        return value;
    }
    case 4:
        return (double)take_bytes(in, 2) / 256;
    default: /* a whole number above the minimum */
        // NOLINTNEXTLINE(bugprone-integer-division): whole numbers are wanted
        return fmin(a->least + (double)(int)(how / 8), a->most);
    }
}

static sluice_status take_timm(sluice_augment *r, input *in)
{
    static const char *const parts[] = {"rand", "augmix", "original", "v0r",     "3a",  "-",
                                        "m9",   "mstd",   "inc1",     "0.5",     "n",   "p",
                                        "w3",   "d2",     "a",        "weights", "inf", "t"};
    char text[TEXT_MAX + 16] = "";
    for (uint64_t left = take_bytes(in, 1) % 9; left > 0 && strlen(text) < TEXT_MAX; left--) {
        const uint64_t part = take_bytes(in, 1);
        if (part < sizeof(parts) / sizeof(parts[0])) {
            // NOLINTNEXTLINE(clang-analyzer-security.insecureAPI.strcpy): parts of known lengths
            strcat(text, parts[part]);
        } else {
            strncat(text, &(char){(char)part}, 1);
        }
    }
    return sluice_augment_timm(r, text);
}

static sluice_status take_step(sluice_augment *r, input *in)
{
    const uint64_t what = take_bytes(in, 1);
    double arguments[SL_STEP_ARGUMENTS_MAX];
    if (what >= 0xF0) {
        return sluice_augment_end(r);
    }
    if (what >= 0xE8) {
        return take_timm(r, in);
    }
    const sl_step_kind *kind = sl_step_kinds[what % sl_step_kind_count];
    const uint32_t most = sl_step_number_count(kind);
    const uint32_t count = (uint32_t)take_bytes(in, 1) % (most + 1);
    for (uint32_t i = 0; i < count; i++) {
        arguments[i] = take_argument(in, sl_step_argument_at(kind, i));
    }
    return kind->group == SL_GROUP_NO ? sluice_augment_add(r, kind->name, arguments, count)
                                      : sluice_augment_begin(r, kind->name, arguments, count);
}

/* A rejected step leaves the recipe unchanged. */
static void take_steps(sluice_augment *r, input *in)
{
    while (in->size > 0) {
        const sluice_augment before = *r;
        if (take_step(r, in) != SLUICE_OK) {
            fuzz_expect(r->error.status != SLUICE_OK && r->error.text[0] != '\0',
                        "a refusal has a reason");
            fuzz_expect(sl_recipe_check(r, NULL) == (sluice_status)r->error.status,
                        "a refusal stays");
            *r = before;
        }
    }
    while (r->depth > 0) {
        const sluice_augment before = *r;
        if (sluice_augment_end(r) != SLUICE_OK) {
            *r = before;
            r->count = before.groups[0]; /* without its contents */
            r->depth = 0;
        }
    }
}

typedef struct made {
    sluice_status status;
    uint8_t *row;
    size_t bytes;
} made;

static sluice_status copy_jpeg(const sl_image *in, int quality, uint8_t *out, sl_scratch *scratch,
                               sluice_error *error)
{
    (void)scratch;
    (void)error;
    fuzz_expect(quality >= 1 && quality <= 100, "a quality of JPEG");
    memcpy(out, in->pixels, (size_t)in->width * in->height * 3);
    return SLUICE_OK;
}

/* Makes one of two layers, blended into black if it is the second; from a view or from tiles. */
static sluice_status apply_layer(const sl_converter *converter, const sl_params *params,
                                 const sl_apply_work *work, sl_layer *layer, uint8_t *row,
                                 sluice_error *error)
{
    layer->pixels = calloc(sl_layer_bytes(params), 1);
    fuzz_expect(layer->pixels != NULL, "memory");
    sluice_status status = sl_layer_make(converter, params, work, layer, error);
    if (status == SLUICE_OK) {
        status = sl_canvas_end(converter, params, work, layer->pixels, row, error);
    }
    free(layer->pixels);
    return status;
}

/* Applies the only tile of a canvas. */
static sluice_status apply_tile(const sl_converter *converter, const sl_image *view,
                                const sl_params *params, const sl_apply_work *work, uint8_t *row,
                                sluice_error *error)
{
    uint8_t *canvas = malloc(sl_canvas_bytes(params));
    fuzz_expect(canvas != NULL, "memory");
    sl_canvas_begin(params, canvas);
    sluice_status status = sl_canvas_tile(converter, view, params, work, canvas, error);
    if (status == SLUICE_OK && params->layered) {
        status = apply_layer(converter, params, work, &(sl_layer){.tiles = canvas}, row, error);
    } else if (status == SLUICE_OK) {
        status = sl_canvas_end(converter, params, work, canvas, row, error);
    }
    free(canvas);
    return status;
}

/* Applies the only image of a row that may have several. */
static sluice_status apply_one(const sl_converter *converter, const sl_image *view,
                               const sl_params *params, const sl_apply_work *work, uint8_t *row,
                               sluice_error *error)
{
    const bool tiled = params->geometries[0].warp.keeps;
    if ((tiled && sl_canvas_bytes(params) > CANVAS_MOST) ||
        (params->layered && sl_layer_bytes(params) > CANVAS_MOST)) {
        return sl_error_set(error, SLUICE_NOMEM, "fuzz", "a canvas that large");
    }
    if (tiled) {
        return apply_tile(converter, view, params, work, row, error);
    }
    return params->layered
               ? apply_layer(converter, params, work, &(sl_layer){.view = view}, row, error)
               : sl_augment_apply(converter, view, params, work, row, error);
}

static made apply(const sluice_augment *r, const sl_params *params, const sl_image *view,
                  sl_simd simd, uint64_t output)
{
    static const sluice_dtype dtypes[] = {SLUICE_F32, SLUICE_F16, SLUICE_BF16, SLUICE_U8};
    sl_converter converter;
    sluice_error error = SLUICE_ERROR_INIT;
    sl_scratch scratch;
    made m = {.status = sl_converter_make(&converter, r, dtypes[output % 4],
                                          output / 4 % 2 == 0 ? SLUICE_NHWC : SLUICE_NCHW, &error)};
    if (m.status != SLUICE_OK) {
        fuzz_expect(output % 4 == 3, "floating dtypes are for any recipe");
        return m;
    }
    converter.width = params->width; /* from the recipe or the batch */
    converter.height = params->height;
    converter.tools.simd = simd;
    converter.tools.jpeg = copy_jpeg;
    m.bytes = sl_converter_row_bytes(&converter);
    m.row = malloc(m.bytes);
    fuzz_expect(m.row != NULL && sl_scratch_open(&scratch, SCRATCH, SCRATCH, NULL) == SLUICE_OK,
                "memory");
    const sl_apply_work work = {.scratch = &scratch};
    m.status = apply_one(&converter, view, params, &work, m.row, &error);
    fuzz_expect(m.status == SLUICE_OK || (m.status == SLUICE_NOMEM && error.text[0] != '\0'),
                "a row, or too little memory");
    fuzz_expect(sl_scratch_mark(&scratch) == 0, "scratch is given back");
    sl_scratch_close(&scratch);
    return m;
}

static void draw_and_apply(const sluice_augment *r, const uint32_t size[2], uint64_t seed,
                           uint64_t output)
{
    STATIC_PARAMS(params);
    sluice_error error = SLUICE_ERROR_INIT;
    const float boxes[4][4] = {{0, 0, (float)size[0], (float)size[1]},
                               {(float)(seed % 99), 1, (float)size[0] / 2, (float)size[1] / 3},
                               {-1e30F, NAN, INFINITY, 7},
                               {-INFINITY, -1e30F, 1e30F, INFINITY}};
    const sl_draw_key key = {.seed = seed,
                             .sample = seed % 97,
                             .exact = seed % 2 == 1,
                             .layer = (uint32_t)seed / 2 % 2,
                             .width = 1 + (uint32_t)(seed % 61),
                             .height = 1 + (uint32_t)(seed % 47),
                             .boxes = boxes,
                             .box_count = (uint32_t)seed % 5};
    const sluice_status status = sl_draw(r, &key, size[0], size[1], &params, &error);
    if (status != SLUICE_OK) {
        fuzz_expect(status == SLUICE_UNSUPPORTED && error.text[0] != '\0', "a draw or a reason");
        return;
    }
    const sl_rect *need = &params.need;
    fuzz_expect(sl_recipe_wants_batch(r) ||
                    (params.width == r->width && params.height == r->height),
                "the recipe's size");
    fuzz_expect(need->width > 0 && need->height > 0 && need->x < size[0] && need->y < size[1] &&
                    need->width <= size[0] - need->x && need->height <= size[1] - need->y,
                "a part of the picture");
    const size_t bytes = (size_t)need->width * need->height * 3;
    uint8_t *pixels = malloc(bytes);
    fuzz_expect(pixels != NULL, "memory");
    for (size_t i = 0; i < bytes; i++) {
        pixels[i] = (uint8_t)((i + seed) * 2654435761U >> 13);
    }
    const sl_image view = {.pixels = pixels,
                           .width = need->width,
                           .height = need->height,
                           .channels = 3,
                           .stride_bytes = (size_t)need->width * 3,
                           .origin_x = need->x,
                           .origin_y = need->y,
                           .picture_width = size[0],
                           .picture_height = size[1],
                           .denominator = 1};
    const made plain = apply(r, &params, &view, SL_SIMD_SCALAR, output);
    const made best = apply(r, &params, &view, sl_simd_best(), output);
    if (plain.status == SLUICE_OK && best.status == SLUICE_OK) {
        fuzz_expect(memcmp(plain.row, best.row, plain.bytes) == 0, "the same bits at every level");
    }
    free(plain.row);
    free(best.row);
    free(pixels);
}

int fuzz_run(const uint8_t *data, size_t size)
{
    input in = {data, size};
    uint32_t picture[2];
    picture[0] = 1 + (uint32_t)take_bytes(&in, 2);
    picture[1] = 1 + (uint32_t)take_bytes(&in, 2);
    const uint64_t seed = take_bytes(&in, 2);
    const uint64_t output = take_bytes(&in, 1);
    const double row[2] = {1 + (double)(take_bytes(&in, 1) % ROW_SIDE_MAX),
                           1 + (double)(take_bytes(&in, 1) % ROW_SIDE_MAX)};
    while ((uint64_t)picture[0] * picture[1] > PIXELS_MAX) {
        picture[picture[0] < picture[1]] = (picture[picture[0] < picture[1]] + 1) / 2;
    }
    sluice_augment *r = NULL;
    fuzz_expect(sluice_augment_create(&r) == SLUICE_OK, "memory");
    take_steps(r, &in);
    if (r->width == 0 || r->width > ROW_SIDE_MAX || r->height > ROW_SIDE_MAX) {
        const sluice_augment before = *r;
        if (sluice_augment_add(r, "resize", row, 2) != SLUICE_OK) {
            *r = before;
        }
    }
    if (sl_recipe_check(r, NULL) == SLUICE_OK && r->width <= ROW_SIDE_MAX &&
        r->height <= ROW_SIDE_MAX) {
        draw_and_apply(r, picture, seed, output);
    }
    sluice_augment_destroy(r);
    return 0;
}

/* Each kind alone, with its presets or its minimum arguments; then everything in groups. */
size_t fuzz_seed(unsigned index, uint8_t *buffer)
{
    static const uint8_t head[] = {99, 0, 70, 0, 1, 0, 0, 31, 23};
    size_t size = sizeof(head);
    memcpy(buffer, head, sizeof(head));
    if (index > sl_step_kind_count) {
        return 0;
    }
    const unsigned first = index < sl_step_kind_count ? index : 0;
    const unsigned last = index < sl_step_kind_count ? index + 1 : sl_step_kind_count;
    for (unsigned kind = first; kind < last; kind++) {
        const uint32_t count = sl_step_argument_count(sl_step_kinds[kind]);
        if (sl_step_kinds[kind]->layers != NULL) { /* it follows a step that sets a size */
            const uint8_t resize[] = {4, 2, 8 * 6 + 5, 8 * 6 + 5};
            memcpy(buffer + size, resize, sizeof(resize));
            size += sizeof(resize);
        }
        buffer[size++] = (uint8_t)kind;
        buffer[size++] = (uint8_t)count;
        for (uint32_t i = 0; i < count; i++) {
            const bool given = isnan(sl_step_kinds[kind]->arguments[i].preset);
            buffer[size++] = given ? 8 * 6 + 5 : 2;
        }
        if (sl_step_kinds[kind]->group != SL_GROUP_NO) {
            const uint8_t inside[] = {13, 4, 4, 200, 0, 2, 2, 2, 11, 0, 0xFF};
            memcpy(buffer + size, inside, sizeof(inside));
            size += sizeof(inside);
        }
    }
    return size;
}
