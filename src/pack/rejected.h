/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rejected: the lines of rejected.tsv (docs/format.md, section 9), which tells of samples that were
 * left out. Pure.
 */
#ifndef SL_REJECTED_H
#define SL_REJECTED_H

#include "dataset.h"

#include <stdio.h>

#define SL_REJECTED_NAME    "rejected.tsv"
#define SL_REJECTED_HEADING "key\tstatus\toffset\treason\n"
/* A key whose every byte is escaped, a reason likewise, and the rest. */
#define SL_REJECTED_BYTES (4 * (SL_KEY_MAX + 512) + 64)

/* Writes a line, without its newline, to `line` (SL_REJECTED_BYTES); its length. `key` has at most
 * SL_KEY_MAX bytes. */
size_t sl_rejected_format(char *line, const char *key, const sluice_error *reason);

/* A stream to write such lines to `fd` with, which becomes its own; NULL: no memory. It keeps
 * nothing back: a child that another thread forks, and that exits, writes what its copy of a
 * stream's buffer holds. */
FILE *sl_rejected_open(int fd);

#endif
