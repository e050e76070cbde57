/* SPDX-License-Identifier: Apache-2.0 */
#include "units.h"

#include "world.h"

#include <string.h>

enum { DOCUMENTS_MAX = 32, NONE = -1 };

/* A packed row, as learnt. */
typedef struct learnt {
    bool known;
    int64_t samples[DOCUMENTS_MAX];
    uint64_t digest;
} learnt;

static learnt rows[SIM_UNITS_MAX];

void sim_units_begin(const sim_case *of)
{
    (void)of;
    memset(rows, 0, sizeof(rows));
}

static const void *data_of(const sluice_batch *batch, const char *name, uint32_t row, size_t bytes)
{
    sluice_tensor tensor = SLUICE_TENSOR_INIT;
    if (sluice_batch_tensor(batch, name, &tensor) != SLUICE_OK) {
        sim_fail("no column %s", name);
    }
    return (const uint8_t *)tensor.data + row * bytes;
}

/* ---- windows ---- */

static void check_window(const sim_case *of, const uint8_t *bytes, int64_t unit)
{
    uint32_t first = 0;
    const uint32_t sample = unit >= 0 ? sim_window_find(of, (uint32_t)unit, &first) : 0;
    for (uint32_t i = 0; unit < 0 && i < of->length; i++) {
        if (bytes[i] != 0) {
            sim_fail("a row without a window has something of one");
        }
    }
    if (unit >= 0 && memcmp(bytes, of->data->payloads[sample] + first, of->length) != 0) {
        sim_fail("window %lld is not elements %u and on of sample %u", (long long)unit, first,
                 sample);
    }
}

/* ---- packed rows ---- */

typedef struct packed {
    const int32_t *elements, *targets, *lengths, *count;
    const int64_t *samples;
} packed;

static packed packed_of(const sim_case *of, const sluice_batch *batch, uint32_t row)
{
    return (packed){.elements = data_of(batch, "row", row, of->length * sizeof(int32_t)),
                    .targets = data_of(batch, "row.targets", row, of->length * sizeof(int32_t)),
                    .lengths = data_of(batch, "row.lengths", row, DOCUMENTS_MAX * sizeof(int32_t)),
                    .count = data_of(batch, "row.count", row, sizeof(int32_t)),
                    .samples = data_of(batch, "row.samples", row, DOCUMENTS_MAX * sizeof(int64_t))};
}

static uint64_t digest_of(const sim_case *of, const packed *row)
{
    uint64_t digest = (uint64_t)*row->count;
    for (uint32_t i = 0; i < of->length; i++) {
        digest = sim_mix(digest ^ (uint64_t)row->elements[i]) + (uint64_t)row->targets[i];
    }
    for (uint32_t i = 0; i < DOCUMENTS_MAX; i++) {
        digest = sim_mix(digest ^ (uint64_t)row->samples[i]) + (uint64_t)row->lengths[i];
    }
    return digest;
}

/* True if the elements are consecutive in the sample, starting at `first`. */
static bool is_part(const sim_data *data, uint32_t sample, uint32_t first, const int32_t *elements,
                    uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (elements[i] != data->payloads[sample][first + i]) {
            return false;
        }
    }
    return true;
}

static void check_piece(const sim_case *of, int64_t sample, const int32_t *elements, uint32_t count)
{
    if (sample < 0 || sample >= of->data->samples || count > of->data->sizes[sample]) {
        sim_fail("a packed row has %u elements of sample %lld", count, (long long)sample);
    }
    for (uint32_t i = 0; i + count <= of->data->sizes[sample]; i++) {
        if (is_part(of->data, (uint32_t)sample, i, elements, count)) {
            return;
        }
    }
    sim_fail("%u elements of a packed row do not stand in sample %lld", count, (long long)sample);
}

static void learn_row(const sim_case *of, const packed *row, int64_t unit)
{
    uint32_t used = 0;
    if (unit < 0 || unit >= SIM_UNITS_MAX) {
        sim_fail("packed row %lld", (long long)unit);
    }
    for (int32_t i = 0; i < *row->count; i++) {
        if (used + (uint32_t)row->lengths[i] > of->length) {
            sim_fail("packed row %lld is longer than a row", (long long)unit);
        }
        check_piece(of, row->samples[i], row->elements + used, (uint32_t)row->lengths[i]);
        used += (uint32_t)row->lengths[i];
    }
    memcpy(rows[unit].samples, row->samples, sizeof(rows[unit].samples));
    rows[unit].digest = digest_of(of, row);
    rows[unit].known = true;
}

/* Sums over pieces that do not depend on where a sample was cut. */
typedef struct sums {
    uint64_t elements, values, squares;
} sums;

static void add_element(sums *of, uint64_t value)
{
    of->elements++;
    of->values += value;
    of->squares += sim_mix(value);
}

void sim_units_learn(const sim_case *of, const sluice_batch *batch)
{
    sums all[SIM_SAMPLES_MAX] = {{0}};
    for (uint32_t i = 0; i < sluice_batch_rows(batch); i++) {
        const packed row = packed_of(of, batch, i);
        const int32_t *at = row.elements;
        learn_row(of, &row, *(const int64_t *)data_of(batch, "index", i, sizeof(int64_t)));
        for (int32_t k = 0; k < *row.count; k++) {
            for (int32_t j = 0; j < row.lengths[k]; j++) {
                add_element(&all[row.samples[k]], (uint64_t)*at++);
            }
        }
    }
    for (uint32_t i = 0; !of->mixed && i < of->data->samples; i++) {
        sums whole = {0};
        for (uint32_t k = 0; k < of->data->sizes[i]; k++) {
            add_element(&whole, of->data->payloads[i][k]);
        }
        if (memcmp(&whole, &all[i], sizeof(whole)) != 0) {
            sim_fail("sample %u does not stand once in packed rows", i);
        }
    }
}

void sim_units_mark(sim_case *of)
{
    bool samples[SIM_SAMPLES_MAX];
    memcpy(samples, of->bad, sizeof(samples));
    memset(of->bad, 0, sizeof(of->bad));
    of->bad_count = 0;
    for (uint32_t i = 0; i < SIM_UNITS_MAX; i++) {
        for (uint32_t k = 0; rows[i].known && k < DOCUMENTS_MAX && rows[i].samples[k] >= 0; k++) {
            of->bad[i] = of->bad[i] || samples[rows[i].samples[k]];
        }
        of->bad_count += of->bad[i];
    }
}

static void check_packed(const sim_case *of, const sluice_batch *batch, uint32_t number,
                         int64_t unit)
{
    const packed row = packed_of(of, batch, number);
    if (unit < 0) {
        for (uint32_t i = 0; i < of->length; i++) {
            if (row.elements[i] != 0) {
                sim_fail("packed row %u, without documents, has elements", number);
            }
        }
        if (*row.count != 0 || row.samples[0] != NONE) {
            sim_fail("packed row %u, without a unit, has documents", number);
        }
        return;
    }
    if (unit < SIM_UNITS_MAX && !rows[unit].known) {
        learn_row(of, &row, unit); /* of a mix, whose epoch has only some rows */
    }
    if (unit >= SIM_UNITS_MAX || digest_of(of, &row) != rows[unit].digest) {
        sim_fail("packed row %u is not unit %lld as one worker made it", number, (long long)unit);
    }
}

void sim_units_check(const sim_case *of, const sluice_batch *batch, uint32_t row, int64_t unit)
{
    if (of->kind == SIM_WINDOWS) {
        check_window(of, data_of(batch, "window", row, of->length), unit);
    } else {
        check_packed(of, batch, row, unit);
    }
}
