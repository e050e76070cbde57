/* SPDX-License-Identifier: Apache-2.0 */
/*
 * measure: what measurements have in common: giving up, medians, pictures of a dataset in memory.
 * One thread. A benchmark ends with the process: what is taken here is not given back.
 */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include "view.h"

#include <sluice/common.h>

/* Ends the process with the error's text, if the status is not OK. */
void bench_check(sluice_status status, const sluice_error *error);

/* Ascending; for qsort. */
int bench_compare_times(const void *a, const void *b);
int bench_compare_figures(const void *a, const void *b);

/* The number that `text` is (NULL: none) if it is one from 1 to `most`, else `usual`. */
int bench_rounds(const char *text, int most, int usual);

sl_bytes bench_copy(sl_bytes bytes);
/* The first pictures (field "image") of a dataset, `most` at most. How many there are. */
size_t bench_load(const char *path, sl_bytes *pictures, size_t most);

/* Median, smallest and largest of some rounds, which are sorted. */
void bench_print(const char *name, int width, double *figures, int rounds, int digits);

#endif
