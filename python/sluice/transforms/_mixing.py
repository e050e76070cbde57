# SPDX-License-Identifier: Apache-2.0
"""Transforms that mix the images of a batch or of several samples."""
from __future__ import annotations

import functools

from .. import _check
from . import _values
from ._base import Transform

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .._types import Values


def _by_name(function):
    """Wraps an __init__ so that its TypeError for an unnamed argument says what to write."""

    known = function.__code__.co_varnames[1 : 1 + function.__code__.co_kwonlyargcount]

    @functools.wraps(function)
    def call(self, *unnamed, **named):
        if unnamed:
            name, given = type(self).__name__, f"{unnamed[0]!r:.80}"
            raise TypeError(f"{name}({given}): arguments need names: write {name}(alpha={given})")
        for name in named:
            if name not in known:
                raise TypeError(f"{type(self).__name__} has no argument {name!r}: the arguments are {', '.join(known)}; MixUp.timm(...) has timm's")
        function(self, **named)

    return call


class _Mixing(Transform):
    _place = "mixing"
    _smoothing = 0.0
    num_classes: int | None = None
    labels_getter: str | None = None
    end_epoch: int | None = None

    def _ends(self, end_epoch):
        self.end_epoch = None if end_epoch is None else _check.integer("end_epoch", end_epoch, 1, 2**32 - 1)

    def _labels(self, num_classes, labels_getter):
        if labels_getter not in ("default", None) and not isinstance(labels_getter, str):
            raise TypeError(f"labels_getter={labels_getter!r}: expected the name of the field that has the labels")
        if labels_getter == "":
            raise ValueError("labels_getter='': expected the name of the field that has the labels")
        if num_classes is None and labels_getter not in ("default", None):
            raise ValueError(f"labels_getter={labels_getter!r}: labels are mixed only with num_classes=: give it, or leave labels_getter out")
        self.num_classes = None if num_classes is None else _check.integer("num_classes", num_classes, 1, 2**31 - 1)
        self.labels_getter = None if labels_getter == "default" else labels_getter


class _OfTwo(_Mixing):
    alpha: float

    def __init__(
        self, *, alpha: float = 1.0, num_classes: int | None = None, labels_getter: str | None = "default", end_epoch: int | None = None,
    ) -> None:  # fmt: skip
        self.alpha = _check.number("alpha", alpha)
        if not 0 < self.alpha < float("inf"):
            raise ValueError(f"alpha={alpha!r}: expected a number above 0; without mixing, leave the step out")
        self._labels(num_classes, labels_getter)
        self._ends(end_epoch)

    if not TYPE_CHECKING:
        __init__ = _by_name(__init__)

    def _step(self):
        return (self._name, self.alpha, 1.0, "previous", self.end_epoch or 0)


class MixUp(_OfTwo):
    """Blends each image with the image of the row before it.

    The batch draws one weight from Beta(alpha, alpha). Must be the library's last step. For timm's
    Mixup, use MixUp.timm.

    Args:
        alpha: parameter of the Beta distribution, above 0 [1.0].
        num_classes: number of classes; makes each label a row of class weights, as torchvision
            does. Only for loaders without `columns`; with them, use sluice.columns.OneHot(...,
            mixes="image"). None keeps labels as numbers: 'image.mixed_with' then has the row that
            was blended in, and 'image.weight' the weight of the row itself [None].
        labels_getter: name of the field with the labels, if it is not 'label' ['default'].
        end_epoch: first epoch without mixing; its batches equal those of a recipe without this
            step, except for the form of the labels [none].

    Example:
        >>> mixed = [T.RandomResizedCrop(32), T.ToTensor(), T.MixUp(alpha=0.2, num_classes=3)]
        >>> with sluice.Loader(data, batch_size=4, transform=mixed) as loader:
        ...     next(iter(loader))["label"].shape
        (4, 3)
    """

    _name = "mixup"

    @staticmethod
    def timm(
        mixup_alpha: float = 1.0, cutmix_alpha: float = 0.0, cutmix_minmax: Values | None = None, prob: float = 1.0,
        switch_prob: float = 0.5, mode: str = "batch", correct_lam: bool = True, label_smoothing: float = 0.1,
        num_classes: int | None = 1000, *, end_epoch: int | None = None,
    ) -> TimmMixup:  # fmt: skip
        """Makes timm's Mixup, which combines mixup and cutmix.

        Each row is mixed with the row as far from the batch's end.

        Args:
            mixup_alpha: parameter of mixup's Beta distribution; 0: no mixup [1.0].
            cutmix_alpha: parameter of cutmix's Beta distribution; 0: no cutmix [0.0].
            cutmix_minmax: (lowest, highest) side of the cutmix rectangle, as a fraction, instead of
                a draw by cutmix_alpha [none].
            prob: probability of mixing, 0 to 1 [1.0].
            switch_prob: probability of cutmix instead of mixup if both are on, 0 to 1 [0.5].
            mode: 'batch' draws once per batch, 'pair' per pair of rows, 'elem' per row ['batch'].
            correct_lam: True corrects the weight by the area of a rectangle that is clipped at the
                image's edge [True].
            label_smoothing: amount of label smoothing, 0 to 1 [0.1].
            num_classes: number of classes; None leaves labels as numbers [1000].
            end_epoch: first epoch without mixing (timm's --mixup-off-epoch); labels stay smoothed
                [none].

        Returns:
            The transform.

        Example:
            >>> mixed = [T.RandomResizedCrop(32), T.ToTensor(), T.MixUp.timm(cutmix_alpha=1.0, num_classes=3)]
            >>> with sluice.Loader(data, batch_size=4, transform=mixed) as loader:
            ...     next(iter(loader))["label"].shape
            (4, 3)
        """
        return TimmMixup(
            mixup_alpha, cutmix_alpha, cutmix_minmax, prob, switch_prob, mode, correct_lam, label_smoothing, num_classes, end_epoch=end_epoch
        )


class MixUpPartner(Transform):
    """Blends the image with images of partner samples.

    This is MixUp across an epoch instead of within a batch.

    The ratio r is drawn from Beta(alpha, alpha): the result is r of the row's own image and 1 - r
    of the partner's. Steps before it are drawn separately for both and must give one size; steps
    after it apply to the blend. The loader's `partners` chooses the samples, which columns read
    with partner=1 (after a Mosaic of 4, partner=4 to 7). Boxes, points, instance masks and the
    columns that follow them come from both samples, the row's own first. A label mask
    (sluice.columns.Mask) raises an error, because labels cannot be blended. Column 'image.share'
    has r (float32; 1 without a blend): weight the loss of the own labels by r and that of partner 1
    by 1 - r.

    May occur once in a recipe, outside of groups, and not together with MixUp or CutMix. Source:
    arXiv 1710.09412; boxes as in data/augment.py of ultralytics, which has alpha 32. That code
    truncates values that are rounded here, half to even.

    Args:
        alpha: parameter of the Beta distribution, above 0 and up to 1e9 [32.0].
        p: probability of a blend, 0 to 1; otherwise the row has its own image only [1.0].
        end_epoch: first epoch without blends, from which no partner samples are read [none].

    Example:
        >>> columns = {"image": sluice.columns.Image(transform=[T.RandomResizedCrop(32), T.MixUpPartner()])}
        >>> with sluice.Loader(data, batch_size=4, columns=columns) as loader:
        ...     next(iter(loader))["image.share"].shape
        (4,)
    """

    _name = "mixup_partner"
    alpha: float
    p: float
    end_epoch: int | None

    def __init__(self, alpha: float = 32.0, p: float = 1.0, end_epoch: int | None = None) -> None:
        self.alpha, self.p = _check.number("alpha", alpha), _values.probability(p)
        if not 0 < self.alpha <= 1e9:
            raise ValueError(f"alpha={alpha!r}: expected a number above 0, up to 1e9; without mixing, leave the step out")
        self.end_epoch = None if end_epoch is None else _check.integer("end_epoch", end_epoch, 1, 2**32 - 1)

    def _step(self):
        return (self._name, self.alpha, self.p, self.end_epoch or 0)


class CopyPaste(Transform):
    """Pastes objects of a partner sample's image over this one, by their shapes: Simple Copy-Paste.

    Steps before it are drawn separately for both images and must give one size; steps after it
    apply to the result. The loader's `partners` chooses the samples, which columns read with
    partner=1 (after a Mosaic of 4, partner=4 to 7). Objects are those of the box column that
    follows the image, which needs `shapes`.

    Boxes of pasted objects, and columns that follow them, come after the row's own. For a covered
    own object, the box shrinks to its visible pixels, its mask loses the covered ones, and covered
    points get COCO's visibility 1. An object that the box column's rule drops, or that is fully
    covered, disappears with everything that belongs to it. Pixel masks take the partner's values
    where an object was pasted.

    May occur once in a recipe, outside of groups, and not together with MixUpPartner, MixUp or
    CutMix. Edges are not blended, which the authors found to work as well. Source: arXiv
    2012.07177.

    Args:
        p: probability of pasting, 0 to 1; otherwise the row has its own image only [1.0].
        share: probability that an object is pasted, above 0 and up to 1 [0.5].
        end_epoch: first epoch without pasting, from which no partner samples are read [none].

    Example:
        >>> columns = {
        ...     "image": sluice.columns.Image(transform=[T.Resize((32, 32)), T.CopyPaste()]),
        ...     "boxes": sluice.columns.Boxes(shapes="segmentation"),
        ... }
        >>> with sluice.Loader("detection", batch_size=2, columns=columns) as loader:
        ...     next(iter(loader))["image"].shape
        (2, 32, 32, 3)
    """

    _name = "copy_paste"
    p: float
    share: float
    end_epoch: int | None

    def __init__(self, p: float = 1.0, share: float = 0.5, end_epoch: int | None = None) -> None:
        self.p, self.share = _values.probability(p), _check.number("share", share)
        if not 0 < self.share <= 1:
            raise ValueError(f"share={share!r}: expected a number above 0, up to 1; to paste nothing, leave the step out")
        self.end_epoch = None if end_epoch is None else _check.integer("end_epoch", end_epoch, 1, 2**32 - 1)

    def _step(self):
        return (self._name, self.p, self.share, self.end_epoch or 0)


class CutMix(_OfTwo):
    """Replaces a rectangle of each image by that of the row before it.

    The batch draws the rectangle's fraction of the area from 1 - Beta(alpha, alpha). Must be the
    library's last step.

    Args:
        alpha: parameter of the Beta distribution, above 0 [1.0].
        num_classes: as in MixUp [None].
        labels_getter: as in MixUp ['default'].
        end_epoch: as in MixUp [none].

    Example:
        >>> mixed = [T.RandomResizedCrop(32), T.ToTensor(), T.CutMix(num_classes=3)]
        >>> with sluice.Loader(data, batch_size=4, transform=mixed) as loader:
        ...     next(iter(loader))["label"].shape
        (4, 3)
    """

    _name = "cutmix"


class TimmMixup(_Mixing):
    """timm's Mixup. MixUp.timm makes it.

    Args:
        mixup_alpha: as in MixUp.timm [1.0].
        cutmix_alpha: as in MixUp.timm [0.0].
        cutmix_minmax: as in MixUp.timm [none].
        prob: as in MixUp.timm [1.0].
        switch_prob: as in MixUp.timm [0.5].
        mode: as in MixUp.timm ['batch'].
        correct_lam: as in MixUp.timm [True].
        label_smoothing: as in MixUp.timm [0.1].
        num_classes: as in MixUp.timm [1000].
        end_epoch: as in MixUp.timm [none].
    """

    _name = "timm_mix"
    mixup_alpha: float
    cutmix_alpha: float
    cutmix_minmax: tuple[float, float] | None
    prob: float
    switch_prob: float
    mode: str
    correct_lam: bool
    label_smoothing: float

    def __init__(
        self, mixup_alpha: float = 1.0, cutmix_alpha: float = 0.0, cutmix_minmax: Values | None = None, prob: float = 1.0,
        switch_prob: float = 0.5, mode: str = "batch", correct_lam: bool = True, label_smoothing: float = 0.1,
        num_classes: int | None = 1000, *, end_epoch: int | None = None,
    ) -> None:  # fmt: skip
        self.mixup_alpha, self.cutmix_alpha = _check.number("mixup_alpha", mixup_alpha), _check.number("cutmix_alpha", cutmix_alpha)
        self.cutmix_minmax = None if cutmix_minmax is None else _values.ends("cutmix_minmax", cutmix_minmax)
        self.prob, self.switch_prob = _values.probability(prob, "prob"), _values.probability(switch_prob, "switch_prob")
        self.mode = _values.word("mode", mode, ("batch", "pair", "elem"))
        self.correct_lam = _check.flag("correct_lam", correct_lam)
        self._labels(num_classes, "default")
        self._ends(end_epoch)
        self.label_smoothing = _values.probability(label_smoothing, "label_smoothing")
        self._smoothing, self._partner = self.label_smoothing, "reversed"

    def _step(self):
        minmax = self.cutmix_minmax or (0.0, 0.0)
        numbers = (self.mixup_alpha, self.cutmix_alpha, *minmax, self.prob, self.switch_prob)
        return (self._name, *numbers, self.mode, int(self.correct_lam), self._partner, self.end_epoch or 0)


def one_of(transforms, weights):
    """Returns the single step that equals RandomChoice([MixUp, CutMix]), as torchvision's references
    have it. None: it chooses from other transforms.
    """
    if not any(isinstance(one, _Mixing) for one in transforms):
        return None
    kinds = {type(one): (one, weight) for one, weight in zip(transforms, weights)}
    if len(transforms) != 2 or kinds.keys() != {MixUp, CutMix}:
        raise ValueError("RandomChoice of steps that mix a batch: expected one MixUp and one CutMix")
    (mixup, first), (cutmix, second) = kinds[MixUp], kinds[CutMix]
    alike = [(one.num_classes, one.labels_getter, one.end_epoch) for one in (mixup, cutmix)]
    if alike[0] != alike[1]:
        raise ValueError("RandomChoice of MixUp and CutMix: num_classes, labels_getter and end_epoch of both must be equal")
    made = TimmMixup(mixup.alpha, cutmix.alpha, None, 1.0, second / (first + second), label_smoothing=0.0, num_classes=mixup.num_classes, end_epoch=mixup.end_epoch)
    made.labels_getter, made._partner = mixup.labels_getter, "previous"
    return made
