/* SPDX-License-Identifier: Apache-2.0 */
/* system: the features of this machine, and the rank of this process. One thread. */
#ifndef INFO_SYSTEM_H
#define INFO_SYSTEM_H

#include <stdbool.h>

/* Prints it; returns the exit code. */
int system_show(bool as_json);

#endif
