/* SPDX-License-Identifier: Apache-2.0 */
/* Recognises files by their first bytes. */
#include "foreign.h"

#include "media.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define UNPACK   "unpack it, and open the result"
#define EXPORT   "write its arrays as .npy or .npz, or its samples with a writer (sluice.Writer)"
#define CONVERT  "convert it to JPEG, PNG or WebP"
#define PICKLE   "a Python pickle: pickles are never executed: " EXPORT
#define DOWNLOAD "the download failed: get the file again"
#define TO_UTF_8 "convert it to UTF-8 without a byte order mark"

/* Where else in sluice a kind can be read. */
typedef enum foreign_use {
    FOREIGN_NEVER,  /* no reader takes it */
    FOREIGN_PACKED, /* compressed: some readers take it, depending on the file's name */
    FOREIGN_ZIP,    /* likewise */
    FOREIGN_MARKED, /* some readers of texts skip a byte order mark */
    FOREIGN_READ    /* another reader takes it */
} foreign_use;

typedef struct foreign_row {
    uint16_t at;
    uint8_t size;
    uint8_t use; /* a foreign_use */
    const char *bytes;
    const char *text;
} foreign_row;

/* Longer signatures come before shorter ones of the same bytes. */
static const foreign_row binary_rows[] = {
    {0, 16, FOREIGN_NEVER, "SQLite format 3",
     "an SQLite database: export a table as CSV or Parquet"},
    {0, 8, FOREIGN_NEVER, "\x89HDF\r\n\x1a\n", "an HDF5 file: " EXPORT},
    {0, 8, FOREIGN_NEVER, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
     "an Office document or a Thumbs.db, which sluice does not read"},
    {0, 8, FOREIGN_NEVER, "!<arch>\n", "an ar archive: " UNPACK},
    {0, 8, FOREIGN_NEVER, "bplist00", "a property list of macOS, which sluice does not read"},
    {257, 5, FOREIGN_READ, "ustar", "a tar archive: call it NAME.tar"},
    {0, 10, FOREIGN_NEVER, "MATLAB 5.0", "a MATLAB file: " EXPORT},
    {0, 6, FOREIGN_NEVER, "7z\xbc\xaf\x27\x1c", "a 7z archive: " UNPACK},
    {0, 6, FOREIGN_READ, "\x93NUMPY", "a NumPy array: call it NAME.npy"},
    {0, 6, FOREIGN_READ, "ARROW1", "an Arrow file: call it NAME.arrow"},
    {0, 6, FOREIGN_PACKED,
     "\xfd"
     "7zXZ\0",
     "compressed by xz: " UNPACK},
    {0, 5, FOREIGN_READ, "PAR1\x15", "a Parquet file: call it NAME.parquet"},
    {0, 4, FOREIGN_NEVER, "\0\x05\x16\x07",
     "an AppleDouble file, in which macOS keeps a file's attributes: delete it, or leave out ._*"},
    {0, 4, FOREIGN_NEVER, "\0\x05\x16\0", "an AppleSingle file: " UNPACK},
    {0, 4, FOREIGN_NEVER, "Rar!", "a RAR archive: " UNPACK},
    {0, 8, FOREIGN_NEVER, "MSCF\0\0\0\0", "a cabinet archive: " UNPACK},
    {0, 4, FOREIGN_PACKED, "\x28\xb5\x2f\xfd",
     "compressed by zstd: " UNPACK " (a tar can stay so: call it NAME.tar.zst)"},
    {0, 4, FOREIGN_PACKED, "\x04\x22\x4d\x18", "compressed by lz4: " UNPACK},
    {0, 4, FOREIGN_ZIP, "PK\x05\x06", "an empty ZIP archive, which sluice does not read"},
    {0, 4, FOREIGN_ZIP, "PK\x07\x08", "a part of a split ZIP archive: " UNPACK},
    {0, 4, FOREIGN_NEVER, "GGUF", "a file of model weights (GGUF), which sluice does not read"},
    {0, 4, FOREIGN_NEVER,
     "\x7f"
     "ELF",
     "a program, which sluice does not read"},
    {0, 4, FOREIGN_NEVER, "%PDF", "a PDF document, which sluice does not read"},
    {0, 4, FOREIGN_NEVER, "CDF\x01", "a NetCDF file: " EXPORT},
    {0, 4, FOREIGN_NEVER, "CDF\x02", "a NetCDF file: " EXPORT},
    {0, 4, FOREIGN_NEVER, "\x0e\x03\x13\x01", "an HDF4 file: " EXPORT},
    {0, 6, FOREIGN_NEVER, "8BPS\0\1", "a Photoshop image: " CONVERT},
    {0, 4, FOREIGN_NEVER, "qoif", "a QOI image: " CONVERT},
    {0, 5, FOREIGN_NEVER, "\x76\x2f\x31\1\2", "an OpenEXR image: " CONVERT ", or to .npy"},
    {0, 5, FOREIGN_NEVER, "DDS |", "a DDS image: " CONVERT},
    {0, 6, FOREIGN_NEVER, "\0\0\1\0\1\0", "an icon: " CONVERT},
    {0, 8, FOREIGN_NEVER, "gimp xcf", "a GIMP image: " CONVERT},
    {0, 9, FOREIGN_NEVER, "SIMPLE  =", "a FITS file: " EXPORT},
    {0, 10, FOREIGN_NEVER, "#?RADIANCE", "a Radiance image: " CONVERT ", or to .npy"},
    {128, 4, FOREIGN_NEVER, "DICM", "a DICOM image: convert them to PNG, or to .npy"},
    {344, 4, FOREIGN_NEVER, "n+1\0", "a NIfTI volume: " EXPORT},
    {4, 8, FOREIGN_NEVER, "ftypavis", "a sequence of AVIF images: " CONVERT},
    {4, 8, FOREIGN_NEVER, "ftyphevc", "a sequence of HEIF images: " CONVERT},
    {4, 8, FOREIGN_NEVER, "ftypmsf1", "a sequence of HEIF images: " CONVERT},
    {4, 6, FOREIGN_PACKED, "1AY&SY", "compressed by bzip2: " UNPACK},
    {0, 3, FOREIGN_PACKED, "\x1f\x8b\x08",
     "compressed by gzip: " UNPACK " (a tar can stay so: call it NAME.tar.gz)"},
    {5, 5, FOREIGN_NEVER, "\0\0\0{\"", "a file of tensors (safetensors): " EXPORT},
};

/* Number of rows of text_rows, from the first on, that are pointers. */
enum { FOREIGN_POINTERS = 4 };

/* Beginnings of texts after a byte order mark and blanks, in any case. */
static const foreign_row text_rows[] = {
    {0, 19, FOREIGN_NEVER, "version https://git",
     "a Git LFS pointer, not the file itself: run `git lfs pull`"},
    {0, 22, FOREIGN_NEVER, "version https://hawser",
     "a Git LFS pointer, not the file itself: run `git lfs pull`"},
    {0, 13, FOREIGN_NEVER, "# xet version",
     "a Xet pointer, not the file itself: download it with the Hugging Face tool `hf`"},
    {0, 15, FOREIGN_NEVER, "/annex/objects/",
     "a git-annex pointer, not the file itself: run `git annex get`"},
    {0, 14, FOREIGN_NEVER, "<!doctype html", "an HTML page: " DOWNLOAD},
    {0, 5, FOREIGN_NEVER, "<html", "an HTML page: " DOWNLOAD},
    {0, 5, FOREIGN_NEVER, "<head", "an HTML page: " DOWNLOAD},
    {0, 5, FOREIGN_NEVER, "<body", "an HTML page: " DOWNLOAD},
    {0, 6, FOREIGN_NEVER, "<title", "an HTML page: " DOWNLOAD},
    {0, 7, FOREIGN_NEVER, "<script", "an HTML page: " DOWNLOAD},
    {0, 4, FOREIGN_NEVER, "<svg", "an SVG drawing: " CONVERT},
    {0, 13, FOREIGN_NEVER, "<!doctype svg", "an SVG drawing: " CONVERT},
    {0, 4, FOREIGN_NEVER, "%!PS", "a PostScript document: " CONVERT},
};

static bool foreign_has(const uint8_t *head, size_t bytes, const foreign_row *row)
{
    return bytes >= (size_t)row->at + row->size &&
           memcmp(head + row->at, row->bytes, row->size) == 0;
}

/* Returns whether some text is in the head, in any case. */
static bool foreign_holds(const uint8_t *head, size_t bytes, const char *text)
{
    const size_t length = strlen(text);
    for (size_t i = 0; i + length <= bytes; i++) {
        if (strncasecmp((const char *)head + i, text, length) == 0) {
            return true;
        }
    }
    return false;
}

static bool foreign_is_zero(const uint8_t *head, size_t from, size_t to)
{
    while (from < to && head[from] == 0) {
        from++;
    }
    return from == to;
}

/* Lengths of records begin files, too: two bytes are evidence only if not all other bytes of a
 * 64-bit number are zero. */
static bool foreign_is_length(const uint8_t *head, size_t bytes)
{
    return bytes < 8 || foreign_is_zero(head, 2, 8);
}

static bool foreign_is_pickle(const uint8_t *head, size_t bytes)
{
    static const char opcodes[] = "\x95\x8a\x8c\x88\x89}](cX)KBCNGMJU";
    return bytes >= 3 && head[0] == 0x80 && head[1] >= 2 && head[1] <= 5 &&
           memchr(opcodes, head[2], sizeof(opcodes) - 1) != NULL;
}

/* Returns the message for a ZIP archive, by the name of its first file; `use`: its readers. */
static const char *foreign_zip(const uint8_t *head, size_t bytes, foreign_use *use)
{
    enum { NAME_LENGTH = 26, NAME = 30 };
    *use = FOREIGN_NEVER;
    const size_t told = bytes > NAME ? (head[NAME_LENGTH] | (size_t)head[NAME_LENGTH + 1] << 8) : 0;
    const size_t length = bytes <= NAME ? 0 : told < bytes - NAME ? told : bytes - NAME;
    const char *name = (const char *)head + NAME;
    if (length >= 9 && memcmp(name + length - 9, "/data.pkl", 9) == 0) {
        return "a file saved by PyTorch (a ZIP archive with a pickle): pickles are never "
               "executed: " EXPORT;
    }
    if (length >= 19 && memcmp(name, "[Content_Types].xml", 19) == 0) {
        return "an Office document: export its table as CSV";
    }
    *use = FOREIGN_ZIP;
    if (length >= 4 && memcmp(name + length - 4, ".npy", 4) == 0) {
        return "a ZIP archive with .npy files: call it NAME.npz";
    }
    return "a ZIP archive: " UNPACK;
}

/* Returns the message for XML: SVG, a server's answer instead of a file, or another document. */
static const char *foreign_xml(const uint8_t *head, size_t bytes, foreign_use *use)
{
    *use = FOREIGN_NEVER;
    if (foreign_holds(head, bytes, "<svg")) {
        return "an SVG drawing: " CONVERT;
    }
    if (foreign_holds(head, bytes, "<html")) {
        return "an HTML page: " DOWNLOAD;
    }
    if (foreign_holds(head, bytes, "<Error>") && foreign_holds(head, bytes, "<Code>")) {
        return "a server's error message (XML): " DOWNLOAD;
    }
    *use = FOREIGN_READ;
    return "an XML document, which sluice does not read";
}

/* Detects text in an encoding of two or four bytes a character, with or without its mark. */
static const char *foreign_wide(const uint8_t *head, size_t bytes)
{
    if (bytes >= 8 && !foreign_is_zero(head, 4, 8) &&
        (memcmp(head, "\xff\xfe\0\0", 4) == 0 || memcmp(head, "\0\0\xfe\xff", 4) == 0)) {
        return "text in UTF-32, by its byte order mark: " TO_UTF_8;
    }
    if (bytes >= 4 && !foreign_is_zero(head, 2, 4) &&
        (memcmp(head, "\xff\xfe", 2) == 0 || memcmp(head, "\xfe\xff", 2) == 0)) {
        return "text in UTF-16, by its byte order mark: " TO_UTF_8;
    }
    for (size_t zero = 0; zero < 2 && bytes >= 8; zero++) {
        bool wide = true;
        for (size_t i = 0; i < 8 && wide; i++) {
            wide = i % 2 == zero ? head[i] == 0 : (head[i] >= ' ' && head[i] < 0x7f);
        }
        if (wide) {
            return "text in UTF-16, or numbers of 16 bits: " TO_UTF_8
                   ", or open it as flat numbers, whose type and shape you give";
        }
    }
    return NULL;
}

static size_t foreign_skip_blanks(const uint8_t *head, size_t bytes)
{
    size_t at = 0;
    while (at < bytes && (head[at] == ' ' || (head[at] >= '\t' && head[at] <= '\r'))) {
        at++;
    }
    return at;
}

/* Returns the message for text after its byte order mark. */
static const char *foreign_text(const uint8_t *head, size_t bytes, foreign_use *use)
{
    const size_t blanks = foreign_skip_blanks(head, bytes);
    head += blanks;
    bytes -= blanks;
    for (size_t i = 0; i < sizeof(text_rows) / sizeof(text_rows[0]); i++) {
        const foreign_row *row = &text_rows[i];
        if (bytes >= row->size && strncasecmp((const char *)head, row->bytes, row->size) == 0) {
            *use = (foreign_use)row->use;
            return row->text;
        }
    }
    if (bytes >= 5 && strncasecmp((const char *)head, "<?xml", 5) == 0) {
        return foreign_xml(head, bytes, use);
    }
    if (bytes >= 4 && memcmp(head, "<!--", 4) == 0) {
        return foreign_xml(head, bytes, use);
    }
    return NULL;
}

/* Returns the message for an image, a recording or a video that sluice cannot decode. */
static const char *foreign_media(const uint8_t *head, size_t bytes)
{
    static const struct {
        const char *name, *text;
    } words[] = {
        {"BMP", "an image (BMP): " CONVERT},
        {"TIFF", "an image (TIFF): " CONVERT},
        {"PPM", "an image (PPM): " CONVERT},
        {"PGM", "an image (PGM): " CONVERT},
        {"PBM", "an image (PBM): " CONVERT},
        {"GIF", "an image (GIF): " CONVERT},
        {"JPEG XL", "an image (JPEG XL): " CONVERT},
        {"JPEG 2000", "an image (JPEG 2000): " CONVERT},
        {"AVIF", "an image (AVIF): " CONVERT},
        {"HEIF", "an image (HEIF): " CONVERT},
    };
    const sl_media *kind = sl_media_of_bytes((sl_bytes){head, bytes});
    for (size_t i = 0; kind != NULL && i < sizeof(words) / sizeof(words[0]); i++) {
        /* two letters begin any text */
        const bool is_weak = kind->name[0] == 'P' || strcmp(kind->name, "BMP") == 0 ||
                             (strcmp(kind->name, "JPEG XL") == 0 && head[0] == 0xff);
        const bool is_evident = !foreign_is_length(head, bytes) && memchr(head, 0, bytes) != NULL;
        if (strcmp(kind->name, words[i].name) == 0 && (!is_weak || is_evident)) {
            return words[i].text;
        }
    }
    return NULL;
}

static const char *foreign_binary(const uint8_t *head, size_t bytes, foreign_use *use)
{
    for (size_t i = 0; i < sizeof(binary_rows) / sizeof(binary_rows[0]); i++) {
        if (foreign_has(head, bytes, &binary_rows[i])) {
            *use = (foreign_use)binary_rows[i].use;
            return binary_rows[i].text;
        }
    }
    return NULL;
}

static const char *foreign_find(const uint8_t *head, size_t bytes, foreign_use *use)
{
    enum { ZEROS_MIN = 16 };
    static const char mark[] = "\xef\xbb\xbf";
    const bool marked = bytes >= 3 && memcmp(head, mark, 3) == 0;
    *use = FOREIGN_NEVER;
    if (bytes >= 4 && memcmp(head, "PK\x03\x04", 4) == 0) {
        return foreign_zip(head, bytes, use);
    }
    const char *found = foreign_is_pickle(head, bytes) ? PICKLE : foreign_binary(head, bytes, use);
    if (bytes >= ZEROS_MIN && foreign_is_zero(head, 0, bytes)) {
        *use = FOREIGN_PACKED;
        return "all zero bytes, as after an unfinished download or a failed copy: get the file "
               "again";
    }
    found = found == NULL ? foreign_wide(head, bytes) : found;
    found = found == NULL ? foreign_text(head + (marked ? 3 : 0), bytes - (marked ? 3 : 0), use)
                          : found;
    found = found == NULL ? foreign_media(head, bytes) : found;
    if (found == NULL && marked) {
        *use = FOREIGN_MARKED;
        return "text with a byte order mark (the bytes EF BB BF): save it as UTF-8 without one";
    }
    const size_t blanks = found == NULL ? foreign_skip_blanks(head, bytes) : bytes;
    if (blanks < bytes && (head[blanks] == '{' || head[blanks] == '[')) {
        *use = FOREIGN_READ;
        return "JSON text";
    }
    return found;
}

const char *sl_foreign_kind(const uint8_t *head, size_t bytes)
{
    foreign_use use;
    const char *found = foreign_find(head, bytes, &use);
    return use == FOREIGN_READ ? NULL : found;
}

const char *sl_foreign_or_known_kind(const uint8_t *head, size_t bytes)
{
    foreign_use use;
    return foreign_find(head, bytes, &use);
}

const char *sl_foreign_pointer(const uint8_t *head, size_t bytes)
{
    for (size_t i = 0; i < FOREIGN_POINTERS; i++) {
        if (foreign_has(head, bytes, &text_rows[i])) {
            return text_rows[i].text;
        }
    }
    return NULL;
}

static bool foreign_names(const char *name, const char *const *words)
{
    for (; *words != NULL; words++) {
        if (strstr(name, *words) != NULL) {
            return true;
        }
    }
    return false;
}

/* Returns whether a reader of a file of that name may accept the kind, so that the file is wrong in
 * another way. */
static bool may_be_right(foreign_use use, const char *path, int64_t offset)
{
    static const char *const packed[] = {".tar", ".tgz", ".gz", ".zst", ".tzst", ".bz2",
                                         ".xz",  ".lz4", ".br", ".mds", ".bin",  NULL};
    static const char *const zip[] = {".npz", ".zip", NULL};
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    switch (use) {
    case FOREIGN_PACKED:
        return foreign_names(name, packed);
    case FOREIGN_ZIP:
        return foreign_names(name, zip);
    case FOREIGN_MARKED:
        return offset < 0 || offset > 4;
    case FOREIGN_READ:
        return true;
    default:
        return false;
    }
}

sluice_status sl_foreign_explain(sluice_status status, const char *path, const uint8_t *head,
                                 size_t bytes, sluice_error *error)
{
    foreign_use use = FOREIGN_NEVER;
    const bool is_content =
        status == SLUICE_CORRUPT || status == SLUICE_UNSUPPORTED || status == SLUICE_INVALID;
    const char *found =
        is_content && error != NULL && bytes > 0 ? foreign_find(head, bytes, &use) : NULL;
    /* a reader that names the compression gives better advice */
    const bool is_known = use == FOREIGN_PACKED && status == SLUICE_UNSUPPORTED;
    if (found == NULL || is_known || may_be_right(use, path, error->offset)) {
        return status;
    }
    char stage[sizeof(error->stage)];
    (void)snprintf(stage, sizeof(stage), "%s", error->stage);
    return sl_error_file(error, status, stage, 0, path, 0, "the file is %s", found);
}
