/* SPDX-License-Identifier: Apache-2.0 */
/* The row of orders of few-shot episodes (episode_order.h). Opening only. */
#include "opening.h"

#include "checksum.h"
#include "episode_order.h"
#include "error.h"
#include "memory.h"

#define STAGE   "loader"
#define CLASSES SL_OPTION("episode_classes")
#define SAMPLES SL_OPTION("episode_samples")

/* Returns what prevents episodes; NULL: nothing does. */
static const char *not_with_episodes(const sluice_loader *loader)
{
    if (loader->dataset->mix != NULL) {
        return "a mix, which has its own order";
    }
    return loader->columns.windows.field != SL_FIELD_NONE ? "windows" : NULL;
}

static sluice_status check_episodes(const sl_loader_opening *opening, sluice_error *error)
{
    const sluice_loader *loader = opening->loader;
    const sluice_loader_options *options = &opening->options;
    const uint64_t each = (uint64_t)options->episode_classes * options->episode_samples;
    const uint32_t batch = loader->config.options.batch_size;
    if (each == 0) {
        return sl_error_set(error, SLUICE_INVALID, STAGE,
                            "options %s and %s need each other, and %s needs both", CLASSES,
                            SAMPLES, SL_OPTION("episodes"));
    }
    if (options->shuffle != SLUICE_SHUFFLE_FULL) {
        return sl_error_set(error, SLUICE_UNSUPPORTED, STAGE, "episodes need option %s full",
                            SL_OPTION("shuffle"));
    }
    const char *what = not_with_episodes(loader);
    if (what != NULL) {
        return sl_error_set(error, SLUICE_UNSUPPORTED, STAGE, "episodes cannot be used with %s",
                            what);
    }
    if (batch % each != 0) {
        return sl_error_set(error, SLUICE_INVALID, STAGE,
                            "option %s is %u, but a batch has whole episodes: expected a multiple "
                            "of the %llu samples of one (%u classes x %u)",
                            SL_OPTION("batch_size"), batch, (unsigned long long)each,
                            options->episode_classes, options->episode_samples);
    }
    return SLUICE_OK;
}

static sluice_status check_whole_episodes(const sl_loader_opening *opening, sluice_error *error)
{
    const sl_episode_set *set = opening->loader->order.set;
    const sluice_loader_options *o = &opening->options;
    const uint64_t global = o->batch_size / sl_episode_positions(set) * o->world_size;
    if (o->last_batch != SLUICE_LAST_DROP || set->episodes >= global) {
        return SLUICE_OK;
    }
    return sl_error_set(
        error, SLUICE_INVALID, STAGE,
        "an epoch has %llu episodes, fewer than one global batch of %llu, so it would be empty: "
        "make the batch smaller, set the number of " SL_OPTION(
            "episodes") " in an epoch, or choose a " SL_OPTION("last_batch") " other than DROP",
        (unsigned long long)set->episodes, (unsigned long long)global);
}

/* ---- the row ---- */

static const sl_order_part episode_parts[] = {
    {.name = "number of classes of an episode", .bits = 12},
    {.name = "number of samples of each class", .bits = 12},
    {.name = "number of episodes", .bits = 16},
    {.name = "classes of samples", .bits = 16},
};
static const sl_order_table episodes_table = {.number = 5,
                                              .what = "order of episodes",
                                              .order = "of episodes",
                                              .count = 4,
                                              .parts = episode_parts};

static bool asks_episodes(const sl_loader_opening *opening)
{
    const sluice_loader_options *o = &opening->options;
    return o->episode_classes > 0 || o->episode_samples > 0 || o->episodes > 0;
}

static void close_episodes(void *set)
{
    sl_episode_set_close(set);
    sl_free(set);
}

static sluice_status make_episodes(const sl_loader_opening *opening, sl_loader_order *order,
                                   sluice_error *error)
{
    const sluice_loader_options *o = &opening->options;
    const sl_episode_set shape = {
        .classes = o->episode_classes, .samples = o->episode_samples, .episodes = o->episodes};
    sl_episode_set *set = sl_calloc(1, sizeof(*set));
    if (set == NULL) {
        return sl_no_memory(error, STAGE, "for episodes");
    }
    order->set = set;
    const sluice_status status = sl_episode_set_open(set, &opening->loader->classes, &shape, error);
    order->source.set = set;
    order->source.count = set->episodes * sl_episode_positions(set);
    order->hash = set->hash;
    const sl_classes *of = set->of;
    order->parts = sl_order_parts_make(
        &episodes_table, (uint64_t[]){o->episode_classes, o->episode_samples, o->episodes,
                                      sl_checksum(of->of, of->samples * sizeof(*of->of))});
    return status;
}

static sluice_status open_episodes(const sl_loader_opening *opening, sl_loader_order *order,
                                   sluice_error *error)
{
    sluice_status status = check_episodes(opening, error);
    if (status == SLUICE_OK) {
        status = sl_loader_open_classes(opening, "episodes", error);
    }
    return status == SLUICE_OK ? make_episodes(opening, order, error) : status;
}

extern const sl_order_row sl_episodes_row; /* orders.c */
const sl_order_row sl_episodes_row = {
    .kind = &sl_episode_order,
    .option = SL_OPTION("episode_classes"),
    .is_asked = asks_episodes,
    .open = open_episodes,
    .close = close_episodes,
    .check_epoch = check_whole_episodes,
    .table = &episodes_table,
    .hashed = "number of classes, of samples of each, or of episodes, or other classes of samples",
};
