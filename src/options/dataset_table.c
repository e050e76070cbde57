/* SPDX-License-Identifier: Apache-2.0 */
/* The options for opening, verifying, writing, packing and unpacking datasets. */
#include "options_table.h"

#include <sluice/unpack.h>

#define WORKERS_MOST      1024
#define SHARD_BYTES_LEAST (INT64_C(1) << 20)
#define SHARD_BYTES_MOST  (UINT64_C(1) << 40)
#define SAMPLE_BYTES_MOST INT32_MAX
#define ZSTD_LEVEL_MOST   19
#define TILE_MCUS_MOST    65535 /* the maximum of the JPEG format */
#define SIDE_MOST         65500 /* likewise */
#define PARTS_MOST        65535

#define ON_BAD_HELP "action on bad or unreadable samples [fail]"

static const char *const bad_words[] = {"fail", "skip", "skip-all", NULL};
static const char *const metadata_words[] = {"keep", "drop", NULL};
static const char *const form_words[] = {"folder", "tar", NULL};

/* Programs may also set flags to numbers other than 1, which was never refused. */
#define LOOSE_FLAG .type = SLUICE_OPTION_FLAG, .most = UINT32_MAX

/* ---- sluice_dataset_options ---- */

#define NUMBER(member, from, to) SL_NUMBER(sluice_dataset_options, member, from, to)
#define FLAG(member)             SL_FLAG(sluice_dataset_options, member)

static const sluice_option dataset_rows[] = {
    {SL_ROW(sluice_dataset_options, allow_case_duplicates), LOOSE_FLAG,
     .keyword = "allow_case_duplicates", .flag = "--allow-case-duplicates",
     .help = "accept class folders whose names differ only in case"},
    {FLAG(allow_empty_classes), .keyword = "allow_empty_classes", .flag = "--allow-empty-classes",
     .help = "accept class folders without images as classes"},
    {FLAG(allow_outside), .keyword = "allow_outside", .flag = "--allow-outside",
     .help = "allow file lists to name files outside the list's folder"},
    {SL_TEXT(sluice_dataset_options, unpacked_dir), .keyword = "unpacked_dir",
     .flag = "--unpacked-dir", .value = "FOLDER",
     .help = "unpack compressed files to FOLDER once, and read them there [none]"},
    {SL_TEXT(sluice_dataset_options, split), .keyword = "split", .flag = "--split", .value = "NAME",
     .help = "split to open: train, val, test or another name"},
    {NUMBER(memory_bytes, 0, UINT64_MAX), .unit = SLUICE_UNIT_BYTES, .keyword = "memory_bytes",
     .flag = "--open-memory", .value = "BYTES",
     .help = "memory limit for opening a dataset [half of available, max 8GiB]"},
};
const sl_options_table sl_dataset_table = SL_TABLE(dataset_rows);

/* ---- sluice_verify_options ---- */

#undef NUMBER
#undef FLAG
#define NUMBER(member, from, to) SL_NUMBER(sluice_verify_options, member, from, to)
#define FLAG(member)             SL_FLAG(sluice_verify_options, member)

static const sluice_option verify_rows[] = {
    {FLAG(decode), .keyword = "decode", .flag = "--decode",
     .help = "also decode every image, unpack every frame"},
    {NUMBER(workers, 1, WORKERS_MOST), .keyword = "workers", .flag = "--workers", .value = "N",
     .help = "threads [available CPUs]"},
    {NUMBER(part, 0, UINT32_MAX), .value = "N", .help = "index of this process's part [0]"},
    {NUMBER(parts, 0, UINT32_MAX), .value = "N", .help = "number of parts [1]"},
    {NUMBER(max_sample_bytes, 1, SAMPLE_BYTES_MOST), .unit = SLUICE_UNIT_BYTES,
     .keyword = "max_sample_bytes", .flag = "--max-sample", .value = "BYTES",
     .help = "largest accepted sample [1GiB]"},
};
const sl_options_table sl_verify_table = SL_TABLE(verify_rows);

/* ---- sluice_writer_options ---- */

#undef NUMBER
#undef FLAG
#define NUMBER(member, from, to) SL_NUMBER(sluice_writer_options, member, from, to)
#define FLAG(member)             SL_FLAG(sluice_writer_options, member)

static const sluice_option writer_rows[] = {
    {NUMBER(zstd_level, SLUICE_ZSTD_OFF, ZSTD_LEVEL_MOST), .keyword = "zstd", .value = "LEVEL",
     .help = "compress at level 1..19; -1: never [auto: if worthwhile]"},
    {NUMBER(shard_bytes, SHARD_BYTES_LEAST, SHARD_BYTES_MOST), .unit = SLUICE_UNIT_BYTES,
     .keyword = "shard_bytes", .value = "BYTES", .help = "maximum size of a shard [256MiB]"},
    {SL_ROW(sluice_writer_options, overwrite), LOOSE_FLAG, .keyword = "overwrite",
     .help = "remove an earlier dataset's shards in the folder"},
    {FLAG(keep_bytes), .keyword = "keep_bytes",
     .help = "store JPEGs unchanged [re-tiled losslessly]"},
    {SL_WORD(sluice_writer_options, jpeg_metadata, metadata_words, 0),
     .help = "EXIF, ICC profiles and so on of re-tiled JPEGs [keep]"},
    {NUMBER(tile_mcus, 1, TILE_MCUS_MOST), .value = "N",
     .help = "MCUs (8 to 32 pixels) between restart markers [chosen per image]"},
};
const sl_options_table sl_writer_table = SL_TABLE(writer_rows);

/* ---- sluice_pack_options ---- */

#undef NUMBER
#undef FLAG
#define NUMBER(member, from, to) SL_NUMBER(sluice_pack_options, member, from, to)
#define FLAG(member)             SL_FLAG(sluice_pack_options, member)
#define WORD(member, words)      SL_WORD(sluice_pack_options, member, words, 0)

static const sluice_option pack_rows[] = {
    {NUMBER(shard_bytes, SHARD_BYTES_LEAST, SHARD_BYTES_MOST), .unit = SLUICE_UNIT_BYTES,
     .keyword = "shard_bytes", .flag = "--shard-size", .value = "BYTES",
     .help = "approximate size of a shard [256MiB]"},
    {NUMBER(workers, 1, WORKERS_MOST), .keyword = "workers", .flag = "--workers", .value = "N",
     .help = "threads [available CPUs]"},
    {NUMBER(seed, 0, UINT64_MAX), .keyword = "seed", .flag = "--seed", .value = "S",
     .help = "seed of the order in shards [0]"},
    {FLAG(keep_order), .keyword = "keep_order", .flag = "--keep-order",
     .help = "write in dataset order (compressed tars: always) [shuffled]"},
    {FLAG(keep_bytes), .keyword = "keep_bytes", .flag = "--keep-bytes",
     .help = "store JPEGs unchanged [re-tiled losslessly]"},
    {WORD(jpeg_metadata, metadata_words), .keyword = "metadata", .flag = "--metadata",
     .help = "EXIF, ICC profiles and so on of re-tiled JPEGs [keep]"},
    {NUMBER(tile_mcus, 1, TILE_MCUS_MOST), .flag = "--tile-mcus", .value = "N",
     .help = "MCUs (8 to 32 pixels) between restart markers [chosen per image]"},
    {WORD(on_bad, bad_words), .keyword = "on_bad_sample", .flag = "--on-bad", .help = ON_BAD_HELP},
    {FLAG(overwrite), .keyword = "overwrite", .flag = "--overwrite",
     .help = "remove an earlier pack's output in OUT and start over"},
    {FLAG(skip_verify), .flag = "--no-verify", .help = "do not read back the written shards"},
    {FLAG(append), .keyword = "append", .flag = "--append",
     .help = "add to the dataset in OUT (--labels union: with other classes)"},
    {FLAG(raw), .keyword = "raw", .flag = "--raw",
     .help = "store decoded pixels: nothing to decode later, more to read"},
    {NUMBER(raw_share, 0, 1), .keyword = "raw_share", .flag = "--raw-share", .value = "P",
     .help = "fraction of samples to store as pixels [0]"},
    {NUMBER(max_side, 1, SIDE_MOST), .keyword = "max_side", .flag = "--max-side", .value = "PIXELS",
     .help = "downscale and re-encode images of a longer side (lossy) [off]"},
    {NUMBER(quality, 1, 100), .keyword = "quality", .flag = "--quality", .value = "Q",
     .help = "JPEG quality of images that --max-side re-encodes [90]"},
    {NUMBER(zstd_level, SLUICE_ZSTD_OFF, ZSTD_LEVEL_MOST), .keyword = "zstd", .flag = "--zstd",
     .value = "LEVEL", .help = "compress at level 1..19; -1: never [auto: if worthwhile]"},
    {NUMBER(part, 0, UINT32_MAX), .value = "N", .help = "index of this process's part [0]"},
    {NUMBER(parts, 1, PARTS_MOST), .value = "N", .help = "number of parts [1]"},
    {NUMBER(max_sample_bytes, 1, SAMPLE_BYTES_MOST), .unit = SLUICE_UNIT_BYTES,
     .keyword = "max_sample_bytes", .flag = "--max-sample", .value = "BYTES",
     .help = "largest accepted sample [2GiB]"},
};
const sl_options_table sl_pack_table = SL_TABLE(pack_rows);

/* ---- sluice_unpack_options ---- */

#undef NUMBER
#undef FLAG
#undef WORD
#define NUMBER(member, from, to) SL_NUMBER(sluice_unpack_options, member, from, to)
#define WORD(member, words)      SL_WORD(sluice_unpack_options, member, words, 0)

static const sluice_option unpack_rows[] = {
    {WORD(form, form_words), .help = "a folder of files, or WebDataset tars [folder]"},
    {NUMBER(shard_bytes, SHARD_BYTES_LEAST, SHARD_BYTES_MOST), .unit = SLUICE_UNIT_BYTES,
     .keyword = "shard_bytes", .flag = "--shard-size", .value = "BYTES",
     .help = "approximate size of a tar [256MiB]"},
    {NUMBER(shard_samples, 1, UINT64_MAX), .keyword = "shard_samples", .flag = "--shard-samples",
     .value = "N", .help = "maximum number of samples per tar [as many as fit]"},
    {NUMBER(workers, 1, WORKERS_MOST), .keyword = "workers", .flag = "--workers", .value = "N",
     .help = "threads [available CPUs]"},
    {WORD(on_bad, bad_words), .keyword = "on_bad_sample", .flag = "--on-bad", .help = ON_BAD_HELP},
    {SL_FLAG(sluice_unpack_options, overwrite), .keyword = "overwrite", .flag = "--overwrite",
     .help = "replace the folder of an earlier unpack, with all its contents"},
    {NUMBER(max_sample_bytes, 1, SAMPLE_BYTES_MOST), .unit = SLUICE_UNIT_BYTES,
     .keyword = "max_sample_bytes", .flag = "--max-sample", .value = "BYTES",
     .help = "largest accepted sample [1GiB]"},
};
const sl_options_table sl_unpack_table = SL_TABLE(unpack_rows);
