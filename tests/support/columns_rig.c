/* SPDX-License-Identifier: Apache-2.0 */
#include "columns_rig.h"

#include "draw_memory.h"
#include "error.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

columns_rig *columns_rig_open(const sl_field *fields, uint32_t field_count, uint32_t rows)
{
    columns_rig *r = calloc(1, sizeof(*r));
    assert_non_null(r);
    r->fields = fields;
    r->field_count = field_count;
    r->rows = rows;
    assert_int_equal(sluice_columns_create(&r->asked), SLUICE_OK);
    const sl_decoder_config config = {.max_pixels = 1 << 20, .max_unpacked_bytes = 1 << 20};
    assert_int_equal(sl_decoder_open(&r->decoder, &config, NULL), SLUICE_OK);
    r->row = calloc(1, sizeof(*r->row));
    assert_non_null(r->row);
    r->row->decoder = r->decoder;
    return r;
}

int columns_rig_close(void **state)
{
    columns_rig *r = *state;
    sl_row_close(&r->set, r->row);
    free(r->draws);
    sl_columns_close(&r->set);
    sl_notices_close(r->notices);
    for (size_t i = 0; i < SL_PARTS_MAX; i++) {
        free(r->parts[i]);
    }
    free(r->row);
    sl_decoder_close(r->decoder);
    sluice_columns_destroy(r->asked);
    free(r);
    return 0;
}

static sluice_status bind_asked(columns_rig *r, sluice_error *error)
{
    const sl_columns_config config = {.asked = r->asked,
                                      .fields = r->fields,
                                      .field_count = r->field_count,
                                      .ignore_index = -1,
                                      .exif = r->exif,
                                      .notices = r->notices};
    sl_error_clear(error);
    return sl_columns_bind(&r->set, &config, error);
}

void must_bind(columns_rig *r)
{
    sluice_error error;
    if (bind_asked(r, &error) != SLUICE_OK) {
        fail_msg("%s", error.text);
    }
    free(r->draws); /* left by an earlier set if the test binds again */
    r->draws = calloc(1, sl_draw_memory_bytes(&r->set) + 1);
    assert_non_null(r->draws);
    sl_draw_memory_place(&r->set, r->row, r->draws);
    assert_int_equal(sl_row_open(&r->set, r->row, NULL), SLUICE_OK);
    for (uint32_t i = 0; i < r->set.part_count; i++) {
        const size_t bytes = sl_part_bytes(&r->set.parts[i], r->rows) + 1;
        r->parts[i] = malloc(bytes);
        assert_non_null(r->parts[i]);
        memset(r->parts[i], 0xA5, bytes);
    }
}

void refuses(columns_rig *r, const char *words)
{
    sluice_error error;
    assert_int_equal(bind_asked(r, &error), SLUICE_INVALID);
    if (strstr(error.text, words) == NULL) {
        fail_msg("\"%s\" is not in \"%s\"", words, error.text);
    }
}

uint32_t part_named(const columns_rig *r, const char *name)
{
    for (uint32_t i = 0; i < r->set.part_count; i++) {
        if (strcmp(r->set.parts[i].name, name) == 0) {
            return i;
        }
    }
    fail_msg("no array \"%s\"", name);
    return 0;
}

void *array(const columns_rig *r, const char *name)
{
    return r->parts[part_named(r, name)];
}

sluice_status make(columns_rig *r, uint32_t number, sluice_error *error)
{
    sl_error_clear(error);
    r->row->at = (sl_row_place){.index = 1000 + (int64_t)number, .number = number};
    r->row->members = 1;
    const sluice_status status = sl_columns_make(&r->set, r->row, r->parts, error);
    if (status == SLUICE_OK) {
        sl_columns_end(&r->set, r->row, r->parts);
    }
    return status;
}

void must_make(columns_rig *r, uint32_t number)
{
    sluice_error error;
    if (make(r, number, &error) != SLUICE_OK) {
        fail_msg("%s", error.text);
    }
}

void blank(columns_rig *r, uint32_t number)
{
    sl_columns_blank(&r->set, &(sl_row_place){.index = -1, .number = number}, r->parts);
}
