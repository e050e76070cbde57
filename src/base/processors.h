/* SPDX-License-Identifier: Apache-2.0 */
/* processors: sets of the machine's processors, by the kernel's numbers. Any thread. */
#ifndef SL_PROCESSORS_H
#define SL_PROCESSORS_H

#include <stdbool.h>
#include <stdint.h>

/* Most processors that the kernel is built for. */
#define SL_PROCESSORS_MAX 8192U

/* In the form of the kernel's calls. */
typedef struct sl_processors {
    unsigned long words[SL_PROCESSORS_MAX / (8 * sizeof(unsigned long))];
} sl_processors;

/* Returns the processors that the calling thread may run on; false: unknown. */
bool sl_processors_own(sl_processors *processors);
/* Parses a list as the kernel writes it: "0-3,8\n"; "" and "\n" are empty. Returns false if it is
 * not such a list. */
bool sl_processors_parse(sl_processors *processors, const char *list);
uint32_t sl_processors_count(const sl_processors *processors);
/* Removes processors that are not in `of`. */
void sl_processors_keep(sl_processors *processors, const sl_processors *of);

#endif
