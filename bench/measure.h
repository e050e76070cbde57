/* SPDX-License-Identifier: Apache-2.0 */
/*
 * measure: shared code of measurements: fatal errors, medians, images of a dataset in memory. One
 * thread. A benchmark ends with the process, so memory is not freed.
 */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include "view.h"

#include <sluice/common.h>

/* Exits with the error's text if the status is not OK. */
void bench_check(sluice_status status, const sluice_error *error);

/* Compare in ascending order, for qsort. */
int bench_compare_times(const void *a, const void *b);
int bench_compare_figures(const void *a, const void *b);

/* Returns the number in `text` (may be NULL) if it is from 1 to `most`, else `usual`. */
int bench_rounds(const char *text, int most, int usual);

sl_bytes bench_copy(sl_bytes bytes);
/* Reads the first images (field "image") of a dataset, at most `most`. Returns their number. */
size_t bench_load(const char *path, sl_bytes *pictures, size_t most);

/* Prints median, minimum and maximum of the rounds; sorts them. */
void bench_print(const char *name, int width, double *figures, int rounds, int digits);

#endif
