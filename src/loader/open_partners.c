/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of several samples: reads a loader's options about partner samples. Opening only. */
#include "opening.h"

#include "error.h"
#include "fnv.h"
#include "option_text.h"

/* Partner samples are anywhere in the dataset. */
static sluice_status check_random_access(const sluice_loader *loader, sluice_error *error)
{
    const char *what = NULL;
    if (loader->config.options.shuffle == SLUICE_SHUFFLE_SHARDS) {
        what = "shuffle \"shards\" reads files from front to back";
    } else if (loader->dataset->info.front_to_back != 0) {
        what = "this dataset's files can only be read from front to back";
    }
    return what == NULL ? SLUICE_OK
                        : sl_error_set(error, SLUICE_UNSUPPORTED, "loader",
                                       "rows of several samples need random access to samples, but "
                                       "%s: pack the dataset, or choose another shuffle",
                                       what);
}

sluice_status sl_loader_open_classes(const sl_loader_opening *opening, const char *what,
                                     sluice_error *error)
{
    sluice_loader *loader = opening->loader;
    const sluice_loader_options *options = &opening->options;
    const uint64_t samples = loader->dataset->info.samples;
    if (options->classes == NULL) {
        return sl_error_set(error, SLUICE_INVALID, "loader", "%s need the classes of all samples",
                            what);
    }
    if (options->class_count != samples) {
        return sl_error_set(
            error, SLUICE_INVALID, "loader",
            "option " SL_OPTION("classes") " has %llu samples, but the dataset has %llu",
            (unsigned long long)options->class_count, (unsigned long long)samples);
    }
    return loader->classes.samples > 0
               ? SLUICE_OK
               : sl_classes_open(&loader->classes, options->classes, samples, error);
}

/* FNV-1a with its last bit set: never 0. */
static uint64_t hash_rows(const sluice_loader *loader)
{
    const uint32_t members = loader->columns.members;
    uint64_t hash = sl_fnv1a(SL_FNV1A_BEGIN, members);
    for (uint32_t i = 1; i < members; i++) {
        hash = sl_fnv1a(hash, (uint64_t)sl_partners_rule(&loader->partners, i));
    }
    const bool by_class = sl_partners_need_classes(&loader->partners);
    for (uint64_t i = 0; by_class && i < loader->classes.samples; i++) {
        hash = sl_fnv1a(hash, loader->classes.of[i]);
    }
    return hash | 1;
}

static sluice_status read_partners(const sl_loader_opening *opening, sluice_error *error)
{
    sluice_loader *loader = opening->loader;
    sluice_status status = sl_partners_read(&loader->partners, opening->options.partners, error);
    if (status != SLUICE_OK) {
        return status;
    }
    if (loader->partners.count >= loader->columns.members) {
        return sl_error_set(
            error, SLUICE_INVALID, "loader",
            "option " SL_OPTION(
                "partners") " has a rule for partner %u, but no column uses that partner",
            loader->columns.members);
    }
    if (loader->columns.members > 1) {
        status = check_random_access(loader, error);
    }
    if (status != SLUICE_OK || !sl_partners_need_classes(&loader->partners)) {
        return status;
    }
    return sl_loader_open_classes(
        opening, "option " SL_OPTION("partners") ": same_class and other_class", error);
}

sluice_status sl_loader_open_partners(sl_loader_opening *opening, sluice_error *error)
{
    sluice_loader *loader = opening->loader;
    const sluice_status status = read_partners(opening, error);
    loader->rows_hash = status == SLUICE_OK ? hash_rows(loader) : 0;
    return status;
}
