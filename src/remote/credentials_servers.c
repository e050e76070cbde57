/* SPDX-License-Identifier: Apache-2.0 */
/* Credentials from servers: STS, the container's endpoint, and the metadata of EC2 and Google. */
#include "credentials_sources.h"
#include "engine.h"
#include "error.h"
#include "memory.h"
#include "url.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Metadata servers are on the same host, and answer immediately or never. */
#define METADATA_NS UINT64_C(1000000000)
#define SERVER_NS   UINT64_C(10000000000)
enum { TRIES = 3 };

static const char stage[] = "remote";

/* ---- requests ---- */

sluice_status sl_source_request_run(sl_source_request *request, sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    bool again = true;
    for (uint32_t i = 0; i < request->tries && again && status == SLUICE_OK; i++) {
        sl_exchange exchange = {.method = request->method,
                                .url = request->url,
                                .headers = request->headers,
                                .header_count = request->header_count,
                                .body = request->body,
                                .body_bytes = request->body == NULL ? 0 : strlen(request->body),
                                .buffer = (uint8_t *)request->answer,
                                .capacity = sizeof(request->answer) - 1,
                                .stall_ns = request->limit_ns,
                                .limit_ns = request->limit_ns};
        status = sl_engine_run(&exchange, error);
        if (status == SLUICE_OK && exchange.failed == -ECANCELED) {
            status = sl_error_set(error, SLUICE_CANCELED, stage,
                                  "canceled while asking for credentials");
        }
        request->status = exchange.failed == 0 ? exchange.status : 0;
        request->bytes = exchange.got;
        snprintf(request->reason, sizeof(request->reason), "%s", exchange.reason);
        if (request->status >= 300) {
            request->bytes = exchange.problem_bytes;
            memcpy(request->answer, exchange.problem, exchange.problem_bytes);
        }
        request->answer[request->bytes] = '\0';
        again = request->status == 0 || request->status >= 500 || request->status == 429;
        sl_exchange_free(&exchange);
    }
    return status;
}

sluice_status sl_source_request_failed(const sl_source_request *request, sluice_error *error)
{
    if (request->status == 0) {
        return sl_error_set(error, SLUICE_IO, stage, "%s does not answer: %s", request->who,
                            request->reason);
    }
    return sl_error_set(error, SLUICE_IO, stage, "%s refused, with status %d", request->who,
                        request->status);
}

static sl_source_request *make_request(const char *who, sluice_error *error)
{
    sl_source_request *request = sl_calloc(1, sizeof(*request));
    if (request == NULL) {
        (void)sl_no_memory(error, stage, "for credentials");
    } else {
        request->who = who;
        request->tries = 1;
        request->limit_ns = SERVER_NS;
    }
    return request;
}

static void free_request(sl_source_request *request)
{
    if (request != NULL) {
        explicit_bzero(request->answer, sizeof(request->answer));
        sl_free(request);
    }
}

/* ---- STS ---- */

/* Finds the STS server: a given one, or Amazon's of the region. False: it does not fit. */
static bool find_sts(const sl_web_identity *identity, char *url, size_t bytes)
{
    const size_t given = strlen(identity->endpoint);
    const char *region = identity->region;
    int length;
    if (given > 0) {
        const bool has_slash = identity->endpoint[given - 1] == '/';
        length = snprintf(url, bytes, "%s%s", identity->endpoint, has_slash ? "" : "/");
    } else if (*region == '\0') {
        length = snprintf(url, bytes, "https://sts.amazonaws.com/");
    } else {
        length = snprintf(url, bytes, "https://sts.%s.amazonaws.com%s/", region,
                          strncmp(region, "cn-", 3) == 0 ? ".cn" : "");
    }
    return length >= 0 && (size_t)length < bytes;
}

/* Writes the form of AssumeRoleWithWebIdentity. False: a part does not fit. */
static bool write_form(const sl_web_identity *identity, const char *token, char *form, size_t bytes)
{
    char role[3 * 2048];
    char session[3 * 128];
    char made[32];
    snprintf(made, sizeof(made), "sluice-%ld", (long)time(NULL));
    if (!sl_url_escape(role, sizeof(role), identity->role, false) ||
        !sl_url_escape(session, sizeof(session),
                       identity->session == NULL ? made : identity->session, false)) {
        return false;
    }
    const int length = snprintf(form, bytes,
                                "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=%s&"
                                "RoleSessionName=%s&WebIdentityToken=%s",
                                role, session, token);
    return length >= 0 && (size_t)length < bytes;
}

/* The memory for exchanging one token with STS. */
typedef struct sts_texts {
    char file[SL_SECRET_FILE_BYTES];
    char token[3 * SL_SECRET_FILE_BYTES];
    char form[3 * SL_SECRET_FILE_BYTES + 8192];
    char url[640];
} sts_texts;

static sluice_status ask_sts(const sl_web_identity *identity, sts_texts *texts,
                             sl_source_request *request, sl_credentials *credentials,
                             sluice_error *error)
{
    static const char *const headers[] = {
        "Content-Type: application/x-www-form-urlencoded; charset=utf-8"};
    sluice_status status = sl_credentials_read_file(identity->token_file, texts->file,
                                                    sizeof(texts->file), NULL, error);
    if (status != SLUICE_OK) {
        return status;
    }
    if (!sl_url_escape(texts->token, sizeof(texts->token), texts->file, false) ||
        !write_form(identity, texts->token, texts->form, sizeof(texts->form)) ||
        !find_sts(identity, texts->url, sizeof(texts->url))) {
        return sl_error_set(error, SLUICE_INVALID, stage,
                            "the role, its session's name or STS's endpoint is too long");
    }
    request->method = "POST";
    request->url = texts->url;
    request->headers = headers;
    request->header_count = 1;
    request->body = texts->form;
    request->tries = TRIES;
    status = sl_source_request_run(request, error);
    if (status != SLUICE_OK) {
        return status;
    }
    return request->status == 200
               ? sl_credentials_read_xml(request->answer, request->who, credentials, error)
               : sl_source_request_failed(request, error);
}

sluice_status sl_credentials_from_web_identity(const sl_web_identity *identity,
                                               sl_credentials *credentials, sluice_error *error)
{
    sts_texts *texts = sl_malloc(sizeof(*texts));
    sl_source_request *request = make_request("STS", error);
    sluice_status status = SLUICE_NOMEM;
    if (texts == NULL) {
        (void)sl_no_memory(error, stage, "for credentials");
    } else if (request != NULL) {
        status = ask_sts(identity, texts, request, credentials, error);
    }
    if (texts != NULL) {
        explicit_bzero(texts, sizeof(*texts));
    }
    sl_free(texts);
    free_request(request);
    return status;
}

/* ---- the container's endpoint ---- */

/* Allows tokens in plain text only to this host's own addresses, like AWS's own programs. */
static bool may_ask_container(const char *address)
{
    static const char *const hosts[] = {"127.0.0.1",     "localhost",      "[::1]",
                                        "169.254.170.2", "169.254.170.23", "[fd00:ec2::23]"};
    sl_url url;
    if (sl_url_parse(&url, address, NULL) != SLUICE_OK || url.scheme > SL_SCHEME_HTTPS) {
        return false;
    }
    char *colon = strrchr(url.bucket, ':');
    if (colon != NULL && strchr(colon, ']') == NULL) {
        *colon = '\0';
    }
    bool is_own = false;
    for (size_t i = 0; i < sizeof(hosts) / sizeof(*hosts); i++) {
        is_own = is_own || strcmp(url.bucket, hosts[i]) == 0;
    }
    return is_own || url.scheme == SL_SCHEME_HTTPS;
}

/* Writes the Authorization header; `*header` stays "" if none is needed. */
static sluice_status write_authorization(char *header, size_t bytes, sluice_error *error)
{
    const char *file = sl_credentials_variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
    const char *given = sl_credentials_variable("AWS_CONTAINER_AUTHORIZATION_TOKEN");
    char token[8192] = "";
    sluice_status status = SLUICE_OK;
    if (file != NULL) {
        status = sl_credentials_read_file(file, token, sizeof(token), NULL, error);
    } else if (given != NULL && !sl_credentials_copy(token, sizeof(token), given)) {
        status =
            sl_error_set(error, SLUICE_INVALID, stage,
                         "AWS_CONTAINER_AUTHORIZATION_TOKEN is too long, or contains a control "
                         "character");
    }
    if (status == SLUICE_OK && token[0] != '\0') {
        snprintf(header, bytes, "Authorization: %s", token);
    }
    explicit_bzero(token, sizeof(token));
    return status;
}

static const sl_answer_names aws_names = {.access_key = "AccessKeyId",
                                          .secret_key = "SecretAccessKey",
                                          .token = "Token",
                                          .ends = "Expiration",
                                          .needs_token = true};

static sluice_status ask_container(sl_source_request *request, sl_credentials *credentials,
                                   sluice_error *error)
{
    char header[8300] = "";
    const char *const headers[] = {header};
    sluice_status status = write_authorization(header, sizeof(header), error);
    if (status == SLUICE_OK) {
        request->headers = headers;
        request->header_count = header[0] != '\0';
        request->tries = TRIES;
        status = sl_source_request_run(request, error);
    }
    explicit_bzero(header, sizeof(header));
    if (status != SLUICE_OK) {
        return status;
    }
    return request->status == 200
               ? sl_credentials_read(request->answer, request->bytes, request->who, &aws_names,
                                     credentials, error)
               : sl_source_request_failed(request, error);
}

sluice_status sl_credentials_from_container(sl_credentials *credentials, bool *found,
                                            sluice_error *error)
{
    const char *path = sl_credentials_variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
    const char *given = sl_credentials_variable("AWS_CONTAINER_CREDENTIALS_FULL_URI");
    char url[2048];
    *found = path != NULL || given != NULL;
    if (!*found) {
        return SLUICE_OK;
    }
    const int length = path != NULL ? snprintf(url, sizeof(url), "http://169.254.170.2%s", path)
                                    : snprintf(url, sizeof(url), "%s", given);
    if (length < 0 || (size_t)length >= sizeof(url) || !may_ask_container(url)) {
        return sl_error_set(error, SLUICE_INVALID, stage,
                            "AWS_CONTAINER_CREDENTIALS_%s_URI is refused: expected https, or http "
                            "to this host",
                            path != NULL ? "RELATIVE" : "FULL");
    }
    sl_source_request *request = make_request("the container's credentials endpoint", error);
    sluice_status status = SLUICE_NOMEM;
    if (request != NULL) {
        request->url = url;
        snprintf(credentials->source, sizeof(credentials->source), "container");
        status = ask_container(request, credentials, error);
    }
    free_request(request);
    return status;
}

/* ---- the metadata of EC2 ---- */

typedef struct instance {
    char server[512];
    char url[1280];
    char token_header[400];
    bool is_given; /* the environment names the server, so it must answer */
    sl_source_request *request;
} instance;

static sluice_status ask_instance(instance *own, const char *method, const char *path,
                                  const char *const *headers, sluice_error *error)
{
    sl_source_request *request = own->request;
    snprintf(own->url, sizeof(own->url), "%s%s", own->server, path);
    request->method = method;
    request->url = own->url;
    request->headers = headers;
    request->header_count = 1;
    request->limit_ns = METADATA_NS;
    return sl_source_request_run(request, error);
}

/* Gets the session token of IMDSv2. `*found` false: this is not an EC2 instance. */
static sluice_status begin_instance(instance *own, bool *found, sluice_error *error)
{
    static const char *const lifetime[] = {"X-aws-ec2-metadata-token-ttl-seconds: 21600"};
    const sluice_status status = ask_instance(own, "PUT", "/latest/api/token", lifetime, error);
    const sl_source_request *request = own->request;
    *found = status == SLUICE_OK && request->status == 200;
    if (status != SLUICE_OK || *found) {
        char token[256];
        if (*found && !sl_credentials_copy(token, sizeof(token), request->answer)) {
            return sl_error_set(error, SLUICE_CORRUPT, stage, "IMDS gave no usable session token");
        }
        if (*found) {
            snprintf(own->token_header, sizeof(own->token_header), "X-aws-ec2-metadata-token: %s",
                     token);
        }
        return status;
    }
    return own->is_given || request->status >= 500 ? sl_source_request_failed(request, error)
                                                   : SLUICE_OK;
}

#define ROLES_PATH "/latest/meta-data/iam/security-credentials/"

/* Finds the role of the instance, and its credentials. 404: it has none. */
static sluice_status ask_role(instance *own, sl_credentials *credentials, bool *found,
                              sluice_error *error)
{
    const char *const headers[] = {own->token_header};
    char path[700];
    char role[128];
    char escaped[3 * sizeof(role)];
    sluice_status status = ask_instance(own, "GET", ROLES_PATH, headers, error);
    *found = own->request->status != 404;
    if (status != SLUICE_OK || !*found) {
        return status;
    }
    if (own->request->status != 200) {
        return sl_source_request_failed(own->request, error);
    }
    own->request->answer[strcspn(own->request->answer, "\r\n")] = '\0';
    if (!sl_credentials_copy(role, sizeof(role), own->request->answer) ||
        !sl_url_escape(escaped, sizeof(escaped), role, false)) {
        return sl_error_set(error, SLUICE_CORRUPT, stage, "IMDS gave no usable name of a role");
    }
    snprintf(path, sizeof(path), ROLES_PATH "%s", escaped);
    status = ask_instance(own, "GET", path, headers, error);
    if (status != SLUICE_OK) {
        return status;
    }
    if (own->request->status != 200) {
        return sl_source_request_failed(own->request, error);
    }
    snprintf(credentials->source, sizeof(credentials->source), "instance role %.100s", role);
    return sl_credentials_read(own->request->answer, own->request->bytes, own->request->who,
                               &aws_names, credentials, error);
}

sluice_status sl_credentials_from_instance(sl_credentials *credentials, bool *found,
                                           sluice_error *error)
{
    const char *given = sl_credentials_variable("AWS_EC2_METADATA_SERVICE_ENDPOINT");
    const char *mode = sl_credentials_variable("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE");
    const bool is_v6 = mode != NULL && (strcmp(mode, "IPv6") == 0 || strcmp(mode, "ipv6") == 0);
    instance own = {.is_given = given != NULL};
    *found = false;
    if (sl_credentials_variable_is_true("AWS_EC2_METADATA_DISABLED")) {
        return SLUICE_OK;
    }
    const char *server = is_v6 ? "http://[fd00:ec2::254]" : "http://169.254.169.254";
    const int length =
        snprintf(own.server, sizeof(own.server), "%s", given != NULL ? given : server);
    if (length < 0 || (size_t)length >= sizeof(own.server)) {
        return sl_error_set(error, SLUICE_INVALID, stage,
                            "AWS_EC2_METADATA_SERVICE_ENDPOINT is too long");
    }
    if (own.server[length - 1] == '/') {
        own.server[length - 1] = '\0';
    }
    own.request = make_request("IMDS", error);
    sluice_status status = own.request == NULL ? SLUICE_NOMEM : begin_instance(&own, found, error);
    if (status == SLUICE_OK && *found) {
        status = ask_role(&own, credentials, found, error);
    }
    free_request(own.request);
    explicit_bzero(own.token_header, sizeof(own.token_header));
    return status;
}

/* ---- the metadata of Google ---- */

static sluice_status ask_google(sl_source_request *request, bool is_given,
                                sl_credentials *credentials, bool *found, sluice_error *error)
{
    static const char *const headers[] = {"Metadata-Flavor: Google"};
    static const sl_answer_names names = {
        .token = "access_token", .ends_in = "expires_in", .needs_token = true};
    request->headers = headers;
    request->header_count = 1;
    request->limit_ns = METADATA_NS;
    const sluice_status status = sl_source_request_run(request, error);
    if (status != SLUICE_OK) {
        return status;
    }
    *found = request->status == 200;
    if (*found) {
        snprintf(credentials->source, sizeof(credentials->source),
                 "service account of the machine");
        return sl_credentials_read(request->answer, request->bytes, request->who, &names,
                                   credentials, error);
    }
    return is_given || request->status >= 500 ? sl_source_request_failed(request, error)
                                              : SLUICE_OK;
}

sluice_status sl_credentials_from_google(sl_credentials *credentials, bool *found,
                                         sluice_error *error)
{
    const char *given = sl_credentials_variable("GCE_METADATA_HOST");
    char url[512];
    *found = false;
    if (sl_credentials_variable_is_true("NO_GCE_CHECK")) {
        return SLUICE_OK;
    }
    const int length = snprintf(
        url, sizeof(url), "http://%s/computeMetadata/v1/instance/service-accounts/default/token",
        given != NULL ? given : "metadata.google.internal");
    if (length < 0 || (size_t)length >= sizeof(url)) {
        return sl_error_set(error, SLUICE_INVALID, stage, "GCE_METADATA_HOST is too long");
    }
    sl_source_request *request = make_request("Google's metadata server", error);
    sluice_status status = SLUICE_NOMEM;
    if (request != NULL) {
        request->url = url;
        status = ask_google(request, given != NULL, credentials, found, error);
    }
    free_request(request);
    return status;
}
