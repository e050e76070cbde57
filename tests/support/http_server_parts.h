/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_server_parts: declarations shared by the files of http_server.
 *
 * http_server.c handles threads and connections, http_answer.c sends answers and damages them,
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
    FAULT_CODE, /* the faults from here on have text values */
    FAULT_ETAG,
    FAULT_REDIRECT,
    HTTP_FAULTS,
    HTTP_TEXTS = HTTP_FAULTS - FAULT_CODE
} http_fault;

/* Faults that apply to one request. */
typedef struct http_faults {
    bool has[HTTP_FAULTS];
    int64_t values[FAULT_CODE];
    char texts[HTTP_TEXTS][512];
} http_faults;

typedef struct http_rules http_rules;

typedef struct http_request {
    char method[16];
    char target[HTTP_TARGET_BYTES]; /* as sent, without a proxy request's scheme and host */
    char path[HTTP_TARGET_BYTES];   /* unescaped, `path_bytes` long */
    const char *query;              /* in target, after "?"; "": none */
    char host[512], if_match[512], amz_date[32], range[128];
    bool has_range, is_signed, closes;
    bool is_bad; /* not HTTP, or two Hosts */
    http_kind kind;
} http_request;

http_rules *http_rules_parse(const char *script);
void http_rules_free(http_rules *rules);
/* Counts the request and combines the rules that apply to it. Not thread-safe. */
void http_rules_match(http_rules *rules, const http_request *request, http_faults *faults);
/* True if there is a fault other than latency. */
bool http_faults_strike(const http_faults *faults);

/* ---- objects ---- */

typedef struct http_object {
    int fd; /* -1: in memory, or generated */
    const uint8_t *memory;
    size_t period;  /* the memory repeats after this many bytes */
    uint64_t bytes; /* bytes after them are 'x' */
    uint8_t flip;   /* XORed into each byte */
    char etag[HTTP_ETAG_BYTES];
    time_t modified;
    uint8_t made[64]; /* memory of a generated one */
} http_object;

/* An object in memory, kept until the server ends. */
typedef struct http_put {
    struct http_put *next;
    char *path;
    uint8_t *data;
    size_t bytes;
    uint32_t version;
} http_put;

typedef struct http_bucket { /* added by http_server_many */
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

/* False if no object has this path ("/bucket/key", unescaped). */
bool http_object_open(http_server *server, const char *path, http_object *object);
void http_object_close(http_object *object);
void http_object_read(const http_object *object, uint64_t offset, uint8_t *to, size_t bytes);
void http_object_replace(http_server *server, const char *path);
/* Writes the key of object `number` of a generated bucket. */
void http_made_key(const http_bucket *bucket, uint32_t number, char key[64]);

/* ---- text that grows ---- */

typedef struct http_text {
    char *data;
    size_t bytes, capacity;
} http_text;

void http_text_add(http_text *text, const char *data, size_t bytes);
__attribute__((format(printf, 2, 3))) void http_text_print(http_text *text, const char *format,
                                                           ...);
/* Escapes as in URLs, except "/"; or for XML. */
void http_text_add_escaped(http_text *text, const char *data);
void http_text_add_xml(http_text *text, const char *data);

/* Unescapes to `to`; false if it does not fit or contains a NUL. `plus`: "+" is a blank. */
bool http_unescape(char *to, size_t capacity, const char *from, size_t bytes, bool plus);
/* Finds a query parameter's value, unescaped; false if there is none. */
bool http_query(const http_request *request, const char *name, char *value, size_t capacity);

/* ---- listings: the body and the status; `link` is the next page's address ---- */

/* Ways in which a listing never ends. */
typedef struct http_pages {
    uint32_t number; /* unique number of this page; 0: the listing ends normally */
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
    bool is_done;     /* under the server's mutex: the thread has ended or is about to */
    uint64_t sent;    /* bytes sent of this answer's body */
    uint64_t free_ns; /* rate: time when more may be sent */
    int64_t rate;     /* bytes per second; 0: unlimited */
    int status;       /* status of this answer */
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
    /* under the mutex */
    http_rules *rules;
    http_put *puts;
    http_bucket *buckets;
    http_replaced *replaced;
    http_connection *connections;
    http_counts counts;
    uint32_t at_once;
    uint32_t numbers; /* used for "%n" and for pages of endless listings */
    http_text log;
    bool stops;
};

/* False if the connection is over. */
bool http_send(http_connection *connection, const void *data, size_t bytes);
/* Waits; `ms` < 0: until the client leaves. False if the client left or the server ends. */
bool http_pause(http_connection *connection, int64_t ms);
uint64_t http_now_ns(void);
/* Sends the answer. False if the connection must not be reused. */
bool http_answer(http_connection *connection, const http_request *request,
                 const http_faults *faults);
_Noreturn __attribute__((format(printf, 1, 2))) void http_die(const char *format, ...);
/* Never returns NULL. */
void *http_memory(void *old, size_t bytes);

#endif
