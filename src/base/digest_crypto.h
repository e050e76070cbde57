/* SPDX-License-Identifier: Apache-2.0 */
/*
 * digest_crypto: hashes made by libcrypto.
 *
 * Purpose: the one place that uses libcrypto, which is optional. Threads: a context belongs to its
 * user. Memory: libcrypto's own, some hundred bytes a context.
 */
#ifndef SL_DIGEST_CRYPTO_H
#define SL_DIGEST_CRYPTO_H

#include "digest.h"

/* Returns the reason hashes of this name, which is libcrypto's, are not available; NULL: they
 * are. */
const char *sl_crypto_refused(const char *name);
/* Opens a context; NULL: it cannot be made. */
void *sl_crypto_open(const char *name);
bool sl_crypto_add(void *context, const void *data, size_t bytes);
/* Writes the hash, once. Returns its bytes; 0: it cannot be made. */
size_t sl_crypto_end(void *context, unsigned char hash[SL_DIGEST_BYTES_MAX]);
/* Closes a context; NULL is a no-op. */
void sl_crypto_close(void *context);

#endif
