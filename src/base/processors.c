/* SPDX-License-Identifier: Apache-2.0 */
#include "processors.h"

#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define WORD_BITS (8 * sizeof(unsigned long))
#define WORDS     (sizeof(((sl_processors *)0)->words) / sizeof(unsigned long))

bool sl_processors_own(sl_processors *processors)
{
    *processors = (sl_processors){{0}};
    return sched_getaffinity(0, sizeof(processors->words),
                             (cpu_set_t *)(void *)processors->words) == 0;
}

/* Reads a number at `*text`, which moves past it. */
static bool processors_take_number(const char **text, uint32_t *number)
{
    char *end;
    if (**text < '0' || **text > '9') {
        return false;
    }
    errno = 0;
    const unsigned long long value = strtoull(*text, &end, 10);
    *text = end;
    *number = (uint32_t)value;
    return errno == 0 && value < SL_PROCESSORS_MAX;
}

static bool take_range(const char **text, sl_processors *processors)
{
    uint32_t first;
    if (!processors_take_number(text, &first)) {
        return false;
    }
    uint32_t last = first;
    if (**text == '-') {
        ++*text;
        if (!processors_take_number(text, &last) || last < first) {
            return false;
        }
    }
    for (uint32_t i = first; i <= last; i++) {
        processors->words[i / WORD_BITS] |= 1UL << (i % WORD_BITS);
    }
    return true;
}

static bool at_end(const char *text)
{
    return text[0] == '\0' || (text[0] == '\n' && text[1] == '\0');
}

bool sl_processors_parse(sl_processors *processors, const char *list)
{
    *processors = (sl_processors){{0}};
    if (at_end(list)) {
        return true;
    }
    while (take_range(&list, processors)) {
        if (at_end(list)) {
            return true;
        }
        if (*list++ != ',') {
            return false;
        }
    }
    return false;
}

uint32_t sl_processors_count(const sl_processors *processors)
{
    uint32_t count = 0;
    for (size_t i = 0; i < WORDS; i++) {
        count += (uint32_t)__builtin_popcountl(processors->words[i]);
    }
    return count;
}

void sl_processors_keep(sl_processors *processors, const sl_processors *of)
{
    for (size_t i = 0; i < WORDS; i++) {
        processors->words[i] &= of->words[i];
    }
}
