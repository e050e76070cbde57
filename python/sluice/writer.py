# SPDX-License-Identifier: Apache-2.0
"""sluice.Writer."""
from __future__ import annotations

from collections.abc import Mapping

from . import _check, _sluice
from ._meanings import MEANINGS
from ._names import DTYPE_NAMES, choice, dtype_number, values

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Sequence
    from typing import Any

TYPES = {"image": 1, "int": 2, "float": 3, "bytes": 4, "text": 5, "tensor": 6}
TYPE_NAMES = {number: name for name, number in TYPES.items()}
COMPRESSION = {"auto": 0, "never": 1, "always": 2}


def _meaning(name, given):
    """Returns a field's meaning in the library's form, from {"role": "boxes", "box_format": "xywh",
    ...}.
    """
    name = f"fields[{name!r}]"
    for key in given:
        if key not in MEANINGS and key != "of":
            raise ValueError(f"{name}: {key!r} is not part of a meaning; expected {', '.join([*MEANINGS, 'of'])}{_check.near(key, MEANINGS)}")
    numbers = []
    for key, words in MEANINGS.items():
        value = given.get(key)
        if key == "per_box":
            numbers.append(int(_check.flag(f"{name}: per_box", value or False)))
        else:
            numbers.append(choice(f"{name}: {key}", value, {word: number for number, word in words.items()}) if value else 0)
    return tuple(numbers), _check.text(f"{name}: of", given.get("of") or "")


def _field(name, what):
    """Returns a field in the library's form, from 'image', ('tensor', dtype, shape), ..., which may
    end with a dict of its meaning.
    """
    meaning = getattr(what, "meaning", None)  # a field of another dataset
    if meaning is not None:
        what = (*((what.type, what.dtype, what.shape) if what.type == "tensor" else (what.type,)), meaning)
    if isinstance(what, str):
        what = (what,)
    if not isinstance(what, (tuple, list)) or not what:
        raise _check.wrong(f"fields[{name!r}]", what, "a type, or ('tensor', dtype, shape)")
    kind, *rest = what
    meaning = _meaning(name, rest.pop() if rest and isinstance(rest[-1], Mapping) else {})
    number = choice(f"fields[{name!r}]", kind, TYPES)
    if kind == "tensor":
        if len(rest) != 2:
            raise TypeError(f"fields[{name!r}]: expected ('tensor', dtype, shape); a 0 in shape differs by sample")
        return name, number, dtype_number(rest[0]), _check.shape(f"fields[{name!r}]: shape", rest[1]), COMPRESSION["auto"], *meaning
    if rest:
        raise TypeError(f"fields[{name!r}]: {kind} takes only a dict of its meaning")
    return name, number, 0, (), COMPRESSION["auto"], *meaning


def _array(name, values, dtype, shape):
    """Returns lists of numbers as an array. Raises ValueError for numbers that the dtype cannot hold."""
    import numpy

    given = numpy.asarray(values)
    if given.size == 0:
        return numpy.empty((0, *shape[1:]), "uint16" if dtype == "bfloat16" else dtype)
    if dtype == "bfloat16" or given.dtype.kind not in "biuf":
        raise TypeError(f"{name}: lists of numbers cannot become {dtype}")
    made = given.astype(dtype)
    if made.dtype.kind != "f" and not (made == given).all():
        raise ValueError(f"{name} contains a number that {dtype} cannot represent")
    return made


def _rows_of_points(value, shape):
    """Returns points [objects, points, 3], as data[i] has them, in the field's shape: objects x (3
    points).
    """
    given = getattr(value, "shape", ())
    if len(shape) != 2 or len(given) != 3 or given[2] != 3 or given[1] * 3 != shape[1]:
        return value
    if not isinstance(value, memoryview):
        return value.reshape(given[0], shape[1])
    return value.cast("B").cast(value.format, [given[0], shape[1]]) if given[0] else b""


class Writer:
    """Writes packed shards, sample by sample.

    Leaving a `with` block finishes the dataset; an exception abandons it, without a manifest. Use
    it on one thread at a time, in the process that opened it. In a forked child, it does nothing.

    Args:
        path: the folder; created if missing (one level).
        fields: fields of a sample, by name: 'image', 'int', 'float', 'bytes', 'text' or ('tensor',
            dtype, shape), where a dimension of 0 differs from sample to sample. A dict at the end
            gives the values' meaning in the words of Field.meaning, which columns and tools use:
            ("tensor", "float32", (0, 4), {"role": "boxes", "box_format": "xywh", "coordinates":
            "pixels"}), ("tensor", "int64", (0,), {"per_box": True}), ("image", {"orientation":
            "upright"}). Or the `fields` of a Dataset, for the same fields [image, label (an int)
            and key (a text)].
        classes: class names, by label [none].
        overwrite: True removes the shards of an earlier dataset in the folder; otherwise they are
            an error [False].
        keep_bytes: True stores JPEGs unchanged instead of re-tiling them without loss [False].
        zstd: compression: 'auto' (fields that shrink by a quarter), 'off', or a level, 1 to 19
            ['auto'].
        shard_bytes: a shard is closed before it would exceed this size [256 MiB].

    Raises:
        ValueError: a field, type or option is not valid.
        StateError: the folder holds another dataset.

    Example:
        >>> with sluice.Writer("written", {"image": "image", "caption": "text"}) as writer:
        ...     writer.add(image=open("photo.jpg", "rb").read(), caption="a photo")
        >>> sluice.Dataset("written")[0]["caption"]
        'a photo'
    """

    path: str | bytes
    fields: list[str]

    @_check.named
    def __init__(
        self, path: str | os.PathLike[str], fields: Mapping[str, Any] | None = None, *, classes: Sequence[str] = (),
        overwrite: bool = False, keep_bytes: bool = False, zstd: str | int = "auto", shard_bytes: int = 0,
    ) -> None:  # fmt: skip
        given = locals()
        fields = {"image": "image", "label": "int", "key": "text"} if fields is None else fields
        _check.mapping("fields", fields, "a dict of types by name")
        if not fields:
            raise ValueError("fields: a sample needs at least one field")
        self.path = _check.path("path", path)
        self.fields = list(fields)
        options = values(Writer.__init__, "writer", given | {"zstd": _check.zstd_level(zstd)})
        classes = _check.texts("classes", classes, "the names, a list")
        made = [_field(name, what) for name, what in fields.items()]
        self._kinds = {name: (TYPE_NAMES[kind], DTYPE_NAMES.get(dtype), shape) for name, kind, dtype, shape, *_ in made}
        self._handle = _sluice.Writer(self.path, options, made, classes)

    def add(self, /, **values: Any) -> None:
        """Adds a sample: a value for each field, by name.

        A field that is omitted, or None, is missing in the sample.

        After a CorruptError or UnsupportedError, which concern this sample, nothing was added and
        the next sample may follow.

        Args:
            values: for an image, the bytes of a JPEG, PNG or WebP, or pixels (uint8, height x width
                x 3), also as a PIL image; for int and float, a number; for text, a str; for bytes,
                any buffer; for a tensor, an array of the field's dtype (numpy, torch on the CPU,
                memoryview; bfloat16 as uint16), its bytes, or lists of numbers.

        Raises:
            TypeError: a field is unknown, or a value has the wrong type.
            CorruptError: an image is damaged.
            UnsupportedError: an image uses a feature that the library lacks, or the sample is too
                large.

        Example:
            >>> with sluice.Writer("numbers", {"x": "int", "box": ("tensor", "float32", (4,))}) as writer:
            ...     writer.add(x=3, box=[0.0, 0.0, 8.0, 8.0])
        """
        unknown = values.keys() - set(self.fields)
        if unknown:
            raise TypeError(f"unknown field {sorted(unknown)[0]!r}: the fields are {', '.join(self.fields)}")
        self._handle.add([_rows_of_points(self._plain(name, values.get(name)), self._kinds[name][2]) for name in self.fields])

    def _plain(self, name, value):
        """Returns the value as an object with the buffer protocol, where its field takes one."""
        kind, dtype, shape = self._kinds[name]
        if kind not in ("image", "tensor") or isinstance(value, (bytes, bytearray, memoryview)):
            return value
        if kind == "tensor" and isinstance(value, (list, tuple)):
            return _array(name, value, dtype, shape)
        if kind == "image" and callable(getattr(value, "convert", None)):
            value = value.convert("RGB")
        if str(getattr(value, "dtype", None)) == "torch.bfloat16":
            import torch

            return value.contiguous().view(torch.int16).numpy().view("uint16")
        if hasattr(value, "__array__") or hasattr(value, "__array_interface__"):
            import numpy

            return numpy.asarray(value, order="C")
        return value

    def finish(self) -> None:
        """Completes the last shard and writes the manifest.

        Example:
            >>> writer = sluice.Writer("finished", {"x": "int"})
            >>> writer.add(x=3)
            >>> writer.finish()
        """
        self._handle.finish()

    def abort(self) -> None:
        """Abandons the unfinished shard. Complete shards stay, without a manifest.

        Example:
            >>> writer = sluice.Writer("aborted", {"x": "int"})
            >>> writer.abort()
        """
        self._handle.abort()

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        if kind is None:
            self.finish()
        else:
            self.abort()

    def __repr__(self) -> str:
        return f"sluice.Writer({self.path!r}, fields={self.fields})"
