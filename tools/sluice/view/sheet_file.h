/* SPDX-License-Identifier: Apache-2.0 */
/* sheet_file: the file of `sluice view`: a PNG of the images, or, by its name, a page (page.h)
 * that also has the text. Main thread. */
#ifndef TOOL_SHEET_FILE_H
#define TOOL_SHEET_FILE_H

#include "view_job.h"

#include <stdbool.h>

/* Returns whether a file of that name is a page. */
bool sheet_file_is_page(const char *path);
/* Returns whether the file could be written now; else reported. */
bool sheet_file_is_writable(const char *path);
/* Writes the file once everything is drawn. False: reported. */
bool sheet_file_write(struct view *view);

#endif
