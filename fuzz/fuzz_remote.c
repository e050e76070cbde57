/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_remote: texts that remote reading gets from users, servers and programs: addresses,
 * redirects, credentials in JSON and XML, dates, and AWS's files. They are accepted or rejected
 * with a reason; an address prints without user and query, and a redirect leads to http(s) only.
 *
 * The first byte of an input is its kind, the rest is the text. */
#include "fuzz.h"

#include "aws_profile.h"
#include "credentials_sources.h"
#include "error.h"
#include "url.h"

#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ADDRESS, REDIRECT, JSON, XML, DATE, PROFILE, KINDS };

static void try_address(const char *text)
{
    static sl_url url;
    static char printed[2 * SL_URL_BYTES];
    static char escaped[4 * SL_URL_BYTES];
    sluice_error error;
    sl_error_clear(&error);
    const sluice_status status = sl_url_parse(&url, text, &error);
    fuzz_expect(status == SLUICE_OK || error.text[0] != '\0', "a refusal has a reason");
    sl_url_print(text, printed, sizeof(printed));
    const bool is_web = strncasecmp(text, "http", 4) == 0 && sl_url_is(text);
    fuzz_expect(!is_web || strpbrk(printed, "?#") == NULL, "a query is not printed");
    if (status != SLUICE_OK) {
        return;
    }
    fuzz_expect(strpbrk(url.bucket, "@?# \r\n") == NULL, "a host or bucket is one");
    if (is_web) {
        for (const char *c = url.key; *c != '\0'; c++) {
            fuzz_expect(*c > ' ' && *c < 0x7f, "a path is fit for a request");
        }
    }
    fuzz_expect(sl_url_escape(escaped, sizeof(escaped), url.key, true), "an escape fits");
    (void)sl_url_unescape(escaped);
    fuzz_expect(strcmp(escaped, url.key) == 0, "unescaping reverses escaping");
}

/* "BASE\nLOCATION". */
static void try_redirect(char *text)
{
    char to[256];
    char *location = strchr(text, '\n');
    if (location == NULL) {
        return;
    }
    *location++ = '\0';
    if (sl_url_resolve(to, sizeof(to), text, location)) {
        const bool was_tls = strncasecmp(text, "https://", 8) == 0;
        fuzz_expect(strncasecmp(to, "https://", 8) == 0 ||
                        (!was_tls && strncasecmp(to, "http://", 7) == 0),
                    "a redirect leads to http(s), and TLS stays TLS");
        fuzz_expect(strpbrk(to, " \r\n") == NULL, "a redirect is fit for a request");
    }
}

static void try_credentials(const char *text, size_t bytes, bool is_xml)
{
    static const sl_answer_names names = {.access_key = "AccessKeyId",
                                          .secret_key = "SecretAccessKey",
                                          .token = "Token",
                                          .ends = "Expiration",
                                          .ends_in = "expires_in"};
    static sl_credentials credentials;
    sluice_error error;
    sl_error_clear(&error);
    memset(&credentials, 0, sizeof(credentials));
    const sluice_status status =
        is_xml ? sl_credentials_read_xml(text, "a server", &credentials, &error)
               : sl_credentials_read(text, bytes, "a server", &names, &credentials, &error);
    fuzz_expect(status == SLUICE_OK || error.text[0] != '\0', "a refusal has a reason");
    fuzz_expect(status != SLUICE_OK || credentials.access_key[0] != '\0', "credentials have a key");
    fuzz_expect(strpbrk(credentials.token, "\r\n") == NULL, "a token is one line");
}

static void try_profile(const char *text, size_t bytes)
{
    char path[64];
    sl_aws_profile profile;
    sluice_error error;
    const int fd = memfd_create("profile", MFD_CLOEXEC);
    sl_error_clear(&error);
    fuzz_expect(fd >= 0 && write(fd, text, bytes) == (ssize_t)bytes, "a file");
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    setenv("AWS_CONFIG_FILE", path, 1);
    setenv("AWS_SHARED_CREDENTIALS_FILE", path, 1);
    const sluice_status status = sl_aws_profile_open(&profile, "default", &error);
    fuzz_expect(status == SLUICE_OK || error.text[0] != '\0', "a refusal has a reason");
    sl_aws_profile_close(&profile);
    close(fd);
}

int fuzz_run(const uint8_t *data, size_t size)
{
    int64_t seconds;
    if (size == 0) {
        return 0;
    }
    char *text = malloc(size); /* of exactly that size: a sanitizer detects overreads */
    fuzz_expect(text != NULL, "memory");
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    switch (data[0] % KINDS) {
    case ADDRESS:
        try_address(text);
        break;
    case REDIRECT:
        try_redirect(text);
        break;
    case DATE:
        (void)sl_read_date(text, &seconds);
        break;
    case PROFILE:
        try_profile(text, size - 1);
        break;
    default:
        try_credentials(text, size - 1, data[0] % KINDS == XML);
    }
    free(text);
    return 0;
}

size_t fuzz_seed(unsigned index, uint8_t *buffer)
{
    static const struct {
        uint8_t kind;
        const char *text;
    } seeds[] = {
        {ADDRESS, "https://me:secret@Host.example:8080/a%20b/../c d?X-Amz-Signature=1#f"},
        {ADDRESS, "https://[2001:db8::1]:443/a?b=c&d"},
        {ADDRESS, "s3://bucket/a//b/../c?d#e=+ %"},
        {ADDRESS, "hf://datasets/owner/name@refs/convert/parquet/a/b.parquet"},
        {REDIRECT, "https://a.example/b/c?d\n../e/./f?g#h"},
        {REDIRECT, "http://a.example/b\nhttps://u@c.example:1/d"},
        {REDIRECT, "http://a.example\n//c/../d"},
        {JSON,
         "{\"Version\":1,\"Code\":\"Success\",\"AccessKeyId\":\"a\",\"SecretAccessKey\":\"b\","
         "\"Token\":\"c\",\"Expiration\":\"2026-11-29T08:00:00Z\",\"expires_in\":5}"},
        {XML, "<A><Credentials><AccessKeyId>a</AccessKeyId><SecretAccessKey>b</SecretAccessKey>"
              "<SessionToken>c</SessionToken><Expiration>2026-11-29T08:00:00Z</Expiration>"
              "</Credentials></A>"},
        {DATE, "2026-11-29T08:00:00.123+01:30"},
        {PROFILE, "# c\n[default]\nregion = a\nservices = x\ns3 =\n  endpoint_url = http://b\n"
                  "[profile \"default\"]\ncredential_process: 'a b' c\n[services x]\ns3 =\n"
                  "\tendpoint_url = http://c\nsts=\n endpoint_url=d\n"},
    };
    if (index >= sizeof(seeds) / sizeof(*seeds)) {
        return 0;
    }
    const size_t length = strlen(seeds[index].text);
    buffer[0] = seeds[index].kind;
    memcpy(buffer + 1, seeds[index].text, length);
    return length + 1;
}
