/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_sample: checks one sample completely.
 *
 * Purpose: reads a sample, unpacks it, which verifies its checksum, and checks each value: an
 * image's header and inner checksums, its size against the annotated one, the sizes of frames and,
 * when decoding, all of their contents. Describes what had no checksum. Threads: a check belongs to
 * one thread; the gate is shared (sample_gate.h). Memory: kept for the next sample; large samples
 * go through the gate. Ownership: sl_sample_check_close.
 */
#ifndef SL_CHECK_SAMPLE_H
#define SL_CHECK_SAMPLE_H

#include "dataset.h"
#include "decoder.h"
#include "sample_gate.h"

typedef struct sl_sample_check {
    const sl_dataset *dataset;
    sl_decoder *decoder; /* NULL: nothing is decoded */
    sl_decoder
        *headers; /* used without decoding, for images whose orientation matters; NULL: none yet */
    bool annotated;
    const _Atomic bool *stop;
    sl_values values; /* of the current sample */
    sl_sample_pass pass;
    uint8_t *buffer;
    size_t capacity;
    uint8_t *unpacked; /* contents of a frame, when decoding; data that was stored in parts */
    size_t unpacked_capacity;
    sl_unchecked unchecked;
    uint64_t undecoded; /* number of encoded images whose pixels were not checked */
} sl_sample_check;

/*
 * Whether images are decoded and compared with the annotated size; and a flag that soon ends that
 * with CANCELED.
 */
typedef struct sl_sample_decode {
    bool wanted, annotated;
    const _Atomic bool *stop;
} sl_sample_decode;

/* Opens `c`, which is zeroed, may be closed in any case, and must not move. Errors: NOMEM. */
sluice_status sl_sample_check_open(sl_sample_check *c, const sl_dataset *dataset,
                                   sl_sample_gate *gate, const sl_sample_decode *decode,
                                   sluice_error *error);
void sl_sample_check_close(sl_sample_check *c);
/*
 * Checks a located sample. `*stored`: the bytes read, valid until sl_sample_check_end. Errors, with
 * file and offset: IO, CORRUPT, UNSUPPORTED, NOMEM.
 */
sluice_status sl_sample_check_run(sl_sample_check *c, const sl_sample *sample, sl_bytes *stored,
                                  sluice_error *error);
/* Ends the check of the sample, regardless of its outcome. */
void sl_sample_check_end(sl_sample_check *c);

#endif
