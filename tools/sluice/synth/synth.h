/* SPDX-License-Identifier: Apache-2.0 */
/* synth: the command, for any contents: `sluice synth` draws simple pictures (picture.h), a
 * benchmark's program draws scenes (bench/photos). Main thread; returns an exit code. */
#ifndef TOOL_SYNTH_H
#define TOOL_SYNTH_H

#include "photo.h"

#include <stdint.h>

/* The painter: pure functions of the photo. Each worker has its own. */
struct synth_painter {
    void (*prepare)(void); /* called before workers start; NULL: nothing */
    void *(*create)(void); /* NULL: no memory */
    uint8_t *(*render)(void *own, const struct photo *photo); /* RGB, its own; NULL: no memory */
    void (*destroy)(void *own);
};

int synth_run(const struct synth_painter *painter, int argc, char **argv);

#endif
