/* SPDX-License-Identifier: Apache-2.0 */
/* data: DATASET arguments. */
#ifndef TOOL_DATA_H
#define TOOL_DATA_H

#include "options.h"

#include <sluice/dataset.h>
#include <sluice/datasets.h>
#include <sluice/remote.h>

#include <stdbool.h>
#include <stdint.h>

/* The options of every command with a DATASET. */
struct data_folder {
    sluice_dataset_options options; /* `fields` are below */
    uint64_t max_sample;            /* bytes of a sample to read; 0: the library's limit */
    struct option_list fields;      /* for formats whose samples have keys of their own */
    struct option_list with;        /* paths of datasets joined to it */
    struct option_list mixed;       /* likewise with a weight: PATH=WEIGHT */
    struct option_list common;      /* fields of the joined dataset */
    const char *labels;             /* how classes are joined: "same", "union", a JSON file */
    const char *ranges;             /* selected samples: "0:1000,5000:" */
    const char *index_file;         /* likewise: a file of sample numbers */
    const char *where;              /* likewise: a condition */
    sluice_remote_config remote;    /* options for object stores, for the whole process */
};

/* No options given. */
#define DATA_FOLDER_INIT                                                            \
    {                                                                               \
        .options = SLUICE_DATASET_OPTIONS_INIT, .remote = SLUICE_REMOTE_CONFIG_INIT \
    }

/* The rows of the option table for these options. */
#define DATA_FOLDER_ROWS(folder)                                                                \
    OPTION_GROUP("Dataset"), {LIBRARY_ROW(DATASET, (folder).options, "split"), .common = true}, \
        {"field",                                                                               \
         0,                                                                                     \
         OPTION_LIST,                                                                           \
         &(folder).fields,                                                                      \
         .metavar = "NAME=KEY[:TYPE]",                                                          \
         .help = "read KEY of the data as field NAME; repeatable [all fields]"},                \
        {"subset",                                                                              \
         0,                                                                                     \
         OPTION_TEXT,                                                                           \
         &(folder).ranges,                                                                      \
         .metavar = "RANGES",                                                                   \
         .help = "use only these samples, e.g. 0:1000,5000: or -100: [all]"},                   \
        {"indices",                                                                             \
         0,                                                                                     \
         OPTION_TEXT,                                                                           \
         &(folder).index_file,                                                                  \
         .metavar = "FILE",                                                                     \
         .help = "use only the samples numbered in FILE: .npy, or one per line [all]"},         \
        {"where",                                                                               \
         0,                                                                                     \
         OPTION_TEXT,                                                                           \
         &(folder).where,                                                                       \
         .metavar = "CONDITION",                                                                \
         .help = "use only matching samples: 'label < 10 and score > 0.5' [all]"},              \
        {"with",                                                                                \
         0,                                                                                     \
         OPTION_LIST,                                                                           \
         &(folder).with,                                                                        \
         .metavar = "PATH",                                                                     \
         .help = "join the dataset at PATH, of any format; repeatable"},                        \
        {"mix",                                                                                 \
         0,                                                                                     \
         OPTION_LIST,                                                                           \
         &(folder).mixed,                                                                       \
         .metavar = "PATH=WEIGHT",                                                              \
         .help = "mix in the dataset at PATH, WEIGHT times as often; repeatable"},              \
        {"common",                                                                              \
         0,                                                                                     \
         OPTION_LIST,                                                                           \
         &(folder).common,                                                                      \
         .metavar = "NAME",                                                                     \
         .help = "field to keep when joined datasets differ in fields; repeatable"},            \
        {"labels",                                                                              \
         0,                                                                                     \
         OPTION_TEXT,                                                                           \
         &(folder).labels,                                                                      \
         .metavar = "same|union|FILE",                                                          \
         .help = "join classes by name, or as a JSON FILE says [same]"},                        \
        {"max-sample",                                                                          \
         0,                                                                                     \
         OPTION_BYTES,                                                                          \
         &(folder).max_sample,                                                                  \
         .min = 1,                                                                              \
         .max = INT32_MAX,                                                                      \
         .metavar = "BYTES",                                                                    \
         .help = "largest accepted sample [1GiB; loaders: 4x the average; pack: 2GiB]"},        \
        LIBRARY_ROWS(DATASET, (folder).options), OPTION_GROUP("Remote data"),                   \
        LIBRARY_ROWS(REMOTE, (folder).remote)

/* Configures object stores from `folder`. False: the error was reported and `*code` is the exit
 * code. */
bool data_use_remote(const struct data_folder *folder, int *code);

/* Opens the dataset at `path`, and reports its warnings; the caller closes it. NULL: the error
 * was reported and `*code` is the exit code. */
sluice_dataset *data_open(const char *path, const struct data_folder *folder, int *code);

/* Returns whether labels are joined by the names of their classes; fills in how, for datasets
 * that are joined at the end. */
bool data_labels(const struct data_folder *folder, sluice_label_options *options);

/* Returns the number of CPUs that this process may use, at least 1. */
uint64_t data_processors(void);

#endif
