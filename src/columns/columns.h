/* SPDX-License-Identifier: Apache-2.0 */
/*
 * columns: from the fields of a sample to the arrays of a batch. The entrance of this space.
 *
 * Purpose: what was asked for (sluice/columns.h) is bound to the fields of a dataset once, which
 * gives the parts of a batch (base/parts.h); then workers make rows.
 * Walk of one row: unpacked values -> each column makes its row, in turn: pictures are decoded and
 * augmented, numbers and tensors copied or cast, texts copied -> when all rows of a slot are made,
 * columns that have something to finish do so (ragged ones move their values together).
 * A column's KIND is one file and one row of the table in columns.c.
 * Geometry groups: columns of one group share one draw of a sample's geometry (row->draws). A group
 * has a LEAD, its first column, a picture, whose recipe and size it is drawn from (groups.c);
 * masks, boxes and points join the group of a column before them in `bind` (sl_column_follow), and
 * go by its draw in `make`. Leads are made first, whatever the order of the columns. Boxes are read
 * before their group is drawn, since a draw may look at them, and moved when it is (boxes.h); what
 * belongs to them goes by which of them are kept.
 * Rows of several samples: a row is made of members, its own sample and partners of it, one after
 * the other; a column is made of the member that it asked for. A group whose recipe is of several
 * (sl_recipe_members) is made by instalments, one of each member, of which the last finishes it:
 * pictures and masks in a canvas that the worker's row keeps, what has a length by appending; and
 * where objects are pasted, those of the row's own that are covered are taken out then (paste.h).
 * Meaning: what a request leaves open is the field's (meaning.c). What was annotated in the image
 * the other way up than it is decoded is turned before the draw's trail moves it (orientation.c).
 * Mixing: a picture column whose recipe mixes rows has them meet (meeting.h), when they are made.
 * Threads: a set is immutable once bound; a row belongs to one worker; different rows of a slot are
 * made by different workers at the same time.
 * Memory: all of the row's own; a kind takes scratch from the row's decoder.
 */
#ifndef SL_COLUMNS_H
#define SL_COLUMNS_H

#include "apply.h"
#include "boxes.h"
#include "cast.h"
#include "decoder.h"
#include "meeting.h"
#include "notices.h"
#include "parts.h"
#include "subvolume.h"
#include "turn.h"
#include "value.h"
#include "work.h"

#include <sluice/columns.h>

#define SL_COLUMNS_MAX       64U
#define SL_COLUMN_NONE       UINT32_MAX
#define SL_GROUP_NONE        UINT32_MAX
#define SL_ROW_ELEMENTS_MAX  (UINT64_C(1) << 40)
#define SL_COLUMN_NAME_BYTES 32U
#define SL_MIRROR_MAX        256U
#define SL_CHANNELS_MAX      64U
/* Of a row, each time that it is drawn: units of work (base/work.h) for its shapes are so many
 * times the pixels of each of its pictures' outputs, and these; also the pixels of each mask of
 * INSTANCES, which its `length` bounds. */
#define SL_WORK_TIMES  UINT64_C(64)
#define SL_WORK_LEAST  (UINT64_C(1) << 28)
#define SL_MEMBERS_MAX (SLUICE_PARTNERS_MAX + 1U)

/* A column as it was asked for. Its strings and its recipe are copies. */
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
    char mixes[SL_COLUMN_NAME_BYTES]; /* ONE_HOT: column whose mixing it follows; "": none */
    double smoothing;
    char follows[SL_COLUMN_NAME_BYTES]; /* column whose picture, or boxes, it follows; "": none */
    double fill;
    sluice_column_interpolation interpolation;
    uint32_t channels;
    sl_box_rule boxes; /* BOXES, POINTS: `relative` and `out_relative` */
    sluice_coordinates
        coordinates; /* BOXES, POINTS; once bound not AUTO, and `relative` goes by it */
    sluice_orientation orientation;   /* of what follows an image; AUTO: the field's */
    char shapes[SL_FIELD_NAME_BYTES]; /* BOXES: field that they are made anew of; "": none */
    char labels[SL_FIELD_NAME_BYTES], crowds[SL_FIELD_NAME_BYTES]; /* MASK of shapes; "": none */
    double background, ignore;                                     /* MASK of shapes */
    sluice_column_overlap overlap;
    bool is_of_shapes; /* MASK: one of those was given */
    bool padded;
    uint32_t point_values, mirror_count;
    uint8_t mirror[SL_MIRROR_MAX];
    uint32_t partner; /* member of the row that it is of; what follows goes by what it follows */
    sluice_column_sizes sizes;
    uint32_t max_width, max_height;
} sl_column_request;

struct sluice_columns {
    sluice_error first_error; /* status 0: none */
    uint32_t count;
    sl_column_request requests[SL_COLUMNS_MAX];
};

/* A field that a column reads beside its own. */
typedef struct sl_beside {
    sl_field field;  /* a copy */
    uint32_t number; /* SL_FIELD_NONE: there is none */
} sl_beside;

/* What is looked at until a notice is given, or is not needed (watch.c). */
typedef struct sl_watch {
    _Atomic uint32_t looked, invalid; /* BOXES: of the first ones that were read */
    _Atomic bool settled;             /* RAGGED, PADDED: whether rows are as long as boxes; BOXES:
                                         whether a batch lost them all */
    uint32_t rows;                    /* of that, under the notices' mutex, as: */
    uint64_t lengths;                 /* bits, of lengths modulo 64 */
} sl_watch;

typedef struct sl_column sl_column;
typedef struct sl_column_set sl_column_set;
typedef struct sl_paste sl_paste; /* paste.h */

/* Which row of a slot, and what it will say about itself. */
typedef struct sl_row_place {
    int64_t index;       /* what the plan counts: the sample, or the window; -1: none */
    uint32_t number;     /* in the slot */
    uint8_t status;      /* as the consumer will see it */
    bool again;          /* the epoch has counted the sample */
    sl_meeting *meeting; /* where it meets its partner; NULL: it has none (padding) */
    uint32_t bucket;     /* of its batch: what its pictures' size is, where that is the bucket's */
} sl_row_place;

/* Which way up a group's image is (orientation.c). */
typedef struct sl_image_frame {
    sl_turn stored;               /* its EXIF orientation, and its size as stored */
    bool upright;                 /* it is decoded turned */
    sluice_orientation annotated; /* what its size says: STORED or UPRIGHT */
} sl_image_frame;

/* What was drawn for a group, and by which key. */
typedef struct sl_group_draw {
    sl_draw_key key;
    sl_params params;
    uint32_t attempt; /* how often the row was drawn before for this group's sake */
    sl_image_frame frame;
} sl_group_draw;

/* What the instalments of a column are put together in. */
typedef struct sl_canvas {
    uint8_t *pixels, *layer; /* of tiles; where layers are blended */
    size_t bytes, layer_bytes;
} sl_canvas;

/* One row in the making. */
typedef struct sl_row {
    /* the worker's, for all its rows */
    const sl_column_set *columns;
    sl_decoder *decoder;
    sl_canvas *canvases;   /* by column; NULL: no group is of several members */
    sl_group_draw *draws;  /* by group, as many as the set has */
    sl_box_list *boxes;    /* by column of boxes, as many as the set has */
    sl_paste *pastes;      /* by group; NULL: none pastes */
    sl_values values;      /* of the sample, unpacked */
    const sl_value *blame; /* what the column that failed was at; NULL: no field */
    uint64_t decode_ns;    /* added to by pictures, when `timed` */
    uint64_t opened_ns;    /* when the picture that is open began to be, when `timed` */
    bool timed;
    sl_profile profile; /* of operations on pictures; added to when `timed` */
    /* of the batch */
    uint64_t seed, epoch;
    bool exact;
    /* of the row */
    sl_row_place at;
    uint32_t members, member; /* that it has; that is unpacked */
    sl_work work;             /* what is left for its shapes */
    uint32_t attempt;         /* how often the whole row was drawn before */
    uint64_t absent;          /* bits: columns that mix and have no picture */
} sl_row;

/* What a kind implements. */
#define SL_TAKES(type) (1U << SLUICE_FIELD_##type)
typedef struct sl_column_kind {
    const char *name;
    uint32_t takes; /* types of fields: an or of SL_TAKES; 0: it is of no field */
    /* Once: checks the request against the field and the set so far, and adds the column's parts.
     */
    sluice_status (*bind)(sl_column *column, sl_column_set *set, sluice_error *error);
    /* Of what can lead a group: opens the picture that its geometry is of, in the row's decoder;
     * `make` is next. NULL: it cannot. */
    sluice_status (*open)(const sl_column *column, sl_row *row, sl_picture *picture,
                          sluice_error *error);
    /* Makes the column's row from row->values. */
    sluice_status (*make)(const sl_column *column, sl_row *row, sl_part_view parts,
                          sluice_error *error);
    /* Fills a row that holds no sample. NULL: all its parts are zero then. */
    void (*blank)(const sl_column *column, uint32_t number, sl_part_view parts);
    /* Of what belongs to boxes: objects are pasted over those of its row (paste.h), of which the
     * values of those that are gone are dropped next. NULL: nothing to do. */
    void (*cover)(const sl_column *column, const sl_row *row, sl_part_view parts,
                  const sl_paste *paste);
    /* All `rows` rows are made; `sizes`: elements of each ragged part. NULL: nothing to do. */
    void (*finish)(const sl_column *column, uint32_t rows, sl_part_view parts, uint64_t *sizes);
} sl_column_kind;

struct sl_column {
    const sl_column_kind *kind;
    const sl_column_set *set; /* that it belongs to */
    sl_column_request request;
    sl_field field;        /* a copy */
    uint32_t field_number; /* SL_FIELD_NONE: of no field */
    uint32_t first_part, part_count;
    uint32_t group;    /* of geometry; SL_GROUP_NONE */
    bool leads;        /* its group */
    bool pastes;       /* IMAGE: objects, which are those of */
    uint32_t objects;  /* a column of boxes of its group */
    bool several;      /* its group is of several members: */
    uint32_t member;   /* the first one, or the only one, that it is made of */
    uint32_t lead;     /* the column that leads it; SL_COLUMN_NONE */
    uint32_t owner;    /* column of the boxes that its rows belong to; SL_COLUMN_NONE */
    uint32_t box_list; /* BOXES: its number among them */
    sl_beside shapes;  /* BOXES */
    sl_beside labels;  /* MASK of shapes */
    sl_beside crowds;  /* likewise, and BOXES */
    uint8_t fill[8];   /* MASK: an element; else zero */
    sluice_orientation orientation; /* IMAGE: as it is decoded, AUTO: as the decoder does; what
                                       follows one: as it was annotated, AUTO: as it is decoded, or
                                       of a MASK as its size says */
    bool orients;                   /* IMAGE: something goes by which way up it is */
    bool by_size;     /* IMAGE: it, or what follows it, goes by what was annotated as its size: */
    bool dependent;   /* what follows it does */
    bool by_own_size; /* MASK: its own size has to tell which way up it is; IMAGE: of one that
                         follows it */
    uint32_t width_field, height_field;
    uint32_t picture;     /* IMAGE: its number among them */
    bool bucketed;        /* IMAGE: its recipe goes by the size of the batch's bucket */
    bool sized;           /* and has it at its end; of a MASK: its picture does */
    uint32_t sizes_part;  /* of several sizes in a batch: the part that has them */
    uint32_t pixel_bytes; /* of such: all of a pixel's values */
    /* IMAGE */
    sl_converter converter;
    bool mirrors_later; /* flips are left to the device; SL_PART_HIDDEN has the flags */
    bool mixes;         /* rows with their partners: */
    bool mixes_later;   /* on the device */
    uint32_t mixer;     /* its number among those that do */
    sl_mixing mixing;
    sl_converter left; /* what rows are made by until they meet */
    uint64_t views;    /* columns that are of its picture, itself among them, of which it is the
                          first; 0: it is not, or the only one (shared_picture.h) */
    /* ONE_HOT */
    uint32_t follows; /* column whose mixing it follows; SL_COLUMN_NONE */
    double on, off;   /* at the class, and elsewhere */
    /* columns of elements */
    sl_cast cast;
    uint64_t most;                     /* INSTANCES, of pictures of several sizes: masks of a row */
    bool is_field;                     /* a row is the field's bytes, as they are */
    uint64_t elements;                 /* of a row; RAGGED, PADDED: of one step of the length */
    uint32_t stored_bytes, made_bytes; /* of one element */
};

/* What windows are cut from, when there are any: then they are what the plan counts. */
typedef struct sl_windows {
    uint32_t field; /* SL_FIELD_NONE: there are none */
    uint64_t span;  /* elements from a window's beginning to the end of its last column */
    uint64_t stride;
    uint32_t element_bytes; /* as stored */
} sl_windows;

struct sl_column_set {
    sl_column *columns;
    uint32_t count;
    uint32_t order[SL_COLUMNS_MAX]; /* in which they are made: leads first */
    uint64_t wanted;                /* fields, as in sl_values */
    uint64_t wanted_of[SL_MEMBERS_MAX];
    uint32_t members; /* of a row, at most */
    sl_part parts[SL_PARTS_MAX];
    uint32_t part_count, ragged_count, pictures, groups, mixers, box_lists;
    uint32_t batch; /* rows; 0: not known */
    sl_windows windows;
    uint32_t copied; /* number of a column whose rows are its field's bytes as they are; NONE */
    int64_t ignore;  /* what integers are where there is none */
    const sluice_size *buckets; /* sizes of pictures, by bucket of a batch; NULL: there are none */
    uint32_t bucket_count;
    sluice_exif exif;
    sl_notices *notices; /* of the opener's; NULL: nobody reads them */
    sl_watch *watches;   /* by column; NULL: nobody reads notices */
    bool redraws;        /* a column may want a row drawn again, once its members are there */
    bool apart;          /* each column opens and decodes its picture for itself: to compare with */
};

typedef struct sl_columns_config {
    const sluice_columns *asked; /* NULL: every field with a natural column */
    const sluice_augment
        *recipe;        /* of pictures that were not asked for; NULL: there must be none */
    sluice_dtype dtype; /* of those */
    sluice_layout layout;
    const sl_field *fields;
    uint32_t field_count;
    int64_t ignore_index;
    uint32_t batch;             /* rows of one; 0: not to be looked at */
    const sluice_size *buckets; /* which stay; NULL: there are none */
    uint32_t bucket_count;
    sluice_exif exif;
    sl_notices *notices; /* which stay open; NULL: nobody reads them */
} sl_columns_config;

/* Errors: INVALID (no such field, a name twice, a kind that does not take the field, ...), NOMEM.
 */
sluice_status sl_columns_bind(sl_column_set *set, const sl_columns_config *config,
                              sluice_error *error);
/* A zeroed set may be closed. */
void sl_columns_close(sl_column_set *set);

/* Of all parts together; of those of a column; and the column that has the most. */
uint64_t sl_columns_row_bytes(const sl_column_set *set);
uint64_t sl_column_row_bytes(const sl_column_set *set, const sl_column *column);
const sl_column *sl_columns_largest(const sl_column_set *set);
/* Column of picture `picture`, 0 .. pictures - 1. */
sl_column *sl_columns_picture(const sl_column_set *set, uint32_t picture);
/* Has workers leave bytes of a picture, which a device will convert and mix, with flags, and with
 * what is mixed, in parts behind (SL_IMAGE_*). Before rows are made. */
void sl_columns_leave_bytes(sl_column_set *set, sl_column *picture);

/* Once for a worker's row, which has its draws: what it needs for boxes. NOMEM. Closing a zeroed
 * row is fine. */
sluice_status sl_row_open(const sl_column_set *set, sl_row *row, sluice_error *error);
void sl_row_close(const sl_column_set *set, sl_row *row);
/* Of how many members rows are in that epoch. */
uint32_t sl_columns_members(const sl_column_set *set, uint64_t epoch);
/* Bytes of a worker's canvases. */
uint64_t sl_columns_canvas_bytes(const sl_column_set *set);

/* Tells, for row->values, where bytes are wanted as they are; before they are unpacked. */
void sl_columns_wish(const sl_column_set *set, sl_row *row, sl_part_view parts);
/* Makes of row row->at.number of the slot what row->member gives, which is unpacked. Members in
 * their order. < 0: the sample is bad; row->blame. */
sluice_status sl_columns_make(const sl_column_set *set, sl_row *row, sl_part_view parts,
                              sluice_error *error);
/* Of a set that `redraws`: all members were there. Whether a column wants the row to be drawn once
 * more, from the first member on: row->attempt is raised, and other groups draw what they drew.
 * Else `end` is next.
 */
bool sl_columns_redraw(const sl_column_set *set, sl_row *row);
/* Once all columns are bound: whether any may want that. */
void sl_redraw_bind(sl_column_set *set);
void sl_columns_end(const sl_column_set *set, sl_row *row, sl_part_view parts);
/* Makes a row that holds no sample. */
void sl_columns_blank(const sl_column_set *set, const sl_row_place *at, sl_part_view parts);
/*
 * Whether nothing is made of a sample but parts of its tensors, some of them smaller than their
 * tensor, and of each field one: what they are, except for the seed.
 */
bool sl_columns_take_parts(const sl_column_set *set, sl_subvolumes *parts);
/* All rows of the slot, whose pictures are of bucket `bucket`, are made. */
void sl_columns_finish(const sl_column_set *set, uint32_t rows, uint32_t bucket, sl_part_view parts,
                       uint64_t sizes[SL_RAGGED_MAX]);

/* ---- for kinds ---- */

/* Parts of an IMAGE, from its first; of layers SHARE alone; behind FLAGS only where it mixes, KEPT
 * only where a row has another partner than it is one to. */
enum {
    SL_IMAGE_ROWS,
    SL_IMAGE_FLAGS,                       /* for the device */
    SL_IMAGE_MIXED_WITH,                  /* i64: the row that was mixed in */
    SL_IMAGE_WEIGHT,                      /* f32: the share of its own */
    SL_IMAGE_MIXING,                      /* the same, for the device */
    SL_IMAGE_SHARE = SL_IMAGE_MIXED_WITH, /* f32: of its own layer */
    SL_IMAGE_KEPT = SL_IMAGE_MIXING + 1 /* samples, until the row and the one behind it are made */
};
/* Parts of a BOXES, behind values and offsets or lengths. */
enum { SL_BOXES_HAD = 2 }; /* u32: boxes of the row before the draw; only where notices are read */
/* Parts of a ONE_HOT that follows a column. */
enum { SL_ONE_HOT_ROWS, SL_ONE_HOT_CLASS /* u32 */ };
#define SL_CLASS_NONE UINT32_MAX

/* ---- meaning.c ---- */

/* Fills in what the request leaves open and the field knows; notices what contradicts it. INVALID.
 */
sluice_status sl_column_take_meaning(sl_column_set *set, const sl_columns_config *config,
                                     sl_column *column, sluice_error *error);
/* The length that was not asked for, once the column follows what it does. INVALID: it has none. */
sluice_status sl_column_default_length(sl_column *column, sluice_error *error);

/* ---- orientation.c ---- */

/* Once all columns are bound: which way up images are decoded, and what follows them is turned. */
void sl_orientation_bind(sl_column_set *set, const sl_columns_config *config);
/* Of a lead that `orients`: the decoder has opened its image. Decides which way up it is decoded,
 * and its size then. CORRUPT: the sizes that are stored and annotated do not fit, or do not tell.
 */
sluice_status sl_group_orient(const sl_column *lead, sl_row *row, sl_picture *picture,
                              sluice_error *error);
/* How the column's values are turned; its size is that of the image as they were annotated. */
sl_turn sl_column_turn(const sl_column *column, const sl_row *row);
/* The same of a mask of width x height, by its own size where nothing else says it. False: that is
 * no size of its image. */
bool sl_column_turn_mask(const sl_column *column, const sl_row *row, uint64_t width,
                         uint64_t height, sl_turn *turn);

/* ---- watch.c ---- */

/* A sample's boxes were read, `faults` of them are none in the column's format. */
void sl_watch_boxes(const sl_column *column, const sl_box_list *list);
/* A row of a column that follows no boxes is that long. */
void sl_watch_length(const sl_column *column, const sl_row *row, uint64_t length);
/* The rows of a batch are made: whether geometry left none of their boxes. */
void sl_watch_batch(const sl_column *column, uint32_t rows, sl_part_view parts);

/* Adds a part NAME + suffix; NULL with an error: there are too many. Rows, dtype and role are the
 * caller's to fill in. */
sl_part *sl_column_add_part(sl_column_set *set, sl_column *column, const char *suffix,
                            sluice_error *error);
/* Has the column lead a geometry group of its own. Its kind can `open`. */
void sl_column_lead(sl_column_set *set, sl_column *column);
/* Has it join the group of the picture that it follows; or of the boxes, which own its rows then
 * (`owned`: it may). INVALID: there is no such column before it. */
sluice_status sl_column_follow(sl_column_set *set, sl_column *column, bool owned,
                               sluice_error *error);
/* Whether the column's group has a part in the row's member; and whether it is its last. */
bool sl_group_has_member(const sl_column *lead, const sl_row *row);
bool sl_group_is_last(const sl_column *column, const sl_row *row);
/* Which tile of its layer that is, of how many. */
uint32_t sl_group_tile(const sl_column *lead, const sl_row *row, uint32_t *tiles);
/* Where of the member nothing is seen but those of its objects that are kept, their boxes; else
 * NULL. */
const sl_box_list *sl_group_pasted(const sl_column *column, const sl_row *row);
/* The canvas of a column, of `bytes`, or its layer; NULL with an error: no memory. */
uint8_t *sl_row_canvas(sl_row *row, const sl_column *column, size_t bytes, sluice_error *error);
uint8_t *sl_row_layer(sl_row *row, const sl_column *column, size_t bytes, sluice_error *error);
/* What a group's draw looks at, of the sample: its boxes. Before its picture is opened. */
sluice_status sl_group_read(const sl_column *lead, sl_row *row, sluice_error *error);
/* Then draws it, of a picture of that size: a function of the sample and these (groups.c). */
sluice_status sl_group_plan(const sl_column *lead, sl_row *row, const sl_picture *picture,
                            sluice_error *error);
/* All of it; `make` is to decode the picture next. */
sluice_status sl_group_make(const sl_column *lead, sl_row *row, sluice_error *error);
/* Of a BOXES column: what a group's draw needs (column_boxes.c). Reads those of the sample: none
 * where the field is missing. */
sluice_status sl_column_read_boxes(const sl_column *column, sl_row *row, sluice_error *error);
/* Once the picture's frame is known: to pixels of it, as it is decoded. */
sluice_status sl_column_scale_boxes(const sl_column *column, sl_row *row, sluice_error *error);
/* What boxes are made anew of, where their column says so: in scratch that is the picture's, too,
 * until it is released (box_shapes.c). */
sluice_status sl_column_read_shapes(const sl_column *column, sl_row *row, sluice_error *error);
/* Parts of a column of values of any length, as RAGGED or PADDED has them, and their end. */
sluice_status sl_column_bind_lengths(sl_column *column, sl_column_set *set, bool padded,
                                     sluice_error *error);
/* `blank` and `finish` of such kinds, by request.padded. */
void sl_column_blank_lengths(const sl_column *column, uint32_t number, sl_part_view parts);
void sl_column_finish_lengths(const sl_column *column, uint32_t rows, sl_part_view parts,
                              uint64_t *sizes);
/* Values of the row that members before this one gave. */
uint64_t sl_column_given(const sl_column *column, const sl_row *row, sl_part_view parts);
/* Values of row `number`. */
uint64_t sl_column_length(const sl_column *column, sl_part_view parts, uint32_t number);
/* Row `number` has that many values; behind them a padded one is zero. */
void sl_column_set_length(const sl_column *column, sl_part_view parts, uint32_t number, bool padded,
                          uint64_t length);
/* The boxes that the rows of the column's value belong to, and whether these are as many as there
 * are boxes: CORRUPT. */
const sl_box_list *sl_column_owner(const sl_column *column, const sl_row *row);
sluice_status sl_column_check_owned(const sl_column *column, const sl_box_list *list,
                                    uint64_t length, sluice_error *error);
/* Writes the values of a row, in steps: all, or those whose boxes are kept, behind those of earlier
 * members. `*length`: of what is stored, then of the row. */
sluice_status sl_column_take_values(const sl_column *column, const sl_row *row, sl_part_view parts,
                                    const uint8_t *from, uint64_t *length, sluice_error *error);
/* `*length`, in steps, of a value that is longer than a row may be: as the column says. */
sluice_status sl_column_limit_length(const sl_column *column, uint64_t *length,
                                     sluice_error *error);
/* `number` as an element of that dtype; false: it is none. */
bool sl_column_element(sluice_dtype dtype, double number, uint8_t to[8]);
/* Adds the part whose rows are as asked for: dtype, shape, and column->elements of them. INVALID:
 * as above. */
sluice_status sl_column_add_asked(sl_column_set *set, sl_column *column, sluice_error *error);
/* Row `row` of the column's part `part` (0: the first). */
static inline void *sl_column_row(const sl_column *column, sl_part_view parts, uint32_t part,
                                  uint64_t row)
{
    const uint32_t number = column->first_part + part;
    return parts[number] + row * column->set->parts[number].row_bytes;
}
/* The value of the column's field, unpacked if it is packed. `*bytes` stays until the next call.
 */
sluice_status sl_column_bytes(const sl_column *column, sl_row *row, sl_bytes *bytes,
                              sluice_error *error);
/* The same of any field of the sample, to scratch that is not reset. */
sluice_status sl_row_bytes(sl_row *row, uint32_t field, sl_bytes *bytes, sluice_error *error);
/* Whether a field beside the column's is a tensor [any] of ints; and these, in scratch that is not
 * reset, one for each of `count` `things`. CORRUPT: there are not as many; row->blame. */
bool sl_beside_is_ints(const sl_beside *beside);
sluice_status sl_row_ints(sl_row *row, const sl_beside *beside, uint64_t count, const char *things,
                          const int64_t **ints, sluice_error *error);
/* Of an IMAGE, or a MASK, of several sizes in a batch (column_sizes.c): its parts, once `rows` is
 * the part of its pixels, whose pixel_bytes it knows. */
sluice_status sl_column_bind_sizes(sl_column *column, sl_column_set *set, sl_part *rows,
                                   sluice_error *error);
/* Of what has a value for each pixel of its picture, `channels` of them [1]: its part, of the sizes
 * that its picture has. */
sluice_status sl_column_bind_pixels(sl_column *column, sl_column_set *set, uint32_t channels,
                                    sluice_error *error);
/* `blank` of those. */
void sl_column_blank_pixels(const sl_column *column, uint32_t number, sl_part_view parts);
/* Whether its pictures have several sizes in a batch. */
static inline bool sl_column_varies(const sl_column *column)
{
    return column->request.sizes != SLUICE_SIZES_ONE;
}
/* Notes the size that its row is made in; UNSUPPORTED: there is no space for so much. */
sluice_status sl_column_note_size(const sl_column *column, sl_part_view parts, uint32_t number,
                                  const sl_params *params, sluice_error *error);
void sl_column_blank_size(const sl_column *column, sl_part_view parts, uint32_t number);
void sl_column_finish_sizes(const sl_column *column, uint32_t rows, sl_part_view parts,
                            uint64_t *sizes);
/* Of an IMAGE, or a MASK: where its row is, in a batch of that bucket; and blanks it. */
uint8_t *sl_column_picture_row(const sl_column *column, sl_part_view parts, const sl_row_place *at);
/* Returns the value outside a picture, and of rows without one: the fill of a MASK, else 0. */
void sl_column_fill_pixels(const sl_column *column, uint8_t *to, uint64_t bytes);
void sl_column_blank_picture(const sl_column *column, const sl_row_place *at, sl_part_view parts);
/* Where an IMAGE that mixes on the host leaves the samples of a row. */
uint8_t *sl_column_left(const sl_column *column, sl_part_view parts, uint32_t row);
/* Of a ONE_HOT that follows a column: its row, of its own class and the one that is mixed in. */
void sl_column_soft_label(const sl_column *column, sl_part_view parts, uint32_t row,
                          const sl_mixing_row *how);

/* Of a TENSOR: what it takes. */
sl_subvolume sl_column_subvolume(const sl_column *column);
/* INVALID, with a sentence about the column. */
sluice_status sl_column_refuse(const sl_column *column, sluice_error *error, const char *why);
/* Once: the cast from the field's dtype to the one that was asked for. */
sluice_status sl_column_elements(sl_column *column, sluice_error *error);
/* Once: the product of a shape, SL_ROW_ELEMENTS_MAX at most. */
sluice_status sl_column_capacity(const sl_column *column, const int64_t *shape, uint32_t dims,
                                 uint64_t *elements, sluice_error *error);
/* As sl_column_bytes, of a tensor: CORRUPT when they are not what its shape says. Other fields are
 * tensors of bytes. */
sluice_status sl_column_tensor_bytes(const sl_column *column, sl_row *row, uint64_t *elements,
                                     sl_bytes *bytes, sluice_error *error);
/* Writes elements. UNSUPPORTED: one does not fit the dtype. */
sluice_status sl_column_cast(const sl_column *column, void *to, const uint8_t *from,
                             uint64_t elements, sluice_error *error);

extern const sl_column_kind sl_column_image, sl_column_number, sl_column_one_hot, sl_column_tensor,
    sl_column_window, sl_column_ragged, sl_column_padded, sl_column_mask, sl_column_boxes,
    sl_column_points, sl_column_geometry, sl_column_instances;
/* A TENSOR of a field of media; a MASK of a field of shapes. */
extern const sl_column_kind sl_column_samples, sl_column_class_map;

#endif
