/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_request: one page of a listing, requested until it is good or the reason is final.
 *
 * Purpose: writes and signs the request, follows the provider's verdict on each answer (another
 * region, expired credentials, a wrong clock, busy) and delays further tries. Threads: one owner;
 * `done` of its exchange runs on an engine thread and only marks it as finished under the mutex of
 * the group. Memory: 4 MiB of address space for the body.
 */
#ifndef SL_PAGE_REQUEST_H
#define SL_PAGE_REQUEST_H

#include "provider.h"

#include <pthread.h>

/* Requests in flight that one thread waits for. */
typedef struct sl_page_group {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    uint32_t flying; /* under mutex */
} sl_page_group;

typedef enum sl_page_state {
    SL_PAGE_IDLE = 0,
    SL_PAGE_LATER, /* to be tried at `again_ns` */
    SL_PAGE_FLYING,
    SL_PAGE_ENDED /* sl_page_take has not been called yet */
} sl_page_state;

typedef struct sl_page_request {
    sl_exchange exchange;
    sl_request_text text;
    sl_credentials credentials;
    sl_page_group *group;
    const sl_url *folder;
    struct sl_host *host; /* NULL: no memory for its statistics */
    sl_page_state state;  /* FLYING, ENDED: under the group's mutex */
    char *moved;          /* sl_malloc'd target of a redirect; NULL: none */
    uint8_t *buffer;
    uint32_t tries;
    uint64_t began_ns, stall_ns; /* how long a busy server is retried */
    uint64_t again_ns;
} sl_page_request;

void sl_page_group_begin(sl_page_group *group);
void sl_page_group_end(sl_page_group *group);

/* Starts a request, or its next try. Returns 0 or -errno, with a reason. Blocks while
 * credentials are fetched. `ask` is borrowed until the request is good. */
int sl_page_start(sl_page_request *page, sl_page_group *group, const sl_url *folder,
                  const sl_page_ask *ask);
/* Judges an ENDED request. Returns 1 if it is good and its body may be read, 0 if it is LATER now,
 * or -errno with a reason if no more tries are made. */
int sl_page_take(sl_page_request *page);
/* Cancels the request if it is in flight, waits for its end, and frees its memory. */
void sl_page_close(sl_page_request *page);

#endif
