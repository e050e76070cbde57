/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_walk: walks the object in a file and the lists in it, over a reader that only goes forward.
 */
#include "json_reader.h"

#include "error.h"
#include "json_flat.h"

#include <stdio.h>
#include <string.h>

#define STAGE "dataset"

void sl_json_name_id(const sl_json_element *element, char *text, size_t bytes)
{
    const json_t *id = json_object_get(element->value, "id");
    text[0] = '\0';
    if (json_is_integer(id)) {
        (void)snprintf(text, bytes, " (id %lld)", (long long)json_integer_value(id));
    } else if (json_is_string(id)) {
        (void)snprintf(text, bytes, " (id \"%.32s\")", json_string_value(id));
    }
}

sluice_status sl_json_refuse(const sl_json_element *element, const char *why, sluice_error *error)
{
    char id[48];
    sl_json_name_id(element, id, sizeof(id));
    return sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, element->path, element->offset,
                         "element %llu of \"%s\"%s: %s", (unsigned long long)element->number,
                         element->list, id, why);
}

/*
 * Reports which of the words NaN, Infinity and -Infinity, which Python's json writes, the text
 * contains, if any.
 */
static void name_word(const sl_json_reader *w, json_error_t *why)
{
    static const char *const words[] = {"-Infinity", "Infinity", "NaN"};
    if (json_error_code(why) != json_error_invalid_syntax) {
        return;
    }
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        const size_t length = strlen(words[i]);
        const size_t at = why->position > 0 ? (size_t)why->position : 0;
        const size_t from = at > length ? at - length : 0;
        const size_t left = w->text.bytes - (from < w->text.bytes ? from : w->text.bytes);
        const size_t looked = left < 2 * length ? left : 2 * length;
        if (memmem(w->text.data + from, looked, words[i], length) != NULL) {
            (void)snprintf(why->text, sizeof(why->text) - 1,
                           "%s is not a number in JSON: write null", words[i]);
            why->text[sizeof(why->text) - 1] = json_error_invalid_syntax;
            return;
        }
    }
}

/* Parses the kept text. NULL: error. */
static json_t *parse_text(sl_json_reader *w, const sl_json_element *element)
{
    json_error_t why;
    const sl_bytes text = {(const uint8_t *)w->text.data, w->text.bytes};
    json_t *value = element != NULL ? sl_json_flat_parse(text) : NULL;
    value = value != NULL ? value : sl_json_parse_any(text, &why);
    if (value != NULL) {
        return value;
    }
    name_word(w, &why);
    if (json_error_code(&why) == json_error_out_of_memory) {
        w->status = sl_error_file(w->error, SLUICE_NOMEM, STAGE, 0, w->path, -1,
                                  "out of memory for its JSON");
    } else if (element == NULL) {
        (void)sl_json_refuse_text(w, why.text);
    } else {
        w->status = sl_error_file(w->error, SLUICE_CORRUPT, STAGE, 0, w->path, element->offset,
                                  "not valid JSON: element %llu of \"%s\": %s",
                                  (unsigned long long)element->number, element->list, why.text);
    }
    return NULL;
}

/* Takes a name with its quotes, which is kept, and the colon after it. */
static bool json_walk_take_name(sl_json_reader *w)
{
    if (sl_json_peek(w) != '"') {
        return sl_json_refuse_text(w, "a member has no name");
    }
    w->keeps = &w->text;
    const bool fine = sl_json_take_text(w);
    w->keeps = NULL;
    return fine && (sl_json_skip(w, ':') || sl_json_refuse_text(w, "a member has no value"));
}

/* ---- elements ---- */

static bool is_named(const char *wanted, const char *name, size_t bytes)
{
    return strlen(wanted) == bytes && memcmp(wanted, name, bytes) == 0;
}

/* Returns whether a member is wanted. Names written with escapes are left to jansson. */
static bool is_wanted(const sl_json_list *list, const char *name, size_t bytes)
{
    for (size_t i = 0; list->wanted[i] != NULL; i++) {
        if (is_named(list->wanted[i], name, bytes)) {
            return true;
        }
    }
    return memchr(name, '\\', bytes) != NULL;
}

/* Takes the value of a member unparsed. */
static bool take_written(sl_json_reader *w)
{
    if (w->written.bytes > 0) {
        return sl_json_refuse_text(w, "a member occurs twice");
    }
    w->keeps = &w->written;
    const bool fine = sl_json_take_value(w);
    w->keeps = NULL;
    return fine;
}

static bool json_walk_take_member(sl_json_reader *w, const sl_json_list *list)
{
    const size_t from = w->text.bytes;
    if (!sl_json_append(w, &w->text, ",", from > 1 ? 1 : 0)) {
        return false;
    }
    const size_t name = w->text.bytes;
    if (!json_walk_take_name(w)) {
        return false;
    }
    const char *called = w->text.data + name + 1;
    const size_t bytes = w->text.bytes - name - 2;
    const bool written = list->written != NULL && is_named(list->written, called, bytes);
    if (written || !is_wanted(list, called, bytes)) {
        w->text.bytes = from;
        return written ? take_written(w) : sl_json_take_value(w);
    }
    bool fine = sl_json_append(w, &w->text, ":", 1);
    w->keeps = &w->text;
    fine = fine && sl_json_take_value(w);
    w->keeps = NULL;
    return fine;
}

/* Keeps the wanted members of an element. */
static bool json_walk_take_element(sl_json_reader *w, const sl_json_list *list)
{
    w->text.bytes = 0;
    w->written.bytes = 0;
    if (!sl_json_skip(w, '{') || !sl_json_append(w, &w->text, "{", 1)) {
        return false;
    }
    if (!sl_json_skip(w, '}')) {
        do {
            if (!json_walk_take_member(w, list)) {
                return false;
            }
        } while (sl_json_skip(w, ','));
        if (!sl_json_skip(w, '}')) {
            return sl_json_refuse_text(w, "an object has no end");
        }
    }
    return sl_json_append(w, &w->text, "}", 1);
}

static bool visit_element(sl_json_reader *w, const sl_json_visitor *visitor, uint32_t list,
                          sl_json_element *element)
{
    const int byte = sl_json_peek(w);
    element->offset = sl_json_offset_of(w);
    if (byte == SL_JSON_END) {
        return sl_json_refuse_text(w, "a list has no end");
    }
    if (byte != '{') {
        w->status = sl_json_refuse(element, "not an object", w->error);
        return false;
    }
    w->element = element;
    element->value =
        json_walk_take_element(w, &visitor->lists[list]) ? parse_text(w, element) : NULL;
    w->element = NULL;
    if (element->value == NULL) {
        return false;
    }
    element->written = (sl_bytes){(const uint8_t *)w->written.data, w->written.bytes};
    w->status = visitor->visit(visitor->ctx, list, element, w->error);
    json_decref(element->value);
    element->value = NULL;
    element->number++;
    return w->status == SLUICE_OK;
}

static bool visit_list(sl_json_reader *w, const sl_json_visitor *visitor, uint32_t list)
{
    sl_json_element element = {.path = w->path, .list = visitor->lists[list].name};
    if (!sl_json_skip(w, '[')) {
        return sl_json_refuse_text(w, "one of its lists is not a list");
    }
    if (sl_json_skip(w, ']')) {
        return true;
    }
    do {
        if (!visit_element(w, visitor, list, &element)) {
            return false;
        }
    } while (sl_json_skip(w, ','));
    return sl_json_skip(w, ']') || sl_json_refuse_text(w, "a list has no end");
}

/* ---- the object ---- */

/* Takes the name of a member; `*list`: the list with that name, or `count`. */
static bool take_list_name(sl_json_reader *w, const sl_json_list *lists, uint32_t count,
                           uint32_t *list)
{
    w->text.bytes = 0;
    json_t *name = json_walk_take_name(w) ? parse_text(w, NULL) : NULL;
    if (name == NULL) {
        return false;
    }
    *list = 0;
    while (*list < count && strcmp(lists[*list].name, json_string_value(name)) != 0) {
        (*list)++;
    }
    json_decref(name);
    return true;
}

static bool visit_object(sl_json_reader *w, const sl_json_visitor *visitor)
{
    uint32_t seen = 0;
    if (!sl_json_skip(w, '{')) {
        return sl_json_refuse_text(w, "not an object");
    }
    if (!sl_json_skip(w, '}')) {
        do {
            uint32_t list;
            if (!take_list_name(w, visitor->lists, visitor->count, &list)) {
                return false;
            }
            const uint32_t bit = list < visitor->count ? UINT32_C(1) << list : 0;
            if ((seen & bit) != 0) {
                return sl_json_refuse_text(w, "one of its lists occurs twice");
            }
            seen |= bit;
            if (bit != 0 ? !visit_list(w, visitor, list) : !sl_json_take_value(w)) {
                return false;
            }
        } while (sl_json_skip(w, ','));
        if (!sl_json_skip(w, '}')) {
            return sl_json_refuse_text(w, "the object has no end");
        }
    }
    return sl_json_peek(w) == SL_JSON_END ||
           sl_json_refuse_text(w, "unexpected data after the object");
}

static bool json_walk_find_list(sl_json_reader *w, const sl_json_list *lists, uint32_t count)
{
    uint32_t list;
    if (!sl_json_skip(w, '{')) {
        return false;
    }
    do {
        if (!take_list_name(w, lists, count, &list)) {
            return false;
        }
        if (list < count) {
            return true;
        }
    } while (sl_json_take_value(w) && sl_json_skip(w, ','));
    return false;
}

sluice_status sl_json_walk(const char *path, const sl_json_visitor *visitor, sluice_error *error)
{
    sl_json_reader w = {.path = path, .error = error};
    if (sl_json_reader_open(&w) && visit_object(&w, visitor)) {
        w.status = sl_json_reader_check(&w);
    }
    sl_json_reader_close(&w);
    return w.status;
}

bool sl_json_lists(sl_look *look, const sl_json_list *lists, uint32_t count)
{
    sl_json_reader w = {.path = look->path};
    const bool found = sl_json_reader_begin(&w, look) && json_walk_find_list(&w, lists, count);
    sl_json_reader_close(&w);
    return found;
}

bool sl_json_lacks(sl_look *look, const sl_json_list *list)
{
    sl_json_reader w = {.path = look->path};
    const bool lacks = sl_json_reader_begin(&w, look) && !json_walk_find_list(&w, list, 1) &&
                       sl_json_skip(&w, '}') && sl_json_reader_check(&w) == SLUICE_OK;
    sl_json_reader_close(&w);
    return lacks;
}
