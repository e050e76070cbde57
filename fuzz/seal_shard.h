/* SPDX-License-Identifier: Apache-2.0 */
/* seal_shard: corrects the checksums of a damaged shard, so that readers reach the data they cover.
 * Threads: any. */
#ifndef SL_FUZZ_SEAL_SHARD_H
#define SL_FUZZ_SEAL_SHARD_H

#include <stddef.h>
#include <stdint.h>

/* All of them. */
enum { FUZZ_SEALS = 15 };

/* Corrects those of the header, the index, the metadata and the samples, as selected by the bits of
 * `seals`. */
void fuzz_seal_shard(uint8_t *data, size_t size, uint8_t seals);

#endif
