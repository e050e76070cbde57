/* SPDX-License-Identifier: Apache-2.0 */
/* minimal: the data side of a training loop. docs/c.md has this program; a test compares them. */
#include <sluice/sluice.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : "photos"; /* an image folder, or packed shards */
    sluice_dataset *data = NULL;
    sluice_augment *recipe = NULL;
    sluice_loader *loader = NULL;
    sluice_batch *batch = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_loader_options options = SLUICE_LOADER_OPTIONS_INIT;
    options.batch_size = 64;
    sluice_augment_create(&recipe);
    sluice_augment_random_resized_crop(recipe, 224, 224, 0.08, 1.0, 3.0 / 4, 4.0 / 3);
    sluice_augment_random_flip(recipe, 0.5);
    if (sluice_dataset_open(&data, &path, 1, NULL, &error) == SLUICE_OK &&
        sluice_loader_open(&loader, data, recipe, &options, &error) == SLUICE_OK) {
        for (unsigned epoch = 0; epoch < 2; epoch++) {
            sluice_loader_start_epoch(loader, epoch);
            while (sluice_loader_next(loader, &batch, -1) == SLUICE_OK) {
                sluice_tensor image = SLUICE_TENSOR_INIT;
                sluice_tensor label = SLUICE_TENSOR_INIT;
                sluice_batch_tensor(batch, "image", &image); /* u8, rows x 224 x 224 x 3 */
                sluice_batch_tensor(batch, "label", &label); /* i64, rows */
                printf("epoch %u: %u rows\n", epoch, sluice_batch_rows(batch)); /* train here */
                sluice_batch_release(batch);
            }
        }
        sluice_loader_get_error(loader, &error);
    }
    if (error.status < 0) {
        char text[1200];
        sluice_error_format(&error, text, sizeof(text));
        fprintf(stderr, "%s\n", text);
    }
    sluice_loader_close(loader);
    sluice_dataset_close(data);
    sluice_augment_destroy(recipe);
    return error.status < 0;
}
