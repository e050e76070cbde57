# SPDX-License-Identifier: Apache-2.0
"""Hugging Face's accelerate: prepare(loader, accelerator) replaces accelerator.prepare(loader).

This module does not import accelerate: the accelerator brings it. docs/trainers.md has a complete
program.
"""
from __future__ import annotations

from . import _check, _seats
from .loader import Loader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

__all__ = ["Prepared", "prepare", "skip_first_batches"]

PREPARE, SKIP = "sluice.accelerate.prepare", "sluice.accelerate.skip_first_batches"


def prepare(loader: Loader, accelerator: Any, *, device_placement: bool | None = None, model_parallel: int = 1) -> Prepared:
    """Prepares a loader for accelerate's loops.

    `accumulate`, `gather_for_metrics`, `save_state` and `load_state` work as usual.

    Pass everything else to accelerator.prepare(model, optimizer, ...).

    Args:
        loader: a sluice.torch.DataLoader with the accelerator's rank and world size, opened after
            the Accelerator. Several processes need drop_last=True or last_batch='wrap' if the
            samples do not fill the last batch of all ranks.
        accelerator: an accelerate.Accelerator, with split_batches=False and without
            dispatch_batches=True.
        device_placement: True moves each batch to accelerator.device [the accelerator's
            device_placement].
        model_parallel: number of consecutive processes that get the same batches, as for the loader
            [1].

    Returns:
        Prepared.

    Raises:
        TypeError: the loader or the accelerator is of another type; the text says what to write.
        ValueError: the loader does not fit the accelerator; the text says what to write.
        StateError: the loader has a trainer already, or is closed.
    """
    return _prepare(loader, accelerator, device_placement, model_parallel)


def _prepare(loader, accelerator, device_placement=None, model_parallel=1, kind=None):
    kind = kind or Prepared
    loader = _seats.loader_of(kind._made_by, loader)
    _check_accelerator(loader, accelerator, _check.integer("model_parallel", model_parallel, 1, 2**32 - 1))
    placed = getattr(accelerator, "device_placement", True) if device_placement is None else device_placement
    placed = _check.flag("device_placement", placed)
    if placed and not hasattr(loader._batch, "to"):
        raise TypeError(f"{PREPARE}: batches of sluice.Loader are not tensors: open sluice.torch.DataLoader, or write device_placement=False")
    prepared = kind(loader, accelerator, placed)
    _seats.take(kind._made_by, loader, prepared)
    accelerator.register_for_checkpointing(prepared)
    return prepared


def _check_accelerator(loader, accelerator, model_parallel):
    for name in ("gradient_state", "process_index", "num_processes", "device", "register_for_checkpointing"):
        if not hasattr(accelerator, name):
            raise _check.wrong(f"{PREPARE}: accelerator", accelerator, "an accelerate.Accelerator (pip install accelerate)")
    world = accelerator.num_processes
    if world % model_parallel:
        raise ValueError(f"{PREPARE}: model_parallel={model_parallel} does not divide {world} processes")
    _seats.check_ranks(
        PREPARE, loader, accelerator.process_index // model_parallel, world // model_parallel,
        "after the Accelerator, without rank= and world_size=, with the same model_parallel=",
    )  # fmt: skip
    if getattr(accelerator, "dispatch_batches", None):
        raise ValueError(f"{PREPARE}: dispatch_batches=True: each process reads its own batches: leave dispatch_batches out")
    if _has_buckets(loader) and not loader.drop_last and (loader.world_size > 1 or loader._opened[0]["last_batch"] != SHORT):
        raise ValueError(f"{PREPARE}: each bucket ends with a batch that gather_for_metrics does not trim: open the loader with drop_last=True")
    if loader.world_size > 1:
        _check_several(loader, accelerator)


def _has_buckets(loader):
    return bool(loader._opened[0].get("buckets"))


def _check_several(loader, accelerator):
    """Checks what matters only with several ranks."""
    if getattr(accelerator, "split_batches", False):
        raise ValueError(
            f"{PREPARE}: split_batches=True makes batch_size that of all processes, a loader's is that of one: open the loader "
            f"with batch_size={max(1, loader.batch_size // loader.world_size)}, and leave split_batches out"
        )
    wraps = loader.drop_last or loader._opened[0]["last_batch"] == WRAP
    rows = loader.batch_size * loader.world_size
    if not wraps and loader._handle.samples % rows and getattr(accelerator, "even_batches", True):
        raise ValueError(
            f"{PREPARE}: {loader._handle.samples} samples do not fill batches of {loader.batch_size} rows on {loader.world_size} "
            "processes, and gather_for_metrics expects the added rows behind all others: open the loader with "
            "last_batch='wrap', or drop_last=True"
        )


def _next(batches):
    """Returns (the next batch or None, its error or None). An error concerns that batch only: the
    previous one is complete.
    """
    try:
        return next(batches, None), None
    except Exception as error:
        return None, error


SHORT, WRAP = 2, 4  # values of last_batch in the library


class Prepared(_seats.Over):
    """A loader that an accelerator knows: iterating it updates accelerate's GradientState.

    prepare() makes it.

    Other attributes and methods are the loader's. It runs one batch ahead, because accelerate must
    know the last batch of an epoch; state_dict() counts only batches that were returned.

    Args:
        loader: the loader.
        accelerator: the accelerator.
        placed: True moves batches to the accelerator's device.

    Attributes:
        loader: the loader.
        device: destination of batches; None: they are not moved.
        gradient_state: the accelerator's GradientState.
        end_of_dataloader: True during the last batch of an epoch.
        remainder: own rows of the epoch in the last global batch; 0: all of them; -1: no rows can
            be cut off its end.
    """

    _made_by = PREPARE
    gradient_state: Any
    device: Any
    end_of_dataloader: bool
    remainder: int

    def __init__(self, loader: Loader, accelerator: Any, placed: bool) -> None:
        super().__init__(loader)
        self.gradient_state = accelerator.gradient_state
        stays = str(accelerator.device) == "cpu" and not loader._handle.on_device
        self.device = accelerator.device if placed and not stays else None
        self.end_of_dataloader, self.remainder = False, -1
        self._non_blocking = bool(getattr(accelerator, "non_blocking", False))
        self._turn = None  # the loader's turn during the iteration that the gradient state knows
        self._at = None  # place after the last returned batch of this iteration; None: the loader's own place
        self._skip = 0  # batches to skip in the next iteration

    def __iter__(self) -> Iterator[Any]:
        """Begins an epoch, as the loader does."""
        if self._skip:
            self.loader.load_state_dict(self.loader.state_at(self.loader.epoch, self._skip))
            self._skip = 0
        batches = iter(self.loader)
        return self._iterate(batches, self.loader._turn)

    def _iterate(self, batches, turn):
        """Yields the batches of one iteration, each once the next one is ready or known to fail."""
        loader, failure = self.loader, None
        if turn != loader._turn:  # ended before its first batch: leaves the iteration in progress alone
            batches._is_over()  # raises if another one began or the loader was closed
            return
        self._begin(turn)
        try:
            batch, failure = _next(batches)
            while batch is not None:
                batch, place = self._moved(batch), loader._place()
                following, failure = _next(batches)
                if turn != loader._turn:
                    break
                self._at, self.end_of_dataloader = place, following is None and failure is None
                yield batch
                if turn != loader._turn:
                    failure = None  # it concerns a batch that was not requested
                    break
                if failure is not None:
                    break
                batch = following
            if failure is not None:
                if turn == loader._turn:
                    self._at = None  # the failed batch counts as consumed, as in the loader
                raise failure
            if turn != loader._turn:
                batches._is_over()
            else:
                self._at = None
        finally:
            failure = None  # its traceback refers to this frame
            self._end(turn)

    def _begin(self, turn):
        self._forget()  # an abandoned iteration
        self._turn, self._at, self.end_of_dataloader = turn, self.loader._place(), False
        self.remainder = self._own_rows()
        self.gradient_state._add_dataloader(self)

    def _own_rows(self):
        """Returns the own rows of the iteration's last global batch if added ones follow them; else
        -1, or 0: all.
        """
        loader = self.loader
        if loader.drop_last or _has_buckets(loader):
            return -1
        rows = (loader._handle.samples - loader._place()[1]) % self.total_batch_size
        behind = loader.world_size == 1 or loader._opened[0]["last_batch"] == WRAP
        return rows if behind or rows == 0 else -1

    def _end(self, turn):
        """Ends the iteration, also after a `break`: the place stays that of the loop's last batch,
        without the one that is ahead.
        """
        if self._turn == turn:
            self._forget()

    def _forget(self):
        if self._is_iterated():
            self.gradient_state._remove_dataloader(self)

    def _is_iterated(self):
        return any(known is self for known in self.gradient_state.dataloader_references)

    def _moved(self, batch):
        return batch if self.device is None else _seats.moved(batch, self.device, self._non_blocking)

    def _place(self):
        if not self._is_behind():
            return self.loader._place()
        self.loader._check_process()
        return self._at

    def _is_behind(self):
        """Returns True if the place is that of the last returned batch, not the loader's own."""
        return self._at is not None and self._turn in (self.loader._turn, self.loader._closed_turn)

    @property
    def epoch(self) -> int:
        """The epoch in progress, or the next one."""
        return self._at[0] if self._is_behind() else self.loader.epoch

    @property
    def remaining(self) -> int:
        """Batches that are left of the epoch in progress."""
        return max(0, len(self) + -self._place()[1] // self.total_batch_size)

    @property
    def total_batch_size(self) -> int:
        """Rows of a batch on all ranks together."""
        return self.loader.batch_size * self.loader.world_size

    @property
    def total_dataset_length(self) -> int:
        """Samples of an epoch, on all ranks together."""
        return self.loader._handle.samples

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch of the next iteration, as the loader does.

        Args:
            epoch: number of the epoch, from 0.

        Raises:
            StateError: the loader is closed.
        """
        self.loader.set_epoch(epoch)

    def state_dict(self) -> dict[str, int | str]:
        """Returns the loader's state, in which every batch that was returned counts as consumed.

        Returns:
            The state.
        """
        return self.loader._state(self._place())

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Resumes from a state at the next iteration, as the loader does.

        Args:
            state: a state from state_dict().

        Raises:
            ValueError: the state is not from such a loader.
        """
        self.loader.load_state_dict(state)
        self._skip = 0


def skip_first_batches(loader: Any, num_batches: int = 0) -> Any:
    """Skips the first batches of the next iteration, which are neither read nor decoded.

    The iteration after it is a whole epoch.

    Args:
        loader: the object that prepare() returned, or a loader; for a loader, call set_epoch()
            before this function, not after it.
        num_batches: number of batches, counted from the epoch's beginning, so an earlier
            load_state() to the same place is harmless [0].

    Returns:
        The loader.

    Raises:
        ValueError: the epoch has fewer batches.
    """
    count = _check.integer("num_batches", num_batches, 0, 2**63 - 1)
    if not isinstance(loader, Prepared):
        if isinstance(loader, _seats.Over):
            raise _check.wrong(f"{SKIP}: loader", loader, "what sluice.accelerate.prepare returned, or a loader")
        loader = _seats.loader_of(SKIP, loader)
        loader.load_state_dict(loader.state_at(loader.epoch, count))
        return loader
    loader.loader.state_at(loader.epoch, count)  # raises if there are fewer
    loader._skip = count
    return loader
