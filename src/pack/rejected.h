/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rejected: formats the lines of rejected.tsv (docs/format.md, section 9), which lists left-out
 * samples. Pure.
 */
#ifndef SL_REJECTED_H
#define SL_REJECTED_H

#include "dataset.h"

#include <stdio.h>

#define SL_REJECTED_NAME    "rejected.tsv"
#define SL_REJECTED_HEADING "key\tstatus\toffset\treason\n"
/* Maximum size: key and reason with every byte escaped, and the rest. */
#define SL_REJECTED_BYTES (4 * (SL_KEY_MAX + 512) + 64)

/*
 * Writes a line, without its newline, to `line` (SL_REJECTED_BYTES); returns its length. `key` has
 * at most SL_KEY_MAX bytes.
 */
size_t sl_rejected_format(char *line, const char *key, const sluice_error *reason);

/*
 * Returns a stream that writes such lines to `fd` and owns it; NULL: no memory. It is unbuffered: a
 * child that another thread forks, and that exits, would write its copy of the buffer.
 */
FILE *sl_rejected_open(int fd);

#endif
