/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record_files: tests shared by all datasets made of record files, regardless of format: reading by
 * walking and by an index, each sample once per epoch, damage reported.
 *
 * A format's test describes how its records are made (record_files), and runs these bodies with
 * that as their state. There are RECORD_FILES files of RECORD_SAMPLES samples each; sample i of
 * file f has the label 100 f + i. record_files_begin makes them, in the test's folder
 * (test_folder.h), and a cache for indexes; record_files_end removes all. Threads: the test's.
 */
#ifndef SL_RECORD_FILES_H
#define SL_RECORD_FILES_H

#include <sluice/dataset.h>

#include <stdbool.h>
#include <stddef.h>

enum { RECORD_FILES = 9, RECORD_SAMPLES = 7, RECORD_MOST = 16384 };

typedef struct record_files {
    const char *format, *words; /* expected from sluice_dataset_info and sluice_dataset_describe */
    const char *name;           /* name of file f, for printf */
    const char *range;          /* range that names all files; NULL: the folder */
    /* Writes a sample's record at `to` (RECORD_MOST bytes), or the bytes after the last one; NULL:
     * none. */
    size_t (*put)(uint8_t *to, unsigned label);
    size_t (*put_end)(uint8_t *to);
    /* Content of `field`, and its element size. */
    const char *field;
    size_t element;
    size_t (*payload)(uint8_t *to, unsigned label);
    /* Checks the sample's other fields; NULL: not called. */
    void (*check)(const sluice_dataset *dataset, uint64_t index, unsigned label);
    /* Called before the files are opened for the n-th time; NULL: not called. */
    void (*round)(unsigned n);
} record_files;

void record_files_begin(const record_files *files);
void record_files_end(void);
/* Opens a path in the folder, or fails the test. */
sluice_dataset *record_open(const char *name, const sluice_dataset_options *options);
size_t record_little_endian(uint8_t *to, uint64_t value, size_t bytes);

/* The test bodies, whose state is a record_files. The last two leave no good files. */
void records_walked_and_from_an_index(void **state);
void records_once_in_an_epoch(void **state);
void records_cut_short_anywhere(void **state); /* a file may end after any record */
void records_first_bad_file_is_told(void **state);

#define RECORD_TEST(body, files)                                     \
    {                                                                \
        .name = #body, .test_func = (body), .initial_state = (files) \
    }

#endif
