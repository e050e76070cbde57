/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dataset: locates samples, and unpacks their bytes into values.
 *
 * Purpose: one immutable, reference-counted index over any supported format. A format is a folder
 * of src/formats and a row of the table there: a probe, and an open that returns a dataset with its
 * ops. Walk of one sample: locate returns its object, offset and size. If that needs an index entry
 * to be read, it returns a lookup instead, whose bytes go to learn, and locate is called again.
 * Then the sample's bytes are read, here or by a fetch thread, and unpack checks them and returns a
 * value for each field. Threads: immutable after open; every function from any thread. locate,
 * learn and unpack neither block nor allocate; functions that read (find, read, key, check_object)
 * block. Ownership: the opener holds one reference; sl_dataset_ref adds one.
 */
#ifndef SL_DATASET_H
#define SL_DATASET_H

#include "error.h"
#include "look.h"
#include "mix.h"
#include "objects.h"
#include "omissions.h"
#include "unchecked.h"
#include "value.h"
#include "warnings.h"

#include <stdatomic.h>

/* A byte range of an object. */
typedef struct sl_place {
    uint64_t offset;
    uint32_t bytes; /* 0: the whole object */
    uint32_t object;
    bool once; /* for a lookup: true if this process will not look there again */
} sl_place;

/* The purpose of locating a sample, if it matters: random parts of the sample. */
typedef struct sl_visit {
    uint64_t epoch;
    uint64_t repetition; /* added to the sample's number for draws: 0, or beyond all samples */
} sl_visit;

/* A located sample. */
typedef struct sl_sample {
    uint64_t index;
    sl_visit visit; /* visit for which it was located; 0 if that does not matter */
    sl_place place;
    uint32_t pieces; /* number of byte ranges of the object that make up place.bytes; 0: one */
    uint32_t files;  /* number of its object's files that have all its values; 0: nothing but images
                        needs reading if place.bytes is 0 */
    bool cut;        /* true if only parts of some fields are present (subvolumes.h) */
    /*
     * Data from locate to unpack, piece and sum. Only the dataset that located the sample reads or
     * writes them. Datasets over others that merely pass on an inner location (subsets, joined
     * datasets) do not touch them; a dataset that determines the place itself (windows; subvolumes,
     * if cut) uses them itself.
     */
    uint64_t facts[6];
} sl_sample;

/* Form of a tensor whose elements locate_field finds. */
typedef struct sl_tensor_form {
    uint64_t shape[SLUICE_TENSOR_DIMS_MAX];
    uint32_t head_bytes; /* size of the header before its elements (check_head); 0: none */
} sl_tensor_form;

typedef struct sl_dataset sl_dataset;

/* A byte buffer. */
typedef struct sl_buffer {
    uint8_t *data;
    size_t capacity;
} sl_buffer;

/* Destination of check_object's reports. */
typedef struct sl_findings {
    void (*report)(void *ctx, const sluice_error *finding);
    void *ctx;
    uint64_t bytes_read;    /* increased by check_object */
    sl_unchecked unchecked; /* data without a checksum */
    /* set when the result is no longer needed: the check ends, even within a large object; NULL:
     * never */
    const atomic_bool *stop;
} sl_findings;

static inline bool sl_findings_stopped(const sl_findings *findings)
{
    /* relaxed: a thread that sees it late works a little longer */
    return findings->stop != NULL && atomic_load_explicit(findings->stop, memory_order_relaxed);
}

/*
 * The operations of a dataset, of a format or over other datasets (over.h), in three tables, of
 * which only the first is required. All except close are const and thread-safe.
 */
typedef struct sl_dataset_ops {
    /*
     * Locates a sample. OK: `sample` is complete except for `index`. AGAIN: `lookup` must be read
     * and learned first. Negative: the index is damaged; `why` has the reason, with an offset from
     * lookup->offset in lookup->object.
     */
    sluice_status (*locate)(const sl_dataset *dataset, uint64_t index, sl_sample *sample,
                            sl_place *lookup, sl_refusal *why);
    /* Locates a sample for a visit. NULL: the visit does not matter. */
    sluice_status (*locate_at)(const sl_dataset *dataset, sl_visit visit, uint64_t index,
                               sl_sample *sample, sl_place *lookup, sl_refusal *why);
    /*
     * Returns the extent of piece `number` (below sample->pieces) of a located sample; unpack
     * receives the pieces without gaps. Used by code that reads the sample's bytes or locates one
     * of them: sl_dataset_read, the errors of dataset.c, and the feed on its fetch thread. Must not
     * be called for a sample without pieces, or for a dataset other than the one asked to locate
     * it. Computed from the sample without I/O. NULL: no sample has pieces.
     */
    sl_piece (*piece)(const sl_dataset *dataset, const sl_sample *sample, uint32_t number);
    /* Takes the bytes of a lookup. NULL: locate and locate_field never return AGAIN. */
    sl_refusal (*learn)(const sl_dataset *dataset, const sl_place *lookup, sl_bytes bytes);
    /*
     * Checks the stored bytes of a sample and unpacks them: a value for each wanted field. Spans
     * point into `bytes` or the values' buffer. The offset in a refusal counts from there.
     */
    sl_refusal (*unpack)(const sl_dataset *dataset, const sl_sample *sample, sl_bytes bytes,
                         sl_values *values);
    /*
     * Reads presence, width and height of the wanted images from a located sample's first
     * head_bytes. `*sum`: the checksum (checksum.h) in the head over the sample's bytes from the
     * 8th on, which is not verified. A refusal means that the head does not have them. NULL:
     * head_bytes is 0.
     */
    sl_refusal (*unpack_head)(const sl_dataset *dataset, const sl_sample *sample, sl_bytes head,
                              sl_values *values, uint64_t *sum);
    /* Returns the name of class `label`, or NULL. NULL function: no class has a name. */
    const char *(*class_name)(const sl_dataset *dataset, int64_t label);
    /*
     * Writes the sample's key without reading the sample; NULL: it is only the field "key".
     * INVALID: it does not fit; IO, CORRUPT: it cannot be read.
     */
    sluice_status (*key)(const sl_dataset *dataset, uint64_t index, char *key, size_t bytes);
    /*
     * True if creating files in this directory would change the dataset. NULL: only its objects
     * determine its contents.
     */
    bool (*has_folder)(const sl_dataset *dataset, uint64_t device, uint64_t inode);
    void (*close)(sl_dataset *dataset);
} sl_dataset_ops;

/*
 * Operations of datasets with tensors whose elements can be located, and so read, without the rest
 * of their samples, as windows and subvolumes require.
 */
typedef struct sl_tensor_ops {
    /*
     * Locates the elements of one tensor field, and nothing else, without reading the sample.
     * UNSUPPORTED: the location is not known for this field.
     */
    sluice_status (*locate_field)(const sl_dataset *dataset, uint64_t index, uint32_t field,
                                  sl_place *place, sl_place *lookup, sl_refusal *why);
    /*
     * Sets `*count`, at least 1, to the number of samples from `index` on in one object. True: they
     * all have the same size, and so do their fields that locate_field knows; false: sizes may
     * differ.
     */
    bool (*range)(const sl_dataset *dataset, uint64_t index, uint64_t *count);
    /*
     * Returns the size that locate_field would find, if it is known without any I/O. False:
     * unknown. NULL: for no sample.
     */
    bool (*field_bytes)(const sl_dataset *dataset, uint64_t index, uint32_t field, uint64_t *bytes);
    /*
     * Writes the sizes that locate_field would find for a one-dimensional field without a head, in
     * each of `count` samples. Only for datasets that keep the sizes in memory: does no I/O, cannot
     * fail, and takes a few ns per sample. NULL: for no field.
     */
    void (*kept_bytes)(const sl_dataset *dataset, uint32_t field, const uint64_t *samples,
                       uint32_t count, uint64_t *bytes);
    /*
     * Returns shape and head size of a tensor that locate_field found with this size; does no I/O
     * and never changes. False: unknown. NULL: the field's own shape, with at most one variable
     * dimension, and no head.
     */
    bool (*form)(const sl_dataset *dataset, uint64_t index, uint32_t field, uint64_t bytes,
                 sl_tensor_form *form);
    /* Checks that a head matches `form`. Required if forms have heads. */
    sl_refusal (*check_head)(const sl_dataset *dataset, uint64_t index, uint32_t field,
                             sl_bytes head);
} sl_tensor_ops;

/*
 * Operations of datasets whose files contain more to check than each sample's own bytes. Only for
 * verify, which calls check_object for each object, then unpack for each sample and, for valid
 * samples, sum; and check_sum for each object once no samples are left.
 */
typedef struct sl_check_ops {
    /*
     * Checks everything about an object that the checks of samples do not cover, and reports to
     * `findings`. OK: its samples can be checked.
     */
    sluice_status (*check_object)(const sl_dataset *dataset, uint32_t object,
                                  sl_findings *findings);
    /*
     * Returns the number of the object's first sample, known without I/O; UINT64_MAX: unknown.
     * Objects are in the order of their samples. NULL: for no object.
     */
    uint64_t (*first_of_object)(const sl_dataset *dataset, uint32_t object);
    /*
     * An object may have a sum over all its samples, independent of their order (the identity in a
     * shard's header, docs/format.md), since valid samples may still be misplaced. `sum`: what a
     * sample that unpack accepted adds to it, modulo 2^64; `bytes` are those passed to unpack.
     * `check_sum`: checks the sum over `count` of the object's samples; accepts it if some are
     * missing. Both NULL: there is no such sum.
     */
    uint64_t (*sum)(const sl_dataset *dataset, const sl_sample *sample, sl_bytes bytes);
    sl_refusal (*check_sum)(const sl_dataset *dataset, uint32_t object, uint64_t sum,
                            uint64_t count);
} sl_check_ops;

typedef struct sl_over sl_over; /* over.h */

/*
 * Result of reading a dataset, kept for later lookups; the first part of a user-defined struct.
 * Constant once published.
 */
typedef struct sl_memo {
    struct sl_memo *next;
    uint64_t key;
    void (*close)(struct sl_memo *memo);
} sl_memo;

/* The beginning of every format's dataset. */
struct sl_dataset {
    const sl_dataset_ops *ops;
    const sl_tensor_ops *tensors; /* NULL: no field can be located by itself */
    const sl_check_ops *checks;   /* NULL: only samples have checksums, or nothing has */
    const sl_over *over;          /* for datasets over others; NULL: a format's */
    _Atomic uint32_t references;
    sluice_dataset_info info; /* full size */
    const sl_field *fields;   /* info.fields entries */
    sl_objects *objects;      /* closed by the format */
    bool whole_objects;  /* true if samples may be objects of their own: places without bytes */
    bool shares_pages;   /* true if samples share pages that are unpacked as a whole */
    uint32_t pieces;     /* maximum number of pieces of a sample */
    uint32_t head_bytes; /* number of leading bytes of a sample that unpack_head needs; 0: none */
    uint32_t depth;      /* for datasets over others: one more than theirs; 0: a format's */
    const sl_mix *mix;   /* its own order, which an epoch is a part of; NULL */
    /*
     * Data that has no checksum, whatever the data is; set by the format. Not for images that are
     * files: verify adds those when it reads them.
     */
    sl_unchecked unchecked;
    /*
     * True if the checks of check_object are the only ones for samples' bytes, which are unchecked
     * if it is not called.
     */
    bool sums_are_of_files;
    /*
     * Description of the dataset and how it was recognised, for users. After "; ": a slow way of
     * storage, and what to do.
     */
    char kind[256];
    sl_omissions omissions;   /* modified while the dataset is opened; then constant */
    sl_warnings warnings;     /* likewise */
    _Atomic(sl_memo *) memos; /* newest first */
};

/* Finds a memo by key, valid until the dataset is closed; NULL: none. Any thread. */
const sl_memo *sl_dataset_find_memo(const sl_dataset *dataset, uint64_t key);
/*
 * Publishes a memo, which the dataset closes. If two have the same key, either may be found. Any
 * thread.
 */
void sl_dataset_keep(sl_dataset *dataset, sl_memo *memo);

/*
 * Returns `bytes` zeroed bytes that begin with an sl_dataset of these ops, with one reference; for
 * formats. NULL: no memory, as reported in `error`.
 */
void *sl_dataset_new(size_t bytes, const sl_dataset_ops *ops, const char *format,
                     sluice_error *error);
/* Ends opening with `status`, which it returns: sets `*dataset` to `made`, or closes `made`. */
sluice_status sl_dataset_opened(sl_dataset **dataset, sl_dataset *made, sluice_status status);

/* Limit on datasets over datasets, so that call chains are bounded. */
#define SL_DATASET_DEPTH_MAX 16U

/* A file's relation to the images beside it. */
typedef enum sl_mentions {
    SL_MENTIONS_NONE,      /* nothing: it names none of them */
    SL_MENTIONS_LINES,     /* as many lines as there are images, which may be their labels */
    SL_MENTIONS_CLOSED,    /* labels, according to its name; its contents cannot be read */
    SL_MENTIONS_UNCLEAR,   /* labels, according to its name, but nothing in it seems to refer to the
                              images */
    SL_MENTIONS_NAMES,     /* only their names */
    SL_MENTIONS_LABELS,    /* more than their names */
    SL_MENTIONS_REPEATS,   /* more than their names, with several rows for some of them */
    SL_MENTIONS_OTHERWISE, /* more than their names, under different names */
    SL_MENTIONS_UNREADABLE /* data about them in an unsupported form */
} sl_mentions;

struct sl_file_list;

/*
 * A format, as its folder of src/formats defines it: a row of the table there
 * (formats/format_table.h), which is generated from the line FORMATS of the folder's
 * CMakeLists.txt.
 */
typedef struct sl_format {
    const char *name;
    const char *files; /* its files, in the plural: ".npy files" */
    const char *known; /* the same for the list of all formats; NULL: `files` */
    bool takes_fields; /* supports sluice_dataset_options.fields */
    bool takes_split;  /* supports sluice_dataset_options.split: `open` selects it, or fails and
                          names it */
    /*
     * Finds a split in a folder, unless it is a sub-folder of that name: writes the path
     * (SL_PATH_BYTES) of a folder that has it, or of a file to open. False: not found. NULL: never.
     */
    bool (*find_split)(const char *path, const char *wanted, char *place);
    /*
     * For formats that open one of several files in a folder: chooses the file of a split, by its
     * number, and counts other files of that split in `passed`. INVALID, with the names. NULL: no
     * such choice.
     */
    sluice_status (*choose_split)(const char *const *paths, uint32_t count, const char *wanted,
                                  uint32_t *number, sl_omissions *passed, sluice_error *error);
    /* Returns true if the path looks like this format; cheap. */
    bool (*probe)(sl_look *look);
    /*
     * Returns whether a file in this folder marks the whole folder as this format. No other format
     * is then tried, which would require reading all names. NULL: never.
     */
    bool (*is_marked)(const char *folder);
    /*
     * Returns whether a file of this name makes its folder one of this format. Its names are read
     * once for all such formats, instead of calling `probe` for folders. NULL: uses `probe`.
     */
    bool (*is_named)(const char *name);
    /*
     * Returns whether a sub-folder makes its folder one of this format, like a file with is_named.
     * Called for each, so names must rule out most. NULL: never.
     */
    bool (*is_part)(const char *path);
    /*
     * For formats that are opened by the paths of their files: returns whether a file of this name
     * is one. In a folder with nothing else to open, these files are passed in name order. NULL:
     * the format reads its folders itself, or has none.
     */
    bool (*is_file)(const char *name);
    /*
     * Returns whether the contents of a file with such a name confirm the format. NULL: the name is
     * enough.
     */
    bool (*is_sure)(sl_look *look);
    /*
     * Does the same for annotations beside a dataset of another format, where partial annotations
     * do not count. NULL: is_sure.
     */
    bool (*is_whole)(sl_look *look);
    bool is_binary; /* true if its files are not text, which may be beside any dataset */
    bool is_single; /* true if its files cannot be joined */
    /*
     * True if a folder with neither images nor folders is not one: its surroundings are not
     * searched then, which takes requests.
     */
    bool needs_pictures;
    /* True if its files may list the images in their own folder or in sibling folders. */
    bool is_annotations;
    /*
     * True if its folders have all data about their images: lists and annotations of other formats
     * in them are not ignored.
     */
    bool has_annotations;
    /* Determines from its first rows what a file says about the images beside it; NULL: never. */
    sl_mentions (*mentions)(const char *path);
    /*
     * True if a file without others of its kind in the folder is the dataset, even if is_sure
     * returns false.
     */
    bool is_alone_sure;
    /*
     * A file "17" + this suffix is another tool's note about a folder "17" beside it; NULL: none.
     */
    const char *note_suffix;
    /* A file "17" + this suffix may have such a note, of another format, beside it; NULL: none. */
    const char *noted_suffix;
    const char *(*words)(
        const char *name); /* describes a file's contents by its name; NULL: unknown */
    /*
     * Opens the dataset. END: a folder without anything of the format; nothing was opened, and
     * `error` is unchanged.
     */
    sluice_status (*open)(sl_dataset **dataset, const char *const *paths, size_t count,
                          const sluice_dataset_options *options, sluice_error *error);
    /*
     * Extends the classes of a dataset that was opened as a split to those of all splits, at these
     * paths. NULL: they are the same anyway.
     */
    sluice_status (*join_splits)(sl_dataset *dataset, const struct sl_file_list *splits,
                                 const sluice_dataset_options *options, sluice_error *error);
    /*
     * Numbers the classes of a dataset of this format, which are the names that occur in it, over
     * all splits, which have this format too. NULL: numbers do not depend on the names that occur.
     * Errors: NOMEM.
     */
    sluice_status (*number_over)(sl_dataset *dataset, sl_dataset *const *others, uint32_t count,
                                 sluice_error *error);
} sl_format;

/* Defines a format. */
#define SL_FORMAT(name)                      \
    extern const sl_format sl_format_##name; \
    const sl_format sl_format_##name

sl_dataset *sl_dataset_ref(sl_dataset *dataset);
/* Adds a reference to a dataset that the caller only reads: a reference does not change it. */
sl_dataset *sl_dataset_share(const sl_dataset *dataset);
/* NULL is a no-op. */
void sl_dataset_close(sl_dataset *dataset);

/* Returns true if some of its objects are in a remote store. */
bool sl_dataset_is_remote(const sl_dataset *dataset);
/* Returns the default number of threads that read samples by themselves: one for each processor;
 * more for a remote dataset, where they mostly wait. */
uint32_t sl_dataset_threads(const sl_dataset *dataset);

/* Returns the name of class `label`; NULL: none. */
const char *sl_dataset_class_name(const sl_dataset *dataset, int64_t label);
/* Returns the number of the field with a name; SL_FIELD_NONE. */
uint32_t sl_dataset_field(const sl_dataset *dataset, const char *name);
/* Returns INVALID for a missing field; the message lists the existing ones. */
sluice_status sl_dataset_refuse_field(const sl_dataset *dataset, const char *name,
                                      sluice_error *error);

/* Returns the number of samples in an epoch: all, except for a mix. */
static inline uint64_t sl_dataset_epoch_samples(const sl_dataset *dataset)
{
    return dataset->mix != NULL ? dataset->mix->epoch_samples : dataset->info.samples;
}

/* Calls ops->locate and sets the index in `sample`. The index must be in range. */
sluice_status sl_dataset_locate(const sl_dataset *dataset, uint64_t index, sl_sample *sample,
                                sl_place *lookup, sl_refusal *why);
/* Does the same for a visit, which is then in `sample`, regardless of the outcome. */
sluice_status sl_dataset_locate_at(const sl_dataset *dataset, sl_visit visit, uint64_t index,
                                   sl_sample *sample, sl_place *lookup, sl_refusal *why);
/*
 * Learns the bytes of the lookup `*lookup`, unless known by now, and locates again: like
 * sl_dataset_locate_at, for sample->visit.
 */
sluice_status sl_dataset_learn(const sl_dataset *dataset, uint64_t index, sl_bytes bytes,
                               sl_sample *sample, sl_place *lookup, sl_refusal *why);

/* Calls tensors->field_bytes; false if there is none. */
bool sl_dataset_field_bytes(const sl_dataset *dataset, uint64_t index, uint32_t field,
                            uint64_t *bytes);
/* Calls tensors->form, or its default. Does no I/O. */
bool sl_dataset_form(const sl_dataset *dataset, uint64_t index, uint32_t field, uint64_t bytes,
                     sl_tensor_form *form);

/* ---- for those who may block ---- */

/*
 * Locates a sample, with any reads that are necessary. Errors: INVALID (index), IO, CORRUPT,
 * UNSUPPORTED; except for INVALID, `sample->place` has the object to blame.
 */
sluice_status sl_dataset_find(const sl_dataset *dataset, uint64_t index, sl_sample *sample,
                              sluice_error *error);
/*
 * Calls tensors->locate_field, with any reads that are necessary. Errors: IO, CORRUPT, UNSUPPORTED.
 */
sluice_status sl_dataset_find_field(const sl_dataset *dataset, uint64_t index, uint32_t field,
                                    sl_place *place, sluice_error *error);
/*
 * Reads the stored bytes of a sample; `*size`: their number. AGAIN if they exceed the buffer's
 * capacity, whose contents are then undefined. Errors: IO, CORRUPT.
 */
sluice_status sl_dataset_read(const sl_dataset *dataset, const sl_sample *sample, sl_buffer buffer,
                              size_t *size, sluice_error *error);
/* Calls ops->unpack, and adds the location to errors. */
sluice_status sl_dataset_unpack(const sl_dataset *dataset, const sl_sample *sample, sl_bytes bytes,
                                sl_values *values, sluice_error *error);
/*
 * Calls ops->unpack of a dataset that is part of another; pages kept with the values are identified
 * by it.
 */
sl_refusal sl_dataset_unpack_part(const sl_dataset *part, const sl_sample *sample, sl_bytes bytes,
                                  sl_values *values);
/*
 * Reads a sample's numbers and the sizes of its images, with any reads that are necessary. For a
 * sample of several files, place.bytes is the number of bytes read. Spans of the values are
 * invalid. Errors: those of find, read and unpack.
 */
sluice_status sl_dataset_describe(const sl_dataset *dataset, uint64_t index, sl_sample *sample,
                                  sl_values *values, sluice_error *error);
/* A sample's stored bytes, and the values of the requested fields. */
typedef struct sl_stored_sample {
    uint8_t *bytes; /* buffer that the spans of `values` point into */
    sl_sample sample;
    sl_values values;
} sl_stored_sample;

/*
 * Reads the fields in the mask `wanted`. On failure `*record` is NULL. Allocates: for tools.
 * Errors: those of find, read and unpack.
 */
sluice_status sl_dataset_read_sample(const sl_dataset *dataset, uint64_t index, uint64_t wanted,
                                     sl_stored_sample **record, sluice_error *error);
void sl_dataset_free_sample(sl_stored_sample *record); /* NULL is a no-op */
/*
 * Reads one field of a sample in its form before packing: verified, zstd frames unpacked; numbers
 * as 8 bytes. `*size`: its size, 0 if the sample lacks it; AGAIN if that exceeds the buffer's
 * capacity. Allocates: for tools.
 */
sluice_status sl_dataset_read_field(const sl_dataset *dataset, uint64_t index, uint32_t field,
                                    sl_buffer buffer, size_t *size, sluice_error *error);
/*
 * Maximum length of a key, without its NUL. The key is "" if there is none. INVALID if `bytes` are
 * too few.
 */
#define SL_KEY_MAX 4095
sluice_status sl_dataset_key(const sl_dataset *dataset, uint64_t index, char *key, size_t bytes,
                             sluice_error *error);

/*
 * Sets file (path), offset and sample of an error about `sample`, unless they are set. `value`: an
 * existing offset counts from the value's beginning; NULL: from the sample's.
 */
void sl_sample_blame(const sl_dataset *dataset, const sl_sample *sample, const sl_value *value,
                     sluice_error *error);
/*
 * Returns UNSUPPORTED for a dataset that can only be read front to back (info.front_to_back), for
 * callers that need another order. The error names one of its compressed files and `what` is
 * impossible, and advises to pack the dataset or keep it unpacked.
 */
sluice_status sl_dataset_check_order(const sl_dataset *dataset, const char *what,
                                     sluice_error *error);
/* Reports an error in bytes that begin at `offset` of an object; returns its status. */
sluice_status sl_dataset_refuse(const sl_dataset *dataset, uint32_t object, uint64_t offset,
                                sl_refusal refusal, sluice_error *error);

#endif
