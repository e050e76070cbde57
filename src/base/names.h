/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names: names of statuses and dtypes, for the messages of all modules. Threads: pure.
 */
#ifndef SL_NAMES_H
#define SL_NAMES_H

#include <sluice/common.h>

/* By number; NULL after the last. */
extern const char *const sl_dtype_names[];

/* Returns "corrupt", "bf16"; "unknown" for other values. Never NULL. */
const char *sl_status_name(sluice_status status);
const char *sl_dtype_name(sluice_dtype dtype);

#endif
