/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Refuses each allocation and each system call once, for datasets of all formats
 * (tests/support/refused_runs.h). Arguments: datasets; formats_faults.py makes one of each format.
 */
#include "refused_runs.h"

#include <assert.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    assert(argc > 1);
    for (int i = 2; i < 2 * argc; i++) { /* a single call site, so that stacks are the same */
        const refused_case c = {.name = argv[i / 2],
                                .path = argv[i / 2],
                                .columns = refused_natural_columns,
                                .io_backend = SLUICE_IO_PREAD,
                                .cached = i % 2 == 1};
        refused_check(&c);
    }
    return refused_findings() > 0;
}
