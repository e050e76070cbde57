/* SPDX-License-Identifier: Apache-2.0 */
#include "fault_setup.h"

#include "api.h"
#include "loader.h"

#include <stdio.h>
#include <stdlib.h>

sluice_loader *fault_loader(const char *path, const sluice_loader_options *options,
                            const sl_fault_config *fault)
{
    sluice_dataset *dataset = setup_dataset(path);
    sluice_augment *recipe = setup_recipe(options->dtype != SLUICE_U8);
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_loader *loader;
    if (sl_loader_open(&loader, sl_api_dataset(dataset), recipe, options, fault, &error) !=
        SLUICE_OK) {
        fprintf(stderr, "setup failed: %s\n", error.text);
        abort();
    }
    sluice_augment_destroy(recipe);
    sluice_dataset_close(dataset);
    return loader;
}
