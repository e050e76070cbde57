# SPDX-License-Identifier: Apache-2.0
"""Rows of batches and samples of datasets as HTML: images with their boxes and masks, and below them
numbers and texts.

For notebooks; needs numpy. `About` has a loader's columns; batches keep it, so it must not keep the
loader.
"""
from __future__ import annotations

import html

from ._addresses import shown
from .notebook import SIDE, image_tag, shrunk, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    import numpy

    from .batch import Batch
    from .dataset import Dataset

ROWS = 12
BAD = 2  # a value of "status"
COLOURS = [(230, 25, 75), (60, 180, 75), (255, 225, 25), (0, 130, 200), (245, 130, 48), (145, 30, 180), (70, 240, 240), (240, 50, 230)]
WORDS = 40  # characters shown of a text


class About:
    """A loader's columns. columns: those that the library was given, by name, or {} for a transform.
    recipe: the transform's.
    """

    def __init__(self, dataset: Dataset, columns: list[dict[str, Any]] | None, recipe: Any) -> None:
        self.dataset, self.columns = dataset, {column["name"]: column for column in columns or ()}
        self.recipe = recipe

    def kind(self, name: str) -> str | None:
        column = self.columns.get(name)
        return None if column is None else column["kind"]

    def recipe_of(self, name: str) -> Any:
        return self.columns[name].get("recipe") if self.columns else self.recipe

    def followers(self, image: str, kind: str) -> list[str]:
        """Returns the columns of a kind that follow an image: through `follows`, also of boxes, else
        the image before them.
        """
        found, before = [], None
        for name, column in self.columns.items():
            before = name if column["kind"] == "image" else before
            lead = column.get("follows", before)
            while lead in self.columns and self.columns[lead]["kind"] != "image":
                lead = self.columns[lead].get("follows", before)
            if column["kind"] == kind and lead == image:
                found.append(name)
        return found


def rows(batch: Batch, about: About) -> Iterator[str]:
    """Yields HTML of the first rows."""
    host = {name: _numpy(batch[name]) for name in [*batch.keys(), *batch.parts(), "index", "status"] if name in batch}
    images = {name: made for name in batch.keys() if (made := _images(batch, host, name, about)) is not None}
    for row in range(min(batch.rows, ROWS)):
        yield _cell("".join(_row(batch, host, images, about, row)))


def _cell(content):
    return f"<div style='font-size:11px;max-width:{SIDE}px;overflow-wrap:anywhere'>{content}</div>"


def sheet(cells: Iterator[str]) -> str:
    return f"<div style='display:flex;flex-wrap:wrap;gap:8px'>{''.join(cells)}</div>"


def _row(batch, host, images, about, row):
    if "status" in host and host["status"][row] == BAD:
        yield f"sample {host['index'][row]} is bad"
        return
    for name, pictures in images.items():
        if pictures[row].size:
            boxes = [box for column in about.followers(name, "boxes") for box in _boxes(batch, host, about, column, row, pictures[row])]
            yield drawn(pictures[row], boxes, _masks(batch, host, about, name, row))
    words = (_words(host, about, name, row) for name in batch.keys() if name not in images)
    yield "<br>".join(f"{text(name)}: {text(word)}" for name, word in words if word)


def _numpy(column):
    if hasattr(column, "detach"):
        column = column.detach().cpu()
        return column.float().numpy() if str(column.dtype) == "torch.bfloat16" else column.numpy()
    if getattr(column, "dtype", None) == "bfloat16" or getattr(column, "device", "cpu") not in ("cpu", None):
        return _numpy(column.torch()) if hasattr(column, "torch") else None
    return column.numpy() if hasattr(column, "numpy") else column


def _images(batch, host, name, about):
    """Returns the images of each row, uint8, height x width x 3; None: the column has no images."""
    column = host[name]
    if about.kind(name) not in (None, "image") or not hasattr(column, "shape"):
        return None
    if f"{name}.sizes" in batch:
        pictures = [_numpy(picture) for picture in batch.pictures(name)]
    elif column.ndim == 4 and 3 in (column.shape[1], column.shape[3]):
        pictures = list(column)
    else:
        return None
    return [_visible(picture, about.recipe_of(name)) for picture in pictures]


def _visible(picture, recipe):
    """Returns 8-bit pixels, height x width x 3, before normalization."""
    import numpy

    if picture.shape[2] != 3 or (picture.shape[0] == 3 and picture.shape[1] > 3):
        picture = picture.transpose(1, 2, 0)
    if picture.dtype == numpy.uint8:
        return picture
    values = picture.astype("float32")
    for step in recipe or ():
        if step[0] == "normalize":
            values = values * numpy.float32(step[4:7]) + numpy.float32(step[1:4])
    return (values.clip(0, 1) * 255).round().astype("uint8")


def _piece(batch, host, name, row):
    """Returns a row of a ragged or padded column."""
    if f"{name}.shapes" in batch:
        return _numpy(batch.pictures(name)[row])
    if f"{name}.offsets" in host:
        begin, end = host[f"{name}.offsets"][row : row + 2]
        return host[name][begin:end]
    return host[name][row][: host[f"{name}.lengths"][row]] if f"{name}.lengths" in host else host[name][row]


def _boxes(batch, host, about, name, row, picture):
    column = about.columns[name]
    return corners(_piece(batch, host, name, row), column.get("out_format", 0), column.get("out_relative", 0), picture.shape)


def corners(boxes: numpy.ndarray[Any, Any], box_format: int, relative: Any, shape: tuple[int, ...]) -> list[tuple[float, ...]]:
    """Returns left, top, right and bottom in pixels. `box_format`: 0 or 1 corners, 2 corner and size,
    3 centre and size.
    """
    made = []
    for a, b, c, d in boxes.tolist():
        a, b = (a - c / 2, b - d / 2) if box_format == 3 else (a, b)
        c, d = (a + c, b + d) if box_format > 1 else (c, d)
        made.append((a * shape[1], b * shape[0], c * shape[1], d * shape[0]) if relative else (a, b, c, d))
    return made


def _masks(batch, host, about, image, row):
    """Yields a class map, and each instance as a map of its own."""
    for name in about.followers(image, "mask"):
        mask = _numpy(batch.pictures(name)[row]) if f"{name}.sizes" in batch else host[name][row]
        if mask.ndim == 2:
            yield mask.astype("int64")
    for name in about.followers(image, "instances"):
        for number, mask in enumerate(_piece(batch, host, name, row)):
            yield mask.astype("int64") * (number + 1)


def _words(host, about, name, row):
    column = host[name]
    if f"{name}.offsets" in host and getattr(column, "ndim", 0) == 1 and column.dtype == "uint8":
        begin, end = host[f"{name}.offsets"][row : row + 2]
        return name, _short(column[begin:end].tobytes())
    if f"{name}.lengths" in host and column.ndim == 2 and column.dtype == "uint8":
        return name, _short(column[row][: host[f"{name}.lengths"][row]].tobytes())
    if getattr(column, "shape", ()) == (len(host["index"]),):
        return name, _number(about.dataset, name, column[row])
    return name, None


def _short(data):
    shown = data.decode("utf-8", "replace")
    return shown if len(shown) <= WORDS else shown[:WORDS] + "..."


def _number(dataset, name, value):
    """Returns a label with the name of its class."""
    classes = dataset.classes if name == "label" else []
    return f"{value} {classes[int(value)]}" if 0 <= value < len(classes) else value


def drawn(pixels: numpy.ndarray[Any, Any], boxes: Sequence[tuple[float, ...]] = (), masks: Iterable[Any] = ()) -> str:
    """Returns uint8 pixels, height x width x 3, as <img>, shrunk, with boxes around objects and masks
    over them.
    """
    import numpy

    small, down, across = shrunk(pixels)
    for mask in masks:
        seen = mask[: small.shape[0] * down : down, : small.shape[1] * across : across]
        colours = numpy.array([(0, 0, 0), *COLOURS])[numpy.where(seen > 0, (seen - 1) % len(COLOURS) + 1, 0)]
        small = numpy.where((seen > 0)[..., None], (small.astype(int) + colours) // 2, small).astype("uint8")
    for number, box in enumerate(boxes):
        small = _with_box(small, [side / scale for side, scale in zip(box, (across, down) * 2)], COLOURS[number % len(COLOURS)])
    return image_tag(small)


def _with_box(pixels, box, colour):
    height, width, _ = pixels.shape
    left, top, right, bottom = (min(max(round(side), 0), most - 1) for side, most in zip(box, (width, height) * 2))
    made = pixels.copy()
    made[[top, bottom], left : right + 1] = colour
    made[top : bottom + 1, [left, right]] = colour
    return made


def batch_page(batch: Batch, about: About | None) -> str:
    title = f"<pre>{html.escape(repr(batch))}</pre>"
    try:
        import numpy  # noqa: F401
    except ImportError:
        return title
    return title + (sheet(rows(batch, about)) if about is not None else "")


def dataset_page(dataset: Dataset) -> str:
    """Returns a dataset as HTML: its description and its first images."""
    cells = "".join(f"<tr><th style='text-align:left'>{name}</th><td>{text(value)}</td></tr>" for name, value in _figures(dataset))
    return f"<div><b>Dataset</b> {text(', '.join(str(shown(path)) for path in dataset.paths))}<table>{cells}</table>{_first(dataset)}</div>"


def _figures(dataset: Dataset) -> Iterator[tuple[str, Any]]:
    yield "samples", len(dataset)
    yield "format", dataset.description
    for name, field in dataset.fields.items():
        of = f" {field.dtype} {list(field.shape)}" if field.type == "tensor" else ""
        yield f"field {text(name)}", f"{field.type}{of}{', ' + field._words if field._words else ''}"
    classes = dataset.classes
    if classes:
        yield "classes", f"{len(classes)}: {', '.join(classes[:10])}{', ...' if len(classes) > 10 else ''}"
    for found in dataset.left_out:
        yield "left out", f"{found.count} {found.reason}" + (f", the first {found.example}" if found.example else "")


def _first(dataset):
    from . import _sluice

    fields = dataset.fields
    image = next((name for name, of in fields.items() if of.type == "image" and of.meaning.get("role") != "mask"), None)
    if image is None or dataset.front_to_back:
        return ""
    try:
        import numpy

        return sheet(_cell(_sample(dataset, fields, image, number, numpy)) for number in range(min(len(dataset), ROWS)))
    except ImportError:
        return "<div>(for its images, install numpy)</div>"
    except _sluice.Error as error:
        return f"<div>its images cannot be shown: {text(error)}</div>"


def _sample(dataset: Dataset, fields: Mapping[str, Any], image: str, number: int, numpy: Any) -> str:
    pixels = dataset.decode(number, image)
    if pixels is None:
        return f"#{number}: no image"
    boxes = []
    for name, of in fields.items():
        if of.meaning.get("role") == "boxes" and of.meaning.get("box_format"):
            found = numpy.asarray(dataset[number][name])
            formats = {"xyxy": 1, "xywh": 2, "cxcywh": 3}
            boxes += corners(found, formats[of.meaning["box_format"]], of.meaning.get("coordinates") == "relative", pixels.shape)
    label = dataset.sample(number)["label"]
    said = f"#{number}" + (f" {_number(dataset, 'label', label)}" if label >= 0 else "")
    return f"{drawn(pixels, boxes)}<br>{text(said)}"
