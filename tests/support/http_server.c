/* SPDX-License-Identifier: Apache-2.0 */
#include "http_server_parts.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { STACK_BYTES = 1 << 20, LOG_MOST = 4 << 20, BACKLOG = 1024 };

uint64_t http_now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static bool server_stops(http_server *server)
{
    (void)pthread_mutex_lock(&server->mutex);
    const bool stops = server->stops;
    (void)pthread_mutex_unlock(&server->mutex);
    return stops;
}

bool http_pause(http_connection *connection, int64_t ms)
{
    const uint64_t end = http_now_ns() + (uint64_t)(ms < 0 ? 0 : ms) * 1000000U;
    for (;;) {
        const uint64_t now = http_now_ns();
        if (ms >= 0 && now >= end) {
            return true;
        }
        struct pollfd leaves = {.fd = connection->fd, .events = POLLRDHUP};
        const int wait = ms < 0 ? -1 : (int)((end - now + 999999U) / 1000000U);
        const int ready = poll(&leaves, 1, wait);
        if (ready > 0 || (ready < 0 && errno != EINTR)) {
            return false; /* shutting down the server closes its sockets */
        }
    }
}

bool http_send(http_connection *connection, const void *data, size_t bytes)
{
    const char *from = data;
    size_t done = 0;
    while (done < bytes) {
        size_t some = bytes - done;
        if (connection->rate > 0) { /* sends 10 ms worth at a time */
            const size_t most = (size_t)connection->rate / 100 + 1;
            some = some < most ? some : most;
            const uint64_t now = http_now_ns();
            if (connection->free_ns > now &&
                !http_pause(connection, (int64_t)((connection->free_ns - now) / 1000000U))) {
                return false;
            }
            const uint64_t begins = connection->free_ns > now ? connection->free_ns : now;
            connection->free_ns = begins + some * 1000000000U / (uint64_t)connection->rate;
        }
        const ssize_t sent = send(connection->fd, from + done, some, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) {
            continue;
        }
        if (sent <= 0) {
            return false;
        }
        done += (size_t)sent;
    }
    return true;
}

/* ---- requests ---- */

static void take_header(http_request *request, const char *name, const char *value)
{
    const struct {
        const char *name;
        char *to;
        size_t capacity;
    } texts[] = {{"Host", request->host, sizeof(request->host)},
                 {"If-Match", request->if_match, sizeof(request->if_match)},
                 {"x-amz-date", request->amz_date, sizeof(request->amz_date)},
                 {"Range", request->range, sizeof(request->range)}};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (strcasecmp(texts[i].name, name) == 0) {
            request->is_bad = request->is_bad || texts[i].to[0] != '\0';
            (void)snprintf(texts[i].to, texts[i].capacity, "%s", value);
        }
    }
    request->is_signed = request->is_signed || strcasecmp(name, "Authorization") == 0;
    request->closes =
        request->closes || (strcasecmp(name, "Connection") == 0 && strcasecmp(value, "close") == 0);
}

static http_kind kind_of(const http_request *request)
{
    char type[8];
    if (strcmp(request->method, "HEAD") == 0) {
        return HTTP_HEAD;
    }
    if (strcmp(request->method, "GET") != 0) {
        return HTTP_OTHER;
    }
    if (strncmp(request->path, "/api/", 5) == 0) {
        return HTTP_TREE;
    }
    if (http_query(request, "list-type", type, sizeof(type))) {
        return HTTP_LIST;
    }
    return strncmp(request->path, "/datasets/", 10) == 0 &&
                   strstr(request->path, "/resolve/") != NULL
               ? HTTP_RESOLVE
               : HTTP_GET;
}

static void parse_target(http_request *request, const char *target)
{
    if (strncmp(target, "http://", 7) == 0) { /* as sent to a proxy */
        target = strchr(target + 7, '/');
        target = target != NULL ? target : "/";
    }
    (void)snprintf(request->target, sizeof(request->target), "%s", target);
    const size_t path = strcspn(request->target, "?");
    request->query = request->target + path + (request->target[path] == '?');
    request->is_bad =
        request->is_bad || request->target[0] != '/' ||
        !http_unescape(request->path, sizeof(request->path), request->target, path, false);
}

/* `head` ends with an empty line and is modified. */
static void parse_request(http_request *request, char *head)
{
    char *rest = NULL;
    char *line = strtok_r(head, "\r\n", &rest);
    *request = (http_request){.query = ""};
    char *first = line != NULL ? strchr(line, ' ') : NULL;
    char *second = first != NULL ? strchr(first + 1, ' ') : NULL;
    if (second == NULL || strcmp(second + 1, "HTTP/1.1") != 0 ||
        (size_t)(first - line) >= sizeof(request->method) ||
        (size_t)(second - first) >= sizeof(request->target)) {
        request->is_bad = true;
        request->kind = HTTP_OTHER;
        return;
    }
    *first = *second = '\0';
    (void)snprintf(request->method, sizeof(request->method), "%s", line);
    parse_target(request, first + 1);
    while ((line = strtok_r(NULL, "\r\n", &rest)) != NULL) {
        char *colon = strchr(line, ':');
        if (colon == NULL) {
            request->is_bad = true;
            continue;
        }
        *colon = '\0';
        take_header(request, line, colon + 1 + strspn(colon + 1, " \t"));
    }
    request->has_range = request->range[0] != '\0';
    request->is_bad = request->is_bad || request->host[0] == '\0';
    request->kind = kind_of(request);
}

/* Reads up to the end of the header. False if the client has left or sends too much. */
static bool read_head(http_connection *connection, http_request *request)
{
    for (;;) {
        connection->buffer[connection->buffered] = '\0';
        char *end = strstr(connection->buffer, "\r\n\r\n");
        if (end != NULL) {
            const size_t used = (size_t)(end + 4 - connection->buffer);
            end[2] = '\0';
            parse_request(request, connection->buffer);
            memmove(connection->buffer, connection->buffer + used, connection->buffered - used);
            connection->buffered -= used;
            return true;
        }
        if (connection->buffered + 1 == sizeof(connection->buffer)) {
            return false;
        }
        const ssize_t got = recv(connection->fd, connection->buffer + connection->buffered,
                                 sizeof(connection->buffer) - 1 - connection->buffered, 0);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return false;
        }
        connection->buffered += (size_t)got;
    }
}

/* ---- counting ---- */

static void begin_request(http_server *server, const http_request *request, http_faults *faults)
{
    (void)pthread_mutex_lock(&server->mutex);
    http_rules_match(server->rules, request, faults);
    http_counts *counts = &server->counts;
    counts->requests++;
    counts->kinds[request->kind]++;
    counts->ranges += request->kind == HTTP_GET && request->has_range;
    counts->signed_ones += request->is_signed;
    counts->struck += http_faults_strike(faults);
    counts->if_match += request->if_match[0] != '\0';
    counts->errors += request->is_bad || request->kind == HTTP_HEAD;
    server->at_once++;
    counts->most_at_once =
        server->at_once > counts->most_at_once ? server->at_once : counts->most_at_once;
    (void)pthread_mutex_unlock(&server->mutex);
}

static void end_request(http_connection *connection, const http_request *request)
{
    static const char *const kinds[HTTP_KINDS] = {"get",     "list", "tree",
                                                  "resolve", "head", "other"};
    http_server *server = connection->server;
    (void)pthread_mutex_lock(&server->mutex);
    server->at_once--;
    server->counts.body_bytes += connection->sent;
    if (server->log.bytes < LOG_MOST) {
        http_text_print(&server->log, "%s %s %s %s %d %llu %s\n", kinds[request->kind],
                        request->method, request->target, request->has_range ? request->range : "-",
                        connection->status, (unsigned long long)connection->sent,
                        request->is_signed ? "signed" : "-");
    }
    (void)pthread_mutex_unlock(&server->mutex);
}

static void serve_requests(http_connection *connection)
{
    http_request *request = http_memory(NULL, sizeof(*request));
    http_faults *faults = http_memory(NULL, sizeof(*faults));
    bool goes_on = true;
    while (goes_on && read_head(connection, request)) {
        begin_request(connection->server, request, faults);
        goes_on = http_answer(connection, request, faults);
        end_request(connection, request);
    }
    free(request);
    free(faults);
}

static void *connection_main(void *argument)
{
    http_connection *connection = argument;
    serve_requests(connection);
    (void)pthread_mutex_lock(&connection->server->mutex);
    (void)close(connection->fd); /* under the mutex: stopping shuts down open connections only */
    connection->fd = -1;
    connection->is_done = true;
    (void)pthread_mutex_unlock(&connection->server->mutex);
    return NULL;
}

/* Joins finished threads. Only the accepting thread removes connections. */
static void reap_connections(http_server *server)
{
    http_connection *ended = NULL;
    (void)pthread_mutex_lock(&server->mutex);
    for (http_connection **at = &server->connections; *at != NULL;) {
        http_connection *connection = *at;
        if (connection->is_done) {
            *at = connection->next;
            connection->next = ended;
            ended = connection;
        } else {
            at = &connection->next;
        }
    }
    (void)pthread_mutex_unlock(&server->mutex);
    for (http_connection *next = NULL; ended != NULL; ended = next) {
        next = ended->next;
        (void)pthread_join(ended->thread, NULL);
        free(ended);
    }
}

static void begin_connection(http_server *server, int fd)
{
    const int one = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    http_connection *connection = http_memory(NULL, sizeof(*connection));
    connection->server = server;
    connection->fd = fd;
    connection->is_done = false;
    connection->sent = connection->free_ns = connection->buffered = 0;
    connection->rate = 0;
    pthread_attr_t attributes;
    (void)pthread_attr_init(&attributes);
    (void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
    (void)pthread_mutex_lock(&server->mutex); /* keeps it from ending before it is in the list */
    if (pthread_create(&connection->thread, &attributes, connection_main, connection) != 0) {
        http_die("a thread cannot be started");
    }
    connection->next = server->connections;
    server->connections = connection;
    server->counts.connections++;
    (void)pthread_mutex_unlock(&server->mutex);
    (void)pthread_attr_destroy(&attributes);
}

static void *accept_main(void *argument)
{
    http_server *server = argument;
    sigset_t pipe_signal; /* sendfile() has no flag against it; threads inherit the mask */
    (void)sigemptyset(&pipe_signal);
    (void)sigaddset(&pipe_signal, SIGPIPE);
    (void)pthread_sigmask(SIG_BLOCK, &pipe_signal, NULL);
    while (!server_stops(server)) {
        const int fd = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC);
        reap_connections(server);
        if (fd >= 0) {
            begin_connection(server, fd);
        } else if (errno == EMFILE || errno == ENFILE) {
            (void)poll(NULL, 0, 10); /* the test has used up all descriptors: try again later */
        }
    }
    return NULL;
}

/* ---- the interface ---- */

static void begin_listening(http_server *server)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(server->config.port),
                                  .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof(address);
    const int one = 1;
    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (server->listener < 0 ||
        setsockopt(server->listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) != 0 ||
        bind(server->listener, (struct sockaddr *)&address, length) != 0 ||
        listen(server->listener, BACKLOG) != 0 ||
        getsockname(server->listener, (struct sockaddr *)&address, &length) != 0) {
        http_die("no port of 127.0.0.1 can be listened on: %s", strerror(errno));
    }
    server->port = ntohs(address.sin_port);
    (void)snprintf(server->url, sizeof(server->url), "http://127.0.0.1:%u", server->port);
}

http_server *http_server_start(const http_server_config *config)
{
    http_server *server = http_memory(NULL, sizeof(*server));
    *server = (http_server){.config = *config, .rules = http_rules_parse(config->script)};
    if (config->folder != NULL) {
        server->folder = http_memory(NULL, strlen(config->folder) + 1);
        memcpy(server->folder, config->folder, strlen(config->folder) + 1);
    }
    (void)pthread_mutex_init(&server->mutex, NULL);
    begin_listening(server);
    if (pthread_create(&server->thread, NULL, accept_main, server) != 0) {
        http_die("a thread cannot be started");
    }
    return server;
}

static void free_objects(http_server *server)
{
    for (http_put *put = server->puts, *next = NULL; put != NULL; put = next) {
        next = put->next;
        free(put->path);
        free(put->data);
        free(put);
    }
    for (http_bucket *bucket = server->buckets, *next = NULL; bucket != NULL; bucket = next) {
        next = bucket->next;
        free(bucket);
    }
    for (http_replaced *of = server->replaced, *next = NULL; of != NULL; of = next) {
        next = of->next;
        free(of);
    }
}

void http_server_stop(http_server *server)
{
    (void)pthread_mutex_lock(&server->mutex);
    server->stops = true;
    (void)pthread_mutex_unlock(&server->mutex);
    (void)shutdown(server->listener, SHUT_RDWR);
    (void)pthread_join(server->thread, NULL);
    (void)pthread_mutex_lock(&server->mutex);
    for (const http_connection *at = server->connections; at != NULL; at = at->next) {
        if (!at->is_done) {
            (void)shutdown(at->fd, SHUT_RDWR);
        }
    }
    (void)pthread_mutex_unlock(&server->mutex);
    for (http_connection *at = server->connections, *next = NULL; at != NULL; at = next) {
        next = at->next;
        (void)pthread_join(at->thread, NULL);
        free(at);
    }
    (void)close(server->listener);
    (void)pthread_mutex_destroy(&server->mutex);
    http_rules_free(server->rules);
    free_objects(server);
    free(server->log.data);
    free(server->folder);
    free(server);
}

uint16_t http_server_port(const http_server *server)
{
    return server->port;
}

const char *http_server_url(const http_server *server)
{
    return server->url;
}

void http_server_script(http_server *server, const char *script)
{
    http_rules *rules = http_rules_parse(script);
    (void)pthread_mutex_lock(&server->mutex);
    http_rules *old = server->rules;
    server->rules = rules;
    (void)pthread_mutex_unlock(&server->mutex);
    http_rules_free(old);
}

/* The client gets the last byte of an answer, or gives up, slightly before the answer is counted.
 * Takes the mutex; waits at most `most_ms`, since some answers never end. */
static void lock_after_answers(http_server *server, uint32_t most_ms)
{
    (void)pthread_mutex_lock(&server->mutex);
    for (uint32_t ms = 0; server->at_once > 0 && ms < most_ms; ms++) {
        (void)pthread_mutex_unlock(&server->mutex);
        (void)poll(NULL, 0, 1);
        (void)pthread_mutex_lock(&server->mutex);
    }
}

http_counts http_server_counts(http_server *server)
{
    lock_after_answers(server, 200);
    const http_counts counts = server->counts;
    (void)pthread_mutex_unlock(&server->mutex);
    return counts;
}

void http_server_reset_counts(http_server *server)
{
    lock_after_answers(server, 2000);
    server->counts = (http_counts){.most_at_once = server->at_once};
    server->log.bytes = 0;
    (void)pthread_mutex_unlock(&server->mutex);
}

size_t http_server_log(http_server *server, char *text, size_t capacity)
{
    lock_after_answers(server, 2000);
    const size_t bytes = server->log.bytes;
    if (capacity > 0) {
        const size_t some = bytes < capacity ? bytes : capacity - 1;
        if (some > 0) {
            memcpy(text, server->log.data, some);
        }
        text[some] = '\0';
    }
    (void)pthread_mutex_unlock(&server->mutex);
    return bytes;
}
