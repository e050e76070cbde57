/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buffers: the memory that CUPTI puts its records into. At most BUFFERS_MAX buffers exist; they are
 * made when they are first needed and used again. Any thread.
 */
#ifndef INJECT_BUFFERS_H
#define INJECT_BUFFERS_H

#include <stddef.h>
#include <stdint.h>

/* Small, because CUPTI gives a buffer back when it is full or flushed: what is in it when a process
 * is killed is lost. All together as much as CUPTI can be behind. */
enum { BUFFERS_MAX = 512, BUFFER_BYTES = 128 << 10 };

/* NULL when all are in use or there is no memory; CUPTI then drops records, and counts them. */
uint8_t *buffers_take(void);
void buffers_give(uint8_t *buffer);

#endif
