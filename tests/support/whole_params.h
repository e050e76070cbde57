/* SPDX-License-Identifier: Apache-2.0 */
/*
 * whole_params: defines a program with memory for any recipe, for tests that draw many.
 *
 * WHOLE_PARAMS(name) is on the stack, about 80 kB; STATIC_PARAMS(name) is static.
 */
#ifndef SL_WHOLE_PARAMS_H
#define SL_WHOLE_PARAMS_H

#include "program.h"

#define WHOLE_PARAMS(name)                                  \
    sl_geometry name##_geometries[SL_GEOMETRIES_MAX];       \
    sl_operation name##_operations[SL_OPERATIONS_MAX];      \
    sl_params name = {.operations_most = SL_OPERATIONS_MAX, \
                      .geometries = name##_geometries,      \
                      .operations = name##_operations}

#define STATIC_PARAMS(name)                                        \
    static sl_geometry name##_geometries[SL_GEOMETRIES_MAX];       \
    static sl_operation name##_operations[SL_OPERATIONS_MAX];      \
    static sl_params name = {.operations_most = SL_OPERATIONS_MAX, \
                             .geometries = name##_geometries,      \
                             .operations = name##_operations}

#endif
