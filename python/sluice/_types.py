# SPDX-License-Identifier: Apache-2.0
"""Types of arguments, for type checkers. Running programs never import it."""
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from . import _sluice
from .batch import Batch
from .columns import Column
from .transforms import Transform

Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]
Paths = Path | Sequence[Path]


class _TorchDataset(Protocol):
    """A torch.utils.data.Dataset."""

    def __getitem__(self, index: Any, /) -> Any: ...
    def __add__(self, other: Any, /) -> Any: ...


Source = Paths | _TorchDataset  # accepted instead of a Dataset
Progress = bool | None | Callable[[int, int], Any]
Dtype = Any  # "float16", numpy.float16, torch.float16
Steps = Transform | Sequence[Transform]
Size = int | Sequence[int]
Fill = int | float | Sequence[int | float] | None
Columns = Mapping[str, Column]
Hook = Callable[[Batch], Any]
Map = Callable[[dict[str, Any]], Mapping[str, Any] | Sequence[Mapping[str, Any]] | None]  # of sluice.pack
Values = Iterable[float]
Part = tuple[int, int] | tuple[str, int] | str  # (i, n), ("auto", n), "auto"
Labels = str | Sequence[str] | Mapping[str | int, str | None]


class _Field(NamedTuple):
    name: str
    type: str
    dtype: str
    shape: tuple[int, ...]


class Field(_Field):
    meaning: dict[str, str | bool]


class LeftOut(NamedTuple):
    reason: str
    count: int
    images: bool
    example: str


class _Verified(NamedTuple):
    samples: int
    bytes: int
    findings: list[_sluice.Error]
    unchecked: str


class Verified(_Verified):
    undecoded: int
    left_out: Sequence[LeftOut]


class Ranks(NamedTuple):
    rank: int
    world_size: int
    local_rank: int | None
    local_size: int | None
    source: str


class _PackedRows(NamedTuple):
    documents: int
    tokens: int
    targets: int
    rows: int
    pieces: int
    align_padding: int
    end_padding: int
    cut: int
    empty: int
    closed: int
    longest: int
    longest_document: int
    most_documents: int
    length: int


class PackedRows(_PackedRows):
    @property
    def padding(self) -> float:
        return 0.0


class PackResult(NamedTuple):
    path: str
    samples: int
    rejected: int
    shards: int
    bytes: int
    resumed_samples: int
    jpegs_retiled: int
    jpegs_kept: int
    jpeg_bytes_before: int
    jpeg_bytes_after: int
    decoded: int
    resized: int
    was_complete: bool
    complete: bool
    mapped: int
    left_out: int


class UnpackResult(NamedTuple):
    path: str
    samples: int
    rejected: int
    archives: int
    files: int
    bytes: int
    renamed: int
    renamed_classes: int
    labels_differ: bool
