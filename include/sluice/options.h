/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sluice/options.h: the choices of a loader's options, and the size of a cursor. Included by
 * sluice/loader.h.
 */
#ifndef SLUICE_OPTIONS_H
#define SLUICE_OPTIONS_H

typedef enum sluice_shuffle {
    SLUICE_SHUFFLE_FULL = 0,  /* a permutation of all samples, new in every epoch */
    SLUICE_SHUFFLE_BLOCK = 1, /* blocks of neighbors, then samples within a window of blocks */
    SLUICE_SHUFFLE_NONE = 2,  /* the order of the dataset */
    /*
     * Reads each file from front to back: eight files at a time, in an order that is new in every
     * epoch, and shuffles their samples within a window. For datasets that can be read in no other
     * way (sluice_dataset_info.front_to_back), and any other that knows the places and sizes of its
     * samples. Each rank reads its share of the files; where two shares meet within a file, both
     * ranks read it, the later one from its beginning.
     */
    SLUICE_SHUFFLE_SHARDS = 3
} sluice_shuffle;

typedef enum sluice_last_batch {
    SLUICE_LAST_DROP = 0,   /* drops samples that do not fill a global batch */
    SLUICE_LAST_PAD = 1,    /* fills the last batch with zero rows, with mask 0 */
    SLUICE_LAST_SHORT = 2,  /* the last batch has fewer rows, on some ranks perhaps 0 */
    SLUICE_LAST_REPEAT = 3, /* fills the last batch with samples from the epoch's beginning,
                               different ones on each rank if there are enough; mask 0 and
                               SLUICE_ROW_REPEATED mark them */
    SLUICE_LAST_WRAP = 4 /* like REPEAT, but does not spread the last samples over the ranks: rank 0
                            takes the first batch_size of them, and so on. Surplus rows come last
                            if the ranks' rows are joined in order, as accelerate does */
} sluice_last_batch;

typedef enum sluice_bad_sample {
    SLUICE_BAD_FAIL = 0,    /* next returns a bad sample's error instead of the batch (any one, if
                               the batch has several) */
    SLUICE_BAD_REPLACE = 1, /* another sample of the dataset takes the row (with SHUFFLE_SHARDS and
                               compressed files: one of the first eight of some file); if eight
                               substitutes are bad as well, the row is masked */
    SLUICE_BAD_MASK = 2     /* the row is zero, with label -1 and mask 0 */
} sluice_bad_sample;

typedef enum sluice_io_backend {
    SLUICE_IO_AUTO = 0,  /* io_uring for shards if the kernel allows it, else PREAD */
    SLUICE_IO_URING = 1, /* io_uring; open fails with UNSUPPORTED without it */
    SLUICE_IO_PREAD = 2  /* pread on a pool of threads */
} sluice_io_backend;

typedef enum sluice_page_cache {
    /* Decides for each file: BUFFERED if the page cache has its bytes, else DIRECT. But while the
     * storage cannot keep up, and the dataset fits in half of the memory: BUFFERED with read-ahead,
     * so that the next epoch finds it cached. Image folders: BUFFERED */
    SLUICE_CACHE_AUTO = 0,
    SLUICE_CACHE_BUFFERED = 1, /* through the page cache */
    SLUICE_CACHE_DIRECT = 2,   /* O_DIRECT; buffered if the file system rejects it */
    SLUICE_CACHE_DROP = 3      /* through the page cache; drops pages once read */
} sluice_page_cache;

/* The orientation in which images are decoded. */
typedef enum sluice_exif {
    /* As annotated: the `orientation` of the image's field (sluice/dataset.h). STORED or unknown,
     * as in class folders: as stored. UPRIGHT: with the EXIF orientation applied. BY_SIZE: in the
     * orientation that has the size in the sample's WIDTH and HEIGHT fields */
    SLUICE_EXIF_AUTO = 0,
    SLUICE_EXIF_APPLY = 1, /* the EXIF orientation is applied */
    SLUICE_EXIF_IGNORE = 2 /* pixels as stored, like torchvision's and Pillow's open() */
} sluice_exif;

/* Largest number of partner samples of a row (sluice/loader.h, `partners`). */
#define SLUICE_PARTNERS_MAX 31

/* Enough space for any cursor (sluice_loader_save). */
#define SLUICE_CURSOR_BYTES 96

#endif
