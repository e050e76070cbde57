/* SPDX-License-Identifier: Apache-2.0 */
/*
 * foreign_msan: shared by the files that mark the bytes which foreign libraries write, since
 * MemorySanitizer does not see inside them. The linker sends the libraries' calls here (--wrap).
 */
#ifndef SL_FUZZ_FOREIGN_MSAN_H
#define SL_FUZZ_FOREIGN_MSAN_H

#include <sanitizer/msan_interface.h>

/* Begins the function that is called in place of the library's, which is __real_NAME in it. */
#define FOREIGN_WRAPPED(result, name, parameters) \
    result __real_##name parameters;              \
    result __wrap_##name parameters;              \
    result __wrap_##name parameters

/* Between these the library's own calls of memcmp and the like are not looked at: its variables
 * look as if they had no value. An error of the library may leave by longjmp, which ends it, too.
 */
void foreign_begin(void);
void foreign_end(void);

#endif
