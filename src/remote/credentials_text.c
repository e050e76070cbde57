/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the output of credential sources: variables, small files, JSON, XML and dates. */
#include "credentials_sources.h"
#include "error.h"
#include "file.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

static const char stage[] = "remote";

const char *sl_credentials_variable(const char *name)
{
    const char *value = secure_getenv(name);
    return value != NULL && *value != '\0' ? value : NULL;
}

bool sl_credentials_variable_is_true(const char *name)
{
    const char *value = sl_credentials_variable(name);
    return value != NULL && (strcasecmp(value, "true") == 0 || strcmp(value, "1") == 0);
}

bool sl_credentials_copy(char *to, size_t bytes, const char *from)
{
    const size_t length = strlen(from);
    for (size_t i = 0; i < length; i++) {
        const unsigned char c = (unsigned char)from[i];
        if (c < ' ' || c == 0x7f) {
            return false;
        }
    }
    if (length == 0 || length >= bytes) {
        return false;
    }
    memcpy(to, from, length + 1);
    return true;
}

sluice_status sl_credentials_read_file(const char *path, char *to, size_t bytes, bool *missing,
                                       sluice_error *error)
{
    const sl_file_name name = {.stage = stage, .path = path};
    sl_file_identity identity;
    sluice_error reason;
    int fd = -1;
    sl_error_clear(&reason);
    sluice_status status = sl_file_open(name, &fd, &identity, &reason);
    if (status != SLUICE_OK && missing != NULL &&
        (reason.sys_errno == ENOENT || reason.sys_errno == ENOTDIR)) {
        *missing = true;
        return SLUICE_OK;
    }
    if (status == SLUICE_OK && identity.bytes >= bytes) {
        status = sl_error_file(&reason, SLUICE_INVALID, stage, 0, path, -1,
                               "the file is too large: at most %zu bytes", bytes - 1);
    }
    if (status == SLUICE_OK) {
        status = sl_file_read(fd, name, to, identity.bytes, 0, &reason);
    }
    sl_file_close(fd);
    if (status != SLUICE_OK) {
        *error = reason;
        return status;
    }
    size_t length = identity.bytes;
    while (length > 0 && isspace((unsigned char)to[length - 1])) {
        length--;
    }
    to[length] = '\0';
    const size_t blanks = strspn(to, " \t\r\n");
    memmove(to, to + blanks, length - blanks + 1);
    const char *at = to;
    while ((unsigned char)*at >= ' ' && *at != 0x7f) {
        at++;
    }
    return *at == '\0' && at > to ? SLUICE_OK
                                  : sl_error_file(error, SLUICE_INVALID, stage, 0, path, -1,
                                                  "the file does not contain a token in one line");
}

/* ---- dates ---- */

/* Reads two digits. False: not two digits. */
static bool read_two_digits(const char **text, int most, int *number)
{
    if (!isdigit((unsigned char)(*text)[0]) || !isdigit((unsigned char)(*text)[1])) {
        return false;
    }
    *number = ((*text)[0] - '0') * 10 + ((*text)[1] - '0');
    *text += 2;
    return *number <= most;
}

/* Reads "+02:00", "-0130", "Z" or nothing. False: anything else. */
static bool read_offset(const char *text, int64_t *seconds)
{
    const int sign = *text == '-' ? -1 : 1;
    int hours = 0;
    int minutes = 0;
    *seconds = 0;
    if (strcmp(text, "Z") == 0 || *text == '\0') {
        return true;
    }
    if (*text != '+' && *text != '-') {
        return false;
    }
    text++;
    if (!read_two_digits(&text, 23, &hours)) {
        return false;
    }
    text += *text == ':';
    if (!read_two_digits(&text, 59, &minutes) || *text != '\0') {
        return false;
    }
    *seconds = (int64_t)sign * (hours * 3600 + minutes * 60);
    return true;
}

bool sl_read_date(const char *text, int64_t *seconds)
{
    struct tm utc = {.tm_isdst = 0};
    int64_t offset = 0;
    const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &utc);
    if (rest == NULL) {
        return false;
    }
    if (*rest == '.') {
        rest++;
        rest += strspn(rest, "0123456789");
    }
    if (!read_offset(rest, &offset)) {
        return false;
    }
    *seconds = (int64_t)timegm(&utc) - offset;
    return true;
}

/* ---- answers ---- */

static sluice_status refuse_answer(const char *who, const char *what, sluice_error *error)
{
    return sl_error_set(error, SLUICE_CORRUPT, stage, "%s gave no usable credentials: %s", who,
                        what);
}

/* Copies a string member. False: not a string, or it does not fit. */
static bool take_credential_member(const json_t *object, const char *name, char *to, size_t bytes)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text != NULL && sl_credentials_copy(to, bytes, text);
}

static bool take_credentials_end(const json_t *object, const sl_answer_names *names,
                                 int64_t *ends_s)
{
    const json_t *ends = names->ends == NULL ? NULL : json_object_get(object, names->ends);
    const json_t *ends_in = names->ends_in == NULL ? NULL : json_object_get(object, names->ends_in);
    *ends_s = 0;
    if (json_is_integer(ends_in)) {
        *ends_s = (int64_t)time(NULL) + json_integer_value(ends_in);
    }
    return ends == NULL || json_is_null(ends) ||
           (json_is_string(ends) && sl_read_date(json_string_value(ends), ends_s));
}

static sluice_status read_credentials_object(const json_t *object, const char *who,
                                             const sl_answer_names *names,
                                             sl_credentials *credentials, sluice_error *error)
{
    const char *code = json_string_value(json_object_get(object, "Code"));
    if (!json_is_object(object)) {
        return refuse_answer(who, "not an object in JSON", error);
    }
    if (code != NULL && strcmp(code, "Success") != 0) {
        return sl_error_set(error, SLUICE_IO, stage, "%s refused: %.80s", who, code);
    }
    if (names->access_key != NULL &&
        (!take_credential_member(object, names->access_key, credentials->access_key,
                                 sizeof(credentials->access_key)) ||
         !take_credential_member(object, names->secret_key, credentials->secret_key,
                                 sizeof(credentials->secret_key)))) {
        return refuse_answer(who, "a key is missing, too long, or not a text", error);
    }
    const json_t *token = json_object_get(object, names->token);
    const bool has_token = token != NULL && !json_is_null(token);
    if ((has_token || names->needs_token) &&
        !take_credential_member(object, names->token, credentials->token,
                                sizeof(credentials->token))) {
        return refuse_answer(who, "the token is missing, too long, or not a text", error);
    }
    return take_credentials_end(object, names, &credentials->ends_s)
               ? SLUICE_OK
               : refuse_answer(who, "the end is not a date", error);
}

sluice_status sl_credentials_read(const char *text, size_t bytes, const char *who,
                                  const sl_answer_names *names, sl_credentials *credentials,
                                  sluice_error *error)
{
    json_t *object = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, NULL);
    const sluice_status status =
        object == NULL ? refuse_answer(who, "not valid JSON", error)
                       : read_credentials_object(object, who, names, credentials, error);
    json_decref(object);
    return status;
}

/* Copies the text between <NAME> and </NAME>. False: not found, or it does not fit. */
static bool take_credential_element(const char *text, const char *name, char *to, size_t bytes)
{
    char open[40];
    char close[40];
    char value[4200];
    snprintf(open, sizeof(open), "<%s>", name);
    snprintf(close, sizeof(close), "</%s>", name);
    const char *begin = strstr(text, open);
    const char *end = begin == NULL ? NULL : strstr(begin, close);
    if (end == NULL) {
        return false;
    }
    begin += strlen(open);
    const size_t length = (size_t)(end - begin);
    if (length >= sizeof(value) || memchr(begin, '<', length) != NULL ||
        memchr(begin, '&', length) != NULL) {
        return false;
    }
    memcpy(value, begin, length);
    value[length] = '\0';
    return sl_credentials_copy(to, bytes, value);
}

sluice_status sl_credentials_read_xml(const char *text, const char *who,
                                      sl_credentials *credentials, sluice_error *error)
{
    char ends[64] = "";
    const char *inside = strstr(text, "<Credentials>");
    if (inside == NULL ||
        !take_credential_element(inside, "AccessKeyId", credentials->access_key,
                                 sizeof(credentials->access_key)) ||
        !take_credential_element(inside, "SecretAccessKey", credentials->secret_key,
                                 sizeof(credentials->secret_key)) ||
        !take_credential_element(inside, "SessionToken", credentials->token,
                                 sizeof(credentials->token))) {
        return refuse_answer(who, "a key or the token is missing or too long", error);
    }
    if (!take_credential_element(inside, "Expiration", ends, sizeof(ends)) ||
        !sl_read_date(ends, &credentials->ends_s)) {
        return refuse_answer(who, "the end is not a date", error);
    }
    return SLUICE_OK;
}
