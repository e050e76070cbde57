/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_labels: any bytes as a file of class names, and the resulting union of datasets. If
 * accepted, names are unique and maps lead to them. Input: one byte (choice of datasets), then the
 * file. */
#include "fuzz.h"

#include "class_union.h"
#include "label_file.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { DATASETS = 4, CLASSES_MAX = 4 };

static const char *const lists[DATASETS][CLASSES_MAX] = {{"cat", "dog"},
                                                         {"dog", "", "emu", "cat"},
                                                         {NULL},
                                                         {"7", "Cat", "7"}};
static const uint32_t counts[DATASETS] = {2, 4, 0, 3};
static sl_dataset datasets[DATASETS];

static const char *class_name(const sl_dataset *dataset, int64_t label)
{
    const size_t which = (size_t)(dataset - datasets);
    return label >= 0 && label < (int64_t)counts[which] ? lists[which][label] : NULL;
}

static const sl_dataset_ops ops = {.class_name = class_name};

static void check_names(const sl_class_names *names)
{
    for (uint32_t i = 0; i < names->count; i++) {
        fuzz_expect(names->names[i][0] != '\0', "classes have names");
        for (uint32_t k = 0; k < i && i < 100; k++) {
            fuzz_expect(strcmp(names->names[i], names->names[k]) != 0, "names are unique");
        }
    }
}

static void check_map(const sl_label_map *map, const sl_class_names *names)
{
    fuzz_expect(sl_label_map_find(map, SL_LABEL_NONE) == SL_LABEL_NONE, "no class stays none");
    for (int64_t label = -3; label < 20; label++) {
        const int32_t to = sl_label_map_find(map, label);
        fuzz_expect(to >= SL_LABEL_UNKNOWN && to < (int64_t)names->count, "labels are classes");
    }
    for (uint32_t i = 1; map->sparse && i < map->count; i++) {
        fuzz_expect(map->from[i - 1] < map->from[i], "numbers ascend");
    }
    (void)sl_label_map_sum(map);
}

static void join(const sl_class_request *labels, uint8_t which)
{
    sl_dataset *parts[DATASETS];
    uint32_t count = 0;
    for (uint32_t i = 0; i < DATASETS; i++) {
        datasets[i].ops = &ops;
        datasets[i].info.classes = counts[i];
        if ((which >> i & 1) != 0) {
            parts[count++] = &datasets[i];
        }
    }
    sl_class_union made;
    if (count > 0) {
        const sluice_status status = sl_class_union_make(&made, parts, count, labels, NULL);
        if (status == SLUICE_OK && made.names != NULL) {
            check_names(made.names);
            for (uint32_t i = 0; i < count; i++) {
                check_map(made.maps[i], made.names);
            }
        }
        sl_class_union_close(&made);
    }
}

int fuzz_run(const uint8_t *data, size_t size)
{
    char path[64];
    if (size < 1) {
        return 0;
    }
    const int fd = memfd_create("labels", MFD_CLOEXEC);
    fuzz_expect(fd >= 0 && write(fd, data + 1, size - 1) == (ssize_t)(size - 1),
                "a file can be made");
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    sl_label_file file;
    if (sl_label_file_read(&file, path, NULL) == SLUICE_OK) {
        file.labels.allow_case_duplicates = (data[0] >> DATASETS & 1) != 0;
        (void)sl_class_request_sum(&file.labels);
        join(&file.labels, data[0]);
    }
    sl_label_file_close(&file);
    close(fd);
    return 0;
}

size_t fuzz_seed(unsigned index, uint8_t *buffer)
{
    static const struct {
        uint8_t which;
        const char *text;
    } seeds[] = {{3, "[\"emu\", \"dog\", \"cat\"]"},
                 {7, "{\"0\": \"cat\", \"17\": \"cow\", \"dog\": null, \"emu\": \"dog\"}"},
                 {31, "{\"7\": \"Cat\", \"cat\": \"Cat\"}"},
                 {9, "{\"Cat\": \"cat\", \"7\": \"\\u00e9\"}"}};
    if (index >= sizeof(seeds) / sizeof(seeds[0])) {
        return 0;
    }
    buffer[0] = seeds[index].which;
    memcpy(buffer + 1, seeds[index].text, strlen(seeds[index].text));
    return 1 + strlen(seeds[index].text);
}
