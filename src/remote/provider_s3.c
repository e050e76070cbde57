/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of S3 and compatible stores, including Google's (gs://, by its XML API). A bucket's
 * region is taken from the first answer that names it; the mutex guards that table. */
#include "list_xml.h"
#include "provider.h"
#include "settings.h"

#include "error.h"
#include "fork.h"
#include "thread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define STAGE     "remote"
#define GS_SERVER "https://storage.googleapis.com"

enum { BUCKETS_MOST = 64, CODE_BYTES = 64, PAGE_KEYS = 1000, QUERY_BYTES = 3 * SL_URL_BYTES };

typedef struct bucket_region {
    char bucket[SL_HOST_BYTES];
    char region[64];
} bucket_region;

static pthread_mutex_t regions_mutex = PTHREAD_MUTEX_INITIALIZER;
static bucket_region regions[BUCKETS_MOST];
static uint32_t regions_made; /* the oldest is replaced */

/* A request being written: its target and the parts that are signed. */
typedef struct s3_request {
    const sl_url *url;
    char region[64], endpoint[512];
    char host[2 * SL_HOST_BYTES]; /* with the bucket, unless by_path */
    bool by_path, is_tls, is_anonymous;
    char path[SL_URL_BYTES + SL_HOST_BYTES + 2]; /* raw */
    char query[QUERY_BYTES];
} s3_request;

/* ---- places ---- */

static void guard_regions(void)
{
    sl_fork_guard(&regions_mutex);
}

static void lock_regions(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (pthread_once(&once, guard_regions) != 0) {
        abort();
    }
    sl_lock(&regions_mutex);
}

static bool find_region(const char *bucket, char region[64])
{
    bool found = false;
    lock_regions();
    for (uint32_t i = 0; i < BUCKETS_MOST && !found; i++) {
        found = strcmp(regions[i].bucket, bucket) == 0;
        if (found) {
            memcpy(region, regions[i].region, 64);
        }
    }
    sl_unlock(&regions_mutex);
    return found;
}

/* Checks a region, which becomes part of a host name. */
static bool is_region(const char *text)
{
    return text[0] != '\0' && text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-")] == '\0';
}

static void note_region(const char *bucket, const char *region)
{
    if (!is_region(region)) {
        return;
    }
    lock_regions();
    bucket_region *at = &regions[regions_made % BUCKETS_MOST];
    for (uint32_t i = 0; i < BUCKETS_MOST; i++) {
        if (strcmp(regions[i].bucket, bucket) == 0) {
            at = &regions[i];
        }
    }
    regions_made += at == &regions[regions_made % BUCKETS_MOST];
    (void)snprintf(at->bucket, sizeof(at->bucket), "%s", bucket);
    (void)snprintf(at->region, sizeof(at->region), "%s", region);
    sl_unlock(&regions_mutex);
}

static sluice_status find_s3(s3_request *r, sluice_error *error)
{
    const sl_remote_settings *settings = NULL;
    const sluice_status status = sl_remote_settings_get(&settings, error);
    if (status < 0) {
        return status;
    }
    (void)snprintf(r->endpoint, sizeof(r->endpoint), "%s", settings->endpoint);
    (void)snprintf(r->region, sizeof(r->region), "%s",
                   settings->region[0] != '\0' ? settings->region : "us-east-1");
    r->is_anonymous = settings->anonymous;
    sl_remote_settings_release(settings);
    (void)find_region(r->url->bucket, r->region);
    return SLUICE_OK;
}

static sluice_status find_gs(s3_request *r, sluice_error *error)
{
    const sl_remote_settings *settings = NULL;
    const sluice_status status = sl_remote_settings_get(&settings, error);
    if (status < 0) {
        return status;
    }
    r->is_anonymous = settings->anonymous;
    sl_remote_settings_release(settings);
    const char *server = getenv("STORAGE_EMULATOR_HOST"); // NOLINT(concurrency-mt-unsafe)
    const bool is_set = server != NULL && server[0] != '\0';
    (void)snprintf(r->endpoint, sizeof(r->endpoint), "%s%s",
                   is_set && strstr(server, "://") == NULL ? "http://" : "",
                   is_set ? server : GS_SERVER);
    (void)snprintf(r->region, sizeof(r->region), "auto");
    return SLUICE_OK;
}

/* Writes the host name. A bucket with dots goes into the path, because Amazon's certificates
 * would not match the host. */
static bool name_host(s3_request *r)
{
    int length;
    if (r->endpoint[0] == '\0') {
        const char *china = strncmp(r->region, "cn-", 3) == 0 ? ".cn" : "";
        r->by_path = strchr(r->url->bucket, '.') != NULL;
        r->is_tls = true;
        length =
            snprintf(r->host, sizeof(r->host), "%s%ss3.%s.amazonaws.com%s",
                     r->by_path ? "" : r->url->bucket, r->by_path ? "" : ".", r->region, china);
    } else {
        const char *server = strstr(r->endpoint, "://");
        if (server == NULL) {
            return false;
        }
        r->by_path = true;
        r->is_tls = strncmp(r->endpoint, "https:", 6) == 0;
        length =
            snprintf(r->host, sizeof(r->host), "%.*s", (int)strcspn(server + 3, "/"), server + 3);
    }
    return length > 0 && (size_t)length < sizeof(r->host);
}

/* Returns the path of an endpoint, "/api" of "https://host/api", without a slash at its end. */
static sl_bytes base_of(const s3_request *r)
{
    const char *server = strstr(r->endpoint, "://");
    const char *path = server != NULL ? strchr(server + 3, '/') : NULL;
    size_t bytes = path != NULL ? strlen(path) : 0;
    while (bytes > 0 && path[bytes - 1] == '/') {
        bytes--;
    }
    return (sl_bytes){(const uint8_t *)path, bytes};
}

static bool name_path(s3_request *r, const char *key)
{
    const sl_bytes base = base_of(r);
    const int length = snprintf(r->path, sizeof(r->path), "%.*s%s%s/%s", (int)base.size,
                                base.size > 0 ? (const char *)base.data : "", r->by_path ? "/" : "",
                                r->by_path ? r->url->bucket : "", key);
    return length > 0 && (size_t)length < sizeof(r->path);
}

/* ---- requests ---- */

static sluice_status s3_too_long(sluice_error *error)
{
    return sl_error_set(error, SLUICE_INVALID, STAGE, "the address is too long");
}

static sluice_status add_signature(sl_request_text *text, const s3_request *r,
                                   const sl_request_as *as, sluice_error *error)
{
    const sl_credentials *credentials = as->credentials;
    if (r->is_anonymous || credentials == NULL || credentials->none) {
        return SLUICE_OK;
    }
    if (credentials->access_key[0] == '\0') {
        return sl_request_add(text, "Authorization: Bearer %s", credentials->token)
                   ? SLUICE_OK
                   : s3_too_long(error);
    }
    const sl_sign_keys keys = {credentials->access_key, credentials->secret_key,
                               credentials->token};
    const sl_sign_request request = {.method = "GET",
                                     .host = text->host,
                                     .path = r->path,
                                     .query = r->query,
                                     .region = r->region,
                                     .service = "s3",
                                     .unsigned_payload = r->is_tls,
                                     .now = time(NULL) + (time_t)as->clock_skew_s};
    sl_signed made;
    const sluice_status status = sl_sign_v4(&made, &keys, &request, error);
    for (int i = 0; status == SLUICE_OK && i < made.count; i++) {
        if (!sl_request_add(text, "%s", made.headers[i])) {
            return s3_too_long(error);
        }
    }
    return status;
}

static bool write_url(sl_request_text *text, const s3_request *r)
{
    char path[3 * SL_URL_BYTES];
    if (!sl_url_escape(path, sizeof(path), r->path, true)) {
        return false;
    }
    const int length =
        snprintf(text->url, sizeof(text->url), "http%s://%s%s%s%s", r->is_tls ? "s" : "", r->host,
                 path, r->query[0] != '\0' ? "?" : "", r->query);
    return length > 0 && (size_t)length < sizeof(text->url) && sl_request_set_host(text);
}

typedef sluice_status (*s3_find)(s3_request *r, sluice_error *error);

/* Writes a request; the caller has set the query. */
static sluice_status write_request(sl_request_text *text, s3_request *r, s3_find find,
                                   const char *key, sluice_error *error)
{
    text->header_count = 0;
    const sluice_status status = find(r, error);
    if (status < 0) {
        return status;
    }
    if (!name_host(r)) {
        return sl_error_set(error, SLUICE_INVALID, STAGE,
                            "the endpoint \"%s\" is not an address: write https://host[:port]",
                            r->endpoint);
    }
    return name_path(r, key) && write_url(text, r) ? SLUICE_OK : s3_too_long(error);
}

static sluice_status any_get(sl_request_text *text, s3_find find, const sl_url *url,
                             const sl_get_ask *ask, sluice_error *error)
{
    s3_request r = {.url = url};
    if (ask->moved != NULL) {
        return sl_request_moved(text, ask->moved, ask->etag, error);
    }
    sluice_status status = write_request(text, &r, find, url->key, error);
    if (status == SLUICE_OK) {
        status = add_signature(text, &r, &ask->as, error);
    }
    return status < 0 || sl_request_match(text, ask->etag) ? status : s3_too_long(error);
}

static sluice_status s3_get(sl_request_text *text, const sl_url *url, const sl_get_ask *ask,
                            sluice_error *error)
{
    return any_get(text, find_s3, url, ask, error);
}

static sluice_status gs_get(sl_request_text *text, const sl_url *url, const sl_get_ask *ask,
                            sluice_error *error)
{
    return any_get(text, find_gs, url, ask, error);
}

/* Appends "&name=value", escaped. */
static bool add_query(char *query, const char *name, const char *value)
{
    const size_t length = strlen(query);
    const int more = snprintf(query + length, QUERY_BYTES - length, "&%s=", name);
    return more > 0 && length + (size_t)more < QUERY_BYTES &&
           sl_url_escape(query + length + more, QUERY_BYTES - length - (size_t)more, value, false);
}

static bool write_list_query(char *query, const char *key, const sl_page_ask *ask)
{
    char prefix[SL_URL_BYTES];
    const int length =
        snprintf(prefix, sizeof(prefix), "%s%s", key, ask->begins != NULL ? ask->begins : "");
    if (length < 0 || (size_t)length >= sizeof(prefix)) {
        return false;
    }
    (void)snprintf(query, QUERY_BYTES, "list-type=2&delimiter=%%2F&encoding-type=url&max-keys=%d",
                   PAGE_KEYS);
    return (prefix[0] == '\0' || add_query(query, "prefix", prefix)) &&
           (ask->token == NULL || add_query(query, "continuation-token", ask->token)) &&
           (ask->start_after == NULL || add_query(query, "start-after", ask->start_after));
}

static sluice_status any_list(sl_request_text *text, s3_find find, const sl_url *folder,
                              const sl_page_ask *ask, sluice_error *error)
{
    s3_request r = {.url = folder};
    if (!write_list_query(r.query, folder->key, ask)) {
        return s3_too_long(error);
    }
    const sluice_status status = write_request(text, &r, find, "", error);
    return status < 0 ? status : add_signature(text, &r, &ask->as, error);
}

static sluice_status s3_list(sl_request_text *text, const sl_url *folder, const sl_page_ask *ask,
                             sluice_error *error)
{
    return any_list(text, find_s3, folder, ask, error);
}

static sluice_status gs_list(sl_request_text *text, const sl_url *folder, const sl_page_ask *ask,
                             sluice_error *error)
{
    return any_list(text, find_gs, folder, ask, error);
}

static sluice_status s3_page(const sl_url *folder, const sl_exchange *exchange, sl_entries *entries,
                             sl_page_end *end, sluice_error *error)
{
    const sl_bytes text = {exchange->buffer, exchange->got};
    /* A bucket exists, even if it is empty. */
    entries->found = entries->found || folder->key[0] == '\0';
    return sl_list_xml_read(text, folder->key, entries, end, error);
}

/* ---- answers ---- */

static bool s3_is_one_of(const char *code, const char *const *codes)
{
    while (*codes != NULL && strcmp(code, *codes) != 0) {
        codes++;
    }
    return *codes != NULL;
}

/* Classifies by the error code; 0: classify by the status. */
static sl_answer answer_of_code(const sl_exchange *x, const char *code, bool *known)
{
    static const char *const expired[] = {"ExpiredToken", "ExpiredTokenException",
                                          "TokenRefreshRequired", "RequestExpired", NULL};
    static const char *const busy[] = {"SlowDown",       "ServiceUnavailable", "InternalError",
                                       "RequestTimeout", "OperationAborted",   NULL};
    static const char *const elsewhere[] = {"PermanentRedirect", "TemporaryRedirect",
                                            "AuthorizationHeaderMalformed",
                                            "IllegalLocationConstraintException", NULL};
    char region[64];
    const sl_bytes body = {(const uint8_t *)x->problem, x->problem_bytes};
    sl_list_xml_find(body, "Region", region, sizeof(region));
    const bool says_where = x->region[0] != '\0' || region[0] != '\0';
    *known = true;
    if (s3_is_one_of(code, expired)) {
        return SL_ANSWER_EXPIRED;
    }
    if (strcmp(code, "RequestTimeTooSkewed") == 0) {
        return SL_ANSWER_SKEWED;
    }
    if (s3_is_one_of(code, busy)) {
        return SL_ANSWER_BUSY;
    }
    if (says_where && (s3_is_one_of(code, elsewhere) || x->status == 301 || x->status == 307)) {
        return SL_ANSWER_ELSEWHERE;
    }
    *known = false;
    return SL_ANSWER_GOOD;
}

static sl_answer s3_answer_as(const sl_exchange *exchange, sl_credentials_kind kind,
                              char reason[SL_REASON_BYTES])
{
    char code[CODE_BYTES] = "";
    bool known = false;
    if (exchange->status >= 300) {
        const sl_bytes body = {(const uint8_t *)exchange->problem, exchange->problem_bytes};
        sl_list_xml_find(body, "Code", code, sizeof(code));
    }
    const sl_answer plain = sl_answer_of_http(exchange, code, reason);
    if (exchange->status < 300) {
        return plain;
    }
    const sl_answer answer = answer_of_code(exchange, code, &known);
    const sl_answer result = known ? answer : plain;
    if (result == SL_ANSWER_REFUSED || result == SL_ANSWER_EXPIRED) {
        sl_reason_add_source(reason, kind);
    }
    return result;
}

static sl_answer s3_answer(const sl_exchange *exchange, char reason[SL_REASON_BYTES])
{
    return s3_answer_as(exchange, SL_CREDENTIALS_AWS, reason);
}

static sl_answer gs_answer(const sl_exchange *exchange, char reason[SL_REASON_BYTES])
{
    return s3_answer_as(exchange, SL_CREDENTIALS_GS, reason);
}

static void s3_elsewhere(const sl_url *url, const sl_exchange *exchange)
{
    char region[64];
    const sl_bytes body = {(const uint8_t *)exchange->problem, exchange->problem_bytes};
    sl_list_xml_find(body, "Region", region, sizeof(region));
    note_region(url->bucket, exchange->region[0] != '\0' ? exchange->region : region);
}

const sl_provider sl_provider_s3 = {.scheme = SL_SCHEME_S3,
                                    .credentials = SL_CREDENTIALS_AWS,
                                    .lists = true,
                                    .lists_ranges = true,
                                    .get = s3_get,
                                    .answer = s3_answer,
                                    .elsewhere = s3_elsewhere,
                                    .list = s3_list,
                                    .page = s3_page};

const sl_provider sl_provider_gs = {.scheme = SL_SCHEME_GS,
                                    .credentials = SL_CREDENTIALS_GS,
                                    .lists = true,
                                    .lists_ranges = true,
                                    .get = gs_get,
                                    .answer = gs_answer,
                                    .list = gs_list,
                                    .page = s3_page};
