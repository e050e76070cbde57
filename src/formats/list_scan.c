/* SPDX-License-Identifier: Apache-2.0 */
#include "list_scan.h"

#include "checksum.h"
#include "foreign.h"
#include "media.h"
#include "memory.h"
#include "store.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { SCANNED_BYTES = 1 << 20, WORD_BYTES = 512, TRIED = 24, ENOUGH = 8, DIGEST_DIGITS = 32 };

/* Iterates over the words of a text. */
typedef struct scanner {
    const char *begin, *at, *end;
    const sl_list_images *images;
    char word[WORD_BYTES];
    bool begins_line;     /* true if the word is the first of its line */
    uint64_t seen[TRIED]; /* hashes of words that were tried */
    uint32_t tried, hits;
    uint32_t stems, stem_hits; /* first words of lines, which may be names without extension, and
                                  how many match images */
    uint64_t others;           /* words that are neither image names nor digests */
} scanner;

/* Returns whether a name ends in one of `ends`. */
static bool ends_as(const char *name, const char *const *ends, size_t count)
{
    const size_t length = strlen(name);
    for (size_t i = 0; i < count; i++) {
        const size_t bytes = strlen(ends[i]);
        if (length > bytes && strcasecmp(name + length - bytes, ends[i]) == 0) {
            return true;
        }
    }
    return false;
}

#define COUNT(names) (sizeof(names) / sizeof((names)[0]))

/* Returns whether `word` is a part of a name, delimited by non-letters. */
static bool list_has_part(const char *name, const char *word)
{
    const size_t bytes = strlen(word);
    const char *at = name;
    while ((at = strcasestr(at, word)) != NULL) {
        const bool begins = at == name || isalpha((unsigned char)at[-1]) == 0;
        if (begins && isalpha((unsigned char)at[bytes]) == 0) {
            return true;
        }
        at++;
    }
    return false;
}

/* Returns whether a file is named like a list of classes, which numbers in other files refer to. */
bool sl_list_names_classes(const char *name)
{
    static const char *const begins[] = {"class", "name", "wnid", "word", "synset", "categor"};
    static const char *const words[] = {"labelmap",   "label_map",   "label-map",
                                        "labelnames", "label_names", "label-names"};
    for (size_t i = 0; i < COUNT(begins); i++) {
        if (strncasecmp(name, begins[i], strlen(begins[i])) == 0) {
            return true;
        }
    }
    for (size_t i = 0; i < COUNT(words); i++) {
        if (strcasestr(name, words[i]) != NULL) {
            return true;
        }
    }
    return false;
}

bool sl_list_says_labels(const char *name)
{
    static const char *const anywhere[] = {"label",    "annot",    "target",  "attr",
                                           "truth",    "metadata", "caption", "instances",
                                           "panoptic", "keypoint", "bbox"};
    static const char *const parts[] = {"train", "training", "val",  "valid", "validation",
                                        "test",  "gt",       "meta", "anno"};
    static const char *const others[] = {".py", ".sh", ".ipynb", ".log", ".yaml", ".yml", ".md5"};
    bool found = false;
    for (size_t i = 0; i < COUNT(anywhere); i++) {
        found = found || strcasestr(name, anywhere[i]) != NULL;
    }
    for (size_t i = 0; i < COUNT(parts); i++) {
        found = found || list_has_part(name, parts[i]);
    }
    return found && !sl_list_names_classes(name) && !ends_as(name, others, COUNT(others));
}

/*
 * Returns whether a file holds data that this scan cannot read: a table by its kind, or another
 * file by its name.
 */
static bool is_closed_list(const char *name)
{
    static const char *const tables[] = {
        ".xlsx",    ".xls",     ".ods",      ".mat",    ".csv.gz",  ".tsv.gz",
        ".txt.gz",  ".json.gz", ".jsonl.gz", ".xml.gz", ".csv.zip", ".json.zip",
        ".csv.bz2", ".csv.xz",  ".csv.zst",  ".db",     ".sqlite",  ".sqlite3"};
    static const char *const others[] = {".pkl", ".pickle", ".h5",      ".hdf5", ".pt", ".pth",
                                         ".zip", ".gz",     ".tgz",     ".bz2",  ".xz", ".zst",
                                         ".rds", ".rdata",  ".feather", ".7z",   ".rar"};
    return (strcasecmp(name, "thumbs.db") != 0 && ends_as(name, tables, COUNT(tables))) ||
           ((sl_list_says_labels(name) || strncasecmp(name, "class", 5) == 0) &&
            ends_as(name, others, COUNT(others)));
}

bool sl_list_is_table(const char *name)
{
    static const char *const tables[] = {".csv",  ".tsv", ".jsonl",  ".ndjson", ".csv.gz",
                                         ".xlsx", ".xls", ".sqlite", ".db"};
    return ends_as(name, tables, COUNT(tables));
}

bool sl_list_is_named(const char *name)
{
    static const char *const extensions[] = {
        ".txt",  ".csv", ".tsv",  ".json", ".jsonl", ".ndjson", ".xml",   ".lst",
        ".list", ".ann", ".yaml", ".yml",  ".data",  ".dat",    ".label", ".labels"};
    static const char *const documents[] = {"readme",  "license",   "licence",  "copying", "notice",
                                            "authors", "changelog", "citation", "makefile"};
    static const char *const texts[] = {".md", ".htm", ".html", ".rst", ".psv", ".tab", ".gt"};
    for (size_t i = 0; i < COUNT(documents); i++) {
        if (strncasecmp(name, documents[i], strlen(documents[i])) == 0) {
            return false;
        }
    }
    return strrchr(name, '.') == NULL || is_closed_list(name) ||
           ends_as(name, extensions, COUNT(extensions)) ||
           (ends_as(name, texts, COUNT(texts)) && sl_list_says_labels(name));
}

/* ---- words ---- */

static bool is_separator(char byte)
{
    return strchr(" \t\r\n,;:|<>()[]{}=\"'", byte) != NULL;
}

static bool is_quote(const scanner *s)
{
    const bool inside = s->at > s->begin && isalnum((unsigned char)s->at[-1]) != 0;
    return (*s->at == '"' || *s->at == '\'') && !inside;
}

/* Copies the text in quotes, or up to a separator; false: end of the text. */
static bool next_word(scanner *s)
{
    s->begins_line = s->at == s->begin;
    while (s->at < s->end && is_separator(*s->at) && !is_quote(s)) {
        s->begins_line = s->begins_line || *s->at == '\n' || *s->at == '\r';
        s->at++;
    }
    if (s->at == s->end) {
        return false;
    }
    char quote = '\0';
    if (is_quote(s)) {
        quote = *s->at++;
    }
    size_t length = 0;
    while (s->at < s->end && *s->at != '\n' &&
           (quote != '\0' ? *s->at != quote : !is_separator(*s->at))) {
        if (length + 1 < WORD_BYTES) {
            s->word[length++] = *s->at;
        }
        s->at++;
    }
    s->word[length] = '\0';
    s->at += quote != '\0' && s->at < s->end && *s->at == quote;
    return true;
}

static bool list_scan_is_picture(const char *word)
{
    const char *dot = strrchr(word, '.');
    return dot != NULL && dot != word && sl_media_names_picture(dot + 1);
}

/* Returns whether a word is hexadecimal, as file-checking tools write digests (MD5 or longer). */
static bool is_digest(const char *word)
{
    const size_t length = strlen(word);
    return length >= DIGEST_DIGITS && strspn(word, "0123456789abcdefABCDEF*") == length;
}

static bool list_scan_exists(const sl_list_images *images, const char *word, const char *extension)
{
    char path[2 * SL_PATH_BYTES];
    const char *names[] = {word, sl_path_name(word)};
    const size_t spellings = names[0] == names[1] ? 1 : 2;
    if (word[0] == '/') {
        return false;
    }
    for (uint32_t i = 0; i < images->folder_count; i++) {
        for (size_t k = 0; k < spellings; k++) {
            const char *folder = images->folders[i];
            (void)snprintf(path, sizeof(path), "%s/%s%s%s%s", images->root, folder,
                           folder[0] != '\0' ? "/" : "", names[k], extension);
            if (sl_store_has_file(path)) {
                return true;
            }
        }
    }
    return false;
}

/* ---- a whole text ---- */

/* Returns whether the word was not tried before. */
static bool is_new(scanner *s)
{
    const uint64_t hash = sl_checksum(s->word, strlen(s->word));
    for (uint32_t i = 0; i < s->tried; i++) {
        if (s->seen[i] == hash) {
            return false;
        }
    }
    s->seen[s->tried++] = hash;
    return true;
}

static void judge_word(scanner *s, bool stems)
{
    if (list_scan_is_picture(s->word)) {
        if (s->tried < TRIED && is_new(s)) {
            s->hits += list_scan_exists(s->images, s->word, "");
        }
        return;
    }
    s->others += !is_digest(s->word);
    if (stems && s->begins_line && s->stems < ENOUGH) {
        s->stems++;
        s->stem_hits += list_scan_exists(s->images, s->word, s->images->extension);
    }
}

/* Drops the zero bytes of text with two bytes per character. */
static size_t drop_zeros(char *text, size_t bytes)
{
    size_t kept = 0;
    for (size_t i = 0; i < bytes; i++) {
        text[kept] = text[i];
        kept += text[i] != '\0';
    }
    return kept;
}

/* Counts the non-empty lines. */
static uint64_t list_scan_lines(const char *text)
{
    uint64_t count = 0;
    while (*text != '\0') {
        const size_t length = strcspn(text, "\r\n");
        count += length > 0;
        text += length + (text[length] != '\0');
    }
    return count;
}

static sl_mentions scan_text(const char *name, const char *text, size_t bytes,
                             const sl_list_images *images)
{
    scanner s = {.begin = text, .at = text, .end = text + bytes, .images = images};
    const uint64_t half = (images->count + 1) / 2;
    const uint32_t wanted = half < ENOUGH ? (uint32_t)half : ENOUGH;
    const bool stems =
        !sl_list_names_classes(name) && strchr("{[<", text[strspn(text, " \t\r\n")]) == NULL;
    while (s.tried < TRIED && next_word(&s)) {
        judge_word(&s, stems);
        if (s.tried == 0 && s.stems == ENOUGH && s.stem_hits == 0 && s.others > UINT64_C(1) << 16) {
            break;
        }
    }
    if (s.hits >= wanted && 2 * s.hits >= s.tried) {
        return 2 * s.others >= s.hits ? SL_MENTIONS_UNREADABLE : SL_MENTIONS_NAMES;
    }
    if (s.tried == 0 && s.stem_hits < s.stems && bytes < SCANNED_BYTES && images->count >= ENOUGH &&
        !sl_list_names_classes(name) && list_scan_lines(text) == images->count) {
        return SL_MENTIONS_LINES;
    }
    /* each line begins with the name of another image and says more */
    return s.tried == 0 && s.stem_hits == s.stems && s.stems >= wanted &&
                   s.others >= 2 * (uint64_t)s.stems
               ? SL_MENTIONS_UNREADABLE
               : SL_MENTIONS_NONE;
}

/*
 * Returns whether the first bytes show that a list is something else, such as a pointer to the list
 * itself.
 */
static bool is_foreign(const char *path)
{
    static const char text[] = "text";
    uint8_t head[SL_FOREIGN_HEAD_BYTES];
    const char *kind = sl_foreign_kind(head, sl_store_look(path, head, sizeof(head)));
    return kind != NULL && strncmp(kind, text, sizeof(text) - 1) != 0;
}

char *sl_list_text(const char *path, size_t *bytes, bool *is_cut)
{
    char *text = sl_malloc(SCANNED_BYTES + 1);
    if (text == NULL) {
        return NULL;
    }
    const size_t read = sl_store_look(path, text, SCANNED_BYTES);
    *is_cut = read == SCANNED_BYTES;
    *bytes = drop_zeros(text, read);
    text[*bytes] = '\0';
    const size_t mark = strspn(text, "\xef\xbb\xbf\xff\xfe"); /* byte order mark */
    *bytes -= mark;
    memmove(text, text + mark, *bytes + 1);
    return text;
}

sl_mentions sl_list_scan(const char *path, const sl_list_images *images)
{
    size_t bytes;
    bool is_cut;
    const char *name = sl_path_name(path);
    if (is_closed_list(name)) {
        return SL_MENTIONS_CLOSED;
    }
    if (is_foreign(path)) {
        return sl_list_names_classes(name) ? SL_MENTIONS_NONE : SL_MENTIONS_CLOSED;
    }
    char *text = sl_list_text(path, &bytes, &is_cut);
    const sl_mentions found =
        text != NULL && bytes > 0 ? scan_text(name, text, bytes, images) : SL_MENTIONS_NONE;
    sl_free(text);
    return found;
}
