/* SPDX-License-Identifier: Apache-2.0 */
#include "measure.h"

#include "dataset.h"
#include "formats.h"
#include "memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void bench_check(sluice_status status, const sluice_error *error)
{
    if (status != SLUICE_OK) {
        (void)fprintf(stderr, "%s\n", error->text);
        exit(1);
    }
}

int bench_compare_times(const void *a, const void *b)
{
    const uint64_t left = *(const uint64_t *)a;
    const uint64_t right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

int bench_compare_figures(const void *a, const void *b)
{
    const double left = *(const double *)a;
    const double right = *(const double *)b;
    return (left > right) - (left < right);
}

int bench_rounds(const char *text, int most, int usual)
{
    const long asked = text != NULL ? strtol(text, NULL, 10) : 0;
    return asked >= 1 && asked <= most ? (int)asked : usual;
}

static uint8_t *take(size_t bytes)
{
    uint8_t *memory = sl_malloc(bytes > 0 ? bytes : 1);
    if (memory == NULL) {
        (void)fprintf(stderr, "no memory for %zu bytes\n", bytes);
        exit(1);
    }
    return memory;
}

sl_bytes bench_copy(sl_bytes bytes)
{
    uint8_t *copy = take(bytes.size);
    memcpy(copy, bytes.data, bytes.size);
    return (sl_bytes){copy, bytes.size};
}

size_t bench_load(const char *path, sl_bytes *pictures, size_t most)
{
    sluice_error error = SLUICE_ERROR_INIT;
    const sluice_dataset_options options = SLUICE_DATASET_OPTIONS_INIT;
    sl_dataset *dataset = NULL;
    size_t count = 0;
    bench_check(sl_dataset_open(&dataset, &path, 1, &options, &error), &error);
    const uint32_t field = sl_dataset_field(dataset, "image");
    for (; count < dataset->info.samples && count < most; count++) {
        size_t size = 0;
        (void)sl_dataset_read_field(dataset, count, field, (sl_buffer){NULL, 0}, &size, NULL);
        uint8_t *bytes = take(size);
        bench_check(
            sl_dataset_read_field(dataset, count, field, (sl_buffer){bytes, size}, &size, &error),
            &error);
        pictures[count] = (sl_bytes){bytes, size};
    }
    sl_dataset_close(dataset);
    return count;
}

void bench_print(const char *name, int width, double *figures, int rounds, int digits)
{
    qsort(figures, (size_t)rounds, sizeof(*figures), bench_compare_figures);
    printf("  %-*s %.*f (%.*f..%.*f)\n", width, name, digits, figures[rounds / 2], digits,
           figures[0], digits, figures[rounds - 1]);
}
