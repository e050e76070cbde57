/* SPDX-License-Identifier: Apache-2.0 */
#include "kept_look.h"

#include "thread.h"

#include <string.h>

static _Thread_local sl_kept_look *own_look;

void sl_kept_look_begin(sl_kept_look *kept)
{
    sl_mutex_init(&kept->mutex);
    kept->path[0] = '\0';
    kept->file_bytes = 0;
    kept->head_bytes = 0;
    kept->file = (sl_open_file){.handle = {.fd = -1}};
}

void sl_kept_look_end(sl_kept_look *kept)
{
    sl_handle_close(&kept->file.handle);
    sl_mutex_destroy(&kept->mutex);
}

sl_kept_look *sl_store_keep_look(sl_kept_look *kept)
{
    sl_kept_look *before = own_look;
    own_look = kept;
    return before;
}

sl_kept_look *sl_store_kept_look(void)
{
    return own_look;
}

bool sl_kept_look_copy(sl_kept_look *kept, const char *path, void *head, size_t most, size_t *bytes)
{
    if (kept == NULL) {
        return false;
    }
    sl_lock(&kept->mutex);
    const uint64_t wanted = kept->file_bytes < most ? kept->file_bytes : most;
    const bool found = strcmp(kept->path, path) == 0 && wanted <= kept->head_bytes;
    if (found) {
        memcpy(head, kept->head, (size_t)wanted);
        *bytes = (size_t)wanted;
    }
    sl_unlock(&kept->mutex);
    return found;
}

bool sl_kept_look_put(sl_kept_look *kept, const char *path, const sl_open_file *file,
                      const void *head, size_t bytes)
{
    const size_t length = strlen(path);
    if (kept == NULL || length >= sizeof(kept->path)) {
        return false;
    }
    sl_lock(&kept->mutex);
    sl_handle_close(&kept->file.handle);
    memcpy(kept->path, path, length + 1);
    kept->file_bytes = file->identity.bytes;
    kept->head_bytes = bytes < SL_KEPT_LOOK_BYTES ? bytes : SL_KEPT_LOOK_BYTES;
    memcpy(kept->head, head, kept->head_bytes);
    kept->file = *file;
    kept->file.handle.name.path = kept->path;
    sl_unlock(&kept->mutex);
    return true;
}

bool sl_kept_look_take(sl_kept_look *kept, const char *path, sl_open_file *file)
{
    if (kept == NULL) {
        return false;
    }
    sl_lock(&kept->mutex);
    const bool found = kept->file.handle.store != NULL && strcmp(kept->path, path) == 0;
    if (found) {
        *file = kept->file;
        kept->file = (sl_open_file){.handle = {.fd = -1}};
    }
    sl_unlock(&kept->mutex);
    return found;
}
