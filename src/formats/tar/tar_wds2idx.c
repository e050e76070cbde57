/* SPDX-License-Identifier: Apache-2.0 */
#include "tar_wds2idx.h"

#include "index_text.h"
#include "member_fields.h"
#include "objects.h"
#include "store.h"
#include "tar_index.h"
#include "tar_walk.h"

#include <stdio.h>
#include <string.h>

/* Limit on the gap between two samples, where other files may be: every read includes the gap. */
#define GAP_MAX ((uint64_t)64 << 10)

/* ---- the text ---- */

/* Adds an extension to the words of the index, in lower case. */
static bool add_extension(sl_file_index *index, const char *word, size_t bytes, uint32_t *pictures)
{
    char name[SL_MEMBER_EXTENSION_BYTES + 2];
    sl_member_part part;
    const int length = snprintf(name, sizeof(name), "x.%.*s", (int)bytes, word);
    if (bytes == 0 || bytes >= SL_MEMBER_EXTENSION_BYTES || length < 0 ||
        sl_member_split(name, &part) != SL_MEMBER_NAME_GOOD) {
        return false;
    }
    *pictures += sl_member_is_picture(part.extension);
    return sl_file_index_name(index, part.extension) != SL_FIELD_NONE;
}

/* Reads a line. `*end`: the padded end of the previous sample, then the end of this one. */
static bool tar_wds2idx_read_sample(sl_file_index *index, sl_index_text *r, uint64_t *end)
{
    uint32_t files = 0;
    uint32_t pictures = 0;
    uint64_t last = *end;
    for (;;) {
        const char *word;
        uint64_t offset;
        uint64_t size;
        sl_index_text ahead = *r;
        const size_t bytes = sl_index_text_word(&ahead, &word);
        if (bytes == 0) {
            break;
        }
        *r = ahead;
        if (!add_extension(index, word, bytes, &pictures) || !sl_index_text_number(r, &offset) ||
            !sl_index_text_number(r, &size) || sl_index_text_word(r, &word) == 0) {
            return false;
        }
        /*
         * the gap must be a single header; a larger one may contain members that the index leaves
         * out, such as links, so the archive has to be walked
         */
        if (offset != sl_tar_padded(last) + SL_TAR_BLOCK || offset > index->file.bytes ||
            size > index->file.bytes - offset) {
            return false;
        }
        last = offset + size;
        files++;
    }
    const bool added = files > 0 && sl_file_index_add(index, *end, last - *end);
    index->facts |= pictures > 1 ? SL_MEMBER_TWO_PICTURES : 0;
    *end = sl_tar_padded(last);
    return added && sl_index_text_end_line(r);
}

bool sl_tar_wds2idx_parse(sl_file_index *index, const char *text, size_t bytes, uint64_t file_bytes)
{
    const char *word;
    uint64_t samples;
    uint64_t end = 0;
    sl_index_text r = {text, text + bytes};
    *index = (sl_file_index){.kind = SL_INDEX_TAR};
    index->file.bytes = file_bytes;
    const size_t version = sl_index_text_word(&r, &word);
    /* before 1.2 there are no names */
    bool good = version == 4 && memcmp(word, "v1.2", 4) == 0 &&
                sl_index_text_number(&r, &samples) && sl_index_text_end_line(&r);
    while (good && r.at < r.end) {
        good = tar_wds2idx_read_sample(index, &r, &end);
    }
    if (good && index->samples == samples && samples > 0) {
        return true;
    }
    sl_file_index_close(index);
    return false;
}

/* ---- the files ---- */

/* Writes NAME.idx; false: the path is not NAME.tar. */
static bool name_index(char *name, size_t bytes, const char *path)
{
    const size_t length = strlen(path);
    if (length >= bytes || !sl_ends_with(path, ".tar")) {
        return false;
    }
    (void)snprintf(name, bytes, "%.*s.idx", (int)(length - 4), path);
    return true;
}

/* Returns whether the archive ends after the last sample. */
static bool is_zero_behind(const sl_handle *file, const sl_file_index *index)
{
    uint8_t block[SL_TAR_BLOCK];
    const uint64_t last = index->samples - 1;
    const uint64_t end = sl_tar_padded(index->offsets[last] + index->bytes[last]);
    bool good = end + sizeof(block) <= index->file.bytes &&
                sl_handle_read(file, block, sizeof(block), end, NULL) >= 0;
    for (size_t i = 0; good && i < sizeof(block); i++) {
        good = block[i] == 0;
    }
    return good;
}

/* Returns whether headers exist where a few of the samples begin. */
static bool wds2idx_matches(const sl_file_index *index, const sl_open_file *file)
{
    bool good = is_zero_behind(&file->handle, index);
    for (uint64_t i = 0; good && i < 3; i++) {
        uint8_t block[SL_TAR_BLOCK];
        const uint64_t sample = (index->samples - 1) * i / 2;
        good = sl_handle_read(&file->handle, block, sizeof(block), index->offsets[sample], NULL) >=
                   0 &&
               sl_tar_is_header(block);
    }
    return good;
}

bool sl_tar_wds2idx_load(sl_file_index *index, const sl_open_file *file)
{
    static const sl_index_text_kind kind = {sl_tar_wds2idx_parse, wds2idx_matches};
    char name[SL_PATH_BYTES];
    return name_index(name, sizeof(name), file->handle.name.path) &&
           sl_index_text_load(index, file, name, &kind);
}
