/* SPDX-License-Identifier: Apache-2.0 */
/*
 * power: the contents a folder may have after a power failure, from a recording of its changes.
 *
 * The program is linked with --wrap for the calls that change files (tests/unit/CMakeLists.txt).
 * Calls below the watched folder are recorded and carried out; fsync is only recorded. Power may
 * fail after any number of operations. Then
 * - each 512-byte block written since the file's last fsync may be present or not; a missing
 *   block is zero, or the file ends before it;
 * - each name created, moved or removed since its folder's last fsync may be as before or as after,
 *   independently of the others; a file's fsync does not cover its name, nor the reverse.
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
 * `step`-th operation, the states are: nothing, everything, or only the names of unsynced changes
 * reached the disk; all sets of names if there are few, otherwise some; and blocks drawn by `seed`.
 * Returns the number of states.
 */
uint32_t power_each(const char *into, uint32_t step, uint64_t seed, power_check *check, void *ctx);
/* Prints the state being checked to stderr. */
void power_print_state(void);

#endif
