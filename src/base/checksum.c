/* SPDX-License-Identifier: Apache-2.0 */
#include "checksum.h"

#include "checksum_twins.h"
#include "little_endian.h"
#include "minmax.h"
#include "simd.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* Shorter input is hashed without vectors. */
#define TWIN_LEAST 512
/* Stays in the first-level cache between its two uses, with the next one that is being fetched. */
#define PIECE_BYTES ((size_t)4 << 10)
#define PAST_LEAST  ((size_t)256 << 10)

_Static_assert(sizeof(XXH3_state_t) <= sizeof(sl_checksum_stream), "a stream has room for a state");
_Static_assert(alignof(XXH3_state_t) <= alignof(sl_checksum_stream), "and is aligned as one");

static XXH3_state_t *checksum_state_of(sl_checksum_stream *stream)
{
    return (XXH3_state_t *)(void *)stream->state;
}

#if defined(__x86_64__)
/* Checked once: the check takes microseconds in a virtual machine. */
static bool has_twin(void)
{
    static _Atomic int answer; /* 0: not known, 1: no, 2: yes */
    /* Relaxed: other threads find the same answer. */
    int known = atomic_load_explicit(&answer, memory_order_relaxed);
    if (known == 0) {
        known = sl_simd_best() >= SL_SIMD_AVX2 ? 2 : 1;
        atomic_store_explicit(&answer, known, memory_order_relaxed);
    }
    return known == 2;
}
#endif

uint64_t sl_checksum(const void *data, size_t bytes)
{
#if defined(__x86_64__)
    if (bytes >= TWIN_LEAST && has_twin()) {
        return sl_checksum_avx2(data, bytes);
    }
#endif
    return XXH3_64bits(data, bytes);
}

void sl_checksum_begin(sl_checksum_stream *stream)
{
    (void)XXH3_64bits_reset(checksum_state_of(stream));
}

void sl_checksum_add(sl_checksum_stream *stream, const void *data, size_t bytes)
{
#if defined(__x86_64__)
    if (bytes >= TWIN_LEAST && has_twin()) {
        sl_checksum_add_avx2(checksum_state_of(stream), data, bytes);
        return;
    }
#endif
    (void)XXH3_64bits_update(checksum_state_of(stream), data, bytes);
}

#if defined(__x86_64__)
/* Returns whether to write past the caches: they could not keep so much until it is read again. */
static bool goes_past(const uint8_t *to, size_t bytes)
{
    return bytes >= PAST_LEAST && (uintptr_t)to % 32 == 0 && has_twin();
}
#endif

void sl_checksum_add_copy(sl_checksum_stream *stream, void *to, const void *from, size_t bytes)
{
    uint8_t *target = to;
    const uint8_t *source = from;
    size_t at = 0;
#if defined(__x86_64__)
    if (goes_past(target, bytes)) {
        for (; bytes - at >= PIECE_BYTES; at += PIECE_BYTES) {
            sl_checksum_add(stream, source + at, PIECE_BYTES);
            sl_copy_past(target + at, source + at, PIECE_BYTES);
        }
        sl_copy_past_end();
    }
#endif
    while (at < bytes) {
        const size_t piece = sl_min_size(bytes - at, PIECE_BYTES);
        sl_checksum_add(stream, source + at, piece);
        memcpy(target + at, source + at, piece);
        at += piece;
    }
}

void sl_checksum_add_u64(sl_checksum_stream *stream, uint64_t value)
{
    uint8_t bytes[8];
    sl_store64(bytes, value);
    sl_checksum_add(stream, bytes, sizeof(bytes));
}

uint64_t sl_checksum_value(const sl_checksum_stream *stream)
{
    return XXH3_64bits_digest((const XXH3_state_t *)(const void *)stream->state);
}
