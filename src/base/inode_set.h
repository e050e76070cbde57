/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inode_set: the directories seen so far, by device and inode.
 *
 * A hash table that is emptied without being touched: earlier entries count as absent. Threads: one
 * owner. Memory: 24 bytes for each member, and as much space again.
 */
#ifndef SL_INODE_SET_H
#define SL_INODE_SET_H

#include <stdbool.h>
#include <stdint.h>

typedef struct sl_inode {
    uint64_t device, inode;
} sl_inode;

typedef struct sl_inode_set {
    struct sl_inode_slot *slots; /* owned; `capacity` of them, a power of two */
    uint32_t capacity, count;
    uint32_t generation; /* of the members; other slots are free */
} sl_inode_set;

/* Makes a new (zeroed) or a used set empty. */
void sl_inode_set_clear(sl_inode_set *set);
/* Adds `inode`; `*added` is false if it was in the set. False: no memory. */
bool sl_inode_set_add(sl_inode_set *set, sl_inode inode, bool *added);
bool sl_inode_set_has(const sl_inode_set *set, sl_inode inode);
void sl_inode_set_close(sl_inode_set *set);

#endif
