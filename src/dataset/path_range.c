/* SPDX-License-Identifier: Apache-2.0 */
#include "path_range.h"

#include "error.h"
#include "memory.h"
#include "store.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define STAGE "dataset"

enum { DIGITS_MAX = 12, PATH_BYTES = 4096 };

/* A range "{first..last}" in a path. */
typedef struct range {
    const char *begin, *end; /* the opening brace, and the end after the closing one */
    uint64_t first, last;
    int width; /* minimum number of digits */
} range;

static const char *path_range_read_number(const char *at, uint64_t *number, int *digits)
{
    *number = 0;
    *digits = 0;
    for (; *at >= '0' && *at <= '9' && *digits < DIGITS_MAX; at++, ++*digits) {
        *number = *number * 10 + (uint64_t)(*at - '0');
    }
    return *digits > 0 ? at : NULL;
}

static bool path_range_read_range(const char *brace, range *r)
{
    int first_digits;
    int last_digits;
    const char *at = path_range_read_number(brace + 1, &r->first, &first_digits);
    if (at == NULL || strncmp(at, "..", 2) != 0) {
        return false;
    }
    at = path_range_read_number(at + 2, &r->last, &last_digits);
    r->begin = brace;
    r->end = at != NULL ? at + 1 : NULL;
    r->width = brace[1] == '0' && first_digits > 1 ? first_digits : 0;
    return at != NULL && *at == '}';
}

static bool find_range(const char *path, range *r)
{
    for (const char *brace = strchr(path, '{'); brace != NULL; brace = strchr(brace + 1, '{')) {
        if (path_range_read_range(brace, r)) {
            return true;
        }
    }
    return false;
}

static sluice_status path_range_add(sl_path_list *list, const char *path, sluice_error *error)
{
    if (list->count == list->capacity) {
        const size_t capacity = list->capacity < 8 ? 8 : list->capacity * 2;
        char **paths =
            list->count >= SL_PATHS_MAX
                ? NULL
                : (char **)sl_realloc_array((void *)list->paths, capacity, sizeof(*paths));
        if (paths == NULL) {
            return sl_error_file(error, SLUICE_NOMEM, STAGE, 0, path, -1, "too many paths");
        }
        list->paths = paths;
        list->capacity = capacity;
    }
    char *copy = sl_strdup(path);
    if (copy == NULL) {
        return sl_no_memory_file(error, STAGE, path, "for a path");
    }
    list->paths[list->count++] = copy;
    return SLUICE_OK;
}

static sluice_status expand(sl_path_list *list, const char *path, sluice_error *error);

/* Adds the path for each number of the range. */
static sluice_status add_numbers(sl_path_list *list, const char *path, const range *r,
                                 sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    for (uint64_t number = r->first; status == SLUICE_OK && number <= r->last; number++) {
        char one[PATH_BYTES];
        const int length = snprintf(one, sizeof(one), "%.*s%0*llu%s", (int)(r->begin - path), path,
                                    r->width, (unsigned long long)number, r->end);
        if (length < 0 || (size_t)length >= sizeof(one)) {
            return sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, -1, "the path is too long");
        }
        status = expand(list, one, error);
    }
    return status;
}

static sluice_status expand(sl_path_list *list, const char *path, sluice_error *error)
{
    range r;
    if (!find_range(path, &r)) {
        return path_range_add(list, path, error);
    }
    if (r.last < r.first || r.last - r.first >= SL_PATHS_MAX) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, -1,
                             "{%llu..%llu} is not a range of up to %u numbers",
                             (unsigned long long)r.first, (unsigned long long)r.last, SL_PATHS_MAX);
    }
    return add_numbers(list, path, &r, error);
}

/*
 * Announces the names of a range if they are all in one folder. They begin with the digits common
 * to both ends.
 */
static void expect_names(const char *path, const range *r, uint64_t names)
{
    char prefix[PATH_BYTES];
    char first[32];
    char last[32];
    int same = 0;
    const int digits =
        snprintf(first, sizeof(first), "%0*llu", r->width, (unsigned long long)r->first);
    if (snprintf(last, sizeof(last), "%0*llu", r->width, (unsigned long long)r->last) == digits) {
        while (same < digits && first[same] == last[same]) {
            same++;
        }
    }
    const int length =
        snprintf(prefix, sizeof(prefix), "%.*s%.*s", (int)(r->begin - path), path, same, first);
    if (length > 0 && (size_t)length < sizeof(prefix) && strchr(r->end, '/') == NULL) {
        sl_store_expect(prefix, names);
    }
}

static void drop_paths(sl_path_list *list, size_t kept)
{
    while (list->count > kept) {
        sl_free(list->paths[--list->count]);
    }
}

sluice_status sl_path_range_add(sl_path_list *list, const char *path, sluice_error *error)
{
    range r;
    sl_store_facts facts;
    const size_t before = list->count;
    if (!find_range(path, &r)) {
        return path_range_add(list, path, error);
    }
    sluice_status status = expand(list, path, error);
    if (status == SLUICE_OK) {
        expect_names(path, &r, list->count - before);
    }
    if (sl_store_stat(path, &facts) == 0) {
        drop_paths(list, before);
        status = path_range_add(list, path, error);
    }
    return status;
}

void sl_path_list_free(sl_path_list *list)
{
    drop_paths(list, 0);
    sl_free((void *)list->paths);
    *list = (sl_path_list){0};
}
