/* SPDX-License-Identifier: Apache-2.0 */
/*
 * curl_library: libcurl and libcrypto, opened at run time.
 *
 * Purpose: most users never need the two libraries, and a wheel cannot carry them. sluice is built
 * with libcurl's headers, and opens the libraries (libcurl.so.4, libcrypto.so.3) with the first
 * remote address; SLUICE_LIBCURL names another libcurl. UNSUPPORTED names the missing library and
 * its package.
 * Threads: any; the libraries are opened once and kept. No other module includes curl/ or calls
 * libcurl.
 */
#ifndef SL_CURL_LIBRARY_H
#define SL_CURL_LIBRARY_H

#include <sluice/common.h>

#include <stdbool.h>
#include <stddef.h>

/* A pointer for each function of libcurl that the engine uses: curl_calls.h. */
typedef struct sl_curl_calls sl_curl_calls;

sluice_status sl_curl_library(const sl_curl_calls **calls, sluice_error *error);

/* Computes an HMAC-SHA256. Errors: UNSUPPORTED (no libcrypto). */
sluice_status sl_hmac_sha256(const void *key, size_t key_bytes, const void *data, size_t bytes,
                             unsigned char mac[32], sluice_error *error);
sluice_status sl_sha256(const void *data, size_t bytes, unsigned char hash[32],
                        sluice_error *error);

#endif
