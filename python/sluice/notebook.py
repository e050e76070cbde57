# SPDX-License-Identifier: Apache-2.0
"""HTML of a Loader for notebooks: statistics, and the first samples of its epoch (of all ranks),
transformed but not normalized.

_pictures.py draws the samples with their boxes and masks. Samples come from a second loader, so the
displayed one keeps its place. Functions of Python are not applied. Without numpy, only the
statistics are shown.
"""
from __future__ import annotations

import base64
import html
import struct
import zlib

from . import _sluice
from ._names import dtype_number
from .batch import Batch, made_of, named, parts_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from .loader import Loader

SAMPLES = 12
SIDE = 128  # pixels; larger images are shrunk by a whole number
COMMON = ("index", "mask", "status")


def page(loader: Loader) -> str:
    """Returns the loader as HTML."""
    title = f"<b>{text(type(loader).__name__)}</b> over {text(repr(loader.dataset))}"
    if loader._handle.closed:
        return f"<div>{title}: closed</div>"
    rows = "".join(f"<tr><th style='text-align:left'>{name}</th><td>{text(value)}</td></tr>" for name, value in figures(loader))
    return f"<div>{title}<table>{rows}</table>{sheet(loader)}</div>"


def text(value: object) -> str:
    """Returns HTML-safe text, for any bytes in a file's name."""
    return html.escape(str(value).encode("utf-8", "backslashreplace").decode())


def figures(loader: Loader) -> Iterator[tuple[str, Any]]:
    stats = loader.stats()
    yield "fields", ", ".join(name + (f" ({field._words})" if field._words else "") for name, field in loader.dataset.fields.items())
    for found in loader.dataset.left_out:
        example = f", the first {found.example}" if found.example else ""
        yield "left out", f"{found.count} {found.reason}{example}"
    yield "epoch", f"{len(loader)} batches of {loader.batch_size} rows"
    if loader.world_size > 1:
        yield "rank", f"{loader.rank} of {loader.world_size}"
    yield "position", f"epoch {loader.epoch}, {len(loader) - loader.remaining} batches taken, {loader.remaining} left"
    yield "made by", f"{stats['workers']} threads, on {stats['device']}, {stats['slots']} batches at a time"
    yield "memory", f"{stats['memory_bytes'] / 2**20:.0f} MiB"
    if stats["batches"]:
        waited = stats["host_wait_ns"] / 1e6 / stats["batches"]
        yield "so far", f"{stats['batches']} batches ({stats['samples']} samples decoded); waited {waited:.2f} ms for a batch"
        yield "bad samples", f"{stats['bad_samples']}, {stats['replaced_samples']} of them replaced"


def sheet(loader: Loader) -> str:
    try:
        import numpy  # noqa: F401
    except ImportError:
        return "<div>(install numpy to see its images)</div>"
    try:
        cells = "".join(samples(loader))
    except _sluice.Error as error:
        return f"<div>its samples cannot be shown: {text(error)}</div>"
    return f"<div style='display:flex;flex-wrap:wrap;gap:8px'>{cells}</div>"


def samples(loader: Loader) -> Iterator[str]:
    """Yields the first samples of the epoch, as HTML."""
    from ._pictures import About, rows

    handle, recipe, columns = reopen(loader)
    try:
        handle.start(loader.epoch)
        made = handle.next(None)
        if made is not None:
            names = [name for name in made.keys() if name not in COMMON]
            kind = named(Batch, tuple(name for name in names if name in loader._requested))
            yield from rows(made_of(kind, made, parts_of(names, kind._names)), About(loader.dataset, columns, recipe))
    finally:
        handle.close()


def reopen(loader: Loader) -> tuple[Any, Any, Any]:
    """Returns (a loader of the library over the same dataset with few rows and unnormalized uint8
    images, its recipe, its columns).
    """
    options, recipe, columns, *tables = loader._opened
    options = options | {
        "batch_size": min(loader.batch_size, SAMPLES), "workers": 1, "prefetch": 2, "dtype": 0, "layout": 0,
        "last_batch": 2, "on_bad_sample": 2, "resident_bytes": 1, "rank": 0, "world_size": 1,
        "device": None, "quarantine_path": None, "episode_classes": 0, "episode_samples": 0, "episodes": 0,
    }  # fmt: skip
    if columns is not None:
        columns = [visible(column) for column in columns]
    recipe = without_normalize(recipe)
    return _sluice.Loader(loader.dataset._handle, options, recipe, columns, 30000, [], False, *tables), recipe, columns


def without_normalize(recipe: Any) -> Any:
    return recipe and [step for step in recipe if step[0] != "normalize"]


def visible(column: dict[str, Any]) -> dict[str, Any]:
    if "recipe" not in column:
        return column
    return column | {"recipe": without_normalize(column["recipe"]), "dtype": dtype_number("uint8"), "layout": 0}


def shrunk(pixels: Any) -> tuple[Any, int, int]:
    """Returns (a thumbnail of uint8 pixels, height x width x 3, and the pixels down and across for
    each of its own).
    """
    height, width, _ = pixels.shape
    factor = -(-max(height, width) // SIDE)
    down, across = min(factor, height), min(factor, width)
    height, width = height // down, width // across
    boxes = pixels[: height * down, : width * across].reshape(height, down, width, across, 3)
    return boxes.mean((1, 3)).astype("uint8"), down, across


def image_tag(pixels: Any) -> str:
    """Returns uint8 pixels, height x width x 3, as <img>."""
    height, width, _ = pixels.shape
    data = base64.b64encode(png(pixels)).decode()
    return f"<img width={width} height={height} src='data:image/png;base64,{data}'>"


def png(pixels: Any) -> bytes:
    """Returns uint8 RGB as a PNG file (ISO/IEC 15948): no filters, one IDAT chunk."""
    height, width, _ = pixels.shape

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    lines = b"".join(b"\0" + line.tobytes() for line in pixels)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")
