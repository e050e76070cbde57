/* SPDX-License-Identifier: Apache-2.0 */
#include "record_walk.h"

#include "store.h"

#include <string.h>

#define STAGE "dataset"

sluice_status sl_head_window_open(sl_head_window *window, const char *path, sluice_error *error)
{
    memset(window, 0, offsetof(sl_head_window, data));
    const sluice_status status =
        sl_handle_open(&window->handle, (sl_file_name){STAGE, path}, &window->file, error);
    if (status == SLUICE_OK) {
        sl_handle_advise(&window->handle, SL_ADVICE_RANDOM, 0, 0); /* payloads are not wanted */
    }
    return status;
}

void sl_head_window_close(sl_head_window *window)
{
    sl_handle_close(&window->handle);
}

const uint8_t *sl_head_window_look(sl_head_window *window, uint64_t at, size_t bytes,
                                   sluice_error *error)
{
    const uint64_t left = window->file.bytes - at;
    if (at >= window->at && at - window->at + bytes <= window->bytes) {
        return window->data + (at - window->at);
    }
    /* A head alone where records are large, and what else is near where they are small. */
    size_t wanted = window->last > SL_HEAD_WINDOW_BYTES / 4 ? bytes : SL_HEAD_WINDOW_BYTES;
    wanted = left < wanted ? (size_t)left : wanted;
    window->bytes = 0;
    if (sl_handle_read(&window->handle, window->data, wanted, at, error) < 0) {
        return NULL;
    }
    window->at = at;
    window->bytes = wanted;
    return window->data;
}
