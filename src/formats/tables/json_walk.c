/* SPDX-License-Identifier: Apache-2.0 */
#include "json_walk.h"

#include "error.h"
#include "file.h"
#include "memory.h"

#include <limits.h>
#include <string.h>

#define STAGE "dataset"

_Static_assert(SL_JSON_BYTES_MAX <= INT_MAX, "jansson's positions are ints");

typedef struct walk {
    const char *path;
    const sl_json_visitor *visitor;
    uint8_t *text;
    size_t size, at;
    sluice_error *error;
} walk;

sluice_status sl_json_refuse(const sl_json_element *element, const char *why, sluice_error *error)
{
    return sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, element->path, element->offset,
                         "element %llu of \"%s\": %s", (unsigned long long)element->number,
                         element->list, why);
}

static sluice_status refuse(const walk *w, const char *why)
{
    return sl_error_file(w->error, SLUICE_CORRUPT, STAGE, 0, w->path, (int64_t)w->at,
                         "it is no JSON: %s", why);
}

static bool is_blank(uint8_t byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

/* The next byte that is no blank, which stays; 0: the end. */
static uint8_t peek(walk *w)
{
    while (w->at < w->size && is_blank(w->text[w->at])) {
        w->at++;
    }
    return w->at < w->size ? w->text[w->at] : 0;
}

static bool skip(walk *w, char sign)
{
    const bool found = peek(w) == (uint8_t)sign;
    w->at += found;
    return found;
}

static sluice_status take_value(walk *w, json_t **value)
{
    json_error_t why;
    const size_t flags = JSON_REJECT_DUPLICATES | JSON_DECODE_ANY;
    (void)peek(w);
    *value = json_loadb((const char *)w->text + w->at, w->size - w->at,
                        flags | JSON_DISABLE_EOF_CHECK, &why);
    if (*value == NULL && json_error_code(&why) == json_error_out_of_memory) {
        return sl_error_file(w->error, SLUICE_NOMEM, STAGE, 0, w->path, -1,
                             "no memory for its JSON");
    }
    w->at += (size_t)why.position;
    return *value != NULL ? SLUICE_OK : refuse(w, why.text);
}

static sluice_status take_list(walk *w, uint32_t list)
{
    sl_json_element element = {.path = w->path, .list = w->visitor->lists[list]};
    if (!skip(w, '[')) {
        return refuse(w, "one of its lists is none");
    }
    if (skip(w, ']')) {
        return SLUICE_OK;
    }
    do {
        (void)peek(w);
        element.offset = (int64_t)w->at;
        sluice_status status = take_value(w, &element.value);
        if (status == SLUICE_OK) {
            status = w->visitor->visit(w->visitor->ctx, list, &element, w->error);
            json_decref(element.value);
        }
        if (status < 0) {
            return status;
        }
        element.number++;
    } while (skip(w, ','));
    return skip(w, ']') ? SLUICE_OK : refuse(w, "a list has no end");
}

/* NULL behind the last one. */
static uint32_t find_list(const walk *w, const char *name)
{
    uint32_t list = 0;
    while (w->visitor->lists[list] != NULL && strcmp(w->visitor->lists[list], name) != 0) {
        list++;
    }
    return list;
}

static sluice_status take_member(walk *w)
{
    json_t *name;
    json_t *other;
    if (peek(w) != '"') {
        return refuse(w, "a member has no name");
    }
    sluice_status status = take_value(w, &name);
    if (status < 0) {
        return status;
    }
    const uint32_t list = find_list(w, json_string_value(name));
    json_decref(name);
    if (!skip(w, ':')) {
        return refuse(w, "a member has no value");
    }
    if (w->visitor->lists[list] != NULL) {
        return take_list(w, list);
    }
    status = take_value(w, &other);
    if (status == SLUICE_OK) {
        json_decref(other);
    }
    return status;
}

static sluice_status take_object(walk *w)
{
    if (!skip(w, '{')) {
        return refuse(w, "no object");
    }
    if (skip(w, '}')) {
        return SLUICE_OK;
    }
    do {
        const sluice_status status = take_member(w);
        if (status < 0) {
            return status;
        }
    } while (skip(w, ','));
    if (!skip(w, '}') || peek(w) != 0 || w->at < w->size) {
        return refuse(w, "the object has no end, or something behind it");
    }
    return SLUICE_OK;
}

sluice_status sl_json_walk(const char *path, const sl_json_visitor *visitor, sluice_error *error)
{
    walk w = {.path = path, .visitor = visitor, .error = error};
    sluice_status status =
        sl_file_read_whole((sl_file_name){STAGE, path}, SL_JSON_BYTES_MAX, &w.text, &w.size, error);
    if (status == SLUICE_OK) {
        status = take_object(&w);
        sl_free(w.text);
    }
    return status;
}
