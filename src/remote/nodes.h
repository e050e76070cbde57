/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nodes: decides which cache nodes hold a slice of an object.
 *
 * Purpose: rendezvous hashing of (path without query, slice number) over the names of the nodes
 * gives a first and a second owner. All clients compute the same owners, regardless of the order of
 * their lists. If a node is removed from the list, only the slices of that node move. Slices have
 * 8 MiB. Threads: the functions are pure, a list is immutable. Cost: one hash of the path, and one
 * of 16 bytes a node.
 */
#ifndef SL_NODES_H
#define SL_NODES_H

#include <sluice/common.h>

#include <stdbool.h>
#include <stdint.h>

#define SL_SLICE_BYTES (UINT64_C(8) << 20)
#define SL_NODES_MAX   256U

typedef struct sl_nodes sl_nodes;

/*
 * Reads a list "host:port, host:port"; a host may be an IPv6 address in brackets. Letters of hosts
 * count without case. Errors: INVALID (an item is not HOST:PORT, is listed twice, or there are more
 * than SL_NODES_MAX), NOMEM. Ownership: sl_nodes_close.
 */
sluice_status sl_nodes_open(sl_nodes **nodes, const char *list, sluice_error *error);
void sl_nodes_close(sl_nodes *nodes); /* NULL is a no-op */
uint32_t sl_nodes_count(const sl_nodes *nodes);
/* Returns "host:port". Nodes are numbered in the order of their names. */
const char *sl_nodes_name(const sl_nodes *nodes, uint32_t node);
/* Writes the first and the second owner; with one node, both are that node. */
void sl_nodes_owners(const sl_nodes *nodes, const char *path, uint64_t slice, uint32_t owners[2]);

#endif
