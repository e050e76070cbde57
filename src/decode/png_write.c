/* SPDX-License-Identifier: Apache-2.0 */
#include "png_write.h"

#include "error.h"
#include "memory.h"
#include "stop.h"

#include <png.h>
#include <setjmp.h>
#include <string.h>

#define STAGE "decode"
/* A higher level makes photos a few per cent smaller and takes twice the time. */
#define LEVEL 3

typedef struct writer {
    jmp_buf jump;
    uint8_t *data; /* owned by the writer until it succeeds */
    size_t size, capacity;
    sluice_error *error;
    sluice_status status;
} writer;

/* libpng's functions do not return after an error. */
_Noreturn static void png_write_on_error(png_structp png, png_const_charp text)
{
    writer *w = png_get_error_ptr(png);
    if (w->status == SLUICE_OK) {
        w->status =
            sl_error_set(w->error, SLUICE_UNSUPPORTED, STAGE, "cannot write a PNG: %s", text);
    }
    longjmp(w->jump, 1);
}

static void png_write_on_warning(png_structp png, png_const_charp text)
{
    (void)png;
    (void)text;
}

static png_voidp png_write_on_malloc(png_structp png, png_alloc_size_t size)
{
    writer *w = png_get_mem_ptr(png);
    void *memory = sl_malloc(size);
    if (memory == NULL) {
        w->status = sl_no_memory(w->error, STAGE, "writing a PNG");
    }
    return memory;
}

static void png_write_on_free(png_structp png, png_voidp memory)
{
    (void)png;
    sl_free(memory);
}

static void check_stop(writer *w, png_structp png)
{
    if (sl_stop_requested()) {
        w->status = sl_error_set(w->error, SLUICE_CANCELED, STAGE, "stopped");
        png_error(png, "stopped");
    }
}

/* A row may be long, so `stop` is checked here as well. */
static void on_write(png_structp png, png_bytep bytes, size_t count)
{
    writer *w = png_get_io_ptr(png);
    check_stop(w, png);
    if (count > w->capacity - w->size) {
        const size_t capacity = w->capacity * 2 + count;
        uint8_t *grown = sl_realloc_array(w->data, capacity, 1);
        if (grown == NULL) {
            w->status = sl_no_memory(w->error, STAGE, "writing a PNG");
            png_error(png, "no memory");
        }
        w->data = grown;
        w->capacity = capacity;
    }
    memcpy(w->data + w->size, bytes, count);
    w->size += count;
}

static void on_flush(png_structp png)
{
    (void)png;
}

/* Also returns after an error. */
static void png_write_all(writer *w, png_structp png, png_infop info, const uint8_t *rgb,
                          const uint32_t size[2])
{
    if (setjmp(w->jump) != 0) {
        return;
    }
    png_set_user_limits(png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_set_compression_level(png, LEVEL);
    png_set_IHDR(png, info, size[0], size[1], 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    for (uint32_t y = 0; y < size[1]; y++) {
        check_stop(w, png);
        png_write_row(png, rgb + (size_t)y * size[0] * 3);
    }
    png_write_end(png, NULL);
}

sluice_status sl_png_write(const uint8_t *rgb, uint32_t width, uint32_t height, uint8_t **png,
                           size_t *bytes, sluice_error *error)
{
    writer w = {.error = error};
    const uint32_t size[2] = {width, height};
    *png = NULL;
    png_structp handle =
        png_create_write_struct_2(PNG_LIBPNG_VER_STRING, &w, png_write_on_error,
                                  png_write_on_warning, &w, png_write_on_malloc, png_write_on_free);
    png_infop info = handle != NULL ? png_create_info_struct(handle) : NULL;
    if (info == NULL) {
        png_destroy_write_struct(&handle, NULL);
        return sl_no_memory(error, STAGE, "writing a PNG");
    }
    png_set_write_fn(handle, &w, on_write, on_flush);
    png_write_all(&w, handle, info, rgb, size);
    png_destroy_write_struct(&handle, &info);
    if (w.status < 0) {
        sl_free(w.data);
        return w.status;
    }
    *png = w.data;
    *bytes = w.size;
    return SLUICE_OK;
}
