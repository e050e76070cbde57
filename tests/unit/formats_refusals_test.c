/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each allocation and each system call is refused once, for datasets of all formats: see
 * tests/support/refused_runs.h. Arguments: datasets; formats_faults.py makes one of each format.
 */
#include "refused_runs.h"

#include <assert.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    assert(argc > 1);
    for (int i = 1; i < argc; i++) {
        refused_case c = {.name = argv[i],
                          .path = argv[i],
                          .columns = refused_natural_columns,
                          .io_backend = SLUICE_IO_PREAD};
        refused_check(&c);
        c.cached = true;
        refused_check(&c);
    }
    return refused_findings() > 0;
}
