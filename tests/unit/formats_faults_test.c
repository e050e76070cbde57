/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Datasets over a store that fails on purpose (tests/support/store_fault.h): each is opened and
 * read through it with each of its operations failing in turn. Every failure is reported by a
 * status and a file name, no sample is lost or changed silently, and nothing stays open. Arguments:
 * datasets; formats_faults.py makes one of each format.
 */
#include "batches.h"
#include "checksum.h"
#include "loader_setup.h"
#include "photo_folder.h"
#include "store_fault.h"

#include <sluice/sluice.h>

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPERATIONS_MOST = 120, SAMPLES_MAX = 64, BUFFER_BYTES = 2 << 20, FINDINGS_SHOWN = 20 };

/* Results of reading a dataset. */
typedef struct seen {
    sluice_status opened;
    uint64_t samples;
    uint64_t described; /* fields, classes, fingerprint and description */
    bool front_to_back;
    bool pictures;
    bool whole_files; /* each sample is a whole file */
    sluice_status read[SAMPLES_MAX];
    uint64_t sum[SAMPLES_MAX]; /* sums of the samples read */
    uint64_t bad;              /* front to back: findings of verify */
} seen;

static uint32_t findings;
static uint8_t buffer[BUFFER_BYTES];

static void find(const char *path, const char *text, const sluice_error *error)
{
    if (findings++ < FINDINGS_SHOWN) {
        (void)fprintf(stderr, "%s: %s (%s failed): %d %d %s \"%s\"\n", path, text,
                      store_fault_what(), error->status, error->sys_errno, error->file,
                      error->text);
    }
}

/* Every failure gives the reason and the file. */
static void check_error(const char *path, sluice_status status, const sluice_error *error)
{
    if (error->text[0] == '\0' || error->status != status) {
        find(path, "an error without a word", error);
    } else if (error->file[0] == '\0') {
        find(path, "an error that names no file", error);
    }
}

static sluice_status read_sample(const sluice_dataset *dataset, uint64_t index, uint32_t fields,
                                 uint64_t *sum, sluice_error *error)
{
    sl_checksum_stream stream;
    sl_checksum_begin(&stream);
    sluice_sample_info info = SLUICE_SAMPLE_INFO_INIT;
    sluice_status status = sluice_dataset_get_sample(dataset, index, &info, error);
    sl_checksum_add_u64(&stream, (uint64_t)info.label);
    for (uint32_t i = 0; status == SLUICE_OK && i < fields; i++) {
        size_t bytes = 0;
        sluice_field field = SLUICE_FIELD_INIT;
        assert(sluice_dataset_get_field(dataset, i, &field) == SLUICE_OK);
        status =
            sluice_dataset_read(dataset, index, field.name, buffer, sizeof(buffer), &bytes, error);
        assert(status != SLUICE_AGAIN);
        if (status == SLUICE_OK) {
            sl_checksum_add_u64(&stream, bytes);
            sl_checksum_add(&stream, buffer, bytes);
        }
    }
    *sum = sl_checksum_value(&stream);
    return status;
}

static uint64_t describe(const sluice_dataset *dataset, const sluice_dataset_info *info,
                         bool *pictures)
{
    sl_checksum_stream stream;
    sl_checksum_begin(&stream);
    sl_checksum_add(&stream, info, sizeof(*info));
    const char *text = sluice_dataset_describe(dataset);
    sl_checksum_add(&stream, text, strlen(text) + 1);
    for (uint32_t i = 0; i < info->classes; i++) {
        const char *name = sluice_dataset_class_name(dataset, i);
        sl_checksum_add(&stream, name, name != NULL ? strlen(name) : 0);
    }
    for (uint32_t i = 0; i < info->fields; i++) {
        sluice_field field = SLUICE_FIELD_INIT;
        assert(sluice_dataset_get_field(dataset, i, &field) == SLUICE_OK);
        sl_checksum_add(&stream, &field, sizeof(field));
        *pictures = *pictures || field.type == SLUICE_FIELD_IMAGE;
    }
    return sl_checksum_value(&stream);
}

static void read_all(const char *path, const sluice_dataset *dataset, seen *s, uint32_t fields)
{
    for (uint64_t i = 0; i < s->samples && i < SAMPLES_MAX; i++) {
        sluice_error error = SLUICE_ERROR_INIT;
        s->read[i] = read_sample(dataset, i, fields, &s->sum[i], &error);
        if (s->read[i] < 0) {
            check_error(path, s->read[i], &error);
        }
    }
}

static void verify_all(const char *path, const sluice_dataset *dataset, seen *s)
{
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_verify_options options = SLUICE_VERIFY_OPTIONS_INIT;
    sluice_verify_result result = SLUICE_VERIFY_RESULT_INIT;
    options.workers = 1;
    const sluice_status status = sluice_dataset_verify(dataset, &options, &result, &error);
    s->bad = result.bad + (status < 0);
    if (status < 0) {
        check_error(path, status, &error);
    }
}

/* Opens and reads; `replaced` replaces all files in between. */
static void look(const char *path, bool replaced, seen *s)
{
    static const char *const whole[] = {"folder", "table", "coco", "voc", "masks", "yolo"};
    const char *paths[] = {path};
    sluice_dataset *dataset = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    memset(s, 0, sizeof(*s));
    s->opened = sluice_dataset_open(&dataset, paths, 1, NULL, &error);
    if (s->opened < 0) {
        check_error(path, s->opened, &error);
        return;
    }
    sluice_dataset_info info = SLUICE_DATASET_INFO_INIT;
    assert(sluice_dataset_get_info(dataset, &info) == SLUICE_OK);
    s->samples = info.samples;
    s->described = describe(dataset, &info, &s->pictures);
    s->front_to_back = info.front_to_back != 0;
    for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++) {
        s->whole_files = s->whole_files || strcmp(info.format, whole[i]) == 0;
    }
    if (replaced) {
        store_fault_arm(STORE_FAULT_REPLACED, 0);
    }
    if (s->front_to_back) {
        verify_all(path, dataset, s);
    } else {
        read_all(path, dataset, s, info.fields);
    }
    sluice_dataset_close(dataset);
}

static void compare(const char *path, const seen *sound, const seen *s)
{
    const sluice_error none = SLUICE_ERROR_INIT;
    if (s->opened < 0) {
        return;
    }
    if (s->samples != sound->samples) {
        find(path, "another number of samples", &none);
    } else if (s->described != sound->described) {
        find(path, "another dataset", &none);
    }
    for (uint64_t i = 0; i < s->samples && i < SAMPLES_MAX && !s->front_to_back; i++) {
        if (s->read[i] == SLUICE_OK && s->sum[i] != sound->sum[i]) {
            find(path, "another sample", &none);
        }
    }
}

static void check_closed(const char *path)
{
    const sluice_error none = SLUICE_ERROR_INIT;
    if (store_fault_handles() > 0) {
        find(path, "a handle stays open", &none);
    }
}

static void fail_each(const char *path, const seen *sound, store_fault fault, uint32_t operations)
{
    static seen s;
    const uint32_t step = operations / OPERATIONS_MOST + 1;
    for (uint32_t i = 0; i < operations; i += i < OPERATIONS_MOST / 2 ? 1 : step) {
        store_fault_arm(fault, i);
        look(path, false, &s);
        compare(path, sound, &s);
        check_closed(path);
    }
}

/* Replaces all files after opening. If a sample is a whole file, which is checked when it is read,
 * the new file is valid. */
static void replace_all(const char *path, const seen *sound)
{
    static seen s;
    if (sound->whole_files) {
        return;
    }
    store_fault_arm(STORE_FAULT_NONE, 0);
    look(path, true, &s);
    assert(s.opened == SLUICE_OK);
    compare(path, sound, &s);
    check_closed(path);
}

/* A loader gives the same images as for local files, without a descriptor for reading. */
static void load(const char *local, const char *path)
{
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_loader *loader = NULL;
    batches here;
    batches there;
    sluice_loader_options options = setup_options();
    options.shuffle = SLUICE_SHUFFLE_NONE;
    if (setup_loader_status(&loader, local, &options, &error) < 0) {
        return; /* it has other fields, which would need options */
    }
    batches_collect(&here, loader, 0);
    sluice_loader_close(loader);
    if (setup_loader_status(&loader, path, &options, &error) < 0) {
        find(path, "a loader does not open", &error);
        batches_free(&here);
        return;
    }
    batches_collect(&there, loader, 0);
    sluice_loader_close(loader);
    if (!batches_equal(&here, &there)) {
        find(path, "other batches", &error);
    }
    batches_free(&here);
    batches_free(&there);
}

static void check_dataset(const char *local)
{
    static seen here;
    static seen sound;
    static seen s;
    char path[4096];
    (void)snprintf(path, sizeof(path), STORE_FAULT_SCHEME "%s", local);
    look(local, false, &here);
    assert(here.opened == SLUICE_OK && here.samples > 0);
    store_fault_arm(STORE_FAULT_NONE, 0);
    look(path, false, &sound);
    const uint32_t operations = store_fault_count();
    const uint32_t before = findings;
    compare(path, &here, &sound);
    if (sound.opened < 0 || memcmp(sound.read, here.read, sizeof(here.read)) != 0 ||
        sound.bad != here.bad) {
        const sluice_error none = SLUICE_ERROR_INIT;
        find(path, "not the same as of local files", &none);
    }
    if (sound.pictures) {
        load(local, path);
    }
    check_closed(path);
    fail_each(path, &sound, STORE_FAULT_ONCE, operations);
    fail_each(path, &sound, STORE_FAULT_HALF_WAY, operations);
    fail_each(path, &sound, STORE_FAULT_STAYS, operations);
    replace_all(path, &sound);
    store_fault_arm(STORE_FAULT_NONE, 0);
    look(path, false, &s);
    compare(path, &sound, &s);
    (void)printf("%s: %u operations, %u findings\n", local, operations, findings - before);
}

/* Images of one class, opened by the table in its folder. */
static void check_class_with_a_table(void)
{
    static const char table[] = "file_name,text\np0000.jpg,one\np0001.jpg,two\np0002.jpg,three\n";
    photo_folder photos;
    char path[300];
    photo_folder_make(&photos, 1, 3);
    (void)snprintf(path, sizeof(path), "%s/c00/metadata.csv", photos.path);
    write_file(path, table, sizeof(table) - 1);
    check_dataset(photos.path);
    photo_folder_remove(&photos);
}

int main(int argc, char **argv)
{
    assert(setenv("SLUICE_CACHE_DIR", "", 1) == 0);
    assert(argc > 1);
    for (int i = 1; i < argc; i++) {
        check_dataset(argv[i]);
    }
    check_class_with_a_table();
    return findings > 0;
}
