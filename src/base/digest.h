/* SPDX-License-Identifier: Apache-2.0 */
/*
 * digest: hashes of whole files, by the names and in the digits that indexes of datasets use:
 * "sha1", "xxh64".
 *
 * Purpose: the hashes of Python's hashlib (those of fixed length) and of its xxhash, with their
 * names there. xxHash's are always available; the others need libcrypto. Threads: a digest belongs
 * to its user. Ownership: sl_digest_close.
 */
#ifndef SL_DIGEST_H
#define SL_DIGEST_H

#include <sluice/common.h>

#include <stdbool.h>
#include <stddef.h>

/* Number of names; bytes, and digits with a NUL, of the longest hash. */
#define SL_DIGEST_NAMES      17
#define SL_DIGEST_BYTES_MAX  64
#define SL_DIGEST_TEXT_BYTES (2 * SL_DIGEST_BYTES_MAX + 1)

typedef struct sl_digest sl_digest;

/* Returns the reason hashes of this name are not available; NULL: they are. */
const char *sl_digest_refused(const char *name);
/* Errors: UNSUPPORTED (refused), NOMEM. */
sluice_status sl_digest_open(sl_digest **digest, const char *name, sluice_error *error);
void sl_digest_add(sl_digest *digest, const void *data, size_t bytes);
/* Writes the hash of everything added, once, in lower-case hexadecimal digits; false: it cannot be
 * made. */
bool sl_digest_text(sl_digest *digest, char text[SL_DIGEST_TEXT_BYTES]);
/* Closes a digest; NULL is a no-op. */
void sl_digest_close(sl_digest *digest);

#endif
