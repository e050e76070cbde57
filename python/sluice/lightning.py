# SPDX-License-Identifier: Apache-2.0
"""Lightning: a DataModule of loaders, a callback that resumes them exactly, and setup() for Fabric.

Works with `lightning` and with `pytorch_lightning`: with the one that the program imported,
`lightning` if it imported both. docs/trainers.md has a complete program.
"""
from __future__ import annotations

import os
import sys
from weakref import WeakKeyDictionary, ref

from . import _check, _seats, _sluice
from .loader import Loader

try:
    if "pytorch_lightning" in sys.modules and "lightning" not in sys.modules:
        import pytorch_lightning as _lightning
    else:
        try:
            import lightning.pytorch as _lightning
        except ModuleNotFoundError as _error:
            if _error.name not in ("lightning", "lightning.pytorch"):
                raise
            import pytorch_lightning as _lightning
except ModuleNotFoundError as _error:
    if _error.name != "pytorch_lightning":
        raise
    raise _seats.needed("sluice.lightning", "Lightning", "lightning") from None

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

__all__ = ["DataModule", "LoaderState", "Placed", "setup"]

SETUP = "sluice.lightning.setup"
HERE = "without rank= and world_size=, in the function that DataModule or train_dataloader calls"


def _loaders(tree):
    """Returns the loaders in the result of a train_dataloader hook: one, or lists and dicts of them."""
    if isinstance(tree, Loader):
        return [tree]
    parts = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, (list, tuple)) else ()
    return [loader for part in parts for loader in _loaders(part)]


class LoaderState(_lightning.Callback):  # type: ignore[misc]
    """Callback that saves and resumes the training loaders: Trainer(callbacks=[LoaderState()]).

    A checkpoint has the state of the training loaders, and fit(ckpt_path=...) resumes after the
    last batch, also in the middle of an epoch. The loaders are those that the train_dataloader hook
    returns: one sluice.torch.DataLoader, or a list or dict of them. Their state is loaded just
    before the first batch, so it does not matter when Lightning asked for them
    (`estimated_stepping_batches` asks early).

    Raises:
        ValueError: the checkpoint has the states of another number of loaders.
    """

    def __init__(self) -> None:
        self._trainer: Any = None
        self._states: list[dict[str, Any]] | None = None

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Keeps the trainer. Lightning calls it.

        Args:
            trainer: the Trainer.
            pl_module: not used.
            stage: not used.
        """
        self._trainer = trainer

    def _training(self):
        return _loaders(self._trainer.train_dataloader) if self._trainer is not None else []

    def state_dict(self) -> dict[str, Any]:
        """Returns the states of the training loaders, for a checkpoint.

        Returns:
            The states.
        """
        return {"loaders": [loader.state_dict() for loader in self._training()]}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Keeps the states until training starts.

        Args:
            state_dict: states from state_dict().
        """
        self._states = state_dict["loaders"]

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Loads the states. Lightning calls it.

        Args:
            trainer: the Trainer.
            pl_module: not used.
        """
        self._trainer = trainer
        loaders, states = self._training(), self._states
        for loader in loaders:
            _check_rank(trainer, loader)
        if states:
            if len(states) != len(loaders):
                raise ValueError(f"the checkpoint has the states of {len(states)} loaders, and train_dataloader returned {len(loaders)}")
            for loader, state in zip(loaders, states):
                loader.load_state_dict(state)
        self._states = None
        self.on_train_epoch_start(trainer, pl_module)

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        """Moves the loaders to Lightning's epoch, unless they are in it. Lightning calls it.

        Args:
            trainer: the Trainer.
            pl_module: not used.
        """
        for loader in _loaders(trainer.train_dataloader):
            if loader.epoch < trainer.current_epoch:
                loader.set_epoch(trainer.current_epoch)


def _check_rank(trainer, loader):
    """Checks that the loader reads this process's share."""
    _seats.check_ranks("sluice.lightning", loader, trainer.global_rank, trainer.world_size, HERE)


class DataModule(_lightning.LightningDataModule):  # type: ignore[misc]
    """Loaders for Trainer.fit(model, datamodule=...).

    Lightning calls the functions once the ranks are known. Without `val`, training runs without
    validation. Use it with LoaderState(), which resumes the training loaders. val, test and predict
    may return the same loader.

    Args:
        train: function without arguments that opens a loader, or a list or dict of loaders [None].
        val: likewise [None].
        test: likewise [None].
        predict: likewise [None].

    Raises:
        ValueError: a loader has the rank of another process; train returns the loader of another
            function; or `overfit_batches` meets a shuffled training loader, which Lightning would
            try to rebuild.
        TypeError: a function returns a path or something that cannot be iterated, alone or in a
            list or dict.
        StateError: a function returns a closed loader.
    """

    def __init__(
        self, train: Callable[[], Any] | None = None, val: Callable[[], Any] | None = None, test: Callable[[], Any] | None = None,
        predict: Callable[[], Any] | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self._open = {"train": train, "val": val, "test": test, "predict": predict}
        for name, function in self._open.items():
            if function is not None and not callable(function):
                raise TypeError(f"DataModule: {name}={function!r:.80}: expected a function that opens a loader: write {name}=lambda: DataLoader(...)")

    def _opened(self, name):
        if self._open[name] is None:
            if name == "val":
                return []
            raise ValueError(f"this DataModule opens no {name} loader: write DataModule({name}=function)")
        tree = self._open[name]()
        _check_tree(name, tree)
        for loader in _loaders(tree):
            self._take(name, loader)
            if name in ("train", "val") and getattr(self.trainer, "overfit_batches", 0) and not _is_sequential(loader):
                raise ValueError(f"overfit_batches with a shuffled {name} loader: Lightning would rebuild it: open it with shuffle=False")
        return tree

    def _take(self, name, loader):
        if loader._handle.closed:
            raise _sluice.StateError(f"DataModule: the loader that {name} returned is closed: open it in the function")
        module, other = _opened_by.get(loader, (None, name))
        if module is not None and module() is self and other != name and "train" in (name, other):  # other functions' loops never overlap
            raise ValueError(
                f"DataModule: {name} and {other} return the same loader, which has one loop at a time: open a loader for each"
            )
        _opened_by[loader] = (ref(self), name)
        if self.trainer is not None:
            _check_rank(self.trainer, loader)

    def train_dataloader(self) -> Any:
        """Opens the training loaders.

        Returns:
            The result of `train`.
        """
        return self._opened("train")

    def val_dataloader(self) -> Any:
        """Opens the validation loaders.

        Returns:
            The result of `val`.
        """
        return self._opened("val")

    def test_dataloader(self) -> Any:
        """Opens the test loaders.

        Returns:
            The result of `test`.
        """
        return self._opened("test")

    def predict_dataloader(self) -> Any:
        """Opens the loaders for predictions.

        Returns:
            The result of `predict`.
        """
        return self._opened("predict")


_opened_by: Any = WeakKeyDictionary()  # loader -> (weak reference to the DataModule, "train", "val", "test" or "predict")


def _check_tree(name, tree, inside=""):
    """Raises TypeError if the function returned something that Lightning cannot iterate, alone or
    inside a list or dict.
    """
    if isinstance(tree, (dict, list, tuple)):
        for part in tree.values() if isinstance(tree, dict) else tree:
            _check_tree(name, part, inside or f"a {type(tree).__name__} with ")
    elif isinstance(tree, (str, bytes, os.PathLike)) or not hasattr(tree, "__iter__"):
        raise TypeError(f"DataModule: {name} returned {inside}{tree!r:.80}: expected a loader, or a list or dict of loaders")


def _is_sequential(loader):
    from torch.utils.data import SequentialSampler

    return isinstance(loader.sampler, SequentialSampler)


class Placed(_seats.Over):
    """A loader whose batches go to a device. setup() makes it. Everything else is the loader's.

    Args:
        loader: the loader.
        device: destination of batches.
    """

    _made_by = SETUP
    device: Any

    def __init__(self, loader: Loader, device: Any) -> None:
        super().__init__(loader)
        self.device = device

    def __iter__(self) -> Iterator[Any]:
        """Begins an epoch, as the loader does."""
        batches = iter(self.loader)
        stays = str(self.device) == "cpu" and not self.loader._handle.on_device
        return batches if stays else (_seats.moved(batch, self.device) for batch in batches)


def setup(fabric: Any, loader: Loader, *, move_to_device: bool = True) -> Placed:
    """Replaces fabric.setup_dataloaders(loader), which takes only torch's DataLoader.

    fabric.save and fabric.load use the state_dict() of the returned object.

    Args:
        fabric: a launched lightning.Fabric.
        loader: a sluice.torch.DataLoader, opened after fabric.launch().
        move_to_device: True moves each batch to fabric.device [True].

    Returns:
        Placed.

    Raises:
        TypeError: `fabric` is not a Fabric, or batches that are not tensors would be moved.
        ValueError: the loader has the rank of another process.
        StateError: the loader has a trainer already, or is closed.
    """
    loader = _seats.loader_of(SETUP, loader)
    if not hasattr(fabric, "device") or not all(isinstance(getattr(fabric, name, None), int) for name in ("global_rank", "world_size")):
        raise _check.wrong(f"{SETUP}: fabric", fabric, "a lightning.Fabric")
    _seats.check_ranks(SETUP, loader, fabric.global_rank, fabric.world_size, "after fabric.launch(), without rank= and world_size=")
    if _check.flag("move_to_device", move_to_device) and not hasattr(loader._batch, "to"):
        raise TypeError(f"{SETUP}: batches of sluice.Loader are not tensors: open sluice.torch.DataLoader, or write move_to_device=False")
    placed = Placed(loader, fabric.device if move_to_device else "cpu")
    _seats.take(SETUP, loader, placed)
    return placed
