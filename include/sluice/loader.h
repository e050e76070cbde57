/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sluice/loader.h: batches, ready before the training loop asks for them.
 *
 * A loader reads ahead, decodes and augments on its own threads straight into a fixed ring of batch
 * slots. Everything it needs is allocated by sluice_loader_open: from the second batch of an epoch
 * on, it allocates nothing, except to unpack a compressed file, when that is opened.
 *
 * The same (dataset, recipe, shuffle, seed, epoch, rank, world_size, batch_size, exact) gives the
 * same batches, bit for bit, regardless of the number of workers, the I/O backend, the machine's
 * load and retries.
 *
 * Threads: one consumer thread at a time calls start_epoch, start_endless and next.
 * sluice_loader_cancel, _get_stats, _get_error, _save, _close and all sluice_batch_* functions may
 * be called from any thread. After a fork, a loader belongs to the parent: every call in the child
 * returns SLUICE_STATE, and close there only forgets the handle.
 *
 * Example (examples/minimal.c is this, whole):
 *
 *     sluice_loader_options options = SLUICE_LOADER_OPTIONS_INIT;
 *     options.batch_size = 256;
 *     status = sluice_loader_open(&loader, data, recipe, &options, &error);
 *     for (uint64_t epoch = 0; epoch < 90; epoch++) {
 *         sluice_loader_start_epoch(loader, epoch);
 *         while (sluice_loader_next(loader, &batch, -1) == SLUICE_OK) {
 *             sluice_batch_tensor(batch, "image", &image);
 *             sluice_batch_tensor(batch, "label", &label);
 *             train_step(image.data, label.data);
 *             sluice_batch_release(batch);
 *         }
 *     }
 *     sluice_loader_close(loader);
 */
#ifndef SLUICE_LOADER_H
#define SLUICE_LOADER_H

#include <sluice/augment.h>
#include <sluice/columns.h>
#include <sluice/common.h>
#include <sluice/dataset.h>
#include <sluice/options.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sluice_loader sluice_loader;
typedef struct sluice_batch sluice_batch;
struct CUstream_st; /* a CUDA stream (cudaStream_t, CUstream), so that no CUDA header is needed */

/* Every 0 means the default in brackets. */
typedef struct sluice_loader_options {
    uint32_t struct_size;
    uint32_t batch_size;    /* rows of one rank's batch, 1..65536 [256] */
    uint32_t workers;       /* decoding threads, 1..1024 [the processors of this process;
                               any_numa_node] */
    uint32_t prefetch;      /* batch slots, the one in use included, 2..64 [4; of batches below
                               256 KiB as many as are in 1 MiB, at most 16] */
    int32_t dtype;          /* of "image": U8, F32, F16 or BF16 [U8] */
    int32_t layout;         /* of "image": a sluice_layout [NHWC] */
    uint64_t seed;          /* of order and augmentation [0] */
    uint32_t rank;          /* 0 .. world_size-1 [0] */
    uint32_t world_size;    /* ranks that share each epoch; sluice/ranks.h finds both [1] */
    int32_t shuffle;        /* a sluice_shuffle [FULL] */
    uint32_t block_samples; /* SHUFFLE_BLOCK: neighbours that stay together [64]; SHARDS: those
                               that are read of a file before it is the next one's turn [16] */
    uint32_t window_blocks; /* SHUFFLE_BLOCK: blocks mixed with each other [16]; SHARDS: the same,
                               and at most 32,768 samples [1024] */
    int32_t last_batch;     /* a sluice_last_batch [DROP] */
    int32_t on_bad_sample;  /* a sluice_bad_sample [FAIL] */
    int32_t exif;           /* a sluice_exif [AUTO] */
    int32_t io_backend;     /* a sluice_io_backend [AUTO] */
    int32_t page_cache;     /* a sluice_page_cache [AUTO] */
    uint32_t io_depth;      /* reads in flight, 1..512 [32; remote data: 256] */
    uint32_t io_threads;    /* of the pread pool, 1..64 [8]; compressed files are unpacked by as
                               many, but no more than 8 or there are processors */
    uint64_t read_buffer_bytes; /* memory for encoded samples [four average ones; with rows of
                                   several samples all samples of `prefetch` batches; 32 MiB ..
                                   1 GiB, and above 32 MiB at most a quarter of memory_bytes;
                                   SHUFFLE_BLOCK: one and a half windows, 32 MiB .. 1 GiB; SHARDS:
                                   a window, or two where a dataset is so small; INVALID below
                                   one] */
    uint64_t max_sample_bytes;  /* a larger encoded sample is a bad one, at most 1 GiB [four average
                                   ones, 64 MiB .. 1 GiB; of an image folder 64 MiB] */
    uint64_t max_pixels;        /* a larger picture is a bad sample, and so is one that the recipe
                                   enlarges to a canvas above this and above 2^24 pixels, unless
                                   the recipe fixes that size [100,000,000]; for the shapes of a
                                   row there is a limit of work (docs/limits.md) */
    uint64_t memory_bytes;  /* host memory. Open fails with NOMEM when batch slots, read buffer and
                               the tables of rows and samples on their way (some 200 bytes a row of
                               each slot) need more, with 1 MiB for each worker. Workers share the
                               rest to unpack and to decode in: a sample that needs more than a
                               worker's share to be decoded, with the pages that its values are in,
                               is a bad one (NOMEM). Pages that alone need more, and a shortage of
                               the machine's memory, fail the batch and make no bad sample. A
                               copy of the dataset (resident_bytes) may take half of the rest. Not
                               counted: tables of the dataset, device memory; copies of encoded
                               samples that arrive before the rest of their row (at most n - 1 for
                               each row of n samples on its way); windows of zstd above 8 MiB, of
                               up to 16 files that are open; the Huffman tables of a lossless WebP
                               that was made to harm (up to 1.3 GB, where usual pictures take 1
                               MB); code and stacks, which with a few workers touch less than 8 MiB
                               [no limit of our own: a worker takes what its pictures need, 25
                               bytes a pixel at most of the picture or of the largest canvas that
                               the recipe makes of it, whichever has more, up to 100 where these
                               are a few pixels wide or high; and the pages of compressed Parquet
                               that its values are in] */
    uint64_t stall_warn_ns; /* a read older than this is counted as stalled [30 s] */
    uint64_t stall_fail_ns; /* a read older than this fails its samples [120 s] */
    uint64_t end_epoch;     /* first epoch that will not be asked for; the loader does not read
                               ahead into it [unknown: it reads ahead into the next epoch] */
    const char *device;     /* where batches live: "host", "cuda:N" (the N-th that CUDA shows
                               this process; "cuda": the first), or "auto": "cuda:0" where that
                               can be, else "host" ["host"] */
    const char *quarantine_path; /* a text file to append bad samples to, one line each:
                                    epoch, sample, status, file, offset, reason, tab-separated.
                                    A FIFO without a reader is refused, and lines that a slow
                                    reader has no space for are left out [none] */
    uint32_t exact; /* 1: every picture is decoded at its full size, and each warp of a recipe is
                       done by itself. 0: one that is to become at least 4, 8 or 16 times smaller
                       on both sides is decoded at 1/2, 1/4 or 1/8 (JPEG), which costs less and
                       differs by some units in places; warps in a row are resampled once
                       (sluice/augment.h) [0] */
    uint32_t device_slots; /* batches in device memory, the one in use included, 2..64;
                              ignored with "host" [3] */
    /*
     * The first image column in memory of the caller's own, so that its addresses are fixed (for
     * CUDA graphs, or for who brings buffers along): output_count (2..64) blocks of space for
     * batch_size pictures, 16-byte-aligned, in use from open until the loader is closed and the
     * last batch is released. They take the place of device_slots; with "host", of prefetch.
     * INVALID, with which of them and what it is, for a block whose first or last byte is not the
     * device's: the host's, another device's, an address that is reserved and not mapped. Memory of
     * pools (cudaMallocAsync) and of cuMemMap is the device's; managed memory is taken where the
     * device can share it with the host at the same time. UNSUPPORTED where the library was built
     * without its kernels [NULL: memory of the library's]
     */
    void *const *outputs;
    uint32_t output_count;
    /*
     * 1: samples are read whole, and so are checked by their checksums, also where all columns are
     * parts of tensors, which can be read by themselves (sluice_column_part) [0]
     */
    uint32_t whole_samples;
    /*
     * What a batch holds (sluice/columns.h), copied by open. With it the recipe given to open must
     * be NULL, and dtype and layout 0: each image column has its own [NULL: every field that has a
     * natural column, as sluice/columns.h says]
     */
    const sluice_columns *columns;
    /*
     * A packed or flat dataset of at most this many bytes, without pictures or with small ones
     * (samples of less than 32 KiB on average), is copied to memory while its first batches are
     * made, and not read again; only with page_cache AUTO, an io_depth above 1, and where
     * memory_bytes leaves space. 1: none is. Where the machine has no memory for the copy, open
     * fails with NOMEM if this was given, and goes without the copy if not [the smaller of 1 GiB
     * and a sixteenth of the memory that is free]
     */
    uint64_t resident_bytes;
    /*
     * 0: on a machine with several NUMA nodes the loader's threads run on those processors of the
     * device's node that open's caller may run on, and by default there are no more workers than
     * these. They run anywhere where there are none, where `workers` asks for more, and with
     * "host". 1: anywhere [0]
     */
    uint32_t any_numa_node;
    uint32_t reserved; /* 0 */
    /*
     * What a column of integers (SLUICE_COLUMN_NUMBER of an int field: labels) has in rows without
     * a sample, or whose sample lacks the field; a loss with the same ignore_index leaves them
     * out. From INT32_MIN to INT32_MAX [-1]
     */
    int64_t ignore_index;
    /*
     * SHUFFLE_SHARDS: what the samples of a window, which are mixed with each other, take of the
     * read buffer, at most (each in units of 16 KiB; 1 MiB .. 1 TiB), beside the limit that
     * block_samples and window_blocks set to their number. It is a part of what the order is made
     * from, as these are [256 MiB]
     */
    uint64_t window_bytes;
    /*
     * Rows of several samples: a column of `partner` j, and a recipe with mosaic, mixup_partner or
     * copy_paste are made of other samples beside the row's own, which are read ahead as it is.
     * Words between commas say which sample is partner 1, 2, ... of the one at position p of an
     * epoch, a function of (seed, epoch, p, j):
     *   any          that at p of an order of j's own, so that each sample is partner j once an
     *                epoch, over all ranks; of SHUFFLE_BLOCK a block order, else a permutation. In
     *                a mix from all of its datasets, by their weights
     *   same_class   one of the others of its class, each as likely; itself where it is alone
     *   other_class  one of those of all other classes, each as likely
     * A bad partner goes by on_bad_sample, and is replaced by another that the rule allows. With
     * same_class or other_class a bad sample of the row's own is replaced by one of its class. Of
     * the batch's "index" and "status" the first is the row's own sample's, the second of all. Not
     * with SHUFFLE_SHARDS, compressed files and windows (UNSUPPORTED) [any, for those not named]
     */
    const char *partners;
    /*
     * For same_class, other_class and episodes: the class of each sample, below 2^24, by its number
     * in the dataset; class_count is that of the samples. Copied by open [NULL]
     */
    const uint32_t *classes;
    uint64_t class_count;
    /*
     * Buckets of aspect ratio: a list of sizes, "1024x1024,832x1216,1216x832" (width x height, 1 to
     * 16384 each), 1 to 64 of them. Each batch has one of these, the same on all ranks at the same
     * step, and its pictures are those whose aspect ratio is nearest to it, by the difference of
     * logarithms (of equally near ones that of the largest area, then the first). A column of
     * pictures whose recipe has the step "bucket_crop" is of that size; sluice_batch_tensor says
     * which it is. Every sample comes once an epoch: those of each bucket are permuted, cut into
     * global batches (batch_size x world_size), and the batches of all buckets are permuted; with
     * SHUFFLE_NONE they follow bucket by bucket, in the order of samples. The rest of each
     * bucket, fewer than a global batch, is dropped, or makes a last step of its own, as last_batch
     * says; these come last. A bad sample is replaced by one of its bucket. A cursor goes on where
     * batch_size x world_size is the same. Memory: slots have space for the largest size; 4 bytes a
     * sample. INVALID without a column of such pictures; UNSUPPORTED with shuffles other than FULL
     * and NONE, with a mix, with `outputs`, with data read from front to back; rows of such
     * pictures are not mixed [NULL: none]
     */
    const char *buckets;
    /*
     * With buckets: the size of each sample's picture, of the first column that has "bucket_crop",
     * as its recipe gets it (the way up that `exif` decides); size_count is the dataset's number of
     * samples. Only open reads it [NULL: from the index, where that has it (COCO, VOC), else open
     * reads the headers of all pictures, by `workers` threads: the first 64 KiB of a picture that
     * is a file, whole samples of packed formats. One that cannot be decoded is in the first
     * bucket, and bad when it is its turn]
     */
    const sluice_size *sizes;
    uint64_t size_count;
    /*
     * Episodes of few-shot learning: each is of episode_classes classes with episode_samples
     * samples of each (support and query together), and each rank's batch is one or several whole
     * ones, so that batch_size is a multiple of their product. Rows are class after class: row r of
     * an episode is sample r % episode_samples of its class r / episode_samples. Needs `classes`,
     * at least episode_classes of them with episode_samples samples (else INVALID, with the
     * number). Classes and samples of an episode are different ones, each as likely, a function of
     * (seed, epoch, number of the episode in it); in an epoch a sample may be in several episodes,
     * or in none. last_batch is of whole episodes. A bad sample is replaced by one of its class
     * that is not in the episode, while there is one, then by one that is. A cursor goes on with
     * the same episodes and classes only. UNSUPPORTED with shuffles other than FULL, a mix,
     * buckets, windows [0: none]
     */
    uint32_t episode_classes, episode_samples;
    /* Of an epoch, over all ranks [as many as the dataset's samples make, at least one] */
    uint64_t episodes;
    /*
     * Draws samples by weight, with replacement, as torch's WeightedRandomSampler does: one number
     * per sample of the dataset, at least 0 and finite, not all 0; weight_count is the number of
     * samples. A sample's probability at each position is its weight / the sum of weights; one of
     * weight 0 is never drawn, not even in place of a bad sample. The draw at a position is a
     * function of (seed, epoch, position), so any rank, batch_size or cursor may take over. A
     * sample that is drawn again is augmented differently, by its position; so are random parts of
     * tensors. Copied by open. Or, instead of the array, the name of an int or float field,
     * which open reads of all samples. Partner samples are not drawn by weight. Memory: 8 bytes a
     * sample. INVALID: wrong weights; UNSUPPORTED with shuffles other than FULL, with a mix (which
     * has weights of its own), buckets, episodes, windows, and data read from front to back
     * [NULL: none]
     */
    const double *weights;
    uint64_t weight_count;
    const char *weight_field;
    /* Samples that an epoch draws by weight, over all ranks [as many as the dataset has]; with
     * repeats, rows of an epoch [all] */
    uint64_t weighted_samples;
    /*
     * Batches of similar length, so that padding wastes less: one number per sample of the dataset,
     * at least 0 and finite; length_count is the number of samples. Samples are sorted by length
     * and cut into length_groups groups [50, but of 4 global batches at least]; each global batch
     * (batch_size x world_size) is drawn from one group, so all ranks have similar lengths at the
     * same step. Groups end elsewhere in each epoch; batches are permuted over the epoch. Every
     * sample comes once an epoch; samples that fill no global batch come last, as last_batch says.
     * With SHUFFLE_NONE samples come from the shortest to the longest. A bad sample is replaced by
     * one of about its length. A cursor goes on where batch_size x world_size, lengths and
     * length_groups are the same. Copied by open. Or, instead of the array, the name of a field,
     * which open reads of all samples: an int or float is the length itself, a tensor counts its
     * elements (from the index, if sluice_dataset_lengths_source says so: no sample is read then),
     * and of an image it is width / height. Memory: up to 16 bytes a sample. INVALID: wrong
     * lengths; UNSUPPORTED with shuffles other than FULL and NONE, with a mix, buckets,
     * episodes, weights, windows, and data read from front to back [NULL: none]
     */
    const double *lengths;
    uint64_t length_count;
    const char *length_field;
    uint32_t length_groups;
    /*
     * Repeated augmentation, as DeiT's RASampler does it: each sample stands this many times in an
     * epoch, with draws of its own each time. With R repeats and W ranks, row i of step s on rank
     * r is entry s x batch_size x W + i x W + r of a list in which each sample of the permutation
     * stands R times in a row. So W ranks have different repetitions of a sample at the same step,
     * and with one rank all of them are in one batch; rows that fill no global batch, in the order
     * of the list. An epoch is samples x R long, or weighted_samples: RASampler and timm cut it to
     * samples / 256 * 256. Random parts of tensors are the same in all repetitions. A cursor goes
     * on where batch_size x world_size, repeats and weighted_samples are the same. UNSUPPORTED with
     * shuffles other than FULL and NONE, with a mix, buckets, episodes, weights, lengths, windows,
     * and data read from front to back [0: as 1, each sample once]
     */
    uint32_t repeats;
    /*
     * 1: of packed rows (SLUICE_COLUMN_PACKED), the rows of each step are dealt to the ranks so
     * that their attention costs are level: a row costs the sum of the squares of its documents'
     * lengths. The rows of a step over all ranks, their number on each rank and the order within a
     * rank, by position, stay as they are, and so do cursors: one is continued with another
     * level_rows, batch_size or world_size. All ranks give the same options, and need no
     * communication. In an epoch's last step, ranks keep their numbers of rows, and rows that
     * LAST_REPEAT and LAST_WRAP fill up with stay where they are. With one rank it does nothing.
     * Each rank plans all rows of a step: 0.3 to 0.6 us of CPU time each. INVALID without a column
     * of packed rows; UNSUPPORTED if batch_size x world_size is above 2^20 [0: consecutive rows]
     */
    uint32_t level_rows;
    uint32_t reserved_end; /* 0 */
} sluice_loader_options;

#define SLUICE_LOADER_OPTIONS_INIT                                                                 \
    {                                                                                              \
        sizeof(sluice_loader_options), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
            0, 0, 0, 0, 0, NULL, NULL, 0, 0, NULL, 0, 0, NULL, 0, 0, 0, 0, 0, NULL, NULL, 0, NULL, \
            NULL, 0, 0, 0, 0, NULL, 0, NULL, 0, NULL, 0, NULL, 0, 0, 0, 0                          \
    }

/* The same for an existing struct. Part of the program, so that it knows the size that
 * the program was compiled with. */
static inline void sluice_loader_options_init(sluice_loader_options *options)
{
    const sluice_loader_options init = SLUICE_LOADER_OPTIONS_INIT;
    if (options != NULL) {
        *options = init;
    }
}

/*
 * Whether batches can live in `device` (as in sluice_loader_options) here: one line of text in
 * `text`, cut to `bytes`, that says what it is, or why not. The first call for "cuda" or "auto"
 * opens the CUDA driver, which takes time and memory of its own; the library says nothing about it
 * by itself. OK, UNSUPPORTED (not here), INVALID (no such name), NOMEM or DEVICE (there, and it
 * fails).
 */
SLUICE_API sluice_status sluice_device_get_text(const char *device, char *text, size_t bytes);

/*
 * Opens a loader over `dataset` with a copy of `recipe`, which is that of its pictures (NULL when
 * it has none, or with options.columns); starts its threads, reads nothing yet. `options` may be
 * NULL. On failure `*loader` is NULL. Errors: INVALID, NOMEM, UNSUPPORTED, DEVICE,
 * and the recipe's own (sluice_augment_get_error).
 *
 * Address space (ulimit -v) must suffice for everything memory_bytes counts and for a stack of each
 * thread (workers, io_threads where whole files are read, and 4 more; the system's default, mostly
 * 8 MiB each), which strict overcommit counts, too. What malloc reserves for threads besides, it
 * does without where there is none. Two workers that make 256 pictures of 224 x 224 a batch need
 * 0.5 GiB for shards, 0.75 GiB for a folder; strict overcommit counts 0.3 and 0.35 GiB of that.
 */
SLUICE_API sluice_status sluice_loader_open(sluice_loader **loader, sluice_dataset *dataset,
                                            const sluice_augment *recipe,
                                            const sluice_loader_options *options,
                                            sluice_error *error) SLUICE_MUST_CHECK;

/*
 * Begins epoch `epoch` at its first batch (or where sluice_loader_restore says). The batches of an
 * epoch in progress are dropped, those that the consumer holds stay valid. Free when `epoch`
 * follows the one just ended: the loader has read ahead into it. Errors: STATE, CANCELED, INVALID
 * (an epoch of 2^64 - 1, or which a mix has no more: sluice_dataset_mix), and whatever made the
 * loader fail.
 */
SLUICE_API sluice_status sluice_loader_start_epoch(sluice_loader *loader, uint64_t epoch);

/*
 * As start_epoch, but next never returns END: the epochs from `epoch` on follow one another, for
 * loops that count steps. sluice_batch_epoch and _step say where a batch is.
 *
 * The option end_epoch does not count for it, since every epoch will be asked for. A cursor that is
 * saved in it says its epoch and the place there, and is continued by either function; that of an
 * epoch just finished goes on with the next one here, and has nothing left for start_epoch. An
 * epoch without a row for this rank (fewer samples than ranks, LAST_PAD or _SHORT) has its empty
 * batches, as many as on the other ranks. The next start, cancel or close ends it.
 */
SLUICE_API sluice_status sluice_loader_start_endless(sluice_loader *loader, uint64_t epoch);

/* Batches per epoch on this rank (counted from the epoch's beginning); of each in an endless run.
 */
SLUICE_API uint64_t sluice_loader_steps(const sluice_loader *loader);

/* Rows of an epoch on this rank that have samples, counted from its beginning, without those that
 * LAST_REPEAT and LAST_WRAP fill up with. Over all ranks: the samples of an epoch, less those that
 * LAST_DROP leaves out. */
SLUICE_API uint64_t sluice_loader_rows(const sluice_loader *loader);

/* Samples of an epoch over all ranks, including those that LAST_DROP leaves out. 0: loader is NULL.
 */
SLUICE_API uint64_t sluice_loader_samples(const sluice_loader *loader);

/*
 * Takes the next batch in order. Waits up to `timeout_ns` (0: not at all, -1: forever). On OK
 * `*batch` is the caller's until released. END: the epoch is over. AGAIN: not yet. Errors: STATE
 * (no epoch started), CANCELED, and with SLUICE_BAD_FAIL the bad sample's status (the loader stays
 * failed: sluice_loader_get_error says why), DEVICE (from then on), INTERNAL (a bug in sluice:
 * nothing is at work on the batch; the error has the state of each stage). Batches are few
 * (`prefetch`; on a device `device_slots` or `output_count`): a consumer that holds them all waits
 * forever for the next.
 */
SLUICE_API sluice_status sluice_loader_next(sluice_loader *loader, sluice_batch **batch,
                                            int64_t timeout_ns) SLUICE_MUST_CHECK;

/*
 * A descriptor for poll/epoll: readable when sluice_loader_next would not return AGAIN. Owned by
 * the loader; never read from it.
 */
SLUICE_API int sluice_loader_fd(const sluice_loader *loader);

/*
 * Warning `number`, from 0: a sentence about the loader's columns that its user should read once,
 * and that ends nothing. It says what to write; `warning`, whose struct_size is set, has it as its
 * text, with status OK (sluice_error_respell). Some exist once the loader is open: an argument
 * contradicts what the field means (sluice_field), or normalising has a mean of 0..255. Others come
 * with batches: the transform left none of a batch's boxes, most boxes are invalid in their format,
 * or a column has an element for each box and follows none. END: no more so far; the call is
 * then as cheap as reading an integer. INVALID: a NULL argument, or an unknown struct_size. Any
 * thread, until the loader is closed; never blocks.
 */
SLUICE_API sluice_status sluice_loader_get_warning(sluice_loader *loader, uint32_t number,
                                                   sluice_error *warning);

/*
 * Borrows a column of the batch by its name: those of the dataset's fields ("image" (u8, f32, f16
 * or bf16, 4 dims) and "label" (i64, rows) of a folder of pictures), or those that were asked for;
 * and "index" (i64, rows: the sample's number in the dataset), "mask" (u8, rows: 1 use this row, 0
 * do not: it has no sample, or one that the epoch has counted) and "status" (u8, rows: a
 * sluice_row). Valid until the batch's last holder releases it. INVALID for other names.
 */
SLUICE_API sluice_status sluice_batch_tensor(const sluice_batch *batch, const char *column,
                                             sluice_tensor *tensor);

/* The same by number, 0 .. sluice_batch_columns-1, for a caller that takes all columns: in the
 * order above; later versions add columns at the end. A name stays valid; NULL: no such column. */
SLUICE_API uint32_t sluice_batch_columns(const sluice_batch *batch);
SLUICE_API const char *sluice_batch_column_name(const sluice_batch *batch, uint32_t column);
SLUICE_API sluice_status sluice_batch_get_column(const sluice_batch *batch, uint32_t column,
                                                 sluice_tensor *tensor);

typedef enum sluice_row {
    SLUICE_ROW_OK = 0,
    SLUICE_ROW_REPLACED = 1, /* the sample of the plan was bad; "index" says which stands in */
    SLUICE_ROW_BAD = 2,      /* masked */
    SLUICE_ROW_PADDING = 3,
    SLUICE_ROW_REPEATED = 4 /* a sample that the epoch had before (LAST_REPEAT, _WRAP), as it is */
} sluice_row;

/* Rows of the batch; the batch's number in its epoch, from 0; its epoch. */
SLUICE_API uint32_t sluice_batch_rows(const sluice_batch *batch);
SLUICE_API uint64_t sluice_batch_step(const sluice_batch *batch);
SLUICE_API uint64_t sluice_batch_epoch(const sluice_batch *batch);

/*
 * Makes `stream` wait, on the device, until the batch is ready; the host does not block. With host
 * memory the batch is ready already and `stream` must be NULL.
 *
 * Here and in release_on a stream is NULL, cudaStreamLegacy, cudaStreamPerThread, or one of the
 * device's primary context, which is the one of the CUDA runtime and of frameworks; those of a
 * green context are taken for that (CUDA 12.5 and newer), and are for the driver to accept. INVALID
 * for a stream of another device or of a context made by cuCtxCreate, and for one that is destroyed
 * where the driver notices it (it does not have to: such a handle is an error of the caller); STATE
 * while it is being captured. sluice_loader_get_error says why, and nothing has changed: the batch
 * is still held, another stream may be given.
 *
 * NULL, cudaStreamLegacy and cudaStreamPerThread are the default streams of the primary context of
 * the batch's device, also where another device is the thread's current one. They are INVALID in a
 * thread whose current context is another one of the batch's device (made by cuCtxCreate, or a
 * green one): its own default streams are others, which the batch would not be ordered with.
 */
SLUICE_API sluice_status sluice_batch_wait(sluice_batch *batch, struct CUstream_st *stream);

/*
 * One holder more. next makes one; the batch is valid, and its slot is not used again, until as
 * many releases as there are holders have been made, by sluice_batch_release and _release_on in any
 * mixture, from any threads, also at once, also after close. Only whoever holds a batch may retain
 * it: STATE without a holder, but a slot that is in use again looks the same as a held one.
 */
SLUICE_API sluice_status sluice_batch_retain(sluice_batch *batch);

/*
 * Ends one hold at once. Each batch is released exactly once for each holder, also after close. The
 * last one released after close frees the memory, and waits for the device's work on it.
 */
SLUICE_API void sluice_batch_release(sluice_batch *batch);

/*
 * Ends one hold once the work queued on `stream` so far is done: with several holders the slot
 * waits for the work of all of their streams. The host does not block. After OK and DEVICE it is
 * released; after INVALID (not a stream of the device) and STATE (one that is being
 * captured, or a batch that is not held) it is not. Of each batch four releases are remembered;
 * the stream of a further one waits, on the device, for the work of an earlier one.
 */
SLUICE_API sluice_status sluice_batch_release_on(sluice_batch *batch, struct CUstream_st *stream);

/*
 * Saves where the consumer stands (not how far the loader has read ahead): the batches taken with
 * next, released or not, count as consumed. `*bytes` in: space in `cursor`, SLUICE_CURSOR_BYTES is
 * enough; out: bytes written.
 */
SLUICE_API sluice_status sluice_loader_save(sluice_loader *loader, void *cursor,
                                            size_t *bytes) SLUICE_MUST_CHECK;

/*
 * Writes the cursor that save would write after `steps` batches of `epoch`, counted from its
 * beginning. An epoch in progress is not disturbed, and nothing is read or decoded. `cursor` and
 * `*bytes` as for save. INVALID: the epoch has fewer steps, or a mix has fewer epochs.
 */
SLUICE_API sluice_status sluice_loader_save_at(sluice_loader *loader, uint64_t epoch,
                                               uint64_t steps, void *cursor,
                                               size_t *bytes) SLUICE_MUST_CHECK;

typedef struct sluice_loader_position {
    uint32_t struct_size;
    uint32_t reserved; /* 0 */
    uint64_t epoch;    /* in progress, or just ended */
    /* Samples of the epoch, over all ranks, before the cursor that it was continued from (all of
     * them if it had ended), and batch_size x world_size for each batch taken since, a short one
     * included. */
    uint64_t samples;
    /* Number in the epoch of the batch that next gives: counted, unlike sluice_batch_step, from the
     * epoch's beginning, in this loader's batches (rounded up behind a cursor of larger ones). */
    uint64_t step;
} sluice_loader_position;

#define SLUICE_LOADER_POSITION_INIT                \
    {                                              \
        sizeof(sluice_loader_position), 0, 0, 0, 0 \
    }

/* Where the consumer stands, which is what sluice_loader_save would write. Does not block. STATE
 * before an epoch has been started. */
SLUICE_API sluice_status sluice_loader_get_position(sluice_loader *loader,
                                                    sluice_loader_position *position);

/*
 * Continues from a cursor: the next start at the cursor's epoch begins after what had been
 * consumed, and `*epoch` is that epoch. Another world_size, batch_size, or number of workers is
 * fine; with SHUFFLE_SHARDS world_size has to stay, and batch_size where an epoch drops samples.
 * INVALID when the cursor is of another dataset, seed or shuffle, or of rows that are made of other
 * samples (how many, `partners`, the `classes` that these go by). The error names the options that
 * differ, also those of weights, lengths, repeats, episodes and packed columns. CORRUPT when
 * damaged; UNSUPPORTED when it is of another version. A NULL cursor of 0 bytes (`epoch` may be
 * NULL, too) forgets one that no start has used yet.
 */
SLUICE_API sluice_status sluice_loader_restore(sluice_loader *loader, const void *cursor,
                                               size_t bytes, uint64_t *epoch) SLUICE_MUST_CHECK;

#define SLUICE_HISTOGRAM_BINS 17
#define SLUICE_WAIT_BINS      32

typedef struct sluice_loader_stats {
    uint32_t struct_size;
    uint32_t workers;
    uint32_t slots;         /* batches in host memory */
    uint32_t io_direct;     /* 1: O_DIRECT is in use */
    uint64_t samples;       /* rows decoded, good or replaced */
    uint64_t batches;       /* returned by next */
    uint64_t bytes_wanted;  /* encoded bytes of the samples */
    uint64_t bytes_read;    /* read from files, padding and gaps between samples included; for parts
                               of tensors the parts, without gaps below a page between rows */
    uint64_t reads;         /* requests completed */
    uint64_t reads_retried; /* after an error or a short read */
    uint64_t reads_stalled; /* older than stall_warn_ns */
    uint64_t bad_samples;   /* met: each time that one was read and found bad, again in every
                               epoch, substitutes and rows made ahead included; quarantine_path
                               has a line for each */
    uint64_t replaced_samples; /* rows that hold another sample than they should */
    uint64_t allocations;      /* made by the library in this process so far */
    uint64_t memory_bytes;     /* reserved by this loader, counted as in the option of that name,
                                  and what pages are unpacked in at present */
    uint64_t host_wait_ns;     /* spent by the consumer inside next */
    uint64_t first_batch_ns;   /* from open to the first batch */
    uint64_t ready_depth[SLUICE_HISTOGRAM_BINS]; /* ready batches when next was called, for each
                                                    that was taken: bin i: i batches,
                                                    the last bin: as many or more */
    char io_backend[16]; /* "uring", "pread"; "unpack": threads, nothing but compressed files */
    char io_reason[128]; /* why not io_uring, or "" */
    /* How long the consumer waited in next for each batch: bin 0 below 1 us, bin i in
     * [2^(i-1), 2^i) us, the last bin: as long or longer. */
    uint64_t host_waits[SLUICE_WAIT_BINS];
    uint64_t host_wait_max_ns;
    /*
     * On the consumer's stream, measured on the device without waiting for it, so the last few
     * steps are missing: of the timed steps, how long the stream stalled for a batch that was not
     * ready (sluice_batch_wait), how long it worked (from there to sluice_batch_release_on), and
     * the whole from the first step's end to the last's. In the rest of the whole the stream had
     * nothing to do because the host was late: it waited in next, or was busy elsewhere. A
     * step is timed when both were called with streams (with several holders: the first wait and
     * the last release); the first one only gives that beginning. 0 with host memory, and where the
     * driver does not report the time between events.
     */
    uint64_t steps_timed, stream_stall_ns, stream_busy_ns, stream_span_ns;
    char device[64];  /* "host", "cuda:0" */
    char pinning[16]; /* of the slots: "none" (host), "registered", "driver", "pageable" */
    uint32_t converts_on_device; /* 1: normalised, cast and laid out on the device */
    uint32_t near_device;        /* 1: the threads run on the device's NUMA node only */
    uint32_t device_slots;    /* batches in device memory, which `slots` are copied to; 0: none */
    uint32_t reserved;        /* 0 */
    char pinning_reason[256]; /* why the slots are not "registered", in the driver's words, or "" */
    /* Of compressed files: bytes that came out of them, those that were passed over included; time
     * that threads spent on that, summed, with reading what went in; and how often a file was read
     * from its beginning again although the order was its own, which should be 0.
     */
    uint64_t unpacked_bytes, unpack_ns, unpack_restarts;
} sluice_loader_stats;

#define SLUICE_LOADER_STATS_INIT                                                                  \
    {                                                                                             \
        sizeof(sluice_loader_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, {0}, "", "", \
            {0}, 0, 0, 0, 0, 0, "", "", 0, 0, 0, 0, "", 0, 0, 0                                   \
    }

SLUICE_API sluice_status sluice_loader_get_stats(sluice_loader *loader, sluice_loader_stats *stats);

typedef enum sluice_stage {
    SLUICE_STAGE_READ = 0,    /* requests to files; busy: time with one in flight */
    SLUICE_STAGE_DECODE = 1,  /* samples, from bytes to pixels; the queue is the workers' */
    SLUICE_STAGE_AUGMENT = 2, /* samples, from there to rows; there is no queue in front of it */
    SLUICE_STAGE_UPLOAD = 3   /* batches; busy: time with a copy in flight, none with host memory */
} sluice_stage;

/* One stage since open. */
typedef struct sluice_stage_stats {
    uint32_t struct_size;
    uint32_t reserved; /* 0 */
    uint64_t busy_ns;  /* summed over the stage's threads */
    uint64_t items;
    /* depth of the queue in front of the stage, sampled whenever something is taken from it (a
     * worker takes several small samples at once): bin i counts depths of
     * i/16 of its capacity, rounded down; the last bin: full */
    uint64_t depth[SLUICE_HISTOGRAM_BINS];
} sluice_stage_stats;

#define SLUICE_STAGE_STATS_INIT              \
    {                                        \
        sizeof(sluice_stage_stats), 0, 0, 0, \
        {                                    \
            0                                \
        }                                    \
    }

/* INVALID for a stage that there is not. */
SLUICE_API sluice_status sluice_loader_get_stage(sluice_loader *loader, sluice_stage stage,
                                                 sluice_stage_stats *stats);

/* What one operation on pictures took, since open: measured on some rows, of each task the first,
 * and scaled to all. It is part of the stage AUGMENT. */
typedef struct sluice_operation_stats {
    uint32_t struct_size;
    uint32_t reserved; /* 0 */
    uint64_t busy_ns;  /* summed over threads */
    const char *name;  /* "geometry" (crops, resizes, warps), "gaussian_blur", "mixing" (of
                          rows, on the host), ...; of the library */
} sluice_operation_stats;

#define SLUICE_OPERATION_STATS_INIT                \
    {                                              \
        sizeof(sluice_operation_stats), 0, 0, NULL \
    }

/* Reports operation `number`, from 0 on. INVALID: no operation has that number. The time of an
 * aug_mix includes that of its operations, which are also reported by themselves. */
SLUICE_API sluice_status sluice_loader_get_operation(sluice_loader *loader, uint32_t number,
                                                     sluice_operation_stats *stats);

/* What the cache of remote data (sluice/remote.h) does for a loader. */
typedef struct sluice_loader_cache {
    uint32_t struct_size;
    uint32_t reserved; /* 0 */
    uint64_t chunks;   /* of 8 MiB or less that the current epoch reads; 0: no cache is in use */
    /* Bytes of those chunks that were looked at so far: in the cache before, fetched into it, and
     * left to be read past it. */
    uint64_t here_bytes, fetched_bytes, left_bytes;
    uint64_t removed; /* chunks that made space in the epoch */
    /* Shares of an epoch's bytes that a cache of this size can serve without a download: at most,
     * whatever the policy, and with LRU over whole chunks. 0: not asked for. */
    double optimum, lru;
} sluice_loader_cache;

#define SLUICE_LOADER_CACHE_INIT                            \
    {                                                       \
        sizeof(sluice_loader_cache), 0, 0, 0, 0, 0, 0, 0, 0 \
    }

/* Reports the cache. `epoch` at least 1: also simulates the reads of that epoch and the one before
 * by this rank, which takes about 0.3 us a sample and blocks; 0: does not. Errors: NOMEM. */
SLUICE_API sluice_status sluice_loader_get_cache(sluice_loader *loader, uint64_t epoch,
                                                 sluice_loader_cache *cache);

/*
 * The loader's first error, which stays. Without one: why a call was refused (nothing was started,
 * an argument, a cursor that does not fit, a stream) or that the loader was canceled, until the
 * next start that succeeds. Returns its status; OK, and `error` untouched, when there is neither.
 */
SLUICE_API sluice_status sluice_loader_get_error(sluice_loader *loader, sluice_error *error);

/*
 * Writes what the loader does now, in one line for people: the batch that next gives next, and the
 * row, queue or read that it waits for, with the file and the age of the oldest read in flight.
 * Meant for a loader that seems to stand still; the words may change. At most `bytes` bytes with
 * the 0 at their end, 1024 are enough; longer text is cut. From any thread, also while next waits;
 * it waits for no stage. INVALID: `text` is NULL or `bytes` is 0; STATE: in a forked process;
 * CANCELED: the loader is being closed.
 */
SLUICE_API sluice_status sluice_loader_describe(sluice_loader *loader, char *text, size_t bytes);

/*
 * Ends the epoch from any thread, at once: next returns CANCELED until the next start.
 * Safe to call several times.
 */
SLUICE_API void sluice_loader_cancel(sluice_loader *loader);

/*
 * Stops the threads and frees everything but the batches still held, which stay readable until
 * released. Calls that are in progress in other threads end first (a next that blocks returns
 * CANCELED); calls made after it has returned are an error of the caller. Waits at most half a
 * second for reads and opens in flight, which cannot be recalled from the kernel: a thread of the
 * library frees later what the storage has not answered by then. Images of one scan that are being
 * decoded are decoded to their end (a second each, at 100 million pixels), others are given up. On
 * a device, close (and a start_epoch that drops batches) also waits for copies in flight, and so
 * for the work in front of them on streams given to sluice_batch_release_on. Close before
 * cudaDeviceReset. NULL
 * is fine.
 */
SLUICE_API void sluice_loader_close(sluice_loader *loader);

#ifdef __cplusplus
}
#endif
#endif
