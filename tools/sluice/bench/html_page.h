/* SPDX-License-Identifier: Apache-2.0 */
/* html_page: html_page.html as a string. The build makes html_page.c from it. */
#ifndef TOOL_HTML_PAGE_H
#define TOOL_HTML_PAGE_H

extern const char html_page[];

#endif
