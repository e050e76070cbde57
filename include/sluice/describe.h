/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sluice/describe.h: the library's options, for programs that take them from a command line, a
 * file, or another language.
 *
 * A sluice_option describes a member of an options struct that text can set: its name, type, range,
 * words and place. sluice_option_set sets one:
 *
 *     sluice_loader_options options = SLUICE_LOADER_OPTIONS_INIT;
 *     for (each "name = text" of a file) {
 *         status = sluice_option_set(SLUICE_OPTIONS_LOADER, &options, name, text, &error);
 *     }
 *
 * sluice's own tool and Python package use the same table, and so does each call that checks such a
 * struct. Members without a description are pointers, their counts, and callbacks.
 *
 * Threads: any, at any time. Nothing blocks. Returned pointers are constant, and valid as long as
 * the library is loaded.
 */
#ifndef SLUICE_DESCRIBE_H
#define SLUICE_DESCRIBE_H

#include <sluice/common.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum sluice_options {
    SLUICE_OPTIONS_LOADER = 0,  /* sluice_loader_options */
    SLUICE_OPTIONS_COLUMN = 1,  /* sluice_column */
    SLUICE_OPTIONS_DATASET = 2, /* sluice_dataset_options */
    SLUICE_OPTIONS_WRITER = 3,  /* sluice_writer_options */
    SLUICE_OPTIONS_PACK = 4,    /* sluice_pack_options */
    SLUICE_OPTIONS_UNPACK = 5,  /* sluice_unpack_options */
    SLUICE_OPTIONS_VERIFY = 6,  /* sluice_verify_options */
    SLUICE_OPTIONS_REMOTE = 7   /* sluice_remote_config */
} sluice_options;

typedef enum sluice_option_type {
    SLUICE_OPTION_U32 = 0,  /* uint32_t */
    SLUICE_OPTION_U64 = 1,  /* uint64_t */
    SLUICE_OPTION_I32 = 2,  /* int32_t */
    SLUICE_OPTION_I64 = 3,  /* int64_t */
    SLUICE_OPTION_REAL = 4, /* double */
    SLUICE_OPTION_FLAG = 5, /* uint32_t, 0 or 1 */
    SLUICE_OPTION_WORD = 6, /* int32_t, a value of an enum: one of `words` */
    SLUICE_OPTION_TEXT = 7  /* const char * */
} sluice_option_type;

typedef enum sluice_option_unit {
    SLUICE_UNIT_NONE = 0,
    SLUICE_UNIT_BYTES = 1,
    SLUICE_UNIT_NANOSECONDS = 2 /* the tool and Python take seconds */
} sluice_option_unit;

typedef struct sluice_option {
    uint32_t struct_size;
    int32_t type;             /* a sluice_option_type */
    int32_t unit;             /* a sluice_option_unit */
    uint32_t offset;          /* place in its struct, bytes */
    const char *name;         /* name in C: "batch_size" */
    const char *keyword;      /* name in Python: "batch_size"; NULL: no argument has this meaning */
    const char *flag;         /* name in the tool: "--batch"; NULL: no command takes it */
    const char *value;        /* placeholder in a help text: "ROWS"; NULL for FLAG and WORD */
    const char *help;         /* one line, the default in brackets */
    const char *const *words; /* WORD: its words, from `least` on, ending with NULL; else NULL */
    int64_t least;            /* smallest value; 0 always means the default */
    uint64_t most;            /* largest value */
    uint32_t kinds;         /* columns: kinds that take it, 1 << sluice_column_kind each; 0: all */
    uint32_t zero_is_meant; /* REAL: 1: DBL_MIN means 0, since 0 means the default */
    /* If 0 is a value, a bit of another member, a uint32_t, says whether this one is set;
     * sluice_option_set sets both. */
    uint32_t given_bit;    /* 0: there is no such bit */
    uint32_t given_offset; /* place of that member in the struct, bytes */
} sluice_option;

#define SLUICE_OPTION_INIT                                                                   \
    {                                                                                        \
        sizeof(sluice_option), 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, 0, 0, 0, 0 \
    }

/* Describes option `index` of `of`, from 0 on. END: no more options. INVALID: no such struct, or
 * `option` is NULL or lacks its struct_size. */
SLUICE_API sluice_status sluice_option_get(sluice_options of, uint32_t index,
                                           sluice_option *option);

/*
 * Sets the member `name` of `options`, a struct of the kind `of` with its struct_size. `text` is a
 * decimal integer; for REAL any number, for FLAG 0, 1, true or false, for WORD a word. TEXT stores
 * the pointer itself: the text is borrowed. INVALID, and nothing is set: unknown option, or an
 * invalid or out-of-range value. UNSUPPORTED: the struct is an older one.
 */
SLUICE_API sluice_status sluice_option_set(sluice_options of, void *options, const char *name,
                                           const char *text, sluice_error *error);

typedef enum sluice_spelling {
    SLUICE_SPELLING_TOOL = 0,  /* "--max-sample" */
    SLUICE_SPELLING_PYTHON = 1 /* "max_sample_bytes" */
} sluice_spelling;

/*
 * Returns the spelling of an option named by an error (sluice_error_respell) in the tool or in
 * Python. NULL: as in C.
 */
SLUICE_API const char *sluice_option_spell(sluice_spelling spelling, const char *option);

#ifdef __cplusplus
}
#endif
#endif
