/* SPDX-License-Identifier: Apache-2.0 */
#include "dataset_checks.h"

#include "test.h"

#include <stdlib.h>
#include <string.h>

sluice_dataset *dataset_opened(const char *path)
{
    sluice_dataset *dataset = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    if (sluice_dataset_open(&dataset, &path, 1, NULL, &error) != SLUICE_OK) {
        fail_msg("%s: %s", path, error.text);
    }
    return dataset;
}

void dataset_refused(const char *path, sluice_status status, const char *file, const char *words)
{
    sluice_dataset *dataset = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    const sluice_status said = sluice_dataset_open(&dataset, &path, 1, NULL, &error);
    assert_null(dataset);
    if (said != status || strstr(error.text, words) == NULL || strstr(error.file, file) == NULL) {
        fail_msg("status %d, %s: \"%s\" where \"%s\" was expected", said, error.file, error.text,
                 words);
    }
}

void dataset_expect(const sluice_dataset *dataset, const char *format, uint64_t samples)
{
    sluice_dataset_info info = SLUICE_DATASET_INFO_INIT;
    assert_int_equal(sluice_dataset_get_info(dataset, &info), SLUICE_OK);
    assert_string_equal(info.format, format);
    assert_int_equal(info.samples, samples);
}

void dataset_expect_bytes(const sluice_dataset *dataset, uint64_t index, const char *field,
                          const void *wanted, size_t bytes)
{
    size_t size = 0;
    sluice_error error = SLUICE_ERROR_INIT;
    uint8_t *found = malloc(bytes + 1);
    assert_non_null(found);
    if (sluice_dataset_read(dataset, index, field, found, bytes + 1, &size, &error) != SLUICE_OK) {
        fail_msg("\"%s\" of sample %llu: %s", field, (unsigned long long)index, error.text);
    }
    assert_int_equal(size, bytes);
    assert_memory_equal(found, wanted, bytes);
    free(found);
}
