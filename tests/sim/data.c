/* SPDX-License-Identifier: Apache-2.0 */
#include "data.h"

#include "dataset.h"
#include "png_make.h"
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FIELDS = 3, OBJECTS_MAX = 8, SIDE_MAX = 32 };

sim_data sim_datas[SIM_DATA] = {
    {.name = "small", .samples = 31, .largest = 200},
    {.name = "fixed", .samples = 40, .largest = 64, .fixed = true},
    {.name = "varied", .samples = 33, .largest = 9000, .first_id = 31},
    {.name = "large", .samples = 22, .largest = 36000},
    {.name = "joined", .joined = true, .parts = {SIM_SMALL, SIM_VARIED}},
    {.name = "pictures", .samples = 29, .largest = 9000, .pictures = true},
    {.name = "posters", .samples = 23, .largest = 600, .pictures = true, .first_id = 29},
    {.name = "gallery", .joined = true, .pictures = true, .parts = {SIM_PICTURES, SIM_POSTERS}},
};

static void must(sluice_status status, const sluice_error *error)
{
    if (status != SLUICE_OK) {
        sim_fail("data: %s: %s (%s)", sluice_status_name(status), error->text, error->file);
    }
}

void sim_data_colour(const sim_data *data, uint32_t sample, uint8_t colour[SIM_CHANNELS])
{
    const uint32_t id = data->first_id + sample;
    colour[0] = (uint8_t)(4 * id);
    colour[1] = (uint8_t)(250 - 4 * id);
    colour[2] = (uint8_t)(id * 37);
}

static png_file make_picture(const sim_data *data, uint32_t sample)
{
    uint8_t rows[SIDE_MAX * (1 + SIDE_MAX * SIM_CHANNELS)];
    const sluice_size size = data->shapes[sample];
    size_t bytes = 0;
    for (uint32_t y = 0; y < size.height; y++) {
        rows[bytes++] = 0; /* the row's filter */
        for (uint32_t x = 0; x < size.width; x++, bytes += SIM_CHANNELS) {
            sim_data_colour(data, sample, rows + bytes);
        }
    }
    png_file file = png_make_begin(size.width, size.height, 8, 2, false);
    png_make_data(&file, rows, bytes);
    png_make_chunk(&file, "IEND", NULL, 0);
    return file;
}

static void make_samples(sim_data *data, uint32_t number)
{
    static const sluice_size shapes[] = {{16, 16}, {24, 12}, {12, 24}, {26, 14}};
    sim_draw draw = {number + 1};
    for (uint32_t i = 0; i < data->samples; i++) {
        const uint32_t bytes = data->fixed
                                   ? data->largest
                                   : data->largest / 4 + sim_below(&draw, data->largest / 4 * 3);
        uint8_t *payload = malloc(bytes);
        if (payload == NULL) {
            sim_fail("no memory for samples");
        }
        for (uint32_t k = 0; k < bytes; k++) {
            payload[k] = (uint8_t)sim_draw_next(&draw);
        }
        data->sizes[i] = bytes;
        data->payloads[i] = payload;
        data->classes[i] = sim_below(&draw, SIM_CLASSES);
        data->shapes[i] = shapes[data->pictures ? sim_below(&draw, 4) : 0];
        data->bytes += bytes;
    }
}

static void write_packed(const sim_data *data, const char *folder)
{
    sluice_field fields[FIELDS] = {SLUICE_FIELD_INIT, SLUICE_FIELD_INIT, SLUICE_FIELD_INIT};
    const uint32_t count = data->pictures ? FIELDS : FIELDS - 1;
    sluice_writer_options options = SLUICE_WRITER_OPTIONS_INIT;
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_writer *writer;
    (void)snprintf(fields[0].name, sizeof(fields[0].name), "id");
    fields[0].type = SLUICE_FIELD_INT;
    (void)snprintf(fields[1].name, sizeof(fields[1].name), "payload");
    fields[1].type = SLUICE_FIELD_TENSOR;
    fields[1].dtype = SLUICE_U8;
    fields[1].dims = 1;
    fields[1].shape[0] = data->fixed ? data->largest : 0;
    (void)snprintf(fields[2].name, sizeof(fields[2].name), "image");
    fields[2].type = SLUICE_FIELD_IMAGE;
    options.fields = fields;
    options.field_count = count;
    options.zstd_level = SLUICE_ZSTD_OFF;
    options.shard_bytes = 1 << 20;
    must(sluice_writer_open(&writer, folder, &options, &error), &error);
    for (uint32_t i = 0; i < data->samples; i++) {
        sluice_value values[FIELDS] = {SLUICE_VALUE_INIT, SLUICE_VALUE_INIT, SLUICE_VALUE_INIT};
        png_file picture = {NULL, 0, 0};
        if (data->pictures) {
            picture = make_picture(data, i);
        }
        values[0].integer = data->first_id + i;
        values[1].data = data->payloads[i];
        values[1].bytes = data->sizes[i];
        values[2].data = picture.data;
        values[2].bytes = picture.size;
        must(sluice_writer_add_values(writer, values, count, &error), &error);
        png_make_free(&picture);
    }
    must(sluice_writer_finish(writer, &error), &error);
}

static void remove_folder(const char *folder)
{
    char command[256];
    (void)snprintf(command, sizeof(command), "rm -r '%s'", folder);
    if (system(command) != 0) { // NOLINT(cert-env33-c,concurrency-mt-unsafe): our own folder
        (void)fprintf(stderr, "sim: %s is left\n", folder);
    }
}

/* `mix` NULL: the parts follow one another. */
static sluice_dataset *open_parts(const sim_data *data, const sluice_mix_options *mix)
{
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_dataset *parts[SIM_SOURCES] = {sim_data_open_one(&sim_datas[data->parts[0]]),
                                          sim_data_open_one(&sim_datas[data->parts[1]])};
    sluice_dataset *joined;
    must(mix != NULL ? sluice_dataset_mix(&joined, parts, SIM_SOURCES, mix, &error)
                     : sluice_dataset_concat(&joined, parts, SIM_SOURCES, NULL, &error),
         &error);
    sluice_dataset_close(parts[0]);
    sluice_dataset_close(parts[1]);
    return joined;
}

sluice_dataset *sim_data_open_mix(const sim_data *data, const double weights[SIM_SOURCES],
                                  uint64_t epoch_samples)
{
    sluice_mix_options options = SLUICE_MIX_OPTIONS_INIT;
    options.weights = weights;
    options.row_count = 1;
    options.epoch_samples = epoch_samples;
    return open_parts(data, &options);
}

sluice_dataset *sim_data_open_one(const sim_data *data)
{
    char address[64];
    const char *paths[1] = {address};
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_dataset *dataset;
    if (data->joined) {
        return open_parts(data, NULL);
    }
    (void)snprintf(address, sizeof(address), SIM_SCHEME "%s", data->name);
    must(sluice_dataset_open(&dataset, paths, 1, NULL, &error), &error);
    return dataset;
}

/* Copies the samples of two other datasets. */
static void join_samples(sim_data *joined)
{
    for (uint32_t i = 0; i < SIM_SOURCES; i++) {
        const sim_data *part = &sim_datas[joined->parts[i]];
        for (uint32_t k = 0; k < part->samples; k++) {
            const uint32_t to = joined->samples++;
            joined->sizes[to] = part->sizes[k];
            joined->payloads[to] = part->payloads[k];
            joined->classes[to] = part->classes[k];
            joined->shapes[to] = part->shapes[k];
        }
        joined->largest = part->largest > joined->largest ? part->largest : joined->largest;
        joined->bytes += part->bytes;
    }
}

static uint64_t find_payload(const sim_data *data, uint32_t sample)
{
    const sim_dead *place = &data->places[sample];
    uint64_t bytes;
    const uint8_t *file = sim_disk_bytes(place->path, &bytes);
    for (uint64_t at = place->begin; at + data->sizes[sample] <= place->end; at++) {
        if (memcmp(file + at, data->payloads[sample], data->sizes[sample]) == 0) {
            return at - place->begin;
        }
    }
    sim_fail("the payload of sample %u is not on the disk", sample);
}

static void find_places(sim_data *data)
{
    static char names[SIM_DATA][OBJECTS_MAX][64];
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_dataset *opened = sim_data_open_one(data);
    const sl_dataset *dataset = (const void *)opened;
    for (uint32_t i = 0; i < data->samples; i++) {
        sl_sample found;
        must(sl_dataset_find(dataset, i, &found, &error), &error);
        char *path = names[data - sim_datas][found.place.object % OBJECTS_MAX];
        must(sl_objects_path(dataset->objects, found.place.object, path, 64), &error);
        data->places[i] = (sim_dead){.path = path,
                                     .begin = found.place.offset,
                                     .end = found.place.offset + found.place.bytes};
        data->inside[i] = find_payload(data, i);
    }
    sluice_dataset_close(opened);
}

void sim_data_open(void)
{
    char folder[] = "/tmp/sluice-sim-XXXXXX";
    if (mkdtemp(folder) == NULL) {
        sim_fail("cannot make %s", folder);
    }
    for (uint32_t i = 0; i < SIM_DATA; i++) {
        sim_data *data = &sim_datas[i];
        char path[64];
        if (data->joined) {
            join_samples(data);
            find_places(data);
            continue;
        }
        make_samples(data, i);
        (void)snprintf(path, sizeof(path), "%s/%s", folder, data->name);
        write_packed(data, path);
        sim_disk_load(path, data->name);
        find_places(data);
    }
    remove_folder(folder);
}

void sim_data_close(void)
{
    for (uint32_t i = 0; i < SIM_DATA; i++) {
        for (uint32_t k = 0; !sim_datas[i].joined && k < sim_datas[i].samples; k++) {
            free(sim_datas[i].payloads[k]);
        }
    }
}

void sim_data_place(const sim_data *data, uint32_t sample, sim_dead *place)
{
    *place = data->places[sample];
}

void sim_data_spoil(const sim_data *data, uint32_t sample)
{
    sim_dead place;
    uint64_t bytes;
    sim_data_place(data, sample, &place);
    sim_disk_bytes(place.path, &bytes)[(place.begin + place.end) / 2] ^= 0x40;
}
