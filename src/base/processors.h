/* SPDX-License-Identifier: Apache-2.0 */
/* processors: sets of the machine's processors, by the kernel's numbers. Any thread. */
#ifndef SL_PROCESSORS_H
#define SL_PROCESSORS_H

#include <stdbool.h>
#include <stdint.h>

/* The kernel is built for this many at most. */
#define SL_PROCESSORS_MAX 8192U

/* As the kernel's calls take it. */
typedef struct sl_processors {
    unsigned long words[SL_PROCESSORS_MAX / (8 * sizeof(unsigned long))];
} sl_processors;

/* Those that the calling thread may run on; false: the kernel does not tell. */
bool sl_processors_own(sl_processors *processors);
/* A list as the kernel writes it: "0-3,8\n"; "" and "\n" are none. false: it is no such list. */
bool sl_processors_parse(sl_processors *processors, const char *list);
uint32_t sl_processors_count(const sl_processors *processors);
/* Leaves those that are in `of`, too. */
void sl_processors_keep(sl_processors *processors, const sl_processors *of);

#endif
