/* SPDX-License-Identifier: Apache-2.0 */
#include "text_file.h"

#include "error.h"
#include "foreign.h"
#include "memory.h"

#include <string.h>

#define STAGE "dataset"

size_t sl_text_mark(const void *head, size_t bytes)
{
    return bytes >= 3 && memcmp(head, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

const char *sl_text_encoding(const void *head, size_t bytes)
{
    const uint8_t *at = head;
    if (bytes < 2) {
        return NULL;
    }
    const bool low = at[0] == 0xff && at[1] == 0xfe;
    const bool high = at[0] == 0xfe && at[1] == 0xff;
    if (bytes >= 4 && ((at[0] == 0 && at[1] == 0 && at[2] == 0xfe && at[3] == 0xff) ||
                       (low && at[2] == 0 && at[3] == 0))) {
        return "UTF-32";
    }
    if (low || high) {
        return "UTF-16";
    }
    if (bytes < 4) {
        return NULL;
    }
    /* one wide ASCII letter, or two */
    if (at[1] == 0 && at[2] == 0 && (at[0] == 0) != (at[3] == 0)) {
        return "UTF-32";
    }
    return (at[0] != 0 && at[1] == 0 && at[2] != 0 && at[3] == 0) ||
                   (at[0] == 0 && at[1] != 0 && at[2] == 0 && at[3] != 0)
               ? "UTF-16"
               : NULL;
}

sluice_status sl_text_refuse_encoding(const char *stage, const char *path, const char *encoding,
                                      sluice_error *error)
{
    return sl_error_file(error, SLUICE_UNSUPPORTED, stage, 0, path, 0,
                         "encoding %s: save the file as UTF-8", encoding);
}

const char *sl_text_take(sl_bytes *text)
{
    const size_t mark = sl_text_mark(text->data, text->size);
    const char *encoding = sl_text_encoding(text->data, text->size);
    if (encoding != NULL) {
        return strcmp(encoding, "UTF-16") == 0 ? "the text is in UTF-16: save it as UTF-8"
                                               : "the text is in UTF-32: save it as UTF-8";
    }
    *text = (sl_bytes){text->data + mark, text->size - mark};
    return sl_foreign_pointer(text->data, text->size);
}

/* Converts the text of `bytes` to UTF-8 in place. */
static size_t text_narrow(char *head, size_t bytes)
{
    const size_t mark = sl_text_mark(head, bytes);
    const bool is_wide = sl_text_encoding(head, bytes) != NULL;
    size_t count = 0;
    for (size_t i = mark; i < bytes; i++) {
        const uint8_t byte = (uint8_t)head[i];
        const bool is_mark = i < 4 && (byte == 0xff || byte == 0xfe);
        if (!is_wide || (byte != 0 && !is_mark)) {
            head[count++] = head[i];
        }
    }
    head[count] = '\0';
    return count;
}

size_t sl_text_look(const char *path, char *head, size_t most)
{
    return text_narrow(head, sl_store_look(path, head, most));
}

size_t sl_text_of_look(sl_look *look, char *head, size_t most)
{
    const sl_bytes bytes = sl_look_head(look, most);
    memcpy(head, bytes.data, bytes.size);
    return text_narrow(head, bytes.size);
}

sluice_status sl_text_file_read(sl_text_file *file, const char *path, uint64_t most,
                                sluice_error *error)
{
    uint8_t *data;
    size_t size;
    const sluice_status status =
        sl_store_read_whole((sl_file_name){STAGE, path}, most, &data, &size, error);
    if (status < 0) {
        return status;
    }
    char *text = sl_realloc_array(data, size + 1, 1);
    if (text == NULL) {
        sl_free(data);
        return sl_no_memory_file(error, STAGE, path, "for its lines");
    }
    text[size] = '\0';
    const size_t mark = sl_text_mark(text, size);
    const char *encoding = sl_text_encoding(text, size);
    const char *nul = memchr(text, 0, size);
    *file = (sl_text_file){.data = text, .text = text + mark, .size = size - mark};
    if (encoding != NULL) {
        return sl_text_refuse_encoding(STAGE, path, encoding, error);
    }
    const char *foreign = sl_foreign_kind((const uint8_t *)file->text, file->size);
    if (foreign != NULL) {
        return sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, path, 0, "the file is %s", foreign);
    }
    return nul == NULL ? SLUICE_OK
                       : sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, path, (int64_t)(nul - text),
                                       "not a text: it contains NUL");
}

void sl_text_file_close(sl_text_file *file)
{
    sl_free(file->data);
    *file = (sl_text_file){.data = NULL};
}
