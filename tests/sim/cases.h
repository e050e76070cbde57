/* SPDX-License-Identifier: Apache-2.0 */
/* cases: the case that a seed simulates.
 *
 * Purpose: a case is an epoch and the epochs after it, which several runs load in different ways.
 * The case determines the samples of each batch: dataset, order, policy, bad samples. A run
 * determines how they are loaded: ranks, threads, memory, faults, the consumer's behaviour. So all
 * runs of a case must give the same rows. Threads: fibers. */
#ifndef SIM_CASES_H
#define SIM_CASES_H

#include "accelerator.h"
#include "data.h"
#include "draw.h"
#include "limits.h"

#include <sluice/sluice.h>

enum {
    SIM_MEMBERS_MAX = 4,
    SIM_REPEATS_MAX = 3,
    SIM_EPOCHS = 3,
    SIM_ROWS_MAX = SIM_SAMPLES_MAX * SIM_REPEATS_MAX,
    SIM_UNITS_MAX = SIM_ROWS_MAX
};

typedef enum sim_rule { SIM_ANY, SIM_SAME, SIM_OTHER } sim_rule;

/* The order, besides the shuffle. */
typedef enum sim_order {
    SIM_PLAIN,
    SIM_EPISODES, /* SIM_EPISODE_CLASSES classes with SIM_EPISODE_SAMPLES each */
    SIM_WEIGHTS,
    SIM_LENGTHS
} sim_order;

/* The kind of rows. Units are samples, windows, or packed rows; each has a number, "index". */
typedef enum sim_kind { SIM_SAMPLES, SIM_WINDOWS, SIM_PACKED } sim_kind;

/* The batch's image for each sample: 16 x 16, or of a bucket's size. */
typedef enum sim_picture {
    SIM_NO_PICTURE,
    SIM_RESIZED,
    SIM_MIXUP,  /* mixed with the first partner's image */
    SIM_MOSAIC, /* of four images */
    SIM_BLEND,  /* mixed with another row of the batch */
    SIM_BUCKET  /* never combined; each batch has one size (buckets.h) */
} sim_picture;

enum {
    SIM_MIXUP_MEMBERS = 2,
    SIM_MOSAIC_MEMBERS = 4,
    SIM_SIDE = 16,
    SIM_CELL = SIM_SIDE / 2,
    SIM_FILL = 114
};

enum { SIM_EPISODE_CLASSES = 2, SIM_EPISODE_SAMPLES = 2, SIM_EPISODE = 4 };

typedef struct sim_case {
    const sim_data *data;
    uint64_t seed, epoch; /* epoch: the first of SIM_EPOCHS */
    uint32_t global;      /* rows of a batch on all ranks */
    int32_t shuffle, last_batch, on_bad;
    uint32_t block_samples, window_blocks;
    sim_order order;
    double numbers[SIM_SAMPLES_MAX]; /* weights, or lengths */
    uint32_t repeats;
    uint32_t members;
    sim_rule rules[SIM_MEMBERS_MAX]; /* of partners, from index 1 on */
    char partners[64];               /* "": all are ANY */
    sim_picture picture;
    bool mixed; /* mixes the parts of `data` by weight */
    double weights[SIM_SOURCES];
    uint32_t rows; /* of an epoch, including dropped ones */
    sim_kind kind;
    uint32_t length, stride;              /* of windows, or of packed rows; elements */
    int32_t cut;                          /* of documents */
    uint32_t units, sources[SIM_SOURCES]; /* of all data, and of a mix's parts */
    bool bad[SIM_UNITS_MAX];
    uint32_t bad_count;
    /* One byte of these is wrong: only whole samples have checksums. */
    bool spoilt[SIM_SAMPLES_MAX];
    /* Number of unreadable byte ranges of bad samples; 0: they are damaged. */
    uint32_t dead_count;
    sim_dead dead[SIM_DEAD_MAX];
    bool device; /* some runs have batches in device memory */
} sim_case;

/* The consumer's use of one loader on a rank. */
typedef struct sim_how {
    uint32_t world;
    uint32_t workers, prefetch, depth, threads;
    uint64_t memory_bytes, resident_bytes;
    sim_limits limits;
    int32_t page_cache;
    bool fresh;       /* the dataset is reopened: its index is unknown */
    bool ends;        /* the loader knows which epoch is the last */
    bool together;    /* ranks run at the same time */
    bool looks;       /* another thread reads statistics and cursors */
    uint64_t slow_ns; /* longest pause between batches */
    uint32_t held;    /* most batches kept */
    int64_t timeout_ns;
    uint64_t stall_ns; /* an older read fails; 0: never */
    sim_disk_how disk;
    sim_accelerator_how device;
} sim_how;

/* Opens the case's dataset with an unknown index. The caller closes it. */
sluice_dataset *sim_open_data(const sim_case *of);
/* Returns the number of windows of a sample; finds a window's sample and its first element
 * there. */
uint32_t sim_windows_of(const sim_case *of, uint32_t sample);
uint32_t sim_window_find(const sim_case *of, uint32_t window, uint32_t *first);
sim_case sim_draw_case(sim_draw *draw);
sim_how sim_draw_how(sim_draw *draw, const sim_case *of);
/* Writes the damage of the bad samples to the disk; a second call removes it. */
void sim_spoil(const sim_case *of);

#endif
