/* SPDX-License-Identifier: Apache-2.0 */
#include "idle_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Writes at an offset. Returns 0 or errno. */
static int write_at(int descriptor, const void *data, size_t bytes, uint64_t offset)
{
    const char *from = data;
    while (bytes > 0) {
        ssize_t written = pwrite(descriptor, from, bytes, (off_t)offset);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            return written < 0 ? errno : EIO;
        }
        from += written;
        bytes -= (size_t)written;
        offset += (uint64_t)written;
    }
    return 0;
}

static void write_header(struct idle_writer *writer)
{
    int error = write_at(writer->descriptor, &writer->header, sizeof writer->header, 0);
    if (writer->header.write_error == 0) {
        writer->header.write_error = error;
    }
}

bool idle_writer_open(struct idle_writer *writer, const char *folder)
{
    pthread_mutex_init(&writer->lock, NULL);
    writer->waiting = 0;
    writer->header = (struct idle_header){.version = IDLE_VERSION,
                                          .header_bytes = sizeof writer->header,
                                          .record_bytes = sizeof(struct idle_record),
                                          .state = IDLE_STATE_TRACING,
                                          .pid = (int32_t)getpid()};
    memcpy(writer->header.magic, IDLE_MAGIC, sizeof IDLE_MAGIC);
    char path[4096];
    snprintf(path, sizeof path, "%s/" IDLE_RECORDS_PREFIX "%d", folder, (int)getpid());
    writer->descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (writer->descriptor < 0) {
        return false;
    }
    write_header(writer);
    return true;
}

static void append_waiting(struct idle_writer *writer)
{
    struct idle_header *header = &writer->header;
    size_t count = writer->waiting;
    writer->waiting = 0;
    if (writer->descriptor < 0 || count == 0) {
        return;
    }
    if (header->write_error == 0) {
        uint64_t offset = sizeof *header + header->records * sizeof(struct idle_record);
        header->write_error = write_at(writer->descriptor, writer->capacity,
                                       count * sizeof(struct idle_record), offset);
    }
    if (header->write_error == 0) {
        header->records += count;
    } else {
        header->lost += count;
    }
}

void idle_writer_add(struct idle_writer *writer, const struct idle_record *record)
{
    pthread_mutex_lock(&writer->lock);
    if (writer->waiting == IDLE_WRITER_ROOM) {
        append_waiting(writer);
    }
    writer->capacity[writer->waiting++] = *record;
    pthread_mutex_unlock(&writer->lock);
}

void idle_writer_count(struct idle_writer *writer, const struct idle_counts *counts)
{
    pthread_mutex_lock(&writer->lock);
    writer->header.lost += counts->lost;
    writer->header.dropped += counts->dropped;
    writer->header.odd += counts->odd;
    writer->header.callback_cpu_ns += counts->callback_cpu_ns;
    pthread_mutex_unlock(&writer->lock);
}

void idle_writer_devices(struct idle_writer *writer,
                         char addresses[IDLE_DEVICES_NAMED][IDLE_PCI_BYTES])
{
    pthread_mutex_lock(&writer->lock);
    memcpy(writer->header.devices, addresses, sizeof writer->header.devices);
    pthread_mutex_unlock(&writer->lock);
}

void idle_writer_flush(struct idle_writer *writer, enum idle_state state, uint64_t flush_cpu_ns)
{
    pthread_mutex_lock(&writer->lock);
    append_waiting(writer);
    writer->header.state = state;
    writer->header.flush_cpu_ns = flush_cpu_ns;
    if (writer->descriptor >= 0) {
        write_header(writer);
    }
    pthread_mutex_unlock(&writer->lock);
}

void idle_writer_fail(struct idle_writer *writer, const char *reason)
{
    pthread_mutex_lock(&writer->lock);
    snprintf(writer->header.reason, sizeof writer->header.reason, "%s", reason);
    pthread_mutex_unlock(&writer->lock);
    idle_writer_flush(writer, IDLE_STATE_FAILED, 0);
}

void idle_writer_disown(struct idle_writer *writer)
{
    /* A thread that does not exist here may have held the lock. */
    pthread_mutex_init(&writer->lock, NULL);
    if (writer->descriptor >= 0) {
        close(writer->descriptor);
    }
    writer->descriptor = -1;
    writer->waiting = 0;
}
