/* SPDX-License-Identifier: Apache-2.0 */
/* yolo_yaml_absent: rejects data.yaml in a library that was built without libyaml. */
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
    json_decref(yaml->names); /* names from a classes.txt */
    yaml->names = NULL;
}
