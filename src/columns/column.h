/* SPDX-License-Identifier: Apache-2.0 */
/*
 * column: a request, the column that it becomes, the column's kind, and the set of all columns.
 *
 * Purpose: binding turns each request (sluice/columns.h) into a column of a set, once. A kind is a
 * table of functions: one file, and one row of the table in columns.c. Everything else here knows
 * kinds by that table only.
 * Geometry groups: the columns of a group share one draw of a sample's geometry. The group's lead
 * is an image column; the draw uses its recipe and its size. Columns that follow join in `bind`
 * (group.h).
 * Threads: the opener binds; a bound set does not change, so workers read it without a lock.
 * Memory: sl_columns_close frees what a set owns. Requests are copies; strings and recipes too.
 */
#ifndef SL_COLUMN_H
#define SL_COLUMN_H

#include "batch_mixing.h"
#include "boxes.h"
#include "cast.h"
#include "decoder.h"
#include "document_layout.h"
#include "largest_size.h"
#include "notices.h"
#include "parts.h"
#include "recipe.h"
#include "subvolume.h"
#include "turn.h"
#include "value.h"

#include <sluice/columns.h>

#define SL_COLUMNS_MAX       64U
#define SL_COLUMN_NONE       UINT32_MAX
#define SL_GROUP_NONE        UINT32_MAX
#define SL_COLUMN_NAME_BYTES 32U
#define SL_MIRROR_MAX        256U
#define SL_CHANNELS_MAX      64U
#define SL_MEMBERS_MAX       (SLUICE_PARTNERS_MAX + 1U)

/* A column as the user asked for it. Its strings and its recipe are copies. */
typedef struct sl_column_request {
    sluice_column_kind kind;
    char field[SL_FIELD_NAME_BYTES], name[SL_COLUMN_NAME_BYTES];
    sluice_augment recipe; /* IMAGE */
    int32_t dtype;
    sluice_layout layout;
    uint64_t length, stride, offset;
    sluice_column_part part;
    bool truncates, may_miss;
    uint32_t dims;
    int64_t shape[SLUICE_TENSOR_DIMS_MAX];
    char mixes[SL_COLUMN_NAME_BYTES]; /* ONE_HOT: column whose mixing the labels follow; "": none */
    double smoothing;
    char follows[SL_COLUMN_NAME_BYTES]; /* image or box column to follow; "": none */
    double fill;
    sluice_column_interpolation interpolation;
    uint32_t channels;
    sl_box_rule boxes;                /* BOXES, POINTS: `relative` and `out_relative` */
    sluice_coordinates coordinates;   /* BOXES, POINTS; binding replaces AUTO and sets `relative` */
    sluice_orientation orientation;   /* of annotations; AUTO: the field's */
    char shapes[SL_FIELD_NAME_BYTES]; /* BOXES: field to compute them from; "": none */
    char labels[SL_FIELD_NAME_BYTES], crowds[SL_FIELD_NAME_BYTES]; /* MASK of shapes; "": none */
    double background, ignore;                                     /* MASK of shapes */
    sluice_column_overlap overlap;
    bool is_of_shapes; /* MASK: the user gave one of those */
    bool padded;
    uint32_t point_values, mirror_count;
    uint8_t mirror[SL_MIRROR_MAX];
    uint32_t partner; /* member of the row to read; a column that follows takes its lead's */
    sluice_column_sizes sizes;
    uint32_t max_width, max_height;
    uint32_t max_documents, align, unit; /* PACKED; binding fills in defaults */
    sluice_cut cut;
    int64_t pad;
    sl_document_rule rule;           /* PACKED */
    char mask[SL_FIELD_NAME_BYTES];  /* PACKED: field that selects elements; "": none */
    char media[SL_FIELD_NAME_BYTES]; /* PACKED: a second field of the documents; "": none */
    uint64_t per_token, media_length;
} sl_column_request;

struct sluice_columns {
    sluice_error first_error; /* status 0: none */
    uint32_t count;
    sl_column_request requests[SL_COLUMNS_MAX];
};

/* A second field that a column reads. */
typedef struct sl_beside {
    sl_field field;  /* a copy */
    uint32_t number; /* SL_FIELD_NONE: the column has none */
} sl_beside;

/* Counters of a column until a notice is given or ruled out (watch.h). */
typedef struct sl_watch {
    _Atomic uint32_t looked, invalid; /* BOXES: among the first ones read */
    _Atomic bool settled;             /* nothing more to find out */
    uint32_t rows;                    /* rows compared, under the notices' mutex */
    uint64_t lengths;                 /* bits: lengths seen, modulo 64; likewise */
} sl_watch;

typedef struct sl_column sl_column;
typedef struct sl_column_set sl_column_set;
typedef struct sl_row sl_row;             /* row.h */
typedef struct sl_row_place sl_row_place; /* row.h */
typedef struct sl_paste sl_paste;         /* paste.h */

/* Bit of a field type in `takes`. */
#define SL_TAKES(type) (1U << SLUICE_FIELD_##type)
/* Functions and traits of a kind. */
typedef struct sl_column_kind {
    const char *name;
    size_t state_bytes; /* size of a column's `state`, which only the kind's file knows */
    uint32_t takes;     /* field types, SL_TAKES joined by |; 0: its columns have no field */
    /* Traits that other files may query. */
    bool composes;  /* it is called for missing members, too (composition.h) */
    bool of_first;  /* it uses its group's first member alone */
    bool windows;   /* its rows are windows of a tensor */
    bool packs;     /* its rows are pieces of documents, each a member of the row */
    bool boxes;     /* its rows are boxes, which it keeps in a list: others may belong to them */
    bool per_box;   /* its rows may belong to boxes, if its field has an element for each */
    bool objects;   /* its field holds shapes of objects: an element is a shape */
    bool places;    /* its values are coordinates, in the units that the request says */
    bool annotated; /* its values were annotated in the image, some way up */
    bool by_matrix; /* it follows its image by matrices, and by nothing else */
    bool own_size;  /* its values have a size, which may show their orientation */
    /* The kind for a field that this one does not take. NULL: none. */
    const struct sl_column_kind *otherwise;
    /* Once: checks the request against the field and the set so far, and adds the column's parts.
     */
    sluice_status (*bind)(sl_column *column, sl_column_set *set, sluice_error *error);
    /* Opens the image that a group's geometry is of, in the row's decoder; `make` is next. NULL: it
     * is not an image, and leads no group. */
    sluice_status (*open)(const sl_column *column, sl_row *row, sl_picture *picture,
                          sluice_error *error);
    /* Makes the column's row from row->values. */
    sluice_status (*make)(const sl_column *column, sl_row *row, sl_part_view parts,
                          sluice_error *error);
    /* Fills a row that holds no sample. NULL: zeros all its parts. */
    void (*blank)(const sl_column *column, const sl_row_place *at, sl_part_view parts);
    /* Adapts values that belong to boxes to the objects pasted over them (paste.h). The caller then
     * drops the values of hidden objects. NULL: nothing to adapt. */
    void (*cover)(const sl_column *column, const sl_row *row, sl_part_view parts,
                  const sl_paste *paste);
    /* Makes a row of a column that follows a mixed one, once both partners are made. NULL: its
     * columns cannot follow one. */
    void (*mix)(const sl_column *column, sl_part_view parts, uint32_t row,
                const sl_mixing_row *how);
    /* Returns which part of the field's tensor a row is. NULL: rows are something else. */
    sl_subvolume (*part)(const sl_column *column);
    /* Finishes a batch whose `rows` rows are made; fills in the sizes of ragged parts. NULL:
     * nothing to do. */
    void (*finish)(const sl_column *column, uint32_t rows, sl_part_view parts, uint64_t *sizes);
} sl_column_kind;

struct sl_column {
    const sl_column_kind *kind;
    const sl_column_set *set; /* the set it belongs to */
    void *state;              /* private to the kind, zeroed before `bind`; NULL: none */
    sl_column_request request;
    sl_field field;        /* a copy */
    uint32_t field_number; /* SL_FIELD_NONE: it has no field */
    uint32_t first_part, part_count;
    uint32_t group;    /* geometry group; SL_GROUP_NONE */
    bool leads;        /* true if it leads its group */
    uint32_t objects;  /* column of boxes whose objects are pasted (paste.h); SL_COLUMN_NONE */
    uint32_t members;  /* most members of its group's rows (composition.h) */
    uint32_t member;   /* first member of the row that it uses */
    uint32_t lead;     /* the column that leads it; SL_COLUMN_NONE */
    uint32_t owner;    /* column of the boxes that its rows belong to; SL_COLUMN_NONE */
    uint32_t box_list; /* BOXES: number of its list */
    sl_beside shapes;  /* BOXES */
    sl_beside labels;  /* MASK of shapes */
    sl_beside crowds;  /* likewise, and BOXES */
    sl_beside mask;    /* PACKED */
    sl_beside media;   /* PACKED */
    uint8_t fill[8];   /* value outside an image, as an element; zero except for MASK */
    /* IMAGE: orientation in which it is decoded, AUTO: the decoder's choice; columns that follow
     * one: orientation of the annotation, AUTO: as decoded, or of a MASK as its size shows */
    sluice_orientation orientation;
    bool orients;   /* IMAGE: something depends on its orientation */
    bool by_size;   /* IMAGE: it, or a column that follows it, uses the annotated size */
    bool dependent; /* a column that follows it does */
    /* MASK: its own size must show its orientation; IMAGE: a MASK that follows it does */
    bool by_own_size;
    uint32_t width_field, height_field;
    uint32_t picture;       /* IMAGE: its number among them */
    bool bucketed;          /* IMAGE: its recipe uses the size of the batch's bucket */
    bool sized;             /* and has it as its output size; of a MASK: its image does */
    uint32_t canvas_passes; /* canvases of three bytes a pixel that its tiles need; 0: none */
    bool labelled;          /* IMAGE: a column uses a program for labels, drawn with it */
    uint32_t sizes_part;    /* batches of several sizes: the part that has the sizes */
    uint32_t pixel_bytes;   /* batches of several sizes: all of a pixel's values */
    uint32_t width, height; /* IMAGE: the largest size of a row */
    struct sl_mixer *mixer; /* IMAGE: how its rows are mixed (meeting.h); NULL: they are not */
    uint64_t views; /* bits: columns made of the same image, on the first of them; 0: it shares none
                  (shared_picture.h) */
    uint32_t follows; /* ONE_HOT: column whose mixing the labels follow; SL_COLUMN_NONE */
    /* columns of elements */
    sl_cast cast;
    bool is_field;                     /* True if a row is the field's bytes, unconverted */
    uint64_t elements;                 /* of a row; RAGGED, PADDED: of one step of the length */
    uint32_t stored_bytes, made_bytes; /* of one element */
};

/* The source of windows. The plan counts windows if a set has any. */
typedef struct sl_windows {
    uint32_t field; /* SL_FIELD_NONE: the set has no windows */
    uint64_t span;  /* elements from a window's beginning to the end of its last column */
    uint64_t stride;
    uint32_t element_bytes; /* as stored */
} sl_windows;

/* The source of rows of packed sequences. The plan counts rows if a set has any. */
typedef struct sl_packed_shape {
    uint32_t field;  /* SL_FIELD_NONE: the set has none */
    uint64_t length; /* elements of a row, a multiple of align */
    uint32_t max_documents, align, unit;
    sluice_cut cut;
    sl_document_rule rule; /* rule for the elements of a document in rows */
    bool whole;            /* other fields of the documents are wanted, too */
    uint32_t media;        /* a second field of the documents; SL_FIELD_NONE */
    uint64_t per_token;    /* patches of `media` per element of space in a row; 0: they take none */
} sl_packed_shape;

/* Bounds the sizes of all images of a field, as they are decoded: adds them to an empty list, or
 * leaves it any. Errors: IO, NOMEM. */
typedef struct sl_image_sizes {
    sluice_status (*find)(void *ctx, uint32_t field, sl_bounds *bounds, sluice_error *error);
    void *ctx;
} sl_image_sizes;

struct sl_column_set {
    sl_column *columns;
    uint32_t count;
    uint32_t order[SL_COLUMNS_MAX];     /* order of making: leads first */
    uint64_t wanted;                    /* fields, as in sl_values */
    uint64_t wanted_of[SL_MEMBERS_MAX]; /* by member, of rows that are not packed */
    uint32_t members;                   /* most members of a row */
    sl_part parts[SL_PARTS_MAX];
    uint32_t part_count, ragged_count, pictures, groups, mixers, box_lists;
    uint32_t batch; /* rows; 0: not known */
    sl_windows windows;
    sl_packed_shape packed;
    uint32_t copied; /* column to copy while unpacking, whose rows are its field's bytes; NONE */
    int64_t ignore;  /* integer of a row without one */
    const sluice_size *buckets; /* image sizes by bucket of a batch; NULL: no buckets */
    uint32_t bucket_count;
    sluice_exif exif;
    sl_notices *notices;               /* the opener's; NULL: nobody reads them */
    const sl_image_sizes *image_sizes; /* while binding; NULL: they are not known */
    sl_watch *watches;                 /* by column; NULL: nobody reads notices */
    bool redraws;                      /* true if a column may want a whole row drawn again */
    bool apart; /* true if each column decodes its image itself, for comparison */
};

/* Inputs of binding a set. */
typedef struct sl_columns_config {
    const sluice_columns *asked;  /* NULL: every field with a default column */
    const sluice_augment *recipe; /* for images of default columns; NULL: there must be none */
    sluice_dtype dtype;           /* likewise */
    sluice_layout layout;
    const sl_field *fields;
    uint32_t field_count;
    int64_t ignore_index;
    uint32_t batch;             /* rows of a batch; 0: any */
    const sluice_size *buckets; /* outlive the set; NULL: no buckets */
    uint32_t bucket_count;
    sluice_exif exif;
    sl_notices *notices;               /* outlive the set; NULL: nobody reads them */
    const sl_image_sizes *image_sizes; /* while binding; NULL: they are not known */
} sl_columns_config;

/* Adds a part NAME + suffix; NULL with an error: there are too many. The caller fills in rows,
 * dtype and role. */
sl_part *sl_column_add_part(sl_column_set *set, sl_column *column, const char *suffix,
                            sluice_error *error);
/* Adds the part whose rows the request describes: dtype, shape, and column->elements per row.
 * INVALID: as above. */
sluice_status sl_column_add_asked(sl_column_set *set, sl_column *column, sluice_error *error);
/* Returns INVALID, with a sentence about the column. */
sluice_status sl_column_refuse(const sl_column *column, sluice_error *error, const char *why);
/* Returns row `row` of the column's part `part` (0: the first). */
static inline void *sl_column_row(const sl_column *column, sl_part_view parts, uint32_t part,
                                  uint64_t row)
{
    const uint32_t number = column->first_part + part;
    return parts[number] + row * column->set->parts[number].row_bytes;
}
/* Returns the fields of a member of a row that a column uses, as in sl_values. */
static inline uint64_t sl_column_set_wanted(const sl_column_set *set, uint32_t member)
{
    return set->packed.field != SL_FIELD_NONE ? set->wanted : set->wanted_of[member];
}
/* True if its images have several sizes in a batch. */
static inline bool sl_column_varies(const sl_column *column)
{
    return column->request.sizes != SLUICE_SIZES_ONE;
}
/* True if it leads a group: the only kind that does is an image. */
static inline bool sl_column_is_image(const sl_column *column)
{
    return column->kind->open != NULL;
}
/* Returns the column that leads its group: itself, if it follows none. */
static inline const sl_column *sl_column_lead_of(const sl_column *column)
{
    return column->lead != SL_COLUMN_NONE ? &column->set->columns[column->lead] : column;
}

#endif
