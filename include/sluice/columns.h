/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sluice/columns.h: what a batch holds.
 *
 * A dataset stores fields (sluice_dataset_get_field); a batch holds columns: each is made of a
 * field and has a dtype and a shape. Columns are given to a loader (sluice_loader_options.columns).
 * A loader that is given none takes every field that has a natural column: pictures through its
 * recipe, ints as i64, floats as f64, tensors of a fixed shape as they are stored, each under its
 * field's name. A field called as one of the three that every batch has (below) is the column
 * "field.index", "field.mask" or "field.status", unless there is a column of that name: then it is
 * left out, and comes only if it is asked for. Pictures called "mask", "instances" or "train_ids"
 * beside another picture have a value for each of its pixels and would be cropped apart from it: a
 * loader that is given no columns refuses them, with what to ask for.
 *
 *     sluice_columns *columns = NULL;
 *     sluice_columns_create(&columns);
 *     sluice_columns_image(columns, "image", recipe, SLUICE_F16, SLUICE_NCHW);
 *     sluice_columns_number(columns, "label", SLUICE_I64);
 *     sluice_columns_ragged(columns, "caption", 512);
 *     options.columns = columns;
 *     sluice_loader_open(&loader, data, NULL, &options, &error);
 *     sluice_columns_destroy(columns);
 *
 * Several IMAGE columns of one field are views of one picture. Each draws for itself, by its number
 * among the IMAGE columns; the picture is opened once for all of them, and decoded once where their
 * rectangles overlap. Pixels are those that each column has alone.
 *
 * Behind those that were asked for come three that every batch has: "index" (i64, rows: the number
 * of the sample in the dataset), "mask" (u8, rows: 1 use this row, 0 do not) and "status" (u8,
 * rows: a sluice_row). Rows that hold no sample (mask 0) are zero, or empty, in every column, but
 * for NUMBER of ints, which is the loader's ignore_index [-1], and MASK, which is all `fill`, in
 * batches of one size and of several. With a `fill` that the loss ignores, such rows teach the
 * model nothing.
 *
 * A sample that lacks a field, or whose value does not fit its column, is a bad sample, unless the
 * column says otherwise (`missing`, `too_long`): the loader's policy applies, and the report names
 * sample, field and reason.
 *
 * Errors: a call that is refused returns INVALID and leaves the columns as they were; the first one
 * is remembered (sluice_columns_get_error), and sluice_loader_open refuses the columns with it.
 * Threads: built by one thread; once given to a loader they are copied and may be changed or
 * destroyed.
 */
#ifndef SLUICE_COLUMNS_H
#define SLUICE_COLUMNS_H

#include <sluice/augment.h>
#include <sluice/common.h>
#include <sluice/dataset.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sluice_columns sluice_columns;

/* An empty list. Destroy it with sluice_columns_destroy (NULL is fine there). */
SLUICE_API sluice_status sluice_columns_create(sluice_columns **columns);
SLUICE_API void sluice_columns_destroy(sluice_columns *columns);

typedef enum sluice_column_kind {
    SLUICE_COLUMN_IMAGE = 1,  /* an image field through `recipe`: rows x height x width x 3, or rows
                                 x 3 x height x width; `dtype` u8, f32, f16, bf16 */
    SLUICE_COLUMN_NUMBER = 2, /* an int or float field: rows; `dtype` i64, i32, f32, f64 */
    SLUICE_COLUMN_TENSOR = 3, /* a tensor field, whole or a part of it: rows x shape. Or an image
                                 field (below) */
    SLUICE_COLUMN_WINDOW = 4, /* `length` elements of a long tensor: rows x length. What the loader
                                 counts, shuffles and splits are windows then, not samples. Open
                                 counts them: by arithmetic in files whose samples have one size,
                                 else by looking at every index entry, 2^30 at most (UNSUPPORTED).
                                 Only a window's bytes are read, so that they come without their
                                 sample's checksum: sluice_dataset_verify looks for damage */
    SLUICE_COLUMN_RAGGED = 5, /* bytes, a text, or a tensor whose first dimension differs from
                                 sample to sample: the values of all rows back to back, and
                                 NAME.offsets (i64, rows + 1): row i is
                                 [offsets[i], offsets[i + 1]) along the first dimension */
    SLUICE_COLUMN_PADDED = 6, /* the same, each row followed by zeros: rows x length (x the
                                 tensor's other dimensions), and NAME.lengths (i64, rows) */
    SLUICE_COLUMN_ONE_HOT = 7, /* an int field k: rows x length, 1 at k; `dtype` as NUMBER, or u8 */
    SLUICE_COLUMN_MASK = 8,    /* an image field of PNGs, a tensor height x width (x channels), or a
                                  text of shapes, that has a value for each pixel of a picture and
                                  follows it: rows x height x width (x channels) of the picture's
                                  recipe (below) */
    SLUICE_COLUMN_BOXES = 9,   /* a tensor [any, 4] of boxes in a picture, which follow it: f32, as
                                  RAGGED, or as PADDED (below) */
    SLUICE_COLUMN_POINTS = 10, /* a tensor [any, ...] of points in a picture, likewise (below) */
    SLUICE_COLUMN_GEOMETRY = 11,  /* of no field: where the recipe of an image took it (below) */
    SLUICE_COLUMN_INSTANCES = 12, /* a text field of shapes in a picture: a mask of each (below) */
    SLUICE_COLUMN_PACKED = 13 /* sequences of any length, packed into rows of `length` (below) */
} sluice_column_kind;

/*
 * A TENSOR of an image field has the samples of PNGs as they are stored: label masks, depth. Grey
 * of 1, 2, 4 and 8 bits is u8, 0 to 2^bits - 1 (nothing is spread over 0..255), of 16 bits u16; of
 * a palette it is the pixels' numbers, whether or not there is a colour for them; RGB, alpha and
 * the like are channels, in the file's order. tRNS, gamma, sBIT, profiles and orientation do not
 * count. `shape`: height x width, or height x width x channels, is that of every picture, unless
 * `part` takes one of it, which is that of other TENSOR columns of such height and width. `dtype`
 * [U8]: U8 takes pictures of up to 8 bits, U16 those of 16, I32, I64 and floating ones both, values
 * as they are. A value that does not fit makes a bad sample, and so does a picture that is not a
 * PNG. Such a column is not scaled, turned or flipped, and does not follow the crop of an IMAGE
 * column: a MASK does.
 */

/*
 * Columns that FOLLOW an image: MASK, BOXES, POINTS, GEOMETRY and INSTANCES use the random draw of
 * the IMAGE column that `follows` names, which stands before them; without a name, of the only
 * IMAGE column before them. Crops, resizes, flips, padding, warps and what policies turn and shear
 * move all of them alike; the chains of AugMix move nothing, and colours are the picture's alone.
 * Coordinates are continuous: the picture is [0, width] x [0, height] as the recipe gets it, pixel
 * (i, j) covers [i, i + 1) x [j, j + 1). Mixing (mixup, cutmix) mixes pictures, and leaves these
 * columns each row's own: NAME.mixed_with is the row mixed in.
 *
 * Defaults come from the field (sluice_field): format and coordinates of boxes and points, what
 * belongs to which boxes, and the way up that the image was annotated in. An argument wins; one
 * that contradicts the field is a warning of the loader (sluice_loader_get_warning).
 *
 * Orientation: loader option `exif` decides which way up an image is decoded; by default the way up
 * that it was annotated in. Annotations made the other way up are turned with their image, before
 * the recipe: coordinates exactly, run lengths and masks pixel by pixel. Where the field goes
 * BY_SIZE, the sample's fields of WIDTH and HEIGHT decide, image by image: a size that fits neither
 * the stored nor the upright image makes a bad sample. Where both fit though the image is to be
 * turned (a square, a half turn), boxes, points and shapes make a bad sample, unless `orientation`
 * says which it is; without those the image stays as stored. A MASK that is an image or a tensor
 * goes by its own size: that of the decoded image, or that of the image turned by a quarter. Where
 * both are one size though the image is to be turned, and the mask's field goes BY_SIZE, the sample
 * is a bad one, unless `orientation` says which it is; a field without a meaning is as the image is
 * decoded.
 *
 * Where the recipe is of several samples (mosaic, mixup_partner, copy_paste), they follow the
 * picture of each, in its place: variable-length values are those of the first sample, then those
 * of the second, and so on, `length` of them a row at most; GEOMETRY is of the row's own sample.
 * Each sample brings all of its columns' fields along. With mixup_partner every MASK is refused,
 * one of shapes, too: two labels of a pixel cannot be blended. INSTANCES have the objects of both
 * pictures. The IMAGE has NAME.share (f32): the share of the row's own picture,
 * 1 where nothing was mixed in. Such an IMAGE may not be missing. With copy_paste the objects are
 * those of the only BOXES that follow it, which have `shapes`; those that are kept of partners are
 * pasted, each with a chance. Of the row's own a box is that of the pixels that are left, where
 * some are covered, and no larger; its INSTANCES are without the rest; POINTS that are covered have
 * a visibility of 1; an object that is dropped, or has no pixel left, loses its labels, points and
 * shapes, too. INSTANCES and POINTS follow the BOXES then. A MASK has the partner's pixels where
 * something is pasted. `length` is of all values, also those that are gone.
 *
 * MASK: a value of `dtype` [U8] for each pixel, or `channels` [1] of them; by the nearest stored
 * pixel, as Pillow takes it (every value is a stored one, or `fill` where there is no picture), or
 * with interpolation BILINEAR (f32 only) between the four about the place, not antialiased. With
 * loader option `exact` each step takes the nearest for itself, as a sequence of Pillow's calls;
 * else all steps at once. A mask of another size than its picture is a bad sample. PNGs are read as
 * a TENSOR of an image field reads them (above).
 *
 * MASK of a text field of shapes, as INSTANCES reads it: a map of classes, `dtype` [U8]. `labels`,
 * a tensor [any] of ints, has the class of each shape; what it covers, moved and drawn as INSTANCES
 * does, has that value, the rest of the image `background`, pixels outside the image `fill`. Where
 * shapes overlap, the later one counts; or, with `overlap` IGNORE, all such pixels are
 * `ignore` [255], as in the references of torchvision's segmentation. Shapes whose element of
 * `crowds`, a tensor [any] of ints, is not 0 (COCO's "iscrowd") are `ignore` where no other is.
 *
 * BOXES: f32 x 4 in `out_format`, stored in `box_format`; with `relative` (`out_relative`) in
 * shares of the picture's (the output's) width and height, else in pixels. Corners are moved by all
 * steps at once; the box around them is clipped once, at the end, to the visible part of the image,
 * without the parts that earlier steps cut off. So a rotated box grows, but only once. Kept are
 * those at least min_size wide and high, of at least min_area, of at least the share min_visibility
 * of the box about the moved corners before it was clipped, and at most max_aspect times as long as
 * wide, in the order in which they are stored; the bounds of torchvision (SanitizeBoundingBoxes)
 * are the defaults. A box that is not finite, or whose right or lower edge is before its left or
 * upper one, makes a bad sample; one without width or height is dropped. With `shapes`, a text
 * field that has a shape for each box as INSTANCES reads it, the box of an object is computed from
 * the visible part of its shape, the moved polygon or the pixels of its run lengths, and is exact:
 * where it is turned it does not grow, and what a crop cut off counts no more. Then the bounds go
 * by that box, and min_visibility by the share of the box about the whole moved shape. A box whose
 * object has no shape (null, []) is moved as above; the stored boxes are still read and checked,
 * and steps that look at boxes see them. With `crowds`, a tensor [any] of ints (COCO's "iscrowd"),
 * those that it is not 0 for are left out.
 *
 * Values of boxes, such as a label or an area each, are a RAGGED or PADDED column that `follows`
 * the column of boxes: a value is dropped with its box. Each sample must have as many values as
 * boxes.
 *
 * POINTS: f32, of the stored shape: groups of point_values numbers, x, y (and COCO's visibility v,
 * with 3). A point that is moved out of the visible part (left <= x < right) becomes 0, 0, 0
 * with a v, and stays where it was moved to without; one with v = 0 is not moved. Coordinates that
 * are INDICES, as COCO's, are the middles of pixels: 0.5 is added when they are read and taken away
 * when they are written, so that a flip makes W - 1 - x of x; with `out_relative` nothing is taken
 * away: the result is the share of the pixel's middle. With `mirror`,
 * where the picture is mirrored, point i of a row is what mirror[i] was (left and right hands).
 * `follows` an IMAGE, or BOXES: then a row's points are left out with its box.
 *
 * INSTANCES: u8, 1 where the instance is, height x width of the recipe for each shape of a text
 * field as COCO's "segmentation" is read (docs/formats.md): a JSON array of polygons or run
 * lengths. Polygons are moved point by point and then drawn, by the rule of COCO's tools, so that
 * enlarged shapes have sharp edges; run lengths are sampled, the nearest pixel. If `follows` names
 * a column of boxes, only instances whose boxes are kept remain; otherwise all do, invisible ones
 * included. Back to back, or `padded`; slots have space for `length` of them a row.
 *
 * GEOMETRY: NAME (f64, rows x 3 x 3) takes (x, y, 1) of the picture to (x' w, y' w, w) of the
 * output, so that its inverse maps predictions back; NAME.size (i64, rows x 2) is the picture's
 * height and width; NAME.box (f32, rows x 4, XYXY) the part of the picture that is shown, in its
 * pixels; NAME.scale (f32, rows x 2) pixels of the output for one of the picture, across and
 * down, in the middle of that part: only a perspective has another scale elsewhere; NAME.flip (u8,
 * rows x 2) whether flips mirrored it, across and down: whether an odd number of steps did, in the
 * picture as it was by then. A rotation is not a flip, by whatever angle, also where it leaves the
 * picture upside down: a turn by 100 or 180 degrees has flip 0, 0, and two flips, one across and
 * one down, have 1, 1. So exactly one of the two is 1 where left and right are exchanged (the
 * determinant of NAME is negative). All of it is zero in rows without a sample.
 */
typedef enum sluice_column_overlap {
    SLUICE_OVERLAP_LAST = 0,  /* the later shape is over the earlier ones */
    SLUICE_OVERLAP_IGNORE = 1 /* pixels that several cover are left out */
} sluice_column_overlap;

typedef enum sluice_column_interpolation {
    SLUICE_COLUMN_NEAREST = 0,
    SLUICE_COLUMN_BILINEAR = 1
} sluice_column_interpolation;

/*
 * An IMAGE column whose recipe mixes the rows of a batch ("mixup", "cutmix", "timm_mix") has two
 * arrays more: NAME.mixed_with (i64, rows: the row of this batch that was mixed in) and NAME.weight
 * (f32, rows: the share of the row's own picture). Where nothing was mixed in, NAME.mixed_with is
 * the row itself and the weight 1: by the draw, in the middle row of an odd number, where the other
 * row is a bad sample or has no picture, and in rows without a sample. So the loss
 * weight * loss(label) + (1 - weight) * loss(label[mixed_with]) is right for every row. Or a
 * ONE_HOT column `mixes` the labels in the same shares: the row is weight * y + (1 - weight) * y',
 * in binary64, rounded once. With `smoothing` s of K classes, y is 1 - s + s / K at its class and
 * s / K elsewhere (before it is mixed). Both need f32 or f64; a label that may be missing counts as
 * all zero. Columns of other kinds stay as they are.
 */

/*
 * If all of a loader's columns are TENSOR columns of at most three tensor fields, and some are
 * parts, only the bytes of the parts are read from large samples, in formats that know where a
 * tensor is (docs/formats.md). Batches are the same. Such parts come without their
 * sample's checksum: sluice_dataset_verify looks for damage, sluice_loader_options.whole_samples
 * has all read.
 */
typedef enum sluice_column_part {
    SLUICE_PART_WHOLE = 0,  /* the field's shape is the column's */
    SLUICE_PART_CENTER = 1, /* the middle of a larger one */
    SLUICE_PART_RANDOM = 2  /* a random part of a larger one, another each time */
} sluice_column_part;

/*
 * PACKED: a tensor [any] of ints, such as tokens: each sample is a document. A row has documents
 * back to back, `length` elements and `max_documents` documents at most; what the loader counts,
 * shuffles and splits are rows. Which documents share a row depends on their lengths, these options
 * and the seed alone, so that every epoch has the same rows, in another order. Documents of no
 * elements stand in no row. Each dataset of a mix is packed by itself, and the weights are shares
 * of rows. There are no other columns. NAME.x of the row's `count` documents:
 *
 *   NAME                    rows x length     elements, `dtype` I32 or I64 [I64]; padding: `pad`
 *   NAME.targets            rows x length     `dtype`: the element behind each in its document;
 *                                             the loader's ignore_index at a document's end and on
 *                                             padding
 *   NAME.positions          rows x length     i32: number of each element in its document's part
 *   NAME.documents          rows x length     i32: number of its document in the row; padding:
 *                                             `count`
 *   NAME.lengths            rows x max_documents, i32: elements of each document, 0 behind `count`
 *   NAME.cu_seqlens         rows x (max_documents + 1), i32: sums of `lengths` before each; behind
 *                                             `count` the sum of all
 *   NAME.cu_seqlens_padded  the same with each length rounded up to `align`: where documents begin
 *   NAME.count              rows              i32
 *   NAME.max_seqlen         rows              i32: the largest of `lengths`
 *   NAME.loss_mask          rows x length     u8: 1 where `targets` has an element, else 0
 *   NAME.samples            rows x max_documents, i64: the sample of each document; -1 behind
 *                                             `count`
 *
 * `media` is a second tensor field of the same documents, whose first dimension differs, such as
 * the patches of their pictures. The batch then has those of each row, as stored:
 *
 *   NAME.media              the patches of all rows back to back: total x the other dimensions
 *   NAME.media_offsets      rows + 1          i64: row i has patches [offsets[i], offsets[i + 1])
 *   NAME.media_lengths      rows x max_documents, i32: patches of each document, 0 behind `count`
 *
 * Arrays of elements stay as they are, and with `per_token` 0 rows do, too: the elements have
 * placeholders for the patches. With `per_token` above 0, so many patches take the
 * space of an element: a row's elements and, of each document, patches / per_token, rounded up, are
 * `length` at most in all. A sample without the field has no patches; one with patches and without
 * elements is an error when the loader is opened, and so is another cut than NONE. A slot has space
 * for `media_length` patches a row; a row with more is a bad one. Documents are read whole. FIM
 * moves elements and no patches, so it needs `per_token`.
 *
 * Each document's elements begin at a multiple of `align`. Padding, between documents and at the
 * row's end, counts its positions from 0. A row without a sample (mask 0) is all padding. A bad
 * document makes its whole row a bad one: SLUICE_BAD_REPLACE is refused, since a row that had other
 * documents would be another row. A document whose length cannot be read, since it is damaged, is
 * an error of opening, or with SLUICE_BAD_MASK in no row, nor are the others of its unit; a warning
 * counts them.
 *
 * `bos` and `eos` stand in front of each document and behind it, unless it has no elements. They
 * are elements like any other: documents are that much longer when they are packed and cut, and the
 * target of the last stored element is `eos`. A document that already begins with `bos` or ends
 * with `eos` is a bad sample.
 *
 * `mask` names a field of the same samples that selects the trained elements: a tensor [any] of
 * ints or bools, one for each stored element, 0: not trained; or a tensor [any, 2] of ints, the
 * runs [begin, end) of stored elements that are, in their order and apart from each other. An
 * element that is not trained is nobody's target: `targets` has ignore_index there. `eos` goes by
 * the last stored element. A document without the field, a mask of another length, and runs out of
 * order or outside of the document make bad samples. Documents are read whole then, also for a
 * piece.
 *
 * `fim_rate` is the share of documents that are transformed for filling in the middle, as
 * Megatron-LM's GPTFIMDataset does it: a document is split at two places, drawn evenly, in prefix
 * P, middle M and suffix S, each of any length; rows have fim_prefix P fim_suffix S fim_middle M
 * (PSM) or, of the share `fim_spm`, fim_prefix fim_suffix S fim_middle P M (SPM). Which documents
 * are transformed is drawn by seed and document, so that they have the same lengths in every epoch;
 * places and form are drawn by seed, epoch (of a mix: how often all rows of the dataset have come)
 * and document. `bos` and `eos` stay outside. A document is cut after it was transformed, and read
 * whole for each piece. A mask goes with its elements; the three ids are trained. They differ
 * from each other, from `bos` and from `eos`.
 */
#define SLUICE_PACKED_DOCUMENTS_MAX 1024 /* most documents of a row that can be asked for */

/* Ids that a PACKED column was given (sluice_column.ids), since 0 is an id, too. */
typedef enum sluice_packed_ids {
    SLUICE_ID_BOS = 1,        /* `bos` */
    SLUICE_ID_EOS = 2,        /* `eos` */
    SLUICE_ID_FIM_PREFIX = 4, /* `fim_prefix`: with `fim_rate` it and the next two are needed */
    SLUICE_ID_FIM_MIDDLE = 8, /* `fim_middle` */
    SLUICE_ID_FIM_SUFFIX = 16 /* `fim_suffix` */
} sluice_packed_ids;

/* Which documents are cut. */
typedef enum sluice_cut {
    SLUICE_CUT_NONE = 0, /* none: one that is longer than a row is an error */
    SLUICE_CUT_LONG = 1, /* those longer than a row: into whole rows, and a rest */
    SLUICE_CUT_SPLIT = 2 /* documents are concatenated, and cut where a row ends */
} sluice_cut;

typedef enum sluice_column_too_long {
    SLUICE_TOO_LONG_BAD = 0,     /* a bad sample */
    SLUICE_TOO_LONG_TRUNCATE = 1 /* the rest is cut off */
} sluice_column_too_long;

/*
 * Pictures of several sizes in one batch, as detection has them: the recipe of an IMAGE column may
 * leave its size open (random_shortest_size, resize_shorter, ...), or be NULL: the picture as it
 * is. NAME.sizes (i32, rows x 2) is the height and width of each, 0 x 0 where there is none.
 * PADDED: NAME is rows x height x width x 3 (or rows x 3 x height x width), as high and wide as the
 * highest and the widest picture of the batch; behind a picture, right and below, there are zeros.
 * RAGGED: NAME has the pictures of all rows back to back, and NAME.offsets (i64, rows + 1) says
 * where a row begins: of NHWC NAME is pixels x 3, in pixels; of NCHW it has one dimension, of
 * values, each picture's 3 x height x width. Slots have space for max_width x max_height pixels a
 * row: an image that is wider or higher (PADDED), or has more pixels (RAGGED), makes a bad sample.
 * Without them it is the largest that the recipe makes of the dataset's images, whose sizes a
 * packed dataset and annotations name; else steps must limit the result (resize_shorter's
 * max_size). Unless the recipe gives one size, the first loader that needs it of a packed dataset
 * reads the heads of all its samples for that when it is opened, and the first sample of each size.
 * Converted on the host; rows are moved together, or apart, by one thread when the last one is
 * made. Not with mixing, `outputs` or bucket_crop. A MASK that follows them is like its picture, of
 * one value a pixel, or `channels`: PADDED with its fill, or RAGGED, with NAME.sizes and
 * NAME.offsets of its own. INSTANCES are RAGGED, also behind PADDED ones: NAME has the pixels of
 * all masks (u8), NAME.offsets where each row begins, and NAME.shapes (i32, rows x 3) how many
 * masks it has, their height and width; slots have space for `length` masks of max_width x
 * max_height a row. With pictures of a bucket a MASK is rows x height x width of the batch's, and
 * INSTANCES are as here.
 */
typedef enum sluice_column_sizes {
    SLUICE_SIZES_ONE = 0,    /* the recipe's, or that of the batch's bucket */
    SLUICE_SIZES_PADDED = 1, /* to the largest of the batch */
    SLUICE_SIZES_RAGGED = 2
} sluice_column_sizes;

typedef enum sluice_column_missing {
    SLUICE_MISSING_BAD = 0, /* a sample without the field is a bad one */
    /* Its row is as that of no sample (above). In a row of several samples, one with boxes and
     * without the values that follow them is a bad sample all the same. */
    SLUICE_MISSING_BLANK = 1
} sluice_column_missing;

/* One column. Every 0 means the default in brackets. */
typedef struct sluice_column {
    uint32_t struct_size;
    int32_t kind;      /* a sluice_column_kind */
    const char *field; /* the dataset's; GEOMETRY: NULL, and a name */
    const char *name;  /* the column's, 1 to 31 letters, digits, _, -, . or / [the field's] */
    const sluice_augment *recipe; /* IMAGE; copied */
    int32_t
        dtype; /* a sluice_dtype: pictures and PADDED or RAGGED bytes [U8]; NUMBER and ONE_HOT [I64;
                  of floats F64]; tensors [as stored], a wider one of the same kind, or floating */
    int32_t layout;   /* IMAGE: a sluice_layout [NHWC] */
    uint64_t length;  /* WINDOW, PADDED, ONE_HOT: elements of a row; RAGGED: most elements of one;
                         BOXES, POINTS, INSTANCES: most that a sample has [BOXES, POINTS: 1024 for
                         each sample of a row; what follows BOXES: theirs; PADDED, `padded`, and
                         INSTANCES have no default]; PACKED: of a row */
    uint64_t stride;  /* WINDOW: elements from one window to the next [length] */
    uint64_t offset;  /* WINDOW: elements from a window's beginning to the column's first [0] */
    int32_t part;     /* TENSOR: a sluice_column_part [WHOLE] */
    int32_t too_long; /* RAGGED, PADDED, BOXES, POINTS, INSTANCES: a sluice_column_too_long [BAD] */
    int32_t missing;  /* a sluice_column_missing [BAD] */
    uint32_t dims;    /* TENSOR: of `shape`; 0: the field's own shape, which pictures have not */
    int64_t shape[SLUICE_TENSOR_DIMS_MAX]; /* TENSOR: of a row */
    const char *mixes; /* ONE_HOT: the IMAGE column of this batch whose mixing it follows [none] */
    double smoothing;  /* ONE_HOT: what of the label is spread over all classes, 0 to 1 [0] */
    const char *follows;    /* MASK, BOXES, POINTS, GEOMETRY: an IMAGE column [the only one before];
                               RAGGED, PADDED, POINTS, INSTANCES: a column of boxes [that of the
                               field's boxes, where the field has an element for each of them] */
    const uint32_t *mirror; /* POINTS: mirror_count numbers, of a permutation [none] */
    double fill;            /* MASK: what there is beside the picture, such as 255 [0] */
    double min_size;        /* BOXES: in pixels of the output [1] */
    double min_area;        /* BOXES: in pixels of the output [1] */
    double min_visibility;  /* BOXES: 0 to 1 [0] */
    double max_aspect;      /* BOXES: 1 or more [any] */
    int32_t interpolation;  /* MASK: a sluice_column_interpolation [NEAREST] */
    uint32_t channels;      /* MASK: values of a pixel, 1 to 64 [1] */
    int32_t box_format;     /* BOXES: as stored, a sluice_box_format [the field's, or else XYXY] */
    int32_t out_format;     /* BOXES: of the batch [XYXY] */
    int32_t relative;       /* BOXES, POINTS: what stored coordinates are, a sluice_coordinates; no
                               INDICES for BOXES [the field's, or else PIXELS] */
    uint32_t out_relative;  /* BOXES, POINTS: 1: so in the batch [0] */
    uint32_t
        padded; /* BOXES, POINTS, INSTANCES: 1: as PADDED is, with NAME.lengths [0: as RAGGED] */
    uint32_t at_least_one; /* BOXES: 1: where the sample has boxes and none is left the recipe is
                              drawn again, up to 20 times: a function of the sample, as all draws
                              are. What other columns draw stays as it is; so steps of a shared
                              group are not drawn again, and a recipe is refused whose size, or all
                              of whose random crops, are from such a group [0] */
    uint32_t point_values; /* POINTS: numbers of each, 2 or 3 [3 where rows are of threes] */
    uint32_t mirror_count; /* POINTS: points of a row, 256 at most */
    /* 0: of the row's own sample. 1 .. 31: of that partner of it (loader option `partners`). What
     * follows a column is of the sample that it is of [0] */
    uint32_t partner;
    int32_t overlap; /* MASK of shapes: a sluice_column_overlap [LAST] */
    int32_t sizes;   /* IMAGE: a sluice_column_sizes [ONE] */
    /* IMAGE, of several sizes: pixels of a row, 1 to 65535, both or neither [what the recipe makes
     * of the dataset's largest image; INVALID at opening where its size is not known] */
    uint32_t max_width;
    uint32_t max_height;
    uint32_t reserved;     /* 0 */
    const char *shapes;    /* BOXES: the field of shapes that they are computed from [none] */
    const char *labels;    /* MASK of shapes: the field of their classes */
    const char *crowds;    /* BOXES, MASK of shapes: the field that marks crowds [none] */
    double background;     /* MASK of shapes: what no shape covers [0] */
    double ignore;         /* MASK of shapes: what a loss leaves out [255] */
    int32_t orientation;   /* MASK, BOXES, POINTS, INSTANCES: the way up of the image that they were
                              annotated in, STORED or UPRIGHT [AUTO: the field's, or else the
                              image's; of a MASK that is an image or a tensor, what its own size
                              says] */
    uint32_t reserved_end; /* 0 */
    int64_t pad;           /* PACKED: element where a row has no document [0] */
    int32_t cut;           /* PACKED: a sluice_cut [NONE] */
    uint32_t max_documents; /* PACKED: most documents of a row, 1 to 1024 [32] */
    uint32_t align;         /* PACKED: elements; documents begin at multiples of it, and `length` is
                               one [1] */
    uint32_t unit; /* PACKED: so many consecutive documents, such as pairs, stay together; not with
                      SPLIT [1] */
    int64_t bos;   /* PACKED: element in front of each document; with SLUICE_ID_BOS in `ids` */
    int64_t eos;   /* PACKED: element behind each document; with SLUICE_ID_EOS in `ids` */
    uint32_t ids; /* PACKED: bits of sluice_packed_ids; sluice_option_set sets an id's bit [none] */
    uint32_t reserved_ids; /* 0 */
    const char *mask;      /* PACKED: the field that selects trained elements [all] */
    double fim_rate;       /* PACKED: share of documents with the middle at their end, 0 to 1 [0] */
    double fim_spm;        /* PACKED: share of these with the suffix first, 0 to 1 [0.5] */
    int64_t fim_prefix;    /* PACKED: element before the prefix; with SLUICE_ID_FIM_PREFIX */
    int64_t fim_middle;    /* PACKED: element before the middle; with SLUICE_ID_FIM_MIDDLE */
    int64_t fim_suffix;    /* PACKED: element before the suffix; with SLUICE_ID_FIM_SUFFIX */
    const char *media;     /* PACKED: the second field of the documents [none] */
    uint64_t per_token;    /* PACKED: patches of `media` that take the space of an element of a row,
                              up to 2^20; 0: they take none [0] */
    uint64_t media_length; /* PACKED: most patches of a row, up to 2^31 - 1 [length x per_token, or
                              length] */
} sluice_column;

#define SLUICE_COLUMN_INIT                                                                         \
    {                                                                                              \
        sizeof(sluice_column), 0, NULL, NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, {0}, NULL, 0, NULL, \
            NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, NULL, \
            0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, 0, 0, 0, 0, 0, NULL, 0, 0                 \
    }

/* Adds a column; all strings and the recipe are copied. Errors: INVALID, NOMEM. */
SLUICE_API sluice_status sluice_columns_add(sluice_columns *columns, const sluice_column *column);

/*
 * Describes the column that a loader without `columns` makes of field `field`, 0 or more: its kind,
 * field and name, a tensor's dtype and shape, and the dtype of numbers (0: the default of `dtype`).
 * An IMAGE takes the loader's recipe, dtype and layout, and is not given a shape here; with a
 * recipe it can be added to sluice_columns. The names live as long as the dataset. END: the field
 * has no column, or only if it is asked for (the head of this page). INVALID: the dataset has no
 * such field, or `column` is NULL or does not say its size.
 */
SLUICE_API sluice_status sluice_dataset_natural_column(const sluice_dataset *dataset,
                                                       uint32_t field, sluice_column *column);

/* sluice_columns_add for the most usual columns. */
SLUICE_API sluice_status sluice_columns_image(sluice_columns *columns, const char *field,
                                              const sluice_augment *recipe, sluice_dtype dtype,
                                              sluice_layout layout);
SLUICE_API sluice_status sluice_columns_number(sluice_columns *columns, const char *field,
                                               sluice_dtype dtype);
SLUICE_API sluice_status sluice_columns_one_hot(sluice_columns *columns, const char *field,
                                                uint64_t classes, sluice_dtype dtype);
/* The whole tensor, as stored. */
SLUICE_API sluice_status sluice_columns_tensor(sluice_columns *columns, const char *field);
/* `length` elements, a window every `stride`. For targets that are the inputs shifted by one, ask
 * for one window of length + 1 and take two views of it, or add two columns with `offset` 0 and 1.
 */
SLUICE_API sluice_status sluice_columns_window(sluice_columns *columns, const char *field,
                                               uint64_t length, uint64_t stride,
                                               sluice_dtype dtype);
/* At most `length` elements a row; a longer one is a bad sample. */
SLUICE_API sluice_status sluice_columns_ragged(sluice_columns *columns, const char *field,
                                               uint64_t length);
SLUICE_API sluice_status sluice_columns_padded(sluice_columns *columns, const char *field,
                                               uint64_t length);

/* The first refusal; returns its status, OK when there was none. */
SLUICE_API sluice_status sluice_columns_get_error(const sluice_columns *columns,
                                                  sluice_error *error);

#ifdef __cplusplus
}
#endif
#endif
