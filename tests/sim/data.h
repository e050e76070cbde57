/* SPDX-License-Identifier: Apache-2.0 */
/* data: the datasets of the simulation and the contents of their samples.
 *
 * Purpose: a few packed datasets of small samples, written by the library to a real folder and read
 * from the simulated disk (disk.h). Fields: id (int), from first_id on, and payload (tensor of u8)
 * with unique bytes, kept here for comparison. Some have images (image) of a single colour, unique
 * to the sample, so that a pixel identifies its sample. Threads: fibers; immutable once open,
 * except by sim_data_spoil. */
#ifndef SIM_DATA_H
#define SIM_DATA_H

#include "disk.h"

#include <sluice/sluice.h>

enum { SIM_SAMPLES_MAX = 64, SIM_CLASSES = 4, SIM_CHANNELS = 3, SIM_SOURCES = 2 };

/* Datasets without images come first. */
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
    uint32_t samples, largest; /* largest: bytes of a payload */
    bool fixed;                /* all payloads have one length */
    bool joined;               /* joins the two of `parts` */
    bool pictures;
    sim_data_number parts[SIM_SOURCES];
    uint32_t first_id; /* id of its first sample */
    uint32_t sizes[SIM_SAMPLES_MAX];
    uint8_t *payloads[SIM_SAMPLES_MAX];
    uint32_t classes[SIM_SAMPLES_MAX];
    sluice_size shapes[SIM_SAMPLES_MAX]; /* of images */
    uint64_t bytes;
    sim_dead places[SIM_SAMPLES_MAX]; /* of their bytes on the disk */
    uint64_t inside[SIM_SAMPLES_MAX]; /* where the payload begins in these */
} sim_data;

extern sim_data sim_datas[SIM_DATA];

/* Makes all datasets in a temporary folder, which is removed afterwards. */
void sim_data_open(void);
void sim_data_close(void);
/* Opens the dataset again with an unknown index. The caller closes it. */
sluice_dataset *sim_data_open_one(const sim_data *data);
/* The same for a mix of its parts, by weight. */
sluice_dataset *sim_data_open_mix(const sim_data *data, const double weights[SIM_SOURCES],
                                  uint64_t epoch_samples);
/* Returns the colour of an image. */
void sim_data_colour(const sim_data *data, uint32_t sample, uint8_t colour[SIM_CHANNELS]);
/* Returns the position of the sample's bytes. */
void sim_data_place(const sim_data *data, uint32_t sample, sim_dead *place);
/* Changes a byte of the sample on the disk; a second call restores it. */
void sim_data_spoil(const sim_data *data, uint32_t sample);

#endif
