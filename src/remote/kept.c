/* SPDX-License-Identifier: Apache-2.0 */
#include "kept.h"

#include "error.h"
#include "settings.h"
#include "thread.h"

#include <inttypes.h>
#include <stdio.h>

sl_cached_object *sl_kept_object(sl_chunk_cache *cache, const char *printed,
                                 const sl_file_identity *identity)
{
    char etag[40];
    if (identity->inode == 0) {
        return NULL;
    }
    (void)snprintf(etag, sizeof(etag), "%016" PRIx64 "%016" PRIx64, identity->inode,
                   (uint64_t)identity->changed_ns);
    return sl_cached_object_open(cache, printed, etag, identity->bytes);
}

/* Opens the object in the current cache, which the object holds from then on. */
static sl_cached_object *open_cached(const sl_object *object)
{
    const sl_remote_settings *settings;
    sluice_error error;
    sl_error_clear(&error);
    if (object->identity.inode == 0 || sl_remote_settings_get(&settings, &error) < 0) {
        return NULL;
    }
    sl_chunk_cache *cache = sl_remote_settings_cache(settings);
    sl_cached_object *cached =
        cache != NULL ? sl_kept_object(cache, object->printed, &object->identity) : NULL;
    sl_remote_settings_release(settings);
    return cached;
}

sl_cached_object *sl_object_cached(sl_object *object)
{
    sl_lock(&object->mutex);
    if (object->cached == NULL || !sl_cached_object_is_own(object->cached)) {
        object->cached = open_cached(object);
    }
    sl_cached_object *cached = object->cached;
    sl_unlock(&object->mutex);
    return cached;
}
