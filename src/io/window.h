/* SPDX-License-Identifier: Apache-2.0 */
/*
 * window: the wanted items and their states. Pure: no threads, no locks, no reading.
 *
 * Purpose: a want is one item, from its request to its delivery. The window holds the wants of the
 * sequence, at most `lookahead` past the oldest undelivered one, and some inserted ones. It chooses
 * which one to read next, with which neighbours, and which may be delivered. Life of a want:
 *
 *     FREE -> WANTED -> READING -> READY  -> FREE (delivered)
 *                ^__________|   -> FAILED -> FREE (delivered)
 *
 * and back to WANTED when a merged read is split, when an object turns out larger than guessed, and
 * when a lookup has found the item's place. Inserted items come first, then the oldest.
 * Credit: items numbered below it may be delivered; inserted ones always may. With a spread, the
 * credit counts in the order in which items are due.
 * Invariants: base <= credited <= asked <= base + lookahead (credited counts items that exist);
 * below `head` nothing is WANTED; `order` holds just the WANTED ones that may be merged, by object,
 * pass and offset. Every function that changes something expects a want in the state it names.
 */
#ifndef SL_WINDOW_H
#define SL_WINDOW_H

#include "failure.h"
#include "items.h"

typedef enum sl_want_state {
    SL_WANT_FREE = 0,
    SL_WANT_WANTED,
    SL_WANT_READING,
    SL_WANT_READY,
    SL_WANT_FAILED
} sl_want_state;

typedef struct sl_want {
    sl_fetch_item item;
    sl_want_state state;
    bool alone;           /* must not be merged (again) */
    uint32_t next;        /* in the list of a read, among the inserted ones that wait, or free */
    uint32_t tries;       /* reads begun for it so far */
    uint64_t whole_bytes; /* of a whole object, once known; 0: unknown */
    sl_fetch_bytes bytes; /* READY */
    sl_failure failure;   /* FAILED */
} sl_want;

typedef struct sl_window_config {
    uint32_t lookahead, inserts;
    /* items may be due in another order than they are requested: within sets of at most this
     * many consecutive items; 0: both orders are the same */
    uint32_t spread;
    /* neighbours are read together if the gap and the whole are at most these; merge_bytes 0:
     * never */
    uint64_t merge_gap_bytes, merge_bytes;
} sl_window_config;

typedef struct sl_window {
    sl_window_config config;
    sl_want *wants;  /* ring of `lookahead` for the sequence, then `inserts` */
    uint32_t *order; /* WANTED ones that may be merged */
    uint32_t order_count;
    uint32_t insert_first, insert_last; /* WANTED ones: first come, first served */
    uint32_t insert_free;               /* list */
    uint64_t base;                      /* oldest item not delivered */
    uint64_t asked;                     /* items requested: [base, asked) */
    uint64_t head;
    uint64_t credit, credited; /* credited: all below were checked since the credit rose */
    uint64_t delivered;        /* items of the sequence */
    /* ring of `due_room`: the want of each `due`, NONE: not requested, or delivered; NULL: without
     * a spread */
    uint32_t *dues;
    uint32_t due_capacity;
} sl_window;

/* Bytes [low, high) of an object for `count` wants: one, or `order[first ...]`. */
typedef struct sl_span {
    uint64_t low, high;
    uint32_t first, count;
} sl_span;

/* Errors: NOMEM. */
sluice_status sl_window_open(sl_window *window, const sl_window_config *config,
                             sluice_error *error);
/* A zeroed window may be closed. */
void sl_window_close(sl_window *window);

/* Returns whether one more item of the sequence, or inserted one, fits. */
bool sl_window_has_space(const sl_window *window);
bool sl_window_has_insert_space(const sl_window *window);
/* Takes the next item of the sequence (and numbers it), or an inserted one. Returns its want,
 * WANTED. */
uint32_t sl_window_ask(sl_window *window, const sl_fetch_item *item);
uint32_t sl_window_insert(sl_window *window, const sl_fetch_item *item);
static inline bool sl_window_is_insert(const sl_window *window, uint32_t index)
{
    return index >= window->config.lookahead;
}

/* Returns the want to read next; NONE. */
uint32_t sl_window_next(sl_window *window);
/* Returns the range to read for WANTED `index`: alone, or with `merge` as many neighbours as the
 * limits allow, following ones first. */
sl_span sl_window_span(const sl_window *window, uint32_t index, bool merge);
/* Makes the span's wants READING: a list (`next`) that ends in NONE. */
uint32_t sl_window_take(sl_window *window, uint32_t index, const sl_span *span);

/* READING -> READY */
void sl_window_ready(sl_window *window, uint32_t index, const sl_fetch_bytes *bytes);
/* WANTED or READING -> FAILED */
void sl_window_fail(sl_window *window, uint32_t index, const sl_failure *failure);
/* READING -> WANTED; `alone`: not to be merged any more. */
void sl_window_again(sl_window *window, uint32_t index, bool alone);
/* READY lookup -> WANTED at the location of `item`, keeping its number and tag. */
void sl_window_moved(sl_window *window, uint32_t index, const sl_fetch_item *item);

/* Raises the credit. */
void sl_window_credit(sl_window *window, uint64_t limit);
/* Returns whether some item that may be delivered is not read yet. */
bool sl_window_is_waited_for(const sl_window *window);
/* Returns whether a READY or FAILED want may be delivered now. */
bool sl_window_is_due(const sl_window *window, uint32_t index);
/* Returns a READY or FAILED want that a raised credit made due; NONE: no more of them. */
uint32_t sl_window_next_credited(sl_window *window);
/* READY or FAILED -> FREE. Returns the want. */
sl_want sl_window_deliver(sl_window *window, uint32_t index);

/* Returns some want that is not FREE; NONE: none. For a cancel, which fails and delivers them
 * all. */
uint32_t sl_window_any(const sl_window *window);
/* Any state except FREE -> FAILED: a cancel. Returns the want. */
sl_want sl_window_cancel(sl_window *window, uint32_t index, const sl_failure *failure);
/* Makes all FREE: numbering at 0, credit 0. */
void sl_window_restart(sl_window *window);

#endif
