/* SPDX-License-Identifier: Apache-2.0 */
/* Signs requests by AWS Signature Version 4 (docs.aws.amazon.com, "Authenticating Requests"). */
#include "sign.h"

#include "curl_library.h"
#include "error.h"
#include "url.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HASH_BYTES = 32, HASH_TEXT = 2 * HASH_BYTES + 1, PARAMETERS = 64 };

/* The hash of an empty body. */
#define EMPTY_HASH "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static const char stage[] = "remote";

/* Text that is built piece by piece. */
typedef struct canonical {
    size_t length;
    bool cut;
    char text[4 * SL_URL_BYTES + SL_SIGN_HEADER_BYTES + 2 * SL_HOST_BYTES];
} canonical;

static void canonical_add(canonical *to, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void canonical_add(canonical *to, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const size_t space = sizeof(to->text) - to->length;
    const int length = vsnprintf(to->text + to->length, space, format, arguments);
    va_end(arguments);
    to->cut = to->cut || length < 0 || (size_t)length >= space;
    to->length += to->cut ? 0 : (size_t)length;
}

static void hash_text(char text[HASH_TEXT], const unsigned char hash[HASH_BYTES])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < HASH_BYTES; i++) {
        text[2 * i] = digits[hash[i] >> 4];
        text[2 * i + 1] = digits[hash[i] & 15];
    }
    text[HASH_TEXT - 1] = '\0';
}

static sluice_status hash_bytes_of(char text[HASH_TEXT], const void *data, size_t bytes,
                                   sluice_error *error)
{
    unsigned char hash[HASH_BYTES];
    const sluice_status status = sl_sha256(data, bytes, hash, error);
    if (status == SLUICE_OK) {
        hash_text(text, hash);
    }
    return status;
}

/* ---- the canonical request ---- */

typedef struct parameter {
    const char *text;
    size_t name, length; /* without and with the value */
} parameter;

static int compare_parts(const char *a, size_t a_bytes, const char *b, size_t b_bytes)
{
    const int order = memcmp(a, b, a_bytes < b_bytes ? a_bytes : b_bytes);
    return order != 0 ? order : (a_bytes > b_bytes) - (a_bytes < b_bytes);
}

/* Sorts by name, then by value. */
static int compare_parameters(const void *a_item, const void *b_item)
{
    const parameter *a = a_item;
    const parameter *b = b_item;
    const int order = compare_parts(a->text, a->name, b->text, b->name);
    return order != 0 ? order
                      : compare_parts(a->text + a->name, a->length - a->name, b->text + b->name,
                                      b->length - b->name);
}

static void add_sorted_query(canonical *to, const char *query)
{
    parameter parameters[PARAMETERS];
    size_t count = 0;
    while (query != NULL && *query != '\0' && !to->cut) {
        const size_t length = strcspn(query, "&");
        if (count == PARAMETERS) {
            to->cut = true;
            return;
        }
        if (length > 0) {
            parameters[count++] =
                (parameter){.text = query, .name = strcspn(query, "=&"), .length = length};
        }
        query += length + (query[length] == '&');
    }
    if (count > 0) {
        qsort(parameters, count, sizeof(*parameters), compare_parameters);
    }
    for (size_t i = 0; i < count; i++) {
        const parameter *one = &parameters[i];
        canonical_add(to, "%s%.*s%s", i > 0 ? "&" : "", (int)one->length, one->text,
                      one->name == one->length ? "=" : "");
    }
}

static void add_path(canonical *to, const char *path)
{
    to->cut = to->cut || strlen(path) >= SL_URL_BYTES ||
              !sl_url_escape(to->text + to->length, sizeof(to->text) - to->length, path, true);
    to->length += to->cut ? 0 : strlen(to->text + to->length);
}

typedef struct signing {
    const sl_sign_keys *keys;
    const sl_sign_request *request;
    char payload[HASH_TEXT]; /* hash, or UNSIGNED-PAYLOAD */
    char time[20];           /* 20130524T000000Z */
    char scope[192];         /* 20130524/us-east-1/s3/aws4_request */
    bool has_token;
} signing;

static const char *signed_names(const signing *own)
{
    return own->has_token ? "host;x-amz-content-sha256;x-amz-date;x-amz-security-token"
                          : "host;x-amz-content-sha256;x-amz-date";
}

static sluice_status hash_request(const signing *own, char text[HASH_TEXT], sluice_error *error)
{
    canonical whole; /* not cleared: it is large */
    whole.length = 0;
    whole.cut = false;
    canonical_add(&whole, "%s\n", own->request->method);
    add_path(&whole, own->request->path);
    canonical_add(&whole, "\n");
    add_sorted_query(&whole, own->request->query);
    canonical_add(&whole, "\nhost:%s\nx-amz-content-sha256:%s\nx-amz-date:%s\n", own->request->host,
                  own->payload, own->time);
    if (own->has_token) {
        canonical_add(&whole, "x-amz-security-token:%s\n", own->keys->token);
    }
    canonical_add(&whole, "\n%s\n%s", signed_names(own), own->payload);
    if (whole.cut) {
        return sl_error_set(error, SLUICE_INVALID, stage,
                            "the request is too long to sign: path, query or session token");
    }
    return hash_bytes_of(text, whole.text, whole.length, error);
}

/* ---- the signature ---- */

static sluice_status sign_text(unsigned char mac[HASH_BYTES], const char *text, sluice_error *error)
{
    unsigned char key[HASH_BYTES];
    memcpy(key, mac, sizeof(key));
    return sl_hmac_sha256(key, sizeof(key), text, strlen(text), mac, error);
}

/* The last derived key of each thread. Four of the five HMACs of a signature depend only on the
 * secret, day, region and service: without them, signing takes less than half of the time. */
static _Thread_local struct {
    char secret[256], scope[192];
    unsigned char key[HASH_BYTES];
} derived;

static sluice_status derive_key(const signing *own, unsigned char mac[HASH_BYTES],
                                sluice_error *error)
{
    char secret[260];
    char day[9];
    memcpy(day, own->time, 8);
    day[8] = '\0';
    const int length = snprintf(secret, sizeof(secret), "AWS4%s", own->keys->secret_key);
    if (length < 0 || (size_t)length >= sizeof(secret)) {
        return sl_error_set(error, SLUICE_INVALID, stage,
                            "the secret key is too long: at most 255 bytes");
    }
    sluice_status status = sl_hmac_sha256(secret, (size_t)length, day, 8, mac, error);
    const char *const parts[] = {own->request->region, own->request->service, "aws4_request"};
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts) && status == SLUICE_OK; i++) {
        status = sign_text(mac, parts[i], error);
    }
    explicit_bzero(secret, sizeof(secret));
    return status;
}

/* Finds the key of one day, region and service. */
static sluice_status find_signing_key(const signing *own, unsigned char key[HASH_BYTES],
                                      sluice_error *error)
{
    if (strcmp(derived.scope, own->scope) != 0 ||
        strcmp(derived.secret, own->keys->secret_key) != 0) {
        derived.scope[0] = '\0';
        const sluice_status status = derive_key(own, derived.key, error);
        if (status != SLUICE_OK) {
            return status;
        }
        memcpy(derived.scope, own->scope, sizeof(derived.scope));
        snprintf(derived.secret, sizeof(derived.secret), "%s", own->keys->secret_key);
    }
    memcpy(key, derived.key, HASH_BYTES);
    return SLUICE_OK;
}

static bool add_signed(sl_signed *to, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool add_signed(sl_signed *to, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(to->headers[to->count++], SL_SIGN_HEADER_BYTES, format, arguments);
    va_end(arguments);
    return length >= 0 && length < SL_SIGN_HEADER_BYTES;
}

static sluice_status write_headers(sl_signed *to, const signing *own, const char *signature,
                                   sluice_error *error)
{
    to->count = 0;
    const bool fits =
        add_signed(to,
                   "Authorization: AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, "
                   "Signature=%s",
                   own->keys->access_key, own->scope, signed_names(own), signature) &&
        add_signed(to, "x-amz-content-sha256: %s", own->payload) &&
        add_signed(to, "x-amz-date: %s", own->time) &&
        (!own->has_token || add_signed(to, "x-amz-security-token: %s", own->keys->token));
    if (!fits) {
        return sl_error_set(error, SLUICE_INVALID, stage,
                            "the access key or the session token is too long: at most 4,096 bytes");
    }
    return SLUICE_OK;
}

/* Rejects line ends in header values from other sources: they would begin another header. */
static bool is_one_line(const char *text)
{
    return text == NULL || strpbrk(text, "\r\n") == NULL;
}

static sluice_status begin_signing(signing *own, sluice_error *error)
{
    const sl_sign_request *request = own->request;
    struct tm utc;
    if (!is_one_line(own->keys->access_key) || !is_one_line(own->keys->token) ||
        !is_one_line(request->host) || !is_one_line(request->region)) {
        return sl_error_set(error, SLUICE_INVALID, stage,
                            "a key, token, region or host contains a line end");
    }
    if (gmtime_r(&request->now, &utc) == NULL || utc.tm_year < 70 || utc.tm_year > 8099) {
        return sl_error_set(error, SLUICE_INVALID, stage, "the clock's time cannot be signed");
    }
    strftime(own->time, sizeof(own->time), "%Y%m%dT%H%M%SZ", &utc);
    own->has_token = own->keys->token != NULL && own->keys->token[0] != '\0';
    const int length = snprintf(own->scope, sizeof(own->scope), "%.8s/%s/%s/aws4_request",
                                own->time, request->region, request->service);
    if (length < 0 || (size_t)length >= sizeof(own->scope)) {
        return sl_error_set(error, SLUICE_INVALID, stage, "the region is too long");
    }
    if (request->unsigned_payload || request->body_bytes == 0) {
        snprintf(own->payload, sizeof(own->payload), "%s",
                 request->unsigned_payload ? "UNSIGNED-PAYLOAD" : EMPTY_HASH);
        return SLUICE_OK;
    }
    return hash_bytes_of(own->payload, request->body, request->body_bytes, error);
}

sluice_status sl_sign_v4(sl_signed *signature, const sl_sign_keys *keys,
                         const sl_sign_request *request, sluice_error *error)
{
    signing own = {.keys = keys, .request = request};
    char hash[HASH_TEXT];
    char text[384];
    unsigned char mac[HASH_BYTES];
    sluice_status status = begin_signing(&own, error);
    if (status == SLUICE_OK) {
        status = hash_request(&own, hash, error);
    }
    if (status == SLUICE_OK) {
        status = find_signing_key(&own, mac, error);
    }
    if (status == SLUICE_OK) {
        snprintf(text, sizeof(text), "AWS4-HMAC-SHA256\n%s\n%s\n%s", own.time, own.scope, hash);
        status = sign_text(mac, text, error);
    }
    if (status == SLUICE_OK) {
        hash_text(hash, mac);
        status = write_headers(signature, &own, hash, error);
    }
    return status;
}
