/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sheet_file: the file of `sluice view`: a PNG of the pictures, or a page (page.h) that has the
 * text besides, where its name says so. Main thread.
 */
#ifndef TOOL_SHEET_FILE_H
#define TOOL_SHEET_FILE_H

#include "view_job.h"

#include <stdbool.h>

/* Whether a file of that name is a page. */
bool sheet_file_is_page(const char *path);
/* Whether it could be written now; else reported. */
bool sheet_file_is_writable(const char *path);
/* Once all is drawn. False: reported. */
bool sheet_file_write(struct view *view);

#endif
