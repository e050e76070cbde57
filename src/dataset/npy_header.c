/* SPDX-License-Identifier: Apache-2.0 */
/*
 * npy_header: parses and writes the dict in a .npy header. Pure.
 *
 * The header is untrusted: nothing is read beyond it, and sizes are checked for overflow.
 */
#include "npy_header.h"

#include "dtype.h"
#include "little_endian.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char magic[6] = "\x93NUMPY";

enum { MAJOR = 6, LENGTH = 8 };

bool sl_npy_is(const uint8_t *bytes, size_t size)
{
    return size >= SL_NPY_PREFIX_BYTES && memcmp(bytes, magic, sizeof(magic)) == 0;
}

uint64_t sl_npy_length(const uint8_t *prefix)
{
    if (!sl_npy_is(prefix, SL_NPY_PREFIX_BYTES)) {
        return 0;
    }
    switch (prefix[MAJOR]) {
    case 1:
        return LENGTH + 2 + (uint64_t)sl_load16(prefix + LENGTH);
    case 2:
    case 3:
        return LENGTH + 4 + (uint64_t)sl_load32(prefix + LENGTH);
    default:
        return 0;
    }
}

/* ---- the dict ---- */

typedef struct reader {
    const char *begin, *at, *end;
} reader;

static void npy_header_skip_blanks(reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\n' || *r->at == '\t')) {
        r->at++;
    }
}

/* Takes `letter` if it is next. */
static bool npy_header_take(reader *r, char letter)
{
    npy_header_skip_blanks(r);
    if (r->at < r->end && *r->at == letter) {
        r->at++;
        return true;
    }
    return false;
}

static bool npy_header_take_word(reader *r, const char *word)
{
    const size_t length = strlen(word);
    npy_header_skip_blanks(r);
    if ((size_t)(r->end - r->at) >= length && memcmp(r->at, word, length) == 0) {
        r->at += length;
        return true;
    }
    return false;
}

/* Takes 'text' or "text", without escapes. */
static bool take_string(reader *r, const char **text, size_t *bytes)
{
    npy_header_skip_blanks(r);
    if (r->at == r->end || (*r->at != '\'' && *r->at != '"')) {
        return false;
    }
    const char quote = *r->at++;
    *text = r->at;
    while (r->at < r->end && *r->at != quote && *r->at != '\\') {
        r->at++;
    }
    *bytes = (size_t)(r->at - *text);
    return r->at < r->end && *r->at++ == quote;
}

/* Takes digits, and the L that Python 2 wrote after them. */
static bool npy_header_take_number(reader *r, uint64_t *number)
{
    const char *first = r->at;
    *number = 0;
    for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++) {
        if (*number > (uint64_t)INT64_MAX / 10 - 1) {
            return false;
        }
        *number = *number * 10 + (uint64_t)(*r->at - '0');
    }
    const bool good = r->at > first;
    (void)npy_header_take(r, 'L');
    return good;
}

static bool take_shape(reader *r, sl_npy *npy)
{
    if (!npy_header_take(r, '(')) {
        return false;
    }
    npy->dims = 0;
    while (!npy_header_take(r, ')')) {
        npy_header_skip_blanks(r);
        if (npy->dims == SL_NPY_DIMS_MAX || !npy_header_take_number(r, &npy->shape[npy->dims++])) {
            return false;
        }
        if (!npy_header_take(r, ',')) {
            return npy_header_take(r, ')');
        }
    }
    return true;
}

/* ---- what it means ---- */

static const struct {
    char name[3];
    sluice_dtype dtype;
} types[] = {
    {"b1", SLUICE_BOOL}, {"i1", SLUICE_I8},  {"u1", SLUICE_U8},  {"i2", SLUICE_I16},
    {"u2", SLUICE_U16},  {"i4", SLUICE_I32}, {"u4", SLUICE_U32}, {"i8", SLUICE_I64},
    {"u8", SLUICE_U64},  {"f2", SLUICE_F16}, {"f4", SLUICE_F32}, {"f8", SLUICE_F64},
};

const char *sl_npy_dtype(const char *text, size_t bytes, sluice_dtype *dtype)
{
    if (bytes >= 2 && text[1] == 'O') {
        return "its elements are pickled objects, which are never loaded: save an array of numbers";
    }
    for (size_t i = 0; bytes == 3 && i < sizeof(types) / sizeof(types[0]); i++) {
        if (memcmp(text + 1, types[i].name, 2) != 0) {
            continue;
        }
        *dtype = types[i].dtype;
        return text[0] == '<' || text[0] == '|' || sl_dtype_bytes(*dtype) == 1
                   ? NULL
                   : "its numbers are in big-endian order: save "
                     "array.astype(array.dtype.newbyteorder('<'))";
    }
    return "its elements are neither numbers nor booleans";
}

static sl_refusal set_dtype(sl_npy *npy, const reader *r, const char *text, size_t bytes)
{
    const char *why = sl_npy_dtype(text, bytes, &npy->dtype);
    return why == NULL ? sl_accept() : sl_refuse_unknown(why, (size_t)(text - r->begin));
}

/* Takes one `key: value,` of the dict and sets its bit in `*found`. */
static sl_refusal npy_header_take_entry(reader *r, sl_npy *npy, bool *fortran, uint32_t *found)
{
    enum { DESCR = 1, ORDER = 2, SHAPE = 4 };
    const char *key;
    size_t bytes;
    if (!take_string(r, &key, &bytes) || !npy_header_take(r, ':')) {
        return sl_refuse("its header is not a dict as numpy writes it", (size_t)(r->at - r->begin));
    }
    const char *text;
    size_t length;
    bool good = false;
    uint32_t bit = 0;
    if (bytes == 5 && memcmp(key, "descr", 5) == 0) {
        bit = DESCR;
        if (npy_header_take(r, '[')) {
            return sl_refuse_unknown("its dtype is structured", (size_t)(r->at - r->begin));
        }
        if (take_string(r, &text, &length)) {
            const sl_refusal refusal = set_dtype(npy, r, text, length);
            if (refusal.text != NULL) {
                return refusal;
            }
            good = true;
        }
    } else if (bytes == 13 && memcmp(key, "fortran_order", 13) == 0) {
        bit = ORDER;
        *fortran = npy_header_take_word(r, "True");
        good = *fortran || npy_header_take_word(r, "False");
    } else if (bytes == 5 && memcmp(key, "shape", 5) == 0) {
        bit = SHAPE;
        good = take_shape(r, npy);
    }
    if (!good || (*found & bit) != 0) {
        return sl_refuse("its header is not a dict as numpy writes it", (size_t)(key - r->begin));
    }
    *found |= bit;
    return sl_accept();
}

static sl_refusal take_dict(reader *r, sl_npy *npy, bool *fortran)
{
    enum { ALL = 7 };
    uint32_t found = 0;
    if (!npy_header_take(r, '{')) {
        return sl_refuse("its header is not a dict", (size_t)(r->at - r->begin));
    }
    while (!npy_header_take(r, '}')) {
        const sl_refusal refusal = npy_header_take_entry(r, npy, fortran, &found);
        if (refusal.text != NULL) {
            return refusal;
        }
        if (!npy_header_take(r, ',')) {
            if (!npy_header_take(r, '}')) {
                return sl_refuse("its header is truncated", (size_t)(r->at - r->begin));
            }
            break;
        }
    }
    return found == ALL ? sl_accept() : sl_refuse("its header is incomplete", LENGTH);
}

/* Returns whether the memory order matters: at least two dimensions have more than one element. */
static bool has_order(const sl_npy *npy)
{
    uint32_t long_ones = 0;
    for (uint32_t i = 0; i < npy->dims; i++) {
        long_ones += npy->shape[i] > 1;
    }
    return long_ones > 1;
}

static bool npy_header_measure(sl_npy *npy)
{
    npy->bytes = sl_dtype_bytes(npy->dtype);
    for (uint32_t i = 0; i < npy->dims; i++) {
        if (npy->shape[i] != 0 && npy->bytes > (uint64_t)INT64_MAX / npy->shape[i]) {
            return false;
        }
        npy->bytes *= npy->shape[i];
    }
    return true;
}

sl_refusal sl_npy_parse(sl_npy *npy, sl_bytes header)
{
    bool fortran = false;
    *npy = (sl_npy){.data = header.size};
    const size_t first = header.data[MAJOR] == 1 ? LENGTH + 2 : LENGTH + 4;
    const char *begin = (const char *)header.data;
    reader r = {begin, begin + (first < header.size ? first : header.size), begin + header.size};
    const sl_refusal refusal = take_dict(&r, npy, &fortran);
    if (refusal.text != NULL) {
        return refusal;
    }
    if (!npy_header_measure(npy)) {
        return sl_refuse("its shape is out of range", LENGTH);
    }
    if (fortran && has_order(npy)) {
        return sl_refuse_unknown("it is in Fortran order: save numpy.ascontiguousarray(array)",
                                 LENGTH);
    }
    return sl_accept();
}

/* ---- making one ---- */

static const char *descr_of(sluice_dtype dtype)
{
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (types[i].dtype == dtype) {
            return types[i].name;
        }
    }
    return "u2";
}

/* Writes like numpy: the dict, blanks up to a multiple of 64, a newline. */
size_t sl_npy_make(const sl_npy *npy, char header[SL_NPY_MADE_MAX])
{
    enum { FIRST = LENGTH + 2, STEP = 64 };
    char shape[SLUICE_TENSOR_DIMS_MAX * 22 + 1] = "";
    size_t at = 0;
    for (uint32_t i = 0; i < npy->dims; i++) {
        at += (size_t)snprintf(shape + at, sizeof(shape) - at, "%s%" PRIu64, i > 0 ? ", " : "",
                               npy->shape[i]);
    }
    const char order = sl_dtype_bytes(npy->dtype) == 1 ? '|' : '<';
    const int length = snprintf(header + FIRST, SL_NPY_MADE_MAX - FIRST,
                                "{'descr': '%c%s', 'fortran_order': False, 'shape': (%s%s), }",
                                order, descr_of(npy->dtype), shape, npy->dims == 1 ? "," : "");
    const size_t used = FIRST + (size_t)length + 1;
    const size_t all = (used + STEP - 1) / STEP * STEP;
    memcpy(header, magic, sizeof(magic));
    header[MAJOR] = 1;
    header[MAJOR + 1] = 0;
    sl_store16((uint8_t *)header + LENGTH, (uint16_t)(all - FIRST));
    memset(header + used - 1, ' ', all - used);
    header[all - 1] = '\n';
    return all;
}
