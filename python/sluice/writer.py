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
    """What a field means as the library has it, from {"role": "boxes", "box_format": "xywh", ...}."""
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
    """What a field is, from 'image', ('tensor', dtype, shape), ..., with what it means as a dict at the end."""
    meaning = getattr(what, "meaning", None)  # of another dataset's field
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
        raise TypeError(f"fields[{name!r}]: {kind} takes nothing more than its meaning, a dict")
    return name, number, 0, (), COMPRESSION["auto"], *meaning


def _array(name, values, dtype, shape):
    """Lists of numbers as an array; what the dtype cannot hold is refused."""
    import numpy

    given = numpy.asarray(values)
    if given.size == 0:
        return numpy.empty((0, *shape[1:]), "uint16" if dtype == "bfloat16" else dtype)
    if dtype == "bfloat16" or given.dtype.kind not in "biuf":
        raise TypeError(f"{name}: lists of numbers cannot become {dtype}")
    made = given.astype(dtype)
    if made.dtype.kind != "f" and not (made == given).all():
        raise ValueError(f"{name}: numbers that {dtype} cannot hold")
    return made


def _rows_of_points(value, shape):
    """Points [objects, points, 3] as the field has them, objects x (3 points): data[i] has the former."""
    given = getattr(value, "shape", ())
    if len(shape) != 2 or len(given) != 3 or given[2] != 3 or given[1] * 3 != shape[1]:
        return value
    if not isinstance(value, memoryview):
        return value.reshape(given[0], shape[1])
    return value.cast("B").cast(value.format, [given[0], shape[1]]) if given[0] else b""


class Writer:
    """Makes packed shards, sample by sample.

        with sluice.Writer("packed", fields={"image": "image", "caption": "text"}) as writer:
            for path, caption in samples:
                writer.add(image=open(path, "rb").read(), caption=caption)

    path: the folder, made when it is missing (one level).
    fields: what samples hold, by name: 'image', 'int', 'float', 'bytes', 'text' or ('tensor', dtype,
        shape), where a 0 in shape differs from sample to sample [image, label (an int) and key (a text)]. A dict at the
        end says what the values mean, which columns then go by and other tools see, in the words of Field.meaning:
        ("tensor", "float32", (0, 4), {"role": "boxes", "box_format": "xywh", "coordinates": "pixels"}),
        ("tensor", "int64", (0,), {"per_box": True}), ("image", {"orientation": "upright"}). `fields` of a Dataset can be
        given, too: the same fields.
    classes: names of the classes, by label.
    overwrite: remove the shards of an earlier dataset in the folder instead of refusing.
    keep_bytes: store JPEGs as they are instead of re-tiling them without loss.
    zstd: 'auto' (fields that become smaller by a quarter), 'off', or a level, 1 to 19.
    shard_bytes: a shard is closed before it would pass this [256 MiB].

    Leaving the `with` block finishes the dataset; with an exception it is given up, and no manifest
    written. One thread at a time, of the process that opened it: to a forked child it is nothing.
    """

    @_check.named
    def __init__(
        self, path: str | os.PathLike[str], fields: Mapping[str, Any] | None = None, *, classes: Sequence[str] = (),
        overwrite: bool = False, keep_bytes: bool = False, zstd: str | int = "auto", shard_bytes: int = 0,
    ) -> None:  # fmt: skip
        given = locals()
        fields = {"image": "image", "label": "int", "key": "text"} if fields is None else fields
        _check.mapping("fields", fields, "a dict of types by name")
        if not fields:
            raise ValueError("fields: a sample has 1 at least")
        self.path = _check.path("path", path)
        self.fields = list(fields)
        options = values(Writer.__init__, "writer", given | {"zstd": _check.zstd_level(zstd)})
        classes = _check.texts("classes", classes, "the names, a list")
        made = [_field(name, what) for name, what in fields.items()]
        self._kinds = {name: (TYPE_NAMES[kind], DTYPE_NAMES.get(dtype), shape) for name, kind, dtype, shape, *_ in made}
        self._handle = _sluice.Writer(self.path, options, made, classes)

    def add(self, /, **values: Any) -> None:
        """Adds a sample: a value for each field, by name; a field left out, or None, is missing in it.

        image: the bytes of a JPEG, PNG or WebP, or pixels (uint8, height x width x 3), also as a PIL image. int, float:
        numbers. text: str. bytes: anything with the buffer protocol. tensor: an array of the field's dtype
        (numpy's, torch's on the CPU, memoryviews; bfloat16 as uint16), its bytes, or lists of numbers.

        CorruptError and UnsupportedError are of this sample: nothing was added, and the next may follow.
        """
        unknown = values.keys() - set(self.fields)
        if unknown:
            raise TypeError(f"no field {sorted(unknown)[0]!r}: there are {', '.join(self.fields)}")
        self._handle.add([_rows_of_points(self._plain(name, values.get(name)), self._kinds[name][2]) for name in self.fields])

    def _plain(self, name, value):
        """The value as something with the buffer protocol, where its field takes that."""
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
        """Completes the last shard and writes the manifest."""
        self._handle.finish()

    def abort(self) -> None:
        """Gives the unfinished shard up. Complete shards stay, without a manifest."""
        self._handle.abort()

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        if kind is None:
            self.finish()
        else:
            self.abort()

    def __repr__(self):
        return f"sluice.Writer({self.path!r}, fields={self.fields})"
