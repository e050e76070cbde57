/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kept: objects in the chunk cache that the settings name.
 *
 * Purpose: an object is found in the cache by its address, its size, and the hashes of its ETag
 * (sl_object_identity), so no request is needed if a listing or an index knows the object. Objects
 * without an ETag are not kept. Threads: any.
 */
#ifndef SL_KEPT_H
#define SL_KEPT_H

#include "chunk_cache.h"
#include "object.h"

/* Opens an object in a cache, by its address without secrets; the caller closes it
 * (sl_cached_object_close). NULL: it is not kept. */
sl_cached_object *sl_kept_object(sl_chunk_cache *cache, const char *printed,
                                 const sl_file_identity *identity);
/* Returns the object in the cache, valid until the object is freed; NULL: it is not kept, or its
 * ETag is not known yet. */
sl_cached_object *sl_object_cached(sl_object *object);

#endif
