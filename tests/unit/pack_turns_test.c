/* SPDX-License-Identifier: Apache-2.0 */
/* Tests that a dataset that can only be read front to back is read in sample order, one sample at a
 * time, regardless of the number of workers, the memory, and the samples' outcomes; and that work
 * cancelled midway ends. */
#include "error.h"
#include "memory.h"
#include "photo_folder.h"
#include "prepare.h"
#include "test.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { SAMPLES = 300, SAMPLE_BYTES = 100, LOST = 77, UNMADE = 5, SHORT = 33 };

typedef struct fake {
    sl_dataset base;
    atomic_uint reading; /* workers between key and unpack */
    atomic_uint_fast64_t next;
    atomic_bool disordered;
} fake;

static void wait_some(uint64_t index)
{
    const struct timespec time = {0, (long)(index * 7919 % 13 * 20000)};
    (void)nanosleep(&time, NULL);
}

/* Checks that this is the only reader, and that no other one has already passed its sample. */
static sluice_status note_key(const sl_dataset *dataset, uint64_t index, char *key, size_t bytes)
{
    fake *own = (fake *)(void *)(uintptr_t)dataset; /* NOLINT(performance-no-int-to-ptr): const */
    const bool alone = atomic_fetch_add_explicit(&own->reading, 1, memory_order_seq_cst) == 0;
    const bool in_turn = atomic_load_explicit(&own->next, memory_order_seq_cst) <= index;
    wait_some(index);
    if (!alone || !in_turn) {
        atomic_store_explicit(&own->disordered, true, memory_order_seq_cst);
    }
    atomic_store_explicit(&own->next, index + 1, memory_order_seq_cst);
    atomic_fetch_sub_explicit(&own->reading, 1, memory_order_seq_cst);
    (void)snprintf(key, bytes, "%u", (unsigned)index);
    return SLUICE_OK;
}

static sluice_status locate(const sl_dataset *dataset, uint64_t index, sl_sample *sample,
                            sl_place *lookup, sl_refusal *why)
{
    (void)dataset;
    *lookup = (sl_place){.bytes = 1};
    *sample = (sl_sample){.place = {.offset = index * SAMPLE_BYTES, .bytes = SAMPLE_BYTES}};
    *why = sl_refuse("lost", 5);
    return index == LOST ? SLUICE_CORRUPT : SLUICE_OK;
}

static sl_refusal unpack(const sl_dataset *dataset, const sl_sample *sample, sl_bytes bytes,
                         sl_values *values)
{
    (void)dataset;
    (void)values;
    return bytes.data[0] == sample->index % 256 ? sl_accept() : sl_refuse("another sample", 0);
}

static sluice_status path_of(void *ctx, uint32_t object, char *path, size_t bytes)
{
    (void)object;
    (void)snprintf(path, bytes, "%s", (const char *)ctx);
    return SLUICE_OK;
}

/* ---- the job ---- */

static sluice_status open_nothing(void *state, const void *config, sluice_error *error)
{
    (void)state;
    (void)config;
    (void)error;
    return SLUICE_OK;
}

static void close_nothing(void *state)
{
    (void)state;
}

/* Takes as much memory as a re-tiled image, and some time. */
static sluice_status make(void *state, sl_prepare_sample *sample, void *made, sluice_error *error)
{
    const sl_allowance *allowance = sample->allowance;
    const uint64_t index = sample->place->index;
    (void)state;
    (void)made;
    if (!allowance->charge(allowance->ctx, SAMPLE_BYTES)) {
        return sl_error_set(error, SLUICE_CANCELED, "test", "stopped");
    }
    wait_some(index * 31);
    allowance->give_back(allowance->ctx, SAMPLE_BYTES);
    if (index == SHORT) { /* as unpackers report it: they know only good and bad */
        sl_memory_note_shortage();
        return sl_error_set(error, SLUICE_CORRUPT, "test", "it is damaged");
    }
    return index % UNMADE == 0 ? sl_error_set(error, SLUICE_CORRUPT, "test", "not made")
                               : SLUICE_OK;
}

static sluice_status expected(uint64_t index)
{
    if (index == SHORT) {
        return SLUICE_NOMEM;
    }
    return index == LOST || index % UNMADE == 0 ? SLUICE_CORRUPT : SLUICE_OK;
}

static const sl_prepare_job job = {.state_bytes = 1,
                                   .made_bytes = 1,
                                   .open = open_nothing,
                                   .close = close_nothing,
                                   .make = make,
                                   .drop = close_nothing};

static void run(fake *own, const sl_prepare_config *config, uint64_t taken)
{
    sl_prepare *prepare = NULL;
    atomic_store_explicit(&own->next, 0, memory_order_seq_cst);
    assert_int_equal(sl_prepare_open(&prepare, config, NULL), SLUICE_OK);
    for (uint64_t i = config->first; i < config->first + taken; i++) {
        char key[16];
        sl_prepared *prepared;
        assert_int_equal(sl_prepare_next(prepare, &prepared, NULL), SLUICE_OK);
        assert_int_equal(prepared->position, i);
        (void)snprintf(key, sizeof(key), "%u", (unsigned)i);
        assert_string_equal(prepared->key, i == LOST ? "" : key);
        assert_int_equal(prepared->status, expected(i));
        assert_int_equal(prepared->fatal, i == SHORT); /* no sample is skipped for it */
        sl_prepare_done(prepare, prepared);
    }
    sl_prepare_close(prepare);
    assert_false(atomic_load_explicit(&own->disordered, memory_order_seq_cst));
}

static void samples_are_read_in_turn(void **state)
{
    char folder[256];
    char path[300];
    static uint8_t content[SAMPLES * SAMPLE_BYTES];
    for (size_t i = 0; i < SAMPLES; i++)
        memset(content + i * SAMPLE_BYTES, (int)(i % 256), SAMPLE_BYTES);
    temporary_directory(folder, sizeof(folder));
    (void)snprintf(path, sizeof(path), "%s/file", folder);
    write_file(path, content, sizeof(content));
    const sl_dataset_ops ops = {.locate = locate, .unpack = unpack, .key = note_key};
    fake own = {.base = {.ops = &ops, .info = {.samples = SAMPLES, .front_to_back = 1}}};
    const sl_object_names names = {.ctx = path, .count = 1, .path = path_of};
    assert_int_equal(sl_objects_open(&own.base.objects, &names, NULL), SLUICE_OK);
    static const uint32_t workers[] = {1, 3, 16};
    static const uint64_t budgets[] = {0, UINT64_C(5) * SAMPLE_BYTES, UINT64_MAX / 2};
    for (size_t i = 0; i < 9; i++) {
        sl_prepare_config config = {.dataset = &own.base,
                                    .job = &job,
                                    .keep_order = true,
                                    .workers = workers[i / 3],
                                    .end = SAMPLES,
                                    .budget_bytes = budgets[i % 3]};
        run(&own, &config, i < 3 ? 40 : SAMPLES);
        config.first = LOST - 3;
        run(&own, &config, i < 3 ? 0 : 20); /* cancelled midway */
    }
    sl_objects_close(own.base.objects);
    remove_tree(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(samples_are_read_in_turn)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
