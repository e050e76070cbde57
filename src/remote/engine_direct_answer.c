/* SPDX-License-Identifier: Apache-2.0 */
/* engine_direct_answer: receives the answer to a request: its head, and its body by RFC 9112. */
#include "clock.h"
#include "engine_direct.h"
#include "minmax.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

/* Read size of a head: bytes of the body received with it have to be copied. */
#define HEAD_BYTES ((size_t)4 << 10)

ssize_t sl_direct_read(sl_direct *direct, void *to, size_t bytes)
{
    sl_transfer *transfer = direct->transfer;
    const sl_tls_calls *tls = &transfer->thread->calls->tls;
    if (direct->ssl == NULL) {
        const ssize_t got = recv(direct->fd, to, bytes, 0);
        if (got >= 0 || errno == EAGAIN || errno == EINTR) {
            return got;
        }
        char reason[128];
        (void)snprintf(transfer->error, sizeof(transfer->error), "Recv failure: %s",
                       strerror_r(errno, reason, sizeof(reason)));
        return -2;
    }
    tls->clear_error();
    const int got = tls->read(direct->ssl, to, bytes < INT_MAX ? (int)bytes : INT_MAX);
    if (got > 0) {
        return got;
    }
    switch (tls->get_error(direct->ssl, got)) {
    case SL_TLS_WANT_READ:
    case SL_TLS_WANT_WRITE:
        return -1;
    case SL_TLS_ZERO_RETURN:
        return 0;
    default:
        (void)snprintf(transfer->error, sizeof(transfer->error),
                       "the TLS connection broke off or is damaged");
        return -2;
    }
}

/* The result of a step. */
typedef enum step {
    STEP_ON,    /* continue with the next */
    STEP_WAITS, /* wait for the socket */
    STEP_ENDS   /* the transfer ends with `code` */
} step;

/* Receives at most `bytes` more input. At the connection's end `*eof` is set. */
static step receive_input(sl_direct *direct, size_t bytes, bool *eof, CURLcode *code)
{
    if (direct->at > 0) {
        memmove(direct->input, direct->input + direct->at, direct->end - direct->at);
        direct->end -= direct->at;
        direct->at = 0;
    }
    const size_t space = SL_DIRECT_INPUT_BYTES - direct->end;
    const ssize_t got =
        sl_direct_read(direct, direct->input + direct->end, bytes < space ? bytes : space);
    *eof = got == 0;
    if (got == -2) {
        *code = CURLE_RECV_ERROR;
        return STEP_ENDS;
    }
    if (got > 0) {
        direct->end += (size_t)got;
        direct->transfer->byte_ns = sl_now_ns();
    }
    return got < 0 ? STEP_WAITS : STEP_ON;
}

/* ---- lines ---- */

/* Returns the length of the next line of the input, with its end; 0: not complete. */
static size_t line_bytes(const sl_direct *direct)
{
    const char *from = direct->input + direct->at;
    const char *end = memchr(from, '\n', direct->end - direct->at);
    return end != NULL ? (size_t)(end - from) + 1 : 0;
}

static bool is_empty_line(const char *line, size_t bytes)
{
    return bytes == 1 || (bytes == 2 && line[0] == '\r');
}

static step receive_line(sl_direct *direct, CURLcode *code)
{
    bool eof;
    if (direct->at == 0 && direct->end == SL_DIRECT_INPUT_BYTES) {
        sl_transfer_refuse(direct->transfer, -EBADMSG,
                           "the answer has more than 64 KiB of headers");
        *code = CURLE_WRITE_ERROR;
        return STEP_ENDS;
    }
    const step done = receive_input(direct, HEAD_BYTES, &eof, code);
    if (eof) {
        const bool nothing = direct->transfer->header_bytes == 0 && direct->at == direct->end;
        *code = nothing ? CURLE_GOT_NOTHING : CURLE_PARTIAL_FILE;
        if (!nothing) {
            (void)snprintf(direct->transfer->error, sizeof(direct->transfer->error),
                           "the connection was closed within the head of the answer");
        }
        return STEP_ENDS;
    }
    return done;
}

/* ---- the head ---- */

static bool line_is(const char *line, size_t bytes, const char *name, const char **value)
{
    const size_t length = strlen(name);
    if (bytes <= length || line[length] != ':' || strncasecmp(line, name, length) != 0) {
        return false;
    }
    *value = line + length + 1;
    return true;
}

/* Parses digits with spaces around them, to the line's end. False: anything else. */
static bool read_framing_number(const char *text, const char *end, uint32_t base, uint64_t *number)
{
    bool any = false;
    *number = 0;
    while (text < end && (*text == ' ' || *text == '\t')) {
        text++;
    }
    for (; text < end; text++) {
        const char c = *text;
        const char *digits = "0123456789abcdef";
        const char *found = c != '\0' ? strchr(digits, c >= 'A' && c <= 'F' ? c + 32 : c) : NULL;
        if (found == NULL || (uint64_t)(found - digits) >= base) {
            break;
        }
        if (*number > (uint64_t)INT64_MAX / base - 1) {
            return false;
        }
        *number = *number * base + (uint64_t)(found - digits);
        any = true;
    }
    while (text < end && (*text == ' ' || *text == '\t' || *text == '\r' || *text == '\n')) {
        text++;
    }
    return any && text == end;
}

/* Returns whether the text, which ends at `end`, contains the word, in any case. */
static bool line_has_word(const char *text, const char *end, const char *word)
{
    const size_t length = strlen(word);
    for (; (size_t)(end - text) >= length; text++) {
        if (strncasecmp(text, word, length) == 0) {
            return true;
        }
    }
    return false;
}

/* Returns whether the text is the word, in any case, with spaces around it. */
static bool line_is_word(const char *text, const char *end, const char *word)
{
    const size_t length = strlen(word);
    while (text < end && strchr(" \t", *text) != NULL) {
        text++;
    }
    while (end > text && strchr(" \t\r\n", end[-1]) != NULL) {
        end--;
    }
    return (size_t)(end - text) == length && strncasecmp(text, word, length) == 0;
}

/* Parses a header that all programs read alike. False: not a header, or it continues the body's
 * framing on a second line. If only some programs see a header, the connection is not kept. */
static bool read_header_line(sl_direct *direct, const char *line, size_t bytes)
{
    const size_t end = bytes - (bytes > 1 && line[bytes - 2] == '\r' ? 2 : 1);
    const char *colon = memchr(line, ':', end);
    const bool folded = line[0] == ' ' || line[0] == '\t';
    const bool again = bytes >= 5 && memcmp(line, "HTTP/", 5) == 0;
    if (memchr(line, '\0', end) != NULL || again || (folded ? direct->framed : colon == NULL)) {
        return false;
    }
    const size_t name = !folded ? (size_t)(colon - line) : 0;
    if (memchr(line, ' ', name) != NULL || memchr(line, '\t', name) != NULL ||
        memchr(line, '\r', end) != NULL) {
        direct->keeps = false;
    }
    return true;
}

/* Parses how the body is framed. False: two programs may read different bodies from it. */
static bool read_framing(sl_direct *direct, const char *line, size_t bytes)
{
    const char *end = line + bytes;
    const char *value;
    uint64_t length;
    direct->framed = true;
    if (line_is(line, bytes, "Content-Length", &value)) {
        if (!read_framing_number(value, end, 10, &length) ||
            (direct->has_length && direct->left != length)) {
            return false;
        }
        direct->has_length = true;
        direct->left = length;
    } else if (line_is(line, bytes, "Transfer-Encoding", &value)) {
        direct->keeps = direct->keeps && !direct->has_chunks;
        direct->has_chunks = line_is_word(value, end, "chunked");
        return direct->has_chunks;
    } else if (line_is(line, bytes, "Connection", &value)) {
        direct->keeps = direct->keeps && !line_has_word(value, end, "close");
    } else {
        direct->framed = false;
    }
    return true;
}

static step end_head(sl_direct *direct, CURLcode *code)
{
    sl_transfer *transfer = direct->transfer;
    const int status = transfer->exchange->status;
    if (status >= 100 && status < 200) { /* the answer follows */
        *code = CURLE_WEIRD_SERVER_REPLY;
        direct->has_status = direct->has_length = direct->has_chunks = false;
        return status == 101 ? STEP_ENDS : STEP_ON;
    }
    if (status == 204 || status == 304) {
        direct->phase = SL_DIRECT_DONE;
    } else if (direct->has_chunks) {
        direct->keeps = direct->keeps && !direct->has_length;
        direct->phase = SL_DIRECT_CHUNK_SIZE;
    } else if (direct->has_length) {
        direct->phase = SL_DIRECT_COUNTED;
    } else {
        direct->keeps = false;
        direct->phase = SL_DIRECT_UNCOUNTED;
    }
    return STEP_ON;
}

static step step_head(sl_direct *direct, CURLcode *code)
{
    static const char http[] = "HTTP/1.";
    sl_transfer *transfer = direct->transfer;
    char *line = direct->input + direct->at;
    const size_t bytes = line_bytes(direct);
    const bool is_first = !direct->has_status;
    const size_t known = sl_min_size(direct->end - direct->at, sizeof(http) - 1);
    if (is_first && memcmp(line, http, known) != 0) {
        *code = CURLE_WEIRD_SERVER_REPLY;
        return STEP_ENDS;
    }
    if (bytes == 0) {
        return receive_line(direct, code);
    }
    direct->at += bytes;
    *code = CURLE_WEIRD_SERVER_REPLY;
    if (!is_first && !is_empty_line(line, bytes) && !read_header_line(direct, line, bytes)) {
        return STEP_ENDS;
    }
    *code = CURLE_WRITE_ERROR;
    if (sl_answer_header(line, 1, bytes, transfer) != bytes) {
        return STEP_ENDS;
    }
    *code = CURLE_WEIRD_SERVER_REPLY;
    if (is_first) {
        direct->has_status = true;
        direct->framed = false;
        direct->keeps = direct->keeps && bytes > 8 && line[7] != '0'; /* HTTP/1.0 */
        return transfer->exchange->status >= 100 ? STEP_ON : STEP_ENDS;
    }
    if (is_empty_line(line, bytes)) {
        return end_head(direct, code);
    }
    return read_framing(direct, line, bytes) ? STEP_ON : STEP_ENDS;
}

/* ---- the body ---- */

static step body_broke_off(sl_direct *direct, CURLcode *code)
{
    sl_transfer *transfer = direct->transfer;
    *code = CURLE_PARTIAL_FILE;
    (void)snprintf(transfer->error, sizeof(transfer->error),
                   "transfer closed with %llu bytes remaining to read",
                   (unsigned long long)direct->left);
    return STEP_ENDS;
}

/* Receives a part of a good answer's body into the caller's buffer. */
static step receive_body(sl_direct *direct, CURLcode *code)
{
    sl_transfer *transfer = direct->transfer;
    sl_exchange *e = transfer->exchange;
    const ssize_t got = sl_direct_read(direct, e->buffer + e->got, direct->left);
    if (got == -2) {
        *code = CURLE_RECV_ERROR;
        return STEP_ENDS;
    }
    if (got == 0) {
        return body_broke_off(direct, code);
    }
    if (got > 0) {
        transfer->byte_ns = sl_now_ns();
        e->got += (size_t)got;
        direct->left -= (uint64_t)got;
    }
    return got < 0 ? STEP_WAITS : STEP_ON;
}

/* Passes at most `left` bytes of the input to the exchange. */
static step use_input(sl_direct *direct, CURLcode *code)
{
    const size_t bytes = (size_t)sl_min_u64(direct->end - direct->at, direct->left);
    if (sl_answer_body(direct->input + direct->at, 1, bytes, direct->transfer) != bytes) {
        *code = CURLE_WRITE_ERROR;
        return STEP_ENDS;
    }
    direct->at += bytes;
    direct->left -= bytes;
    return STEP_ON;
}

static step step_body(sl_direct *direct, sl_direct_phase after, CURLcode *code)
{
    const sl_exchange *e = direct->transfer->exchange;
    bool eof;
    if (direct->left == 0) {
        direct->phase = after;
        return STEP_ON;
    }
    if (direct->at < direct->end) {
        return use_input(direct, code);
    }
    if (e->status < 300 && direct->left <= e->capacity - e->got) {
        return receive_body(direct, code);
    }
    if (e->status < 300) {
        sl_transfer_refuse(direct->transfer, -EFBIG, "the server sends more than was requested");
        *code = CURLE_WRITE_ERROR;
        return STEP_ENDS;
    }
    const step done = receive_input(direct, HEAD_BYTES, &eof, code);
    return eof ? body_broke_off(direct, code) : done;
}

static step step_uncounted(sl_direct *direct, CURLcode *code)
{
    bool eof;
    direct->left = UINT64_MAX;
    if (direct->at < direct->end) {
        return use_input(direct, code);
    }
    const step done = receive_input(direct, SL_DIRECT_INPUT_BYTES, &eof, code);
    if (eof) {
        direct->phase = SL_DIRECT_DONE;
    }
    return done;
}

/* Handles a line between chunks: a size, the end of a chunk, or a trailer after the last. */
static step step_chunk_line(sl_direct *direct, CURLcode *code)
{
    const char *line = direct->input + direct->at;
    const size_t bytes = line_bytes(direct);
    if (bytes == 0) {
        return receive_line(direct, code);
    }
    direct->at += bytes;
    *code = CURLE_WEIRD_SERVER_REPLY;
    switch (direct->phase) {
    case SL_DIRECT_CHUNK_SIZE: {
        const char *extension = memchr(line, ';', bytes);
        if (!read_framing_number(line, extension != NULL ? extension : line + bytes, 16,
                                 &direct->left)) {
            return STEP_ENDS;
        }
        direct->phase = direct->left > 0 ? SL_DIRECT_CHUNK : SL_DIRECT_TRAILER;
        return STEP_ON;
    }
    case SL_DIRECT_CHUNK_END:
        direct->phase = SL_DIRECT_CHUNK_SIZE;
        return is_empty_line(line, bytes) ? STEP_ON : STEP_ENDS;
    default: /* a trailer: ignored, but it must end */
        if (is_empty_line(line, bytes)) {
            direct->phase = SL_DIRECT_DONE;
            return STEP_ON;
        }
        direct->transfer->header_bytes += (uint32_t)bytes;
        if (direct->transfer->header_bytes <= SL_HEADER_BYTES_MOST) {
            return STEP_ON;
        }
        sl_transfer_refuse(direct->transfer, -EBADMSG,
                           "the answer has more than 64 KiB of headers");
        return STEP_ENDS;
    }
}

static step direct_step(sl_direct *direct, CURLcode *code)
{
    switch (direct->phase) {
    case SL_DIRECT_HEAD:
        return step_head(direct, code);
    case SL_DIRECT_COUNTED:
        return step_body(direct, SL_DIRECT_DONE, code);
    case SL_DIRECT_CHUNK:
        return step_body(direct, SL_DIRECT_CHUNK_END, code);
    case SL_DIRECT_UNCOUNTED:
        return step_uncounted(direct, code);
    case SL_DIRECT_CHUNK_SIZE:
    case SL_DIRECT_CHUNK_END:
    case SL_DIRECT_TRAILER:
        return step_chunk_line(direct, code);
    default:
        *code = CURLE_OK;
        return STEP_ENDS;
    }
}

void sl_direct_receive(sl_direct *direct)
{
    sl_transfer *transfer = direct->transfer;
    CURLcode code = CURLE_OK;
    step done = STEP_ON;
    while (done == STEP_ON) {
        done = direct_step(direct, &code);
    }
    if (done == STEP_WAITS) {
        return;
    }
    const bool nothing = transfer->header_bytes == 0 && direct->end == 0;
    if (direct->rested && nothing && (code == CURLE_GOT_NOTHING || code == CURLE_RECV_ERROR)) {
        sl_transfer_again(transfer); /* the server had closed it */
        return;
    }
    sl_transfer_finish(transfer, code, 0, NULL);
}
