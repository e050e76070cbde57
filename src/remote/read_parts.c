/* SPDX-License-Identifier: Apache-2.0 */
/* read_parts: sends the parts of a read: credentials, addresses, windows, delays and hedges. */
#include "read_parts.h"

#include "clock.h"
#include "error.h"
#include "memory.h"
#include "minmax.h"
#include "thread.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define MS                 UINT64_C(1000000)
#define TRIES_MOST         5U
#define DELAY_FIRST_NS     (100 * MS)
#define DELAY_MOST_NS      (5000 * MS)
#define RETRY_AFTER_MOST_S 10
/* Limit for a server that sends slowly but never stalls. Even a slow line shared by 256
 * connections is faster. */
#define LEAST_BYTES_A_SECOND 4096
#define NODE_STALL_NS        (10000 * MS)
#define ASKING_MOST_NS       (2000 * MS)
#define ASKING_LOOK_NS       (5 * MS)

/* ---- the end of a part ---- */

void sl_part_asked_locked(sl_read_part *part, bool direct)
{
    sl_object *object = part->state->object;
    if (part->asks) {
        part->asks = false;
        sl_lock(&object->mutex);
        object->asking = false;
        object->is_direct = direct && object->moved == NULL;
        sl_unlock(&object->mutex);
    }
}

void sl_part_finish_locked(sl_read_part *part, int64_t result)
{
    if (sl_engine_forget(&part->timer)) {
        sl_read_drop_locked(part->state);
    }
    sl_part_asked_locked(part, result >= 0);
    part->phase = SL_PART_DONE;
    part->result = result;
    part->state->left--;
}

void sl_part_fail_locked(sl_read_part *part, int failed, const char *reason)
{
    (void)snprintf(part->reason, sizeof(part->reason), "%.*s", (int)sizeof(part->reason) - 1,
                   reason);
    sl_part_finish_locked(part, failed);
}

void sl_part_cancel_locked(sl_read_part *part)
{
    sl_read_state *state = part->state;
    switch (part->phase) {
    case SL_PART_ASKING:
    case SL_PART_DELAYED:
        sl_part_fail_locked(part, -ECANCELED, "canceled");
        break;
    case SL_PART_QUEUED:
        if (sl_host_leave_queue(part->main.host, &part->waiter)) {
            sl_read_drop_locked(state);
        }
        sl_part_fail_locked(part, -ECANCELED, "canceled");
        break;
    case SL_PART_FLYING:
        if (part->main.flying) {
            sl_engine_cancel(&part->main.exchange);
        }
        if (part->hedge != NULL && part->hedge->flying) {
            sl_engine_cancel(&part->hedge->exchange);
        }
        break;
    default:
        break;
    }
}

/* ---- delays ---- */

static void part_ticks(sl_engine_timer *timer)
{
    sl_read_part *part = timer->ctx;
    sl_read_state *state = part->state;
    sl_lock(&state->mutex);
    if (part->phase == SL_PART_DELAYED) {
        sl_part_send_locked(part);
    } else if (part->phase == SL_PART_FLYING && !state->canceled) {
        sl_part_hedge_locked(part);
    }
    sl_read_leave(state);
}

static bool part_set_timer_locked(sl_read_part *part, uint64_t after_ns)
{
    /* Set once, and never changed: a tick may be waiting for the mutex. */
    if (part->timer.tick == NULL) {
        part->timer.tick = part_ticks;
        part->timer.ctx = part;
    }
    /* A late tick may have sent the part while the timer was set again. */
    if (sl_engine_forget(&part->timer)) {
        sl_read_drop_locked(part->state);
    }
    sl_read_hold(part->state);
    if (sl_engine_after(&part->timer, after_ns, NULL) != SLUICE_OK) {
        sl_read_drop_locked(part->state);
        return false;
    }
    return true;
}

/* Returns a random delay between half and all of it, so that many parts do not retry together. */
static uint64_t with_jitter(uint64_t delay_ns)
{
    uint64_t x = sl_now_ns();
    x ^= x >> 33;
    x *= UINT64_C(0xff51afd7ed558ccd);
    x ^= x >> 33;
    return delay_ns / 2 + x % (delay_ns / 2 + 1);
}

/* Appends the number of tries to the reason of the last failure. */
static void part_add_tries(sl_read_part *part, uint64_t spent_ns)
{
    const size_t length = strlen(part->reason);
    if (part->tries > 1) {
        (void)snprintf(part->reason + length, sizeof(part->reason) - length,
                       "; tries: %u in %.1f s", part->tries, (double)spent_ns / 1e9);
    }
}

void sl_part_again_locked(sl_read_part *part, int failed, bool busy, int64_t retry_after_s)
{
    const uint32_t tries = ++part->tries;
    uint64_t delay_ns = sl_min_u64(DELAY_FIRST_NS << sl_min_u32(tries - 1, 8), DELAY_MOST_NS);
    delay_ns = with_jitter(delay_ns);
    if (busy && retry_after_s > 0) {
        const int64_t most_s =
            retry_after_s < RETRY_AFTER_MOST_S ? retry_after_s : RETRY_AFTER_MOST_S;
        delay_ns = sl_max_u64(delay_ns, (uint64_t)most_s * 1000 * MS);
    }
    const uint64_t spent_ns = sl_now_ns() - part->began_ns;
    const bool is_last = (!busy && tries >= TRIES_MOST) ||
                         spent_ns + delay_ns >= part->state->stall_ns || part->state->canceled;
    if (is_last || !part_set_timer_locked(part, delay_ns)) {
        part_add_tries(part, spent_ns);
        sl_part_finish_locked(part, part->state->canceled ? -ECANCELED : failed);
        return;
    }
    if (part->main.host != NULL) {
        sl_host_add(part->main.host, SL_HOST_RETRIED);
    }
    part->phase = SL_PART_DELAYED;
}

/* ---- sending ---- */

/* Writes the request of a try, or an `error`. AGAIN: the redirect to follow was forgotten
 * meanwhile. */
static sluice_status write_store_request(sl_read_part *part, sl_read_try *try, sluice_error *error)
{
    sl_object *object = part->state->object;
    const sl_provider *provider = object->provider;
    const char *moved = try->is_moved ? object->moved : NULL;
    int64_t skew_s = 0;
    sluice_status status = SLUICE_OK;
    if (try->is_moved && moved == NULL) {
        return SLUICE_AGAIN;
    }
    /* twice if the clock differs: only the written request has its host */
    do {
        const sl_get_ask ask = {
            .as = {&part->credentials, skew_s}, .etag = object->etag, .moved = moved};
        status = provider->get(&try->text, &object->url, &ask, error);
        try->host = status == SLUICE_OK ? sl_host_find(try->text.host) : NULL;
        if (status == SLUICE_OK && try->host == NULL) {
            return sl_no_memory(error, "remote", "for a host");
        }
        if (status != SLUICE_OK || moved != NULL || skew_s != 0) {
            return status;
        }
        skew_s = sl_host_clock_skew_s(try->host);
    } while (skew_s != 0);
    return status;
}

/* Copies the path of the request's URL, without its query. */
static bool path_of_url(const char *url, char *path, size_t bytes)
{
    const char *from = strstr(url, "://");
    from = from != NULL ? strchr(from + 3, '/') : NULL;
    const size_t length = from != NULL ? strcspn(from, "?") : bytes;
    if (length >= bytes) {
        return false;
    }
    memcpy(path, from, length);
    path[length] = '\0';
    return true;
}

/* Returns the next living owner of the part's slice; NULL: use the store. A node may have an
 * older version, so nodes are asked only if the ETag is known: If-Match is in the cache's key. */
static const char *next_node(sl_read_part *part, const sl_read_try *try)
{
    const sl_read_state *state = part->state;
    const sl_nodes *nodes = state->settings->nodes;
    const sl_object *object = state->object;
    char path[2 * SL_URL_BYTES];
    if (nodes == NULL || state->from_store || try->is_moved || object->etag[0] == '\0' ||
        object->provider->scheme == SL_SCHEME_HF || sl_nodes_count(nodes) == 0 ||
        !path_of_url(try->text.url, path, sizeof(path))) {
        return NULL;
    }
    uint32_t owners[SL_NODE_STEPS];
    sl_nodes_owners(nodes, path, part->offset / SL_SLICE_BYTES, owners);
    while (part->node_step < SL_NODE_STEPS && (part->node_step == 0 || owners[0] != owners[1])) {
        const char *name = sl_nodes_name(nodes, owners[part->node_step]);
        sl_host *host = sl_host_find(name);
        if (host != NULL && !sl_host_is_dead(host)) {
            return name;
        }
        part->node_step++;
    }
    return NULL;
}

/* Makes the URL plain HTTP: nodes are reached over HTTP, and reach the store over TLS;
 * signatures are valid for both. */
static void make_url_plain(sl_request_text *text)
{
    if (strncmp(text->url, "https://", 8) == 0) {
        memmove(text->url + 4, text->url + 5, strlen(text->url + 5) + 1);
    }
}

static sluice_status part_write_request(sl_read_part *part, sl_read_try *try, sluice_error *error)
{
    sl_object *object = part->state->object;
    sl_lock(&object->mutex);
    sluice_status status = write_store_request(part, try, error);
    try->node = status == SLUICE_OK ? next_node(part, try) : NULL;
    sl_unlock(&object->mutex);
    if (try->node != NULL) {
        make_url_plain(&try->text);
        try->host = sl_host_find(try->node);
        status = try->host != NULL ? status : sl_no_memory(error, "remote", "for a host");
    }
    return status;
}

static bool try_start_locked(sl_read_try *try, sluice_error *error)
{
    sl_read_part *part = try->part;
    const sl_read_state *state = part->state;
    sl_exchange_free(&try->exchange);
    try->exchange = (sl_exchange){
        .url = try->text.url,
        .headers = try->text.header_list,
        .header_count = try->text.header_count,
        .address = try->node,
        .refuses_local = try->is_moved && !part->from_local,
        .has_bytes = !part->whole,
        .first = part->offset,
        .last = part->offset + part->bytes - 1,
        .buffer = try->own != NULL ? try->own : part->to,
        .capacity = part->bytes,
        .stall_ns =
            try->node != NULL ? sl_min_u64(state->stall_ns, NODE_STALL_NS) : state->stall_ns,
        .limit_ns = state->stall_ns + part->bytes * (1000 * MS / LEAST_BYTES_A_SECOND),
        .done = sl_try_done,
        .ctx = try,
    };
    sl_read_hold(part->state);
    try->flying = true;
    if (sl_engine_start(&try->exchange, error) != SLUICE_OK) {
        try->flying = false;
        sl_read_drop_locked(part->state);
        return false;
    }
    return true;
}

static int start_errno(const sluice_error *error)
{
    switch (error->status) {
    case SLUICE_NOMEM:
        return -ENOMEM;
    case SLUICE_CANCELED:
        return -ECANCELED;
    case SLUICE_UNSUPPORTED:
        return -ENOTSUP;
    default:
        return error->sys_errno > 0 ? -error->sys_errno : -EIO;
    }
}

/* Starts a request; needs a slot in the host's window. False: the caller returns the slot. */
static bool part_fly_locked(sl_read_part *part)
{
    sluice_error error;
    sl_error_clear(&error);
    if (part->state->canceled) {
        sl_part_fail_locked(part, -ECANCELED, "canceled");
        return false;
    }
    if (!try_start_locked(&part->main, &error)) {
        sl_part_fail_locked(part, start_errno(&error), error.text);
        return false;
    }
    part->phase = SL_PART_FLYING;
    part->sent_ns = sl_now_ns();
    /* a node that misses is late, too; a second owner would then fetch the slice again */
    const uint64_t late_ns =
        part->main.node == NULL ? sl_host_hedge_after_ns(part->main.host, part->bytes) : 0;
    if (late_ns != 0) {
        (void)part_set_timer_locked(part, late_ns);
    }
    return true;
}

static void part_enters(sl_host_waiter *waiter)
{
    sl_read_part *part = waiter->ctx;
    sl_read_state *state = part->state;
    sl_lock(&state->mutex);
    sl_host *host = part->queued_for;
    const bool flies = part->phase == SL_PART_QUEUED && part_fly_locked(part);
    sl_unlock(&state->mutex);
    if (!flies) {
        sl_host_ended(host, SL_HOST_CANCELED, &(sl_host_times){.bytes = 0});
    }
    sl_lock(&state->mutex);
    sl_read_leave(state);
}

static void part_credentials_woken(void *ctx)
{
    sl_read_part *part = ctx;
    sl_read_state *state = part->state;
    sl_lock(&state->mutex);
    if (part->phase == SL_PART_ASKING) {
        sl_part_send_locked(part);
    }
    sl_read_leave(state);
}

/* Checks for credentials. False: the part waits for them, or has failed. */
static bool part_has_credentials_locked(sl_read_part *part)
{
    const sl_credentials_kind kind = part->state->object->provider->credentials;
    sluice_error error;
    sl_error_clear(&error);
    if (kind == SL_CREDENTIALS_KINDS || part->main.is_moved) {
        return true;
    }
    sl_read_hold(part->state);
    part->phase = SL_PART_ASKING;
    switch (sl_credentials_ask(kind, &part->credentials, part_credentials_woken, part, &error)) {
    case SL_ASK_PENDING:
        return false;
    case SL_ASK_READY:
        sl_read_drop_locked(part->state);
        return true;
    default:
        sl_read_drop_locked(part->state);
        sl_part_fail_locked(part, -EACCES, error.text);
        return false;
    }
}

/* Returns whether the part should wait, because another one requests the object's redirect. If
 * the redirect is unknown, the part requests it itself. */
static bool part_waits_for_redirect_locked(sl_read_part *part)
{
    sl_object *object = part->state->object;
    bool waits = false;
    if (!object->provider->redirects || part->asks || part->main.is_moved) {
        return false;
    }
    sl_lock(&object->mutex);
    if (object->asking) {
        waits = sl_now_ns() - object->asking_since_ns < ASKING_MOST_NS;
    } else if (!object->is_direct) {
        object->asking = part->asks = true;
        object->asking_since_ns = sl_now_ns();
    }
    sl_unlock(&object->mutex);
    return waits;
}

static bool object_has_moved(sl_object *object, bool *from_local)
{
    sl_lock(&object->mutex);
    const bool moved = object->moved != NULL && object->moved_until_s > (int64_t)time(NULL);
    *from_local = moved && object->moved_from_local;
    if (object->moved != NULL && !moved) {
        sl_free(object->moved);
        object->moved = NULL;
    }
    sl_unlock(&object->mutex);
    return moved;
}

void sl_part_send_locked(sl_read_part *part)
{
    sl_read_state *state = part->state;
    sluice_error error;
    sl_error_clear(&error);
    if (state->canceled) {
        sl_part_fail_locked(part, -ECANCELED, "canceled");
        return;
    }
    part->main.is_moved = object_has_moved(state->object, &part->from_local);
    if (part_waits_for_redirect_locked(part) && part_set_timer_locked(part, ASKING_LOOK_NS)) {
        part->phase = SL_PART_DELAYED;
        return;
    }
    if (!part_has_credentials_locked(part)) {
        return;
    }
    const sluice_status status = part_write_request(part, &part->main, &error);
    if (status == SLUICE_AGAIN) {
        sl_part_send_locked(part);
        return;
    }
    if (status != SLUICE_OK) {
        sl_part_fail_locked(part, status == SLUICE_NOMEM ? -ENOMEM : -EINVAL, error.text);
        return;
    }
    sl_host_set_most(part->main.host, state->settings->connections);
    part->queued_for = part->main.host;
    part->phase = SL_PART_QUEUED;
    sl_read_hold(state);
    part->waiter = (sl_host_waiter){.call = part_enters, .ctx = part};
    if (sl_host_enter(part->main.host, &part->waiter)) {
        sl_read_drop_locked(state);
        if (!part_fly_locked(part)) {
            part->owes_place++;
        }
    }
}

void sl_part_hedge_locked(sl_read_part *part)
{
    sluice_error error;
    if (part->hedge != NULL || !part->main.flying || !sl_host_may_hedge(part->main.host)) {
        return;
    }
    sl_read_try *hedge = sl_calloc(1, sizeof(*hedge));
    uint8_t *own = hedge != NULL ? sl_malloc(part->bytes) : NULL;
    bool flies = false;
    if (own != NULL) {
        hedge->part = part;
        hedge->own = own;
        hedge->is_moved = part->main.is_moved;
        flies = part_write_request(part, hedge, &error) == SLUICE_OK &&
                hedge->host == part->main.host && try_start_locked(hedge, &error);
    }
    if (flies) {
        part->hedge = hedge;
        return;
    }
    part->owes_place++;
    sl_free(own);
    sl_free(hedge);
}
