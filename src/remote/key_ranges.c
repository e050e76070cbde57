/* SPDX-License-Identifier: Apache-2.0 */
#include "key_ranges.h"

#include <string.h>

void sl_key_alphabet_add(sl_key_alphabet *alphabet, const char *name)
{
    for (const char *at = name; *at != '\0'; at++) {
        const uint8_t byte = (uint8_t)*at;
        if (byte > ' ' && byte < 127 && byte != '/') {
            alphabet->has[byte] = true;
        }
    }
}

void sl_key_alphabet_rank(sl_key_alphabet *alphabet)
{
    alphabet->count = 0;
    for (uint32_t byte = 0; byte < 128; byte++) {
        if (alphabet->has[byte]) {
            alphabet->ranks[byte] = (uint8_t)alphabet->count;
            alphabet->bytes[alphabet->count++] = (uint8_t)byte;
        }
    }
}

/* Returns the rank of a byte; -1 for the end of a name; -2: not in the alphabet. */
static int rank_of(const sl_key_alphabet *alphabet, char byte)
{
    const uint8_t value = (uint8_t)byte;
    if (value == 0) {
        return -1;
    }
    return value < 128 && alphabet->has[value] ? (int)alphabet->ranks[value] : -2;
}

static bool end_at(char *key, size_t length, uint8_t byte)
{
    key[length] = (char)byte;
    key[length + 1] = '\0';
    return true;
}

/* Extends a prefix of `low`, of `length` bytes, so that the key is beyond `low`. */
static bool go_deeper(const sl_key_alphabet *alphabet, const char *low, size_t length, char *key,
                      size_t bytes)
{
    while (length + 2 < bytes) {
        const int rank = rank_of(alphabet, low[length]);
        const int top = (int)alphabet->count;
        if (rank == -2) {
            return false;
        }
        if (top - rank >= 2) {
            return end_at(key, length, alphabet->bytes[(rank + top) / 2]);
        }
        key[length] = low[length];
        length++;
    }
    return false;
}

bool sl_key_middle(const sl_key_alphabet *alphabet, const char *low, const char *high, char *middle,
                   size_t bytes)
{
    size_t same = 0;
    while (low[same] == high[same] && low[same] != '\0') {
        same++;
    }
    if (same + 2 >= bytes) {
        return false;
    }
    memcpy(middle, low, same);
    const int from = rank_of(alphabet, low[same]);
    const int to = rank_of(alphabet, high[same]);
    if (from == -2 || to < 0 || memchr(low, '/', same) != NULL) {
        return false;
    }
    if (to - from >= 2) {
        return end_at(middle, same, alphabet->bytes[(from + to) / 2]);
    }
    if (from < 0) {
        return false;
    }
    middle[same] = low[same];
    return go_deeper(alphabet, low, same + 1, middle, bytes) && strcmp(middle, high) < 0;
}

bool sl_key_beyond(const sl_key_alphabet *alphabet, const char *first, const char *last,
                   uint32_t step, char *beyond, size_t bytes)
{
    size_t same = 0;
    while (first[same] == last[same] && last[same] != '\0') {
        same++;
    }
    if (step >= same || same + 2 >= bytes) {
        return false;
    }
    const size_t at = same - 1 - step;
    const int rank = rank_of(alphabet, last[at]);
    if (rank < 0 || rank + 1 >= (int)alphabet->count) {
        return false;
    }
    memcpy(beyond, last, at);
    return end_at(beyond, at, alphabet->bytes[rank + 1]);
}
