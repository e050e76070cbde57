/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_cuda_client.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const fake_cuda_control *fake_cuda_open(void)
{
    const char *file = getenv("SLUICE_CUDA_DRIVER");
    void *library = file != NULL ? dlopen(file, RTLD_NOW | RTLD_LOCAL) : NULL;
    void *symbol = library != NULL ? dlsym(library, "fake_cuda_get_control") : NULL;
    if (symbol == NULL) {
        return NULL;
    }
    const fake_cuda_control *(*get_control)(void);
    memcpy(&get_control, &symbol, sizeof(symbol));
    const fake_cuda_control *fake = get_control();
    fake->reset();
    return fake;
}

int fake_cuda_complain(const fake_cuda_control *fake)
{
    char left[160];
    if (fake->violations() == 0 && fake->leaks(left, sizeof(left)) == 0) {
        return 0;
    }
    (void)fake->leaks(left, sizeof(left));
    fprintf(stderr, "fake CUDA: %d misuses, the first: \"%s\"; left open: \"%s\"\n",
            (int)fake->violations(), fake->first_violation(), left);
    return 1;
}
