/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reader of JSON that goes forward only, by a window over the file. One owner thread. `at` never
 * goes back; what is wanted is copied out before the window moves on.
 */
#include "json_walk.h"

#include "error.h"
#include "memory.h"
#include "store.h"

#include <string.h>

#define STAGE "dataset"

#define WINDOW_BYTES ((size_t)1 << 20)
#define END          (-1)

/* What is kept of an element. */
typedef struct kept_text {
    char *data;
    size_t bytes, capacity;
} kept_text;

typedef struct walk {
    const char *path;
    sl_handle from;
    sl_file_identity file; /* when it was opened */
    uint64_t size;         /* of it that is looked at */
    uint8_t *window;
    size_t at, filled;
    uint64_t filled_to;   /* offset of the window's end */
    kept_text *keeps;     /* where what is taken goes; NULL: it is not kept */
    kept_text text;       /* what is parsed */
    kept_text written;    /* the member that is not */
    sluice_status status; /* the first thing that went wrong */
    sluice_error *error;
} walk;

sluice_status sl_json_refuse(const sl_json_element *element, const char *why, sluice_error *error)
{
    return sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, element->path, element->offset,
                         "element %llu of \"%s\": %s", (unsigned long long)element->number,
                         element->list, why);
}

static int64_t json_walk_offset_of(const walk *w)
{
    return (int64_t)(w->filled_to - (w->filled - w->at));
}

static bool json_walk_refuse(walk *w, const char *why)
{
    if (w->status == SLUICE_OK) {
        w->status = sl_error_file(w->error, SLUICE_CORRUPT, STAGE, 0, w->path,
                                  json_walk_offset_of(w), "not valid JSON: %s", why);
    }
    return false;
}

/* ---- bytes ---- */

/* More of the file into the window, all of which was taken; false: there is none. */
static bool json_walk_fill(walk *w)
{
    const uint64_t left = w->file.bytes - w->filled_to;
    const size_t bytes = left < WINDOW_BYTES ? (size_t)left : WINDOW_BYTES;
    if (bytes == 0 || w->status < 0) {
        return false;
    }
    w->status = sl_handle_read(&w->from, w->window, bytes, w->filled_to, w->error);
    w->at = 0;
    w->filled = w->status == SLUICE_OK ? bytes : 0;
    w->filled_to += w->filled;
    return w->filled > 0;
}

/* The next byte, which stays; END: there is none, or none can be read. */
static int json_walk_next(walk *w)
{
    return w->at < w->filled || json_walk_fill(w) ? w->window[w->at] : END;
}

static bool json_walk_make_space(walk *w, kept_text *to, size_t bytes)
{
    if (bytes > SL_JSON_ELEMENT_MAX) {
        w->status =
            sl_error_file(w->error, SLUICE_UNSUPPORTED, STAGE, 0, w->path, json_walk_offset_of(w),
                          "what is wanted of an element is more than 16 MiB");
        return false;
    }
    char *data = sl_realloc_array(to->data, 2 * bytes, 1);
    if (data == NULL) {
        w->status = sl_error_file(w->error, SLUICE_NOMEM, STAGE, 0, w->path, -1,
                                  "out of memory for its JSON");
        return false;
    }
    to->data = data;
    to->capacity = 2 * bytes;
    return true;
}

static bool json_walk_append(walk *w, kept_text *to, const void *bytes, size_t count)
{
    if (count == 0) {
        return true;
    }
    if (count > to->capacity - to->bytes && !json_walk_make_space(w, to, to->bytes + count)) {
        return false;
    }
    memcpy(to->data + to->bytes, bytes, count);
    to->bytes += count;
    return true;
}

/* Takes bytes that are in the window. */
static bool json_walk_take(walk *w, size_t count)
{
    const uint8_t *from = w->window + w->at;
    w->at += count;
    return w->keeps == NULL || json_walk_append(w, w->keeps, from, count);
}

/* What ends a run of bytes that mean nothing. */
enum { ENDS_TEXT = 1, ENDS_NESTED = 2, ENDS_WORD = 4 };

static const uint8_t ends[256] = {
    ['"'] = ENDS_TEXT | ENDS_NESTED | ENDS_WORD,
    ['\\'] = ENDS_TEXT | ENDS_WORD,
    ['['] = ENDS_NESTED | ENDS_WORD,
    [']'] = ENDS_NESTED | ENDS_WORD,
    ['{'] = ENDS_NESTED | ENDS_WORD,
    ['}'] = ENDS_NESTED | ENDS_WORD,
    [','] = ENDS_WORD,
    [':'] = ENDS_WORD,
    [' '] = ENDS_WORD,
    ['\t'] = ENDS_WORD,
    ['\r'] = ENDS_WORD,
    ['\n'] = ENDS_WORD,
};

/* Takes bytes up to one that ends the run, which is returned and stays; END: as of next. */
static int take_run(walk *w, uint8_t end)
{
    while (json_walk_next(w) != END) {
        size_t to = w->at;
        while (to < w->filled && (ends[w->window[to]] & end) == 0) {
            to++;
        }
        if (!json_walk_take(w, to - w->at)) {
            return END;
        }
        if (w->at < w->filled) {
            return w->window[w->at];
        }
    }
    return END;
}

/* ---- values ---- */

/* The next byte that is no blank, which stays. */
static int peek(walk *w)
{
    int byte = json_walk_next(w);
    while (byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n') {
        w->at++;
        byte = json_walk_next(w);
    }
    return byte;
}

static bool skip(walk *w, char sign)
{
    const bool found = peek(w) == (uint8_t)sign;
    w->at += found;
    return found;
}

static bool json_walk_take_text(walk *w)
{
    bool fine = json_walk_take(w, 1);
    while (fine) {
        const int byte = take_run(w, ENDS_TEXT);
        if (byte == END) {
            return json_walk_refuse(w, "a text has no end");
        }
        fine = json_walk_take(w, 1);
        if (byte == '"') {
            return fine;
        }
        fine = fine && (json_walk_next(w) == END ? json_walk_refuse(w, "a text has no end")
                                                 : json_walk_take(w, 1));
    }
    return false;
}

/* An object or a list, with all that is in it. */
static bool take_nested(walk *w)
{
    uint8_t closes[SL_JSON_DEPTH_MAX];
    uint32_t depth = 0;
    do {
        const int byte = take_run(w, ENDS_NESTED);
        bool fine;
        if (byte == END) {
            return json_walk_refuse(w, "an object or a list has no end");
        }
        if (byte == '"') {
            fine = json_walk_take_text(w);
        } else if (byte == '{' || byte == '[') {
            if (depth == SL_JSON_DEPTH_MAX) {
                return json_walk_refuse(w, "its values lie too deep in each other");
            }
            closes[depth++] = byte == '{' ? '}' : ']';
            fine = json_walk_take(w, 1);
        } else if (depth > 0 && byte == closes[depth - 1]) {
            depth--;
            fine = json_walk_take(w, 1);
        } else {
            fine = json_walk_refuse(w, "a bracket closes what it did not open");
        }
        if (!fine) {
            return false;
        }
    } while (depth > 0);
    return true;
}

static bool json_walk_take_value(walk *w)
{
    const int byte = peek(w);
    if (byte == '"') {
        return json_walk_take_text(w);
    }
    if (byte == '{' || byte == '[') {
        return take_nested(w);
    }
    if (byte == END || byte == 0 || strchr("-0123456789tfn", byte) == NULL) {
        return json_walk_refuse(w, "a value is missing, or is none of JSON's");
    }
    (void)take_run(w, ENDS_WORD);
    return w->status == SLUICE_OK;
}

/* What was kept, as a tree. NULL: refused. */
static json_t *parse_text(walk *w, const sl_json_element *element)
{
    json_error_t why;
    json_t *value =
        sl_json_parse_any((sl_bytes){(const uint8_t *)w->text.data, w->text.bytes}, &why);
    if (value != NULL) {
        return value;
    }
    if (json_error_code(&why) == json_error_out_of_memory) {
        w->status = sl_error_file(w->error, SLUICE_NOMEM, STAGE, 0, w->path, -1,
                                  "out of memory for its JSON");
    } else if (element == NULL) {
        (void)json_walk_refuse(w, why.text);
    } else {
        w->status = sl_error_file(w->error, SLUICE_CORRUPT, STAGE, 0, w->path, element->offset,
                                  "not valid JSON: element %llu of \"%s\": %s",
                                  (unsigned long long)element->number, element->list, why.text);
    }
    return NULL;
}

/* Takes a name, which is kept, with its quotes, and the colon behind it. */
static bool json_walk_take_name(walk *w)
{
    if (peek(w) != '"') {
        return json_walk_refuse(w, "a member has no name");
    }
    w->keeps = &w->text;
    const bool fine = json_walk_take_text(w);
    w->keeps = NULL;
    return fine && (skip(w, ':') || json_walk_refuse(w, "a member has no value"));
}

/* ---- elements ---- */

static bool is_named(const char *wanted, const char *name, size_t bytes)
{
    return strlen(wanted) == bytes && memcmp(wanted, name, bytes) == 0;
}

/* Whether a member is: those whose names are written with escapes are left to jansson. */
static bool is_wanted(const sl_json_list *list, const char *name, size_t bytes)
{
    for (size_t i = 0; list->wanted[i] != NULL; i++) {
        if (is_named(list->wanted[i], name, bytes)) {
            return true;
        }
    }
    return memchr(name, '\\', bytes) != NULL;
}

/* The value of a member, as it is written. */
static bool take_written(walk *w)
{
    if (w->written.bytes > 0) {
        return json_walk_refuse(w, "a member is there twice");
    }
    w->keeps = &w->written;
    const bool fine = json_walk_take_value(w);
    w->keeps = NULL;
    return fine;
}

static bool json_walk_take_member(walk *w, const sl_json_list *list)
{
    const size_t from = w->text.bytes;
    if (!json_walk_append(w, &w->text, ",", from > 1 ? 1 : 0)) {
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
        return written ? take_written(w) : json_walk_take_value(w);
    }
    bool fine = json_walk_append(w, &w->text, ":", 1);
    w->keeps = &w->text;
    fine = fine && json_walk_take_value(w);
    w->keeps = NULL;
    return fine;
}

/* Keeps of an element what is wanted. */
static bool json_walk_take_element(walk *w, const sl_json_list *list)
{
    w->text.bytes = 0;
    w->written.bytes = 0;
    if (!skip(w, '{') || !json_walk_append(w, &w->text, "{", 1)) {
        return false;
    }
    if (!skip(w, '}')) {
        do {
            if (!json_walk_take_member(w, list)) {
                return false;
            }
        } while (skip(w, ','));
        if (!skip(w, '}')) {
            return json_walk_refuse(w, "an object has no end");
        }
    }
    return json_walk_append(w, &w->text, "}", 1);
}

static bool visit_element(walk *w, const sl_json_visitor *visitor, uint32_t list,
                          sl_json_element *element)
{
    const int byte = peek(w);
    element->offset = json_walk_offset_of(w);
    if (byte == END) {
        return json_walk_refuse(w, "a list has no end");
    }
    if (byte != '{') {
        w->status = sl_json_refuse(element, "not an object", w->error);
        return false;
    }
    element->value =
        json_walk_take_element(w, &visitor->lists[list]) ? parse_text(w, element) : NULL;
    if (element->value == NULL) {
        return false;
    }
    element->written = (sl_bytes){(const uint8_t *)w->written.data, w->written.bytes};
    w->status = visitor->visit(visitor->ctx, list, element, w->error);
    json_decref(element->value);
    element->number++;
    return w->status == SLUICE_OK;
}

static bool visit_list(walk *w, const sl_json_visitor *visitor, uint32_t list)
{
    sl_json_element element = {.path = w->path, .list = visitor->lists[list].name};
    if (!skip(w, '[')) {
        return json_walk_refuse(w, "one of its lists is none");
    }
    if (skip(w, ']')) {
        return true;
    }
    do {
        if (!visit_element(w, visitor, list, &element)) {
            return false;
        }
    } while (skip(w, ','));
    return skip(w, ']') || json_walk_refuse(w, "a list has no end");
}

/* ---- the object ---- */

/* Takes the name of a member; `*list` is the list of that name, or `count`. */
static bool take_list_name(walk *w, const sl_json_list *lists, uint32_t count, uint32_t *list)
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

static bool visit_object(walk *w, const sl_json_visitor *visitor)
{
    uint32_t seen = 0;
    if (!skip(w, '{')) {
        return json_walk_refuse(w, "no object");
    }
    if (!skip(w, '}')) {
        do {
            uint32_t list;
            if (!take_list_name(w, visitor->lists, visitor->count, &list)) {
                return false;
            }
            const uint32_t bit = list < visitor->count ? UINT32_C(1) << list : 0;
            if ((seen & bit) != 0) {
                return json_walk_refuse(w, "one of its lists is there twice");
            }
            seen |= bit;
            if (bit != 0 ? !visit_list(w, visitor, list) : !json_walk_take_value(w)) {
                return false;
            }
        } while (skip(w, ','));
        if (!skip(w, '}')) {
            return json_walk_refuse(w, "the object has no end");
        }
    }
    return peek(w) == END || json_walk_refuse(w, "there is something behind the object");
}

static bool json_walk_find_list(walk *w, const sl_json_list *lists, uint32_t count)
{
    uint32_t list;
    if (!skip(w, '{')) {
        return false;
    }
    do {
        if (!take_list_name(w, lists, count, &list)) {
            return false;
        }
        if (list < count) {
            return true;
        }
    } while (json_walk_take_value(w) && skip(w, ','));
    return false;
}

static bool open_walk(walk *w)
{
    w->status = sl_handle_open(&w->from, (sl_file_name){STAGE, w->path}, &w->file, w->error);
    w->window = w->status == SLUICE_OK ? sl_malloc(WINDOW_BYTES) : NULL;
    if (w->status == SLUICE_OK && w->window == NULL) {
        w->status =
            sl_error_file(w->error, SLUICE_NOMEM, STAGE, 0, w->path, -1, "no memory to read it");
    }
    return w->status == SLUICE_OK;
}

static void close_walk(walk *w)
{
    sl_handle_close(&w->from);
    sl_free(w->window);
    sl_free(w->text.data);
    sl_free(w->written.data);
}

static sluice_status check_unchanged(const walk *w)
{
    if (sl_handle_is_unchanged(&w->from, &w->file)) {
        return SLUICE_OK;
    }
    return sl_error_file(w->error, SLUICE_IO, STAGE, 0, w->path, -1,
                         "the file was changed while it was read");
}

sluice_status sl_json_walk(const char *path, const sl_json_visitor *visitor, sluice_error *error)
{
    walk w = {.path = path, .error = error};
    if (open_walk(&w) && visit_object(&w, visitor)) {
        w.status = check_unchanged(&w);
    }
    close_walk(&w);
    return w.status;
}

bool sl_json_lists(const char *path, const sl_json_list *lists, uint32_t count, uint64_t most)
{
    walk w = {.path = path};
    bool found = false;
    if (open_walk(&w)) {
        w.size = w.size < most ? w.size : most;
        found = json_walk_find_list(&w, lists, count);
    }
    close_walk(&w);
    return found;
}
