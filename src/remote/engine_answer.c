/* SPDX-License-Identifier: Apache-2.0 */
/* engine_answer: parses the head of an answer, and stores its body. */
#include "clock.h"
#include "engine_thread.h"
#include "memory.h"
#include "minmax.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

/* An error body is read to its end, up to this size, so that the connection can be reused. */
#define DISCARDED_MOST (UINT64_C(1) << 20)

void sl_answer_clear(sl_exchange *exchange)
{
    sl_free(exchange->location);
    exchange->location = NULL;
    exchange->status = 0;
    exchange->failed = 0;
    exchange->got = 0;
    exchange->range_first = exchange->range_last = 0;
    exchange->total = UINT64_MAX;
    exchange->has_range = exchange->from_local = false;
    exchange->length = -1;
    exchange->etag[0] = exchange->linked_etag[0] = '\0';
    exchange->linked_size = UINT64_MAX;
    exchange->content_type[0] = exchange->content_encoding[0] = '\0';
    exchange->region[0] = exchange->link[0] = '\0';
    exchange->date_s = exchange->modified_s = 0;
    exchange->retry_after_s = -1;
    exchange->reason[0] = exchange->problem[0] = '\0';
    exchange->problem_bytes = 0;
    exchange->first_byte_ns = exchange->total_ns = 0;
}

void sl_transfer_refuse(sl_transfer *transfer, int failed, const char *reason)
{
    sl_exchange *e = transfer->exchange;
    transfer->refused = failed;
    (void)snprintf(e->reason, sizeof(e->reason), "%s", reason);
}

/* A header's value: without a NUL, of `length` bytes. */
typedef struct header_value {
    const char *text;
    size_t length;
} header_value;

/* Copies a value; one that does not fit is dropped, because a part of an ETag would be another
 * ETag. */
static void header_copy(char *to, size_t bytes, header_value value)
{
    if (value.length < bytes && memchr(value.text, '\0', value.length) == NULL) {
        memcpy(to, value.text, value.length);
        to[value.length] = '\0';
    }
}

/* Reads the digits at the beginning of `*value`, and advances it. */
static bool header_number(header_value *value, uint64_t *number)
{
    size_t at = 0;
    *number = 0;
    while (at < value->length && isdigit((unsigned char)value->text[at])) {
        const uint64_t digit = (uint64_t)(value->text[at++] - '0');
        if (*number > (UINT64_MAX - digit) / 10) {
            return false;
        }
        *number = *number * 10 + digit;
    }
    value->text += at;
    value->length -= at;
    return at > 0;
}

static bool header_skip(header_value *value, const char *text)
{
    const size_t length = strlen(text);
    if (value->length < length || strncasecmp(value->text, text, length) != 0) {
        return false;
    }
    value->text += length;
    value->length -= length;
    return true;
}

static bool header_is(header_value name, const char *text)
{
    return name.length == strlen(text) && strncasecmp(name.text, text, name.length) == 0;
}

/* Parses "bytes 0-99/1000", "bytes 0-99/" and a star, "bytes ", a star and "/1000". */
static void read_content_range(sl_exchange *exchange, header_value value)
{
    uint64_t first = 0;
    uint64_t last = 0;
    uint64_t total = UINT64_MAX;
    if (!header_skip(&value, "bytes ")) {
        return;
    }
    const bool none = header_skip(&value, "*");
    if (!none && (!header_number(&value, &first) || !header_skip(&value, "-") ||
                  !header_number(&value, &last))) {
        return;
    }
    if (!header_skip(&value, "/") ||
        (!header_skip(&value, "*") && !header_number(&value, &total))) {
        return;
    }
    exchange->total = total;
    if (!none && value.length == 0) {
        exchange->has_range = true;
        exchange->range_first = first;
        exchange->range_last = last;
    }
}

static uint32_t two_digits(const char *text)
{
    const uint32_t tens = (uint32_t)(text[0] - '0');
    const uint32_t ones = (uint32_t)(text[1] - '0');
    return tens < 10 && ones < 10 ? tens * 10 + ones : 99;
}

/* Parses "Sun, 06 Nov 1994 08:49:37 GMT", the form that all servers write. False: another form.
 * libcurl parses others, at the cost of a tenth of a small request. */
static bool read_fixed_date(const char *text, size_t length, int64_t *seconds)
{
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    if (length != 29 || memcmp(text + 25, " GMT", 4) != 0 || text[3] != ',') {
        return false;
    }
    char month[4] = "";
    memcpy(month, text + 8, 3);
    const char *found = strstr(months, month);
    const struct tm parts = {
        .tm_year = (int)(two_digits(text + 12) * 100 + two_digits(text + 14)) - 1900,
        .tm_mon = found != NULL ? (int)(found - months) / 3 : -1,
        .tm_mday = (int)two_digits(text + 5),
        .tm_hour = (int)two_digits(text + 17),
        .tm_min = (int)two_digits(text + 20),
        .tm_sec = (int)two_digits(text + 23),
    };
    if (found == NULL || (found - months) % 3 != 0 || parts.tm_mday > 31 || parts.tm_hour > 23 ||
        parts.tm_min > 59 || parts.tm_sec > 60) {
        return false;
    }
    struct tm copy = parts;
    *seconds = (int64_t)timegm(&copy);
    return true;
}

static int64_t header_date(const sl_transfer *transfer, header_value value)
{
    char text[64] = "";
    int64_t seconds;
    if (read_fixed_date(value.text, value.length, &seconds)) {
        return seconds > 0 ? seconds : 0;
    }
    header_copy(text, sizeof(text), value);
    const time_t time = text[0] != '\0' ? transfer->thread->calls->getdate(text, NULL) : -1;
    return time > 0 ? (int64_t)time : 0;
}

/* Finds <URL>; rel="next" among other links. */
static void read_link(sl_exchange *exchange, header_value value)
{
    char text[2048] = "";
    header_copy(text, sizeof(text), value);
    for (char *begin = strchr(text, '<'); begin != NULL; begin = strchr(begin, '<')) {
        char *end = strchr(begin, '>');
        char *comma = end != NULL ? strchr(end, ',') : NULL;
        if (end == NULL) {
            return;
        }
        const size_t rest = comma != NULL ? (size_t)(comma - end) : strlen(end);
        if (memmem(end, rest, "rel=\"next\"", 10) != NULL) {
            header_copy(exchange->link, sizeof(exchange->link),
                        (header_value){begin + 1, (size_t)(end - begin) - 1});
            return;
        }
        begin = end;
    }
}

static void read_location(sl_exchange *exchange, header_value value)
{
    if (memchr(value.text, '\0', value.length) == NULL) {
        sl_free(exchange->location);
        exchange->location = sl_malloc(value.length + 1);
        if (exchange->location != NULL) {
            memcpy(exchange->location, value.text, value.length);
            exchange->location[value.length] = '\0';
        }
    }
}

static void read_length(sl_exchange *exchange, header_value value)
{
    uint64_t length;
    if (header_number(&value, &length) && value.length == 0 && length <= INT64_MAX) {
        exchange->length = (int64_t)length;
    }
}

static void read_header(sl_transfer *transfer, header_value name, header_value value)
{
    sl_exchange *e = transfer->exchange;
    const struct {
        const char *name;
        char *to;
        size_t bytes;
    } texts[] = {
        {"ETag", e->etag, sizeof(e->etag)},
        {"X-Linked-ETag", e->linked_etag, sizeof(e->linked_etag)},
        {"Content-Type", e->content_type, sizeof(e->content_type)},
        {"Content-Encoding", e->content_encoding, sizeof(e->content_encoding)},
        {"x-amz-bucket-region", e->region, sizeof(e->region)},
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (header_is(name, texts[i].name)) {
            header_copy(texts[i].to, texts[i].bytes, value);
            return;
        }
    }
    header_value number = value;
    uint64_t read;
    if (header_is(name, "Content-Length")) {
        read_length(e, value);
    } else if (header_is(name, "Content-Range")) {
        read_content_range(e, value);
    } else if (header_is(name, "Location")) {
        read_location(e, value);
    } else if (header_is(name, "Link")) {
        read_link(e, value);
    } else if (header_is(name, "Date")) {
        e->date_s = header_date(transfer, value);
    } else if (header_is(name, "Last-Modified")) {
        e->modified_s = header_date(transfer, value);
    } else if (header_is(name, "X-Linked-Size")) {
        e->linked_size = header_number(&number, &read) ? read : UINT64_MAX;
    } else if (header_is(name, "Retry-After")) {
        e->retry_after_s = header_number(&number, &read) && read < INT32_MAX ? (int64_t)read : -1;
    }
}

/* Reads a status line, and forgets the headers of a provisional answer (1xx) before it. */
static void read_status_line(sl_transfer *transfer, const char *data, size_t bytes)
{
    sl_exchange *e = transfer->exchange;
    const bool from_local = e->from_local;
    const char *space = memchr(data, ' ', bytes);
    sl_answer_clear(e);
    e->from_local = from_local;
    header_value value = {space != NULL ? space + 1 : data,
                          space != NULL ? bytes - (size_t)(space + 1 - data) : 0};
    uint64_t status;
    if (header_number(&value, &status) && status < 1000) {
        e->status = (int)status;
    }
    e->first_byte_ns = transfer->byte_ns - e->sent_at_ns;
}

size_t sl_answer_header(char *data, size_t size, size_t count, void *argument)
{
    sl_transfer *transfer = argument;
    const size_t bytes = size * count;
    transfer->byte_ns = sl_now_ns();
    transfer->header_bytes += (uint32_t)sl_min_u64(bytes, SL_HEADER_BYTES_MOST);
    if (transfer->header_bytes > SL_HEADER_BYTES_MOST) {
        sl_transfer_refuse(transfer, -EBADMSG, "the answer has more than 64 KiB of headers");
        return 0;
    }
    if (bytes >= 5 && memcmp(data, "HTTP/", 5) == 0) {
        read_status_line(transfer, data, bytes);
        return bytes;
    }
    const char *colon = memchr(data, ':', bytes);
    if (colon != NULL) {
        header_value value = {colon + 1, bytes - (size_t)(colon + 1 - data)};
        while (value.length > 0 && isspace((unsigned char)value.text[value.length - 1])) {
            value.length--;
        }
        while (value.length > 0 && isspace((unsigned char)*value.text)) {
            value.text++;
            value.length--;
        }
        read_header(transfer, (header_value){data, (size_t)(colon - data)}, value);
    }
    return bytes;
}

static size_t answer_keep_problem(sl_transfer *transfer, const char *data, size_t bytes)
{
    sl_exchange *e = transfer->exchange;
    const size_t space = sizeof(e->problem) - 1 - e->problem_bytes;
    const size_t kept = bytes < space ? bytes : space;
    memcpy(e->problem + e->problem_bytes, data, kept);
    e->problem_bytes += kept;
    e->problem[e->problem_bytes] = '\0';
    transfer->discarded += bytes;
    return transfer->discarded <= DISCARDED_MOST ? bytes : 0;
}

size_t sl_answer_body(char *data, size_t size, size_t count, void *argument)
{
    sl_transfer *transfer = argument;
    sl_exchange *e = transfer->exchange;
    const size_t bytes = size * count;
    transfer->byte_ns = sl_now_ns();
    if (e->status >= 300) {
        return answer_keep_problem(transfer, data, bytes);
    }
    const bool is_long = e->length >= 0 && (uint64_t)e->length > e->capacity;
    if (is_long || bytes > e->capacity - e->got) {
        sl_transfer_refuse(transfer, -EFBIG, "the server sends more than was requested");
        return 0;
    }
    memcpy(e->buffer + e->got, data, bytes);
    e->got += bytes;
    return bytes;
}
