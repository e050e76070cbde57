/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jpeg_error: libjpeg's errors and warnings as sluice errors.
 *
 * Purpose: libjpeg reports a fatal error through error_exit, which must not return, and damaged
 * data as warnings, after which it fills in grey. Here both longjmp to the call in progress, which
 * returns a status; only harmless warnings are ignored.
 * Invariants: `jump` is set while libjpeg runs (sl_jpeg_guard). No object of ours that needs
 * clean-up is created between the setjmp and the longjmp.
 * Threads: those of the decompressor.
 */
#ifndef SL_JPEG_ERROR_H
#define SL_JPEG_ERROR_H

#include "jpeg_source.h"

#include <sluice/common.h>

#include <setjmp.h>

typedef struct sl_jpeg_errors {
    struct jpeg_error_mgr pub; /* first: libjpeg returns it through cinfo->err */
    jmp_buf jump;
    sluice_status status;
    sluice_error *error; /* of the call in progress */
} sl_jpeg_errors;

/* Installs the handlers; call it before jpeg_create_decompress. */
void sl_jpeg_errors_init(sl_jpeg_errors *errors, j_decompress_ptr cinfo);

/* Runs work(argument), which calls libjpeg. Returns OK, or the status of libjpeg's error. */
sluice_status sl_jpeg_guard(sl_jpeg_errors *errors, void (*work)(void *argument), void *argument,
                            sluice_error *error);

/* Ends the work in progress with our own error, at the source's offset. */
_Noreturn void sl_jpeg_fail(j_decompress_ptr cinfo, sluice_status status, const char *text);

#endif
