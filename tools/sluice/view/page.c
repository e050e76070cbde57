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
    "<style>\n"
    ":root { color-scheme: light dark; --paper: #f6f7f9; --card: #fff; --ink: #1f2328;\n"
    "  --faded: #59636e; --line: #d9dee4; --alarm: #c62828; }\n"
    "@media (prefers-color-scheme: dark) { :root { --paper: #15181c; --card: #1f2328;\n"
    "  --ink: #e8eaed; --faded: #9aa4af; --line: #343a42; --alarm: #ff8a80; } }\n"
    "* { box-sizing: border-box; }\n"
    "body { margin: 0 auto; padding: 24px 16px; max-width: 1640px; color: var(--ink);\n"
    "  background: var(--paper); font: 15px/1.45 system-ui, -apple-system, \"Segoe UI\", Roboto,\n"
    "  \"Noto Sans\", \"DejaVu Sans\", sans-serif; overflow-wrap: anywhere; }\n"
    "h1 { margin: 0; font-size: 22px; }\n"
    "header p { margin: 2px 0 20px; color: var(--faded); }\n"
    "section { margin: 0 0 16px; padding: 14px 16px 16px; background: var(--card);\n"
    "  border: 1px solid var(--line); border-radius: 10px; }\n"
    "h2 { margin: 0 0 10px; font-size: 15px; font-weight: 600; white-space: pre-wrap; }\n"
    "small { color: var(--faded); font-size: 13px; font-weight: 400; }\n"
    ".alarm { margin: 0 0 10px; color: var(--alarm); }\n"
    ".tiles { display: flex; flex-wrap: wrap; gap: 14px 10px; align-items: flex-start; }\n"
    ".group { display: flex; flex-wrap: wrap; gap: 8px; align-items: flex-start;\n"
    "  padding: 8px; border: 1px solid var(--line); border-radius: 8px; }\n"
    "figure { margin: 0; width: min(var(--width), 100%); }\n"
    "@media (max-width: 560px) { figure { width: min(var(--width), calc(50% - 5px)); }\n"
    "  figure:only-child { width: min(var(--width), 100%); } .group { width: 100%; } }\n"
    "img { display: block; width: 100%; height: auto; border-radius: 3px; }\n"
    "figcaption { margin-top: 4px; color: var(--faded); font-size: 13px; line-height: 1.35; }\n"
    "figcaption ul { display: flex; flex-wrap: wrap; gap: 0 10px; margin: 2px 0 0; padding: 0;\n"
    "  list-style: none; color: var(--ink); }\n"
    ".mark { display: inline-block; width: 9px; height: 9px; margin-right: 5px;\n"
    "  border-radius: 2px; }\n"
    "dl { display: grid; grid-template-columns: max-content 1fr; gap: 2px 14px;\n"
    "  margin: 12px 0 0; }\n"
    "dl:empty { display: none; }\n"
    "dt { color: var(--faded); }\ndd { margin: 0; }\n"
    "</style>\n";

/* Writes a text with HTML markup escaped. */
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

static void put_element(struct page *page, const char *element, const char *text)
{
    fprintf(page->stream, "<%s>", element);
    put_escaped(page->stream, SAFE(text));
    fprintf(page->stream, "</%s>\n", element);
}

bool page_begin(struct page *page, const char *title, const char *below)
{
    *page = (struct page){0};
    page->stream = open_memstream(&page->text, &page->size);
    if (page->stream == NULL) {
        return false;
    }
    fputs(head, page->stream);
    put_element(page, "title", title);
    fputs("<header>\n", page->stream);
    put_element(page, "h1", title);
    put_element(page, "p", below);
    fputs("</header>\n", page->stream);
    return true;
}

void page_open(struct page *page, enum page_part part)
{
    static const char *const tags[] = {"<section>\n", "<div class=\"tiles\">\n",
                                       "<div class=\"group\">\n", "<dl>"};
    fputs(tags[part], page->stream);
}

void page_close(struct page *page, enum page_part part)
{
    static const char *const tags[] = {"</section>\n", "</div>\n", "</div>\n", "</dl>\n"};
    fputs(tags[part], page->stream);
}

void page_put_heading(struct page *page, const char *title, const char *key)
{
    fputs("<h2>", page->stream);
    put_escaped(page->stream, SAFE(title));
    fputs("  <small>", page->stream);
    put_escaped(page->stream, SAFE(key));
    fputs("</small></h2>\n", page->stream);
}

void page_put_alarm(struct page *page, const char *text)
{
    fputs("<p class=\"alarm\">", page->stream);
    put_escaped(page->stream, SAFE(text));
    fputs("</p>\n", page->stream);
}

void page_put_value(struct page *page, const char *name, const char *text)
{
    put_element(page, "dt", name);
    put_element(page, "dd", text);
}

void page_put_legend(struct page *page, const char *lines)
{
    if (*lines == '\0') {
        return;
    }
    fputs("<ul>\n", page->stream);
    for (const char *at = lines; at != NULL;) {
        const char *end = strchr(at, '\n');
        char *text = NULL;
        char line[256];
        const uint8_t *color = overlay_color(strtoul(at, &text, 10));
        text += *text == '\t';
        snprintf(line, sizeof line, "%.*s",
                 (int)(end != NULL ? (size_t)(end - text) : strlen(text)), text);
        fprintf(page->stream, "<li><span class=\"mark\" style=\"background:#%02x%02x%02x\"></span>",
                color[0], color[1], color[2]);
        put_escaped(page->stream, SAFE(line));
        fputs("</li>\n", page->stream);
        at = end != NULL ? end + 1 : NULL;
    }
    fputs("</ul>\n", page->stream);
}

void page_open_tile(struct page *page, const struct page_tile *tile)
{
    fprintf(page->stream,
            "<figure style=\"--width:%" PRIu32 "px\"><img width=\"%" PRIu32 "\" height=\"%" PRIu32
            "\" alt=\"\" src=\"data:image/png;base64,",
            tile->width, tile->width, tile->height);
    put_base64(page->stream, tile->png, tile->bytes);
    fputs("\">\n<figcaption>", page->stream);
    put_escaped(page->stream, SAFE(tile->label));
}

void page_close_tile(struct page *page)
{
    fputs("</figcaption></figure>\n", page->stream);
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
