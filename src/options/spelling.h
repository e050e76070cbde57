/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spelling: what options are called on the command line and in Python, for sentences that name
 * them. Threads: pure.
 */
#ifndef SL_SPELLING_H
#define SL_SPELLING_H

#include <sluice/describe.h>

/* As sluice_option_spell. */
const char *sl_option_spell(sluice_spelling spelling, const char *option);

#endif
