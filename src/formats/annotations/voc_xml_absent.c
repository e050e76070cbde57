/* SPDX-License-Identifier: Apache-2.0 */
/* voc_xml_absent: rejects XML annotations in a library that was built without libexpat. */
#include "error.h"
#include "voc_xml.h"

sluice_status sl_voc_xml_read(sl_voc_page *page, const char *path, sluice_error *error)
{
    (void)page;
    return sl_error_file(
        error, SLUICE_UNSUPPORTED, "dataset", 0, path, -1,
        "Pascal VOC annotations are not supported: this library was built without libexpat");
}
