/* SPDX-License-Identifier: Apache-2.0 */
/* A data.yaml where libyaml was not there when the library was built. */
#include "error.h"
#include "yolo_yaml.h"

sluice_status sl_yolo_yaml_read(sl_yolo_yaml *yaml, const char *path, sluice_error *error)
{
    (void)yaml;
    return sl_error_file(
        error, SLUICE_UNSUPPORTED, "dataset", 0, path, -1,
        "YAML files of YOLO are not supported: this library was built without libyaml");
}

void sl_yolo_yaml_close(sl_yolo_yaml *yaml)
{
    json_decref(yaml->names); /* of a classes.txt */
    yaml->names = NULL;
}
