/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jpeg_counts: walks coefficients in the order in which libjpeg's transcoder writes them, and makes
 * codes from the counts. One owner thread: that of the codec objects; nothing is kept between
 * images.
 */
#include "jpeg_counts.h"

#include "jpeg_zigzag.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SSE2__)
#    include <emmintrin.h>
#endif

enum {
    TABLES = SL_JPEG_COUNTS_TABLES,
    SIXTEEN_ZEROS = 0xF0,
    /* limits of symbols in 8-bit sequential coding */
    AC_BITS_MAX = 10,
    DC_BITS_MAX = 11
};

/* The state of one component, in the order of its blocks. */
typedef struct walk {
    const sl_jpeg_counts *counts;
    uint64_t *dc, *ac;
    int last_dc;
    uint32_t dc_seen, ac_seen; /* all magnitudes, or'ed */
} walk;

void sl_jpeg_counts_init(sl_jpeg_counts *counts)
{
    *counts = (sl_jpeg_counts){.used = {false}};
    for (uint32_t k = 0; k < DCTSIZE2; k++) {
        const uint32_t row = sl_jpeg_natural_order[k] / DCTSIZE;
        const uint32_t bit = 1u << sl_jpeg_natural_order[k] % DCTSIZE;
        for (uint32_t byte = 0; byte < 256; byte++) {
            counts->zigzag[row][byte] |= byte & bit ? (uint64_t)1 << k : 0;
        }
    }
}

/* Returns bit i: coefficient i of the two rows is not 0. */
static uint32_t nonzero(const JCOEF *rows)
{
#if defined(__SSE2__)
    const __m128i upper = _mm_loadu_si128((const __m128i *)(const void *)rows);
    const __m128i lower = _mm_loadu_si128((const __m128i *)(const void *)(rows + DCTSIZE));
    const __m128i zero = _mm_setzero_si128();
    const __m128i zeros =
        _mm_packs_epi16(_mm_cmpeq_epi16(upper, zero), _mm_cmpeq_epi16(lower, zero));
    return (uint32_t)_mm_movemask_epi8(zeros) ^ 0xFFFFu;
#else
    uint32_t mask = 0;
    for (uint32_t i = 0; i < 2 * DCTSIZE; i++) {
        mask |= (uint32_t)(rows[i] != 0) << i;
    }
    return mask;
#endif
}

static uint32_t jpeg_counts_bits_of(uint32_t magnitude)
{
    return magnitude == 0 ? 0 : 32 - (uint32_t)__builtin_clz(magnitude);
}

static void count_dc(walk *w, int value)
{
    const uint32_t magnitude = (uint32_t)abs(value - w->last_dc);
    w->dc[jpeg_counts_bits_of(magnitude)]++;
    w->dc_seen |= magnitude;
    w->last_dc = value;
}

static void count_ac(walk *w, const JCOEF *block)
{
    uint64_t mask = 0;
    for (uint32_t row = 0; row < DCTSIZE; row += 2) {
        const uint32_t both = nonzero(block + (size_t)row * DCTSIZE);
        mask |= w->counts->zigzag[row][both & 255] | w->counts->zigzag[row + 1][both >> 8];
    }
    mask &= ~(uint64_t)1;
    uint64_t *const ac = w->ac;
    uint32_t before = 0;
    uint32_t seen = 0;
    for (; mask != 0; mask &= mask - 1) {
        const uint32_t k = (uint32_t)__builtin_ctzll(mask);
        const uint32_t run = k - before - 1;
        const uint32_t magnitude = (uint32_t)abs(block[sl_jpeg_natural_order[k]]);
        ac[SIXTEEN_ZEROS] += run >> 4;
        ac[(run & 15) << 4 | (jpeg_counts_bits_of(magnitude) & 15)]++;
        seen |= magnitude;
        before = k;
    }
    ac[0] += before < DCTSIZE2 - 1; /* end of block */
    w->ac_seen |= seen;
}

/* The shape of a component in an MCU. */
typedef struct shape {
    JDIMENSION across, mcu_width, mcu_height;
    JDIMENSION width, height; /* real blocks, without padding */
} shape;

static void count_mcu(walk *w, const shape *s, JBLOCKARRAY rows, JDIMENSION column, JDIMENSION row)
{
    for (JDIMENSION y = 0; y < s->mcu_height; y++) {
        for (JDIMENSION x = 0; x < s->mcu_width; x++) {
            const JDIMENSION block = column * s->mcu_width + x;
            if (block < s->width && row + y < s->height) {
                count_dc(w, rows[y][block][0]);
                count_ac(w, rows[y][block]);
            } else { /* padding: the previous DC value, and zeros */
                w->dc[0]++;
                w->ac[0]++;
            }
        }
    }
}

static void count_component(walk *w, j_decompress_ptr in, jvirt_barray_ptr blocks, const shape *s,
                            uint32_t interval)
{
    uint32_t left = interval;
    w->last_dc = 0;
    for (JDIMENSION row = 0; row < s->height; row += s->mcu_height) {
        JBLOCKARRAY rows =
            in->mem->access_virt_barray((j_common_ptr)in, blocks, row, s->mcu_height, FALSE);
        for (JDIMENSION column = 0; column < s->across; column++) {
            if (left == 0) {
                w->last_dc = 0;
                left = interval;
            }
            left--;
            count_mcu(w, s, rows, column, row);
        }
    }
}

static shape shape_of(j_decompress_ptr in, const jpeg_component_info *info)
{
    shape s = {.mcu_width = 1,
               .mcu_height = 1,
               .across = info->width_in_blocks,
               .width = info->width_in_blocks,
               .height = info->height_in_blocks};
    if (in->num_components > 1) {
        const JDIMENSION mcu = (JDIMENSION)in->max_h_samp_factor * DCTSIZE;
        s.mcu_width = (JDIMENSION)info->h_samp_factor;
        s.mcu_height = (JDIMENSION)info->v_samp_factor;
        s.across = (in->image_width + mcu - 1) / mcu;
    }
    return s;
}

bool sl_jpeg_counts_take(sl_jpeg_counts *counts, j_compress_ptr out, j_decompress_ptr in,
                         jvirt_barray_ptr *coefficients, uint32_t interval)
{
    uint32_t dc_seen = 0;
    uint32_t ac_seen = 0;
    memset(counts->dc, 0, sizeof(counts->dc));
    memset(counts->ac, 0, sizeof(counts->ac));
    memset(counts->used, 0, sizeof(counts->used));
    for (int i = 0; i < in->num_components; i++) {
        const int table = out->comp_info[i].dc_tbl_no;
        assert(table >= 0 && table < TABLES && table == out->comp_info[i].ac_tbl_no);
        const shape s = shape_of(in, &in->comp_info[i]);
        walk w = {.counts = counts, .dc = counts->dc[table], .ac = counts->ac[table]};
        count_component(&w, in, coefficients[i], &s, interval > 0 ? interval : UINT32_MAX);
        counts->used[table] = true;
        dc_seen |= w.dc_seen;
        ac_seen |= w.ac_seen;
    }
    return jpeg_counts_bits_of(ac_seen) <= AC_BITS_MAX &&
           jpeg_counts_bits_of(dc_seen) <= DC_BITS_MAX;
}

void sl_jpeg_codes_best(sl_jpeg_codes *codes, const sl_jpeg_counts *counts)
{
    for (int table = 0; table < TABLES; table++) {
        if (counts->used[table]) {
            sl_huffman_code_make(&codes->dc[table], counts->dc[table]);
            sl_huffman_code_make(&codes->ac[table], counts->ac[table]);
        }
    }
}

static void get_code(sl_huffman_lengths *code, const JHUFF_TBL *table)
{
    memcpy(code->bits, table->bits, sizeof(code->bits));
    memcpy(code->symbols, table->huffval, sizeof(code->symbols));
}

void sl_jpeg_codes_of(sl_jpeg_codes *codes, const struct jpeg_compress_struct *out)
{
    for (int table = 0; table < TABLES; table++) {
        get_code(&codes->dc[table], out->dc_huff_tbl_ptrs[table]);
        get_code(&codes->ac[table], out->ac_huff_tbl_ptrs[table]);
    }
}

static void set_code(JHUFF_TBL *table, const sl_huffman_lengths *code)
{
    memcpy(table->bits, code->bits, sizeof(code->bits));
    memcpy(table->huffval, code->symbols, sizeof(code->symbols));
    table->sent_table = FALSE;
}

void sl_jpeg_codes_set(const sl_jpeg_codes *codes, const sl_jpeg_counts *counts, j_compress_ptr out)
{
    for (int table = 0; table < TABLES; table++) {
        if (counts->used[table]) {
            set_code(out->dc_huff_tbl_ptrs[table], &codes->dc[table]);
            set_code(out->ac_huff_tbl_ptrs[table], &codes->ac[table]);
        }
    }
}

/* Returns the bits with this code, which has a word for every symbol that occurs. */
static uint64_t bits_with(const sl_huffman_lengths *code, const uint64_t counts[256])
{
    uint64_t bits = 0;
    const uint8_t *symbol = code->symbols;
    for (uint32_t length = 1; length <= 16; length++) {
        for (int i = 0; i < code->bits[length]; i++, symbol++) {
            bits += counts[*symbol] * (length + (*symbol & 15));
        }
    }
    return bits;
}

uint64_t sl_jpeg_codes_bytes(const sl_jpeg_codes *codes, const sl_jpeg_counts *counts)
{
    uint64_t bits = 0;
    for (int table = 0; table < TABLES; table++) {
        if (counts->used[table]) {
            bits += bits_with(&codes->dc[table], counts->dc[table]) +
                    bits_with(&codes->ac[table], counts->ac[table]);
        }
    }
    return (bits + 7) / 8;
}
