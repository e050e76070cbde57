# SPDX-License-Identifier: Apache-2.0
"""Words for the meaning of a field."""

# Meanings of fields (sluice_field), by the library's numbers; 0: not known.
MEANINGS = {
    "role": {1: "boxes", 2: "points", 3: "shapes", 4: "mask", 5: "width", 6: "height"},
    "box_format": {1: "xyxy", 2: "xywh", 3: "cxcywh"},
    "coordinates": {1: "relative", 2: "pixels", 3: "indices"},
    "orientation": {1: "stored", 2: "upright", 3: "by_size"},
    "per_box": {1: True},
}
