/* SPDX-License-Identifier: Apache-2.0 */
/* A program that uses an installed sluice: a recipe, an error report, and the version check. */
#include <sluice/sluice.h>

#include <stdio.h>
#include <string.h>

int main(void)
{
    char expected[32];
    snprintf(expected, sizeof(expected), "%d.%d.%d", SLUICE_VERSION_MAJOR, SLUICE_VERSION_MINOR,
             SLUICE_VERSION_PATCH);
    if (strcmp(expected, sluice_version()) != 0) {
        fprintf(stderr, "header %s, library %s\n", expected, sluice_version());
        return 1;
    }
    sluice_augment *recipe = NULL;
    sluice_status status = sluice_augment_create(&recipe);
    if (status == SLUICE_OK)
        status = sluice_augment_random_flip(recipe, 0.5);
    sluice_augment_destroy(recipe);

    const char *path = "/nonexistent";
    sluice_dataset *data = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_status opened = sluice_dataset_open(&data, &path, 1, NULL, &error);
    if (status != SLUICE_OK || opened >= 0 || data != NULL || error.text[0] == '\0') {
        fprintf(stderr, "recipe %s, open %s\n", sluice_status_name(status),
                sluice_status_name(opened));
        return 1;
    }
    printf("sluice %s works\n", sluice_version());
    return 0;
}
