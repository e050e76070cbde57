/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sluice/describe.h: what options there are, for programs that take them from a command line, a
 * file, or another language.
 *
 * A sluice_option describes a member of an options struct that a text can say: its name, type,
 * range, words, and where it stands. sluice_option_set sets one:
 *
 *     sluice_loader_options options = SLUICE_LOADER_OPTIONS_INIT;
 *     for (each "name = text" of a file) {
 *         status = sluice_option_set(SLUICE_OPTIONS_LOADER, &options, name, text, &error);
 *     }
 *
 * sluice's own tool and Python package go by the same table, and so does the check of each call
 * that takes such a struct. Members that are not described are pointers, counts of what these point
 * to, and callbacks.
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
    int32_t type;        /* a sluice_option_type */
    int32_t unit;        /* a sluice_option_unit */
    uint32_t offset;     /* in its struct, bytes */
    const char *name;    /* as in C: "batch_size" */
    const char *keyword; /* in Python: "batch_size"; NULL: not as one argument of this meaning */
    const char *flag;    /* of the tool: "--batch"; NULL: no command takes it */
    const char *value;   /* what a help text calls a value: "ROWS"; NULL: FLAG and WORD */
    const char *help;    /* one line, the default in brackets */
    const char *const *words; /* WORD: the first is `least`; NULL behind the last. Else NULL */
    int64_t least;            /* the smallest value; 0 always means the default */
    uint64_t most;
    uint32_t kinds; /* of a column: kinds that take it, 1 << a sluice_column_kind each; 0: all */
    uint32_t zero_is_meant; /* REAL: 1: DBL_MIN asks for 0, since 0 asks for the default */
    /* Where 0 is a value, another member, a uint32_t, has a bit that says that this one is given;
     * sluice_option_set sets both. */
    uint32_t given_bit;    /* 0: there is no such bit */
    uint32_t given_offset; /* of that member in the struct, bytes */
} sluice_option;

#define SLUICE_OPTION_INIT                                                                   \
    {                                                                                        \
        sizeof(sluice_option), 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, 0, 0, 0, 0 \
    }

/* Describes option `index` of `of`, from 0 on. END: there are no more. INVALID: there is no such
 * struct, or `option` is NULL or does not say its size. */
SLUICE_API sluice_status sluice_option_get(sluice_options of, uint32_t index,
                                           sluice_option *option);

/*
 * Sets the member `name` of `options`, a struct of the kind `of` with its struct_size. `text` is a
 * whole number in decimal, for REAL any number, for FLAG 0, 1, true or false, for WORD a word; of
 * TEXT the pointer itself is stored: the text is borrowed. INVALID, and nothing is set: there is no
 * such option, or its value is another or out of its range. UNSUPPORTED: the struct is an older
 * one.
 */
SLUICE_API sluice_status sluice_option_set(sluice_options of, void *options, const char *name,
                                           const char *text, sluice_error *error);

typedef enum sluice_spelling {
    SLUICE_SPELLING_TOOL = 0,  /* "--max-sample" */
    SLUICE_SPELLING_PYTHON = 1 /* "max_sample_bytes" */
} sluice_spelling;

/*
 * What an option that an error names (sluice_error_respell) is called elsewhere. NULL: as in C.
 */
SLUICE_API const char *sluice_option_spell(sluice_spelling spelling, const char *option);

#ifdef __cplusplus
}
#endif
#endif
