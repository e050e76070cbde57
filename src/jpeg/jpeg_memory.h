/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jpeg_memory: a memory manager for libjpeg on a decoder's scratch.
 *
 * Purpose: once installed, libjpeg takes all memory from the scratch, so that decoding allocates
 * nothing and a hostile image cannot take more than the scratch's limit. Virtual arrays (the
 * coefficients of progressive images) are fully in memory, and their rows are zeroed when they
 * are first touched, so that a header with a wrong size costs address space only.
 * Invariants: memory taken here does not outlive the image: the owner resets the scratch and
 * calls sl_jpeg_memory_reset for each. That also holds for libjpeg's "permanent" tables; the
 * owner clears their pointers (sl_jpeg_memory_reset does).
 * Threads: those of the decompressor.
 */
#ifndef SL_JPEG_MEMORY_H
#define SL_JPEG_MEMORY_H

#include "scratch.h"

#include <stdio.h>

#include <jpeglib.h>

typedef struct sl_jpeg_memory {
    struct jpeg_memory_mgr pub; /* first: libjpeg returns it through cinfo->mem */
    struct jpeg_memory_mgr *original;
    sl_scratch *scratch;
    jvirt_barray_ptr block_arrays;
    jvirt_sarray_ptr sample_arrays;
} sl_jpeg_memory;

/* Replaces the manager that jpeg_create_decompress made by `memory`. */
void sl_jpeg_memory_install(sl_jpeg_memory *memory, j_decompress_ptr cinfo);
/* Restores the original manager, for jpeg_destroy_decompress. */
void sl_jpeg_memory_remove(sl_jpeg_memory *memory, j_decompress_ptr cinfo);
/* Forgets the last image (whose scratch is gone) and its tables; uses `scratch` from now on. */
void sl_jpeg_memory_reset(sl_jpeg_memory *memory, j_decompress_ptr cinfo, sl_scratch *scratch);

#endif
