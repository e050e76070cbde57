/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pillow: asks Pillow for reference images, through support/pillow_oracle.py.
 *
 * A test writes its inputs into the oracle's folder and one line per question, runs Python once,
 * and reads the answers. Functions abort on failure. Threads: none; one oracle at a time.
 */
#ifndef SL_PILLOW_H
#define SL_PILLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct pillow {
    char folder[256];
    FILE *questions;
    uint32_t count;
} pillow;

/* Takes the test program's arguments, PYTHON PILLOW_ORACLE, and checks that Pillow is installed.
 * Returns 0, or the program's exit code after printing the reason. Call before the first
 * pillow_open. */
int pillow_begin(int argc, char **argv);
void pillow_open(pillow *oracle);
/* Writes a file, named by `number`, into the folder for questions to refer to. */
void pillow_input(pillow *oracle, uint32_t number, const void *data, size_t bytes);
/* Adds a question (pillow_oracle.py lists them); returns its number. */
uint32_t pillow_ask(pillow *oracle, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Runs Python over all questions. */
void pillow_run(pillow *oracle);
/* Reads the answer to question `number`, which must be `bytes` long. */
void pillow_answer(const pillow *oracle, uint32_t number, void *data, size_t bytes);
void pillow_close(pillow *oracle);

/* Returns the largest difference between two byte strings. */
int largest_difference(const uint8_t *a, const uint8_t *b, size_t bytes);

#endif
