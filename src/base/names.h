/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names: what statuses and dtypes are called, for the sentences of all modules. Threads: pure.
 */
#ifndef SL_NAMES_H
#define SL_NAMES_H

#include <sluice/common.h>

/* By number; NULL behind the last. */
extern const char *const sl_dtype_names[];

/* "corrupt", "bf16"; "unknown" for a value that is none. Never NULL. */
const char *sl_status_name(sluice_status status);
const char *sl_dtype_name(sluice_dtype dtype);

#endif
