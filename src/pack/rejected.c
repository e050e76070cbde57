/* SPDX-License-Identifier: Apache-2.0 */
#include "rejected.h"

#include "names.h"

#include <inttypes.h>

/* Appends `text` with control characters and backslashes as \xHH. */
static size_t rejected_escape(char *to, const char *text)
{
    size_t length = 0;
    for (; *text; text++) {
        unsigned char byte = (unsigned char)*text;
        if (byte < 32 || byte == 127 || byte == '\\') {
            length += (size_t)sprintf(to + length, "\\x%02X", byte);
        } else {
            to[length++] = (char)byte;
        }
    }
    to[length] = '\0';
    return length;
}

size_t sl_rejected_format(char *line, const char *key, const sluice_error *reason)
{
    size_t length = rejected_escape(line, key);
    length += (size_t)sprintf(line + length, "\t%s\t%" PRId64 "\t",
                              sl_status_name((sluice_status)reason->status), reason->offset);
    return length + rejected_escape(line + length, reason->text);
}

FILE *sl_rejected_open(int fd)
{
    FILE *file = fdopen(fd, "w");
    if (file != NULL) {
        (void)setvbuf(file, NULL, _IONBF, 0);
    }
    return file;
}
