/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces digest_crypto.c in builds without libcrypto. */
#include "digest_crypto.h"

const char *sl_crypto_refused(const char *name)
{
    (void)name;
    return "built without libcrypto";
}

void *sl_crypto_open(const char *name)
{
    (void)name;
    return NULL;
}

bool sl_crypto_add(void *context, const void *data, size_t bytes)
{
    (void)context;
    (void)data;
    (void)bytes;
    return false;
}

// NOLINTNEXTLINE(readability-non-const-parameter): as the other file has it
size_t sl_crypto_end(void *context, unsigned char hash[SL_DIGEST_BYTES_MAX])
{
    (void)context;
    (void)hash;
    return 0;
}

void sl_crypto_close(void *context)
{
    (void)context;
}
