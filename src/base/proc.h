/* SPDX-License-Identifier: Apache-2.0 */
/* proc: numbers from the small text files of /proc and of cgroups. Any thread. */
#ifndef SL_PROC_H
#define SL_PROC_H

#include <stdbool.h>
#include <stdint.h>

#define SL_PROC_NONE UINT64_MAX

/*
 * Returns the unsigned number after `key` at the beginning of a line of `path` ("" for the first
 * line). NONE if there is no such file, line or number ("max", "-1").
 */
uint64_t sl_proc_number(const char *path, const char *key);

/* Reads the two numbers of a file's first line. False: there are not two. */
bool sl_proc_pair(const char *path, uint64_t *first, uint64_t *second);

#endif
