/* SPDX-License-Identifier: Apache-2.0 */
/*
 * power: what a folder may hold after the power failed, by a recording of what was done to it.
 *
 * The program is linked with --wrap for the calls that change files (tests/unit/CMakeLists.txt);
 * what they do below a folder is noted and done; fsync is only noted. After any
 * number of operations the power may fail. Then
 * - of bytes that were written since the file's last fsync, each block of 512 may be there or not;
 *   what is missing is zero, or the file ends before it;
 * - a name that was made, moved or removed since its folder's last fsync may be as before or as
 *   after, each by itself; a file's fsync does nothing for its name, nor the other way round.
 * Threads: calls come from any thread; the functions are for the main one.
 */
#ifndef SL_POWER_H
#define SL_POWER_H

#include <stdbool.h>
#include <stdint.h>

/* Begins recording; the folder's present contents are durable. */
void power_record(const char *folder);
void power_stop(void);
/* Returns the number of operations recorded. */
uint32_t power_operations(void);

/* Checks that the folder is valid after a power failure. */
typedef void power_check(const char *folder, void *ctx);

/*
 * Makes states, each once, in the folder `into` (created and removed), and checks each. After every
 * `step`-th operation, the states are: what is left if nothing, everything, or only the names of
 * unsynced changes reached the disk; all sets of names if there are few, otherwise some; and blocks
 * drawn by `seed`. Returns the number of states.
 */
uint32_t power_each(const char *into, uint32_t step, uint64_t seed, power_check *check, void *ctx);
/* Prints the state being checked to stderr. */
void power_print_state(void);

#endif
