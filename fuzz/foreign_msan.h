/* SPDX-License-Identifier: Apache-2.0 */
/* foreign_msan: shared by the files that mark the bytes written by external libraries, since
 * MemorySanitizer does not see inside them. The linker redirects the libraries' calls here
 * (--wrap). */
#ifndef SL_FUZZ_FOREIGN_MSAN_H
#define SL_FUZZ_FOREIGN_MSAN_H

#include <sanitizer/msan_interface.h>

/* Begins the function called instead of the library's, which it can call as __real_NAME. */
#define FOREIGN_WRAPPED(result, name, parameters) \
    result __real_##name parameters;              \
    result __wrap_##name parameters;              \
    result __wrap_##name parameters

/* Between these, the library's own calls of memcmp and the like are not checked: its variables seem
 * uninitialized. An error of the library may leave by longjmp, which ends this, too. */
void foreign_begin(void);
void foreign_end(void);

#endif
