# SPDX-License-Identifier: Apache-2.0
"""Base class of columns."""
from __future__ import annotations

import functools

from . import _check
from ._names import TABLES, dtype_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

TINY = 1e-30  # stands for 0, which in the library means the default

_RELATIVE = {None: "auto", True: "relative", False: "pixels"}


def _remembered(init):
    """Wraps a constructor so that the object keeps its arguments; inspect sees the signature of the
    original.
    """

    @functools.wraps(init)
    def __init__(self, *arguments, **named):
        if self._given is None:
            self._given = arguments, named
        init(self, *arguments, **named)

    return __init__


class Column:
    """Base class of columns.

    Args:
        field: field of the dataset [the column's name].
        missing: action when the field is missing: 'bad' (the sample is bad) or 'blank' (its row is
            zero, empty, or -1) ['bad'].
        partner: 0 reads the row's own sample, 1 to 31 that partner sample (`partners` of the
            loader). Columns that follow this one read the same sample [0].
    """

    _kind = ""
    _given: tuple[tuple[Any, ...], dict[str, Any]] | None = None  # the arguments, for repr
    field: str | None
    _functions: list[Any]
    _values: dict[str, Any]

    def __init_subclass__(cls) -> None:
        if "__init__" in vars(cls):
            cls.__init__ = _remembered(cls.__init__)  # type: ignore[method-assign]

    def __init__(self, field: str | None = None, *, missing: str = "bad", partner: int = 0) -> None:
        self.field = None if field is None else _check.text("field", field)
        self._functions = []
        self._values = {"kind": self._kind}
        self._set("missing", missing)
        if partner != 0:
            self._values["partner"] = _check.integer("partner", partner, 0, 31)

    def _set(self, name, value):
        self._values[name] = TABLES["column"][name].value(value)

    def _set_dtype(self, dtype):
        if dtype is not None:
            self._values["dtype"] = dtype_number(dtype)

    def _set_follows(self, follows):
        if follows is not None:
            self._values["follows"] = _check.text("follows", follows)

    def _set_length(self, length):
        if length is not None:
            self._set("length", length)

    def _set_orientation(self, orientation):
        self._set("orientation", orientation)

    def _set_relative(self, relative):
        """Sets the coordinates. None: the field's; True: fractions; False: pixels; or the library's
        words.
        """
        flag = relative is None or isinstance(relative, bool)
        self._set("relative", _RELATIVE[relative] if flag else relative)

    def _dict(self, name):
        return {"field": self.field or name, "name": name, **self._values}

    def __repr__(self) -> str:
        arguments, named = self._given or ((), {})
        given = [*map(repr, arguments), *(f"{name}={value!r}" for name, value in named.items())]
        return f"sluice.columns.{type(self).__name__}({', '.join(given)})"
