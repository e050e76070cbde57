/* SPDX-License-Identifier: Apache-2.0 */
#include "json_file.h"

#include "error.h"
#include "memory.h"
#include "minmax.h"
#include "stop.h"
#include "store.h"

#include <string.h>

#define STAGE "dataset"

enum { FLAGS = JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL };

/*
 * Memory used by jansson 2.14 with glibc's malloc: array or object with its first table, member
 * with its table entry, array element, text, number. Tables double when they grow.
 */
enum {
    ARRAY_BYTES = 136,
    OBJECT_BYTES = 240,
    MEMBER_BYTES = 112,
    ELEMENT_BYTES = 24,
    TEXT_BYTES = 80,
    NUMBER_BYTES = 32,
    /* size of a text whose tree need not be measured; extra memory for reading one */
    SMALL_BYTES = 4096,
    /* size of a text that takes long to parse */
    LARGE_BYTES = 1 << 20
};

/*
 * Returns the offset behind a text's closing quote, or the end; `at` is behind the opening quote.
 */
static size_t skip_text(sl_bytes text, size_t at)
{
    while (at < text.size && text.data[at] != '"') {
        at += text.data[at] == '\\' ? 2 : 1;
    }
    return at < text.size ? at + 1 : text.size;
}

uint64_t sl_json_tree_bytes(sl_bytes text)
{
    uint64_t bytes = 0;
    size_t longest = 0;
    bool in_number = false;
    for (size_t at = 0; at < text.size;) {
        const uint8_t byte = text.data[at++];
        const bool is_number = (byte >= '0' && byte <= '9') || byte == '-';
        bytes += is_number && !in_number ? NUMBER_BYTES : 0;
        in_number = is_number || (in_number && strchr("+.eE", byte) != NULL && byte != 0);
        if (byte == '"') {
            const size_t end = skip_text(text, at);
            bytes += TEXT_BYTES + (end - at);
            longest = end - at > longest ? end - at : longest;
            at = end;
        }
        bytes += byte == '[' ? ARRAY_BYTES : byte == '{' ? OBJECT_BYTES : 0;
        bytes += byte == ':' ? MEMBER_BYTES : byte == ',' ? ELEMENT_BYTES : 0;
    }
    /* a text is read into a buffer that doubles */
    return SMALL_BYTES + bytes + 3 * (uint64_t)longest;
}

/* A text that is being parsed. */
typedef struct parsed {
    sl_bytes left;
} parsed;

/* Gives the next bytes to jansson; none if the thread is to stop, which ends the text there. */
static size_t json_file_give(void *buffer, size_t capacity, void *user)
{
    parsed *p = user;
    const size_t bytes = sl_stop_requested() ? 0 : sl_min_size(capacity, p->left.size);
    if (bytes > 0) {
        memcpy(buffer, p->left.data, bytes);
        p->left = (sl_bytes){p->left.data + bytes, p->left.size - bytes};
    }
    return bytes;
}

static json_t *json_file_parse_all(sl_bytes text, size_t flags, json_error_t *why)
{
    parsed p = {text};
    return sl_stop_of_thread() != NULL && text.size > LARGE_BYTES
               ? json_load_callback(json_file_give, &p, flags, why)
               : json_loadb((const char *)text.data, text.size, flags, why);
}

static json_t *json_file_parse(sl_bytes text, size_t flags, json_error_t *why)
{
    if (text.size > SMALL_BYTES && sl_memory_limit_of_thread() != NULL &&
        !sl_memory_has_space(sl_json_tree_bytes(text))) {
        *why = (json_error_t){.position = -1};
        why->text[sizeof(why->text) - 1] =
            json_error_out_of_memory; /* where json_error_code reads it */
        return NULL;
    }
    return json_file_parse_all(text, flags, why);
}

static sluice_status json_file_refuse(const char *path, const json_error_t *why,
                                      sluice_error *error)
{
    if (json_error_code(why) == json_error_out_of_memory) {
        return sl_no_memory_file(error, STAGE, path, "for its JSON");
    }
    return sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, path, why->position,
                         "not valid JSON, line %d: %s", why->line, why->text);
}

sluice_status sl_json_load(sl_json_tree *tree, const char *path, sluice_error *error)
{
    uint8_t *text;
    size_t bytes;
    json_error_t why;
    *tree = (sl_json_tree){NULL, 0};
    const sluice_status status = sl_store_read_whole((sl_file_name){STAGE, path},
                                                     SL_JSON_TREE_BYTES_MAX, &text, &bytes, error);
    if (status < 0) {
        return status;
    }
    const uint64_t claimed = sl_json_tree_bytes((sl_bytes){text, bytes});
    if (!sl_memory_claim(claimed)) {
        sl_free(text);
        return sl_error_file(error, SLUICE_NOMEM, STAGE, 0, path, -1,
                             "out of memory for its JSON, which needs %llu MiB",
                             (unsigned long long)(claimed >> 20));
    }
    json_t *root = json_file_parse_all((sl_bytes){text, bytes}, FLAGS, &why);
    sl_free(text);
    if (root == NULL) {
        sl_memory_give_back(claimed);
        if (sl_stop_requested()) {
            return sl_stop_check(STAGE, error);
        }
        return json_file_refuse(path, &why, error);
    }
    *tree = (sl_json_tree){root, claimed};
    return SLUICE_OK;
}

void sl_json_drop(sl_json_tree *tree)
{
    if (tree->root != NULL) {
        json_decref(tree->root);
        sl_memory_give_back(tree->claimed);
        *tree = (sl_json_tree){NULL, 0};
    }
}

json_t *sl_json_parse(sl_bytes text)
{
    json_error_t why;
    return sl_json_parse_why(text, &why);
}

json_t *sl_json_parse_why(sl_bytes text, json_error_t *why)
{
    return json_file_parse(text, FLAGS, why);
}

json_t *sl_json_parse_any(sl_bytes text, json_error_t *why)
{
    return json_file_parse(text, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, why);
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
