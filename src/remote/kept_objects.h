/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kept_objects: the objects of a dataset, as caching (caching.h) fetches them.
 *
 * Purpose: finds which objects of a set are kept in the chunk cache, opens them there at their
 * first use, and reads their chunks from the store. For an object with an unknown ETag, such as a
 * shard that a manifest on a web server names, it is requested once. Up to 64 objects stay open, so
 * that the address they moved to is requested once, too. Not kept are local files, objects without
 * an ETag, samples of several files, objects of unknown size, and samples that are files of their
 * own if one of them is larger than a chunk, or the dataset has more than SL_OBJECTS_LISTED_MOST.
 * Threads: any, except for open and close. Lock: one mutex for the table of objects, and one for
 * each stripe of objects, held while an object is requested. Memory: 56 bytes an object, and the
 * cache's memory for each open object.
 */
#ifndef SL_KEPT_OBJECTS_H
#define SL_KEPT_OBJECTS_H

#include "caching.h"
#include "objects.h"

typedef struct sl_kept_objects sl_kept_objects;

/* Finds the kept ones of `objects`, which must outlive this. OK with `*kept` NULL: no object is
 * kept, or no cache is set. Errors: NOMEM. */
sluice_status sl_kept_objects_open(sl_kept_objects **kept, const sl_objects *objects,
                                   sluice_error *error);
void sl_kept_objects_close(sl_kept_objects *kept); /* NULL is a no-op */
sl_caching_objects sl_kept_objects_of(sl_kept_objects *kept);
sl_chunk_cache *sl_kept_objects_cache(const sl_kept_objects *kept);
/* The first failure of the store: an address and a reason. */
#define SL_KEPT_WHY_BYTES 512

/* Fetches all absent chunks, as far as space permits. `why` is the reason why some could not be
 * read; "": none, or not the store's fault. Blocks, under the thread's stop. Errors: UNSUPPORTED
 * (no cache is set, or none of the objects is kept), CANCELED, NOMEM. */
sluice_status sl_kept_objects_fill(const sl_objects *objects, const sl_caching_watch *watch,
                                   sl_caching_stats *stats, char why[SL_KEPT_WHY_BYTES],
                                   sluice_error *error);

#endif
