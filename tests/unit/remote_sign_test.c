/* SPDX-License-Identifier: Apache-2.0 */
/* Tests request signatures: AWS's published examples, and limits. With --lines, signs the requests
 * of its input for remote_sign.py, which compares them with botocore's. */
#include "curl_library.h"
#include "error.h"
#include "sign.h"
#include "test.h"
#include "url.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html */
static const sl_sign_keys example_keys = {.access_key = "AKIAIOSFODNN7EXAMPLE",
                                          .secret_key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"};
#define EXAMPLE_TIME 1369353600 /* 24 May 2013 */

static sl_sign_request example(const char *query)
{
    return (sl_sign_request){.method = "GET",
                             .host = "examplebucket.s3.amazonaws.com",
                             .path = "/",
                             .query = query,
                             .region = "us-east-1",
                             .service = "s3",
                             .now = EXAMPLE_TIME};
}

static void check_signature(const sl_sign_request *request, const char *signature)
{
    sl_signed signed_headers;
    sluice_error error;
    char expected[512];
    sl_error_clear(&error);
    assert_int_equal(sl_sign_v4(&signed_headers, &example_keys, request, &error), SLUICE_OK);
    snprintf(expected, sizeof(expected),
             "Authorization: AWS4-HMAC-SHA256 "
             "Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
             "SignedHeaders=host;x-amz-content-sha256;x-amz-date, Signature=%s",
             signature);
    assert_int_equal(signed_headers.count, 3);
    assert_string_equal(signed_headers.headers[0], expected);
    assert_string_equal(signed_headers.headers[1],
                        "x-amz-content-sha256: "
                        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    assert_string_equal(signed_headers.headers[2], "x-amz-date: 20130524T000000Z");
}

TEST(signs_the_published_examples)
{
    const sl_sign_request lifecycle = example("lifecycle");
    check_signature(&lifecycle, "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
    const sl_sign_request list = example("prefix=J&max-keys=2");
    check_signature(&list, "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

static sluice_status sign_long(const char *path, const char *query, const char *secret,
                               const char *token)
{
    const sl_sign_keys keys = {.access_key = "A", .secret_key = secret, .token = token};
    sl_sign_request request = example(query);
    request.path = path;
    sl_signed signed_headers;
    sluice_error error;
    sl_error_clear(&error);
    const sluice_status status = sl_sign_v4(&signed_headers, &keys, &request, &error);
    if (status != SLUICE_OK) {
        assert_true(error.text[0] != '\0');
        assert_null(strstr(error.text, "xxx"));
    }
    return status;
}

TEST(refuses_what_does_not_fit)
{
    static char text[24000];
    memset(text, 'x', sizeof(text) - 1);
    char *const end = text + sizeof(text) - 1;
    text[0] = '/';
    assert_int_equal(sign_long(end - SL_URL_BYTES, "", "s", ""), SLUICE_INVALID);
    assert_int_equal(sign_long(end - SL_URL_BYTES + 1, "", "s", ""), SLUICE_OK);
    assert_int_equal(sign_long("/", text, "s", ""), SLUICE_INVALID);
    assert_int_equal(sign_long("/", "", end - 255, ""), SLUICE_OK);
    assert_int_equal(sign_long("/", "", end - 256, ""), SLUICE_INVALID);
    assert_int_equal(sign_long("/", "", "s", end - 4095), SLUICE_OK);
    assert_int_equal(sign_long("/", "", "s", end - 5000), SLUICE_INVALID);
    assert_int_equal(sign_long("/", "", "s", "xxx\r\nX: y"), SLUICE_INVALID);
    for (size_t i = 0; i + 2 < sizeof(text); i += 2) {
        text[i] = 'a';
        text[i + 1] = '&';
    }
    assert_int_equal(sign_long("/", end - 127, "s", ""), SLUICE_OK);
    assert_int_equal(sign_long("/", end - 129, "s", ""), SLUICE_INVALID);
    sl_sign_request request = example("");
    request.now = -1;
    sl_signed signed_headers;
    sluice_error error;
    sl_error_clear(&error);
    assert_int_equal(sl_sign_v4(&signed_headers, &example_keys, &request, &error), SLUICE_INVALID);
}

/* ---- for remote_sign.py ---- */

enum { FIELDS = 11 };

/* Converts hexadecimal digits to bytes in place. Returns the number of bytes. */
static size_t bytes_of(char *field)
{
    size_t bytes = 0;
    for (; field[2 * bytes] != '\0'; bytes++) {
        const char digits[] = {field[2 * bytes], field[2 * bytes + 1], '\0'};
        field[bytes] = (char)strtol(digits, NULL, 16);
    }
    field[bytes] = '\0';
    return bytes;
}

/* method host path query region service access secret token body unsigned:now, all but the last in
 * hexadecimal digits. */
static bool sign_line(char *line)
{
    char *fields[FIELDS];
    size_t bytes[FIELDS];
    char *rest = line;
    for (int i = 0; i < FIELDS; i++) {
        fields[i] = strsep(&rest, " \n");
        bytes[i] = fields[i] == NULL || i == FIELDS - 1 ? 0 : bytes_of(fields[i]);
    }
    if (fields[FIELDS - 1] == NULL) {
        return false;
    }
    const sl_sign_keys keys = {
        .access_key = fields[6], .secret_key = fields[7], .token = fields[8]};
    const sl_sign_request request = {.method = fields[0],
                                     .host = fields[1],
                                     .path = fields[2],
                                     .query = fields[3],
                                     .region = fields[4],
                                     .service = fields[5],
                                     .body = fields[9],
                                     .body_bytes = bytes[9],
                                     .unsigned_payload = fields[10][0] == '1',
                                     .now = strtoll(fields[10] + 2, NULL, 10)};
    sl_signed signed_headers;
    sluice_error error;
    sl_error_clear(&error);
    if (sl_sign_v4(&signed_headers, &keys, &request, &error) != SLUICE_OK) {
        printf("%s\n", error.text);
        return true;
    }
    for (int i = 0; i < signed_headers.count; i++) {
        printf("%s%s", i > 0 ? "|" : "", signed_headers.headers[i]);
    }
    printf("\n");
    return true;
}

static int sign_lines(void)
{
    char *line = NULL;
    size_t capacity = 0;
    bool good = true;
    while (good && getline(&line, &capacity, stdin) >= 0) {
        good = sign_line(line);
    }
    free(line);
    return good ? 0 : 1;
}

int main(int count, char **arguments)
{
    unsigned char hash[32];
    sluice_error error;
    sl_error_clear(&error);
    if (sl_sha256("", 0, hash, &error) == SLUICE_UNSUPPORTED) {
        printf("skipped: %s\n", error.text);
        return 77;
    }
    return count > 1 && strcmp(arguments[1], "--lines") == 0 ? sign_lines() : test_run(NULL, NULL);
}
