/* SPDX-License-Identifier: Apache-2.0 */
/*
 * error: error reports.
 *
 * Purpose: the function that DECIDES an error records it, once, in a full-size sluice_error;
 * callers only pass the status up. Inside the library every sluice_error is of full size
 * (struct_size is set by sl_error_clear); only src/api copies to and from callers' structs of other
 * sizes.
 * Threads: none; an error belongs to whoever holds it.
 */
#ifndef SL_ERROR_H
#define SL_ERROR_H

#include "option_text.h"

#include <sluice/common.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Reason untrusted bytes are refused, kept small: a literal sentence, and the offset in those
 * bytes. text NULL: they are accepted.
 */
typedef struct sl_refusal {
    const char *text;
    sluice_status status;
    uint32_t offset;
    const char *field; /* field of a sample to blame; NULL: none */
    uint32_t file;     /* number of the file, of a sample with several */
} sl_refusal;

static inline sl_refusal sl_refuse(const char *text, size_t offset)
{
    return (sl_refusal){.text = text, .status = SLUICE_CORRUPT, .offset = (uint32_t)offset};
}

static inline sl_refusal sl_refuse_unknown(const char *text, size_t offset)
{
    return (sl_refusal){.text = text, .status = SLUICE_UNSUPPORTED, .offset = (uint32_t)offset};
}

static inline sl_refusal sl_accept(void)
{
    return (sl_refusal){.status = SLUICE_OK};
}

/*
 * Returns NOMEM, in `error`, too, instead of CORRUPT or UNSUPPORTED if memory was short meanwhile
 * (sl_memory_shortages): the data are not to blame then. `error` may be NULL.
 */
sluice_status sl_error_after_shortage(sluice_status status, bool shortage, sluice_error *error);

/* Resets to "no error", full size. */
void sl_error_clear(sluice_error *error);

/*
 * Records status, stage and a printf-style sentence, made safe to print (safe_text.h), with options
 * marked (option_text.h); clears everything else. `error` may be NULL. Returns `status`, so that a
 * caller can write `return sl_error_set(...)`.
 */
sluice_status sl_error_set(sluice_error *error, sluice_status status, const char *stage,
                           const char *format, ...) __attribute__((format(printf, 4, 5)));

/* As sl_error_set, with errno `sys_errno`, `file` (NULL: none; cut at the front) and `offset`. */
sluice_status sl_error_file(sluice_error *error, sluice_status status, const char *stage,
                            int sys_errno, const char *file, int64_t offset, const char *format,
                            ...) __attribute__((format(printf, 7, 8)));

/*
 * Records NOMEM: "out of memory", followed by a printf-style phrase ("opening a dataset", "for %u
 * files"). `error` may be NULL.
 */
sluice_status sl_no_memory(sluice_error *error, const char *stage, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Does the same for a file, like sl_error_file. */
sluice_status sl_no_memory_file(sluice_error *error, const char *stage, const char *file,
                                const char *what);

/* Appends to the sentence, after cutting it to `keep` bytes. `error` may be NULL. */
void sl_error_add(sluice_error *error, size_t keep, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Copies `path` into error->file, keeping the end if it does not fit. For an http address it leaves
 * out the user, the query and the fragment, which may be secret. */
void sl_error_set_path(sluice_error *error, const char *path);

/*
 * Returns whether an unreadable sample may be good: IO, unless its path leads to something that
 * cannot be read (ENOENT, ENOTDIR, EISDIR, ELOOP, ENAMETOOLONG, EINVAL: another kind of file).
 */
bool sl_error_is_unreadable(const sluice_error *error);

/* Copies to a caller's struct, writing no more than its struct_size. `to` may be NULL. */
void sl_error_copy_out(sluice_error *to, const sluice_error *from);

#endif
