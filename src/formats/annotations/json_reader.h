/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_reader: JSON read forward only, by a window over the file (json_walk.h).
 *
 * `at` never goes back; what is wanted is copied out before the window moves on. The first thing
 * that goes wrong stays, and all calls after it are false. Memory: a window of 1 MiB, and what is
 * kept. Threads: one owner.
 */
#ifndef SL_JSON_READER_H
#define SL_JSON_READER_H

#include "json_walk.h"
#include "store.h"

#define SL_JSON_END (-1)

/* What is kept of an element. */
typedef struct sl_json_kept {
    char *data;
    size_t bytes, capacity;
} sl_json_kept;

typedef struct sl_json_reader {
    const char *path;
    sl_look *look;         /* whose bytes come first; NULL: the file's own */
    sl_handle from;        /* closed as long as the bytes of the look suffice */
    sl_file_identity file; /* when it was opened */
    uint8_t *owned;        /* what is read goes there */
    const uint8_t *window; /* `owned`, or the look's bytes */
    size_t at, filled;
    uint64_t filled_to;             /* offset of the window's end */
    const sl_json_element *element; /* that is being read; NULL: none is */
    sl_json_kept *keeps;            /* where what is taken goes; NULL: it is not kept */
    sl_json_kept text;              /* what is parsed */
    sl_json_kept written;           /* the member that is not */
    sluice_status status;           /* the first thing that went wrong */
    sluice_error *error;
} sl_json_reader;

/* In the file, of what is next. */
int64_t sl_json_offset_of(const sl_json_reader *w);
/* Keeps the first refusal; false. */
bool sl_json_refuse_text(sl_json_reader *w, const char *why);
/* False: it is too much, or there is no memory. */
bool sl_json_append(sl_json_reader *w, sl_json_kept *to, const void *bytes, size_t count);
/* A text, from its quote on. */
bool sl_json_take_text(sl_json_reader *w);
/* Any value: by its quotes and brackets only. */
bool sl_json_take_value(sl_json_reader *w);
/* The next byte that is no blank, which stays. */
int sl_json_peek(sl_json_reader *w);
/* Takes it, if that is `sign`. */
bool sl_json_skip(sl_json_reader *w, char sign);
/* `w` is zero, but for path and error. */
bool sl_json_reader_open(sl_json_reader *w);
/* The same, but takes the first bytes from a look, and opens the file only to go on. */
bool sl_json_reader_begin(sl_json_reader *w, sl_look *look);
void sl_json_reader_close(sl_json_reader *w);
/* Whether the file is what it was when it was opened. */
sluice_status sl_json_reader_check(const sl_json_reader *w);

#endif
