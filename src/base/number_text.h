/* SPDX-License-Identifier: Apache-2.0 */
/*
 * number_text: numbers as they are written in files and conditions: with a point, whatever the
 * program's locale. Threads: any.
 */
#ifndef SL_NUMBER_TEXT_H
#define SL_NUMBER_TEXT_H

/* strtod of the C locale. `text` ends with a NUL. */
double sl_read_double(const char *text, char **end);

#endif
