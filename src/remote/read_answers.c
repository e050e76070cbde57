/* SPDX-License-Identifier: Apache-2.0 */
/* read_answers: decides what the end of a try means for its part. */
#include "clock.h"
#include "memory.h"
#include "minmax.h"
#include "read_parts.h"
#include "thread.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define MOVED_S   900 /* signed addresses last about an hour; shorter ones are renewed */
#define HOPS_MOST 5U

/* How a try ended. */
typedef struct try_end {
    sl_answer answer; /* if failed is 0 */
    int failed;
    char reason[SL_REASON_BYTES];
} try_end;

static try_end judge(const sl_read_try *try)
{
    const sl_exchange *e = &try->exchange;
    const sl_object *object = try->part->state->object;
    try_end end = {.failed = e->failed, .reason = ""};
    if (e->failed == 0) {
        end.answer = object->provider->answer(e, end.reason);
    } else if (e->failed == -EFBIG && e->status == 200 && e->has_bytes) {
        (void)snprintf(end.reason, sizeof(end.reason),
                       "the server answers 200 instead of 206: it sends more than the range");
    } else {
        memcpy(end.reason, e->reason, sizeof(end.reason));
    }
    return end;
}

/* Returns whether a whole object is too long. An answer that sends more than its own valid
 * length does not count. */
static bool is_whole_too_long(const sl_read_try *try, const try_end *end)
{
    const sl_exchange *e = &try->exchange;
    return end->failed == -EFBIG && try->part->whole &&
           (e->length < 0 || (uint64_t)e->length > e->capacity);
}

static sl_host_end host_end_of(const sl_read_try *try, const try_end *end)
{
    if (end->failed == -ECANCELED) {
        return SL_HOST_CANCELED;
    }
    if (end->failed == -EMFILE || end->failed == -ENFILE) {
        return SL_HOST_BUSY;
    }
    if (end->failed != 0) {
        return is_whole_too_long(try, end) ? SL_HOST_GOOD : SL_HOST_FAILED;
    }
    switch (end->answer) {
    case SL_ANSWER_BUSY:
        return SL_HOST_BUSY;
    case SL_ANSWER_WRONG:
        return SL_HOST_FAILED;
    default:
        return SL_HOST_GOOD;
    }
}

/* Reports the end to the host. Without the mutex: the host's waiters may be called. */
static void tell_host(const sl_read_try *try, const try_end *end)
{
    const sl_exchange *e = &try->exchange;
    const sl_host_end ended = host_end_of(try, end);
    const sl_host_times times = {.sent_at_ns = e->sent_at_ns,
                                 .first_byte_ns = e->first_byte_ns,
                                 .total_ns = e->total_ns,
                                 .bytes = e->got};
    if (end->failed == -ETIMEDOUT) {
        sl_host_add(try->host, SL_HOST_STALLED);
    }
    if (try->node != NULL && ended == SL_HOST_FAILED) {
        sl_host_found_dead(try->host);
    }
    sl_host_ended(try->host, ended, &times);
}

/* ---- redirects ---- */

/* Forgets the target of the object's redirect, which is no longer valid: the store is asked
 * again, unless another read has done that. */
static void forget_moved(sl_read_part *part, const sl_read_try *try)
{
    sl_object *object = part->state->object;
    part->moved_dropped = true;
    sl_lock(&object->mutex);
    if (object->moved != NULL && strcmp(object->moved, try->text.url) == 0) {
        sl_free(object->moved);
        object->moved = NULL;
        object->is_direct = false;
    }
    sl_unlock(&object->mutex);
}

/* Follows a redirect. Returns NULL, or why it cannot be followed. */
static const char *follow_redirect(sl_read_part *part, const sl_exchange *e)
{
    sl_object *object = part->state->object;
    char *to = sl_malloc((size_t)2 * SL_URL_BYTES);
    if (to == NULL) {
        return "out of memory";
    }
    const char *refusal = NULL;
    if (++part->hops > HOPS_MOST) {
        refusal = "the server redirects in a circle";
    } else if (e->location == NULL ||
               !sl_url_resolve(to, (size_t)2 * SL_URL_BYTES, e->url, e->location)) {
        refusal = "the server redirects to an address that cannot be followed";
    }
    if (refusal != NULL) {
        sl_free(to);
        return refusal;
    }
    sl_lock(&object->mutex);
    sl_free(object->moved);
    object->moved = to;
    object->moved_until_s = (int64_t)time(NULL) + MOVED_S;
    object->moved_from_local = e->from_local;
    sl_unlock(&object->mutex);
    sl_part_asked_locked(part, false);
    return NULL;
}

/* ---- bad ends ---- */

static void part_failed_locked(sl_read_part *part, const sl_read_try *try, const try_end *end)
{
    switch (end->failed) {
    case -ECANCELED:
    case -EKEYREJECTED:
    case -EPERM:
    case -EINVAL:
        sl_part_finish_locked(part, end->failed);
        break;
    case -EMFILE:
    case -ENFILE:
    case -ENOMEM:
        sl_part_again_locked(part, end->failed, true, -1);
        break;
    case -EFBIG:
        if (is_whole_too_long(try, end)) {
            part->state->object_bytes =
                try->exchange.length >= 0 ? (uint64_t)try->exchange.length : UINT64_MAX;
            sl_part_finish_locked(part, -EFBIG);
        } else {
            sl_part_again_locked(part, -EBADMSG, false, -1);
        }
        break;
    default:
        sl_part_again_locked(part, end->failed, false, -1);
    }
}

/* Handles a range beyond the object's end. */
static void part_beyond_locked(sl_read_part *part, const sl_read_try *try)
{
    const sl_exchange *e = &try->exchange;
    sl_object *object = part->state->object;
    sl_file_identity identity;
    if ((sl_object_facts(object, &identity) && part->offset < identity.bytes) ||
        !sl_object_learn(object, e, try->is_moved)) {
        sl_part_fail_locked(part, -EREMCHG, "the object was replaced by a shorter one");
        return;
    }
    part->state->object_bytes = e->total;
    sl_part_finish_locked(part, 0);
}

/* Sends the part again, unless `*once` is already set. */
static void send_once_more_locked(sl_read_part *part, bool *once)
{
    if (*once) {
        sl_part_finish_locked(part, -EACCES);
        return;
    }
    *once = true;
    sl_part_send_locked(part);
}

static void part_moved_locked(sl_read_part *part, const sl_read_try *try)
{
    sl_object *object = part->state->object;
    if (try->exchange.linked_size != UINT64_MAX &&
        !sl_object_learn(object, &try->exchange, false)) {
        sl_part_fail_locked(part, -EREMCHG, "the object was replaced");
        return;
    }
    const char *refusal = follow_redirect(part, &try->exchange);
    if (refusal != NULL) {
        sl_part_fail_locked(part, -EPERM, refusal);
        return;
    }
    sl_part_send_locked(part);
}

static void part_answered_badly_locked(sl_read_part *part, const sl_read_try *try, sl_answer answer)
{
    const sl_exchange *e = &try->exchange;
    const sl_provider *provider = part->state->object->provider;
    const bool refuses =
        answer == SL_ANSWER_MISSING || answer == SL_ANSWER_REFUSED || answer == SL_ANSWER_EXPIRED;
    if (refuses && try->is_moved && !part->moved_dropped) {
        forget_moved(part, try);
        sl_part_send_locked(part);
        return;
    }
    switch (answer) {
    case SL_ANSWER_MISSING:
        sl_part_finish_locked(part, -ENOENT);
        break;
    case SL_ANSWER_EXPIRED:
        if (!part->asked_again) {
            sl_credentials_expired(provider->credentials, &part->credentials);
        }
        send_once_more_locked(part, &part->asked_again);
        break;
    case SL_ANSWER_SKEWED:
        if (e->date_s > 0) {
            sl_host_set_clock(try->host, e->date_s);
        }
        send_once_more_locked(part, &part->clock_set);
        break;
    case SL_ANSWER_ELSEWHERE:
        if (provider->elsewhere != NULL) {
            provider->elsewhere(&part->state->object->url, e);
        }
        send_once_more_locked(part, &part->region_set);
        break;
    case SL_ANSWER_MOVED:
        part_moved_locked(part, try);
        break;
    case SL_ANSWER_REPLACED:
        sl_part_fail_locked(part, -EREMCHG, "the object was replaced");
        break;
    case SL_ANSWER_BEYOND:
        part_beyond_locked(part, try);
        break;
    case SL_ANSWER_BUSY:
        sl_part_again_locked(part, -EBUSY, true, e->retry_after_s);
        break;
    case SL_ANSWER_WRONG:
        sl_part_again_locked(part, -EBADMSG, false, -1);
        break;
    default:
        sl_part_finish_locked(part, -EACCES);
    }
}

/* ---- ends ---- */

static void hedge_lands_locked(sl_read_part *part)
{
    memcpy(part->to, part->hedge->own, part->hedge->exchange.got);
    sl_part_finish_locked(part, (int64_t)part->hedge->exchange.got);
}

static void try_won_locked(sl_read_part *part, sl_read_try *try)
{
    const sl_exchange *e = &try->exchange;
    sl_read_state *state = part->state;
    if (e->status == 206 && e->total != UINT64_MAX) {
        state->object_bytes = e->total;
    } else if (e->status == 200) {
        state->object_bytes = e->got;
    }
    if (try == &part->main) {
        if (part->hedge != NULL && part->hedge->flying) {
            sl_engine_cancel(&part->hedge->exchange);
        }
        sl_part_finish_locked(part, (int64_t)e->got);
        return;
    }
    sl_host_add(try->host, SL_HOST_HEDGES_WON);
    if (part->main.flying) { /* it may still write to the caller's buffer */
        part->phase = SL_PART_WON;
        sl_engine_cancel(&part->main.exchange);
        return;
    }
    hedge_lands_locked(part);
}

/* Returns true if another try of the part may still succeed. */
static bool other_flies(const sl_read_part *part)
{
    return part->main.flying || (part->hedge != NULL && part->hedge->flying);
}

/* Returns whether the body has all bytes of the part that the object has: a server may send
 * fewer, and be consistent. */
static bool is_complete(const sl_read_part *part, const sl_exchange *e)
{
    sl_file_identity identity;
    if (!sl_object_facts(part->state->object, &identity)) {
        return true;
    }
    const uint64_t left = part->offset < identity.bytes ? identity.bytes - part->offset : 0;
    return e->got == sl_min_u64(part->bytes, left);
}

static void part_take_locked(sl_read_part *part, sl_read_try *try, try_end *end)
{
    try->flying = false;
    if (part->phase == SL_PART_WON && try == &part->main) {
        hedge_lands_locked(part);
        return;
    }
    if (part->phase != SL_PART_FLYING) {
        return;
    }
    bool good = end->failed == 0 && end->answer == SL_ANSWER_GOOD;
    if (good && !sl_object_learn(part->state->object, &try->exchange, try->is_moved)) {
        good = false;
        end->answer = SL_ANSWER_REPLACED;
    }
    if (good && !is_complete(part, &try->exchange)) {
        good = false;
        end->answer = SL_ANSWER_WRONG;
        (void)snprintf(end->reason, sizeof(end->reason), "the body is shorter than the object");
    }
    if (good) {
        try_won_locked(part, try);
        return;
    }
    memcpy(part->reason, end->reason, sizeof(part->reason));
    if (other_flies(part)) {
        return;
    }
    if (sl_engine_forget(&part->timer)) {
        sl_read_drop_locked(part->state);
    }
    if (part->state->canceled) {
        sl_part_fail_locked(part, -ECANCELED, "canceled");
    } else if (try->node != NULL) {
        part->node_step++;
        sl_part_send_locked(part);
    } else if (end->failed != 0) {
        part_failed_locked(part, try, end);
    } else {
        part_answered_badly_locked(part, try, end->answer);
    }
}

void sl_try_done(sl_exchange *exchange)
{
    sl_read_try *try = exchange->ctx;
    sl_read_part *part = try->part;
    sl_read_state *state = part->state;
    try_end end = judge(try);
    tell_host(try, &end);
    sl_lock(&state->mutex);
    part_take_locked(part, try, &end);
    sl_read_leave(state);
}
