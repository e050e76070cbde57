/* SPDX-License-Identifier: Apache-2.0 */
/* table_places: tries the names in a table's first rows against the existing files. */
#include "table_places.h"

#include "beside.h"
#include "error.h"
#include "hidden.h"
#include "media.h"
#include "memory.h"
#include "store.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define STAGE "dataset"

enum { ROWS = 16, COLUMNS = 32, FOLDERS = 64, VALUE_BYTES = 256 };

/* State of the search. */
typedef struct places {
    sl_table *table;
    char root[SL_PATH_BYTES]; /* the table's folder */
    char stem[NAME_MAX + 1];  /* its name, without the extension */
    uint32_t rows, columns, folders;
    bool listed; /* true once the folders are known */
    char values[ROWS][COLUMNS][VALUE_BYTES];
    char names[FOLDERS][NAME_MAX + 1];
} places;

/* ---- what there is ---- */

static bool exists(const places *p, const char *folder, const char *name, const char *suffix)
{
    char path[SL_PATH_BYTES];
    const bool absolute = name[0] == '/';
    const sl_bytes bytes = {(const uint8_t *)name, strlen(name)};
    return bytes.size > 0 && !(absolute && folder[0] != '\0') &&
           sl_beside_path(path, p->root, folder, bytes, suffix) && sl_store_has_file(path);
}

static bool table_places_is_picture(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot != NULL && sl_media_names_picture(dot + 1);
}

/* Adds an archive unpacked into a folder of its own name: "images/images". */
static void add_doubled(places *p, const char *name)
{
    char path[SL_PATH_BYTES];
    char doubled[2 * NAME_MAX + 2];
    const int length = snprintf(doubled, sizeof(doubled), "%s/%s", name, name);
    if (length > 0 && length <= NAME_MAX && p->folders < FOLDERS &&
        sl_path_join(path, p->root, doubled) && sl_store_has_folder(path)) {
        memcpy(p->names[p->folders++], doubled, (size_t)length + 1);
    }
}

static sluice_status add_folder(void *ctx, const sl_store_entry *entry, sluice_error *error)
{
    char path[SL_PATH_BYTES];
    places *p = ctx;
    (void)error;
    if (entry->kind != SL_ENTRY_FILE && p->folders < FOLDERS && !sl_name_is_hidden(entry->name) &&
        strlen(entry->name) <= NAME_MAX && sl_path_join(path, p->root, entry->name) &&
        sl_store_is_folder(entry, path)) {
        memcpy(p->names[p->folders++], entry->name, strlen(entry->name) + 1);
        add_doubled(p, entry->name);
    }
    return SLUICE_OK;
}

/*
 * Finds the folders beside the table; lists them only if the table's paths do not exist as they
 * are.
 */
static void find_folders(places *p)
{
    if (!p->listed) {
        p->listed = true;
        /* a store that cannot list has no such folders */
        (void)sl_store_list((sl_file_name){STAGE, p->root}, add_folder, p, NULL);
    }
}

/* ---- the first rows ---- */

static void keep_values(places *p)
{
    for (uint32_t i = 0; i < p->table->columns && i < COLUMNS; i++) {
        const sl_cell *cell = &p->table->cells[i];
        const bool fits = cell->kind != SL_CELL_ABSENT && cell->text.data != NULL &&
                          cell->text.size < VALUE_BYTES &&
                          memchr(cell->text.data, 0, cell->text.size) == NULL;
        memcpy(p->values[p->rows][i],
               cell->text.data != NULL && fits ? cell->text.data : (const uint8_t *)"",
               fits ? cell->text.size : 0);
        p->values[p->rows][i][fits ? cell->text.size : 0] = '\0';
    }
    p->rows++;
}

static sluice_status table_places_read(places *p, sluice_error *error)
{
    bool more = true;
    sluice_status status = sl_table_rewind(p->table, error);
    while (status == SLUICE_OK && more && p->rows < ROWS) {
        status = sl_table_next(p->table, &more, error);
        if (status == SLUICE_OK && more) {
            keep_values(p);
        }
    }
    p->columns = p->table->columns < COLUMNS ? p->table->columns : COLUMNS;
    return status;
}

/* ---- trying ---- */

/* A place that was tried, and the number of rows for which files exist there. */
typedef struct attempt {
    const char *folder, *suffix;
    uint32_t hits;
} attempt;

static uint32_t count_hits(const places *p, uint32_t column, const char *folder, const char *suffix)
{
    uint32_t hits = 0;
    for (uint32_t i = 0; i < p->rows; i++) {
        /* a place without any hit at first is unlikely to have one later */
        if (i == 4 && hits == 0) {
            return 0;
        }
        hits += exists(p, folder, p->values[i][column], suffix);
    }
    return hits;
}

/* Keeps the better of two attempts in `best`; `*doubt`: an equally good one. */
static void compare_attempts(const places *p, attempt *best, const attempt *other, attempt *doubt)
{
    const bool is_own = strcasecmp(other->folder, p->stem) == 0;
    const bool was_own = best->hits > 0 && strcasecmp(best->folder, p->stem) == 0;
    if (other->hits > best->hits || (other->hits == best->hits && other->hits > 0 && is_own)) {
        *best = *other;
        doubt->hits = 0;
    } else if (other->hits > 0 && other->hits == best->hits && !was_own) {
        *doubt = *other;
    }
}

static void try_suffix(places *p, uint32_t column, const char *suffix, attempt *best,
                       attempt *doubt)
{
    find_folders(p);
    for (uint32_t i = 0; i <= p->folders; i++) {
        attempt other = {.folder = i == 0 ? "" : p->names[i - 1], .suffix = suffix};
        other.hits = count_hits(p, column, other.folder, suffix);
        compare_attempts(p, best, &other, doubt);
    }
}

static const char *const suffixes[] = {".jpg",  ".jpeg", ".png", ".JPG",  ".JPEG", ".PNG",
                                       ".webp", ".bmp",  ".tif", ".tiff", ".ppm",  ".pgm"};

/* Finds the best place for a column; `doubt`: another one that is equally good. */
static attempt try_column(places *p, uint32_t column, attempt *doubt)
{
    attempt best = {"", "", count_hits(p, column, "", "")};
    *doubt = (attempt){"", "", 0};
    if (best.hits > 0 || p->rows == 0 || p->values[0][column][0] == '\0') {
        return best;
    }
    if (strchr(p->values[0][column], '\n') != NULL) {
        return best;
    }
    if (table_places_is_picture(p->values[0][column])) {
        try_suffix(p, column, "", &best, doubt);
        return best;
    }
    /* each attempt would be a request */
    const bool is_remote = strstr(p->root, "://") != NULL;
    for (size_t i = 0; !is_remote && i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
        try_suffix(p, column, suffixes[i], &best, doubt);
    }
    return best;
}

static bool are_distinct(const places *p, uint32_t column)
{
    for (uint32_t i = 0; i < p->rows; i++) {
        for (uint32_t k = 0; k < i; k++) {
            if (strcmp(p->values[i][column], p->values[k][column]) == 0) {
                return false;
            }
        }
    }
    return true;
}

/* ---- the place ---- */

static sluice_status refuse_doubt(const places *p, uint32_t column, const attempt *best,
                                  const attempt *doubt, sluice_error *error)
{
    const char *name = p->values[0][column];
    return sl_error_file(
        error, SLUICE_INVALID, STAGE, 0, p->table->path, -1,
        "column \"%.64s\": \"%.64s\" may be %.64s%s%.64s%s or %.64s%s%.64s%s: write full paths",
        p->table->names[column], name, best->folder, best->folder[0] != '\0' ? "/" : "", name,
        best->suffix, doubt->folder, doubt->folder[0] != '\0' ? "/" : "", name, doubt->suffix);
}

static void set_place(const places *p, uint32_t column, const attempt *best, sl_table_place *place)
{
    place->column = column;
    place->exists = 2 * best->hits >= p->rows && best->hits > 0;
    if (place->exists) {
        (void)snprintf(place->folder, sizeof(place->folder), "%s", best->folder);
        (void)snprintf(place->suffix, sizeof(place->suffix), "%s", best->suffix);
        place->repeats = !are_distinct(p, column);
    }
}

static sluice_status find_of_column(places *p, uint32_t column, sl_table_place *place,
                                    sluice_error *error)
{
    attempt doubt;
    const attempt best = try_column(p, column, &doubt);
    if (doubt.hits > 0 && 2 * best.hits >= p->rows) {
        return refuse_doubt(p, column, &best, &doubt, error);
    }
    set_place(p, column, &best, place);
    return SLUICE_OK;
}

static sluice_status count_picture(void *ctx, const sl_store_entry *entry, sluice_error *error)
{
    uint64_t *count = ctx;
    (void)error;
    *count += table_places_is_picture(entry->name);
    return SLUICE_OK;
}

/*
 * Numbers are names of images only if there are about as many rows: tables of classes contain
 * numbers too.
 */
static bool are_enough(const places *p, const char *folder)
{
    char path[2 * SL_PATH_BYTES];
    uint64_t count = 0;
    if (p->rows == ROWS) {
        return true;
    }
    (void)snprintf(path, sizeof(path), "%s/%s", p->root, folder);
    (void)sl_store_list((sl_file_name){STAGE, path}, count_picture, &count, NULL);
    return 2 * (uint64_t)p->rows >= count;
}

/*
 * Finds the only column of its kind (names with extension, or without) whose values are all files,
 * without duplicates.
 */
static sluice_status find_any_of(places *p, bool whole, sl_table_place *place, sluice_error *error)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < p->columns; i++) {
        attempt doubt;
        if (p->rows == 0 || whole != table_places_is_picture(p->values[0][i]) ||
            !are_distinct(p, i)) {
            continue;
        }
        const attempt best = try_column(p, i, &doubt);
        if (best.hits < p->rows ||
            (!whole && (best.suffix[0] == '\0' || !are_enough(p, best.folder)))) {
            continue;
        }
        if (doubt.hits > 0) {
            return refuse_doubt(p, i, &best, &doubt, error);
        }
        count++;
        set_place(p, i, &best, place);
    }
    if (count > 1) {
        *place = (sl_table_place){.column = SL_FIELD_NONE};
    }
    return SLUICE_OK;
}

static sluice_status find_any(places *p, sl_table_place *place, sluice_error *error)
{
    const sluice_status status = find_any_of(p, true, place, error);
    return status == SLUICE_OK && place->column == SL_FIELD_NONE
               ? find_any_of(p, false, place, error)
               : status;
}

/* Returns whether a column name is an image's name. */
static bool is_headless(places *p, const sl_table_place *place)
{
    for (uint32_t i = 0; i < p->columns && !p->table->is_json && !p->table->is_list; i++) {
        const char *name = p->table->names[i];
        if (!table_places_is_picture(name)) {
            continue;
        }
        if (exists(p, "", name, "") || exists(p, place->folder, name, "")) {
            return true;
        }
        find_folders(p);
        for (uint32_t k = 0; k < p->folders; k++) {
            if (exists(p, p->names[k], name, "")) {
                return true;
            }
        }
    }
    return false;
}

static void split_path(places *p, const char *path)
{
    const char *name = sl_path_name(path);
    const size_t folder = (size_t)(name - path);
    (void)snprintf(p->root, sizeof(p->root), "%.*s", (int)(folder > 0 ? folder : 1),
                   folder > 0 ? path : ".");
    (void)snprintf(p->stem, sizeof(p->stem), "%s", name);
    char *dot = strrchr(p->stem, '.');
    if (dot != NULL) {
        *dot = '\0';
    }
}

sluice_status sl_table_place_find(sl_table *table, uint32_t column, sl_table_place *place,
                                  sluice_error *error)
{
    *place = (sl_table_place){.column = column};
    places *p = sl_calloc(1, sizeof(*p));
    if (p == NULL) {
        return sl_no_memory(error, STAGE, "for the first rows of a table");
    }
    p->table = table;
    split_path(p, table->path);
    sluice_status status = table_places_read(p, error);
    if (status == SLUICE_OK && column == SL_FIELD_NONE) {
        status = find_any(p, place, error);
    } else if (status == SLUICE_OK && column < COLUMNS) {
        status = find_of_column(p, column, place, error);
    }
    place->headless = status == SLUICE_OK && is_headless(p, place);
    sl_free(p);
    return status;
}
