/* SPDX-License-Identifier: Apache-2.0 */
#include "pack_note.h"

#include "checksum.h"
#include "error.h"
#include "memory.h"
#include "shard_format.h"
#include "store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STAGE      "dataset"
#define FILE_BYTES 1024u /* more than a pack writes */
#define PATH_BYTES 4096

/* Returns the number after "NAME="; 0: none. */
static uint64_t pack_note_number_of(const char *line, const char *name)
{
    const char *found = strstr(line, name);
    return found != NULL ? strtoull(found + strlen(name), NULL, 10) : 0;
}

static void pack_note_describe(const char *line, char note[SL_PACK_NOTE_BYTES])
{
    const uint64_t side = pack_note_number_of(line, "\tmax_side=");
    const uint64_t share = pack_note_number_of(line, "\traw_share="); /* in units of 10^-18 */
    int length = 0;
    if (side > 0) {
        length = snprintf(note, SL_PACK_NOTE_BYTES, ", images at most %u pixels (JPEG quality %u)",
                          (unsigned)side, (unsigned)pack_note_number_of(line, "\tquality="));
    }
    if (share > 0 && length >= 0) {
        (void)snprintf(note + length, SL_PACK_NOTE_BYTES - (size_t)length, ", %.4g %% as pixels",
                       (double)share / 1e16);
    }
}

void sl_pack_note(const char *folder, uint64_t pack_id, char note[SL_PACK_NOTE_BYTES])
{
    char path[PATH_BYTES];
    char line[FILE_BYTES + 1];
    uint8_t *data = NULL;
    size_t bytes = 0;
    note[0] = '\0';
    const int length = snprintf(path, sizeof(path), "%s/" SL_OPTIONS_NAME, folder);
    if (length < 0 || length >= PATH_BYTES ||
        sl_store_read_whole((sl_file_name){STAGE, path}, FILE_BYTES, &data, &bytes, NULL) < 0) {
        return;
    }
    memcpy(line, data, bytes);
    line[bytes] = '\0';
    sl_free(data);
    line[strcspn(line, "\n")] = '\0';
    if (sl_checksum(line, strlen(line)) == pack_id) {
        pack_note_describe(line, note);
    }
}
