/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sluice/columns.h: the columns of a batch.
 *
 * A dataset stores fields (sluice_dataset_get_field); a batch holds columns. A column is made from
 * a field and has a dtype and a shape. sluice_loader_options.columns gives a loader its columns.
 * Without it, every field that has a default column is in the batch, under the field's name: images
 * through the loader's recipe, ints as i64, floats as f64, tensors of a fixed shape as stored.
 *
 * A field named "index", "mask" or "status", like one of the three columns of every batch (below),
 * becomes "field.index", "field.mask" or "field.status". If a column of that name exists, the field
 * is left out unless requested. An image field named "mask", "instances" or "train_ids" beside
 * another image has no default column, because it would be cropped independently: a loader without
 * columns rejects such a dataset and reports what to write.
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
 * Several IMAGE columns of one field are views of one image. Each has its own random draws, by its
 * number among the IMAGE columns. The image is opened once for all of them, and decoded once where
 * their crops overlap; the pixels are those that each column would have alone.
 *
 * Every batch ends with three more columns: "index" (i64, rows): the sample's number in the
 * dataset; "mask" (u8, rows): 1: use this row, 0: do not; "status" (u8, rows): a sluice_row. A row
 * without a sample (mask 0) is zero, or empty, in every column except two: a NUMBER of ints has the
 * loader's ignore_index [-1], and a MASK is all `fill`. With a `fill` that the loss ignores, such
 * rows teach the model nothing.
 *
 * A sample that lacks a field, or whose value does not fit its column, is a bad sample unless the
 * column says otherwise (`missing`, `too_long`). The loader's policy applies, and the report names
 * sample, field and reason.
 *
 * Errors: a failed call returns INVALID and changes nothing. The first error is kept
 * (sluice_columns_get_error), and sluice_loader_open fails with it.
 * Threads: one thread builds the columns. A loader copies them; they may then be changed or
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

/* Creates an empty list. sluice_columns_destroy frees it; NULL is a no-op. */
SLUICE_API sluice_status sluice_columns_create(sluice_columns **columns);
SLUICE_API void sluice_columns_destroy(sluice_columns *columns);

typedef enum sluice_column_kind {
    SLUICE_COLUMN_IMAGE = 1,  /* an image field through `recipe`: rows x height x width x 3, or rows
                                 x 3 x height x width; `dtype` u8, f32, f16, bf16 */
    SLUICE_COLUMN_NUMBER = 2, /* an int or float field: rows; `dtype` i64, i32, f32, f64 */
    SLUICE_COLUMN_TENSOR = 3, /* a tensor field, or a part of it: rows x shape. Or an image field
                                 (below) */
    SLUICE_COLUMN_WINDOW = 4, /* `length` elements of a long tensor: rows x length. The loader then
                                 counts, shuffles and splits windows, not samples. Open counts them:
                                 by arithmetic if all samples of a file have one size, else from
                                 every index entry, up to 2^30 (UNSUPPORTED). Only a window's bytes
                                 are read, without the sample's checksum: to find damage, run
                                 sluice_dataset_verify */
    SLUICE_COLUMN_RAGGED = 5, /* bytes, text, or a tensor whose first dimension varies: the values
                                 of all rows back to back, and NAME.offsets (i64, rows + 1): row i
                                 is [offsets[i], offsets[i + 1]) along the first dimension */
    SLUICE_COLUMN_PADDED = 6, /* such a field with each row padded with zeros: rows x length (x the
                                 tensor's other dimensions), and NAME.lengths (i64, rows) */
    SLUICE_COLUMN_ONE_HOT = 7, /* an int field k: rows x length, 1 at k; `dtype` as NUMBER, or u8 */
    SLUICE_COLUMN_MASK = 8,    /* a value for each pixel of an image, which it follows: an image
                                  field of PNGs, a tensor height x width (x channels), or a text of
                                  shapes. rows x height x width (x channels) of the image's recipe
                                  (below) */
    SLUICE_COLUMN_BOXES = 9,   /* a tensor [any, 4] of boxes in an image, which they follow: f32,
                                  like RAGGED, or like PADDED (below) */
    SLUICE_COLUMN_POINTS = 10, /* a tensor [any, ...] of points in an image, likewise (below) */
    SLUICE_COLUMN_GEOMETRY = 11,  /* without a field: how the recipe moved an image (below) */
    SLUICE_COLUMN_INSTANCES = 12, /* a text field of shapes in an image: a mask for each (below) */
    SLUICE_COLUMN_PACKED = 13 /* sequences of any length, packed into rows of `length` (below) */
} sluice_column_kind;

/*
 * A TENSOR of an image field has the values of PNGs as stored: label masks, depth. Gray of 1, 2, 4
 * and 8 bits is u8, 0 to 2^bits - 1 (not scaled to 0..255); gray of 16 bits is u16. A palette image
 * has its palette indices, even those without a color. RGB, alpha and the like are channels, in the
 * file's order. tRNS, gamma, sBIT, profiles and orientation are ignored.
 *
 * Every image has `shape`, height x width or height x width x channels, unless `part` takes a part
 * of that shape, the same for other TENSOR columns of equal height and width. `dtype` [U8]: U8
 * accepts images of up to 8 bits, U16 images of 16 bits, I32, I64 and floating types both; values
 * are unchanged. A value that does not fit, and an image that is not a PNG, make a bad sample. The
 * column is not scaled, rotated or flipped, and does not follow the crop of an IMAGE column: for
 * that, use MASK.
 */

/*
 * Columns that FOLLOW an image: MASK, BOXES, POINTS, GEOMETRY and INSTANCES use the random draw of
 * an IMAGE column before them: the one that `follows` names, or the only one. Crops, resizes,
 * flips, padding, warps, and the rotations and shears of policies move all of them alike. The
 * chains of AugMix move nothing, and color changes affect the image only. Coordinates are
 * continuous: the image is [0, width] x [0, height] as the recipe receives it, and pixel (i, j)
 * covers [i, i + 1) x [j, j + 1). mixup and cutmix mix images only; these columns remain the row's
 * own, and NAME.mixed_with is the row mixed in.
 *
 * Defaults come from the field (sluice_field): format and coordinates of boxes and points, which
 * boxes an element belongs to, and the orientation in which the image was annotated. An argument
 * wins; one that contradicts the field is a warning of the loader (sluice_loader_get_warning).
 *
 * Orientation. The loader option `exif` chooses the orientation in which images are decoded; the
 * default is the one they were annotated in. Annotations made in the other orientation are rotated
 * with their image, before the recipe: coordinates exactly, run lengths and masks pixel by pixel.
 * If the field's orientation is BY_SIZE, the sample's WIDTH and HEIGHT fields decide for each
 * image: a size that fits neither the stored nor the upright image makes a bad sample. If both fit
 * although the image has to be rotated (a square, a half turn), boxes, points and shapes make a bad
 * sample unless `orientation` decides; without such columns the image stays as stored. A MASK that
 * is an image or a tensor is judged by its own size: that of the decoded image, or that of the
 * image rotated by a quarter turn. If both are the same size although the image has to be rotated,
 * and the mask's field is BY_SIZE, the sample is bad unless `orientation` decides; a field without
 * a meaning is taken as the image is decoded.
 *
 * Recipes of several samples (mosaic, mixup_partner, copy_paste): columns follow each sample's
 * image to its place. Variable-length values are those of the first sample, then the second, and so
 * on, at most `length` per row; GEOMETRY is the own sample's. Each sample contributes all fields of
 * the columns. The IMAGE has NAME.share (f32): the fraction of the row's own image, 1 if nothing
 * was mixed in; such an IMAGE cannot be `missing` BLANK. With mixup_partner every MASK, one of
 * shapes too, is INVALID: two labels of a pixel cannot be blended; INSTANCES have the objects of
 * both images. With copy_paste, the objects are those of the only BOXES that follow the image,
 * which need `shapes`; each of the partners' remaining objects is pasted with some probability. An
 * own box that is partly covered shrinks to its visible pixels and never grows; its INSTANCES lose
 * the covered pixels; covered POINTS get visibility 1. An object that is dropped, or has no visible
 * pixel, loses its labels, points and shapes as well. INSTANCES and POINTS then follow the BOXES. A
 * MASK has the partner's pixels where something was pasted. `length` counts all values, including
 * dropped ones.
 *
 * MASK: a value of `dtype` [U8] for each pixel, or `channels` [1] of them. NEAREST takes the
 * nearest stored pixel, like Pillow: every value is a stored one, or `fill` outside the image.
 * BILINEAR (f32 only) interpolates between the four neighbors, without antialiasing. With the
 * loader option `exact` each step takes the nearest pixel separately, like a sequence of Pillow
 * calls; otherwise all steps are combined. A mask whose size differs from its image's is a bad
 * sample. PNGs are read like a TENSOR of an image field (above).
 *
 * MASK of a text field of shapes (as INSTANCES reads it): a class map, `dtype` [U8]. `labels`, a
 * tensor [any] of ints, has the class of each shape. The shape's pixels, moved and drawn as for
 * INSTANCES, get that value; the rest of the image gets `background`, pixels outside the image
 * `fill`. Where shapes overlap, the last one wins; with `overlap` IGNORE, such pixels get `ignore`
 * [255], as in torchvision's segmentation references. `crowds`, a tensor [any] of ints, marks crowd
 * shapes (COCO's "iscrowd", not 0): they get `ignore` where no other shape is.
 *
 * BOXES: f32 x 4 in `out_format`, stored in `box_format`. With `relative` (`out_relative`),
 * coordinates are fractions of the image's (the output's) width and height, else pixels. All steps
 * move the corners together. The box around the moved corners is clipped once, at the end, to the
 * visible part of the image, without parts that earlier steps cut off; so a rotated box grows, but
 * only once. A box is kept if it is at least min_size wide and high, has at least min_area, keeps
 * at least the fraction min_visibility of the unclipped moved box, and has an aspect ratio of at
 * most max_aspect. Kept boxes stay in stored order. The default bounds are torchvision's
 * (SanitizeBoundingBoxes). A box that is not finite, or whose right or lower edge precedes its left
 * or upper one, makes a bad sample; a box without width or height is dropped.
 *
 * BOXES with `shapes`, a text field with a shape for each box (as INSTANCES reads it): an object's
 * box is computed from the visible part of its shape, the moved polygon or the pixels of its run
 * lengths. It is exact: it does not grow when rotated, and cropped parts no longer count. The
 * bounds apply to that box, min_visibility to its fraction of the box around the whole moved shape.
 * A box whose object has no shape (null, []) is moved by its corners. The stored boxes are still
 * read and checked, and steps that look at boxes see them. `crowds`, a tensor [any] of ints (COCO's
 * "iscrowd"), drops the boxes where it is not 0.
 *
 * Values of boxes, such as a label or an area each, are a RAGGED or PADDED column that `follows`
 * the column of boxes: a value is dropped with its box. Each sample must have as many values as
 * boxes.
 *
 * POINTS: f32, in the stored shape: groups of point_values numbers, x, y (and COCO's visibility v
 * with 3). A point moved out of the visible part (left <= x < right) becomes 0, 0, 0 if it has a v,
 * and otherwise keeps its moved place; a point with v = 0 is not moved. Coordinates that are
 * INDICES, like COCO's, are pixel centers: 0.5 is added on reading and subtracted on writing, so a
 * flip turns x into W - 1 - x; with `out_relative` nothing is subtracted, so the result is the
 * fraction of the pixel's center. `mirror` renumbers points of mirrored images: point i of a row is
 * the former point mirror[i] (left and right hands). `follows` names an IMAGE, or BOXES: then a
 * box's points are dropped with it.
 *
 * INSTANCES: u8, height x width of the recipe for each shape of a text field, 1 inside the shape.
 * Shapes are COCO's "segmentation" (docs/formats/annotations.md): a JSON array of polygons or run
 * lengths. Polygons are moved point by point and then drawn, by the rule of COCO's tools, so
 * enlarged shapes have sharp edges; run lengths are sampled, nearest pixel. If `follows` names a
 * column of boxes, only instances whose boxes are kept remain; otherwise all do, including
 * invisible ones. Back to back, or `padded`; slots have space for `length` of them per row.
 *
 * GEOMETRY, all zero in rows without a sample:
 *   NAME        f64, rows x 3 x 3: maps (x, y, 1) of the image to (x' w, y' w, w) of the output;
 *               its inverse maps predictions back
 *   NAME.size   i64, rows x 2: the image's height and width
 *   NAME.box    f32, rows x 4, XYXY: the visible part of the image, in its pixels
 *   NAME.scale  f32, rows x 2: output pixels per image pixel, across and down, at the center of
 *               that part; only a perspective has another scale elsewhere
 *   NAME.flip   u8, rows x 2: 1 if an odd number of flip steps mirrored the image, across and down.
 *               A rotation is not a flip, by whatever angle: a rotation by 100 or 180 degrees has
 *               0, 0; one flip across and one down have 1, 1. So exactly one of the two is 1 if
 *               left and right are exchanged (the determinant of NAME is negative)
 */
typedef enum sluice_column_overlap {
    SLUICE_OVERLAP_LAST = 0,  /* the last shape wins */
    SLUICE_OVERLAP_IGNORE = 1 /* pixels of several shapes get `ignore` */
} sluice_column_overlap;

typedef enum sluice_column_interpolation {
    SLUICE_COLUMN_NEAREST = 0,
    SLUICE_COLUMN_BILINEAR = 1
} sluice_column_interpolation;

/*
 * An IMAGE column whose recipe mixes the rows of a batch ("mixup", "cutmix", "timm_mix") adds two
 * arrays: NAME.mixed_with (i64, rows): the row of this batch mixed in, the partner row; and
 * NAME.weight (f32, rows): the fraction of the row's own image. If nothing was mixed in,
 * NAME.mixed_with is the row itself and the weight is 1: by the draw, in the middle row of an odd
 * number, if the partner row is bad or lacks an image, and in rows without a sample. So the loss
 * weight * loss(label) + (1 - weight) * loss(label[mixed_with]) is right for every row.
 *
 * Instead, a ONE_HOT column that `mixes` the image mixes labels in the same proportion: the row is
 * weight * y + (1 - weight) * y', in binary64, rounded once. With `smoothing` s of K classes, y is
 * 1 - s + s / K at its class and s / K elsewhere (before mixing). Both need f32 or f64; a label
 * that may be missing counts as all zero. Columns of other kinds are unchanged.
 */

/*
 * Parts of tensors. If all of a loader's columns are TENSOR columns of at most three tensor fields,
 * and some are parts, large samples are read only as far as needed, in formats that know a tensor's
 * place (docs/formats/arrays.md). The batches are the same. Partial reads skip the sample's
 * checksum. To find damage, run sluice_dataset_verify; to read everything, set
 * sluice_loader_options.whole_samples.
 */
typedef enum sluice_column_part {
    SLUICE_PART_WHOLE = 0,  /* the whole tensor: `shape` is the field's */
    SLUICE_PART_CENTER = 1, /* the center of a larger tensor */
    SLUICE_PART_RANDOM = 2  /* a random part of a larger tensor, drawn for each row */
} sluice_column_part;

/*
 * PACKED: a tensor [any] of ints, such as tokens; each sample is a document. A row has documents
 * back to back: at most `length` elements and `max_documents` documents. The loader counts,
 * shuffles and splits rows. Which documents share a row depends only on their lengths, these
 * options and the seed, so every epoch has the same rows, in another order. Empty documents are in
 * no row. Each dataset of a mix is packed separately, and the weights are fractions of rows. A
 * PACKED column must be the only one. NAME.x for the row's `count` documents:
 *
 *   NAME                    rows x length     elements, `dtype` I32 or I64 [I64]; padding: `pad`
 *   NAME.targets            rows x length     `dtype`: the next element of the same document; the
 *                                             loader's ignore_index at a document's end and on
 *                                             padding
 *   NAME.positions          rows x length     i32: the element's number in its document's part
 *   NAME.documents          rows x length     i32: its document's number in the row; padding:
 *                                             `count`
 *   NAME.lengths            rows x max_documents, i32: elements of each document; 0 from `count` on
 *   NAME.cu_seqlens         rows x (max_documents + 1), i32: sum of `lengths` before each document;
 *                                             from `count` on, the sum of all
 *   NAME.cu_seqlens_padded  as cu_seqlens, each length rounded up to `align`: where documents begin
 *   NAME.count              rows              i32
 *   NAME.max_seqlen         rows              i32: the largest of `lengths`
 *   NAME.loss_mask          rows x length     u8: 1 where `targets` has an element, else 0
 *   NAME.samples            rows x max_documents, i64: each document's sample; -1 from `count` on
 *
 * `media` is a second tensor field of the same documents whose first dimension varies, such as the
 * patches of their images. The batch then has the patches of each row, as stored:
 *
 *   NAME.media              the patches of all rows back to back: total x the other dimensions
 *   NAME.media_offsets      rows + 1          i64: row i has patches [offsets[i], offsets[i + 1])
 *   NAME.media_lengths      rows x max_documents, i32: patches of each document; 0 from `count` on
 *
 * The elements contain placeholders for the patches and are unchanged. With `per_token` 0, so are
 * the rows. With `per_token` above 0, that many patches take the space of one element: the row's
 * elements plus, for each document, patches / per_token, rounded up, must not exceed `length`. A
 * sample without the field has no patches. Open fails for a document with patches and without
 * elements, and for any cut but NONE. A slot has space for `media_length` patches per row; a row
 * with more is bad. Documents are read whole. FIM moves elements but not patches, so it needs
 * `per_token`.
 *
 * Each document's elements begin at a multiple of `align`. Padding, between documents and at the
 * row's end, counts its positions from 0. A row without a sample (mask 0) is all padding. A bad
 * document makes its whole row bad; SLUICE_BAD_REPLACE is INVALID, since a row with other documents
 * is another row. If a document's length cannot be read because it is damaged, open fails; with
 * SLUICE_BAD_MASK, the document and the rest of its unit are in no row, and a warning counts them.
 *
 * `bos` and `eos` are added before and after each document that has elements. They count as
 * elements: documents are packed and cut with them, and the target of the last stored element is
 * `eos`. A document that already begins with `bos` or ends with `eos` is a bad sample.
 *
 * `mask` names a field of the same samples that selects the trained elements: a tensor [any] of
 * ints or bools, one per stored element, 0: not trained; or a tensor [any, 2] of ints: the trained
 * runs [begin, end) of stored elements, in order and disjoint. An element that is not trained is
 * never a target: `targets` has ignore_index there. `eos` is trained if the last stored element is.
 * A document without the field, a mask of another length, and runs out of order or out of range
 * make bad samples. Documents are then read whole, even for a piece.
 *
 * `fim_rate` is the fraction of documents transformed for fill-in-the-middle, like Megatron-LM's
 * GPTFIMDataset: a document is split at two uniformly drawn places into prefix P, middle M and
 * suffix S, each of any length. Rows have fim_prefix P fim_suffix S fim_middle M (PSM) or, for the
 * fraction `fim_spm`, fim_prefix fim_suffix S fim_middle P M (SPM). The documents to transform are
 * drawn by seed and document, so lengths are the same in every epoch; places and form are drawn by
 * seed, epoch (in a mix: how often all rows of the dataset have occurred) and document. `bos` and
 * `eos` stay outside. A document is cut after the transform, and read whole for each piece. A mask
 * moves with its elements; the three ids are trained. They must differ from each other, from `bos`
 * and from `eos`.
 */
#define SLUICE_PACKED_DOCUMENTS_MAX 1024 /* largest max_documents */

/* Ids that a PACKED column has (sluice_column.ids); needed because 0 is an id, too. */
typedef enum sluice_packed_ids {
    SLUICE_ID_BOS = 1,        /* `bos` */
    SLUICE_ID_EOS = 2,        /* `eos` */
    SLUICE_ID_FIM_PREFIX = 4, /* `fim_prefix`; `fim_rate` needs all three */
    SLUICE_ID_FIM_MIDDLE = 8, /* `fim_middle` */
    SLUICE_ID_FIM_SUFFIX = 16 /* `fim_suffix` */
} sluice_packed_ids;

/* Which documents of a PACKED column are cut. */
typedef enum sluice_cut {
    SLUICE_CUT_NONE = 0, /* none: a document longer than a row is an error */
    SLUICE_CUT_LONG = 1, /* those longer than a row: into whole rows and a rest */
    SLUICE_CUT_SPLIT = 2 /* documents are concatenated, and cut at the ends of rows */
} sluice_cut;

typedef enum sluice_column_too_long {
    SLUICE_TOO_LONG_BAD = 0,     /* a bad sample */
    SLUICE_TOO_LONG_TRUNCATE = 1 /* the rest is cut off */
} sluice_column_too_long;

/*
 * Batches of variable-size images, as for detection: the recipe of an IMAGE column may leave its
 * output size open (random_shortest_size, resize_shorter, ...), or be NULL: original size.
 * NAME.sizes (i32, rows x 2) has each image's height and width, 0 x 0 if there is none.
 * PADDED: NAME is rows x height x width x 3 (or rows x 3 x height x width), with the largest height
 * and width of the batch's images; images are padded with zeros on the right and below.
 * RAGGED: NAME has the images of all rows back to back; NAME.offsets (i64, rows + 1) has where each
 * row begins. For NHWC, NAME is pixels x 3 and offsets count pixels; for NCHW, NAME has one
 * dimension and offsets count values, 3 x height x width per image.
 *
 * Slots have space for max_width x max_height pixels per row. An image that is wider or higher
 * (PADDED), or has more pixels (RAGGED), makes a bad sample. By default the limit is the recipe's
 * largest output over the dataset's images, whose sizes come from a packed dataset or annotations;
 * otherwise steps must limit the result (resize_shorter's max_size). Unless the recipe has one
 * output size, the first loader of a packed dataset that needs the limit reads the image headers of
 * all samples on opening, and the first sample of each size.
 *
 * Images are converted on the host; the last row's thread moves the rows together, or apart. Not
 * with mixing, `outputs` or bucket_crop. A MASK that follows has its image's form, with one value
 * or `channels` values per pixel: PADDED with its fill, or RAGGED with NAME.sizes and NAME.offsets
 * of its own. INSTANCES are RAGGED, even for PADDED images: NAME has the pixels of all masks (u8),
 * NAME.offsets where each row begins, and NAME.shapes (i32, rows x 3) the number of its masks and
 * their height and width; slots have space for `length` masks of max_width x max_height per row.
 * With bucketed images, a MASK is rows x height x width of the batch's size, and INSTANCES have the
 * form described here.
 */
typedef enum sluice_column_sizes {
    SLUICE_SIZES_ONE = 0,    /* one size: the recipe's, or the bucket's */
    SLUICE_SIZES_PADDED = 1, /* padded to the largest of the batch */
    SLUICE_SIZES_RAGGED = 2  /* back to back */
} sluice_column_sizes;

typedef enum sluice_column_missing {
    SLUICE_MISSING_BAD = 0, /* a sample without the field is a bad sample */
    /* The row is filled like a row without a sample (above). In a row of several samples, a sample
     * with boxes and without the values that follow them is still a bad sample. */
    SLUICE_MISSING_BLANK = 1
} sluice_column_missing;

/* One column. Every 0 means the default in brackets. */
typedef struct sluice_column {
    uint32_t struct_size;
    int32_t kind;      /* a sluice_column_kind */
    const char *field; /* the dataset's field; GEOMETRY: NULL, with a name */
    const char *name;  /* the column's name, 1 to 31 letters, digits, _, -, . or / [the field's] */
    const sluice_augment *recipe; /* IMAGE: its recipe, copied */
    int32_t dtype;    /* a sluice_dtype. Images and PADDED or RAGGED bytes [U8]; NUMBER and ONE_HOT
                         [I64; floats: F64]; tensors [as stored]: also a wider type of that kind,
                         or a floating one */
    int32_t layout;   /* IMAGE: a sluice_layout [NHWC] */
    uint64_t length;  /* WINDOW, PADDED, ONE_HOT, PACKED: elements of a row. RAGGED: largest number
                         of elements of a row. BOXES, POINTS, INSTANCES: largest number per row
                         [BOXES, POINTS: 1024 per sample of a row; followers of BOXES: theirs;
                         PADDED, `padded`, and INSTANCES have no default] */
    uint64_t stride;  /* WINDOW: elements from one window to the next [length] */
    uint64_t offset;  /* WINDOW: elements from a window's beginning to the column's first [0] */
    int32_t part;     /* TENSOR: a sluice_column_part [WHOLE] */
    int32_t too_long; /* RAGGED, PADDED, BOXES, POINTS, INSTANCES: a sluice_column_too_long [BAD] */
    int32_t missing;  /* a sluice_column_missing [BAD] */
    uint32_t dims;    /* TENSOR: dimensions of `shape`; 0: the field's shape (image fields have
                         none) */
    int64_t shape[SLUICE_TENSOR_DIMS_MAX]; /* TENSOR: shape of a row */
    const char *mixes; /* ONE_HOT: the IMAGE column of this batch whose mixing it follows [none] */
    double smoothing;  /* ONE_HOT: fraction of the label spread over all classes, 0 to 1 [0] */
    const char *follows;    /* MASK, BOXES, POINTS, GEOMETRY: an IMAGE column [the only one before];
                               RAGGED, PADDED, POINTS, INSTANCES: a column of boxes [that of the
                               field's boxes, if the field has an element for each of them] */
    const uint32_t *mirror; /* POINTS: a permutation of mirror_count numbers [none] */
    double fill;            /* MASK: value outside the image, such as 255 [0] */
    double min_size;        /* BOXES: smallest width and height, in output pixels [1] */
    double min_area;        /* BOXES: smallest area, in output pixels [1] */
    double min_visibility;  /* BOXES: smallest visible fraction, 0 to 1 [0] */
    double max_aspect;      /* BOXES: largest aspect ratio, 1 or more [any] */
    int32_t interpolation;  /* MASK: a sluice_column_interpolation [NEAREST] */
    uint32_t channels;      /* MASK: values per pixel, 1 to 64 [1] */
    int32_t box_format;     /* BOXES: stored format, a sluice_box_format [the field's, else XYXY] */
    int32_t out_format;     /* BOXES: format in the batch [XYXY] */
    int32_t relative;       /* BOXES, POINTS: stored coordinates, a sluice_coordinates; BOXES: not
                               INDICES [the field's, else PIXELS] */
    uint32_t out_relative;  /* BOXES, POINTS: 1: fractions in the batch [0] */
    uint32_t padded;        /* BOXES, POINTS, INSTANCES: 1: like PADDED, with NAME.lengths [0: like
                               RAGGED] */
    uint32_t at_least_one;  /* BOXES: 1: if the sample has boxes and none is left, the recipe is
                               drawn again, up to 20 times, as a function of the sample like all
                               draws. Draws of other columns are unchanged, so steps of a shared
                               group are not drawn again; INVALID for a recipe whose size, or all of
                               whose random crops, come from such a group [0] */
    uint32_t point_values;  /* POINTS: numbers per point, 2 or 3 [3 if rows are groups of three] */
    uint32_t mirror_count;  /* POINTS: points of a row, at most 256 */
    /* 0: the row's own sample; 1..31: that partner sample of it (loader option `partners`). Columns
     * that follow this one belong to the same sample [0] */
    uint32_t partner;
    int32_t overlap; /* MASK of shapes: a sluice_column_overlap [LAST] */
    int32_t sizes;   /* IMAGE: a sluice_column_sizes [ONE] */
    /* IMAGE of variable size: largest pixels of a row, 1 to 65535, both or neither [the recipe's
     * output for the dataset's largest image; open fails with INVALID if its size is not known] */
    uint32_t max_width;
    uint32_t max_height;
    uint32_t reserved;      /* 0 */
    const char *shapes;     /* BOXES: the field of shapes to compute them from [none] */
    const char *labels;     /* MASK of shapes: the field of their classes */
    const char *crowds;     /* BOXES, MASK of shapes: the field that marks crowds [none] */
    double background;      /* MASK of shapes: value of pixels without a shape [0] */
    double ignore;          /* MASK of shapes: value that a loss ignores [255] */
    int32_t orientation;    /* MASK, BOXES, POINTS, INSTANCES: orientation in which the image was
                               annotated, STORED or UPRIGHT [AUTO: the field's, else the image's; a
                               MASK that is an image or a tensor: what its size says] */
    uint32_t reserved_end;  /* 0 */
    int64_t pad;            /* PACKED: element of padding [0] */
    int32_t cut;            /* PACKED: a sluice_cut [NONE] */
    uint32_t max_documents; /* PACKED: largest number of documents of a row, 1 to 1024 [32] */
    uint32_t align; /* PACKED: documents begin at multiples of it; `length` must be one [1] */
    uint32_t unit;  /* PACKED: consecutive documents, such as pairs, that stay together; not
                       with SPLIT [1] */
    int64_t bos;    /* PACKED: element before each document; with SLUICE_ID_BOS in `ids` */
    int64_t eos;    /* PACKED: element after each document; with SLUICE_ID_EOS in `ids` */
    uint32_t ids;   /* PACKED: bits of sluice_packed_ids; sluice_option_set sets an id's bit
                       [none] */
    uint32_t reserved_ids; /* 0 */
    const char *mask;      /* PACKED: the field that selects trained elements [all] */
    double fim_rate;       /* PACKED: fraction of documents with the middle last, 0 to 1 [0] */
    double fim_spm;        /* PACKED: fraction of these with the suffix first, 0 to 1 [0.5] */
    int64_t fim_prefix;    /* PACKED: element before the prefix; with SLUICE_ID_FIM_PREFIX */
    int64_t fim_middle;    /* PACKED: element before the middle; with SLUICE_ID_FIM_MIDDLE */
    int64_t fim_suffix;    /* PACKED: element before the suffix; with SLUICE_ID_FIM_SUFFIX */
    const char *media;     /* PACKED: the second field of the documents [none] */
    uint64_t per_token;    /* PACKED: patches of `media` that take the space of one element, up to
                              2^20; 0: patches take no space [0] */
    uint64_t media_length; /* PACKED: largest number of patches of a row, up to 2^31 - 1 [length x
                              per_token, or length] */
} sluice_column;

#define SLUICE_COLUMN_INIT                                                                         \
    {                                                                                              \
        sizeof(sluice_column), 0, NULL, NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, {0}, NULL, 0, NULL, \
            NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, NULL, \
            0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, 0, 0, 0, 0, 0, NULL, 0, 0                 \
    }

/* Adds a column. Copies all strings and the recipe. Errors: INVALID, NOMEM. */
SLUICE_API sluice_status sluice_columns_add(sluice_columns *columns, const sluice_column *column);

/*
 * Describes the default column of field `field`, 0 or more, in a loader without `columns`: its
 * kind, field and name, a tensor's dtype and shape, and the dtype of numbers (0: the default of
 * `dtype`). An IMAGE uses the loader's recipe, dtype and layout and has no shape here; with a
 * recipe it can be added to sluice_columns. The names live as long as the dataset. END: the field
 * has no column, or only on request (see the head of this header). INVALID: the dataset has no such
 * field, or `column` is NULL or lacks its struct_size.
 */
SLUICE_API sluice_status sluice_dataset_natural_column(const sluice_dataset *dataset,
                                                       uint32_t field, sluice_column *column);

/* Shorthands for the most common columns; as sluice_columns_add. */
SLUICE_API sluice_status sluice_columns_image(sluice_columns *columns, const char *field,
                                              const sluice_augment *recipe, sluice_dtype dtype,
                                              sluice_layout layout);
SLUICE_API sluice_status sluice_columns_number(sluice_columns *columns, const char *field,
                                               sluice_dtype dtype);
SLUICE_API sluice_status sluice_columns_one_hot(sluice_columns *columns, const char *field,
                                                uint64_t classes, sluice_dtype dtype);
/* Adds a whole tensor, as stored. */
SLUICE_API sluice_status sluice_columns_tensor(sluice_columns *columns, const char *field);
/* Adds windows of `length` elements, one every `stride`. For targets shifted by one, add one window
 * of length + 1 and take two views of it, or add two columns with `offset` 0 and 1. */
SLUICE_API sluice_status sluice_columns_window(sluice_columns *columns, const char *field,
                                               uint64_t length, uint64_t stride,
                                               sluice_dtype dtype);
/* Add rows of at most `length` elements; a longer one is a bad sample. */
SLUICE_API sluice_status sluice_columns_ragged(sluice_columns *columns, const char *field,
                                               uint64_t length);
SLUICE_API sluice_status sluice_columns_padded(sluice_columns *columns, const char *field,
                                               uint64_t length);

/* Reports the first error and returns its status; OK if no call failed. */
SLUICE_API sluice_status sluice_columns_get_error(const sluice_columns *columns,
                                                  sluice_error *error);

#ifdef __cplusplus
}
#endif
#endif
