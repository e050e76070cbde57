/* SPDX-License-Identifier: Apache-2.0 */
/* curl_library: opens libcurl and libcrypto once a process, under pthread_once. After that,
 * everything is read-only. */
#include "curl_calls.h"

#include "error.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STAGE "remote"

/* Since 7.80 a callback can reject an address before a request is sent. */
#define CURL_NEEDS "libcurl 7.80 or newer (Debian and Ubuntu: apt install libcurl4)"

typedef struct library_symbol {
    const char *name;
    void **place;
} library_symbol;

/* Written once, by load_curl. */
static struct {
    sl_curl_calls calls;
    bool usable;
    sluice_error why;
} curl;

/* libcrypto's functions, by their prototypes in openssl/hmac.h and openssl/sha.h. Written once. */
static struct {
    unsigned char *(*hmac)(const void *kind, const void *key, int key_bytes,
                           const unsigned char *data, size_t bytes, unsigned char *mac,
                           unsigned *mac_bytes);
    const void *(*kind)(void);
    unsigned char *(*sha256)(const unsigned char *data, size_t bytes, unsigned char *hash);
    bool usable;
    sluice_error why;
} crypto;

static pthread_once_t curl_once = PTHREAD_ONCE_INIT;
static pthread_once_t crypto_once = PTHREAD_ONCE_INIT;

/* Finds all functions. NULL: success; else the name of a missing one. */
static const char *find_functions(void *library, const library_symbol *symbols, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        void *found = dlsym(library, symbols[i].name);
        if (found == NULL) {
            return symbols[i].name;
        }
        memcpy(symbols[i].place, &found, sizeof(found));
    }
    return NULL;
}

/* libcurl-gnutls.so.4 has the same interface; only its symbol versions differ. */
static void *open_curl(void)
{
    static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
    const char *given = secure_getenv("SLUICE_LIBCURL");
    if (given != NULL && given[0] != '\0') {
        return dlopen(given, RTLD_NOW | RTLD_LOCAL);
    }
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        if (library != NULL) {
            return library;
        }
    }
    return NULL;
}

/* Returns whether the program itself has functions of these names, like a program that contains
 * OpenSSL may. libcurl then calls those instead of its library's, which would be a different
 * TLS. */
static bool are_replaced(const library_symbol *symbols, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        void *own;
        memcpy(&own, symbols[i].place, sizeof(own));
        void *found = dlsym(RTLD_DEFAULT, symbols[i].name);
        if (found != NULL && found != own) {
            return true;
        }
    }
    return false;
}

/* If libcurl was linked with OpenSSL, dlsym finds the functions of that OpenSSL through libcurl. */
static void find_tls(void *library, const curl_version_info_data *info)
{
    sl_tls_calls *tls = &curl.calls.tls;
    const library_symbol symbols[] = {
        {"SSL_CTX_set_default_read_buffer_len",
         (void **)(void *)&tls->ctx_set_default_read_buffer_len},
        {"SSL_CTX_sess_set_new_cb", (void **)(void *)&tls->ctx_sess_set_new_cb},
        {"SSL_get_SSL_CTX", (void **)(void *)&tls->get_ssl_ctx},
        {"SSL_set_fd", (void **)(void *)&tls->set_fd},
        {"SSL_set_read_ahead", (void **)(void *)&tls->set_read_ahead},
        {"SSL_read", (void **)(void *)&tls->read},
        {"SSL_write", (void **)(void *)&tls->write},
        {"SSL_get_error", (void **)(void *)&tls->get_error},
        {"ERR_clear_error", (void **)(void *)&tls->clear_error},
    };
    const size_t count = sizeof(symbols) / sizeof(symbols[0]);
    curl.calls.has_tls =
        info->ssl_version != NULL && strncmp(info->ssl_version, "OpenSSL/", 8) == 0 &&
        find_functions(library, symbols, count) == NULL && !are_replaced(symbols, count);
}

static void load_curl(void)
{
#define SYMBOL(member, function) {#function, (void **)(void *)&curl.calls.member},
    const library_symbol symbols[] = {SL_CURL_FUNCTIONS(SYMBOL)};
#undef SYMBOL
    curl_version_info_data *(*version)(CURLversion) = NULL;
    const library_symbol first[] = {{"curl_version_info", (void **)(void *)&version}};
    void *library = open_curl();
    if (library == NULL) {
        const char *why = dlerror(); /* NOLINT(concurrency-mt-unsafe): it is each thread's own */
        sl_error_set(&curl.why, SLUICE_UNSUPPORTED, STAGE,
                     "reading from object stores needs " CURL_NEEDS ": %s",
                     why != NULL ? why : "it is not installed");
        return;
    }
    const char *missing = find_functions(library, first, 1);
    const curl_version_info_data *info = missing == NULL ? version(CURLVERSION_NOW) : NULL;
    if (info == NULL || info->version_num < 0x075000) {
        sl_error_set(&curl.why, SLUICE_UNSUPPORTED, STAGE,
                     "libcurl %s is too old: reading from object stores needs " CURL_NEEDS,
                     info != NULL ? info->version : "without a version");
        return;
    }
    missing = find_functions(library, symbols, sizeof(symbols) / sizeof(symbols[0]));
    if (missing != NULL) {
        sl_error_set(&curl.why, SLUICE_UNSUPPORTED, STAGE,
                     "libcurl %s has no function %s: reading from object stores needs " CURL_NEEDS,
                     info->version, missing);
        return;
    }
    if (curl.calls.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        sl_error_set(&curl.why, SLUICE_UNSUPPORTED, STAGE, "libcurl %s cannot be initialized",
                     info->version);
        return;
    }
    find_tls(library, info);
    curl.usable = true;
}

sluice_status sl_curl_library(const sl_curl_calls **calls, sluice_error *error)
{
    if (pthread_once(&curl_once, load_curl) != 0) {
        abort();
    }
    *calls = curl.usable ? &curl.calls : NULL;
    if (!curl.usable && error != NULL) {
        *error = curl.why;
    }
    return curl.usable ? SLUICE_OK : SLUICE_UNSUPPORTED;
}

static void load_crypto(void)
{
    const library_symbol symbols[] = {
        {"HMAC", (void **)(void *)&crypto.hmac},
        {"EVP_sha256", (void **)(void *)&crypto.kind},
        {"SHA256", (void **)(void *)&crypto.sha256},
    };
    void *library = dlopen("libcrypto.so.3", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL ||
        find_functions(library, symbols, sizeof(symbols) / sizeof(symbols[0])) != NULL) {
        sl_error_set(&crypto.why, SLUICE_UNSUPPORTED, STAGE,
                     "signing requests needs libcrypto.so.3 (Debian and Ubuntu: apt install "
                     "libssl3)");
        return;
    }
    crypto.usable = true;
}

static sluice_status crypto_library(sluice_error *error)
{
    if (pthread_once(&crypto_once, load_crypto) != 0) {
        abort();
    }
    if (!crypto.usable && error != NULL) {
        *error = crypto.why;
    }
    return crypto.usable ? SLUICE_OK : SLUICE_UNSUPPORTED;
}

sluice_status sl_hmac_sha256(const void *key, size_t key_bytes, const void *data, size_t bytes,
                             unsigned char mac[32], sluice_error *error)
{
    unsigned mac_bytes = 32;
    const sluice_status status = crypto_library(error);
    if (status != SLUICE_OK) {
        return status;
    }
    if (key_bytes > INT_MAX ||
        crypto.hmac(crypto.kind(), key, (int)key_bytes, data, bytes, mac, &mac_bytes) == NULL) {
        return sl_error_set(error, SLUICE_UNSUPPORTED, STAGE,
                            "libcrypto does not provide HMAC-SHA256, which signs requests");
    }
    return SLUICE_OK;
}

sluice_status sl_sha256(const void *data, size_t bytes, unsigned char hash[32], sluice_error *error)
{
    const sluice_status status = crypto_library(error);
    if (status != SLUICE_OK) {
        return status;
    }
    if (crypto.sha256(data, bytes, hash) == NULL) {
        return sl_error_set(error, SLUICE_UNSUPPORTED, STAGE,
                            "libcrypto does not provide SHA-256, which signs requests");
    }
    return SLUICE_OK;
}
