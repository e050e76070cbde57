/* SPDX-License-Identifier: Apache-2.0 */
/* first: one epoch of batches, as short as possible. README.md shows this program; a test compares
 * the two. minimal.c also reports errors. */
#include <sluice/sluice.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : "photos"; /* a folder, shards, tars, ... */
    sluice_dataset *data = NULL;
    sluice_augment *recipe = NULL;
    sluice_loader *loader = NULL;
    sluice_batch *batch = NULL;
    sluice_tensor image = SLUICE_TENSOR_INIT;
    sluice_loader_options options = SLUICE_LOADER_OPTIONS_INIT;
    options.batch_size = 64;
    sluice_augment_create(&recipe);
    sluice_augment_random_resized_crop(recipe, 224, 224, 0.08, 1.0, 3.0 / 4, 4.0 / 3);
    if (sluice_dataset_open(&data, &path, 1, NULL, NULL) != SLUICE_OK ||
        sluice_loader_open(&loader, data, recipe, &options, NULL) != SLUICE_OK) {
        return 1;
    }
    sluice_loader_start_epoch(loader, 0);
    while (sluice_loader_next(loader, &batch, -1) == SLUICE_OK) {
        sluice_batch_tensor(batch, "image", &image); /* u8, rows x 224 x 224 x 3 */
        printf("%u rows at %p\n", sluice_batch_rows(batch), image.data);
        sluice_batch_release(batch);
    }
    const int failed = sluice_loader_get_error(loader, NULL) < 0; /* such as a damaged image */
    sluice_loader_close(loader);
    sluice_dataset_close(data);
    sluice_augment_destroy(recipe);
    return failed;
}
