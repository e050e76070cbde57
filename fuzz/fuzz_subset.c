/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_subset: choices of samples as text and in files. Accepted ones name existing samples. Input:
 * one byte (ranges, a file of numbers, or a condition), then the text. */
#include "fuzz.h"

#include "condition.h"
#include "subset.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SAMPLES = 1000, TEXT_MAX = 1 << 16 };

static void check_map(sl_index_map *map, sluice_status status)
{
    sl_index_map_finish(map);
    for (uint64_t i = 0; status == SLUICE_OK && i < map->count; i += 1 + map->count / 100) {
        const uint64_t run = sl_index_map_run(map, i);
        fuzz_expect(run >= 1 && run <= map->count - i, "runs end with the list");
        fuzz_expect(sl_index_map_at(map, i) + run <= SAMPLES, "samples exist");
    }
    (void)sl_index_map_sum(map);
    sl_index_map_close(map);
}

static void choose_from_file(sl_index_map *map, const uint8_t *data, size_t size)
{
    char path[64];
    const int fd = memfd_create("numbers", MFD_CLOEXEC);
    fuzz_expect(fd >= 0 && write(fd, data, size) == (ssize_t)size, "a file can be made");
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    check_map(map, sl_subset_index_file(map, path, SAMPLES, NULL));
    close(fd);
}

static const char *class_name(const sl_dataset *dataset, int64_t label)
{
    (void)dataset;
    return label == 0 ? "cat" : label == 1 ? "dog" : NULL;
}

static void try_condition(const char *text)
{
    static const sl_dataset_ops ops = {.class_name = class_name};
    static const sl_field fields[] = {{.name = "label", .type = SLUICE_FIELD_INT},
                                      {.name = "score", .type = SLUICE_FIELD_FLOAT},
                                      {.name = "text", .type = SLUICE_FIELD_TEXT}};
    static sl_values values;
    const sl_dataset dataset = {
        .ops = &ops, .fields = fields, .info = {.samples = SAMPLES, .fields = 3, .classes = 2}};
    sl_condition *condition = NULL;
    if (sl_condition_make(&condition, text, &dataset, NULL) != SLUICE_OK) {
        return;
    }
    fuzz_expect((sl_condition_fields(condition) & ~UINT64_C(3)) == 0, "only numbers are asked for");
    for (int64_t i = 0; i < 4; i++) {
        values.of[0] = (sl_value){.present = i != 3, .integer = i};
        values.of[1] = (sl_value){.present = i != 2, .number = (double)i / 2};
        (void)sl_condition_holds(condition, &values);
    }
    sl_condition_close(condition);
}

int fuzz_run(const uint8_t *data, size_t size)
{
    static char text[TEXT_MAX];
    sl_index_map map;
    if (size < 1 || size > sizeof(text)) {
        return 0;
    }
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    if (data[0] % 3 == 2) {
        try_condition(text);
        return 0;
    }
    sl_index_map_begin(&map);
    if (data[0] % 3 == 1) {
        choose_from_file(&map, data + 1, size - 1);
    } else {
        check_map(&map, sl_subset_ranges(&map, text, SAMPLES, NULL));
    }
    return 0;
}

size_t fuzz_seed(unsigned index, uint8_t *buffer)
{
    static const struct {
        uint8_t which;
        const char *text;
    } seeds[] = {{0, "0:1000,500:,-10:,7"},
                 {0, ":3,5:5,-1"},
                 {1, "1\n999\n0\n 17\r\n"},
                 {2, "label < 1 and not (score >= 0.5e1 or label in (1, 2))"},
                 {2, "label == \"dog\" || !(score not in (1, 2.5)) && label != 'cat'"}};
    static const char npy[] = "\x93NUMPY\x01\x00\x47\x00{'descr': '<i4', 'fortran_order': False, "
                              "'shape': (2,), }             \n\x03\x00\x00\x00\xe7\x03\x00\x00";
    const unsigned count = sizeof(seeds) / sizeof(seeds[0]);
    if (index > count) {
        return 0;
    }
    if (index == count) {
        buffer[0] = 1;
        memcpy(buffer + 1, npy, sizeof(npy) - 1);
        return sizeof(npy);
    }
    buffer[0] = seeds[index].which;
    memcpy(buffer + 1, seeds[index].text, strlen(seeds[index].text));
    return 1 + strlen(seeds[index].text);
}
