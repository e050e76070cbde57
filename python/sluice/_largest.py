# SPDX-License-Identifier: Apache-2.0
"""The default of max_size of a columns.Image with images of several sizes: the largest size that its transform makes of the
dataset's images. A bound, at most a few pixels above: steps that draw are taken at their largest.

Sizes are known where they cost no reading of images: from the index of packed shards, and the width and height of annotations. Else only a step with a limit of its own (the longer side of RandomShortestSize) gives a bound.
"""
from __future__ import annotations

import math

from ._names import EXIFS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from .columns import Image
    from .dataset import Dataset

    Sizes = set[tuple[int, int]]  # (height, width) of all images; None: not known

MOST = 65535

# Steps that leave an image's size, or make it smaller.
KEEP = {
    "random_flip", "random_vertical_flip", "random_rotation", "random_affine", "random_perspective", "random_iou_crop", "color_jitter",
    "color_jitter_ranges", "random_grayscale", "random_invert", "random_autocontrast", "random_equalize", "random_posterize",
    "random_solarize", "random_solarize_add", "random_channel_permutation", "random_hsv", "gaussian_blur", "pillow_blur",
    "random_sharpness", "jpeg", "random_erasing", "normalize", "rand_augment", "trivial_augment_wide", "auto_augment", "aug_mix",
    "timm_augment", "elastic_transform", "native",
}  # fmt: skip


class Unbounded(Exception):
    """What about the transform or the dataset leaves the size open."""


def largest(name: str, column: Image, dataset: Dataset, options: Mapping[str, Any]) -> tuple[int, int]:
    """(height, width). ValueError: there is no bound, so max_size has to be given."""
    try:
        sizes = _after(column._values["recipe"], _sizes_of(dataset, column.field or name, options))
        if sizes is None:
            raise Unbounded("the dataset does not say how large its images are")
    except Unbounded as why:
        raise ValueError(
            f"columns[{name!r}]: sizes= needs max_size=(height, width), the largest image of a batch: {why}. Space that images do not "
            "use takes no memory, so choose it generously"
        ) from None
    return min(max(height for height, _ in sizes), MOST), min(max(width for _, width in sizes), MOST)


def _sizes_of(dataset, field, options) -> Sizes | None:
    """Of all images, also turned by a quarter, as EXIF may have it."""
    found = _known_sizes(dataset, field)
    if found is None or options.get("exif") == EXIFS[False]:
        return found
    return found | {(width, height) for height, width in found}


def _known_sizes(dataset, field):
    if [name for name, of in dataset.fields.items() if of.type == "image"] != [field]:
        return None
    first = dataset.sample(0)
    if first["width"] > 0:
        return _positive((found["height"], found["width"]) for found in map(dataset.sample, range(len(dataset))))
    roles = {of.meaning.get("role"): name for name, of in dataset.fields.items()}
    if first["bytes"] == 0 and {"height", "width"} <= roles.keys():  # an annotation of images that are files
        return _positive(zip(dataset.numbers(roles["height"]), dataset.numbers(roles["width"])))
    return None


def _positive(sizes):
    """None if one of them is not known."""
    found = set(sizes)
    return found if all(side is not None and 0 < side <= 2**31 for size in found for side in size) else None


def _after(steps, sizes: Sizes | None) -> Sizes | None:
    for step in steps or ():
        sizes = _after_one(step, sizes)
    return sizes


def _after_one(step, sizes):
    name, *arguments = step
    if name in KEEP:
        return sizes
    if name in ("sequence", "shared"):
        return _after(arguments[-1], sizes)
    if name == "random_apply":
        return _applied(sizes, arguments[-1])
    if name == "random_choice":
        return _chosen(sizes, arguments[-1])
    if name == "random_order" and all(one[0] in KEEP for one in arguments[-1]):
        return sizes
    bound = LIMITS.get(name)
    if bound is not None:
        return bound(sizes, *arguments)
    raise Unbounded(f"the result of the step {name!r} is not known")


def _applied(sizes, steps):
    """Of steps that are done or not."""
    made = _after(steps, sizes)
    return None if sizes is None or made is None else sizes | made


def _chosen(sizes, steps):
    made = [_after([step], sizes) for step in steps]
    return None if None in made else set().union(*made)


def _pad(sizes, left, top, right, bottom, *rest):
    return None if sizes is None else {(height + top + bottom, width + left + right) for height, width in sizes}


def _shorter(sizes, side, most):
    """The shorter side becomes `side`, the longer one at most `most` (0: any)."""
    if sizes is None:
        return {(int(most), int(most))} if most else None
    made = set()
    for height, width in sizes:
        scale = side / min(height, width)
        if most:
            scale = min(scale, most / max(height, width))
        made.add((math.ceil(height * scale - 1e-9), math.ceil(width * scale - 1e-9)))
    return made


def _scale(sizes, least, most, *rest):
    return None if sizes is None else {(math.ceil(height * most), math.ceil(width * most)) for height, width in sizes}


def _jitter(sizes, width, height, least, most, *rest):
    return {(math.ceil(height * most), math.ceil(width * most))}


LIMITS = {
    "pad": _pad,
    "resize": lambda sizes, width, height, *rest: {(int(height), int(width))},
    "resize_shorter": lambda sizes, side, most, *rest: _shorter(sizes, side, most),
    "random_shortest_size": lambda sizes, most, interpolation, *sides: _shorter(sizes, max(sides), most),
    "random_resize": lambda sizes, least, most, *rest: _shorter(sizes, max(most - 1, least), 0),
    "random_zoom_out": _scale,
    "scale_jitter": _jitter,
}
