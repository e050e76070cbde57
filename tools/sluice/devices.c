/* SPDX-License-Identifier: Apache-2.0 */
/* sluice devices: lists where batches can be on this machine, and why not elsewhere. */
#include "command.h"
#include "exit_code.h"
#include "json.h"
#include "options.h"
#include "safe_text.h"

#include <sluice/loader.h>

#include <stdbool.h>
#include <stdio.h>

struct device_line {
    char name[24];
    bool usable;
    char text[1024];
};

struct devices_output {
    bool as_json;
    struct json json;
};

static void show(struct devices_output *output, const struct device_line *line)
{
    if (!output->as_json) {
        printf("%-7s %-3s  %s\n", line->name, line->usable ? "yes" : "no", SAFE(line->text));
        return;
    }
    json_open_object(&output->json, NULL);
    json_text(&output->json, "device", line->name);
    json_bool(&output->json, "usable", line->usable);
    json_text(&output->json, "text", line->text);
    json_close_object(&output->json);
}

static sluice_status describe(struct device_line *line)
{
    const sluice_status status = sluice_device_get_text(line->name, line->text, sizeof line->text);
    line->usable = status == SLUICE_OK;
    return status;
}

/* Prints one line for each device, or one line saying why there is none. A device that fails is
 * shown. */
static void show_cuda(struct devices_output *output)
{
    struct device_line line;
    for (unsigned number = 0;; number++) {
        snprintf(line.name, sizeof line.name, "cuda:%u", number);
        const sluice_status status = describe(&line);
        if (status == SLUICE_UNSUPPORTED && number == 0) {
            snprintf(line.name, sizeof line.name, "cuda");
            show(output, &line);
        }
        if (status == SLUICE_UNSUPPORTED || status == SLUICE_INVALID) {
            return;
        }
        show(output, &line);
    }
}

int devices_main(int argc, char **argv)
{
    struct devices_output output = {.as_json = false};
    const struct option_row rows[] = {
        {"json", 0, OPTION_FLAG, &output.as_json, .common = true, .help = "print the list as JSON"},
        {.name = NULL},
    };
    struct command_usage usage = {
        .arguments = "",
        .summary = "Lists the memory that batches can be in: the host's and that of each CUDA\n"
                   "device, or the reason why there is no such device.",
        .examples = "  sluice devices\n"
                    "  sluice devices --json\n",
        .rows = rows,
    };
    const int code = options_parse(&usage, argc, argv);
    if (code != OPTIONS_GO_ON) {
        return code;
    }
    if (output.as_json) {
        json_begin(&output.json, stdout);
        json_open_object(&output.json, NULL);
        json_open_array(&output.json, "devices");
    }
    struct device_line host = {.name = "host"};
    (void)describe(&host);
    show(&output, &host);
    show_cuda(&output);
    if (output.as_json) {
        json_close_array(&output.json);
        json_close_object(&output.json);
    }
    return TOOL_FINE;
}
