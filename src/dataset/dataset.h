/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dataset: what a sample is and where its bytes lie.
 *
 * Purpose: one immutable, reference-counted index over any supported format. A format is one file
 * and one row of the table in format.c: a probe and an open that returns a dataset with its ops.
 * Threads: immutable after open; every function from any thread. sl_dataset_locate may read an
 * index block from a file (pread) and blocks for that at most.
 * Ownership: the opener holds one reference; sl_dataset_ref adds one.
 */
#ifndef SL_DATASET_H
#define SL_DATASET_H

#include "view.h"

#include <sluice/dataset.h>

#include <stdatomic.h>

/* How the image field of a sample is stored. */
typedef enum sl_encoding {
    SL_ENCODING_FILE = 0, /* an encoded picture; the codec is known by its first bytes */
    SL_ENCODING_RAW = 1   /* width x height x 3 bytes, u8 RGB */
} sl_encoding;

/* One sample, located: all that planner, reader and decoder need without reading it. */
typedef struct sl_sample {
    uint64_t index;
    uint32_t file;          /* file number, for sl_dataset_path */
    uint32_t bytes;         /* stored bytes of the whole sample; 0: the whole file */
    uint64_t offset;        /* in that file */
    uint64_t checksum;      /* XXH3-64 of the stored bytes; valid when `checked` */
    uint32_t image_offset;  /* of the image field inside the stored bytes */
    uint32_t image_bytes;   /* stored bytes of the image field; 0: all */
    uint32_t width, height; /* 0: unknown */
    int64_t label;          /* -1: none */
    uint8_t checked;        /* there is a checksum */
    uint8_t encoding;       /* sl_encoding */
    uint8_t zstd;           /* the image field is one zstd frame */
} sl_sample;

typedef struct sl_dataset sl_dataset;

/* Room for bytes. */
typedef struct sl_buffer {
    uint8_t *data;
    size_t capacity;
} sl_buffer;

/* Where check_file reports to. */
typedef struct sl_findings {
    void (*report)(void *ctx, const sluice_error *finding);
    void *ctx;
    uint64_t bytes_read; /* added to by check_file */
} sl_findings;

/* What a format implements. All but close are const and thread-safe. */
typedef struct sl_dataset_ops {
    sluice_status (*locate)(const sl_dataset *dataset, uint64_t index, sl_sample *sample,
                            sluice_error *error);
    /* Path of file number `file` into `path`; INVALID when it does not fit. */
    sluice_status (*path)(const sl_dataset *dataset, uint32_t file, char *path, size_t bytes);
    /* The sample's key (path in its folder); "" when there is none. May read the file. */
    sluice_status (*key)(const sl_dataset *dataset, const sl_sample *sample, char *key,
                         size_t bytes, sluice_error *error);
    /*
     * Reads the stored bytes of a sample into `buffer`; `*size` is how many there are. AGAIN when
     * they are more than `capacity` (then `buffer` holds nothing usable).
     */
    sluice_status (*read)(const sl_dataset *dataset, const sl_sample *sample, sl_buffer buffer,
                          size_t *size, sluice_error *error);
    /*
     * Checks everything about file `file` that no sample's own check covers, and reports each thing
     * found to `findings`. OK: its samples can be looked at. NULL for formats with nothing to
     * check.
     */
    sluice_status (*check_file)(const sl_dataset *dataset, uint32_t file, sl_findings *findings);
    const char *(*class_name)(const sl_dataset *dataset, int64_t label);
    sluice_status (*field)(const sl_dataset *dataset, uint32_t index, const char **name,
                           sluice_field_type *type);
    void (*close)(sl_dataset *dataset);
} sl_dataset_ops;

/* The part that every format's dataset begins with. */
struct sl_dataset {
    const sl_dataset_ops *ops;
    _Atomic uint32_t references;
    sluice_dataset_info info; /* full size */
    uint8_t whole_files;      /* each sample is a file of its own */
    uint32_t files;           /* file numbers are 0 .. files-1 */
};

/* A row of the format table. */
typedef struct sl_format {
    const char *name;
    /* 1 when `path` looks like this format; cheap. */
    int (*probe)(const char *path);
    sluice_status (*open)(sl_dataset **dataset, const char *const *paths, size_t count,
                          const sluice_dataset_options *options, sluice_error *error);
} sl_format;

extern const sl_format sl_format_shards, sl_format_folder;

/* Probes the table in order and opens. `options` is full-size, not NULL. */
sluice_status sl_dataset_open(sl_dataset **dataset, const char *const *paths, size_t count,
                              const sluice_dataset_options *options, sluice_error *error);
sl_dataset *sl_dataset_ref(sl_dataset *dataset);
void sl_dataset_close(sl_dataset *dataset);

/* INVALID for an index out of range; CORRUPT/IO when the index block cannot be trusted or read. */
sluice_status sl_dataset_locate(const sl_dataset *dataset, uint64_t index, sl_sample *sample,
                                sluice_error *error);
sluice_status sl_dataset_path(const sl_dataset *dataset, uint32_t file, char *path, size_t bytes);
/* A key has SL_KEY_MAX bytes at most, without its NUL. INVALID when `bytes` are too few. */
#define SL_KEY_MAX 4095
sluice_status sl_dataset_key(const sl_dataset *dataset, const sl_sample *sample, char *key,
                             size_t bytes, sluice_error *error);
sluice_status sl_dataset_read(const sl_dataset *dataset, const sl_sample *sample, sl_buffer buffer,
                              size_t *size, sluice_error *error);

/*
 * Checks the stored bytes of a sample (its whole record) and gives the image field inside them.
 * CORRUPT when the size or checksum differs. Pure but for the error.
 */
sluice_status sl_sample_check(const sl_dataset *dataset, const sl_sample *sample, sl_bytes stored,
                              sl_bytes *image, sluice_error *error);

/*
 * Reads the image field of sample `index` as it was before packing: checked, a zstd frame unpacked.
 * `*size` is its size; AGAIN when that is more than the buffer's capacity. Allocates: for tools.
 */
sluice_status sl_dataset_read_image(const sl_dataset *dataset, uint64_t index, sl_buffer buffer,
                                    size_t *size, sluice_error *error);

/*
 * Fills file (path), offset and sample of an error that concerns `sample`. An offset that is there
 * counts from the beginning of the image field; afterwards it counts from that of the file. Does
 * nothing the second time.
 */
void sl_sample_blame(const sl_dataset *dataset, const sl_sample *sample, sluice_error *error);

#endif
