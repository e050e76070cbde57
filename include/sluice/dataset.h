/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sluice/dataset.h: an immutable index of samples over existing files.
 *
 * `sluice_dataset_open` takes paths and detects their format: packed shards, an image folder with
 * torchvision's rules (except that hidden and system folders are never classes), or one of the
 * formats that docs/formats.md describes and sluice_dataset_format lists. If a path could be two
 * formats, opening fails and names the files of both. With sluice_dataset_options.flat, the paths
 * are files of tensors of one shape, and nothing is detected.
 *
 * Formats without an index (tar archives, TFRecord and RecordIO files) are scanned when first
 * opened, several files at a time. The resulting index is cached in $SLUICE_CACHE_DIR, else
 * $XDG_CACHE_HOME/sluice or ~/.cache/sluice (SLUICE_CACHE_DIR="": no cache). A file compressed as a
 * whole (*.tar.gz, MDS and LitData with zstd, ...) can only be read from front to back
 * (sluice_dataset_info.front_to_back), unless it is kept unpacked
 * (sluice_dataset_options.unpacked_dir). Columnar formats keep their columns of small values in
 * memory.
 *
 * Opening an image folder lists it and reads no image. Opening shards reads their manifest and no
 * index entries; both are verified against checksums as they are read. Index blocks in use are
 * cached in memory, at most 16 MiB (those of two million samples).
 *
 * A sample is a set of named fields. Images are in the field "image", class numbers in "label". If
 * classes have names, a label that is neither -1 nor a class number makes its sample bad.
 *
 * Threads: a dataset is immutable, and any thread may call any function concurrently. Any number of
 * loaders may share it, and each keeps it alive: closing it after sluice_loader_open is fine. In a
 * forked child, reopen the dataset. The inherited one is usable only if no other thread of the
 * parent, such as a loader's, was using it at the fork.
 */
#ifndef SLUICE_DATASET_H
#define SLUICE_DATASET_H

#include <sluice/common.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sluice_dataset sluice_dataset;

typedef enum sluice_field_type {
    SLUICE_FIELD_IMAGE = 1, /* a JPEG, PNG or WebP, or raw pixels; decoded to u8 RGB */
    SLUICE_FIELD_INT = 2,   /* one signed 64-bit integer */
    SLUICE_FIELD_FLOAT = 3, /* one binary64 */
    SLUICE_FIELD_BYTES = 4,
    SLUICE_FIELD_TEXT = 5,  /* UTF-8 */
    SLUICE_FIELD_TENSOR = 6 /* an array of numbers */
} sluice_field_type;

/* Whether values are stored as zstd frames. Numbers and encoded images never are. */
typedef enum sluice_compression {
    SLUICE_COMPRESSION_AUTO = 0,  /* writers: compress if the first samples show a benefit;
                                     datasets: mixed */
    SLUICE_COMPRESSION_NEVER = 1, /* no value is compressed */
    SLUICE_COMPRESSION_ALWAYS = 2 /* every value that becomes smaller */
} sluice_compression;

/* What a field's values mean for an image, beyond their type. Readers of annotated data and callers
 * of a writer set it; shards store it. */
typedef enum sluice_role {
    SLUICE_ROLE_NONE = 0,
    SLUICE_ROLE_BOXES = 1,  /* a tensor [any, 4] of boxes in the image */
    SLUICE_ROLE_POINTS = 2, /* a tensor [any, ...] of points in the image */
    SLUICE_ROLE_SHAPES = 3, /* a text: a JSON array of shapes, as COCO's "segmentation" */
    SLUICE_ROLE_MASK = 4,   /* an image or a tensor with a value for each pixel of the image */
    SLUICE_ROLE_WIDTH = 5,  /* an int: the width in pixels of the image that was annotated */
    SLUICE_ROLE_HEIGHT = 6  /* an int: its height */
} sluice_role;

/* The order of a box's four numbers. */
typedef enum sluice_box_format {
    SLUICE_BOX_AUTO = 0,  /* of a field: unknown; of a column: the field's. Then a field of role
                             BOXES with an unknown format is INVALID; any other field is XYXY */
    SLUICE_BOX_XYXY = 1,  /* left, top, right, bottom; right and bottom are exclusive */
    SLUICE_BOX_XYWH = 2,  /* left, top, width, height: COCO */
    SLUICE_BOX_CXCYWH = 3 /* center, width, height: YOLO, as fractions */
} sluice_box_format;

/* The unit of a coordinate. */
typedef enum sluice_coordinates {
    SLUICE_COORDINATES_AUTO = 0,     /* of a field: unknown; of a column: the field's, or PIXELS */
    SLUICE_COORDINATES_RELATIVE = 1, /* fractions of the image's width and height */
    SLUICE_COORDINATES_PIXELS = 2,   /* continuous: pixel i covers [i, i + 1) */
    SLUICE_COORDINATES_INDICES = 3   /* pixel numbers: i is the center of pixel i, and a flip
                                        turns it into W - 1 - i. COCO's keypoints */
} sluice_coordinates;

/* The orientation of an image, or of the image in which values were annotated. */
typedef enum sluice_orientation {
    SLUICE_ORIENTATION_AUTO = 0,    /* of a field: unknown; of a column: the field's */
    SLUICE_ORIENTATION_STORED = 1,  /* as stored, ignoring the EXIF orientation */
    SLUICE_ORIENTATION_UPRIGHT = 2, /* with the EXIF orientation applied */
    SLUICE_ORIENTATION_BY_SIZE = 3  /* varies: the sample's fields WIDTH and HEIGHT decide (for a
                                       MASK, its own size) */
} sluice_orientation;

/* A named value of each sample. */
typedef struct sluice_field {
    uint32_t struct_size;
    int32_t type;  /* a sluice_field_type */
    int32_t dtype; /* a sluice_dtype: type of an element (for images, of the decoded one) */
    uint32_t dims; /* 0: one element */
    int64_t shape[SLUICE_TENSOR_DIMS_MAX]; /* 0: varies by sample */
    char name[32];
    uint64_t reserved;    /* 0 */
    int32_t compression;  /* a sluice_compression */
    uint32_t reserved_32; /* 0 */
    int32_t role;         /* a sluice_role */
    int32_t box_format;   /* BOXES: a sluice_box_format */
    int32_t coordinates;  /* BOXES, POINTS: a sluice_coordinates */
    int32_t orientation; /* images, BOXES, POINTS, SHAPES, MASK: a sluice_orientation. For an image,
                            the one in which it was annotated, and so is decoded unless the
                            loader's option `exif` says otherwise */
    uint32_t per_box;    /* 1: one element (a row, a shape) per box of the field `of` */
    uint32_t reserved_end; /* 0 */
    char of[32]; /* per_box: the field of boxes; otherwise, with a role: the image; "": the only one
                  */
} sluice_field;

#define SLUICE_FIELD_INIT                                                     \
    {                                                                         \
        sizeof(sluice_field), 0, 0, 0, {0}, "", 0, 0, 0, 0, 0, 0, 0, 0, 0, "" \
    }

typedef struct sluice_dataset_options {
    uint32_t struct_size;
    /* 1: class folders whose names differ only in case ("Cat", "cat") are two classes, as in
     * torchvision. 0: they are INVALID, since copying such a folder to another file system merges
     * them silently [0] */
    uint32_t allow_case_duplicates;
    /* Not NULL: the paths are flat files: tensors back to back, as numpy's tofile writes them, and
     * this describes the tensor (name "" means "tensor"; dtype, dims, shape without 0). A file must
     * hold a whole number of tensors; with one dimension, a file's last one may be shorter
     * [NULL: detect the format] */
    const sluice_field *flat;
    /* 1: class folders without an image keep their class number, which no sample has, as with
     * torchvision's allow_empty. 0: they are INVALID, as in torchvision, since a stray folder (an
     * output, a trash can) shifts the numbers of all later classes [0] */
    uint32_t allow_empty_classes;
    /* 1: file lists (tables, COCO, VOC, wids, MDS and LitData indexes, a state.json of Arrow files)
     * may name files outside the list's folder, by absolute paths, "..", or symbolic links. 0: they
     * may not, since a stranger's list could name any file of this machine, whose contents would
     * then be packed and passed on. A name that leads outside, and a shard or the first image that
     * is such a link, fails opening (INVALID); another image that is one is a bad sample
     * (UNSUPPORTED). If images are beside their annotations, the folder of both counts; in the
     * cache of the Hugging Face hub, the blobs belong to it (docs/formats/reading.md) [0] */
    uint32_t allow_outside;
    /*
     * Not NULL: the fields of a format whose samples have keys or columns of their own: field_count
     * of them, at most 64, each "NAME=KEY" or "NAME=KEY:TYPE". NAME is the field's name, KEY the
     * data's, and TYPE one of image, int, float, bytes, text, or DTYPE[SHAPE], a tensor: f32[4],
     * i64[] (any length), u8[28,28,1] (from bytes: little-endian elements), f32[0,4] (rows of 4).
     * Without TYPE it is detected. The dataset then has exactly these fields, in this order [NULL:
     * all keys, by the format's rules (docs/formats.md)]
     */
    const char *const *fields;
    uint32_t field_count;
    uint32_t reserved; /* 0 */
    /* Limit on memory while opening, over all threads: indexes, columns kept in memory, file names,
     * and data unpacked to find them. NOMEM if a file needs more [half of the memory available to
     * this process, at most 8 GiB] */
    uint64_t memory_bytes;
    /*
     * Not NULL: a folder, created if missing, that keeps files compressed as a whole (archives, MDS
     * shards, LitData chunks) unpacked. Their samples can then be read in any order, and
     * sluice_dataset_info.front_to_back is 0. Each file is unpacked once, when first opened,
     * several at a time; processes that open the same files concurrently share the work.
     *
     * Each unpacked file is keyed by the path, size, inode and times of its source. If the source
     * changes, it is unpacked again and the stale file removed. The library removes nothing else;
     * you may delete the folder while no dataset uses it. Files belong to the user (mode 600);
     * opening fails if a subfolder belongs to another user (except root) or is writable by others.
     * More errors: IO with ENOSPC, before anything is unpacked, if the space is below what an index
     * says is needed, or below the sizes that gzip and zstd headers store, and when space runs out;
     * CORRUPT if unpacked data are damaged or differ from an index [NULL: nothing is unpacked]
     */
    const char *unpacked_dir;
    /* Not NULL: the split to open, by its name in the dataset: "train", "val2017". A kind of split
     * (train, val, test) means the only split of that kind, or all files of a folder that belong to
     * it (train-a, train-b); if COCO has several tasks for that split, its instances. Text labels
     * are numbered over all splits. INVALID, listing the splits: no split has that name, or the
     * dataset has no splits [NULL: a dataset of several splits is INVALID, listing them] */
    const char *split;
    /* Called several times a second by the opening thread: if it returns anything but 0, opening
     * ends with CANCELED within a second, provided the storage answers. It must not use the dataset
     * being opened, and a child that it forks must not return from it. May be NULL. */
    int32_t (*should_stop)(void *user);
    void *user; /* argument of should_stop */
} sluice_dataset_options;

#define SLUICE_DATASET_OPTIONS_INIT                                                          \
    {                                                                                        \
        sizeof(sluice_dataset_options), 0, NULL, 0, 0, NULL, 0, 0, 0, NULL, NULL, NULL, NULL \
    }

/*
 * Opens the dataset at `paths[0..count)`. Several paths of one format are joined in the given order
 * (shards, archives, arrays, flat files; image folders: count must be 1). A path with a range
 * (train-{000000..000146}.tar, both ends included) stands for all its files. `options` may be NULL.
 * On success the caller owns `*dataset`; on failure it is NULL. Blocks, e.g. while listing folders.
 * Errors: INVALID (unknown format, no image, class names that collide, a class without an image),
 * IO, CORRUPT, UNSUPPORTED (a format version newer than this library), NOMEM, CANCELED
 * (should_stop).
 */
SLUICE_API sluice_status sluice_dataset_open(sluice_dataset **dataset, const char *const *paths,
                                             size_t count, const sluice_dataset_options *options,
                                             sluice_error *error) SLUICE_MUST_CHECK;

/* Releases the caller's reference. NULL is a no-op. */
SLUICE_API void sluice_dataset_close(sluice_dataset *dataset);

typedef struct sluice_dataset_info {
    uint32_t struct_size;
    uint32_t shards;      /* number of files; 0 for an image folder */
    uint64_t samples;     /* at least 1 */
    uint64_t bytes;       /* stored bytes of all samples; 0: unknown without reading (folder) */
    uint64_t fingerprint; /* changes when the list of samples changes */
    uint32_t classes;
    uint32_t fields;
    char format[16];        /* "shards", "tar", "tfrecord", "recordio", "parquet", "arrow", "mds",
                               "litdata", "beton", "lmdb", "table", "coco", "voc", "masks", "yolo",
                               "npz", "npy", "megatron", "folder", "flat"; "mixed": several
                               formats, joined */
    uint32_t front_to_back; /* 1: some files are compressed as a whole (.tar.gz) and can only be
                               read from front to back: by sluice_pack, sluice_unpack and
                               sluice_dataset_verify, and by loaders with SHUFFLE_SHARDS or NONE.
                               Other shuffles, window columns, mixes, sluice_dataset_read and
                               sluice_dataset_decode fail; see unpacked_dir */
    uint32_t reserved;
} sluice_dataset_info;

#define SLUICE_DATASET_INFO_INIT                                \
    {                                                           \
        sizeof(sluice_dataset_info), 0, 0, 0, 0, 0, 0, "", 0, 0 \
    }

SLUICE_API sluice_status sluice_dataset_get_info(const sluice_dataset *dataset,
                                                 sluice_dataset_info *info);

/*
 * Describes the detected dataset in a sentence for people: "tar archives, whose files ...". After
 * "; " follows what makes it slow as stored: "compressed: shuffle by blocks, or pack". Valid until
 * the dataset is closed.
 */
SLUICE_API const char *sluice_dataset_describe(const sluice_dataset *dataset);

/* Files, rows or values that opening found but left out of the dataset, by reason. */
typedef struct sluice_left_out {
    uint32_t struct_size;
    uint32_t images;   /* 1: each is an image, or would have been a sample's image */
    uint64_t count;    /* at least 1 */
    char reason[96];   /* a phrase in the plural: "hidden files", "images that metadata.csv does not
                          list" */
    char example[256]; /* the first one: a path, or "..." and its end; or "" */
} sluice_left_out;

#define SLUICE_LEFT_OUT_INIT                  \
    {                                         \
        sizeof(sluice_left_out), 0, 0, "", "" \
    }

/* Reports entry `index`, from 0 on, of the things left out. END: no more entries. INVALID: a NULL
 * argument or an unknown struct_size. Never blocks; any thread. */
SLUICE_API sluice_status sluice_dataset_get_left_out(const sluice_dataset *dataset, uint32_t index,
                                                     sluice_left_out *left_out);

/*
 * Returns warning `index`, from 0 on, of opening the dataset: a sentence for people that says what
 * to write to end it. There is one for each reason for which images were left out, or more things
 * than a tenth of the dataset's samples. Valid until the dataset is closed; NULL: no more warnings.
 * Never blocks; any thread.
 */
SLUICE_API const char *sluice_dataset_get_warning(const sluice_dataset *dataset, uint32_t index);

/* Reports field `index`, 0 .. fields - 1 of sluice_dataset_info; INVALID for others. */
SLUICE_API sluice_status sluice_dataset_get_field(const sluice_dataset *dataset, uint32_t index,
                                                  sluice_field *field);

/*
 * Describes the field's meaning in words for people: "boxes, xywh in pixels, of the upright image".
 * Cuts text that does not fit into `bytes`. "": nothing is known, or an argument is NULL or
 * invalid. Never blocks; any thread.
 */
SLUICE_API void sluice_field_get_meaning(const sluice_field *field, char *text, size_t bytes);

/* A format in which datasets are read. */
typedef struct sluice_format {
    uint32_t struct_size;
    uint32_t takes_fields; /* 1: sluice_dataset_options.fields choose and name its fields */
    char name[16];         /* a word of sluice_dataset_info.format: "tar" */
    char files[80];        /* the files of this format, in the plural: "tar archives" */
    uint32_t takes_split;  /* 1: sluice_dataset_options.split opens one of several splits */
    uint32_t reserved;     /* 0 */
} sluice_format;

#define SLUICE_FORMAT_INIT                     \
    {                                          \
        sizeof(sluice_format), 0, "", "", 0, 0 \
    }

/*
 * Reports format `index`, from 0 on, in the order in which formats are tried. A name may occur
 * twice if two kinds of files are of one format. END: no more formats. INVALID: `format` is NULL or
 * its struct_size is unknown. Never blocks; any thread.
 */
SLUICE_API sluice_status sluice_dataset_format(uint32_t index, sluice_format *format);

/* Returns the name of class `label`, valid while the dataset is open; NULL if it has none. */
SLUICE_API const char *sluice_dataset_class_name(const sluice_dataset *dataset, int64_t label);

/* A sample's place, label, key and size. */
typedef struct sluice_sample_info {
    uint32_t struct_size;
    uint32_t width, height; /* stored size in pixels, or the annotated image's if only annotations
                               have it; 0: unknown without reading */
    uint32_t reserved;
    int64_t label;   /* -1: no label */
    uint64_t offset; /* first byte in `file` */
    uint64_t bytes;  /* stored bytes of the whole sample; 0: a whole file of unknown size */
    /* Never cut: keys are not longer, and longer paths cannot be opened. */
    char key[4096];  /* path in the image folder (also for shards packed from one), or "" */
    char file[4096]; /* the file that holds the sample */
} sluice_sample_info;

#define SLUICE_SAMPLE_INFO_INIT                               \
    {                                                         \
        sizeof(sluice_sample_info), 0, 0, 0, -1, 0, 0, "", "" \
    }

/* Reports a sample. Blocks: reads and verifies a packed sample for its label and sizes; reads no
 * sample of an image folder, except in an unpacked WebDataset. In a compressed archive, unpacks
 * everything before the sample unless samples are requested in order. Errors: INVALID (index), IO,
 * CORRUPT, UNSUPPORTED, NOMEM. */
SLUICE_API sluice_status sluice_dataset_get_sample(const sluice_dataset *dataset, uint64_t index,
                                                   sluice_sample_info *info, sluice_error *error);

/*
 * Reads one field of one sample, verified against the sample's checksum if it has one. An image:
 * the encoded image, or raw pixels, unpacked from a zstd frame. An int or float: its 8 bytes in
 * this machine's byte order. Text: its bytes, without a final NUL. A tensor: its elements, last
 * dimension fastest. Reads whatever a writer can store: up to 2^31 - 1 bytes.
 *
 * Writes at most `capacity` bytes to `buffer`, and the whole size to `*bytes`, 0 if the sample
 * lacks the field. AGAIN: `capacity` is too small, and `buffer` has nothing usable. A slow,
 * blocking convenience for tools; for training use a loader. Errors: INVALID (index, or unknown
 * field), IO, CORRUPT, UNSUPPORTED, NOMEM.
 */
SLUICE_API sluice_status sluice_dataset_read(const sluice_dataset *dataset, uint64_t index,
                                             const char *field, void *buffer, size_t capacity,
                                             size_t *bytes, sluice_error *error) SLUICE_MUST_CHECK;

/* An image of one sample, decoded at full size. */
typedef struct sluice_pixels {
    uint32_t struct_size;
    int32_t exif;        /* in: a sluice_exif, as for a loader [AUTO] */
    uint64_t max_pixels; /* in: largest image, up to 2^32; UNSUPPORTED above it [100,000,000] */
    uint8_t *buffer;     /* in: space for height x width x 3 bytes, RGB, row by row; may be NULL */
    size_t capacity;     /* in: bytes of `buffer` */
    uint32_t width;      /* out: 0 if the sample lacks the field */
    uint32_t height;     /* out */
} sluice_pixels;

#define SLUICE_PIXELS_INIT                         \
    {                                              \
        sizeof(sluice_pixels), 0, 0, NULL, 0, 0, 0 \
    }

/*
 * Reads and decodes an image of one sample at full size: the pixels that a loader with `exact`
 * crops and resizes. AGAIN: the buffer is too small; width and height are set, and nothing is
 * written. A slow, blocking convenience for tools: opens a decoder for each call. Errors: INVALID
 * (index, or no image field of that name), IO, CORRUPT, UNSUPPORTED (codec not available, or more
 * than max_pixels), NOMEM.
 */
SLUICE_API sluice_status sluice_dataset_decode(const sluice_dataset *dataset, uint64_t index,
                                               const char *field, sluice_pixels *pixels,
                                               sluice_error *error) SLUICE_MUST_CHECK;

/* Receives one finding of sluice_dataset_verify. */
typedef void (*sluice_verify_callback)(void *user, const sluice_error *finding);

typedef struct sluice_verify_options {
    uint32_t struct_size;
    uint32_t workers;  /* threads [one per CPU; remote data: 32] */
    uint32_t decode;   /* 1: also decodes every image, unpacks every zstd frame, and checks bools
                          and keys; 0: checksums and headers [0] */
    uint32_t reserved; /* 0 */
    sluice_verify_callback on_finding; /* called by one thread at a time; may be NULL */
    /* Called now and then by one thread; may be NULL. */
    void (*on_progress)(void *user, uint64_t samples_done, uint64_t samples_total);
    void *user;
    /* Called several times a second by one thread: if it returns anything but 0, verify ends with
       CANCELED. A child that it forks must not return from it. May be NULL. */
    int32_t (*should_stop)(void *user);
    /* Verifies only part `part` (0 .. parts - 1) of `parts`: a range of samples, in whole shards,
       and of files. Together the parts cover everything. [0 of 1] */
    uint32_t part;
    uint32_t parts; /* 0 is 1 */
    /* Largest sample, and largest field or page when unpacked, up to 2^31 - 1; larger ones are bad
       (UNSUPPORTED). Large samples are verified one at a time. [1 GiB] */
    uint64_t max_sample_bytes;
} sluice_verify_options;

#define SLUICE_VERIFY_OPTIONS_INIT                                              \
    {                                                                           \
        sizeof(sluice_verify_options), 0, 0, 0, NULL, NULL, NULL, NULL, 0, 0, 0 \
    }

#define SLUICE_UNCHECKED_BYTES 512

typedef struct sluice_verify_result {
    uint32_t struct_size;
    uint32_t reserved;
    uint64_t samples; /* verified */
    uint64_t bytes;   /* read */
    uint64_t bad;     /* findings */
    /* findings that could not be read after several tries (EIO, ESTALE, ...), and may be intact */
    uint64_t unreadable;
    /* Data without a verified checksum, where damage may be undetected, in English: "tars have no
       checksums"; several are separated by "; ". "": every sample's bytes had one, though perhaps
       not every header. */
    char unchecked[SLUICE_UNCHECKED_BYTES];
    /* encoded images whose headers were checked, but not their pixels: 0 with `decode`. If a
       checksum covers them, their bytes are those once written; whether a decoder accepts them was
       not tested. */
    uint64_t undecoded;
} sluice_verify_result;

#define SLUICE_VERIFY_RESULT_INIT                          \
    {                                                      \
        sizeof(sluice_verify_result), 0, 0, 0, 0, 0, "", 0 \
    }

/*
 * Reads the whole dataset and verifies every checksum, and the header of every image and frame.
 * Without a checksum, only structural damage is found: damage to the pixels of a JPEG in a tar is
 * not (with `decode`, it is found if the decoder notices). `result->unchecked` says which data had
 * no checksum; docs/formats/reading.md lists it for each format. Returns OK if everything could be
 * verified, even with findings: `result->bad` counts them. A shortage of memory ends it and is not
 * a finding. `options` may be NULL. Errors: CANCELED (should_stop), NOMEM.
 */
SLUICE_API sluice_status sluice_dataset_verify(const sluice_dataset *dataset,
                                               const sluice_verify_options *options,
                                               sluice_verify_result *result,
                                               sluice_error *error) SLUICE_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
