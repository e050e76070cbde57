/* SPDX-License-Identifier: Apache-2.0 */
/*
 * name_set: names that are given away.
 *
 * Purpose: whether a name is there already, letters compared without case (unicode.h), so that a
 * file system without case has space for all of them. Memory: 8 bytes a name at least, 21 at most:
 * checksums are kept, not names. Two names of one checksum count as one, which is harmless: the
 * second one is called otherwise.
 * Threads: one owner.
 */
#ifndef SL_NAME_SET_H
#define SL_NAME_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Names of different kinds are different names. */
typedef enum sl_name_kind { SL_NAME_FILE = 1, SL_NAME_FOLDER, SL_NAME_STEM } sl_name_kind;

typedef struct sl_name_set {
    uint64_t *slots; /* owned; 0: empty */
    size_t capacity, count;
} sl_name_set;

/* `length` bytes of `name`, at most 4095. */
bool sl_name_set_has(const sl_name_set *set, sl_name_kind kind, const char *name, size_t length);
/* False: there is no memory. */
bool sl_name_set_add(sl_name_set *set, sl_name_kind kind, const char *name, size_t length);
/* Forgets all names; the memory stays. */
void sl_name_set_clear(sl_name_set *set);
/* A zeroed one may be closed. */
void sl_name_set_close(sl_name_set *set);

#endif
