/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_table: open descriptors of the dataset's files, least recently used closed first.
 *
 * Purpose: shards are opened when first read; no more than `capacity` stay open (bounded by
 * RLIMIT_NOFILE), and none is closed while a read on it is in flight.
 * Threads: the fetch thread only.
 * Invariants: pins >= 0; an entry with pins > 0 is never closed.
 */
#ifndef SL_FILE_TABLE_H
#define SL_FILE_TABLE_H

#include <sluice/common.h>

#include <stdbool.h>
#include <sys/types.h>

typedef enum sl_cache_mode { SL_CACHE_BUFFERED, SL_CACHE_DIRECT, SL_CACHE_DROP } sl_cache_mode;

/* Of offset, length and buffer with O_DIRECT. */
#define SL_DIRECT_ALIGN ((uint32_t)4096)

typedef struct sl_file {
    int fd;         /* -1: free entry */
    uint32_t pins;  /* reads in flight */
    uint64_t bytes; /* size when opened */
    uint64_t used;  /* for LRU */
    bool direct;    /* O_DIRECT: offset, length and buffer in multiples of SL_DIRECT_ALIGN */
    bool reopen;    /* to be closed and opened again before it is pinned next */
    bool buffered;  /* ... without O_DIRECT */
} sl_file;

typedef struct sl_file_table {
    sl_file *files;
    uint32_t *numbers; /* of the dataset, entry by entry; apart from the rest, to be scanned fast */
    uint32_t capacity;
    uint64_t clock;
    sl_cache_mode mode;
    uint8_t *probe;    /* room for the probing read */
    dev_t direct_dev;  /* the file system probed last, */
    bool direct_known; /* if any, */
    bool direct_works; /* and what it said */
} sl_file_table;

/* Capacity: `wanted`, or fewer when RLIMIT_NOFILE leaves fewer; at least 1. Errors: NOMEM. */
sluice_status sl_file_table_open(sl_file_table *table, uint32_t wanted, sl_cache_mode mode,
                                 sluice_error *error);
void sl_file_table_close(sl_file_table *table);
/*
 * The entry of file `number`, pinned; opens `path` when it is not open. With DIRECT it is probed by
 * one read (once for each file system) and opened buffered when that is refused. AGAIN: all entries
 * are pinned, no descriptor is free just now, or the entry waits to be reopened: try again after a
 * completion. Errors: IO; a thing that is no regular file has errno EISDIR or EINVAL.
 */
sluice_status sl_file_table_pin(sl_file_table *table, uint32_t number, const char *path,
                                sl_file **file, sluice_error *error);
/* The same when it is open and fit for use; else NULL, and sl_file_table_pin must be asked. */
sl_file *sl_file_table_pin_open(sl_file_table *table, uint32_t number);
void sl_file_table_unpin(sl_file_table *table, sl_file *file);
/* Has the file closed and opened again before its next pin, once nobody pins it (its handle went
 * stale); `buffered`: without O_DIRECT from then on (a read was answered EINVAL). */
void sl_file_table_reopen(sl_file *file, bool buffered);

/* Opens a regular file for reading; the descriptor, or -errno. A FIFO does not block it. */
int sl_file_table_open_path(const char *path, bool direct, uint64_t *bytes, dev_t *device);

#endif
