/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_sample: whether one sample is what it says it is.
 *
 * Purpose: reads a sample, takes it apart, which checks its checksum, and looks at each value: the
 * header of a picture and the checksums in it, its size against the one that was annotated, the
 * sizes of frames, and, where it decodes, all that they hold. What had no checksum is noted in
 * words.
 * Threads: a check is one thread's; the gate is shared (sample_gate.h). Memory: what it keeps for
 * the next sample, and a large one through the gate. Ownership: sl_sample_check_close.
 */
#ifndef SL_CHECK_SAMPLE_H
#define SL_CHECK_SAMPLE_H

#include "dataset.h"
#include "decoder.h"
#include "sample_gate.h"

typedef struct sl_sample_check {
    const sl_dataset *dataset;
    sl_decoder *decoder; /* NULL: nothing is decoded */
    sl_decoder *headers; /* where nothing is: of pictures whose way up decides; NULL: none yet */
    bool annotated;
    const _Atomic bool *stop;
    sl_values values; /* of the sample at hand */
    sl_sample_pass pass;
    uint8_t *buffer;
    size_t capacity;
    uint8_t *unpacked; /* what a frame holds, where it decodes; what was stored in parts */
    size_t unpacked_capacity;
    sl_unchecked unchecked;
    uint64_t undecoded; /* encoded pictures whose pixels it did not look at */
} sl_sample_check;

/* Whether pictures are decoded and compared with the size that was annotated, and what ends that
 * soon once it is set, with CANCELED. */
typedef struct sl_sample_decode {
    bool wanted, annotated;
    const _Atomic bool *stop;
} sl_sample_decode;

/* `c`: zeros, which may be closed, and which must not move. Errors: NOMEM. */
sluice_status sl_sample_check_open(sl_sample_check *c, const sl_dataset *dataset,
                                   sl_sample_gate *gate, const sl_sample_decode *decode,
                                   sluice_error *error);
void sl_sample_check_close(sl_sample_check *c);
/* A sample that was found. `*stored`: what was read of it, until the end of it. The error has its
 * file and offset. Errors: IO, CORRUPT, UNSUPPORTED, NOMEM. */
sluice_status sl_sample_check_run(sl_sample_check *c, const sl_sample *sample, sl_bytes *stored,
                                  sluice_error *error);
/* The sample is done with, whatever came of it. */
void sl_sample_check_end(sl_sample_check *c);

#endif
