/* SPDX-License-Identifier: Apache-2.0 */
#include "json_file.h"

#include "error.h"
#include "file.h"
#include "memory.h"

#define STAGE "dataset"

enum { FLAGS = JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL };

static sluice_status refuse(const char *path, const json_error_t *why, sluice_error *error)
{
    if (json_error_code(why) == json_error_out_of_memory) {
        return sl_error_file(error, SLUICE_NOMEM, STAGE, 0, path, -1, "no memory for its JSON");
    }
    return sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, path, why->position,
                         "it is no JSON, line %d: %s", why->line, why->text);
}

sluice_status sl_json_load(json_t **root, const char *path, sluice_error *error)
{
    uint8_t *text;
    size_t bytes;
    json_error_t why;
    *root = NULL;
    const sluice_status status = sl_file_read_whole((sl_file_name){STAGE, path},
                                                    SL_JSON_TREE_BYTES_MAX, &text, &bytes, error);
    if (status < 0) {
        return status;
    }
    *root = json_loadb((const char *)text, bytes, FLAGS, &why);
    sl_free(text);
    return *root != NULL ? SLUICE_OK : refuse(path, &why, error);
}

json_t *sl_json_parse(sl_bytes text)
{
    json_error_t why;
    return sl_json_parse_why(text, &why);
}

json_t *sl_json_parse_why(sl_bytes text, json_error_t *why)
{
    return json_loadb((const char *)text.data, text.size, FLAGS, why);
}

const json_t *sl_json_member(const json_t *object, const char *key)
{
    const json_t *member = json_object_get(object, key);
    return json_is_null(member) ? NULL : member;
}

const char *sl_json_text(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

bool sl_json_count(const json_t *object, const char *key, uint64_t *count)
{
    const json_t *member = json_object_get(object, key);
    *count = json_is_integer(member) ? (uint64_t)json_integer_value(member) : UINT64_MAX;
    return *count <= INT64_MAX;
}
