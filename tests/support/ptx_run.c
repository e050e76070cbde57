/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lanes, warps and blocks. A warp executes the earliest instruction, in text order, that any of its
 * lanes has reached, for all lanes there; diverged lanes meet again where their paths join. Warps
 * take turns of random length; blocks run one after another in random order.
 */
#include "ptx_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TURN = 48, NS_PER_LOOK = 1000 };

#define STEPS     UINT64_C(10000000)
#define GONE      UINT32_MAX       /* position of a lane that has returned */
#define AT_BAR    (UINT32_MAX - 1) /* waiting at a barrier */
#define IS_ACTIVE (UINT32_MAX - 2) /* all lower values are running */

typedef struct warp {
    uint32_t pc[PTX_LANES];
    uint32_t bar[PTX_LANES]; /* the barrier at which a lane waits */
    uint8_t order[PTX_LANES];
    uint32_t first, lanes;
    uint64_t *registers; /* all lanes of each register */
    uint32_t *defined;   /* for each register, one bit per lane */
    uint64_t steps;
} warp;

typedef struct run {
    const ptx_kernel *kernel;
    const ptx_launch *launch;
    ptx_failure *failure;
    ptx_accesses accesses;
    uint8_t *parameters;
    warp *warps;
    uint32_t warp_count, threads, block[3], block_number;
    uint16_t phase;
    uint64_t random, clock;
} run;

/* xorshift64*: any generator works */
static uint32_t random_below(run *r, uint32_t count)
{
    r->random ^= r->random >> 12;
    r->random ^= r->random << 25;
    r->random ^= r->random >> 27;
    return (uint32_t)(((r->random * UINT64_C(2685821657736338717)) >> 32) * count >> 32);
}

static bool fail(run *r, const ptx_instruction *n, uint32_t thread, const char *why)
{
    char text[128];
    snprintf(text, sizeof(text), "%s", n->text);
    for (char *c = text; *c != '\0'; c++) {
        if (*c == '\t' || *c == '\n') {
            *c = ' ';
        }
    }
    snprintf(r->failure->text, sizeof(r->failure->text),
             "%s, line %u: %s: %s; block %u,%u,%u, thread %u", r->kernel->name, n->line, text, why,
             r->block[0], r->block[1], r->block[2], thread);
    return false;
}

/* ---- values ---- */

static uint64_t special_value(run *r, const ptx_operand *operand, uint32_t thread)
{
    const uint32_t *sizes = r->launch->block;
    const uint32_t places[3] = {thread % sizes[0], thread / sizes[0] % sizes[1],
                                thread / sizes[0] / sizes[1]};
    switch (operand->special) {
    case PTX_TID:
        return places[operand->axis];
    case PTX_NTID:
        return sizes[operand->axis];
    case PTX_CTAID:
        return r->block[operand->axis];
    case PTX_NCTAID:
        return r->launch->grid[operand->axis];
    default:
        r->clock += NS_PER_LOOK;
        return r->clock;
    }
}

static uint64_t value_of(run *r, const warp *w, const ptx_operand *operand, uint32_t lane)
{
    switch (operand->kind) {
    case PTX_REGISTER:
        return w->registers[(size_t)operand->reg * PTX_LANES + lane];
    case PTX_SPECIAL:
        return special_value(r, operand, w->first + lane);
    case PTX_ADDRESS:
        return operand->value + (operand->reg == PTX_NO_REGISTER
                                     ? 0
                                     : w->registers[(size_t)operand->reg * PTX_LANES + lane]);
    default:
        return operand->value;
    }
}

static void put(const run *r, warp *w, const ptx_operand *operand, uint32_t lane, uint64_t value)
{
    const uint32_t reg = (uint32_t)operand->reg;
    w->registers[(size_t)reg * PTX_LANES + lane] = value & ptx_mask(r->kernel->widths[reg]);
    w->defined[reg] |= UINT32_C(1) << lane;
}

static bool is_defined(const warp *w, const ptx_operand *operand, uint32_t mask)
{
    const bool has_register = operand->kind == PTX_REGISTER || operand->kind == PTX_ADDRESS;
    return !has_register || operand->reg == PTX_NO_REGISTER ||
           (w->defined[operand->reg] & mask) == mask;
}

/* ---- instructions, for the lanes of a mask ---- */

static bool compute(run *r, warp *w, const ptx_instruction *n, uint32_t mask)
{
    for (uint32_t lane = 0; lane < w->lanes; lane++) {
        uint64_t values[PTX_OPERANDS] = {0};
        uint64_t result;
        if ((mask >> lane & 1) == 0) {
            continue;
        }
        for (uint8_t i = n->results; i < n->count; i++) {
            values[i - n->results] = value_of(r, w, &n->operands[i], lane);
        }
        const char *why = ptx_compute(n, values, &result);
        if (why != NULL) {
            return fail(r, n, w->first + lane, why);
        }
        put(r, w, &n->operands[0], lane, result);
    }
    return true;
}

/* Returns the bytes of a parameter, or of memory that may be accessed. */
static uint8_t *bytes_at(run *r, const warp *w, const ptx_instruction *n, uint32_t lane)
{
    const char *why;
    const uint64_t address = value_of(r, w, &n->operands[n->count - 1], lane);
    if (n->code.space == PTX_PARAM) {
        return r->parameters + address;
    }
    const uint32_t first = r->block_number * r->threads + 1;
    const ptx_toucher who = {.thread = first + w->first + lane,
                             .block_first = first,
                             .block_last = first + r->threads - 1,
                             .lane = w->first + lane,
                             .phase = r->phase};
    uint8_t *bytes = ptx_access(&r->accesses, &who, &n->code, address, &why);
    if (bytes == NULL) {
        fail(r, n, w->first + lane, why);
    }
    return bytes;
}

/* Extends the value to the register as its type requires. */
static uint64_t loaded(const ptx_opcode *code, const uint8_t *bytes)
{
    uint64_t value = 0;
    memcpy(&value, bytes, code->type.bits / 8U);
    if (code->type.kind == 's' && code->type.bits < 64) {
        const uint64_t sign = UINT64_C(1) << (code->type.bits - 1);
        value = (value ^ sign) - sign;
    }
    return value;
}

static bool access_lane(run *r, warp *w, const ptx_instruction *n, uint32_t lane)
{
    const size_t each = n->code.type.bits / 8U;
    uint8_t *bytes = bytes_at(r, w, n, lane);
    if (bytes == NULL) {
        return false;
    }
    for (uint8_t i = 0; i < n->code.vector; i++) {
        if (n->code.op == PTX_LD) {
            put(r, w, &n->operands[i], lane, loaded(&n->code, bytes + i * each));
            continue;
        }
        uint64_t value = value_of(r, w, &n->operands[i], lane);
        if (n->code.op == PTX_RED) {
            value = ptx_sum(n->code.type, loaded(&n->code, bytes), value);
        }
        memcpy(bytes + i * each, &value, each);
    }
    return true;
}

static bool access(run *r, warp *w, const ptx_instruction *n, uint32_t mask)
{
    for (uint32_t i = 0; i < w->lanes; i++) {
        if ((mask >> w->order[i] & 1) != 0 && !access_lane(r, w, n, w->order[i])) {
            return false;
        }
    }
    return true;
}

static void move_lanes(warp *w, uint32_t mask, uint32_t pc)
{
    for (uint32_t lane = 0; lane < w->lanes; lane++) {
        if ((mask >> lane & 1) != 0) {
            w->bar[lane] = w->pc[lane];
            w->pc[lane] = pc;
        }
    }
}

/* Finds the lanes of `mask` whose predicate allows execution; false if it is undefined. */
static bool guarded(const warp *w, const ptx_instruction *n, uint32_t *mask)
{
    if (n->guard == PTX_NO_REGISTER) {
        return true;
    }
    if ((w->defined[n->guard] & *mask) != *mask) {
        return false;
    }
    uint32_t taken = 0;
    for (uint32_t lane = 0; lane < w->lanes; lane++) {
        const bool set = w->registers[(size_t)n->guard * PTX_LANES + lane] != 0;
        taken |= (uint32_t)(set != n->guard_not) << lane;
    }
    *mask &= taken;
    return true;
}

static bool execute(run *r, warp *w, const ptx_instruction *n, uint32_t mask)
{
    for (uint8_t i = n->results; i < n->count; i++) {
        if (!is_defined(w, &n->operands[i], mask)) {
            return fail(r, n, w->first, "a register is read that nobody has written");
        }
    }
    switch (n->code.op) {
    case PTX_BRA:
        move_lanes(w, mask, n->target);
        return true;
    case PTX_RET:
        move_lanes(w, mask, GONE);
        return true;
    case PTX_BAR:
        move_lanes(w, mask, AT_BAR);
        return n->operands[0].value == 0 || fail(r, n, w->first, "only barrier 0 is known");
    case PTX_LD:
    case PTX_ST:
    case PTX_RED:
        return access(r, w, n, mask);
    default:
        return compute(r, w, n, mask);
    }
}

static uint32_t lowest(const warp *w, uint32_t *mask)
{
    uint32_t pc = GONE;
    for (uint32_t lane = 0; lane < w->lanes; lane++) {
        pc = w->pc[lane] < pc ? w->pc[lane] : pc;
    }
    *mask = 0;
    for (uint32_t lane = 0; lane < w->lanes; lane++) {
        *mask |= (uint32_t)(w->pc[lane] == pc) << lane;
    }
    return pc;
}

/* Executes one instruction of an active warp. */
static bool step(run *r, warp *w)
{
    uint32_t mask;
    const uint32_t pc = lowest(w, &mask);
    const ptx_instruction *n = &r->kernel->code[pc];
    const uint64_t most = r->launch->steps != 0 ? r->launch->steps : STEPS;
    if (++w->steps > most) {
        return fail(r, n, w->first, "it does not end");
    }
    for (uint32_t lane = 0; lane < w->lanes; lane++) {
        w->pc[lane] += mask >> lane & 1;
    }
    if (!guarded(w, n, &mask)) {
        return fail(r, n, w->first, "a predicate is read that nobody has written");
    }
    return mask == 0 || execute(r, w, n, mask);
}

/* ---- blocks ---- */

static void begin_warp(run *r, warp *w, uint32_t first)
{
    const uint32_t left = r->threads - first;
    w->first = first;
    w->lanes = left < PTX_LANES ? left : PTX_LANES;
    w->steps = 0;
    memset(w->pc, 0, sizeof(w->pc));
    memset(w->defined, 0, r->kernel->registers * sizeof(*w->defined));
    for (uint32_t lane = 0; lane < w->lanes; lane++) {
        const uint32_t other = random_below(r, lane + 1);
        w->order[lane] = w->order[other];
        w->order[other] = (uint8_t)lane;
    }
}

static bool is_active(const warp *w)
{
    uint32_t mask;
    return lowest(w, &mask) < IS_ACTIVE;
}

/* Called when no warp is active: either all threads wait at one barrier and are released, or all
 * have returned. */
static bool pass_barrier(run *r, bool *ended)
{
    uint32_t at = GONE;
    uint32_t gone = 0;
    bool same = true;
    for (uint32_t i = 0; i < r->threads; i++) {
        warp *w = &r->warps[i / PTX_LANES];
        const uint32_t lane = i % PTX_LANES;
        gone += w->pc[lane] == GONE;
        if (w->pc[lane] == AT_BAR) {
            same = same && (at == GONE || at == w->bar[lane]);
            at = w->bar[lane];
            w->pc[lane] = w->bar[lane];
        }
    }
    *ended = gone == r->threads;
    r->phase++;
    if (!*ended && (gone > 0 || !same)) {
        return fail(r, &r->kernel->code[at - 1], 0, "not all threads reach this barrier");
    }
    return true;
}

static bool run_block(run *r)
{
    bool ended = false;
    r->phase = 0;
    ptx_accesses_next_block(&r->accesses, r->threads);
    for (uint32_t i = 0; i < r->warp_count; i++) {
        begin_warp(r, &r->warps[i], i * PTX_LANES);
    }
    while (!ended) {
        const uint32_t from = random_below(r, r->warp_count);
        uint32_t i = 0;
        while (i < r->warp_count && !is_active(&r->warps[(from + i) % r->warp_count])) {
            i++;
        }
        if (i == r->warp_count) {
            if (!pass_barrier(r, &ended)) {
                return false;
            }
            continue;
        }
        warp *w = &r->warps[(from + i) % r->warp_count];
        for (uint32_t turn = 1 + random_below(r, TURN); turn > 0 && is_active(w); turn--) {
            if (!step(r, w)) {
                return false;
            }
        }
    }
    return true;
}

/* ---- launches ---- */

static bool run_blocks(run *r)
{
    const uint32_t *grid = r->launch->grid;
    const uint32_t blocks = grid[0] * grid[1] * grid[2];
    uint32_t *order = calloc(blocks, sizeof(*order));
    bool fine = order != NULL;
    for (uint32_t i = 0; fine && i < blocks; i++) {
        const uint32_t other = random_below(r, i + 1);
        order[i] = order[other];
        order[other] = i;
    }
    for (uint32_t i = 0; fine && i < blocks; i++) {
        r->block_number = order[i];
        r->block[0] = order[i] % grid[0];
        r->block[1] = order[i] / grid[0] % grid[1];
        r->block[2] = order[i] / grid[0] / grid[1];
        fine = run_block(r);
    }
    free(order);
    return fine;
}

static bool open_run(run *r)
{
    const ptx_kernel *k = r->kernel;
    bool fine = ptx_accesses_open(&r->accesses, k, r->launch);
    r->warps = calloc(r->warp_count, sizeof(*r->warps));
    r->parameters = calloc(k->parameter_bytes + 1U, 1);
    fine = fine && r->warps != NULL && r->parameters != NULL;
    for (uint32_t i = 0; fine && i < r->warp_count; i++) {
        r->warps[i].registers = calloc((size_t)k->registers * PTX_LANES + 1, sizeof(uint64_t));
        r->warps[i].defined = calloc(k->registers + 1U, sizeof(uint32_t));
        fine = r->warps[i].registers != NULL && r->warps[i].defined != NULL;
    }
    for (uint32_t i = 0; fine && i < k->parameter_count; i++) {
        memcpy(r->parameters + k->parameters[i].at, r->launch->parameters[i],
               k->parameters[i].bytes);
    }
    return fine;
}

static void close_run(run *r)
{
    for (uint32_t i = 0; r->warps != NULL && i < r->warp_count; i++) {
        free(r->warps[i].registers);
        free(r->warps[i].defined);
    }
    free(r->warps);
    free(r->parameters);
    ptx_accesses_close(&r->accesses);
}

bool ptx_run(const ptx_kernel *kernel, const ptx_launch *launch, ptx_failure *failure)
{
    const uint64_t threads = (uint64_t)launch->block[0] * launch->block[1] * launch->block[2];
    const uint64_t blocks = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
    const uint32_t most = kernel->threads_most != 0 ? kernel->threads_most : 1024;
    if (threads == 0 || threads > most || blocks == 0 || blocks * threads >= IS_ACTIVE) {
        snprintf(failure->text, sizeof(failure->text),
                 "%s: %llu threads in a block, %llu blocks: the kernel takes up to %u threads",
                 kernel->name, (unsigned long long)threads, (unsigned long long)blocks, most);
        return false;
    }
    run r = {.kernel = kernel,
             .launch = launch,
             .failure = failure,
             .threads = (uint32_t)threads,
             .warp_count = (uint32_t)(threads + PTX_LANES - 1) / PTX_LANES,
             .random = launch->seed * UINT64_C(0x9E3779B97F4A7C15) + 1};
    snprintf(failure->text, sizeof(failure->text), "%s: out of memory", kernel->name);
    const bool fine = open_run(&r) && run_blocks(&r);
    close_run(&r);
    if (fine) {
        failure->text[0] = '\0';
    }
    return fine;
}
