/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sluice/writer.h: makes packed shards, sample by sample or from another dataset.
 *
 * A packed dataset is a folder of shard-000000.sluice, shard-000001.sluice, ... and
 * manifest.sluice, specified in docs/format.md. Files appear whole or not at all; the manifest
 * comes last. The same samples in the same order with the same options give the same bytes.
 *
 * Samples of any fields, here a tensor of u16 and a text (errors left out):
 *
 *     sluice_field fields[2] = {SLUICE_FIELD_INIT, SLUICE_FIELD_INIT};
 *     strcpy(fields[0].name, "tokens");
 *     fields[0].type = SLUICE_FIELD_TENSOR;
 *     fields[0].dtype = SLUICE_U16;
 *     fields[0].dims = 1;                        // shape[0] = 0: of any length
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
 * After a fork a writer belongs to the parent, and so does what sluice_pack is doing there. In the
 * child calls that add or finish answer SLUICE_STATE; abort, or finish, frees the child's copy
 * without touching a file. A callback may fork, and its child is not to return from it. The lock on
 * the folder ends when the parent is done with it; where the parent is killed instead, when its
 * children have ended, or exec'd, too.
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
 * JPEGs are re-tiled unless keep_bytes asks for something else: rewritten without loss (each pixel
 * stays what it was, for every decoder) to baseline coding in one scan, with tables made for the
 * picture and restart markers, so that a part of it can be decoded alone. With tile_mcus 0 a small
 * one gets the usual tables or no markers where that is decoded faster; if it has that form already
 * it is stored as it is, as is what cannot be written this way. Every picture is read to its end on
 * the way: one that ends early, or whose damage libjpeg sees, is CORRUPT. What follows the picture
 * in its file (further pictures of a multi-picture file, a motion photo's film) is not stored.
 */
typedef enum sluice_jpeg_metadata {
    SLUICE_JPEG_METADATA_KEEP = 0, /* EXIF, ICC profile, comments, ... go along, byte for byte */
    SLUICE_JPEG_METADATA_DROP = 1  /* only what gives the colours their meaning (JFIF, Adobe) and
                                      the EXIF orientation go along, not an ICC profile */
} sluice_jpeg_metadata;

/* Values of zstd_level below the levels. */
enum {
    SLUICE_ZSTD_AUTO = 0, /* a field is stored as frames (of level 3) where that makes what the
                             first samples have of it smaller by a quarter at least: up to 64
                             samples or 4 MiB, which a writer keeps in memory until then */
    SLUICE_ZSTD_OFF = -1  /* all is stored plain */
};

typedef struct sluice_writer_options {
    uint32_t struct_size;
    int32_t zstd_level;   /* 1..19: store what becomes smaller as zstd frames of that level, but no
                             JPEGs; SLUICE_ZSTD_OFF: do not [SLUICE_ZSTD_AUTO] */
    uint64_t shard_bytes; /* a shard is closed before it would pass this, at least one sample
                             [256 MiB; 1 MiB .. 1 TiB] */
    const char *const *classes; /* class names by label, copied; at most 2^24, 65536 of them "" for
                                   labels that are not used; NULL: none */
    uint32_t class_count;
    uint32_t overwrite;  /* 1: remove the shards of an earlier dataset in the folder [0: refuse] */
    uint32_t keep_bytes; /* 1: store JPEGs as they are, their headers checked [0: re-tile] */
    int32_t jpeg_metadata; /* a sluice_jpeg_metadata, of re-tiled JPEGs [KEEP] */
    uint32_t tile_mcus;    /* MCUs (8 to 32 pixels wide) between restart markers of re-tiled JPEGs,
                              1 .. 65535, at most a row of them [0: about 96 pixels] */
    uint32_t reserved;     /* 0 */
    /* What samples hold: 1 to 64 fields, copied. Of each the name (1 to 31 characters of ASCII
       without a space), the type and the compression count, of tensors dtype, dims and shape, too
       (0: differs from sample to sample). Role, box_format, coordinates, orientation, per_box and
       `of` are stored, and are what the dataset's fields have then. INVALID: a role does not go
       with the type, or `of` is empty and several fields could be meant [NULL: image, label (int),
       key (text)] */
    const sluice_field *fields;
    uint32_t field_count;
    uint32_t reserved_2; /* 0 */
} sluice_writer_options;

#define SLUICE_WRITER_OPTIONS_INIT                                              \
    {                                                                           \
        sizeof(sluice_writer_options), 0, 0, NULL, 0, 0, 0, 0, 0, 0, NULL, 0, 0 \
    }

/* Creates `path` (one level) when it is missing. Errors: INVALID, STATE (not empty), IO, NOMEM. */
SLUICE_API sluice_status sluice_writer_open(sluice_writer **writer, const char *path,
                                            const sluice_writer_options *options,
                                            sluice_error *error) SLUICE_MUST_CHECK;

/* One sample to add to a writer without `fields`. Pointers are borrowed for the call. */
typedef struct sluice_writer_sample {
    uint32_t struct_size;
    uint32_t raw_width;  /* > 0: `image` is raw u8 RGB pixels, raw_width x raw_height x 3 bytes; */
    uint32_t raw_height; /* 0: `image` is a JPEG, PNG or WebP */
    uint32_t reserved;   /* 0 */
    const void *image;
    uint64_t image_bytes; /* 1 .. 1 GiB */
    int64_t label;        /* -1: none; below class_count where classes have names */
    const char *key;      /* a name to find it again by, at most 511 bytes; NULL: none */
} sluice_writer_sample;

#define SLUICE_WRITER_SAMPLE_INIT                                \
    {                                                            \
        sizeof(sluice_writer_sample), 0, 0, 0, NULL, 0, -1, NULL \
    }

/*
 * Adds a sample; a JPEG is re-tiled unless keep_bytes is set; of other pictures, and then, just the
 * header is read, and of PNG and WebP that the file is whole.
 * CORRUPT or UNSUPPORTED leave the writer as it was, so the caller may go on. After IO (disk full)
 * only abort is left. STATE: the writer has other fields.
 */
SLUICE_API sluice_status sluice_writer_add(sluice_writer *writer,
                                           const sluice_writer_sample *sample,
                                           sluice_error *error) SLUICE_MUST_CHECK;

/* What a sample has of one field; the field's type says which members count. */
typedef struct sluice_value {
    uint32_t struct_size;
    uint32_t absent;    /* 1: nothing; the others do not count [0] */
    const void *data;   /* image, tensor, bytes, text: borrowed for the call */
    uint64_t bytes;     /* of `data`; a text has no NUL at its end */
    int64_t integer;    /* int */
    double number;      /* float */
    uint32_t raw_width; /* image: as in sluice_writer_sample */
    uint32_t raw_height;
    int64_t shape[SLUICE_TENSOR_DIMS_MAX]; /* tensor: where the field's shape has 0; 0 with only one
                                              such dimension: as `bytes` say */
} sluice_value;

#define SLUICE_VALUE_INIT                             \
    {                                                 \
        sizeof(sluice_value), 0, NULL, 0, 0, 0, 0, 0, \
        {                                             \
            0                                         \
        }                                             \
    }

/*
 * Adds a sample: `count` values, one for each field, in the order of the fields (image, label, key
 * in a writer without `fields`). Pictures are treated as by sluice_writer_add. A text named "key"
 * has at most 4095 bytes and no NUL; other texts and bytes hold anything. An int named "label" is a
 * class or -1 where classes have names. A sample has 2^31 - 1 bytes at most, before anything is
 * compressed; sluice_dataset_read reads them all, a loader those of up to its max_sample_bytes.
 * Errors: as sluice_writer_add; INVALID: a value does not fit its field.
 */
SLUICE_API sluice_status sluice_writer_add_values(sluice_writer *writer, const sluice_value *values,
                                                  uint32_t count,
                                                  sluice_error *error) SLUICE_MUST_CHECK;

/* Completes the last shard and writes the manifest (fsync'd), and frees the writer in any case but
 * that of an `error` that cannot be filled. */
SLUICE_API sluice_status sluice_writer_finish(sluice_writer *writer,
                                              sluice_error *error) SLUICE_MUST_CHECK;

/* Frees the writer; complete shards stay, the unfinished one is removed (not in a forked child).
 * NULL is fine. */
SLUICE_API void sluice_writer_abort(sluice_writer *writer);

typedef enum sluice_pack_on_bad {
    SLUICE_PACK_BAD_FAIL = 0, /* stop; a later run with SKIP resumes */
    /* leave the sample out and list it in rejected.tsv. What may be good, and cannot be read, stops
     * as with FAIL: a read that fails again after some tries and a second or so (EIO, ESTALE, ...),
     * a file without permission, or one that was changed since it was opened. A file that is not
     * there is a bad sample */
    SLUICE_PACK_BAD_SKIP = 1,
    SLUICE_PACK_BAD_SKIP_ALL = 2 /* leave out what cannot be read, too */
} sluice_pack_on_bad;

typedef struct sluice_pack_progress {
    uint32_t struct_size;
    uint32_t shards;       /* complete */
    uint64_t samples_done; /* written or left out, those of an earlier, resumed run included */
    uint64_t samples_total;
    uint64_t bytes_written;
    uint64_t rejected;
    uint64_t jpegs_retiled; /* these four as in sluice_pack_result */
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
    uint32_t workers;     /* threads that read and check [one for each processor; remote: 32] */
    uint64_t shard_bytes; /* about the size of a shard: each takes the same number of samples, of
                             which the first ones are measured [256 MiB, or less with `parts`, so
                             that each part has a shard; 1 MiB .. 1 TiB] */
    uint64_t seed;        /* of the order in which samples are written */
    uint32_t keep_order;  /* 1: the dataset's order [0: shuffled, so that neighbours in a shard
                             carry no class runs; but one that can only be read from front to back
                             (sluice_dataset_info.front_to_back) keeps its order] */
    uint32_t overwrite;   /* 1: remove the files of an earlier pack and start from scratch */
    int32_t on_bad;       /* a sluice_pack_on_bad [FAIL] */
    uint32_t skip_verify; /* 1: do not read back the written shards */
    int32_t zstd_level;   /* as in sluice_writer_options */
    uint32_t keep_bytes;  /* as in sluice_writer_options */
    /* called by one thread, a few times a second and at the end; may be NULL */
    void (*on_progress)(void *user, const sluice_pack_progress *progress);
    void *user;
    int32_t jpeg_metadata; /* these two as in sluice_writer_options */
    uint32_t tile_mcus;
    /* Called by one thread for each JPEG that is stored as it is although it was to be re-tiled
       (not where nothing is decoded faster); may be NULL. Status UNSUPPORTED: it cannot be
       re-tiled, the text says why; INTERNAL: the result, read back, was another picture: a bug in
       sluice, please report it. */
    void (*on_kept)(void *user, const sluice_error *reason);
    uint32_t raw; /* 1: decode pictures and store their pixels [0: encoded]. EXIF is gone, so they
                     are stored the way up that their field says they were annotated (sluice_field,
                     `orientation`), and as they are where it does not say. Not with keep_bytes. */
    uint32_t append; /* 1: add to the packed dataset in the folder, of the same fields, which mean
                        the same, and the same classes: it stays what it was until all is added. The
                        same call again adds nothing, unless others were made in between. Not with
                        overwrite. [0] */
    /* asked several times a second by one thread: not 0 ends with CANCELED, and a later call goes
       on; may be NULL */
    int32_t (*should_stop)(void *user);
    /* Pictures whose longer side has more pixels are made smaller: decoded, resampled by an
       antialiasing filter and encoded again, as JPEGs (raw pixels stay pixels), with the EXIF
       orientation and, unless metadata is dropped, a JPEG's ICC profile. Their pixels are not those
       of the source then. Others are treated as without it. Fields of WIDTH and HEIGHT are those of
       the smaller picture. INVALID for a dataset whose boxes, points, shapes or masks are in
       pixels, as sluice_field says. 1 .. 65500 [0: none is] */
    uint32_t max_side;
    uint32_t quality; /* of JPEGs that were made smaller, 1 .. 100 [90]; 0 without max_side */
    /* Of this share of the samples, 0 .. 1, pictures are decoded and their pixels stored, as with
       raw: samples that are drawn once and for all by their numbers [0]; 0 with raw */
    double raw_share;
    /* One of several processes that pack together, on machines that see the same folder: this one
       does part `part` (0 .. parts-1) of `parts`, each the shards of a range of the order. The
       last one that finishes joins them. All give the same dataset and options. Not with overwrite.
       With shard_bytes the dataset is, byte for byte, that of one process. Without, the samples and
       their order are, and the first process says where shards end, as they would be at 256 MiB or,
       where those were fewer than parts, smaller: for whoever goes on later, also in another number
       of parts. [0 of 1: the whole] */
    uint32_t part;
    uint32_t parts;            /* 1 .. 65535; 0 is 1 */
    uint64_t max_sample_bytes; /* a larger sample is a bad one [2^31 - 1, which is the most] */
    /* With append: how classes that are not the same are joined (sluice/datasets.h). Those that are
     * there keep their numbers, new ones come behind them, and readers older than that refuse the
     * dataset. Renaming is of the classes that are added; `classes` is INVALID. [NULL: they must be
     * the same] */
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
    uint64_t samples;  /* in the packed dataset. For a part, or an append, these three count its own
                          samples, not those of others */
    uint64_t rejected; /* left out; listed in rejected.tsv: source key, status, offset, reason */
    uint64_t bytes;    /* of all shards */
    uint64_t resumed_samples; /* taken over from an earlier run */
    /* JPEGs of this run; those that were taken over are not counted. */
    uint64_t jpegs_retiled;
    uint64_t jpegs_kept;        /* stored as they are: for keep_bytes, since nothing is decoded
                                   faster, or for one of the reasons: */
    uint64_t kept_large_mcu;    /* its components do not fit into one scan */
    uint64_t kept_incomplete;   /* scans are missing, and decoders make up for them */
    uint64_t kept_unusual;      /* something else that baseline coding does not allow */
    uint64_t kept_different;    /* the result was another picture: see on_kept */
    uint64_t jpeg_bytes_before; /* of all of them, as they came */
    uint64_t jpeg_bytes_after;  /* and as they are stored */
    uint32_t was_complete; /* 1: an earlier run had finished; nothing was written or verified */
    uint32_t complete;     /* 1: the folder is a dataset; 0: other parts are not all there */
    uint64_t decoded;      /* pictures stored as pixels, of this run; and their bytes */
    uint64_t decoded_bytes_before;
    uint64_t decoded_bytes_after;
    uint64_t resized; /* images made smaller in this run, which are not among the JPEGs above; and
                         their bytes */
    uint64_t resized_bytes_before;
    uint64_t resized_bytes_after;
    /* Of a pack in parts; 0 where an earlier run had finished. */
    uint32_t idle_parts; /* so many have nothing to do, since there are fewer shards than parts */
    uint32_t cut_for_parts; /* 1: shards are smaller than 256 MiB, so that each part has one */
} sluice_pack_result;

#define SLUICE_PACK_RESULT_INIT                                                                    \
    {                                                                                              \
        sizeof(sluice_pack_result), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
            0, 0                                                                                   \
    }

/*
 * Packs `dataset`, with all its fields, into the folder `path`; JPEGs of any field are re-tiled
 * unless keep_bytes or raw is set. To continue a run that was interrupted (killed, disk full), call
 * again with the same dataset and options: the result is the same, byte for byte. Blocks until
 * done. Errors: STATE (the folder holds another dataset, or a pack with other options), CANCELED
 * (should_stop), IO, CORRUPT or UNSUPPORTED (a bad sample, with FAIL), INVALID, NOMEM.
 */
SLUICE_API sluice_status sluice_pack(const sluice_dataset *dataset, const char *path,
                                     const sluice_pack_options *options, sluice_pack_result *result,
                                     sluice_error *error) SLUICE_MUST_CHECK;

/*
 * Joins the parts of a pack whose processes do not share a folder, or whose last process was killed
 * before it joined them: the folder `path` has all of their files. Joins nothing, and is OK, where
 * that is done already. Blocks until done; reads no samples. `result` has the whole dataset's
 * shards, samples, rejected, bytes, was_complete and complete. Errors: STATE (a part is missing,
 * still being written, or of another pack; a shard is missing), IO, CORRUPT, NOMEM.
 */
SLUICE_API sluice_status sluice_pack_join(const char *path, sluice_pack_result *result,
                                          sluice_error *error) SLUICE_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
