/* SPDX-License-Identifier: Apache-2.0 */
#include "file_refuse.h"

#include "error.h"
#include "format_table.h"
#include "media.h"
#include "store.h"

#include <stdio.h>
#include <string.h>

#define STAGE "dataset"

enum { LOOK_BYTES = 512, SHOWN_BYTES = 8, KNOWN_BYTES = 640 };

/* Bytes at an offset, what begins so that is not a kind of media (media.h), and what to do. Those
 * of more bytes come first. */
typedef struct signature {
    uint16_t at;
    uint8_t size;
    const char *bytes;
    const char *what, *advice;
} signature;

#define UNPACK "unpack it, and open the result"
#define EXPORT "write its arrays as .npy or .npz, or its samples with a writer (sluice.Writer)"

static const signature signatures[] = {
    {0, 16, "SQLite format 3", "an SQLite database", "export a table as CSV or Parquet"},
    {0, 8, "\x89HDF\r\n\x1a\n", "an HDF5 file", EXPORT},
    {0, 6, "MATLAB", "a MATLAB file", EXPORT},
    {0, 6, "7z\xbc\xaf\x27\x1c", "a 7z archive", UNPACK},
    {0, 6,
     "\xfd"
     "7zXZ\0",
     "compressed by xz", UNPACK},
    {0, 4, "Rar!", "a RAR archive", UNPACK},
    {0, 4, "\x28\xb5\x2f\xfd", "compressed by zstd",
     UNPACK " (a tar can stay so: call it NAME.tar.zst)"},
    {0, 4, "\x04\x22\x4d\x18", "compressed by lz4", UNPACK},
    {0, 4, "GGUF", "a file of model weights (GGUF)", "not a dataset"},
    {0, 4,
     "\x7f"
     "ELF",
     "a program", "not a dataset"},
    {0, 4, "%PDF", "a PDF document", "not a dataset"},
    {128, 4, "DICM", "a DICOM picture", "convert them to PNG, or to .npy"},
    {0, 3, "BZh", "compressed by bzip2", UNPACK},
    {0, 2, "\x1f\x8b", "compressed by gzip", UNPACK " (a tar can stay so: call it NAME.tar.gz)"},
    {0, 2, "\x80\x02", "a Python pickle", "pickles are never executed: " EXPORT},
    {0, 2, "\x80\x03", "a Python pickle", "pickles are never executed: " EXPORT},
    {0, 2, "\x80\x04", "a Python pickle", "pickles are never executed: " EXPORT},
    {0, 2, "\x80\x05", "a Python pickle", "pickles are never executed: " EXPORT},
    {8, 2, "{\"", "a file of tensors (safetensors)", EXPORT},
};

static bool file_refuse_has(const uint8_t *head, size_t size, const signature *known)
{
    return size >= (size_t)known->at + known->size &&
           memcmp(head + known->at, known->bytes, known->size) == 0;
}

static sluice_status file_refuse_as(const char *path, const char *what, const char *advice,
                                    sluice_error *error)
{
    return sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, -1,
                         "is of no known format: it is %s: %s", what, advice);
}

/* What is in an archive, by the name of its first file. */
static sluice_status refuse_zip(const char *path, const uint8_t *head, size_t size,
                                sluice_error *error)
{
    enum { NAME_LENGTH = 26, NAME = 30 };
    char name[LOOK_BYTES + 1] = "";
    if (size > NAME) {
        const size_t told = head[NAME_LENGTH] | (size_t)head[NAME_LENGTH + 1] << 8;
        const size_t length = told < size - NAME ? told : size - NAME;
        memcpy(name, head + NAME, length);
        name[length] = '\0';
    }
    if (sl_ends_with(name, "/data.pkl")) {
        return file_refuse_as(path, "what PyTorch saves (a ZIP archive with a pickle)",
                              "pickles are never executed: " EXPORT, error);
    }
    if (sl_ends_with(name, ".npy")) {
        return file_refuse_as(path, "a ZIP archive with .npy files", "call it NAME.npz", error);
    }
    return file_refuse_as(path, "a ZIP archive", UNPACK, error);
}

static bool file_refuse_is_text(const uint8_t *head, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (head[i] < ' ' && strchr("\t\n\r\f", head[i]) == NULL) {
            return false;
        }
        if (head[i] == 0 || head[i] == 0x7f) {
            return false;
        }
    }
    return true;
}

static sluice_status refuse_media(const char *path, const sl_media *kind, sluice_error *error)
{
    char what[64];
    const char *advice = "not a dataset";
    if ((kind->traits & (SL_MEDIA_AUDIO | SL_MEDIA_VIDEO)) != 0) {
        advice = "audio and video cannot be decoded here; in tars they are fields of bytes";
    } else if (kind->codec != 0) {
        advice = "open its folder, or a table that lists it";
    } else if ((kind->traits & SL_MEDIA_PICTURE) != 0) {
        advice = "convert it to JPEG, PNG or WebP";
    }
    (void)snprintf(what, sizeof(what), "%s (%s)", sl_media_class_words(kind), kind->name);
    return file_refuse_as(path, what, advice, error);
}

static sluice_status refuse_unknown(const char *path, const char *what, sluice_error *error)
{
    char known[KNOWN_BYTES] = "";
    size_t used = 0;
    for (size_t i = 0; i < SL_FORMAT_FOLDER && used < sizeof(known); i++) {
        const sl_format *format = sl_formats[i];
        const int length = snprintf(known + used, sizeof(known) - used, "%s%s", i > 0 ? ", " : "",
                                    format->known != NULL ? format->known : format->files);
        used += length > 0 ? (size_t)length : 0;
    }
    return sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, -1,
                         "is of no known format: it %s; the formats are %s", what, known);
}

static sluice_status refuse_bytes(const char *path, const uint8_t *head, size_t size,
                                  sluice_error *error)
{
    char shown[32 + 3 * SHOWN_BYTES] = "begins with the bytes";
    if (file_refuse_is_text(head, size)) {
        return refuse_unknown(path, "is text", error);
    }
    for (size_t i = 0; i < size && i < SHOWN_BYTES; i++) {
        const size_t used = strlen(shown);
        (void)snprintf(shown + used, sizeof(shown) - used, " %02x", head[i]);
    }
    return refuse_unknown(path, shown, error);
}

sluice_status sl_file_refuse(const char *path, sluice_error *error)
{
    uint8_t head[LOOK_BYTES];
    sl_store_facts facts;
    if (sl_store_stat(path, &facts) != 0 || facts.kind != SL_ENTRY_FILE) {
        return refuse_unknown(path, "is neither a regular file nor a folder", error);
    }
    if (facts.identity.bytes == 0) {
        return refuse_unknown(path, "is empty", error);
    }
    const size_t size = sl_store_look(path, head, sizeof(head));
    if (size == 0) {
        return refuse_unknown(path, "cannot be read", error);
    }
    if (size >= 4 && memcmp(head, "PK\x03\x04", 4) == 0) {
        return refuse_zip(path, head, size, error);
    }
    for (size_t i = 0; i < sizeof(signatures) / sizeof(signatures[0]); i++) {
        if (file_refuse_has(head, size, &signatures[i])) {
            return file_refuse_as(path, signatures[i].what, signatures[i].advice, error);
        }
    }
    const sl_media *kind = sl_media_of_bytes((sl_bytes){head, size});
    return kind != NULL && !file_refuse_is_text(head, size) ? refuse_media(path, kind, error)
                                                            : refuse_bytes(path, head, size, error);
}
