/* SPDX-License-Identifier: Apache-2.0 */
#include "digest.h"

#include "checksum.h"
#include "digest_crypto.h"
#include "error.h"
#include "memory.h"

#include <stdalign.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define STAGE "digest"

typedef enum kind { XXH32_KIND, XXH64_KIND, XXH3_64_KIND, XXH3_128_KIND, CRYPTO_KIND } kind;

typedef struct known {
    const char *name;
    kind kind;
    const char *crypto; /* libcrypto's name */
} known;

static const known all[] = {
    {"xxh32", XXH32_KIND, NULL},
    {"xxh64", XXH64_KIND, NULL},
    {"xxh3_64", XXH3_64_KIND, NULL},
    {"xxh128", XXH3_128_KIND, NULL},
    {"xxh3_128", XXH3_128_KIND, NULL},
    {"md5", CRYPTO_KIND, "MD5"},
    {"sha1", CRYPTO_KIND, "SHA1"},
    {"sha224", CRYPTO_KIND, "SHA2-224"},
    {"sha256", CRYPTO_KIND, "SHA2-256"},
    {"sha384", CRYPTO_KIND, "SHA2-384"},
    {"sha512", CRYPTO_KIND, "SHA2-512"},
    {"sha3_224", CRYPTO_KIND, "SHA3-224"},
    {"sha3_256", CRYPTO_KIND, "SHA3-256"},
    {"sha3_384", CRYPTO_KIND, "SHA3-384"},
    {"sha3_512", CRYPTO_KIND, "SHA3-512"},
    {"blake2b", CRYPTO_KIND, "BLAKE2B-512"},
    {"blake2s", CRYPTO_KIND, "BLAKE2S-256"},
};
_Static_assert(sizeof(all) / sizeof(all[0]) == SL_DIGEST_NAMES, "so many names");

struct sl_digest {
    union {
        sl_checksum_stream xxh3_64;
        XXH32_state_t xxh32;
        XXH64_state_t xxh64;
        XXH3_state_t xxh3_128;
        void *crypto;
    } state;
    kind kind;
    bool failed;
    void *memory; /* the allocation that contains it, aligned */
};

static const known *digest_find(const char *name)
{
    for (size_t i = 0; i < SL_DIGEST_NAMES; i++) {
        if (strcmp(all[i].name, name) == 0) {
            return &all[i];
        }
    }
    return NULL;
}

const char *sl_digest_refused(const char *name)
{
    const known *of = digest_find(name);
    if (of == NULL) {
        return "unknown here";
    }
    return of->kind == CRYPTO_KIND ? sl_crypto_refused(of->crypto) : NULL;
}

static void digest_begin(sl_digest *digest, const known *of)
{
    switch (of->kind) {
    case XXH32_KIND:
        (void)XXH32_reset(&digest->state.xxh32, 0);
        break;
    case XXH64_KIND:
        (void)XXH64_reset(&digest->state.xxh64, 0);
        break;
    case XXH3_64_KIND:
        sl_checksum_begin(&digest->state.xxh3_64);
        break;
    case XXH3_128_KIND:
        (void)XXH3_128bits_reset(&digest->state.xxh3_128);
        break;
    case CRYPTO_KIND:
        digest->state.crypto = sl_crypto_open(of->crypto);
        digest->failed = digest->state.crypto == NULL;
        break;
    }
}

sluice_status sl_digest_open(sl_digest **digest, const char *name, sluice_error *error)
{
    const known *of = digest_find(name);
    const char *refused = sl_digest_refused(name);
    *digest = NULL;
    if (refused != NULL) {
        return sl_error_set(error, SLUICE_UNSUPPORTED, STAGE, "hash %s: %s", name, refused);
    }
    uint8_t *memory = sl_calloc(1, sizeof(sl_digest) + alignof(sl_digest));
    if (memory == NULL) {
        return sl_no_memory(error, STAGE, "for a hash");
    }
    const size_t beyond = (uintptr_t)memory % alignof(sl_digest);
    sl_digest *made = (sl_digest *)(void *)(memory + (alignof(sl_digest) - beyond));
    made->memory = memory;
    made->kind = of->kind;
    digest_begin(made, of);
    *digest = made;
    return SLUICE_OK;
}

void sl_digest_add(sl_digest *digest, const void *data, size_t bytes)
{
    switch (digest->kind) {
    case XXH32_KIND:
        (void)XXH32_update(&digest->state.xxh32, data, bytes);
        break;
    case XXH64_KIND:
        (void)XXH64_update(&digest->state.xxh64, data, bytes);
        break;
    case XXH3_64_KIND:
        sl_checksum_add(&digest->state.xxh3_64, data, bytes);
        break;
    case XXH3_128_KIND:
        (void)XXH3_128bits_update(&digest->state.xxh3_128, data, bytes);
        break;
    case CRYPTO_KIND:
        digest->failed = digest->failed || !sl_crypto_add(digest->state.crypto, data, bytes);
        break;
    }
}

static size_t digest_put(uint8_t *hash, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        hash[i] = (uint8_t)(value >> 8 * (bytes - 1 - i));
    }
    return bytes;
}

/* Writes the bytes in the usual order of digits. Returns their number. */
static size_t digest_finish(sl_digest *digest, uint8_t hash[SL_DIGEST_BYTES_MAX])
{
    XXH128_hash_t both;
    switch (digest->kind) {
    case XXH32_KIND:
        return digest_put(hash, XXH32_digest(&digest->state.xxh32), 4);
    case XXH64_KIND:
        return digest_put(hash, XXH64_digest(&digest->state.xxh64), 8);
    case XXH3_64_KIND:
        return digest_put(hash, sl_checksum_value(&digest->state.xxh3_64), 8);
    case XXH3_128_KIND:
        both = XXH3_128bits_digest(&digest->state.xxh3_128);
        return digest_put(hash, both.high64, 8) + digest_put(hash + 8, both.low64, 8);
    case CRYPTO_KIND:
        break;
    }
    return digest->failed ? 0 : sl_crypto_end(digest->state.crypto, hash);
}

bool sl_digest_text(sl_digest *digest, char text[SL_DIGEST_TEXT_BYTES])
{
    static const char digits[] = "0123456789abcdef";
    uint8_t hash[SL_DIGEST_BYTES_MAX];
    const size_t bytes = digest_finish(digest, hash);
    for (size_t i = 0; i < bytes; i++) {
        text[2 * i] = digits[hash[i] >> 4];
        text[2 * i + 1] = digits[hash[i] & 15];
    }
    text[2 * bytes] = '\0';
    return bytes > 0;
}

void sl_digest_close(sl_digest *digest)
{
    if (digest == NULL) {
        return;
    }
    if (digest->kind == CRYPTO_KIND) {
        sl_crypto_close(digest->state.crypto);
    }
    sl_free(digest->memory);
}
