/* SPDX-License-Identifier: Apache-2.0 */
/* Tests values in an unpacked Parquet page, read in sequence and looked up in its table, against a
 * model that made the page. */
#include "little_endian.h"
#include "parquet_table.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

enum { SLOTS_MAX = 40000, PAGE_MAX = 1 << 20 };

/* The parts that a page was made of. */
typedef struct model {
    uint32_t slots, max_level;
    uint8_t level[SLOTS_MAX];
    uint32_t offset[SLOTS_MAX], bytes[SLOTS_MAX]; /* of slots at the highest level */
    uint8_t page[PAGE_MAX];
    size_t size;
    sl_page_pick pick;
} model;

static uint32_t random_state = 1;

static uint32_t draw(uint32_t below)
{
    random_state = random_state * 1664525U + 1013904223U;
    return (uint32_t)((uint64_t)random_state * below >> 32);
}

static void put(model *m, uint64_t number, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        m->page[m->size++] = (uint8_t)(number >> 8 * i);
    }
}

static void put_varint(model *m, uint64_t number)
{
    for (; number > 127; number >>= 7) {
        put(m, (number & 127) | 128, 1);
    }
    put(m, number, 1);
}

/* Writes `count` levels in groups of eight; the last group may have fewer. */
static void put_packed(model *m, const uint8_t *from, uint32_t count, uint32_t width)
{
    const size_t begin = m->size + 5;
    put_varint(m, (uint64_t)((count + 7) / 8) << 1 | 1);
    const size_t at = m->size;
    assert_true(at <= begin);
    put(m, 0, 0);
    memset(m->page + at, 0, ((size_t)(count + 7) / 8) * width);
    for (uint32_t i = 0; i < count * width; i++) {
        m->page[at + i / 8] |= (uint8_t)((from[i / width] >> i % width & 1) << i % 8);
    }
    m->size += (size_t)((count + 7) / 8) * width;
}

/* Writes levels like a typical writer: runs where possible, otherwise groups; `runs` false: groups
 * only. */
static void put_levels(model *m, bool runs)
{
    const uint32_t width = sl_levels_width(m->max_level);
    for (uint32_t at = 0; at < m->slots;) {
        uint32_t same = 1;
        while (at + same < m->slots && m->level[at + same] == m->level[at]) {
            same++;
        }
        if (runs && (same >= 8 || m->slots - at < 8)) {
            put_varint(m, (uint64_t)same << 1);
            put(m, m->level[at], 1);
            at += same;
        } else {
            uint32_t count = 8 * (1 + draw(runs ? 3 : 2000));
            count = count < m->slots - at ? count : m->slots - at;
            put_packed(m, m->level + at, count, width);
            at += count;
        }
    }
}

/* `kind` 1: levels preceded by their size; 2: the size is stored outside the page. */
static void make_page(model *m, int kind, bool runs, uint32_t nulls)
{
    m->size = 0;
    m->pick = (sl_page_pick){.max_level = (uint8_t)m->max_level, .sized_levels = kind == 1};
    uint32_t left = 0;
    for (uint32_t i = 0; i < m->slots; i++) {
        left = left > 0 ? left - 1 : draw(40) == 0 ? draw(900) : 0; /* some equal */
        m->level[i] = left > 0 && i > 0   ? m->level[i - 1]
                      : draw(100) < nulls ? (uint8_t)draw(m->max_level + 1)
                                          : (uint8_t)m->max_level;
    }
    if (m->max_level > 0) {
        m->size = kind == 1 ? 4 : 0;
        put_levels(m, runs);
        if (kind == 1) {
            const uint32_t bytes = (uint32_t)m->size - 4;
            memcpy(m->page, &bytes, sizeof(bytes)); /* of a little-endian machine */
        } else {
            m->pick.plain_bytes = (uint32_t)m->size;
        }
    }
    for (uint32_t i = 0; i < m->slots; i++) {
        if (m->level[i] == m->max_level) {
            m->bytes[i] = draw(8) == 0 ? 0 : draw(20);
            put(m, m->bytes[i], 4);
            m->offset[i] = (uint32_t)m->size;
            m->size += m->bytes[i];
        }
    }
    assert_true(m->size <= PAGE_MAX);
    m->pick.bytes = (uint32_t)m->size;
}

static void expect(const model *m, uint32_t row, sl_refusal why, sl_bytes found)
{
    assert_null(why.text);
    if (m->level[row] < m->max_level) {
        assert_null(found.data);
    } else {
        assert_ptr_equal(found.data, m->page + m->offset[row]);
        assert_int_equal(found.size, m->bytes[row]);
    }
}

static void check(model *m)
{
    const sl_bytes body = {m->page, m->size};
    const size_t bytes = sl_page_table_bytes(&m->pick, body);
    sl_page_table *table = malloc(bytes);
    assert_non_null(table);
    sl_page_table_make(&m->pick, body, table);
    const uint32_t step = m->slots > 3000 ? TEST_AMOUNT(61, 1201) : TEST_AMOUNT(1, 7);
    for (uint32_t row = 0; row < m->slots; row += step) {
        sl_bytes found;
        m->pick.row = row;
        sl_refusal why = sl_page_find(&m->pick, body, &found);
        expect(m, row, why, found);
        why = sl_page_table_find(table, &m->pick, body, &found);
        expect(m, row, why, found);
    }
    free(table);
}

static void check_ways(model *m, uint32_t slots, uint32_t nulls)
{
    for (int way = 0; way < 4; way++) {
        m->slots = slots;
        make_page(m, 1 + way / 2, way % 2 == 0, nulls);
        check(m);
    }
}

TEST(tables_find_what_walking_does)
{
    static model m;
    static const uint32_t sizes[] = {1, 7, 8, 9, 1000, 30000};
    static const uint32_t nulls[] = {0, 3, 50, 100};
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        for (m.max_level = 0; m.max_level <= 3; m.max_level++) {
            for (size_t n = 0; n < 4; n++) {
                check_ways(&m, sizes[s], nulls[n]);
            }
        }
    }
}

/* Runs and packed levels, from any position, over any number. */
TEST(skipping_is_counting)
{
    static model m;
    for (m.max_level = 1; m.max_level <= 3; m.max_level++) {
        m.slots = 20000;
        make_page(&m, 2, m.max_level != 2, 30);
        sl_levels one;
        sl_levels many;
        const sl_bytes stored = {m.page, m.pick.plain_bytes};
        sl_levels_begin(&one, stored, sl_levels_width(m.max_level));
        many = one;
        for (uint32_t at = 0; at < m.slots;) {
            uint32_t some = draw(300);
            some = some < m.slots - at ? some : m.slots - at;
            uint32_t counted = 0;
            uint32_t found = 0;
            for (uint32_t i = 0; i < some; i++) {
                uint32_t level;
                assert_true(sl_levels_next(&one, &level));
                assert_int_equal(level, m.level[at + i]);
                counted += level == m.max_level;
            }
            assert_true(sl_levels_skip(&many, some, m.max_level, &found));
            assert_int_equal(found, counted);
            at += some;
        }
    }
}

/* Truncated or changed pages: both methods fail alike. Values that both find are in the page and
 * equal. */
TEST(damage_is_the_same)
{
    static model m;
    for (int i = 0; i < TEST_AMOUNT(3000, 600); i++) {
        m.max_level = draw(3);
        m.slots = 1 + draw(300);
        make_page(&m, 1 + i % 2, i % 3 != 0, 20);
        const size_t size = draw(2) == 0 ? draw((uint32_t)m.size + 1) : m.size;
        uint8_t *copy = malloc(size + 1); /* the sanitizer guards its end */
        memcpy(copy, m.page, size);
        if (size > 0) {
            copy[draw((uint32_t)size)] ^= (uint8_t)(1U << draw(8));
        }
        const sl_bytes body = {copy, size};
        void *table = malloc(sl_page_table_bytes(&m.pick, body));
        sl_page_table_make(&m.pick, body, table);
        for (int k = 0; k < 20; k++) {
            sl_bytes a;
            sl_bytes b;
            m.pick.row = draw(m.slots);
            const sl_refusal walked = sl_page_find(&m.pick, body, &a);
            const sl_refusal looked = sl_page_table_find(table, &m.pick, body, &b);
            assert_int_equal(walked.text != NULL, looked.text != NULL);
            if (walked.text == NULL) {
                assert_ptr_equal(a.data, b.data);
                assert_int_equal(a.size, b.size);
                assert_true(a.data == NULL || (a.data >= copy && a.data + a.size <= copy + size));
            }
        }
        free(table);
        free(copy);
    }
}
