/* SPDX-License-Identifier: Apache-2.0 */
/*
 * units: numbers with units, read from command lines and written for people.
 * Pure; the tool never leaves the C locale, so a decimal point is always a point.
 */
#ifndef TOOL_UNITS_H
#define TOOL_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Parses all of `text`; false leaves `*value` unset. No sign, no leading space. */
bool units_parse_count(const char *text, uint64_t *value);
bool units_parse_real(const char *text, double *value);
/* Parses "64MiB", "64M", "64m": 64 * 1024 * 1024; "64MB": 64 * 10^6; "64", "64B": 64. */
bool units_parse_bytes(const char *text, uint64_t *value);
/* Parses "10s", "1.5ms"; a plain number counts `plain_factor` seconds. Result in seconds. */
bool units_parse_duration(const char *text, double plain_factor, double *seconds);

/* Writes "110 B", "1.5 KiB", "256 MiB". */
void units_format_bytes(char *text, size_t size, uint64_t bytes);
/* Writes "850 ms", "12.3 s", "4:05", "2:03:10" (minutes, hours). */
void units_format_duration(char *text, size_t size, double seconds);

#endif
