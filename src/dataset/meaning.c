/* SPDX-License-Identifier: Apache-2.0 */
/* meaning: compares, checks and describes the meanings of fields. */
#include "meaning.h"

#include "checksum.h"

#include <stdio.h>
#include <string.h>

#define STAGE "dataset"

static bool meaning_is_unset(const sl_meaning *meaning)
{
    return meaning->role == SLUICE_ROLE_NONE && !meaning->per_box;
}

bool sl_meaning_is_empty(const sl_meaning *meaning)
{
    return meaning_is_unset(meaning) && meaning->box_format == SLUICE_BOX_AUTO &&
           meaning->coordinates == SLUICE_COORDINATES_AUTO &&
           meaning->orientation == SLUICE_ORIENTATION_AUTO && meaning->of[0] == '\0';
}

bool sl_meaning_is_same(const sl_meaning *a, const sl_meaning *b)
{
    return a->role == b->role && a->box_format == b->box_format &&
           a->coordinates == b->coordinates && a->orientation == b->orientation &&
           a->per_box == b->per_box && strcmp(a->of, b->of) == 0;
}

/* ---- whether it can be ---- */

static const char *refuse_role(const sl_field *field)
{
    const bool tensor = field->type == SLUICE_FIELD_TENSOR;
    switch (field->meaning.role) {
    case SLUICE_ROLE_NONE:
        return NULL;
    case SLUICE_ROLE_BOXES:
        return tensor && field->dims == 2 && field->shape[1] == 4 && field->dtype != SLUICE_BOOL
                   ? NULL
                   : "boxes must be a tensor of numbers of shape [0, 4]";
    case SLUICE_ROLE_POINTS:
        return tensor && field->dims >= 2 && field->dtype != SLUICE_BOOL
                   ? NULL
                   : "points must be a tensor of numbers of at least 2 dimensions";
    case SLUICE_ROLE_SHAPES:
        return field->type == SLUICE_FIELD_TEXT ? NULL : "shapes must be a text";
    case SLUICE_ROLE_MASK:
        return tensor || sl_type_is_media(field->type) ? NULL
                                                       : "a mask must be an image or a tensor";
    case SLUICE_ROLE_WIDTH:
    case SLUICE_ROLE_HEIGHT:
        return field->type == SLUICE_FIELD_INT ? NULL : "a width or a height must be an int";
    }
    return "its role is not a sluice_role";
}

static bool meaning_has_way_up(const sl_field *field)
{
    const sluice_role role = field->meaning.role;
    return sl_type_is_media(field->type) || (role >= SLUICE_ROLE_BOXES && role <= SLUICE_ROLE_MASK);
}

static const char *refuse_members(const sl_field *field)
{
    const sl_meaning *meaning = &field->meaning;
    const sluice_role role = meaning->role;
    const bool places =
        role == SLUICE_ROLE_BOXES || role == SLUICE_ROLE_POINTS || role == SLUICE_ROLE_SHAPES;
    const bool single = sl_type_is_media(field->type) || field->type == SLUICE_FIELD_INT ||
                        field->type == SLUICE_FIELD_FLOAT;
    if (meaning->box_format != SLUICE_BOX_AUTO && role != SLUICE_ROLE_BOXES) {
        return "only fields with the role of boxes can have a box format";
    }
    if (meaning->coordinates != SLUICE_COORDINATES_AUTO && !places) {
        return "only fields with the role of boxes, points or shapes can have coordinates";
    }
    if (meaning->orientation != SLUICE_ORIENTATION_AUTO && !meaning_has_way_up(field)) {
        return "only images and fields with the role of boxes, points, shapes or a mask can have "
               "an orientation";
    }
    if (meaning->per_box && (single || role == SLUICE_ROLE_BOXES)) {
        return "a value per box must be a tensor, a text or bytes, and not boxes itself";
    }
    return NULL;
}

/* Returns whether another field's `of` can refer to `field`. */
static bool meaning_is_target(const sl_field *field, bool per_box)
{
    return per_box ? field->meaning.role == SLUICE_ROLE_BOXES
                   : sl_type_is_media(field->type) && field->meaning.role == SLUICE_ROLE_NONE;
}

const char *sl_meaning_target(const sl_field *fields, uint32_t count, uint32_t number)
{
    const sl_meaning *meaning = &fields[number].meaning;
    const char *only = "";
    uint32_t found = 0;
    for (uint32_t i = 0; i < count && !meaning_is_unset(meaning); i++) {
        const bool is = meaning_is_target(&fields[i], meaning->per_box);
        found += is ? 1 : 0;
        only = is && found == 1 ? fields[i].name : only;
    }
    return meaning->of[0] != '\0' ? meaning->of : found == 1 ? only : "";
}

static const char *refuse_target(const sl_field *fields, uint32_t count, uint32_t number)
{
    const sl_meaning *meaning = &fields[number].meaning;
    if (meaning->of[0] == '\0') {
        return NULL;
    }
    if (meaning_is_unset(meaning)) {
        return "only a field with a role, or with a value per box, can refer to another field";
    }
    for (uint32_t i = 0; i < count; i++) {
        if (i != number && strcmp(fields[i].name, meaning->of) == 0 &&
            meaning_is_target(&fields[i], meaning->per_box)) {
            return NULL;
        }
    }
    return meaning->per_box ? "`of` does not refer to a field of boxes"
                            : "`of` does not refer to an image";
}

const char *sl_meaning_refuse(const sl_field *fields, uint32_t count, uint32_t number)
{
    const char *why = refuse_role(&fields[number]);
    why = why == NULL ? refuse_members(&fields[number]) : why;
    return why == NULL ? refuse_target(fields, count, number) : why;
}

/* ---- whether it is enough ---- */

static uint32_t meaning_count_targets(const sl_field *fields, uint32_t count, bool per_box)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++) {
        found += meaning_is_target(&fields[i], per_box) ? 1 : 0;
    }
    return found;
}

static bool meaning_has_role(const sl_field *fields, uint32_t count, sluice_role role)
{
    bool found = false;
    for (uint32_t i = 0; i < count && !found; i++) {
        found = fields[i].meaning.role == role;
    }
    return found;
}

static const char *refuse_open(const sl_field *fields, uint32_t count, const sl_field *field)
{
    const sl_meaning *meaning = &field->meaning;
    const bool sizes = meaning_has_role(fields, count, SLUICE_ROLE_WIDTH) &&
                       meaning_has_role(fields, count, SLUICE_ROLE_HEIGHT);
    if (meaning->orientation == SLUICE_ORIENTATION_BY_SIZE && meaning->role != SLUICE_ROLE_MASK &&
        !sizes) {
        return "an orientation by size needs an int field with the role of a width and one with "
               "that of a height";
    }
    if (meaning_is_unset(meaning) || meaning->of[0] != '\0') {
        return NULL;
    }
    const uint32_t targets = meaning_count_targets(fields, count, meaning->per_box);
    if (meaning->per_box && targets == 0) {
        return "a value per box needs a field with the role of boxes";
    }
    return targets <= 1       ? NULL
           : meaning->per_box ? "there are several fields of boxes: set `of` to one of them"
                              : "there are several images: set `of` to one of them";
}

sluice_status sl_meanings_check(const sl_field *fields, uint32_t count, sluice_error *error)
{
    const char *why = NULL;
    uint32_t number = 0;
    for (uint32_t i = 0; why == NULL && i < count; i++) {
        number = i;
        why = sl_meaning_refuse(fields, count, i);
    }
    for (uint32_t i = 0; why == NULL && i < count; i++) {
        number = i;
        why = refuse_open(fields, count, &fields[i]);
    }
    return why == NULL ? SLUICE_OK
                       : sl_error_set(error, SLUICE_INVALID, STAGE, "field \"%.31s\": %s",
                                      fields[number].name, why);
}

void sl_meanings_keep(sl_field *fields, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        sl_meaning *meaning = &fields[i].meaning;
        const bool gone = meaning->of[0] != '\0' && refuse_target(fields, count, i) != NULL;
        const bool alone = meaning->per_box && meaning_count_targets(fields, count, true) == 0;
        meaning->per_box = meaning->per_box && !gone && !alone;
        if (gone) {
            meaning->of[0] = '\0';
        }
    }
}

uint64_t sl_meanings_sum(const sl_field *fields, uint32_t count)
{
    sl_checksum_stream stream;
    bool any = false;
    sl_checksum_begin(&stream);
    for (uint32_t i = 0; i < count; i++) {
        const sl_meaning *meaning = &fields[i].meaning;
        const uint64_t numbers = (uint64_t)meaning->role | (uint64_t)meaning->box_format << 8 |
                                 (uint64_t)meaning->coordinates << 16 |
                                 (uint64_t)meaning->orientation << 24 |
                                 (uint64_t)meaning->per_box << 32;
        any = any || !sl_meaning_is_empty(meaning);
        sl_checksum_add_u64(&stream, numbers);
        sl_checksum_add(&stream, meaning->of, strlen(meaning->of) + 1);
    }
    return any ? sl_checksum_value(&stream) : 0;
}

/* ---- in words ---- */

static void meaning_add(char *text, size_t bytes, const char *words)
{
    const size_t length = strlen(text);
    if (length + 1 < bytes && words[0] != '\0') {
        (void)snprintf(text + length, bytes - length, "%s%s", length > 0 ? ", " : "", words);
    }
}

static const char *words_of_role(const sl_field *field)
{
    static const char *const words[] = {"", "boxes", "points", "shapes", "mask", "width", "height"};
    return words[field->meaning.role];
}

/* Writes "xywh in pixels". */
static void add_places(const sl_meaning *meaning, char *text, size_t bytes)
{
    static const char *const formats[] = {"of unknown format", "xyxy", "xywh", "cxcywh"};
    static const char *const units[] = {"in unknown units", "relative", "in pixels",
                                        "in pixel numbers"};
    char words[64] = "";
    const bool boxes = meaning->role == SLUICE_ROLE_BOXES;
    const bool known = meaning->coordinates != SLUICE_COORDINATES_AUTO;
    if (boxes || meaning->role == SLUICE_ROLE_POINTS || known) {
        (void)snprintf(words, sizeof(words), "%s%s%s", boxes ? formats[meaning->box_format] : "",
                       boxes ? " " : "", units[meaning->coordinates]);
    }
    meaning_add(text, bytes, words);
}

static void add_way_up(const sl_field *field, char *text, size_t bytes)
{
    static const char *const images[] = {"", "annotated as stored", "annotated upright",
                                         "annotated as stored or upright, by width and height"};
    static const char *const others[] = {"", "of the stored image", "of the upright image",
                                         "of the stored or upright image, by width and height"};
    const sl_meaning *meaning = &field->meaning;
    const bool own =
        meaning->orientation == SLUICE_ORIENTATION_BY_SIZE && meaning->role == SLUICE_ROLE_MASK;
    if (own) {
        meaning_add(text, bytes, "of the stored or upright image, by its own size");
    } else {
        meaning_add(text, bytes,
                    (meaning->role == SLUICE_ROLE_NONE ? images : others)[meaning->orientation]);
    }
}

void sl_meaning_text(const sl_field *field, char *text, size_t bytes)
{
    const sl_meaning *meaning = &field->meaning;
    if (bytes == 0) {
        return;
    }
    text[0] = '\0';
    meaning_add(text, bytes, words_of_role(field));
    add_places(meaning, text, bytes);
    meaning_add(text, bytes, meaning->per_box ? "one per box" : "");
    add_way_up(field, text, bytes);
    if (meaning->of[0] != '\0') {
        char words[SL_FIELD_NAME_BYTES + 8];
        (void)snprintf(words, sizeof(words), "of \"%s\"", meaning->of);
        meaning_add(text, bytes, words);
    }
}
