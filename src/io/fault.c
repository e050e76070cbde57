/* SPDX-License-Identifier: Apache-2.0 */
/* fault: a backend that passes requests to another one and spoils the results. */
#include "backend.h"
#include "clock.h"
#include "error.h"
#include "fnv.h"
#include "memory.h"
#include "philox.h"

#include <assert.h>
#include <errno.h>

#define SLOTS        512U /* most requests in flight */
#define BLOCK_BYTES  ((uint64_t)4096)
#define LATE_MOST_NS ((uint64_t)5000000)

/* Streams of random numbers: one for each question asked about a request. */
enum question {
    REFUSED,
    READ_LATE,
    LOST,
    BROKEN,
    AGAIN,
    WHICH_AGAIN,
    SHORT,
    HOW_SHORT,
    LATE,
    HOW_LATE,
    DEAD,
    HOW_DEAD
};

enum slot_state { SLOT_FREE = 0, SLOT_HELD_BEFORE, SLOT_READING, SLOT_HELD_AFTER };

struct slot {
    enum slot_state state;
    sl_read *read;
    uint64_t sent_ns;
    uint64_t number;
    sl_completion completion; /* HELD_AFTER */
    uint64_t due_ns;          /* when held */
};

struct fault {
    sl_backend base;
    sl_backend *inner;
    sl_fault_config config;
    uint64_t requests, held;
    struct slot slots[SLOTS];
    sl_read *done[SLOTS]; /* instant ones, to be reaped */
    uint32_t done_count;
};

static uint64_t draw(const sl_fault_config *config, uint64_t number, enum question question)
{
    return sl_philox_u64(config->seed, number, (uint64_t)question);
}

static bool happens(const sl_fault_config *config, uint64_t number, enum question question,
                    uint32_t permille)
{
    return permille > 0 && draw(config, number, question) % 1000 < permille;
}

static uint64_t fault_hash_of(const char *path)
{
    uint64_t hash = SL_FNV1A_BEGIN;
    for (; *path != '\0'; path++) {
        hash = sl_fnv1a(hash, (uint8_t)*path);
    }
    return hash;
}

/* Returns the bytes from the read's offset to the first dead block; UINT64_MAX: none. */
static uint64_t bytes_to_dead(const sl_fault_config *config, const sl_read *read)
{
    if (read->kind == SL_READ_FILE) {
        return happens(config, fault_hash_of(read->path), DEAD, config->dead_permille) ? 0
                                                                                       : UINT64_MAX;
    }
    uint64_t end = read->offset + read->length;
    for (uint64_t block = read->offset / BLOCK_BYTES; block * BLOCK_BYTES < end; block++) {
        if (happens(config, block, DEAD, config->dead_permille)) {
            uint64_t at = block * BLOCK_BYTES;
            return at > read->offset ? at - read->offset : 0;
        }
    }
    return UINT64_MAX;
}

bool sl_fault_is_dead(const sl_fault_config *config, const sl_read *read)
{
    return bytes_to_dead(config, read) != UINT64_MAX;
}

/* Returns the spoiled result of the request. */
static int64_t spoil(const struct fault *fault, uint64_t number, const sl_read *read,
                     int64_t result)
{
    const sl_fault_config *config = &fault->config;
    uint64_t dead = bytes_to_dead(config, read);
    if (result > 0 && (uint64_t)result > dead) {
        bool partial = dead > 0 && draw(config, number, HOW_DEAD) % 2 == 0;
        result = partial ? (int64_t)dead : -EIO;
    }
    if (read->kind == SL_READ_AT && read->direct &&
        happens(config, number, REFUSED, config->einval_permille)) {
        return -EINVAL;
    }
    if (happens(config, number, BROKEN, config->eio_permille)) {
        return -EIO;
    }
    if (happens(config, number, AGAIN, config->again_permille)) {
        return draw(config, number, WHICH_AGAIN) % 2 == 0 ? -EINTR : -EAGAIN;
    }
    if (result > 1 && read->kind == SL_READ_AT &&
        happens(config, number, SHORT, config->short_permille)) {
        return 1 + (int64_t)(draw(config, number, HOW_SHORT) % (uint64_t)(result - 1));
    }
    return result;
}

/* Returns the slot of a read that the inner backend has; for a NULL `read` a free one. */
static struct slot *slot_with(struct fault *fault, const sl_read *read)
{
    enum slot_state state = read == NULL ? SLOT_FREE : SLOT_READING;
    for (uint32_t i = 0; i < SLOTS; i++) {
        if (fault->slots[i].state == state && fault->slots[i].read == read) {
            return &fault->slots[i];
        }
    }
    return NULL;
}

static uint64_t late_until(const struct fault *fault, uint64_t number)
{
    const sl_fault_config *config = &fault->config;
    uint64_t most = config->late_ns > 0 ? config->late_ns : LATE_MOST_NS;
    return sl_now_ns() + draw(config, number, HOW_LATE) % most;
}

static bool is_late(const struct fault *fault, uint64_t number, bool before)
{
    const sl_fault_config *config = &fault->config;
    return happens(config, number, LATE, config->late_permille) &&
           (draw(config, number, READ_LATE) % 2 == 0) == before;
}

static void fault_submit(sl_backend *backend, sl_read *const *reads, uint32_t count)
{
    struct fault *fault = (struct fault *)backend;
    for (; fault->config.instant && count > 0; count--) {
        assert(fault->done_count < SLOTS);
        fault->done[fault->done_count++] = *reads++;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint64_t number = fault->requests++;
        struct slot *slot = slot_with(fault, NULL);
        assert(slot != NULL);
        *slot = (struct slot){
            .state = SLOT_READING, .read = reads[i], .number = number, .sent_ns = sl_now_ns()};
        if (is_late(fault, number, true)) {
            slot->state = SLOT_HELD_BEFORE;
            slot->due_ns = late_until(fault, number);
        } else {
            fault->inner->ops->submit(fault->inner, &reads[i], 1);
        }
    }
}

/* Returns whether it is one of the first of its kind, which are held. */
static bool is_held(struct fault *fault, const sl_read *read, uint64_t number)
{
    const sl_fault_config *config = &fault->config;
    if (config->hold_at == 0) {
        return number < config->hold_first;
    }
    return read->offset == config->hold_at && fault->held++ < config->hold_first;
}

/* Takes a result of the inner backend. Returns true if it is to be passed on now. */
static bool fault_judge(struct fault *fault, sl_completion *completion)
{
    struct slot *slot = slot_with(fault, completion->read);
    assert(slot != NULL);
    uint64_t number = slot->number;
    completion->result = spoil(fault, number, completion->read, completion->result);
    bool lost = happens(&fault->config, number, LOST, fault->config.lost_permille);
    bool first = is_held(fault, completion->read, number);
    if (!lost && !first && !is_late(fault, number, false)) {
        *slot = (struct slot){0};
        return true;
    }
    uint64_t due_ns = lost ? UINT64_MAX : late_until(fault, number);
    if (first) {
        const uint64_t late_ns = fault->config.late_ns;
        due_ns = late_ns > 0 ? slot->sent_ns + late_ns : UINT64_MAX;
    }
    if (due_ns <= sl_now_ns()) { /* the inner backend was late itself */
        *slot = (struct slot){0};
        return true;
    }
    slot->state = SLOT_HELD_AFTER;
    slot->completion = *completion;
    slot->due_ns = due_ns;
    return false;
}

/* Passes on results that were held long enough. */
static uint32_t take_due(struct fault *fault, sl_completion *completions, uint32_t capacity,
                         uint64_t *next_due_ns)
{
    uint64_t now = sl_now_ns();
    uint32_t count = 0;
    *next_due_ns = UINT64_MAX;
    for (uint32_t i = 0; i < SLOTS; i++) {
        struct slot *slot = &fault->slots[i];
        bool due = slot->due_ns <= now;
        if (slot->state == SLOT_HELD_BEFORE && due) {
            slot->state = SLOT_READING;
            fault->inner->ops->submit(fault->inner, &slot->read, 1);
        } else if (slot->state == SLOT_HELD_AFTER && due && count < capacity) {
            completions[count++] = slot->completion;
            *slot = (struct slot){0};
        } else if ((slot->state == SLOT_HELD_BEFORE || slot->state == SLOT_HELD_AFTER) &&
                   slot->due_ns < *next_due_ns) {
            *next_due_ns = slot->due_ns;
        }
    }
    return count;
}

static uint32_t take_instant(struct fault *fault, sl_completion *completions, uint32_t capacity)
{
    uint32_t count = 0;
    for (; count < capacity && fault->done_count > 0; count++) {
        sl_read *read = fault->done[--fault->done_count];
        completions[count] =
            (sl_completion){.read = read, .result = read->length, .file_bytes = read->length};
    }
    return count;
}

static uint32_t fault_reap(sl_backend *backend, sl_completion *completions, uint32_t capacity,
                           uint64_t timeout_ns)
{
    struct fault *fault = (struct fault *)backend;
    uint64_t due_ns = 0;
    uint32_t count = take_instant(fault, completions, capacity);
    if (count > 0) {
        return count;
    }
    if (fault->config.instant) {
        return fault->inner->ops->reap(fault->inner, completions, capacity, timeout_ns);
    }
    count = take_due(fault, completions, capacity, &due_ns);
    if (count == capacity) {
        return count;
    }
    uint64_t now = sl_now_ns();
    if (count > 0 || due_ns <= now) {
        timeout_ns = 0;
    } else if (due_ns != UINT64_MAX && due_ns - now < timeout_ns) {
        timeout_ns = due_ns - now;
    }
    sl_completion *inner = completions + count;
    uint32_t got = fault->inner->ops->reap(fault->inner, inner, capacity - count, timeout_ns);
    for (uint32_t i = 0; i < got; i++) {
        sl_completion completion = inner[i];
        if (fault_judge(fault, &completion)) {
            completions[count++] = completion;
        }
    }
    return count;
}

static void fault_wake(sl_backend *backend)
{
    struct fault *fault = (struct fault *)backend;
    fault->inner->ops->wake(fault->inner);
}

static uint32_t close_fault(sl_backend *backend, uint64_t drain_ns, const sl_read_ends *ends)
{
    struct fault *fault = (struct fault *)backend;
    for (uint32_t i = 0; i < SLOTS; i++) {
        const struct slot *slot = &fault->slots[i];
        if (slot->state == SLOT_HELD_BEFORE || slot->state == SLOT_HELD_AFTER) {
            sl_read_ended(ends, slot->read);
        }
    }
    while (fault->done_count > 0) {
        sl_read_ended(ends, fault->done[--fault->done_count]);
    }
    uint32_t abandoned = fault->inner->ops->close(fault->inner, drain_ns, ends);
    sl_free(fault);
    return abandoned;
}

static sluice_status open_nothing(sl_backend **backend, const sl_backend_config *config,
                                  sluice_error *error)
{
    (void)config;
    *backend = NULL;
    return sl_error_set(error, SLUICE_INVALID, "io", "faults need a backend to inject them into");
}

static void fault_present(sl_backend *backend)
{
    sl_backend *inner = ((struct fault *)backend)->inner;
    if (inner->ops->present != NULL) {
        inner->ops->present(inner);
    }
}

static const sl_backend_ops fault_ops = {"fault",    open_nothing,  fault_submit, fault_reap,
                                         fault_wake, fault_present, close_fault};

sluice_status sl_backend_fault(sl_backend **backend, sl_backend *inner,
                               const sl_fault_config *config, sluice_error *error)
{
    struct fault *fault = sl_calloc(1, sizeof(*fault));
    if (fault == NULL) {
        (void)inner->ops->close(inner, UINT64_MAX, NULL);
        *backend = NULL;
        return sl_no_memory(error, "io", "for the fault backend");
    }
    fault->base.ops = &fault_ops;
    fault->inner = inner;
    fault->config = *config;
    *backend = &fault->base;
    return SLUICE_OK;
}
