/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The conversion kernels that the library ships, run without a GPU: their PTX in the executor of
 * tests/support/ptx.h, compared with plain loops. Covers every dtype and layout, mixed and not, at
 * sizes of every kind. Then faults are inserted into the text, which the comparison must detect.
 */
#include "conversion_ptx.h"
#include "convert_emulation.h"
#include "philox.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 5, ZERO_ROW = 2 };

static char *text;
static ptx_module *module;

/* ---- cases ---- */

typedef struct batch {
    sl_conversion conversion;
    sl_conversion_rows rows;
    size_t bytes; /* size of the results */
    uint8_t *from, *to, *expected;
    uint8_t flags[ROWS];
    sl_conversion_mixing mixing[ROWS];
} batch;

static uint32_t other_row(sl_random *random, uint32_t row)
{
    uint32_t other;
    do { /* not the zero row */
        other = sl_random_below(random, ROWS);
    } while (other == ZERO_ROW || other == row);
    return other;
}

/* Row 0 is cut, row 1 is blended; the others are one or the other, or unchanged. */
static sl_conversion_mixing random_mixing(sl_random *random, uint32_t row, const sl_conversion *c)
{
    sl_conversion_mixing m = {.partner = row, .weight = 1};
    const uint32_t kind = row < 2 ? row : sl_random_below(random, 3);
    if (kind == 2 || row == ZERO_ROW) {
        return m;
    }
    m.partner = other_row(random, row);
    m.weight = (float)sl_random_unit(random);
    if (kind == 0) {
        m.left = (uint16_t)sl_random_below(random, c->width);
        m.right = (uint16_t)(m.left + 1 + sl_random_below(random, c->width - m.left));
        m.top = (uint16_t)sl_random_below(random, c->height);
        m.bottom = (uint16_t)(m.top + 1 + sl_random_below(random, c->height - m.top));
    }
    return m;
}

/* Scales and biases as in training; or for results near the 16-bit limit, on either side; or near
 * the 32-bit limit. */
static void choose_factors(sl_conversion *c)
{
    static const float extremes[][2] = {
        {1e-40F, 1e-41F}, {0.125F, 2048.0F}, {1.333e36F, 0.0F}, {3e-8F, -1e-7F}};
    const bool extreme = (c->width + c->height) % 3 == 0;
    for (uint32_t channel = 0; channel < 3; channel++) {
        const float *chosen = extremes[(channel + c->width + c->height) % 4];
        c->scale[channel] = extreme ? chosen[0] : 0.0171F + 0.0003F * (float)channel;
        c->bias[channel] = extreme ? chosen[1] : -2.1F + 0.15F * (float)channel;
    }
}

static batch make_batch(uint32_t number, uint32_t width, uint32_t height)
{
    sl_random random = sl_random_for(width, height, number, 0);
    const uint32_t kernel = number % SL_CONVERSION_MIXING;
    const sl_conversion c = {.dtype = (sluice_dtype)(kernel / 2),
                             .layout = kernel % 2 == 1 ? SLUICE_NCHW : SLUICE_NHWC,
                             .width = width,
                             .height = height};
    const size_t samples = (size_t)width * height * 3 * ROWS;
    batch b = {.conversion = c, .bytes = sl_conversion_row_bytes(&c) * ROWS};
    choose_factors(&b.conversion);
    b.from = malloc(samples);
    b.to = malloc(b.bytes);
    b.expected = malloc(b.bytes);
    assert_true(b.from != NULL && b.to != NULL && b.expected != NULL);
    for (size_t i = 0; i < samples; i++) {
        b.from[i] = (uint8_t)(sl_random_u32(&random) >> 7);
    }
    for (uint32_t row = 0; row < ROWS; row++) {
        b.flags[row] = (uint8_t)((row == ZERO_ROW ? SL_ROW_ZERO : 0) | sl_random_below(&random, 2));
        b.mixing[row] = random_mixing(&random, row, &c);
    }
    return b;
}

/* True if kernel number `kernel` of the module gives the result of plain loops. */
static bool is_right(const ptx_module *of, uint32_t number, uint32_t width, uint32_t height,
                     ptx_failure *failure)
{
    batch b = make_batch(number, width, height);
    sl_conversion_rows rows = {.from = b.from,
                               .flags = b.flags,
                               .mixing = number >= SL_CONVERSION_MIXING ? b.mixing : NULL,
                               .to = b.expected,
                               .rows = ROWS};
    convert_rows_plainly(&b.conversion, &rows);
    rows.to = b.to;
    memset(b.to, 0xA5, b.bytes);
    bool right = conversion_ptx_run(of, &b.conversion, &rows, width * 31 + height, failure);
    if (right && memcmp(b.to, b.expected, b.bytes) != 0) {
        snprintf(failure->text, sizeof(failure->text), "wrong results");
        right = false;
    }
    free(b.from);
    free(b.to);
    free(b.expected);
    return right;
}

static void check_size(uint32_t width, uint32_t height)
{
    for (uint32_t number = 0; number < SL_CONVERSION_KERNELS; number++) {
        ptx_failure failure = {""};
        if (!is_right(module, number, width, height, &failure)) {
            fail_msg("%s, %ux%u: %s", sl_conversion_kernel_name(number), width, height,
                     failure.text);
        }
    }
}

TEST(every_kernel_at_every_kind_of_size)
{
    /* Groups of 16, 8, 4 and 1; one block and several; the last block full or not. */
    static const uint32_t sizes[][2] = {
        {1, 1},  {1, 4},  {4, 1},  {2, 2},   {3, 3},   {5, 7},   {4, 2},   {2, 8},  {6, 6},
        {8, 8},  {4, 7},  {16, 1}, {12, 4},  {15, 17}, {1, 257}, {33, 2},  {36, 5}, {16, 16},
        {12, 9}, {20, 4}, {28, 2}, {28, 30}, {32, 33}, {45, 23}, {16, 17}, {12, 8}, {45, 23}};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i += TEST_AMOUNT(1, 3)) {
        check_size(sizes[i][0], sizes[i][1]);
    }
    for (uint32_t width = 1; width <= TEST_AMOUNT(17, 5); width++) {
        check_size(width, width % 3 + 1);
    }
}

/* ---- faults ---- */

/* A change to a kernel's text: after the n-th `at`, the next `from` becomes `to`. */
typedef struct edit {
    const char *at, *from, *to;
    uint32_t number; /* number of the kernel */
} edit;

/* Makes a module of that kernel alone, edited; NULL: no such place. The caller frees it. */
static char *edited(const edit *e, unsigned nth)
{
    char head[96];
    snprintf(head, sizeof(head), ".visible .entry %s(", sl_conversion_kernel_name(e->number));
    const char *begin = strstr(text, head);
    assert_non_null(begin);
    const char *end = strstr(begin, "\n}\n");
    const char *place = strstr(begin, e->at);
    for (; nth > 0 && place != NULL; nth--) {
        place = strstr(place + 1, e->at);
    }
    if (place == NULL || place > end) {
        return NULL;
    }
    place = strstr(place, e->from);
    const size_t size = (size_t)(end - begin) + 256;
    char *made = malloc(size);
    assert_non_null(made);
    snprintf(made, size, ".version 7.0\n.target sm_75\n.address_size 64\n%.*s%s%.*s\n}\n",
             (int)(place - begin), begin, e->to, (int)(end - place - (ptrdiff_t)strlen(e->from)),
             place + strlen(e->from));
    return made;
}

static bool is_found(const char *source, uint32_t number)
{
    static const uint32_t sizes[][2] = {{1, 1},   {5, 7},  {4, 4},  {6, 6},   {15, 17},
                                        {28, 30}, {12, 8}, {12, 9}, {16, 17}, {45, 23}};
    ptx_failure failure = {""};
    ptx_module *wrong = ptx_parse(source, &failure);
    bool right = wrong != NULL;
    for (size_t i = 0; right && i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        right = is_right(wrong, number, sizes[i][0], sizes[i][1], &failure);
    }
    ptx_free(wrong);
    return !right;
}

/* Applies the edit in every possible place; returns their number. */
static unsigned check_edit(const edit *e)
{
    char *source;
    unsigned nth = 0;
    for (; (source = edited(e, nth)) != NULL; nth++) {
        if (!is_found(source, e->number)) {
            fail_msg("%s: %s number %u with \"%s\" is not found",
                     sl_conversion_kernel_name(e->number), e->at, nth, e->to);
        }
        free(source);
    }
    return nth;
}

/* Wrong bounds, roundings and operations, offset or misaligned addresses, omitted results: each is
 * detected, wherever it is. */
TEST_UNSANITIZED(a_fault_in_a_kernel_is_found)
{
    static const edit edits[] = {
        {"setp.ge.u32", "ge", "gt", 0},
        {"setp.ge.u32", "ge", "gt", 3},
        {"setp.lt.u32", "lt", "le", 5},
        {"setp.ge.u32", "ge", "gt", 10},
        {"setp.lt.u32", "lt", "le", 14},
        {"st.global.v4.u32", "]", "+4]", 1},
        {"st.global.v4.u32", "]", "+16]", 4},
        {"st.global.v2.u32", "]", "+-8]", 6},
        {"ld.global.nc.v4.u32", "]", "+16]", 1},
        {"ld.global.nc.v4.u32", "]", "+2]", 9},
        {"ld.global.nc.u8", "]", "+1]", 2},
        {"cvt.rn.f16.f32", "rn.f16", "rn.bf16", 4},
        {"cvt.rn.f16.f32", "rn.f16", "rz.f16", 12},
        {"fma.rn.f32", "fma.rn.f32", "fma.rn.ftz.f32", 2},
        {"prmt.b32", "prmt.b32", "prmt.b33", 0},
        {"add.rn.f32", "add", "sub", 11},
        {"mul.rn.f32", ".rn", "", 10},
        {"st.global.u16", "st.global", "// ", 7},
        {"rem.u32", "rem", "div", 3},
    };
    for (size_t i = 0; i < sizeof(edits) / sizeof(edits[0]); i++) {
        assert_int_not_equal(check_edit(&edits[i]), 0);
    }
}

int main(int argc, char **argv)
{
    ptx_failure failure = {""};
    if (argc < 2) {
        return 1;
    }
    text = conversion_ptx_text(argv[1]);
    module = ptx_parse(text, &failure);
    if (module == NULL) {
        fprintf(stderr, "%s\n", failure.text);
        return 1;
    }
    const int failed = test_run(NULL, NULL);
    ptx_free(module);
    free(text);
    return failed;
}
