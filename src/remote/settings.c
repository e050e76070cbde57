/* SPDX-License-Identifier: Apache-2.0 */
/* Merges and checks the settings of remote reading. */
#include "settings.h"

#include "aws_profile.h"
#include "credentials.h"
#include "error.h"
#include "fork.h"
#include "memory.h"
#include "option_text.h"
#include "thread.h"
#include "url.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { CONNECTIONS_DEFAULT = 256 };
#define STALL_NS_DEFAULT UINT64_C(30000000000)

static const char stage[] = "remote";

/* Members of a choice that are strings. */
enum { ENDPOINT, REGION, PROFILE, CA_FILE, CACHE, CACHE_NODES, TEXTS };

/* The choice, and the settings that follow from it. */
static struct {
    pthread_mutex_t mutex;
    char *texts[TEXTS];          /* NULL: not chosen */
    sl_remote_choice choice;     /* its texts are `texts` */
    uint64_t chosen;             /* number of choices made */
    sl_remote_settings *current; /* NULL: not made yet */
} own = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void guard_own(void)
{
    sl_fork_guard(&own.mutex);
}

static void lock_own(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (pthread_once(&once, guard_own) != 0) {
        abort();
    }
    sl_lock(&own.mutex);
}

static bool is_given(const char *text)
{
    return text != NULL && *text != '\0';
}

static const char *variable(const char *name)
{
    const char *value = secure_getenv(name);
    return is_given(value) ? value : NULL;
}

/* ---- checks: `what` names the option, the variable or the profile's value ---- */

static sluice_status too_long(const char *what, size_t bytes, sluice_error *error)
{
    return sl_error_set(error, SLUICE_INVALID, stage, "%s is too long: at most %zu bytes", what,
                        bytes - 1);
}

static sluice_status take_endpoint(char to[512], const char *text, const char *what,
                                   sluice_error *error)
{
    sl_url url;
    char printed[160];
    sl_url_print(text, printed, sizeof(printed));
    const bool parsed = sl_url_parse(&url, text, NULL) == SLUICE_OK;
    if (!parsed || (url.scheme != SL_SCHEME_HTTP && url.scheme != SL_SCHEME_HTTPS) ||
        url.key[0] != '\0' || url.query[0] != '\0') {
        return sl_url_is(text)
                   ? sl_error_set(error, SLUICE_INVALID, stage,
                                  "%s is \"%s\": expected https://HOST[:PORT]", what, printed)
                   : sl_error_set(error, SLUICE_INVALID, stage,
                                  "%s is not an address: expected https://HOST[:PORT]", what);
    }
    const bool is_tls = url.scheme == SL_SCHEME_HTTPS;
    const char *port = is_tls ? ":443" : ":80";
    const size_t length = strlen(url.bucket);
    const size_t tail = strlen(port);
    if (length > tail && strcmp(url.bucket + length - tail, port) == 0) {
        url.bucket[length - tail] = '\0';
    }
    snprintf(to, 512, "%s://%s", is_tls ? "https" : "http", url.bucket);
    return SLUICE_OK;
}

static sluice_status take_region(char to[64], const char *text, const char *what,
                                 sluice_error *error)
{
    const size_t good = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                     "0123456789-_.");
    if (text[good] != '\0' || good >= 64) {
        return sl_error_set(error, SLUICE_INVALID, stage,
                            "%s is \"%.80s\": expected at most 63 letters, digits and \"-_.\"",
                            what, text);
    }
    snprintf(to, 64, "%s", text);
    return SLUICE_OK;
}

static sluice_status take_profile(char to[128], const char *text, const char *what,
                                  sluice_error *error)
{
    if (strlen(text) >= 128) {
        return too_long(what, 128, error);
    }
    snprintf(to, 128, "%s", text);
    return SLUICE_OK;
}

static sluice_status take_ca_file(char to[1024], const char *text, const char *what,
                                  sluice_error *error)
{
    if (strlen(text) >= 1024) {
        return too_long(what, 1024, error);
    }
    if (access(text, R_OK) != 0) {
        return sl_error_file(error, SLUICE_INVALID, stage, errno, text, -1,
                             "%s names a file that cannot be read", what);
    }
    snprintf(to, 1024, "%s", text);
    return SLUICE_OK;
}

/* Takes the cache's folder as an absolute path: the first read opens it, and the program may
 * have changed its folder by then. */
static sluice_status take_cache(char to[1024], const char *text, const char *what,
                                sluice_error *error)
{
    char current[1024];
    if (sl_url_is(text)) {
        return sl_error_set(error, SLUICE_INVALID, stage,
                            "%s is an address: expected a folder on a local disk", what);
    }
    const bool relative = text[0] != '\0' && text[0] != '/';
    if (relative && getcwd(current, sizeof(current)) == NULL) {
        return sl_error_set(error, SLUICE_INVALID, stage,
                            "%s is relative to a folder that cannot be found: give a whole path",
                            what);
    }
    const int length =
        snprintf(to, 1024, "%s%s%s", relative ? current : "", relative ? "/" : "", text);
    return length < 1024 ? SLUICE_OK : too_long(what, 1024, error);
}

static sluice_status take_nodes(sl_nodes **nodes, const char *text, const char *what,
                                sluice_error *error)
{
    sluice_error reason;
    sl_error_clear(&reason);
    const sluice_status status = sl_nodes_open(nodes, text, &reason);
    return status == SLUICE_OK ? SLUICE_OK
                               : sl_error_set(error, status, stage, "%s: %s", what, reason.text);
}

/* Reads "200GiB": a number and a unit. False: anything else, or too large. */
static bool read_bytes(const char *text, uint64_t *bytes)
{
    static const char *const units[] = {"", "KiB", "MiB", "GiB", "TiB"};
    char *end = NULL;
    if (!isdigit((unsigned char)*text)) {
        return false;
    }
    errno = 0;
    const unsigned long long number = strtoull(text, &end, 10);
    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
        if (errno == 0 && strcasecmp(end, units[i]) == 0) {
            *bytes = (uint64_t)number << (10 * i);
            return number <= UINT64_MAX >> (10 * i);
        }
    }
    return false;
}

/* ---- the settings of a choice ---- */

typedef struct named_text {
    const char *text, *what;
} named_text;

/* Returns the first of some variables that is set. */
static named_text first_variable(const char *const *names)
{
    for (; *names != NULL; names++) {
        if (variable(*names) != NULL) {
            return (named_text){variable(*names), *names};
        }
    }
    return (named_text){NULL, NULL};
}

static named_text pick_text(const char *chosen, const char *option, const char *const *names)
{
    return is_given(chosen) ? (named_text){chosen, option} : first_variable(names);
}

static bool ignores_endpoints(void)
{
    const char *ignored = variable("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS");
    return ignored != NULL && strcasecmp(ignored, "true") == 0;
}

static sluice_status take_chosen_place(sl_remote_settings *to, const sl_remote_choice *choice,
                                       sluice_error *error)
{
    static const char *const endpoints[] = {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", NULL};
    static const char *const regions[] = {"AWS_REGION", "AWS_DEFAULT_REGION", NULL};
    static const char *const profiles[] = {"AWS_PROFILE", "AWS_DEFAULT_PROFILE", NULL};
    static const char *const none[] = {NULL};
    const named_text endpoint =
        pick_text(choice->endpoint, SL_OPTION("endpoint"), ignores_endpoints() ? none : endpoints);
    const named_text region = pick_text(choice->region, SL_OPTION("region"), regions);
    const named_text profile = pick_text(choice->profile, SL_OPTION("profile"), profiles);
    to->profile_chosen = is_given(choice->profile);
    snprintf(to->profile, sizeof(to->profile), "default");
    sluice_status status = SLUICE_OK;
    if (endpoint.text != NULL) {
        status = take_endpoint(to->endpoint, endpoint.text, endpoint.what, error);
    }
    if (status == SLUICE_OK && region.text != NULL) {
        status = take_region(to->region, region.text, region.what, error);
    }
    if (status == SLUICE_OK && profile.text != NULL) {
        status = take_profile(to->profile, profile.text, profile.what, error);
    }
    return status;
}

static sluice_status take_cache_choice(sl_remote_settings *to, const sl_remote_choice *choice,
                                       sluice_error *error)
{
    const char *kept = variable("SLUICE_REMOTE_CACHE");
    const char *bytes = variable("SLUICE_REMOTE_CACHE_BYTES");
    const char *nodes = variable("SLUICE_CACHE_NODES");
    sluice_status status = SLUICE_OK;
    if (choice->cache != NULL) {
        status = take_cache(to->cache, choice->cache, SL_OPTION("cache"), error);
    } else if (kept != NULL) {
        status = take_cache(to->cache, kept, "SLUICE_REMOTE_CACHE", error);
    }
    to->cache_bytes = choice->cache_bytes;
    if (status == SLUICE_OK && choice->cache_bytes == 0 && bytes != NULL &&
        !read_bytes(bytes, &to->cache_bytes)) {
        status = sl_error_set(error, SLUICE_INVALID, stage,
                              "SLUICE_REMOTE_CACHE_BYTES is \"%.40s\": expected a number of bytes, "
                              "such as 200GiB",
                              bytes);
    }
    if (status == SLUICE_OK && is_given(choice->cache_nodes)) {
        status = take_nodes(&to->nodes, choice->cache_nodes, SL_OPTION("cache_nodes"), error);
    } else if (status == SLUICE_OK && choice->cache_nodes == NULL && nodes != NULL) {
        status = take_nodes(&to->nodes, nodes, "SLUICE_CACHE_NODES", error);
    }
    return status;
}

static sluice_status take_rest(sl_remote_settings *to, const sl_remote_choice *choice,
                               sluice_error *error)
{
    static const char *const bundles[] = {"AWS_CA_BUNDLE", "CURL_CA_BUNDLE", NULL};
    const named_text ca_file = pick_text(choice->ca_file, SL_OPTION("ca_file"), bundles);
    to->anonymous = choice->anonymous;
    to->connections = choice->connections > 0 ? choice->connections : CONNECTIONS_DEFAULT;
    to->stall_ns = choice->stall_ns > 0 ? choice->stall_ns : STALL_NS_DEFAULT;
    return ca_file.text == NULL ? SLUICE_OK
                                : take_ca_file(to->ca_file, ca_file.text, ca_file.what, error);
}

/* Takes all values that need no profile. */
static sluice_status take_choice(sl_remote_settings *to, const sl_remote_choice *choice,
                                 sluice_error *error)
{
    sluice_status status = take_chosen_place(to, choice, error);
    if (status == SLUICE_OK) {
        status = take_rest(to, choice, error);
    }
    return status == SLUICE_OK ? take_cache_choice(to, choice, error) : status;
}

/* Fills in the values that are neither chosen nor in the environment. */
static sluice_status take_profile_values(sl_remote_settings *to, const sl_aws_profile *profile,
                                         sluice_error *error)
{
    const char *const *values = (const char *const *)profile->values;
    const char *ignored = values[SL_AWS_IGNORES_ENDPOINTS];
    const bool ignores =
        ignores_endpoints() || (ignored != NULL && strcasecmp(ignored, "true") == 0);
    const char *endpoint =
        is_given(values[SL_AWS_ENDPOINT_S3]) ? values[SL_AWS_ENDPOINT_S3] : values[SL_AWS_ENDPOINT];
    sluice_status status = SLUICE_OK;
    if (to->endpoint[0] == '\0' && !ignores && is_given(endpoint)) {
        status = take_endpoint(to->endpoint, endpoint, "endpoint_url of the profile", error);
    }
    if (status == SLUICE_OK && to->region[0] == '\0' && is_given(values[SL_AWS_REGION])) {
        status = take_region(to->region, values[SL_AWS_REGION], "region of the profile", error);
    }
    if (status == SLUICE_OK && to->ca_file[0] == '\0' && is_given(values[SL_AWS_CA_BUNDLE])) {
        status =
            take_ca_file(to->ca_file, values[SL_AWS_CA_BUNDLE], "ca_bundle of the profile", error);
    }
    return status;
}

static void read_profile(sl_remote_settings *to)
{
    sl_aws_profile profile;
    sl_error_clear(&to->profile_error);
    sluice_status status = sl_aws_profile_open(&profile, to->profile, &to->profile_error);
    if (status == SLUICE_OK) {
        status = take_profile_values(to, &profile, &to->profile_error);
    }
    if (status == SLUICE_OK && !profile.found && strcmp(to->profile, "default") != 0) {
        sl_error_set(&to->profile_error, SLUICE_INVALID, stage,
                     "the AWS profile \"%s\" does not exist: neither %s nor %s has it", to->profile,
                     profile.config, profile.credentials);
    }
    sl_aws_profile_close(&profile);
}

static void close_settings(sl_remote_settings *settings)
{
    if (settings->nodes != NULL) {
        sl_nodes_close(settings->nodes);
    }
    if (settings->own_cache != NULL) {
        sl_chunk_cache_close(settings->own_cache->chunks);
        sl_free(settings->own_cache);
    }
    sl_free(settings);
}

void sl_remote_settings_release(const sl_remote_settings *settings)
{
    sl_remote_settings *held = NULL;
    memcpy(&held, &settings, sizeof(held)); /* NOLINT(bugprone-sizeof-expression): the pointer,
                                               const for all others */
    /* The release pairs with the acquire: the last holder sees what the others did before. */
    if (held != NULL && atomic_fetch_sub_explicit(&held->holders, 1, memory_order_acq_rel) == 1) {
        close_settings(held);
    }
}

static sl_remote_settings *hold_current(void)
{
    if (own.current != NULL) {
        /* Relaxed: the mutex orders it. */
        atomic_fetch_add_explicit(&own.current->holders, 1, memory_order_relaxed);
    }
    return own.current;
}

static bool copy_texts(char *to[TEXTS], const sl_remote_choice *choice)
{
    const char *const from[TEXTS] = {
        [ENDPOINT] = choice->endpoint, [REGION] = choice->region,
        [PROFILE] = choice->profile,   [CA_FILE] = choice->ca_file,
        [CACHE] = choice->cache,       [CACHE_NODES] = choice->cache_nodes};
    bool good = true;
    for (int i = 0; i < TEXTS; i++) {
        to[i] = from[i] == NULL ? NULL : sl_strdup(from[i]);
        good = good && (from[i] == NULL) == (to[i] == NULL);
    }
    return good;
}

static void free_texts(char *texts[TEXTS])
{
    for (int i = 0; i < TEXTS; i++) {
        sl_free(texts[i]);
    }
}

static sl_remote_choice choice_with(const sl_remote_choice *numbers, char *const texts[TEXTS])
{
    sl_remote_choice choice = *numbers;
    choice.endpoint = texts[ENDPOINT];
    choice.region = texts[REGION];
    choice.profile = texts[PROFILE];
    choice.ca_file = texts[CA_FILE];
    choice.cache = texts[CACHE];
    choice.cache_nodes = texts[CACHE_NODES];
    return choice;
}

static sluice_status make_settings(sl_remote_settings **made, const sl_remote_choice *choice,
                                   sluice_error *error)
{
    *made = sl_calloc(1, sizeof(**made));
    if (*made == NULL) {
        return sl_no_memory(error, stage, "for settings");
    }
    (*made)->own_cache = sl_calloc(1, sizeof(*(*made)->own_cache));
    const sluice_status status = (*made)->own_cache != NULL
                                     ? take_choice(*made, choice, error)
                                     : sl_no_memory(error, stage, "for settings");
    if (status != SLUICE_OK) {
        close_settings(*made);
        *made = NULL;
        return status;
    }
    read_profile(*made);
    return SLUICE_OK;
}

sluice_status sl_remote_settings_get(const sl_remote_settings **settings, sluice_error *error)
{
    char *texts[TEXTS] = {NULL};
    lock_own();
    *settings = hold_current();
    const bool copied = *settings != NULL || copy_texts(texts, &own.choice);
    const sl_remote_choice choice = choice_with(&own.choice, texts);
    const uint64_t chosen = own.chosen;
    sl_unlock(&own.mutex);
    if (*settings != NULL) {
        return SLUICE_OK;
    }
    sl_remote_settings *made = NULL;
    const sluice_status status =
        copied ? make_settings(&made, &choice, error) : sl_no_memory(error, stage, "for settings");
    free_texts(texts);
    if (status != SLUICE_OK) {
        return status;
    }
    atomic_init(&made->holders, 1);
    lock_own();
    if (own.current == NULL && own.chosen == chosen) {
        own.current = made;
        hold_current();
    }
    sl_unlock(&own.mutex);
    *settings = made;
    return SLUICE_OK;
}

sluice_status sl_remote_settings_choose(const sl_remote_choice *choice, sluice_error *error)
{
    char *texts[TEXTS];
    sl_remote_settings *tried = sl_calloc(1, sizeof(*tried));
    if (tried == NULL) {
        return sl_no_memory(error, stage, "for settings");
    }
    sluice_status status = take_choice(tried, choice, error);
    sl_remote_choice taken = *choice;
    taken.cache = choice->cache != NULL ? tried->cache : NULL;
    const bool copied = status == SLUICE_OK && copy_texts(texts, &taken);
    close_settings(tried);
    if (status != SLUICE_OK) {
        return status;
    }
    if (!copied) {
        free_texts(texts);
        return sl_no_memory(error, stage, "for settings");
    }
    lock_own();
    for (int i = 0; i < TEXTS; i++) {
        char *before = own.texts[i];
        own.texts[i] = texts[i];
        texts[i] = before;
    }
    own.choice = choice_with(choice, own.texts);
    own.chosen++;
    sl_remote_settings *before = own.current;
    own.current = NULL;
    sl_unlock(&own.mutex);
    free_texts(texts);
    sl_remote_settings_release(before);
    sl_credentials_forget();
    return SLUICE_OK;
}
