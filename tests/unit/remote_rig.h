/* SPDX-License-Identifier: Apache-2.0 */
/* remote_rig: a fake network, chunk cache and store of remote objects.
 *
 * Addresses are "fake:" and a local path. A program that links this file uses these instead of the
 * library's reads.h, hosts.h, chunk_cache.h, object.h and table of stores. Threads: reads end on a
 * thread of the rig; call the rest on the main thread while no read is in flight. */
#ifndef REMOTE_RIG_H
#define REMOTE_RIG_H

#include "chunk_cache.h"
#include "io_harness.h"
#include "object.h"
#include "reads.h"

#define RIG_SCHEME "fake:"

enum { RIG_PENDING = 4096, RIG_CHUNKS = 4, RIG_FILES = 6 };

extern const uint64_t rig_sizes[RIG_FILES];

typedef enum rig_mode {
    RIG_AT_ONCE, /* done is called before start returns */
    RIG_LATE,    /* by a thread, in any order */
    RIG_STALLED  /* when it is cancelled */
} rig_mode;

typedef struct rig_net {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    pthread_t thread;
    rig_mode mode;
    sl_remote_read *pending[RIG_PENDING];
    uint32_t count, started, canceled, draws;
    uint64_t bytes;     /* requested bytes */
    int64_t failure;    /* error of all reads; 0: none */
    const char *reason; /* reason of the failure */
    uint64_t claimed;   /* size that the next `claims` reads of whole files report */
    uint32_t claims;
    bool ends;
} rig_net;
extern rig_net net;

/* The cache of one object, backed by files that the test makes. */
typedef struct rig_cache {
    sl_chunk_state states[RIG_CHUNKS];
    int fds[RIG_CHUNKS];
    uint32_t looks, used, done;
    uint64_t hits, misses; /* bytes */
} rig_cache;
extern rig_cache cache;
extern sl_cached_object rig_cached_object;
extern const uint64_t rig_gap_bytes; /* gap worth another request */

void rig_net_start(void);
void rig_net_stop(void);
/* No read may be in flight. */
void net_reset(rig_mode mode);

extern const sl_store rig_row;
/* Returns the number of open objects. */
uint32_t rig_objects(void);
/* Returns the address of a harness's file. */
void rig_path(const io_harness *h, uint32_t file, char *path, size_t bytes);

uint64_t random_below(uint64_t limit);

#endif
