/* SPDX-License-Identifier: Apache-2.0 */
/* Parses, prints, escapes and resolves the addresses of remote objects. */
#include "url.h"

#include "error.h"
#include "minmax.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char stage[] = "remote";

static const char *const scheme_names[SL_SCHEMES] = {
    [SL_SCHEME_HTTP] = "http://", [SL_SCHEME_HTTPS] = "https://", [SL_SCHEME_S3] = "s3://",
    [SL_SCHEME_GS] = "gs://",     [SL_SCHEME_HF] = "hf://",
};

/* Returns the address after its scheme; NULL: it has none of the schemes. */
static const char *behind_scheme(const char *address, sl_scheme *scheme)
{
    for (int i = 0; i < SL_SCHEMES; i++) {
        const size_t length = strlen(scheme_names[i]);
        if (strncasecmp(address, scheme_names[i], length) == 0) {
            *scheme = (sl_scheme)i;
            return address + length;
        }
    }
    return NULL;
}

bool sl_url_is(const char *address)
{
    sl_scheme scheme = SL_SCHEMES;
    return behind_scheme(address, &scheme) != NULL;
}

static bool is_web(sl_scheme scheme)
{
    return scheme == SL_SCHEME_HTTP || scheme == SL_SCHEME_HTTPS;
}

static sluice_status refuse_address(const char *address, sluice_error *error, const char *why)
{
    char printed[SL_URL_BYTES];
    sl_url_print(address, printed, sizeof(printed));
    return sl_error_file(error, SLUICE_INVALID, stage, 0, printed, -1, "%s", why);
}

static bool copy_span(char *to, size_t bytes, const char *from, size_t length)
{
    if (length >= bytes) {
        return false;
    }
    memcpy(to, from, length);
    to[length] = '\0';
    return true;
}

/* ---- escapes ---- */

static bool is_plain(unsigned char c)
{
    return c < 0x80 && (isalnum(c) || c == '-' || c == '.' || c == '_' || c == '~');
}

static bool append_escaped(char *to, size_t bytes, size_t *length, unsigned char c)
{
    static const char digits[] = "0123456789ABCDEF";
    if (*length + 4 > bytes) {
        return false;
    }
    to[(*length)++] = '%';
    to[(*length)++] = digits[c >> 4];
    to[(*length)++] = digits[c & 15];
    return true;
}

static bool append_byte(char *to, size_t bytes, size_t *length, char c)
{
    if (*length + 2 > bytes) {
        return false;
    }
    to[(*length)++] = c;
    return true;
}

bool sl_url_escape(char *to, size_t bytes, const char *from, bool keeps_slashes)
{
    size_t length = 0;
    bool fits = bytes > 0;
    for (; *from != '\0' && fits; from++) {
        const unsigned char c = (unsigned char)*from;
        fits = is_plain(c) || (c == '/' && keeps_slashes) ? append_byte(to, bytes, &length, *from)
                                                          : append_escaped(to, bytes, &length, c);
    }
    if (bytes > 0) {
        to[length] = '\0';
    }
    return fits;
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    const int lower = c | 0x20;
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* Returns the byte of an escape at `text`; -1: not an escape. */
static int escaped_byte(const char *text)
{
    if (text[0] != '%' || hex_value(text[1]) < 0 || hex_value(text[2]) < 0) {
        return -1;
    }
    return hex_value(text[1]) * 16 + hex_value(text[2]);
}

size_t sl_url_unescape(char *text)
{
    size_t length = 0;
    for (const char *from = text; *from != '\0';) {
        const int byte = escaped_byte(from);
        text[length++] = (char)(byte > 0 ? byte : *from);
        from += byte > 0 ? 3 : 1;
    }
    text[length] = '\0';
    return length;
}

/* Copies the bytes that a path or a query (`more`: additional ones) may contain, and escapes the
 * rest. Existing escapes stay. */
static bool copy_web_text(char *to, size_t bytes, const char *from, size_t count, const char *more)
{
    size_t length = 0;
    bool fits = true;
    for (size_t i = 0; i < count && fits; i++) {
        const unsigned char c = (unsigned char)from[i];
        const bool is_escape = c == '%' && i + 2 < count && escaped_byte(from + i) >= 0;
        fits = is_escape || is_plain(c) || strchr(more, c) != NULL
                   ? append_byte(to, bytes, &length, from[i])
                   : append_escaped(to, bytes, &length, c);
    }
    to[length] = '\0';
    return fits;
}

#define PATH_BYTES  "/!$&'()*+,;=:@"
#define QUERY_BYTES PATH_BYTES "?"

/* ---- parsing ---- */

static bool url_is_port(const char *text, size_t length)
{
    uint32_t port = 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9' || i == 5) {
            return false;
        }
        port = port * 10 + (uint32_t)(text[i] - '0');
    }
    return length > 0 && port > 0 && port <= UINT16_MAX;
}

/* True for "host", "host:port", "[v6]" and "[v6]:port". */
static bool url_is_host(const char *text, size_t length)
{
    size_t i = 0;
    if (length > 0 && text[0] == '[') {
        for (i = 1; i < length && (hex_value(text[i]) >= 0 || strchr(":.", text[i]) != NULL); i++) {
        }
        if (i < 4 || i >= length || text[i++] != ']') {
            return false;
        }
    } else {
        for (; i < length && is_plain((unsigned char)text[i]) && text[i] != '~'; i++) {
        }
    }
    return i > 0 && (i == length || (text[i] == ':' && url_is_port(text + i + 1, length - i - 1)));
}

/* Takes the host of an address; `rest` begins with it. */
static sluice_status parse_host(sl_url *url, const char *address, const char *rest, size_t host,
                                sluice_error *error)
{
    if (memchr(rest, '@', host) != NULL) {
        return refuse_address(address, error,
                              "the address names a user: credentials are not taken from addresses");
    }
    if (host >= sizeof(url->bucket) || !url_is_host(rest, host)) {
        return refuse_address(address, error,
                              "the address has no valid host: expected http(s)://HOST[:PORT]/PATH "
                              "(write non-ASCII names in punycode)");
    }
    for (size_t i = 0; i < host; i++) {
        const bool is_upper = rest[i] >= 'A' && rest[i] <= 'Z';
        url->bucket[i] = (char)(is_upper ? rest[i] + ('a' - 'A') : rest[i]);
    }
    return SLUICE_OK;
}

static sluice_status parse_web(sl_url *url, const char *address, const char *rest,
                               sluice_error *error)
{
    const size_t host = strcspn(rest, "/?#");
    const sluice_status status = parse_host(url, address, rest, host, error);
    if (status != SLUICE_OK) {
        return status;
    }
    rest += host;
    if (strchr(rest, '#') != NULL) {
        return refuse_address(address, error,
                              "the address has a fragment, which servers never see: remove it, or "
                              "write %23 for a \"#\" in a name");
    }
    const char *path = rest + (*rest == '/');
    const size_t length = strcspn(path, "?");
    const char *query = path + length + (path[length] == '?');
    if (!copy_web_text(url->key, sizeof(url->key), path, length, PATH_BYTES) ||
        !copy_web_text(url->query, sizeof(url->query), query, strlen(query), QUERY_BYTES)) {
        return refuse_address(address, error, "the address is too long: at most 4,095 bytes");
    }
    return SLUICE_OK;
}

static bool is_bucket(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (!is_plain((unsigned char)text[i]) || text[i] == '~') {
            return false;
        }
    }
    return length > 0 && text[0] != '.';
}

static sluice_status parse_bucket(sl_url *url, const char *address, const char *rest,
                                  sluice_error *error)
{
    const size_t length = strcspn(rest, "/");
    if (!is_bucket(rest, length) || !copy_span(url->bucket, sizeof(url->bucket), rest, length)) {
        return refuse_address(address, error,
                              "the address has no valid bucket: expected SCHEME://BUCKET/KEY, with "
                              "letters, digits, \"-\", \".\" and \"_\" in BUCKET");
    }
    const char *key = rest + length + (rest[length] == '/');
    if (!copy_span(url->key, sizeof(url->key), key, strlen(key))) {
        return refuse_address(address, error, "the key is too long: at most 4,095 bytes");
    }
    return SLUICE_OK;
}

/* Returns the length of the revision at `text`: up to the next slash, except for the hub's own
 * references, "refs/pr/7" and "refs/convert/parquet". */
static size_t revision_length(const char *text)
{
    size_t length = 0;
    if (strncmp(text, "refs/pr/", 8) == 0) {
        length = 8;
    } else if (strncmp(text, "refs/convert/", 13) == 0) {
        length = 13;
    }
    return length + strcspn(text + length, "/");
}

static sluice_status parse_hub(sl_url *url, const char *address, const char *rest,
                               sluice_error *error)
{
    static const char expected[] = "the address is not a dataset of the hub: expected "
                                   "hf://datasets/OWNER/NAME[@REVISION]/PATH";
    const size_t kind = strcspn(rest, "/");
    if (kind != 8 || strncmp(rest, "datasets/", 9) != 0) {
        return refuse_address(address, error, expected);
    }
    const size_t owner = strcspn(rest + 9, "/@");
    const char *name = rest + 9 + owner + 1;
    if (rest[9 + owner] != '/' || !is_bucket(rest + 9, owner) ||
        !is_bucket(name, strcspn(name, "/@"))) {
        return refuse_address(address, error, expected);
    }
    const char *end = name + strcspn(name, "/@");
    if (!copy_span(url->bucket, sizeof(url->bucket), rest, (size_t)(end - rest))) {
        return refuse_address(address, error, "the name of the dataset is too long");
    }
    memcpy(url->revision, "main", 5);
    if (*end == '@') {
        const size_t length = revision_length(++end);
        if (length == 0 || !copy_span(url->revision, sizeof(url->revision), end, length)) {
            return refuse_address(address, error,
                                  "the revision is empty or too long: at most 127 bytes");
        }
        sl_url_unescape(url->revision);
        end += length;
    }
    end += *end == '/';
    if (!copy_span(url->key, sizeof(url->key), end, strlen(end))) {
        return refuse_address(address, error, "the path is too long: at most 4,095 bytes");
    }
    return SLUICE_OK;
}

sluice_status sl_url_parse(sl_url *url, const char *address, sluice_error *error)
{
    memset(url, 0, sizeof(*url));
    const char *rest = behind_scheme(address, &url->scheme);
    if (rest == NULL) {
        return refuse_address(address, error,
                              "unknown scheme: expected s3://, gs://, hf://, https:// or http://");
    }
    if (is_web(url->scheme)) {
        return parse_web(url, address, rest, error);
    }
    return url->scheme == SL_SCHEME_HF ? parse_hub(url, address, rest, error)
                                       : parse_bucket(url, address, rest, error);
}

/* ---- printing ---- */

void sl_url_print(const char *address, char *text, size_t bytes)
{
    sl_scheme scheme = SL_SCHEMES;
    const char *rest = behind_scheme(address, &scheme);
    if (rest == NULL) {
        snprintf(text, bytes, "%s", address);
        return;
    }
    const size_t host = strcspn(rest, is_web(scheme) ? "/?#" : "/");
    size_t user = host;
    while (user > 0 && rest[user - 1] != '@') {
        user--;
    }
    const char *colon = memchr(rest + user, ':', host - user);
    if (is_web(scheme) && !url_is_host(rest + user, host - user) && colon != NULL) {
        /* A password with a slash looks like a port that is not a number. */
        snprintf(text, bytes, "%s...", scheme_names[scheme]);
        return;
    }
    const size_t length = is_web(scheme) ? strcspn(rest, "?#") : strlen(rest);
    snprintf(text, bytes, "%s%.*s", scheme_names[scheme],
             (int)sl_min_size(length - user, SL_URL_BYTES), rest + user);
}

/* ---- redirects ---- */

/* Returns the length of "scheme:" at the beginning; 0: the reference is relative. */
static size_t scheme_length(const char *location)
{
    size_t length = 0;
    while (isalnum((unsigned char)location[length]) ||
           (length > 0 && location[length] != '\0' && strchr("+-.", location[length]) != NULL)) {
        length++;
    }
    return length > 0 && location[length] == ':' && isalpha((unsigned char)location[0]) ? length + 1
                                                                                        : 0;
}

/* Applies a path without a leading slash to the folder that ends `to`: ".." goes one up, and never
 * above the `root` first bytes. */
static bool append_relative(char *to, size_t bytes, size_t root, const char *path, size_t count)
{
    size_t length = strlen(to);
    for (size_t at = 0; at < count;) {
        const size_t part = strcspn(path + at, "/?");
        const size_t step = sl_min_size(part, count - at);
        const bool ends = at + step >= count;
        if (step == 2 && strncmp(path + at, "..", 2) == 0) {
            for (length -= length > root; length > root && to[length - 1] != '/'; length--) {
            }
        } else if (step != 1 || path[at] != '.') {
            const size_t taken = step + !ends;
            if (length + taken >= bytes ||
                !copy_web_text(to + length, bytes - length, path + at, taken, PATH_BYTES)) {
                return false;
            }
            length += strlen(to + length);
        }
        to[length] = '\0';
        at += step + 1;
    }
    return true;
}

static bool append_web_text(char *to, size_t bytes, const char *text, size_t count)
{
    const size_t length = strlen(to);
    return copy_web_text(to + length, bytes - length, text, count, QUERY_BYTES "[]");
}

/* Checks a result: http(s), no user, a valid host, and no byte that ends a request's line. */
static bool is_good_result(const char *url, bool only_tls)
{
    for (const char *c = url; *c != '\0'; c++) {
        if ((unsigned char)*c <= ' ' || *c == 0x7f) {
            return false;
        }
    }
    sl_scheme scheme = SL_SCHEMES;
    const char *rest = behind_scheme(url, &scheme);
    return rest != NULL && is_web(scheme) && (scheme == SL_SCHEME_HTTPS || !only_tls) &&
           url_is_host(rest, strcspn(rest, "/?#"));
}

bool sl_url_resolve(char *to, size_t bytes, const char *base, const char *location)
{
    sl_scheme scheme = SL_SCHEMES;
    const char *rest = behind_scheme(base, &scheme);
    if (rest == NULL || !is_web(scheme) || bytes == 0) {
        return false;
    }
    const size_t authority = (size_t)(rest - base) + strcspn(rest, "/?#");
    const size_t count = strcspn(location, "#");
    size_t kept = 0; /* bytes of the base */
    bool is_relative = false;
    if (scheme_length(location) > 0) {
        kept = 0;
    } else if (strncmp(location, "//", 2) == 0) {
        kept = strlen(scheme_names[scheme]) - 2;
    } else if (location[0] == '/') {
        kept = authority;
    } else {
        kept = authority + strcspn(base + authority, "?#");
        is_relative = count > 0 && location[0] != '?';
        while (is_relative && kept > authority && base[kept - 1] != '/') {
            kept--;
        }
    }
    if (!copy_span(to, bytes, base, kept)) {
        return false;
    }
    bool fits = true;
    size_t done = 0;
    if (is_relative) {
        done = sl_min_size(count, strcspn(location, "?"));
        fits = (kept > authority || append_web_text(to, bytes, "/", 1)) &&
               append_relative(to, bytes, authority + 1, location, done);
    }
    return fits && append_web_text(to, bytes, location + done, count - done) &&
           is_good_result(to, scheme == SL_SCHEME_HTTPS);
}
