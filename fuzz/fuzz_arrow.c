/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_arrow: any bytes as an Arrow file, and as the state.json of a folder with two sound files
 * and a table of row numbers. Input: one byte (choice of format), then the bytes. Whatever opens
 * must give samples inside the file, and values of the size they claim. */
#include "fuzz.h"

#include "arrow_make.h"
#include "dataset.h"
#include "dtype.h"
#include "format_table.h"
#include "photo_folder.h"
#include "shard_format.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_AS_IT_IS, STATE, MODES };
enum { SAMPLES_MAX = 64 };

static char folder[256];

static void look_at_value(const sl_field *field, const sl_value *value)
{
    static volatile uint8_t sum;
    if (!value->present || field->type == SLUICE_FIELD_INT || field->type == SLUICE_FIELD_FLOAT)
        return;
    for (size_t i = 0; i < value->bytes.size; i++)
        sum = (uint8_t)(sum + value->bytes.data[i]); /* every byte is readable */
    if (field->type != SLUICE_FIELD_TENSOR)
        return;
    uint64_t wanted = sl_dtype_bytes(field->dtype);
    for (uint32_t i = 0; i < field->dims; i++) {
        fuzz_expect(field->shape[i] == 0 || value->shape[i] == field->shape[i], "shapes are kept");
        wanted *= value->shape[i];
    }
    fuzz_expect(value->bytes.size == wanted, "an array has the size of its shape");
}

static void look_at_sample(const sl_dataset *dataset, uint64_t index, const sl_sample *sample)
{
    static sl_values values;
    sluice_error error = SLUICE_ERROR_INIT;
    size_t size = 0;
    uint8_t *bytes = malloc(sample->place.bytes); /* of exactly that size, for the sanitizer */
    fuzz_expect(bytes != NULL, "memory");
    if (sl_dataset_read(dataset, sample, (sl_buffer){bytes, sample->place.bytes}, &size, &error) ==
        SLUICE_OK) {
        sl_values_begin(&values, SL_VALUES_ALL);
        const sluice_status status =
            sl_dataset_unpack(dataset, sample, (sl_bytes){bytes, size}, &values, &error);
        fuzz_expect(status == SLUICE_OK || error.text[0] != '\0', "a refusal has a reason");
        for (uint32_t i = 0; status == SLUICE_OK && i < dataset->info.fields; i++)
            look_at_value(&dataset->fields[i], &values.of[i]);
    }
    fuzz_expect(error.status >= 0 || error.sample == (int64_t)index, "it names the sample");
    free(bytes);
}

static void look_at(const sl_dataset *dataset)
{
    const uint64_t samples = dataset->info.samples;
    const uint64_t count = samples < SAMPLES_MAX ? samples : SAMPLES_MAX;
    fuzz_expect(samples > 0 && dataset->info.fields > 0, "there is something in it");
    for (uint64_t i = 0; i < count; i++) {
        sl_sample sample;
        sl_place lookup;
        sl_refusal why;
        const uint64_t index = count > 1 ? (samples - 1) * i / (count - 1) : 0;
        if (sl_dataset_locate(dataset, index, &sample, &lookup, &why) == SLUICE_UNSUPPORTED)
            continue; /* larger than 2^32 - 1 bytes */
        const uint64_t bytes = sl_objects_bytes(dataset->objects, sample.place.object);
        fuzz_expect(sample.place.bytes > 0, "there is something to read");
        if (sample.place.bytes > SL_RECORD_BYTES_MAX)
            continue;
        for (uint32_t k = 0; k < sample.pieces; k++) {
            const sl_piece piece = dataset->ops->piece(dataset, &sample, k);
            fuzz_expect(piece.offset <= bytes && piece.bytes <= bytes - piece.offset,
                        "samples lie in their files");
        }
        look_at_sample(dataset, index, &sample);
    }
}

static void run_path(const char *path)
{
    static const char *const chosen[] = {"a=image:bytes", "n=label:int", "w=word", "p=pair"};
    for (uint32_t fields = 0; fields <= 4; fields += 4) {
        sl_dataset *dataset = NULL;
        sluice_error error = SLUICE_ERROR_INIT;
        sluice_dataset_options options = SLUICE_DATASET_OPTIONS_INIT;
        options.fields = chosen;
        options.field_count = fields;
        if (sl_format_arrow.open(&dataset, &path, 1, &options, &error) == SLUICE_OK) {
            look_at(dataset);
            sl_dataset_close(dataset);
        } else {
            fuzz_expect(error.status < 0 && error.text[0] != '\0', "a refusal has a reason");
        }
    }
}

static void run_file(const uint8_t *file, size_t size)
{
    char path[64];
    sl_look look;
    const int fd = memfd_create("arrow", MFD_CLOEXEC);
    fuzz_expect(fd >= 0 && write(fd, file, size) == (ssize_t)size, "a file of memory");
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    sl_look_begin(&look, path);
    (void)sl_format_arrow.probe(&look);
    run_path(path);
    (void)close(fd);
}

/* ---- folders ---- */

static void remove_folder(void)
{
    remove_tree(folder);
}

static void make_folder(void)
{
    static uint8_t capacity[2 * ARROW_MAKE_BYTES];
    static const uint64_t rows[] = {3, 1, 1};
    char path[512];
    if (folder[0] != '\0')
        return;
    temporary_directory(folder, sizeof(folder));
    atexit(remove_folder);
    for (unsigned i = 0; i < 2; i++) {
        const arrow_options options = {.first = 2 * i, .batches = 1, .rows = 2};
        (void)snprintf(path, sizeof(path), "%s/%u.arrow", folder, i);
        write_file(path, capacity, (uint32_t)arrow_make(capacity, &options));
    }
    (void)snprintf(path, sizeof(path), "%s/i.arrow", folder);
    write_file(path, capacity, (uint32_t)arrow_make_indices(capacity, rows, 3));
}

static void run_state(const uint8_t *text, size_t size)
{
    char path[512];
    make_folder();
    (void)snprintf(path, sizeof(path), "%s/state.json", folder);
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    fuzz_expect(fd >= 0 && write(fd, text, size) == (ssize_t)size, "a file can be written");
    (void)close(fd);
    run_path(folder);
}

int fuzz_run(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    if (data[0] % MODES == FILE_AS_IT_IS) {
        run_file(data + 1, size - 1);
    } else {
        run_state(data + 1, size - 1);
    }
    return 0;
}

/* ---- seeds ---- */

/* Files made by python/tests/arrows.py. */
static size_t file_seed(unsigned index, uint8_t *buffer)
{
    char name[4096];
    (void)snprintf(name, sizeof(name), "%s/%u.arrow", FUZZ_ARROWS, index);
    FILE *seed = fopen(name, "rb");
    if (seed == NULL)
        return 0;
    buffer[0] = FILE_AS_IT_IS;
    const size_t size = 1 + fread(buffer + 1, 1, FUZZ_INPUT_MAX - 1, seed);
    fclose(seed);
    return size;
}

size_t fuzz_seed(unsigned index, uint8_t *buffer)
{
    static const char state[] =
        "{\"_data_files\": [{\"filename\": \"0.arrow\", \"skip\": 0}, {\"filename\": "
        "\"1.arrow\"}], \"_indices_data_files\": [{\"filename\": \"i.arrow\"}]}";
    static const uint64_t rows[] = {5, 1};
    const arrow_options options[] = {{.batches = 2, .rows = 3},
                                     {.batches = 2, .rows = 3, .file = true},
                                     {.batches = 2, .rows = 3, .legacy = true},
                                     {.batches = 1, .rows = 40}};
    if (index < sizeof(options) / sizeof(options[0])) {
        buffer[0] = FILE_AS_IT_IS;
        return 1 + arrow_make(buffer + 1, &options[index]);
    }
    switch (index) {
    case 4:
        buffer[0] = FILE_AS_IT_IS;
        return 1 + arrow_make_indices(buffer + 1, rows, 2);
    case 5:
        buffer[0] = STATE;
        memcpy(buffer + 1, state, sizeof(state) - 1);
        return sizeof(state);
    default:
        return file_seed(index - 6, buffer);
    }
}
