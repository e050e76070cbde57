/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_server: an HTTP/1.1 server inside the test's process that misbehaves according to a script.
 *
 * It serves the files of a folder like an object store: GET with one Range, If-Match (412), ETag,
 * Last-Modified, keep-alive, no HEAD (405, counted as a client error). The first folder of a path
 * is the bucket: GET /BUCKET?list-type=2 lists it (prefix, delimiter, start-after,
 * continuation-token, max-keys, encoding-type=url). For the Hugging Face hub, the files of
 * datasets/OWNER/NAME/PATH are listed by /api/datasets/OWNER/NAME/tree/REVISION[/PATH] and served
 * by /datasets/OWNER/NAME/resolve/REVISION/PATH, which redirects to a signed address under /cdn/ on
 * the same server. Signatures are not verified; tests/servers has real servers for that.
 *
 * A script has one rule per line, made of words separated by blanks; "#" begins a comment. All
 * rules that match a request apply to it. Words that select requests (without any: all requests):
 *   path=REGEX    POSIX extended, over the target as sent ("/bucket/a%20b?list-type=2")
 *   kind=NAME     get|list|tree|resolve|head
 *   host=TEXT     the Host header contains this text
 *   skip=N        skips the first N requests             count=N    applies to N requests only
 *   every=N       applies to every Nth                   share=0.2 seed=7   to a random fraction
 * Words that define the fault:
 *   status=503 [code=SlowDown] [retry-after=S]    this status, with an S3 error body of that code
 *   ignore-range          200 and the whole object
 *   no-length             no Content-Length, then closes
 *   chunked               a correct body, chunked        claim=N         also a Content-Length of N
 *   gzip                  a gzip-compressed body         no-total        Content-Range without it
 *   truncate=N            closes after N bytes of the body (Content-Length has all)
 *   reset=N               resets the connection after N bytes of the body
 *   shorten=N             N bytes fewer, with a matching Content-Length
 *   extra=N               N bytes more than requested, with a matching Content-Length
 *   range-off=N           Content-Range is N bytes off   total-off=N     its total is N bytes off
 *   endless-body          a body that never ends         endless-headers header lines without end
 *   huge-header=N         one header line of N bytes     garbage         not HTTP at all
 *   close                 closes without an answer       other-bytes     wrong bytes, same ETag
 *   replace               from now on this object has other bytes and another ETag
 *   etag=none|weak|TEXT   ETag of the answer             interim         a 103 before the answer
 *   delay=MS              before the header              stall-head      sends nothing
 *   stall-body=N          stops sending after N bytes of the body
 *   drip=MS               one byte of the body every MS
 *   rate=BYTES            limit per second, for each connection
 *   empty-pages           listing pages without entries that each name another one
 *   same-pages            the first page of a listing repeatedly, naming another one
 *   redirect=URL [status=302]   a Location; "%n" in it becomes a new number
 *   clock=S               the server's clock is S seconds off: Date, and 403 RequestTimeTooSkewed
 *                         for an x-amz-date that is more than 900 s away
 *
 * Threads: its own, one per connection; functions from any thread. An error in the test itself (a
 * bad script, no port) ends the process with a message.
 */
#ifndef HTTP_SERVER_H
#define HTTP_SERVER_H

#include <stddef.h>
#include <stdint.h>

typedef struct http_server http_server;

typedef enum http_kind {
    HTTP_GET = 0, /* an object, or a range of it */
    HTTP_LIST,    /* a page of an S3 listing */
    HTTP_TREE,    /* a page of a Hugging Face tree */
    HTTP_RESOLVE, /* a Hugging Face file's address */
    HTTP_HEAD,    /* any HEAD */
    HTTP_OTHER,   /* any other method */
    HTTP_KINDS
} http_kind;

typedef struct http_server_config {
    const char *folder;    /* folder to serve; NULL: only what http_server_put and _many add */
    uint16_t port;         /* 0: any */
    const char *script;    /* NULL: no rules */
    uint32_t link_seconds; /* lifetime of a signed /cdn/ address, then 403; 0: 3600 */
    uint64_t direct_bytes; /* resolve serves files smaller than this itself, without a redirect */
    uint32_t tree_page;    /* entries in a page of a tree; 0: 1000 */
} http_server_config;

/* Starts it on 127.0.0.1. */
http_server *http_server_start(const http_server_config *config);
/* Ends all connections and threads, and frees it. */
void http_server_stop(http_server *server);
uint16_t http_server_port(const http_server *server);
/* Returns "http://127.0.0.1:PORT", valid as long as the server. */
const char *http_server_url(const http_server *server);

/* Replaces all rules and restarts their counts at 0; NULL or "": no rules. */
void http_server_script(http_server *server, const char *script);

/* Adds an object in memory. The path ("/bucket/key") is unescaped and used byte for byte; the bytes
 * are copied. An existing object with this path is replaced and gets another ETag. */
void http_server_put(http_server *server, const char *path, const void *data, size_t bytes);
/* Adds a bucket of `keys` objects (at most 10,000,000) of `object_bytes` bytes each, generated on
 * request: "class%05u/%08u.bin" of (number / per_folder, number), in this order. Each object is its
 * key and a newline, repeated and cut to size. */
void http_server_many(http_server *server, const char *bucket, uint32_t keys, uint32_t per_folder,
                      uint32_t object_bytes);

typedef struct http_counts {
    uint64_t requests; /* of all kinds, answered or not */
    uint64_t kinds[HTTP_KINDS];
    uint64_t ranges;       /* HTTP_GET with a Range */
    uint64_t signed_ones;  /* with Authorization */
    uint64_t body_bytes;   /* sent */
    uint64_t struck;       /* requests hit by a rule other than delay, rate and clock */
    uint64_t connections;  /* accepted */
    uint32_t most_at_once; /* most requests in progress at once */
    uint64_t if_match;     /* with If-Match */
    uint64_t errors;       /* client errors: HEAD, a request that is not HTTP, two Hosts */
} http_counts;
/* Counts since the start or the last reset. These three functions wait for answers in progress, but
 * not long, since some never end. */
http_counts http_server_counts(http_server *server);
void http_server_reset_counts(http_server *server);

/* Copies the log since the last reset: one line per request, "KIND METHOD TARGET RANGE STATUS BYTES
 * SIGNED" ("-" for no Range; "signed" or "-"), in order of completion. Returns the full length; the
 * copy is cut to `capacity`, including its NUL. At most 4 MiB are kept. */
size_t http_server_log(http_server *server, char *text, size_t capacity);

#endif
