# SPDX-License-Identifier: Apache-2.0
"""Python's words for the library's options and numbers, from the library's own table
(sluice/describe.h).
"""
from __future__ import annotations

from collections import namedtuple

from . import _check, _sluice
from ._check import near, wrong

STRUCTS = ("loader", "column", "dataset", "writer", "pack", "unpack", "verify")  # in the order of sluice_options
U32, U64, I32, I64, REAL, FLAG, WORD, TEXT = range(8)  # sluice_option_type
NANOSECONDS = 2  # sluice_option_unit
LIMITS = {U32: 2**32 - 1, U64: 2**64 - 1, I32: 2**31 - 1, I64: 2**63 - 1}


class Option(namedtuple("Option", "name keyword type unit least most words help")):
    @property
    def choices(self):
        """Numbers by the words that users write."""
        return {word.replace("-", "_"): self.least + number for number, word in enumerate(self.words)}

    def value(self, given, choices=None, integer=_check.integer):
        """Returns the library's value for a caller's; `choices` are additional words."""
        if self.type == WORD:
            return choice(self.keyword, given, (choices or {}) | self.choices)
        if self.type == FLAG:
            return int(_check.flag(self.keyword, given))
        if self.type == TEXT:
            return _check.path(self.keyword, given)
        if self.type == REAL:
            return _check.number(self.keyword, given)
        if self.unit == NANOSECONDS:
            return max(1, round(seconds(self.keyword, given) * 1e9))
        most = self.most if self.least < 0 else LIMITS[self.type]  # 0 requests a default; the library checks the upper limit
        return integer(self.keyword, given, min(self.least, 0), most)


EXIFS = {True: 1, False: 2}  # besides the library's words
TABLES = {name: {row[0]: Option(*row) for row in _sluice.options(number)} for number, name in enumerate(STRUCTS)}


def keywords(struct):
    """Returns the options of a struct that are arguments, by their names in Python."""
    return {option.keyword: option for option in TABLES[struct].values() if option.keyword}


def values(call, struct, given, choices=None, integer=_check.integer):
    """Returns those arguments of `call` (_check.named) that are options of `struct`, in the library's
    form.
    """
    return {
        option.name: option.value(given[keyword], (choices or {}).get(keyword), integer)
        for keyword, option in keywords(struct).items()
        if keyword in given and not (given[keyword] is None and keyword in call.optional)
    }


def seconds(name, given):
    """Returns the seconds, checked."""
    if not _check.number(name, given) > 0:
        raise ValueError(f"{name}={given!r}: expected seconds above 0")
    return given


# ---- dtypes ----

_SHORT = list(TABLES["column"]["dtype"].choices)
_LONG = {"u": "uint", "i": "int", "f": "float", "bf": "bfloat"}


def _long(word):
    kind = word.rstrip("0123456789")
    return _LONG.get(kind, kind) + word[len(kind) :]


DTYPE_NAMES = {number: _long(word) for number, word in enumerate(_SHORT)}
DTYPES = {name: number for number, name in DTYPE_NAMES.items()} | TABLES["column"]["dtype"].choices | {"float": 1, "half": 2}


def dtype_number(dtype, known=DTYPES, there_are="expected one of"):
    """Returns the library's number for 'float16', numpy.float16, torch.float16, ..."""
    name = dtype if isinstance(dtype, str) else getattr(dtype, "__name__", None) or str(dtype)
    name = name.removeprefix("torch.")
    if name not in known:
        names = ", ".join(name for name in DTYPE_NAMES.values() if name in known)
        raise ValueError(f"unknown dtype {dtype!r}: {there_are} {names}{near(name, known)}")
    return known[name]


def picture_dtype_number(dtype):
    """Returns the number of a dtype that images can have."""
    of_pictures = TABLES["loader"]["dtype"].choices.values()
    return dtype_number(dtype, {name: number for name, number in DTYPES.items() if number in of_pictures}, "images can be")


def layout_number(layout):
    words = TABLES["column"]["layout"].choices
    return choice("layout", layout, {word.upper(): number for word, number in words.items()} | words)


def choice(option, value, choices):
    """Returns the number that `value` stands for. The error lists the possible values."""
    known = "one of " + ", ".join(repr(key) for key in choices)
    try:
        if value not in choices:
            raise ValueError(f"{option}={value!r}: expected {known}{near(value, choices)}")
    except TypeError:  # an unhashable value
        raise wrong(option, value, known) from None
    return choices[value]
