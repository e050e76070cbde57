/* SPDX-License-Identifier: Apache-2.0 */
#include "http_server_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <zlib.h>

enum { PIECE = 64 << 10, SKEW_MOST_S = 900 };

/* An answer before faults: an object or a text. */
typedef struct answer {
    int status;
    uint64_t first, count; /* range of the object's bytes */
    http_object object;
    http_text text; /* memory to be freed with the object */
    http_text more; /* additional header lines */
    bool has_etag;
    const char *type;
} answer;

static const char *reason_of(int status)
{
    static const struct {
        int status;
        const char *reason;
    } reasons[] = {{200, "OK"},
                   {206, "Partial Content"},
                   {302, "Found"},
                   {400, "Bad Request"},
                   {403, "Forbidden"},
                   {404, "Not Found"},
                   {405, "Method Not Allowed"},
                   {412, "Precondition Failed"},
                   {416, "Range Not Satisfiable"},
                   {429, "Too Many Requests"},
                   {503, "Service Unavailable"}};
    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
        if (reasons[i].status == status) {
            return reasons[i].reason;
        }
    }
    return "Told So";
}

/* Independent of the locale. */
static void add_date(http_text *head, const char *name, time_t when)
{
    static const char days[][4] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static const char months[][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    struct tm parts;
    (void)gmtime_r(&when, &parts);
    http_text_print(head, "%s: %s, %02d %s %04d %02d:%02d:%02d GMT\r\n", name, days[parts.tm_wday],
                    parts.tm_mday, months[parts.tm_mon], parts.tm_year + 1900, parts.tm_hour,
                    parts.tm_min, parts.tm_sec);
}

static int64_t value_or(const http_faults *faults, http_fault fault, int64_t otherwise)
{
    return faults->has[fault] ? faults->values[fault] : otherwise;
}

static const char *text_or(const http_faults *faults, http_fault fault, const char *otherwise)
{
    return faults->has[fault] ? faults->texts[fault - FAULT_CODE] : otherwise;
}

/* Makes this text the answer. */
static void set_text(answer *of, int status, const char *type)
{
    of->status = status;
    of->type = type;
    of->object = (http_object){.fd = -1,
                               .memory = (const uint8_t *)of->text.data,
                               .bytes = of->text.bytes,
                               .period = of->text.bytes};
    of->first = 0;
    of->count = of->text.bytes;
    of->has_etag = false;
}

static void set_error(answer *of, int status, const char *code)
{
    http_object_close(&of->object);
    http_error_body(&of->text, code);
    set_text(of, status, "application/xml");
}

/* Reads "bytes=a-b", "a-" or "-n". False if it is not a single range; then the whole object is
 * sent. */
static bool read_range(const http_request *request, uint64_t total, uint64_t *first, uint64_t *end)
{
    const char *text = request->range;
    if (!request->has_range || strncmp(text, "bytes=", 6) != 0 || strchr(text, ',') != NULL) {
        return false;
    }
    text += 6;
    char *rest = NULL;
    if (text[0] == '-') {
        const uint64_t last = strtoull(text + 1, &rest, 10);
        *first = last < total ? total - last : 0;
        *end = total;
        return *rest == '\0';
    }
    *first = strtoull(text, &rest, 10);
    if (rest == text || *rest != '-') {
        return false;
    }
    text = rest + 1;
    const uint64_t to = *text != '\0' ? strtoull(text, &rest, 10) : UINT64_MAX;
    *end = to >= total ? total : to + 1;
    return (*text == '\0' || *rest == '\0') && to >= *first;
}

static void find_object(http_connection *connection, const http_request *request,
                        const http_faults *faults, const char *path, answer *of)
{
    if (faults->has[FAULT_REPLACE]) {
        http_object_replace(connection->server, path);
    }
    if (!http_object_open(connection->server, path, &of->object)) {
        set_error(of, 404, "NoSuchKey");
        return;
    }
    http_object *object = &of->object;
    const char *etag = text_or(faults, FAULT_ETAG, "");
    if (strcmp(etag, "weak") == 0) {
        char strong[HTTP_ETAG_BYTES - 2];
        (void)snprintf(strong, sizeof(strong), "%.*s", HTTP_ETAG_BYTES - 3, object->etag);
        (void)snprintf(object->etag, sizeof(object->etag), "W/%s", strong);
    } else if (etag[0] != '\0') {
        (void)snprintf(object->etag, sizeof(object->etag), "%.*s", HTTP_ETAG_BYTES - 1, etag);
    }
    of->has_etag = strcmp(etag, "none") != 0;
    of->status = 200;
    of->type = "application/octet-stream";
    of->count = object->bytes;
    /* Strong comparison: a weak ETag matches nothing. */
    if (request->if_match[0] != '\0' && strcmp(request->if_match, "*") != 0 && of->has_etag &&
        (strcmp(request->if_match, object->etag) != 0 || object->etag[0] == 'W')) {
        set_error(of, 412, "PreconditionFailed");
        return;
    }
    uint64_t end = object->bytes;
    if (faults->has[FAULT_IGNORE_RANGE] || !read_range(request, object->bytes, &of->first, &end)) {
        of->first = 0;
        return;
    }
    if (of->first >= object->bytes) {
        http_text_print(&of->more, "Content-Range: bytes */%llu\r\n",
                        (unsigned long long)object->bytes);
        set_error(of, 416, "InvalidRange");
        return;
    }
    of->status = 206;
    of->count = end - of->first;
    const uint64_t shown = (uint64_t)((int64_t)of->first + value_or(faults, FAULT_RANGE_OFF, 0));
    http_text_print(&of->more, "Content-Range: bytes %llu-%llu/", (unsigned long long)shown,
                    (unsigned long long)(shown + of->count - 1));
    if (faults->has[FAULT_NO_TOTAL]) {
        http_text_print(&of->more, "*\r\n");
    } else {
        http_text_print(&of->more, "%llu\r\n",
                        (unsigned long long)object->bytes +
                            (unsigned long long)value_or(faults, FAULT_TOTAL_OFF, 0));
    }
}

/* /datasets/OWNER/NAME/resolve/REVISION/PATH */
static void resolve(http_connection *connection, const http_request *request,
                    const http_faults *faults, answer *of)
{
    http_server *server = connection->server;
    char path[HTTP_TARGET_BYTES];
    int ends[2] = {0};
    if (sscanf(request->path, "/%*[a-z]/%*[^/]/%*[^/]%n/resolve/%*[^/]%n", &ends[0], &ends[1]) <
            0 ||
        ends[1] == 0) {
        set_error(of, 404, "NoSuchKey");
        return;
    }
    (void)snprintf(path, sizeof(path), "%.*s%s", ends[0], request->path, request->path + ends[1]);
    find_object(connection, request, faults, path, of);
    if (of->status >= 300 || of->object.bytes < server->config.direct_bytes) {
        http_text_print(&of->more, "X-Repo-Commit: 0123456789abcdef0123456789abcdef01234567\r\n");
        return;
    }
    const uint32_t seconds = server->config.link_seconds != 0 ? server->config.link_seconds : 3600;
    free(of->more.data);
    of->more = (http_text){0};
    http_text_print(&of->more,
                    "X-Repo-Commit: 0123456789abcdef0123456789abcdef01234567\r\n"
                    "X-Linked-Size: %llu\r\nX-Linked-ETag: \"1%s\r\nLocation: http://%s/cdn",
                    (unsigned long long)of->object.bytes, of->object.etag + 1, request->host);
    http_text_add_escaped(&of->more, path);
    http_text_print(&of->more, "?Expires=%lld&Signature=SECRETSIGNATURE&Key-Pair-Id=K\r\n",
                    (long long)time(NULL) + seconds);
    http_object_close(&of->object);
    http_text_print(&of->text, "Found. Redirecting.");
    set_text(of, 302, "text/plain");
}

/* /cdn/PATH?Expires=...: its ETag differs from X-Linked-ETag. */
static void serve_signed(http_connection *connection, const http_request *request,
                         const http_faults *faults, answer *of)
{
    char expires[32] = "0";
    (void)http_query(request, "Expires", expires, sizeof(expires));
    if (strtoll(expires, NULL, 10) < (long long)time(NULL)) {
        set_error(of, 403, "AccessDenied");
        return;
    }
    find_object(connection, request, faults, request->path + strlen("/cdn"), of);
}

/* Reads two digits. */
static int pair_of(const char *text)
{
    return (text[0] - '0') * 10 + text[1] - '0';
}

/* True if x-amz-date, "20261129T074500Z", is too far from the rule's clock. */
static bool is_skewed(const http_request *request, const http_faults *faults)
{
    const char *date = request->amz_date;
    if (!faults->has[FAULT_CLOCK] || strlen(date) != 16) {
        return false;
    }
    struct tm parts = {.tm_year = pair_of(date) * 100 + pair_of(date + 2) - 1900,
                       .tm_mon = pair_of(date + 4) - 1,
                       .tm_mday = pair_of(date + 6),
                       .tm_hour = pair_of(date + 9),
                       .tm_min = pair_of(date + 11),
                       .tm_sec = pair_of(date + 13)};
    const int64_t away =
        (int64_t)timegm(&parts) - (int64_t)time(NULL) - faults->values[FAULT_CLOCK];
    return away > SKEW_MOST_S || away < -SKEW_MOST_S;
}

static uint32_t new_number(http_server *server)
{
    (void)pthread_mutex_lock(&server->mutex);
    const uint32_t next = ++server->numbers;
    (void)pthread_mutex_unlock(&server->mutex);
    return next;
}

static http_pages pages_of(http_server *server, const http_faults *faults)
{
    const bool empty = faults->has[FAULT_EMPTY_PAGES];
    return (http_pages){.number = empty || faults->has[FAULT_SAME_PAGES] ? new_number(server) : 0,
                        .empty = empty};
}

static void redirect(http_connection *connection, const http_faults *faults, answer *of)
{
    const char *to = text_or(faults, FAULT_REDIRECT, "");
    const char *number = strstr(to, "%n");
    if (number != NULL) {
        http_text_print(&of->more, "Location: %.*s%u%s\r\n", (int)(number - to), to,
                        new_number(connection->server), number + 2);
    } else {
        http_text_print(&of->more, "Location: %s\r\n", to);
    }
    http_text_print(&of->text, "Moved.");
    set_text(of, (int)value_or(faults, FAULT_STATUS, 302), "text/plain");
}

static void find_answer(http_connection *connection, const http_request *request,
                        const http_faults *faults, answer *of)
{
    http_server *server = connection->server;
    http_text link = {0};
    if (request->is_bad) {
        set_error(of, 400, "BadRequest");
    } else if (request->kind == HTTP_HEAD || request->kind == HTTP_OTHER) {
        set_error(of, 405, "MethodNotAllowed");
    } else if (faults->has[FAULT_REDIRECT]) {
        redirect(connection, faults, of);
    } else if (faults->has[FAULT_STATUS]) {
        const int status = (int)faults->values[FAULT_STATUS];
        set_error(of, status, text_or(faults, FAULT_CODE, status == 503 ? "SlowDown" : "ToldSo"));
    } else if (is_skewed(request, faults)) {
        set_error(of, 403, "RequestTimeTooSkewed");
    } else if (request->kind == HTTP_LIST) {
        const int status = http_list(server, request, pages_of(server, faults), &of->text);
        set_text(of, status, "application/xml");
    } else if (request->kind == HTTP_TREE) {
        const int status = http_tree(server, request, pages_of(server, faults), &of->text, &link);
        set_text(of, status, "application/json; charset=utf-8");
        if (link.bytes > 0) {
            http_text_print(&of->more, "Link: <%s>; rel=\"next\"\r\n", link.data);
        }
    } else if (request->kind == HTTP_RESOLVE) {
        resolve(connection, request, faults, of);
    } else if (strncmp(request->path, "/cdn/", 5) == 0) {
        serve_signed(connection, request, faults, of);
    } else {
        find_object(connection, request, faults, request->path, of);
    }
    free(link.data);
    if (faults->has[FAULT_RETRY_AFTER]) {
        http_text_print(&of->more, "Retry-After: %lld\r\n",
                        (long long)faults->values[FAULT_RETRY_AFTER]);
    }
}

/* Compresses the body and adds the header for it. */
static void pack_body(answer *of)
{
    uint8_t *plain = http_memory(NULL, (size_t)of->count + 1);
    http_object_read(&of->object, of->first, plain, (size_t)of->count);
    z_stream stream = {0};
    if (deflateInit2(&stream, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
        http_die("deflateInit2 failed");
    }
    const uLong most = deflateBound(&stream, (uLong)of->count) + 64;
    uint8_t *packed = http_memory(NULL, most);
    stream.next_in = plain;
    stream.avail_in = (uInt)of->count;
    stream.next_out = packed;
    stream.avail_out = (uInt)most;
    if (deflate(&stream, Z_FINISH) != Z_STREAM_END) {
        http_die("deflate failed");
    }
    http_object_close(&of->object);
    free(of->text.data);
    free(plain);
    of->text = (http_text){.data = (char *)packed, .bytes = stream.total_out};
    of->object.memory = packed;
    of->object.flip = 0;
    of->object.bytes = of->object.period = of->count = stream.total_out;
    of->first = 0;
    (void)deflateEnd(&stream);
    http_text_print(&of->more, "Content-Encoding: gzip\r\n");
}

static bool spoil_head(http_connection *connection, const http_faults *faults)
{
    if (faults->has[FAULT_CLOSE]) {
        return false;
    }
    if (faults->has[FAULT_STALL_HEAD]) {
        (void)http_pause(connection, -1);
        return false;
    }
    if (faults->has[FAULT_GARBAGE]) {
        static const char garbage[] = "\x01\x02\x03 this is not the protocol\r\n\xff\xfe\r\n\r\n";
        (void)http_send(connection, garbage, sizeof(garbage) - 1);
        return false;
    }
    if (faults->has[FAULT_INTERIM]) {
        static const char early[] = "HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n";
        return http_send(connection, early, sizeof(early) - 1);
    }
    return true;
}

static bool send_head(http_connection *connection, const http_faults *faults, const answer *of,
                      bool closes)
{
    http_text head = {0};
    http_text_print(&head, "HTTP/1.1 %d %s\r\nServer: http_server\r\n", of->status,
                    reason_of(of->status));
    add_date(&head, "Date", time(NULL) + (time_t)value_or(faults, FAULT_CLOCK, 0));
    if (of->has_etag) {
        http_text_print(&head, "ETag: %s\r\n", of->object.etag);
        add_date(&head, "Last-Modified", of->object.modified);
        http_text_print(&head, "Accept-Ranges: bytes\r\n");
    }
    if (of->more.bytes > 0) {
        http_text_add(&head, of->more.data, of->more.bytes);
    }
    http_text_print(&head, "Content-Type: %s\r\n", of->type);
    if (faults->has[FAULT_CHUNKED]) {
        http_text_print(&head, "Transfer-Encoding: chunked\r\n");
    } else if (!faults->has[FAULT_NO_LENGTH] && !faults->has[FAULT_ENDLESS_BODY]) {
        http_text_print(&head, "Content-Length: %llu\r\n", (unsigned long long)of->count);
    }
    if (faults->has[FAULT_CLAIM]) {
        http_text_print(&head, "Content-Length: %lld\r\n",
                        (long long)value_or(faults, FAULT_CLAIM, 0));
    }
    http_text_print(&head, "%s", closes ? "Connection: close\r\n" : "");
    for (int64_t i = 0; i < value_or(faults, FAULT_HUGE_HEADER, -6) + 6; i++) {
        http_text_add(&head, i == 0 ? "X-Huge: a" : "a", i == 0 ? 9 : 1);
    }
    http_text_print(&head, "%s", faults->has[FAULT_HUGE_HEADER] ? "\r\n" : "");
    bool goes_on = http_send(connection, head.data, head.bytes);
    for (uint32_t i = 0; goes_on && faults->has[FAULT_ENDLESS_HEADERS]; i++) {
        char line[64];
        const int bytes = snprintf(line, sizeof(line), "X-Endless-%u: and another one\r\n", i);
        goes_on = http_send(connection, line, (size_t)bytes);
    }
    free(head.data);
    return goes_on && http_send(connection, "\r\n", 2);
}

/* How a body is sent, and where it stops. */
typedef struct sending {
    uint64_t stop; /* stops after this many bytes; UINT64_MAX: never */
    int64_t drip_ms;
    bool chunked;
} sending;

/* False if the connection failed, or sending stops here. */
static bool send_piece(http_connection *connection, const sending *how, const uint8_t *data,
                       size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        size_t some = bytes - done;
        if (connection->sent + some > how->stop) {
            some = (size_t)(how->stop - connection->sent);
        }
        some = how->drip_ms >= 0 && some > 1 ? 1 : some;
        if (some == 0) {
            return false;
        }
        char frame[32];
        const int length = snprintf(frame, sizeof(frame), "%zx\r\n", some);
        if ((how->chunked && !http_send(connection, frame, (size_t)length)) ||
            !http_send(connection, data + done, some) ||
            (how->chunked && !http_send(connection, "\r\n", 2))) {
            return false;
        }
        connection->sent += some;
        done += some;
        if (how->drip_ms >= 0 && !http_pause(connection, how->drip_ms)) {
            return false;
        }
    }
    return true;
}

/* Sends an undamaged file without copying it. */
static bool send_file(http_connection *connection, const answer *of)
{
    off_t offset = (off_t)of->first;
    while (connection->sent < of->count) {
        const ssize_t sent = sendfile(connection->fd, of->object.fd, &offset,
                                      (size_t)(of->count - connection->sent));
        if (sent <= 0) {
            return false;
        }
        connection->sent += (uint64_t)sent;
    }
    return true;
}

static bool send_body(http_connection *connection, const http_faults *faults, const answer *of,
                      const sending *how)
{
    uint8_t piece[PIECE];
    const bool endless = faults->has[FAULT_ENDLESS_BODY];
    if (of->object.fd >= 0 && of->object.flip == 0 && how->stop == UINT64_MAX && !how->chunked &&
        how->drip_ms < 0 && !endless && connection->rate == 0 && !faults->has[FAULT_OTHER_BYTES] &&
        of->first + of->count <= of->object.bytes) {
        return send_file(connection, of);
    }
    for (uint64_t done = 0; endless || done < of->count;) {
        const size_t some =
            endless || of->count - done > PIECE ? PIECE : (size_t)(of->count - done);
        http_object_read(&of->object, of->first + done, piece, some);
        for (size_t i = 0; faults->has[FAULT_OTHER_BYTES] && i < some; i++) {
            piece[i] ^= 0xa5;
        }
        if (!send_piece(connection, how, piece, some)) {
            return false;
        }
        done += some;
    }
    return !how->chunked || http_send(connection, "0\r\n\r\n", 5);
}

/* Closing a connection with a linger time of 0 resets it. */
static void reset_connection(const http_connection *connection)
{
    const struct linger now = {.l_onoff = 1, .l_linger = 0};
    (void)setsockopt(connection->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
}

static bool send_answer(http_connection *connection, const http_request *request,
                        const http_faults *faults, answer *of)
{
    if (faults->has[FAULT_GZIP]) {
        pack_body(of);
    }
    const uint64_t fewer = (uint64_t)value_or(faults, FAULT_SHORTEN, 0);
    of->count -= fewer < of->count ? fewer : of->count;
    of->count += (uint64_t)value_or(faults, FAULT_EXTRA, 0);
    sending how = {.stop = UINT64_MAX,
                   .drip_ms = value_or(faults, FAULT_DRIP, -1),
                   .chunked = faults->has[FAULT_CHUNKED]};
    static const http_fault stops[] = {FAULT_TRUNCATE, FAULT_RESET, FAULT_STALL_BODY};
    for (size_t i = 0; i < sizeof(stops) / sizeof(stops[0]); i++) {
        how.stop = faults->has[stops[i]] ? (uint64_t)faults->values[stops[i]] : how.stop;
    }
    const bool closes = request->closes || faults->has[FAULT_NO_LENGTH] ||
                        faults->has[FAULT_ENDLESS_BODY] || request->is_bad;
    if (!send_head(connection, faults, of, closes)) {
        return false;
    }
    /* HEAD gets only the header. */
    const bool whole = request->kind == HTTP_HEAD || send_body(connection, faults, of, &how);
    if (connection->sent >= how.stop) {
        if (faults->has[FAULT_RESET]) {
            reset_connection(connection);
        } else if (faults->has[FAULT_STALL_BODY]) {
            (void)http_pause(connection, -1);
        }
        return false;
    }
    return whole && !closes;
}

bool http_answer(http_connection *connection, const http_request *request,
                 const http_faults *faults)
{
    connection->sent = 0;
    connection->status = 0;
    connection->rate = value_or(faults, FAULT_RATE, 0);
    if ((faults->has[FAULT_DELAY] && !http_pause(connection, faults->values[FAULT_DELAY])) ||
        !spoil_head(connection, faults)) {
        return false;
    }
    answer of = {.object = {.fd = -1}};
    find_answer(connection, request, faults, &of);
    connection->status = of.status;
    const bool goes_on = send_answer(connection, request, faults, &of);
    http_object_close(&of.object);
    free(of.text.data);
    free(of.more.data);
    return goes_on;
}
