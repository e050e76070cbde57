/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seal_shard: puts the checksums of a damaged shard right, so that readers look at what they cover.
 * Threads: any.
 */
#ifndef SL_FUZZ_SEAL_SHARD_H
#define SL_FUZZ_SEAL_SHARD_H

#include <stddef.h>
#include <stdint.h>

/* All of them. */
enum { FUZZ_SEALS = 15 };

/* Of the header, the index, the meta data and the samples, as the bits of `seals` say. */
void fuzz_seal_shard(uint8_t *data, size_t size, uint8_t seals);

#endif
