/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that all rows of providers share: request texts, and answers by the rules of HTTP. */
#include "provider.h"

#include "error.h"
#include "settings.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { HEADERS_MOST = 8 };

const sl_provider *sl_provider_of(sl_scheme scheme)
{
    static const sl_provider *const rows[SL_SCHEMES] = {[SL_SCHEME_HTTP] = &sl_provider_http,
                                                        [SL_SCHEME_HTTPS] = &sl_provider_http,
                                                        [SL_SCHEME_S3] = &sl_provider_s3,
                                                        [SL_SCHEME_GS] = &sl_provider_gs,
                                                        [SL_SCHEME_HF] = &sl_provider_hf};
    return rows[scheme];
}

/* ---- requests ---- */

bool sl_request_add(sl_request_text *text, const char *format, ...)
{
    if (text->header_count >= HEADERS_MOST) {
        return false;
    }
    char *header = text->headers[text->header_count];
    va_list values;
    va_start(values, format);
    const int length = vsnprintf(header, SL_SIGN_HEADER_BYTES, format, values);
    va_end(values);
    if (length < 0 || length >= (int)SL_SIGN_HEADER_BYTES) {
        return false;
    }
    text->header_list[text->header_count++] = header;
    return true;
}

bool sl_request_set_host(sl_request_text *text)
{
    const char *from = strstr(text->url, "://");
    if (from == NULL) {
        return false;
    }
    from += 3;
    const size_t bytes = strcspn(from, "/?#");
    if (bytes == 0 || bytes >= sizeof(text->host)) {
        return false;
    }
    memcpy(text->host, from, bytes);
    text->host[bytes] = '\0';
    return true;
}

/* Rejects ETags with line ends: listings may contain any bytes, and these would begin another
 * header. */
static bool fits_header(const char *etag)
{
    while (*etag != '\0' && !iscntrl((unsigned char)*etag)) {
        etag++;
    }
    return *etag == '\0';
}

/* Adds If-Match. A weak ETag never matches it, so answers are compared instead. */
bool sl_request_match(sl_request_text *text, const char *etag)
{
    return etag[0] == '\0' || strncmp(etag, "W/", 2) == 0 || !fits_header(etag) ||
           sl_request_add(text, "If-Match: %s", etag);
}

sluice_status sl_request_moved(sl_request_text *text, const char *moved, const char *etag,
                               sluice_error *error)
{
    text->header_count = 0;
    const int length = snprintf(text->url, sizeof(text->url), "%s", moved);
    return length >= 0 && (size_t)length < sizeof(text->url) && sl_request_set_host(text) &&
                   sl_request_match(text, etag)
               ? SLUICE_OK
               : sl_error_set(error, SLUICE_INVALID, "remote",
                              "the address that the server redirects to is too long");
}

/* ---- answers ---- */

static sl_answer provider_wrong(char reason[SL_REASON_BYTES], const char *why)
{
    (void)snprintf(reason, SL_REASON_BYTES, "%s", why);
    return SL_ANSWER_WRONG;
}

static sl_answer check_whole(const sl_exchange *x, char reason[SL_REASON_BYTES])
{
    if (x->length >= 0 && (uint64_t)x->length != x->got) {
        return provider_wrong(reason, "the body ended early");
    }
    return SL_ANSWER_GOOD;
}

/* Checks an answer to an ignored Range: it is valid only if the object is no longer than the
 * range. */
static sl_answer check_unranged(const sl_exchange *x, char reason[SL_REASON_BYTES])
{
    const uint64_t asked = x->last - x->first + 1;
    if (x->first != 0 || x->length < 0 || (uint64_t)x->length > asked) {
        return provider_wrong(
            reason, "the server does not serve byte ranges: it answered 200 instead of 206");
    }
    return check_whole(x, reason);
}

static sl_answer provider_check_range(const sl_exchange *x, char reason[SL_REASON_BYTES])
{
    const bool ends = x->total != UINT64_MAX && x->last >= x->total;
    const uint64_t last = ends ? x->total - 1 : x->last;
    if (!x->has_range || x->total == 0 || x->range_first != x->first || x->range_last != last) {
        return provider_wrong(reason, "the answer has another range than requested");
    }
    const uint64_t bytes = last - x->first + 1;
    if (x->got != bytes || (x->length >= 0 && (uint64_t)x->length != bytes)) {
        return provider_wrong(reason, x->got < bytes
                                          ? "the body ended early"
                                          : "the body is longer than the requested range");
    }
    return SL_ANSWER_GOOD;
}

static sl_answer check_good(const sl_exchange *x, char reason[SL_REASON_BYTES])
{
    const bool ranged = x->has_bytes;
    if (x->content_encoding[0] != '\0' && strcmp(x->content_encoding, "identity") != 0) {
        (void)snprintf(reason, SL_REASON_BYTES, "the server compressed the body (%s)",
                       x->content_encoding);
        return SL_ANSWER_WRONG;
    }
    if (x->status == 206) {
        return ranged
                   ? provider_check_range(x, reason)
                   : provider_wrong(reason, "the server answered 206 to a request without a range");
    }
    return ranged ? check_unranged(x, reason) : check_whole(x, reason);
}

static sl_answer answer_of_status(int status)
{
    switch (status) {
    case 401:
    case 403:
        return SL_ANSWER_REFUSED;
    case 404:
    case 410:
        return SL_ANSWER_MISSING;
    case 412:
        return SL_ANSWER_REPLACED;
    case 416:
        return SL_ANSWER_BEYOND;
    case 408:
    case 425:
    case 429:
    case 500:
    case 502:
    case 503:
    case 504:
        return SL_ANSWER_BUSY;
    default:
        return SL_ANSWER_REFUSED;
    }
}

sl_answer sl_answer_of_http(const sl_exchange *exchange, const char *code,
                            char reason[SL_REASON_BYTES])
{
    const int status = exchange->status;
    reason[0] = '\0';
    if (status == 200 || status == 206) {
        return check_good(exchange, reason);
    }
    (void)snprintf(reason, SL_REASON_BYTES, "the server answered %d%s%s", status,
                   code[0] != '\0' ? " " : "", code);
    if (status == 301 || status == 302 || status == 303 || status == 307 || status == 308) {
        return exchange->location != NULL ? SL_ANSWER_MOVED : SL_ANSWER_WRONG;
    }
    return answer_of_status(status);
}

static bool asks_unsigned(void)
{
    const sl_remote_settings *settings = NULL;
    sluice_error error;
    if (sl_remote_settings_get(&settings, &error) < 0) {
        return false;
    }
    const bool anonymous = settings->anonymous;
    sl_remote_settings_release(settings);
    return anonymous;
}

void sl_reason_add_source(char reason[SL_REASON_BYTES], sl_credentials_kind kind)
{
    sl_credentials credentials;
    const size_t length = strlen(reason);
    if (kind == SL_CREDENTIALS_KINDS ||
        sl_credentials_ask(kind, &credentials, NULL, NULL, NULL) != SL_ASK_READY) {
        return;
    }
    if (credentials.none) {
        (void)snprintf(reason + length, SL_REASON_BYTES - length,
                       asks_unsigned() ? ", without credentials, as configured (anonymous)"
                                       : ", without credentials: none were found");
    } else {
        (void)snprintf(reason + length, SL_REASON_BYTES - length, ", with credentials of: %s",
                       credentials.source);
    }
}
