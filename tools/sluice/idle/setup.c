/* SPDX-License-Identifier: Apache-2.0 */
#include "setup.h"

#include "../../inject/idle_format.h"
#include "report.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char injection_variable[] = "CUDA_INJECTION64_PATH";
static const char library_name[] = "libsluice_inject.so";
/* Possible places of the library, relative to the tool: the build folder or a bundle, an
 * installation. */
static const char *const places[] = {".", "../lib/sluice", SLUICE_INJECT_FOLDER};

static bool usable(const char *path, char *absolute)
{
    return access(path, R_OK) == 0 && realpath(path, absolute) != NULL;
}

static bool find_library(char *path)
{
    const char *given = getenv("SLUICE_INJECT"); // NOLINT(concurrency-mt-unsafe): one thread yet
    if (given != NULL && *given != '\0') {
        if (!usable(given, path)) {
            report("SLUICE_INJECT=%s: %s", given, strerror(errno)); // NOLINT
            return false;
        }
        return true;
    }
    char tool[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", tool, sizeof tool - 1);
    tool[length < 0 ? 0 : length] = '\0';
    char *slash = strrchr(tool, '/');
    if (slash == NULL) {
        report("/proc/self/exe cannot be read, so %s is not found; set SLUICE_INJECT to its path",
               library_name);
        return false;
    }
    *slash = '\0';
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        char candidate[2 * PATH_MAX];
        snprintf(candidate, sizeof candidate, "%s/%s/%s", tool, places[i], library_name);
        if (usable(candidate, path)) {
            return true;
        }
    }
    report("%s is neither beside the tool (%s) nor in ../lib/sluice; set SLUICE_INJECT to its path",
           library_name, tool);
    return false;
}

static bool is_record(const char *name)
{
    return strncmp(name, IDLE_RECORDS_PREFIX, sizeof IDLE_RECORDS_PREFIX - 1) == 0 ||
           strncmp(name, IDLE_MARKS_PREFIX, sizeof IDLE_MARKS_PREFIX - 1) == 0;
}

/* Calls `unlink` for the record files; returns how many there are. */
static unsigned clear_folder(const char *folder, bool remove_them)
{
    unsigned count = 0;
    DIR *open = opendir(folder);
    const struct dirent *entry;
    while (open != NULL && (entry = readdir(open)) != NULL) { // NOLINT: a stream of our own
        if (is_record(entry->d_name)) {
            count++;
            if (remove_them) {
                unlinkat(dirfd(open), entry->d_name, 0);
            }
        }
    }
    if (open != NULL) {
        closedir(open);
    }
    return count;
}

static bool make_kept(struct idle_setup *setup, const char *records)
{
    if (mkdir(records, 0777) != 0 && errno != EEXIST) {
        report("%s: %s", records, strerror(errno)); // NOLINT(concurrency-mt-unsafe)
        return false;
    }
    if (realpath(records, setup->folder) == NULL || access(setup->folder, W_OK | X_OK) != 0) {
        report("%s: %s", records, strerror(errno)); // NOLINT(concurrency-mt-unsafe)
        return false;
    }
    if (clear_folder(setup->folder, false) > 0) {
        report("%s holds the records of another run; name a new folder", records);
        return false;
    }
    return true;
}

static bool make_temporary(struct idle_setup *setup)
{
    const char *base = getenv("TMPDIR"); // NOLINT(concurrency-mt-unsafe)
    snprintf(setup->folder, sizeof setup->folder, "%s/sluice-idle.XXXXXX",
             base == NULL || *base == '\0' ? "/tmp" : base);
    if (mkdtemp(setup->folder) == NULL) {
        report("%s: %s", setup->folder, strerror(errno)); // NOLINT(concurrency-mt-unsafe)
        return false;
    }
    return true;
}

bool idle_setup_make(struct idle_setup *setup, const char *records)
{
    *setup = (struct idle_setup){.temporary = records == NULL};
    if (!find_library(setup->library)) {
        return false;
    }
    return records == NULL ? make_temporary(setup) : make_kept(setup, records);
}

bool idle_setup_inject(const struct idle_setup *setup, bool on)
{
    int failed;
    if (on) {
        failed = setenv(injection_variable, setup->library, 1);                         // NOLINT
        failed = failed != 0 ? failed : setenv(IDLE_FOLDER_VARIABLE, setup->folder, 1); // NOLINT
    } else {
        failed = unsetenv(injection_variable);                          // NOLINT
        failed = failed != 0 ? failed : unsetenv(IDLE_FOLDER_VARIABLE); // NOLINT
    }
    if (failed != 0) {
        report("the environment cannot be set: %s", strerror(errno)); // NOLINT
    }
    return failed == 0;
}

void idle_setup_remove(const struct idle_setup *setup)
{
    if (setup->temporary) {
        clear_folder(setup->folder, true);
        rmdir(setup->folder);
    }
}
