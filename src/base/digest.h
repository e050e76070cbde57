/* SPDX-License-Identifier: Apache-2.0 */
/*
 * digest: hashes of whole files, by the names and in the digits that indexes of datasets have them:
 * "sha1", "xxh64".
 *
 * Purpose: the hashes of Python's hashlib (that have one length) and of its xxhash, with their
 * names there. xxHash's are always there; the others are libcrypto's, without which they cannot be
 * made. Threads: a digest belongs to its user. Ownership: sl_digest_close.
 */
#ifndef SL_DIGEST_H
#define SL_DIGEST_H

#include <sluice/common.h>

#include <stdbool.h>
#include <stddef.h>

/* Different names; and bytes and digits of the longest one, with a NUL. */
#define SL_DIGEST_NAMES      17
#define SL_DIGEST_BYTES_MAX  64
#define SL_DIGEST_TEXT_BYTES (2 * SL_DIGEST_BYTES_MAX + 1)

typedef struct sl_digest sl_digest;

/* Why hashes of this name cannot be made here; NULL: they can. */
const char *sl_digest_refused(const char *name);
/* Errors: UNSUPPORTED (refused), NOMEM. */
sluice_status sl_digest_open(sl_digest **digest, const char *name, sluice_error *error);
void sl_digest_add(sl_digest *digest, const void *data, size_t bytes);
/* Of all that was added, once, in small hexadecimal digits; false: it cannot be made. */
bool sl_digest_text(sl_digest *digest, char text[SL_DIGEST_TEXT_BYTES]);
/* NULL is fine. */
void sl_digest_close(sl_digest *digest);

#endif
