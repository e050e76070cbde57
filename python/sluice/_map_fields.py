# SPDX-License-Identifier: Apache-2.0
"""The fields of the results of `map`: given, or found in the first results.

A field with the name and type of one of the source's is that field, with its meaning. The type of
others depends on the value: str, int, float, bytes, a PIL image, an array (a tensor whose first
dimension differs from sample to sample), a list of ints (int32). Values of unclear type are an
error; None and empty lists leave the question to the next result.
"""
from __future__ import annotations

from collections.abc import Mapping

from ._names import DTYPE_NAMES, dtype_number

LOOK = 1000  # most results examined
_LETTERS = {"b": "int8", "h": "int16", "i": "int32", "l": "int64", "q": "int64", "B": "uint8", "H": "uint16", "I": "uint32", "L": "uint64",
            "Q": "uint64", "e": "float16", "f": "float32", "d": "float64", "?": "bool"}  # fmt: skip


def results_of(made):
    """Returns the function's results as a list of dicts. Raises TypeError for other values."""
    if made is None:
        return []
    if isinstance(made, Mapping):
        return [made]
    if isinstance(made, (list, tuple)) and all(isinstance(one, Mapping) for one in made):
        return list(made)
    shown = "a list of other values" if isinstance(made, (list, tuple)) else f"{made!r:.60}"
    raise TypeError(f"map returned {shown}: expected a dict of fields, a list of dicts, or None to leave the sample out")


class Finder:
    """Finds the fields, by name, from one result after the other. `open`: names whose type is not
    known yet.
    """

    def __init__(self, source_fields):
        self._source, self._found, self._looked = source_fields, {}, 0

    @property
    def open(self):
        return [name for name, field in self._found.items() if field is None]

    @property
    def done(self):
        return bool(self._found) and not self.open

    def look(self, result):
        """Takes a result into account. Raises TypeError for a value that cannot be a field's, or has
        no clear type.
        """
        self._looked += 1
        is_first = not self._found
        for name, value in result.items():
            if not isinstance(name, str):
                raise TypeError(f"map returned a field {name!r}: names of fields must be str")
            if self._found.get(name) is None:
                if not is_first and name not in self._found:
                    raise TypeError(f"map returned a field {name!r} that its first result lacks: {_GIVE}")
                self._found[name] = self._field(name, value)
        if not self._found:
            raise TypeError("map returned a dict without fields: None leaves a sample out")
        if self._looked >= LOOK:
            self.end()

    def end(self):
        """Records that there are no more results."""
        if self.open:
            raise TypeError(f"map returned no value of field {self.open[0]!r} in the first {self._looked} results: {_GIVE}")

    def fields(self):
        """Returns the fields in the form that sluice.Writer takes."""
        return dict(self._found)

    def _field(self, name, value):
        if value is None:
            return None
        field = self._source.get(name)
        if field is not None and _is_of(field, value):
            kind = ("tensor", field.dtype, tuple(field.shape)) if field.type == "tensor" else (field.type,)
            return (*kind, dict(field.meaning)) if field.meaning else kind
        return _kind_of(name, value)


_GIVE = "name all fields and their types, as sluice.Writer has them: map_fields={...}"


def _array_dtype(value):
    """Returns the name of an array's dtype; None: the value is not an array."""
    if isinstance(value, memoryview):
        return _LETTERS.get(value.format.lstrip("@=<"))
    if not hasattr(value, "shape") or not hasattr(value, "dtype"):
        return None
    try:
        return DTYPE_NAMES[dtype_number(value.dtype)]
    except ValueError:
        return str(value.dtype)


def _is_of(field, value):
    dtype = _array_dtype(value)
    if field.type == "image":
        return isinstance(value, (bytes, bytearray, memoryview)) or hasattr(value, "convert") or dtype == "uint8"
    if field.type == "tensor":
        if isinstance(value, (bytes, bytearray)):
            return field.dtype in ("float16", "bfloat16")  # a dataset returns these as bytes
        return dtype == field.dtype or (isinstance(value, (list, tuple)) and dtype is None)
    kinds = {"int": int, "float": (int, float), "text": str, "bytes": (bytes, bytearray, memoryview)}
    return isinstance(value, kinds.get(field.type, ())) and not isinstance(value, bool)


def _kind_of(name, value):
    for kind, types in (("text", str), ("int", int), ("float", float), ("bytes", (bytes, bytearray))):
        if isinstance(value, types):
            return (kind,)
    if isinstance(value, (list, tuple)):
        return _kind_of_list(name, value)
    dtype = _array_dtype(value)
    if dtype is not None:
        shape = tuple(value.shape)
        if not shape:
            return ("float",) if dtype.startswith(("float", "bfloat")) else ("int",)
        dtype_number(dtype)  # ValueError: unknown dtype
        return ("tensor", dtype, (0, *shape[1:]))
    if callable(getattr(value, "convert", None)):
        return ("image",)
    raise TypeError(
        f"map returned {type(value).__name__} as field {name!r}: expected str, int, float, bytes, a list of ints, an array or a PIL image"
    )


def _kind_of_list(name, value):
    if not value:
        return None
    if all(hasattr(one, "__index__") for one in value):
        return ("tensor", "int32", (0,))
    raise TypeError(f"map returned a list of {type(value[0]).__name__} as field {name!r}: return a numpy array, which has a dtype; or {_GIVE}")
