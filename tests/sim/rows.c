/* SPDX-License-Identifier: Apache-2.0 */
#include "rows.h"

#include "buckets.h"
#include "mixes.h"
#include "pictures.h"
#include "units.h"
#include "world.h"

#include <stdio.h>
#include <string.h>

typedef struct row {
    bool known, seen; /* seen in some run; seen in this run */
    uint8_t status;
    int64_t ids[SIM_MEMBERS_MAX]; /* samples of its members */
    int64_t index;
    uint64_t picture; /* its digest */
} row;

static struct {
    const sim_case *of;
    bool lossy; /* in this run */
    row rows[SIM_EPOCHS][SIM_ROWS_MAX];
} model;

/* The columns of a batch. */
typedef struct taken {
    const sluice_batch *batch;
    const int64_t *index, *ids[SIM_MEMBERS_MAX];
    const uint8_t *mask, *status;
    const uint8_t *payload[SIM_MEMBERS_MAX];
    const int64_t *offsets[SIM_MEMBERS_MAX]; /* NULL: all have one length */
} taken;

void sim_rows_begin(const sim_case *of)
{
    memset(&model, 0, sizeof(model));
    model.of = of;
}

void sim_rows_begin_run(void)
{
    model.lossy = false;
    for (uint32_t i = 0; i < SIM_EPOCHS; i++) {
        for (uint32_t k = 0; k < model.of->rows; k++) {
            model.rows[i][k].seen = false;
        }
    }
}

void sim_rows_let_fail(void)
{
    model.lossy = true;
}

/* True if a row may lack its samples. */
static bool has_bad(void)
{
    return model.of->bad_count > 0 || model.lossy;
}

/* ---- places ---- */

uint32_t sim_rows_steps(const sim_place *at)
{
    const uint32_t left = model.of->rows - at->start;
    if (model.of->picture == SIM_BUCKET) {
        return left / model.of->global;
    }
    const uint32_t rest = left % model.of->global;
    return left / model.of->global + (rest > 0 && model.of->last_batch != SLUICE_LAST_DROP);
}

/* The rank's part of a step: places [first, first + own) of the list, and its number of rows. */
typedef struct part {
    uint32_t first, own, rows;
    bool whole; /* all ranks have their batch */
} part;

/* Returns the places with a sample in the step that begins at this place, on all ranks. */
static uint32_t step_rows(uint32_t place)
{
    const sim_case *of = model.of;
    if (of->picture == SIM_BUCKET) { /* a partial step ends with places that do not exist */
        return sim_bucket_rows(of, place / of->global);
    }
    return place + of->global <= of->rows ? of->global : of->rows - place;
}

static part part_of(const sim_place *at)
{
    const uint32_t global = model.of->global;
    const uint32_t batch = global / at->world;
    const uint32_t base = at->start + at->step * global;
    const uint32_t all = step_rows(base);
    if (all == global) {
        return (part){base + at->rank * batch, batch, batch, true};
    }
    const uint32_t rest = all;
    const uint32_t unit = model.of->order == SIM_EPISODES ? SIM_EPISODE : 1;
    uint32_t begin = at->rank * (rest / unit) / at->world * unit;
    uint32_t end = (at->rank + 1) * (rest / unit) / at->world * unit;
    if (model.of->last_batch == SLUICE_LAST_WRAP) {
        begin = at->rank * batch < rest ? at->rank * batch : rest;
        end = begin + batch < rest ? begin + batch : rest;
    }
    return (part){base + begin, end - begin,
                  model.of->last_batch == SLUICE_LAST_SHORT ? end - begin : batch, false};
}

/* Repetitions are dealt to the ranks in turn. */
static uint32_t entry_of(const sim_place *at, const part *of, uint32_t number)
{
    if (model.of->repeats == 1 || !of->whole) {
        return of->first + number;
    }
    return at->start + at->step * model.of->global + number * at->world + at->rank;
}

/* ---- one row ---- */

static sluice_tensor tensor_of(const sluice_batch *batch, const char *name)
{
    sluice_tensor tensor = SLUICE_TENSOR_INIT;
    if (sluice_batch_tensor(batch, name, &tensor) != SLUICE_OK) {
        sim_fail("no column %s", name);
    }
    return tensor;
}

static void take(const sluice_batch *batch, taken *columns)
{
    const taken none = {.index = NULL};
    *columns = none;
    columns->batch = batch;
    columns->index = tensor_of(batch, "index").data;
    columns->mask = tensor_of(batch, "mask").data;
    columns->status = tensor_of(batch, "status").data;
    for (uint32_t i = 0; model.of->kind == SIM_SAMPLES && i < model.of->members; i++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "id%u", i);
        columns->ids[i] = tensor_of(batch, name).data;
        (void)snprintf(name, sizeof(name), "payload%u", i);
        columns->payload[i] = tensor_of(batch, name).data;
        (void)snprintf(name, sizeof(name), "payload%u.offsets", i);
        columns->offsets[i] = model.of->data->fixed ? NULL : tensor_of(batch, name).data;
    }
}

static int64_t id_of(const taken *columns, uint32_t member, uint32_t number)
{
    if (model.of->kind != SIM_SAMPLES) {
        return columns->index[number];
    }
    if (columns->ids[member] == NULL) {
        sim_fail("no ids of member %u", member);
    }
    return columns->ids[member][number];
}

static int64_t sample_of(const taken *columns, uint32_t member, uint32_t number)
{
    return id_of(columns, member, number) - model.of->data->first_id;
}

static void check_payload(const taken *columns, uint32_t number, uint32_t member)
{
    const sim_data *data = model.of->data;
    const int64_t id = sample_of(columns, member, number);
    const int64_t *offsets = columns->offsets[member];
    const uint64_t begin =
        data->fixed ? (uint64_t)number * data->largest : (uint64_t)offsets[number];
    const uint64_t bytes = data->fixed ? data->largest : (uint64_t)offsets[number + 1] - begin;
    if (id < 0 || id >= data->samples) {
        sim_fail("row %u, member %u: no sample is %lld", number, member, (long long)id);
    }
    if (bytes != data->sizes[id] ||
        memcmp(columns->payload[member] + begin, data->payloads[id], bytes) != 0) {
        sim_fail("row %u, member %u: not the bytes of sample %lld", number, member, (long long)id);
    }
    if (model.of->bad[id]) {
        sim_fail("row %u, member %u: sample %lld is bad", number, member, (long long)id);
    }
}

/* True if the class has no other sample. */
static bool is_alone(uint32_t class)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < model.of->data->samples; i++) {
        count += model.of->data->classes[i] == class;
    }
    return count < 2;
}

static void check_rules(const taken *columns, uint32_t number, uint8_t status)
{
    const sim_case *of = model.of;
    const uint32_t own = of->data->classes[sample_of(columns, 0, number)];
    for (uint32_t i = 1; i < of->members; i++) {
        const uint32_t class = of->data->classes[sample_of(columns, i, number)];
        if ((of->rules[i] == SIM_SAME && class != own) ||
            (of->rules[i] == SIM_OTHER && class == own)) {
            sim_fail("row %u: partner %u is of class %u, the row's own sample of %u", number, i,
                     class, own);
        }
        if (of->rules[i] == SIM_SAME && status == SLUICE_ROW_OK && !is_alone(own) &&
            id_of(columns, i, number) == id_of(columns, 0, number)) {
            sim_fail("row %u: partner %u is the row's own sample", number, i);
        }
    }
}

static void check_unit(const taken *columns, uint32_t number, bool made)
{
    const int64_t unit = columns->index[number];
    if (made && (unit < 0 || unit >= SIM_UNITS_MAX || model.of->bad[unit])) {
        sim_fail("row %u: unit %lld is bad, or none", number, (long long)unit);
    }
    sim_units_check(model.of, columns->batch, number, made ? unit : -1);
}

static void check_made(const taken *columns, uint32_t number, uint8_t status)
{
    int64_t samples[SIM_MEMBERS_MAX];
    for (uint32_t i = 0; i < model.of->members; i++) {
        check_payload(columns, number, i);
        samples[i] = sample_of(columns, i, number);
    }
    sim_picture_check(model.of, columns->batch, number, samples);
    if (sample_of(columns, 0, number) != columns->index[number]) {
        sim_fail("row %u: index %lld, sample %lld", number, (long long)columns->index[number],
                 (long long)sample_of(columns, 0, number));
    }
    check_rules(columns, number, status);
    if (model.of->order == SIM_WEIGHTS && model.of->numbers[columns->index[number]] == 0) {
        sim_fail("row %u: sample %lld has no weight", number, (long long)columns->index[number]);
    }
}

static void check_lost(const taken *columns, uint32_t number)
{
    for (uint32_t i = 0; i < model.of->members; i++) {
        const int64_t *offsets = columns->offsets[i];
        if (id_of(columns, i, number) != -1 ||
            (offsets != NULL && offsets[number + 1] != offsets[number])) {
            sim_fail("row %u, without a sample, has something of one", number);
        }
    }
    sim_picture_check(model.of, columns->batch, number, NULL);
}

static void check_row(const taken *columns, uint32_t number, uint8_t status)
{
    const bool made =
        status == SLUICE_ROW_OK || status == SLUICE_ROW_REPLACED || status == SLUICE_ROW_REPEATED;
    if (model.of->kind != SIM_SAMPLES) {
        check_unit(columns, number, made);
    } else if (made) {
        check_made(columns, number, status);
    } else {
        check_lost(columns, number);
    }
}

/* `own`: true if the epoch has not counted it before. */
static void check_mask(const taken *columns, uint32_t number, bool own)
{
    const uint8_t status = columns->status[number];
    const bool counts = own && (status == SLUICE_ROW_OK || status == SLUICE_ROW_REPLACED);
    if (columns->mask[number] != counts) {
        sim_fail("row %u of status %u has mask %u", number, status, columns->mask[number]);
    }
}

/* Checks a row that fills up a last batch. */
static void check_surplus(uint32_t number, uint8_t status)
{
    const sim_case *of = model.of;
    const bool pads = of->last_batch == SLUICE_LAST_PAD;
    const bool replaced = status == SLUICE_ROW_REPLACED && of->on_bad == SLUICE_BAD_REPLACE;
    const bool lost = status == SLUICE_ROW_BAD && of->on_bad != SLUICE_BAD_FAIL;
    if (pads ? status != SLUICE_ROW_PADDING
             : status != SLUICE_ROW_REPEATED && (!has_bad() || !(replaced || lost))) {
        sim_fail("row %u of the last batch has status %u", number, status);
    }
}

/* ---- a place ---- */

static void check_status(uint32_t entry, uint8_t status, int64_t index)
{
    const sim_case *of = model.of;
    const bool some = has_bad();
    const bool known = index >= 0 && index < SIM_UNITS_MAX;
    if (status == SLUICE_ROW_BAD && of->on_bad == SLUICE_BAD_MASK && of->members == 1 &&
        !model.lossy && !(known && of->bad[index])) {
        sim_fail("place %u lacks sample %lld, which is not bad", entry, (long long)index);
    }
    if (status == SLUICE_ROW_OK ||
        (status == SLUICE_ROW_BAD && some && of->on_bad != SLUICE_BAD_FAIL) ||
        (status == SLUICE_ROW_REPLACED && some && of->on_bad == SLUICE_BAD_REPLACE)) {
        return;
    }
    sim_fail("place %u has status %u", entry, status);
}

static void compare_place(const taken *columns, uint32_t number, row *known, uint8_t status)
{
    const uint32_t entry = (uint32_t)(known - model.rows[0]) % SIM_ROWS_MAX;
    row now = {.known = true, .seen = true, .status = status, .index = columns->index[number]};
    now.picture =
        model.of->picture == SIM_BLEND /* depends on the batch, and so on the number of ranks */
            ? 0
            : sim_picture_digest(model.of, columns->batch, number);
    check_status(entry, status, columns->index[number]);
    for (uint32_t i = 0; i < model.of->members; i++) {
        now.ids[i] = id_of(columns, i, number);
    }
    if (known->seen) {
        sim_fail("place %u comes twice", entry);
    }
    if (model.lossy && (status != SLUICE_ROW_OK || known->status != SLUICE_ROW_OK)) {
        known->seen = true;
        return;
    }
    /* A replacement follows the position, which changes with the number of ranks. */
    const bool moves = model.of->repeats > 1 && status != SLUICE_ROW_OK;
    if (known->known && !moves &&
        (known->status != now.status || known->index != now.index ||
         known->picture != now.picture || memcmp(known->ids, now.ids, sizeof(now.ids)) != 0)) {
        sim_fail("place %u: sample %lld, status %u; in an earlier run sample %lld, status %u",
                 entry, (long long)now.index, now.status, (long long)known->index, known->status);
    }
    *known = now;
}

uint64_t sim_rows_digest(const sluice_batch *batch)
{
    taken columns;
    uint64_t digest = sluice_batch_rows(batch);
    take(batch, &columns);
    for (uint32_t i = 0; i < sluice_batch_rows(batch); i++) {
        digest = sim_mix(digest ^ sim_picture_digest(model.of, batch, i));
        digest = sim_mix(digest ^ (uint64_t)columns.index[i]) + columns.status[i];
        for (uint32_t k = 0; k < model.of->members; k++) {
            digest = sim_mix(digest ^ (uint64_t)id_of(&columns, k, i));
        }
    }
    return digest;
}

/* Checks the rows of an episode, from `first` on. */
static void check_episode(const taken *columns, uint32_t first)
{
    int64_t classes[SIM_EPISODE_CLASSES];
    for (uint32_t i = 0; i < SIM_EPISODE_CLASSES; i++) {
        classes[i] = -1;
        for (uint32_t k = 0; k < SIM_EPISODE_SAMPLES; k++) {
            const uint32_t number = first + i * SIM_EPISODE_SAMPLES + k;
            if (columns->status[number] == SLUICE_ROW_BAD) {
                continue;
            }
            const int64_t class = model.of->data->classes[columns->index[number]];
            if (classes[i] >= 0 && class != classes[i]) {
                sim_fail("row %u of an episode is of class %lld, not %lld", number,
                         (long long)class, (long long)classes[i]);
            }
            classes[i] = class;
        }
    }
    if (classes[0] == classes[1] && classes[0] >= 0) {
        sim_fail("row %u begins an episode of one class", first);
    }
}

/* Counts the good samples of a class. */
static uint32_t count_good(uint32_t class)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < model.of->data->samples; i++) {
        count += model.of->data->classes[i] == class && !model.of->bad[i];
    }
    return count;
}

/* No sample comes twice in an episode as long as there are others. Enough others must remain for
 * the partners of the same class, which differ for each row. */
static void check_different(const taken *columns, uint32_t first)
{
    uint32_t needed = SIM_EPISODE_SAMPLES;
    for (uint32_t i = 1; i < model.of->members; i++) {
        needed += model.of->rules[i] == SIM_SAME ? SIM_EPISODE_SAMPLES : 0;
    }
    for (uint32_t i = first; i < first + SIM_EPISODE; i += SIM_EPISODE_SAMPLES) {
        if (columns->status[i] != SLUICE_ROW_BAD && columns->status[i + 1] != SLUICE_ROW_BAD &&
            columns->index[i] == columns->index[i + 1] && !model.lossy &&
            count_good(model.of->data->classes[columns->index[i]]) >= needed) {
            sim_fail("row %u and the next are one sample, of %u good ones", i,
                     count_good(model.of->data->classes[columns->index[i]]));
        }
    }
}

uint64_t sim_rows_check(const sluice_batch *batch, const sim_place *at)
{
    taken columns;
    const part own = part_of(at);
    if (sluice_batch_rows(batch) != own.rows ||
        sluice_batch_epoch(batch) != model.of->epoch + at->epoch) {
        sim_fail("step %u of rank %u has %u rows of epoch %llu; should have %u", at->step, at->rank,
                 sluice_batch_rows(batch), (unsigned long long)sluice_batch_epoch(batch), own.rows);
    }
    take(batch, &columns);
    for (uint32_t i = 0; i < own.rows; i++) {
        const uint8_t status = columns.status[i];
        check_row(&columns, i, status);
        if (i < own.own) {
            compare_place(&columns, i, &model.rows[at->epoch][entry_of(at, &own, i)], status);
        } else {
            check_surplus(i, status);
        }
        check_mask(&columns, i, i < own.own);
    }
    for (uint32_t i = 0; model.of->order == SIM_EPISODES && i < own.own; i += SIM_EPISODE) {
        check_episode(&columns, i);
        check_different(&columns, i);
    }
    return sim_rows_digest(batch);
}

bool sim_rows_may_fail(const sim_place *at, int64_t sample)
{
    const sim_case *of = model.of;
    (void)at;
    const bool names = sample >= 0 && sample < SIM_UNITS_MAX;
    /* For a packed row, the error names the document. */
    const bool bad = of->kind == SIM_PACKED ? of->bad_count > 0 : names && of->bad[sample];
    return of->on_bad == SLUICE_BAD_FAIL && names && (bad || model.lossy);
}

/* ---- all of it ---- */

static void check_sample(uint32_t sample, uint32_t count, uint32_t dropped)
{
    const sim_case *of = model.of;
    if (of->bad[sample]) {
        return; /* no row has this sample */
    }
    const uint32_t least = of->repeats > dropped ? of->repeats - dropped : 0;
    if (count < least || (of->bad_count == 0 && count > of->repeats)) {
        sim_fail("sample %u comes %u times in an epoch", sample, count);
    }
}

/* Returns the sample at a place without a shuffle. */
static uint32_t in_order(uint32_t place)
{
    const sim_case *of = model.of;
    return of->picture == SIM_BUCKET ? sim_bucket_sample(of, place / of->global, place % of->global)
                                     : place / of->repeats;
}

static void check_mix(uint32_t epochs)
{
    int64_t samples[SIM_EPOCHS * SIM_ROWS_MAX];
    for (uint32_t i = 0; i < SIM_EPOCHS * SIM_ROWS_MAX; i++) {
        const row *one = &model.rows[i / SIM_ROWS_MAX][i % SIM_ROWS_MAX];
        samples[i] = one->known && one->status == SLUICE_ROW_OK ? one->index : -1;
    }
    sim_mixes_check(model.of, samples, epochs);
}

void sim_rows_end_epoch(uint32_t epoch)
{
    const sim_case *of = model.of;
    uint32_t counts[SIM_UNITS_MAX] = {0};
    const bool drops = of->last_batch == SLUICE_LAST_DROP;
    const uint32_t dropped = !drops                      ? 0
                             : of->picture == SIM_BUCKET ? of->units
                                                         : of->rows % of->global;
    const uint32_t rows = drops ? of->rows / of->global * of->global : of->rows;
    uint32_t others = 0;
    for (uint32_t i = 0; i < rows; i++) {
        const row *one = &model.rows[epoch][i];
        if (i % of->global >= step_rows(i / of->global * of->global)) {
            continue;
        }
        if (!one->seen) {
            sim_fail("place %u does not come", i);
        }
        if (one->known && one->status != SLUICE_ROW_OK) {
            others++;
        }
        if (one->known && one->status == SLUICE_ROW_OK) {
            counts[one->index]++;
            if (of->shuffle == SLUICE_SHUFFLE_NONE && !of->mixed && one->index != in_order(i)) {
                sim_fail("place %u has sample %lld, without a shuffle", i, (long long)one->index);
            }
        }
    }
    if (of->mixed) {
        if (of->kind != SIM_PACKED) {
            check_mix(epoch + 1);
        }
        return;
    }
    if (of->members > 1 || model.lossy || of->order == SIM_EPISODES || of->order == SIM_WEIGHTS) {
        return; /* bad partners replace rows, too; samples come as drawn */
    }
    if (others > of->bad_count * of->repeats) {
        sim_fail("%u rows are not their own sample's, and %u samples are bad", others,
                 of->bad_count);
    }
    for (uint32_t i = 0; i < of->units; i++) {
        check_sample(i, counts[i], dropped);
    }
}
