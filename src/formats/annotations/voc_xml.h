/* SPDX-License-Identifier: Apache-2.0 */
/*
 * voc_xml: one annotation file of Pascal VOC's kind, by libexpat.
 *
 * Purpose: <annotation> with <filename>, <size> and any number of <object>, each with a <name> and
 * a <bndbox>; whatever else is in it is passed over, the <part>s of an object too. Files are
 * strangers': a DTD is refused before anything of it is read, so there are no entities but XML's
 * own five; elements are in each other SL_VOC_DEPTH_MAX deep at most.
 * Memory: the file's bytes, SL_VOC_BYTES_MAX at most, and what expat needs of them. Threads: pure.
 */
#ifndef SL_VOC_XML_H
#define SL_VOC_XML_H

#include <sluice/common.h>

#include <stdbool.h>
#include <stdint.h>

#define SL_VOC_BYTES_MAX  ((uint64_t)16 << 20)
#define SL_VOC_DEPTH_MAX  32U
#define SL_VOC_NAME_BYTES 256U
/* Of a coordinate, which single precision holds exactly to a pixel. */
#define SL_VOC_EDGE_MAX 16777216.0

typedef struct sl_voc_object {
    char name[SL_VOC_NAME_BYTES];
    double xmin, ymin, xmax, ymax; /* as stored; min is not above max */
    bool difficult, truncated, occluded;
    bool says_occluded;
} sl_voc_object;

typedef struct sl_voc_page {
    char filename[1024];   /* "": there is none; may be anything */
    int64_t width, height; /* -1: it does not say */
    /* Called for each object, in the order of the file; false: there is no memory. */
    bool (*take)(void *ctx, const sl_voc_object *object);
    void *ctx;
} sl_voc_page;

/* Reads a file; `take` and `ctx` are filled in before. Errors: IO; CORRUPT (no XML, no annotation,
 * an object that lacks something); UNSUPPORTED (a DTD, an encoding, too large; built without
 * libexpat); NOMEM. */
sluice_status sl_voc_xml_read(sl_voc_page *page, const char *path, sluice_error *error);

#endif
