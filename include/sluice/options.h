/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sluice/options.h: what a loader's options are chosen from, and the size of what it saves.
 * Included by sluice/loader.h.
 */
#ifndef SLUICE_OPTIONS_H
#define SLUICE_OPTIONS_H

typedef enum sluice_shuffle {
    SLUICE_SHUFFLE_FULL = 0,  /* a permutation of all samples, new in every epoch */
    SLUICE_SHUFFLE_BLOCK = 1, /* blocks of neighbours, then samples inside a window of blocks */
    SLUICE_SHUFFLE_NONE = 2,  /* the order of the dataset */
    /*
     * Each file is read from front to back: the files in an order that is new in every epoch, eight
     * at a time, and the samples of a window of what they give, mixed with each other. For datasets
     * that can be read in no other way (sluice_dataset_info.front_to_back), and any other that
     * knows where its samples are in its files, and how large they are. Each rank reads its share
     * of the files; at the ends of the shares two ranks read a file, the later one from its front.
     */
    SLUICE_SHUFFLE_SHARDS = 3
} sluice_shuffle;

typedef enum sluice_last_batch {
    SLUICE_LAST_DROP = 0,   /* samples that do not fill a global batch are left out of the epoch */
    SLUICE_LAST_PAD = 1,    /* the last batch is whole; its surplus rows are zero, with mask 0 */
    SLUICE_LAST_SHORT = 2,  /* the last batch has fewer rows (0 for some ranks, at worst) */
    SLUICE_LAST_REPEAT = 3, /* the last batch is whole: its surplus rows are samples from the
                               epoch's beginning, different ones on each rank if there are enough;
                               mask 0 and SLUICE_ROW_REPEATED mark them */
    SLUICE_LAST_WRAP = 4    /* as REPEAT, but the last samples are not spread over the ranks: rank 0
                               takes the first batch_size of them, and so on. Surplus rows come last
                               where the ranks' rows are joined in order, as accelerate does */
} sluice_last_batch;

typedef enum sluice_bad_sample {
    SLUICE_BAD_FAIL = 0,    /* next returns the sample's error instead of its batch (of several
                               bad ones in it, any) */
    SLUICE_BAD_REPLACE = 1, /* another sample of the dataset takes the row (with SHUFFLE_SHARDS, and
                               of compressed files, one of the first eight of some file); where
                               eight of them are bad, too, it is masked */
    SLUICE_BAD_MASK = 2     /* the row is zero, its label -1, its mask 0 */
} sluice_bad_sample;

typedef enum sluice_io_backend {
    SLUICE_IO_AUTO = 0,  /* io_uring for shards where the kernel allows it, else PREAD */
    SLUICE_IO_URING = 1, /* open fails with UNSUPPORTED where it is refused */
    SLUICE_IO_PREAD = 2  /* a pool of threads */
} sluice_io_backend;

typedef enum sluice_page_cache {
    /* By what the page cache holds, file by file: BUFFERED where it has the bytes, else DIRECT; but
     * while the storage cannot keep up, and the dataset fits in half of the memory, BUFFERED with
     * read-ahead, so that the next epoch finds it there. Image folders: BUFFERED */
    SLUICE_CACHE_AUTO = 0,
    SLUICE_CACHE_BUFFERED = 1, /* through the page cache */
    SLUICE_CACHE_DIRECT = 2,   /* O_DIRECT; buffered where the file system refuses it */
    SLUICE_CACHE_DROP = 3      /* through the page cache, and dropped from it behind the reader */
} sluice_page_cache;

/* Which way up images are decoded. */
typedef enum sluice_exif {
    /* As the dataset annotated them: the `orientation` of the image's field (sluice/dataset.h).
     * STORED, and where nothing is known, as in class folders: as stored. UPRIGHT: turned. BY_SIZE:
     * the way up that has the size in the sample's WIDTH and HEIGHT fields */
    SLUICE_EXIF_AUTO = 0,
    SLUICE_EXIF_APPLY = 1, /* turned upright as the EXIF orientation says */
    SLUICE_EXIF_IGNORE = 2 /* pixels as stored, like torchvision's and Pillow's open() */
} sluice_exif;

/* Partners of a row's own sample, at most (sluice/loader.h, `partners`). */
#define SLUICE_PARTNERS_MAX 31

/* Space that is enough for any cursor (sluice_loader_save). */
#define SLUICE_CURSOR_BYTES 96

#endif
