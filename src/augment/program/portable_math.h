/* SPDX-License-Identifier: Apache-2.0 */
/*
 * portable_math: logarithm, exponential, sine and cosine with the same bits on every machine.
 *
 * Purpose: a draw is a pure function of its key. The arithmetic is therefore +, -, *, / and sqrt of
 * binary64, which IEEE 754 rounds in one way: functions of the C library differ in their last bit
 * between libraries, and between processors with and without FMA (glibc chooses at run time).
 * Logarithm and exponential are within 2 units of the last place, sine and cosine within 2^-53 of
 * the true value, by Taylor's series. Threads: pure.
 */
#ifndef SL_PORTABLE_MATH_H
#define SL_PORTABLE_MATH_H

/* x > 0 and finite. */
double sl_log(double x);
/* Not NaN; infinite above 709.78. */
double sl_exp(double x);
/* Of an angle up to 1000 radians either way. */
void sl_sine_cosine(double radians, double *sine, double *cosine);
/* Sine, cosine and tangent, each rounded to the nearest double, as C libraries return them except
 * for one in a thousand: a matrix of theirs that puts points on edges of pixels then does so here,
 * too. Ten times as slow. */
typedef struct sl_trigonometry {
    double sine, cosine, tangent;
} sl_trigonometry;
sl_trigonometry sl_rounded_trigonometry(double radians);

#endif
