/* SPDX-License-Identifier: Apache-2.0 */
/* Tests callers whose structs are smaller or larger than the library's. For every function that
 * fills a struct, at every size: the members that fit are filled and nothing past them is touched;
 * an unset size fails before anything is done. */
#include "loader_setup.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CLASSES = 2, PER_CLASS = 3, GUARD = 0xC3, BEHIND = 64 };

/* The objects that the functions work on. */
static struct {
    photo_folder photos;
    sluice_dataset *dataset;
    sluice_augment *recipe, *refused;
    sluice_loader *loader;
    sluice_batch *batch;
    char folder[256], packed[300], unpacked[300];
    uint32_t calls_back;
} f;

/* ---- the functions ---- */

static sluice_status fill_system(void *tagged)
{
    return sluice_system_get_info(tagged);
}

static sluice_status fill_option(void *tagged)
{
    return sluice_option_get(SLUICE_OPTIONS_LOADER, 0, tagged);
}

static sluice_status fill_ranks(void *tagged)
{
    return sluice_ranks_find(tagged, NULL);
}

static sluice_status fill_remote(void *tagged)
{
    return sluice_remote_get_stats(tagged);
}

static sluice_status fill_job_array(void *tagged)
{
    return sluice_job_array_find(tagged, 0, NULL);
}

static sluice_status fill_packing(void *tagged)
{
    static const uint64_t lengths[2] = {3, 4};
    sluice_packing_options options = SLUICE_PACKING_OPTIONS_INIT;
    options.length = 8;
    return sluice_packing_count(lengths, 2, &options, tagged, NULL);
}

static sluice_status fill_info(void *tagged)
{
    return sluice_dataset_get_info(f.dataset, tagged);
}

static sluice_status fill_field(void *tagged)
{
    return sluice_dataset_get_field(f.dataset, 0, tagged);
}

static sluice_status fill_left_out(void *tagged)
{
    return sluice_dataset_get_left_out(f.dataset, 0, tagged); /* a folder leaves nothing out */
}

static sluice_status fill_format(void *tagged)
{
    return sluice_dataset_format(0, tagged);
}

static sluice_status fill_sample(void *tagged)
{
    return sluice_dataset_get_sample(f.dataset, 3, tagged, NULL);
}

static void count_progress(void *user, uint64_t done, uint64_t total)
{
    (void)user;
    (void)done;
    (void)total;
    f.calls_back++;
}

static sluice_status fill_verified(void *tagged)
{
    sluice_verify_options options = SLUICE_VERIFY_OPTIONS_INIT;
    options.on_progress = count_progress;
    options.workers = 1;
    return sluice_dataset_verify(f.dataset, &options, tagged, NULL);
}

static sluice_status fill_packed(void *tagged)
{
    sluice_pack_options options = SLUICE_PACK_OPTIONS_INIT;
    options.overwrite = 1;
    options.workers = 1;
    options.skip_verify = 1;
    return sluice_pack(f.dataset, f.packed, &options, tagged, NULL);
}

static sluice_status fill_stats(void *tagged)
{
    return sluice_loader_get_stats(f.loader, tagged);
}

static sluice_status fill_stage(void *tagged)
{
    return sluice_loader_get_stage(f.loader, SLUICE_STAGE_DECODE, tagged);
}

static sluice_status fill_operation(void *tagged)
{
    return sluice_loader_get_operation(f.loader, 0, tagged);
}

static sluice_status fill_cache_verified(void *tagged)
{
    return sluice_cache_verify(f.folder, NULL, tagged, NULL); /* the folder has no cache */
}

static sluice_status fill_cache_emptied(void *tagged)
{
    return sluice_cache_empty(f.folder, NULL, NULL, tagged, NULL);
}

static sluice_status fail_cache_fill(void *tagged)
{
    return sluice_cache_fill(f.dataset, NULL, NULL, tagged); /* a local dataset */
}

static sluice_status fill_cache(void *tagged)
{
    return sluice_loader_get_cache(f.loader, 1, tagged);
}

static sluice_status fill_position(void *tagged)
{
    return sluice_loader_get_position(f.loader, tagged);
}

static sluice_status fill_slice(void *tagged)
{
    sluice_tensor whole = SLUICE_TENSOR_INIT;
    const sluice_status status = sluice_batch_tensor(f.batch, "image", &whole);
    return status == SLUICE_OK ? sluice_tensor_slice(&whole, 1, 1, tagged) : status;
}

static sluice_status fill_tensor(void *tagged)
{
    return sluice_batch_tensor(f.batch, "image", tagged);
}

static sluice_status fill_column(void *tagged)
{
    return sluice_batch_get_column(f.batch, 1, tagged);
}

static sluice_status fill_step(void *tagged)
{
    return sluice_augment_get_step(0, tagged);
}

static sluice_status fill_argument(void *tagged)
{
    return sluice_augment_get_argument(0, 2, tagged);
}

/* ---- and those that fill an error ---- */

static sluice_status fail_open(void *tagged)
{
    const char *path = "/nonexistent/dataset";
    sluice_dataset *dataset;
    return sluice_dataset_open(&dataset, &path, 1, NULL, tagged);
}

static sluice_status fail_sample(void *tagged)
{
    sluice_sample_info info = SLUICE_SAMPLE_INFO_INIT;
    return sluice_dataset_get_sample(f.dataset, 1000, &info, tagged);
}

static sluice_status fail_read(void *tagged)
{
    size_t bytes;
    return sluice_dataset_read(f.dataset, 0, "caption", NULL, 0, &bytes, tagged);
}

static sluice_status fail_verify(void *tagged)
{
    sluice_verify_options options = SLUICE_VERIFY_OPTIONS_INIT;
    sluice_verify_result result = SLUICE_VERIFY_RESULT_INIT;
    options.decode = 7;
    return sluice_dataset_verify(f.dataset, &options, &result, tagged);
}

static sluice_status fail_loader(void *tagged)
{
    sluice_loader *loader;
    return sluice_loader_open(&loader, f.dataset, f.refused, NULL, tagged);
}

static sluice_status fail_recipe(void *tagged)
{
    return sluice_augment_get_error(f.refused, tagged);
}

static sluice_status fail_epoch(void *tagged)
{
    (void)sluice_loader_start_epoch(f.loader, UINT64_MAX);
    return sluice_loader_get_error(f.loader, tagged);
}

static sluice_status fail_writer(void *tagged)
{
    sluice_writer_options options = SLUICE_WRITER_OPTIONS_INIT;
    sluice_writer *writer;
    options.shard_bytes = 1;
    return sluice_writer_open(&writer, f.packed, &options, tagged);
}

static sluice_writer *open_writer(void)
{
    sluice_writer_options options = SLUICE_WRITER_OPTIONS_INIT;
    sluice_writer *writer;
    options.overwrite = 1;
    assert_int_equal(sluice_writer_open(&writer, f.packed, &options, NULL), SLUICE_OK);
    return writer;
}

static sluice_status fail_add(void *tagged)
{
    const sluice_writer_sample none = SLUICE_WRITER_SAMPLE_INIT;
    sluice_writer *writer = open_writer();
    const sluice_status status = sluice_writer_add(writer, &none, tagged);
    sluice_writer_abort(writer);
    return status;
}

/* A writer whose folder is gone. If its error cannot be filled, the writer is not freed. */
static sluice_status fail_finish(void *tagged)
{
    uint32_t capacity;
    const uint8_t pixel[3] = {1, 2, 3};
    sluice_writer_sample sample = SLUICE_WRITER_SAMPLE_INIT;
    sample.image = pixel;
    sample.image_bytes = sizeof(pixel);
    sample.raw_width = sample.raw_height = 1;
    sluice_writer *writer = open_writer();
    assert_int_equal(sluice_writer_add(writer, &sample, NULL), SLUICE_OK);
    remove_tree(f.packed);
    memcpy(&capacity, tagged, sizeof(capacity));
    const sluice_status status = sluice_writer_finish(writer, tagged);
    if (capacity < sizeof(capacity)) {
        sluice_writer_abort(writer);
    }
    return status;
}

static sluice_status fill_unpacked(void *tagged)
{
    sluice_unpack_options options = SLUICE_UNPACK_OPTIONS_INIT;
    options.workers = 1;
    options.overwrite = 1;
    return sluice_unpack(f.dataset, f.unpacked, &options, tagged, NULL);
}

static sluice_status fail_option(void *tagged)
{
    sluice_loader_options options = SLUICE_LOADER_OPTIONS_INIT;
    return sluice_option_set(SLUICE_OPTIONS_LOADER, &options, "workers", "many", tagged);
}

static sluice_status fail_unpack(void *tagged)
{
    return sluice_unpack(f.dataset, NULL, NULL, NULL, tagged);
}

static sluice_status fail_pack(void *tagged)
{
    return sluice_pack(f.dataset, NULL, NULL, NULL, tagged);
}

static sluice_status fail_concat(void *tagged)
{
    sluice_dataset *joined;
    return sluice_dataset_concat(&joined, &f.dataset, 0, NULL, tagged);
}

static sluice_status fail_subset(void *tagged)
{
    sluice_subset_options options = SLUICE_SUBSET_OPTIONS_INIT;
    sluice_dataset *subset;
    options.ranges = "1000:";
    return sluice_dataset_subset(&subset, f.dataset, &options, tagged);
}

static sluice_status fail_mix(void *tagged)
{
    static const double none = 0;
    sluice_mix_options options = SLUICE_MIX_OPTIONS_INIT;
    sluice_dataset *mix;
    options.weights = &none;
    options.row_count = 1;
    return sluice_dataset_mix(&mix, &f.dataset, 1, &options, tagged);
}

static sluice_status fail_numbers(void *tagged)
{
    double values[CLASSES * PER_CLASS];
    return sluice_dataset_read_numbers(f.dataset, "caption", values, NULL, NULL, tagged);
}

static sluice_status fail_lengths(void *tagged)
{
    uint64_t lengths[CLASSES * PER_CLASS];
    return sluice_dataset_read_lengths(f.dataset, "caption", lengths, NULL, tagged);
}

static sluice_status fail_packing(void *tagged)
{
    static const uint64_t lengths[1] = {9};
    sluice_packing_options options = SLUICE_PACKING_OPTIONS_INIT;
    sluice_packing_report report = SLUICE_PACKING_REPORT_INIT;
    options.length = 8;
    return sluice_packing_count(lengths, 1, &options, &report, tagged);
}

static sluice_status fail_remote(void *tagged)
{
    sluice_remote_config config = SLUICE_REMOTE_CONFIG_INIT;
    config.endpoint = "nowhere";
    return sluice_remote_configure(&config, tagged);
}

static sluice_status fail_ranks(void *tagged)
{
    sluice_ranks ranks = SLUICE_RANKS_INIT;
    return sluice_ranks_divide(&ranks, 2, tagged);
}

static const struct filler {
    const char *name;
    sluice_status (*fill)(void *tagged);
    size_t size;
    sluice_status status;
    uint32_t step; /* step between sizes; slow functions are tried at fewer */
} fillers[] = {
    {"system_get_info", fill_system, sizeof(sluice_system), SLUICE_OK, 20},
    {"option_get", fill_option, sizeof(sluice_option), SLUICE_OK, 4},
    {"ranks_find", fill_ranks, sizeof(sluice_ranks), SLUICE_OK, 4},
    {"remote_get_stats", fill_remote, sizeof(sluice_remote_stats), SLUICE_OK, 4},
    {"packing_count", fill_packing, sizeof(sluice_packing_report), SLUICE_OK, 8},
    {"job_array_find", fill_job_array, sizeof(sluice_job_array), SLUICE_OK, 4},
    {"dataset_get_info", fill_info, sizeof(sluice_dataset_info), SLUICE_OK, 4},
    {"dataset_get_field", fill_field, sizeof(sluice_field), SLUICE_OK, 4},
    {"dataset_get_left_out", fill_left_out, sizeof(sluice_left_out), SLUICE_END, 4},
    {"dataset_format", fill_format, sizeof(sluice_format), SLUICE_OK, 4},
    {"dataset_get_sample", fill_sample, sizeof(sluice_sample_info), SLUICE_OK, 4},
    {"dataset_verify", fill_verified, sizeof(sluice_verify_result), SLUICE_OK, 4},
    {"pack", fill_packed, sizeof(sluice_pack_result), SLUICE_OK, 4},
    {"unpack", fill_unpacked, sizeof(sluice_unpack_result), SLUICE_OK, 12},
    {"loader_get_stats", fill_stats, sizeof(sluice_loader_stats), SLUICE_OK, 4},
    {"loader_get_stage", fill_stage, sizeof(sluice_stage_stats), SLUICE_OK, 4},
    {"loader_get_operation", fill_operation, sizeof(sluice_operation_stats), SLUICE_OK, 4},
    {"cache_verify", fill_cache_verified, sizeof(sluice_cache_result), SLUICE_OK, 4},
    {"cache_empty", fill_cache_emptied, sizeof(sluice_cache_result), SLUICE_OK, 4},
    {"error of cache_fill", fail_cache_fill, sizeof(sluice_error), SLUICE_INVALID, 4},
    {"loader_get_cache", fill_cache, sizeof(sluice_loader_cache), SLUICE_OK, 4},
    {"loader_get_position", fill_position, sizeof(sluice_loader_position), SLUICE_OK, 4},
    {"batch_tensor", fill_tensor, sizeof(sluice_tensor), SLUICE_OK, 4},
    {"tensor_slice", fill_slice, sizeof(sluice_tensor), SLUICE_OK, 4},
    {"batch_get_column", fill_column, sizeof(sluice_tensor), SLUICE_OK, 4},
    {"augment_get_step", fill_step, sizeof(sluice_augment_step), SLUICE_OK, 4},
    {"augment_get_argument", fill_argument, sizeof(sluice_augment_argument), SLUICE_OK, 4},
    {"error of dataset_open", fail_open, sizeof(sluice_error), SLUICE_IO, 4},
    {"error of dataset_get_sample", fail_sample, sizeof(sluice_error), SLUICE_INVALID, 4},
    {"error of dataset_read", fail_read, sizeof(sluice_error), SLUICE_INVALID, 4},
    {"error of dataset_verify", fail_verify, sizeof(sluice_error), SLUICE_INVALID, 4},
    {"error of loader_open", fail_loader, sizeof(sluice_error), SLUICE_INVALID, 4},
    {"augment_get_error", fail_recipe, sizeof(sluice_error), SLUICE_INVALID, 4},
    {"loader_get_error", fail_epoch, sizeof(sluice_error), SLUICE_INVALID, 4},
    {"error of writer_open", fail_writer, sizeof(sluice_error), SLUICE_INVALID, 4},
    {"error of writer_add", fail_add, sizeof(sluice_error), SLUICE_INVALID, 52},
    {"error of writer_finish", fail_finish, sizeof(sluice_error), SLUICE_IO, 108},
    {"error of pack", fail_pack, sizeof(sluice_error), SLUICE_INVALID, 4},
    {"error of dataset_concat", fail_concat, sizeof(sluice_error), SLUICE_INVALID, 4},
    {"error of dataset_subset", fail_subset, sizeof(sluice_error), SLUICE_INVALID, 4},
    {"error of dataset_mix", fail_mix, sizeof(sluice_error), SLUICE_INVALID, 4},
    {"error of dataset_read_numbers", fail_numbers, sizeof(sluice_error), SLUICE_INVALID, 4},
    {"error of dataset_read_lengths", fail_lengths, sizeof(sluice_error), SLUICE_INVALID, 4},
    {"error of packing_count", fail_packing, sizeof(sluice_error), SLUICE_INVALID, 4},
    {"error of remote_configure", fail_remote, sizeof(sluice_error), SLUICE_INVALID, 4},
    {"error of ranks_divide", fail_ranks, sizeof(sluice_error), SLUICE_INVALID, 4},
    {"error of option_set", fail_option, sizeof(sluice_error), SLUICE_INVALID, 4},
    {"error of unpack", fail_unpack, sizeof(sluice_error), SLUICE_INVALID, 4},
};

/* ---- the checks ---- */

static void *make_tagged(size_t size, uint32_t struct_size)
{
    uint8_t *made = malloc(size + BEHIND);
    assert_non_null(made);
    memset(made, GUARD, size + BEHIND);
    memcpy(made, &struct_size, sizeof(struct_size));
    return made;
}

/* Checks that nothing was written from `from` on. */
static void expect_untouched(const struct filler *filler, const uint8_t *bytes, size_t from)
{
    for (size_t i = from; i < filler->size + BEHIND; i++) {
        if (bytes[i] != GUARD) {
            fail_msg("%s wrote to byte %d of a struct of %d", filler->name, (int)i, (int)from);
        }
    }
}

static void check_size(const struct filler *filler, const uint8_t *whole, uint32_t struct_size)
{
    const size_t capacity = struct_size < filler->size ? struct_size : filler->size;
    uint8_t *bytes = make_tagged(filler->size, struct_size);
    uint32_t left;
    assert_int_equal(filler->fill(bytes), filler->status);
    memcpy(&left, bytes, sizeof(left));
    assert_int_equal(left, struct_size); /* the caller's value stays */
    if (memcmp(bytes + 4, whole + 4, capacity - 4) != 0) {
        fail_msg("%s does not fill a struct of %d as a whole one", filler->name, (int)struct_size);
    }
    expect_untouched(filler, bytes, capacity);
    free(bytes);
}

static void check_refusal(const struct filler *filler, uint32_t struct_size)
{
    uint8_t *bytes = make_tagged(filler->size, struct_size);
    if (filler->fill(bytes) != SLUICE_INVALID) {
        fail_msg("%s takes a struct of %d", filler->name, (int)struct_size);
    }
    expect_untouched(filler, bytes, sizeof(struct_size));
    free(bytes);
}

TEST(what_fits_is_filled)
{
    for (size_t i = 0; i < sizeof(fillers) / sizeof(fillers[0]); i++) {
        const struct filler *filler = &fillers[i];
        const uint32_t size = (uint32_t)filler->size;
        uint8_t *whole = make_tagged(filler->size, size);
        assert_int_equal(filler->fill(whole), filler->status);
        for (uint32_t capacity = 4; capacity < size; capacity += filler->step) {
            check_size(filler, whole, capacity);
        }
        check_size(filler, whole, size);
        check_size(filler, whole, size + BEHIND / 2); /* of a newer header */
        free(whole);
    }
}

TEST(a_size_that_is_not_set_is_refused)
{
    for (size_t i = 0; i < sizeof(fillers) / sizeof(fillers[0]); i++) {
        for (uint32_t size = 0; size < 4; size++) {
            check_refusal(&fillers[i], size);
        }
    }
}

/* Hours of packing, and then no struct for the result. */
TEST(nothing_is_done_before)
{
    sluice_verify_result verified = SLUICE_VERIFY_RESULT_INIT;
    sluice_pack_result packed = SLUICE_PACK_RESULT_INIT;
    sluice_error error = SLUICE_ERROR_INIT;
    if (access(f.packed, F_OK) == 0) {
        remove_tree(f.packed);
    }
    packed.struct_size = 0;
    assert_int_equal(sluice_pack(f.dataset, f.packed, NULL, &packed, &error), SLUICE_INVALID);
    assert_non_null(strstr(error.text, "sluice_pack_result"));
    assert_int_not_equal(access(f.packed, F_OK), 0);
    f.calls_back = 0;
    verified.struct_size = 0;
    assert_int_equal(fill_verified(&verified), SLUICE_INVALID);
    assert_int_equal(f.calls_back, 0);
    verified.struct_size = sizeof(verified);
    assert_int_equal(fill_verified(&verified), SLUICE_OK);
    assert_true(f.calls_back > 0); /* a call would have been noticed */
    assert_int_equal(sluice_dataset_verify(f.dataset, NULL, NULL, &error), SLUICE_INVALID);
    assert_non_null(strstr(error.text, "sluice_verify_result"));
}

/* Formats an error of an older header: no byte past it is read (a sanitizer would report it). */
TEST(errors_of_any_size_are_formatted)
{
    char text[64];
    for (uint32_t size = 4; size < sizeof(sluice_error); size += 4) {
        uint8_t *bytes = malloc(size);
        assert_non_null(bytes);
        memset(bytes, 'x', size);
        memcpy(bytes, &size, sizeof(size));
        (void)sluice_error_format((const sluice_error *)(const void *)bytes, text, sizeof(text));
        free(bytes);
    }
}

/* ---- what they work on ---- */

static int setup(void **state)
{
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_loader_options options = SLUICE_LOADER_OPTIONS_INIT;
    photo_folder_make(&f.photos, CLASSES, PER_CLASS);
    temporary_directory(f.folder, sizeof(f.folder));
    (void)snprintf(f.packed, sizeof(f.packed), "%s/packed", f.folder);
    (void)snprintf(f.unpacked, sizeof(f.unpacked), "%s/unpacked", f.folder);
    f.dataset = setup_dataset(f.photos.path);
    f.recipe = setup_recipe(false);
    f.refused = setup_recipe(false);
    (void)sluice_augment_random_flip(f.refused, 2);
    options.batch_size = CLASSES * PER_CLASS;
    options.end_epoch = 1; /* so that counting stops */
    sluice_batch *none;
    return sluice_loader_open(&f.loader, f.dataset, f.recipe, &options, &error) != SLUICE_OK ||
           sluice_loader_start_epoch(f.loader, 0) != SLUICE_OK ||
           sluice_loader_next(f.loader, &f.batch, -1) != SLUICE_OK ||
           sluice_loader_next(f.loader, &none, -1) != SLUICE_END;
}

static int teardown(void **state)
{
    sluice_batch_release(f.batch);
    sluice_loader_close(f.loader);
    sluice_augment_destroy(f.recipe);
    sluice_augment_destroy(f.refused);
    sluice_dataset_close(f.dataset);
    photo_folder_remove(&f.photos);
    remove_tree(f.folder);
    return 0;
}

TEST_GROUP(setup, teardown)
