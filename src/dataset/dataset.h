/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dataset: what a sample is, where its bytes are, and how they are taken apart.
 *
 * Purpose: one immutable, reference-counted index over any supported format. A format is a buffer
 * of src/formats and a row of the table there: a probe and an open that returns a dataset with its
 * ops. Walk of one sample: locate (which object, offset, bytes; when an index entry has to be read
 * for that, which: a lookup, whose bytes go to learn, and locate again) -> its bytes are read, here
 * or by a fetch thread -> unpack (checks them, and gives a value for each field). Threads:
 * immutable after open; every function from any thread. locate, learn and unpack neither block nor
 * allocate; those that read (find, read, key, check_object) block for that. Ownership: the opener
 * holds one reference; sl_dataset_ref adds one.
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

/* Some bytes of an object. */
typedef struct sl_place {
    uint64_t offset;
    uint32_t bytes; /* 0: the whole object */
    uint32_t object;
    bool once; /* of a lookup: this process will not look there again */
} sl_place;

/* What a sample is located for, where that makes a difference: random parts of it. */
typedef struct sl_visit {
    uint64_t epoch;
    uint64_t repetition; /* added to the sample's number for draws: 0, or behind all samples */
} sl_visit;

/* One sample, located. */
typedef struct sl_sample {
    uint64_t index;
    sl_visit visit; /* that it was located for; 0 where that makes no difference */
    sl_place place;
    uint32_t pieces; /* byte ranges of the object that place.bytes are in; 0: one */
    uint32_t files;  /* of its object, in which all its values are; 0: except for a picture, nothing
                        has to be read where place.bytes are 0 */
    bool cut;        /* parts of some fields are there and nothing else (subvolumes.h) */
    /*
     * From locate to unpack, piece and sum: of the dataset that located the sample, and nobody else
     * reads or writes them. Datasets over others that only pass on what an inner one located
     * (subsets, joined ones) leave them be; one that makes the place itself (windows; subvolumes,
     * where it is cut) has them for itself.
     */
    uint64_t facts[6];
} sl_sample;

/* What a tensor is whose elements locate_field tells. */
typedef struct sl_tensor_form {
    uint64_t shape[SLUICE_TENSOR_DIMS_MAX];
    uint32_t head_bytes; /* that are before its elements and say so (check_head); 0: nothing does */
} sl_tensor_form;

typedef struct sl_dataset sl_dataset;

/* Space for bytes. */
typedef struct sl_buffer {
    uint8_t *data;
    size_t capacity;
} sl_buffer;

/* Where check_object reports to. */
typedef struct sl_findings {
    void (*report)(void *ctx, const sluice_error *finding);
    void *ctx;
    uint64_t bytes_read;    /* added to by check_object */
    sl_unchecked unchecked; /* what it found to have no checksum */
    /* set: nobody waits for it any more, and it ends, however large the object is; NULL: never */
    const atomic_bool *stop;
} sl_findings;

static inline bool sl_findings_stopped(const sl_findings *findings)
{
    /* relaxed: a thread that sees it late works a little longer */
    return findings->stop != NULL && atomic_load_explicit(findings->stop, memory_order_relaxed);
}

/*
 * What a dataset implements, a format or one over others (over.h): three tables, of which only the
 * first has to be there. All but close are const and thread-safe.
 */
typedef struct sl_dataset_ops {
    /*
     * OK: `sample` is complete except for `index`. AGAIN: `lookup` must be read first, and learned.
     * < 0: the index cannot be trusted; `why` says it, its offset counting from lookup->offset in
     * lookup->object.
     */
    sluice_status (*locate)(const sl_dataset *dataset, uint64_t index, sl_sample *sample,
                            sl_place *lookup, sl_refusal *why);
    /* As locate, for a visit. NULL: it makes no difference. */
    sluice_status (*locate_at)(const sl_dataset *dataset, sl_visit visit, uint64_t index,
                               sl_sample *sample, sl_place *lookup, sl_refusal *why);
    /*
     * Where piece `number` (below sample->pieces) of a located sample is: unpack gets them one
     * behind the other. For code that reads the sample's bytes or says where one of them is, so
     * sl_dataset_read, the errors of dataset.c, and the feed on its fetch thread; never of a sample
     * without pieces, and only of the dataset that was asked to locate it. Computed from the
     * sample, never read. NULL: no sample has pieces.
     */
    sl_piece (*piece)(const sl_dataset *dataset, const sl_sample *sample, uint32_t number);
    /* Takes in what a lookup found. NULL: locate and locate_field never say AGAIN. */
    sl_refusal (*learn)(const sl_dataset *dataset, const sl_place *lookup, sl_bytes bytes);
    /*
     * Checks the stored bytes of a sample and takes them apart: a value for each field that is
     * wanted. Spans are in `bytes`, or in the values' buffer. The refusal's offset counts from
     * there.
     */
    sl_refusal (*unpack)(const sl_dataset *dataset, const sl_sample *sample, sl_bytes bytes,
                         sl_values *values);
    /*
     * Presence, width and height of the pictures that are wanted, by a located sample's first
     * head_bytes. `*sum`: the checksum (checksum.h) that these state of the sample's bytes from the
     * 8th on; it is not checked. A refusal says that they do not tell. NULL: head_bytes is 0.
     */
    sl_refusal (*unpack_head)(const sl_dataset *dataset, const sl_sample *sample, sl_bytes head,
                              sl_values *values, uint64_t *sum);
    /* Name of class `label`; NULL when there is none. NULL: no class has a name. */
    const char *(*class_name)(const sl_dataset *dataset, int64_t label);
    /* The sample's key without reading it; NULL where it is only the field "key". INVALID: it does
     * not fit; IO, CORRUPT: it cannot be read. */
    sluice_status (*key)(const sl_dataset *dataset, uint64_t index, char *key, size_t bytes);
    /* True if creating files in this directory would change the dataset. NULL: its objects alone
     * say what it consists of. */
    bool (*has_folder)(const sl_dataset *dataset, uint64_t device, uint64_t inode);
    void (*close)(sl_dataset *dataset);
} sl_dataset_ops;

/* Of datasets with tensors whose elements can be found, and so read, without the rest of their
 * samples: windows and subvolumes are taken of those. */
typedef struct sl_tensor_ops {
    /*
     * As locate, of one tensor field alone: where its elements are, all of them and nothing else,
     * known without reading the sample. UNSUPPORTED: that is not known of this field.
     */
    sluice_status (*locate_field)(const sl_dataset *dataset, uint64_t index, uint32_t field,
                                  sl_place *place, sl_place *lookup, sl_refusal *why);
    /*
     * `*count`, at least 1: samples from `index` on that are in one object. True: all of them have
     * the same size, and so have their fields that locate_field tells; false: each may have
     * another.
     */
    bool (*range)(const sl_dataset *dataset, uint64_t index, uint64_t *count);
    /* How many bytes locate_field would find, where that is known without reading anything at all.
     * False: it is not. NULL: of no sample. */
    bool (*field_bytes)(const sl_dataset *dataset, uint64_t index, uint32_t field, uint64_t *bytes);
    /*
     * Writes the bytes that locate_field would find, of a field of one dimension without a head, in
     * each of `count` samples. Only where the dataset keeps them in memory: it reads nothing,
     * cannot fail, and takes some ns a sample. NULL: of no field.
     */
    void (*kept_bytes)(const sl_dataset *dataset, uint32_t field, const uint64_t *samples,
                       uint32_t count, uint64_t *bytes);
    /*
     * Shape and header size of a tensor that locate_field found to have that many bytes; reads
     * nothing and never changes. False: that is not known. NULL: the field's own shape, of which
     * one dimension may be open, and no head.
     */
    bool (*form)(const sl_dataset *dataset, uint64_t index, uint32_t field, uint64_t bytes,
                 sl_tensor_form *form);
    /* Whether a head says what `form` does. There where a form has one. */
    sl_refusal (*check_head)(const sl_dataset *dataset, uint64_t index, uint32_t field,
                             sl_bytes head);
} sl_tensor_ops;

/*
 * Of datasets whose files hold more that can be checked than each sample's own bytes: for verify
 * only, which calls check_object of each object, then unpack of each sample and, of those that are
 * sound, sum; and check_sum of each object once no sample is left.
 */
typedef struct sl_check_ops {
    /* Checks everything about an object that no sample's own check covers, and reports each thing
     * found to `findings`. OK: its samples can be looked at. */
    sluice_status (*check_object)(const sl_dataset *dataset, uint32_t object,
                                  sl_findings *findings);
    /* Number of the object's first sample, known without reading; UINT64_MAX: it is not. Objects
     * are as their samples do. NULL: of no object. */
    uint64_t (*first_of_object)(const sl_dataset *dataset, uint32_t object);
    /*
     * An object may say what its samples are in all, by a sum that their order does not matter to
     * (the identity in a shard's header, docs/format.md): each may be sound, and yet be in
     * another's place. `sum`: what a sample that unpack accepted adds to it, modulo 2^64; `bytes`
     * are those that unpack got. `check_sum`: whether the sum over `count` of the object's samples
     * is right; accepted when they are not all. Both NULL: nothing says so.
     */
    uint64_t (*sum)(const sl_dataset *dataset, const sl_sample *sample, sl_bytes bytes);
    sl_refusal (*check_sum)(const sl_dataset *dataset, uint32_t object, uint64_t sum,
                            uint64_t count);
} sl_check_ops;

typedef struct sl_over sl_over; /* over.h */

/* What was found of a dataset by reading it, for those who look for it again: the first part of a
 * struct of theirs. Constant once it is kept. */
typedef struct sl_memo {
    struct sl_memo *next;
    uint64_t key;
    void (*close)(struct sl_memo *memo);
} sl_memo;

/* The part that every format's dataset begins with. */
struct sl_dataset {
    const sl_dataset_ops *ops;
    const sl_tensor_ops *tensors; /* NULL: no field can be found by itself */
    const sl_check_ops *checks;   /* NULL: samples check themselves, or nothing does */
    const sl_over *over;          /* of datasets over others; NULL: a format's */
    _Atomic uint32_t references;
    sluice_dataset_info info; /* full size */
    const sl_field *fields;   /* info.fields of them */
    sl_objects *objects;      /* the format closes it */
    bool whole_objects;       /* samples may be objects of their own: places without bytes */
    bool shares_pages;        /* samples are with others in pages that are unpacked as a whole */
    uint32_t pieces;          /* that a sample has, at most */
    uint32_t head_bytes;      /* first bytes of a sample that unpack_head needs; 0: it has none */
    uint32_t depth;           /* of datasets over others: one more than theirs; 0: a format's */
    const sl_mix *mix;        /* it has an order of its own, of which an epoch is a part; NULL */
    /* What has no checksum, whatever is found of it: said by the format, which leaves pictures that
     * are files to those who look at them. */
    sl_unchecked unchecked;
    /* What check_object checks is all that stands for a sample's bytes, which so are unchecked
     * where it is not asked. */
    bool sums_are_of_files;
    /* What it is, and what it was known by: a sentence for people. Behind "; " how it is stored, if
     * that makes it slow, and what to do. */
    char kind[256];
    sl_omissions omissions;   /* while it is opened; then constant */
    sl_warnings warnings;     /* likewise */
    _Atomic(sl_memo *) memos; /* the newest first */
};

/* Any thread. Finds what was kept under a key, until the dataset is closed; NULL: nothing. */
const sl_memo *sl_dataset_find_memo(const sl_dataset *dataset, uint64_t key);
/* Any thread. The dataset closes the memo. Of two with one key, either is found. */
void sl_dataset_keep(sl_dataset *dataset, sl_memo *memo);

/*
 * For formats: zeros of `bytes`, which begin with an sl_dataset of these ops, with one reference.
 * NULL: no memory, which `error` says.
 */
void *sl_dataset_new(size_t bytes, const sl_dataset_ops *ops, const char *format,
                     sluice_error *error);
/* Ends opening with `status`, which is returned: `made` is `*dataset` then, or is closed. */
sluice_status sl_dataset_opened(sl_dataset **dataset, sl_dataset *made, sluice_status status);

/* Datasets over datasets over ..., so that calls through them have a limit. */
#define SL_DATASET_DEPTH_MAX 16U

/* What a file says of the pictures beside it. */
typedef enum sl_mentions {
    SL_MENTIONS_NONE,      /* nothing: it names none of them */
    SL_MENTIONS_LINES,     /* as many lines as there are of them, which may be their labels */
    SL_MENTIONS_CLOSED,    /* labels, by its name; it cannot be looked into */
    SL_MENTIONS_UNCLEAR,   /* likewise, and nothing in it is of the images, as far as can be told */
    SL_MENTIONS_NAMES,     /* their names, and nothing else */
    SL_MENTIONS_LABELS,    /* more than their names */
    SL_MENTIONS_REPEATS,   /* likewise, in several rows for one of them */
    SL_MENTIONS_OTHERWISE, /* more than their names, which it writes otherwise */
    SL_MENTIONS_UNREADABLE /* something of them, in a form that cannot be read */
} sl_mentions;

struct sl_file_list;

/*
 * A format, as its folder of src/formats defines it: a row of the table there
 * (formats/format_table.h), which the line FORMATS of the folder's CMakeLists.txt makes.
 */
typedef struct sl_format {
    const char *name;
    const char *files; /* what is opened, in the plural: ".npy files" */
    const char *known; /* the same for the sentence that lists all formats; NULL: `files` */
    bool takes_fields; /* sluice_dataset_options.fields */
    bool takes_split;  /* sluice_dataset_options.split: `open` picks it, or refuses it by name */
    /* Where a split is of what a folder holds, if in no folder of its own there: a folder that has
     * it, or a file to open. Writes the path, of SL_PATH_BYTES. False: nowhere; NULL, too. */
    bool (*find_split)(const char *path, const char *wanted, char *place);
    /* Of a format whose folders have several files, of which one is the dataset: the number of the
     * file that a split is. Counts other files of that split in `passed`. INVALID, with the names.
     * NULL: there is no such choice. */
    sluice_status (*choose_split)(const char *const *paths, uint32_t count, const char *wanted,
                                  uint32_t *number, sl_omissions *passed, sluice_error *error);
    /* True if the path looks like this format; cheap. */
    bool (*probe)(sl_look *look);
    /* Whether a file in this folder says that all of it is of this format: then no other is looked
     * for, which would take reading the names of all that is there. NULL: none does. */
    bool (*is_marked)(const char *folder);
    /* Whether a file of this name makes its folder one of this format: then `probe` is not asked
     * about folders, whose names are read once for all such formats. NULL: it is. */
    bool (*is_named)(const char *name);
    /* Whether a sub-folder makes its folder one of this format, as a file that is_named does: asked
     * of each, so that names have to rule most out. NULL: none does. */
    bool (*is_part)(const char *path);
    /*
     * Of formats that are opened by the paths of their files: whether a file of this name is one,
     * in a folder that has nothing else to open: its files are handed over in the order of their
     * names. NULL: the format reads its folders itself, or has none.
     */
    bool (*is_file)(const char *name);
    /* Whether a file of such a name is one by what it holds. NULL: its name says it all. */
    bool (*is_sure)(sl_look *look);
    /* The same of annotations beside a dataset of another format, where a part of them does not
     * count. NULL: is_sure. */
    bool (*is_whole)(sl_look *look);
    bool is_binary; /* its files are no texts, which may be beside any dataset */
    bool is_single; /* its files cannot be joined */
    /* A folder with neither pictures nor folders is not one: it is not looked around for others,
     * which takes requests. */
    bool needs_pictures;
    /* Its files may list the pictures of the folder that they are in, or of those beside theirs. */
    bool is_annotations;
    /* Its folders have all that is said of their pictures: lists and annotations of other formats
     * in them are not passed over. */
    bool has_annotations;
    /* What a file says of the pictures beside it, by its first rows; NULL: no file says anything.
     */
    sl_mentions (*mentions)(const char *path);
    /* One of its files alone in a folder is the dataset, also where is_sure says no. */
    bool is_alone_sure;
    /* Whether a file "17" + this is a note of another tool's about a folder "17" beside it; NULL:
     * none is. */
    const char *note_suffix;
    /* Whether a file "17" + this may have such a note beside it, of another format; NULL: none. */
    const char *noted_suffix;
    const char *(*words)(const char *name); /* what a file holds, by its name; NULL: unknown */
    /* END: it is a folder in which there is nothing of the format; then nothing was opened, and
     * `error` says nothing. */
    sluice_status (*open)(sl_dataset **dataset, const char *const *paths, size_t count,
                          const sluice_dataset_options *options, sluice_error *error);
    /* Makes the classes of a dataset that was opened as a split of a folder those of all its
     * splits, at these paths. NULL: they are the same in any case. */
    sluice_status (*join_splits)(sl_dataset *dataset, const struct sl_file_list *splits,
                                 const sluice_dataset_options *options, sluice_error *error);
    /* Numbers the classes of a dataset of this format, whose names are the ones that occur in it,
     * over those of the other splits, which are of this format, too. NULL: numbers do not depend on
     * what occurs. Errors: NOMEM. */
    sluice_status (*number_over)(sl_dataset *dataset, sl_dataset *const *others, uint32_t count,
                                 sluice_error *error);
} sl_format;

/* Defines one. */
#define SL_FORMAT(name)                      \
    extern const sl_format sl_format_##name; \
    const sl_format sl_format_##name

sl_dataset *sl_dataset_ref(sl_dataset *dataset);
/* The same of one that the caller only reads: a reference does not change it. */
sl_dataset *sl_dataset_share(const sl_dataset *dataset);
/* NULL is fine. */
void sl_dataset_close(sl_dataset *dataset);

/* Returns true if some of its objects are behind a network. */
bool sl_dataset_is_remote(const sl_dataset *dataset);
/* Returns how many threads read samples by themselves, unless the caller chose: one for each
 * processor; more for a remote dataset, where they mostly wait. */
uint32_t sl_dataset_threads(const sl_dataset *dataset);

/* Name of class `label`; NULL when there is none. */
const char *sl_dataset_class_name(const sl_dataset *dataset, int64_t label);
/* Number of the field of that name; SL_FIELD_NONE. */
uint32_t sl_dataset_field(const sl_dataset *dataset, const char *name);
/* INVALID: it has no such field; the message names those that it has. */
sluice_status sl_dataset_refuse_field(const sl_dataset *dataset, const char *name,
                                      sluice_error *error);

/* Samples of an epoch: all, but of a mix. */
static inline uint64_t sl_dataset_epoch_samples(const sl_dataset *dataset)
{
    return dataset->mix != NULL ? dataset->mix->epoch_samples : dataset->info.samples;
}

/* ops->locate, with the index in `sample`, which must be in range. */
sluice_status sl_dataset_locate(const sl_dataset *dataset, uint64_t index, sl_sample *sample,
                                sl_place *lookup, sl_refusal *why);
/* The same for a visit, which `sample` has afterwards, too, whatever the outcome. */
sluice_status sl_dataset_locate_at(const sl_dataset *dataset, sl_visit visit, uint64_t index,
                                   sl_sample *sample, sl_place *lookup, sl_refusal *why);
/*
 * Takes in what the look-up at `*lookup` found, unless it is known by now, and locates again: as
 * sl_dataset_locate_at, for sample->visit.
 */
sluice_status sl_dataset_learn(const sl_dataset *dataset, uint64_t index, sl_bytes bytes,
                               sl_sample *sample, sl_place *lookup, sl_refusal *why);

/* tensors->field_bytes; false where there is none. */
bool sl_dataset_field_bytes(const sl_dataset *dataset, uint64_t index, uint32_t field,
                            uint64_t *bytes);
/* tensors->form, or what stands for it. Reads nothing. */
bool sl_dataset_form(const sl_dataset *dataset, uint64_t index, uint32_t field, uint64_t bytes,
                     sl_tensor_form *form);

/* ---- for those who may block ---- */

/* Locates, reading what has to be read. Errors: INVALID (index), IO, CORRUPT, UNSUPPORTED; except
 * for INVALID `sample->place` tells which object is to blame. */
sluice_status sl_dataset_find(const sl_dataset *dataset, uint64_t index, sl_sample *sample,
                              sluice_error *error);
/* tensors->locate_field, reading what has to be read. Errors: IO, CORRUPT, UNSUPPORTED. */
sluice_status sl_dataset_find_field(const sl_dataset *dataset, uint64_t index, uint32_t field,
                                    sl_place *place, sluice_error *error);
/* Reads the stored bytes of a sample; `*size` is how many there are. AGAIN when they are more than
 * the buffer's capacity (then it holds nothing usable). Errors: IO, CORRUPT. */
sluice_status sl_dataset_read(const sl_dataset *dataset, const sl_sample *sample, sl_buffer buffer,
                              size_t *size, sluice_error *error);
/* ops->unpack, with an error that says where. */
sluice_status sl_dataset_unpack(const sl_dataset *dataset, const sl_sample *sample, sl_bytes bytes,
                                sl_values *values, sluice_error *error);
/* ops->unpack of one that a dataset is made of: what values keep of pages is identified by it. */
sl_refusal sl_dataset_unpack_part(const sl_dataset *part, const sl_sample *sample, sl_bytes bytes,
                                  sl_values *values);
/*
 * A sample's numbers, and the sizes of its pictures, read where they have to be. Of a sample of
 * several files place.bytes says what was read. Spans of the
 * values are not valid. Errors: as those of find, read and unpack.
 */
sluice_status sl_dataset_describe(const sl_dataset *dataset, uint64_t index, sl_sample *sample,
                                  sl_values *values, sluice_error *error);
/* A sample's stored bytes, and what they hold of the fields that were asked for. */
typedef struct sl_stored_sample {
    uint8_t *bytes; /* what the spans of `values` are in */
    sl_sample sample;
    sl_values values;
} sl_stored_sample;

/* Reads the fields in the mask `wanted`. On failure `*record` is NULL. Allocates: for tools.
 * Errors: as those of find, read and unpack. */
sluice_status sl_dataset_read_sample(const sl_dataset *dataset, uint64_t index, uint64_t wanted,
                                     sl_stored_sample **record, sluice_error *error);
void sl_dataset_free_sample(sl_stored_sample *record); /* NULL is fine */
/*
 * Reads one field of a sample as it was before packing: checked, a zstd frame unpacked; numbers as
 * their 8 bytes. `*size` is its size, 0 when the sample lacks it; AGAIN when that is more than the
 * buffer's capacity. Allocates: for tools.
 */
sluice_status sl_dataset_read_field(const sl_dataset *dataset, uint64_t index, uint32_t field,
                                    sl_buffer buffer, size_t *size, sluice_error *error);
/* A key has SL_KEY_MAX bytes at most, without its NUL. "" when there is none. INVALID when `bytes`
 * are too few. */
#define SL_KEY_MAX 4095
sluice_status sl_dataset_key(const sl_dataset *dataset, uint64_t index, char *key, size_t bytes,
                             sluice_error *error);

/*
 * Fills file (path), offset and sample of an error that concerns `sample`, where they are not
 * there. `value`: an offset that is there counts from the beginning of its bytes; NULL: of the
 * sample's.
 */
void sl_sample_blame(const sl_dataset *dataset, const sl_sample *sample, const sl_value *value,
                     sluice_error *error);
/*
 * UNSUPPORTED of a dataset that can only be read from front to back (info.front_to_back), for those
 * that would read it in another order: names one of its compressed files, and says what cannot be,
 * and that packing, or keeping it unpacked, helps.
 */
sluice_status sl_dataset_check_order(const sl_dataset *dataset, const char *what,
                                     sluice_error *error);
/* An error of a refusal whose bytes begin at `offset` of an object; its status. */
sluice_status sl_dataset_refuse(const sl_dataset *dataset, uint32_t object, uint64_t offset,
                                sl_refusal refusal, sluice_error *error);

#endif
