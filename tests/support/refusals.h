/* SPDX-License-Identifier: Apache-2.0 */
/*
 * refusals: makes the system refuse calls on purpose, for tests that go through all calls in turn.
 *
 * The program is linked with --wrap for REFUSALS_WRAP (tests/unit/CMakeLists.txt), so that the
 * library's memory and system calls come here. A recording run notes each call and its stack; an
 * armed run then refuses one. Calls of other libraries are not seen.
 * Threads: calls come from any thread; the functions below are for the main one while no other
 * works.
 */
#ifndef SL_REFUSALS_H
#define SL_REFUSALS_H

#include <stdbool.h>
#include <stdint.h>

typedef enum refusal {
    REFUSAL_ONCE,        /* the call fails as its kind does: ENOMEM, EMFILE, EIO, ... */
    REFUSAL_STAYS,       /* all later calls of its kind fail too */
    REFUSAL_INTERRUPTED, /* the call fails with EINTR, once */
    REFUSAL_MODES
} refusal;

const char *refusal_name(refusal mode);

/* Begins recording all calls. */
void refusals_record(void);
/* Returns the number of calls recorded so far. */
uint32_t refusals_count(void);
/* Ends the recording; returns the number of calls. */
uint32_t refusals_recorded(void);
/* True if recorded call `call` has a stack that no earlier choice had, or is one of 512 drawn by
 * `seed`. For STAYS, and with a sanitizer, only a drawn fraction of the stacks is chosen. `every`:
 * always true. With `mode` INTERRUPTED, only calls that can be interrupted. */
bool refusals_chosen(refusal mode, uint32_t call, uint64_t seed, bool every);

/* Refuses call `call` from now on. */
void refusals_arm(refusal mode, uint32_t call);
/* Ends refusing. */
void refusals_disarm(void);
/* True if a call has been refused since arming. */
bool refusals_met(void);
/* Returns the name of the refused call, "nothing" before. Also for signal handlers. */
const char *refusals_what(void);
/* Prints the stack of the refused call. */
void refusals_print_stack(void);

/* Returns the number of open descriptors of this process. */
uint32_t refusals_descriptors(void);

#endif
