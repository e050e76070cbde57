/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the kernel executor (tests/support/ptx.h) with kernels of a few lines: the results of
 * instructions, and the findings of each of its checks. */
#include "ptx.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IN    UINT64_C(0x100000000)
#define OUT   UINT64_C(0x200000000)
#define WORDS 64U

/* `in` is read-only and holds i * 0x01020304 + 5; `out` is uninitialized. */
typedef struct arrays {
    uint32_t in[WORDS], out[WORDS];
    uint8_t written[WORDS * 4];
} arrays;

/* Runs a kernel with this body over a grid of 2 blocks of 48 threads, unless `block` is given. */
static bool run_body(const char *body, uint32_t blocks, uint32_t threads, uint64_t seed, arrays *a,
                     ptx_failure *failure)
{
    static char source[8192];
    uint64_t in = IN;
    uint64_t out = OUT;
    void *parameters[] = {&in, &out};
    const ptx_memory memory[] = {{IN, sizeof(a->in), (uint8_t *)a->in, NULL, false},
                                 {OUT, sizeof(a->out), (uint8_t *)a->out, a->written, true}};
    const ptx_launch launch = {.grid = {blocks, 1, 1},
                               .block = {threads, 1, 1},
                               .parameters = parameters,
                               .memory = memory,
                               .memories = 2,
                               .seed = seed,
                               .steps = 10000};
    snprintf(source, sizeof(source),
             ".version 7.0\n.target sm_75\n.address_size 64\n"
             ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
             ".reg .pred %%p<4>; .reg .b16 %%h<8>; .reg .b32 %%r<16>; .reg .b64 %%d<8>;\n"
             ".reg .f32 %%f<8>; .shared .align 16 .b8 s[512]; .local .align 8 .b8 l[16];\n"
             "ld.param.u64 %%d0, [in]; ld.param.u64 %%d1, [out]; mov.u32 %%r0, %%tid.x;\n"
             "mul.wide.u32 %%d2, %%r0, 4; add.u64 %%d2, %%d1, %%d2; mov.u32 %%r1, %%ctaid.x;\n"
             "%s\nret;\n}\n",
             body);
    memset(a, 0, sizeof(*a));
    for (uint32_t i = 0; i < WORDS; i++) {
        a->in[i] = i * 0x01020304 + 5;
    }
    ptx_module *module = ptx_parse(source, failure);
    const bool fine = module != NULL && ptx_run(ptx_find(module, "k"), &launch, failure);
    ptx_free(module);
    return fine;
}

/* ---- what the checks find ---- */

typedef struct fault {
    const char *body, *says; /* NULL: nothing */
} fault;

static void check_fault(const fault *f, uint32_t blocks, uint32_t threads, uint64_t seed)
{
    arrays a;
    ptx_failure failure = {""};
    const bool fine = run_body(f->body, blocks, threads, seed, &a, &failure);
    if (fine != (f->says == NULL) || (!fine && strstr(failure.text, f->says) == NULL)) {
        fail_msg("%s\ngives \"%s\", not \"%s\"", f->body, failure.text,
                 f->says != NULL ? f->says : "");
    }
}

static void check_faults(const fault *faults, size_t count, uint32_t blocks, uint32_t threads)
{
    for (size_t i = 0; i < count; i++) {
        for (uint64_t seed = 1; seed <= 5; seed++) {
            check_fault(&faults[i], blocks, threads, seed);
        }
    }
}

#define CHECK_FAULTS(faults, blocks, threads) \
    check_faults(faults, sizeof(faults) / sizeof((faults)[0]), blocks, threads)

TEST(addresses_are_in_memory_and_aligned)
{
    static const fault faults[] = {
        {"st.global.u32 [%d2], 1;", NULL},
        {"ld.global.u32 %r2, [%d0+252];", NULL},
        {"ld.global.u32 %r2, [%d0+256];", "out of bounds: no memory at this address"},
        {"ld.global.u32 %r2, [%d0+-4];", "out of bounds: no memory at this address"},
        {"ld.global.v2.u32 {%r2, %r3}, [%d0+248];", NULL},
        {"ld.global.v2.u32 {%r2, %r3}, [%d0+252];", "not aligned"},
        {"ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%d0+8];", "not aligned"},
        {"ld.global.u64 %d3, [%d0+4];", "not aligned"},
        {"ld.global.u16 %h0, [%d0+1];", "not aligned"},
        {"mov.u64 %d0, 0; ld.global.u32 %r2, [%d0];", "no memory at this address"},
        {"st.global.u32 [%d0], 1;", "a write to memory that is only read"},
        {"ld.param.u64 %d3, [out+8];", "outside of the parameters"},
        {"ld.param.u64 %d3, [in+4];", "not aligned"},
        {"st.shared.u32 [s+508], 1; ld.shared.u32 %r2, [s+508];", NULL},
        {"st.shared.u32 [s+512], 1;", "out of bounds of the block's memory"},
        {"st.shared.u32 [%d2], 1;", "this kind of memory"},
        {"mov.u64 %d3, s; st.u32 [%d3], 1; ld.shared.u32 %r2, [%d3];", NULL},
        {"mov.u64 %d3, s; st.global.u32 [%d3], 1;", "this kind of memory"},
        {"st.local.u32 [l+16], 1;", "out of bounds of the block's memory"},
    };
    CHECK_FAULTS(faults, 1, 1);
}

TEST(nothing_is_read_before_it_is_written)
{
    static const fault faults[] = {
        {"add.u32 %r2, %r3, 1;", "a register is read that nobody has written"},
        {"@%p0 add.u32 %r2, %r0, 1;", "a predicate is read that nobody has written"},
        {"ld.global.u32 %r2, [%d2];", "a byte is read that nobody has written"},
        {"st.global.u8 [%d2], 1; ld.global.u16 %h0, [%d2];", "a byte is read that nobody"},
        {"st.global.u16 [%d2], 1; ld.global.u16 %h0, [%d2];", NULL},
        {"ld.shared.u32 %r2, [s];", "a byte is read that nobody has written"},
        {"st.local.u32 [l], 1; ld.local.u64 %d3, [l];", "a byte is read that nobody"},
        {"st.local.v2.u32 [l], {1, 2}; ld.local.u64 %d3, [l];", NULL},
        /* Of diverging lanes, only some write the value. */
        {"setp.eq.u32 %p0, %r0, 0; @%p0 mov.u32 %r2, 1; add.u32 %r3, %r2, 1;",
         "a register is read that nobody has written"},
    };
    CHECK_FAULTS(faults, 1, 3);
}

/* Thread i writes its word and reads another thread's. */
#define WRITE_OWN                                                                        \
    "shl.b32 %r2, %r0, 2; cvt.u64.u32 %d3, %r2; mov.u64 %d4, s; add.u64 %d3, %d3, %d4; " \
    "st.shared.u32 [%d3], %r0;"
#define READ_FIRST "ld.shared.u32 %r3, [s];"

TEST(threads_share_memory_by_barriers_only)
{
    static const fault faults[] = {
        {WRITE_OWN "bar.sync 0;" READ_FIRST, NULL},
        {WRITE_OWN "bar.sync 0;" WRITE_OWN READ_FIRST, "race: another thread"},
        {"st.shared.u32 [s], %r0;", "race: another thread wrote it, too"},
        {"st.shared.u32 [s], 7;", "race: another thread wrote it, too"},
        {WRITE_OWN "bar.sync 0;" READ_FIRST "bar.sync 0;" WRITE_OWN, NULL},
        {WRITE_OWN "bar.sync 0;" READ_FIRST WRITE_OWN, "race: another thread"},
        {"st.global.u32 [%d1], %r0;", "race: another thread wrote it, too"},
        {"setp.ne.u32 %p0, %r0, 0; @%p0 bra L; st.global.u32 [%d1], 0; L: bar.sync 0;"
         "red.global.add.u32 [%d1], 1;",
         NULL},
        {"setp.ne.u32 %p0, %r0, 0; @%p0 bra L; bar.sync 0; L:", "not all threads reach"},
        {"setp.ne.u32 %p0, %r0, 0; @%p0 bra L; bar.sync 0; bra M; L: bar.sync 0; M:",
         "not all threads reach"},
    };
    static const fault one[] = {
        {"st.global.u32 [%d2], 1; ld.global.nc.u32 %r2, [%d2];", "ld.nc of memory that this"},
        {"st.global.u32 [%d2], 1; ld.volatile.global.u32 %r2, [%d2];", NULL},
    };
    CHECK_FAULTS(faults, 1, 48);
    CHECK_FAULTS(one, 1, 1);
}

/* No barrier synchronizes blocks. */
TEST(blocks_share_memory_by_atomics_only)
{
    static const fault faults[] = {
        {"st.global.u32 [%d2], 1;", "race: another thread wrote it, too"},
        {"bar.sync 0; st.global.u32 [%d2], %r1;", "race: another thread wrote it, too"},
        {"st.shared.u32 [s], 1;", NULL},
    };
    CHECK_FAULTS(faults, 3, 1);
}

TEST(what_is_not_known_is_refused)
{
    static const fault faults[] = {
        {"vote.sync.any.pred %p0, %p1, 1;", "line 10: vote.sync.any.pred %p0, %p1, 1: unknown "
                                            "instruction 'vote'"},
        {"add.cc.u32 %r2, %r0, 1;", "unknown word '.cc' of 'add'"},
        {"cvt.rz.f16.f32 %h0, %f0;", "unknown word '.rz' of 'cvt'"},
        {"cvt.f16.f32 %h0, %f0;", "this conversion is not known"},
        {"mul.f32 %f0, %f1, %f2;", "the rounding is left to the assembler"},
        {"add.u32 %r2, %r0;", "2 operands, not 3"},
        {"add.u32 %r2, %x, 1;", "unknown name '%x'"},
        {"add.u32 5, %r2, 1;", "the result is not a register"},
        {"bra NOWHERE;", "no such label"},
        {"setp.u32 %p0, %r0, 1;", "the instruction lacks a word"},
        {"mul.u32 %r2, %r0, %r0;", "the part of the product is not said"},
        {"ld.global.u32 %r2, %d0;", "an address is missing"},
        {".pragma \"other\";", "unknown"},
    };
    CHECK_FAULTS(faults, 1, 1);
}

TEST(what_never_ends_is_stopped)
{
    static const fault faults[] = {
        {"L: bra L;", "it does not end"},
        {"div.u32 %r2, %r0, 0;", "division by 0"},
        {"bar.sync 1;", "only barrier 0"},
    };
    CHECK_FAULTS(faults, 1, 33);
}

/* ---- what instructions give ---- */

/* Returns one value in %r2, in the first word of `out`. */
static void check_value(const char *body, uint32_t expected)
{
    char stored[512];
    arrays a;
    ptx_failure failure = {""};
    snprintf(stored, sizeof(stored), "%s st.global.u32 [%%d1], %%r2;", body);
    if (!run_body(stored, 1, 1, 1, &a, &failure)) {
        fail_msg("%s", failure.text);
    }
    if (a.out[0] != expected) {
        fail_msg("%s gives %#x, not %#x", body, a.out[0], expected);
    }
}

TEST(integers)
{
    check_value("add.u32 %r2, -1, 2;", 1);
    check_value("sub.s32 %r2, 1, 2;", UINT32_MAX);
    check_value("mul.lo.u32 %r2, 0x10001, 0x10001;", 0x20001);
    check_value("mul.hi.u32 %r2, 0x80000000, 6;", 3);
    check_value("mul.hi.s32 %r2, -2, 3;", UINT32_MAX);
    check_value("mul.wide.s32 %d3, -2, 3; shr.s64 %d3, %d3, 32; cvt.u32.u64 %r2, %d3;", UINT32_MAX);
    check_value("mul.wide.u32 %d3, -2, 3; shr.u64 %d3, %d3, 32; cvt.u32.u64 %r2, %d3;", 2);
    check_value("mov.u64 %d3, -1; mul.hi.u64 %d4, %d3, %d3; cvt.u32.u64 %r2, %d4;", 0xFFFFFFFE);
    check_value("mov.u64 %d3, -1; mul.hi.s64 %d4, %d3, %d3; cvt.u32.u64 %r2, %d4;", 0);
    check_value("mad.lo.s32 %r2, 3, -4, 5;", (uint32_t)-7);
    check_value("div.u32 %r2, -1, 2;", 0x7FFFFFFF);
    check_value("rem.u32 %r2, 17, 5;", 2);
    check_value("neg.s32 %r2, 5;", (uint32_t)-5);
    check_value("shl.b32 %r2, 1, 32;", 0);
    check_value("shr.u32 %r2, -1, 40;", 0);
    check_value("shr.s32 %r2, -8, 1;", (uint32_t)-4);
    check_value("shr.s32 %r2, -8, 99;", UINT32_MAX);
    check_value("bfi.b32 %r2, 0xF, 0, 28, 8;", 0xF0000000);
    check_value("bfi.b32 %r2, 0, -1, 4, 8;", 0xFFFFF00F);
    check_value("prmt.b32 %r2, 0x33221100, 0x77665584, 0x7410;", 0x77841100);
    check_value("prmt.b32 %r2, 0x33221100, 0x77665584, 0x0C40;", 0xFF8400 & 0xFFFFFF);
    check_value("mov.u16 %h0, 1; mov.u16 %h1, 2; mov.b32 %r2, {%h0, %h1};", 0x20001);
    check_value("mov.u16 %h0, -2; cvt.s32.s16 %r2, %h0;", (uint32_t)-2);
    check_value("mov.u16 %h0, -2; cvt.u32.u16 %r2, %h0;", 0xFFFE);
    check_value("cvt.u32.u8 %r2, 0x1FF;", 0xFF);
}

TEST(predicates)
{
    check_value("setp.lt.s32 %p0, -1, 1; selp.b32 %r2, 1, 2, %p0;", 1);
    check_value("setp.lt.u32 %p0, -1, 1; selp.b32 %r2, 1, 2, %p0;", 2);
    check_value("setp.ge.s64 %p0, -1, -1; selp.b32 %r2, 1, 2, %p0;", 1);
    check_value("setp.gt.u32 %p0, 3, 3; not.pred %p0, %p0; selp.b32 %r2, 1, 2, %p0;", 1);
    check_value("setp.eq.s32 %p0, 1, 1; setp.ne.s32 %p1, 1, 1; xor.pred %p2, %p0, %p1;"
                "selp.b32 %r2, 1, 2, %p2;",
                1);
    check_value("mov.u32 %r2, 1; setp.eq.s32 %p0, 1, 2; @%p0 mov.u32 %r2, 2;", 1);
    check_value("mov.u32 %r2, 1; setp.eq.s32 %p0, 1, 2; @!%p0 mov.u32 %r2, 2;", 2);
}

#define TO_BITS "mov.b32 %r2, %f0;"
#define HALF    "cvt.u32.u16 %r2, %h0;"

/* 1 + 2^-11 and 1 + 3 * 2^-11 lie halfway between two binary16 numbers. */
TEST(floats)
{
    check_value("fma.rn.f32 %f0, 0f3F800001, 0f3F800001, 0fBF800002;" TO_BITS, 0x28800000);
    check_value("mul.rn.f32 %f0, 0f3F800001, 0f3F800001; sub.f32 %f0, %f0, 0f3F800002;" TO_BITS, 0);
    check_value("add.rn.f32 %f0, 0f00000001, 0f00000001;" TO_BITS, 2);
    check_value("add.rn.ftz.f32 %f0, 0f00000001, 0f00000001;" TO_BITS, 0);
    check_value("mul.rn.ftz.f32 %f0, 0f80800000, 0f3F000000;" TO_BITS, 0x80000000);
    check_value("div.rn.f32 %f0, 0f3F800000, 0f40400000;" TO_BITS, 0x3EAAAAAB);
    check_value("div.rn.f32 %f0, 0f00000000, 0f00000000;" TO_BITS, 0x7FFFFFFF);
    check_value("neg.f32 %f0, 0f3F800000;" TO_BITS, 0xBF800000);
    check_value("cvt.rn.f32.u32 %f0, 0x1000001;" TO_BITS, 0x4B800000);
    check_value("cvt.rn.f32.u32 %f0, 0x1000003;" TO_BITS, 0x4B800002);
    check_value("cvt.rn.f32.s32 %f0, -1;" TO_BITS, 0xBF800000);
    check_value("cvt.rn.f16.f32 %h0, 0f3F801000;" HALF, 0x3C00);
    check_value("cvt.rn.f16.f32 %h0, 0f3F803000;" HALF, 0x3C02);
    check_value("cvt.rn.f16.f32 %h0, 0f477FF000;" HALF, 0x7C00);
    check_value("cvt.rn.f16.f32 %h0, 0f477FEFFF;" HALF, 0x7BFF);
    check_value("cvt.rn.f16.f32 %h0, 0f33000000;" HALF, 0);
    check_value("cvt.rn.f16.f32 %h0, 0fB3000001;" HALF, 0x8001);
    check_value("cvt.rn.bf16.f32 %h0, 0f3F808000;" HALF, 0x3F80);
    check_value("cvt.rn.bf16.f32 %h0, 0f3F818000;" HALF, 0x3F82);
    check_value("cvt.rn.bf16.f32 %h0, 0f7F7FFFFF;" HALF, 0x7F80);
    check_value("cvt.rn.bf16.f32 %h0, 0f7FC00000;" HALF, 0x7FFF);
    check_value("mov.u16 %h0, 0x8001; cvt.f32.f16 %f0, %h0;" TO_BITS, 0xB3800000);
    check_value("mov.u16 %h0, 0x7BFF; cvt.f32.f16 %f0, %h0;" TO_BITS, 0x477FE000);
}

/* ---- launches ---- */

TEST(launches_that_cannot_run)
{
    ptx_failure failure = {""};
    ptx_module *module = ptx_parse(".version 7.0\n.target sm_75\n.address_size 64\n"
                                   ".visible .entry k()\n.maxntid 64, 1, 1\n{\nret;\n}\n",
                                   &failure);
    assert_non_null(module);
    ptx_launch launch = {.grid = {1, 1, 1}, .block = {64, 1, 1}};
    assert_true(ptx_run(ptx_find(module, "k"), &launch, &failure));
    launch.block[0] = 65;
    assert_false(ptx_run(ptx_find(module, "k"), &launch, &failure));
    launch.block[0] = 0;
    assert_false(ptx_run(ptx_find(module, "k"), &launch, &failure));
    ptx_free(module);
}
