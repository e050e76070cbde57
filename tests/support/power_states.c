/* SPDX-License-Identifier: Apache-2.0 */
/* power_states: the states that a recording may have left behind. Threads: main. */
#include "power_parts.h"

#include "checksum.h"
#include "photo_folder.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK = 512, SUBSETS_BITS = 3, DRAWS = 3, PENDING_MAX = 64, STATES_SLOTS = 1 << 16 };

static const char *const kind_names[] = {"write", "cut",    "sync",       "make",
                                         "move",  "remove", "sync folder"};

/* Outcome of bytes that no fsync followed. */
typedef enum data_fate {
    DATA_LOST,  /* all lost */
    DATA_HOLES, /* all lost, but the files keep their length */
    DATA_KEPT,
    DATA_DRAWN,
    DATA_FATES
} data_fate;

typedef struct choice {
    uint32_t operations; /* operations that had begun */
    uint64_t names;      /* bit i: pending change of a name i was done */
    data_fate data;
    uint64_t seed;
} choice;

typedef struct state {
    power_start names[POWER_NAMES_MAX];
    uint32_t count;
    power_bytes files[POWER_NODES_MAX]; /* NULL: not built */
} state;

static choice current;

static uint64_t drawn(uint64_t seed, uint64_t a, uint64_t b)
{
    const uint64_t of[3] = {seed, a, b};
    return sl_checksum(of, sizeof(of));
}

/* ---- durability ---- */

static void folder_of(const char *name, char folder[POWER_NAME_BYTES])
{
    const char *slash = strrchr(name, '/');
    (void)snprintf(folder, POWER_NAME_BYTES, "%.*s", slash != NULL ? (int)(slash - name) : 0, name);
}

static bool is_of_name(const power_operation *operation)
{
    return operation->kind == POWER_MAKE || operation->kind == POWER_MOVE ||
           operation->kind == POWER_REMOVE;
}

/* True if an operation before `end` made operation `number` durable. */
static bool is_durable(uint32_t number, uint32_t end)
{
    char folder[POWER_NAME_BYTES];
    const power_operation *of = &power_recorded.operations[number];
    folder_of(of->name, folder);
    for (uint32_t i = number + 1; i < end; i++) {
        const power_operation *later = &power_recorded.operations[i];
        if (is_of_name(of) ? later->kind == POWER_SYNC_FOLDER && strcmp(later->name, folder) == 0
                           : later->kind == POWER_SYNC && later->node == of->node) {
            return true;
        }
    }
    return false;
}

static uint32_t pending_names(uint32_t end)
{
    uint32_t pending = 0;
    for (uint32_t i = 0; i < end; i++) {
        pending += is_of_name(&power_recorded.operations[i]) && !is_durable(i, end);
    }
    power_must(pending < PENDING_MAX, "too many names that are not synced");
    return pending;
}

/* ---- names ---- */

static power_start *find_name(state *s, const char *name)
{
    for (uint32_t i = 0; i < s->count; i++) {
        if (strcmp(s->names[i].name, name) == 0) {
            return &s->names[i];
        }
    }
    return NULL;
}

static void set_name(state *s, const char *name, int node)
{
    power_start *at = find_name(s, name);
    if (at == NULL) {
        power_must(s->count < POWER_NAMES_MAX, "too many names");
        at = &s->names[s->count++];
        memcpy(at->name, name, POWER_NAME_BYTES);
    }
    at->node = node;
}

static void remove_name(state *s, const char *name)
{
    power_start *at = find_name(s, name);
    if (at != NULL) {
        *at = s->names[--s->count];
    }
}

static void change_name(state *s, const power_operation *operation)
{
    if (operation->kind == POWER_MOVE) {
        remove_name(s, operation->from);
    }
    if (operation->kind == POWER_REMOVE) {
        remove_name(s, operation->name);
    } else {
        set_name(s, operation->name, operation->node);
    }
}

static void build_names(state *s, const choice *c)
{
    uint32_t pending = 0;
    memcpy(s->names, power_recorded.starts, sizeof(s->names));
    s->count = power_recorded.start_count;
    for (uint32_t i = 0; i < c->operations; i++) {
        const power_operation *operation = &power_recorded.operations[i];
        if (is_of_name(operation) &&
            (is_durable(i, c->operations) || (c->names >> pending++ & 1) != 0)) {
            change_name(s, operation);
        }
    }
}

/* ---- bytes ---- */

static void keep(power_bytes *file, const power_operation *operation, size_t from, size_t to)
{
    memcpy(file->data + operation->offset + from, operation->data + from, to - from);
    const size_t end = (size_t)operation->offset + to;
    file->bytes = file->bytes > end ? file->bytes : end;
}

/* Keeps some blocks of a write that was not synced, drawn block by block. */
static void keep_some(power_bytes *file, const choice *c, uint32_t number)
{
    const power_operation *operation = &power_recorded.operations[number];
    for (size_t from = 0; from < operation->bytes;) {
        const size_t at = (size_t)operation->offset + from;
        size_t to = from + BLOCK - at % BLOCK;
        to = to < operation->bytes ? to : operation->bytes;
        if (c->data == DATA_KEPT ||
            (c->data == DATA_DRAWN && drawn(c->seed, number, at / BLOCK) % 2 == 0)) {
            keep(file, operation, from, to);
        }
        from = to;
    }
    const size_t end = (size_t)(operation->offset + operation->bytes);
    if (c->data == DATA_HOLES || (c->data == DATA_DRAWN && c->seed % 2 == 0)) {
        file->bytes = file->bytes > end ? file->bytes : end;
    }
}

static void cut(power_bytes *file, size_t bytes)
{
    if (bytes < file->bytes) {
        memset(file->data + bytes, 0, file->bytes - bytes);
    }
    file->bytes = bytes;
}

static void build_file(power_bytes *file, const choice *c, int node)
{
    size_t most = power_recorded.nodes[node].bytes;
    for (uint32_t i = 0; i < c->operations; i++) {
        const power_operation *operation = &power_recorded.operations[i];
        const size_t end = (size_t)(operation->offset + operation->bytes);
        most = operation->node == node && end > most ? end : most;
    }
    const power_bytes *before = &power_recorded.nodes[node];
    uint8_t *data = calloc(1, most + 1);
    if (data == NULL) {
        power_abort("no memory");
    }
    if (before->data != NULL) {
        memcpy(data, before->data, before->bytes);
    }
    *file = (power_bytes){data, before->bytes};
    for (uint32_t i = 0; i < c->operations; i++) {
        const power_operation *operation = &power_recorded.operations[i];
        if (operation->node != node) {
            continue;
        }
        const bool durable = is_durable(i, c->operations);
        if (operation->kind == POWER_CUT && (durable || c->data != DATA_LOST)) {
            cut(file, (size_t)operation->offset);
        } else if (operation->kind == POWER_WRITE && durable) {
            keep(file, operation, 0, operation->bytes);
        } else if (operation->kind == POWER_WRITE) {
            keep_some(file, c, i);
        }
    }
}

/* ---- states ---- */

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const power_start *)a)->name, ((const power_start *)b)->name);
}

static void build(state *s, const choice *c)
{
    memset(s, 0, sizeof(*s));
    build_names(s, c);
    qsort(s->names, s->count, sizeof(s->names[0]), compare_names);
    for (uint32_t i = 0; i < s->count; i++) {
        const int node = s->names[i].node;
        if (node != POWER_FOLDER && s->files[node].data == NULL) {
            build_file(&s->files[node], c, node);
        }
    }
}

static void drop(state *s)
{
    for (int i = 0; i < power_recorded.node_count; i++) {
        free(s->files[i].data);
    }
}

/* True if this state has not occurred yet. */
static bool is_new(const state *s, uint64_t *seen)
{
    sl_checksum_stream stream;
    sl_checksum_begin(&stream);
    for (uint32_t i = 0; i < s->count; i++) {
        const power_start *name = &s->names[i];
        sl_checksum_add(&stream, name->name, strlen(name->name) + 1);
        if (name->node != POWER_FOLDER) {
            const power_bytes *file = &s->files[name->node];
            sl_checksum_add_u64(&stream, file->bytes);
            sl_checksum_add(&stream, file->data, file->bytes);
        }
    }
    const uint64_t sum = sl_checksum_value(&stream) | 1;
    for (uint64_t slot = sum >> 8, tries = 0; tries < STATES_SLOTS; slot++, tries++) {
        uint64_t *at = &seen[slot % STATES_SLOTS];
        if (*at == sum) {
            return false;
        }
        if (*at == 0) {
            *at = sum;
            return true;
        }
    }
    return false;
}

/* A name does not exist if its folder does not. Modification times are whole seconds, like those of
 * files marked so. */
static void write_state(const state *s, const char *into)
{
    const struct timespec times[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    power_must(mkdir(into, 0700) == 0, "the folder of a state");
    for (uint32_t i = 0; i < s->count; i++) {
        char path[2 * POWER_NAME_BYTES];
        const power_start *name = &s->names[i];
        (void)snprintf(path, sizeof(path), "%s/%s", into, name->name);
        if (name->node == POWER_FOLDER) {
            (void)mkdir(path, 0700);
            continue;
        }
        const power_bytes *file = &s->files[name->node];
        const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        if (fd >= 0) {
            power_must(pwrite(fd, file->data, file->bytes, 0) == (ssize_t)file->bytes, "a file");
            (void)futimens(fd, times);
            (void)close(fd);
        }
    }
}

void power_print_state(void)
{
    (void)fprintf(stderr, "power fails after %u operations, names %llx, data %d, seed %llu:\n",
                  current.operations, (unsigned long long)current.names, (int)current.data,
                  (unsigned long long)current.seed);
    for (uint32_t i = 0; i < current.operations; i++) {
        const power_operation *operation = &power_recorded.operations[i];
        (void)fprintf(stderr, "%4u %s file %d %s %s %llu+%zu%s\n", i, kind_names[operation->kind],
                      operation->node, operation->from, operation->name,
                      (unsigned long long)operation->offset, operation->bytes,
                      is_durable(i, current.operations) ? "" : " *");
    }
}

typedef struct states {
    const char *into;
    power_check *check;
    void *ctx;
    uint64_t *seen;
    uint32_t count;
} states;

static void try_state(states *all, const choice *c)
{
    static state s;
    build(&s, c);
    current = *c;
    if (is_new(&s, all->seen)) {
        write_state(&s, all->into);
        all->check(all->into, all->ctx);
        remove_tree(all->into);
        all->count++;
    }
    drop(&s);
}

/* Tries names that took effect, with each outcome of the bytes. */
static void try_names(states *all, choice *c, uint64_t names)
{
    c->names = names;
    for (c->data = DATA_LOST; c->data < DATA_FATES; c->data++) {
        try_state(all, c);
    }
}

uint32_t power_each(const char *into, uint32_t step, uint64_t seed, power_check *check, void *ctx)
{
    states all = {.into = into, .check = check, .ctx = ctx};
    all.seen = calloc(STATES_SLOTS, sizeof(*all.seen));
    power_must(all.seen != NULL, "no memory");
    for (uint32_t end = 0; end <= power_recorded.count; end += step) {
        choice c = {.operations = end, .seed = drawn(seed, end, 0)};
        const uint32_t pending = pending_names(end);
        const uint64_t mask = (UINT64_C(1) << pending) - 1;
        if (pending <= SUBSETS_BITS) {
            for (uint64_t names = 0; names <= mask; names++) {
                try_names(&all, &c, names);
            }
            continue;
        }
        try_names(&all, &c, 0);
        try_names(&all, &c, mask);
        for (uint64_t i = 0; i < DRAWS; i++) {
            try_names(&all, &c, drawn(seed, end, i + 1) & mask);
        }
    }
    free(all.seen);
    return all.count;
}
