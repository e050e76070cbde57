/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table: images listed by a table: CSV, TSV, JSON Lines or an im2rec list. Each row is a sample;
 * one column names the image's file.
 *
 * Opening reads the table twice, row by row: first to determine the columns, then to keep the
 * wanted values. The dataset itself is that of listed.h.
 */
#include "field_choice.h"
#include "listed.h"
#include "listed_classes.h"
#include "memory.h"
#include "store.h"
#include "table_columns.h"
#include "table_places.h"

#include <stdio.h>
#include <string.h>

#define STAGE "dataset"

/* Column names for images; the first one that exists counts. */
static const char *const picture_names[] = {
    "path", "file", "file_name", "filename", "filepath", "image", "image_path", "img", "img_path"};

/* Names of a folder's table, as in Hugging Face's ImageFolder. */
static const char *const folder_names[] = {"metadata.csv", "metadata.jsonl", "dataset.json"};

enum {
    PICTURE_NAMES = sizeof(picture_names) / sizeof(picture_names[0]),
    FOLDER_NAMES = sizeof(folder_names) / sizeof(folder_names[0])
};

static uint32_t find_name(const sl_table *table, const char *name)
{
    for (uint32_t i = 0; i < table->columns; i++) {
        if (strcmp(table->names[i], name) == 0) {
            return i;
        }
    }
    return SL_FIELD_NONE;
}

static uint32_t table_find_picture(const sl_table *table)
{
    uint32_t found = SL_FIELD_NONE;
    for (size_t i = 0; i < PICTURE_NAMES && found == SL_FIELD_NONE; i++) {
        found = find_name(table, picture_names[i]);
    }
    return found;
}

/* ---- probing ---- */

/*
 * Returns whether the path has a table that names images: class folders may also have a
 * metadata.csv.
 */
static bool names_pictures(sl_look *look)
{
    sl_table *table;
    bool more;
    sluice_error error;
    sl_error_clear(&error);
    if (sl_table_open(&table, look->path, &error) < 0) {
        return false;
    }
    /* the first row shows the columns of JSON Lines */
    const bool read = !table->is_json || sl_table_next(table, &more, &error) == SLUICE_OK;
    const bool found = read && table_find_picture(table) != SL_FIELD_NONE;
    sl_table_close(table);
    return found;
}

static bool is_table(sl_look *look)
{
    return sl_table_is_named(look->path) || sl_table_pairs_look(look) == SL_PAIRS_LABELS;
}

/* Counts the tables in a folder; `file` is the last of them. */
static uint32_t table_find_in_folder(const char *folder, char file[SL_PATH_BYTES])
{
    char path[SL_PATH_BYTES];
    sl_look look;
    uint32_t count = 0;
    for (size_t i = 0; i < FOLDER_NAMES; i++) {
        if (!sl_path_join(path, folder, folder_names[i]) || !sl_store_has_file(path)) {
            continue;
        }
        sl_look_begin(&look, path);
        if (is_table(&look) && names_pictures(&look)) {
            memcpy(file, path, sizeof(path));
            count++;
        }
    }
    return count;
}

static bool table_probe(sl_look *look)
{
    char file[SL_PATH_BYTES];
    return sl_look_is_folder(look) ? table_find_in_folder(look->path, file) > 0
                                   : sl_look_is_file(look) && is_table(look);
}

/* ---- columns ---- */

/* State while a dataset is opened. */
typedef struct opener {
    const sluice_dataset_options *options;
    const char *path;
    sl_listed *own;
    sl_table *table;
    sl_table_columns *columns;
    sl_source_column *sources;                   /* one more than columns: the key */
    uint32_t numbers[SL_SOURCE_COLUMNS_MAX + 1]; /* the table's column for each source */
    sl_listed_sources all;
    uint32_t label; /* the column whose words are classes; NONE */
    sl_table_place place;
    sl_field_choice *choices;
} opener;

static sluice_status table_parse_choices(opener *o, sluice_error *error)
{
    const uint32_t count = o->options->field_count;
    if (count > SL_FIELDS_MAX) {
        return sl_error_set(error, SLUICE_INVALID, STAGE, "at most %u fields are allowed",
                            SL_FIELDS_MAX);
    }
    o->choices = sl_calloc((size_t)count + 1, sizeof(*o->choices));
    if (o->choices == NULL) {
        return sl_error_set(error, SLUICE_NOMEM, STAGE, "out of memory for columns");
    }
    sluice_status status = SLUICE_OK;
    for (uint32_t i = 0; status == SLUICE_OK && i < count; i++) {
        sl_field_choice *choice = &o->choices[i];
        status = sl_field_choice_parse(choice, o->options->fields[i], error);
        const bool may_be_words = !choice->typed || choice->field.type == SLUICE_FIELD_INT;
        if (status == SLUICE_OK && strcmp(choice->field.name, "label") == 0 && may_be_words) {
            o->columns->label = choice->key;
        }
    }
    return status;
}

/* Returns the user's choice for a column; NULL: none. */
static const sl_field_choice *find_choice(const opener *o, const char *name)
{
    for (uint32_t i = 0; i < o->options->field_count; i++) {
        if (o->choices[i].typed && strcmp(o->choices[i].key, name) == 0) {
            return &o->choices[i];
        }
    }
    return NULL;
}

/*
 * Returns the image column: one that is chosen as such or gets that name, or one with a usual name.
 */
static uint32_t choose_picture(const opener *o)
{
    for (uint32_t i = 0; i < o->options->field_count; i++) {
        const sl_field_choice *choice = &o->choices[i];
        if (choice->typed ? choice->field.type == SLUICE_FIELD_IMAGE
                          : strcmp(choice->field.name, "image") == 0) {
            return find_name(o->table, choice->key);
        }
    }
    return table_find_picture(o->table);
}

static sluice_status refuse_names(const opener *o, sluice_error *error)
{
    char names[256] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < o->table->columns && used < sizeof(names); i++) {
        const int length = snprintf(names + used, sizeof(names) - used, "%s\"%s\"",
                                    i > 0 ? ", " : "", o->table->names[i]);
        used += length > 0 ? (size_t)length : sizeof(names);
    }
    return sl_error_file(
        error, SLUICE_INVALID, STAGE, 0, o->path, -1,
        "no column has a usual name for image files (path, file, file_name, filename, filepath, "
        "image, image_path, img, img_path): choose the column (" SL_OPTION(
            "the option fields") ": image=COLUMN:image)%s; %s: %s",
        o->table->is_json ? "" : ", and have the first line name the columns", "they are", names);
}

static sluice_status refuse_headless(const opener *o, sluice_error *error)
{
    return sl_error_file(error, SLUICE_INVALID, STAGE, 0, o->path, -1,
                         "its first line (\"%.64s\", ...) lists an image and does not name the "
                         "columns: add a first line with their names, such as path,label",
                         o->table->names[0]);
}

/* Finds words that are classes; other label columns are treated like any column. */
static sluice_status table_find_classes(opener *o, sluice_error *error)
{
    const uint32_t column = sl_table_columns_label(o->columns, o->table);
    o->label = SL_FIELD_NONE;
    if (column == SL_FIELD_NONE || o->columns->of[column].words == NULL ||
        sl_table_columns_field(o->columns, column).type != SLUICE_FIELD_TEXT ||
        (o->columns->label == NULL && o->options->field_count > 0)) {
        return SLUICE_OK;
    }
    o->own->classes = sl_table_columns_classes(o->columns, column);
    if (o->own->classes == NULL) {
        return sl_error_set(error, SLUICE_NOMEM, STAGE, "out of memory for the names of classes");
    }
    o->label = column;
    return SLUICE_OK;
}

static void table_add_source(opener *o, uint32_t column, const char *name, const sl_field *field)
{
    sl_source_column *source = &o->sources[o->all.count];
    memcpy(source->name, name, strlen(name) + 1);
    source->field = *field;
    o->numbers[o->all.count++] = column;
}

static void find_sources(opener *o, uint32_t picture)
{
    const sl_field file = {.type = SLUICE_FIELD_IMAGE};
    const sl_field label = {.type = SLUICE_FIELD_INT};
    const sl_field key = {.type = SLUICE_FIELD_TEXT};
    const bool has_key = find_name(o->table, "key") != SL_FIELD_NONE;
    for (uint32_t i = 0; i < o->table->columns; i++) {
        const char *name = o->table->names[i];
        const sl_field_choice *choice = find_choice(o, name);
        sl_field field = sl_table_columns_field(o->columns, i);
        if (i == picture) {
            o->all.picture = o->all.count;
            field = file;
        } else if (i == o->label) {
            field = label;
        } else if (choice != NULL && choice->field.type != SLUICE_FIELD_IMAGE) {
            field = choice->field;
        }
        /* pandas writes row numbers under an empty name */
        if (name[0] != '\0') {
            table_add_source(o, i, name, &field);
        }
    }
    o->all.key = has_key ? SL_FIELD_NONE : o->all.count;
    if (!has_key) {
        table_add_source(o, SL_FIELD_NONE, "key", &key);
    }
    o->all.of = o->sources;
}

/* Renames the class column to "label", the only name under which classes have names. */
static void call_label(sl_listed *own, uint32_t source)
{
    for (uint32_t i = 0; i < own->base.info.fields; i++) {
        if (strcmp(own->fields[i].name, "label") == 0) {
            return;
        }
    }
    for (uint32_t i = 0; i < own->base.info.fields; i++) {
        if (own->side_of[i] > 0 && own->source[own->side_of[i]] == source) {
            memcpy(own->fields[i].name, "label", sizeof("label"));
            return;
        }
    }
}

/* Returns the side column of a source; 0: no field uses it. */
static uint32_t table_find_side(const sl_listed *own, uint32_t source)
{
    uint32_t side = own->side.count - 1;
    while (side > 0 && own->source[side] != source) {
        side--;
    }
    return side;
}

static sluice_status choose_columns(opener *o, sluice_error *error)
{
    sluice_status status = sl_table_place_find(o->table, choose_picture(o), &o->place, error);
    const uint32_t picture = o->place.column;
    if (status < 0) {
        return status;
    }
    if (o->place.headless) {
        return refuse_headless(o, error);
    }
    if (picture == SL_FIELD_NONE) {
        return refuse_names(o, error);
    }
    o->sources = sl_calloc((size_t)o->table->columns + 1, sizeof(*o->sources));
    if (o->sources == NULL) {
        return sl_error_set(error, SLUICE_NOMEM, STAGE, "out of memory for columns");
    }
    status = table_find_classes(o, error);
    if (status < 0) {
        return status;
    }
    find_sources(o, picture);
    status = sl_listed_choose(o->own, &o->all, o->options, o->path, error);
    for (uint32_t i = 0; status == SLUICE_OK && i < o->all.count; i++) {
        if (o->numbers[i] == o->label && o->label != SL_FIELD_NONE) {
            call_label(o->own, i);
            o->own->labels = table_find_side(o->own, i);
        }
    }
    return status;
}

/* ---- rows ---- */

static sluice_status table_look_at_rows(opener *o, sluice_error *error)
{
    bool more = true;
    while (more) {
        sluice_status status = sl_table_next(o->table, &more, error);
        if (status == SLUICE_OK && more) {
            status = sl_table_columns_look(o->columns, o->table, error);
        }
        if (status < 0) {
            return status;
        }
    }
    return SLUICE_OK;
}

static const char *table_find_value(opener *o, uint32_t column, const sl_field *field,
                                    sl_value *value)
{
    const sl_cell *cell = &o->table->cells[column];
    sl_bytes word;
    if (column != o->label) {
        return sl_cell_value(cell, field, &o->columns->buffer, value);
    }
    *value = (sl_value){0};
    if (cell->kind == SL_CELL_ABSENT) {
        return NULL;
    }
    if (!sl_cell_text(cell, &o->columns->buffer, &word)) {
        return "out of memory";
    }
    value->present = word.size > 0;
    value->integer =
        sl_table_columns_class(o->columns, column, word.size > 0 ? (const char *)word.data : "");
    return value->integer < 0 && value->present ? "not valid UTF-8, or contains NUL" : NULL;
}

/* Adds the folder in which a path begins, and a missing extension. */
static sl_refusal put_in_place(const sl_table_place *place, sl_bytes *path,
                               char whole[SL_PATH_BYTES])
{
    if ((place->folder[0] == '\0' && place->suffix[0] == '\0') || path->size == 0 ||
        path->data[0] == '/') {
        return sl_accept();
    }
    if (path->size > SL_PATH_BYTES / 2 || memchr(path->data, 0, path->size) != NULL) {
        return sl_refuse("the image's path is too long, or contains NUL", 0);
    }
    const int length = snprintf(whole, SL_PATH_BYTES, "%s%s%.*s%s", place->folder,
                                place->folder[0] != '\0' ? "/" : "", (int)path->size,
                                (const char *)path->data, place->suffix);
    *path = (sl_bytes){(const uint8_t *)whole, (size_t)length};
    return sl_accept();
}

static sluice_status put_path(opener *o, sluice_error *error)
{
    const uint32_t column = o->numbers[o->all.picture];
    const sl_cell *cell = &o->table->cells[column];
    char whole[SL_PATH_BYTES];
    sl_bytes path = cell->text;
    sl_refusal why = cell->kind != SL_CELL_ABSENT && cell->text.data == NULL
                         ? sl_refuse("not the path of an image", 0)
                         : sl_accept();
    if (why.text == NULL) {
        why = put_in_place(&o->place, &path, whole);
    }
    if (why.text == NULL) {
        why = sl_listed_check_path(o->own, path);
    }
    return why.text != NULL ? sl_table_refuse(o->table, why.status, column, why.text, error)
                            : sl_listed_put_path(o->own, path, error);
}

static sluice_status put_row(opener *o, sluice_error *error)
{
    sl_listed *own = o->own;
    sluice_status status = put_path(o, error);
    for (uint32_t i = 1; status == SLUICE_OK && i < own->side.count; i++) {
        sl_value value;
        const uint32_t column = o->numbers[own->source[i]];
        const char *why = table_find_value(o, column, &own->side.of[i].field, &value);
        status = why != NULL ? sl_table_refuse(o->table, SLUICE_CORRUPT, column, why, error)
                             : sl_side_columns_put(&own->side, i, &value, error);
    }
    return status;
}

static sluice_status table_keep_rows(opener *o, sluice_error *error)
{
    bool more = true;
    sluice_status status = sl_table_rewind(o->table, error);
    while (status == SLUICE_OK && more) {
        status = sl_table_next(o->table, &more, error);
        if (status == SLUICE_OK && more) {
            status = put_row(o, error);
        }
    }
    return status;
}

/* ---- opening ---- */

#define SL_TABLE_PLACE_BYTES 128

/*
 * Writes " (images/NAME.jpg)": the location of names that are not paths relative to the table's
 * folder.
 */
static void write_place(const sl_table_place *place, char *text, size_t bytes)
{
    if (place->folder[0] != '\0' || place->suffix[0] != '\0') {
        (void)snprintf(text, bytes, " (%.96s%sNAME%s)", place->folder,
                       place->folder[0] != '\0' ? "/" : "", place->suffix);
    }
}

static sluice_status open_rows(opener *o, sluice_error *error)
{
    sluice_status status = sl_listed_new(&o->own, o->path, false, error);
    if (status == SLUICE_OK && o->options->allow_outside == 0) {
        status = sl_boundary_open(&o->own->boundary, o->own->root, "", error);
    }
    status = status == SLUICE_OK ? sl_table_open(&o->table, o->path, error) : status;
    status = status == SLUICE_OK ? sl_table_columns_open(&o->columns, error) : status;
    status = status == SLUICE_OK ? table_parse_choices(o, error) : status;
    status = status == SLUICE_OK ? table_look_at_rows(o, error) : status;
    status = status == SLUICE_OK ? choose_columns(o, error) : status;
    status = status == SLUICE_OK ? table_keep_rows(o, error) : status;
    if (status < 0) {
        return status;
    }
    const bool json = o->table->is_json;
    char place[SL_TABLE_PLACE_BYTES] = "";
    write_place(&o->place, place, sizeof(place));
    (void)snprintf(o->own->base.info.format, sizeof(o->own->base.info.format), "table");
    sl_unchecked_add(&o->own->base.unchecked, "tables have no checksums");
    (void)snprintf(o->own->base.kind, sizeof(o->own->base.kind),
                   "images in files%s, listed by a table (%s)", place,
                   o->table->is_pairs            ? "StyleGAN's dataset.json"
                   : json                        ? "JSON Lines"
                   : o->table->is_list           ? "im2rec's list"
                   : o->table->delimiter == '\t' ? "TSV"
                                                 : "CSV");
    return sl_listed_finish(o->own, o->path, error);
}

/* Finds the table: `path`, or the one in it. */
static sluice_status find_table(const char *path, char file[SL_PATH_BYTES], sluice_error *error)
{
    if (sl_store_has_folder(path)) {
        const uint32_t count = table_find_in_folder(path, file);
        return count == 1  ? SLUICE_OK
               : count > 1 ? sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, -1,
                                           "the folder contains metadata.csv and metadata.jsonl: "
                                           "open one of them by its path")
                           : sl_error_file(error, SLUICE_IO, STAGE, 0, path, -1,
                                           "its table cannot be read, or no longer exists");
    }
    if (strlen(path) >= SL_PATH_BYTES) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, -1, "the path is too long");
    }
    memcpy(file, path, strlen(path) + 1);
    return SLUICE_OK;
}

static sluice_status open_table(sl_dataset **dataset, const char *const *paths, size_t count,
                                const sluice_dataset_options *options, sluice_error *error)
{
    char file[SL_PATH_BYTES] = "";
    if (count != 1) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, paths[1], -1,
                             "tables cannot be joined: open one path, or join the "
                             "datasets (" SL_OPTION("sluice_dataset_concat") ")");
    }
    sluice_status status = find_table(paths[0], file, error);
    opener o = {.options = options, .path = file, .label = SL_FIELD_NONE};
    status = status == SLUICE_OK ? open_rows(&o, error) : status;
    sl_table_close(o.table);
    sl_table_columns_close(o.columns);
    sl_free(o.sources);
    sl_free(o.choices);
    if (status < 0) {
        sl_dataset_close(o.own != NULL ? &o.own->base : NULL);
        return status;
    }
    *dataset = &o.own->base;
    return SLUICE_OK;
}

/* Determines from its first rows how a table describes the images beside it. */
static sl_mentions table_mentions(const char *path)
{
    sl_table *table;
    sl_table_place place;
    sl_look look;
    bool more;
    sluice_error error;
    sl_error_clear(&error);
    sl_look_begin(&look, path);
    if (!is_table(&look) || sl_table_open(&table, path, &error) < 0) {
        return SL_MENTIONS_NONE;
    }
    /* the first row shows the columns of JSON Lines */
    const bool read = !table->is_json || sl_table_next(table, &more, &error) == SLUICE_OK;
    const bool found =
        read && sl_table_place_find(table, table_find_picture(table), &place, &error) == SLUICE_OK;
    sl_mentions says = SL_MENTIONS_NONE;
    if (found && place.headless) {
        says = SL_MENTIONS_UNREADABLE;
    } else if (found && place.exists) {
        uint32_t named = 0;
        for (uint32_t i = 0; i < table->columns; i++) {
            named += table->names[i][0] != '\0';
        }
        says = place.repeats ? SL_MENTIONS_REPEATS
               : named > 1   ? SL_MENTIONS_LABELS
                             : SL_MENTIONS_NAMES;
    }
    sl_table_close(table);
    return says;
}

SL_FORMAT(table) = {
    .name = "table",
    .files = "tables",
    .known = "tables of images (.csv, .tsv, .jsonl, .lst)",
    .is_alone_sure = true,
    .has_annotations = true,
    .takes_fields = true,
    .probe = table_probe,
    .is_file = sl_table_is_named,
    .is_sure = names_pictures,
    .mentions = table_mentions,
    .is_single = true,
    .open = open_table,
    .number_over = sl_listed_number_over,
};
