/* SPDX-License-Identifier: Apache-2.0 */
#include "digest_crypto.h"

#include <openssl/evp.h>

/* A hash that a policy of the machine forbids (MD5 under FIPS, for example) is not available
 * either. */
const char *sl_crypto_refused(const char *name)
{
    EVP_MD *kind = EVP_MD_fetch(NULL, name, NULL);
    const bool there = kind != NULL && EVP_MD_get_size(kind) <= SL_DIGEST_BYTES_MAX;
    EVP_MD_free(kind);
    return there ? NULL : "not provided by libcrypto";
}

void *sl_crypto_open(const char *name)
{
    EVP_MD *kind = EVP_MD_fetch(NULL, name, NULL);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    if (kind == NULL || context == NULL || EVP_DigestInit_ex(context, kind, NULL) != 1) {
        EVP_MD_CTX_free(context);
        context = NULL;
    }
    EVP_MD_free(kind); /* the context has its own reference */
    return context;
}

bool sl_crypto_add(void *context, const void *data, size_t bytes)
{
    return EVP_DigestUpdate(context, data, bytes) == 1;
}

size_t sl_crypto_end(void *context, unsigned char hash[SL_DIGEST_BYTES_MAX])
{
    unsigned size = 0;
    return EVP_DigestFinal_ex(context, hash, &size) == 1 ? size : 0;
}

void sl_crypto_close(void *context)
{
    EVP_MD_CTX_free(context);
}
