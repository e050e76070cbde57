# SPDX-License-Identifier: Apache-2.0
"""Shared code of the modules for training frameworks: a loader has one trainer and reads its process's
share, and its batches go to a device.
"""
from __future__ import annotations

import copy
import gc
from collections.abc import Mapping
from weakref import WeakKeyDictionary, ref

from . import _check, _sluice
from .loader import Loader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn


class Over:
    """Base of objects that iterate a loader for a framework. Attributes that they do not define are
    the loader's.
    """

    _made_by = ""  # name of the function that makes such an object, for errors
    loader: Loader

    def __init__(self, loader: Loader) -> None:
        self.loader = loader

    def __len__(self) -> int:
        """Returns the number of batches of an epoch, on this rank."""
        return len(self.loader)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "loader":
            raise AttributeError(name)
        return getattr(self.loader, name)

    def __setattr__(self, name: str, value: Any) -> None:
        """Passes assignments to the loader's attributes on to it; they may be errors there."""
        own = name in vars(self) or name.startswith("_") or name == "loader" or hasattr(type(self), name)
        if own or not hasattr(self.loader, name):
            object.__setattr__(self, name, value)
        else:
            setattr(self.loader, name, value)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a loader has threads and cannot be pickled: pickle its dataset and state_dict()")

    def __repr__(self) -> str:
        return f"{type(self).__module__}.{type(self).__name__}({self.loader!r})"


_taken: Any = WeakKeyDictionary()  # loader -> (weak reference to the object that iterates it, function that made it)


def take(function: str, loader: Any, owner: object) -> None:
    """Records that `owner`, made by `function`, iterates the loader. Raises StateError if another
    living object does.
    """
    other, by = _taken.get(loader, (None, ""))
    if other is not None and other() not in (None, owner):
        gc.collect()  # frameworks leave reference cycles that contain the owner
        if other() is not None:
            raise already(function, by)
    _taken[loader] = (ref(owner), function)


def already(function: str, by: str) -> _sluice.StateError:
    """Returns the error of a loader that another object iterates."""
    return _sluice.StateError(
        f"{function}: the loader already belongs to {by}: use the object that it returned, or open another loader "
        "(each trainer needs its own)"
    )


def loader_of(function: str, loader: Any) -> Loader:
    """Returns the argument if it is an open loader. Raises TypeError for other types, StateError if it
    is closed or has a trainer.
    """
    if isinstance(loader, Over):
        raise already(function, loader._made_by)
    if not isinstance(loader, Loader):
        raise _check.wrong(f"{function}: loader", loader, "a sluice.torch.DataLoader or a sluice.Loader")
    if loader._handle.closed:
        raise _sluice.StateError(f"{function}: the loader is closed: open another one")
    return loader


def check_ranks(function: str, loader: Loader, rank: int, world_size: int, write: str) -> None:
    """Raises ValueError if the loader reads another share of the epoch than that of process `rank` of
    `world_size`.
    """
    if (loader.rank, loader.world_size) != (rank, world_size):
        raise ValueError(
            f"{function}: the loader reads the share of rank {loader.rank} of {loader.world_size}, but this process is rank "
            f"{rank} of {world_size}: open the loader {write}"
        )


def needed(module: str, name: str, install: str) -> ModuleNotFoundError:
    """Returns the error of a module without its framework."""
    return ModuleNotFoundError(f"{module} needs {name}: pip install {install}", name=install)


def moved(value: Any, device: Any, non_blocking: bool = False) -> Any:
    """Returns a batch, or the result of a batch_hook, on a device."""
    if hasattr(value, "to"):
        try:
            return value.to(device, non_blocking=non_blocking)
        except TypeError:  # a `to` without non_blocking
            return value.to(device)
    if isinstance(value, Mapping):
        made = copy.copy(value)  # keeps the type, such as defaultdict
        for name, part in value.items():
            made[name] = moved(part, device, non_blocking)
        return made
    if isinstance(value, (list, tuple)):
        parts = [moved(part, device, non_blocking) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return value


def release(loader: Loader) -> None:
    """Records that no object iterates the loader any longer."""
    _taken.pop(loader, None)
