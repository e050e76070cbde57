# SPDX-License-Identifier: Apache-2.0
"""Buckets of aspect ratio: lists of sizes, as users and as the library write them."""
from __future__ import annotations

import math
from array import array

from . import _check

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

LIMIT, MOST = 16384, 64  # largest side; most sizes


def buckets(area: int = 1024 * 1024, step: int = 64, max_ratio: float = 4.0) -> list[tuple[int, int]]:
    """Lists sizes of about one area and many aspect ratios, for Loader(buckets=).

    Follows NovelAI's aspect ratio bucketing (2022) as in make_bucket_resolutions of
    kohya-ss/sd-scripts: for each width, the largest height within the area; the same sizes
    transposed; and the largest square. Here `max_ratio` limits the sides. Stable Diffusion XL was
    trained with a list of its own (arXiv 2307.01952, appendix I), which Loader(buckets=) accepts as
    printed there.

    Args:
        area: largest number of pixels of a size, 1 to 2**28 [1024 * 1024].
        step: both sides are multiples of it, because networks halve images several times, 1 to
            16384 [64].
        max_ratio: largest ratio of the longer to the shorter side, at least 1 [4.0].

    Returns:
        1 to 64 pairs (height, width), from tall to wide.

    Raises:
        ValueError: there are more than 64 sizes, or none.

    Example:
        >>> sizes = sluice.buckets()
        >>> len(sizes), sizes[0], sizes[-1]
        (33, (2048, 512), (512, 2048))
    """
    area = _check.integer("area", area, 1, LIMIT * LIMIT)
    step = _check.integer("step", step, 1, LIMIT)
    ratio = _check.number("max_ratio", max_ratio)
    if not ratio >= 1:
        raise ValueError(f"max_ratio={max_ratio!r}: expected a number, at least 1")
    square = math.isqrt(area) // step * step
    sizes = {(square, square)} if square else set()
    for one in range(step, min(area, LIMIT) + 1, step):
        other = min(area // one // step, LIMIT // step) * step
        if other and max(one, other) <= min(one, other) * ratio:
            sizes |= {(one, other), (other, one)}
    if not 1 <= len(sizes) <= MOST:
        wanted = "a smaller max_ratio, or a larger step" if sizes else "a larger area, or a smaller step"
        raise ValueError(f"buckets(area={area}, step={step}, max_ratio={max_ratio}) has {len(sizes)} sizes, expected 1 to {MOST}: use {wanted}")
    return sorted(sizes, key=lambda size: (size[1] / size[0], size))


def text(sizes: Sequence[Sequence[int]]) -> str:
    """Returns the library's option for (height, width) pairs."""
    wanted = "a list of (height, width)"
    pairs = [_pair("buckets", size) for size in _check.items("buckets", sizes, wanted)]
    if not pairs:
        raise ValueError(f"buckets={sizes!r}: expected {wanted}, not an empty one")
    return ",".join(f"{width}x{height}" for height, width in pairs)


def _pair(name, size, most=LIMIT):
    sides = _check.items(name, size, "(height, width) pairs")
    if len(sides) != 2:
        raise ValueError(f"{name}: {size!r}: expected (height, width)")
    return [_check.integer(name, side, 1, most) for side in sides]


def table(sizes: Any, samples: int) -> bytes:
    """Returns the samples' sizes in the library's form: two u32 each, the width before the height."""
    if hasattr(sizes, "detach"):
        sizes = sizes.detach().cpu().numpy()
    if hasattr(sizes, "astype"):
        if sizes.ndim != 2 or sizes.shape[1] != 2 or sizes.dtype.kind not in "iu":
            raise ValueError(f"sizes: an array of {sizes.dtype}, {sizes.shape}: expected integers, {samples} x 2 (height, width)")
        count, least, most = len(sizes), sizes.min(initial=1), sizes.max(initial=1)
        if least < 1 or most >= 2**31:
            raise ValueError(f"sizes: {least if least < 1 else most}: expected sides of 1 to {2**31 - 1} pixels")
        data = sizes[:, ::-1].astype("uint32").tobytes()
    else:
        pairs = [_pair("sizes", size, 2**31 - 1) for size in _check.items("sizes", sizes, "(height, width) pairs")]
        count, data = len(pairs), array("I", [side for height, width in pairs for side in (width, height)]).tobytes()
    if count != samples:
        raise ValueError(f"sizes has {count} rows, and the dataset {samples} samples")
    return data
