/* SPDX-License-Identifier: Apache-2.0 */
/* json_reader: moves a window over a JSON file and skips values. One owner thread. */
#include "json_reader.h"

#include "error.h"
#include "memory.h"
#include "text_file.h"

#include <stdio.h>
#include <string.h>

#define STAGE "dataset"

#define WINDOW_BYTES ((size_t)1 << 20)

static bool json_fill(sl_json_reader *w);

/* Skips a UTF-8 byte order mark; rejects every other encoding. */
static bool read_mark(sl_json_reader *w)
{
    if (!json_fill(w)) {
        return w->status == SLUICE_OK;
    }
    const char *encoding = sl_text_encoding(w->window, w->filled);
    w->at = sl_text_mark(w->window, w->filled);
    if (encoding != NULL) {
        w->status = sl_text_refuse_encoding(STAGE, w->path, encoding, w->error);
    }
    return encoding == NULL;
}

static bool open_window(sl_json_reader *w)
{
    w->status = sl_handle_open(&w->from, (sl_file_name){STAGE, w->path}, &w->file, w->error);
    w->owned = w->status == SLUICE_OK ? sl_malloc(WINDOW_BYTES) : NULL;
    if (w->status == SLUICE_OK && w->owned == NULL) {
        w->status =
            sl_error_file(w->error, SLUICE_NOMEM, STAGE, 0, w->path, -1, "no memory to read it");
    }
    w->window = w->owned;
    return w->status == SLUICE_OK;
}

bool sl_json_reader_open(sl_json_reader *w)
{
    return open_window(w) && read_mark(w);
}

bool sl_json_reader_begin(sl_json_reader *w, sl_look *look)
{
    w->look = look;
    return sl_look_is_file(look) && read_mark(w);
}

void sl_json_reader_close(sl_json_reader *w)
{
    sl_handle_close(&w->from);
    sl_free(w->owned);
    sl_free(w->text.data);
    sl_free(w->written.data);
}

sluice_status sl_json_reader_check(const sl_json_reader *w)
{
    if (w->owned == NULL || sl_handle_is_unchanged(&w->from, &w->file)) {
        return SLUICE_OK;
    }
    return sl_error_file(w->error, SLUICE_IO, STAGE, 0, w->path, -1,
                         "the file was modified while it was read");
}

int64_t sl_json_offset_of(const sl_json_reader *w)
{
    return (int64_t)(w->filled_to - (w->filled - w->at));
}

bool sl_json_refuse_text(sl_json_reader *w, const char *why)
{
    if (w->status == SLUICE_OK) {
        char place[96] = "";
        if (w->element != NULL) {
            (void)snprintf(place, sizeof(place),
                           "element %llu of \"%.32s\": ", (unsigned long long)w->element->number,
                           w->element->list);
        }
        w->status = sl_error_file(w->error, SLUICE_CORRUPT, STAGE, 0, w->path, sl_json_offset_of(w),
                                  "not valid JSON: %s%s", place, why);
    }
    return false;
}

/* ---- bytes ---- */

static bool json_fill_from_look(sl_json_reader *w)
{
    const sl_bytes head = sl_look_head(w->look, SL_LOOK_BYTES);
    w->file.bytes = sl_look_bytes(w->look);
    w->window = head.data;
    w->filled = head.size;
    w->filled_to = head.size;
    return head.size > 0;
}

/* Reads more of the file into the window, which is used up; false: end of file, or an error. */
static bool json_fill(sl_json_reader *w)
{
    if (w->look != NULL && w->filled_to == 0) {
        return json_fill_from_look(w);
    }
    if (w->owned == NULL && (w->filled_to >= w->file.bytes || !open_window(w))) {
        return false;
    }
    const uint64_t left = w->file.bytes > w->filled_to ? w->file.bytes - w->filled_to : 0;
    const size_t bytes = left < WINDOW_BYTES ? (size_t)left : WINDOW_BYTES;
    if (bytes == 0 || w->status < 0) {
        return false;
    }
    w->status = sl_handle_read(&w->from, w->owned, bytes, w->filled_to, w->error);
    w->at = 0;
    w->filled = w->status == SLUICE_OK ? bytes : 0;
    w->filled_to += w->filled;
    return w->filled > 0;
}

/* Returns the next byte without taking it; SL_JSON_END: end of file, or an error. */
static int json_next(sl_json_reader *w)
{
    return w->at < w->filled || json_fill(w) ? w->window[w->at] : SL_JSON_END;
}

static bool json_make_space(sl_json_reader *w, sl_json_kept *to, size_t bytes)
{
    if (bytes > SL_JSON_ELEMENT_MAX) {
        w->status =
            sl_error_file(w->error, SLUICE_UNSUPPORTED, STAGE, 0, w->path, sl_json_offset_of(w),
                          "the requested members of an element exceed 16 MiB");
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

bool sl_json_append(sl_json_reader *w, sl_json_kept *to, const void *bytes, size_t count)
{
    if (count == 0) {
        return true;
    }
    if (count > to->capacity - to->bytes && !json_make_space(w, to, to->bytes + count)) {
        return false;
    }
    memcpy(to->data + to->bytes, bytes, count);
    to->bytes += count;
    return true;
}

/* Takes bytes that are in the window. */
static bool json_take(sl_json_reader *w, size_t count)
{
    const uint8_t *from = w->window + w->at;
    w->at += count;
    return w->keeps == NULL || sl_json_append(w, w->keeps, from, count);
}

/* Bytes that end a run without structure. */
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

/*
 * Takes bytes up to one that ends the run, and returns that without taking it; SL_JSON_END: as
 * json_next.
 */
static int take_run(sl_json_reader *w, uint8_t end)
{
    while (json_next(w) != SL_JSON_END) {
        size_t to = w->at;
        while (to < w->filled && (ends[w->window[to]] & end) == 0) {
            to++;
        }
        if (!json_take(w, to - w->at)) {
            return SL_JSON_END;
        }
        if (w->at < w->filled) {
            return w->window[w->at];
        }
    }
    return SL_JSON_END;
}

/* ---- values ---- */

int sl_json_peek(sl_json_reader *w)
{
    int byte = json_next(w);
    while (byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n') {
        w->at++;
        byte = json_next(w);
    }
    return byte;
}

bool sl_json_skip(sl_json_reader *w, char sign)
{
    const bool found = sl_json_peek(w) == (uint8_t)sign;
    w->at += found;
    return found;
}

bool sl_json_take_text(sl_json_reader *w)
{
    bool fine = json_take(w, 1);
    while (fine) {
        const int byte = take_run(w, ENDS_TEXT);
        if (byte == SL_JSON_END) {
            return sl_json_refuse_text(w, "a text has no end");
        }
        fine = json_take(w, 1);
        if (byte == '"') {
            return fine;
        }
        fine = fine && (json_next(w) == SL_JSON_END ? sl_json_refuse_text(w, "a text has no end")
                                                    : json_take(w, 1));
    }
    return false;
}

/* Takes an object or a list with all of its contents. */
static bool take_nested(sl_json_reader *w)
{
    uint8_t closes[SL_JSON_DEPTH_MAX];
    uint32_t depth = 0;
    do {
        const int byte = take_run(w, ENDS_NESTED);
        bool fine;
        if (byte == SL_JSON_END) {
            return sl_json_refuse_text(w, "an object or a list has no end");
        }
        if (byte == '"') {
            fine = sl_json_take_text(w);
        } else if (byte == '{' || byte == '[') {
            if (depth == SL_JSON_DEPTH_MAX) {
                return sl_json_refuse_text(w, "its values are nested too deeply");
            }
            closes[depth++] = byte == '{' ? '}' : ']';
            fine = json_take(w, 1);
        } else if (depth > 0 && byte == closes[depth - 1]) {
            depth--;
            fine = json_take(w, 1);
        } else {
            fine = sl_json_refuse_text(w, "a bracket closes what it did not open");
        }
        if (!fine) {
            return false;
        }
    } while (depth > 0);
    return true;
}

/* Rejects a number or word that JSON does not have, though Python's json writes it. */
static bool refuse_word(sl_json_reader *w)
{
    static const char *const others[] = {"NaN", "Infinity", "-Infinity"};
    const size_t left = w->filled - w->at;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        const size_t length = strlen(others[i]);
        if (length <= left && memcmp(w->window + w->at, others[i], length) == 0) {
            char why[80];
            (void)snprintf(why, sizeof(why), "%s is not a number in JSON: write null", others[i]);
            return sl_json_refuse_text(w, why);
        }
    }
    return sl_json_refuse_text(w, "a value is missing, or not valid JSON");
}

bool sl_json_take_value(sl_json_reader *w)
{
    const int byte = sl_json_peek(w);
    if (byte == '"') {
        return sl_json_take_text(w);
    }
    if (byte == '{' || byte == '[') {
        return take_nested(w);
    }
    const bool is_signed = byte == '-' && w->filled - w->at > 1;
    if (byte == SL_JSON_END || byte == 0 || strchr("-0123456789tfn", byte) == NULL ||
        (is_signed && w->window[w->at + 1] == 'I')) {
        return refuse_word(w);
    }
    (void)take_run(w, ENDS_WORD);
    return w->status == SLUICE_OK;
}
