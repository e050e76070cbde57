/* SPDX-License-Identifier: Apache-2.0 */
/* engine_transfer: turns an exchange into libcurl's easy handle, and libcurl's results into an
 * errno. */
#include "clock.h"
#include "engine_direct.h"
#include "memory.h"
#include "settings.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECT_MS 10000L

/* Chosen by the CPU time of reads from nginx on loopback. 64 KiB stay in the CPU's cache, and
 * malloc does not map them again for each transfer, as it does 128 KiB; above 4 MiB, system
 * calls cost more. */
#define BUFFER_SMALL       (64L << 10)
#define BUFFER_LARGE       (512L << 10)
#define BUFFER_LARGE_BYTES ((size_t)4 << 20)

#define IDLE_S 60L

/* Not in the headers of libcurl 7.81; ignored by those libraries. */
#define PROTOCOLS_STR ((CURLoption)(CURLOPTTYPE_STRINGPOINT + 318))
#define INFO_CAINFO   ((CURLINFO)(CURLINFO_STRING + 61))

/* ---- callbacks ---- */

static bool has_value(const char *name)
{
    const char *value = secure_getenv(name);
    return value != NULL && value[0] != '\0';
}

bool sl_transfer_has_proxy(const char *url)
{
    const bool https = strncasecmp(url, "https:", 6) == 0;
    return has_value("all_proxy") || has_value("ALL_PROXY") ||
           (https ? has_value("https_proxy") || has_value("HTTPS_PROXY") : has_value("http_proxy"));
}

static bool refuses_address(const sl_transfer *transfer, const char *address)
{
    return transfer->exchange->refuses_local && !sl_transfer_has_proxy(transfer->exchange->url) &&
           sl_address_is_local(address);
}

static void refuse_local(sl_transfer *transfer)
{
    sl_transfer_refuse(transfer, -EPERM, "a redirect leads to an address that is not public");
}

static curl_socket_t open_socket(void *argument, curlsocktype purpose, struct curl_sockaddr *to)
{
    sl_transfer *transfer = argument;
    char text[INET6_ADDRSTRLEN] = "";
    const void *address = &((const struct sockaddr_in *)(const void *)&to->addr)->sin_addr;
    if (to->family == AF_INET6) {
        address = &((const struct sockaddr_in6 *)(const void *)&to->addr)->sin6_addr;
    }
    (void)inet_ntop(to->family, address, text, sizeof(text));
    if (purpose != CURLSOCKTYPE_IPCXN || refuses_address(transfer, text)) {
        refuse_local(transfer);
        return CURL_SOCKET_BAD;
    }
    const int fd = socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
    if (fd < 0 && (errno == EMFILE || errno == ENFILE)) {
        sl_transfer_refuse(transfer, -errno, "too many open files: raise the limit (ulimit -n)");
    }
    return fd;
}

/* Runs when the connection, new or not, is ready, before anything is sent. */
/* NOLINTNEXTLINE(readability-non-const-parameter): the type is libcurl's */
static int before_request(void *argument, char *primary_ip, char *local_ip, int primary_port,
                          int local_port)
{
    (void)local_ip;
    (void)primary_port;
    (void)local_port;
    sl_transfer *transfer = argument;
    transfer->exchange->sent_at_ns = transfer->byte_ns = sl_now_ns();
    /* with a proxy, the server's address is unknown */
    transfer->exchange->from_local =
        !sl_transfer_has_proxy(transfer->exchange->url) && sl_address_is_local(primary_ip);
    if (refuses_address(transfer, primary_ip)) {
        refuse_local(transfer);
        return CURL_PREREQFUNC_ABORT;
    }
    if (transfer->direct != NULL) {
        sl_direct_note(transfer);
    }
    return CURL_PREREQFUNC_OK;
}

/* ---- beginning ---- */

/* libcurl caches the certificates it has read only if they come from a single file. Otherwise it
 * reads the system's 200 KB for each connection, at 29 ms with OpenSSL 3.0. The folder beside
 * the system's file has the same ones. */
static void trust_file_only(const sl_curl_calls *c, CURL *easy, const char *ca_file)
{
    const char *file = NULL;
    if (c->easy_getinfo(easy, INFO_CAINFO, &file) == CURLE_OK && file != NULL &&
        (ca_file[0] == '\0' || strcmp(ca_file, file) == 0) && access(file, R_OK) == 0) {
        (void)c->easy_setopt(easy, CURLOPT_CAPATH, NULL);
    }
}

static bool transfer_set_once(sl_transfer *transfer)
{
    const sl_curl_calls *c = transfer->thread->calls;
    CURL *easy = transfer->easy;
    (void)c->easy_setopt(easy, PROTOCOLS_STR, "http,https");
    (void)c->easy_setopt(easy, CURLOPT_PRIVATE, transfer);
    (void)c->easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    (void)c->easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    (void)c->easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
    (void)c->easy_setopt(easy, CURLOPT_HTTP_CONTENT_DECODING, 0L);
    (void)c->easy_setopt(easy, CURLOPT_DNS_SHUFFLE_ADDRESSES, 1L);
    (void)c->easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
    (void)c->easy_setopt(easy, CURLOPT_MAXAGE_CONN, IDLE_S);
    (void)c->easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    (void)c->easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer->error);
    (void)c->easy_setopt(easy, CURLOPT_HEADERFUNCTION, sl_answer_header);
    (void)c->easy_setopt(easy, CURLOPT_HEADERDATA, transfer);
    (void)c->easy_setopt(easy, CURLOPT_WRITEFUNCTION, sl_answer_body);
    (void)c->easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
    (void)c->easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    (void)c->easy_setopt(easy, CURLOPT_OPENSOCKETDATA, transfer);
    (void)c->easy_setopt(easy, CURLOPT_PREREQDATA, transfer);
    (void)c->easy_setopt(easy, CURLOPT_SHARE, transfer->thread->share);
    const char *ca_file = transfer->thread->ca_file;
    trust_file_only(c, easy, ca_file);
    if (ca_file[0] != '\0' && c->easy_setopt(easy, CURLOPT_CAINFO, ca_file) != CURLE_OK) {
        return false;
    }
    return c->easy_setopt(easy, CURLOPT_USERAGENT, SL_USER_AGENT) == CURLE_OK &&
           c->easy_setopt(easy, CURLOPT_PREREQFUNCTION, before_request) == CURLE_OK;
}

/* Reads the settings again: kept handles trust the certificates that were set when they were
 * made. */
static bool take_settings(sl_engine_thread *thread)
{
    const sl_remote_settings *settings = NULL;
    if (sl_remote_settings_get(&settings, NULL) != SLUICE_OK) {
        return false;
    }
    if (strcmp(thread->ca_file, settings->ca_file) != 0) {
        (void)snprintf(thread->ca_file, sizeof(thread->ca_file), "%s", settings->ca_file);
        while (thread->spare != NULL) {
            sl_transfer *transfer = thread->spare;
            thread->spare = transfer->next;
            sl_transfer_free(transfer);
        }
        thread->spares = 0;
        thread->trust++;
        sl_direct_close_resting(thread);
    }
    sl_remote_settings_release(settings);
    return true;
}

static sl_transfer *transfer_make(sl_engine_thread *thread)
{
    sl_transfer *transfer = sl_calloc(1, sizeof(*transfer));
    if (transfer == NULL) {
        return NULL;
    }
    transfer->thread = thread;
    transfer->easy = thread->calls->easy_init();
    if (transfer->easy == NULL || !transfer_set_once(transfer)) {
        sl_transfer_free(transfer);
        return NULL;
    }
    return transfer;
}

static sl_transfer *transfer_take_direct(sl_engine_thread *thread, const sl_exchange *exchange,
                                         bool fresh)
{
    sl_transfer *transfer = fresh ? NULL : sl_direct_take(thread, exchange);
    if (transfer == NULL) {
        transfer = transfer_make(thread);
        if (transfer != NULL && !sl_direct_make(transfer, exchange)) {
            sl_transfer_free(transfer);
            return NULL;
        }
    }
    return transfer;
}

static sl_transfer *transfer_take(sl_engine_thread *thread, const sl_exchange *exchange, bool fresh)
{
    if (!take_settings(thread)) {
        return NULL;
    }
    if (sl_direct_fits(thread, exchange)) {
        return transfer_take_direct(thread, exchange, fresh);
    }
    sl_transfer *transfer = thread->spare;
    if (transfer == NULL) {
        return transfer_make(thread);
    }
    thread->spare = transfer->next;
    thread->spares--;
    return transfer;
}

void sl_transfer_free(sl_transfer *transfer)
{
    if (transfer->direct != NULL) {
        sl_direct_close(transfer);
    }
    if (transfer->easy != NULL) {
        transfer->thread->calls->easy_cleanup(transfer->easy);
    }
    sl_free(transfer);
}

static void transfer_add_header(sl_transfer *transfer, uint32_t number, const char *text)
{
    transfer->headers[number].next = NULL;
    memcpy(&transfer->headers[number].data, &text, sizeof(text)); /* libcurl only reads it */
    if (number > 0) {
        transfer->headers[number - 1].next = &transfer->headers[number];
    }
}

static CURLcode transfer_set_method(sl_transfer *transfer)
{
    const sl_curl_calls *c = transfer->thread->calls;
    const sl_exchange *e = transfer->exchange;
    CURL *easy = transfer->easy;
    uint32_t count = 0;
    bool has_type = false;
    for (; count < e->header_count; count++) {
        transfer_add_header(transfer, count, e->headers[count]);
        has_type = has_type || strncasecmp(e->headers[count], "Content-Type:", 13) == 0;
    }
    const bool sends = e->body != NULL || (e->method != NULL && strcmp(e->method, "GET") != 0);
    if (sends && !has_type) {
        transfer_add_header(transfer, count++, "Content-Type:");
    }
    if (sends) {
        transfer_add_header(transfer, count++, "Expect:");
    }
    CURLcode code = c->easy_setopt(easy, CURLOPT_HTTPGET, 1L);
    if (code == CURLE_OK) {
        code = c->easy_setopt(easy, CURLOPT_CUSTOMREQUEST, e->method);
    }
    if (code == CURLE_OK && sends) {
        (void)c->easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)e->body_bytes);
        code = c->easy_setopt(easy, CURLOPT_POSTFIELDS, e->body != NULL ? e->body : "");
    }
    (void)c->easy_setopt(easy, CURLOPT_HTTPHEADER, count > 0 ? transfer->headers : NULL);
    return code;
}

/* Cache nodes are reached without a proxy. A redirect's host is always reached by the proxy, if
 * there is one: then the proxy decides which hosts are allowed. */
static CURLcode transfer_set_address(sl_transfer *transfer)
{
    const sl_curl_calls *c = transfer->thread->calls;
    const sl_exchange *e = transfer->exchange;
    struct curl_slist *to = NULL;
    if (e->address != NULL) {
        const int length =
            snprintf(transfer->connect_text, sizeof(transfer->connect_text), "::%s", e->address);
        if (length < 0 || (size_t)length >= sizeof(transfer->connect_text)) {
            return CURLE_URL_MALFORMAT;
        }
        transfer->connect_to = (struct curl_slist){.data = transfer->connect_text, .next = NULL};
        to = &transfer->connect_to;
    }
    (void)c->easy_setopt(transfer->easy, CURLOPT_CONNECT_TO, to);
    const CURLcode code = c->easy_setopt(transfer->easy, CURLOPT_PROXY, to != NULL ? "" : NULL);
    return code != CURLE_OK
               ? code
               : c->easy_setopt(transfer->easy, CURLOPT_NOPROXY,
                                e->refuses_local && sl_transfer_has_proxy(e->url) ? "" : NULL);
}

static CURLcode transfer_set(sl_transfer *transfer)
{
    const sl_curl_calls *c = transfer->thread->calls;
    const sl_exchange *e = transfer->exchange;
    CURL *easy = transfer->easy;
    const char *range = NULL;
    if (e->has_bytes) {
        (void)snprintf(transfer->range, sizeof(transfer->range), "%llu-%llu",
                       (unsigned long long)e->first, (unsigned long long)e->last);
        range = transfer->range;
    }
    CURLcode code = c->easy_setopt(easy, CURLOPT_URL, e->url);
    code = code == CURLE_OK ? c->easy_setopt(easy, CURLOPT_RANGE, range) : code;
    code = code == CURLE_OK ? transfer_set_method(transfer) : code;
    code = code == CURLE_OK ? transfer_set_address(transfer) : code;
    (void)c->easy_setopt(easy, CURLOPT_BUFFERSIZE,
                         e->has_bytes && e->capacity >= BUFFER_LARGE_BYTES ? BUFFER_LARGE
                                                                           : BUFFER_SMALL);
    return code;
}

static const char *exchange_refusal(const sl_exchange *exchange)
{
    const char *url = exchange->url;
    if (strncasecmp(url, "http://", 7) != 0 && strncasecmp(url, "https://", 8) != 0) {
        return "cannot request an address that is not http:// or https://";
    }
    if (exchange->refuses_local && sl_address_url_is_local(url)) {
        return "a redirect leads to an address that is not public";
    }
    return NULL;
}

sl_transfer *sl_transfer_begin(sl_engine_thread *thread, sl_exchange *exchange, bool fresh)
{
    const char *refusal = exchange_refusal(exchange);
    if (refusal != NULL || exchange->header_count > SL_EXCHANGE_HEADERS) {
        exchange->failed = refusal != NULL ? -EPERM : -EINVAL;
        (void)snprintf(exchange->reason, sizeof(exchange->reason), "%s",
                       refusal != NULL ? refusal : "a request has too many headers");
        return NULL;
    }
    sl_transfer *transfer = transfer_take(thread, exchange, fresh);
    CURLcode code = CURLE_OUT_OF_MEMORY;
    if (transfer != NULL) {
        transfer->exchange = exchange;
        transfer->header_bytes = 0;
        transfer->refused = 0;
        transfer->discarded = 0;
        transfer->error[0] = '\0';
        transfer->begun_ns = transfer->byte_ns = exchange->sent_at_ns;
        const bool is_connected = transfer->direct != NULL && transfer->direct->fd >= 0;
        code = is_connected ? CURLE_OK : transfer_set(transfer);
    }
    if (code != CURLE_OK) {
        exchange->failed = code == CURLE_OUT_OF_MEMORY ? -ENOMEM : -EINVAL;
        (void)snprintf(exchange->reason, sizeof(exchange->reason), "libcurl: %s",
                       thread->calls->easy_strerror(code));
        if (transfer != NULL) {
            sl_transfer_free(transfer);
        }
        return NULL;
    }
    return transfer;
}

/* ---- the end ---- */

static int connect_errno(const sl_transfer *transfer)
{
    long sys_errno = 0;
    (void)transfer->thread->calls->easy_getinfo(transfer->easy, CURLINFO_OS_ERRNO, &sys_errno);
    switch (sys_errno) {
    case EMFILE:
    case ENFILE:
    case ENETUNREACH:
    case EHOSTUNREACH:
    case ECONNRESET:
    case ETIMEDOUT:
        return -(int)sys_errno;
    default:
        return -ECONNREFUSED;
    }
}

static int transfer_errno(const sl_transfer *transfer, CURLcode code)
{
    if (transfer->refused != 0) {
        return transfer->refused;
    }
    switch (code) {
    case CURLE_OK:
        return 0;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
        return -EHOSTUNREACH;
    case CURLE_COULDNT_CONNECT:
        return connect_errno(transfer);
    case CURLE_OPERATION_TIMEDOUT:
        return -ETIMEDOUT;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_ISSUER_ERROR:
        return -EKEYREJECTED;
    case CURLE_PARTIAL_FILE:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_SSL_CONNECT_ERROR:
        return -ECONNRESET;
    case CURLE_OUT_OF_MEMORY: /* libcurl's result also for a header line of more than 100 KiB */
        return transfer->exchange->status != 0 ? -EBADMSG : -ENOMEM;
    default:
        return -EBADMSG;
    }
}

/* libcurl's own texts name hosts and ports; those of other results might name a proxy's
 * password. */
static void transfer_reason(const sl_transfer *transfer, CURLcode code)
{
    sl_exchange *e = transfer->exchange;
    const char *text = transfer->thread->calls->easy_strerror(code);
    switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PARTIAL_FILE:
    case CURLE_RECV_ERROR:
        text = transfer->error[0] != '\0' ? transfer->error : text;
        break;
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_WEIRD_SERVER_REPLY:
        text = "the answer is not HTTP";
        break;
    default:
        break;
    }
    if (code == CURLE_OUT_OF_MEMORY && e->failed == -EBADMSG) {
        text = "a header of its answer is too long";
    }
    (void)snprintf(e->reason, sizeof(e->reason), "%.*s", (int)sizeof(e->reason) - 1, text);
}

void sl_transfer_end(sl_transfer *transfer, CURLcode code)
{
    enum { SPARE_MOST = 64 };
    sl_engine_thread *thread = transfer->thread;
    sl_exchange *e = transfer->exchange;
    /* the error page is too long, but its beginning is known */
    const bool cut = code == CURLE_WRITE_ERROR && transfer->refused == 0 && e->status >= 300;
    e->failed = cut ? 0 : transfer_errno(transfer, code);
    if (e->failed != 0 && e->reason[0] == '\0') {
        transfer_reason(transfer, code);
    }
    e->total_ns = sl_now_ns() - e->sent_at_ns;
    transfer->exchange = NULL;
    if (transfer->direct != NULL) {
        if (!sl_direct_rest(transfer)) {
            sl_transfer_free(transfer);
        }
        return;
    }
    if (thread->spares >= SPARE_MOST) {
        sl_transfer_free(transfer);
        return;
    }
    transfer->next = thread->spare;
    thread->spare = transfer;
    thread->spares++;
}
