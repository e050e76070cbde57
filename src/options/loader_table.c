/* SPDX-License-Identifier: Apache-2.0 */
/* What sluice_loader_options and sluice_column have. */
#include "names.h"
#include "options_table.h"

#include <sluice/loader.h>

static const char *const picture_dtypes[] = {"u8", "f32", "f16", "bf16", NULL};
static const char *const layouts[] = {"nhwc", "nchw", NULL};
static const char *const shuffles[] = {"full", "block", "none", "shards", NULL};
static const char *const last_batches[] = {"drop", "pad", "short", "repeat", NULL};
static const char *const bad_samples[] = {"fail", "replace", "mask", NULL};
static const char *const exifs[] = {"auto", "apply", "ignore", NULL};
static const char *const io_backends[] = {"auto", "uring", "pread", NULL};
static const char *const page_caches[] = {"auto", "buffered", "direct", "drop", NULL};

#define NUMBER(member, from, to) SL_NUMBER(sluice_loader_options, member, from, to)
#define FLAG(member)             SL_FLAG(sluice_loader_options, member)
#define WORD(member, words)      SL_WORD(sluice_loader_options, member, words, 0)
#define TEXT(member)             SL_TEXT(sluice_loader_options, member)

static const sluice_option loader_rows[] = {
    {NUMBER(batch_size, 1, 65536), .keyword = "batch_size", .flag = "--batch", .value = "ROWS",
     .help = "rows of a batch [256]"},
    {NUMBER(workers, 1, 1024), .keyword = "num_workers", .flag = "--workers", .value = "N",
     .help = "decoding threads [the processors]"},
    {WORD(dtype, picture_dtypes), .keyword = "dtype", .flag = "--dtype",
     .help = "of the pictures; floating ones are normalised [u8]"},
    {WORD(layout, layouts), .keyword = "layout", .flag = "--layout",
     .help = "channels last or first [nhwc]"},
    {WORD(io_backend, io_backends), .keyword = "io", .flag = "--io",
     .help = "how files are read [auto]"},
    {WORD(page_cache, page_caches), .keyword = "page_cache", .flag = "--cache",
     .help = "use of the page cache [auto]"},
    {WORD(last_batch, last_batches), .keyword = "last_batch", .flag = "--last",
     .help = "an epoch's last batch, where it is not full [drop]"},
    {WORD(shuffle, shuffles), .keyword = "shuffle", .flag = "--shuffle",
     .help = "order of an epoch [full]"},
    {NUMBER(block_samples, 1, UINT32_MAX), .keyword = "block_samples", .flag = "--block-samples",
     .value = "N", .help = "samples that --shuffle block and shards keep together [64; 16]"},
    {NUMBER(window_blocks, 1, UINT32_MAX), .keyword = "window_blocks", .flag = "--window-blocks",
     .value = "N", .help = "blocks that --shuffle block and shards mix with each other [16; 1024]"},
    {NUMBER(window_bytes, INT64_C(1) << 20, UINT64_C(1) << 40), .unit = SLUICE_UNIT_BYTES,
     .keyword = "window_bytes", .flag = "--window-bytes", .value = "BYTES",
     .help = "what a window of --shuffle shards takes at most [256MiB]"},
    {TEXT(partners), .keyword = "partners", .flag = "--partners", .value = "RULES",
     .help = "of rows of several samples: any, same_class, other_class, by partner [any]"},
    {WORD(on_bad_sample, bad_samples), .keyword = "on_bad_sample", .flag = "--on-bad",
     .help = "what a bad sample does [fail]"},
    {TEXT(quarantine_path), .keyword = "quarantine", .flag = "--quarantine", .value = "FILE",
     .help = "append a line to FILE for each bad sample"},
    {WORD(exif, exifs), .keyword = "exif", .flag = "--exif",
     .help = "way up of images: as annotated, upright, or as stored [auto]"},
    {FLAG(exact), .keyword = "exact", .flag = "--exact",
     .help = "decode at full size also what becomes much smaller"},
    {FLAG(whole_samples), .keyword = "whole_samples", .flag = "--whole-samples",
     .help = "read samples whole also where only parts of their tensors are taken"},
    {FLAG(any_numa_node), .keyword = "any_numa_node", .flag = "--any-numa-node",
     .help = "threads run anywhere, and not only on the NUMA node of --device's GPU"},
    {NUMBER(prefetch, 2, 64), .keyword = "prefetch_factor", .flag = "--prefetch", .value = "N",
     .help = "batches in host memory [4; more of small ones]"},
    {TEXT(device), .keyword = "device", .flag = "--device", .value = "DEVICE",
     .help = "where batches go: host, cuda, cuda:N or auto [host]"},
    {NUMBER(device_slots, 2, 64), .keyword = "device_slots", .flag = "--device-slots", .value = "N",
     .help = "batches in device memory [3]"},
    {NUMBER(seed, 0, UINT64_MAX), .keyword = "seed", .flag = "--seed", .value = "S",
     .help = "of order and augmentation [0]"},
    {NUMBER(io_depth, 1, 512), .keyword = "io_depth", .flag = "--io-depth", .value = "N",
     .help = "reads in flight [32]"},
    {NUMBER(io_threads, 1, 64), .keyword = "io_threads", .flag = "--io-threads", .value = "N",
     .help = "threads of --io pread, and to unpack compressed files [8]"},
    {NUMBER(read_buffer_bytes, INT64_C(1) << 20, UINT64_C(1) << 40), .unit = SLUICE_UNIT_BYTES,
     .keyword = "read_buffer_bytes", .flag = "--read-buffer", .value = "BYTES",
     .help = "memory for encoded samples [by their size, 32MiB to 1GiB]"},
    {NUMBER(max_sample_bytes, 1, UINT64_C(1) << 30), .unit = SLUICE_UNIT_BYTES,
     .keyword = "max_sample_bytes", .flag = "--max-sample", .value = "BYTES",
     .help = "a larger encoded sample is a bad one [four average ones, 64MiB to 1GiB]"},
    {NUMBER(max_pixels, 1, UINT64_C(1) << 32), .keyword = "max_pixels", .flag = "--max-pixels",
     .value = "N", .help = "a larger picture is a bad sample [100000000]"},
    {NUMBER(memory_bytes, 0, UINT64_MAX), .unit = SLUICE_UNIT_BYTES, .keyword = "memory_bytes",
     .flag = "--memory", .value = "BYTES", .help = "host memory of the loader [no limit]"},
    {NUMBER(resident_bytes, 0, UINT64_MAX), .unit = SLUICE_UNIT_BYTES, .keyword = "resident_bytes",
     .flag = "--resident", .value = "BYTES",
     .help = "a dataset of small samples up to this is kept in memory; 1: none is "
             "[a sixteenth of what is free, at most 1GiB]"},
    {NUMBER(stall_warn_ns, 1, UINT64_C(1) << 62), .unit = SLUICE_UNIT_NANOSECONDS,
     .keyword = "stall_warn", .flag = "--stall-warn", .value = "TIME",
     .help = "a read older than this is counted as stalled [30s]"},
    {NUMBER(stall_fail_ns, 1, UINT64_C(1) << 62), .unit = SLUICE_UNIT_NANOSECONDS,
     .keyword = "stall_fail", .flag = "--stall-fail", .value = "TIME",
     .help = "a read older than this fails its samples [120s]"},
    {NUMBER(rank, 0, UINT32_MAX), .keyword = "rank", .flag = "--rank", .value = "N",
     .help = "which of several processes this is, from 0 [0]"},
    {NUMBER(world_size, 1, 1 << 20), .keyword = "world_size", .flag = "--world-size", .value = "N",
     .help = "processes that share the dataset [1]"},
    {TEXT(buckets), .keyword = "buckets", .flag = "--buckets", .value = "WIDTHxHEIGHT,...",
     .help = "sizes of batches, each with pictures of about that aspect ratio [none]"},
    {NUMBER(episode_classes, 0, 65536), .keyword = "episode", .flag = "--episode-classes",
     .value = "K", .help = "few-shot learning: classes of an episode [none]"},
    {NUMBER(episode_samples, 0, 65536), .keyword = "episode", .flag = "--episode-samples",
     .value = "N", .help = "samples of each class of an episode, support and query together"},
    {NUMBER(episodes, 0, INT64_C(1) << 40), .keyword = "episodes", .flag = "--episodes",
     .value = "N", .help = "of an epoch [as many as the dataset's samples make]"},
    {NUMBER(ignore_index, INT32_MIN, INT32_MAX), .keyword = "ignore_index", .value = "N",
     .help = "what columns of integers have in rows without a sample [-1]"},
    {NUMBER(end_epoch, 0, UINT64_MAX), .value = "N",
     .help = "the first epoch that will not be asked for [unknown]"},
};
const sl_options_table sl_loader_table = SL_TABLE(loader_rows);

#undef NUMBER
#undef WORD
#define NUMBER(member, from, to)   SL_NUMBER(sluice_column, member, from, to)
#define WORD(member, words, first) SL_WORD(sluice_column, member, words, first)
#define OF(kind)                   (UINT32_C(1) << SLUICE_COLUMN_##kind)

static const char *const kinds[] = {"image",    "number",    "tensor", "window", "ragged",
                                    "padded",   "one_hot",   "mask",   "boxes",  "points",
                                    "geometry", "instances", NULL};
static const char *const box_formats[] = {"auto", "xyxy", "xywh", "cxcywh", NULL};
static const char *const coordinates[] = {"auto", "relative", "pixels", "indices", NULL};
static const char *const orientations[] = {"auto", "stored", "upright", NULL};
static const char *const interpolations[] = {"nearest", "bilinear", NULL};
static const char *const overlaps[] = {"last", "ignore", NULL};
static const char *const parts[] = {"whole", "center", "random", NULL};
static const char *const too_longs[] = {"bad", "truncate", NULL};
static const char *const missings[] = {"bad", "blank", NULL};

static const char *const sizes[] = {"one", "padded", "ragged", NULL};

#define LENGTHS (OF(RAGGED) | OF(PADDED) | OF(BOXES) | OF(POINTS) | OF(INSTANCES))
#define PLACES  (OF(BOXES) | OF(POINTS))

static const sluice_option column_rows[] = {
    {WORD(kind, kinds, SLUICE_COLUMN_IMAGE), .help = "what is made of the field"},
    {SL_ROW(sluice_column, dtype), .type = SLUICE_OPTION_WORD, .words = sl_dtype_names,
     .most = SLUICE_BOOL, .keyword = "dtype", .help = "of its elements [as its kind says]"},
    {WORD(layout, layouts, 0), .kinds = OF(IMAGE), .keyword = "layout",
     .help = "channels last or first [nhwc]"},
    {WORD(sizes, sizes, 0), .kinds = OF(IMAGE), .keyword = "sizes",
     .help = "of the pictures of a batch: one, padded to the largest, or ragged [one]"},
    {NUMBER(max_width, 1, 65535), .kinds = OF(IMAGE), .value = "PIXELS",
     .help = "of a picture where sizes are padded or ragged"},
    {NUMBER(max_height, 1, 65535), .kinds = OF(IMAGE), .value = "PIXELS",
     .help = "of a picture where sizes are padded or ragged"},
    {NUMBER(length, 1, UINT64_MAX), .kinds = LENGTHS | OF(WINDOW) | OF(ONE_HOT),
     .keyword = "length", .value = "N",
     .help = "elements of a row; ragged, boxes, points: at most"},
    {NUMBER(partner, 0, SLUICE_PARTNERS_MAX),
     .kinds = OF(IMAGE) | OF(NUMBER) | OF(TENSOR) | OF(RAGGED) | OF(PADDED) | OF(ONE_HOT),
     .keyword = "partner", .value = "J",
     .help = "of the J-th partner of the row's sample [0: of its own]"},
    {NUMBER(stride, 1, UINT64_MAX), .kinds = OF(WINDOW), .keyword = "stride", .value = "N",
     .help = "elements from one window to the next [length]"},
    {NUMBER(offset, 0, UINT64_MAX), .kinds = OF(WINDOW), .keyword = "offset", .value = "N",
     .help = "elements from a window's beginning to the column's first [0]"},
    {WORD(part, parts, 0), .kinds = OF(TENSOR), .keyword = "part",
     .help = "which part of a larger tensor [whole]"},
    {WORD(too_long, too_longs, 0), .kinds = LENGTHS, .keyword = "too_long",
     .help = "what a value of more elements is [bad]"},
    {WORD(missing, missings, 0), .keyword = "missing",
     .help = "what a sample without the field is [bad]"},
    {SL_TEXT(sluice_column, mixes), .kinds = OF(ONE_HOT), .keyword = "mixes", .value = "COLUMN",
     .help = "labels are mixed as the pictures of COLUMN are [not]"},
    {NUMBER(smoothing, 0, 1), .kinds = OF(ONE_HOT), .keyword = "smoothing", .value = "PART",
     .help = "what of a label is spread over all classes [0]"},
    {SL_TEXT(sluice_column, follows), .kinds = LENGTHS | OF(MASK) | OF(GEOMETRY),
     .keyword = "follows", .value = "COLUMN",
     .help =
         "the image, or the boxes, that it goes by [the boxes it belongs to, or the only image]"},
    {WORD(interpolation, interpolations, 0), .kinds = OF(MASK), .keyword = "interpolation",
     .help = "what is between pixels [nearest]"},
    {NUMBER(channels, 1, 64), .kinds = OF(MASK), .keyword = "channels", .value = "N",
     .help = "values of a pixel [1]"},
    {NUMBER(fill, -(INT64_C(1) << 53), UINT64_C(1) << 53), .kinds = OF(MASK), .keyword = "fill",
     .value = "NUMBER", .help = "what is beside the picture [0]"},
    {WORD(box_format, box_formats, 0), .kinds = OF(BOXES), .keyword = "format",
     .help = "of the stored boxes [the field's, or xyxy]"},
    {WORD(out_format, box_formats, 0), .kinds = OF(BOXES), .keyword = "out_format",
     .help = "of the batch's boxes [xyxy]"},
    {WORD(relative, coordinates, 0), .kinds = PLACES, .keyword = "relative",
     .help = "coordinates as stored: 1 (relative), 0 (pixels) or indices [the field's]"},
    {WORD(orientation, orientations, 0), .kinds = PLACES | OF(MASK) | OF(INSTANCES),
     .keyword = "orientation",
     .help = "way up of the image that it was annotated in [the field's]"},
    {SL_FLAG(sluice_column, out_relative), .kinds = PLACES, .keyword = "out_relative",
     .help = "in the batch as shares of the output's width and height"},
    {SL_FLAG(sluice_column, padded), .kinds = PLACES | OF(INSTANCES), .keyword = "padded",
     .help = "rows of `length`, with zeros behind, and NAME.lengths"},
    {SL_FLAG(sluice_column, at_least_one), .kinds = OF(BOXES), .keyword = "at_least_one",
     .help = "the recipe is drawn again where it leaves none of the sample's boxes"},
    {NUMBER(min_size, 0, 1 << 20), .kinds = OF(BOXES), .keyword = "min_size", .value = "PIXELS",
     .help = "a smaller width or height is left out [1]"},
    {NUMBER(min_area, 0, INT64_C(1) << 40), .kinds = OF(BOXES), .keyword = "min_area",
     .value = "PIXELS", .help = "a smaller box is left out [1]"},
    {NUMBER(min_visibility, 0, 1), .kinds = OF(BOXES), .keyword = "min_visibility", .value = "PART",
     .help = "of a box, that has to be seen [0]"},
    {NUMBER(max_aspect, 1, 1 << 20), .kinds = OF(BOXES), .keyword = "max_aspect", .value = "RATIO",
     .help = "a longer box is left out [any]"},
    {NUMBER(point_values, 2, 3), .kinds = OF(POINTS), .keyword = "point_values", .value = "N",
     .help = "numbers of a point; 3: with visibility [3, or 2]"},
    {SL_TEXT(sluice_column, shapes), .kinds = OF(BOXES), .keyword = "shapes", .value = "FIELD",
     .help = "boxes are made anew of what is seen of these shapes [they are moved]"},
    {SL_TEXT(sluice_column, labels), .kinds = OF(MASK), .keyword = "labels", .value = "FIELD",
     .help = "of shapes: the class of each"},
    {SL_TEXT(sluice_column, crowds), .kinds = OF(MASK) | OF(BOXES), .keyword = "crowds",
     .value = "FIELD", .help = "not 0 where one is a crowd, to be left out [none is]"},
    {NUMBER(background, -(INT64_C(1) << 53), UINT64_C(1) << 53), .kinds = OF(MASK),
     .keyword = "background", .value = "NUMBER", .help = "of shapes: what none covers [0]"},
    {NUMBER(ignore, -(INT64_C(1) << 53), UINT64_C(1) << 53), .kinds = OF(MASK), .keyword = "ignore",
     .value = "NUMBER", .help = "of shapes: what a loss leaves out [255]"},
    {WORD(overlap, overlaps, 0), .kinds = OF(MASK), .keyword = "overlap",
     .help = "of shapes: what several of them cover [last]"},
};
const sl_options_table sl_column_table = SL_TABLE(column_rows);
