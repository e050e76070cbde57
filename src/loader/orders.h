/* SPDX-License-Identifier: Apache-2.0 */
/*
 * orders: the table of a loader's orders of samples.
 *
 * Purpose: a row has the options that request an order, how it is opened, and what a cursor must
 * have in common with it. The row's sl_order_kind (plan/order.h) has the order itself. No other
 * part of the loader depends on the order, except for reading by shards and the sizes of buckets.
 *
 * Threads: immutable once open. Memory: the row's set is the loader's, and closed with it.
 */
#ifndef SL_ORDERS_H
#define SL_ORDERS_H

#include "cursor.h"
#include "order.h"
#include "order_parts.h"

#include <sluice/loader.h>

#include <stdbool.h>

typedef struct sl_loader_opening sl_loader_opening;
typedef struct sl_order_row sl_order_row;

/* A loader's order. */
typedef struct sl_loader_order {
    const sl_order_row *row; /* NULL: not open */
    sl_order_source source;
    void *set;      /* closed by the row; NULL: it has none, or another owner */
    uint64_t bytes; /* of the set's tables, which memory_bytes counts */
    uint64_t hash;  /* of the order's inputs besides options that a cursor has; 0: none */
    uint64_t parts; /* the same part by part, by the row's table; 0: there is no hash */
} sl_loader_order;

/* Space for the name of a difference. */
typedef struct sl_misfit_text {
    char text[384];
} sl_misfit_text;

struct sl_order_row {
    const sl_order_kind *kind;
    /* The option that requests the order, and whether it is set. */
    const char *option;
    bool (*is_asked)(const sl_loader_opening *opening);
    /* Opens `order`, whose source is that of a plain order, for the loader's samples. Errors:
     * INVALID; UNSUPPORTED: an option or a dataset that cannot be used with the order; IO, NOMEM.
     * NULL: that source is enough. */
    sluice_status (*open)(const sl_loader_opening *opening, sl_loader_order *order,
                          sluice_error *error);
    void (*close)(void *set); /* frees it; NULL: nothing to free */
    /* INVALID: an epoch would have no batch. NULL: sl_config_check_epoch, by its positions. */
    sluice_status (*check_epoch)(const sl_loader_opening *opening, sluice_error *error);
    /* Adds the order's inputs besides its hash to a cursor. NULL: none. */
    void (*save)(const sluice_loader *loader, sl_cursor *cursor);
    /* Returns which of them differs in a cursor; NULL: none. */
    const char *(*misfit)(const sluice_loader *loader, const sl_cursor *cursor);
    const sl_order_table *table; /* of the hashed inputs; NULL: none */
    const char *hashed;          /* all of them, for cursors without parts */
};

/* Chooses the order by the options, and opens it. Errors: those of its row; UNSUPPORTED: two
 * options request different orders. */
sluice_status sl_loader_open_order(sl_loader_opening *opening, sluice_error *error);
/* INVALID: an epoch would have no batch. */
sluice_status sl_loader_check_epoch(sl_loader_opening *opening, sluice_error *error);
/* A zeroed one may be closed. */
void sl_loader_close_order(sl_loader_order *order);

/* Saves the part of a cursor for this loader that its order depends on. */
void sl_order_save(const sluice_loader *loader, sl_cursor *cursor);
/* Returns what differs between the loader's order and a cursor's; NULL: nothing. The first is about
 * the samples themselves, and may write to `text`; the second about options. */
const char *sl_order_misfit(const sluice_loader *loader, const sl_cursor *cursor,
                            sl_misfit_text *text);
const char *sl_order_option_misfit(const sluice_loader *loader, const sl_cursor *cursor);

/* ---- for rows ---- */

/* Refuses what cannot be used with an order of samples by their numbers: a mix, windows, datasets
 * that are read from front to back, and shuffles other than FULL; with `unshuffled` also NONE is
 * allowed. `what` is the order's option. */
sluice_status sl_order_check(const sl_loader_opening *opening, const char *what, bool unshuffled,
                             sluice_error *error);

#endif
