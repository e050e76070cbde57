/* SPDX-License-Identifier: Apache-2.0 */
/* kernels: device code of the checks as PTX, so that neither building nor running them needs a CUDA
 * toolkit; the driver compiles it. Kernels wait by the device's nanosecond clock. */
#ifndef KERNELS_H
#define KERNELS_H

static const char gpu_kernels_ptx[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"

    ".visible .entry gpu_spin(.param .u64 ns)\n"
    "{\n"
    "  .reg .pred %p; .reg .b64 %begin, %now, %ns;\n"
    "  ld.param.u64 %ns, [ns];\n"
    "  mov.u64 %begin, %globaltimer;\n"
    "AGAIN:\n"
    "  mov.u64 %now, %globaltimer;\n"
    "  sub.u64 %now, %now, %begin;\n"
    "  setp.lt.u64 %p, %now, %ns;\n"
    "  @%p bra AGAIN;\n"
    "  ret;\n"
    "}\n"

    /* Loads are volatile: a cached value would hide a concurrent write to the memory. */
    ".visible .entry gpu_checksum(.param .u64 words, .param .u32 count, .param .u64 ns,\n"
    "                             .param .u64 sum)\n"
    "{\n"
    "  .reg .pred %p; .reg .b64 %begin, %now, %ns, %words, %at, %sum;\n"
    "  .reg .b32 %i, %step, %count, %block, %size, %word, %factor, %part;\n"
    "  ld.param.u64 %words, [words];\n"
    "  ld.param.u32 %count, [count];\n"
    "  ld.param.u64 %ns, [ns];\n"
    "  ld.param.u64 %sum, [sum];\n"
    "  mov.u64 %begin, %globaltimer;\n"
    "AGAIN:\n"
    "  mov.u64 %now, %globaltimer;\n"
    "  sub.u64 %now, %now, %begin;\n"
    "  setp.lt.u64 %p, %now, %ns;\n"
    "  @%p bra AGAIN;\n"
    "  mov.u32 %block, %ctaid.x;\n"
    "  mov.u32 %size, %ntid.x;\n"
    "  mov.u32 %i, %tid.x;\n"
    "  mad.lo.u32 %i, %block, %size, %i;\n"
    "  mov.u32 %step, %nctaid.x;\n"
    "  mul.lo.u32 %step, %step, %size;\n"
    "  mov.u32 %part, 0;\n"
    "NEXT:\n"
    "  setp.ge.u32 %p, %i, %count;\n"
    "  @%p bra ADD;\n"
    "  mul.wide.u32 %at, %i, 4;\n"
    "  add.u64 %at, %words, %at;\n"
    "  ld.volatile.global.u32 %word, [%at];\n"
    "  shl.b32 %factor, %i, 1;\n"
    "  or.b32 %factor, %factor, 1;\n"
    "  mad.lo.u32 %part, %word, %factor, %part;\n"
    "  add.u32 %i, %i, %step;\n"
    "  bra NEXT;\n"
    "ADD:\n"
    "  red.global.add.u32 [%sum], %part;\n"
    "  ret;\n"
    "}\n"

    ".visible .entry gpu_write(.param .u64 to)\n"
    "{\n"
    "  .reg .b64 %to;\n"
    "  ld.param.u64 %to, [to];\n"
    "  st.global.u32 [%to], 1;\n"
    "  ret;\n"
    "}\n";

#endif
