/* SPDX-License-Identifier: Apache-2.0 */
/*
 * poison: marks for a sanitizer which bytes of our mappings may be used.
 *
 * Purpose: a bump allocator hides overruns and reads of stale bytes from AddressSanitizer and
 * MemorySanitizer, which know only the mapping. Other builds compile these calls to nothing.
 * Threads: the owner of the bytes.
 */
#ifndef SL_POISON_H
#define SL_POISON_H

#include <stddef.h>

#if defined(__has_feature)
#    if __has_feature(address_sanitizer)
#        define SL_POISON_ADDRESS 1
#    elif __has_feature(memory_sanitizer)
#        define SL_POISON_MEMORY 1
#    endif
#elif defined(__SANITIZE_ADDRESS__)
#    define SL_POISON_ADDRESS 1
#endif

#ifdef SL_POISON_ADDRESS
#    include <sanitizer/asan_interface.h>
#elif defined(SL_POISON_MEMORY)
#    include <sanitizer/msan_interface.h>
#endif

/* Forbids reads and writes of these bytes until sl_poison_lift. */
static inline void sl_poison(const void *memory, size_t bytes)
{
#ifdef SL_POISON_ADDRESS
    ASAN_POISON_MEMORY_REGION(memory, bytes);
#else
    (void)memory;
    (void)bytes;
#endif
}

/* Allows use of the bytes again. */
static inline void sl_poison_lift(const void *memory, size_t bytes)
{
#ifdef SL_POISON_ADDRESS
    ASAN_UNPOISON_MEMORY_REGION(memory, bytes);
#else
    (void)memory;
    (void)bytes;
#endif
}

/* Allows use of the bytes, which have no value yet. */
static inline void sl_poison_content(void *memory, size_t bytes)
{
#ifdef SL_POISON_MEMORY
    __msan_allocated_memory(memory, bytes);
#else
    (void)memory;
    (void)bytes;
#endif
}

/* Marks bytes that a library writes, which MemorySanitizer does not instrument: missing values
 * there are not found. */
static inline void sl_poison_foreign(void *memory, size_t bytes)
{
#ifdef SL_POISON_MEMORY
    __msan_unpoison(memory, bytes);
#else
    (void)memory;
    (void)bytes;
#endif
}

#endif
