/* SPDX-License-Identifier: Apache-2.0 */
#include "number_text.h"

#include <locale.h>
#include <pthread.h>
#include <stdlib.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static locale_t c_locale; /* for the lifetime of the process */

static void make_locale(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (c_locale == (locale_t)0) {
        abort(); /* out of memory, of a few bytes */
    }
}

double sl_read_double(const char *text, char **end)
{
    if (pthread_once(&once, make_locale) != 0) {
        abort();
    }
    return strtod_l(text, end, c_locale);
}
