/* SPDX-License-Identifier: Apache-2.0 */
#include "page_request.h"

#include "hosts.h"
#include "settings.h"

#include "clock.h"
#include "error.h"
#include "memory.h"
#include "minmax.h"
#include "store.h"
#include "thread.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define FIRST_DELAY_NS UINT64_C(100000000)
#define DELAY_MOST_NS  UINT64_C(5000000000)
#define SECOND_NS      UINT64_C(1000000000)

/* Limit for a server that sends slowly but never stalls; pages of 16 requests share a line. */
#define LEAST_BYTES_A_SECOND (16 << 10)

enum { TRIES_MOST = 5, RETRY_AFTER_MOST_S = 10, PAGE_BYTES = 4 << 20 };

void sl_page_group_begin(sl_page_group *group)
{
    sl_mutex_init(&group->mutex);
    sl_cond_init(&group->changed);
    group->flying = 0;
}

void sl_page_group_end(sl_page_group *group)
{
    sl_cond_destroy(&group->changed);
    sl_mutex_destroy(&group->mutex);
}

static void leave_host(sl_page_request *page)
{
    const sl_exchange *x = &page->exchange;
    const sl_host_times times = {.sent_at_ns = x->sent_at_ns,
                                 .first_byte_ns = x->first_byte_ns,
                                 .total_ns = x->total_ns,
                                 .bytes = x->got};
    const bool busy = x->status == 429 || x->status == 503;
    const bool good = x->failed == 0;
    if (page->host != NULL) {
        sl_host_ended(page->host,
                      x->failed == -ECANCELED ? SL_HOST_CANCELED
                      : busy                  ? SL_HOST_BUSY
                      : good                  ? SL_HOST_GOOD
                                              : SL_HOST_FAILED,
                      &times);
    }
}

static void page_done(sl_exchange *exchange)
{
    sl_page_request *page = exchange->ctx;
    sl_page_group *group = page->group;
    leave_host(page);
    sl_lock(&group->mutex);
    page->state = SL_PAGE_ENDED;
    group->flying--;
    sl_cond_signal(&group->changed);
    sl_unlock(&group->mutex);
}

/* ---- starting ---- */

static int page_refuse(const sluice_error *error)
{
    sl_store_set_reason(error->text);
    switch (error->status) {
    case SLUICE_CANCELED:
        return -ECANCELED;
    case SLUICE_NOMEM:
        return -ENOMEM;
    case SLUICE_UNSUPPORTED:
        return -ENOTSUP;
    case SLUICE_INVALID:
        return -EINVAL;
    default:
        return -EACCES;
    }
}

static sluice_status page_request_write_page(sl_page_request *page, const sl_page_ask *ask,
                                             sluice_error *error)
{
    const sl_provider *provider = sl_provider_of(page->folder->scheme);
    sluice_status status = SLUICE_OK;
    if (provider->credentials != SL_CREDENTIALS_KINDS) {
        status = sl_credentials_get(provider->credentials, &page->credentials, error);
    }
    sl_page_ask own = *ask;
    own.as = (sl_request_as){.credentials = &page->credentials};
    if (status == SLUICE_OK) {
        status = provider->list(&page->text, page->folder, &own, error);
    }
    if (status < 0) {
        return status;
    }
    page->host = sl_host_find(page->text.host);
    own.as.clock_skew_s = page->host != NULL ? sl_host_clock_skew_s(page->host) : 0;
    if (own.as.clock_skew_s != 0) {
        status = provider->list(&page->text, page->folder, &own, error);
    }
    return status;
}

static sluice_status send_page(sl_page_request *page, sluice_error *error)
{
    const sl_remote_settings *settings = NULL;
    const sluice_status status = sl_remote_settings_get(&settings, error);
    if (status < 0) {
        return status;
    }
    page->stall_ns = settings->stall_ns;
    sl_exchange_free(&page->exchange);
    page->exchange = (sl_exchange){.url = page->moved != NULL ? page->moved : page->text.url,
                                   .headers = page->text.header_list,
                                   .header_count = page->text.header_count,
                                   .buffer = page->buffer,
                                   .capacity = PAGE_BYTES,
                                   .stall_ns = settings->stall_ns,
                                   .limit_ns = settings->stall_ns +
                                               PAGE_BYTES / LEAST_BYTES_A_SECOND * SECOND_NS,
                                   .done = page_done,
                                   .ctx = page};
    sl_remote_settings_release(settings);
    if (page->host != NULL) {
        sl_host_enter_now(page->host);
        sl_host_add(page->host, page->tries > 0 ? SL_HOST_RETRIED : SL_HOST_LISTS);
    }
    sl_lock(&page->group->mutex);
    page->state = SL_PAGE_FLYING;
    page->group->flying++;
    sl_unlock(&page->group->mutex);
    const sluice_status started = sl_engine_start(&page->exchange, error);
    if (started < 0) {
        page->exchange.failed = -ECANCELED;
        leave_host(page);
        sl_lock(&page->group->mutex);
        page->state = SL_PAGE_IDLE;
        page->group->flying--;
        sl_unlock(&page->group->mutex);
    }
    return started;
}

int sl_page_start(sl_page_request *page, sl_page_group *group, const sl_url *folder,
                  const sl_page_ask *ask)
{
    sluice_error error;
    if (page->state == SL_PAGE_IDLE) {
        page->tries = 0;
        page->began_ns = sl_now_ns();
        sl_free(page->moved);
        page->moved = NULL;
    }
    page->group = group;
    page->folder = folder;
    if (page->buffer == NULL) {
        page->buffer = sl_malloc(PAGE_BYTES);
    }
    if (page->buffer == NULL) {
        return -ENOMEM;
    }
    sluice_status status = page_request_write_page(page, ask, &error);
    if (status == SLUICE_OK) {
        status = send_page(page, &error);
    }
    return status == SLUICE_OK ? 0 : page_refuse(&error);
}

/* ---- answers ---- */

static int page_again_after(sl_page_request *page, uint64_t delay_ns)
{
    page->tries++;
    page->again_ns = sl_now_ns() + delay_ns;
    page->state = SL_PAGE_LATER;
    return 0;
}

static uint64_t page_delay(const sl_page_request *page)
{
    const int64_t asked_s = page->exchange.retry_after_s;
    if (asked_s > 0) {
        return sl_min_u64((uint64_t)asked_s, RETRY_AFTER_MOST_S) * SECOND_NS;
    }
    return sl_min_u64(FIRST_DELAY_NS << sl_min_u32(page->tries, 8), DELAY_MOST_NS);
}

/* Appends the number of tries to the reason of the last failure. */
static int page_give_up(const sl_page_request *page, int failed)
{
    char reason[SL_REASON_BYTES];
    if (page->tries > 0) {
        (void)snprintf(reason, sizeof(reason), "%.150s; tries: %u in %.1f s", sl_store_reason(),
                       page->tries + 1, (double)(sl_now_ns() - page->began_ns) / 1e9);
        sl_store_set_reason(reason);
    }
    return failed;
}

static int page_again(sl_page_request *page, bool at_once, int final)
{
    return page->tries + 1 >= TRIES_MOST ? page_give_up(page, final)
                                         : page_again_after(page, at_once ? 0 : page_delay(page));
}

/* Retries when the server asks for it, so only the time is limited. */
static int page_again_when_calm(sl_page_request *page)
{
    const uint64_t delay_ns = page_delay(page);
    return sl_now_ns() - page->began_ns + delay_ns >= page->stall_ns
               ? page_give_up(page, -EBUSY)
               : page_again_after(page, delay_ns);
}

/* Follows a redirect within the server, e.g. for a renamed repository. */
static int page_moved(sl_page_request *page)
{
    char to[2 * SL_URL_BYTES];
    const char *from = page->exchange.url;
    if (!sl_url_resolve(to, sizeof(to), from, page->exchange.location)) {
        sl_store_set_reason("the server redirects to an address that is not followed");
        return -EPERM;
    }
    const char *host = strstr(to, "://");
    const size_t bytes = strlen(page->text.host);
    if (host == NULL || strncmp(host + 3, page->text.host, bytes) != 0 || host[3 + bytes] != '/') {
        sl_store_set_reason("the server redirects the listing to another host");
        return -EPERM;
    }
    char *moved = sl_strdup(to);
    if (moved == NULL) {
        return -ENOMEM;
    }
    sl_free(page->moved);
    page->moved = moved;
    return page_again(page, true, -ELOOP);
}

static int page_judge(sl_page_request *page)
{
    const sl_provider *provider = sl_provider_of(page->folder->scheme);
    char reason[SL_REASON_BYTES] = "";
    const sl_answer answer = provider->answer(&page->exchange, reason);
    sl_store_set_reason(reason);
    switch (answer) {
    case SL_ANSWER_GOOD:
        page->state = SL_PAGE_IDLE;
        return 1;
    case SL_ANSWER_MISSING:
        return -ENOENT;
    case SL_ANSWER_EXPIRED:
        sl_credentials_expired(provider->credentials, &page->credentials);
        return page_again(page, true, -EACCES);
    case SL_ANSWER_SKEWED:
        if (page->host != NULL) {
            sl_host_set_clock(page->host, page->exchange.date_s);
        }
        return page_again(page, true, -EACCES);
    case SL_ANSWER_ELSEWHERE:
        if (provider->elsewhere != NULL) {
            provider->elsewhere(page->folder, &page->exchange);
        }
        return page_again(page, true, -EACCES);
    case SL_ANSWER_MOVED:
        return page_moved(page);
    case SL_ANSWER_BUSY:
        return page_again_when_calm(page);
    case SL_ANSWER_WRONG:
        return page_again(page, false, -EBADMSG);
    default:
        return -EACCES;
    }
}

static bool page_may_pass(int failed)
{
    return failed == -ETIMEDOUT || failed == -ECONNREFUSED || failed == -ECONNRESET ||
           failed == -EBADMSG || failed == -EHOSTUNREACH;
}

int sl_page_take(sl_page_request *page)
{
    if (page->exchange.failed == 0) {
        return page_judge(page);
    }
    sl_store_set_reason(page->exchange.failed == -EFBIG ? "a page of its listing is too long"
                                                        : page->exchange.reason);
    return page_may_pass(page->exchange.failed) ? page_again(page, false, page->exchange.failed)
                                                : page->exchange.failed;
}

void sl_page_close(sl_page_request *page)
{
    if (page->group != NULL) {
        sl_lock(&page->group->mutex);
        const bool flying = page->state == SL_PAGE_FLYING;
        sl_unlock(&page->group->mutex);
        if (flying) {
            sl_engine_cancel(&page->exchange);
        }
        sl_lock(&page->group->mutex);
        while (page->state == SL_PAGE_FLYING) {
            sl_cond_wait(&page->group->changed, &page->group->mutex);
        }
        sl_unlock(&page->group->mutex);
    }
    sl_exchange_free(&page->exchange);
    sl_free(page->buffer);
    sl_free(page->moved);
}
