/* SPDX-License-Identifier: Apache-2.0 */
#include "json.h"

#include "safe_text.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>

static atomic_bool on_stdout;

void json_begin(struct json *json, FILE *stream)
{
    *json = (struct json){.stream = stream};
    if (stream == stdout) {
        /* relaxed: orders nothing; interrupt.h decides which thread prints */
        atomic_store_explicit(&on_stdout, true, memory_order_relaxed);
    }
}

bool json_is_on_stdout(void)
{
    return atomic_load_explicit(&on_stdout, memory_order_relaxed);
}

static void write_string(FILE *stream, const char *text)
{
    fputc('"', stream);
    const char *at = text;
    while (*at != '\0') {
        uint32_t point;
        size_t length = utf8_decode(at, &point);
        if (length == 0) {
            fputs("\\ufffd", stream);
            length = 1;
        } else if (*at == '"' || *at == '\\') {
            fprintf(stream, "\\%c", *at);
        } else if (SAFE_TEXT_IS_CONTROL(point)) {
            fprintf(stream, "\\u%04x", (unsigned)point); /* JSON may be read on a terminal, too */
        } else {
            fwrite(at, 1, length, stream);
        }
        at += length;
    }
    fputc('"', stream);
}

static void new_line(struct json *json)
{
    fprintf(json->stream, "\n%*s", 2 * json->depth, "");
}

/* Writes the text before each value: the comma, the new line and the key. */
static void lead(struct json *json, const char *key)
{
    if (json->follows) {
        fputc(',', json->stream);
    }
    if (json->row && json->follows) {
        fputc(' ', json->stream);
    }
    if (json->depth > 0 && !json->row) {
        new_line(json);
    }
    if (key != NULL) {
        write_string(json->stream, key);
        fputs(": ", json->stream);
    }
    json->follows = true;
}

static void open_container(struct json *json, const char *key, char bracket)
{
    lead(json, key);
    fputc(bracket, json->stream);
    json->depth++;
    json->follows = false;
}

static void close_container(struct json *json, char bracket)
{
    assert(json->depth > 0);
    json->depth--;
    if (json->follows && !json->row) {
        new_line(json);
    }
    json->row = false;
    fputc(bracket, json->stream);
    json->follows = true;
    if (json->depth == 0) {
        fputc('\n', json->stream);
    }
}

void json_open_object(struct json *json, const char *key)
{
    open_container(json, key, '{');
}

void json_close_object(struct json *json)
{
    close_container(json, '}');
}

void json_open_array(struct json *json, const char *key)
{
    open_container(json, key, '[');
}

void json_open_row(struct json *json, const char *key)
{
    open_container(json, key, '[');
    json->row = true;
}

void json_close_array(struct json *json)
{
    close_container(json, ']');
}

void json_text(struct json *json, const char *key, const char *value)
{
    if (value == NULL) {
        json_null(json, key);
        return;
    }
    lead(json, key);
    write_string(json->stream, value);
}

void json_unsigned(struct json *json, const char *key, uint64_t value)
{
    lead(json, key);
    fprintf(json->stream, "%" PRIu64, value);
}

void json_signed(struct json *json, const char *key, int64_t value)
{
    lead(json, key);
    fprintf(json->stream, "%" PRId64, value);
}

void json_real(struct json *json, const char *key, double value)
{
    if (!isfinite(value)) {
        json_null(json, key);
        return;
    }
    char number[32];
    snprintf(number, sizeof number, "%.6g", value == 0 ? 0 : value); /* no -0 */
    size_t point = strspn(number, "+-0123456789e");
    if (number[point] != '\0') {
        number[point] = '.'; /* regardless of a locale set by the program */
    }
    lead(json, key);
    fputs(number, json->stream);
}

void json_bool(struct json *json, const char *key, bool value)
{
    lead(json, key);
    fputs(value ? "true" : "false", json->stream);
}

void json_null(struct json *json, const char *key)
{
    lead(json, key);
    fputs("null", json->stream);
}
