# SPDX-License-Identifier: Apache-2.0
"""Batches for training, ready before the loop asks for them.

    import sluice
    from sluice import transforms as T

    data = sluice.Dataset("photos")                  # class folders, or shards from `sluice pack`
    loader = sluice.Loader(
        data, batch_size=256, shuffle=True, num_workers=8, dtype="float16",
        transform=T.Compose([T.RandomResizedCrop(224), T.RandomHorizontalFlip()]))
    for epoch in range(90):
        for images, labels in loader:                # numpy: images.numpy(); torch: sluice.torch
            ...

`sluice.torch.DataLoader` returns torch tensors. Threads of the library read, decode and augment; no
processes are started and nothing is pickled.
"""
from ._sluice import (
    CanceledError,
    CorruptError,
    DeviceError,
    Error,
    InternalError,
    InvalidError,
    IOError,
    OutOfMemoryError,
    StateError,
    Tensor,
    UnsupportedError,
    version as _version,
)
from . import _check, columns, remote, transforms
from ._buckets import buckets
from ._joining import balance, concat, mix
from .batch import Batch
from ._ranks import Ranks, ranks
from ._sequences import PackedRows, packed_rows
from .dataset import Dataset, Field
from .loader import Loader
from ._map_error import MapError
from ._map_source import JsonLines
from .packing import PackResult, UnpackResult, pack, pack_join, unpack
from .profiling import Marks, Profile, marks, profile
from .writer import Writer
from . import cache

TYPE_CHECKING = False
if not TYPE_CHECKING:

    # Modules for frameworks, which importing sluice does not import.
    _MODULES = ("accelerate", "jax", "keras", "lightning", "timm", "torch", "torchtitan", "transformers")

    def __dir__():
        return sorted({*globals(), *_MODULES})

    def __getattr__(name):
        if name in _MODULES:
            raise AttributeError(f"sluice.{name} is a module of its own: import sluice.{name}")
        raise _check.missing_name(__name__, name, __all__)


__version__ = _version()
__all__ = [
    "Batch",
    "CanceledError",
    "CorruptError",
    "Dataset",
    "DeviceError",
    "Error",
    "Field",
    "IOError",
    "InternalError",
    "InvalidError",
    "JsonLines",
    "Loader",
    "MapError",
    "Marks",
    "OutOfMemoryError",
    "PackResult",
    "PackedRows",
    "Profile",
    "Ranks",
    "StateError",
    "Tensor",
    "UnpackResult",
    "UnsupportedError",
    "Writer",
    "balance",
    "buckets",
    "cache",
    "columns",
    "concat",
    "marks",
    "mix",
    "pack",
    "pack_join",
    "packed_rows",
    "profile",
    "ranks",
    "remote",
    "transforms",
    "unpack",
]
