/* SPDX-License-Identifier: Apache-2.0 */
/*
 * media: the table of media kinds known by their bytes or their names.
 *
 * Purpose: the only list of signatures, file extensions and codec numbers. Formats use it for file
 * names, decode for the codec of some bytes, errors for names of kinds. Kinds without a codec are
 * in it too: they can be named and stored, though not decoded. The last rows are not media: things
 * found in the place of images.
 *
 * A new kind is a row of media.c; if it has a codec, also a row of decode/codecs.c. Threads: pure.
 * Memory: none.
 */
#ifndef SL_MEDIA_H
#define SL_MEDIA_H

#include "view.h"

#include <stdbool.h>

/* Traits of a kind, a set: SL_MEDIA_... */
enum {
    SL_MEDIA_PICTURE = 1,
    SL_MEDIA_AUDIO = 2,
    SL_MEDIA_VIDEO = 4, /* with AUDIO: a container that may hold either */
    /* Images that torchvision's ImageFolder takes, and so do folders and lists here: the numbers of
     * samples depend on this set, so it is never extended. */
    SL_MEDIA_IN_FOLDERS = 8,
    /* Images by their extensions in archives; other files are bytes there. */
    SL_MEDIA_IN_ARCHIVES = 16,
    SL_MEDIA_HAS_CODEC = 32 /* for sl_media_extension: not in the rows, which have the number */
};

enum { SL_MEDIA_SIGNATURES_MAX = 3, SL_MEDIA_EXTENSIONS_MAX = 3 };

/* Bytes at an offset. */
typedef struct sl_signature {
    uint8_t at, size; /* 0: no signature */
    bool is_evidence; /* a field of unknown bytes that begin so is one of images */
    char bytes[12];   /* '?': any byte */
} sl_signature;

typedef struct sl_media {
    const char *name; /* "JPEG" */
    uint8_t traits;
    uint8_t codec; /* the number that shards store (docs/format.md), never changed; 0: none */
    sl_signature signatures[SL_MEDIA_SIGNATURES_MAX];
    const char *extensions[SL_MEDIA_EXTENSIONS_MAX + 1]; /* in lower case; files get the first */
} sl_media;

/* In the order in which their signatures are compared, images first; ends with a NULL name. */
extern const sl_media sl_media_kinds[];

/* Returns the kind of the first bytes of a file; NULL: unknown. */
const sl_media *sl_media_of_bytes(sl_bytes bytes);
/* Returns the kind of files with this extension (without a dot, in any case); NULL: unknown. */
const sl_media *sl_media_of_extension(const char *extension);
/*
 * Returns whether files with this extension are images in any program: also extensions that no
 * folder's sample may have here (.gif, .mpo, .heic, .jfif), which are counted as left out.
 */
bool sl_media_names_picture(const char *extension);
/* Returns the kind of a codec's number; NULL: unknown. */
const sl_media *sl_media_of_codec(uint8_t number);
/* Returns extension `number` of all kinds with all these traits; NULL: there are no more. */
const char *sl_media_extension(uint32_t number, uint32_t traits);
/* Returns "an image", "an audio file", ...; for "not media" kinds "data". */
const char *sl_media_class_words(const sl_media *kind);

/*
 * Returns whether bytes are evidence enough of an image, decodable or not, to take a field for one
 * of images if the format does not give its type. There must be bytes behind the signature.
 */
bool sl_media_is_picture(sl_bytes bytes);

#endif
