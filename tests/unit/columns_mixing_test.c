/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pairing of rows, one by one: in any order, with missing images or labels, and the part left to a
 * device.
 */
#include "columns_rig.h"
#include "conversion.h"
#include "mix_rows.h"
#include "philox.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = 7, SIDE = 4, SAMPLES = SIDE * SIDE * 3, CLASSES = 5 };
enum { IMAGE, LABEL, FIELDS };

static const sl_field fields[FIELDS] = {
    [IMAGE] = {.name = "image", .type = SLUICE_FIELD_IMAGE},
    [LABEL] = {.name = "label", .type = SLUICE_FIELD_INT},
};

typedef struct meeting_rig {
    columns_rig *rig;
    sl_meeting meeting;
    _Atomic uint8_t met[2 * ROWS];
    uint8_t samples[ROWS][SAMPLES];
} meeting_rig;

static void add_columns(columns_rig *r, const char *step, const double *arguments, uint32_t count)
{
    const double size[] = {SIDE, SIDE};
    sluice_augment *recipe;
    assert_int_equal(sluice_augment_create(&recipe), SLUICE_OK);
    assert_int_equal(sluice_augment_add(recipe, "center_crop", size, 2), SLUICE_OK);
    assert_int_equal(sluice_augment_add(recipe, step, arguments, count), SLUICE_OK);
    const sluice_column image = {.struct_size = sizeof(image),
                                 .kind = SLUICE_COLUMN_IMAGE,
                                 .field = "image",
                                 .recipe = recipe,
                                 .dtype = SLUICE_F32,
                                 .missing = SLUICE_MISSING_BLANK};
    const sluice_column soft = {.struct_size = sizeof(soft),
                                .kind = SLUICE_COLUMN_ONE_HOT,
                                .field = "label",
                                .dtype = SLUICE_F64,
                                .length = CLASSES,
                                .missing = SLUICE_MISSING_BLANK,
                                .mixes = "image",
                                .smoothing = 0.1};
    assert_int_equal(sluice_columns_add(r->asked, &image), SLUICE_OK);
    assert_int_equal(sluice_columns_add(r->asked, &soft), SLUICE_OK);
    sluice_augment_destroy(recipe);
}

static void open_rig(meeting_rig *m, const char *step, const double *arguments, uint32_t count)
{
    *m = (meeting_rig){.rig = columns_rig_open(fields, FIELDS, ROWS)};
    add_columns(m->rig, step, arguments, count);
    must_bind(m->rig);
    m->meeting.capacity = ROWS;
    m->meeting.met = m->met;
    const sl_mixing_batch batch = {.seed = 3, .epoch = 1, .first = 70, .rows = ROWS};
    sl_meeting_begin(&m->meeting, &batch, m->rig->set.mixers);
    for (uint32_t row = 0; row < ROWS; row++) {
        for (uint32_t i = 0; i < SAMPLES; i++) {
            m->samples[row][i] = (uint8_t)(row * 31 + i * 7);
        }
    }
}

static void close_rig(meeting_rig *m)
{
    void *rig = m->rig;
    columns_rig_close(&rig);
}

/* Makes a row with or without an image and a label. */
static void make_row(meeting_rig *m, uint32_t row, bool picture, bool label)
{
    columns_rig *r = m->rig;
    sluice_error error;
    *value(r, IMAGE) = (sl_value){.present = picture,
                                  .bytes = {m->samples[row], SAMPLES},
                                  .codec = SL_CODEC_RAW,
                                  .width = SIDE,
                                  .height = SIDE};
    *value(r, LABEL) = (sl_value){.present = label, .integer = row % CLASSES};
    r->row->at =
        (sl_row_place){.index = 1000 + (int64_t)row, .number = row, .meeting = &m->meeting};
    r->row->members = 1;
    if (sl_columns_make(&r->set, r->row, r->parts, &error) != SLUICE_OK) {
        fail_msg("%s", error.text);
    }
    sl_columns_end(&r->set, r->row, r->parts);
}

static int64_t partner_of(const meeting_rig *m, uint32_t row)
{
    return ((int64_t *)array(m->rig, "image.mixed_with"))[row];
}

static float weight_of(const meeting_rig *m, uint32_t row)
{
    return ((float *)array(m->rig, "image.weight"))[row];
}

static void expect_alone(const meeting_rig *m, uint32_t row)
{
    assert_int_equal(partner_of(m, row), row);
    assert_true(weight_of(m, row) == 1);
}

static void expect_picture(const meeting_rig *m, uint32_t row, bool there)
{
    const float *image = (float *)array(m->rig, "image") + (size_t)row * SAMPLES;
    const sl_column *column = sl_columns_picture(&m->rig->set, 0);
    const uint32_t partner = (uint32_t)partner_of(m, row);
    float expected[SAMPLES] = {0};
    const sl_mix_side own = {.samples = m->samples[row],
                             .row = expected,
                             .how = {.partner = partner, .weight = weight_of(m, row)}};
    const sl_mix_side other = {.samples = partner == row ? NULL : m->samples[partner]};
    if (there) {
        sl_mix_rows(sl_column_converter(column), &own, &other);
    }
    assert_memory_equal(image, expected, sizeof(expected));
}

static void expect_label(const meeting_rig *m, uint32_t row, const bool labels[ROWS])
{
    const double *soft = (double *)array(m->rig, "label") + (size_t)row * CLASSES;
    const uint32_t partner = (uint32_t)partner_of(m, row);
    const double weight = (double)weight_of(m, row);
    const double off = 0.1 / CLASSES;
    for (uint32_t k = 0; k < CLASSES; k++) {
        const double own = !labels[row] ? 0 : row % CLASSES == k ? 1 - 0.1 + off : off;
        const double other = !labels[partner] ? 0 : partner % CLASSES == k ? 1 - 0.1 + off : off;
        assert_true(soft[k] == (own == other ? own : weight * own + (1 - weight) * other));
    }
}

/* Makes rows in a drawn order; `pictures` and `labels`: which of them exist. */
static void check_order(const double *arguments, uint32_t count, uint64_t seed,
                        const bool pictures[ROWS], const bool labels[ROWS])
{
    meeting_rig m;
    sl_random random = sl_random_for(seed, 0, 0, 0);
    uint32_t order[ROWS];
    open_rig(&m, "mixup", arguments, count);
    for (uint32_t i = 0; i < ROWS; i++) {
        const uint32_t k = sl_random_below(&random, i + 1);
        order[i] = order[k];
        order[k] = i;
    }
    for (uint32_t i = 0; i < ROWS; i++) {
        make_row(&m, order[i], pictures[order[i]], labels[order[i]]);
    }
    const bool previous = count > 2 && arguments[2] > 0;
    for (uint32_t row = 0; row < ROWS; row++) {
        const uint32_t partner = previous ? (row + ROWS - 1) % ROWS : ROWS - 1 - row;
        if (!pictures[row] || !pictures[partner] || partner == row) {
            expect_alone(&m, row);
        } else {
            assert_int_equal(partner_of(&m, row), partner);
            assert_true(weight_of(&m, row) < 1);
        }
        expect_picture(&m, row, pictures[row]);
        expect_label(&m, row, labels);
    }
    close_rig(&m);
}

TEST(any_order)
{
    const bool all[ROWS] = {true, true, true, true, true, true, true};
    for (uint64_t seed = 0; seed < 50; seed++) {
        check_order((double[]){1, 1, 0}, 3, seed, all, all);
        check_order((double[]){1, 1, 1}, 3, seed, all, all);
    }
}

TEST(pictures_and_labels_that_are_missing)
{
    const bool pictures[][ROWS] = {{true, true, true, false, true, false, true},
                                   {false, true, true, true, true, true, false},
                                   {false, false, false, false, false, false, false},
                                   {true, false, false, true, true, true, true}};
    const bool labels[][ROWS] = {{true, false, true, true, true, true, true},
                                 {false, true, true, false, true, true, false},
                                 {true, true, true, true, false, false, true}};
    for (uint64_t i = 0; i < 120; i++) {
        check_order((double[]){1, 1, (double)(i % 2)}, 3, i, pictures[i / 2 % 4],
                    labels[i / 8 % 3]);
    }
}

/* A row without a sample, and a row of padding, for which no row waits. */
TEST(blank_rows)
{
    for (int previous = 0; previous < 2; previous++) {
        meeting_rig m;
        open_rig(&m, "mixup", (double[]){1, 1, previous}, 3);
        const sl_mixing_batch batch = {.seed = 3, .epoch = 1, .first = 70, .rows = ROWS - 1};
        sl_meeting_begin(&m.meeting, &batch, 1);
        blank(m.rig, ROWS - 1);
        for (uint32_t row = 0; row < ROWS - 1; row++) {
            const sl_row_place bad = {.index = 5, .number = row, .meeting = &m.meeting};
            if (row == 2) {
                sl_columns_blank(&m.rig->set, &bad, m.rig->parts);
            } else {
                make_row(&m, row, true, true);
            }
        }
        expect_alone(&m, ROWS - 1);
        expect_alone(&m, 2);
        expect_alone(&m, 3);
        expect_picture(&m, 2, false);
        expect_picture(&m, ROWS - 1, false);
        for (uint32_t k = 0; k < CLASSES; k++) {
            assert_true(((double *)array(m.rig, "label"))[2 * CLASSES + k] == 0);
            assert_true(((double *)array(m.rig, "label"))[(ROWS - 1) * CLASSES + k] == 0);
        }
        for (uint32_t row = 0; row < ROWS - 1; row++) {
            expect_picture(&m, row, row != 2);
        }
        close_rig(&m);
    }
}

/* The device gets bytes and the operations to apply. */
TEST(what_a_device_is_told)
{
    for (int previous = 0; previous < 2; previous++) {
        meeting_rig m;
        open_rig(&m, "cutmix", (double[]){1, 1, previous}, 3);
        sl_column *column = sl_columns_picture(&m.rig->set, 0);
        sl_columns_leave_bytes(&m.rig->set, column);
        const uint32_t part = part_named(m.rig, "image.mixing");
        free(m.rig->parts[part]);
        // NOLINTNEXTLINE(clang-analyzer-unix.MallocSizeof): parts are bytes
        m.rig->parts[part] = malloc(ROWS * sizeof(sl_conversion_mixing));
        assert_int_equal(m.rig->set.parts[part].row_bytes, sizeof(sl_conversion_mixing));
        const uint32_t flags = part_named(m.rig, "image.flags");
        free(m.rig->parts[flags]);
        m.rig->parts[flags] = malloc(ROWS);
        for (uint32_t row = 0; row < ROWS; row++) {
            make_row(&m, row, row != 1, true);
        }
        for (uint32_t row = 0; row < ROWS; row++) {
            const sl_conversion_mixing *told =
                (const sl_conversion_mixing *)(void *)m.rig->parts[part] + row;
            const sl_mixing_row drawn =
                sl_mixing_draw(&column->mixer->mixing, &m.meeting.batch, row);
            assert_int_equal(told->partner, partner_of(&m, row));
            assert_true(told->weight == weight_of(&m, row));
            assert_int_equal(m.rig->parts[flags][row], row == 1 ? SL_ROW_ZERO : 0);
            if (told->partner != row) {
                assert_int_equal(told->left, drawn.left);
                assert_int_equal(told->right, drawn.right);
                assert_int_equal(told->top, drawn.top);
                assert_int_equal(told->bottom, drawn.bottom);
            }
            if (row != 1) {
                // NOLINTNEXTLINE(bugprone-implicit-widening-of-multiplication-result): small
                assert_memory_equal(m.rig->parts[part_named(m.rig, "image")] + row * SAMPLES,
                                    m.samples[row], SAMPLES);
            }
        }
        expect_alone(&m, 1);
        expect_alone(&m, previous != 0 ? 2 : 5);
        close_rig(&m);
    }
}
