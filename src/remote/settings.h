/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings: how this process reads remote data: sluice_remote_configure over the environment over
 * the AWS profile over defaults.
 *
 * Purpose: merges the four sources and checks them. The environment and the profile are read by the
 * first `get`, and again by the first one after each `choose`. Threads: any. Lock: one mutex, not
 * held while files are read. Ownership: `get` returns the current settings, immutable and counted;
 * open objects keep theirs.
 */
#ifndef SL_REMOTE_SETTINGS_H
#define SL_REMOTE_SETTINGS_H

#include "chunk_cache.h"
#include "nodes.h"

#include <stdatomic.h>
#include <stdint.h>

/* The chunk cache of settings (settings_cache.c). */
typedef struct sl_settings_cache {
    bool tried;
    uint64_t forks;         /* sl_fork_count of the process that tried */
    uint64_t opener;        /* sl_fork_count + 1 of the process that is opening it; 0: none */
    sl_chunk_cache *chunks; /* NULL: not opened yet, or it cannot be opened */
    char off[192];          /* why it cannot be opened */
} sl_settings_cache;

typedef struct sl_remote_settings {
    char endpoint[512];  /* of s3: "https://host[:port]", without a default port; "": Amazon's */
    char region[64];     /* "": not set */
    char profile[128];   /* AWS_PROFILE, AWS_DEFAULT_PROFILE, or "default" unless chosen */
    char ca_file[1024];  /* "": the system's */
    bool profile_chosen; /* by sluice_remote_configure: overrides keys of the environment */
    bool anonymous;
    uint32_t connections; /* most connections to a host [256] */
    uint64_t stall_ns;    /* [30 s] */
    char cache[1024];     /* folder of the chunk cache; "": none */
    uint64_t cache_bytes; /* 0: nine tenths of the space that is free when the cache is created */
    sl_nodes *nodes;      /* NULL: none */
    /* Why the profile could not be used; status 0: it could. Requests to s3 then fail with it. */
    sluice_error profile_error;
    sl_settings_cache *own_cache; /* mutable despite the const: use sl_remote_settings_cache */
    _Atomic uint32_t holders;
} sl_remote_settings;

/* Gets the current settings. Errors: INVALID, with the name of the environment variable; NOMEM. */
sluice_status sl_remote_settings_get(const sl_remote_settings **settings, sluice_error *error);
void sl_remote_settings_release(const sl_remote_settings *settings); /* NULL is a no-op */

/* Returns the chunk cache that the settings name, opened by the first call of this process and
 * closed with the settings. NULL: none is set, or it cannot be opened; the statistics give the
 * reason (`off`). */
sl_chunk_cache *sl_remote_settings_cache(const sl_remote_settings *settings);
void sl_remote_settings_cache_stats(const sl_remote_settings *settings,
                                    sl_chunk_cache_stats *stats);

/* The arguments of sluice_remote_configure: NULL and 0 mean "not chosen". */
typedef struct sl_remote_choice {
    const char *endpoint, *region, *profile, *ca_file, *cache, *cache_nodes;
    bool anonymous;
    uint32_t connections; /* within their ranges: checked by the options table */
    uint64_t stall_ns, cache_bytes;
} sl_remote_choice;

/* Copies the choice, for all later `get`s, and forgets all credentials. Errors: INVALID, with the
 * name of the option; then nothing has changed. NOMEM. Reads no file. */
sluice_status sl_remote_settings_choose(const sl_remote_choice *choice, sluice_error *error);

#endif
