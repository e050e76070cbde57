/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps notices without duplicates, under their mutex. */
#include "notices.h"

#include "error.h"
#include "memory.h"
#include "thread.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

sl_notices *sl_notices_open(void)
{
    sl_notices *notices = sl_calloc(1, sizeof(*notices));
    if (notices != NULL) {
        sl_mutex_init(&notices->mutex);
    }
    return notices;
}

void sl_notices_close(sl_notices *notices)
{
    if (notices != NULL) {
        sl_mutex_destroy(&notices->mutex);
        sl_free(notices);
    }
}

static bool is_noted(const sl_notices *notices, uint32_t count, const char *text)
{
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(notices->list[i].text, text) == 0) {
            return true;
        }
    }
    return false;
}

void sl_notices_add(sl_notices *notices, const char *format, ...)
{
    char text[sizeof(((sluice_error *)0)->text) + SL_OPTION_MARKS_BYTES];
    sluice_error notice;
    if (notices == NULL) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    sl_error_clear(&notice);
    (void)sl_error_set(&notice, SLUICE_INVALID, "columns", "%s", text);
    notice.status = SLUICE_OK;
    sl_lock(&notices->mutex);
    /* Relaxed: stored under the mutex, which is held here. */
    const uint32_t count = atomic_load_explicit(&notices->count, memory_order_relaxed);
    if (count < SL_NOTICES_MAX && !is_noted(notices, count, notice.text)) {
        notices->list[count] = notice;
        /* Releases the entry to readers of the count (sl_notices_get). */
        atomic_store_explicit(&notices->count, count + 1, memory_order_release);
    }
    sl_unlock(&notices->mutex);
}

bool sl_notices_get(sl_notices *notices, uint32_t number, sluice_error *notice)
{
    /* Acquires the entry (sl_notices_add). Entries do not change any more. */
    if (notices == NULL || number >= atomic_load_explicit(&notices->count, memory_order_acquire)) {
        return false;
    }
    *notice = notices->list[number];
    return true;
}
