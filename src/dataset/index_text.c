/* SPDX-License-Identifier: Apache-2.0 */
#include "index_text.h"

#include "memory.h"
#include "store.h"

/*
 * Limits of an index's text: bytes per byte of its file, and an additional constant. Also: number
 * of lines to check.
 */
enum { TEXT_A_BYTE = 16, TEXT_BESIDES = 64 << 10 };

size_t sl_index_text_word(sl_index_text *text, const char **word)
{
    while (text->at < text->end && *text->at == ' ') {
        text->at++;
    }
    *word = text->at;
    while (text->at < text->end && *text->at != ' ' && *text->at != '\n') {
        text->at++;
    }
    return (size_t)(text->at - *word);
}

bool sl_index_text_number(sl_index_text *text, uint64_t *number)
{
    const char *word;
    const size_t bytes = sl_index_text_word(text, &word);
    *number = 0;
    for (size_t i = 0; i < bytes; i++) {
        if (word[i] < '0' || word[i] > '9' || *number > (uint64_t)INT64_MAX / 10 - 1) {
            return false;
        }
        *number = *number * 10 + (uint64_t)(word[i] - '0');
    }
    return bytes > 0;
}

bool sl_index_text_end_line(sl_index_text *text)
{
    while (text->at < text->end && *text->at == ' ') {
        text->at++;
    }
    if (text->at < text->end && *text->at == '\n') {
        text->at++;
        return true;
    }
    return text->at == text->end;
}

static bool read_and_parse(sl_file_index *index, const char *name, uint64_t file_bytes,
                           const sl_index_text_kind *kind)
{
    uint8_t *text;
    size_t bytes;
    const uint64_t most =
        file_bytes < (UINT64_MAX >> 8) ? file_bytes * TEXT_A_BYTE + TEXT_BESIDES : UINT64_MAX;
    if (sl_store_read_whole((sl_file_name){"dataset", name}, most, &text, &bytes, NULL) < 0) {
        return false;
    }
    const bool good = kind->parse(index, (const char *)text, bytes, file_bytes);
    sl_free(text);
    return good;
}

bool sl_index_text_load(sl_file_index *index, const sl_open_file *file, const char *name,
                        const sl_index_text_kind *kind)
{
    sl_store_facts own;
    if (sl_store_stat(name, &own) != 0 || own.identity.modified_ns < file->identity.modified_ns ||
        !read_and_parse(index, name, file->identity.bytes, kind)) {
        return false;
    }
    index->file = file->identity;
    if (!kind->matches(index, file)) {
        sl_file_index_close(index);
        return false;
    }
    return true;
}
