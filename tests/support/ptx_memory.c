/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of a launch: finds the bytes of an access and checks whether it is allowed. Every byte
 * that is written also records its last accesses, so that conflicts between threads without a
 * barrier are detected.
 */
#include "ptx_parts.h"

#include <stdlib.h>
#include <string.h>

typedef enum readers { NOBODY, ONE, MANY_OF_BLOCK, MANY } readers;

struct ptx_touch {
    uint32_t writer, reader; /* thread numbers from 1; 0: none; of several readers, the last */
    uint16_t writer_phase, reader_phase;
    uint8_t readers;
    bool atomic; /* the write was atomic */
};

static uint8_t *zeros(size_t bytes)
{
    return calloc(bytes > 0 ? bytes : 1, 1);
}

bool ptx_accesses_open(ptx_accesses *a, const ptx_kernel *kernel, const ptx_launch *launch)
{
    const size_t threads = (size_t)launch->block[0] * launch->block[1] * launch->block[2];
    *a = (ptx_accesses){.launch = launch,
                        .touches = calloc(launch->memories + 1, sizeof(ptx_touch *)),
                        .shared = zeros(kernel->shared_bytes),
                        .shared_written = zeros(kernel->shared_bytes),
                        .local = zeros(kernel->local_bytes * threads),
                        .local_written = zeros(kernel->local_bytes * threads),
                        .shared_bytes = kernel->shared_bytes,
                        .local_bytes = kernel->local_bytes};
    a->shared_touches = calloc(kernel->shared_bytes + 1U, sizeof(ptx_touch));
    return a->touches != NULL && a->shared != NULL && a->shared_written != NULL &&
           a->local != NULL && a->local_written != NULL && a->shared_touches != NULL;
}

void ptx_accesses_close(ptx_accesses *a)
{
    for (size_t i = 0; a->touches != NULL && i < a->launch->memories; i++) {
        free(a->touches[i]);
    }
    free(a->touches);
    free(a->shared_touches);
    free(a->shared);
    free(a->shared_written);
    free(a->local);
    free(a->local_written);
}

void ptx_accesses_next_block(ptx_accesses *a, uint32_t threads)
{
    memset(a->shared_written, 0, a->shared_bytes);
    memset(a->shared_touches, 0, a->shared_bytes * sizeof(ptx_touch));
    memset(a->local_written, 0, (size_t)a->local_bytes * threads);
}

/* ---- accesses by threads ---- */

static bool is_in_block(const ptx_toucher *who, uint32_t thread)
{
    return thread >= who->block_first && thread <= who->block_last;
}

/* True if a barrier of the block separates that access from this one. */
static bool is_before(const ptx_toucher *who, uint32_t thread, uint16_t phase)
{
    return is_in_block(who, thread) && phase < who->phase;
}

static bool reads_conflict(const ptx_touch *t, const ptx_toucher *who)
{
    if (t->readers == NOBODY || (t->readers == ONE && t->reader == who->thread)) {
        return false;
    }
    return t->readers == MANY || !is_before(who, t->reader, t->reader_phase);
}

static bool writes_conflict(const ptx_touch *t, const ptx_toucher *who, bool atomic)
{
    return t->writer != 0 && t->writer != who->thread && !(atomic && t->atomic) &&
           !is_before(who, t->writer, t->writer_phase);
}

static void add_reader(ptx_touch *t, const ptx_toucher *who)
{
    const bool other = t->readers != NOBODY && t->reader != who->thread;
    if (other && !is_in_block(who, t->reader)) {
        t->readers = MANY;
    } else if (t->readers == NOBODY ||
               (other && is_before(who, t->reader, t->reader_phase) && t->readers != MANY)) {
        t->readers = ONE;
    } else if (other && t->readers == ONE) {
        t->readers = MANY_OF_BLOCK;
    }
    t->reader = who->thread;
    t->reader_phase = who->phase;
}

/* Marks the bytes; returns NULL, or the conflict. */
static const char *touch(ptx_touch *touches, unsigned bytes, const ptx_toucher *who,
                         const ptx_opcode *code)
{
    const bool atomic = code->op == PTX_RED;
    for (unsigned i = 0; i < bytes; i++) {
        ptx_touch *t = &touches[i];
        if (code->constant && t->writer != 0) {
            return "ld.nc of memory that this launch writes";
        }
        if (writes_conflict(t, who, atomic)) {
            return code->op == PTX_LD ? "race: another thread wrote it, no barrier is in between"
                                      : "race: another thread wrote it, too";
        }
        if (code->op == PTX_LD) {
            add_reader(t, who);
        } else if (reads_conflict(t, who)) {
            return "race: another thread read it, no barrier is in between";
        } else {
            t->writer = who->thread;
            t->writer_phase = who->phase;
            t->atomic = atomic;
        }
    }
    return NULL;
}

/* ---- locations ---- */

typedef struct place {
    uint8_t *bytes, *written; /* bytes of the access */
    ptx_touch *touches;       /* NULL: no other thread can access them */
} place;

static const char *find_window(const ptx_accesses *a, const ptx_toucher *who, uint64_t address,
                               unsigned bytes, place *found)
{
    const bool shared = address < PTX_LOCAL_AT;
    const uint64_t at = address - (shared ? PTX_SHARED_AT : PTX_LOCAL_AT);
    if (at + bytes > (shared ? a->shared_bytes : a->local_bytes)) {
        return "out of bounds of the block's memory";
    }
    if (shared) {
        *found = (place){a->shared + at, a->shared_written + at, a->shared_touches + at};
    } else {
        const size_t own = (size_t)who->lane * a->local_bytes + at;
        *found = (place){a->local + own, a->local_written + own, NULL};
    }
    return NULL;
}

static const char *find_global(ptx_accesses *a, uint64_t address, unsigned bytes, bool writes,
                               place *found)
{
    const ptx_launch *launch = a->launch;
    for (size_t i = 0; i < launch->memories; i++) {
        const ptx_memory *m = &launch->memory[i];
        const uint64_t at = address - m->address;
        if (address < m->address || at >= m->bytes) {
            continue;
        }
        if (bytes > m->bytes - at) {
            return "out of bounds: it begins in memory and ends outside";
        }
        if (writes && !m->writable) {
            return "a write to memory that is only read";
        }
        if (m->writable && a->touches[i] == NULL) {
            a->touches[i] = calloc(m->bytes, sizeof(ptx_touch));
            if (a->touches[i] == NULL) {
                return "out of memory";
            }
        }
        *found = (place){m->backing + at, m->written != NULL ? m->written + at : NULL,
                         m->writable ? a->touches[i] + at : NULL};
        return NULL;
    }
    return "out of bounds: no memory at this address";
}

static const char *check_written(const place *at, unsigned bytes, bool writes)
{
    for (unsigned i = 0; at->written != NULL && i < bytes; i++) {
        if (!writes && at->written[i] == 0) {
            return "a byte is read that nobody has written";
        }
        at->written[i] = 1;
    }
    return NULL;
}

uint8_t *ptx_access(ptx_accesses *a, const ptx_toucher *who, const ptx_opcode *code,
                    uint64_t address, const char **why)
{
    const unsigned bytes = code->type.bits / 8U * code->vector;
    const bool window = address >= PTX_SHARED_AT && address < 2 * (uint64_t)PTX_LOCAL_AT;
    const ptx_space is = !window ? PTX_GLOBAL : address < PTX_LOCAL_AT ? PTX_SHARED : PTX_LOCAL;
    place found = {NULL, NULL, NULL};
    *why = NULL;
    if (address % bytes != 0) {
        *why = "the address is not aligned to the access";
    } else if (code->space != PTX_GENERIC && code->space != is) {
        *why = "out of bounds of this kind of memory";
    } else if (window) {
        *why = find_window(a, who, address, bytes, &found);
    } else {
        *why = find_global(a, address, bytes, code->op != PTX_LD, &found);
    }
    if (*why == NULL && found.touches != NULL) {
        *why = touch(found.touches, bytes, who, code);
    }
    if (*why == NULL) {
        *why = check_written(&found, bytes, code->op == PTX_ST);
    }
    return *why == NULL ? found.bytes : NULL;
}
