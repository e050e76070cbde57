/* SPDX-License-Identifier: Apache-2.0 */
/* The instructions that the executor supports, and the words that each name may contain. */
#include "ptx_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Words in a name, other than types. */
enum {
    MAY_SPACE = 1,
    MAY_VECTOR = 2,
    MAY_COMPARE = 4,
    MAY_PART = 8,
    MAY_RN = 16,
    MAY_FTZ = 32,
    MAY_NC = 64,
    MAY_VOLATILE = 128,
    MAY_TO = 256,
    MAY_UNI = 512,
    MAY_SYNC = 1024,
    MAY_ADD = 2048
};

#define INTEGERS " u16 s16 u32 s32 u64 s64 "
#define BITS     " b16 b32 b64 "

typedef struct row {
    const char *name;
    ptx_op op;
    unsigned may;
    const char *types; /* "": the instruction has none */
    uint8_t operands, results;
} row;

static const row rows[] = {
    {"add", PTX_ADD, MAY_RN | MAY_FTZ, INTEGERS "f32 ", 3, 1},
    {"and", PTX_AND, 0, BITS "pred ", 3, 1},
    {"bar", PTX_BAR, MAY_SYNC, "", 1, 0},
    {"bfi", PTX_BFI, 0, " b32 ", 5, 1},
    {"bra", PTX_BRA, MAY_UNI, "", 0, 0},
    {"cvt", PTX_CVT, MAY_RN | MAY_FTZ, " u8 s8" INTEGERS "f16 bf16 f32 ", 2, 1},
    {"cvta", PTX_CVTA, MAY_TO | MAY_SPACE, " u64 ", 2, 1},
    {"div", PTX_DIV, MAY_RN | MAY_FTZ, " u32 u64 f32 ", 3, 1},
    {"fma", PTX_FMA, MAY_RN | MAY_FTZ, " f32 ", 4, 1},
    {"ld", PTX_LD, MAY_SPACE | MAY_VECTOR | MAY_NC | MAY_VOLATILE, " u8 s8 b8" INTEGERS BITS "f32 ",
     1, 0},
    {"mad", PTX_MAD, MAY_PART, INTEGERS, 4, 1},
    {"mov", PTX_MOV, 0, " u16" BITS "u32 s32 u64 s64 f32 pred ", 2, 1},
    {"mul", PTX_MUL, MAY_PART | MAY_RN | MAY_FTZ, INTEGERS "f32 ", 3, 1},
    {"neg", PTX_NEG, MAY_FTZ, " s16 s32 s64 f32 ", 2, 1},
    {"not", PTX_NOT, 0, BITS "pred ", 2, 1},
    {"or", PTX_OR, 0, BITS "pred ", 3, 1},
    {"prmt", PTX_PRMT, 0, " b32 ", 4, 1},
    {"red", PTX_RED, MAY_SPACE | MAY_ADD, " u32 s32 u64 f32 ", 2, 0},
    {"rem", PTX_REM, 0, " u32 u64 ", 3, 1},
    {"ret", PTX_RET, MAY_UNI, "", 0, 0},
    {"selp", PTX_SELP, 0, INTEGERS BITS "f32 ", 4, 1},
    {"setp", PTX_SETP, MAY_COMPARE, INTEGERS BITS, 3, 1},
    {"shl", PTX_SHL, 0, BITS, 3, 1},
    {"shr", PTX_SHR, 0, INTEGERS BITS, 3, 1},
    {"st", PTX_ST, MAY_SPACE | MAY_VECTOR | MAY_VOLATILE, " u8 s8 b8" INTEGERS BITS "f32 ", 1, 0},
    {"sub", PTX_SUB, MAY_RN | MAY_FTZ, INTEGERS "f32 ", 3, 1},
    {"xor", PTX_XOR, 0, BITS "pred ", 3, 1},
};

static const struct {
    const char *word;
    unsigned may;
    int value;
} words[] = {
    {"global", MAY_SPACE, PTX_GLOBAL},
    {"shared", MAY_SPACE, PTX_SHARED},
    {"local", MAY_SPACE, PTX_LOCAL},
    {"param", MAY_SPACE, PTX_PARAM},
    {"v2", MAY_VECTOR, 2},
    {"v4", MAY_VECTOR, 4},
    {"eq", MAY_COMPARE, PTX_EQ},
    {"ne", MAY_COMPARE, PTX_NE},
    {"lt", MAY_COMPARE, PTX_LT},
    {"le", MAY_COMPARE, PTX_LE},
    {"gt", MAY_COMPARE, PTX_GT},
    {"ge", MAY_COMPARE, PTX_GE},
    {"lo", MAY_PART, PTX_LOW},
    {"hi", MAY_PART, PTX_HIGH},
    {"wide", MAY_PART, PTX_WIDE},
    {"rn", MAY_RN, 1},
    {"ftz", MAY_FTZ, 1},
    {"nc", MAY_NC, 1},
    {"volatile", MAY_VOLATILE, 1},
    {"to", MAY_TO, 1},
    {"uni", MAY_UNI, 1},
    {"sync", MAY_SYNC, 1},
    {"add", MAY_ADD, 1},
};

static void take_word(ptx_opcode *code, unsigned may, int value)
{
    switch (may) {
    case MAY_SPACE:
        code->space = (ptx_space)value;
        break;
    case MAY_VECTOR:
        code->vector = (uint8_t)value;
        break;
    case MAY_COMPARE:
        code->compare = (ptx_compare)value;
        break;
    case MAY_PART:
        code->part = (ptx_part)value;
        break;
    case MAY_RN:
        code->rounded = true;
        break;
    case MAY_FTZ:
        code->ftz = true;
        break;
    case MAY_NC:
        code->constant = true;
        break;
    default: /* they have no effect here */
        break;
    }
}

static bool is_word(unsigned may, const char *word, ptx_opcode *code, unsigned *had)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcmp(word, words[i].word) == 0 && (may & words[i].may) != 0) {
            *had |= words[i].may;
            take_word(code, words[i].may, words[i].value);
            return true;
        }
    }
    return false;
}

static bool is_type(const char *types, const char *word, ptx_opcode *code)
{
    char wanted[PTX_NAME + 2];
    snprintf(wanted, sizeof(wanted), " %s ", word);
    if (strstr(types, wanted) == NULL || code->from.kind != 0) {
        return false;
    }
    ptx_type type = {word[0], 0};
    if (strcmp(word, "pred") == 0) {
        type.bits = 1;
    } else if (strcmp(word, "bf16") == 0) {
        type = (ptx_type){'h', 16};
    } else {
        type.bits = (uint8_t)strtoul(word + 1, NULL, 10);
    }
    *(code->type.kind == 0 ? &code->type : &code->from) = type;
    return true;
}

static bool is_integer(ptx_type type)
{
    return type.kind == 'u' || type.kind == 's';
}

/* Requires a rounding mode exactly where rounding takes place. */
static const char *check_cvt(const ptx_opcode *code)
{
    const ptx_type to = code->type;
    const ptx_type from = code->from;
    const bool wide = from.kind == 'f' && from.bits == 32;
    const bool narrows = wide && to.bits == 16 && !is_integer(to);
    const bool rounds = narrows || (is_integer(from) && to.kind == 'f' && to.bits == 32);
    const bool widens = to.kind == 'f' && to.bits == 32 && from.kind == 'f' && from.bits == 16;
    const bool exact = widens || (is_integer(from) && is_integer(to));
    if (from.kind == 0 || (!rounds && !exact) || rounds != code->rounded) {
        return "this conversion is not known";
    }
    return NULL;
}

static const char *check(const ptx_opcode *code, const row *r, unsigned had)
{
    const unsigned must = r->may & (MAY_COMPARE | MAY_SYNC | MAY_ADD);
    const bool has_type = code->type.kind != 0;
    const bool is_float = code->type.kind == 'f';
    if ((had & must) != must || has_type != (r->types[0] != '\0')) {
        return "the instruction lacks a word";
    }
    if (code->op == PTX_CVT) {
        return check_cvt(code);
    }
    if (code->from.kind != 0 || (!is_float && (had & (MAY_RN | MAY_FTZ)) != 0)) {
        return "the words do not go together";
    }
    /* An assembler may fuse a multiplication without a rounding mode into an fma. */
    const bool must_round = is_float && (r->op == PTX_MUL || r->op == PTX_FMA || r->op == PTX_DIV);
    if (must_round && !code->rounded) {
        return "the rounding is left to the assembler: .rn is missing";
    }
    const bool parted = (had & MAY_PART) != 0;
    if ((r->may & MAY_PART) != 0 && parted == is_float) {
        return "the part of the product is not said";
    }
    if (code->part == PTX_WIDE && code->type.bits == 64) {
        return "a product of 128 bits is not known";
    }
    return NULL;
}

/* Returns the next word between dots; false if there is none. */
static bool next_word(const char **text, char word[PTX_NAME])
{
    const size_t length = strcspn(*text, ".");
    if (length == 0 || length >= PTX_NAME) {
        return false;
    }
    memcpy(word, *text, length);
    word[length] = '\0';
    *text += length + ((*text)[length] == '.');
    return true;
}

const char *ptx_opcode_parse(ptx_opcode *code, const char *text, char *unknown, size_t bytes)
{
    char word[PTX_NAME];
    const row *r = NULL;
    unsigned had = 0;
    *code = (ptx_opcode){.vector = 1};
    const bool any = next_word(&text, word);
    for (size_t i = 0; any && i < sizeof(rows) / sizeof(rows[0]); i++) {
        r = strcmp(word, rows[i].name) == 0 ? &rows[i] : r;
    }
    if (r == NULL) {
        snprintf(unknown, bytes, "unknown instruction '%s'", any ? word : text);
        return unknown;
    }
    code->op = r->op;
    while (next_word(&text, word)) {
        if (!is_word(r->may, word, code, &had) && !is_type(r->types, word, code)) {
            snprintf(unknown, bytes, "unknown word '.%s' of '%s'", word, r->name);
            return unknown;
        }
    }
    return check(code, r, had);
}

uint8_t ptx_opcode_operands(const ptx_opcode *code, uint8_t *results)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].op == code->op) {
            const bool memory = code->op == PTX_LD || code->op == PTX_ST;
            *results = code->op == PTX_LD ? code->vector : rows[i].results;
            return (uint8_t)(rows[i].operands + (memory ? code->vector : 0));
        }
    }
    *results = 0;
    return 0;
}
