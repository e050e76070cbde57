/* SPDX-License-Identifier: Apache-2.0 */
/*
 * driver: the engine for ordinary test runs. `fuzz_x` runs every seed and 200 mutations of each;
 * `fuzz_x --runs N` runs N of each; `fuzz_x --seeds FOLDER` writes the seeds there, as a corpus for
 * libFuzzer; `fuzz_x FILE...` runs only these inputs.
 *
 * The current input is kept in a mapped file, so that it survives a crash: the name is printed
 * first, and the file is removed on success.
 */
#include "guard.h"

#include "philox.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A mutation may lengthen the input by this much. */
#define GROWTH_MAX 64u

static const uint64_t telling[] = {0,      1,          0x7f,       0x80,         0xff,
                                   0x7fff, 0x8000,     0xffff,     0x7fffffff,   0x80000000,
                                   4096,   0xfffffffe, 0xffffffff, 0x7fffffffff, UINT64_MAX};

/* Overwrites 1, 2, 4 or 8 bytes with a number that often breaks parsers. */
static void put_number(uint8_t *data, size_t size, sl_random *random)
{
    size_t width = (size_t)1 << sl_random_below(random, 4);
    uint64_t value = telling[sl_random_below(random, sizeof(telling) / sizeof(*telling))];
    if (width > size)
        width = size;
    size_t at = sl_random_below(random, (uint32_t)(size - width + 1));
    for (size_t i = 0; i < width; i++)
        data[at + i] = (uint8_t)(value >> (8 * i));
}

/* Copies a piece of the input over another place in it. */
static void copy_piece(uint8_t *data, size_t size, sl_random *random)
{
    size_t bytes = 1 + sl_random_below(random, (uint32_t)size);
    size_t from = sl_random_below(random, (uint32_t)(size - bytes + 1));
    size_t to = sl_random_below(random, (uint32_t)(size - bytes + 1));
    memmove(data + to, data + from, bytes);
}

static size_t lengthen(uint8_t *data, size_t size, size_t most, sl_random *random)
{
    size_t more = 1 + sl_random_below(random, GROWTH_MAX);
    for (size_t i = 0; i < more && size < most; i++)
        data[size++] = (uint8_t)sl_random_u32(random);
    return size;
}

/* Makes one change. Returns the new size, at least 1. */
static size_t mutate_once(uint8_t *data, size_t size, size_t most, sl_random *random)
{
    size_t at = sl_random_below(random, (uint32_t)size);
    switch (sl_random_below(random, 6)) {
    case 0:
        data[at] ^= (uint8_t)(1u << sl_random_below(random, 8));
        return size;
    case 1:
        data[at] = (uint8_t)sl_random_u32(random);
        return size;
    case 2:
        put_number(data, size, random);
        return size;
    case 3:
        copy_piece(data, size, random);
        return size;
    case 4:
        return at + 1;
    default:
        return lengthen(data, size, most, random);
    }
}

static sl_random mutate_random; /* for the grammar's own calls */

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most)
{
    return size == 0 ? 0 : mutate_once(data, size, most, &mutate_random);
}

/* Mutates by the format if the target knows it, otherwise by bytes. */
static size_t mutate(uint8_t *data, size_t size, sl_random *random)
{
    if (LLVMFuzzerCustomMutator == NULL)
        return mutate_once(data, size, GUARD_INPUT_MAX, random);
    mutate_random = *random;
    const size_t made = LLVMFuzzerCustomMutator(data, size, GUARD_INPUT_MAX, sl_random_u32(random));
    return made > 0 ? made : size;
}

static void run_seed(unsigned index, size_t size, unsigned runs, const uint8_t *seed,
                     uint8_t *input)
{
    memcpy(input, seed, size);
    LLVMFuzzerTestOneInput(input, size);
    for (unsigned run = 0; run < runs; run++) {
        sl_random random = sl_random_for(index, run, 0, 0);
        size_t length = size;
        memcpy(input, seed, size);
        input[0] = (uint8_t)sl_random_u32(&random);
        for (uint32_t changes = 1 + sl_random_below(&random, 4); changes > 0; changes--)
            length = mutate(input, length, &random);
        LLVMFuzzerTestOneInput(input, length);
    }
}

static uint8_t *map_input(char *name, size_t bytes)
{
    snprintf(name, bytes, "fuzz-input-%ld", (long)getpid());
    int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    fuzz_expect(fd >= 0 && ftruncate(fd, (off_t)GUARD_INPUT_MAX) == 0, "a file can be made here");
    uint8_t *input = mmap(NULL, GUARD_INPUT_MAX, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    fuzz_expect(input != MAP_FAILED, "a megabyte of address space");
    return input;
}

static void run_seeds(unsigned runs)
{
    char name[64];
    uint8_t *input = map_input(name, sizeof(name));
    uint8_t *seed = malloc(GUARD_INPUT_MAX);
    fuzz_expect(seed != NULL, "a megabyte of memory");
    printf("the input at hand is in %s\n", name);
    fflush(stdout);
    unsigned count = 0;
    for (size_t size; (size = guard_seed(count, seed)) > 0; count++)
        run_seed(count, size, runs, seed, input);
    fuzz_expect(count > 0, "a target has seeds");
    printf("%u seeds, %u mutations of each\n", count, runs);
    free(seed);
    munmap(input, GUARD_INPUT_MAX);
    unlink(name);
}

static void run_file(const char *path)
{
    uint8_t *data = malloc(GUARD_INPUT_MAX);
    FILE *file = fopen(path, "rbe");
    fuzz_expect(data != NULL && file != NULL, path);
    size_t size = fread(data, 1, GUARD_INPUT_MAX, file);
    fclose(file);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
}

int main(int argc, char **argv)
{
    if (argc == 1) {
        run_seeds(200);
    } else if (argc == 3 && strcmp(argv[1], "--runs") == 0) {
        run_seeds((unsigned)strtoul(argv[2], NULL, 10));
    } else if (argc == 3 && strcmp(argv[1], "--seeds") == 0) {
        guard_write_seeds(argv[2]);
    } else {
        for (int i = 1; i < argc; i++)
            run_file(argv[i]);
    }
    return 0;
}
