/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sluice/dataset.h: an immutable index of samples over files that already exist.
 *
 * `sluice_dataset_open` takes paths and finds out their format: packed shards, an image folder
 * with torchvision's rules (apart from hidden and system folders, which are never classes), or one
 * of the formats that docs/formats.md describes and sluice_dataset_format lists. With
 * sluice_dataset_options.flat they are files of tensors of one shape, and nothing else.
 *
 * What takes a walk to find samples in (tar archives, TFRecord and RecordIO files) is walked when
 * it is opened first, several files at a time, and an index is kept in $SLUICE_CACHE_DIR, or else
 * $XDG_CACHE_HOME/sluice or ~/.cache/sluice (SLUICE_CACHE_DIR="": none is). A file compressed as
 * a whole (*.tar.gz, MDS and LitData of zstd, ...) can only be read from front to back
 * (sluice_dataset_info.front_to_back), unless it is kept unpacked
 * (sluice_dataset_options.unpacked_dir). Columns of small values, of formats that store column by
 * column, are kept in memory. A path that could be two things is refused, and the error names the
 * files of both.
 *
 * Opening an image folder lists it and reads no picture. Opening shards reads their manifest and
 * none of their index entries; both are checked against checksums as they are read. Index blocks
 * that were looked at are kept in memory, 16 MiB of them at most (those of two million samples).
 *
 * A sample is a set of named fields. Pictures are in the field "image", class numbers in "label":
 * where classes have names, a label that is neither one of them nor -1 makes its sample a bad one.
 *
 * Threads: a dataset is immutable; every function may be called from any thread at once. It may be
 * shared by any number of loaders, and each keeps it alive: closing it after
 * sluice_loader_open is fine. In a forked child use it only when no other thread of the parent was
 * using it at the moment of the fork (a loader's threads do): open it again instead.
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

/* Whether values are stored as zstd frames. Numbers and encoded pictures never are. */
typedef enum sluice_compression {
    SLUICE_COMPRESSION_AUTO = 0,  /* writers: where a look at the first samples says that it pays;
                                     of a dataset: as it happens */
    SLUICE_COMPRESSION_NEVER = 1, /* all are plain */
    SLUICE_COMPRESSION_ALWAYS = 2 /* each that becomes smaller */
} sluice_compression;

/* What the values of a field mean for an image, beyond their type. Readers of annotated data set
 * it, and so does the caller of a writer; shards keep it. */
typedef enum sluice_role {
    SLUICE_ROLE_NONE = 0,
    SLUICE_ROLE_BOXES = 1,  /* a tensor [any, 4] of boxes in the image */
    SLUICE_ROLE_POINTS = 2, /* a tensor [any, ...] of points in the image */
    SLUICE_ROLE_SHAPES = 3, /* a text: a JSON array of shapes, as COCO's "segmentation" */
    SLUICE_ROLE_MASK = 4,   /* an image or a tensor with a value for each pixel of the image */
    SLUICE_ROLE_WIDTH = 5,  /* an int: the width in pixels of the image that was annotated */
    SLUICE_ROLE_HEIGHT = 6  /* likewise, its height */
} sluice_role;

/* The order of a box's four numbers. */
typedef enum sluice_box_format {
    SLUICE_BOX_AUTO = 0,  /* of a field: not known; of a column: the field's. A field of BOXES whose
                             format is  not known is refused then; of other fields it is XYXY */
    SLUICE_BOX_XYXY = 1,  /* left, top, right, bottom; right and bottom are exclusive */
    SLUICE_BOX_XYWH = 2,  /* left, top, width, height: COCO */
    SLUICE_BOX_CXCYWH = 3 /* the centre, width, height: YOLO, in shares */
} sluice_box_format;

/* What a coordinate counts. */
typedef enum sluice_coordinates {
    SLUICE_COORDINATES_AUTO = 0, /* of a field: not known; of a column: the field's, or PIXELS */
    SLUICE_COORDINATES_RELATIVE = 1, /* shares of the image's width and height */
    SLUICE_COORDINATES_PIXELS = 2,   /* continuous: pixel i covers [i, i + 1) */
    SLUICE_COORDINATES_INDICES = 3   /* numbers of pixels: i is the middle of pixel i, and a flip
                                        makes it W - 1 - i. COCO's keypoints */
} sluice_coordinates;

/* Which way up an image is, or the image that values were annotated in. */
typedef enum sluice_orientation {
    SLUICE_ORIENTATION_AUTO = 0,    /* of a field: not known; of a column: the field's */
    SLUICE_ORIENTATION_STORED = 1,  /* as the file stores it, its EXIF orientation ignored */
    SLUICE_ORIENTATION_UPRIGHT = 2, /* turned as its EXIF orientation says */
    SLUICE_ORIENTATION_BY_SIZE = 3  /* differs: the sample's fields WIDTH and HEIGHT decide (for a
                                       MASK, its own size) */
} sluice_orientation;

/* What each sample has under a name. */
typedef struct sluice_field {
    uint32_t struct_size;
    int32_t type;  /* a sluice_field_type */
    int32_t dtype; /* a sluice_dtype, of an element (of the decoded picture) */
    uint32_t dims; /* 0: one element */
    int64_t shape[SLUICE_TENSOR_DIMS_MAX]; /* 0: differs from sample to sample */
    char name[32];
    uint64_t reserved;    /* 0 */
    int32_t compression;  /* a sluice_compression */
    uint32_t reserved_32; /* 0 */
    int32_t role;         /* a sluice_role */
    int32_t box_format;   /* BOXES: a sluice_box_format */
    int32_t coordinates;  /* BOXES, POINTS: a sluice_coordinates */
    int32_t orientation;  /* images, BOXES, POINTS, SHAPES, MASK: a sluice_orientation. Of an image:
                             which way up it was annotated, and so is decoded unless the loader's
                             option `exif` says otherwise */
    uint32_t per_box;     /* 1: an element (a row, a shape) for each box of the field `of` */
    uint32_t reserved_end; /* 0 */
    char of[32]; /* per_box: the field of boxes; else with a role: the image; "": the only one */
} sluice_field;

#define SLUICE_FIELD_INIT                                                     \
    {                                                                         \
        sizeof(sluice_field), 0, 0, 0, {0}, "", 0, 0, 0, 0, 0, 0, 0, 0, 0, "" \
    }

typedef struct sluice_dataset_options {
    uint32_t struct_size;
    /* 1: accept class folders whose names differ in case only ("Cat", "cat") as two classes, as
     * torchvision does. Default 0: refuse them, since copying such a folder to another file system
     * merges them without a word. */
    uint32_t allow_case_duplicates;
    /* Not NULL: the paths are files that hold nothing but tensors, back to back, as numpy's tofile
     * writes them, and this is what a sample is: a tensor (name "" means "tensor"; dtype, dims,
     * shape without 0). Each file must be a whole number of them; with one dimension the last one
     * of a file may be shorter. Default: find out what the paths are. */
    const sluice_field *flat;
    /* 1: accept class folders without a picture, as torchvision does with allow_empty: each has a
     * number that no sample has. Default 0: refuse them, as torchvision does, since a stray
     * folder (an output, a trash can) shifts the numbers of all classes behind it. */
    uint32_t allow_empty_classes;
    /* 1: lists of files (tables, COCO, VOC, wids, MDS and LitData indexes, a state.json of Arrow
     * files) may name files outside the list's own folder, by absolute paths, "..", or links that
     * lead out. Default 0: that is refused, since a list that a stranger made could
     * name any file of this machine, whose contents would then be packed and passed on. A name that
     * leads out is refused when the list is opened (INVALID), and so is a shard, or the first
     * picture, that is such a link; another picture that is one is a bad sample (UNSUPPORTED).
     * Where pictures are beside their annotations the folder that has both counts, and of the cache
     * of Hugging Face's hub the blobs belong to it (docs/formats.md). */
    uint32_t allow_outside;
    /*
     * Not NULL: `field_count` fields, at most 64, of a format whose samples have keys or columns of
     * their own, each as "NAME=KEY" or "NAME=KEY:TYPE": what it is called here, what the data call
     * it, and what it is: image, int, float, bytes, text, or DTYPE[SHAPE], a tensor: f32[4], i64[]
     * (as many as there are), u8[28,28,1] (of bytes: little-endian elements), f32[0,4] (rows of 4).
     * Without TYPE it is found out. The dataset has these fields then, in this order, and no
     * others. Default: all keys, by rules of the format (docs/formats.md).
     */
    const char *const *fields;
    uint32_t field_count;
    uint32_t reserved; /* 0 */
    /* The most memory that opening may use at a time, in all its threads: indexes, columns that are
     * kept, names of files, and unpacked data to find them. NOMEM if a file asks for more. [half of
     * the memory available to this process, at most 8 GiB] */
    uint64_t memory_bytes;
    /*
     * Not NULL: a folder, created if it does not exist, that keeps files which are compressed as a
     * whole (archives, MDS shards, LitData chunks) unpacked. Samples can then be read in any order,
     * and sluice_dataset_info.front_to_back is 0. Each file is unpacked once, when it is opened
     * first, several at a time; processes that open the same files at the same time share the work.
     * A file counts for the path, size, inode and times of the one that it was made of; when that
     * is another one, it is unpacked again and the old one removed. Nothing else is ever removed:
     * while no dataset uses the folder, it may be. Files are the user's own (mode 600); a folder in
     * it that another user (but root) owns, or that others may write to, is refused. Errors
     * besides: IO with ENOSPC, before anything is unpacked, where there is less space than all
     * files need, by an index, or at least need, by the sizes that gzip and zstd store, and where
     * space runs out; CORRUPT where what comes out is damaged or not what an index says. Default:
     * nothing is unpacked.
     */
    const char *unpacked_dir;
    /* Not NULL: the split to open of a dataset that has several, by its name there: "train",
     * "val2017". A word for a kind of split (train, val, test) stands for the only split of that
     * kind, or for all files of a folder that are of it (train-a, train-b); if COCO has files of
     * several tasks for that split, for its instances. Labels that are texts are numbered over all
     * splits. INVALID, with the names of the splits: no split has that name, or the dataset has no
     * splits. Default: a dataset of several splits is refused, with their names. */
    const char *split;
    /* Asked several times a second while the dataset is being opened, by the thread that opens it:
     * a result other than 0 ends opening with CANCELED within a second, as long as the storage
     * answers. It must not use the dataset being opened, and a child that it forks must not
     * return from it. May be NULL. */
    int32_t (*should_stop)(void *user);
    void *user; /* of should_stop */
} sluice_dataset_options;

#define SLUICE_DATASET_OPTIONS_INIT                                                          \
    {                                                                                        \
        sizeof(sluice_dataset_options), 0, NULL, 0, 0, NULL, 0, 0, 0, NULL, NULL, NULL, NULL \
    }

/*
 * Opens the dataset at `paths[0..count)`; several paths of one format are joined in the order
 * given (shards, archives, arrays, flat files; count must be 1 for image folders). A path with a
 * range (train-{000000..000146}.tar, both ends included) stands for as many. `options` may be NULL.
 * On success
 * `*dataset` is the caller's to close; on failure it is NULL. Blocks while directories are listed.
 * Errors: INVALID (no such kind of dataset, no image, class names that collide, a class without a
 * picture), IO, CORRUPT, UNSUPPORTED (a format version newer than this library), NOMEM, CANCELED
 * (should_stop).
 */
SLUICE_API sluice_status sluice_dataset_open(sluice_dataset **dataset, const char *const *paths,
                                             size_t count, const sluice_dataset_options *options,
                                             sluice_error *error) SLUICE_MUST_CHECK;

/* Gives up the caller's share. NULL is fine. */
SLUICE_API void sluice_dataset_close(sluice_dataset *dataset);

typedef struct sluice_dataset_info {
    uint32_t struct_size;
    uint32_t shards;      /* files of a dataset that has several; 0 for an image folder */
    uint64_t samples;     /* at least 1 */
    uint64_t bytes;       /* stored bytes of all samples; 0: not known without reading (folder) */
    uint64_t fingerprint; /* changes when the list of samples changes */
    uint32_t classes;
    uint32_t fields;
    char format[16];        /* "shards", "tar", "tfrecord", "recordio", "parquet", "arrow", "mds",
                               "litdata", "beton", "lmdb", "table", "coco", "voc", "masks", "yolo",
                               "npz", "npy", "megatron", "folder", "flat"; "mixed": of several,
                               joined */
    uint32_t front_to_back; /* 1: some of its files are compressed as a whole (.tar.gz), and can
                               only be read from front to back: by sluice_pack, sluice_unpack and
                               sluice_dataset_verify, and by loaders with SHUFFLE_SHARDS or NONE.
                               Other shuffles, window columns, mixes, sluice_dataset_read and
                               sluice_dataset_decode refuse it; see unpacked_dir */
    uint32_t reserved;
} sluice_dataset_info;

#define SLUICE_DATASET_INFO_INIT                                \
    {                                                           \
        sizeof(sluice_dataset_info), 0, 0, 0, 0, 0, 0, "", 0, 0 \
    }

SLUICE_API sluice_status sluice_dataset_get_info(const sluice_dataset *dataset,
                                                 sluice_dataset_info *info);

/*
 * What the dataset was taken for, a sentence for people: "tar archives, whose files ...". Behind
 * "; " stands what makes it slow as it is stored: "compressed: shuffle by blocks, or pack". Valid
 * until it is closed.
 */
SLUICE_API const char *sluice_dataset_describe(const sluice_dataset *dataset);

/* Files, rows, or values that opening the dataset found and that are not part of it, by reason. */
typedef struct sluice_left_out {
    uint32_t struct_size;
    uint32_t images;   /* 1: each is an image, or would have been one of a sample */
    uint64_t count;    /* at least 1 */
    char reason[96];   /* a phrase in the plural: "hidden files", "images that metadata.csv does not
                          list" */
    char example[256]; /* the first: a path, or its end behind "..."; "" */
} sluice_left_out;

#define SLUICE_LEFT_OUT_INIT                  \
    {                                         \
        sizeof(sluice_left_out), 0, 0, "", "" \
    }

/* Reports entry `index`, from 0, of the things that were left out. END: there are no more. INVALID:
 * a NULL argument, or an unknown struct_size. Never blocks; any thread. */
SLUICE_API sluice_status sluice_dataset_get_left_out(const sluice_dataset *dataset, uint32_t index,
                                                     sluice_left_out *left_out);

/*
 * Warning `index`, from 0, of opening the dataset: a sentence for people, which says what to write
 * to end it. There is one for each reason by which images were left out, or more than a tenth as
 * many things as the dataset has samples. Valid until the dataset is closed; NULL: there are no
 * more. Never blocks; any thread.
 */
SLUICE_API const char *sluice_dataset_get_warning(const sluice_dataset *dataset, uint32_t index);

/* Field `index`, 0 .. fields-1 of sluice_dataset_info; INVALID for others. */
SLUICE_API sluice_status sluice_dataset_get_field(const sluice_dataset *dataset, uint32_t index,
                                                  sluice_field *field);

/*
 * Writes what the field means in words for people, "boxes, xywh in pixels, of the upright image",
 * and cuts what does not fit into `bytes`. "": nothing is known, or an argument is NULL or invalid.
 * Never blocks; any thread.
 */
SLUICE_API void sluice_field_get_meaning(const sluice_field *field, char *text, size_t bytes);

/* A format that datasets are read in. */
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
 * Format number `index`, from 0, in the order in which a path is asked for them. The same name may
 * come twice, where files of two kinds are of one format. END: there are no more. INVALID: `format`
 * is NULL, or its struct_size is not known. Never blocks; any thread.
 */
SLUICE_API sluice_status sluice_dataset_format(uint32_t index, sluice_format *format);

/* Name of class `label`, valid while the dataset is open; NULL when there is none. */
SLUICE_API const char *sluice_dataset_class_name(const sluice_dataset *dataset, int64_t label);

/* Where a sample is, and its label, key and size. */
typedef struct sluice_sample_info {
    uint32_t struct_size;
    uint32_t width, height; /* pixels as stored, or of the annotated image where only annotations
                               have them; 0: not known without reading */
    uint32_t reserved;
    int64_t label;   /* -1: no label */
    uint64_t offset; /* first byte in `file` */
    uint64_t bytes;  /* stored bytes of the whole sample; 0: the whole file, size not known */
    /* Whole: there is no longer key, and no longer path can be opened. */
    char key[4096];  /* path inside the image folder (also for shards packed from one) or "" */
    char file[4096]; /* the file that holds the sample */
} sluice_sample_info;

#define SLUICE_SAMPLE_INFO_INIT                               \
    {                                                         \
        sizeof(sluice_sample_info), 0, 0, 0, -1, 0, 0, "", "" \
    }

/* Blocks: a packed sample is read, and checked, for its label and sizes; a sample of an image
 * folder is not, except in an unpacked WebDataset.
 * Of a compressed archive all before it is unpacked, unless the samples are asked for in order.
 * Errors: INVALID (index), IO, CORRUPT, UNSUPPORTED, NOMEM. */
SLUICE_API sluice_status sluice_dataset_get_sample(const sluice_dataset *dataset, uint64_t index,
                                                   sluice_sample_info *info, sluice_error *error);

/*
 * Reads one field of one sample, checked against the sample's checksum where there is one. An
 * image: the encoded picture, or raw pixels, with a zstd frame unpacked. An integer or float: its 8
 * bytes in the order of this machine. Text: its bytes, without a NUL. A tensor: its elements, the
 * last dimension fastest. Whatever a writer stores can be read: up to 2^31 - 1 bytes. Writes at
 * most `capacity` bytes to `buffer` and the whole size to `*bytes`, 0 where the sample lacks the
 * field; AGAIN (and nothing usable in `buffer`) when `capacity` is too small. A blocking
 * convenience for tools, and slow: for training use a loader. Errors: INVALID (index, or no field
 * of that name), IO, CORRUPT, UNSUPPORTED, NOMEM.
 */
SLUICE_API sluice_status sluice_dataset_read(const sluice_dataset *dataset, uint64_t index,
                                             const char *field, void *buffer, size_t capacity,
                                             size_t *bytes, sluice_error *error) SLUICE_MUST_CHECK;

/* A picture of one sample, decoded whole. */
typedef struct sluice_pixels {
    uint32_t struct_size;
    int32_t exif;        /* in: a sluice_exif, as of a loader [AUTO] */
    uint64_t max_pixels; /* in: a larger picture is refused, at most 2^32 [100,000,000] */
    uint8_t *buffer;     /* in: space for height x width x 3 bytes, RGB, row by row; may be NULL */
    size_t capacity;     /* in: bytes of it */
    uint32_t width;      /* out: 0 where the sample lacks the field */
    uint32_t height;     /* out */
} sluice_pixels;

#define SLUICE_PIXELS_INIT                         \
    {                                              \
        sizeof(sluice_pixels), 0, 0, NULL, 0, 0, 0 \
    }

/*
 * Reads and decodes one picture of one sample at its full size: the pixels that a loader with
 * `exact` crops and resizes. AGAIN, with width and height and nothing in the buffer, when that is
 * too small. Opens a decoder for each call: a blocking convenience for tools and for looking at
 * single samples, and slow. Errors: INVALID (index, or no field of pictures of that name),
 * IO, CORRUPT, UNSUPPORTED (no such codec here, or more than max_pixels), NOMEM.
 */
SLUICE_API sluice_status sluice_dataset_decode(const sluice_dataset *dataset, uint64_t index,
                                               const char *field, sluice_pixels *pixels,
                                               sluice_error *error) SLUICE_MUST_CHECK;

/* One finding of sluice_dataset_verify. */
typedef void (*sluice_verify_callback)(void *user, const sluice_error *finding);

typedef struct sluice_verify_options {
    uint32_t struct_size;
    uint32_t workers; /* threads [one for each processor; remote data: 32] */
    uint32_t decode;  /* 1: decode every picture and unpack every zstd frame, too, and look at bools
                         and keys; default 0: checksums and headers */
    uint32_t reserved;                 /* 0 */
    sluice_verify_callback on_finding; /* called by one thread at a time; may be NULL */
    /* called now and then by one thread; may be NULL */
    void (*on_progress)(void *user, uint64_t samples_done, uint64_t samples_total);
    void *user;
    /* asked several times a second by one thread: not 0 ends with CANCELED; may be NULL. A child
       that it forks must not return from it. */
    int32_t (*should_stop)(void *user);
    /* Only part `part` (0 .. parts-1) of `parts`: a range of the samples, shards not being divided,
       and of the files. Together the parts look at everything. [0 of 1] */
    uint32_t part;
    uint32_t parts; /* 0 is 1 */
    /* A sample that is larger, or a field or page of it when it is unpacked, is bad: UNSUPPORTED.
       At most 2^31 - 1. Of large samples one is looked at at a time. [1 GiB] */
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
    uint64_t samples; /* looked at */
    uint64_t bytes;   /* read */
    uint64_t bad;     /* findings */
    /* of those: what could not be read, after some tries (EIO, ESTALE, ...), and may be good */
    uint64_t unreadable;
    /* What no checksum was checked of, so that damage there may not have been seen, in English:
       "tars have no checksums"; several with "; " between them. "": every sample's bytes had one,
       if not every header. */
    char unchecked[SLUICE_UNCHECKED_BYTES];
    /* encoded images whose headers were checked, but no pixels: 0 with `decode`. Where a checksum
       covers their bytes, these are the bytes once written; whether a decoder accepts them was not
       tested. */
    uint64_t undecoded;
} sluice_verify_result;

#define SLUICE_VERIFY_RESULT_INIT                          \
    {                                                      \
        sizeof(sluice_verify_result), 0, 0, 0, 0, 0, "", 0 \
    }

/*
 * Reads the whole dataset and checks every checksum that there is, and the header of every picture
 * and frame. Without a checksum, only damage to the structure is found: damage in the pixels of a
 * JPEG in a tar is not (with `decode`, it is found if the decoder notices). `result->unchecked`
 * says which data had no checksum; docs/formats.md has it for each format. Returns OK when it could
 * look at everything, also with findings: `result->bad` counts them. A shortage of memory ends it,
 * and is not a finding. `options` may be NULL. Errors: CANCELED (should_stop), NOMEM.
 */
SLUICE_API sluice_status sluice_dataset_verify(const sluice_dataset *dataset,
                                               const sluice_verify_options *options,
                                               sluice_verify_result *result,
                                               sluice_error *error) SLUICE_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
