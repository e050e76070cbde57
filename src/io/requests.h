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
    uint32_t wants;          /* list of the window's; NONE: no want waits for the bytes any more */
    uint32_t count;          /* of them */
    uint32_t object;
    bool whole;                   /* the whole object */
    uint32_t file;                /* number of the file that failed, if the object has several */
    bool lookup;                  /* of an index entry */
    bool once;                    /* not read again */
    bool past_cache, reads_ahead; /* use of the page cache */
    bool way_known;               /* true once that is decided */
    bool looks;                   /* the open is for a query of the page cache */
    bool packed;                  /* of a compressed object */
    bool remote;                  /* of a remote object (sl_backend_remote) */
    bool resident;                /* for the copy of the dataset in memory: it has no wants */
    sl_pin pin;                   /* while `pinned` */
    bool pinned;
    sl_opening opening; /* of READ_OPEN */
    char *path;         /* space for one */
    sl_piece *pieces;   /* space for the most pieces of a want; `piece_count` 0: it is one range */
    uint32_t piece_count;
    sl_read_buffer buffer;
    uint8_t *to;     /* destination of the first byte: the buffer's begin, or in the copy */
    uint64_t start;  /* of the first byte, in the object */
    uint32_t needed; /* bytes from `start` that the wants need */
    uint32_t span;   /* bytes from `start` to request: needed, rounded up for O_DIRECT */
    uint32_t got;    /* bytes from `start` that were read */
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

/* Opens the requests. `pieces`: most pieces of a want. Errors: NOMEM. */
sluice_status sl_requests_open(sl_requests *requests, uint32_t depth, uint32_t pieces,
                               sluice_error *error);
/* Closes them. `leak`: the kernel may still write to memory of requests: they stay allocated. */
void sl_requests_close(sl_requests *requests, bool leak);

/* Returns a MADE request; NULL: all are in use. */
sl_request *sl_requests_take(sl_requests *requests);
/* MADE, WAITING or LANDED -> FREE. The caller takes care of its buffer and pin. */
void sl_requests_give(sl_requests *requests, sl_request *request);
/* MADE -> IN_LINE. */
void sl_requests_line_up(sl_requests *requests, sl_request *request);
/* The oldest IN_LINE one -> MADE; NULL: there is none. */
sl_request *sl_requests_next_in_line(sl_requests *requests);
/* MADE -> FLYING. */
void sl_requests_fly(sl_requests *requests, sl_request *request, uint64_t now_ns);
/* FLYING or ABANDONED -> LANDED. */
void sl_requests_land(sl_requests *requests, sl_request *request);
/* FLYING or ABANDONED -> LANDED, of a request for an open, which does not count as a try of its
 * read. */
void sl_requests_opened(sl_requests *requests, sl_request *request);
/* FLYING -> ABANDONED. */
void sl_requests_abandon(sl_requests *requests, sl_request *request);
/* MADE or LANDED -> WAITING until due_ns; for a descriptor, which others must not take first. */
void sl_requests_wait(sl_requests *requests, sl_request *request, uint64_t due_ns);
void sl_requests_wait_for_pin(sl_requests *requests, sl_request *request, uint64_t due_ns);
/* WAITING -> MADE. */
void sl_requests_remake(sl_requests *requests, sl_request *request);

/* Returns a WAITING one that is due; NULL: none. */
sl_request *sl_requests_due(const sl_requests *requests, uint64_t now_ns);
/* Returns when the next WAITING one is due; UINT64_MAX: there is none. */
uint64_t sl_requests_next_due(const sl_requests *requests);
/* Returns a FLYING one that was sent before `limit_ns`; NULL: none. */
sl_request *sl_requests_sent_before(const sl_requests *requests, uint64_t limit_ns);
/* Returns the FLYING one that was sent first; NULL: none. */
const sl_request *sl_requests_oldest(const sl_requests *requests);
/* Marks FLYING ones that were sent before `limit_ns`, once each. Returns their number. */
uint32_t sl_requests_warn(sl_requests *requests, uint64_t limit_ns);

typedef enum sl_request_kind { SL_REQUESTS_PACKED, SL_REQUESTS_REMOTE } sl_request_kind;
/* Records progress of this kind: FLYING requests of the kind count as sent now. */
void sl_requests_go_on(sl_requests *requests, sl_request_kind kind, uint64_t now_ns);

/* Meaning of a completed part of a read. Pure. */
typedef enum sl_progress {
    SL_PART_DONE,   /* all needed bytes are read */
    SL_PART_TAIL,   /* the rest must be requested: from `got` on */
    SL_PART_NOTHING /* `got` is unchanged: nothing came, or less than the unit of requests */
} sl_progress;
sl_progress sl_request_got(sl_request *request, uint64_t bytes);

#endif
