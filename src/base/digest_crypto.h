/* SPDX-License-Identifier: Apache-2.0 */
/*
 * digest_crypto: hashes that libcrypto makes.
 *
 * Purpose: the one place that knows it. It is optional: without it there are none. Threads: a
 * context belongs to its user. Memory: libcrypto's own, some hundred bytes a context.
 */
#ifndef SL_DIGEST_CRYPTO_H
#define SL_DIGEST_CRYPTO_H

#include "digest.h"

/* Why hashes of this name, which is libcrypto's, cannot be made; NULL: they can. */
const char *sl_crypto_refused(const char *name);
/* A context; NULL: it cannot be made. */
void *sl_crypto_open(const char *name);
bool sl_crypto_add(void *context, const void *data, size_t bytes);
/* The hash, once: how many bytes it has; 0: it cannot be made. */
size_t sl_crypto_end(void *context, unsigned char hash[SL_DIGEST_BYTES_MAX]);
/* NULL is fine. */
void sl_crypto_close(void *context);

#endif
