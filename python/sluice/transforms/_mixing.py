# SPDX-License-Identifier: Apache-2.0
"""What mixes the pictures of a batch, as the last step of the library."""
from __future__ import annotations

import functools

from .. import _check
from . import _values
from ._base import Transform

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .._types import Values


def _by_name(function):
    """The __init__, whose TypeError for an argument without its name says what to write."""

    known = function.__code__.co_varnames[1 : 1 + function.__code__.co_kwonlyargcount]

    @functools.wraps(function)
    def call(self, *unnamed, **named):
        if unnamed:
            name, given = type(self).__name__, f"{unnamed[0]!r:.80}"
            raise TypeError(f"{name}({given}): arguments are given by their names: {name}(alpha={given})")
        for name in named:
            if name not in known:
                raise TypeError(f"{type(self).__name__} has no argument {name!r}: it has {', '.join(known)}; MixUp.timm(...) has timm's")
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
            raise ValueError(f"labels_getter={labels_getter!r}: labels are mixed with num_classes=, and stay as they are without it")
        self.num_classes = None if num_classes is None else _check.integer("num_classes", num_classes, 1, 2**31 - 1)
        self.labels_getter = None if labels_getter == "default" else labels_getter


class _OfTwo(_Mixing):
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
    """Each picture with the one of the row before it, by a share that is drawn from Beta(alpha, alpha) for the batch.

    num_classes: labels become rows of so many numbers, shares of classes, as torchvision's do; it needs a loader without
    columns= (else say it there: sluice.columns.OneHot(..., mixes="image")). None: labels stay numbers, and the columns
    'image.mixed_with' (the row that was mixed in) and 'image.weight' (the share of the row itself) say the rest.
    labels_getter: the name of the field that has the labels, if it is not "label". end_epoch: the first epoch without mixing, whose
    batches are those of a recipe without this step, shares of labels aside [None: all are mixed]. timm's is MixUp.timm.
    """

    _name = "mixup"

    @staticmethod
    def timm(
        mixup_alpha: float = 1.0, cutmix_alpha: float = 0.0, cutmix_minmax: Values | None = None, prob: float = 1.0,
        switch_prob: float = 0.5, mode: str = "batch", correct_lam: bool = True, label_smoothing: float = 0.1,
        num_classes: int | None = 1000, *, end_epoch: int | None = None,
    ) -> TimmMixup:  # fmt: skip
        """timm's Mixup, which is both: each picture with that of the row as far from the batch's end. end_epoch: timm's
        --mixup-off-epoch, from which on labels are smoothed still."""
        return TimmMixup(
            mixup_alpha, cutmix_alpha, cutmix_minmax, prob, switch_prob, mode, correct_lam, label_smoothing, num_classes, end_epoch=end_epoch
        )


class MixUpPartner(Transform):
    """The picture and one of other samples, in shares of r and 1 - r, r drawn from Beta(alpha, alpha): MixUp across an epoch.

    What stands before it is drawn twice, with numbers of their own: for the row's sample (behind a Mosaic for that and its
    partners), and for the partners that follow (partner=1 of columns; behind a Mosaic of 4 partner=4 to 7; partners= of the
    loader says which samples they are). What stands behind it is done to the blend. Steps before it give one size. Boxes,
    points, masks of instances and what follows them are those of both, the row's own first; a mask of labels
    (sluice.columns.Mask) is refused, since labels cannot be blended. Shares are the column 'image.share' of r, float32, 1
    where nothing was mixed in: a loss of labels is r of the sample's and 1 - r of partner 1's. alpha: above 0, up to 1e9.
    p: how often, else the row's own alone. From epoch `end_epoch` on never, and the other samples are not read. Once in
    a recipe, in no group, without MixUp and CutMix, which are of a batch. Source: arXiv 1710.09412; as data/augment.py of
    ultralytics has it for boxes, whose alpha is 32, and which cuts values off that here are rounded, half to even.
    """

    _name = "mixup_partner"

    def __init__(self, alpha: float = 32.0, p: float = 1.0, end_epoch: int | None = None) -> None:
        self.alpha, self.p = _check.number("alpha", alpha), _values.probability(p)
        if not 0 < self.alpha <= 1e9:
            raise ValueError(f"alpha={alpha!r}: expected a number above 0, up to 1e9; without mixing, leave the step out")
        self.end_epoch = None if end_epoch is None else _check.integer("end_epoch", end_epoch, 1, 2**32 - 1)

    def _step(self):
        return (self._name, self.alpha, self.p, self.end_epoch or 0)


class CopyPaste(Transform):
    """Objects of another sample's picture over this one, by their shapes: Simple Copy-Paste.

    What stands before it is drawn twice, with numbers of their own: for the row's sample (behind a Mosaic for that and its
    partners), and for the partners that follow, whose objects are pasted (partner=1 of columns; behind a Mosaic of 4 partner=4
    to 7; partners= of the loader says which samples they are). What stands behind it is done to what comes of it. Steps
    before it give one size. The objects are those of the column of boxes that follows the picture, which needs shapes=.
    Each that is kept is pasted with the chance `share`, 0 excluded, up to 1. Its box, and what follows it, comes behind those
    of the row's own; of these an object that is covered has the box of its pixels that are left, no larger than it was; its
    mask is without the rest, its points that are covered have COCO's visibility 1; one that the rule of the boxes does not
    keep, or nothing is left of, is gone with all that belongs to it. Masks of pixels have the partner's where it is pasted.
    p: how often, else the row's own alone. From epoch `end_epoch` on never, and the other samples are not read. Once in a
    recipe, in no group, without MixUpPartner, MixUp and CutMix. Source: arXiv 2012.07177; edges
    are not blended, which its authors found to do as well.
    """

    _name = "copy_paste"

    def __init__(self, p: float = 1.0, share: float = 0.5, end_epoch: int | None = None) -> None:
        self.p, self.share = _values.probability(p), _check.number("share", share)
        if not 0 < self.share <= 1:
            raise ValueError(f"share={share!r}: expected a number above 0, up to 1; to paste nothing, leave the step out")
        self.end_epoch = None if end_epoch is None else _check.integer("end_epoch", end_epoch, 1, 2**32 - 1)

    def _step(self):
        return (self._name, self.p, self.share, self.end_epoch or 0)


class CutMix(_OfTwo):
    """A rectangle of each picture from that of the row before it, of a share of the area that is drawn from
    1 - Beta(alpha, alpha) for the batch. Arguments are as of MixUp."""

    _name = "cutmix"


class TimmMixup(_Mixing):
    """timm's Mixup, of its arguments (MixUp.timm makes it)."""

    _name = "timm_mix"

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
    """Of RandomChoice([MixUp, CutMix]), as torchvision's references have it: the one step that is the same. None: it is
    a choice of something else."""
    if not any(isinstance(one, _Mixing) for one in transforms):
        return None
    kinds = {type(one): (one, weight) for one, weight in zip(transforms, weights)}
    if len(transforms) != 2 or kinds.keys() != {MixUp, CutMix}:
        raise ValueError("RandomChoice of what mixes a batch: of one MixUp and one CutMix")
    (mixup, first), (cutmix, second) = kinds[MixUp], kinds[CutMix]
    alike = [(one.num_classes, one.labels_getter, one.end_epoch) for one in (mixup, cutmix)]
    if alike[0] != alike[1]:
        raise ValueError("RandomChoice of MixUp and CutMix: num_classes, labels_getter and end_epoch of both have to be the same")
    made = TimmMixup(mixup.alpha, cutmix.alpha, None, 1.0, second / (first + second), label_smoothing=0.0, num_classes=mixup.num_classes, end_epoch=mixup.end_epoch)
    made.labels_getter, made._partner = mixup.labels_getter, "previous"
    return made
