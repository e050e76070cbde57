/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample_classes: the class of each sample, its label, for --episode-classes and --partners.
 */
#ifndef TOOL_SAMPLE_CLASSES_H
#define TOOL_SAMPLE_CLASSES_H

#include <sluice/dataset.h>
#include <sluice/loader.h>

/* Reads the labels of all samples if `options` request episodes, or partners by class, and sets
 * them to `*classes`, which the caller frees; NULL: not requested. Blocks like
 * sluice_dataset_get_sample. Returns an exit code, reported. */
int sample_classes_take(const sluice_dataset *dataset, sluice_loader_options *options,
                        uint32_t **classes);

#endif
