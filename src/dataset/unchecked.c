/* SPDX-License-Identifier: Apache-2.0 */
#include "unchecked.h"

#include <stdbool.h>
#include <string.h>

#define BETWEEN "; "
#define MORE    "..."

enum { BETWEEN_BYTES = sizeof(BETWEEN) - 1, MORE_BYTES = sizeof(MORE) - 1 };

/* Returns the end of the phrase that begins at `at`. */
static const char *unchecked_end_of(const char *at)
{
    const char *end = strstr(at, BETWEEN);
    return end != NULL ? end : at + strlen(at);
}

/* Returns the next phrase; NULL: none. */
static const char *next_of(const char *end)
{
    return *end != '\0' ? end + BETWEEN_BYTES : NULL;
}

static bool unchecked_has(const char *text, const char *phrase, size_t bytes)
{
    for (const char *at = text; at != NULL; at = next_of(unchecked_end_of(at))) {
        if ((size_t)(unchecked_end_of(at) - at) == bytes && memcmp(at, phrase, bytes) == 0) {
            return true;
        }
    }
    return false;
}

static void unchecked_append(char *text, const char *phrase, size_t bytes)
{
    size_t length = strlen(text);
    if (length > 0) {
        memcpy(text + length, BETWEEN, BETWEEN_BYTES);
        length += BETWEEN_BYTES;
    }
    memcpy(text + length, phrase, bytes);
    text[length + bytes] = '\0';
}

static void unchecked_add(sl_unchecked *unchecked, const char *phrase, size_t bytes)
{
    /* leaves space after each phrase to note that there are more */
    const size_t capacity = sizeof(unchecked->text) - 1 - BETWEEN_BYTES - MORE_BYTES;
    char *text = unchecked->text;
    if (bytes == 0 || unchecked_has(text, phrase, bytes) || unchecked_has(text, MORE, MORE_BYTES)) {
        return;
    }
    if (bytes + BETWEEN_BYTES <= capacity && strlen(text) <= capacity - bytes - BETWEEN_BYTES) {
        unchecked_append(text, phrase, bytes);
    } else {
        unchecked_append(text, MORE, MORE_BYTES);
    }
}

void sl_unchecked_add(sl_unchecked *unchecked, const char *phrase)
{
    unchecked_add(unchecked, phrase, strlen(phrase));
}

void sl_unchecked_join(sl_unchecked *unchecked, const sl_unchecked *other)
{
    for (const char *at = other->text; at != NULL; at = next_of(unchecked_end_of(at))) {
        unchecked_add(unchecked, at, (size_t)(unchecked_end_of(at) - at));
    }
}
