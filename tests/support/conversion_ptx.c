/* SPDX-License-Identifier: Apache-2.0 */
#include "conversion_ptx.h"

#include "memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

static void give_up(const char *what, const char *file)
{
    fprintf(stderr, "%s: %s\n", what, file);
    abort();
}

char *conversion_ptx_unpack(const char *file)
{
    enum { MOST = 1 << 20 };
    FILE *stream = fopen(file, "rbe");
    char *packed = malloc(MOST);
    char *text = malloc(MOST);
    if (stream == NULL || packed == NULL || text == NULL) {
        give_up("cannot read the PTX", file);
        return NULL;
    }
    const size_t bytes = fread(packed, 1, MOST, stream);
    const size_t length = ZSTD_decompress(text, MOST - 1, packed, bytes);
    fclose(stream);
    free(packed);
    if (ZSTD_isError(length)) {
        give_up("cannot unpack the PTX", file);
    }
    text[length] = '\0';
    return text;
}

char *conversion_ptx_text(const char *file)
{
    char *text;
    if (sl_conversion_unpack_ptx(&text, NULL) != SLUICE_OK) {
        return conversion_ptx_unpack(file);
    }
    char *copy = strdup(text);
    sl_free(text);
    return copy;
}

/* Addresses of the arrays as kernels see them. All but the flags are aligned to 256 bytes, as
 * cuMemAlloc does. */
#define FROM   UINT64_C(0x100000000000)
#define FLAGS  UINT64_C(0x200000000003)
#define TO     UINT64_C(0x300000000000)
#define MIXING UINT64_C(0x400000000000)

bool conversion_ptx_run(const ptx_module *module, const sl_conversion *conversion,
                        const sl_conversion_rows *rows, uint64_t seed, ptx_failure *failure)
{
    const size_t samples = (size_t)conversion->width * conversion->height * 3 * rows->rows;
    const size_t results = sl_conversion_row_bytes(conversion) * rows->rows;
    uint8_t *written = calloc(results, 1);
    /* NOLINTBEGIN(performance-no-int-to-ptr): memory that is not writable is never written */
    const ptx_memory memory[] = {
        {FROM, samples, (uint8_t *)(uintptr_t)rows->from, NULL, false},
        {FLAGS, rows->rows, (uint8_t *)(uintptr_t)rows->flags, NULL, false},
        {TO, results, rows->to, written, true},
        {MIXING, rows->rows * sizeof(*rows->mixing), (uint8_t *)(uintptr_t)rows->mixing, NULL,
         false}};
    /* NOLINTEND(performance-no-int-to-ptr) */
    const uint32_t number = sl_conversion_kernel_for(conversion, rows);
    const ptx_kernel *kernel = ptx_find(module, sl_conversion_kernel_name(number));
    sl_conversion_launch launch;
    sl_conversion_launch_make(&launch, conversion, rows);
    launch.parameters.from = FROM;
    launch.parameters.flags = FLAGS;
    launch.parameters.to = TO;
    launch.parameters.mixing = rows->mixing != NULL ? MIXING : 0;
    void *parameters[] = {&launch.parameters};
    ptx_launch run = {.parameters = parameters,
                      .memory = memory,
                      .memories = rows->mixing != NULL ? 4 : 3,
                      .seed = seed};
    /* Splits the grid in two directions, as with more rows than a grid's height allows: the last
     * blocks have no row. */
    memcpy(run.grid, launch.grid, sizeof(run.grid));
    run.grid[1] = 2;
    run.grid[2] = rows->rows / 2 + 1;
    memcpy(run.block, launch.block, sizeof(run.block));
    snprintf(failure->text, sizeof(failure->text), "no such kernel");
    bool fine = kernel != NULL && written != NULL && ptx_run(kernel, &run, failure);
    if (fine && memchr(written, 0, results) != NULL) {
        snprintf(failure->text, sizeof(failure->text), "a result was not written");
        fine = false;
    }
    free(written);
    return fine;
}
