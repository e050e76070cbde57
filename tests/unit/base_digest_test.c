/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes against known answers from RFC 1321, FIPS 180 and 202, RFC 7693, and xxHash's own tool.
 * The ones that need libcrypto are either all available or all rejected. */
#include "digest.h"
#include "digest_crypto.h"
#include "test.h"

#include <string.h>

/* Hashes of "abc". */
static const struct answer {
    const char *name, *digits;
} answers[] = {
    {"xxh32", "32d153ff"},
    {"xxh64", "44bc2cf5ad770999"},
    {"xxh3_64", "78af5f94892f3950"},
    {"xxh128", "06b05ab6733a618578af5f94892f3950"},
    {"xxh3_128", "06b05ab6733a618578af5f94892f3950"},
    {"md5", "900150983cd24fb0d6963f7d28e17f72"},
    {"sha1", "a9993e364706816aba3e25717850c26c9cd0d89d"},
    {"sha224", "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7"},
    {"sha256", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
    {"sha384", "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed"
               "8086072ba1e7cc2358baeca134c825a7"},
    {"sha512", "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
               "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"},
    {"sha3_224", "e642824c3f8cf24ad09234ee7d3c766fc9a3a5168d0c94ad73b46fdf"},
    {"sha3_256", "3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532"},
    {"sha3_384", "ec01498288516fc926459f58e2c6ad8df9b473cb0fc08c2596da7cf0e49be4b2"
                 "98d88cea927ac7f539f1edf228376d25"},
    {"sha3_512", "b751850b1a57168a5693cd924b6b096e08f621827444f70d884f5d0240d2712e"
                 "10e116e9192af3c91a7ec57647e3934057340b4cf408d5a56592f8274eec53f0"},
    {"blake2b", "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1"
                "7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923"},
    {"blake2s", "508c5e8c327c14e2e1a72ba34eeb452f37458b209ed63a294d999b4c86675982"},
};

TEST(known_answers)
{
    assert_int_equal(sizeof(answers) / sizeof(answers[0]), SL_DIGEST_NAMES);
    for (size_t i = 0; i < SL_DIGEST_NAMES; i++) {
        char text[SL_DIGEST_TEXT_BYTES];
        sl_digest *digest;
        const char *refused = sl_digest_refused(answers[i].name);
        if (refused != NULL) {
            assert_string_equal(refused, "built without libcrypto");
            assert_true(strncmp(answers[i].name, "xxh", 3) != 0);
            assert_int_equal(sl_digest_open(&digest, answers[i].name, NULL), SLUICE_UNSUPPORTED);
            assert_null(digest);
            continue;
        }
        for (size_t cut = 0; cut <= 3; cut++) {
            assert_int_equal(sl_digest_open(&digest, answers[i].name, NULL), SLUICE_OK);
            sl_digest_add(digest, "abc", cut);
            sl_digest_add(digest, &"abc"[cut], 3 - cut);
            assert_true(sl_digest_text(digest, text));
            assert_string_equal(text, answers[i].digits);
            sl_digest_close(digest);
        }
    }
    sl_digest_close(NULL);
}

TEST(others_are_refused)
{
    static const char *const names[] = {"", "xxh", "crc32", "SHA1", "shake_128", "sha512_256"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        sluice_error error = SLUICE_ERROR_INIT;
        sl_digest *digest;
        assert_string_equal(sl_digest_refused(names[i]), "unknown here");
        assert_int_equal(sl_digest_open(&digest, names[i], &error), SLUICE_UNSUPPORTED);
        assert_null(digest);
        assert_non_null(strstr(error.text, "unknown here"));
    }
    assert_non_null(sl_crypto_refused("no such hash"));
    assert_null(sl_crypto_open("no such hash"));
}
