/* SPDX-License-Identifier: Apache-2.0 */
#include "page.h"

#include "overlay.h"
#include "safe_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char head[] =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<style>\nbody { margin: 24px; color: #e6e6e6; background: #202020;\n"
    "       font: 15px/1.45 system-ui, \"DejaVu Sans\", sans-serif; overflow-wrap: anywhere; }\n"
    "h2 { margin: 24px 0 4px; font-size: 16px; font-weight: 600; }\n"
    "p { margin: 4px 0; }\nimg { display: block; }\n</style>\n";

/* Without what HTML would take for markup. */
static void put_escaped(FILE *stream, const char *text)
{
    static const char *const entities[128] = {
        ['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&quot;"};
    for (; *text != '\0'; text++) {
        const unsigned char byte = (unsigned char)*text;
        if (byte < 128 && entities[byte] != NULL) {
            fputs(entities[byte], stream);
        } else {
            fputc(byte, stream);
        }
    }
}

static void put_base64(FILE *stream, const uint8_t *bytes, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t at = 0; at < size; at += 3) {
        const size_t left = size - at;
        const uint32_t three = (uint32_t)bytes[at] << 16 |
                               (left > 1 ? (uint32_t)bytes[at + 1] << 8 : 0) |
                               (left > 2 ? (uint32_t)bytes[at + 2] : 0);
        fputc(digits[three >> 18], stream);
        fputc(digits[three >> 12 & 63], stream);
        fputc(left > 1 ? digits[three >> 6 & 63] : '=', stream);
        fputc(left > 2 ? digits[three & 63] : '=', stream);
    }
}

bool page_begin(struct page *page, const char *title)
{
    *page = (struct page){0};
    page->stream = open_memstream(&page->text, &page->size);
    if (page->stream == NULL) {
        return false;
    }
    fputs(head, page->stream);
    page_put_text(page, "title", title);
    return true;
}

void page_put_text(struct page *page, const char *element, const char *text)
{
    fprintf(page->stream, "<%s>", element);
    put_escaped(page->stream, SAFE(text));
    fprintf(page->stream, "</%s>\n", element);
}

void page_put_colors(struct page *page, const char *lead, const char *lines)
{
    uint64_t number = 0;
    fputs("<p>", page->stream);
    put_escaped(page->stream, SAFE(lead));
    for (const char *at = lines; at != NULL; number++) {
        const char *end = strchr(at, '\n');
        char line[256];
        snprintf(line, sizeof line, "%.*s", (int)(end != NULL ? (size_t)(end - at) : strlen(at)),
                 at);
        const uint8_t *color = overlay_color(number);
        fprintf(page->stream, " <span style=\"color:#%02x%02x%02x\">&#9632;</span> ", color[0],
                color[1], color[2]);
        put_escaped(page->stream, SAFE(line));
        at = end != NULL ? end + 1 : NULL;
    }
    fputs("</p>\n", page->stream);
}

void page_put_png(struct page *page, const void *png, size_t bytes, uint32_t width, uint32_t height)
{
    fprintf(page->stream,
            "<img width=\"%" PRIu32 "\" height=\"%" PRIu32 "\" alt=\"\" "
            "src=\"data:image/png;base64,",
            width, height);
    put_base64(page->stream, png, bytes);
    fputs("\">\n", page->stream);
}

bool page_end(struct page *page)
{
    bool done = ferror(page->stream) == 0;
    done = fclose(page->stream) == 0 && done;
    page->stream = NULL;
    return done;
}

void page_free(struct page *page)
{
    if (page->stream != NULL) {
        (void)fclose(page->stream);
    }
    free(page->text);
    *page = (struct page){0};
}
