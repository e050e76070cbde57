/* SPDX-License-Identifier: Apache-2.0 */
#include "media.h"

#include <strings.h>

#define USUAL (SL_MEDIA_PICTURE | SL_MEDIA_IN_FOLDERS | SL_MEDIA_IN_ARCHIVES)

/* More exact signatures of the same bytes come first. */
const sl_media sl_media_kinds[] = {
    {.name = "JPEG",
     .traits = USUAL,
     .codec = 1,
     .signatures = {{0, 3, true, "\xff\xd8\xff"}, {0, 2, false, "\xff\xd8"}},
     .extensions = {"jpg", "jpeg"}},
    {.name = "PNG",
     .traits = USUAL,
     .codec = 3,
     .signatures = {{0, 8, true, "\x89PNG\r\n\x1a\n"}},
     .extensions = {"png"}},
    {.name = "BMP", .traits = USUAL, .signatures = {{0, 2, true, "BM"}}, .extensions = {"bmp"}},
    {.name = "WebP",
     .traits = USUAL,
     .codec = 4,
     .signatures = {{0, 12, true, "RIFF????WEBP"}},
     .extensions = {"webp"}},
    {.name = "TIFF",
     .traits = USUAL,
     .signatures = {{0, 4, false, "II*\0"}, {0, 4, false, "MM\0*"}},
     .extensions = {"tif", "tiff"}},
    {.name = "PPM", .traits = USUAL, .signatures = {{0, 2, false, "P6"}}, .extensions = {"ppm"}},
    {.name = "PGM", .traits = USUAL, .signatures = {{0, 2, false, "P5"}}, .extensions = {"pgm"}},
    {.name = "PBM",
     .traits = SL_MEDIA_PICTURE | SL_MEDIA_IN_ARCHIVES,
     .signatures = {{0, 2, false, "P4"}},
     .extensions = {"pbm"}},
    {.name = "GIF",
     .traits = SL_MEDIA_PICTURE,
     .signatures = {{0, 4, true, "GIF8"}},
     .extensions = {"gif"}},
    {.name = "JPEG 2000",
     .traits = SL_MEDIA_PICTURE,
     .signatures = {{0, 8, false, "\0\0\0\x0cjP  "}, {0, 4, false, "\xff\x4f\xff\x51"}},
     .extensions = {"jp2"}},
    {.name = "JPEG XL",
     .traits = SL_MEDIA_PICTURE,
     .signatures = {{0, 8, false, "\0\0\0\x0cJXL "}, {0, 2, false, "\xff\x0a"}},
     .extensions = {"jxl"}},
    {.name = "AVIF",
     .traits = SL_MEDIA_PICTURE,
     .signatures = {{4, 8, false, "ftypavif"}},
     .extensions = {"avif"}},
    {.name = "HEIF",
     .traits = SL_MEDIA_PICTURE,
     .signatures = {{4, 7, false, "ftyphei"}, {4, 8, false, "ftypmif1"}},
     .extensions = {"heic"}},
    {.name = "raw pixels", .traits = SL_MEDIA_PICTURE, .codec = 2},

    {.name = "WAV",
     .traits = SL_MEDIA_AUDIO,
     .signatures = {{8, 4, false, "WAVE"}},
     .extensions = {"wav"}},
    {.name = "FLAC",
     .traits = SL_MEDIA_AUDIO,
     .signatures = {{0, 4, false, "fLaC"}},
     .extensions = {"flac"}},
    {.name = "MP3",
     .traits = SL_MEDIA_AUDIO,
     .signatures = {{0, 3, false, "ID3"}},
     .extensions = {"mp3"}},
    {.name = "Ogg",
     .traits = SL_MEDIA_AUDIO,
     .signatures = {{0, 4, false, "OggS"}},
     .extensions = {"ogg", "opus"}},
    {.name = "QuickTime",
     .traits = SL_MEDIA_VIDEO,
     .signatures = {{4, 8, false, "ftypqt  "}},
     .extensions = {"mov"}},
    {.name = "MP4",
     .traits = SL_MEDIA_VIDEO | SL_MEDIA_AUDIO,
     .signatures = {{4, 4, false, "ftyp"}},
     .extensions = {"mp4", "m4a"}},
    {.name = "Matroska or WebM",
     .traits = SL_MEDIA_VIDEO,
     .signatures = {{0, 4, false, "\x1a\x45\xdf\xa3"}},
     .extensions = {"mkv", "webm"}},
    {.name = "AVI",
     .traits = SL_MEDIA_VIDEO,
     .signatures = {{8, 4, false, "AVI "}},
     .extensions = {"avi"}},
    {.name = "MPEG",
     .traits = SL_MEDIA_VIDEO,
     .signatures = {{0, 4, false, "\0\0\x01\xba"}},
     .extensions = {"mpg", "mpeg"}},

    {.name = "gzip", .signatures = {{0, 2, false, "\x1f\x8b"}}},
    {.name = "zip", .signatures = {{0, 4, false, "PK\x03\x04"}}},
    {.name = "zstd", .signatures = {{0, 4, false, "\x28\xb5\x2f\xfd"}}},
    {.name = "PDF", .signatures = {{0, 4, false, "%PDF"}}},
    {.name = "HTML",
     .signatures = {{0, 9, false, "<!DOCTYPE"},
                    {0, 9, false, "<!doctype"},
                    {0, 5, false, "<html"}}},
    {.name = NULL},
};

static bool media_begins(sl_bytes bytes, const sl_signature *signature)
{
    if (bytes.size < (size_t)signature->at + signature->size) {
        return false;
    }
    for (uint32_t i = 0; i < signature->size; i++) {
        const uint8_t wanted = (uint8_t)signature->bytes[i];
        if (bytes.data[signature->at + i] != wanted && wanted != '?') {
            return false;
        }
    }
    return true;
}

/* Returns its signature that the bytes begin with; NULL: none. */
static const sl_signature *find_signature(const sl_media *kind, sl_bytes bytes)
{
    for (uint32_t i = 0; i < SL_MEDIA_SIGNATURES_MAX && kind->signatures[i].size > 0; i++) {
        if (media_begins(bytes, &kind->signatures[i])) {
            return &kind->signatures[i];
        }
    }
    return NULL;
}

const sl_media *sl_media_of_bytes(sl_bytes bytes)
{
    for (const sl_media *kind = sl_media_kinds; kind->name != NULL; kind++) {
        if (find_signature(kind, bytes) != NULL) {
            return kind;
        }
    }
    return NULL;
}

bool sl_media_is_picture(sl_bytes bytes)
{
    const sl_media *kind = sl_media_of_bytes(bytes);
    const sl_signature *found = kind != NULL ? find_signature(kind, bytes) : NULL;
    return found != NULL && found->is_evidence && bytes.size > (size_t)found->at + found->size;
}

const sl_media *sl_media_of_extension(const char *extension)
{
    for (const sl_media *kind = sl_media_kinds; kind->name != NULL; kind++) {
        for (uint32_t i = 0; kind->extensions[i] != NULL; i++) {
            if (strcasecmp(kind->extensions[i], extension) == 0) {
                return kind;
            }
        }
    }
    return NULL;
}

bool sl_media_names_picture(const char *extension)
{
    static const char *const others[] = {
        "jpe", "jfif", "jfi", "jif", "mpo", "apng", "heif", "hif", "avifs", "j2k", "jpx", "jpf",
        "tga", "ico",  "svg", "psd", "exr", "hdr",  "dds",  "dng", "cr2",   "cr3", "nef", "arw",
        "orf", "rw2",  "raf", "pnm", "pfm", "qoi",  "jxr",  "dib", "pcx",   "xbm", "xpm", "eps"};
    const sl_media *kind = sl_media_of_extension(extension);
    if (kind != NULL) {
        return (kind->traits & SL_MEDIA_PICTURE) != 0;
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (strcasecmp(others[i], extension) == 0) {
            return true;
        }
    }
    return false;
}

const sl_media *sl_media_of_codec(uint8_t number)
{
    for (const sl_media *kind = sl_media_kinds; kind->name != NULL; kind++) {
        if (number != 0 && kind->codec == number) {
            return kind;
        }
    }
    return NULL;
}

const char *sl_media_extension(uint32_t number, uint32_t traits)
{
    for (const sl_media *kind = sl_media_kinds; kind->name != NULL; kind++) {
        const uint32_t has = kind->traits | (kind->codec != 0 ? SL_MEDIA_HAS_CODEC : 0U);
        for (uint32_t i = 0; (has & traits) == traits && kind->extensions[i] != NULL; i++) {
            if (number-- == 0) {
                return kind->extensions[i];
            }
        }
    }
    return NULL;
}

const char *sl_media_class_words(const sl_media *kind)
{
    switch (kind->traits & (SL_MEDIA_PICTURE | SL_MEDIA_AUDIO | SL_MEDIA_VIDEO)) {
    case SL_MEDIA_PICTURE:
        return "an image";
    case SL_MEDIA_AUDIO:
        return "an audio file";
    case SL_MEDIA_VIDEO:
        return "a video";
    case SL_MEDIA_AUDIO | SL_MEDIA_VIDEO:
        return "a video or audio file";
    default:
        return "data";
    }
}
