/* SPDX-License-Identifier: Apache-2.0 */
/*
 * requests: the reads in the making.
 *
 * Purpose: a request is one read, for one want or several neighbours. Life:
 *
 *     FREE -> MADE -> FLYING -> LANDED -> FREE
 *               ^       |         |
 *               |       |         '-> WAITING (for a retry, or for a descriptor) -> MADE
 *               |       '-> ABANDONED (by the watchdog) -> LANDED, if it ever completes
 *               '-- (the tail of a short read is asked for at once: WAITING, due now)
 *
 * A MADE one whose bytes the kernel was asked to read ahead is IN_LINE first, and MADE again when
 * its turn comes. One whose wants were cancelled has none any more and only waits for its
 * completion. Threads: the fetch thread. Times are of sl_now_ns, given by the caller. Invariants:
 * flying, waiting, abandoned count the requests in that state.
 */
#ifndef SL_REQUESTS_H
#define SL_REQUESTS_H

#include "backend.h"
#include "objects.h"
#include "read_buffers.h"
#include "retry.h"

typedef enum sl_request_state {
    SL_REQUEST_FREE = 0,
    SL_REQUEST_MADE,
    SL_REQUEST_IN_LINE,
    SL_REQUEST_WAITING,
    SL_REQUEST_FLYING,
    SL_REQUEST_LANDED,
    SL_REQUEST_ABANDONED
} sl_request_state;

typedef struct sl_request {
    sl_read read; /* first, so that a completion's `read` is its request */
    sl_request_state state;
    struct sl_request *next; /* FREE, or IN_LINE */
    uint32_t wants;          /* list of the window's; NONE: nobody waits for the bytes any more */
    uint32_t count;          /* of them */
    uint32_t object;
    bool whole;                   /* the whole object */
    uint32_t file;                /* of several that it is, which failed */
    bool lookup;                  /* of an index entry, */
    bool once;                    /* which is not looked at again */
    bool past_cache, reads_ahead; /* how it uses the page cache */
    bool way_known;               /* that was decided */
    bool looks;                   /* what is being opened is to say what the page cache has */
    bool packed;                  /* of a compressed object */
    bool remote;                  /* of an object behind a network (sl_backend_remote) */
    bool resident;                /* for the copy of the dataset in memory: it has no wants */
    sl_pin pin;                   /* while `pinned` */
    bool pinned;
    sl_opening opening; /* of READ_OPEN */
    char *path;         /* space for one */
    sl_piece *pieces;   /* space for as many as a want has; `piece_count` 0: it is one range */
    uint32_t piece_count;
    sl_read_buffer buffer;
    uint8_t *to;     /* where the first byte goes: the buffer's begin, or in the copy */
    uint64_t start;  /* of the first byte, in the object */
    uint32_t needed; /* bytes from `start` that the wants need */
    uint32_t span;   /* bytes from `start` to ask for: needed, rounded up for O_DIRECT */
    uint32_t got;    /* bytes from `start` that are there */
    uint32_t tries;
    sl_retry retry;
    bool pin_waiting; /* WAITING for a descriptor */
    bool warned;      /* counted as stalled */
    uint64_t since_ns, due_ns;
} sl_request;

typedef struct sl_requests {
    sl_request *all;
    sl_request *free;
    sl_request *line_first, *line_last; /* IN_LINE, oldest first */
    char *paths;
    sl_piece *pieces;
    uint32_t depth, flying, waiting, pin_waiting, abandoned;
} sl_requests;

/* `pieces`: that a want has, at most. Errors: NOMEM. */
sluice_status sl_requests_open(sl_requests *requests, uint32_t depth, uint32_t pieces,
                               sluice_error *error);
/* `leak`: the kernel may still write to what requests point at: they stay allocated. */
void sl_requests_close(sl_requests *requests, bool leak);

/* A MADE request; NULL: all are in use. */
sl_request *sl_requests_take(sl_requests *requests);
/* MADE, WAITING or LANDED -> FREE. Its buffer and pin are the caller's affair. */
void sl_requests_give(sl_requests *requests, sl_request *request);
/* MADE -> IN_LINE. */
void sl_requests_line_up(sl_requests *requests, sl_request *request);
/* The oldest IN_LINE one -> MADE; NULL: there is none. */
sl_request *sl_requests_next_in_line(sl_requests *requests);
/* MADE -> FLYING. */
void sl_requests_fly(sl_requests *requests, sl_request *request, uint64_t now_ns);
/* FLYING or ABANDONED -> LANDED. */
void sl_requests_land(sl_requests *requests, sl_request *request);
/* FLYING or ABANDONED -> LANDED, of a request that was to open something: no try of its read. */
void sl_requests_opened(sl_requests *requests, sl_request *request);
/* FLYING -> ABANDONED. */
void sl_requests_abandon(sl_requests *requests, sl_request *request);
/* MADE or LANDED -> WAITING until due_ns; for a descriptor, which others are not to take first. */
void sl_requests_wait(sl_requests *requests, sl_request *request, uint64_t due_ns);
void sl_requests_wait_for_pin(sl_requests *requests, sl_request *request, uint64_t due_ns);
/* WAITING -> MADE. */
void sl_requests_remake(sl_requests *requests, sl_request *request);

/* A WAITING one that is due; NULL: none. */
sl_request *sl_requests_due(const sl_requests *requests, uint64_t now_ns);
/* When the next WAITING one is due; UINT64_MAX: there is none. */
uint64_t sl_requests_next_due(const sl_requests *requests);
/* A FLYING one that was sent before `limit_ns`; NULL: none. */
sl_request *sl_requests_sent_before(const sl_requests *requests, uint64_t limit_ns);
/* The FLYING one that was sent first; NULL: none. */
const sl_request *sl_requests_oldest(const sl_requests *requests);
/* Marks FLYING ones that were sent before `limit_ns`, once each; how many. */
uint32_t sl_requests_warn(sl_requests *requests, uint64_t limit_ns);

typedef enum sl_request_kind { SL_REQUESTS_PACKED, SL_REQUESTS_REMOTE } sl_request_kind;
/* Something of this kind came: requests of the kind that are FLYING count as sent now. */
void sl_requests_go_on(sl_requests *requests, sl_request_kind kind, uint64_t now_ns);

/* What a part that was read means. Pure. */
typedef enum sl_progress {
    SL_PART_DONE,   /* all that is needed is there */
    SL_PART_TAIL,   /* the rest must be asked for: `got` says from where */
    SL_PART_NOTHING /* `got` is as before: nothing came, or less than can be asked for */
} sl_progress;
sl_progress sl_request_got(sl_request *request, uint64_t bytes);

#endif
