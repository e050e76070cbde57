/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sign: AWS Signature Version 4 of requests without a body, or with a small one.
 *
 * Purpose: makes the Authorization and x-amz-* headers of a request to an S3 store. It signs host,
 * x-amz-date, x-amz-content-sha256 and x-amz-security-token. It never signs Range, which a caching
 * proxy rewrites. The payload is UNSIGNED-PAYLOAD over TLS, and the hash of the body otherwise. The
 * path is escaped once and not normalised: dot segments and double slashes belong to keys.
 * HMAC-SHA256 is libcrypto's, which is found at run time (curl_library.h). Threads: any.
 */
#ifndef SL_SIGN_H
#define SL_SIGN_H

#include <sluice/common.h>

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

typedef struct sl_sign_keys {
    const char *access_key, *secret_key;
    const char *token; /* "" or NULL: none */
} sl_sign_keys;

typedef struct sl_sign_request {
    const char *method; /* "GET" */
    const char *host;   /* with ":port" unless it is the scheme's own */
    const char *path;   /* raw, from its leading slash; shorter than SL_URL_BYTES */
    const char *query;  /* "a=b&c=d", each name and value escaped, in any order; "" or NULL: none */
    const char *region, *service; /* "s3" */
    const void *body;
    size_t body_bytes;
    bool unsigned_payload;
    time_t now; /* corrected by the server's clock (hosts.h) */
} sl_sign_request;

/* A header may carry a session token of sl_credentials. */
enum { SL_SIGN_HEADERS = 4, SL_SIGN_HEADER_BYTES = 4160 };

/* "Name: value" each, to be sent with the request. */
typedef struct sl_signed {
    char headers[SL_SIGN_HEADERS][SL_SIGN_HEADER_BYTES];
    int count;
} sl_signed;

/* Errors: UNSUPPORTED (no libcrypto), INVALID (a part is too long, or has a line end). */
sluice_status sl_sign_v4(sl_signed *signature, const sl_sign_keys *keys,
                         const sl_sign_request *request, sluice_error *error);

#endif
