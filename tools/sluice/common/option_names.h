/* SPDX-License-Identifier: Apache-2.0 */
/*
 * option_names: what the library's options are called on the command line.
 *
 * Whatever shows an error of the library's asks here before; a test compares the table with the
 * names that the library's sentences have, and with what --help says. Threads: pure.
 */
#ifndef TOOL_OPTION_NAMES_H
#define TOOL_OPTION_NAMES_H

#include <sluice/common.h>

/* The error, with the options that it names called as users of the tool know them. */
sluice_error option_names_of(const sluice_error *error);

#endif
