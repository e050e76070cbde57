/* SPDX-License-Identifier: Apache-2.0 */
/* joined_fields: finds what several datasets have in common. */
#include "error.h"
#include "joined.h"
#include "meaning.h"
#include "name_list.h"
#include "names.h"

#include <stdio.h>
#include <string.h>

#define STAGE "dataset"
#define CHOOSE                                                 \
    "name the fields common to all of them (" SL_OPTION(       \
        "option fields of joining") "), or choose and rename " \
                                    "fields when it is opened"

static const char *type_name(sluice_field_type type)
{
    static const char *const names[] = {"?",     "an image", "an integer", "a float",
                                        "bytes", "text",     "a tensor"};
    return names[type];
}

static sluice_status refuse_missing(uint32_t part, const char *name, uint32_t other,
                                    sluice_error *error)
{
    return sl_error_set(error, SLUICE_INVALID, STAGE,
                        "dataset %u has no field \"%s\", but dataset %u has: " CHOOSE, part + 1,
                        name, other + 1);
}

/* Explains why fields with the same name differ. */
static sluice_status refuse_type(uint32_t part, const sl_field *own, const sl_field *first,
                                 sluice_error *error)
{
    if (own->type != first->type) {
        return sl_error_set(error, SLUICE_INVALID, STAGE,
                            "field \"%s\" is %s in dataset %u and %s in dataset 1: " CHOOSE,
                            own->name, type_name(own->type), part + 1, type_name(first->type));
    }
    if (own->dtype != first->dtype) {
        return sl_error_set(error, SLUICE_INVALID, STAGE,
                            "field \"%s\" is a tensor %s in dataset %u and %s in dataset "
                            "1: " CHOOSE,
                            own->name, sl_dtype_name((int32_t)own->dtype), part + 1,
                            sl_dtype_name((int32_t)first->dtype));
    }
    return sl_error_set(error, SLUICE_INVALID, STAGE,
                        "field \"%s\" has %u dimensions in dataset %u and %u in dataset 1: " CHOOSE,
                        own->name, own->dims, part + 1, first->dims);
}

/* Widens a field so that it covers both. */
static void joined_fields_widen(sl_field *field, const sl_field *other)
{
    for (uint32_t i = 0; i < field->dims; i++) {
        field->shape[i] = field->shape[i] == other->shape[i] ? field->shape[i] : 0;
    }
    if (field->compression != other->compression) {
        field->compression = SLUICE_COMPRESSION_AUTO;
    }
}

/* ---- what they mean ---- */

/* Returns a field's meaning, with the name of the field that it refers to. */
static sl_meaning whole_meaning(const sl_dataset *part, uint32_t field)
{
    sl_meaning meaning = part->fields[field].meaning;
    const char *of = sl_meaning_target(part->fields, part->info.fields, field);
    (void)snprintf(meaning.of, sizeof(meaning.of), "%s", of);
    return meaning;
}

static bool is_annotation(const sl_meaning *meaning)
{
    return meaning->role >= SLUICE_ROLE_BOXES && meaning->role <= SLUICE_ROLE_MASK;
}

/* How fields of the same name in two datasets can be joined. */
typedef enum sl_joint {
    JOINT_NONE,  /* not at all */
    JOINT_PLAIN, /* only if no annotations are kept: the images were annotated in different
                    orientations */
    JOINT_WHOLE
} sl_joint;

static sl_joint compare_meanings(const sl_meaning *a, const sl_meaning *b)
{
    const bool plain =
        a->role == SLUICE_ROLE_NONE && b->role == SLUICE_ROLE_NONE && a->per_box == b->per_box;
    return sl_meaning_is_same(a, b) ? JOINT_WHOLE : plain ? JOINT_PLAIN : JOINT_NONE;
}

static bool joined_fields_have_type(const sl_field *a, const sl_field *b)
{
    return a->type == b->type &&
           (a->type != SLUICE_FIELD_TENSOR || (a->dtype == b->dtype && a->dims == b->dims));
}

static sl_joint find_joint(const sl_dataset *part, const sl_dataset *first, uint32_t field)
{
    const uint32_t own = sl_dataset_field(part, first->fields[field].name);
    if (own == SL_FIELD_NONE ||
        !joined_fields_have_type(&part->fields[own], &first->fields[field])) {
        return JOINT_NONE;
    }
    const sl_meaning a = whole_meaning(part, own);
    const sl_meaning b = whole_meaning(first, field);
    return compare_meanings(&a, &b);
}

/* Lists the fields that can be joined together; returns their number. */
static uint32_t list_joint(const sl_dataset *part, const sl_dataset *first, sl_name_list *list)
{
    uint32_t count = 0;
    bool whole = true;
    sl_name_list_begin(list);
    for (uint32_t i = 0; i < first->info.fields; i++) {
        whole = whole && find_joint(part, first, i) != JOINT_PLAIN;
    }
    for (uint32_t i = 0; i < first->info.fields; i++) {
        const sl_field *field = &first->fields[i];
        if (find_joint(part, first, i) != JOINT_NONE &&
            (whole || !is_annotation(&field->meaning))) {
            sl_name_list_add(list, field->name);
            count++;
        }
    }
    return count;
}

static sluice_status refuse_meaning(sl_dataset *const *parts, uint32_t number, uint32_t field,
                                    sluice_error *error)
{
    char words[2][160];
    char advice[512] = "no field has the same meaning in both";
    sl_name_list joint;
    const sl_field *first = &parts[0]->fields[field];
    const uint32_t own = sl_dataset_field(parts[number], first->name);
    sl_meaning_text(&parts[number]->fields[own], words[0], sizeof(words[0]));
    sl_meaning_text(first, words[1], sizeof(words[1]));
    if (list_joint(parts[number], parts[0], &joint) > 0) {
        (void)snprintf(advice, sizeof(advice),
                       "name only fields that can be joined (" SL_OPTION(
                           "option fields of joining") "), which are %s",
                       joint.text);
    }
    return sl_error_set(error, SLUICE_INVALID, STAGE,
                        "field \"%s\" means \"%s\" in dataset %u and \"%s\" in dataset 1: %s; or "
                        "rewrite one of them with the meaning of the other",
                        first->name, words[0][0] != '\0' ? words[0] : "not known", number + 1,
                        words[1][0] != '\0' ? words[1] : "not known", advice);
}

/*
 * Returns whether there are annotations; only then does the orientation in which an image was
 * annotated matter.
 */
static bool is_annotated(const sl_field *fields, uint32_t count)
{
    bool found = false;
    for (uint32_t i = 0; i < count && !found; i++) {
        found = is_annotation(&fields[i].meaning);
    }
    return found;
}

/*
 * Checks that the fields have the same meaning in a part and in the first one. An unknown meaning
 * differs from any known one. Exception: for images without annotations that differ in orientation,
 * the orientation becomes unknown.
 */
static sluice_status agree_on_meaning(sl_field *fields, uint32_t count, sl_dataset *const *parts,
                                      uint32_t number, sluice_error *error)
{
    const bool annotated = is_annotated(fields, count);
    uint32_t turned = SL_FIELD_NONE;
    if (parts[number]->fields == parts[0]->fields) {
        return SLUICE_OK; /* subsets of one dataset; there may be thousands */
    }
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t own = sl_dataset_field(parts[number], fields[i].name);
        const uint32_t other = sl_dataset_field(parts[0], fields[i].name);
        const sl_meaning a = whole_meaning(parts[number], own);
        const sl_meaning b = whole_meaning(parts[0], other);
        const sl_joint joint = compare_meanings(&a, &b);
        if (joint == JOINT_NONE) {
            return refuse_meaning(parts, number, other, error);
        }
        if (joint == JOINT_PLAIN && annotated && turned == SL_FIELD_NONE) {
            turned = other; /* annotations may differ too, which is a better error */
        }
        if (a.orientation != b.orientation) {
            fields[i].meaning.orientation = SLUICE_ORIENTATION_AUTO;
        }
    }
    return turned == SL_FIELD_NONE ? SLUICE_OK : refuse_meaning(parts, number, turned, error);
}

static bool joined_fields_has_role(const sl_field *fields, uint32_t count, sluice_role role)
{
    bool found = false;
    for (uint32_t i = 0; i < count && !found; i++) {
        found = fields[i].meaning.role == role;
    }
    return found;
}

/*
 * Drops meanings that no longer hold for the kept fields. Annotations need the size fields that
 * determine their image's orientation; an image without annotations does not.
 */
static sluice_status joined_fields_settle(sl_field *fields, uint32_t count, sluice_error *error)
{
    const bool annotated = is_annotated(fields, count);
    const bool sized = joined_fields_has_role(fields, count, SLUICE_ROLE_WIDTH) &&
                       joined_fields_has_role(fields, count, SLUICE_ROLE_HEIGHT);
    for (uint32_t i = 0; i < count; i++) {
        sl_meaning *meaning = &fields[i].meaning;
        if (meaning->orientation != SLUICE_ORIENTATION_BY_SIZE || sized ||
            meaning->role == SLUICE_ROLE_MASK) {
            continue;
        }
        if (!annotated) {
            meaning->orientation = SLUICE_ORIENTATION_AUTO;
        } else {
            return sl_error_set(
                error, SLUICE_INVALID, STAGE,
                "field \"%s\" needs the width and height fields of its image, which determine the "
                "orientation in which it was annotated: name them too",
                fields[i].name);
        }
    }
    sl_meanings_keep(fields, count);
    return SLUICE_OK;
}

/* ---- types ---- */

static sluice_status agree(sl_field *field, const sl_dataset *part, uint32_t number,
                           sluice_error *error)
{
    const uint32_t found = sl_dataset_field(part, field->name);
    if (found == SL_FIELD_NONE) {
        return refuse_missing(number, field->name, 0, error);
    }
    const sl_field *own = &part->fields[found];
    const bool tensor = own->type == SLUICE_FIELD_TENSOR;
    if (own->type != field->type ||
        (tensor && (own->dtype != field->dtype || own->dims != field->dims))) {
        return refuse_type(number, own, field, error);
    }
    if (tensor) {
        joined_fields_widen(field, own);
    } else if (own->compression != field->compression) {
        field->compression = SLUICE_COMPRESSION_AUTO;
    }
    return SLUICE_OK;
}

/* Takes the requested fields, as the first part has them. */
static sluice_status take_named(sl_field *fields, uint32_t *count, const sl_dataset *first,
                                sl_field_names names, sluice_error *error)
{
    *count = 0;
    for (uint32_t i = 0; i < names.count; i++) {
        const uint32_t found = sl_dataset_field(first, names.names[i]);
        for (uint32_t k = 0; k < *count; k++) {
            if (strcmp(fields[k].name, names.names[i]) == 0) {
                return sl_error_set(error, SLUICE_INVALID, STAGE,
                                    "field \"%.64s\" is requested twice", names.names[i]);
            }
        }
        if (found == SL_FIELD_NONE) {
            sl_name_list known;
            return sl_error_set(
                error, SLUICE_INVALID, STAGE, "dataset 1 has no field \"%.64s\": its fields are %s",
                names.names[i], sl_name_list_fields(&known, first->fields, first->info.fields));
        }
        fields[(*count)++] = first->fields[found];
    }
    return SLUICE_OK;
}

/* Rejects further fields of a part, since none may be left out silently. */
static sluice_status refuse_more(const sl_dataset *part, uint32_t number, const sl_field *fields,
                                 uint32_t count, sluice_error *error)
{
    for (uint32_t i = 0; i < part->info.fields; i++) {
        bool known = false;
        for (uint32_t k = 0; k < count && !known; k++) {
            known = strcmp(part->fields[i].name, fields[k].name) == 0;
        }
        if (!known) {
            return refuse_missing(0, part->fields[i].name, number, error);
        }
    }
    return SLUICE_OK;
}

sluice_status sl_joined_fields(sl_field *fields, uint32_t *field_count, sl_dataset *const *parts,
                               uint32_t count, sl_field_names names, sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    if (names.names != NULL) {
        status = take_named(fields, field_count, parts[0], names, error);
    } else {
        *field_count = parts[0]->info.fields;
        memcpy(fields, parts[0]->fields, *field_count * sizeof(*fields));
    }
    for (uint32_t i = 1; status == SLUICE_OK && i < count; i++) {
        for (uint32_t k = 0; status == SLUICE_OK && k < *field_count; k++) {
            status = agree(&fields[k], parts[i], i, error);
        }
        if (status == SLUICE_OK) {
            status = agree_on_meaning(fields, *field_count, parts, i, error);
        }
        if (status == SLUICE_OK && names.names == NULL) {
            status = refuse_more(parts[i], i, fields, *field_count, error);
        }
    }
    const bool differs = count > 1 || names.names != NULL;
    return status == SLUICE_OK && differs ? joined_fields_settle(fields, *field_count, error)
                                          : status;
}

static bool is_same_name(const char *a, const char *b)
{
    return (a == NULL && b == NULL) || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static sluice_status compare_classes(const sl_dataset *part, uint32_t number,
                                     const sl_dataset *first, uint32_t first_number,
                                     sluice_error *error)
{
    const uint32_t classes =
        part->info.classes < first->info.classes ? part->info.classes : first->info.classes;
    for (uint32_t i = 0; i < classes; i++) {
        const char *name = sl_dataset_class_name(part, i);
        const char *other = sl_dataset_class_name(first, i);
        if (!is_same_name(name, other)) {
            return sl_error_set(
                error, SLUICE_INVALID, STAGE,
                "class %u is named \"%.64s\" in dataset %u and \"%.64s\" in dataset %u: a label "
                "must mean the same in all (" SL_OPTION("labels") " joins classes by their names)",
                i, name != NULL ? name : "", number + 1, other != NULL ? other : "",
                first_number + 1);
        }
    }
    if (part->info.classes != first->info.classes) {
        return sl_error_set(
            error, SLUICE_INVALID, STAGE,
            "dataset %u has %u classes and dataset %u has %u: a label must mean "
            "the same in all (" SL_OPTION("allow_empty_classes") " keeps empty ones, " SL_OPTION(
                "labels") " joins classes by their names)",
            number + 1, part->info.classes, first_number + 1, first->info.classes);
    }
    return SLUICE_OK;
}

sluice_status sl_joined_classes(sl_dataset *const *parts, uint32_t count, sluice_error *error)
{
    uint32_t first = count;
    sluice_status status = SLUICE_OK;
    for (uint32_t i = 0; status == SLUICE_OK && i < count; i++) {
        if (parts[i]->info.classes == 0) {
            continue;
        }
        first = first < count ? first : i;
        /* subsets of one dataset share theirs; there may be thousands */
        if (!sl_share_classes(parts[i], parts[first])) {
            status = compare_classes(parts[i], i, parts[first], first, error);
        }
    }
    return status;
}

sluice_status sl_joined_no_label(const sl_dataset *joined, sl_dataset *const *parts, uint32_t count,
                                 const sl_class_request *labels, sluice_error *error)
{
    if (labels != NULL && (labels->classes != NULL || labels->rename_count > 0)) {
        return sl_error_set(error, SLUICE_INVALID, STAGE,
                            "no labels to renumber: there is no integer field \"label\"");
    }
    if (sl_joined_has_class_lists(joined) && sl_joined_classes(parts, count, error) < 0) {
        return sl_error_set(error, SLUICE_INVALID, STAGE,
                            "the classes differ, and they belong to \"labels\" (several per "
                            "sample), which cannot be renumbered: only the integer field \"label\" "
                            "can. Rewrite one of the datasets with the classes of the other");
    }
    return SLUICE_OK;
}

bool sl_joined_has_class_lists(const sl_dataset *joined)
{
    const uint32_t lists = sl_dataset_field(joined, "labels");
    return lists != SL_FIELD_NONE && joined->fields[lists].type == SLUICE_FIELD_TENSOR;
}
