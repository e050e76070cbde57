/* SPDX-License-Identifier: Apache-2.0 */
/* Reads one profile of AWS's config and credentials files, line by line. */
#include "aws_profile.h"

#include "error.h"
#include "file.h"
#include "memory.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { FILE_BYTES_MAX = 1 << 20 };

static const char stage[] = "remote";

static const char *const value_names[SL_AWS_ENDPOINT_S3] = {
    [SL_AWS_ACCESS_KEY] = "aws_access_key_id",
    [SL_AWS_SECRET_KEY] = "aws_secret_access_key",
    [SL_AWS_TOKEN] = "aws_session_token",
    [SL_AWS_PROCESS] = "credential_process",
    [SL_AWS_ROLE] = "role_arn",
    [SL_AWS_SESSION_NAME] = "role_session_name",
    [SL_AWS_WEB_TOKEN_FILE] = "web_identity_token_file",
    [SL_AWS_SOURCE_PROFILE] = "source_profile",
    [SL_AWS_CREDENTIAL_SOURCE] = "credential_source",
    [SL_AWS_SSO_SESSION] = "sso_session",
    [SL_AWS_SSO_URL] = "sso_start_url",
    [SL_AWS_REGION] = "region",
    [SL_AWS_CA_BUNDLE] = "ca_bundle",
    [SL_AWS_IGNORES_ENDPOINTS] = "ignore_configured_endpoint_urls",
    [SL_AWS_ENDPOINT] = "endpoint_url",
    [SL_AWS_SERVICES] = "services",
};

/* One "name = value". All are slices of the file's text, ended by NULs. */
typedef struct setting {
    const char *section; /* without brackets; NULL: before the first section */
    const char *parent;  /* the name that the line is nested under; NULL: none */
    const char *name, *value;
} setting;

/* The values to find in a file. */
typedef struct profile_search {
    sl_aws_profile *profile;
    const char *kind; /* "profile", "services": the section is "KIND NAME" */
    const char *name;
    bool bare; /* the section is "NAME" */
    bool services;
    bool no_memory;
} profile_search;

/* ---- sections ---- */

/* True if `section` is `kind`, blanks, and `name`, perhaps in quotes. */
static bool is_section_of(const char *section, const char *kind, const char *name)
{
    const size_t length = strlen(kind);
    if (strncmp(section, kind, length) != 0 || strspn(section + length, " \t") == 0) {
        return false;
    }
    section += length + strspn(section + length, " \t");
    const size_t bytes = strlen(name);
    if (*section == '"' || *section == '\'') {
        return strncmp(section + 1, name, bytes) == 0 && section[1 + bytes] == *section &&
               section[2 + bytes] == '\0';
    }
    return strcmp(section, name) == 0;
}

static bool is_wanted_section(const profile_search *wanted, const char *section)
{
    if (wanted->bare) {
        return strcmp(section, wanted->name) == 0;
    }
    return is_section_of(section, wanted->kind, wanted->name) ||
           (!wanted->services && strcmp(wanted->name, "default") == 0 &&
            strcmp(section, "default") == 0);
}

static void keep_profile_value(profile_search *wanted, sl_aws_value which, const char *text)
{
    sl_aws_profile *profile = wanted->profile;
    char *copy = sl_strdup(text);
    if (copy == NULL) {
        wanted->no_memory = true;
        return;
    }
    sl_free(profile->values[which]);
    profile->values[which] = copy;
    profile->from_credentials[which] = wanted->bare;
}

static void note_section(profile_search *wanted, const char *section)
{
    if (!wanted->services && is_wanted_section(wanted, section)) {
        wanted->profile->found = true;
    }
}

/* Returns NULL, or why the line is invalid. */
static const char *note_setting(profile_search *wanted, const setting *one)
{
    if (one->section == NULL || !is_wanted_section(wanted, one->section)) {
        return NULL;
    }
    if (wanted->services) {
        if (one->parent != NULL && strcasecmp(one->name, "endpoint_url") == 0 &&
            (strcasecmp(one->parent, "s3") == 0 || strcasecmp(one->parent, "sts") == 0)) {
            keep_profile_value(wanted,
                               one->parent[1] == '3' ? SL_AWS_ENDPOINT_S3 : SL_AWS_ENDPOINT_STS,
                               one->value);
        }
        return NULL;
    }
    for (int i = 0; i < SL_AWS_ENDPOINT_S3; i++) {
        if (one->parent != NULL && strcasecmp(one->parent, value_names[i]) == 0) {
            return "an indented line continues a value: write it in one line";
        }
        if (one->parent == NULL && strcasecmp(one->name, value_names[i]) == 0) {
            keep_profile_value(wanted, (sl_aws_value)i, one->value);
        }
    }
    return NULL;
}

/* ---- lines ---- */

static char *trimmed(char *text)
{
    text += strspn(text, " \t\r");
    size_t length = strlen(text);
    while (length > 0 && strchr(" \t\r", text[length - 1]) != NULL) {
        length--;
    }
    text[length] = '\0';
    return text;
}

/* Splits "name = value" (or "name: value") at its first separator. False: it has none. */
static bool split_setting(char *text, setting *one, bool nested)
{
    char *separator = text + strcspn(text, nested ? "=" : "=:");
    if (*separator == '\0') {
        return false;
    }
    *separator = '\0';
    one->name = trimmed(text);
    one->value = trimmed(separator + 1);
    return one->name[0] != '\0';
}

typedef struct reading {
    profile_search *wanted;
    const char *section, *last; /* `last`: the name that an indented line is nested under */
} reading;

/* Returns NULL, or why the line is invalid. */
static const char *read_profile_line(reading *own, char *line)
{
    const bool indented = *line == ' ' || *line == '\t';
    char *text = trimmed(line);
    if (*text == '\0' || *text == '#' || *text == ';') {
        return NULL;
    }
    setting one = {.section = own->section};
    if (indented && own->last != NULL) {
        one.parent = own->last;
        one.name = text;
        one.value = "";
        split_setting(text, &one, true);
        return note_setting(own->wanted, &one);
    }
    if (*text == '[') {
        char *end = strrchr(text, ']');
        if (end == NULL) {
            return "a section lacks its \"]\"";
        }
        *end = '\0';
        own->section = trimmed(text + 1);
        own->last = NULL;
        note_section(own->wanted, own->section);
        return NULL;
    }
    if (!split_setting(text, &one, false)) {
        return "expected NAME = VALUE";
    }
    own->last = one.name;
    return note_setting(own->wanted, &one);
}

static sluice_status read_lines(char *text, const char *path, profile_search *wanted,
                                sluice_error *error)
{
    reading own = {.wanted = wanted};
    unsigned number = 1;
    for (char *rest = text; rest != NULL; number++) {
        char *line = strsep(&rest, "\n");
        const char *refused = read_profile_line(&own, line);
        if (refused != NULL) {
            return sl_error_file(error, SLUICE_CORRUPT, stage, 0, path, -1, "line %u: %s", number,
                                 refused);
        }
    }
    return wanted->no_memory ? sl_no_memory_file(error, stage, path, "reading a profile")
                             : SLUICE_OK;
}

/* ---- files ---- */

bool sl_path_at_home(char *to, size_t bytes, const char *path)
{
    const char *home = "";
    if (strncmp(path, "~/", 2) == 0) {
        home = secure_getenv("HOME");
        path++;
    }
    if (home == NULL || (*home == '\0' && *path == '\0')) {
        return false;
    }
    const int length = snprintf(to, bytes, "%s%s", home, path);
    return length >= 0 && (size_t)length < bytes;
}

/* Reads a file; if it does not exist, `*text` is NULL. */
static sluice_status read_text(const char *path, char **text, size_t *bytes, sluice_error *error)
{
    const sl_file_name name = {.stage = stage, .path = path};
    sl_file_identity identity;
    sluice_error reason;
    int fd = -1;
    *text = NULL;
    if (strcmp(path, "/dev/null") == 0) { /* the usual way to specify no file */
        return SLUICE_OK;
    }
    sl_error_clear(&reason);
    sluice_status status = sl_file_open(name, &fd, &identity, &reason);
    if (status != SLUICE_OK) {
        const bool missing = reason.sys_errno == ENOENT || reason.sys_errno == ENOTDIR;
        if (!missing && error != NULL) {
            *error = reason;
        }
        return missing ? SLUICE_OK : status;
    }
    if (identity.bytes > FILE_BYTES_MAX) {
        status = sl_error_file(error, SLUICE_UNSUPPORTED, stage, 0, path, -1,
                               "the file is too large: at most 1 MiB");
    } else {
        *bytes = identity.bytes;
        *text = sl_malloc(*bytes + 1);
        status = *text == NULL ? sl_no_memory_file(error, stage, path, "reading a profile")
                               : sl_file_read(fd, name, *text, *bytes, 0, error);
    }
    sl_file_close(fd);
    if (*text != NULL) {
        (*text)[*bytes] = '\0';
    }
    return status;
}

static sluice_status read_wanted(const char *path, profile_search *wanted, sluice_error *error)
{
    char *text = NULL;
    size_t bytes = 0;
    sluice_status status = read_text(path, &text, &bytes, error);
    if (status == SLUICE_OK && text != NULL) {
        status = strlen(text) < bytes
                     ? sl_error_file(error, SLUICE_CORRUPT, stage, 0, path, -1,
                                     "the file is not text: it contains a NUL byte")
                     : read_lines(text, path, wanted, error);
    }
    if (text != NULL) {
        explicit_bzero(text, bytes);
        sl_free(text);
    }
    return status;
}

static bool find_path(char *path, size_t bytes, const char *variable, const char *usual)
{
    const char *given = secure_getenv(variable);
    return sl_path_at_home(path, bytes, given != NULL && *given != '\0' ? given : usual);
}

sluice_status sl_aws_profile_open(sl_aws_profile *profile, const char *name, sluice_error *error)
{
    memset(profile, 0, sizeof(*profile));
    sluice_status status = SLUICE_OK;
    profile_search config = {.profile = profile, .kind = "profile", .name = name};
    if (find_path(profile->config, sizeof(profile->config), "AWS_CONFIG_FILE", "~/.aws/config")) {
        status = read_wanted(profile->config, &config, error);
    }
    if (status == SLUICE_OK && profile->values[SL_AWS_SERVICES] != NULL) {
        profile_search services = {.profile = profile,
                                   .kind = "services",
                                   .name = profile->values[SL_AWS_SERVICES],
                                   .services = true};
        status = read_wanted(profile->config, &services, error);
    }
    profile_search credentials = {.profile = profile, .kind = "", .name = name, .bare = true};
    if (status == SLUICE_OK && find_path(profile->credentials, sizeof(profile->credentials),
                                         "AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials")) {
        status = read_wanted(profile->credentials, &credentials, error);
    }
    return status;
}

void sl_aws_profile_close(sl_aws_profile *profile)
{
    for (int i = 0; i < SL_AWS_VALUES; i++) {
        if (profile->values[i] != NULL) {
            explicit_bzero(profile->values[i], strlen(profile->values[i]));
            sl_free(profile->values[i]);
            profile->values[i] = NULL;
        }
    }
}
