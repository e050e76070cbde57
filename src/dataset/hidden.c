/* SPDX-License-Identifier: Apache-2.0 */
#include "hidden.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

static const char *const system_names[] = {"__MACOSX",
                                           "__pycache__",
                                           "@eaDir",
                                           "@Recycle",
                                           "@Recently-Snapshot",
                                           "#recycle",
                                           "#snapshot",
                                           "$RECYCLE.BIN",
                                           "System Volume Information",
                                           "lost+found",
                                           "Thumbs.db",
                                           "ehthumbs.db",
                                           "desktop.ini",
                                           "Icon\r",
                                           "Network Trash Folder"};

bool sl_name_is_hidden(const char *name)
{
    if (name[0] == '.') {
        return true;
    }
    /* most names begin with none of these letters, and there may be a million */
    if (strchr("_@#$RrSslTtEeDdIiNn", name[0]) == NULL) {
        return false;
    }
    for (size_t i = 0; i < sizeof(system_names) / sizeof(system_names[0]); i++) {
        if (strcasecmp(system_names[i], name) == 0) {
            return true;
        }
    }
    return false;
}
