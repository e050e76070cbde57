/* SPDX-License-Identifier: Apache-2.0 */
/*
 * value: the fields of a dataset, and one sample's values. Plain data.
 *
 * A FIELD is what a dataset stores for each sample; its fields are its schema. A VALUE is one
 * sample's content of one field: a number, or bytes with another owner, as stored (an image still
 * encoded, a frame still packed).
 */
#ifndef SL_VALUE_H
#define SL_VALUE_H

#include "subvolume.h"
#include "value_buffer.h"
#include "view.h"

#include <sluice/dataset.h>

#include <stdbool.h>
#include <string.h>

#define SL_FIELDS_MAX       64U
#define SL_FIELD_NAME_BYTES 32U
#define SL_FIELD_NONE       UINT32_MAX
/* Size of a sample, as stored and with everything unpacked: for writers and readers. */
#define SL_RECORD_BYTES_MAX 0x7fffffffU
/* Limits of an image in a sample: pixels (a loader's default), and bytes. */
#define SL_RECORD_PIXELS_MAX ((uint64_t)100000000)
#define SL_RECORD_IMAGE_MAX  ((uint64_t)1 << 30)
/*
 * Codec numbers that also have a meaning without a codec: by the first bytes, as for a file of its
 * own; and u8 RGB, width x height x 3, whose size can be checked without looking inside. All others
 * are in the rows of decode/codecs.c only.
 */
#define SL_CODEC_BY_BYTES 0U
#define SL_CODEC_RAW      2U

/*
 * Properties of a field's type. MEDIA: values are files of a codec (media.h), with a size in their
 * header, and are decoded. Callers name an enumerator if they mean that type alone.
 */
static inline bool sl_type_is_media(sluice_field_type type)
{
    return type == SLUICE_FIELD_IMAGE;
}

/* True for any number of bytes: a file, a text, or opaque bytes. */
static inline bool sl_type_is_blob(sluice_field_type type)
{
    return sl_type_is_media(type) || type == SLUICE_FIELD_BYTES || type == SLUICE_FIELD_TEXT;
}

/* The order of fields that were found, not chosen: media first, then the label, then the others. */
enum { SL_FIELD_RANKS = 3 };
static inline uint32_t sl_field_rank(const char *name, sluice_field_type type)
{
    if (strcmp(name, "label") == 0) {
        return 1;
    }
    return sl_type_is_media(type) ? 0 : 2;
}

/* The meaning of a field (sluice/dataset.h). Zeroed: unknown. */
typedef struct sl_meaning {
    sluice_role role;
    sluice_box_format box_format;
    sluice_coordinates coordinates;
    sluice_orientation orientation;
    bool per_box;
    char of[SL_FIELD_NAME_BYTES]; /* a field of the same dataset; "": the only possible one */
} sl_meaning;

typedef struct sl_field {
    char name[SL_FIELD_NAME_BYTES];
    sluice_field_type type;
    sluice_dtype dtype;                     /* tensors */
    uint32_t dims;                          /* tensors */
    uint64_t shape[SLUICE_TENSOR_DIMS_MAX]; /* tensors; 0: varies between samples */
    sluice_compression compression;
    sl_meaning meaning;
} sl_field;

/* Returns the int field with a side of an image as annotated; SL_FIELD_NONE: there is none. */
static inline uint32_t sl_field_of_role(const sl_field *fields, uint32_t count, const char *image,
                                        sluice_role role)
{
    for (uint32_t i = 0; i < count; i++) {
        const sl_meaning *meaning = &fields[i].meaning;
        if (meaning->role == role && fields[i].type == SLUICE_FIELD_INT &&
            (meaning->of[0] == '\0' || strcmp(meaning->of, image) == 0)) {
            return i;
        }
    }
    return SL_FIELD_NONE;
}

typedef struct sl_value {
    bool present;
    uint8_t file;    /* number of its file, of a sample with several */
    uint8_t codec;   /* images: the number of an sl_codec, which need not exist; SL_CODEC_... */
    uint32_t offset; /* of `bytes` in the sample's stored bytes, or in `file` */
    uint32_t width, height; /* images; 0: not known without reading */
    /* How the content is made from `bytes` (packed_value.h): one packing at most. NULL: `bytes` are
     * the content. */
    const struct sl_value_packing *packing;
    uint64_t packing_facts[2]; /* the packing's own, of this value */
    int64_t integer;
    double number;
    sl_bytes bytes;                         /* images, tensors, bytes, texts */
    uint64_t shape[SLUICE_TENSOR_DIMS_MAX]; /* tensors */
    /* tensors read in part (subvolume.h): the shape of the whole tensor, while `shape` is that of
     * `bytes`; NULL: they are whole */
    const uint64_t *whole;
} sl_value;

/*
 * Elements [first, first + count) of a document as in rows of packed sequences: ids that are not
 * stored may precede and follow its stored elements (columns/document_layout.h).
 */
typedef struct sl_document_piece {
    uint64_t document;     /* the sample's number */
    uint64_t first, count; /* count >= 1 */
    uint64_t length;       /* of the document in rows */
    uint64_t stored;       /* its stored elements: 1 or more */
    uint64_t from;         /* the stored element at the beginning of the value's content */
    /* elements before the first stored one, at most 1; unused for a `mixed` document */
    uint32_t before;
    bool mixed; /* stored elements are in another order: all are needed */
} sl_document_piece;

#define SL_VALUES_ALL  UINT64_MAX
#define SL_VALUES_ROOM 4096
/* The place where the caller wants all `bytes` bytes of a field. A reader that checks them may copy
 * them to `to` on the way; the value then points there. */
typedef struct sl_copy_wish {
    uint8_t *to; /* NULL: no wish */
    uint32_t field;
    size_t bytes;
} sl_copy_wish;

/* The values of one sample. Reused for many samples: zeroed once, released by sl_values_end. */
typedef struct sl_values {
    uint64_t wanted; /* bit i: field i is wanted; the others need not be filled */
    sl_copy_wish copy;
    sl_value of[SL_FIELDS_MAX];
    sl_document_piece piece;     /* of datasets of pieces (dataset/pieces.h) */
    char buffer[SL_VALUES_ROOM]; /* for a text that differs from the sample's bytes */
    sl_value_buffers buffers;    /* for values in data that must be unpacked */
    uint64_t wholes[SL_SUBVOLUMES_MAX][SLUICE_TENSOR_DIMS_MAX]; /* for sl_value.whole */
} sl_values;

/* Sets the wanted fields, with no copy wish. */
static inline void sl_values_begin(sl_values *values, uint64_t wanted)
{
    values->wanted = wanted;
    values->copy.to = NULL;
}

/* Frees the memory of unpacking. */
static inline void sl_values_end(sl_values *values)
{
    sl_value_buffers_close(&values->buffers);
}

/* Returns whether `data` is memory that the next sample's values will overwrite. */
static inline bool sl_values_pass(const sl_values *values, const uint8_t *data)
{
    return sl_value_buffers_have(&values->buffers, data);
}

static inline bool sl_values_want(const sl_values *values, uint32_t field)
{
    return (values->wanted >> field & 1) != 0;
}

#endif
