/* SPDX-License-Identifier: Apache-2.0 */
#include "option_text.h"

#include "minmax.h"
#include "safe_text.h"

#include <stdbool.h>
#include <string.h>

enum { BEGIN = '\016', END = '\017', NAME_MAX_BYTES = 63 };

static const char letters[] = "abcdefghijklmnopqrstuvwxyz_0123456789 ";

/* Returns the length of the name marked at `text`; 0: none. */
static size_t marked_name(const char *text)
{
    const size_t bytes = strspn(text + 1, letters);
    return bytes > 0 && bytes <= NAME_MAX_BYTES && text[1 + bytes] == END ? bytes : 0;
}

/* Returns the next mark, or the end of the text. `*name` is the length of the marked name. */
static const char *option_text_find_mark(const char *text, size_t *name)
{
    *name = 0;
    while (*text != '\0') {
        *name = *text == BEGIN ? marked_name(text) : 0;
        if (*name > 0) {
            break;
        }
        text++;
    }
    return text;
}

/* Returns whether all of it fit. */
static bool option_text_add(sluice_error *error, const char *text, size_t bytes)
{
    const size_t at = strlen(error->text);
    return sl_safe_text(error->text + at, sizeof(error->text) - at, text, bytes) <
           sizeof(error->text) - at;
}

static void option_text_note(sluice_error *error, size_t at, size_t bytes)
{
    if (error->option_count < SLUICE_ERROR_OPTIONS_MAX) {
        error->option_at[error->option_count] = (uint16_t)at;
        error->option_bytes[error->option_count++] = (uint16_t)bytes;
    }
}

void sl_option_text_add(sluice_error *error, const char *marked)
{
    size_t name;
    bool fits = true;
    while (fits && *marked != '\0') {
        const char *mark = option_text_find_mark(marked, &name);
        fits = mark == marked || option_text_add(error, marked, (size_t)(mark - marked));
        marked = mark;
        if (fits && name > 0) {
            const size_t at = strlen(error->text);
            fits = option_text_add(error, mark + 1, name);
            if (fits) {
                option_text_note(error, at, name);
            }
            marked = mark + 1 + name + 1;
        }
    }
}

void sl_option_text_keep(sluice_error *error, size_t bytes)
{
    const size_t length = strlen(error->text);
    size_t end = sl_min_size(bytes, length);
    while (end > 0 && end < length && ((unsigned char)error->text[end] & 0xC0U) == 0x80U) {
        end--;
    }
    error->text[end] = '\0';
    while (error->option_count > 0 && error->option_at[error->option_count - 1] +
                                              error->option_bytes[error->option_count - 1] >
                                          (int)end) {
        error->option_count--;
    }
}

/* ---- other names ---- */

static bool option_text_is_whole(const sluice_error *error)
{
    return error->struct_size >= sizeof(*error) &&
           error->option_count <= SLUICE_ERROR_OPTIONS_MAX &&
           memchr(error->text, '\0', sizeof(error->text)) != NULL;
}

/* Returns the name of option `i`, which begins after byte `from`; NULL: the error is
 * inconsistent. */
static const char *option_text_name_of(const sluice_error *error, uint32_t i, size_t from,
                                       char name[NAME_MAX_BYTES + 1])
{
    const size_t at = error->option_at[i];
    const size_t bytes = error->option_bytes[i];
    if (at < from || bytes == 0 || bytes > NAME_MAX_BYTES || at + bytes > strlen(error->text)) {
        return NULL;
    }
    memcpy(name, error->text + at, bytes);
    name[bytes] = '\0';
    return name;
}

void sluice_error_respell(sluice_error *error, const char *(*spell)(void *user, const char *option),
                          void *user)
{
    if (error == NULL || spell == NULL || !option_text_is_whole(error)) {
        return;
    }
    sluice_error made = *error;
    size_t from = 0;
    made.text[0] = '\0';
    made.option_count = 0;
    for (uint32_t i = 0; i < error->option_count; i++) {
        char name[NAME_MAX_BYTES + 1];
        const char *option = option_text_name_of(error, i, from, name);
        if (option == NULL) {
            return;
        }
        const char *own = spell(user, option);
        own = own != NULL ? own : option;
        if (!option_text_add(&made, error->text + from, error->option_at[i] - from) ||
            !option_text_add(&made, own, strlen(own))) {
            from = strlen(error->text);
            break;
        }
        from = (size_t)error->option_at[i] + error->option_bytes[i];
    }
    (void)option_text_add(&made, error->text + from, strlen(error->text + from));
    *error = made;
}
