/* SPDX-License-Identifier: Apache-2.0 */
/* checksum_twins: the parts of the checksum with a faster twin. Private to checksum*.c. */
#ifndef SL_CHECKSUM_TWINS_H
#define SL_CHECKSUM_TWINS_H

#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__)
uint64_t sl_checksum_avx2(const void *data, size_t bytes);
/* `state` is the library's. */
void sl_checksum_add_avx2(void *state, const void *data, size_t bytes);
/* Copies past the caches: `to` a multiple of 32, `bytes` of 128; prefetches as many bytes behind
 * them. sl_copy_past_end makes the copy visible. */
void sl_copy_past(uint8_t *to, const uint8_t *from, size_t bytes);
void sl_copy_past_end(void);
#endif

#endif
