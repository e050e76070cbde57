/* SPDX-License-Identifier: Apache-2.0 */
#include "row_model.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

static size_t read_field(const sluice_dataset *dataset, uint64_t index, const char *name, void *to,
                         size_t size)
{
    size_t bytes = 0;
    sluice_error error = SLUICE_ERROR_INIT;
    if (sluice_dataset_read(dataset, index, name, to, size, &bytes, &error) != SLUICE_OK) {
        fail_msg("\"%s\" of sample %llu: %s", name, (unsigned long long)index, error.text);
    }
    return bytes;
}

void row_check(const sluice_dataset *dataset, uint64_t index, unsigned n, unsigned image)
{
    const size_t image_bytes = row_has_image(n) ? image + n : 0;
    uint8_t *pixels = malloc(image_bytes + 1);
    int64_t label = -1;
    char word[8];
    int32_t list[4];
    float pair[2];
    assert_non_null(pixels);
    assert_int_equal(read_field(dataset, index, "image", pixels, image_bytes + 1), image_bytes);
    for (size_t i = 0; i < image_bytes; i++) {
        if (pixels[i] != n % 256) {
            fail_msg("byte %zu of sample %llu", i, (unsigned long long)index);
        }
    }
    free(pixels);
    assert_int_equal(read_field(dataset, index, "label", &label, sizeof(label)),
                     row_has_label(n) ? sizeof(label) : 0);
    assert_int_equal(label, row_has_label(n) ? (int64_t)(n % 3) : -1);
    assert_int_equal(read_field(dataset, index, "word", word, sizeof(word)), strlen(row_word(n)));
    assert_memory_equal(word, row_word(n), strlen(row_word(n)));
    assert_int_equal(read_field(dataset, index, "list", list, sizeof(list)), n % 4 * sizeof(*list));
    for (unsigned i = 0; i < n % 4; i++) {
        assert_int_equal(list[i], n);
    }
    assert_int_equal(read_field(dataset, index, "pair", pair, sizeof(pair)), sizeof(pair));
    assert_true(pair[0] == (float)n && pair[1] == -(float)n);
}
