/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches boxes and values that belong to them, until a notice is due or ruled out. Workers:
 * counters of a column's first boxes are relaxed, since nothing depends on their order; lengths of
 * rows are counted under the notices' mutex.
 */
#include "watch.h"

#include "lengths.h"
#include "option_text.h"
#include "thread.h"

/* First boxes of a column that are checked. */
#define BOXES_LOOKED 1000U
/* Rows that are compared with the number of boxes; and the numbers of rows and of different lengths
 * that are enough. */
enum { ROWS_LOOKED = 64, ROWS_FEW = 4, LENGTHS_MANY = 3, ROWS_MANY = 8, LENGTHS_FEW = 2 };

static sl_watch *watch_of(const sl_column *column)
{
    const sl_column_set *set = column->set;
    return set->watches != NULL ? &set->watches[column - set->columns] : NULL;
}

/* ---- invalid boxes ---- */

static void note_invalid(const sl_column *column, uint32_t invalid, uint32_t looked)
{
    const sl_box_rule *rule = &column->request.boxes;
    const char *likely = rule->format != SLUICE_BOX_XYXY ? "xyxy"
                         : rule->relative                ? "cxcywh"
                                                         : "xywh";
    sl_notices_add(column->set->notices,
                   "column \"%s\": %u of the first %u boxes of \"%s\" are invalid in the format "
                   "%s; they are likely stored as %s (" SL_OPTION("box_format") ")",
                   column->request.name, invalid, looked, column->field.name,
                   sl_box_format_word(rule->format), likely);
}

void sl_watch_boxes(const sl_column *column, const sl_box_list *list)
{
    sl_watch *watch = watch_of(column);
    /* Relaxed, all of them: counts for a warning, which may miss a list that another thread is
     * counting. */
    if (watch == NULL || list->count == 0 ||
        atomic_load_explicit(&watch->looked, memory_order_relaxed) >= BOXES_LOOKED) {
        return;
    }
    const uint32_t invalid = list->faults + atomic_fetch_add_explicit(&watch->invalid, list->faults,
                                                                      memory_order_relaxed);
    const uint32_t looked =
        list->count + atomic_fetch_add_explicit(&watch->looked, list->count, memory_order_relaxed);
    if (looked >= BOXES_LOOKED && invalid > looked / 2) {
        note_invalid(column, invalid, looked);
    }
}

/* ---- rows with as many values as boxes ---- */

static const sl_column *boxes_beside(const sl_column *column, const sl_row *row)
{
    const sl_column_set *set = column->set;
    for (uint32_t i = 0; i < set->count; i++) {
        const sl_column *other = &set->columns[i];
        if (other->kind->boxes && other->member == column->member &&
            row->values.of[other->field_number].present) {
            return other;
        }
    }
    return NULL;
}

/* Counts one more row. Returns true once there is enough evidence. Under the mutex. */
static bool count_length(sl_watch *watch, uint64_t length)
{
    watch->rows++;
    watch->lengths |= UINT64_C(1) << length % 64;
    const int lengths = __builtin_popcountll(watch->lengths);
    return (watch->rows >= ROWS_FEW && lengths >= LENGTHS_MANY) ||
           (watch->rows >= ROWS_MANY && lengths >= LENGTHS_FEW);
}

void sl_watch_length(const sl_column *column, const sl_row *row, uint64_t length)
{
    sl_watch *watch = watch_of(column);
    /* Relaxed, here and below: `settled` only keeps a warning from being repeated. */
    if (watch == NULL || column->owner != SL_COLUMN_NONE || column->set->box_lists == 0 ||
        atomic_load_explicit(&watch->settled, memory_order_relaxed)) {
        return;
    }
    const sl_column *boxes = boxes_beside(column, row);
    if (boxes == NULL) {
        return;
    }
    sl_lock(&column->set->notices->mutex);
    const bool equal = length == row->boxes[boxes->box_list].stored;
    const bool believed = equal && count_length(watch, length);
    const bool ends = !equal || believed || watch->rows >= ROWS_LOOKED;
    sl_unlock(&column->set->notices->mutex);
    if (ends && !atomic_exchange_explicit(&watch->settled, true, memory_order_relaxed) &&
        believed) {
        sl_notices_add(column->set->notices,
                       "column \"%s\" has as many elements as the sample has boxes, row by row, "
                       "but keeps those of boxes that are dropped; write " SL_OPTION(
                           "follows") " "
                                      "\"%s\" if \"%s\" has an element for each box",
                       column->request.name, boxes->request.name, column->field.name);
    }
}

/* ---- batches that lost their boxes ---- */

enum { BOXES_LEAST = 8 };

/* Returns whether boxes are read in the dataset's units. */
static bool is_as_known(const sl_column *column)
{
    return column->request.coordinates == column->field.meaning.coordinates;
}

static void note_dropped(const sl_column *column, uint64_t had)
{
    const sl_box_rule *rule = &column->request.boxes;
    if (is_as_known(column)) {
        sl_notices_add(column->set->notices,
                       "column \"%s\": the transform dropped all %llu boxes of a batch: check the "
                       "crop and the least size of boxes (" SL_OPTION("min_size") ", " SL_OPTION(
                           "min_area") ")",
                       column->request.name, (unsigned long long)had);
        return;
    }
    sl_notices_add(
        column->set->notices,
        "column \"%s\": the transform dropped all %llu boxes of a batch; they were read "
        "as %s in %s: write %s if they are stored in %s, or check the crop and the least "
        "size of boxes (" SL_OPTION("min_size") ", " SL_OPTION("min_area") ")",
        column->request.name, (unsigned long long)had, sl_box_format_word(rule->format),
        rule->relative ? "fractions of the image size" : "pixels",
        rule->relative ? SL_OPTION("relative 0") : SL_OPTION("relative 1"),
        rule->relative ? "pixels" : "fractions of the image size");
}

void sl_watch_batch(const sl_column *column, uint32_t rows, sl_part_view parts)
{
    sl_watch *watch = watch_of(column);
    /* Relaxed: see sl_watch_length. */
    if (watch == NULL || atomic_load_explicit(&watch->settled, memory_order_relaxed)) {
        return;
    }
    uint64_t had = 0;
    uint64_t kept = 0;
    for (uint32_t i = 0; i < rows; i++) {
        had += *(const uint32_t *)sl_column_row(column, parts, SL_BOXES_HAD, i);
        kept += sl_column_length(column, parts, i);
    }
    /* A crop may well miss the few boxes of a small batch. Relaxed, as above. */
    if (had >= (is_as_known(column) ? BOXES_LEAST : 1) && kept == 0 &&
        !atomic_exchange_explicit(&watch->settled, true, memory_order_relaxed)) {
        note_dropped(column, had);
    }
}
