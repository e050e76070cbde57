/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sluice/remote.h: datasets in object stores, and the cache of the bytes that were read from them.
 *
 * A path of a dataset may be an address: s3://bucket/key, gs://bucket/key,
 * hf://datasets/OWNER/NAME/PATH, https://host/path or http://host/path. Credentials come from the
 * same places as for other programs of the store (docs/remote.md). These settings belong to the
 * process, and apply to datasets that are opened afterwards. Reading needs libcurl, which the
 * library opens at run time.
 *
 *     sluice_remote_config config = SLUICE_REMOTE_CONFIG_INIT;
 *     config.endpoint = "https://minio.example:9000";
 *     config.cache = "/nvme/sluice";
 *     status = sluice_remote_configure(&config, &error);
 */
#ifndef SLUICE_REMOTE_H
#define SLUICE_REMOTE_H

#include <sluice/common.h>
#include <sluice/dataset.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Strings are copied. "" is the same as NULL, except for `cache` and `cache_nodes`. */
typedef struct sluice_remote_config {
    uint32_t struct_size;
    uint32_t anonymous;   /* 1: send no credentials and sign no request */
    const char *endpoint; /* of s3: "https://host[:port]" [AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL,
                             the profile, Amazon's] */
    const char *region;   /* [AWS_REGION, AWS_DEFAULT_REGION, the profile, us-east-1; an answer that
                             names the bucket's region overrides all] */
    const char *profile;  /* of AWS's files; a profile given here counts before keys in the
                             environment [AWS_PROFILE, AWS_DEFAULT_PROFILE, "default"] */
    const char *ca_file;  /* trusted certificates, PEM [AWS_CA_BUNDLE, CURL_CA_BUNDLE, the profile,
                             the system's] */
    uint32_t connections; /* most connections to a host [256; 1 .. 1024] */
    uint32_t reserved;    /* 0 */
    uint64_t stall_ns;    /* a read that receives no byte for this long fails [30 s; 1 ms .. 1 h] */
    const char *cache;    /* folder on a local disk; "": none [SLUICE_REMOTE_CACHE, none] */
    uint64_t cache_bytes; /* its most bytes [SLUICE_REMOTE_CACHE_BYTES, or nine tenths of the space
                             that is free when it is made] */
    const char *cache_nodes; /* "host:port, ...": HTTP caches that are asked before the store; "":
                                none [SLUICE_CACHE_NODES, none] */
} sluice_remote_config;

#define SLUICE_REMOTE_CONFIG_INIT                                                       \
    {                                                                                   \
        sizeof(sluice_remote_config), 0, NULL, NULL, NULL, NULL, 0, 0, 0, NULL, 0, NULL \
    }

/*
 * Replaces the whole configuration; NULL: back to the environment's. The environment and the files
 * of AWS are read again by the next use, and credentials are asked for again. Never blocks. Errors:
 * INVALID, naming the option or the variable of the environment; then nothing has changed.
 */
SLUICE_API sluice_status sluice_remote_configure(const sluice_remote_config *config,
                                                 sluice_error *error);

/* What this process has read from object stores so far. */
typedef struct sluice_remote_stats {
    uint32_t struct_size;
    uint32_t hosts;          /* hosts that received a request */
    char host[256];          /* the host that sent the most bytes; "": none */
    uint64_t requests;       /* all requests, including retries, hedges and listings */
    uint64_t lists;          /* listings */
    uint64_t bytes;          /* of bodies */
    uint64_t retried;        /* requests that were sent again */
    uint64_t hedged;         /* second requests for slow ones */
    uint64_t hedges_won;     /* second requests that answered first */
    uint64_t busy;           /* answers that asked to slow down (503, 429) */
    uint64_t failed;         /* requests without a usable answer */
    uint64_t stalled;        /* of those, requests that received no byte for stall_ns */
    uint64_t p50_ns, p99_ns; /* time to the first byte of `host` */
    uint32_t window;         /* requests in flight that `host` can serve, by estimate */
    uint32_t reserved;
    uint64_t cache_hits, cache_misses; /* reads */
    uint64_t cache_hit_bytes, cache_miss_bytes;
    uint64_t cache_kept_bytes; /* on the disk */
    uint64_t cache_most_bytes; /* allowed */
    uint64_t cache_damaged;    /* chunks that failed their checksum and were read again */
    char cache_off[192]; /* why the cache stopped keeping chunks; "": it did not, or no cache is set
                          */
} sluice_remote_stats;

#define SLUICE_REMOTE_STATS_INIT                                                                  \
    {                                                                                             \
        sizeof(sluice_remote_stats), 0, "", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
            0, 0, ""                                                                              \
    }

/* Errors: INVALID, NOMEM. */
SLUICE_API sluice_status sluice_remote_get_stats(sluice_remote_stats *stats);

/*
 * ---- the cache on disk, without a loader ----
 *
 * Other processes may read and write the cache at the same time. `folder` NULL: the one
 * of sluice_remote_configure or SLUICE_REMOTE_CACHE. A folder without a cache is an empty cache.
 * All functions block. Errors: INVALID (no folder is set), IO (the folder does not exist, cannot be
 * read or written to, or belongs to another user), NOMEM, CANCELED.
 */
typedef struct sluice_cache_options {
    uint32_t struct_size;
    uint32_t reserved; /* 0 */
    /* Called from the calling thread after each file. NULL: not called. */
    void (*on_progress)(void *user, uint64_t bytes_done, uint64_t bytes_total);
    /* Called from the calling thread about every 50 ms; a result other than 0 ends the call within
     * a second, with CANCELED. NULL: the call cannot be stopped. */
    int32_t (*should_stop)(void *user);
    void *user; /* passed to both */
} sluice_cache_options;

#define SLUICE_CACHE_OPTIONS_INIT                         \
    {                                                     \
        sizeof(sluice_cache_options), 0, NULL, NULL, NULL \
    }

/* An object with chunks in the cache. */
typedef struct sluice_cache_entry {
    uint32_t struct_size;
    uint32_t reserved;
    const char *address;   /* without secrets; valid during the call */
    uint64_t object_bytes; /* size of the object */
    uint64_t kept_bytes;   /* bytes of it in the cache */
    uint64_t chunks;       /* files of these bytes */
    int64_t used_s;        /* latest use, seconds since 1970 */
} sluice_cache_entry;

#define SLUICE_CACHE_ENTRY_INIT                         \
    {                                                   \
        sizeof(sluice_cache_entry), 0, NULL, 0, 0, 0, 0 \
    }

/* Calls `visit` for each object, in the order of the addresses; two versions of one address are two
 * objects. A result of `visit` other than 0 ends the call, with CANCELED. `options` may be NULL;
 * on_progress is not called. */
SLUICE_API sluice_status sluice_cache_list(const char *folder, const sluice_cache_options *options,
                                           int32_t (*visit)(void *user,
                                                            const sluice_cache_entry *entry),
                                           void *user, sluice_error *error);

typedef struct sluice_cache_result {
    uint32_t struct_size;
    uint32_t reserved;
    uint64_t chunks, bytes;          /* verify: good; empty: removed; fill: in the cache now */
    uint64_t damaged, damaged_bytes; /* verify: failed their checksum, and were removed */
    uint64_t fetched_bytes;          /* fill: read from the store */
    uint64_t left_bytes;             /* fill: not kept, because there is no space */
} sluice_cache_result;

#define SLUICE_CACHE_RESULT_INIT                         \
    {                                                    \
        sizeof(sluice_cache_result), 0, 0, 0, 0, 0, 0, 0 \
    }

/* Verifies the checksum of each chunk, and removes the damaged ones. `options` and `result` may be
 * NULL. */
SLUICE_API sluice_status sluice_cache_verify(const char *folder,
                                             const sluice_cache_options *options,
                                             sluice_cache_result *result, sluice_error *error);
/* Removes all chunks of addresses that begin with `prefix`; NULL or "": all chunks. `options` and
 * `result` may be NULL. */
SLUICE_API sluice_status sluice_cache_empty(const char *folder, const char *prefix,
                                            const sluice_cache_options *options,
                                            sluice_cache_result *result, sluice_error *error);

/*
 * Reads all remote files of a dataset into the cache of sluice_remote_configure, as far as there is
 * space; only absent chunks are read. Files without an ETag are not kept. Errors,
 * besides those above: INVALID (no file of the dataset can be kept), IO (the store failed, or the
 * cache cannot be written to; earlier chunks stay in the cache). `options` and `result` may be
 * NULL.
 */
SLUICE_API sluice_status sluice_cache_fill(const sluice_dataset *dataset,
                                           const sluice_cache_options *options,
                                           sluice_cache_result *result, sluice_error *error);

#ifdef __cplusplus
}
#endif

#endif
