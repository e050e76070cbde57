/* SPDX-License-Identifier: Apache-2.0 */
/* checksum_twins: the parts of the checksum that have a faster twin. Private to checksum*.c. */
#ifndef SL_CHECKSUM_TWINS_H
#define SL_CHECKSUM_TWINS_H

#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__)
uint64_t sl_checksum_avx2(const void *data, size_t bytes);
/* `state` is the library's. */
void sl_checksum_add_avx2(void *state, const void *data, size_t bytes);
#endif

#endif
