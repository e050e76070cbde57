/* SPDX-License-Identifier: Apache-2.0 */
/*
 * data: the datasets of the simulation, and what their samples are.
 *
 * Purpose: a few packed datasets of small samples, written by the library to a folder of this
 * machine and read from the simulated disk (disk.h). Fields: id (int), from first_id on, and
 * payload (tensor of u8), bytes that nothing else has, kept here for comparison; some have pictures
 * (image), each of one colour that no other has, so that a pixel says whose it is. Threads: fibers;
 * immutable once open, except by sim_data_spoil.
 */
#ifndef SIM_DATA_H
#define SIM_DATA_H

#include "disk.h"

#include <sluice/sluice.h>

enum { SIM_SAMPLES_MAX = 64, SIM_CLASSES = 4, SIM_CHANNELS = 3, SIM_SOURCES = 2 };

/* Those without pictures come first. */
typedef enum sim_data_number {
    SIM_SMALL,
    SIM_FIXED,
    SIM_VARIED,
    SIM_LARGE,
    SIM_JOINED,
    SIM_PICTURES,
    SIM_POSTERS,
    SIM_GALLERY,
    SIM_DATA
} sim_data_number;

enum { SIM_DATA_PLAIN = SIM_PICTURES };

typedef struct sim_data {
    const char *name;
    uint32_t samples, largest; /* of its payloads, in bytes */
    bool fixed;                /* all payloads are as long */
    bool joined;               /* of the two of `parts` */
    bool pictures;
    sim_data_number parts[SIM_SOURCES];
    uint32_t first_id; /* of its samples */
    uint32_t sizes[SIM_SAMPLES_MAX];
    uint8_t *payloads[SIM_SAMPLES_MAX];
    uint32_t classes[SIM_SAMPLES_MAX];
    sluice_size shapes[SIM_SAMPLES_MAX]; /* of pictures */
    uint64_t bytes;
    sim_dead places[SIM_SAMPLES_MAX]; /* of their bytes on the disk */
    uint64_t inside[SIM_SAMPLES_MAX]; /* where the payload begins in these */
} sim_data;

extern sim_data sim_datas[SIM_DATA];

/* Makes all of them in a temporary folder, which is gone afterwards. */
void sim_data_open(void);
void sim_data_close(void);
/* Opens the dataset again, with none of its index known. The caller closes it. */
sluice_dataset *sim_data_open_one(const sim_data *data);
/* The same of a mix of its parts, by weights. */
sluice_dataset *sim_data_open_mix(const sim_data *data, const double weights[SIM_SOURCES],
                                  uint64_t epoch_samples);
/* The colour of a picture. */
void sim_data_colour(const sim_data *data, uint32_t sample, uint8_t colour[SIM_CHANNELS]);
/* Where the sample's bytes are. */
void sim_data_place(const sim_data *data, uint32_t sample, sim_dead *place);
/* Changes a byte of the sample on the disk; again: changes it back. */
void sim_data_spoil(const sim_data *data, uint32_t sample);

#endif
