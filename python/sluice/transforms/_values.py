# SPDX-License-Identifier: Apache-2.0
"""Checks the arguments of transforms, as torchvision takes them, and returns the library's numbers and
words.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence

from .. import _check, _sluice

RESIZED = ("nearest", "bilinear", "bicubic", "lanczos")  # interpolations of a resize
WARPED = RESIZED[:3]  # of rotations, affine maps and perspectives
PILLOW = {0: "nearest", 1: "lanczos", 2: "bilinear", 3: "bicubic", 4: "box", 5: "hamming"}
LIMITS = {(step, name): (least, most) for step, *_, named in _sluice.steps() for name, _, least, most, _ in named}
LISTS = {step: named[-1][-1] for step, *_, named in _sluice.steps() if named and named[-1][-1]}  # maximum length of a list of numbers
PADDINGS = ("constant", "edge", "reflect", "symmetric")


def _is_int(size):
    return isinstance(size, int) and not isinstance(size, bool)


def pair(size, name="size", sides="(height, width)"):
    """Returns two ints, as torchvision takes sizes."""
    if _is_int(size):
        return size, size
    if not isinstance(size, Sequence) or isinstance(size, (str, bytes, bytearray)):
        raise ValueError(f"{name}={size!r}: expected an int or {sides}")
    size = tuple(size)
    if len(size) == 1:
        size *= 2
    if len(size) != 2 or not all(map(_is_int, size)):
        raise ValueError(f"{name}={size!r}: expected an int or {sides}")
    return size


def is_numbers(value):
    """Returns True for several values, False for one."""
    return hasattr(value, "__iter__") or isinstance(value, (str, bytes))


def whole(step, name, value, argument=None):
    """Returns an int in the range of the library's `argument`, which by default is also called `name`."""
    return _check.integer(name, value, *map(int, LIMITS[step, argument or name]))


def numbers(name, values, wanted, *counts):
    """Returns a tuple of floats, whose length is one of `counts`."""
    made = tuple(_check.number(name, value) for value in _check.items(name, values, wanted))
    if len(made) not in counts:
        raise ValueError(f"{name}={values!r}: expected {wanted}")
    return made


def ends(name, values, wanted="two numbers, the lowest and the highest"):
    """Returns (lowest, highest)."""
    least, most = numbers(name, values, wanted, 2)
    if not least <= most:
        raise ValueError(f"{name}={values!r}: expected the lowest value first")
    return least, most


def ends_or_one(name, value):
    """Returns (lowest, highest), from two numbers or from one."""
    if is_numbers(value):
        return ends(name, value, "a number, or two: the lowest and the highest")
    return (_check.number(name, value),) * 2


def around(name, value, least=0.0):
    """Returns (-value, value), or the two given numbers, as torchvision takes angles."""
    if is_numbers(value):
        return ends(name, value, "a number x, for -x to x, or two: the lowest and the highest")
    value = _check.number(name, value)
    if not value >= least:
        raise ValueError(f"{name}={value!r}: one number is for both directions: expected 0 or more, or two numbers")
    return -value, value


def probability(value, name="p"):
    value = _check.number(name, value)
    if not 0 <= value <= 1:
        raise ValueError(f"{name}={value!r}: expected a probability, 0 to 1")
    return value


def only(name, value, *allowed, instead=""):
    if not any(value is one or (type(value) is type(one) and value == one) for one in allowed):
        raise ValueError(f"{name}={value!r}: expected {' or '.join(map(repr, allowed))}{instead}")


def interpolation(given, known=RESIZED, default="bilinear"):
    """Returns the library's word for a name, torchvision's InterpolationMode, or Pillow's number."""
    value = default if given is None else getattr(given, "value", given)
    name = PILLOW.get(value) if isinstance(value, int) else value.lower() if isinstance(value, str) else None
    name = "nearest" if name == "nearest-exact" else name  # Pillow's nearest is the exact one
    if name in known:
        return name
    if name == "random":
        raise ValueError(
            "interpolation='random' is RandomChoice of the transform with 'bilinear' and of the same with 'bicubic'"
        )
    what = "for a warp, expected" if name in RESIZED else "expected"
    raise ValueError(f"interpolation={given!r}: {what} {', '.join(map(repr, known))}{_check.near(name, known)}")


def antialias(value, word):
    if word != "nearest":  # nearest has no antialiasing
        only("antialias", value, True, "warn", None, instead=": reductions are always antialiased, as in Pillow")


def _channel(name, given, value):
    number = _check.number(name, value)
    if not 0 <= number <= 255 or number != int(number):
        raise ValueError(f"{name}={given!r}: expected a whole number, 0 to 255, the value of an 8-bit pixel")
    return int(number)


def fill(given, name="fill"):
    """Returns the library's three numbers for None (black), one number, or three; -1: as the first."""
    if isinstance(given, Mapping):
        raise TypeError(f"{name}={given!r}: a transform here changes images only: give their number")
    if given is None:
        return 0, -1, -1
    if not is_numbers(given):
        return _channel(name, given, given), -1, -1
    values = _check.items(name, given, "a number, or three: R, G, B")
    if len(values) not in (1, 3):
        raise ValueError(f"{name}={given!r}: expected a number, or three: R, G, B")
    made = tuple(_channel(name, given, value) for value in values)
    return made if len(made) == 3 else (*made, -1, -1)


def padding(given, name="padding"):
    """Returns (left, top, right, bottom) from one number, (left and right, top and bottom), or four."""
    sides = [given] if not is_numbers(given) else _check.items(name, given, "an int, two or four")
    sides = [_check.integer(name, side, 0, 16384) for side in sides]
    if len(sides) not in (1, 2, 4):
        raise ValueError(f"{name}={given!r}: expected an int, (left and right, top and bottom), or (left, top, right, bottom)")
    return tuple(sides * (4 // len(sides)))


def word(name, given, known, more=""):
    """Returns the word, if it is one of `known`."""
    if not isinstance(given, str) or given not in known:
        expected = f"expected one of {', '.join(map(repr, known))}{more or _check.near(given, known)}"
        raise ValueError(f"{name}={given!r:.80}: {expected}")
    return given
