# SPDX-License-Identifier: Apache-2.0
"""Presets with several views of each image: dicts of columns."""
from __future__ import annotations

from .. import _check
from ..columns import Geometry, Image
from . import _values
from ._base import Normalize, ToTensor, Transform
from ._color import ColorJitter, RandomGrayscale, RandomSolarize
from ._filters import GaussianBlur, PillowGaussianBlur
from ._geometry import LIMIT, RandomGridCrop, RandomHorizontalFlip, RandomResizedCrop
from ._groups import RandomApply, Shared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._types import Dtype, Values

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # ImageNet's
_DINO_JITTER = 0.4, 0.4, 0.2, 0.1
VIEWS_MAX = 64  # most columns of a batch


def _several(names, transforms, field, dtype, layout):
    return {
        name: Image(field, transform=transform, dtype=dtype, layout=layout) for name, transform in zip(names, transforms)
    }


def _count(name, value, least):
    return _check.integer(name, value, least, VIEWS_MAX)


def _cut(size, scale, flips=True):
    return [RandomResizedCrop(size, scale=scale, interpolation="bicubic"), *([RandomHorizontalFlip()] if flips else [])]


def _jitter(values):
    return [RandomApply([ColorJitter(*values)], p=0.8), RandomGrayscale(p=0.2)]


def _jittered(size, scale, jitter, flips=True):
    return [*_cut(size, scale, flips), *_jitter(jitter)]


def simclr(
    size: int = 224, strength: float = 1.0, *, field: str = "image", views: int = 2, dtype: Dtype = None, layout: str = "NCHW",
    mean: Values = (0.0, 0.0, 0.0), std: Values = (1.0, 1.0, 1.0),
) -> dict[str, Image]:  # fmt: skip
    """Makes the views of SimCLR: columns "view1" and "view2", rows x 3 x size x size.

    A bicubic RandomResizedCrop of 0.08 to 1 of the area and a flip; with probability 0.8 a jitter
    of 0.8 (hue 0.2) times `strength`; grey with probability 0.2; with probability 0.5 a blur of
    sigma 0.1 to 2 whose kernel is a tenth of the side. The blur mirrors the image at its borders,
    like torchvision's; the original pads with zeros. Source: Chen et al. 2020; data_util.py of
    google-research/simclr.

    Args:
        size: side of the views in pixels, 1 to 16384 [224].
        strength: factor of the colour jitter, 0 to 2.5, at which the hue is arbitrary [1.0].
        field: image field of the dataset ['image'].
        views: number of views, 1 to 64 [2].
        dtype: dtype of the views ['float32'].
        layout: 'NCHW' or 'NHWC' ['NCHW'].
        mean: mean of values of 0 to 1, for R, G and B [0: as in the original].
        std: standard deviation, likewise [1].

    Returns:
        A dict of columns, for Loader(columns=).

    Example:
        >>> with sluice.Loader(data, batch_size=4, columns=T.presets.simclr(32)) as loader:
        ...     next(iter(loader)).keys()
        ['view1', 'view2']
    """
    side = _check.integer("size", size, 1, LIMIT)
    if not 0 <= _check.number("strength", strength) <= 2.5:
        raise ValueError(f"strength={strength!r}: expected 0 to 2.5, at which the hue is arbitrary")
    jitter = 0.8 * strength, 0.8 * strength, 0.8 * strength, 0.2 * strength
    blur = RandomApply([GaussianBlur(side // 10 // 2 * 2 + 1)], p=0.5)
    steps = [*_jittered(side, (0.08, 1.0), jitter), blur, ToTensor(), Normalize(mean, std)]
    names = [f"view{i + 1}" for i in range(_count("views", views, 1))]
    return _several(names, [steps] * len(names), field, dtype, layout)


def _three(blurs):
    given = tuple(blurs) if _values.is_numbers(blurs) else ()
    if len(given) != 3:
        raise ValueError(f"blurs={blurs!r}: expected three probabilities: of the first, the second and the small views")
    return given


def _multi_crop(sides, scales, counts, blurs, blur, field, dtype, layout, mean, std, flips=True):
    """Returns the columns of the first large view, the other large views and the small views, whose
    blur probabilities `blurs` has in this order.
    """

    def steps(small, number):
        made: list[Transform] = _jittered(sides[small], scales[small], _DINO_JITTER, flips)
        made.append(RandomApply([blur], p=blurs[2 if small else min(number, 1)]))
        if not small and number > 0:
            made.append(RandomSolarize(128, p=0.2))
        return [*made, ToTensor(), Normalize(mean, std)]

    names = [f"{kind}{i + 1}" for kind, count in zip(("global", "local"), counts) for i in range(count)]
    transforms = [steps(small, i) for small in (0, 1) for i in range(counts[small])]
    return _several(names, transforms, field, dtype, layout)


def dino(
    size: int = 224, local_size: int = 96, *, local_views: int = 8, global_scale: Sequence[float] = (0.4, 1.0),
    local_scale: Sequence[float] = (0.05, 0.4), field: str = "image", dtype: Dtype = None, layout: str = "NCHW",
    mean: Values = MEAN, std: Values = STD,
) -> dict[str, Image]:  # fmt: skip
    """Makes the views of DINO: columns "global1", "global2" and "local1" to "local8".

    A bicubic RandomResizedCrop and a flip; with probability 0.8 a jitter of 0.4, 0.4, 0.2, 0.1;
    grey with probability 0.2; Pillow's blur of radius 0.1 to 2 with probability 1 (global1), 0.1
    (global2) or 0.5 (local views). global2 is solarized with probability 0.2. Source: Caron et al.
    2021; main_dino.py of facebookresearch/dino.

    Args:
        size: side of the global views in pixels [224].
        local_size: side of the local views in pixels [96].
        local_views: number of local views, 0 to 64 [8].
        global_scale: (smallest, largest) area of global crops, as a fraction of the image's [0.4,
            1.0].
        local_scale: (smallest, largest) area of local crops, likewise [0.05, 0.4].
        field: image field of the dataset ['image'].
        dtype: dtype of the views ['float32'].
        layout: 'NCHW' or 'NHWC' ['NCHW'].
        mean: mean of values of 0 to 1, for R, G and B [ImageNet's].
        std: standard deviation, likewise [ImageNet's].

    Returns:
        A dict of columns, for Loader(columns=).

    Example:
        >>> with sluice.Loader(data, batch_size=4, columns=T.presets.dino(32, 16, local_views=2)) as loader:
        ...     next(iter(loader)).keys()
        ['global1', 'global2', 'local1', 'local2']
    """
    return _multi_crop(
        (size, local_size), (global_scale, local_scale), (2, _count("local_views", local_views, 0)), (1.0, 0.1, 0.5),
        PillowGaussianBlur(), field, dtype, layout, mean, std,
    )  # fmt: skip


def ibot(
    size: int = 224, local_size: int = 96, *, global_views: int = 2, local_views: int = 0,
    global_scale: Sequence[float] = (0.14, 1.0), local_scale: Sequence[float] = (0.05, 0.4), field: str = "image",
    dtype: Dtype = None, layout: str = "NCHW", mean: Values = MEAN, std: Values = STD,
) -> dict[str, Image]:  # fmt: skip
    """Makes the views of iBOT: dino's views, by default two global ones of 0.14 to 1 of the area.

    All global views except the first are blurred with probability 0.1 and solarized with
    probability 0.2. Your program makes the masks of patches. Source: Zhou et al. 2022; main_ibot.py
    of bytedance/ibot.

    Args:
        size: side of the global views in pixels [224].
        local_size: side of the local views in pixels [96].
        global_views: number of global views, 1 to 64 [2].
        local_views: number of local views, 0 to 64 [0].
        global_scale: (smallest, largest) area of global crops, as a fraction of the image's [0.14,
            1.0].
        local_scale: (smallest, largest) area of local crops, likewise [0.05, 0.4].
        field: image field of the dataset ['image'].
        dtype: dtype of the views ['float32'].
        layout: 'NCHW' or 'NHWC' ['NCHW'].
        mean: mean of values of 0 to 1, for R, G and B [ImageNet's].
        std: standard deviation, likewise [ImageNet's].

    Returns:
        A dict of columns, for Loader(columns=).

    Example:
        >>> list(T.presets.ibot(32))
        ['global1', 'global2']
    """
    counts = _count("global_views", global_views, 1), _count("local_views", local_views, 0)
    return _multi_crop(
        (size, local_size), (global_scale, local_scale), counts, (1.0, 0.1, 0.5), PillowGaussianBlur(), field, dtype, layout, mean, std,
    )  # fmt: skip


def dinov2(
    size: int = 224, local_size: int = 96, *, local_views: int = 8, global_scale: Sequence[float] = (0.32, 1.0),
    local_scale: Sequence[float] = (0.05, 0.32), blurs: Sequence[float] = (0.0, 0.9, 0.5), field: str = "image",
    dtype: Dtype = None, layout: str = "NCHW", mean: Values = MEAN, std: Values = STD,
) -> dict[str, Image]:  # fmt: skip
    """Makes the views of DINOv2: dino's with other crop areas and torchvision's blur.

    The blur has kernel 9.

    The original code writes blur probabilities 1, 0.1 and 0.5, but passes 1 - p to torchvision's
    RandomApply, which blurs with the probability that it receives. So models were trained with 0,
    0.9 and 0.5, the default here; blurs=(1, 0.1, 0.5) follows the text of the code. Source: Oquab
    et al. 2023; data/augmentations.py, data/transforms.py and ssl_default_config.yaml of
    facebookresearch/dinov2.

    Args:
        size: side of the global views in pixels [224].
        local_size: side of the local views in pixels [96].
        local_views: number of local views, 0 to 64 [8].
        global_scale: (smallest, largest) area of global crops, as a fraction of the image's [0.32,
            1.0].
        local_scale: (smallest, largest) area of local crops, likewise [0.05, 0.32].
        blurs: blur probabilities of global1, global2 and the local views [0.0, 0.9, 0.5].
        field: image field of the dataset ['image'].
        dtype: dtype of the views ['float32'].
        layout: 'NCHW' or 'NHWC' ['NCHW'].
        mean: mean of values of 0 to 1, for R, G and B [ImageNet's].
        std: standard deviation, likewise [ImageNet's].

    Returns:
        A dict of columns, for Loader(columns=).

    Example:
        >>> list(T.presets.dinov2(32, 16, local_views=1))
        ['global1', 'global2', 'local1']
    """
    return _multi_crop(
        (size, local_size), (global_scale, local_scale), (2, _count("local_views", local_views, 0)), _three(blurs),
        GaussianBlur(9), field, dtype, layout, mean, std,
    )  # fmt: skip


def dinov3(
    size: int = 256, local_size: int = 112, *, local_views: int = 8, global_scale: Sequence[float] = (0.32, 1.0),
    local_scale: Sequence[float] = (0.05, 0.32), horizontal_flips: bool = False, blurs: Sequence[float] = (0.0, 0.9, 0.5),
    share_color_jitter: bool = False, teacher_no_color_jitter: bool = False, gram_teacher_crops_size: int | None = None,
    local_crops_subset_of_global_crops: bool = False, patch_size: int = 16, field: str = "image", dtype: Dtype = None,
    layout: str = "NCHW", mean: Values = MEAN, std: Values = STD,
) -> dict[str, Image | Geometry]:  # fmt: skip
    """Makes the views of DINOv3: dinov2's views in the sizes of its largest model, without flips.

    ssl_default_config.yaml has dinov3(224, 96, horizontal_flips=True), which equals dinov2(). Blurs
    are as in dinov2, with the same 1 - p. Source: Simeoni et al. 2025; data/augmentations.py,
    data/transforms.py and dinov3_vit7b16_pretrain.yaml of facebookresearch/dinov3.

    With local_crops_subset_of_global_crops, columns of Geometry named "global1.at", "local1.at" and
    so on are added. The position of a local view, across and down, is batch["global1.at"][:, :2, 2]
    - batch["local1.at"][:, :2, 2].

    Args:
        size: side of the global views in pixels [256].
        local_size: side of the local views in pixels [112].
        local_views: number of local views, 0 to 64 [8].
        global_scale: (smallest, largest) area of global crops, as a fraction of the image's [0.32,
            1.0].
        local_scale: (smallest, largest) area of local crops, likewise [0.05, 0.32].
        horizontal_flips: True flips views at random [False].
        blurs: blur probabilities of global1, global2 and the local views [0.0, 0.9, 0.5].
        share_color_jitter: True uses one jitter for all views; each uses its own mean grey, whereas
            the original jitters the whole image [False].
        teacher_no_color_jitter: True adds "teacher1" and "teacher2": the global crops without
            jitter, blur and solarizing [False].
        gram_teacher_crops_size: side of added views "gram1" and "gram2", the same crops for the
            Gram teacher (dinov3_vit7b16_gram_anchor.yaml: 512, without distortions); each is
            resampled once, from the image [none].
        local_crops_subset_of_global_crops: True cuts local views out of the global ones, half of
            them from each, on the grid of `patch_size`, after a jitter and a blur of their own;
            `local_scale` is not used [False].
        patch_size: grid of those cuts in pixels [16].
        field: image field of the dataset ['image'].
        dtype: dtype of the views ['float32'].
        layout: 'NCHW' or 'NHWC' ['NCHW'].
        mean: mean of values of 0 to 1, for R, G and B [ImageNet's].
        std: standard deviation, likewise [ImageNet's].

    Returns:
        A dict of columns, for Loader(columns=).

    Example:
        >>> list(T.presets.dinov3(32, 16, local_views=1))
        ['global1', 'global2', 'local1']
    """
    views = _count("local_views", local_views, 0)
    flips = _check.flag("horizontal_flips", horizontal_flips)
    subset = _check.flag("local_crops_subset_of_global_crops", local_crops_subset_of_global_crops)
    shares = _check.flag("share_color_jitter", share_color_jitter)
    jitter = [Shared(_jitter(_DINO_JITTER))] if shares else _jitter(_DINO_JITTER)
    gram = None if gram_teacher_crops_size is None else _check.integer("gram_teacher_crops_size", gram_teacher_crops_size, 1, LIMIT)
    grid = _check.integer("patch_size", patch_size, 1, LIMIT)
    blurs, end = _three(blurs), [ToTensor(), Normalize(mean, std)]
    if subset and views % 2:
        raise ValueError(f"local_views={local_views}: half of them are cut out of each large view, so it must be even")
    if subset and min(_values.pair(size)) < max(_values.pair(local_size)):
        raise ValueError(f"local_size={local_size!r}: views of size {size!r} are too small to cut it out of")
    other = teacher_no_color_jitter or gram is not None or subset

    def large(number, side=size):
        cut = _cut(side, global_scale, flips)
        return [Shared(cut, number + 1)] if other else cut

    def blurred(number):
        return RandomApply([GaussianBlur(9)], p=blurs[number])

    made = {}
    for i in (0, 1):
        made[f"global{i + 1}"] = [*large(i), *jitter, blurred(i), *([RandomSolarize(128, p=0.2)] if i else []), *end]
    for i in range(views):
        if subset:
            made[f"local{i + 1}"] = [*large(2 * i // views), *jitter, blurred(2), RandomGridCrop(local_size, grid), *end]
        else:
            made[f"local{i + 1}"] = [*_cut(local_size, local_scale, flips), *jitter, blurred(2), *end]
    for i in (0, 1) if _check.flag("teacher_no_color_jitter", teacher_no_color_jitter) else ():
        made[f"teacher{i + 1}"] = [*large(i), *end]
    for i in (0, 1) if gram is not None else ():
        made[f"gram{i + 1}"] = [*large(i, gram), *end]
    columns = _several(made, made.values(), field, dtype, layout)
    if subset:
        columns |= {f"{name}.at": Geometry(follows=name) for name in made if name.startswith(("global", "local"))}
    return columns
