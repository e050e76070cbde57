/* SPDX-License-Identifier: Apache-2.0 */
/* The options of sluice_loader_options and sluice_column. */
#include "names.h"
#include "options_table.h"

#include <sluice/loader.h>

static const char *const picture_dtypes[] = {"u8", "f32", "f16", "bf16", NULL};
static const char *const layouts[] = {"nhwc", "nchw", NULL};
static const char *const shuffles[] = {"full", "block", "none", "shards", NULL};
static const char *const last_batches[] = {"drop", "pad", "short", "repeat", "wrap", NULL};
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
     .help = "rows per batch [256]"},
    {NUMBER(workers, 1, 1024), .keyword = "num_workers", .flag = "--workers", .value = "N",
     .help = "decoding threads [available CPUs]"},
    {WORD(dtype, picture_dtypes), .keyword = "dtype", .flag = "--dtype",
     .help = "image dtype; floats are normalised [u8]"},
    {WORD(layout, layouts), .keyword = "layout", .flag = "--layout",
     .help = "channels last or first [nhwc]"},
    {WORD(io_backend, io_backends), .keyword = "io", .flag = "--io",
     .help = "how files are read [auto]"},
    {WORD(page_cache, page_caches), .keyword = "page_cache", .flag = "--cache",
     .help = "use of the page cache [auto]"},
    {WORD(last_batch, last_batches), .keyword = "last_batch", .flag = "--last",
     .help = "handling of a partial last batch [drop]"},
    {WORD(shuffle, shuffles), .keyword = "shuffle", .flag = "--shuffle",
     .help = "order of an epoch [full]"},
    {NUMBER(block_samples, 1, UINT32_MAX), .keyword = "block_samples", .flag = "--block-samples",
     .value = "N", .help = "samples kept together by --shuffle block and shards [64; 16]"},
    {NUMBER(window_blocks, 1, UINT32_MAX), .keyword = "window_blocks", .flag = "--window-blocks",
     .value = "N", .help = "blocks mixed with each other by --shuffle block, shards [16; 1024]"},
    {NUMBER(window_bytes, INT64_C(1) << 20, UINT64_C(1) << 40), .unit = SLUICE_UNIT_BYTES,
     .keyword = "window_bytes", .flag = "--window-bytes", .value = "BYTES",
     .help = "memory limit of a window of --shuffle shards [256MiB]"},
    {TEXT(partners), .keyword = "partners", .flag = "--partners", .value = "RULES",
     .help = "rule for partner samples: any, same_class, other_class [any]"},
    {WORD(on_bad_sample, bad_samples), .keyword = "on_bad_sample", .flag = "--on-bad",
     .help = "action on a bad sample [fail]"},
    {TEXT(quarantine_path), .keyword = "quarantine", .flag = "--quarantine", .value = "FILE",
     .help = "append a line to FILE for each bad sample [none]"},
    {WORD(exif, exifs), .keyword = "exif", .flag = "--exif",
     .help = "orientation: as annotated, upright, or as stored [auto]"},
    {FLAG(exact), .keyword = "exact", .flag = "--exact",
     .help = "decode at full size even if the output is much smaller"},
    {FLAG(whole_samples), .keyword = "whole_samples", .flag = "--whole-samples",
     .help = "read whole samples even if only parts of tensors are used"},
    {FLAG(any_numa_node), .keyword = "any_numa_node", .flag = "--any-numa-node",
     .help = "let threads run on any NUMA node, not only that of --device's GPU"},
    {NUMBER(prefetch, 2, 64), .keyword = "prefetch_factor", .flag = "--prefetch", .value = "N",
     .help = "batches in host memory [4; more if they are small]"},
    {TEXT(device), .keyword = "device", .flag = "--device", .value = "DEVICE",
     .help = "where batches go: host, cuda[:N], auto [host]"},
    {NUMBER(device_slots, 2, 64), .keyword = "device_slots", .flag = "--device-slots", .value = "N",
     .help = "batches in device memory [3]"},
    {NUMBER(seed, 0, UINT64_MAX), .keyword = "seed", .flag = "--seed", .value = "S",
     .help = "seed of order and augmentation [0]"},
    {NUMBER(io_depth, 1, 512), .keyword = "io_depth", .flag = "--io-depth", .value = "N",
     .help = "reads in flight [32; remote data: at most 256]"},
    {NUMBER(io_threads, 1, 64), .keyword = "io_threads", .flag = "--io-threads", .value = "N",
     .help = "threads of --io pread and of unpacking [8]"},
    {NUMBER(read_buffer_bytes, INT64_C(1) << 20, UINT64_C(1) << 40), .unit = SLUICE_UNIT_BYTES,
     .keyword = "read_buffer_bytes", .flag = "--read-buffer", .value = "BYTES",
     .help = "memory for encoded samples [4 average ones, 32MiB to 1GiB]"},
    {NUMBER(max_sample_bytes, 1, UINT64_C(1) << 30), .unit = SLUICE_UNIT_BYTES,
     .keyword = "max_sample_bytes", .flag = "--max-sample", .value = "BYTES",
     .help = "largest accepted encoded sample [4x the average, 64MiB to 1GiB]"},
    {NUMBER(max_pixels, 1, UINT64_C(1) << 32), .keyword = "max_pixels", .flag = "--max-pixels",
     .value = "N", .help = "largest accepted image, in pixels [100000000]"},
    {NUMBER(memory_bytes, 0, UINT64_MAX), .unit = SLUICE_UNIT_BYTES, .keyword = "memory_bytes",
     .flag = "--memory", .value = "BYTES", .help = "limit on the loader's host memory [none]"},
    {NUMBER(resident_bytes, 0, UINT64_MAX), .unit = SLUICE_UNIT_BYTES, .keyword = "resident_bytes",
     .flag = "--resident", .value = "BYTES",
     .help = "keep up to BYTES of small samples; 1: never [1/16 free, max 1GiB]"},
    {NUMBER(stall_warn_ns, 1, UINT64_C(1) << 62), .unit = SLUICE_UNIT_NANOSECONDS,
     .keyword = "stall_warn", .flag = "--stall-warn", .value = "TIME",
     .help = "count a read pending longer than TIME as stalled [30s]"},
    {NUMBER(stall_fail_ns, 1, UINT64_C(1) << 62), .unit = SLUICE_UNIT_NANOSECONDS,
     .keyword = "stall_fail", .flag = "--stall-fail", .value = "TIME",
     .help = "fail the samples of a read pending longer than TIME [120s]"},
    {NUMBER(rank, 0, UINT32_MAX), .keyword = "rank", .flag = "--rank", .value = "N",
     .help = "index of this process, from 0 [0]"},
    {NUMBER(world_size, 1, 1 << 20), .keyword = "world_size", .flag = "--world-size", .value = "N",
     .help = "processes that share the dataset [1]"},
    {TEXT(buckets), .keyword = "buckets", .flag = "--buckets", .value = "SIZES",
     .help = "image sizes of batches: WIDTHxHEIGHT,... [none]"},
    {NUMBER(episode_classes, 0, 65536), .keyword = "episode", .flag = "--episode-classes",
     .value = "K", .help = "classes of a few-shot episode [no episodes]"},
    {NUMBER(episode_samples, 0, 65536), .keyword = "episode", .flag = "--episode-samples",
     .value = "N", .help = "samples per class of an episode, support plus query"},
    {NUMBER(episodes, 0, INT64_C(1) << 40), .keyword = "episodes", .flag = "--episodes",
     .value = "N", .help = "episodes per epoch [as many as the samples fill]"},
    {TEXT(weight_field), .keyword = "weights", .flag = "--weights", .value = "FIELD",
     .help = "draw samples by the weights in this field, with replacement [none]"},
    {NUMBER(weighted_samples, 0, INT64_C(1) << 40), .keyword = "num_samples",
     .flag = "--num-samples", .value = "N",
     .help = "samples per epoch that are drawn by weight or repeated [all]"},
    {TEXT(length_field), .keyword = "lengths", .flag = "--lengths", .value = "FIELD",
     .help = "batches of similar length, by this field [none]"},
    {NUMBER(length_groups, 1, UINT32_MAX), .keyword = "length_groups", .flag = "--length-groups",
     .value = "N", .help = "groups of similar length that batches are drawn from [50]"},
    {NUMBER(repeats, 0, 65536), .keyword = "repeats", .flag = "--repeat-samples", .value = "N",
     .help = "times each sample comes in an epoch, each with its own draws [1]"},
    {FLAG(level_rows), .keyword = "level", .flag = "--level",
     .help = "deal packed rows so that attention costs all ranks about the same"},
    {NUMBER(ignore_index, INT32_MIN, INT32_MAX), .keyword = "ignore_index", .value = "N",
     .help = "integer value in rows without a sample [-1]"},
    {NUMBER(end_epoch, 0, UINT64_MAX), .value = "N",
     .help = "first epoch that will not be requested [unknown]"},
};
const sl_options_table sl_loader_table = SL_TABLE(loader_rows);

#undef NUMBER
#undef WORD
#define NUMBER(member, from, to)   SL_NUMBER(sluice_column, member, from, to)
#define WORD(member, words, first) SL_WORD(sluice_column, member, words, first)
#define OF(kind)                   (UINT32_C(1) << SLUICE_COLUMN_##kind)
/* An element of documents, for which 0 is a valid value. */
#define ID(member, bit)                                                   \
    NUMBER(member, -(INT64_C(1) << 53), INT64_C(1) << 53),                \
        .kinds = OF(PACKED), .value = "ID", .given_bit = SLUICE_ID_##bit, \
        .given_offset = offsetof(sluice_column, ids)

static const char *const kinds[] = {"image",    "number",    "tensor", "window", "ragged",
                                    "padded",   "one_hot",   "mask",   "boxes",  "points",
                                    "geometry", "instances", "packed", NULL};
static const char *const box_formats[] = {"auto", "xyxy", "xywh", "cxcywh", NULL};
static const char *const coordinates[] = {"auto", "relative", "pixels", "indices", NULL};
static const char *const orientations[] = {"auto", "stored", "upright", NULL};
static const char *const interpolations[] = {"nearest", "bilinear", NULL};
static const char *const overlaps[] = {"last", "ignore", NULL};
static const char *const parts[] = {"whole", "center", "random", NULL};
static const char *const cuts[] = {"none", "long", "split", NULL};
static const char *const too_longs[] = {"bad", "truncate", NULL};
static const char *const missings[] = {"bad", "blank", NULL};

static const char *const sizes[] = {"one", "padded", "ragged", NULL};

#define LENGTHS  (OF(RAGGED) | OF(PADDED) | OF(BOXES) | OF(POINTS) | OF(INSTANCES))
#define PLACES   (OF(BOXES) | OF(POINTS))
#define OF_FIELD (~OF(GEOMETRY))

static const sluice_option column_rows[] = {
    {WORD(kind, kinds, SLUICE_COLUMN_IMAGE), .help = "what the field becomes"},
    {SL_TEXT(sluice_column, field), .kinds = OF_FIELD, .keyword = "field", .value = "FIELD",
     .help = "field of the dataset that the column is made of [of the column's name]"},
    {SL_ROW(sluice_column, dtype), .type = SLUICE_OPTION_WORD, .words = sl_dtype_names,
     .most = SLUICE_BOOL, .kinds = OF_FIELD, .keyword = "dtype",
     .help = "element type [depends on the kind]"},
    {WORD(layout, layouts, 0), .kinds = OF(IMAGE), .keyword = "layout",
     .help = "channels last or first [nhwc]"},
    {WORD(sizes, sizes, 0), .kinds = OF(IMAGE), .keyword = "sizes",
     .help = "image sizes in a batch: one, padded to the largest, or ragged [one]"},
    {NUMBER(max_width, 1, 65535), .kinds = OF(IMAGE), .value = "PIXELS",
     .help = "largest width with padded or ragged sizes [what the dataset needs]"},
    {NUMBER(max_height, 1, 65535), .kinds = OF(IMAGE), .value = "PIXELS",
     .help = "largest height with padded or ragged sizes [what the dataset needs]"},
    {NUMBER(length, 1, UINT64_MAX), .kinds = LENGTHS | OF(WINDOW) | OF(ONE_HOT) | OF(PACKED),
     .keyword = "length", .value = "N",
     .help = "elements per row; ragged, boxes, points: the maximum"},
    {NUMBER(partner, 0, SLUICE_PARTNERS_MAX),
     .kinds = OF(IMAGE) | OF(NUMBER) | OF(TENSOR) | OF(RAGGED) | OF(PADDED) | OF(ONE_HOT),
     .keyword = "partner", .value = "J",
     .help = "take the J-th partner sample [0: the row's own sample]"},
    {NUMBER(stride, 1, UINT64_MAX), .kinds = OF(WINDOW), .keyword = "stride", .value = "N",
     .help = "elements from one window to the next [length]"},
    {NUMBER(offset, 0, UINT64_MAX), .kinds = OF(WINDOW), .keyword = "offset", .value = "N",
     .help = "elements from a window's beginning to the column's first [0]"},
    {WORD(part, parts, 0), .kinds = OF(TENSOR), .keyword = "part",
     .help = "part to take of a larger tensor [whole]"},
    {WORD(too_long, too_longs, 0), .kinds = LENGTHS, .keyword = "too_long",
     .help = "action when a value has more elements: bad|truncate [bad]"},
    {WORD(missing, missings, 0), .kinds = OF_FIELD & ~OF(PACKED), .keyword = "missing",
     .help = "action when the field is missing: bad|blank [bad]"},
    {SL_TEXT(sluice_column, mixes), .kinds = OF(ONE_HOT), .keyword = "mixes", .value = "COLUMN",
     .help = "image column whose mixing the labels follow [none]"},
    {NUMBER(smoothing, 0, 1), .kinds = OF(ONE_HOT), .keyword = "smoothing", .value = "PART",
     .help = "fraction of a label that is spread over all classes [0]"},
    {SL_TEXT(sluice_column, follows), .kinds = LENGTHS | OF(MASK) | OF(GEOMETRY),
     .keyword = "follows", .value = "COLUMN",
     .help = "image or box column to follow [the boxes it belongs to, or the only image]"},
    {WORD(interpolation, interpolations, 0), .kinds = OF(MASK), .keyword = "interpolation",
     .help = "interpolation between pixels [nearest]"},
    {NUMBER(channels, 1, 64), .kinds = OF(MASK), .keyword = "channels", .value = "N",
     .help = "values per pixel [1]"},
    {NUMBER(fill, -(INT64_C(1) << 53), UINT64_C(1) << 53), .kinds = OF(MASK), .keyword = "fill",
     .value = "NUMBER", .help = "fill value outside the image [0]"},
    {WORD(box_format, box_formats, 0), .kinds = OF(BOXES), .keyword = "format",
     .help = "format of the stored boxes [the field's, or xyxy]"},
    {WORD(out_format, box_formats, 0), .kinds = OF(BOXES), .keyword = "out_format",
     .help = "format of the boxes in the batch [xyxy]"},
    {WORD(relative, coordinates, 0), .kinds = PLACES, .keyword = "relative",
     .help = "stored coordinates: 1 (relative), 0 (pixels) or indices [the field's]"},
    {WORD(orientation, orientations, 0), .kinds = PLACES | OF(MASK) | OF(INSTANCES),
     .keyword = "orientation",
     .help = "orientation of the image when it was annotated [the field's]"},
    {SL_FLAG(sluice_column, out_relative), .kinds = PLACES, .keyword = "out_relative",
     .help = "coordinates in the batch as fractions of the output's width and height"},
    {SL_FLAG(sluice_column, padded), .kinds = PLACES | OF(INSTANCES), .keyword = "padded",
     .help = "rows of `length`, padded with zeros, and NAME.lengths"},
    {SL_FLAG(sluice_column, at_least_one), .kinds = OF(BOXES), .keyword = "at_least_one",
     .help = "draw the recipe again if none of the sample's boxes is left"},
    {NUMBER(min_size, 0, 1 << 20), .kinds = OF(BOXES), .zero_is_meant = 1, .keyword = "min_size",
     .value = "PIXELS", .help = "drop boxes of a smaller width or height [1]"},
    {NUMBER(min_area, 0, INT64_C(1) << 40), .kinds = OF(BOXES), .zero_is_meant = 1,
     .keyword = "min_area", .value = "PIXELS", .help = "drop boxes of a smaller area [1]"},
    {NUMBER(min_visibility, 0, 1), .kinds = OF(BOXES), .keyword = "min_visibility", .value = "PART",
     .help = "drop boxes with a smaller visible fraction [0]"},
    {NUMBER(max_aspect, 1, 1 << 20), .kinds = OF(BOXES), .keyword = "max_aspect", .value = "RATIO",
     .help = "drop boxes of a larger aspect ratio [any]"},
    {NUMBER(point_values, 2, 3), .kinds = OF(POINTS), .keyword = "point_values", .value = "N",
     .help = "numbers per point; 3: with visibility [3, or 2]"},
    {SL_TEXT(sluice_column, shapes), .kinds = OF(BOXES), .keyword = "shapes", .value = "FIELD",
     .help = "shapes whose visible part gives the boxes [boxes are moved]"},
    {SL_TEXT(sluice_column, labels), .kinds = OF(MASK), .keyword = "labels", .value = "FIELD",
     .help = "class of each shape"},
    {SL_TEXT(sluice_column, crowds), .kinds = OF(MASK) | OF(BOXES), .keyword = "crowds",
     .value = "FIELD", .help = "field that is not 0 for crowds, which are dropped [none]"},
    {NUMBER(background, -(INT64_C(1) << 53), UINT64_C(1) << 53), .kinds = OF(MASK),
     .keyword = "background", .value = "NUMBER", .help = "value outside all shapes [0]"},
    {NUMBER(ignore, -(INT64_C(1) << 53), UINT64_C(1) << 53), .kinds = OF(MASK), .zero_is_meant = 1,
     .keyword = "ignore", .value = "NUMBER", .help = "value that a loss ignores [255]"},
    {WORD(overlap, overlaps, 0), .kinds = OF(MASK), .keyword = "overlap",
     .help = "value where shapes overlap [last]"},
    {NUMBER(pad, -(INT64_C(1) << 53), INT64_C(1) << 53), .kinds = OF(PACKED), .keyword = "pad",
     .value = "NUMBER", .help = "element where a row has no document [0]"},
    {WORD(cut, cuts, 0), .kinds = OF(PACKED), .keyword = "cut",
     .help = "documents to cut: none, those longer than a row, or where a row ends [none]"},
    {NUMBER(max_documents, 1, SLUICE_PACKED_DOCUMENTS_MAX), .kinds = OF(PACKED),
     .keyword = "max_documents", .value = "N", .help = "most documents of a row [32]"},
    {NUMBER(align, 1, 1 << 24), .kinds = OF(PACKED), .keyword = "align", .value = "N",
     .help = "begin each document at a multiple of N elements [1]"},
    {NUMBER(unit, 1, SLUICE_PACKED_DOCUMENTS_MAX), .kinds = OF(PACKED), .keyword = "unit",
     .value = "N", .help = "consecutive documents that stay in one row [1]"},
    {ID(bos, BOS), .keyword = "bos", .help = "element in front of each document [none]"},
    {ID(eos, EOS), .keyword = "eos", .help = "element behind each document [none]"},
    {SL_TEXT(sluice_column, mask), .kinds = OF(PACKED), .keyword = "mask", .value = "FIELD",
     .help = "which tokens are trained: a number for each, or runs [all]"},
    {NUMBER(fim_rate, 0, 1), .kinds = OF(PACKED), .value = "PART",
     .help = "fraction of documents with their middle moved to the end [0]"},
    {NUMBER(fim_spm, 0, 1), .kinds = OF(PACKED), .zero_is_meant = 1, .value = "PART",
     .help = "fraction of these with the suffix first [0.5]"},
    {ID(fim_prefix, FIM_PREFIX), .help = "element before the prefix [none]"},
    {ID(fim_middle, FIM_MIDDLE), .help = "element before the middle [none]"},
    {ID(fim_suffix, FIM_SUFFIX), .help = "element before the suffix [none]"},
    {SL_TEXT(sluice_column, media), .kinds = OF(PACKED), .keyword = "media", .value = "FIELD",
     .help = "second field of the documents, such as patches of images [none]"},
    {NUMBER(per_token, 0, 1 << 20), .kinds = OF(PACKED), .keyword = "per_token", .value = "N",
     .help = "patches of media that take a token's space; 0: none do [0]"},
    {NUMBER(media_length, 0, INT32_MAX), .kinds = OF(PACKED), .keyword = "media_length",
     .value = "N", .help = "most patches of a row [length, times per_token]"},
};
const sl_options_table sl_column_table = SL_TABLE(column_rows);
