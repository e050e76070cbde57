/* SPDX-License-Identifier: Apache-2.0 */
/* engine_direct: opens, uses, keeps and closes connections for range reads. */
#include "engine_direct.h"

#include "clock.h"
#include "memory.h"
#include "minmax.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>

/* Servers close unused connections; libcurl does not reuse one that was idle longer, either. */
#define RESTS_MOST_NS (UINT64_C(60) * 1000000000)
/* Larger records are received in one call, at the cost of moving the rest after each record. */
#define TLS_BUFFER_BYTES ((size_t)32 << 10)
/* Bytes of the request line and headers that are always sent. */
#define REQUEST_MORE 320U

/* ---- URLs ---- */

typedef struct url_parts {
    const char *host; /* "host:port" */
    size_t scheme_bytes, host_bytes;
    const char *target; /* path and query */
    size_t target_bytes;
    bool https;
} url_parts;

static bool is_plain_text(const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if (text[i] <= ' ' || text[i] >= 0x7f) {
            return false;
        }
    }
    return true;
}

/* Splits a URL. False for URLs that are left to libcurl: with names and passwords, other
 * alphabets, unescaped characters, or a host with escapes or an interface, which its header
 * lacks. */
static bool url_split(const char *url, url_parts *parts)
{
    parts->https = strncasecmp(url, "https://", 8) == 0;
    parts->scheme_bytes = parts->https ? 8 : 7;
    if (!parts->https && strncasecmp(url, "http://", 7) != 0) {
        return false;
    }
    parts->host = url + parts->scheme_bytes;
    parts->host_bytes = strcspn(parts->host, "/?#\\");
    parts->target = parts->host + parts->host_bytes;
    parts->target_bytes = strcspn(parts->target, "#");
    return parts->host_bytes > 0 && parts->target[0] == '/' &&
           memchr(parts->host, '@', parts->host_bytes) == NULL &&
           memchr(parts->host, '%', parts->host_bytes) == NULL &&
           is_plain_text(parts->host, parts->host_bytes) &&
           is_plain_text(parts->target, parts->target_bytes);
}

/* Returns the length of "host" in "host:80" of http, and in "host:443" of https. */
static size_t host_header_bytes(const url_parts *parts)
{
    const char *port = parts->https ? ":443" : ":80";
    const size_t bytes = strlen(port);
    return parts->host_bytes > bytes &&
                   memcmp(parts->host + parts->host_bytes - bytes, port, bytes) == 0
               ? parts->host_bytes - bytes
               : parts->host_bytes;
}

/* Rejects headers that libcurl handles its own way: it omits a header without a value, and joins
 * lines. */
static bool headers_fit(const sl_exchange *exchange)
{
    for (uint32_t i = 0; i < exchange->header_count; i++) {
        const char *colon = strchr(exchange->headers[i], ':');
        if (colon == NULL || colon[strspn(colon, ": ")] == '\0' ||
            strpbrk(exchange->headers[i], "\r\n") != NULL) {
            return false;
        }
    }
    return true;
}

bool sl_direct_fits(const sl_engine_thread *thread, const sl_exchange *exchange)
{
    url_parts parts;
    return exchange->has_bytes && exchange->method == NULL && exchange->body == NULL &&
           url_split(exchange->url, &parts) &&
           (parts.https ? thread->direct_tls : thread->direct_http) && headers_fit(exchange) &&
           !sl_transfer_has_proxy(exchange->url);
}

/* ---- connections that rest ---- */

static void resting_unlink(sl_direct *direct)
{
    sl_engine_thread *thread = direct->transfer->thread;
    *(direct->before != NULL ? &direct->before->next : &thread->resting_first) = direct->next;
    *(direct->next != NULL ? &direct->next->before : &thread->resting_last) = direct->before;
    direct->next = direct->before = NULL;
    thread->resting--;
}

static void resting_link(sl_direct *direct)
{
    sl_engine_thread *thread = direct->transfer->thread;
    direct->before = NULL;
    direct->next = thread->resting_first;
    *(direct->next != NULL ? &direct->next->before : &thread->resting_last) = direct;
    thread->resting_first = direct;
    thread->resting++;
}

static void resting_close(sl_direct *direct)
{
    resting_unlink(direct);
    sl_transfer_free(direct->transfer);
}

void sl_direct_close_resting(sl_engine_thread *thread)
{
    while (thread->resting_first != NULL) {
        resting_close(thread->resting_first);
    }
}

bool sl_direct_rest(sl_transfer *transfer)
{
    sl_direct *direct = transfer->direct;
    sl_engine_thread *thread = transfer->thread;
    if (direct->phase != SL_DIRECT_DONE || !direct->keeps || direct->at != direct->end ||
        direct->trust != thread->trust) {
        return false;
    }
    direct->phase = SL_DIRECT_RESTS;
    direct->rested = true;
    direct->rests_ns = sl_now_ns();
    resting_link(direct);
    while (thread->resting > thread->resting_most ||
           direct->rests_ns - thread->resting_last->rests_ns > RESTS_MOST_NS) {
        resting_close(thread->resting_last);
    }
    return true;
}

/* Returns whether the origin is the exchange's. */
static bool is_origin(const char *origin, const sl_exchange *exchange, const url_parts *parts)
{
    const size_t bytes = parts->scheme_bytes + parts->host_bytes;
    if (strncasecmp(origin, exchange->url, bytes) != 0) {
        return false;
    }
    return exchange->address == NULL
               ? origin[bytes] == '\0'
               : origin[bytes] == ' ' && strcmp(origin + bytes + 1, exchange->address) == 0;
}

static char *make_origin(const sl_exchange *exchange, const url_parts *parts)
{
    const size_t bytes = parts->scheme_bytes + parts->host_bytes;
    const char *address = exchange->address != NULL ? exchange->address : "";
    const size_t space = bytes + strlen(address) + 2;
    char *origin = sl_malloc(space);
    if (origin != NULL) {
        (void)snprintf(origin, space, "%.*s%s%s", (int)bytes, exchange->url,
                       exchange->address != NULL ? " " : "", address);
    }
    return origin;
}

/* Returns whether the server has sent nothing since its last answer. More bytes would be taken
 * for the next answer, and bytes that OpenSSL has buffered do not wake the thread. */
static bool is_quiet(sl_direct *direct)
{
    char byte;
    return sl_direct_read(direct, &byte, 1) == -1;
}

sl_transfer *sl_direct_take(sl_engine_thread *thread, const sl_exchange *exchange)
{
    url_parts parts;
    const uint64_t now = sl_now_ns();
    if (!url_split(exchange->url, &parts)) {
        return NULL;
    }
    for (sl_direct *direct = thread->resting_first; direct != NULL;) {
        sl_direct *next = direct->next;
        if (is_origin(direct->origin, exchange, &parts)) {
            if (now - direct->rests_ns <= RESTS_MOST_NS && is_quiet(direct)) {
                resting_unlink(direct);
                return direct->transfer;
            }
            resting_close(direct);
        }
        direct = next;
    }
    return NULL;
}

/* ---- opening and closing ---- */

/* Notes the context that libcurl made for the connection's TLS; nothing of it was used yet. */
static CURLcode set_ssl_context(CURL *easy, void *context, void *argument)
{
    (void)easy;
    sl_transfer *transfer = argument;
    transfer->direct->ssl_context = context;
    transfer->thread->calls->tls.ctx_set_default_read_buffer_len(context, TLS_BUFFER_BYTES);
    return CURLE_OK;
}

bool sl_direct_make(sl_transfer *transfer, const sl_exchange *exchange)
{
    const sl_curl_calls *c = transfer->thread->calls;
    url_parts parts;
    sl_direct *direct = sl_calloc(1, sizeof(*direct));
    transfer->direct = direct;
    if (direct == NULL) {
        return false;
    }
    direct->transfer = transfer;
    direct->fd = -1;
    direct->trust = transfer->thread->trust;
    direct->origin = url_split(exchange->url, &parts) ? make_origin(exchange, &parts) : NULL;
    direct->input = sl_malloc(SL_DIRECT_INPUT_BYTES);
    if (transfer->thread->direct_tls) {
        (void)c->easy_setopt(transfer->easy, CURLOPT_SSL_CTX_FUNCTION, set_ssl_context);
        (void)c->easy_setopt(transfer->easy, CURLOPT_SSL_CTX_DATA, transfer);
    }
    return direct->origin != NULL && direct->input != NULL &&
           c->easy_setopt(transfer->easy, CURLOPT_CONNECT_ONLY, 1L) == CURLE_OK;
}

void sl_direct_close(sl_transfer *transfer)
{
    sl_direct *direct = transfer->direct;
    sl_engine_thread *thread = transfer->thread;
    if (direct->fd >= 0) {
        thread->directs[direct->fd] = NULL;
        (void)epoll_ctl(thread->epoll_fd, EPOLL_CTL_DEL, direct->fd, NULL);
    }
    (void)thread->calls->multi_remove_handle(thread->multi, transfer->easy);
    sl_free(direct->origin);
    sl_free(direct->request);
    sl_free(direct->input);
    sl_free(direct);
    transfer->direct = NULL;
}

void sl_direct_note(sl_transfer *transfer)
{
    const sl_curl_calls *c = transfer->thread->calls;
    struct curl_tlssessioninfo *info = NULL;
    sl_direct *direct = transfer->direct;
    direct->is_local = transfer->exchange->from_local;
    if (c->easy_getinfo(transfer->easy, CURLINFO_TLS_SSL_PTR, &info) == CURLE_OK && info != NULL &&
        info->backend == CURLSSLBACKEND_OPENSSL && direct->ssl_context != NULL) {
        direct->ssl = info->internals;
    }
}

static bool watch_direct(sl_direct *direct, int operation, bool out)
{
    struct epoll_event event = {.events = EPOLLIN | (out ? (uint32_t)EPOLLOUT : 0),
                                .data.fd = direct->fd};
    direct->watches_out = out;
    return epoll_ctl(direct->transfer->thread->epoll_fd, operation, direct->fd, &event) == 0;
}

static bool note_fd(sl_engine_thread *thread, sl_direct *direct, int fd)
{
    if ((size_t)fd >= thread->directs_count) {
        const size_t count = sl_max_size(64, (size_t)fd * 2);
        sl_direct **more =
            (sl_direct **)sl_realloc_array((void *)thread->directs, count, sizeof(void *));
        if (more == NULL) {
            return false;
        }
        memset((void *)(more + thread->directs_count), 0,
               (count - thread->directs_count) * sizeof(void *));
        thread->directs = more;
        thread->directs_count = count;
    }
    thread->directs[fd] = direct;
    direct->fd = fd;
    return true;
}

/* Detaches the connection's TLS from libcurl. A session ticket that the server sends now is not
 * passed to libcurl, whose callback only works inside it. */
static bool take_tls(const sl_curl_calls *calls, sl_direct *direct, int fd)
{
    const sl_tls_calls *tls = &calls->tls;
    if (direct->ssl == NULL || tls->get_ssl_ctx(direct->ssl) != direct->ssl_context ||
        tls->set_fd(direct->ssl, fd) != 1) {
        return false;
    }
    tls->ctx_sess_set_new_cb(direct->ssl_context, NULL);
    tls->set_read_ahead(direct->ssl, 1);
    return true;
}

void sl_direct_connected(sl_transfer *transfer, CURLcode code)
{
    const sl_curl_calls *c = transfer->thread->calls;
    sl_engine_thread *thread = transfer->thread;
    sl_direct *direct = transfer->direct;
    curl_socket_t fd = CURL_SOCKET_BAD;
    if (code != CURLE_OK) {
        sl_transfer_finish(transfer, code, 0, NULL);
        return;
    }
    const bool https = strncasecmp(direct->origin, "https:", 6) == 0;
    if (c->easy_getinfo(transfer->easy, CURLINFO_ACTIVESOCKET, &fd) != CURLE_OK || fd < 0 ||
        (https && !take_tls(c, direct, fd))) {
        /* not the expected TLS: libcurl makes these requests from now on */
        *(https ? &thread->direct_tls : &thread->direct_http) = false;
        sl_transfer_again(transfer);
        return;
    }
    if (!note_fd(thread, direct, fd) || !watch_direct(direct, EPOLL_CTL_ADD, false)) {
        sl_transfer_finish(transfer, CURLE_OUT_OF_MEMORY, -ENOMEM, "no memory for a connection");
        return;
    }
    sl_direct_begin(transfer);
}

/* ---- requests ---- */

static bool grow_request(sl_direct *direct, size_t bytes)
{
    if (bytes <= direct->request_capacity) {
        return true;
    }
    char *more = sl_malloc(bytes);
    if (more == NULL) {
        return false;
    }
    sl_free(direct->request);
    direct->request = more;
    direct->request_capacity = bytes;
    return true;
}

static bool write_range_request(sl_direct *direct, const sl_exchange *e)
{
    url_parts parts;
    size_t bytes = strlen(e->url) + REQUEST_MORE;
    for (uint32_t i = 0; i < e->header_count; i++) {
        bytes += strlen(e->headers[i]) + 2;
    }
    if (!url_split(e->url, &parts) || !grow_request(direct, bytes + parts.host_bytes)) {
        return false;
    }
    const int first =
        snprintf(direct->request, direct->request_capacity,
                 "GET %.*s HTTP/1.1\r\nHost: %.*s\r\nRange: bytes=%llu-%llu\r\n"
                 "User-Agent: " SL_USER_AGENT "\r\nAccept: */*\r\n",
                 (int)parts.target_bytes, parts.target, (int)host_header_bytes(&parts), parts.host,
                 (unsigned long long)e->first, (unsigned long long)e->last);
    char *end = direct->request + first;
    for (uint32_t i = 0; i < e->header_count; i++) {
        end = stpcpy(stpcpy(end, e->headers[i]), "\r\n");
    }
    end = stpcpy(end, "\r\n");
    direct->request_bytes = (size_t)(end - direct->request);
    direct->sent = 0;
    return true;
}

/* Same as sl_direct_read. */
static ssize_t direct_write(sl_direct *direct)
{
    const sl_tls_calls *tls = &direct->transfer->thread->calls->tls;
    const char *from = direct->request + direct->sent;
    const size_t bytes = direct->request_bytes - direct->sent;
    if (direct->ssl == NULL) {
        const ssize_t sent = send(direct->fd, from, bytes, MSG_NOSIGNAL);
        return sent >= 0 ? sent : errno == EAGAIN || errno == EINTR ? -1 : -2;
    }
    tls->clear_error();
    const int sent = tls->write(direct->ssl, from, (int)bytes);
    if (sent > 0) {
        return sent;
    }
    const int error = tls->get_error(direct->ssl, sent);
    return error == SL_TLS_WANT_READ || error == SL_TLS_WANT_WRITE ? -1 : -2;
}

static void send_request(sl_direct *direct)
{
    while (direct->sent < direct->request_bytes) {
        const ssize_t sent = direct_write(direct);
        if (sent == -1) {
            if (!direct->watches_out) {
                (void)watch_direct(direct, EPOLL_CTL_MOD, true);
            }
            return;
        }
        if (sent < 0) {
            if (direct->rested) {
                sl_transfer_again(direct->transfer);
            } else {
                sl_transfer_finish(direct->transfer, CURLE_SEND_ERROR, 0, NULL);
            }
            return;
        }
        direct->sent += (size_t)sent;
    }
    if (direct->watches_out) {
        (void)watch_direct(direct, EPOLL_CTL_MOD, false);
    }
    direct->phase = SL_DIRECT_HEAD;
}

void sl_direct_begin(sl_transfer *transfer)
{
    sl_direct *direct = transfer->direct;
    sl_exchange *e = transfer->exchange;
    if (e->refuses_local && direct->is_local) {
        sl_transfer_refuse(transfer, -EPERM, "a redirect leads to an address that is not public");
        sl_transfer_finish(transfer, CURLE_ABORTED_BY_CALLBACK, 0, NULL);
        return;
    }
    e->sent_at_ns = transfer->byte_ns = sl_now_ns();
    e->from_local = direct->is_local;
    direct->phase = SL_DIRECT_SENDS;
    direct->keeps = true;
    direct->has_status = direct->has_length = direct->has_chunks = false;
    direct->at = direct->end = 0;
    if (!write_range_request(direct, e)) {
        sl_transfer_finish(transfer, CURLE_OUT_OF_MEMORY, -ENOMEM, "no memory for a request");
        return;
    }
    send_request(direct);
}

void sl_direct_event(sl_direct *direct)
{
    switch (direct->phase) {
    case SL_DIRECT_RESTS:
        if (!is_quiet(direct)) {
            resting_close(direct);
        }
        break;
    case SL_DIRECT_SENDS:
        send_request(direct);
        break;
    default:
        sl_direct_receive(direct);
    }
}
