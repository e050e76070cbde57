/* SPDX-License-Identifier: Apache-2.0 */
/*
 * number_text: numbers as written in files and conditions: with a point, in any locale of the
 * program. Threads: any.
 */
#ifndef SL_NUMBER_TEXT_H
#define SL_NUMBER_TEXT_H

/* Parses like strtod in the C locale. `text` ends with a NUL. */
double sl_read_double(const char *text, char **end);

#endif
