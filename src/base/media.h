/* SPDX-License-Identifier: Apache-2.0 */
/*
 * media: the table of the kinds of media files that are known by their bytes or their names.
 *
 * Purpose: the only list of signatures, file extensions and codec numbers. Formats ask it what a
 * file's name means, decode which codec takes some bytes, errors what a file is called. Kinds
 * without a codec are in it too: they can be named and stored, though not decoded. The last rows
 * are no media: what is found in the place of pictures.
 * A new kind is a row of media.c; if it has a codec, that is a row of decode/codecs.c besides.
 * Threads: pure. Memory: none.
 */
#ifndef SL_MEDIA_H
#define SL_MEDIA_H

#include "view.h"

#include <stdbool.h>

/* What a kind is, as a set: SL_MEDIA_... */
enum {
    SL_MEDIA_PICTURE = 1,
    SL_MEDIA_AUDIO = 2,
    SL_MEDIA_VIDEO = 4, /* with AUDIO: a container that may hold either */
    /* Pictures that torchvision's ImageFolder takes, and so do folders and lists here: the numbers
     * of samples depend on it, so that this set is not extended. */
    SL_MEDIA_IN_FOLDERS = 8,
    /* Pictures by their extensions in archives; others are bytes there. */
    SL_MEDIA_IN_ARCHIVES = 16,
    SL_MEDIA_HAS_CODEC = 32 /* for sl_media_extension: not in the rows, which have the number */
};

enum { SL_MEDIA_SIGNATURES_MAX = 3, SL_MEDIA_EXTENSIONS_MAX = 3 };

/* Bytes at an offset. */
typedef struct sl_signature {
    uint8_t at, size; /* 0: no signature */
    bool is_evidence; /* a field of unknown bytes that begin so is one of pictures */
    char bytes[12];   /* '?': any byte */
} sl_signature;

typedef struct sl_media {
    const char *name; /* "JPEG" */
    uint8_t traits;
    uint8_t
        codec; /* the number that shards store (docs/format.md), never changed; 0: it has none */
    sl_signature signatures[SL_MEDIA_SIGNATURES_MAX];
    const char *extensions[SL_MEDIA_EXTENSIONS_MAX + 1]; /* in small letters; files are given the
                                                            first */
} sl_media;

/* In the order in which their signatures are compared, pictures first; ends with a NULL name. */
extern const sl_media sl_media_kinds[];

/* The kind of bytes that begin a file; NULL: none that is known. */
const sl_media *sl_media_of_bytes(sl_bytes bytes);
/* The kind of files with this extension (without a dot, in any case of letters); NULL: unknown. */
const sl_media *sl_media_of_extension(const char *extension);
/*
 * Whether files with this extension are pictures in any program: also such as no folder's sample
 * may be here (.gif, .mpo, .heic, .jfif), which are counted as left out.
 */
bool sl_media_names_picture(const char *extension);
/* The kind that a codec's number stands for; NULL: unknown. */
const sl_media *sl_media_of_codec(uint8_t number);
/* Extension `number` of all kinds that have all these traits; NULL: there are no more. */
const char *sl_media_extension(uint32_t number, uint32_t traits);
/* "an image", "an audio file", ...; "not media" kinds: "data". */
const char *sl_media_class_words(const sl_media *kind);

/*
 * Whether bytes are evidence enough of a picture, decodable or not, to take a field for one of
 * pictures where the format does not say what its bytes are. There is something behind the
 * signature then.
 */
bool sl_media_is_picture(sl_bytes bytes);

#endif
