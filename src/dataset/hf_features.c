/* SPDX-License-Identifier: Apache-2.0 */
#include "hf_features.h"

void sl_features_parse(sl_features *features, sl_bytes text)
{
    features->root = sl_json_parse(text);
    const json_t *info = sl_json_member(features->root, "info");
    features->columns = sl_json_member(info != NULL ? info : features->root, "features");
}

void sl_features_close(sl_features *features)
{
    json_decref(features->root);
    *features = (sl_features){NULL, NULL};
}

static bool hf_features_is_list(const json_t *feature)
{
    const char *type = sl_json_text(feature, "_type");
    return json_is_array(feature) ||
           (type != NULL && (strcmp(type, "Sequence") == 0 || strcmp(type, "List") == 0 ||
                             strcmp(type, "LargeList") == 0));
}

static const char *type_of(const json_t *feature)
{
    return hf_features_is_list(feature) ? "List" : sl_json_text(feature, "_type");
}

const char *sl_features_type(const sl_features *features, const char *column)
{
    return type_of(sl_json_member(features->columns, column));
}

const char *sl_features_item_type(const sl_features *features, const char *column)
{
    const json_t *feature = sl_json_member(features->columns, column);
    return type_of(json_is_array(feature) ? json_array_get(feature, 0)
                                          : sl_json_member(feature, "feature"));
}

uint32_t sl_features_shape(const sl_features *features, const char *column, uint64_t *shape)
{
    const json_t *feature = sl_json_member(features->columns, column);
    const json_t *given = sl_json_member(feature, "shape");
    const char *type = sl_json_text(feature, "_type");
    const size_t dims = json_array_size(given);
    if (type == NULL || strncmp(type, "Array", 5) != 0 || dims > SLUICE_TENSOR_DIMS_MAX) {
        return 0;
    }
    for (size_t i = 0; i < dims; i++) {
        const json_t *length = json_array_get(given, i);
        const json_int_t elements = json_is_integer(length) ? json_integer_value(length) : 0;
        if (elements < 0 || (elements == 0 && !json_is_null(length))) {
            return 0;
        }
        shape[i] = (uint64_t)elements;
    }
    return (uint32_t)dims;
}

/* Returns the feature inside a list, or inside a list of lists. */
static const json_t *item_of(const json_t *feature)
{
    while (hf_features_is_list(feature)) {
        feature = json_is_array(feature) ? json_array_get(feature, 0)
                                         : sl_json_member(feature, "feature");
    }
    return feature;
}

/* Returns the feature of "objects.category": of the member, or inside its list. */
static const json_t *feature_at(const sl_features *features, const char *column)
{
    char name[256];
    const json_t *feature = sl_json_member(features->columns, column);
    const json_t *at = features->columns;
    while (feature == NULL && at != NULL) {
        const size_t bytes = strcspn(column, ".");
        if (bytes >= sizeof(name)) {
            return NULL;
        }
        memcpy(name, column, bytes);
        name[bytes] = '\0';
        at = sl_json_member(item_of(at), name);
        if (column[bytes] == '\0') {
            break;
        }
        column += bytes + 1;
    }
    return item_of(feature != NULL ? feature : at);
}

static const json_t *names_of(const sl_features *features, const char *column)
{
    const json_t *feature = feature_at(features, column);
    const char *type = sl_json_text(feature, "_type");
    return type != NULL && strcmp(type, "ClassLabel") == 0 ? sl_json_member(feature, "names")
                                                           : NULL;
}

uint32_t sl_features_classes(const sl_features *features, const char *column)
{
    const size_t count = json_array_size(names_of(features, column));
    return count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
}

const char *sl_features_class_name(const sl_features *features, const char *column, int64_t label)
{
    const json_t *names = names_of(features, column);
    return label >= 0 && (uint64_t)label < json_array_size(names)
               ? json_string_value(json_array_get(names, (size_t)label))
               : NULL;
}
