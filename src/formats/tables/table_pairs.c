/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_pairs: reads rows of StyleGAN's dataset.json, {"labels": [["00000/img00000000.png", 3],
 * ...]}, whose columns are path and label.
 *
 * One owner thread; the whole file is one JSON tree.
 */
#include "table_rows.h"

#include "error.h"

#include <string.h>

static const char *const names[] = {"path", "label"};

enum { PATH, LABEL, NAMES, HEAD_BYTES = 128 };

static const char *skip_blanks(const char *at)
{
    return at + strspn(at, " \t\r\n");
}

static bool table_pairs_take(const char **at, const char *word)
{
    *at = skip_blanks(*at);
    const size_t length = strlen(word);
    const bool found = strncmp(*at, word, length) == 0;
    *at += found ? length : 0;
    return found;
}

sl_pairs sl_table_pairs_look(sl_look *look)
{
    char text[HEAD_BYTES + 1];
    const char *at = text;
    if (strcmp(sl_path_name(look->path), "dataset.json") != 0) {
        return SL_PAIRS_NONE;
    }
    const sl_bytes head = sl_look_head(look, HEAD_BYTES);
    memcpy(text, head.data, head.size);
    text[head.size] = '\0';
    if (!table_pairs_take(&at, "{") || !table_pairs_take(&at, "\"labels\"") ||
        !table_pairs_take(&at, ":")) {
        return SL_PAIRS_NONE;
    }
    if (table_pairs_take(&at, "null")) {
        return SL_PAIRS_UNLABELLED;
    }
    if (!table_pairs_take(&at, "[")) {
        return SL_PAIRS_NONE;
    }
    return table_pairs_take(&at, "[") && table_pairs_take(&at, "\"") ? SL_PAIRS_LABELS
                                                                     : SL_PAIRS_NONE;
}

static sluice_status table_pairs_refuse(sl_table *table, const char *why)
{
    return sl_error_file(table->error, SLUICE_CORRUPT, "dataset", 0, table->path, -1,
                         "element %llu of \"labels\": %s", (unsigned long long)table->pair, why);
}

sluice_status sl_table_open_pairs(sl_table *table)
{
    for (uint32_t i = 0; i < NAMES; i++) {
        memcpy(table->names[i], names[i], strlen(names[i]) + 1);
    }
    table->columns = NAMES;
    table->pair = 0;
    if (table->pairs.root != NULL) {
        return SLUICE_OK;
    }
    const sluice_status status = sl_json_load(&table->pairs, table->path, table->error);
    return status < 0 || json_is_array(json_object_get(table->pairs.root, "labels"))
               ? status
               : sl_error_file(table->error, SLUICE_CORRUPT, "dataset", 0, table->path, -1,
                               "\"labels\" is not a list of [path, label]");
}

sluice_status sl_table_next_pair(sl_table *table, bool *more)
{
    const json_t *labels = json_object_get(table->pairs.root, "labels");
    *more = table->pair < json_array_size(labels);
    if (!*more) {
        return SLUICE_OK;
    }
    const json_t *pair = json_array_get(labels, (size_t)table->pair);
    json_t *path = json_array_get(pair, PATH);
    if (json_array_size(pair) != NAMES || !json_is_string(path)) {
        return table_pairs_refuse(table, "not a [path, label]");
    }
    table->cells[PATH] = sl_table_json_cell(path);
    table->cells[LABEL] = sl_table_json_cell(json_array_get(pair, LABEL));
    table->pair++;
    return SLUICE_OK;
}
