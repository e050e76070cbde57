/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list_xml: answers of S3 and compatible stores.
 *
 * Purpose: reads a page of a listing (ListBucketResult, list-type=2, encoding-type=url) and the
 * code of an error. Bytes are untrusted: time and memory are proportional to them, entities of
 * documents are rejected, elements are at most 16 deep. Threads: pure.
 */
#ifndef SL_LIST_XML_H
#define SL_LIST_XML_H

#include "entries.h"
#include "provider.h"

/* Adds the names below `prefix`, which is removed from them. Errors: CORRUPT, NOMEM. */
sluice_status sl_list_xml_read(sl_bytes text, const char *prefix, sl_entries *entries,
                               sl_page_end *end, sluice_error *error);
/* Copies the text of the first element of that name from an error's body, which may be cut; "" if
 * it has none. Only letters and digits are copied. */
void sl_list_xml_find(sl_bytes text, const char *element, char *value, size_t bytes);

#endif
