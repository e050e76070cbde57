/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_server_parts: what the files of http_server share.
 *
 * http_server.c has the threads and connections, http_answer.c sends answers and spoils them,
 * http_objects.c finds objects, http_listing.c lists them, http_script.c reads rules.
 */
#ifndef HTTP_SERVER_PARTS_H
#define HTTP_SERVER_PARTS_H

#include "http_server.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

enum { HTTP_HEAD_BYTES = 64 << 10, HTTP_TARGET_BYTES = 16 << 10, HTTP_ETAG_BYTES = 128 };

/* ---- rules ---- */

typedef enum http_fault {
    FAULT_STATUS,
    FAULT_RETRY_AFTER,
    FAULT_IGNORE_RANGE,
    FAULT_NO_LENGTH,
    FAULT_CHUNKED,
    FAULT_GZIP,
    FAULT_TRUNCATE,
    FAULT_RESET,
    FAULT_SHORTEN,
    FAULT_EXTRA,
    FAULT_RANGE_OFF,
    FAULT_TOTAL_OFF,
    FAULT_NO_TOTAL,
    FAULT_CLAIM,
    FAULT_ENDLESS_BODY,
    FAULT_ENDLESS_HEADERS,
    FAULT_HUGE_HEADER,
    FAULT_GARBAGE,
    FAULT_CLOSE,
    FAULT_OTHER_BYTES,
    FAULT_REPLACE,
    FAULT_INTERIM,
    FAULT_DELAY,
    FAULT_STALL_HEAD,
    FAULT_STALL_BODY,
    FAULT_DRIP,
    FAULT_RATE,
    FAULT_CLOCK,
    FAULT_EMPTY_PAGES,
    FAULT_SAME_PAGES,
    FAULT_CODE, /* from here on texts */
    FAULT_ETAG,
    FAULT_REDIRECT,
    HTTP_FAULTS,
    HTTP_TEXTS = HTTP_FAULTS - FAULT_CODE
} http_fault;

/* What applies to one request. */
typedef struct http_faults {
    bool has[HTTP_FAULTS];
    int64_t values[FAULT_CODE];
    char texts[HTTP_TEXTS][512];
} http_faults;

typedef struct http_rules http_rules;

typedef struct http_request {
    char method[16];
    char target[HTTP_TARGET_BYTES]; /* as it was sent, without the scheme and host of a proxy's */
    char path[HTTP_TARGET_BYTES];   /* unescaped, `path_bytes` long */
    const char *query;              /* in target, behind "?"; "": none */
    char host[512], if_match[512], amz_date[32], range[128];
    bool has_range, is_signed, closes;
    bool is_bad; /* not HTTP, or two Hosts */
    http_kind kind;
} http_request;

http_rules *http_rules_parse(const char *script);
void http_rules_free(http_rules *rules);
/* Counts the request, and adds up what applies to it. Not by two threads at once. */
void http_rules_match(http_rules *rules, const http_request *request, http_faults *faults);
/* Whether something besides latency is wrong. */
bool http_faults_strike(const http_faults *faults);

/* ---- objects ---- */

typedef struct http_object {
    int fd; /* -1: in memory, or made */
    const uint8_t *memory;
    size_t period;  /* memory is repeated after so many bytes */
    uint64_t bytes; /* what is behind them is 'x' */
    uint8_t flip;   /* xor'ed into each byte */
    char etag[HTTP_ETAG_BYTES];
    time_t modified;
    uint8_t made[64]; /* memory of one that is made */
} http_object;

/* An object in memory, kept until the server ends. */
typedef struct http_put {
    struct http_put *next;
    char *path;
    uint8_t *data;
    size_t bytes;
    uint32_t version;
} http_put;

typedef struct http_bucket { /* of http_server_many */
    struct http_bucket *next;
    char name[64];
    uint32_t keys, per_folder, object_bytes;
} http_bucket;

/* Objects whose bytes a rule replaced. */
typedef struct http_replaced {
    struct http_replaced *next;
    uint32_t times;
    char path[];
} http_replaced;

/* False: there is none of this path ("/bucket/key", unescaped). */
bool http_object_open(http_server *server, const char *path, http_object *object);
void http_object_close(http_object *object);
void http_object_read(const http_object *object, uint64_t offset, uint8_t *to, size_t bytes);
void http_object_replace(http_server *server, const char *path);
/* The key of object `number` of a made bucket. */
void http_made_key(const http_bucket *bucket, uint32_t number, char key[64]);

/* ---- text that grows ---- */

typedef struct http_text {
    char *data;
    size_t bytes, capacity;
} http_text;

void http_text_add(http_text *text, const char *data, size_t bytes);
__attribute__((format(printf, 2, 3))) void http_text_print(http_text *text, const char *format,
                                                           ...);
/* Escaped as in URLs, but for "/"; or for XML. */
void http_text_add_escaped(http_text *text, const char *data);
void http_text_add_xml(http_text *text, const char *data);

/* Unescapes to `to`; false: it does not fit, or has a NUL. `plus`: "+" is a blank. */
bool http_unescape(char *to, size_t capacity, const char *from, size_t bytes, bool plus);
/* The value of a query's parameter, unescaped; false: it has none. */
bool http_query(const http_request *request, const char *name, char *value, size_t capacity);

/* ---- listings: the body, and the status; `link` is the address of the next page ---- */

/* How a listing never ends. */
typedef struct http_pages {
    uint32_t number; /* of this page, and of no other; 0: the listing ends as it should */
    bool empty;
} http_pages;
int http_list(http_server *server, const http_request *request, http_pages pages, http_text *body);
int http_tree(http_server *server, const http_request *request, http_pages pages, http_text *body,
              http_text *link);
void http_error_body(http_text *body, const char *code);

/* ---- connections ---- */

typedef struct http_connection {
    struct http_connection *next;
    http_server *server;
    pthread_t thread;
    int fd;
    bool is_done;     /* under the server's mutex: the thread has ended, or is about to */
    uint64_t sent;    /* of this answer's body */
    uint64_t free_ns; /* rate: when more may be sent */
    int64_t rate;     /* bytes a second; 0: any */
    int status;       /* of this answer */
    size_t buffered;
    char buffer[HTTP_HEAD_BYTES];
} http_connection;

struct http_server {
    http_server_config config;
    char *folder, url[64];
    uint16_t port;
    int listener;
    pthread_t thread;
    pthread_mutex_t mutex;
    /* under it */
    http_rules *rules;
    http_put *puts;
    http_bucket *buckets;
    http_replaced *replaced;
    http_connection *connections;
    http_counts counts;
    uint32_t at_once;
    uint32_t numbers; /* given to "%n", and to pages of listings that never end */
    http_text log;
    bool stops;
};

/* False: the connection is over. */
bool http_send(http_connection *connection, const void *data, size_t bytes);
/* Waits; `ms` < 0: until the client leaves. False: it did, or the server ends. */
bool http_pause(http_connection *connection, int64_t ms);
uint64_t http_now_ns(void);
/* Sends the answer. False: the connection is not to be used again. */
bool http_answer(http_connection *connection, const http_request *request,
                 const http_faults *faults);
_Noreturn __attribute__((format(printf, 1, 2))) void http_die(const char *format, ...);
/* Not NULL. */
void *http_memory(void *old, size_t bytes);

#endif
