/* SPDX-License-Identifier: Apache-2.0 */
/*
 * url: addresses of remote objects, split into parts and put together.
 *
 * Purpose: parses "s3://bucket/key", "gs://bucket/key", "hf://datasets/OWNER/NAME[@REVISION]/PATH"
 * and "http(s)://host[:port]/path[?query]", and returns the part of an address that may be printed.
 * In s3, gs and hf addresses everything after the bucket is the key, byte by byte: nothing is
 * unescaped, and "?", "#", "//", "." and ".." belong to it. An http(s) path is sent as written,
 * except for bytes that a request may not contain, which are escaped. An address with a user or a
 * fragment is rejected. Threads: pure.
 */
#ifndef SL_URL_H
#define SL_URL_H

#include <sluice/common.h>

#include <stdbool.h>
#include <stddef.h>

typedef enum sl_scheme {
    SL_SCHEME_HTTP = 0,
    SL_SCHEME_HTTPS,
    SL_SCHEME_S3,
    SL_SCHEME_GS,
    SL_SCHEME_HF,
    SL_SCHEMES
} sl_scheme;

#define SL_URL_BYTES  4096U
#define SL_HOST_BYTES 256U

typedef struct sl_url {
    sl_scheme scheme;
    char bucket[SL_HOST_BYTES]; /* s3, gs: the bucket; http(s): host[:port] in lower case; hf:
                                   "datasets/OWNER/NAME" */
    char revision[128];         /* hf: raw ("refs/convert/parquet"); "main" by default */
    char key[SL_URL_BYTES]; /* without the leading slash: raw for s3, gs, hf; escaped for http(s) */
    char query[SL_URL_BYTES]; /* http(s), without "?": usually a secret (signed addresses) */
} sl_url;

/* True if the address has one of these schemes (in lower or upper case). */
bool sl_url_is(const char *address);
/* Errors: INVALID, with the reason but without secrets. */
sluice_status sl_url_parse(sl_url *url, const char *address, sluice_error *error);
/* Writes the part of an address that may be printed, cut to `bytes`: without user, query and
 * fragment. */
void sl_url_print(const char *address, char *text, size_t bytes);

/* Escapes all bytes except A-Z a-z 0-9 - . _ ~, and except "/" if `keeps_slashes`. False: the
 * result does not fit. */
bool sl_url_escape(char *to, size_t bytes, const char *from, bool keeps_slashes);
/* Reverses sl_url_escape in place. An escape that is not valid, or would give a NUL, stays as it
 * is. Returns the length. */
size_t sl_url_unescape(char *text);

/* Resolves a Location header against the URL of the request. False: the result does not fit, names
 * a user, or has another scheme than http and https. An https URL never leads to http. */
bool sl_url_resolve(char *to, size_t bytes, const char *base, const char *location);

#endif
