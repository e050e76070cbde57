/* SPDX-License-Identifier: Apache-2.0 */
/*
 * numa: memory and processors near a device. Best effort: a refusal costs bandwidth on some
 * machines, nothing else. Any thread.
 */
#ifndef SL_NUMA_H
#define SL_NUMA_H

#include "processors.h"

#include <stddef.h>

/* Returns the node of the PCI device "0000:3b:00.0" (letters in either case); -1: none, or not
 * known. */
int sl_numa_of_pci(const char *pci);
/* Requests pages on `node`, including those already populated. Returns 0 or an errno. */
int sl_numa_prefer(void *memory, size_t bytes, int node);
/* Fills in the processors of `node`, possibly none. Returns false if they are not known. */
bool sl_numa_processors(int node, sl_processors *processors);

#endif
