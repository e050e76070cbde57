/* SPDX-License-Identifier: Apache-2.0 */
#include "proc.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_BYTES 256

/* Reads the number at *text, which moves past it. False: there is none. */
static bool proc_parse(const char **text, uint64_t *value)
{
    const char *at = *text + strspn(*text, " \t");
    if (!isdigit((unsigned char)*at)) {
        return false;
    }
    char *end = NULL;
    errno = 0;
    const unsigned long long parsed = strtoull(at, &end, 10);
    if (errno != 0) {
        return false;
    }
    *text = end;
    *value = parsed;
    return true;
}

uint64_t sl_proc_number(const char *path, const char *key)
{
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return SL_PROC_NONE;
    }
    char line[LINE_BYTES];
    uint64_t value = SL_PROC_NONE;
    while (fgets(line, sizeof(line), file) != NULL) {
        const char *rest = line + strlen(key);
        if (strncmp(line, key, strlen(key)) == 0) {
            (void)proc_parse(&rest, &value);
            break;
        }
    }
    (void)fclose(file);
    return value;
}

bool sl_proc_pair(const char *path, uint64_t *first, uint64_t *second)
{
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return false;
    }
    char line[LINE_BYTES];
    const char *rest = fgets(line, sizeof(line), file);
    const bool read = rest != NULL && proc_parse(&rest, first) && proc_parse(&rest, second);
    (void)fclose(file);
    return read;
}
