/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_annotations: any bytes as COCO's annotations. The picture "a" is there. */
#include "dataset_run.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[512];
    if (size > FUZZ_INPUT_MAX)
        return 0;
    (void)snprintf(path, sizeof(path), "%s/instances_val.json", fuzz_suspect_folder(0));
    fuzz_suspect_write("a", (const uint8_t *)"jpeg", 4);
    fuzz_suspect_write("instances_val.json", data, size);
    fuzz_dataset_run(path);
    return 0;
}

static const char *const seeds[] = {
    "{\"info\":{},\"images\":[{\"id\":7,\"file_name\":\"a\"},{\"id\":-1,\"file_name\":\"a\"}],\n"
    "\"annotations\":[{\"image_id\":7,\"category_id\":1,\"bbox\":[1,2,3.5,4],\"area\":3,"
    "\"keypoints\":[1,2,3],\"iscrowd\":1},{\"image_id\":-1,\"category_id\":3,\"bbox\":[1,2,3,4],"
    "\"area\":0.5,\"keypoints\":[4,5,6]}],\"categories\":[{\"id\":1,\"name\":\"x\"}]}",
    "{\"annotations\":[{\"image_id\":7,\"caption\":\"one\"},{\"image_id\":7,\"caption\":\"two\"},"
    "{\"image_id\":8,\"caption\":\"\"}],\"images\":[{\"id\":7,\"file_name\":\"a\"}]}",
};

size_t fuzz_seed(unsigned index, uint8_t *buffer)
{
    if (index >= sizeof(seeds) / sizeof(seeds[0]))
        return 0;
    memcpy(buffer, seeds[index], strlen(seeds[index]));
    return strlen(seeds[index]);
}
