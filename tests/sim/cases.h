/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cases: what one seed simulates.
 *
 * Purpose: a case is an epoch, and those behind it, that several runs load, each in another way.
 * What decides which samples a batch has is the case's: dataset, order, policy, bad samples. How
 * they are loaded is the run's: ranks, threads, memory, faults, what the consumer does. So all runs
 * of a case have to give the same rows. Threads: fibers.
 */
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

/* What decides the order, besides the shuffle. */
typedef enum sim_order {
    SIM_PLAIN,
    SIM_EPISODES, /* of SIM_EPISODE_CLASSES classes with SIM_EPISODE_SAMPLES each */
    SIM_WEIGHTS,
    SIM_LENGTHS
} sim_order;

/* What a row is. Units: samples, windows, or packed rows; each has a number, "index". */
typedef enum sim_kind { SIM_SAMPLES, SIM_WINDOWS, SIM_PACKED } sim_kind;

/* What the batch has of each sample's picture, 16 x 16, or of a bucket's size. */
typedef enum sim_picture {
    SIM_NO_PICTURE,
    SIM_RESIZED,
    SIM_MIXUP,  /* with the first partner's */
    SIM_MOSAIC, /* of four */
    SIM_BLEND,  /* with that of another row of the batch */
    SIM_BUCKET  /* alone; batches are of one size each (buckets.h) */
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
    uint64_t seed, epoch; /* the first of SIM_EPOCHS */
    uint32_t global;      /* rows of a batch on all ranks */
    int32_t shuffle, last_batch, on_bad;
    uint32_t block_samples, window_blocks;
    sim_order order;
    double numbers[SIM_SAMPLES_MAX]; /* weights, or lengths */
    uint32_t repeats;
    uint32_t members;
    sim_rule rules[SIM_MEMBERS_MAX]; /* of partners, from 1 on */
    char partners[64];               /* "": all are ANY */
    sim_picture picture;
    bool mixed; /* the parts of `data`, by weights */
    double weights[SIM_SOURCES];
    uint32_t rows; /* of an epoch, those that are dropped included */
    sim_kind kind;
    uint32_t length, stride;              /* of windows, or of packed rows; elements */
    int32_t cut;                          /* of documents */
    uint32_t units, sources[SIM_SOURCES]; /* of all data, and of a mix's parts */
    bool bad[SIM_UNITS_MAX];
    uint32_t bad_count;
    /* One byte of theirs is wrong: only whole samples have checksums. */
    bool spoilt[SIM_SAMPLES_MAX];
    /* Bad samples cannot be read; 0: they are damaged. */
    uint32_t dead_count;
    sim_dead dead[SIM_DEAD_MAX];
    bool device; /* some runs have batches in device memory */
} sim_case;

/* What the consumer of a rank does with one loader. */
typedef struct sim_how {
    uint32_t world;
    uint32_t workers, prefetch, depth, threads;
    uint64_t memory_bytes, resident_bytes;
    sim_limits limits;
    int32_t page_cache;
    bool fresh;       /* the dataset is opened again: none of its index is known */
    bool ends;        /* the loader knows which epoch is the last */
    bool together;    /* ranks run at the same time */
    bool looks;       /* another thread asks for statistics and cursors */
    uint64_t slow_ns; /* between batches, at most */
    uint32_t held;    /* batches that are kept, at most */
    int64_t timeout_ns;
    uint64_t stall_ns; /* a read that is older fails; 0: none is */
    sim_disk_how disk;
    sim_accelerator_how device;
} sim_how;

/* Opens the case's dataset, with none of its index known. The caller closes it. */
sluice_dataset *sim_open_data(const sim_case *of);
/* Windows of a sample; the sample of a window, and its first element there. */
uint32_t sim_windows_of(const sim_case *of, uint32_t sample);
uint32_t sim_window_find(const sim_case *of, uint32_t window, uint32_t *first);
sim_case sim_draw_case(sim_draw *draw);
sim_how sim_draw_how(sim_draw *draw, const sim_case *of);
/* What is wrong with the bad samples is there on the disk; again: is gone. */
void sim_spoil(const sim_case *of);

#endif
