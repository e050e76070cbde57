/* SPDX-License-Identifier: Apache-2.0 */
/*
 * provider: the differences between kinds of object stores, as a row of functions.
 *
 * Purpose: how a request for an object is written and signed, how an answer is interpreted, how its
 * folders are listed. Everything else (tries, hedging, windows, caches, nodes) is written once,
 * over this row. Rows: http (also https), s3, gs, hf. Threads: any. Memory: the caller's.
 */
#ifndef SL_PROVIDER_H
#define SL_PROVIDER_H

#include "credentials.h"
#include "engine.h"
#include "sign.h"
#include "url.h"

/* A request being written: the texts that an exchange borrows. */
typedef struct sl_request_text {
    char url[2 * SL_URL_BYTES];
    char host[SL_HOST_BYTES]; /* host[:port], for hosts.h and nodes.h */
    char headers[8][SL_SIGN_HEADER_BYTES];
    const char *header_list[8];
    uint32_t header_count;
} sl_request_text;

typedef enum sl_answer {
    SL_ANSWER_GOOD = 0,
    SL_ANSWER_MISSING,   /* 404 */
    SL_ANSWER_REFUSED,   /* 401, 403: `reason` names the credentials */
    SL_ANSWER_EXPIRED,   /* the credentials have expired: get new ones and retry once */
    SL_ANSWER_SKEWED,    /* the clock differs: note the server's and retry once */
    SL_ANSWER_REPLACED,  /* 412, or an ETag that differs from the earlier one */
    SL_ANSWER_BEYOND,    /* 416: the object ends before the range; total has its size, if known */
    SL_ANSWER_BUSY,      /* 429, 500, 502, 503, 504, SlowDown: later, and fewer */
    SL_ANSWER_MOVED,     /* a redirect that may be followed: Location */
    SL_ANSWER_ELSEWHERE, /* another region, named by `region` */
    SL_ANSWER_WRONG /* 200 for a range, another range, too short, too long, compressed: `reason` */
} sl_answer;

/* The identity that a request is made with, and the server's clock. */
typedef struct sl_request_as {
    const sl_credentials *credentials; /* from sl_credentials_ask; NULL: none */
    int64_t clock_skew_s;
} sl_request_as;

/* How to request an object. */
typedef struct sl_get_ask {
    sl_request_as as;
    const char *etag;  /* goes into If-Match; "": any */
    const char *moved; /* the target of a redirect, which gets no credentials; NULL: none */
} sl_get_ask;

/* The page of a folder's listing to request. */
typedef struct sl_page_ask {
    sl_request_as as;
    const char *begins;      /* names of the folder with this prefix; NULL: all */
    const char *start_after; /* names after this key; NULL: all */
    const char *token;       /* continues a listing, from the previous page; NULL: begins one */
} sl_page_ask;

struct sl_entries;

/* How a listing continues after a page. */
typedef struct sl_page_end {
    bool more;
    char *token; /* sl_malloc'd; NULL: none */
} sl_page_end;

typedef struct sl_provider {
    sl_scheme scheme;
    sl_credentials_kind credentials; /* SL_CREDENTIALS_KINDS: none */
    bool redirects;                  /* true if it redirects most reads to its storage */
    bool lists;                      /* true if it has folders; http has none */
    bool lists_ranges;               /* true if a page can start after any key */
    /* Writes a GET of the object at `url`. */
    sluice_status (*get)(sl_request_text *text, const sl_url *url, const sl_get_ask *ask,
                         sluice_error *error);
    /* Classifies an answer (status != 0) whose exchange is done; fills `reason` unless it is good.
     * The body of an error is in `problem`. */
    sl_answer (*answer)(const sl_exchange *exchange, char reason[SL_REASON_BYTES]);
    /* Notes the region that an answer ELSEWHERE named, for the next `get` and `list`. NULL: the
     * provider never answers ELSEWHERE. */
    void (*elsewhere)(const sl_url *url, const sl_exchange *exchange);
    /* Writes a request for a page of a folder, whose key is "" or ends with a slash. NULL: no
     * folders. */
    sluice_status (*list)(sl_request_text *text, const sl_url *folder, const sl_page_ask *ask,
                          sluice_error *error);
    /* Reads the body of a good page: adds its entries. Errors: CORRUPT, NOMEM. */
    sluice_status (*page)(const sl_url *folder, const sl_exchange *exchange,
                          struct sl_entries *entries, sl_page_end *end, sluice_error *error);
} sl_provider;

/* ---- for rows ---- */

/* Adds a header, printf-style; false: no space for it. */
bool sl_request_add(sl_request_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Sets the host from the URL. False: it does not fit. */
bool sl_request_set_host(sl_request_text *text);
/* Adds If-Match, unless the ETag is "" or weak, or cannot be in a header. */
bool sl_request_match(sl_request_text *text, const char *etag);
/* Writes a GET of `moved`, without credentials. */
sluice_status sl_request_moved(sl_request_text *text, const char *moved, const char *etag,
                               sluice_error *error);
/* Classifies by the rules of HTTP alone. `code`: the store's error code; "": none. */
sl_answer sl_answer_of_http(const sl_exchange *exchange, const char *code,
                            char reason[SL_REASON_BYTES]);
/* Appends the source of the credentials used for requests. */
void sl_reason_add_source(char reason[SL_REASON_BYTES], sl_credentials_kind kind);

extern const sl_provider sl_provider_http, sl_provider_s3, sl_provider_gs, sl_provider_hf;
const sl_provider *sl_provider_of(sl_scheme scheme);

#endif
