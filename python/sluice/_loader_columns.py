# SPDX-License-Identifier: Apache-2.0
"""Contents of a loader's batches: turns transform=, columns=, dtype= and layout= into a recipe or
columns of the library.
"""
from __future__ import annotations

from . import _check, transforms as _transforms
from ._names import layout_number, picture_dtype_number
from .columns import Column, Image, MixedImage, Number, OneHot, Tensor, Window
from .functions import Functions


def _without_images(dataset):
    """Returns the error of transform= over a dataset without images."""
    fields = {name: of.type for name, of in dataset.fields.items()}
    said = ", ".join(f"{name!r} ({kind})" for name, kind in fields.items())
    encoded = [name for name, kind in fields.items() if kind == "bytes"]
    tensors = [name for name, kind in fields.items() if kind == "tensor"]
    advice = ""
    if encoded:
        advice = f"; if {encoded[0]!r} holds encoded images, open it with sluice.Dataset(path, fields={{'image': '{encoded[0]}:image', ...}})"
    elif tensors:
        advice = f"; tensors are columns={{{tensors[0]!r}: sluice.columns.Tensor(), ...}}, without transform="
    return ValueError(f"transform= is for images, and the dataset has none: its fields are {said}{advice}")


def _check_uint8(name, column, field):
    """Raises ValueError for uint8 where the field has another dtype: the library's number of uint8, 0,
    means "the field's dtype".
    """
    asked = column._values.get("dtype") == 0 and type(column).__name__ not in ("Image", "OneHot")
    natural = {"int": "int64", "float": "float64", "tensor": field and field.dtype}.get(field and field.type, "uint8")
    if asked and natural != "uint8":
        raise ValueError(f"columns[{name!r}]: cannot convert {natural} to uint8")


def views(dataset, columns):
    """Returns the names of the columns that are never small."""
    if isinstance(columns, dict):
        return [name for name, column in columns.items() if isinstance(column, (Image, Tensor, Window))]
    return [name for name, field in dataset.fields.items() if field.type in ("image", "tensor")]


class Contents:
    """Contents of one loader's batches, from its arguments. functions: those of transforms.Python, by
    column.
    """

    def __init__(self, dataset, natural_layout):
        self.dataset, self._natural_layout = dataset, natural_layout
        self.functions = {}

    def chosen(self, transform, columns, dtype, layout, options):
        """Returns (recipe, columns) for the library."""
        if columns is None:
            return self._of_transform(transform, dtype, layout, options)
        if not isinstance(columns, dict):
            raise TypeError(f"columns={columns!r}: expected a dict of sluice.columns by name")
        if transform is not None or dtype is not None or layout is not None:
            raise TypeError("with columns=, each column has its own transform, dtype and layout")
        for name, column in columns.items():
            _check.text("columns: name", name)
            if not isinstance(column, Column):
                raise TypeError(f"columns[{name!r}]: expected one of sluice.columns, got {column!r}")
            _check_uint8(name, column, self.dataset.fields.get(column.field or name))
        for name, column in columns.items():
            self._add_functions(name, column._functions)
        return None, [column._dict(name) | self._image_defaults(column) for name, column in columns.items()]

    def _of_transform(self, transform, dtype, layout, options):
        """Returns (recipe, columns) for the dataset's default columns. Writes the recipe's dtype and
        layout to `options`.
        """
        images = [name for name, field in self.dataset.fields.items() if field.type == "image"]
        if isinstance(transform, dict):
            if any(isinstance(value, Column) for value in transform.values()):
                raise TypeError("transform= is a dict of columns, as presets of several views are: give it as columns=")
            for name in transform.keys() - images:
                raise ValueError(f"transform[{name!r}]: not an image field of the dataset: expected one of {images}")
            if len(images) > 1:
                raise TypeError("the dataset has several image fields: use columns=")
            transform = next(iter(transform.values()), None)
        if transform is None:
            if images:
                raise TypeError(
                    f"the images in {images} differ in size: give transform=sluice.transforms.RandomResizedCrop(224), "
                    "or columns="
                )
            return None, None
        if not images:
            raise _without_images(self.dataset)
        recipe = _transforms.recipe(transform)
        self._add_functions(images[0], recipe.functions)
        number = picture_dtype_number(recipe.dtype if dtype is None else dtype)
        if recipe.mixing is not None and recipe.mixing.num_classes is not None:
            return None, self._soft_columns(transform, recipe.mixing, dtype, layout)
        if recipe.mixing is not None and recipe.mixing._smoothing:
            raise ValueError(f"{recipe.mixing!r}: without num_classes there is nothing to smooth: set label_smoothing=0")
        options["dtype"] = number
        options["layout"] = layout_number("NHWC" if layout is None else layout)
        return recipe.steps, None

    def _image_defaults(self, column):
        """Returns the layout of an Image column that leaves it open."""
        open_layout = isinstance(column, Image) and "layout" not in column._values
        return {"layout": layout_number(self._natural_layout)} if open_layout else {}

    def _soft_columns(self, transform, mixing, dtype, layout):
        """Returns the default columns, with labels as class weights that follow the images' mixing."""
        fields = self.dataset.fields
        natural = self.dataset._natural_columns()
        images = [name for name, field in fields.items() if field.type == "image"]
        numbers = [name for name in natural if fields[name].type == "int"]
        label = mixing.labels_getter or ("label" if "label" in numbers or len(numbers) != 1 else numbers[0])
        if label not in numbers:
            raise ValueError(f"{mixing!r}: the dataset has no label field {label!r}: labels_getter= must be one of {numbers}")
        if len(images) > 1:
            raise TypeError("the dataset has several image fields: use columns=, with OneHot(..., mixes=)")
        picture = natural[images[0]][1]
        columns = {}
        for name, (kind, called) in natural.items():
            if kind == "image":
                column = MixedImage(name, transform=transform, dtype=dtype, layout="NHWC" if layout is None else layout)
            elif name == label:
                column = OneHot(mixing.num_classes, name, mixes=picture, smoothing=mixing._smoothing)
            else:
                column = Number(name) if kind == "number" else Tensor(name)
            columns[called] = column
        return [column._dict(name) for name, column in columns.items()]

    def _add_functions(self, name, functions):
        if functions:
            self.functions[name] = Functions(name, functions)
