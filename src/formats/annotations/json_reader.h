/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_reader: reads JSON forward only, through a window over the file (json_walk.h).
 *
 * `at` never goes back; wanted bytes are copied before the window moves on. The first error is
 * kept, and all later calls return false. Memory: a window of 1 MiB, and the kept bytes. Threads:
 * one owner.
 */
#ifndef SL_JSON_READER_H
#define SL_JSON_READER_H

#include "json_walk.h"
#include "store.h"

#define SL_JSON_END (-1)

/* Bytes kept of an element. */
typedef struct sl_json_kept {
    char *data;
    size_t bytes, capacity;
} sl_json_kept;

typedef struct sl_json_reader {
    const char *path;
    sl_look *look;  /* a look whose bytes are used first; NULL: all bytes come from the file */
    sl_handle from; /* closed while the look's bytes suffice */
    sl_file_identity file; /* identity when it was opened */
    uint8_t *owned;        /* buffer for reads */
    const uint8_t *window; /* `owned`, or the look's bytes */
    size_t at, filled;
    uint64_t filled_to;             /* file offset of the window's end */
    const sl_json_element *element; /* the element being read; NULL: none */
    sl_json_kept *keeps;            /* destination of taken bytes; NULL: they are not kept */
    sl_json_kept text;              /* bytes to parse */
    sl_json_kept written;           /* the member that is not parsed */
    sluice_status status;           /* the first error */
    sluice_error *error;
} sl_json_reader;

/* Returns the file offset of the next byte. */
int64_t sl_json_offset_of(const sl_json_reader *w);
/* Records an error, unless there is one; returns false. */
bool sl_json_refuse_text(sl_json_reader *w, const char *why);
/* Appends bytes. False: too many, or out of memory. */
bool sl_json_append(sl_json_reader *w, sl_json_kept *to, const void *bytes, size_t count);
/* Takes a text, from its quote on. */
bool sl_json_take_text(sl_json_reader *w);
/* Takes any value, by its quotes and brackets only. */
bool sl_json_take_value(sl_json_reader *w);
/* Returns the next byte that is not a blank, without taking it. */
int sl_json_peek(sl_json_reader *w);
/* Takes the next byte if it is `sign`. */
bool sl_json_skip(sl_json_reader *w, char sign);
/* Opens the file. `w` is zeroed, except for path and error. */
bool sl_json_reader_open(sl_json_reader *w);
/* Does the same, but uses the first bytes of a look, and opens the file only when it needs more. */
bool sl_json_reader_begin(sl_json_reader *w, sl_look *look);
void sl_json_reader_close(sl_json_reader *w);
/* Checks that the file was not modified since it was opened. */
sluice_status sl_json_reader_check(const sl_json_reader *w);

#endif
