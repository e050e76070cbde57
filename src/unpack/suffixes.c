/* SPDX-License-Identifier: Apache-2.0 */
/*
 * suffixes: chooses the file suffix of each field. Made once, then pure. No two fields have the
 * same suffix.
 */
#include "suffixes.h"

#include "media.h"
#include "member_names.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Extension for images of an unknown kind (members.c). */
#define UNKNOWN_PICTURE "img"

enum {
    EXTENSIONS_MAX = 31, /* number of image extensions (media.h), and UNKNOWN_PICTURE */
    EXTENSION_ROOM = 5,  /* ".jpeg" */
    TAKEN_MAX = SL_FIELDS_MAX * (EXTENSIONS_MAX + 1)
};

/* Suffixes in use, ignoring case. */
typedef struct taken {
    char of[TAKEN_MAX][SL_SUFFIX_BYTES];
    uint32_t count;
} taken;

static bool suffixes_is_taken(const taken *all, const char *suffix)
{
    for (uint32_t i = 0; i < all->count; i++) {
        if (strcasecmp(all->of[i], suffix) == 0) {
            return true;
        }
    }
    return false;
}

static void suffixes_take(taken *all, const char *suffix)
{
    assert(all->count < TAKEN_MAX);
    (void)snprintf(all->of[all->count++], SL_SUFFIX_BYTES, "%s", suffix);
}

/*
 * Keeps letters, digits and a few other characters; in lower case for tars, whose readers ignore
 * case.
 */
static void clean(const char *name, sluice_unpack_form form, char *to)
{
    const size_t bytes = strlen(name);
    for (size_t i = 0; i <= bytes; i++) {
        const char letter = name[i];
        const bool upper = letter >= 'A' && letter <= 'Z';
        const bool good = upper || (letter >= 'a' && letter <= 'z') ||
                          (letter >= '0' && letter <= '9') || letter == '\0' ||
                          strchr("_-+=@", letter) != NULL ||
                          (letter == '.' && i > 0 && i + 1 < bytes);
        to[i] = (char)(good ? letter : '_');
        to[i] = (char)(upper && form == SLUICE_UNPACK_TAR ? letter - 'A' + 'a' : to[i]);
    }
}

/* Returns the part after the last dot, or the whole name. */
static const char *suffixes_last_part(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot != NULL ? dot + 1 : name;
}

/* Returns the extension for a field type, if the name does not have one. */
static const char *suffixes_extension_of(const sl_field *field, sluice_unpack_form form)
{
    switch (field->type) {
    case SLUICE_FIELD_INT:
        return form == SLUICE_UNPACK_TAR ? "cls" : "txt";
    case SLUICE_FIELD_FLOAT:
        return form == SLUICE_UNPACK_TAR ? "json" : "txt";
    case SLUICE_FIELD_TEXT:
        return "txt";
    case SLUICE_FIELD_TENSOR:
        return "npy";
    default:
        return "bin";
    }
}

/* Returns whether the name alone gives away the field's type. */
static bool says_it(const sl_field *field, const char *name)
{
    static const char *const meant[] = {"image", "label", "key"}; /* defined by their names */
    for (size_t i = 0; i < sizeof(meant) / sizeof(meant[0]); i++) {
        if (strcmp(name, meant[i]) == 0) {
            return false;
        }
    }
    switch (field->type) {
    case SLUICE_FIELD_FLOAT:
        return false;
    case SLUICE_FIELD_TENSOR:
        return strcmp(suffixes_last_part(name), "npy") == 0;
    default:
        return sl_member_type(name) == field->type;
    }
}

/* Composes the suffix of a field other than an image; `number` above 1: an alternative. */
static void suffixes_compose(const sl_field *field, sluice_unpack_form form, uint32_t number,
                             char *suffix)
{
    char name[SL_FIELD_NAME_BYTES];
    char tail[16] = "";
    const char *extension = suffixes_extension_of(field, form);
    clean(field->name, form, name);
    if (number > 1) {
        (void)snprintf(tail, sizeof(tail), "-%u", number);
    }
    if (form == SLUICE_UNPACK_TAR && field->type == SLUICE_FIELD_INT &&
        strcmp(field->name, "label") == 0 && number == 1) {
        (void)snprintf(suffix, SL_SUFFIX_BYTES, "cls");
        return;
    }
    if (number == 1 && says_it(field, name) &&
        (form == SLUICE_UNPACK_TAR || field->type != SLUICE_FIELD_INT)) {
        (void)snprintf(suffix, SL_SUFFIX_BYTES, "%s", name);
        return;
    }
    const size_t capacity = SL_SUFFIX_BYTES - 1 - 1 - strlen(extension) - strlen(tail);
    (void)snprintf(suffix, SL_SUFFIX_BYTES, "%.*s%s.%s", (int)capacity, name, tail, extension);
}

static void compose_picture(const sl_field *field, sluice_unpack_form form, uint32_t number,
                            char *suffix)
{
    char name[SL_FIELD_NAME_BYTES];
    char tail[16] = "";
    clean(field->name, form, name);
    if (number > 1) {
        (void)snprintf(tail, sizeof(tail), "-%u", number);
    }
    const size_t capacity = SL_SUFFIX_BYTES - 1 - EXTENSION_ROOM - strlen(tail);
    (void)snprintf(suffix, SL_SUFFIX_BYTES, "%.*s%s", (int)capacity, name, tail);
}

/* Adds all suffixes that the files of an image field can have. */
static bool add_picture(const sl_suffixes *suffixes, uint32_t field, taken *all, bool look)
{
    char suffix[SL_SUFFIX_BYTES];
    bool free = true;
    bool last = false;
    for (uint32_t i = 0; !last; i++) {
        const char *extension = sl_media_extension(i, SL_MEDIA_PICTURE);
        last = extension == NULL;
        sl_suffix_of_picture(suffixes, field, last ? UNKNOWN_PICTURE : extension, suffix);
        if (look) {
            free = free && !suffixes_is_taken(all, suffix);
        } else {
            suffixes_take(all, suffix);
        }
    }
    return free;
}

static void suffixes_give(sl_suffixes *suffixes, const sl_dataset *dataset, sluice_unpack_form form,
                          uint32_t number, taken *all)
{
    const sl_field *field = &dataset->fields[number];
    char *suffix = suffixes->of[number];
    bool free = false;
    for (uint32_t attempt = 1; !free; attempt++) {
        if (sl_type_is_media(field->type)) {
            compose_picture(field, form, attempt, suffix);
            free = add_picture(suffixes, number, all, true);
        } else {
            suffixes_compose(field, form, attempt, suffix);
            free = !suffixes_is_taken(all, suffix);
        }
    }
    if (sl_type_is_media(field->type)) {
        (void)add_picture(suffixes, number, all, false);
    } else {
        suffixes_take(all, suffix);
    }
}

uint32_t sl_suffixes_find_picture(const sl_dataset *dataset, sluice_unpack_form form)
{
    const uint32_t image = sl_dataset_field(dataset, "image");
    if (image != SL_FIELD_NONE && sl_type_is_media(dataset->fields[image].type)) {
        return image;
    }
    for (uint32_t i = 0; form == SLUICE_UNPACK_FOLDER && i < dataset->info.fields; i++) {
        if (sl_type_is_media(dataset->fields[i].type)) {
            return i;
        }
    }
    return SL_FIELD_NONE;
}

static bool is_left_out(const sl_field *field, bool class_folders)
{
    return (strcmp(field->name, "key") == 0 && field->type == SLUICE_FIELD_TEXT) ||
           (class_folders && strcmp(field->name, "label") == 0 && field->type == SLUICE_FIELD_INT);
}

static void suffixes_add_field(sl_suffixes *suffixes, const sl_dataset *dataset,
                               sluice_unpack_form form, uint32_t number, taken *all)
{
    if (number != suffixes->picture && (suffixes->left_out >> number & 1) == 0) {
        suffixes_give(suffixes, dataset, form, number, all);
        suffixes->others = true;
    }
}

void sl_suffixes_make(sl_suffixes *suffixes, const sl_dataset *dataset, sluice_unpack_form form,
                      bool class_folders)
{
    taken all = {.count = 0};
    memset(suffixes, 0, sizeof(*suffixes));
    suffixes->picture = sl_suffixes_find_picture(dataset, form);
    if (suffixes->picture != SL_FIELD_NONE) {
        (void)add_picture(suffixes, suffixes->picture, &all, false);
    }
    const uint32_t label = sl_dataset_field(dataset, "label");
    for (uint32_t i = 0; i < dataset->info.fields; i++) {
        suffixes->left_out |= (uint64_t)is_left_out(&dataset->fields[i], class_folders) << i;
    }
    if (label != SL_FIELD_NONE) { /* before a "cls" that is not a label */
        suffixes_add_field(suffixes, dataset, form, label, &all);
    }
    for (uint32_t i = 0; i < dataset->info.fields; i++) {
        if (i != label) {
            suffixes_add_field(suffixes, dataset, form, i, &all);
        }
    }
}

/* Returns whether the end of a name already is the extension of these bytes. */
static bool suffixes_fits(const char *name, const char *extension)
{
    const char *end = suffixes_last_part(name);
    const sl_media *kind = sl_media_of_extension(end);
    return strcasecmp(end, extension) == 0 ||
           (kind != NULL && kind == sl_media_of_extension(extension));
}

void sl_suffix_of_picture(const sl_suffixes *suffixes, uint32_t field, const char *extension,
                          char suffix[SL_SUFFIX_BYTES])
{
    const char *name = suffixes->of[field];
    if (*name == '\0') {
        (void)snprintf(suffix, SL_SUFFIX_BYTES, "%s", extension);
    } else if (suffixes_fits(name, extension)) {
        (void)snprintf(suffix, SL_SUFFIX_BYTES, "%s", name);
    } else {
        (void)snprintf(suffix, SL_SUFFIX_BYTES, "%s.%s", name, extension);
    }
}
