/* SPDX-License-Identifier: Apache-2.0 */
#include "buffers.h"

#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint8_t *unused[BUFFERS_MAX];
static size_t unused_count, made;

uint8_t *buffers_take(void)
{
    pthread_mutex_lock(&lock);
    uint8_t *buffer = NULL;
    if (unused_count > 0) {
        buffer = unused[--unused_count];
    } else if (made < BUFFERS_MAX) {
        buffer = malloc(BUFFER_BYTES);
        made += buffer != NULL;
    }
    pthread_mutex_unlock(&lock);
    return buffer;
}

void buffers_give(uint8_t *buffer)
{
    pthread_mutex_lock(&lock);
    unused[unused_count++] = buffer;
    pthread_mutex_unlock(&lock);
}
