/* SPDX-License-Identifier: Apache-2.0 */
#include "permutation.h"

#include "permutation_kernels.h"
#include "philox.h"

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>

enum { LANES = 4 }; /* of two words each, in 16 registers */

#define COUNT_MAX ((uint64_t)1 << 62)
/* Separates the round keys from every other use of Philox. */
#define KEY_DOMAIN 0x7065726D75746500U

/* Returns the smallest r with r * r >= value. Integers only: the same on every machine. */
static uint64_t root_up(uint64_t value)
{
    uint64_t root = 0;
    for (uint64_t bit = (uint64_t)1 << 31; bit > 0; bit >>= 1) {
        const uint64_t tried = root | bit;
        if (tried * tried <= value) {
            root = tried;
        }
    }
    return root * root == value ? root : root + 1;
}

sl_permutation sl_permutation_make(uint64_t count, uint64_t key)
{
    assert(count <= COUNT_MAX);
    sl_permutation made = {.count = count == 0 ? 1 : count};
    /* Makes the side even: rotations of odd length are even permutations, and so would all of
     * ours be. */
    const uint64_t side = root_up(made.count);
    made.left = side + side % 2;
    made.right = (made.count + made.left - 1) / made.left;
    for (unsigned i = 0; i < SL_PERMUTATION_ROUNDS; i += 2) {
        const sl_philox_block block = sl_philox(key, i, KEY_DOMAIN);
        made.keys[i] = block.v[0] | ((uint64_t)block.v[1] << 32);
        made.keys[i + 1] = block.v[2] | ((uint64_t)block.v[3] << 32);
    }
    return made;
}

/* Computes the round function: the finaliser of SplitMix64 (Stafford's variant 13) on the key's
 * sequence, reduced to [0, modulus), modulus < 2^32, by the upper half of a 64 x 32 bit product. */
static uint64_t mix(uint64_t half, uint64_t key, uint64_t modulus)
{
    uint64_t x = key + half * SL_PERMUTATION_STEP;
    x = (x ^ (x >> 30)) * SL_PERMUTATION_FIRST;
    x = (x ^ (x >> 27)) * SL_PERMUTATION_SECOND;
    x ^= x >> 31;
    const uint64_t upper = (x >> 32) * modulus;
    const uint64_t lower = (x & UINT32_MAX) * modulus;
    return (upper + (lower >> 32)) >> 32;
}

/* Returns a + b and a - b in [0, modulus), for a and b in it. */
static uint64_t plus(uint64_t a, uint64_t b, uint64_t modulus)
{
    const uint64_t sum = a + b;
    return sum >= modulus ? sum - modulus : sum;
}

static uint64_t minus(uint64_t a, uint64_t b, uint64_t modulus)
{
    return a >= b ? a - b : a + modulus - b;
}

/* Passes once through the network: a bijection of [0, left * right). */
static uint64_t permutation_forward(const sl_permutation *p, uint64_t index)
{
    uint64_t l = index % p->left;
    uint64_t r = index / p->left;
    for (unsigned i = 0; i < SL_PERMUTATION_ROUNDS; i += 2) {
        l = plus(l, mix(r, p->keys[i], p->left), p->left);
        r = plus(r, mix(l, p->keys[i + 1], p->right), p->right);
    }
    return r * p->left + l;
}

static uint64_t backward(const sl_permutation *p, uint64_t image)
{
    uint64_t l = image % p->left;
    uint64_t r = image / p->left;
    for (unsigned i = SL_PERMUTATION_ROUNDS; i > 0; i -= 2) {
        r = minus(r, mix(l, p->keys[i - 1], p->right), p->right);
        l = minus(l, mix(r, p->keys[i - 2], p->left), p->left);
    }
    return r * p->left + l;
}

uint64_t sl_permutation_apply(const sl_permutation *permutation, uint64_t index)
{
    assert(index < permutation->count);
    /* Terminates: the walk follows a cycle that closes at index itself, which is in range. */
    do {
        index = permutation_forward(permutation, index);
    } while (index >= permutation->count);
    return index;
}

/* ---- runs ---- */

const sl_permutation_kernel *sl_permutation_kernel_of(sl_simd simd)
{
#if defined(__x86_64__)
    if (simd >= SL_SIMD_AVX512) {
        return &sl_permutation_avx512;
    }
    if (simd >= SL_SIMD_AVX2) {
        return &sl_permutation_avx2;
    }
#endif
    (void)simd;
    return NULL;
}

/* Queried once: the query takes microseconds in a virtual machine. */
static const sl_permutation_kernel *best_kernel(void)
{
    static _Atomic int known; /* the level, plus one */
    /* Relaxed: threads that query at the same time find the same. */
    int level = atomic_load_explicit(&known, memory_order_relaxed);
    if (level == 0) {
        level = (int)sl_simd_best() + 1;
        atomic_store_explicit(&known, level, memory_order_relaxed);
    }
    return sl_permutation_kernel_of((sl_simd)(level - 1));
}

/* Each round depends on the one before, so several indexes take hardly longer than one. */
static void forward_lanes(const sl_permutation *p, const uint64_t *from_l, const uint64_t *from_r,
                          uint64_t *images)
{
    uint64_t l[LANES];
    uint64_t r[LANES];
    for (uint32_t k = 0; k < LANES; k++) {
        l[k] = from_l[k];
        r[k] = from_r[k];
    }
    for (unsigned i = 0; i < SL_PERMUTATION_ROUNDS; i += 2) {
        for (uint32_t k = 0; k < LANES; k++) {
            l[k] = plus(l[k], mix(r[k], p->keys[i], p->left), p->left);
        }
        for (uint32_t k = 0; k < LANES; k++) {
            r[k] = plus(r[k], mix(l[k], p->keys[i + 1], p->right), p->right);
        }
    }
    for (uint32_t k = 0; k < LANES; k++) {
        images[k] = r[k] * p->left + l[k];
    }
}

static const sl_permutation_kernel plain_kernel = {LANES, forward_lanes};

/* Maps as many of `count` indexes from `first` on as the kernel takes at once. Returns how many. */
static uint32_t run_kernel(const sl_permutation_kernel *kernel, const sl_permutation *p,
                           uint64_t first, uint32_t count, uint64_t *images)
{
    uint64_t l[SL_PERMUTATION_LANES_MAX];
    uint64_t r[SL_PERMUTATION_LANES_MAX];
    const uint32_t whole = count / kernel->lanes * kernel->lanes;
    uint64_t at_l = first % p->left;
    uint64_t at_r = first / p->left;
    for (uint32_t i = 0; i < whole; i += kernel->lanes) {
        for (uint32_t k = 0; k < kernel->lanes; k++) {
            l[k] = at_l;
            r[k] = at_r;
            at_l = at_l + 1 < p->left ? at_l + 1 : 0;
            at_r += at_l == 0;
        }
        kernel->forward(p, l, r, images + i);
    }
    return whole;
}

void sl_permutation_apply_run(const sl_permutation *permutation, uint64_t first, uint32_t count,
                              uint64_t *images)
{
    assert(first <= permutation->count && count <= permutation->count - first);
    const sl_permutation_kernel *best = best_kernel();
    uint32_t whole = 0;
    if (best != NULL) {
        whole = run_kernel(best, permutation, first, count, images);
    }
    whole += run_kernel(&plain_kernel, permutation, first + whole, count - whole, images + whole);
    for (uint32_t i = 0; i < whole; i++) {
        while (images[i] >= permutation->count) {
            images[i] = permutation_forward(permutation, images[i]);
        }
    }
    for (uint32_t i = whole; i < count; i++) {
        images[i] = sl_permutation_apply(permutation, first + i);
    }
}

uint64_t sl_permutation_invert(const sl_permutation *permutation, uint64_t image)
{
    assert(image < permutation->count);
    do {
        image = backward(permutation, image);
    } while (image >= permutation->count);
    return image;
}
