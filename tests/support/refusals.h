/* SPDX-License-Identifier: Apache-2.0 */
/*
 * refusals: the system refuses a call on purpose, for tests that go through all calls in turn.
 *
 * The program is linked with --wrap for REFUSALS_WRAP (tests/unit/CMakeLists.txt), so that memory
 * and system calls of the library come here. A recording run notes each call and the stack it came
 * by; then an armed run refuses one. Calls of other libraries are not seen. Threads: calls come
 * from any thread, the functions below are for the main one while no other works.
 */
#ifndef SL_REFUSALS_H
#define SL_REFUSALS_H

#include <stdbool.h>
#include <stdint.h>

typedef enum refusal {
    REFUSAL_ONCE,        /* the call fails as its kind does: ENOMEM, EMFILE, EIO, ... */
    REFUSAL_STAYS,       /* so do all later calls of its kind */
    REFUSAL_INTERRUPTED, /* the call fails with EINTR, once */
    REFUSAL_MODES
} refusal;

const char *refusal_name(refusal mode);

/* Notes all calls from here on. */
void refusals_record(void);
/* The number of calls since then. */
uint32_t refusals_count(void);
/* Ends that; the number of calls. */
uint32_t refusals_recorded(void);
/* True if recorded call `call` came by a stack that none chosen before came by, or is one of 512
 * drawn by `seed`; of stacks that STAYS is chosen for, and with a sanitizer, a share that is drawn,
 * too. `every`: always. With `mode` INTERRUPTED only if it can be interrupted. */
bool refusals_chosen(refusal mode, uint32_t call, uint64_t seed, bool every);

/* Refuses call `call` from here on. */
void refusals_arm(refusal mode, uint32_t call);
/* Refuses no more. */
void refusals_disarm(void);
/* True if a call was refused since it was armed. */
bool refusals_met(void);
/* The name of the call that was refused, "nothing" before. Also for signal handlers. */
const char *refusals_what(void);
/* Prints the stack by which the refused call came. */
void refusals_print_stack(void);

/* Descriptors that are open in this process. */
uint32_t refusals_descriptors(void);

#endif
