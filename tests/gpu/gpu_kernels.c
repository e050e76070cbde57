/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_kernels: runs the hand-written kernels of this folder with the executor of
 * tests/support/ptx.h. Without a GPU, only the assembler would check them otherwise. */
#include "kernels.h"
#include "ptx.h"
#include "test.h"

#include <string.h>

#define IN  UINT64_C(0x100000000)
#define OUT UINT64_C(0x200000000)

enum { WORDS = 100 };

static ptx_module *module;

static int open_module(void **state)
{
    ptx_failure failure;
    (void)state;
    module = ptx_parse(gpu_kernels_ptx, &failure);
    return module != NULL ? 0 : -1;
}

static int close_module(void **state)
{
    (void)state;
    ptx_free(module);
    return 0;
}

TEST_GROUP(open_module, close_module)

static bool launch(const char *name, const ptx_memory *memory, size_t memories, void **parameters,
                   ptx_failure *failure)
{
    const ptx_launch what = {.grid = {3, 1, 1},
                             .block = {40, 1, 1},
                             .parameters = parameters,
                             .memory = memory,
                             .memories = memories};
    return ptx_run(ptx_find(module, name), &what, failure);
}

TEST(the_checksum_is_what_it_is_expected_to_be)
{
    uint32_t words[WORDS];
    uint32_t sum = 0;
    uint32_t expected = 0;
    ptx_failure failure = {""};
    for (uint32_t i = 0; i < WORDS; i++) {
        words[i] = i * UINT32_C(2654435761);
        expected += words[i] * (2 * i + 1);
    }
    const ptx_memory memory[] = {{IN, sizeof(words), (uint8_t *)words, NULL, false},
                                 {OUT, sizeof(sum), (uint8_t *)&sum, NULL, true}};
    uint64_t in = IN;
    uint64_t out = OUT;
    uint64_t ns = 5000;
    uint32_t count = WORDS;
    void *parameters[] = {&in, &count, &ns, &out};
    if (!launch("gpu_checksum", memory, 2, parameters, &failure)) {
        fail_msg("%s", failure.text);
    }
    assert_int_equal(sum, expected);
    count++; /* one word too many */
    assert_false(launch("gpu_checksum", memory, 2, parameters, &failure));
    assert_non_null(strstr(failure.text, "out of bounds"));
}

TEST(the_one_that_spins_ends)
{
    uint64_t ns = 100000;
    void *parameters[] = {&ns};
    ptx_failure failure = {""};
    assert_true(launch("gpu_spin", NULL, 0, parameters, &failure));
}

/* This kernel exists to fail: a context with an illegal address is lost. */
TEST(the_one_that_writes_is_caught)
{
    uint64_t to = 0;
    void *parameters[] = {&to};
    ptx_failure failure = {""};
    assert_false(launch("gpu_write", NULL, 0, parameters, &failure));
    assert_non_null(strstr(failure.text, "st.global.u32 [%to], 1: out of bounds"));
}
