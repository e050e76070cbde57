/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles every _INIT as C++. It must set only the size and the values for "not known". */
#include <sluice/sluice.h>

#include <cstdio>
#include <cstring>

static int wrong;

static void expect(bool good, const char *what)
{
    if (!good) {
        std::fprintf(stderr, "%s\n", what);
        wrong++;
    }
}

template <typename T> static void check(const T &made, const char *name)
{
    expect(made.struct_size == sizeof(T), name);
}

static void check_all()
{
    const sluice_error error = SLUICE_ERROR_INIT;
    const sluice_tensor tensor = SLUICE_TENSOR_INIT;
    const sluice_system system = SLUICE_SYSTEM_INIT;
    const sluice_option option = SLUICE_OPTION_INIT;
    const sluice_ranks ranks = SLUICE_RANKS_INIT;
    const sluice_job_array job_array = SLUICE_JOB_ARRAY_INIT;
    const sluice_cache_options cache_options = SLUICE_CACHE_OPTIONS_INIT;
    const sluice_cache_entry cache_entry = SLUICE_CACHE_ENTRY_INIT;
    const sluice_cache_result cache_result = SLUICE_CACHE_RESULT_INIT;
    const sluice_column column = SLUICE_COLUMN_INIT;
    const sluice_dataset_options dataset_options = SLUICE_DATASET_OPTIONS_INIT;
    const sluice_dataset_info dataset_info = SLUICE_DATASET_INFO_INIT;
    const sluice_concat_options concat_options = SLUICE_CONCAT_OPTIONS_INIT;
    const sluice_label_options label_options = SLUICE_LABEL_OPTIONS_INIT;
    const sluice_subset_options subset_options = SLUICE_SUBSET_OPTIONS_INIT;
    const sluice_scan_options scan_options = SLUICE_SCAN_OPTIONS_INIT;
    const sluice_mix_options mix_options = SLUICE_MIX_OPTIONS_INIT;
    const sluice_field field = SLUICE_FIELD_INIT;
    const sluice_left_out left_out = SLUICE_LEFT_OUT_INIT;
    const sluice_format format = SLUICE_FORMAT_INIT;
    const sluice_sample_info sample_info = SLUICE_SAMPLE_INFO_INIT;
    const sluice_pixels pixels = SLUICE_PIXELS_INIT;
    const sluice_verify_options verify_options = SLUICE_VERIFY_OPTIONS_INIT;
    const sluice_verify_result verify_result = SLUICE_VERIFY_RESULT_INIT;
    const sluice_loader_options loader_options = SLUICE_LOADER_OPTIONS_INIT;
    const sluice_loader_stats loader_stats = SLUICE_LOADER_STATS_INIT;
    const sluice_operation_stats operation_stats = SLUICE_OPERATION_STATS_INIT;
    const sluice_loader_cache loader_cache = SLUICE_LOADER_CACHE_INIT;
    const sluice_stage_stats stage_stats = SLUICE_STAGE_STATS_INIT;
    const sluice_loader_position loader_position = SLUICE_LOADER_POSITION_INIT;
    const sluice_writer_options writer_options = SLUICE_WRITER_OPTIONS_INIT;
    const sluice_writer_sample writer_sample = SLUICE_WRITER_SAMPLE_INIT;
    const sluice_value value = SLUICE_VALUE_INIT;
    const sluice_packing_options packing_options = SLUICE_PACKING_OPTIONS_INIT;
    const sluice_packing_report packing_report = SLUICE_PACKING_REPORT_INIT;
    const sluice_pack_options pack_options = SLUICE_PACK_OPTIONS_INIT;
    const sluice_pack_progress pack_progress = SLUICE_PACK_PROGRESS_INIT;
    const sluice_pack_result pack_result = SLUICE_PACK_RESULT_INIT;
    const sluice_remote_config remote_config = SLUICE_REMOTE_CONFIG_INIT;
    const sluice_remote_stats remote_stats = SLUICE_REMOTE_STATS_INIT;
    const sluice_unpack_options unpack_options = SLUICE_UNPACK_OPTIONS_INIT;
    const sluice_unpack_progress unpack_progress = SLUICE_UNPACK_PROGRESS_INIT;
    const sluice_unpack_result unpack_result = SLUICE_UNPACK_RESULT_INIT;
    const sluice_augment_step augment_step = SLUICE_AUGMENT_STEP_INIT;
    const sluice_augment_argument augment_argument = SLUICE_AUGMENT_ARGUMENT_INIT;
    check(augment_step, "augment_step");
    check(augment_argument, "augment_argument");
    check(error, "error");
    check(tensor, "tensor");
    check(system, "system");
    check(option, "option");
    check(ranks, "ranks");
    check(job_array, "job_array");
    check(cache_options, "cache_options");
    check(cache_entry, "cache_entry");
    check(cache_result, "cache_result");
    check(column, "column");
    check(dataset_options, "dataset_options");
    check(dataset_info, "dataset_info");
    check(subset_options, "subset_options");
    check(scan_options, "scan_options");
    check(mix_options, "mix_options");
    check(packing_options, "packing_options");
    check(packing_report, "packing_report");
    check(field, "field");
    check(left_out, "left_out");
    check(format, "format");
    check(sample_info, "sample_info");
    check(pixels, "pixels");
    check(verify_options, "verify_options");
    check(verify_result, "verify_result");
    check(loader_options, "loader_options");
    check(loader_stats, "loader_stats");
    check(operation_stats, "operation_stats");
    check(loader_cache, "loader_cache");
    check(stage_stats, "stage_stats");
    check(loader_position, "loader_position");
    check(writer_options, "writer_options");
    check(writer_sample, "writer_sample");
    check(value, "value");
    check(pack_options, "pack_options");
    check(pack_progress, "pack_progress");
    check(pack_result, "pack_result");
    check(remote_config, "remote_config");
    check(remote_stats, "remote_stats");
    check(unpack_options, "unpack_options");
    check(unpack_progress, "unpack_progress");
    check(unpack_result, "unpack_result");
    check(concat_options, "concat_options");
    check(label_options, "label_options");
    expect(error.sample == -1 && error.offset == -1, "an error of no sample");
    expect(sample_info.label == -1 && writer_sample.label == -1, "no label");
}

/* Calls the header's function on the previous contents. */
static void check_function()
{
    const sluice_loader_options expected = SLUICE_LOADER_OPTIONS_INIT;
    sluice_loader_options options;
    std::memset(&options, 0x5A, sizeof(options));
    sluice_loader_options_init(&options);
    expect(std::memcmp(&options, &expected, sizeof(options)) == 0, "sluice_loader_options_init");
    sluice_loader_options_init(nullptr);
}

int main()
{
    const sluice_trace_event event = SLUICE_TRACE_EVENT_INIT;
    check_all();
    check_function();
    expect(event.sample == -1 && event.kind == SLUICE_TRACE_READ, "trace_event");
    expect(sluice_status_name(SLUICE_OK) != nullptr, "the library is there");
    return wrong == 0 ? 0 : 1;
}
