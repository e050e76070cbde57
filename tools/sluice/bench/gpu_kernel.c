/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu_kernel.h"

const char gpu_spin_name[] = "sluice_step_spin";

const char gpu_spin_ptx[] = ".version 6.3\n"
                            ".target sm_75\n"
                            ".address_size 64\n"
                            ".visible .entry sluice_step_spin(.param .u64 ns)\n"
                            "{\n"
                            "    .reg .pred %earlier;\n"
                            "    .reg .u64 %now, %end, %ns;\n"
                            "    ld.param.u64 %ns, [ns];\n"
                            "    mov.u64 %now, %globaltimer;\n"
                            "    add.u64 %end, %now, %ns;\n"
                            "spin:\n"
                            "    mov.u64 %now, %globaltimer;\n"
                            "    setp.lt.u64 %earlier, %now, %end;\n"
                            "    @%earlier bra spin;\n"
                            "    ret;\n"
                            "}\n";
