/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loader_setup: a dataset over a photo folder and a loader with small defaults, for tests, through
 * the public interface. Functions abort on failure unless they say otherwise.
 */
#ifndef SL_LOADER_SETUP_H
#define SL_LOADER_SETUP_H

#include "photo_folder.h"

#include <sluice/sluice.h>

#include <stdbool.h>

#define SETUP_SIZE 24 /* pixels of a row's side */

/* Options: batch 8, seed 7, everything else the default. */
sluice_loader_options setup_options(void);
sluice_dataset *setup_dataset(const char *path);
/* random_resized_crop to SETUP_SIZE, flip, jitter; `normalize` adds that. */
sluice_augment *setup_recipe(bool normalize);
/* Opens a loader over the path; closes the dataset and the recipe, which the loader must survive.
 */
sluice_loader *setup_loader(const char *path, const sluice_loader_options *options);
/* As setup_loader, but gives the status and the error back. */
sluice_status setup_loader_status(sluice_loader **loader, const char *path,
                                  const sluice_loader_options *options, sluice_error *error);

/* CLOCK_MONOTONIC, and a sleep. */
uint64_t setup_now_ns(void);
void setup_sleep_ns(uint64_t ns);

#endif
