/* SPDX-License-Identifier: Apache-2.0 */
/* buffers: the memory that CUPTI writes its records to. At most BUFFERS_MAX buffers exist; they
 * are allocated when first needed and reused. Any thread. */
#ifndef INJECT_BUFFERS_H
#define INJECT_BUFFERS_H

#include <stddef.h>
#include <stdint.h>

/* Small, because CUPTI returns a buffer when it is full or flushed, and its records are lost if
 * the process is killed before. Together they hold as much as CUPTI can lag behind. */
enum { BUFFERS_MAX = 512, BUFFER_BYTES = 128 << 10 };

/* Returns a buffer; NULL if all are in use or memory is short. CUPTI then drops records, and
 * counts them. */
uint8_t *buffers_take(void);
void buffers_give(uint8_t *buffer);

#endif
