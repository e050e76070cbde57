/* SPDX-License-Identifier: Apache-2.0 */
#include "member_names.h"

#include "media.h"

#include <string.h>

/* Returns whether the text from `name` to `end` is like "__meta__". */
static bool member_names_is_meta(const char *name, const char *end)
{
    return end - name >= 4 && memcmp(name, "__", 2) == 0 && memcmp(end - 2, "__", 2) == 0;
}

bool sl_member_is_meta(const char *name)
{
    for (;;) {
        const char *slash = strchr(name, '/');
        const char *end = slash != NULL ? slash : name + strlen(name);
        if (member_names_is_meta(name, end)) {
            return true;
        }
        if (slash == NULL) {
            return false;
        }
        name = slash + 1;
    }
}

sl_member_name sl_member_split(const char *name, sl_member_part *part)
{
    const char *slash = strrchr(name, '/');
    const char *last = slash != NULL ? slash + 1 : name;
    const char *dot = strchr(last, '.');
    if (dot == NULL || dot == last || sl_member_is_meta(name)) {
        return SL_MEMBER_NAME_NONE;
    }
    const size_t bytes = strlen(dot + 1);
    if (bytes >= sizeof(part->extension)) {
        return SL_MEMBER_NAME_LONG;
    }
    part->key_bytes = (size_t)(dot - name);
    for (size_t i = 0; i <= bytes; i++) {
        const char letter = dot[1 + i];
        part->extension[i] = (char)(letter >= 'A' && letter <= 'Z' ? letter - 'A' + 'a' : letter);
    }
    return bytes > 0 ? SL_MEMBER_NAME_GOOD : SL_MEMBER_NAME_NONE;
}

/*
 * WebDataset's decoders use the last part of an extension (webdataset/autodecode.py). Images are
 * those of the media table.
 */
static const struct {
    const char *extension;
    sluice_field_type type;
} types[] = {
    {"cls", SLUICE_FIELD_INT},         {"cls2", SLUICE_FIELD_INT},     {"class", SLUICE_FIELD_INT},
    {"count", SLUICE_FIELD_INT},       {"index", SLUICE_FIELD_INT},    {"inx", SLUICE_FIELD_INT},
    {"id", SLUICE_FIELD_INT},          {"txt", SLUICE_FIELD_TEXT},     {"text", SLUICE_FIELD_TEXT},
    {"transcript", SLUICE_FIELD_TEXT}, {"caption", SLUICE_FIELD_TEXT}, {"json", SLUICE_FIELD_TEXT},
    {"jsn", SLUICE_FIELD_TEXT},
};

sluice_field_type sl_member_type(const char *extension)
{
    const char *dot = strrchr(extension, '.');
    const char *last = dot != NULL ? dot + 1 : extension;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (strcmp(types[i].extension, last) == 0) {
            return types[i].type;
        }
    }
    const sl_media *kind = sl_media_of_extension(last);
    return kind != NULL && (kind->traits & SL_MEDIA_IN_ARCHIVES) != 0 ? SLUICE_FIELD_IMAGE
                                                                      : SLUICE_FIELD_BYTES;
}

bool sl_member_is_picture(const char *extension)
{
    return strchr(extension, '.') == NULL && sl_member_type(extension) == SLUICE_FIELD_IMAGE;
}
