/* SPDX-License-Identifier: Apache-2.0 */
#include "kept.h"

#include "error.h"
#include "settings.h"
#include "thread.h"

#include <inttypes.h>
#include <stdio.h>

sl_cached_object *sl_kept_object(const char *printed, const sl_file_identity *identity)
{
    const sl_remote_settings *settings;
    sl_cached_object *cached = NULL;
    sluice_error error;
    char etag[40];
    sl_error_clear(&error);
    if (identity->inode == 0 || sl_remote_settings_get(&settings, &error) < 0) {
        return NULL;
    }
    sl_chunk_cache *cache = sl_remote_settings_cache(settings);
    (void)snprintf(etag, sizeof(etag), "%016" PRIx64 "%016" PRIx64, identity->inode,
                   (uint64_t)identity->changed_ns);
    if (cache != NULL) { /* which the object holds from now on */
        cached = sl_cached_object_open(cache, printed, etag, identity->bytes);
    }
    sl_remote_settings_release(settings);
    return cached;
}

sl_cached_object *sl_object_cached(sl_object *object)
{
    sl_lock(&object->mutex);
    if (object->cached == NULL || !sl_cached_object_is_own(object->cached)) {
        object->cached = sl_kept_object(object->printed, &object->identity);
    }
    sl_cached_object *cached = object->cached;
    sl_unlock(&object->mutex);
    return cached;
}
