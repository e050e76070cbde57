/* SPDX-License-Identifier: Apache-2.0 */
/*
 * remote_rig: a network, a chunk cache and a store of remote objects that are made up.
 *
 * Addresses are "fake:" and a local path. A program with this file in it has these in place of the
 * library's reads.h, hosts.h, chunk_cache.h, object.h and table of stores. Threads: reads end on a
 * thread of the rig; the rest is for the main thread while none is on its way.
 */
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
    uint64_t bytes;     /* that were asked for */
    int64_t failure;    /* of all reads; 0: none */
    const char *reason; /* of it */
    uint64_t claimed;   /* the size of so many whole files, by what their answers say */
    uint32_t claims;
    bool ends;
} rig_net;
extern rig_net net;

/* The cache of one object, by files that the test makes. */
typedef struct rig_cache {
    sl_chunk_state states[RIG_CHUNKS];
    int fds[RIG_CHUNKS];
    uint32_t looks, used, done;
    uint64_t hits, misses; /* bytes */
} rig_cache;
extern rig_cache cache;
extern sl_cached_object rig_cached_object;
extern const uint64_t rig_gap_bytes; /* that pay for another request */

void rig_net_start(void);
void rig_net_stop(void);
/* No read may be on its way. */
void net_reset(rig_mode mode);

extern const sl_store rig_row;
/* Objects that are open. */
uint32_t rig_objects(void);
/* The address of a harness's file. */
void rig_path(const io_harness *h, uint32_t file, char *path, size_t bytes);

uint64_t random_below(uint64_t limit);

#endif
