/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the codec numbers of shards: the written ones, and an unknown one. */
#include "batches.h"
#include "codecs.h"
#include "loader_setup.h"
#include "packed.h"
#include "shard_bytes.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

/* docs/format.md: the image's cell follows checksum and presence; the codec is its sixth byte. */
enum { CODEC_AT = 16 + 5, SAMPLES = 8, STRANGE = 5, UNKNOWN = 201 };

typedef struct fixture {
    char folder[256], path[300];
    file_bytes shard;
} fixture;

static void make(fixture *f)
{
    temporary_directory(f->folder, sizeof(f->folder));
    (void)snprintf(f->path, sizeof(f->path), "%s/shard-000000.sluice", f->folder);
    packed_make(f->folder, &(packed_options){.samples = SAMPLES, .classes = 2, .raw_every = 3});
    file_load(&f->shard, f->folder, "shard-000000.sluice");
}

static void put_codec(fixture *f, uint8_t number)
{
    f->shard.data[sample_at(&f->shard, STRANGE) + CODEC_AT] = number;
    seal_samples(&f->shard);
    file_store(&f->shard, f->shard.size);
}

static void clean(fixture *f)
{
    file_free(&f->shard);
    remove_tree(f->folder);
}

static void expect_named(const fixture *f, const sluice_error *error)
{
    assert_int_equal(error->status, SLUICE_UNSUPPORTED);
    assert_int_equal(error->sample, STRANGE);
    assert_string_equal(error->file, f->path);
    assert_in_range(error->offset, sample_at(&f->shard, STRANGE),
                    sample_at(&f->shard, STRANGE + 1) - 1);
    assert_non_null(strstr(error->text, "codec 201"));
}

TEST(a_picture_says_its_codec)
{
    fixture f;
    make(&f);
    for (uint64_t i = 0; i < SAMPLES; i++) {
        assert_int_equal(f.shard.data[sample_at(&f.shard, i) + CODEC_AT], i % 3 == 0 ? 2 : 1);
    }
    clean(&f);
}

static void note(void *user, const sluice_error *finding)
{
    *(sluice_error *)user = *finding;
}

TEST(whoever_decodes_names_an_unknown_one)
{
    fixture f;
    char out[300];
    sluice_error error = SLUICE_ERROR_INIT;
    make(&f);
    put_codec(&f, UNKNOWN);

    sluice_loader_options options = setup_options();
    batches all;
    sluice_loader *loader = setup_loader(f.path, &options);
    batches_collect(&all, loader, 0);
    assert_int_equal(all.end, SLUICE_UNSUPPORTED);
    assert_int_equal(sluice_loader_get_error(loader, &error), SLUICE_UNSUPPORTED);
    expect_named(&f, &error);
    batches_free(&all);
    sluice_loader_close(loader);

    sluice_verify_options verify = SLUICE_VERIFY_OPTIONS_INIT;
    sluice_verify_result result = SLUICE_VERIFY_RESULT_INIT;
    sluice_dataset *dataset = setup_dataset(f.path);
    verify.on_finding = note;
    verify.user = &error;
    assert_int_equal(sluice_dataset_verify(dataset, &verify, &result, NULL), SLUICE_OK);
    assert_int_equal(result.bad, 1);
    expect_named(&f, &error);

    sluice_pack_options pack = SLUICE_PACK_OPTIONS_INIT;
    (void)snprintf(out, sizeof(out), "%s/again", f.folder);
    assert_int_equal(sluice_pack(dataset, out, &pack, NULL, &error), SLUICE_UNSUPPORTED);
    expect_named(&f, &error);
    sluice_dataset_close(dataset);
    clean(&f);
}

/* Number 0 belongs to an image in a separate file. */
TEST(none_is_not_a_codec)
{
    fixture f;
    char buffer[64];
    size_t bytes;
    sluice_error error = SLUICE_ERROR_INIT;
    make(&f);
    put_codec(&f, 0);
    sluice_dataset *dataset = setup_dataset(f.path);
    assert_int_equal(
        sluice_dataset_read(dataset, STRANGE, "key", buffer, sizeof(buffer), &bytes, &error),
        SLUICE_UNSUPPORTED);
    assert_int_equal(error.sample, STRANGE);
    assert_int_equal(error.offset, sample_at(&f.shard, STRANGE) + CODEC_AT);
    sluice_dataset_close(dataset);
    clean(&f);
}
