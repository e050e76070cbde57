/* SPDX-License-Identifier: Apache-2.0 */
/*
 * idle_format: the file that libsluice_inject.so writes in each process that uses CUDA, and that
 * `sluice idle` reads: one header, then records of one size, in the byte order of the machine (both
 * ends are one machine). The header is rewritten in place at every flush, so the file of a killed
 * process is complete up to its last flush. The folder is in IDLE_FOLDER_VARIABLE, the file is
 * "records.PID". Readers trust nothing in it.
 */
#ifndef INJECT_IDLE_FORMAT_H
#define INJECT_IDLE_FORMAT_H

#include <stdint.h>

#define IDLE_FOLDER_VARIABLE "SLUICE_IDLE_DIR"
#define IDLE_CUPTI_VARIABLE  "SLUICE_CUPTI"
#define IDLE_RECORDS_PREFIX  "records."
#define IDLE_MARKS_PREFIX    "marks."
#define IDLE_MAGIC           "sluiceidle\r\n\x1a" /* 14 characters with the final zero */

enum {
    IDLE_MAGIC_BYTES = 16,
    IDLE_VERSION = 2, /* 1 had no `devices` */
    IDLE_DEVICES_NAMED = 64,
    IDLE_PCI_BYTES = 24
};

enum idle_kind {
    IDLE_KERNEL = 1, /* detail: an idle_kernel */
    IDLE_MEMCPY = 2, /* detail: CUPTI's copy kind; 1 is host to device */
    IDLE_MEMSET = 3
};

enum idle_kernel { IDLE_KERNEL_PROGRAM = 0, IDLE_KERNEL_SLUICE = 1, IDLE_KERNEL_NCCL = 2 };

enum { IDLE_COPY_HOST_TO_DEVICE = 1 };

enum idle_state {
    IDLE_STATE_FAILED = 1,  /* not tracing; `reason` says why */
    IDLE_STATE_TRACING = 2, /* if it is the last state: ended without exit() */
    IDLE_STATE_ENDED = 3    /* the process ended with everything written */
};

struct idle_header {
    char magic[IDLE_MAGIC_BYTES];
    uint32_t version, header_bytes, record_bytes, state;
    int32_t pid;
    int32_t write_error;     /* errno of the first write that failed, or 0 */
    uint64_t records;        /* in the file */
    uint64_t lost;           /* not written: the file rejected them, or no memory for a buffer */
    uint64_t dropped;        /* by CUPTI itself */
    uint64_t odd;            /* of requested kinds, but without times */
    int64_t clock_offset_ns; /* subtract from times to get CLOCK_MONOTONIC */
    int64_t started_ns;      /* CLOCK_MONOTONIC at the injection */
    uint64_t setup_ns;       /* time that the injection took inside cuInit */
    uint64_t
        callback_cpu_ns;   /* CPU time of converting CUPTI's buffers to records and writing them */
    uint64_t flush_cpu_ns; /* CPU time of the flushing thread */
    uint32_t cupti_version, reserved;
    char visible_devices[1024]; /* CUDA_VISIBLE_DEVICES of the process, "" when unset */
    char program[128];          /* its short name */
    char library[256];          /* the CUPTI that was opened */
    char reason[256];
    /* PCI addresses by the device's number in that process; "": unknown */
    char devices[IDLE_DEVICES_NAMED][IDLE_PCI_BYTES];
};

struct idle_record {
    int64_t start, end; /* nanoseconds */
    uint64_t bytes;     /* of copies and memsets */
    uint32_t stream;
    uint16_t device; /* CUDA's number in that process */
    uint8_t kind, detail;
};

#endif
