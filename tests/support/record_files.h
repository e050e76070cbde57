/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record_files: what a dataset of files of records has to do, whatever they look like: read by
 * walking and by an index, each sample once in an epoch, damage told.
 *
 * A format's test says how its records are made (record_files), and runs these bodies with that as
 * their state. RECORD_FILES files of RECORD_SAMPLES samples each; sample i of file f has the label
 * 100 f + i. record_files_begin makes them, in the test's folder (test_folder.h), and a cache for
 * indexes; record_files_end removes all. Threads: the test's.
 */
#ifndef SL_RECORD_FILES_H
#define SL_RECORD_FILES_H

#include <sluice/dataset.h>

#include <stdbool.h>
#include <stddef.h>

enum { RECORD_FILES = 9, RECORD_SAMPLES = 7, RECORD_MOST = 16384 };

typedef struct record_files {
    const char *format, *words; /* sluice_dataset_info's, and of sluice_dataset_describe */
    const char *name;           /* of file f, for printf */
    const char *range;          /* of all of them; NULL: the folder */
    /* What is put at `to` (RECORD_MOST bytes) for a sample, and behind the last one; NULL: nothing.
     */
    size_t (*put)(uint8_t *to, unsigned label);
    size_t (*put_end)(uint8_t *to);
    /* What `field` has, which is of elements of so many bytes. */
    const char *field;
    size_t element;
    size_t (*payload)(uint8_t *to, unsigned label);
    /* Looks at what else the sample has; NULL: nothing. */
    void (*check)(const sluice_dataset *dataset, uint64_t index, unsigned label);
    /* Called before the files are opened for the n-th time; NULL: nothing. */
    void (*round)(unsigned n);
} record_files;

void record_files_begin(const record_files *files);
void record_files_end(void);
/* Opens a path of the folder, or fails. */
sluice_dataset *record_open(const char *name, const sluice_dataset_options *options);
size_t record_little_endian(uint8_t *to, uint64_t value, size_t bytes);

/* The bodies, whose state is a record_files. The last two leave no good files. */
void records_walked_and_from_an_index(void **state);
void records_once_in_an_epoch(void **state);
void records_cut_short_anywhere(void **state); /* a file may end behind any record */
void records_first_bad_file_is_told(void **state);

#define RECORD_TEST(body, files)                                     \
    {                                                                \
        .name = #body, .test_func = (body), .initial_state = (files) \
    }

#endif
