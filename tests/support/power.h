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

/* Begins with the folder as it is, all of which is durable. */
void power_record(const char *folder);
void power_stop(void);
/* Operations that were recorded. */
uint32_t power_operations(void);

/* Whether the folder is right after a power failure. */
typedef void power_check(const char *folder, void *ctx);

/*
 * Makes states, each once, in the folder `into` (made and removed), and has them checked: after
 * every `step`-th operation what is there if nothing, if everything and if just the names of what
 * was not synced got to the disk; all sets of names if they are few, or some; and blocks drawn by
 * `seed`. Returns how many states there were.
 */
uint32_t power_each(const char *into, uint32_t step, uint64_t seed, power_check *check, void *ctx);
/* Says which state is being checked, on stderr. */
void power_print_state(void);

#endif
