/* SPDX-License-Identifier: Apache-2.0 */
/*
 * voc_xml: reads one Pascal VOC annotation file with libexpat.
 *
 * Purpose: an <annotation> has <filename>, <size> and any number of <object>, each with a <name>
 * and a <bndbox>. Everything else is skipped, including the <part>s of an object. Files are
 * untrusted: a DTD is rejected before any of it is read, so the only entities are XML's own five,
 * and elements may be nested at most SL_VOC_DEPTH_MAX deep. Memory: the file's bytes, at most
 * SL_VOC_BYTES_MAX, and what expat needs for them. Threads: pure.
 */
#ifndef SL_VOC_XML_H
#define SL_VOC_XML_H

#include <sluice/common.h>

#include <stdbool.h>
#include <stdint.h>

#define SL_VOC_BYTES_MAX  ((uint64_t)16 << 20)
#define SL_VOC_DEPTH_MAX  32U
#define SL_VOC_NAME_BYTES 256U
/* Limit on a coordinate, which single precision represents exactly to the pixel. */
#define SL_VOC_EDGE_MAX 16777216.0

typedef struct sl_voc_object {
    char name[SL_VOC_NAME_BYTES];
    double xmin, ymin, xmax, ymax; /* as stored; min <= max */
    bool difficult, truncated, occluded;
    bool says_occluded;
} sl_voc_object;

typedef struct sl_voc_page {
    char filename[1024];   /* unchecked; "": none */
    int64_t width, height; /* -1: not specified */
    /* Called for each object, in file order; returns false if memory runs out. */
    bool (*take)(void *ctx, const sl_voc_object *object);
    void *ctx;
} sl_voc_page;

/*
 * Reads a file; the caller sets `take` and `ctx` first. Errors: IO; CORRUPT (not XML, not an
 * annotation, an incomplete object); UNSUPPORTED (a DTD, an encoding, too large; built without
 * libexpat); NOMEM.
 */
sluice_status sl_voc_xml_read(sl_voc_page *page, const char *path, sluice_error *error);

#endif
