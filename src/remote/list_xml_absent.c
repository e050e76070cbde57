/* SPDX-License-Identifier: Apache-2.0 */
/* list_xml without expat: listings of s3:// and gs:// fail. */
#include "list_xml.h"

#include "error.h"

sluice_status sl_list_xml_read(sl_bytes text, const char *prefix, sl_entries *entries,
                               sl_page_end *end, sluice_error *error)
{
    (void)text;
    (void)prefix;
    (void)entries;
    *end = (sl_page_end){.more = false};
    return sl_error_set(error, SLUICE_UNSUPPORTED, "remote",
                        "cannot list a bucket: sluice was built without expat");
}
