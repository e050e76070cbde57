/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine_direct: range reads over connections that libcurl opens and the engine reads itself.
 *
 * Purpose: libcurl resolves names, connects, and checks certificates (CURLOPT_CONNECT_ONLY). Then
 * the engine sends requests over the connection, and receives bodies in the exchange's buffer. This
 * saves a copy and two of three system calls: libcurl receives into its own buffer, and 7.88 calls
 * the kernel three times for each TLS record. One transfer is one connection, which rests in the
 * thread's list between two exchanges. Which exchanges: sl_direct_fits. All others are handled by
 * libcurl from beginning to end. Threads: the engine thread alone. The connection of a transfer is
 * its own; its easy handle stays in the multi handle until the connection is closed. Invariants:
 * only a connection whose last answer was read to its end rests, and only one that has received no
 * byte since is used again; a request without an answer on a reused connection is sent again on a
 * new one, once. A head that two programs may frame differently is rejected. TLS: libcurl's BIO is
 * replaced after the handshake, because it works only inside libcurl.
 */
#ifndef SL_ENGINE_DIRECT_H
#define SL_ENGINE_DIRECT_H

#include "engine_thread.h"

#include <sys/types.h>

/* A header block of 64 KiB fits, regardless of its lines. */
#define SL_DIRECT_INPUT_BYTES ((size_t)68 << 10)

typedef enum sl_direct_phase {
    SL_DIRECT_CONNECTS = 0, /* libcurl does */
    SL_DIRECT_RESTS,
    SL_DIRECT_SENDS,
    SL_DIRECT_HEAD,
    SL_DIRECT_COUNTED,    /* a body of `left` bytes */
    SL_DIRECT_UNCOUNTED,  /* a body that ends with the connection */
    SL_DIRECT_CHUNK_SIZE, /* the line before a chunk */
    SL_DIRECT_CHUNK,      /* `left` bytes of it */
    SL_DIRECT_CHUNK_END,  /* the empty line behind it */
    SL_DIRECT_TRAILER,
    SL_DIRECT_DONE
} sl_direct_phase;

typedef struct sl_direct {
    sl_transfer *transfer;
    struct sl_direct *next, *before; /* of the resting ones: the most recently used comes first */
    char *origin;                    /* "https://host:port", and a node's address after a space */
    int fd;
    void *ssl, *ssl_context; /* OpenSSL's; NULL: http */
    bool is_local;           /* the server's address is not public */
    bool rested;             /* another exchange has used it */
    bool keeps;              /* the server keeps it open after this answer */
    bool watches_out;
    uint32_t trust; /* the thread's when it was opened */
    uint64_t rests_ns;
    sl_direct_phase phase;
    char *request;
    size_t request_capacity, request_bytes, sent;
    bool has_status;             /* the first line of the answer was read */
    bool has_length, has_chunks; /* how its body is framed */
    bool framed;                 /* the last line of the head says so */
    uint64_t left;
    char *input; /* received and not used: from `at` to `end` */
    size_t at, end;
} sl_direct;

/* Returns true for a GET of a range, without a proxy, over http, or over https if libcurl uses
 * OpenSSL. */
bool sl_direct_fits(const sl_engine_thread *thread, const sl_exchange *exchange);
/* Returns a resting connection to the exchange's server; NULL: none. */
sl_transfer *sl_direct_take(sl_engine_thread *thread, const sl_exchange *exchange);
/* Makes a new transfer connect only. False: no memory. */
bool sl_direct_make(sl_transfer *transfer, const sl_exchange *exchange);
/* Sends the exchange's request on a connection that rested. */
void sl_direct_begin(sl_transfer *transfer);
/* Records the connection's facts in libcurl's pre-request callback. */
void sl_direct_note(sl_transfer *transfer);
/* Continues after libcurl has connected, or failed to. May end the transfer. */
void sl_direct_connected(sl_transfer *transfer, CURLcode code);
/* Handles a ready socket. May end the transfer, and close a resting connection. */
void sl_direct_event(sl_direct *direct);
/* Lets the connection rest after an exchange. False: it cannot be reused. */
bool sl_direct_rest(sl_transfer *transfer);
/* Closes the connection; before the transfer is freed. */
void sl_direct_close(sl_transfer *transfer);
/* Closes all resting connections. */
void sl_direct_close_resting(sl_engine_thread *thread);

/* ---- engine_direct_answer.c ---- */

/* Receives available bytes, until the socket has no more or the answer is complete. Ends the
 * transfer. */
void sl_direct_receive(sl_direct *direct);
/* Receives up to `bytes`. Returns their number; 0: end of the connection; -1: nothing available;
 * -2: an error, whose text is in the transfer. */
ssize_t sl_direct_read(sl_direct *direct, void *to, size_t bytes);

#endif
