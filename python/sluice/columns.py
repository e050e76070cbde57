# SPDX-License-Identifier: Apache-2.0
"""What a batch holds: columns, each made of a field of the dataset.

    sluice.Loader(data, columns={
        "view1": sluice.columns.Image("image", transform=strong),
        "view2": sluice.columns.Image("image", transform=weak, dtype="uint8"),
        "caption": sluice.columns.Ragged(length=512),
        "label": sluice.columns.OneHot(1000),
    })

The key is the column's name; `field` is the dataset's, and the same name where it is not given.
"""
from __future__ import annotations

from . import _check
from . import transforms as _transforms
from ._names import TABLES as _TABLES
from ._names import dtype_number as _dtype_number
from ._names import layout_number as _layout_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ._types import Dtype, Steps

__all__ = ["Image", "Number", "OneHot", "Padded", "Ragged", "Tensor", "Window"]

if not TYPE_CHECKING:

    def __getattr__(name):
        raise _check.missing_name(__name__, name, __all__)



class Column:
    """One column. `missing`: 'bad' (a sample without the field is a bad one) or 'blank' (its row is
    zero, empty, or -1)."""

    _kind = ""

    def __init__(self, field: str | None = None, *, missing: str = "bad") -> None:
        self.field = None if field is None else _check.text("field", field)
        self._functions = []
        self._values = {"kind": self._kind}
        self._set("missing", missing)

    def _set(self, name, value):
        self._values[name] = _TABLES["column"][name].value(value)

    def _set_dtype(self, dtype):
        if dtype is not None:
            self._values["dtype"] = _dtype_number(dtype)

    def _dict(self, name):
        return {"field": self.field or name, "name": name, **self._values}

    def __repr__(self):
        return f"sluice.columns.{type(self).__name__}(field={self.field!r})"


class Image(Column):
    """Pictures through a transform: rows x height x width x 3, or rows x 3 x height x width.

    transform: of sluice.transforms. dtype: 'uint8' unless it normalises or says otherwise, then
    'float32'; also 'float16', 'bfloat16'. layout: 'NHWC' or 'NCHW'. What mixes a batch (MixUp, CutMix) says
    nothing of labels here, so no num_classes: OneHot(classes, mixes=NAME, smoothing=...) does.
    """

    _kind = "image"
    _is_alone = True  # no column of labels is made for it

    def __init__(
        self, field: str | None = None, *, transform: Steps, dtype: Dtype = None, layout: str = "NHWC",
        missing: str = "bad",
    ) -> None:  # fmt: skip
        super().__init__(field, missing=missing)
        recipe = _transforms.recipe(transform)
        if self._is_alone and recipe.mixing is not None:
            _refuse_labels(recipe.mixing)
        self._functions = recipe.functions
        self._values["recipe"] = recipe.steps
        self._values["layout"] = _layout_number(layout)
        self._set_dtype(recipe.dtype if dtype is None else dtype)


class MixedImage(Image):
    """One that a loader makes together with its labels, as the transform says."""

    _is_alone = False


def _refuse_labels(mixing):
    """Mixing in a column is of its pictures only: what it says of labels would be passed over."""
    classes, smoothing = mixing.num_classes, mixing._smoothing
    said = {"num_classes": classes, "label_smoothing": smoothing or None}
    wrong = [name for name, value in said.items() if value is not None]
    if not wrong:
        return
    instead = f"OneHot({classes or 'classes'}, \"label\", mixes=NAME{f', smoothing={smoothing:g}' if smoothing else ''})"
    unset = ", ".join("label_smoothing=0" if name == "label_smoothing" else f"{name}=None" for name in wrong)
    raise ValueError(
        f"{type(mixing).__name__}: {' and '.join(wrong)} cannot be said in a column, which has pictures only. Set {unset} "
        f"and add sluice.columns.{instead}, NAME being this column's"
    )


class Number(Column):
    """An int or float field: one number a row. dtype: 'int64' ('float64' of floats), 'int32', 'float32'."""

    _kind = "number"

    def __init__(self, field: str | None = None, *, dtype: Dtype = None, missing: str = "bad") -> None:
        super().__init__(field, missing=missing)
        self._set_dtype(dtype)


class Tensor(Column):
    """A tensor field, whole, or with `shape` a part of it: part='center' or 'random' ['whole'].

    Or an image field of PNGs, as they are stored: label masks, depth maps. shape=(height, width), or
    (height, width, channels); with `part` a part of larger ones, the same as that of other such columns of the
    sample. Palettes give the pixels' numbers, grey of 1, 2 and 4 bits is not spread over 0..255, grey of 16 bits is
    whole. dtype: 'uint8' (up to 8 bits), 'uint16' (16 bits); 'int32', 'int64' and floating ones take both. Such a
    column does not follow the crop or the flip of an Image column.
    """

    _kind = "tensor"

    def __init__(
        self, field: str | None = None, *, shape: Sequence[int] | None = None, part: str | None = None,
        dtype: Dtype = None, missing: str = "bad",
    ) -> None:  # fmt: skip
        super().__init__(field, missing=missing)
        self._set_dtype(dtype)
        if part is not None:
            self._set("part", part)
        if shape is not None:
            self._values["shape"] = _check.shape("shape", shape)


class Window(Column):
    """`length` elements of a long tensor, every `stride` (default: `length`) of them.

    The loader counts and shuffles windows then. `offset`: from the window's beginning to the column's
    first element, so that targets are a second column with offset=1.
    """

    _kind = "window"

    def __init__(
        self, field: str | None = None, *, length: int, stride: int | None = None, offset: int = 0,
        dtype: Dtype = None, missing: str = "bad",
    ) -> None:  # fmt: skip
        super().__init__(field, missing=missing)
        self._set_dtype(dtype)
        for name, value in {"length": length, "stride": 0 if stride is None else stride, "offset": offset}.items():
            self._set(name, value)


class Ragged(Column):
    """Bytes, texts (as UTF-8), or tensors whose first dimension differs, back to back; NAME.offsets says where
    each row's begin, along the first dimension.

    length: the most that a row may have, in the first dimension. too_long: 'bad', or 'truncate', which cuts
    texts at that byte.
    """

    _kind = "ragged"

    def __init__(
        self, field: str | None = None, *, length: int, dtype: Dtype = None, too_long: str = "bad",
        missing: str = "bad",
    ) -> None:  # fmt: skip
        super().__init__(field, missing=missing)
        self._set_dtype(dtype)
        self._set("length", length)
        self._set("too_long", too_long)


class Padded(Ragged):
    """The same, each row followed by zeros: rows x length (x other dimensions), and NAME.lengths."""

    _kind = "padded"


class OneHot(Column):
    """An int field k as a row of `classes` numbers, 1 at k. dtype: 'uint8', 'int64', 'float32', ...

    mixes: the Image column of the batch whose mixing (MixUp, CutMix) it follows: shares of classes, which add to 1.
    smoothing: s / classes is at each number, 1 - s more at k. Both need a floating dtype.
    """

    _kind = "one_hot"

    def __init__(
        self, classes: int, field: str | None = None, *, dtype: Dtype = "float32", mixes: str | None = None,
        smoothing: float = 0.0, missing: str = "bad",
    ) -> None:  # fmt: skip
        super().__init__(field, missing=missing)
        self._set_dtype(dtype)
        self._values["length"] = _check.integer("classes", classes)
        if mixes is not None:
            self._values["mixes"] = _check.text("mixes", mixes)
        if _check.number("smoothing", smoothing) != 0:
            self._values["smoothing"] = _check.number("smoothing", smoothing)
