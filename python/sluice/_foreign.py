# SPDX-License-Identifier: Apache-2.0
"""Datasets of torch and torchvision, opened by the library: the files that they name, in their order.

This module does not import torch: a torch object exists only where a program imported torch. A
subclass may change a sample, so only the classes themselves are accepted. Each file is compared
with the object's list before the dataset is accepted; a difference is an error.
"""
from __future__ import annotations

import os
import sys

from . import _check

GENERIC = (
    "sluice reads files itself and never calls __getitem__: give the path of the files (sluice.Dataset(path), "
    "`sluice info --formats` lists the formats), or write the samples with sluice.Writer"
)


def is_foreign(value):
    """Returns True if the value is a dataset of torch, or a DataLoader."""
    data = sys.modules.get("torch.utils.data")
    return data is not None and isinstance(value, (data.Dataset, data.DataLoader))


def refuse_datasets(name, value, own, wanted, write="{}"):
    """Raises TypeError, with the line to write, for a dataset of class `own` or of torch, and for a
    list that contains one.

    wanted: the expected argument. write: the line, with {} for the sluice.Dataset that the value
    can become.
    """
    listed = isinstance(value, (list, tuple))
    values = list(value) if listed else [value]
    if not any(isinstance(one, own) or is_foreign(one) for one in values):
        return
    kinds = ", ".join(type(one).__name__ for one in values[:3]) + ", ..." * (len(values) > 3)
    shown = f"[{kinds}]" if listed else kinds
    what, given = ("several datasets", "[first, second]") if listed else ("a dataset", "[dataset]")
    raise TypeError(f"{name}={shown}: expected {wanted}: for {what}, write {write.format(f'sluice.concat({given})')}")


def opened(name, value):
    """Returns the sluice.Dataset of a torch dataset. Raises TypeError or ValueError with what to write
    instead.
    """
    for kinds, take in ((_torch_kinds, _TORCH), (_vision_kinds, _VISION)):
        made = take.get(kinds(type(value)))
        if made is not None:
            return made(name, value)
    raise _refused(name, value, _hint(value))


def indices_of(subset, dataset):
    """Returns the indices of a torch Subset of this very sluice.Dataset; None for everything else."""
    if _torch_kinds(type(subset)) != "Subset" or subset.dataset is not dataset:
        return None
    return subset.indices


def _torch_kinds(kind):
    return kind.__name__ if kind.__module__ == "torch.utils.data.dataset" else None


def _vision_kinds(kind):
    return kind.__name__ if kind.__module__.startswith("torchvision.datasets.") else None


def _refused(name, value, why, error=TypeError):
    return error(f"{name}={type(value).__name__}: {why}")


def _hint(value):
    data = sys.modules["torch.utils.data"]
    if isinstance(value, data.DataLoader):
        return "it is a loader: give its dataset, `loader.dataset`"
    for module, kinds in (("torch.utils.data", ("Subset", "ConcatDataset")), ("torchvision.datasets", tuple(_VISION))):
        for kind in kinds:
            parent = getattr(sys.modules.get(module), kind, None)
            if parent is not None and isinstance(value, parent):
                return f"a subclass of {kind} may make samples of its own: give the {kind}, or the path of the files"
    if isinstance(value, data.IterableDataset):
        return f"an IterableDataset has no samples by number: {GENERIC}"
    return GENERIC


def _part(name, value):
    """Returns the dataset inside a Subset or a ConcatDataset."""
    from .dataset import opened as any_opened

    if isinstance(value, (range, list, tuple)):
        raise TypeError(f"{name}: it chooses from a {type(value).__name__}, not a dataset: give dataset.subset(it)")
    return any_opened(name, value)


def _subset(name, value):
    indices = value.indices
    # Like torch, looks up the indices of a dict or Series by key.
    listed = indices.tolist() if hasattr(indices, "tolist") and not hasattr(indices, "iloc") else [indices[i] for i in range(len(indices))]
    if any(isinstance(index, bool) or type(index).__name__ == "bool_" for index in listed):
        raise _refused(name, value, "its indices are bools, which torch reads as 0 and 1: give dataset.subset(mask)", ValueError)
    return _part(name, value.dataset).subset(listed)


def _concat(name, value):
    from ._joining import concat

    parts = [_part(name, part) for part in value.datasets]
    return parts[0] if len(parts) == 1 else concat(parts)


def _check_functions(name, value, path):
    """Raises ValueError for functions of the user, which would be dropped."""
    for attribute in ("transform", "target_transform", "transforms"):
        if getattr(value, attribute, None) is not None:
            raise _refused(
                name, value,
                f"it has {attribute}=, which the library does not call: write the steps as the loader's transform= "
                f"(sluice.transforms) or columns=, and give {path}", ValueError,
            )  # fmt: skip


def _folder(name, value):
    """Opens torchvision's ImageFolder: the files of its `samples`, in that order, with those labels."""
    from .dataset import Dataset

    path = f"sluice.Dataset({value.root!r})"
    _check_functions(name, value, path)
    if value.loader is not sys.modules["torchvision.datasets.folder"].default_loader:
        raise _refused(name, value, f"it has loader=, which the library does not call: give {path}", ValueError)
    data = Dataset(value.root, allow_empty_classes=True, allow_case_duplicates=True)
    if data.format != "folder" or data.classes != list(value.classes):
        why = f"{value.root} has other classes here ({data.format}): compare {path}.classes, and give that"
        raise _refused(name, value, why, ValueError)
    places = {place: number for number, place in enumerate(data.samples)}
    numbers = [places.get((os.path.abspath(file), label)) for file, label in value.samples]
    return _chosen(name, value, data, numbers, value.samples)


def _chosen(name, value, data, numbers, samples):
    """Returns the samples of these numbers. None: the dataset has no such sample."""
    if None in numbers:
        missing = samples[numbers.index(None)]
        raise _refused(name, value, f"its sample {missing} is not in {data!r:.200}, or has another label there", ValueError)
    return data if numbers == list(range(len(data))) else data.subset(numbers)


def _check_files(name, value, data, files):
    """Raises ValueError for a dataset whose images are not these files in this order."""
    for number, file in enumerate(files):
        found = data.sample(number)["file"]
        if os.path.abspath(file) != found and not _is_same(file, found):
            why = f"image {number} is {file} there, and {found} in {data!r:.200}: give the path of the files"
            raise _refused(name, value, why, ValueError)


def _is_same(one, other):
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


def _voc(lists):
    """torchvision's VOCDetection or VOCSegmentation: the list that it read, by the rules of docs/formats.md."""

    def opened(name, value):
        from .dataset import Dataset

        root = os.path.dirname(os.path.dirname(value.images[0]))
        path = os.path.join(root, "ImageSets", lists, f"{value.image_set}.txt")
        _check_functions(name, value, f"sluice.Dataset({path!r})")
        data = Dataset(path)
        if len(data) != len(value.images):
            raise _refused(name, value, f"it has {len(value.images)} samples, and {path} has {len(data)}", ValueError)
        _check_files(name, value, data, value.images)
        return data

    return opened


def _coco(name, value):
    """torchvision's CocoDetection or CocoCaptions: its annotation file, in the order of the images' ids."""
    from .dataset import Dataset

    found = _annotation_file(value.coco.dataset, value.root)
    _check_functions(name, value, f"sluice.Dataset({found or 'annotation file'!r})")
    if found is None:
        raise _refused(
            name, value, "it does not store the path of its annotation file, which is not beside its images: "
            "give sluice.Dataset(annFile)", ValueError,
        )  # fmt: skip
    data = Dataset(found)
    places = {number: place for place, number in enumerate(data.numbers("image_id"))}
    made = _chosen(name, value, data, [places.get(number) for number in value.ids], value.ids)
    _check_files(name, value, made, [os.path.join(value.root, value.coco.imgs[number]["file_name"]) for number in value.ids])
    return made


def _annotation_file(tree, root):
    """Returns the JSON file with this content, from the folders where annotations are kept; None:
    there is no such file.
    """
    import glob
    import json

    root = os.path.abspath(root)
    above = os.path.dirname(root)
    beside = [os.path.join(folder, "annotations") for folder in (above, root, os.path.dirname(above))]
    folders = [beside[0], root, above, *beside[1:]]
    files = [file for folder in dict.fromkeys(folders) for file in sorted(glob.glob(os.path.join(glob.escape(folder), "*.json")))]
    files.sort(key=lambda file: os.path.basename(root) not in os.path.basename(file))  # stable; *_val2017.json of val2017 first
    for file in files:
        with open(file, encoding="utf-8-sig") as stream:
            try:
                if json.load(stream) == tree:
                    return file
            except ValueError:
                continue
    return None


_TORCH = {"Subset": _subset, "ConcatDataset": _concat}
_VISION = {
    "ImageFolder": _folder, "CocoDetection": _coco, "CocoCaptions": _coco,
    "VOCDetection": _voc("Main"), "VOCSegmentation": _voc("Segmentation"),
}  # fmt: skip
