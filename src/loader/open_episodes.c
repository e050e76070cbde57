/* SPDX-License-Identifier: Apache-2.0 */
/* Episodes of few-shot learning: what a loader is told of them. Opening only. */
#include "opening.h"

#include "error.h"

#define STAGE   "loader"
#define CLASSES SL_OPTION("episode_classes")
#define SAMPLES SL_OPTION("episode_samples")

uint64_t sl_loader_epoch_positions(const sluice_loader *loader)
{
    const sl_episode_set *set = &loader->episodes;
    return set->classes > 0 ? set->episodes * sl_episode_positions(set)
                            : sl_dataset_epoch_samples(loader->dataset);
}

/* What does not go with episodes; NULL: all does. */
static const char *not_with_episodes(const sluice_loader *loader,
                                     const sluice_loader_options *options)
{
    if (options->shuffle != SLUICE_SHUFFLE_FULL) {
        return "other shuffles than full";
    }
    if (options->buckets != NULL) {
        return "buckets";
    }
    if (loader->dataset->mix != NULL) {
        return "a mix, which has its own order";
    }
    return loader->columns.windows.field != SL_FIELD_NONE ? "windows" : NULL;
}

static sluice_status check_episodes(const sluice_loader *loader,
                                    const sluice_loader_options *options, sluice_error *error)
{
    const uint64_t each = (uint64_t)options->episode_classes * options->episode_samples;
    const uint32_t batch = loader->config.options.batch_size;
    if (each == 0) {
        return sl_error_set(error, SLUICE_INVALID, STAGE,
                            "options %s and %s go together, and %s needs both", CLASSES, SAMPLES,
                            SL_OPTION("episodes"));
    }
    const char *what = not_with_episodes(loader, options);
    if (what != NULL) {
        return sl_error_set(error, SLUICE_UNSUPPORTED, STAGE, "episodes do not go with %s", what);
    }
    if (batch % each != 0) {
        return sl_error_set(error, SLUICE_INVALID, STAGE,
                            "option %s is %u, and a batch has whole episodes: expected a multiple "
                            "of the %llu samples of one (%u classes x %u)",
                            SL_OPTION("batch_size"), batch, (unsigned long long)each,
                            options->episode_classes, options->episode_samples);
    }
    return SLUICE_OK;
}

static sluice_status check_whole_episodes(const sluice_loader *loader, sluice_error *error)
{
    const sluice_loader_options *o = &loader->config.options;
    const uint64_t each = sl_episode_positions(&loader->episodes);
    const uint64_t global = o->batch_size / each * o->world_size;
    if (o->last_batch != SLUICE_LAST_DROP || loader->episodes.episodes >= global) {
        return SLUICE_OK;
    }
    return sl_error_set(
        error, SLUICE_INVALID, STAGE,
        "an epoch has %llu episodes, fewer than one global batch of %llu, so it would be empty: "
        "make the batch smaller, say how many " SL_OPTION(
            "episodes") " an epoch has, or choose "
                        "a " SL_OPTION("last_batch") " other than DROP",
        (unsigned long long)loader->episodes.episodes, (unsigned long long)global);
}

sluice_status sl_loader_open_episodes(sl_loader_opening *opening, sluice_error *error)
{
    sluice_loader *loader = opening->loader;
    const sluice_loader_options *options = &opening->options;
    if (options->episode_classes == 0 && options->episode_samples == 0 && options->episodes == 0) {
        return SLUICE_OK;
    }
    sluice_status status = check_episodes(loader, options, error);
    if (status == SLUICE_OK) {
        status = sl_loader_open_classes(opening, "episodes", error);
    }
    if (status == SLUICE_OK) {
        status = sl_episode_set_open(&loader->episodes, &loader->classes,
                                     &(sl_episode_set){.classes = options->episode_classes,
                                                       .samples = options->episode_samples,
                                                       .episodes = options->episodes},
                                     error);
    }
    return status == SLUICE_OK ? check_whole_episodes(loader, error) : status;
}
