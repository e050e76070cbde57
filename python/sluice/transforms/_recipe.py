# SPDX-License-Identifier: Apache-2.0
"""Turns a list of transforms into the library's steps."""
from __future__ import annotations

from collections import namedtuple

from .. import _check, _sluice
from . import _mixing
from ._base import Compose, Transform, one_line
from ._conversions import ANSWERS, ToPILImage
from ._groups import RandomChoice

Recipe = namedtuple("Recipe", ["steps", "dtype", "functions", "mixing"])
Recipe.__doc__ = "A transform for the library: its steps, the images' dtype, functions of Python, and the step that mixes, or None."

SIZED = [name for name, _, _, gives_size, _ in _sluice.steps() if gives_size]
BEHIND = {"center_crop": " (after Resize of an int)", "fixed_size_crop": " (after ScaleJitter)"}


def _classes():
    """Returns the classes of the steps."""
    from .. import transforms

    return [one for one in vars(transforms).values() if isinstance(one, type) and issubclass(one, Transform)]


def _advice(transform):
    """Returns the error text for a transform of torchvision or of the user's: what to use instead."""
    import difflib

    from . import __all__ as known

    name = getattr(transform, "__name__", None) or type(transform).__name__
    if isinstance(transform, type) and issubclass(transform, Transform):
        return f"transform: {name} is a class: expected an instance, {name}(...)"
    if type(transform).__module__ == "builtins" and not callable(transform):
        named = [step.__name__ for step in _classes() if step._name == transform is not None]
        meant = f"; {named[0]}(...) does {transform!r}" if named else _check.near(transform, known)
        said = f"transform: {transform!r:.80} is of type {type(transform).__name__}"
        return f"{said}: expected transforms of sluice.transforms, such as RandomResizedCrop(224), or a list of them{meant}"
    if getattr(transform, "__module__", "") == __package__ + ".presets":
        return f"transform: presets.{name} is a function: write presets.{name}(...)"
    near = difflib.get_close_matches(name, known, 1, 0.6)
    if name in known:
        return f"{name} of another library: use sluice.transforms.{name}, the same on the library's threads"
    if name in ANSWERS:
        return f"the library has no {name}: {ANSWERS[name]}"
    nearest = f"the nearest is sluice.transforms.{near[0]}; " if near else ""
    return (
        f"the library has no {name}: {nearest}sluice.transforms.Python(f), as the last step, calls a function of "
        "your own with each batch of images, on the thread that takes batches, which it slows down"
    )


def _flatten(transform):
    if isinstance(transform, Compose):
        transform = transform.transforms
    if isinstance(transform, (list, tuple)):
        return [step for inner in transform for step in _flatten(inner)]
    if not isinstance(transform, Transform):
        raise TypeError(_advice(transform))
    if _is_own(transform):
        raise TypeError(
            f"{type(transform).__name__}: a subclass of Transform is not a step of the library, whose threads run no Python: "
            "sluice.transforms.Python(f), as the last step, calls a function of your own"
        )
    return [transform]


def _is_own(transform):
    """Returns True if the transform is of a class of the user's: neither a step of the library nor one
    with another place in the list.
    """
    own = type(transform)
    return own._name is None and own._place == "pixels" and own._steps is Transform._steps and own._step is Transform._step


class Walk:
    """State of a walk through a list of transforms: the steps so far, which decide what may follow.

    Steps on pixels run on 8-bit values, in the order of the list. After them come dtype and
    normalization (erasing may follow these; its values are then in their units), then the step that
    mixes the images of a batch, then functions of Python. Conversions that change nothing may be
    anywhere before functions of Python, and some of them at the end. `grouped`: True while the
    members of a group are made.
    """

    def __init__(self):
        self.dtype, self.normal, self.floats = None, None, False
        self.functions, self.mixing, self.grouped = [], None, False

    def steps(self, transform, group=None):
        before, self.grouped = self.grouped, group is not None
        try:
            return self._steps_of(transform, group)
        finally:
            self.grouped = before

    def _steps_of(self, transform, group):
        made = []
        for step in _flatten(transform):
            if isinstance(step, RandomChoice):
                step = _mixing.one_of(step.transforms, step.p) or step
            self._check(step, group)
            for one in self._met(step):
                self._append(made, one)
        return made

    @staticmethod
    def _append(steps, step):
        """Appends a step. Joins a resize of the shorter side with a crop that is not larger than it."""
        last = steps[-1] if steps else ("",)
        if step[0] == "center_crop" and last[0] == "resize_shorter" and not last[2] and last[1] >= max(step[1:3]):
            step = ("resize_center_crop", last[1], *step[1:3], last[3])
            steps.pop()
        steps.append(step)

    def _check(self, step, group):
        place = step._place
        if group and place not in ("pixels", "erasing", "group", "anywhere", "end"):
            raise ValueError(f"{one_line(step)} cannot be part of {group}: it works on all images of a batch, after it")
        if self.functions and place not in ("Python", "end"):
            raise ValueError(f"{one_line(step)} comes too late: functions of Python are the last steps")
        if self.mixing is not None and place not in ("Python", "anywhere", "end"):
            raise ValueError(f"{one_line(step)} comes too late: {self.mixing!r} is the library's last step")
        if place == "pixels" and self.floats:
            raise ValueError(f"{one_line(step)} comes too late: it works on 8-bit pixels: put it before dtype and normalization")
        if place == "normalize" and self.normal is not None:
            raise ValueError(f"{one_line(step)} comes too late: the images are normalized already")
        if place == "dtype" and self.floats and not step._floats:
            raise ValueError(f"{one_line(step)} comes too late: the images are floating already")

    def _met(self, step):
        if step._place == "dtype":
            self.dtype, self.floats = step.dtype, step._floats
            return []
        if step._place == "Python":
            self.functions.append(step)
            return []
        made = step._steps(self)
        if step._place == "mixing":
            self.mixing = step
        if step._place == "normalize":
            self.normal, self.floats = step, True
        return made


def names_of(steps):
    """Yields the library's names of the steps, including those inside groups."""
    for step in steps:
        yield step[0]
        if len(step) == 3 and isinstance(step[2], tuple):
            yield from names_of(step[2])


def _overflow(steps):
    """Returns the library's error if its recipe cannot hold all steps; else None. Opening the loader
    reports other errors of a step.
    """
    try:
        _sluice.check_steps(steps)
    except _sluice.StateError as error:
        return error
    except _sluice.InvalidError:
        pass
    return None


def _check_room(transform, steps):
    """Raises ValueError with the transform that exceeds a limit of the library: one transform may
    need several of its steps.
    """
    if _overflow(steps) is None:
        return
    flat, before = _flatten(transform), 0
    for number, step in enumerate(flat, 1):
        made = Walk().steps(flat[:number])
        names, error = list(names_of(made)), _overflow(made)
        if error is not None:
            kind, _, reason = error.reason.partition(": ")
            raise ValueError(
                f"{one_line(step):.200}, step {number} of transform, needs {len(names) - before} of the library's steps, which makes "
                f"{len(names)}, {names.count(kind.replace('sluice_augment_', ''))} of them {kind}: {reason}"
            ) from error
        before = len(names)


def recipe(transform, any_size=False):
    """Returns the Recipe of a transform, or of a list of them. any_size: True lets images keep
    different sizes.
    """
    walk = Walk()
    steps = walk.steps(transform)
    if isinstance((_flatten(transform) or [None])[-1], ToPILImage):
        raise ValueError("ToPILImage() as the last step: batches hold arrays, not Pillow's images: leave it out, and call PIL.Image.fromarray")
    if not any_size and not any(name in SIZED for name in names_of(steps)):
        named = [step.__name__ + BEHIND.get(name, "") for name in SIZED for step in _classes() if step._name == name != "resize"]
        raise ValueError(
            f"the recipe has no fixed output size, which the rows of a batch need: add {', '.join(named)}, or Resize((height, width))"
        )
    _check_room(transform, steps)
    dtype = walk.dtype
    if dtype is None:
        dtype = "float32" if walk.normal is not None else "uint8"
    return Recipe(steps, dtype, walk.functions, walk.mixing)
