/* SPDX-License-Identifier: Apache-2.0 */
/*
 * name_set: a set of names in use.
 *
 * Purpose: checks whether a name is in use, ignoring case (unicode.h), so that the names also work
 * on a case-insensitive file system. Memory: 8 to 21 bytes per name: checksums are stored, not
 * names. Two names with the same checksum count as one, which is harmless: the second one gets
 * another name. Threads: one owner.
 */
#ifndef SL_NAME_SET_H
#define SL_NAME_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Names of different kinds never collide. */
typedef enum sl_name_kind { SL_NAME_FILE = 1, SL_NAME_FOLDER, SL_NAME_STEM } sl_name_kind;

typedef struct sl_name_set {
    uint64_t *slots; /* owned; 0: empty */
    size_t capacity, count;
} sl_name_set;

/* Returns whether the first `length` bytes of `name`, at most 4095, are in the set. */
bool sl_name_set_has(const sl_name_set *set, sl_name_kind kind, const char *name, size_t length);
/* Adds a name. False: no memory. */
bool sl_name_set_add(sl_name_set *set, sl_name_kind kind, const char *name, size_t length);
/* Removes all names; keeps the memory. */
void sl_name_set_clear(sl_name_set *set);
/* Releases `set`, which may be zeroed. */
void sl_name_set_close(sl_name_set *set);

#endif
