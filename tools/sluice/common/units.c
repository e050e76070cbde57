/* SPDX-License-Identifier: Apache-2.0 */
#include "units.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct unit {
    const char *name;
    double factor;
};

static bool parse_whole(const char *text, uint64_t *value, const char **rest)
{
    if (!isdigit((unsigned char)*text)) {
        return false; /* strtoull would take "-1" and " 1" */
    }
    char *end;
    errno = 0;
    unsigned long long parsed = strtoull(text, &end, 10);
    if (errno != 0) {
        return false;
    }
    *value = parsed;
    *rest = end;
    return true;
}

/* Parses 5, 0.5, .5, 5., 1e3; rejects the signs, blanks, words and hexadecimal digits that
 * strtod accepts. */
static bool parse_decimal(const char *text, double *value, const char **rest)
{
    if (!isdigit((unsigned char)text[*text == '.'])) {
        return false;
    }
    char *end;
    errno = 0;
    *value = strtod(text, &end);
    *rest = end;
    return errno == 0 && end <= text + strspn(text, "0123456789.eE+-");
}

bool units_parse_count(const char *text, uint64_t *value)
{
    const char *rest;
    uint64_t parsed;
    if (!parse_whole(text, &parsed, &rest) || *rest != '\0') {
        return false;
    }
    *value = parsed;
    return true;
}

bool units_parse_real(const char *text, double *value)
{
    const char *rest;
    double parsed;
    if (!parse_decimal(text, &parsed, &rest) || *rest != '\0') {
        return false;
    }
    *value = parsed;
    return true;
}

bool units_parse_bytes(const char *text, uint64_t *value)
{
    static const char letters[] = "KMGT";
    uint64_t number;
    const char *rest;
    if (!parse_whole(text, &number, &rest)) {
        return false;
    }
    uint64_t factor = 1;
    const char *letter = *rest == '\0' ? NULL : strchr(letters, toupper((unsigned char)*rest));
    if (letter != NULL) {
        rest++;
        bool decimal = strcasecmp(rest, "B") == 0;
        for (const char *step = letters; step <= letter; step++) {
            factor *= decimal ? 1000 : 1024;
        }
        rest += strcasecmp(rest, "iB") == 0 ? 2 : 0;
        rest += decimal ? 1 : 0;
    } else if (strcasecmp(rest, "B") == 0) {
        rest++;
    }
    if (*rest != '\0' || number > UINT64_MAX / factor) {
        return false;
    }
    *value = number * factor;
    return true;
}

bool units_parse_duration(const char *text, double plain_factor, double *seconds)
{
    static const struct unit units[] = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3},
                                        {"s", 1},     {"m", 60},    {"h", 3600}};
    const char *rest;
    double number;
    if (!parse_decimal(text, &number, &rest)) {
        return false;
    }
    if (*rest == '\0') {
        *seconds = number * plain_factor;
        return true;
    }
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strcmp(rest, units[i].name) == 0) {
            *seconds = number * units[i].factor;
            return true;
        }
    }
    return false;
}

void units_format_bytes(char *text, size_t size, uint64_t bytes)
{
    static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes;
    size_t unit = 0;
    while (value >= 1024 && unit + 1 < sizeof names / sizeof *names) {
        value /= 1024;
        unit++;
    }
    bool whole = value == (double)(uint64_t)value;
    snprintf(text, size, whole || value >= 100 ? "%.0f %s" : "%.1f %s", value, names[unit]);
}

void units_format_duration(char *text, size_t size, double seconds)
{
    if (seconds < 1) {
        snprintf(text, size, "%.0f ms", seconds * 1e3);
        return;
    }
    if (seconds < 60) {
        snprintf(text, size, "%.1f s", seconds);
        return;
    }
    double capped = seconds > 3.5e9 ? 3.5e9 : seconds; /* caps an ETA at 100 years */
    unsigned long whole = (unsigned long)capped;
    if (whole < 3600) {
        snprintf(text, size, "%lu:%02lu", whole / 60, whole % 60);
    } else {
        snprintf(text, size, "%lu:%02lu:%02lu", whole / 3600, whole / 60 % 60, whole % 60);
    }
}
