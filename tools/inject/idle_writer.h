/* SPDX-License-Identifier: Apache-2.0 */
/*
 * idle_writer: the record file of one process (idle_format.h). Records are collected in a buffer of
 * fixed size and appended when it is full or at a flush. The first failed write ends the writing
 * and is noted in the header, which is rewritten in place and needs no more disk space. Any thread:
 * its own lock protects everything. A child of a fork shares the descriptor and must not write:
 * idle_writer_disown.
 */
#ifndef INJECT_IDLE_WRITER_H
#define INJECT_IDLE_WRITER_H

#include "idle_format.h"

#include <pthread.h>
#include <stdbool.h>

enum { IDLE_WRITER_ROOM = 2048 };

struct idle_writer {
    pthread_mutex_t lock;
    int descriptor; /* -1: nothing is written */
    struct idle_header header;
    size_t waiting;
    struct idle_record capacity[IDLE_WRITER_ROOM];
};

/* Creates "records.PID" in `folder`. False: it failed with errno, and all other calls do
 * nothing. */
bool idle_writer_open(struct idle_writer *writer, const char *folder);
void idle_writer_add(struct idle_writer *writer, const struct idle_record *record);
/* Numbers to add to the header's. */
struct idle_counts {
    uint64_t lost, dropped, odd, callback_cpu_ns;
};
void idle_writer_count(struct idle_writer *writer, const struct idle_counts *counts);
/* Sets the addresses of the process's devices, written to the header from the next flush on. */
void idle_writer_devices(struct idle_writer *writer,
                         char addresses[IDLE_DEVICES_NAMED][IDLE_PCI_BYTES]);
/* Appends buffered records and rewrites the header with `state` and the flushing thread's time. */
void idle_writer_flush(struct idle_writer *writer, enum idle_state state, uint64_t flush_cpu_ns);
/* Notes that tracing failed, and why. */
void idle_writer_fail(struct idle_writer *writer, const char *reason);
/* Detaches in a child of a fork. */
void idle_writer_disown(struct idle_writer *writer);

#endif
