/* SPDX-License-Identifier: Apache-2.0 */
#include "head_window.h"

#include <fcntl.h>
#include <string.h>

#define STAGE "dataset"

sluice_status sl_head_window_open(sl_head_window *window, const char *path, sluice_error *error)
{
    memset(window, 0, offsetof(sl_head_window, data));
    window->path = path;
    window->fd = -1;
    const sluice_status status =
        sl_file_open((sl_file_name){STAGE, path}, &window->fd, &window->file, error);
    if (status < 0) {
        window->fd = -1;
        return status;
    }
    (void)posix_fadvise(window->fd, 0, 0, POSIX_FADV_RANDOM); /* payloads are not wanted */
    return SLUICE_OK;
}

void sl_head_window_close(sl_head_window *window)
{
    sl_file_close(window->fd);
    window->fd = -1;
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
    if (sl_file_read(window->fd, (sl_file_name){STAGE, window->path}, window->data, wanted, at,
                     error) < 0) {
        return NULL;
    }
    window->at = at;
    window->bytes = wanted;
    return window->data;
}
