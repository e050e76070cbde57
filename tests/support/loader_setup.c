/* SPDX-License-Identifier: Apache-2.0 */
#include "loader_setup.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void must(sluice_status status, const sluice_error *error)
{
    if (status != SLUICE_OK) {
        char text[1200];
        sluice_error_format(error, text, sizeof(text));
        fprintf(stderr, "setup failed: %s: %s\n", sluice_status_name(status), text);
        abort();
    }
}

sluice_loader_options setup_options(void)
{
    sluice_loader_options options;
    sluice_loader_options_init(&options);
    options.batch_size = 8;
    options.seed = 7;
    return options;
}

sluice_dataset *setup_dataset(const char *path)
{
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_dataset *dataset;
    must(sluice_dataset_open(&dataset, &path, 1, NULL, &error), &error);
    return dataset;
}

sluice_augment *setup_recipe(bool normalize)
{
    const float mean[] = {0.485F, 0.456F, 0.406F};
    const float stddev[] = {0.229F, 0.224F, 0.225F};
    const sluice_error error = SLUICE_ERROR_INIT;
    sluice_augment *recipe;
    must(sluice_augment_create(&recipe), &error);
    must(sluice_augment_random_resized_crop(recipe, SETUP_SIZE, SETUP_SIZE, 0.08, 1.0, 3.0 / 4,
                                            4.0 / 3),
         &error);
    must(sluice_augment_random_flip(recipe, 0.5), &error);
    must(sluice_augment_color_jitter(recipe, 0.4, 0.4, 0.4), &error);
    if (normalize) {
        must(sluice_augment_normalize(recipe, mean, stddev, 3), &error);
    }
    return recipe;
}

sluice_status setup_loader_status(sluice_loader **loader, const char *path,
                                  const sluice_loader_options *options, sluice_error *error)
{
    sluice_dataset *dataset = setup_dataset(path);
    sluice_augment *recipe = setup_recipe(options->dtype != SLUICE_U8);
    const sluice_status status = sluice_loader_open(loader, dataset, recipe, options, error);
    sluice_augment_destroy(recipe);
    sluice_dataset_close(dataset);
    return status;
}

sluice_loader *setup_loader(const char *path, const sluice_loader_options *options)
{
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_loader *loader;
    must(setup_loader_status(&loader, path, options, &error), &error);
    return loader;
}

uint64_t setup_now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void setup_sleep_ns(uint64_t ns)
{
    struct timespec left = {.tv_sec = (time_t)(ns / 1000000000),
                            .tv_nsec = (long)(ns % 1000000000)};
    while (nanosleep(&left, &left) != 0) {
    }
}
