/* SPDX-License-Identifier: Apache-2.0 */
#include "system.h"

#include "exit_code.h"
#include "json.h"
#include "outcome.h"
#include "report.h"
#include "units.h"

#include <sluice/common.h>
#include <sluice/ranks.h>

#include <inttypes.h>
#include <stdio.h>

static void print_limit(const char *name, uint64_t bytes)
{
    char text[32] = "unlimited";
    if (bytes != UINT64_MAX) {
        units_format_bytes(text, sizeof text, bytes);
    }
    printf("%-12s %s\n", name, text);
}

/* Writes the ranks; NULL: the launcher's variables are ambiguous. */
static void write_ranks(struct json *json, const sluice_ranks *ranks)
{
    if (ranks == NULL) {
        json_null(json, "ranks");
        return;
    }
    json_open_object(json, "ranks");
    json_unsigned(json, "rank", ranks->rank);
    json_unsigned(json, "world_size", ranks->world_size);
    if (ranks->local_rank < 0) {
        json_null(json, "local_rank");
    } else {
        json_signed(json, "local_rank", ranks->local_rank);
    }
    if (ranks->local_size == 0) {
        json_null(json, "local_size");
    } else {
        json_unsigned(json, "local_size", ranks->local_size);
    }
    json_text(json, "launcher", ranks->found != 0 ? ranks->launcher : NULL);
    json_text(json, "job", ranks->job[0] != '\0' ? ranks->job : NULL);
    json_text(json, "text", ranks->text);
    json_close_object(json);
}

static void print_system_json(const sluice_system *system, const sluice_ranks *ranks, int code)
{
    struct json json;
    json_begin(&json, stdout);
    json_open_object(&json, NULL);
    json_text(&json, "version", sluice_version());
    json_unsigned(&json, "cpus", system->cpus);
    json_text(&json, "cpu_features", system->cpu_text);
    json_unsigned(&json, "memory_bytes", system->memory_bytes);
    if (system->memlock_bytes == UINT64_MAX) {
        json_null(&json, "memlock_bytes");
    } else {
        json_unsigned(&json, "memlock_bytes", system->memlock_bytes);
    }
    json_unsigned(&json, "open_files", system->open_files);
    json_text(&json, "huge_pages", system->huge_pages_text);
    json_bool(&json, "io_uring", system->io_uring != 0);
    json_text(&json, "io_uring_text", system->io_uring_text);
    json_bool(&json, "cuda", system->cuda != 0);
    json_text(&json, "cuda_text", system->cuda_text);
    write_ranks(&json, ranks);
    if (code != TOOL_FINE) {
        outcome_write(&json, code);
    }
    json_close_object(&json);
}

static void print_system_text(const sluice_system *system, const sluice_ranks *ranks)
{
    printf("sluice       %s\nprocessors   %" PRIu32 ", %s\n", sluice_version(), system->cpus,
           system->cpu_text);
    print_limit("memory", system->memory_bytes);
    print_limit("memlock", system->memlock_bytes);
    printf("open files   %" PRIu64 "\nhuge pages   %s\n", system->open_files,
           system->huge_pages_text);
    printf("io_uring     %s: %s\ncuda         %s: %s\n", system->io_uring != 0 ? "yes" : "no",
           system->io_uring_text, system->cuda != 0 ? "yes" : "no", system->cuda_text);
    printf("ranks        %s", ranks == NULL ? "not clear: the error says why" : ranks->text);
    if (ranks != NULL && ranks->found != 0 && ranks->local_rank >= 0 && ranks->local_size > 0) {
        printf("; %" PRId32 " of %" PRIu32 " on this machine", ranks->local_rank,
               ranks->local_size);
    }
    printf("\n");
}

int system_show(bool as_json)
{
    sluice_system system = {.struct_size = sizeof system};
    sluice_ranks found = SLUICE_RANKS_INIT;
    sluice_error error = SLUICE_ERROR_INIT;
    if (sluice_system_get_info(&system) < 0) {
        report("cannot read the properties of this machine");
        return TOOL_FAILED;
    }
    const sluice_ranks *ranks = &found;
    int code = TOOL_FINE;
    if (sluice_ranks_find(&found, &error) < 0) {
        code = report_error(&error, NULL);
        ranks = NULL;
    }
    if (as_json) {
        print_system_json(&system, ranks, code);
    } else {
        print_system_text(&system, ranks);
    }
    return code;
}
