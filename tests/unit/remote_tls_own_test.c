/* SPDX-License-Identifier: Apache-2.0 */
/* A program with its own OpenSSL, here a single function that libcurl calls, too. */
#include "curl_calls.h"
#include "test.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((visibility("default"))) void own_clear_error(void) __asm__("ERR_clear_error");
void own_clear_error(void) {}

TEST(tls_of_another_openssl_is_left_to_libcurl)
{
    const sl_curl_calls *calls;
    sluice_error error;
    if (sl_curl_library(&calls, &error) != SLUICE_OK) {
        (void)printf("%s\n", error.text);
        exit(77);
    }
    assert_non_null(dlsym(RTLD_DEFAULT, "ERR_clear_error"));
    assert_false(calls->has_tls);
}

TEST_GROUP(NULL, NULL)
