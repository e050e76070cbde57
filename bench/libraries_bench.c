/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libraries_bench [FILE ...]: compares own code with the library that does the same.
 *
 * CRC-32C of a record of 110 kB with ISA-L's, and XXH3, which shards use instead. Snappy: each
 * file, cut into pages of 1 MiB and compressed by the library, is unpacked by the library and by
 * sluice. All data is in the cache; prints the best of 7 alternating rounds. Libraries missing at
 * build time are skipped.
 */
#include "checksum.h"
#include "clock.h"
#include "crc32c.h"
#include "snappy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef HAVE_ISAL
#    include <isa-l.h>
#endif
#ifdef HAVE_SNAPPY
#    include <snappy-c.h>
#endif

enum { ROUNDS = 7, RECORD_BYTES = 110000, CALLS = 2000, PAGE_BYTES = 1 << 20 };

/* ---- checksums ---- */

static uint64_t sink;

static uint32_t crc_by_instructions(const void *data, size_t bytes)
{
    return sl_crc32c_of(sl_simd_best())(data, bytes);
}

static uint32_t crc_by_tables(const void *data, size_t bytes)
{
    return sl_crc32c_of(SL_SIMD_SCALAR)(data, bytes);
}

static uint32_t xxh3(const void *data, size_t bytes)
{
    return (uint32_t)sl_checksum(data, bytes);
}

#ifdef HAVE_ISAL
static uint32_t crc_by_isal(const void *data, size_t bytes)
{
    unsigned char *bytes_of; /* not written to */
    memcpy(&bytes_of, &data, sizeof(bytes_of));
    return ~crc32_iscsi(bytes_of, (int)bytes, UINT32_MAX);
}
#endif

typedef struct sum_case {
    const char *name;
    uint32_t (*sum)(const void *data, size_t bytes);
} sum_case;

static const sum_case sums[] = {
    {"CRC-32C by instructions", crc_by_instructions},
    {"CRC-32C by tables", crc_by_tables},
#ifdef HAVE_ISAL
    {"CRC-32C by ISA-L", crc_by_isal},
#endif
    {"XXH3", xxh3},
};
enum { SUMS = sizeof(sums) / sizeof(sums[0]) };

static void time_sums(const uint8_t *data)
{
    uint64_t best[SUMS];
    memset(best, 0xff, sizeof(best));
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t k = 0; k < SUMS; k++) {
            const uint64_t start = sl_now_ns();
            for (int i = 0; i < CALLS; i++) {
                sink += sums[k].sum(data + i % 8, RECORD_BYTES);
            }
            const uint64_t took = sl_now_ns() - start;
            best[k] = took < best[k] ? took : best[k];
        }
    }
    for (size_t k = 0; k < SUMS; k++) {
        printf("%d bytes: %-24s %6.2f us, %5.1f GB/s\n", RECORD_BYTES, sums[k].name,
               (double)best[k] / CALLS / 1000, (double)RECORD_BYTES * CALLS / (double)best[k]);
    }
}

/* ---- snappy ---- */

#ifdef HAVE_SNAPPY
typedef struct page {
    char *packed;
    size_t packed_bytes, bytes;
} page;

static bool unpack_page(const page *of, char *to, bool by_library)
{
    size_t bytes = PAGE_BYTES;
    return by_library ? snappy_uncompress(of->packed, of->packed_bytes, to, &bytes) == SNAPPY_OK
                      : sl_snappy_unpack((sl_bytes){(const uint8_t *)of->packed, of->packed_bytes},
                                         (uint8_t *)to, of->bytes);
}

typedef struct pages {
    page of[64];
    size_t count, bytes, packed;
} pages;

/* Returns the number of pages of the file that are kept. */
static bool pack_pages(pages *all, FILE *file)
{
    static char in[PAGE_BYTES];
    size_t got = fread(in, 1, sizeof(in), file);
    while (got > 0 && all->count < sizeof(all->of) / sizeof(all->of[0])) {
        page *p = &all->of[all->count++];
        *p = (page){.packed_bytes = snappy_max_compressed_length(got), .bytes = got};
        p->packed = malloc(p->packed_bytes);
        if (p->packed == NULL ||
            snappy_compress(in, got, p->packed, &p->packed_bytes) != SNAPPY_OK) {
            return false;
        }
        all->bytes += got;
        all->packed += p->packed_bytes;
        got = fread(in, 1, sizeof(in), file);
    }
    return all->bytes > 0;
}

static bool unpack_pages(const pages *all, bool by_library, uint64_t *best)
{
    static char out[PAGE_BYTES];
    bool good = true;
    const uint64_t start = sl_now_ns();
    for (size_t i = 0; i < all->count; i++) {
        good = unpack_page(&all->of[i], out, by_library) && good;
    }
    const uint64_t took = sl_now_ns() - start;
    *best = took < *best ? took : *best;
    return good;
}

static bool time_file(const char *path)
{
    static pages all;
    uint64_t best[2] = {UINT64_MAX, UINT64_MAX};
    FILE *file = fopen(path, "rb");
    all = (pages){.count = 0};
    bool good = file != NULL && pack_pages(&all, file);
    for (int round = 0; good && round < 2 * ROUNDS; round++) {
        good = unpack_pages(&all, round % 2 != 0, &best[round % 2]);
    }
    if (good) {
        printf("%s, %zu bytes, compressed to %zu: ours %.2f GB/s, the library %.2f GB/s\n", path,
               all.bytes, all.packed, (double)all.bytes / (double)best[0],
               (double)all.bytes / (double)best[1]);
    }
    for (size_t i = 0; i < all.count; i++) {
        free(all.of[i].packed);
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return good;
}
#else
static bool time_file(const char *path)
{
    fprintf(stderr, "%s: built without the snappy library\n", path);
    return false;
}
#endif

int main(int argc, char **argv)
{
    static uint8_t data[RECORD_BYTES + 8];
    for (size_t i = 0; i < sizeof(data); i++) {
        data[i] = (uint8_t)(i * i >> 3);
    }
    time_sums(data);
    for (int i = 1; i < argc; i++) {
        if (!time_file(argv[i])) {
            fprintf(stderr, "%s: cannot read or unpack\n", argv[i]);
            return 1;
        }
    }
    return sink == 1;
}
