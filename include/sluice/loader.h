/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sluice/loader.h: batches, ready before the training loop asks for them.
 *
 * A loader reads ahead, decodes and augments on its own threads straight into a fixed ring of batch
 * slots. sluice_loader_open allocates everything it needs: from the second batch of an epoch on, a
 * loader allocates nothing, except when it opens a compressed file.
 *
 * The same (dataset, recipe, shuffle, seed, epoch, rank, world_size, batch_size, exact) gives the
 * same batches, bit for bit, regardless of the number of workers, the I/O backend, the machine's
 * load and retries.
 *
 * Threads: one consumer thread at a time calls start_epoch, start_endless and next. Any thread may
 * call sluice_loader_cancel, _get_stats, _get_error, _save and _close, and every sluice_batch_*
 * function. After a fork, only the parent may use the loader: in the child every call returns
 * SLUICE_STATE, and close only discards the handle.
 *
 * Example (examples/minimal.c has all of it):
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
    uint32_t workers;       /* decoding threads, 1..1024 [the CPUs this process may use; see
                               any_numa_node] */
    uint32_t prefetch;      /* batch slots, including the one in use, 2..64 [4; for batches below
                               256 KiB as many as fit 1 MiB, at most 16] */
    int32_t dtype;          /* type of "image": U8, F32, F16 or BF16 [U8] */
    int32_t layout;         /* layout of "image": a sluice_layout [NHWC] */
    uint64_t seed;          /* seed of order and augmentation [0] */
    uint32_t rank;          /* this rank, 0 .. world_size - 1 [0] */
    uint32_t world_size;    /* ranks that share each epoch; sluice/ranks.h finds both [1] */
    int32_t shuffle;        /* a sluice_shuffle [FULL] */
    uint32_t block_samples; /* SHUFFLE_BLOCK: neighbours that stay together [64]; SHUFFLE_SHARDS:
                               samples read from one file before the next file's turn [16] */
    uint32_t window_blocks; /* blocks shuffled together. SHUFFLE_BLOCK: [16]; SHUFFLE_SHARDS:
                               [1024], at most 32,768 samples */
    int32_t last_batch;     /* a sluice_last_batch [DROP] */
    int32_t on_bad_sample;  /* a sluice_bad_sample [FAIL] */
    int32_t exif;           /* a sluice_exif [AUTO] */
    int32_t io_backend;     /* a sluice_io_backend [AUTO] */
    int32_t page_cache;     /* a sluice_page_cache [AUTO] */
    uint32_t io_depth;      /* reads in flight, 1..512 [32; remote data: 256] */
    uint32_t io_threads;    /* threads of the pread pool, 1..64 [8]. As many threads unpack
                               compressed files, but at most 8 and at most one per CPU */
    uint64_t read_buffer_bytes; /* memory for encoded samples. Default: 4 average samples (for rows
                                   of several samples: all samples of `prefetch` batches), clamped
                                   to 32 MiB..1 GiB, and to a quarter of memory_bytes if that is
                                   above 32 MiB. SHUFFLE_BLOCK: 1.5 windows, clamped to 32 MiB..
                                   1 GiB. SHUFFLE_SHARDS: one window, or two for a small dataset;
                                   INVALID below one window */
    uint64_t max_sample_bytes;  /* largest encoded sample, up to 1 GiB; a larger one is a bad sample
                                   [4 average samples, clamped to 64 MiB..1 GiB; image folders:
                                   64 MiB] */
    uint64_t max_pixels;        /* largest image; a larger one is a bad sample. So is an image that
                                   the recipe enlarges to a canvas above this and above 2^24 pixels,
                                   unless the recipe fixes that size [100,000,000]. The shapes of a
                                   row have a limit of work (docs/limits.md) */
    /*
     * Limit on host memory. Counts batch slots, the read buffer, the row and sample tables (about
     * 200 bytes per row of each slot) and 1 MiB per worker; open fails with NOMEM if these exceed
     * it. Workers share the rest for unpacking and decoding. A sample that needs more than a
     * worker's share, value pages included, is a bad sample (NOMEM). Pages that alone need more,
     * and memory the machine lacks, fail the batch. A resident copy (resident_bytes) may take half
     * of the rest.
     *
     * Not counted: dataset tables; device memory; encoded samples copied while a row of several
     * samples waits for the others (at most n - 1 per row in flight); zstd windows above 8 MiB, for
     * up to 16 open files; Huffman tables of a malicious lossless WebP (up to 1.3 GB; usually
     * 1 MB); code and stacks (below 8 MiB with a few workers).
     *
     * Default: no limit. A worker then takes what its images need plus their compressed Parquet
     * pages: at most 25 bytes per pixel of the image, or of the recipe's largest canvas if that is
     * larger; up to 100 bytes per pixel for images only a few pixels wide or high.
     */
    uint64_t memory_bytes;
    uint64_t stall_warn_ns; /* age from which a pending read counts as stalled [30 s] */
    uint64_t stall_fail_ns; /* age from which a pending read fails its samples [120 s] */
    uint64_t end_epoch;     /* first epoch that the consumer will not ask for; the loader does not
                               read ahead into it [unknown: it reads ahead into the next epoch] */
    const char *device;     /* where batches are: "host", "cuda:N" (the N-th device that CUDA shows
                               this process), "cuda" (the first), or "auto" ("cuda:0" if available,
                               else "host") ["host"] */
    const char *quarantine_path; /* a text file to which bad samples are appended, one line each:
                                    epoch, sample, status, file, offset, reason, tab-separated.
                                    Open fails if the path is a FIFO without a reader. Lines that a
                                    slow FIFO reader has no room for are dropped [none] */
    uint32_t exact; /* 1: decodes every JPEG at full size and resamples once per warp. 0: decodes a
                       JPEG at 1/2, 1/4 or 1/8 if the output is at least 4, 8 or 16 times smaller on
                       both sides, which is cheaper and differs by some units in places; consecutive
                       warps are resampled once (sluice/augment.h) [0] */
    uint32_t device_slots; /* batches in device memory, including the one in use, 2..64; ignored
                              with "host" [3] */
    /*
     * The caller's own memory for the first image column, for fixed addresses (CUDA graphs) or
     * existing buffers: output_count (2..64) blocks, each with space for batch_size images and
     * aligned to 16 bytes. The loader uses them from open until it is closed and the last batch is
     * released. They replace device_slots; with "host", prefetch. INVALID, naming the block and its
     * kind of memory, if a block's first or last byte is not the device's: host memory, another
     * device's, or a reserved address that is not mapped. Memory of pools (cudaMallocAsync) and of
     * cuMemMap is the device's; managed memory is accepted if the device can share it with the host
     * concurrently. UNSUPPORTED if the library was built without its kernels [NULL: the library
     * allocates]
     */
    void *const *outputs;
    uint32_t output_count;
    /*
     * 1: reads whole samples, and so verifies their checksums, even if all columns are parts of
     * tensors that can be read by themselves (sluice_column_part) [0]
     */
    uint32_t whole_samples;
    /*
     * The columns of a batch (sluice/columns.h), copied by open. With columns, the recipe given to
     * open must be NULL, and dtype and layout 0: each image column has its own [NULL: the default
     * column of every field that has one (sluice/columns.h)]
     */
    const sluice_columns *columns;
    /*
     * Largest dataset to keep in memory. A packed or flat dataset of at most this size, without
     * images or with small samples (below 32 KiB on average), is copied to memory while its first
     * batches are made, and not read again. Needs page_cache AUTO, an io_depth above 1, and space
     * within memory_bytes. 1: never. If the machine lacks memory for the copy, open fails with
     * NOMEM if this option was given, and otherwise goes without the copy [the smaller of 1 GiB and
     * 1/16 of free memory]
     */
    uint64_t resident_bytes;
    /*
     * 0: on a machine with several NUMA nodes, threads run only on those CPUs of the device's node
     * that the caller of open may use, and the default of `workers` is at most their number.
     * Threads run on any CPU if there are none, if `workers` asks for more, and with "host".
     * 1: threads run on any CPU [0]
     */
    uint32_t any_numa_node;
    uint32_t reserved; /* 0 */
    /*
     * Value of an integer column (SLUICE_COLUMN_NUMBER of an int field: labels) in rows without a
     * sample, and in rows whose sample lacks the field. A loss with the same ignore_index skips
     * them. INT32_MIN..INT32_MAX [-1]
     */
    int64_t ignore_index;
    /*
     * SHUFFLE_SHARDS: bytes of the read buffer that one window's samples may take (each rounded up
     * to 16 KiB), 1 MiB..1 TiB. The smaller of this limit and the number of samples that
     * block_samples and window_blocks set ends a window. The order depends on all three [256 MiB]
     */
    uint64_t window_bytes;
    /*
     * Partner samples, for rows made of several samples: columns with `partner` j, and recipes with
     * mosaic, mixup_partner or copy_paste. The loader reads them ahead like the row's own. A
     * comma-separated list of rules; rule j chooses partner j of the sample at position p of an
     * epoch as a function of (seed, epoch, p, j):
     *   any          the sample at p of an order of j's own, so that each sample is partner j once
     *                per epoch, over all ranks. A block order for SHUFFLE_BLOCK, else a
     *                permutation. In a mix: from all of its datasets, by their weights
     *   same_class   a random other sample of the same class; the sample itself if it is alone
     *   other_class  a random sample of any other class
     * on_bad_sample applies to a bad partner, which is replaced within its rule. With same_class or
     * other_class, a bad own sample is replaced within its class. The batch's "index" is the own
     * sample's; its "status" covers all samples of the row. UNSUPPORTED with SHUFFLE_SHARDS,
     * compressed files and windows [any, for partners not listed]
     */
    const char *partners;
    /*
     * The class of each sample, below 2^24, by its number in the dataset: for same_class,
     * other_class and episodes. class_count is the dataset's number of samples. Copied by open
     * [NULL]
     */
    const uint32_t *classes;
    uint64_t class_count;
    /*
     * Aspect-ratio buckets: 1 to 64 sizes, "1024x1024,832x1216,1216x832" (width x height, each 1 to
     * 16384). Each batch has one of these sizes, the same on all ranks at the same step, and holds
     * images whose aspect ratio is nearest to it (smallest difference of logarithms; ties go to the
     * largest area, then to the first in the list). An image column whose recipe has the step
     * "bucket_crop" gets that size; sluice_batch_tensor returns it.
     *
     * Every sample occurs once per epoch. Each bucket's samples are permuted and cut into global
     * batches (batch_size x world_size), and the batches of all buckets are permuted; with
     * SHUFFLE_NONE, bucket follows bucket in sample order. What remains of a bucket, less than a
     * global batch, is dropped or makes a last step of its own (last_batch); these steps come last.
     * A bad sample is replaced by one of its bucket. A cursor resumes if batch_size x world_size is
     * the same. Memory: slots have space for the largest size; 4 bytes per sample.
     *
     * INVALID without such an image column. UNSUPPORTED with shuffles other than FULL and NONE,
     * with a mix, with `outputs`, and with data read from front to back. Rows of bucketed images
     * cannot be mixed [NULL: no buckets]
     */
    const char *buckets;
    /*
     * With buckets: the size of each sample's image, for the first column with "bucket_crop", as
     * the recipe receives it (upright if `exif` says so). size_count is the dataset's number of
     * samples. Read by open only [NULL: from the index if it has sizes (COCO, VOC); otherwise open
     * reads all image headers with `workers` threads: the first 64 KiB of an image file, whole
     * samples of packed formats. An undecodable image goes into the first bucket and is a bad
     * sample at its turn]
     */
    const sluice_size *sizes;
    uint64_t size_count;
    /*
     * Episodes for few-shot learning. An episode has episode_classes classes with episode_samples
     * samples each (support and query together). A rank's batch is one or more whole episodes, so
     * batch_size must be a multiple of their product. Row r of an episode is sample
     * r % episode_samples of its class r / episode_samples.
     *
     * Needs `classes`; INVALID if fewer than episode_classes of them have episode_samples samples.
     * An episode's classes and samples are distinct and equally likely, a function of (seed, epoch,
     * episode number). Within an epoch a sample may occur in several episodes or in none.
     * last_batch applies to whole episodes. A bad sample is replaced by one of its class from
     * outside the episode if there is one, else from inside. A cursor resumes only with the same
     * episodes and classes. UNSUPPORTED with shuffles other than FULL, and with a mix, buckets and
     * windows [0: no episodes]
     */
    uint32_t episode_classes, episode_samples;
    /* Episodes of an epoch, over all ranks [the dataset's samples divided by an episode's, at
     * least 1] */
    uint64_t episodes;
    /*
     * Weighted sampling with replacement, like torch's WeightedRandomSampler. One weight per sample
     * of the dataset: finite, at least 0, not all 0; weight_count is the number of samples. At each
     * position a sample's probability is its weight / the sum of weights. A sample of weight 0 is
     * never drawn, not even to replace a bad one. The draw at a position is a function of (seed,
     * epoch, position), so any rank, batch_size or cursor can take over. A sample drawn twice is
     * augmented differently, by position, and so are random parts of tensors. Partner samples are
     * not weighted.
     *
     * Copied by open. Instead of the array, weight_field may name an int or float field, which open
     * reads for all samples. Memory: 8 bytes per sample. INVALID: wrong weights. UNSUPPORTED with
     * shuffles other than FULL, with a mix (which has weights of its own), buckets, episodes and
     * windows, and with data read from front to back [NULL: unweighted]
     */
    const double *weights;
    uint64_t weight_count;
    const char *weight_field;
    /* With weights: samples drawn per epoch, over all ranks [the dataset's number]. With repeats:
     * rows of an epoch [all] */
    uint64_t weighted_samples;
    /*
     * Batches of similar length, to reduce padding. One length per sample of the dataset, finite
     * and at least 0; length_count is the number of samples. Samples are sorted by length and cut
     * into length_groups groups [50, but at least 4 global batches each]. Each global batch
     * (batch_size x world_size) is drawn from one group, so all ranks have similar lengths at the
     * same step. Group boundaries differ in each epoch; batches are permuted over the epoch. Every
     * sample occurs once per epoch; samples that fill no global batch come last (last_batch). With
     * SHUFFLE_NONE, samples run from the shortest to the longest. A bad sample is replaced by one
     * of similar length. A cursor resumes if batch_size x world_size, lengths and length_groups are
     * the same.
     *
     * Copied by open. Instead of the array, length_field may name a field, which open reads for all
     * samples: an int or float is the length itself; a tensor's length is its number of elements
     * (taken from the index, without reading samples, if sluice_dataset_lengths_source says so); an
     * image's is width / height. Memory: up to 16 bytes per sample. INVALID: wrong lengths.
     * UNSUPPORTED with shuffles other than FULL and NONE, with a mix, buckets, episodes, weights
     * and windows, and with data read from front to back [NULL: not grouped]
     */
    const double *lengths;
    uint64_t length_count;
    const char *length_field;
    uint32_t length_groups;
    /*
     * Repeated augmentation, like DeiT's RASampler: each sample occurs this many times per epoch,
     * each time with its own draws. With R repeats and W ranks, row i of step s on rank r is entry
     * s x batch_size x W + i x W + r of a list in which each sample of the permutation occurs R
     * times in a row. So at the same step W ranks have different repetitions of a sample, and with
     * one rank all of them are in one batch. Rows that fill no global batch follow in list order.
     * Random parts of tensors are the same in all repetitions. An epoch has samples x R rows, or
     * weighted_samples: RASampler and timm cut it to samples / 256 * 256. A cursor resumes if
     * batch_size x world_size, repeats and weighted_samples are the same. UNSUPPORTED with shuffles
     * other than FULL and NONE, with a mix, buckets, episodes, weights, lengths and windows, and
     * with data read from front to back [0: like 1, each sample once]
     */
    uint32_t repeats;
    /*
     * 1: for packed rows (SLUICE_COLUMN_PACKED), deals the rows of each step to the ranks so that
     * their attention costs are balanced; a row's cost is the sum of its documents' squared
     * lengths. A step keeps its rows over all ranks, each rank its number of rows, and rows on a
     * rank stay ordered by position. Cursors are unaffected: they resume with another level_rows,
     * batch_size or world_size. All ranks must give the same options; they do not communicate. In
     * an epoch's last step each rank keeps its number of rows, and rows that LAST_REPEAT and
     * LAST_WRAP add stay in place. Has no effect with one rank. Each rank plans all rows of a step:
     * 0.3 to 0.6 us of CPU time per row. INVALID without a column of packed rows; UNSUPPORTED if
     * batch_size x world_size is above 2^20 [0: consecutive rows]
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

/* Sets an existing struct to SLUICE_LOADER_OPTIONS_INIT. Inline, so that it uses the struct size
 * that the program was compiled with. */
static inline void sluice_loader_options_init(sluice_loader_options *options)
{
    const sluice_loader_options init = SLUICE_LOADER_OPTIONS_INIT;
    if (options != NULL) {
        *options = init;
    }
}

/*
 * Describes `device` (as in sluice_loader_options) in one line: what it is, or why batches cannot
 * be in its memory. `text` is cut to `bytes`. The first call for "cuda" or "auto" opens the CUDA
 * driver, which takes time and memory of its own. Returns OK, UNSUPPORTED (no such device here),
 * INVALID (unknown name), NOMEM or DEVICE (the device exists and fails).
 */
SLUICE_API sluice_status sluice_device_get_text(const char *device, char *text, size_t bytes);

/*
 * Opens a loader over `dataset` and starts its threads; reads nothing yet. Copies `recipe`, which
 * applies to the dataset's images (NULL without images, or with options.columns). `options` may be
 * NULL. On failure `*loader` is NULL. Errors: INVALID, NOMEM, UNSUPPORTED, DEVICE, and the recipe's
 * own (sluice_augment_get_error).
 *
 * Address space (ulimit -v) must suffice for everything that memory_bytes counts and for the stack
 * of each thread: workers, io_threads where whole files are read, and 4 more; the system's default
 * is usually 8 MiB each. Strict overcommit counts stacks, too. malloc's reservations per thread are
 * optional: without address space for them it goes on without. Two workers that make batches of 256
 * 224 x 224 images need 0.5 GiB for shards and 0.75 GiB for a folder; strict overcommit counts 0.3
 * and 0.35 GiB of that.
 */
SLUICE_API sluice_status sluice_loader_open(sluice_loader **loader, sluice_dataset *dataset,
                                            const sluice_augment *recipe,
                                            const sluice_loader_options *options,
                                            sluice_error *error) SLUICE_MUST_CHECK;

/*
 * Begins epoch `epoch` at its first batch, or where sluice_loader_restore says. Drops the remaining
 * batches of an epoch in progress; held batches stay valid. Costs nothing if `epoch` follows the
 * one just ended, since the loader has read ahead into it. Errors: STATE, CANCELED, INVALID (an
 * epoch of 2^64 - 1, or one beyond a mix's last: sluice_dataset_mix), and the error that made the
 * loader fail.
 */
SLUICE_API sluice_status sluice_loader_start_epoch(sluice_loader *loader, uint64_t epoch);

/*
 * Begins `epoch` like start_epoch, but next never returns END: epochs follow one another, for loops
 * that count steps. sluice_batch_epoch and _step say where a batch is.
 *
 * Ignores the option end_epoch. A cursor saved in an endless run names its epoch and the place
 * there, and both functions resume from it; a cursor from the end of an epoch resumes with the next
 * epoch here, and leaves nothing to start_epoch. If an epoch has no row for this rank (fewer
 * samples than ranks, with LAST_PAD or _SHORT), its batches are empty, as many as on the other
 * ranks. The next start, cancel or close ends the run.
 */
SLUICE_API sluice_status sluice_loader_start_endless(sluice_loader *loader, uint64_t epoch);

/* Returns the batches per epoch on this rank, counted from the epoch's beginning; in an endless
 * run, of each epoch. */
SLUICE_API uint64_t sluice_loader_steps(const sluice_loader *loader);

/* Returns the rows of an epoch on this rank that have samples, counted from its beginning, without
 * rows that LAST_REPEAT and LAST_WRAP add. Over all ranks that is the epoch's samples, minus those
 * that LAST_DROP drops. */
SLUICE_API uint64_t sluice_loader_rows(const sluice_loader *loader);

/* Returns the samples of an epoch over all ranks, including those that LAST_DROP drops; 0 if loader
 * is NULL. */
SLUICE_API uint64_t sluice_loader_samples(const sluice_loader *loader);

/*
 * Takes the next batch in order. Waits up to `timeout_ns` (0: not at all, -1: forever). On OK,
 * `*batch` is the caller's until released. END: the epoch is over. AGAIN: not ready yet. Errors:
 * STATE (no epoch started); CANCELED; with SLUICE_BAD_FAIL, the bad sample's status (the loader
 * stays failed: sluice_loader_get_error says why); DEVICE (from then on); INTERNAL (a bug in
 * sluice: nothing works on the batch; the error has the state of each stage).
 *
 * A loader has few batches (`prefetch`; on a device, `device_slots` or `output_count`). A consumer
 * that holds all of them waits forever for the next.
 */
SLUICE_API sluice_status sluice_loader_next(sluice_loader *loader, sluice_batch **batch,
                                            int64_t timeout_ns) SLUICE_MUST_CHECK;

/*
 * Returns a descriptor for poll/epoll: readable when sluice_loader_next would not return AGAIN. The
 * loader owns it; never read from it.
 */
SLUICE_API int sluice_loader_fd(const sluice_loader *loader);

/*
 * Reports warning `number`, from 0 on: a sentence about the loader's columns that a user should
 * read once, and what to write. Warnings end nothing. `warning`, whose struct_size must be set,
 * gets the sentence as its text, with status OK (sluice_error_respell). Some warnings exist once
 * the loader is open: an argument contradicts the field's meaning (sluice_field), or normalizing
 * uses a mean of 0..255. Others come with batches: the transform dropped all of a batch's boxes,
 * most boxes are invalid in their format, or a column has one element per box and follows none.
 * END: no more so far; the call is then as cheap as reading an integer. INVALID: a NULL argument or
 * an unknown struct_size. Any thread, until the loader is closed; never blocks.
 */
SLUICE_API sluice_status sluice_loader_get_warning(sluice_loader *loader, uint32_t number,
                                                   sluice_error *warning);

/*
 * Borrows a column of the batch by name. Columns are those of the dataset's fields (for a folder of
 * images: "image", u8, f32, f16 or bf16, 4 dims, and "label", i64, rows) or those requested, and:
 * "index" (i64, rows): the sample's number in the dataset;
 * "mask" (u8, rows): 1: use this row; 0: it has no sample, or one already counted in this epoch;
 * "status" (u8, rows): a sluice_row.
 * Valid until the batch's last holder releases it. INVALID for other names.
 */
SLUICE_API sluice_status sluice_batch_tensor(const sluice_batch *batch, const char *column,
                                             sluice_tensor *tensor);

/* Access by number, 0 .. sluice_batch_columns - 1, in the order above; later versions add columns
 * at the end. A name stays valid; NULL: no such column. */
SLUICE_API uint32_t sluice_batch_columns(const sluice_batch *batch);
SLUICE_API const char *sluice_batch_column_name(const sluice_batch *batch, uint32_t column);
SLUICE_API sluice_status sluice_batch_get_column(const sluice_batch *batch, uint32_t column,
                                                 sluice_tensor *tensor);

typedef enum sluice_row {
    SLUICE_ROW_OK = 0,
    SLUICE_ROW_REPLACED = 1, /* the planned sample was bad; "index" names its substitute */
    SLUICE_ROW_BAD = 2,      /* no sample: masked */
    SLUICE_ROW_PADDING = 3,  /* no sample: fills the last batch */
    SLUICE_ROW_REPEATED = 4  /* an intact sample that the epoch already had (LAST_REPEAT, _WRAP) */
} sluice_row;

/* Return the rows of the batch, its number in its epoch, from 0, and its epoch. */
SLUICE_API uint32_t sluice_batch_rows(const sluice_batch *batch);
SLUICE_API uint64_t sluice_batch_step(const sluice_batch *batch);
SLUICE_API uint64_t sluice_batch_epoch(const sluice_batch *batch);

/*
 * Makes `stream` wait, on the device, until the batch is ready. The host does not block. With host
 * memory the batch is ready already, and `stream` must be NULL.
 *
 * Here and in release_on, a stream is NULL, cudaStreamLegacy, cudaStreamPerThread, or a stream of
 * the device's primary context, which the CUDA runtime and frameworks use. Streams of a green
 * context (CUDA 12.5 and newer) are passed to the driver, which may accept them. INVALID: a stream
 * of another device, of a context made by cuCtxCreate, or a destroyed one, if the driver detects it
 * (it need not: using such a handle is the caller's error). STATE: the stream is being captured.
 * After either, sluice_loader_get_error says why and nothing has changed: the batch is still held,
 * and another stream may be given.
 *
 * NULL, cudaStreamLegacy and cudaStreamPerThread mean the default streams of the primary context of
 * the batch's device, even if another device is the thread's current one. They are INVALID in a
 * thread whose current context is another context of the batch's device (made by cuCtxCreate, or a
 * green one): that context has default streams of its own, which would not wait for the batch.
 */
SLUICE_API sluice_status sluice_batch_wait(sluice_batch *batch, struct CUstream_st *stream);

/*
 * Adds a holder. next makes the first one. The batch is valid, and its slot not reused, until each
 * holder has released it, by sluice_batch_release or _release_on in any mixture, from any threads,
 * concurrently, and even after close. Only a holder may call this. Returns STATE if the batch has
 * no holder; reuse of its slot cannot be detected.
 */
SLUICE_API sluice_status sluice_batch_retain(sluice_batch *batch);

/*
 * Releases one hold immediately. Each holder releases a batch exactly once, even after close. The
 * last release after close frees the memory, and waits for the device's work on it.
 */
SLUICE_API void sluice_batch_release(sluice_batch *batch);

/*
 * Releases one hold after the work queued on `stream` so far. The host does not block. With several
 * holders, the slot waits for the work of all their streams. The batch is released after OK and
 * DEVICE, and still held after INVALID (not a stream of the device) and STATE (the stream is being
 * captured, or the batch is not held). A batch remembers four releases; the stream of a further
 * release waits, on the device, for the work of an earlier one.
 */
SLUICE_API sluice_status sluice_batch_release_on(sluice_batch *batch, struct CUstream_st *stream);

/*
 * Saves the consumer's position, not how far the loader has read ahead: batches taken with next
 * count as consumed, released or not. `*bytes` is the space in `cursor` on entry
 * (SLUICE_CURSOR_BYTES is enough) and the bytes written on return.
 */
SLUICE_API sluice_status sluice_loader_save(sluice_loader *loader, void *cursor,
                                            size_t *bytes) SLUICE_MUST_CHECK;

/*
 * Writes the cursor that save would write after `steps` batches of `epoch`, counted from its
 * beginning. Does not disturb an epoch in progress, and reads and decodes nothing. `cursor` and
 * `*bytes` are as for save. INVALID: the epoch has fewer steps, or a mix has fewer epochs.
 */
SLUICE_API sluice_status sluice_loader_save_at(sluice_loader *loader, uint64_t epoch,
                                               uint64_t steps, void *cursor,
                                               size_t *bytes) SLUICE_MUST_CHECK;

typedef struct sluice_loader_position {
    uint32_t struct_size;
    uint32_t reserved; /* 0 */
    uint64_t epoch;    /* in progress, or just ended */
    /* Samples of the epoch, over all ranks, before the cursor it was resumed from (all of them if
     * it had ended), plus batch_size x world_size for each batch taken since, including a short
     * one. */
    uint64_t samples;
    /* Number in the epoch of the batch that next returns. Unlike sluice_batch_step, it counts from
     * the epoch's beginning, in this loader's batches (rounded up after a cursor of larger
     * ones). */
    uint64_t step;
} sluice_loader_position;

#define SLUICE_LOADER_POSITION_INIT                \
    {                                              \
        sizeof(sluice_loader_position), 0, 0, 0, 0 \
    }

/* Reports the consumer's position, which sluice_loader_save would save. Does not block. STATE
 * before an epoch has been started. */
SLUICE_API sluice_status sluice_loader_get_position(sluice_loader *loader,
                                                    sluice_loader_position *position);

/*
 * Resumes from a cursor: the next start at the cursor's epoch, which `*epoch` receives, begins
 * after the samples already consumed. world_size, batch_size and the number of workers may differ;
 * with SHUFFLE_SHARDS world_size must be the same, and batch_size as well if an epoch drops
 * samples. INVALID: the cursor is from another dataset, seed or shuffle, or from rows made of other
 * samples (their number, `partners`, or the `classes` they depend on). The error names the options
 * that differ, including those of weights, lengths, repeats, episodes and packed columns. CORRUPT:
 * the cursor is damaged. UNSUPPORTED: it is from another version. A NULL cursor of 0 bytes (`epoch`
 * may then be NULL) forgets a cursor that no start has used yet.
 */
SLUICE_API sluice_status sluice_loader_restore(sluice_loader *loader, const void *cursor,
                                               size_t bytes, uint64_t *epoch) SLUICE_MUST_CHECK;

#define SLUICE_HISTOGRAM_BINS 17
#define SLUICE_WAIT_BINS      32

typedef struct sluice_loader_stats {
    uint32_t struct_size;
    uint32_t workers;
    uint32_t slots;        /* batches in host memory */
    uint32_t io_direct;    /* 1: O_DIRECT is in use */
    uint64_t samples;      /* rows decoded, good or replaced */
    uint64_t batches;      /* returned by next */
    uint64_t bytes_wanted; /* encoded bytes of the samples */
    uint64_t bytes_read;   /* read from files, including padding and gaps between samples; for parts
                              of tensors, excluding gaps below a page between rows */
    uint64_t reads;        /* requests completed */
    uint64_t reads_retried;    /* after an error or a short read */
    uint64_t reads_stalled;    /* older than stall_warn_ns */
    uint64_t bad_samples;      /* bad samples found by reading, in every epoch again; counts
                               substitutes and rows read ahead; quarantine_path has a line each */
    uint64_t replaced_samples; /* rows with a substitute for their sample */
    uint64_t allocations;      /* by the library in this process so far */
    uint64_t memory_bytes;   /* reserved by this loader, counted like the option memory_bytes, plus
                                the memory in which pages are unpacked now */
    uint64_t host_wait_ns;   /* time the consumer spent in next */
    uint64_t first_batch_ns; /* from open to the first batch */
    uint64_t ready_depth[SLUICE_HISTOGRAM_BINS]; /* number of ready batches at each
                                                    next: bin i: i batches, the last bin: as
                                                    many or more */
    char io_backend[16]; /* "uring", "pread", or "unpack" (threads; all files are compressed) */
    char io_reason[128]; /* why not io_uring, or "" */
    /* Time the consumer waited in next for each batch: bin 0: below 1 us, bin i: [2^(i-1), 2^i) us,
     * the last bin: as long or longer. */
    uint64_t host_waits[SLUICE_WAIT_BINS];
    uint64_t host_wait_max_ns;
    /*
     * Times on the consumer's stream, measured on the device without waiting for it, so the last
     * few steps are missing. stream_stall_ns: the stream waited for a batch that was not ready
     * (sluice_batch_wait). stream_busy_ns: it worked (from there to sluice_batch_release_on).
     * stream_span_ns: from the end of the first step to the end of the last. In the rest of the
     * span the stream was idle because the host was late: it waited in next, or was busy elsewhere.
     * A step is timed if both calls were given streams (with several holders: the first wait and
     * the last release); the first step only starts the span. 0 with host memory, and if the driver
     * does not report the time between events.
     */
    uint64_t steps_timed, stream_stall_ns, stream_busy_ns, stream_span_ns;
    char device[64];  /* "host", "cuda:0" */
    char pinning[16]; /* how slots are pinned: "none" (host), "registered", "driver", "pageable" */
    uint32_t converts_on_device; /* 1: the device normalizes, casts and lays out */
    uint32_t near_device;        /* 1: the threads run on the device's NUMA node only */
    uint32_t device_slots;       /* batches in device memory, copied from `slots`; 0: none */
    uint32_t reserved;           /* 0 */
    char pinning_reason[256]; /* why the slots are not "registered", in the driver's words, or "" */
    /* For compressed files: bytes unpacked, including those skipped; time that threads spent on
     * unpacking and reading, summed; and how often a file was read again from its beginning
     * although the order was the file's own, which should be 0. */
    uint64_t unpacked_bytes, unpack_ns, unpack_restarts;
} sluice_loader_stats;

#define SLUICE_LOADER_STATS_INIT                                                                  \
    {                                                                                             \
        sizeof(sluice_loader_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, {0}, "", "", \
            {0}, 0, 0, 0, 0, 0, "", "", 0, 0, 0, 0, "", 0, 0, 0                                   \
    }

SLUICE_API sluice_status sluice_loader_get_stats(sluice_loader *loader, sluice_loader_stats *stats);

typedef enum sluice_stage {
    SLUICE_STAGE_READ = 0,    /* read requests; busy: time with one in flight */
    SLUICE_STAGE_DECODE = 1,  /* samples, bytes to pixels; the queue is the workers' */
    SLUICE_STAGE_AUGMENT = 2, /* samples, pixels to rows; no queue before it */
    SLUICE_STAGE_UPLOAD = 3   /* batches; busy: time with a copy in flight, none with host memory */
} sluice_stage;

/* Statistics of one stage since open. */
typedef struct sluice_stage_stats {
    uint32_t struct_size;
    uint32_t reserved; /* 0 */
    uint64_t busy_ns;  /* summed over the stage's threads */
    uint64_t items;
    /* depth of the queue before the stage, sampled whenever something is taken from it (a worker
     * takes several small samples at once): bin i: i/16 of its capacity, rounded down; the last
     * bin: full */
    uint64_t depth[SLUICE_HISTOGRAM_BINS];
} sluice_stage_stats;

#define SLUICE_STAGE_STATS_INIT              \
    {                                        \
        sizeof(sluice_stage_stats), 0, 0, 0, \
        {                                    \
            0                                \
        }                                    \
    }

/* Reports the statistics of a stage. INVALID: no such stage. */
SLUICE_API sluice_status sluice_loader_get_stage(sluice_loader *loader, sluice_stage stage,
                                                 sluice_stage_stats *stats);

/* Time of one image operation since open: measured on the first row of each task and scaled to all.
 * Part of the stage AUGMENT. */
typedef struct sluice_operation_stats {
    uint32_t struct_size;
    uint32_t reserved; /* 0 */
    uint64_t busy_ns;  /* summed over threads */
    const char *name;  /* the library's own string: "geometry" (crops, resizes, warps),
                          "gaussian_blur", "mixing" (rows, on the host), ... */
} sluice_operation_stats;

#define SLUICE_OPERATION_STATS_INIT                \
    {                                              \
        sizeof(sluice_operation_stats), 0, 0, NULL \
    }

/* Reports operation `number`, from 0 on. INVALID: no operation has that number. The time of an
 * aug_mix includes that of its operations, which are also reported separately. */
SLUICE_API sluice_status sluice_loader_get_operation(sluice_loader *loader, uint32_t number,
                                                     sluice_operation_stats *stats);

/* Statistics of the cache of remote data (sluice/remote.h) for a loader. */
typedef struct sluice_loader_cache {
    uint32_t struct_size;
    uint32_t reserved; /* 0 */
    uint64_t chunks;   /* chunks of up to 8 MiB that the current epoch reads; 0: no cache in use */
    /* Bytes of the chunks looked up so far: already in the cache, fetched into it, and read past
     * it. */
    uint64_t here_bytes, fetched_bytes, left_bytes;
    uint64_t removed; /* chunks evicted in this epoch */
    /* Fractions of an epoch's bytes that a cache of this size can serve without a download: the
     * optimum over all policies, and LRU over whole chunks. 0: not requested. */
    double optimum, lru;
} sluice_loader_cache;

#define SLUICE_LOADER_CACHE_INIT                            \
    {                                                       \
        sizeof(sluice_loader_cache), 0, 0, 0, 0, 0, 0, 0, 0 \
    }

/* Reports the cache. If `epoch` is at least 1, also simulates this rank's reads of that epoch and
 * the one before, which blocks for about 0.3 us per sample; 0: does not. Errors: NOMEM. */
SLUICE_API sluice_status sluice_loader_get_cache(sluice_loader *loader, uint64_t epoch,
                                                 sluice_loader_cache *cache);

/*
 * Reports the loader's first error, which stays. Without one: why a call failed (no epoch started,
 * an invalid argument, cursor or stream) or that the loader was canceled, until the next successful
 * start. Returns the reported status; OK, with `error` unchanged, if there is nothing to report.
 */
SLUICE_API sluice_status sluice_loader_get_error(sluice_loader *loader, sluice_error *error);

/*
 * Describes what the loader does now, in one line for people: the batch that next returns next, and
 * the row, queue or read it waits for, with the file and the age of the oldest read in flight.
 * Meant for a loader that seems stuck; the wording may change. Writes at most `bytes` bytes
 * including the final 0 (1024 are enough); longer text is cut. Any thread, even while next waits;
 * waits for no stage. INVALID: `text` is NULL or `bytes` is 0. STATE: in a forked process.
 * CANCELED: the loader is being closed.
 */
SLUICE_API sluice_status sluice_loader_describe(sluice_loader *loader, char *text, size_t bytes);

/*
 * Ends the epoch from any thread, immediately: next returns CANCELED until the next start.
 * Idempotent.
 */
SLUICE_API void sluice_loader_cancel(sluice_loader *loader);

/*
 * Stops the threads and frees everything except held batches, which stay readable until released.
 * Calls in progress in other threads end first (a blocked next returns CANCELED); calls after close
 * has returned are the caller's error. Waits at most half a second for reads and opens in flight,
 * which the kernel cannot recall; if storage takes longer, a thread of the library frees their
 * memory once they have returned. Memory of a read still missing after stall_fail_ns is never
 * freed, since the kernel may write to it. Single-scan images being decoded are finished (up to a
 * second each, at 100 million pixels); others are abandoned. On a device, close (and a start_epoch
 * that drops batches) also waits for copies in flight, and so for the work before them on streams
 * given to sluice_batch_release_on. Close before cudaDeviceReset. NULL is a no-op.
 */
SLUICE_API void sluice_loader_close(sluice_loader *loader);

#ifdef __cplusplus
}
#endif
#endif
