#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""image_folder_model.py ROOT: prints the samples of torchvision's ImageFolder as "label<NUL>key<NUL>".

The two functions are torchvision.datasets.folder's find_classes and make_dataset (0.15), without
their argument handling. Unlike torchvision, sluice omits hidden files and folders: `hidden` is that rule.
"""
import os
import sys

EXTENSIONS = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")


def hidden(path):
    return any(part.startswith(".") for part in path.split("/"))


def find_classes(directory):
    classes = sorted(entry.name for entry in os.scandir(directory) if entry.is_dir() and not hidden(entry.name))
    return {name: number for number, name in enumerate(classes)}


def make_dataset(directory, class_to_idx):
    for target_class in sorted(class_to_idx.keys()):
        target_dir = os.path.join(directory, target_class)
        if not os.path.isdir(target_dir):
            continue
        for root, _, names in sorted(os.walk(target_dir, followlinks=True)):
            for name in sorted(names):
                path = os.path.join(root, name)
                if path.lower().endswith(EXTENSIONS) and not hidden(os.path.relpath(path, directory)):
                    yield class_to_idx[target_class], os.path.relpath(path, directory)


root_folder = sys.argv[1]
for label, key in make_dataset(root_folder, find_classes(root_folder)):
    sys.stdout.buffer.write(str(label).encode() + b"\0" + os.fsencode(key) + b"\0")
