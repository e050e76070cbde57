/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chains of credentials: keeps them, requests them on a separate thread, and refreshes them before
 * they expire.
 *
 * A chain has at most one thread at a time. It queries the sources without the mutex, publishes the
 * result, and calls the waiters. Results of queries from before `forget` are not published
 * (`generation`).
 */
#include "credentials.h"

#include "credentials_sources.h"
#include "error.h"
#include "fork.h"
#include "memory.h"
#include "stop.h"
#include "thread.h"

#include <string.h>
#include <time.h>

enum { REFRESH_S = 300, ERROR_KEPT_S = 5, NONE_KEPT_S = 60 };

static const char stage[] = "remote";

typedef struct credentials_waiter {
    void (*woken)(void *ctx);
    void *ctx;
} credentials_waiter;

typedef struct credentials_chain {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool known, failed, asking;
    uint64_t generation, process; /* sl_fork_count of the thread that queries */
    int64_t again_s;              /* when the sources may, or should, be queried again */
    sl_credentials credentials;
    sluice_error error;
    credentials_waiter *waiters;
    uint64_t waiting, waiters_most;
} credentials_chain;

static credentials_chain chains[SL_CREDENTIALS_KINDS];
static pthread_once_t chains_once = PTHREAD_ONCE_INIT;

static void init_chains(void)
{
    for (int i = 0; i < SL_CREDENTIALS_KINDS; i++) {
        sl_mutex_init(&chains[i].mutex);
        sl_cond_init(&chains[i].changed);
    }
}

static credentials_chain *chain_of(sl_credentials_kind kind)
{
    (void)pthread_once(&chains_once, init_chains);
    return &chains[kind];
}

static int64_t clock_s(void)
{
    return (int64_t)time(NULL);
}

/* ---- asking the sources ---- */

static sluice_status find_credentials(sl_credentials_kind kind, sl_credentials *credentials,
                                      sluice_error *error)
{
    const sl_remote_settings *settings = NULL;
    sluice_status status = sl_remote_settings_get(&settings, error);
    memset(credentials, 0, sizeof(*credentials));
    if (status < 0) {
        return status;
    }
    if (!settings->anonymous) {
        status = kind == SL_CREDENTIALS_AWS  ? sl_credentials_find_aws(settings, credentials, error)
                 : kind == SL_CREDENTIALS_GS ? sl_credentials_find_gs(credentials, error)
                                             : sl_credentials_find_hf(credentials, error);
    }
    credentials->none = credentials->access_key[0] == '\0' && credentials->token[0] == '\0';
    sl_remote_settings_release(settings);
    if (status == SLUICE_OK && credentials->ends_s != 0 && credentials->ends_s <= clock_s()) {
        return sl_error_set(error, SLUICE_IO, stage,
                            "credentials of %s have already ended: renew them, or check the clock",
                            credentials->source);
    }
    return status;
}

/* Puts the file of an error into its text, because callers name the dataset instead. */
static void name_error_file(sluice_error *error)
{
    enum { PATH_SHOWN = 100 };
    const size_t length = strlen(error->file);
    const char *path = length > PATH_SHOWN ? error->file + (length - PATH_SHOWN) : error->file;
    if (length > 0) {
        char reason[80] = "";
        const char *text =
            error->sys_errno == 0 ? "" : strerror_r(error->sys_errno, reason, sizeof(reason));
        (void)sl_error_set(error, (sluice_status)error->status, stage, "%s%s: %s%s%s%s",
                           length > PATH_SHOWN ? "..." : "", path, error->text,
                           *text == '\0' ? "" : " (", text, *text == '\0' ? "" : ")");
    }
}

/* Returns when to query the sources again for credentials that were found now. */
static int64_t refresh_time(const sl_credentials *credentials)
{
    const int64_t now = clock_s();
    if (credentials->none) {
        return now + NONE_KEPT_S;
    }
    if (credentials->ends_s == 0) {
        return INT64_MAX;
    }
    const int64_t lasts = credentials->ends_s - now;
    return credentials->ends_s - (lasts < INT64_C(2) * REFRESH_S ? lasts / 2 : REFRESH_S);
}

static bool have_ended(const credentials_chain *chain)
{
    const int64_t ends = chain->credentials.ends_s;
    return !chain->credentials.none && ends != 0 && clock_s() >= ends;
}

/* Under the mutex. If a refresh fails, the known credentials stay until they expire. */
static void publish_credentials(credentials_chain *chain, sluice_status status,
                                const sl_credentials *found, const sluice_error *error)
{
    chain->failed = status < 0;
    if (status >= 0) {
        chain->known = true;
        chain->credentials = *found;
        chain->again_s = refresh_time(found);
    } else {
        chain->known = chain->known && !have_ended(chain);
        chain->error = *error;
        chain->again_s = clock_s() + ERROR_KEPT_S;
    }
}

static void ask_sources(void *argument)
{
    credentials_chain *chain = argument;
    const sl_credentials_kind kind = (sl_credentials_kind)(chain - chains);
    sl_credentials found;
    sluice_error error;
    sluice_status status;
    bool is_current;
    credentials_waiter *waiters = NULL;
    uint64_t waiting = 0;
    do {
        sl_lock(&chain->mutex);
        const uint64_t generation = chain->generation;
        sl_unlock(&chain->mutex);
        sl_error_clear(&error);
        status = find_credentials(kind, &found, &error);
        if (status < 0) {
            name_error_file(&error);
        }
        sl_lock(&chain->mutex);
        is_current = chain->generation == generation;
        if (is_current) {
            publish_credentials(chain, status, &found, &error);
            chain->asking = false;
            waiters = chain->waiters;
            waiting = chain->waiting;
            chain->waiters = NULL;
            chain->waiting = chain->waiters_most = 0;
            sl_cond_broadcast(&chain->changed);
        }
        sl_unlock(&chain->mutex);
    } while (!is_current);
    explicit_bzero(&found, sizeof(found));
    for (uint64_t i = 0; i < waiting; i++) {
        waiters[i].woken(waiters[i].ctx);
    }
    sl_free(waiters);
}

/* Starts the query thread. Under the mutex. */
static sluice_status begin_asking(credentials_chain *chain, sluice_error *error)
{
    if (chain->asking && chain->process == sl_fork_count()) {
        return SLUICE_OK;
    }
    if (chain->asking) { /* in the parent, whose waiters do not exist here */
        chain->waiting = 0;
    }
    sl_thread thread = {.running = false};
    const sluice_status status =
        sl_thread_start(&thread, "sl-credentials", ask_sources, chain, error);
    chain->asking = status == SLUICE_OK;
    if (chain->asking) {
        chain->process = sl_fork_count();
        sl_thread_detach(&thread);
    }
    return status;
}

/* ---- the interface ---- */

/* Copies known credentials, or starts a query. Under the mutex. */
static sl_ask look_at_chain(credentials_chain *chain, sl_credentials *credentials,
                            sluice_error *error)
{
    const bool is_due = clock_s() >= chain->again_s;
    if (chain->known && !have_ended(chain)) {
        if (is_due) {
            (void)begin_asking(chain, NULL); /* the known credentials are still valid */
        }
        *credentials = chain->credentials;
        return SL_ASK_READY;
    }
    if (chain->failed && !is_due && !chain->asking) {
        if (error != NULL) {
            *error = chain->error;
        }
        return SL_ASK_FAILED;
    }
    return begin_asking(chain, error) == SLUICE_OK ? SL_ASK_PENDING : SL_ASK_FAILED;
}

sl_ask sl_credentials_ask(sl_credentials_kind kind, sl_credentials *credentials,
                          void (*woken)(void *ctx), void *ctx, sluice_error *error)
{
    credentials_chain *chain = chain_of(kind);
    sl_lock(&chain->mutex);
    sl_ask result = look_at_chain(chain, credentials, error);
    if (result == SL_ASK_PENDING && woken != NULL) {
        if (sl_grow(&chain->waiters, &chain->waiters_most, chain->waiting + 1,
                    sizeof(*chain->waiters))) {
            chain->waiters[chain->waiting++] = (credentials_waiter){.woken = woken, .ctx = ctx};
        } else {
            (void)sl_no_memory(error, stage, "for waiting for credentials");
            result = SL_ASK_FAILED;
        }
    }
    sl_unlock(&chain->mutex);
    return result;
}

sluice_status sl_credentials_get(sl_credentials_kind kind, sl_credentials *credentials,
                                 sluice_error *error)
{
    credentials_chain *chain = chain_of(kind);
    sluice_error reason;
    sl_error_clear(&reason);
    sl_lock(&chain->mutex);
    sl_ask result = look_at_chain(chain, credentials, &reason);
    bool stopped = false;
    while (result == SL_ASK_PENDING && !stopped) {
        stopped = sl_stop_wait(&chain->changed, &chain->mutex);
        result = look_at_chain(chain, credentials, &reason);
    }
    sl_unlock(&chain->mutex);
    if (result == SL_ASK_READY) {
        return SLUICE_OK;
    }
    if (result == SL_ASK_PENDING) {
        return sl_error_set(error, SLUICE_CANCELED, stage, "canceled while asking for credentials");
    }
    if (error != NULL) {
        *error = reason;
    }
    return (sluice_status)reason.status;
}

static bool are_same_credentials(const sl_credentials *a, const sl_credentials *b)
{
    return a->none == b->none && strcmp(a->access_key, b->access_key) == 0 &&
           strcmp(a->secret_key, b->secret_key) == 0 && strcmp(a->token, b->token) == 0;
}

void sl_credentials_expired(sl_credentials_kind kind, const sl_credentials *were)
{
    credentials_chain *chain = chain_of(kind);
    sl_lock(&chain->mutex);
    if (chain->known && are_same_credentials(&chain->credentials, were)) {
        chain->known = chain->failed = false;
    }
    sl_unlock(&chain->mutex);
}

void sl_credentials_forget(void)
{
    for (int i = 0; i < SL_CREDENTIALS_KINDS; i++) {
        credentials_chain *chain = chain_of((sl_credentials_kind)i);
        sl_lock(&chain->mutex);
        chain->known = chain->failed = false;
        chain->generation++;
        explicit_bzero(&chain->credentials, sizeof(chain->credentials));
        sl_unlock(&chain->mutex);
    }
}
