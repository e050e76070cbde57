/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loader_setup: a dataset over a photo folder and a loader with small defaults, for tests, through
 * the public interface. Functions abort on failure unless stated otherwise.
 */
#ifndef SL_LOADER_SETUP_H
#define SL_LOADER_SETUP_H

#include "photo_folder.h"

#include <sluice/sluice.h>

#include <stdbool.h>

#define SETUP_SIZE 24 /* width and height of a row's image in pixels */

/* Returns options: batch 8, seed 7, otherwise defaults. */
sluice_loader_options setup_options(void);
sluice_dataset *setup_dataset(const char *path);
/* Makes a recipe: random_resized_crop to SETUP_SIZE, flip, jitter; `normalize` adds that step. */
sluice_augment *setup_recipe(bool normalize);
/* Opens a loader over the path; closes the dataset and the recipe, which the loader must survive.
 */
sluice_loader *setup_loader(const char *path, const sluice_loader_options *options);
/* Like setup_loader, but returns the status and the error. */
sluice_status setup_loader_status(sluice_loader **loader, const char *path,
                                  const sluice_loader_options *options, sluice_error *error);

/* Reads CLOCK_MONOTONIC; sleeps. */
uint64_t setup_now_ns(void);
void setup_sleep_ns(uint64_t ns);

#endif
