/* SPDX-License-Identifier: Apache-2.0 */
#include "look.h"

static void look_read_head(sl_look *look, const sl_handle *from)
{
    const size_t bytes = look->bytes < SL_LOOK_BYTES ? (size_t)look->bytes : SL_LOOK_BYTES;
    if (bytes > 0 && sl_handle_read(from, look->head, bytes, 0, NULL) == SLUICE_OK) {
        look->head_bytes = bytes;
        look->head[bytes] = '\0';
    }
}

static void look_take(sl_look *look)
{
    sl_handle from;
    sl_store_facts facts = {.kind = SL_ENTRY_UNKNOWN};
    const sl_open_how how = {.direct = false};
    if (look->taken) {
        return;
    }
    look->taken = true;
    int failed = sl_handle_open_how(&from, look->path, &how, &facts);
    const bool open = failed == 0;
    /* An open file or folder comes with its facts, unless its store refuses to open it. */
    if (facts.kind == SL_ENTRY_UNKNOWN && !sl_store_is_missing(failed)) {
        failed = sl_store_stat(look->path, &facts);
    }
    if (facts.kind == SL_ENTRY_UNKNOWN) {
        look->sys_errno = -failed;
        return;
    }
    look->kind = facts.kind;
    if (look->kind == SL_ENTRY_FILE) {
        look->bytes = facts.identity.bytes;
    }
    if (open) {
        look_read_head(look, &from);
    }
    if (open && look->keeps != NULL) {
        *look->keeps = (sl_open_file){from, facts.identity};
    } else if (open) {
        sl_handle_close(&from);
    }
}

void sl_look_begin(sl_look *look, const char *path)
{
    look->path = path;
    look->keeps = NULL;
    look->taken = false;
    look->kind = SL_ENTRY_UNKNOWN;
    look->sys_errno = 0;
    look->bytes = 0;
    look->head_bytes = 0;
    look->head[0] = '\0';
}

void sl_look_keep_open(sl_look *look, sl_open_file *file)
{
    look->keeps = file;
}

void sl_look_begin_folder(sl_look *look, const char *path)
{
    sl_look_begin(look, path);
    look->taken = true;
    look->kind = SL_ENTRY_FOLDER;
}

sl_entry_kind sl_look_kind(sl_look *look)
{
    look_take(look);
    return look->kind;
}

int sl_look_errno(sl_look *look)
{
    look_take(look);
    return look->sys_errno;
}

uint64_t sl_look_bytes(sl_look *look)
{
    look_take(look);
    return look->bytes;
}

sl_bytes sl_look_head(sl_look *look, size_t most)
{
    look_take(look);
    return (sl_bytes){look->head, look->head_bytes < most ? look->head_bytes : most};
}

const char *sl_look_text(sl_look *look)
{
    look_take(look);
    return (const char *)look->head;
}
