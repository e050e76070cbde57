/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ptx_parts: the internals of ptx, for ptx*.c only.
 *
 * ptx_parse.c, ptx_names.c: the text of a module. ptx_opcode.c: instruction names and what they
 * allow. ptx_arith.c: instructions that do not access memory. ptx_memory.c: memory and its checks.
 * ptx_run.c: lanes, warps and blocks.
 * Registers hold 64 bits; bits above the register's width are 0. Shared and local memory have
 * windows in the address space, so that an address identifies its memory.
 */
#ifndef PTX_PARTS_H
#define PTX_PARTS_H

#include "ptx.h"

enum {
    PTX_LANES = 32,
    PTX_OPERANDS = 6,
    PTX_NAME = 64,
    PTX_SHARED_MAX = 49152,
    PTX_SHARED_AT = 0x10000, /* start of the windows, which both fit in 32 bits */
    PTX_LOCAL_AT = 0x1000000,
    PTX_NO_REGISTER = -1
};

typedef enum ptx_op {
    PTX_ADD,
    PTX_AND,
    PTX_BAR,
    PTX_BFI,
    PTX_BRA,
    PTX_CVT,
    PTX_CVTA,
    PTX_DIV,
    PTX_FMA,
    PTX_LD,
    PTX_MAD,
    PTX_MOV,
    PTX_MUL,
    PTX_NEG,
    PTX_NOT,
    PTX_OR,
    PTX_PRMT,
    PTX_RED,
    PTX_REM,
    PTX_RET,
    PTX_SELP,
    PTX_SETP,
    PTX_SHL,
    PTX_SHR,
    PTX_ST,
    PTX_SUB,
    PTX_XOR
} ptx_op;

typedef enum ptx_space { PTX_GENERIC, PTX_GLOBAL, PTX_SHARED, PTX_LOCAL, PTX_PARAM } ptx_space;

typedef enum ptx_compare { PTX_EQ, PTX_NE, PTX_LT, PTX_LE, PTX_GT, PTX_GE } ptx_compare;
typedef enum ptx_part { PTX_WHOLE, PTX_LOW, PTX_HIGH, PTX_WIDE } ptx_part;

/* 'u', 's', 'b': integers; 'f': float; 'h': bfloat16; 'p': predicate; 0: none. */
typedef struct ptx_type {
    char kind;
    uint8_t bits;
} ptx_type;

typedef enum ptx_operand_kind {
    PTX_REGISTER,
    PTX_IMMEDIATE, /* a number, or the address of a variable */
    PTX_SPECIAL,
    PTX_ADDRESS /* a register and an offset, or only an offset */
} ptx_operand_kind;

typedef enum ptx_special { PTX_TID, PTX_NTID, PTX_CTAID, PTX_NCTAID, PTX_GLOBALTIMER } ptx_special;

typedef struct ptx_operand {
    ptx_operand_kind kind;
    int32_t reg; /* PTX_NO_REGISTER: none */
    uint64_t value;
    ptx_special special;
    uint8_t axis; /* axis of the special register */
} ptx_operand;

/* An instruction's name, parsed. */
typedef struct ptx_opcode {
    ptx_op op;
    ptx_type type, from; /* from: the source's type, if different */
    ptx_space space;
    ptx_compare compare;
    ptx_part part;
    uint8_t vector; /* values per ld or st */
    bool rounded;   /* .rn */
    bool ftz;       /* subnormal numbers become 0 */
    bool constant;  /* .nc */
    bool adds;      /* of red */
} ptx_opcode;

typedef struct ptx_instruction {
    ptx_opcode code;
    int32_t guard; /* predicate; PTX_NO_REGISTER: always executed */
    bool guard_not;
    ptx_operand operands[PTX_OPERANDS]; /* results first; the address of ld, st and red last */
    uint8_t count, results;
    uint32_t target; /* of bra */
    uint32_t line;
    const char *text;
} ptx_instruction;

struct ptx_kernel {
    char name[PTX_NAME];
    ptx_instruction *code;
    uint32_t length;
    uint8_t *widths; /* width of each register in bits; 1: a predicate */
    uint32_t registers;
    struct {
        uint32_t at, bytes;
    } parameters[16];
    uint32_t parameter_count, parameter_bytes;
    uint32_t shared_bytes, local_bytes;
    uint32_t threads_most; /* .maxntid; 0: not specified */
};

/* ---- opcodes ---- */

/* Parses an instruction's name; returns NULL, or the unknown part. */
const char *ptx_opcode_parse(ptx_opcode *code, const char *text, char *unknown, size_t bytes);
/* Returns the number of operands, counting each element of a vector; results come first. */
uint8_t ptx_opcode_operands(const ptx_opcode *code, uint8_t *results);

/* ---- arithmetic ---- */

static inline uint64_t ptx_mask(unsigned bits)
{
    return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

/* Computes the result from the operands' values; returns NULL, or the reason for a failure. */
const char *ptx_compute(const ptx_instruction *instruction, const uint64_t *values,
                        uint64_t *result);
/* Computes a + b like red.add. */
uint64_t ptx_sum(ptx_type type, uint64_t a, uint64_t b);

/* ---- memory ---- */

typedef struct ptx_touch ptx_touch;

typedef struct ptx_accesses {
    const ptx_launch *launch;
    ptx_touch **touches; /* for each memory; none before the first write */
    ptx_touch *shared_touches;
    uint8_t *shared, *shared_written; /* the running block's */
    uint8_t *local, *local_written;   /* consecutive per thread */
    uint32_t shared_bytes, local_bytes;
} ptx_accesses;

/* A thread that accesses memory; thread numbers begin with 1. */
typedef struct ptx_toucher {
    uint32_t thread, block_first, block_last;
    uint32_t lane;  /* lane number in the block */
    uint16_t phase; /* barriers passed so far */
} ptx_toucher;

bool ptx_accesses_open(ptx_accesses *accesses, const ptx_kernel *kernel, const ptx_launch *launch);
void ptx_accesses_close(ptx_accesses *accesses);
/* Called between blocks. */
void ptx_accesses_next_block(ptx_accesses *accesses, uint32_t threads);
/* Returns the bytes of an access by that thread; NULL: not allowed, with the reason in `why`. */
uint8_t *ptx_access(ptx_accesses *accesses, const ptx_toucher *who, const ptx_opcode *code,
                    uint64_t address, const char **why);

#endif
