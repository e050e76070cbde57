/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sluice/writer.h: writes packed shards, sample by sample or from another dataset.
 *
 * A packed dataset is a folder of shard-000000.sluice, shard-000001.sluice, ... and
 * manifest.sluice, specified in docs/format.md. Files appear complete or not at all; the manifest
 * comes last. The same samples in the same order with the same options give the same bytes.
 *
 * Samples of any fields, here a tensor of u16 and a text (without error checks):
 *
 *     sluice_field fields[2] = {SLUICE_FIELD_INIT, SLUICE_FIELD_INIT};
 *     strcpy(fields[0].name, "tokens");
 *     fields[0].type = SLUICE_FIELD_TENSOR;
 *     fields[0].dtype = SLUICE_U16;
 *     fields[0].dims = 1;                        // shape[0] = 0: any length
 *     strcpy(fields[1].name, "source");
 *     fields[1].type = SLUICE_FIELD_TEXT;
 *     options.fields = fields;
 *     options.field_count = 2;
 *     sluice_writer_open(&writer, "packed", &options, NULL);
 *     for (...) {
 *         sluice_value values[2] = {SLUICE_VALUE_INIT, SLUICE_VALUE_INIT};
 *         values[0].data = tokens;
 *         values[0].bytes = 2 * token_count;
 *         values[1].data = source;
 *         values[1].bytes = strlen(source);
 *         sluice_writer_add_values(writer, values, 2, NULL);
 *     }
 *     sluice_writer_finish(writer, NULL);
 *
 * Threads: one thread at a time per writer.
 *
 * After a fork, only the parent may use a writer or continue a sluice_pack. In the child, adding
 * and finishing return SLUICE_STATE; abort, or finish, frees the child's copy and touches no file.
 * A callback may fork, but its child must not return from it. The folder's lock ends when the
 * parent finishes; if the parent is killed, when its children have exited or called exec.
 */
#ifndef SLUICE_WRITER_H
#define SLUICE_WRITER_H

#include <sluice/common.h>
#include <sluice/dataset.h>
#include <sluice/datasets.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sluice_writer sluice_writer;

/*
 * JPEGs are re-tiled unless keep_bytes is set: rewritten without loss (for every decoder, each
 * pixel is unchanged) to baseline coding in one scan, with Huffman tables made for the image and
 * with restart markers, so that a part can be decoded on its own. With tile_mcus 0, a small JPEG
 * gets the standard tables or no markers if that decodes faster. A JPEG that already has this form,
 * or cannot be rewritten, is stored unchanged. Re-tiling reads each image to its end: one that is
 * truncated, or in which libjpeg detects damage, is CORRUPT. Data after the image (further images
 * of a multi-picture file, the video of a motion photo) are not stored.
 */
typedef enum sluice_jpeg_metadata {
    SLUICE_JPEG_METADATA_KEEP = 0, /* keeps EXIF, ICC profile, comments, ..., byte for byte */
    SLUICE_JPEG_METADATA_DROP = 1  /* keeps only what defines the colors (JFIF, Adobe) and the EXIF
                                      orientation; drops the ICC profile */
} sluice_jpeg_metadata;

/* Values of zstd_level that are not levels. */
enum {
    SLUICE_ZSTD_AUTO = 0, /* stores a field as zstd frames (level 3) if that shrinks its values in
                             the first samples by at least a quarter: up to 64 samples or 4 MiB,
                             which a writer keeps in memory until then */
    SLUICE_ZSTD_OFF = -1  /* compresses nothing */
};

typedef struct sluice_writer_options {
    uint32_t struct_size;
    int32_t zstd_level; /* 1..19: stores values that become smaller as zstd frames of that level,
                           except JPEGs; SLUICE_ZSTD_OFF: none [SLUICE_ZSTD_AUTO] */
    uint64_t
        shard_bytes; /* largest shard, except for a single larger sample [256 MiB; 1 MiB..1 TiB] */
    const char *const *classes; /* class names by label, copied; at most 2^24. Up to 65536 may be
                                   "": unused labels. NULL: none */
    uint32_t class_count;
    uint32_t overwrite;    /* 1: removes an earlier dataset's shards from the folder [0: STATE] */
    uint32_t keep_bytes;   /* 1: stores JPEGs unchanged, checking only their headers [0: re-tile] */
    int32_t jpeg_metadata; /* a sluice_jpeg_metadata, for re-tiled JPEGs [KEEP] */
    uint32_t tile_mcus;    /* MCUs (8 to 32 pixels wide) between restart markers of re-tiled JPEGs,
                              1..65535, at most a row [0: about 96 pixels] */
    uint32_t reserved;     /* 0 */
    /* The samples' fields, 1 to 64, copied. Each has a name (1 to 31 ASCII characters without
       spaces), a type, a compression, and for tensors a dtype, dims and shape (0: varies by
       sample). Role, box_format, coordinates, orientation, per_box and `of` are stored and become
       those of the dataset's fields. INVALID: a role does not fit the type, or `of` is empty
       although several fields could be meant [NULL: image, label (int), key (text)] */
    const sluice_field *fields;
    uint32_t field_count;
    uint32_t reserved_2; /* 0 */
} sluice_writer_options;

#define SLUICE_WRITER_OPTIONS_INIT                                              \
    {                                                                           \
        sizeof(sluice_writer_options), 0, 0, NULL, 0, 0, 0, 0, 0, 0, NULL, 0, 0 \
    }

/* Opens a writer; creates the folder `path` (one level) if missing. Errors: INVALID, STATE (not
 * empty), IO, NOMEM. */
SLUICE_API sluice_status sluice_writer_open(sluice_writer **writer, const char *path,
                                            const sluice_writer_options *options,
                                            sluice_error *error) SLUICE_MUST_CHECK;

/* A sample for a writer without `fields`. Pointers are borrowed for the call. */
typedef struct sluice_writer_sample {
    uint32_t struct_size;
    uint32_t raw_width;  /* > 0: `image` is raw u8 RGB pixels, raw_width x raw_height x 3 bytes */
    uint32_t raw_height; /* 0: `image` is a JPEG, PNG or WebP */
    uint32_t reserved;   /* 0 */
    const void *image;
    uint64_t image_bytes; /* 1 .. 1 GiB */
    int64_t label;        /* -1: none; below class_count if classes have names */
    const char *key;      /* the sample's name, at most 511 bytes; NULL: none */
} sluice_writer_sample;

#define SLUICE_WRITER_SAMPLE_INIT                                \
    {                                                            \
        sizeof(sluice_writer_sample), 0, 0, 0, NULL, 0, -1, NULL \
    }

/*
 * Adds a sample. Re-tiles a JPEG unless keep_bytes is set. Of other images, and of JPEGs with
 * keep_bytes, checks only the header, and for PNG and WebP that the file is complete. CORRUPT and
 * UNSUPPORTED leave the writer unchanged, so the caller may continue. After IO (disk full) only
 * abort is possible. STATE: the writer has other fields.
 */
SLUICE_API sluice_status sluice_writer_add(sluice_writer *writer,
                                           const sluice_writer_sample *sample,
                                           sluice_error *error) SLUICE_MUST_CHECK;

/* A sample's value of one field; the field's type determines which members count. */
typedef struct sluice_value {
    uint32_t struct_size;
    uint32_t absent;    /* 1: the sample lacks the field; other members are ignored [0] */
    const void *data;   /* image, tensor, bytes, text: borrowed for the call */
    uint64_t bytes;     /* bytes of `data`; a text without a final NUL */
    int64_t integer;    /* int */
    double number;      /* float */
    uint32_t raw_width; /* image: as in sluice_writer_sample */
    uint32_t raw_height;
    int64_t shape[SLUICE_TENSOR_DIMS_MAX]; /* tensor: sizes where the field's shape has 0; 0
                                              if there is only one: computed from `bytes` */
} sluice_value;

#define SLUICE_VALUE_INIT                             \
    {                                                 \
        sizeof(sluice_value), 0, NULL, 0, 0, 0, 0, 0, \
        {                                             \
            0                                         \
        }                                             \
    }

/*
 * Adds a sample: `count` values, one per field, in the order of the fields (image, label, key in a
 * writer without `fields`). Images are treated as in sluice_writer_add. A text named "key" has at
 * most 4095 bytes and no NUL; other texts and bytes are arbitrary. An int named "label" is a class,
 * or -1, if classes have names. A sample has at most 2^31 - 1 bytes before compression;
 * sluice_dataset_read reads any sample, a loader only up to its max_sample_bytes. Errors: as
 * sluice_writer_add; INVALID: a value does not fit its field.
 */
SLUICE_API sluice_status sluice_writer_add_values(sluice_writer *writer, const sluice_value *values,
                                                  uint32_t count,
                                                  sluice_error *error) SLUICE_MUST_CHECK;

/* Completes the last shard, writes the manifest (with fsync), and frees the writer, unless `error`
 * is invalid (its struct_size is not set). */
SLUICE_API sluice_status sluice_writer_finish(sluice_writer *writer,
                                              sluice_error *error) SLUICE_MUST_CHECK;

/* Frees the writer. Complete shards stay; the unfinished one is removed (not in a forked child).
 * NULL is a no-op. */
SLUICE_API void sluice_writer_abort(sluice_writer *writer);

typedef enum sluice_pack_on_bad {
    SLUICE_PACK_BAD_FAIL = 0, /* stops; a later run with SKIP resumes */
    /* leaves the sample out and lists it in rejected.tsv. A sample that cannot be read but may be
     * intact stops as with FAIL: a read that still fails after several tries and about a second
     * (EIO, ESTALE, ...), a file without permission, or one changed since it was opened. A missing
     * file is a bad sample */
    SLUICE_PACK_BAD_SKIP = 1,
    SLUICE_PACK_BAD_SKIP_ALL = 2 /* leaves out unreadable samples as well */
} sluice_pack_on_bad;

typedef struct sluice_pack_progress {
    uint32_t struct_size;
    uint32_t shards;       /* complete shards */
    uint64_t samples_done; /* written or left out, including those of an earlier, resumed run */
    uint64_t samples_total;
    uint64_t bytes_written;
    uint64_t rejected;
    uint64_t jpegs_retiled; /* this and the next three as in sluice_pack_result */
    uint64_t jpegs_kept;
    uint64_t jpeg_bytes_before;
    uint64_t jpeg_bytes_after;
} sluice_pack_progress;

#define SLUICE_PACK_PROGRESS_INIT                               \
    {                                                           \
        sizeof(sluice_pack_progress), 0, 0, 0, 0, 0, 0, 0, 0, 0 \
    }

typedef struct sluice_pack_options {
    uint32_t struct_size;
    uint32_t workers;     /* threads that read and check [one per CPU; remote data: 32] */
    uint64_t shard_bytes; /* approximate size of a shard: all have the same number of samples,
                             estimated from the first samples [256 MiB, or less with `parts`, so
                             that each part has a shard; 1 MiB..1 TiB] */
    uint64_t seed;        /* seed of the order in which samples are written */
    uint32_t keep_order;  /* 1: writes in the dataset's order [0: shuffled, so that a shard has no
                             runs of one class; a dataset that can only be read from front to back
                             (sluice_dataset_info.front_to_back) keeps its order] */
    uint32_t overwrite;   /* 1: removes the files of an earlier pack and starts over */
    int32_t on_bad;       /* a sluice_pack_on_bad [FAIL] */
    uint32_t skip_verify; /* 1: does not read back the written shards */
    int32_t zstd_level;   /* as in sluice_writer_options */
    uint32_t keep_bytes;  /* as in sluice_writer_options */
    /* Called by one thread, a few times a second and at the end; may be NULL. */
    void (*on_progress)(void *user, const sluice_pack_progress *progress);
    void *user;
    int32_t jpeg_metadata; /* jpeg_metadata and tile_mcus as in sluice_writer_options */
    uint32_t tile_mcus;
    /* Called by one thread for each JPEG that should be re-tiled but is stored unchanged (except
       those that would not decode faster); may be NULL. Status UNSUPPORTED: the JPEG cannot be
       re-tiled, and the text says why. INTERNAL: the result, read back, was another image: a bug in
       sluice, please report it. */
    void (*on_kept)(void *user, const sluice_error *reason);
    uint32_t raw;    /* 1: decodes images and stores their pixels [0: encoded]. EXIF is lost, so
                        they are stored in the orientation in which their field says they were
                        annotated (sluice_field, `orientation`), or unrotated if unknown. Not with
                        keep_bytes. */
    uint32_t append; /* 1: appends to the packed dataset in the folder, which must have the same
                        fields, with the same meanings, and the same classes. The dataset is
                        unchanged until everything is added. Repeating the call adds nothing, unless
                        others were made in between. Not with overwrite. [0] */
    /* Called several times a second by one thread: anything but 0 ends the call with CANCELED; a
       later call resumes. May be NULL. */
    int32_t (*should_stop)(void *user);
    /* Largest longer side of images, in pixels. Larger images are downscaled: decoded, resampled
       with antialiasing and encoded as JPEG (raw pixels stay raw), with the EXIF orientation and,
       unless metadata is dropped, a JPEG's ICC profile. This is lossy. Other images are not
       affected. WIDTH and HEIGHT fields get the new size. INVALID for a dataset whose boxes,
       points, shapes or masks are in pixels, according to sluice_field. 1..65500 [0: no limit] */
    uint32_t max_side;
    uint32_t quality; /* quality of downscaled JPEGs, 1..100 [90]; 0 without max_side */
    /* Fraction of the samples, 0..1, whose images are stored as pixels, as with raw; chosen once by
       their numbers [0]; 0 with raw */
    double raw_share;
    /* Packing with several processes on machines that share the folder: this one packs part `part`
       (0 .. parts - 1) of `parts`, the shards of a range of the order. The last to finish joins
       them. All must give the same dataset and options. Not with overwrite. With shard_bytes, the
       dataset is byte for byte that of one process. Without it, samples and their order are; the
       first process decides where shards end: as at 256 MiB or, if those were fewer than parts,
       smaller. Its decision holds for later, resumed runs, even in another number of parts. [0 of
       1: everything] */
    uint32_t part;
    uint32_t parts;            /* 1..65535; 0 means 1 */
    uint64_t max_sample_bytes; /* largest sample; a larger one is bad [2^31 - 1, the maximum] */
    /* With append: how different classes are joined (sluice/datasets.h). Existing classes keep
     * their numbers and new ones follow; readers older than this feature reject the dataset.
     * Renaming applies to the added classes; `classes` is INVALID. [NULL: classes must be the same]
     */
    const sluice_label_options *labels;
} sluice_pack_options;

#define SLUICE_PACK_OPTIONS_INIT                                                              \
    {                                                                                         \
        sizeof(sluice_pack_options), 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, 0, 0, NULL, 0, 0, \
            NULL, 0, 0, 0, 0, 0, 0, NULL                                                      \
    }

typedef struct sluice_pack_result {
    uint32_t struct_size;
    uint32_t shards;
    uint64_t samples; /* samples of the packed dataset. For a part, or an append, the first three
                         count only its own */
    uint64_t
        rejected; /* samples left out; listed in rejected.tsv: source key, status, offset, reason */
    uint64_t bytes;           /* bytes of all shards */
    uint64_t resumed_samples; /* samples of an earlier run */
    /* JPEGs of this run, without those of an earlier one. */
    uint64_t jpegs_retiled;
    uint64_t jpegs_kept;        /* stored unchanged: for keep_bytes, because re-tiling would not
                                   decode faster, or for one of these reasons: */
    uint64_t kept_large_mcu;    /* the components do not fit into one scan */
    uint64_t kept_incomplete;   /* scans are missing, which decoders compensate for */
    uint64_t kept_unusual;      /* another feature that baseline coding lacks */
    uint64_t kept_different;    /* the result was another image: see on_kept */
    uint64_t jpeg_bytes_before; /* bytes of all of them in the source */
    uint64_t jpeg_bytes_after;  /* and as stored */
    uint32_t was_complete; /* 1: an earlier run had finished; nothing was written or verified */
    uint32_t complete;     /* 1: the folder is a dataset; 0: other parts are missing */
    uint64_t decoded;      /* images stored as pixels in this run, and their bytes */
    uint64_t decoded_bytes_before;
    uint64_t decoded_bytes_after;
    uint64_t
        resized; /* images downscaled in this run, not counted as JPEGs above, and their bytes */
    uint64_t resized_bytes_before;
    uint64_t resized_bytes_after;
    /* For a pack in parts; 0 if an earlier run had finished. */
    uint32_t idle_parts;    /* parts without work, since there are fewer shards than parts */
    uint32_t cut_for_parts; /* 1: shards are below 256 MiB so that each part has one */
} sluice_pack_result;

#define SLUICE_PACK_RESULT_INIT                                                                    \
    {                                                                                              \
        sizeof(sluice_pack_result), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
            0, 0                                                                                   \
    }

/*
 * Packs `dataset`, with all its fields, into the folder `path`. Re-tiles JPEGs of every field
 * unless keep_bytes or raw is set. To resume an interrupted run (killed, disk full), call again
 * with the same dataset and options: the result is the same, byte for byte. Blocks until done.
 * Errors: STATE (the folder has another dataset, or a pack with other options), CANCELED
 * (should_stop), IO, CORRUPT or UNSUPPORTED (a bad sample, with FAIL), INVALID, NOMEM.
 */
SLUICE_API sluice_status sluice_pack(const sluice_dataset *dataset, const char *path,
                                     const sluice_pack_options *options, sluice_pack_result *result,
                                     sluice_error *error) SLUICE_MUST_CHECK;

/*
 * Joins the parts of a pack whose processes do not share a folder, or whose last process was killed
 * before joining. The folder `path` must have the files of all parts. If they are joined already,
 * it returns OK and does nothing. Blocks until done; reads no samples. `result` has the whole
 * dataset's shards, samples, rejected, bytes, was_complete and complete. Errors: STATE (a part is
 * missing, still being written, or of another pack; a shard is missing), IO, CORRUPT, NOMEM.
 */
SLUICE_API sluice_status sluice_pack_join(const char *path, sluice_pack_result *result,
                                          sluice_error *error) SLUICE_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
