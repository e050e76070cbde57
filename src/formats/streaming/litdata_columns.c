/* SPDX-License-Identifier: Apache-2.0 */
/*
 * litdata_columns: pairs the leaves of data_spec with the serializers of data_format. Pure.
 *
 * The tree is untrusted, and its depth limited.
 */
#include "litdata_columns.h"

#include "error.h"

#include <stdio.h>
#include <string.h>

/* ---- serializers ---- */

static const char pickled[] = "pickled objects, which are never loaded: choose the other fields, "
                              "or write the leaf as a number, text or a tensor";

static const struct {
    const char *name;
    sl_sized_kind kind;
    sluice_field_type type;
    sluice_dtype dtype;
    sl_array_head head;
    const char *refused;
} serializers[] = {
    {.name = "int", .kind = SL_SIZED_NUMBER, .type = SLUICE_FIELD_INT, .dtype = SLUICE_I64},
    {.name = "float", .kind = SL_SIZED_NUMBER, .type = SLUICE_FIELD_FLOAT, .dtype = SLUICE_F64},
    {.name = "bool", .kind = SL_SIZED_NUMBER, .type = SLUICE_FIELD_INT, .dtype = SLUICE_BOOL},
    {.name = "str", .type = SLUICE_FIELD_TEXT},
    {.name = "text", .type = SLUICE_FIELD_TEXT},
    {.name = "bytes", .type = SLUICE_FIELD_BYTES},
    {.name = "jpeg", .type = SLUICE_FIELD_IMAGE},
    {.name = "image", .type = SLUICE_FIELD_IMAGE},
    {.name = "pil", .kind = SL_SIZED_PIXELS, .type = SLUICE_FIELD_IMAGE},
    {.name = "tensor", .kind = SL_SIZED_ARRAY, .head = SL_ARRAY_TORCH},
    {.name = "numpy", .kind = SL_SIZED_ARRAY, .head = SL_ARRAY_NUMPY},
    {.name = "file", .type = SLUICE_FIELD_BYTES},
    {.name = "video", .type = SLUICE_FIELD_BYTES},
    {.name = "audio", .type = SLUICE_FIELD_BYTES},
    {.name = "tifffile", .type = SLUICE_FIELD_BYTES},
    {.name = "tiff", .type = SLUICE_FIELD_BYTES},
    {.name = "tif", .type = SLUICE_FIELD_BYTES},
    {.name = "nifti", .type = SLUICE_FIELD_BYTES},
    {.name = "mesh", .type = SLUICE_FIELD_BYTES},
    {.name = "pdf", .type = SLUICE_FIELD_BYTES},
    {.name = "pickle", .refused = pickled},
    {.name = "graph", .refused = pickled},
    {.name = "jpeg_array",
     .refused = "lists of images, which are not supported: choose the other fields, or write each "
                "image as its own leaf"},
};

static bool take_serializer(const char *name, size_t bytes, sl_sized_column *column,
                            sl_source_column *source)
{
    for (size_t i = 0; i < sizeof(serializers) / sizeof(serializers[0]); i++) {
        if (strlen(serializers[i].name) == bytes && memcmp(serializers[i].name, name, bytes) == 0) {
            column->kind = serializers[i].kind;
            column->dtype = serializers[i].dtype;
            column->head = serializers[i].head;
            source->field.type = serializers[i].type;
            source->refused = serializers[i].refused;
            return true;
        }
    }
    return false;
}

/* Parses "no_header_tensor:NUMBER": elements of a dtype, with one dimension. */
static bool litdata_columns_take_elements(const char *format, sl_source_column *source)
{
    static const char tensor[] = "no_header_tensor:";
    static const char numpy[] = "no_header_numpy:";
    const bool torch = strncmp(format, tensor, sizeof(tensor) - 1) == 0;
    if (!torch && strncmp(format, numpy, sizeof(numpy) - 1) != 0) {
        return false;
    }
    const char *digits = format + (torch ? sizeof(tensor) : sizeof(numpy)) - 1;
    uint64_t number = *digits >= '0' && *digits <= '9' ? 0 : UINT64_MAX;
    for (; number < 1000 && *digits != '\0'; digits++) {
        number =
            *digits >= '0' && *digits <= '9' ? number * 10 + (uint64_t)(*digits - '0') : UINT64_MAX;
    }
    source->field.type = SLUICE_FIELD_TENSOR;
    source->field.dims = 1;
    if (!(torch ? sl_array_torch_dtype(number, &source->field.dtype)
                : sl_array_numpy_dtype(number, &source->field.dtype))) {
        source->refused = "elements of an unsupported dtype: choose the other fields";
    }
    return true;
}

/*
 * Parses the name of a serializer, or "NAME:WHAT", where a serializer WHAT takes precedence, as in
 * LitData.
 */
static void take_format(const char *format, sl_sized_column *column, sl_source_column *source)
{
    const char *colon = strchr(format, ':');
    const size_t bytes = colon != NULL ? (size_t)(colon - format) : strlen(format);
    source->field.compression = SLUICE_COMPRESSION_NEVER;
    if (litdata_columns_take_elements(format, source) ||
        (colon != NULL && take_serializer(colon + 1, strlen(colon + 1), column, source)) ||
        take_serializer(format, bytes, column, source)) {
        return;
    }
    source->refused = "unknown serializer: choose the other fields";
}

/* ---- names ---- */

enum { DEPTH_MAX = 32 };

/* State of walking the tree to name the leaves. */
typedef struct names {
    const sl_index_json *index;
    sl_sized_columns *columns;
    uint32_t leaves; /* number of leaves named so far */
    char path[SL_SOURCE_NAME_BYTES];
    sluice_error *error;
} names;

static sluice_status litdata_columns_refuse(const sl_index_json *index, const char *why,
                                            sluice_error *error)
{
    return sl_index_json_refuse(index, SLUICE_CORRUPT, -1, why, error);
}

static bool is_dict(const char *type)
{
    static const char *const dicts[] = {"builtins.dict", "collections.OrderedDict",
                                        "collections.defaultdict"};
    for (size_t i = 0; i < sizeof(dicts) / sizeof(dicts[0]); i++) {
        if (strcmp(type, dicts[i]) == 0) {
            return true;
        }
    }
    return false;
}

/*
 * Returns the keys of a dict as a list, which the caller releases; they are in a text or in an
 * object. NULL: none.
 */
static json_t *find_keys(const json_t *node)
{
    const char *type = sl_json_text(node, "type");
    const char *text = sl_json_text(node, "context");
    if (type == NULL || !is_dict(type)) {
        return NULL;
    }
    json_t *context = text != NULL ? sl_json_parse((sl_bytes){(const uint8_t *)text, strlen(text)})
                                   : json_incref(json_object_get(node, "context"));
    json_t *keys = json_is_object(context) ? json_object_get(context, "dict_context") : context;
    json_incref(keys);
    json_decref(context);
    return keys;
}

/* Appends a part to a path of `at` bytes. False: too long. */
static bool litdata_columns_append(names *n, size_t at, const json_t *key, size_t number)
{
    const char *dot = at > 0 ? "." : "";
    const size_t capacity = sizeof(n->path) - at;
    int length;
    if (json_is_string(key)) {
        length = snprintf(n->path + at, capacity, "%s%s", dot, json_string_value(key));
    } else if (json_is_integer(key)) {
        length =
            snprintf(n->path + at, capacity, "%s%lld", dot, (long long)json_integer_value(key));
    } else {
        length = snprintf(n->path + at, capacity, "%s%zu", dot, number);
    }
    return length >= 0 && (size_t)length < capacity;
}

static sluice_status name_leaf(names *n, size_t at)
{
    if (n->leaves == n->columns->count) {
        return litdata_columns_refuse(
            n->index, "its data_spec has more leaves than its data_format", n->error);
    }
    sl_source_column *source = &n->columns->sources[n->leaves++];
    if (at == 0) {
        (void)snprintf(n->path, sizeof(n->path), "0");
    }
    memcpy(source->name, n->path, sizeof(n->path));
    return SLUICE_OK;
}

/* NOLINTNEXTLINE(misc-no-recursion): at most DEPTH_MAX deep */
static sluice_status litdata_columns_walk(names *n, const json_t *node, unsigned depth)
{
    const size_t at = strlen(n->path);
    const json_t *children = sl_json_member(node, "children_spec");
    if (!json_is_object(node) || !json_is_array(children) || depth > DEPTH_MAX) {
        return litdata_columns_refuse(n->index, "its data_spec is not a tree of at most 32 levels",
                                      n->error);
    }
    if (sl_json_member(node, "type") == NULL) {
        return name_leaf(n, at);
    }
    sluice_status status = SLUICE_OK;
    json_t *keys = find_keys(node);
    for (size_t i = 0; status == SLUICE_OK && i < json_array_size(children); i++) {
        if (!litdata_columns_append(n, at, json_array_get(keys, i), i)) {
            status = sl_index_json_refuse(n->index, SLUICE_UNSUPPORTED, -1,
                                          "the name of a leaf has more than 255 bytes", n->error);
        } else {
            status = litdata_columns_walk(n, json_array_get(children, i), depth + 1);
        }
        n->path[at] = '\0';
    }
    json_decref(keys);
    return status;
}

static sluice_status name_all(const sl_index_json *index, sl_sized_columns *columns,
                              const json_t *config, sluice_error *error)
{
    names n = {.index = index, .columns = columns, .error = error};
    const char *text = sl_json_text(config, "data_spec");
    json_t *spec =
        text != NULL ? sl_json_parse((sl_bytes){(const uint8_t *)text, strlen(text)}) : NULL;
    const json_t *root = json_array_get(spec, 1); /* after a version */
    sluice_status status = root != NULL ? litdata_columns_walk(&n, root, 0) : SLUICE_OK;
    if (status == SLUICE_OK && root != NULL && n.leaves != columns->count) {
        status = litdata_columns_refuse(
            index, "its data_spec has fewer leaves than its data_format", error);
    }
    json_decref(spec);
    for (uint32_t i = 0; root == NULL && i < columns->count; i++) {
        (void)snprintf(columns->sources[i].name, sizeof(columns->sources[i].name), "%u", i);
    }
    return status;
}

sluice_status sl_litdata_columns(const sl_index_json *index, sl_sized_columns *columns,
                                 sluice_error *error)
{
    const json_t *config = sl_json_member(index->tree.root, "config");
    const json_t *formats = sl_json_member(config, "data_format");
    const size_t count = json_array_size(formats);
    sluice_status status = SLUICE_OK;
    if (count == 0) {
        return litdata_columns_refuse(index, "config.data_format is missing or not valid", error);
    }
    for (size_t i = 0; status == SLUICE_OK && i < count; i++) {
        const char *format = json_string_value(json_array_get(formats, i));
        if (format == NULL) {
            return litdata_columns_refuse(index, "config.data_format is missing or not valid",
                                          error);
        }
        status = sl_sized_columns_add(columns, index->path, error);
        if (status == SLUICE_OK) {
            take_format(format, &columns->of[columns->count - 1],
                        &columns->sources[columns->count - 1]);
        }
    }
    return status == SLUICE_OK ? name_all(index, columns, config, error) : status;
}
