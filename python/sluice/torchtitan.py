# SPDX-License-Identifier: Apache-2.0
"""torchtitan and torch.distributed.checkpoint: a data loader with a state (Stateful).

This module does not import torchtitan: its trainer takes any iterable object with state_dict() and
load_state_dict().
"""
from __future__ import annotations

from . import _check, _seats

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from .loader import Loader

__all__ = ["DataLoader", "dataloader"]

FUNCTION = "sluice.torchtitan.dataloader"


def dataloader(
    loader: Loader, inputs: Mapping[str, str | None] | None = None, labels: str = "target", *, dp_rank: int | None = None,
    dp_world_size: int | None = None, infinite: bool = True, flat: bool = False,
) -> DataLoader:  # fmt: skip
    """Makes the data loader that torchtitan's build_dataloader returns.

    Batches are ({"input": tensor, ...}, labels).

    The object is Stateful for torch.distributed.checkpoint: dcp.save({"dataloader": it}, ...). Its
    state is the loader's, the same on every rank, so the data-parallel size may change between
    runs.

    Args:
        loader: a sluice.torch.DataLoader of this data-parallel rank, with batches of one size.
        inputs: column names by the names that the model knows [{"input": "input"}].
        labels: name of the label column ['target'].
        dp_rank: torchtitan's data-parallel rank, to check the loader's [not checked].
        dp_world_size: torchtitan's data-parallel size, likewise [not checked].
        infinite: True begins the next epoch automatically, as torchtitan's steps need [True].
        flat: True for torchtitan's main branch: "input", "positions" and the labels are int64 of
            one dimension, rows x length, all rows of the batch back to back. A document begins
            where "positions" is 0, so `inputs` must name the column of positions
            ("tokens.positions" of a packed one), or None if each row is one document. False for
            torchtitan 0.2: rows x length, unchanged [False].

    Returns:
        DataLoader.

    Raises:
        ValueError: the loader has another rank, or flat=True lacks "input" or "positions".
        StateError: the loader has a trainer already, or is closed.

    Example:
        >>> columns = {"input": sluice.columns.Window("tokens", length=4),
        ...            "target": sluice.columns.Window("tokens", length=4, offset=1)}
        >>> loader = sluice.torch.DataLoader("corpus", batch_size=2, drop_last=True, columns=columns)
        >>> inputs, labels = next(iter(sluice.torchtitan.dataloader(loader)))
        >>> inputs["input"].tolist()
        [[0, 1, 2, 3], [4, 5, 6, 7]]
        >>> loader.close()
    """
    loader = _seats.loader_of(FUNCTION, loader)
    if (dp_rank is None) != (dp_world_size is None):
        raise ValueError("dp_rank and dp_world_size go together")
    if dp_rank is not None and dp_world_size is not None:
        dp_rank, dp_world_size = _check.integer("dp_rank", dp_rank), _check.integer("dp_world_size", dp_world_size, 1)
        _seats.check_ranks(FUNCTION, loader, dp_rank, dp_world_size, "with rank=dp_rank, world_size=dp_world_size")
    wanted = "a dict of columns' names by the names that the model knows"
    inputs = {"input": "input"} if inputs is None else dict(_check.mapping("inputs", inputs, wanted))
    flat = _check.flag("flat", flat)
    if flat:
        _check_flat(inputs)
    if not inputs or not all(isinstance(column, str) or (flat and name == "positions" and column is None) for name, column in inputs.items()):
        raise _check.wrong("inputs", inputs, wanted)
    made = DataLoader(loader, inputs, _check.text("labels", labels), _check.flag("infinite", infinite), flat)
    _seats.take(FUNCTION, loader, made)
    return made


def _check_flat(inputs):
    if "input" not in inputs:
        raise ValueError(f'flat=True: the model needs "input", which inputs={inputs!r:.80} lacks')
    if "positions" not in inputs:
        column = inputs["input"]
        raise ValueError(
            'flat=True needs "positions", which separate documents: '
            f'inputs={{"input": {column!r}, "positions": "{column}.positions"}} of a packed column, or "positions": None if each row is one document'
        )


class DataLoader(_seats.Over):
    """Batches for torchtitan. dataloader() makes it. Everything else is the loader's.

    Args:
        loader: the loader.
        inputs: as in dataloader.
        labels: as in dataloader.
        infinite: as in dataloader.
        flat: as in dataloader [False].
    """

    _made_by = FUNCTION
    inputs: dict[str, str | None]
    labels: str
    infinite: bool
    flat: bool

    def __init__(self, loader: Loader, inputs: dict[str, str | None], labels: str, infinite: bool, flat: bool = False) -> None:
        super().__init__(loader)
        self.inputs, self.labels, self.infinite, self.flat = inputs, labels, infinite, flat

    def __iter__(self) -> Iterator[tuple[dict[str, Any], Any]]:
        """Begins an epoch, as the loader does; if infinite, also all that follow."""
        return self._batches(iter(self.loader))

    def _batches(self, batches):
        while True:
            for batch in batches:
                yield self._flat(batch) if self.flat else ({name: batch[column] for name, column in self.inputs.items()}, batch[self.labels])
            if not self.infinite:
                return
            batches = iter(self.loader)

    def _flat(self, batch):
        made = {name: batch[column] for name, column in self.inputs.items() if column is not None}
        tokens, labels = made["input"], batch[self.labels]
        if "positions" not in made:
            made = {**made, "positions": self._positions(batch, tokens)}
        for name, array in (("input", tokens), ("positions", made["positions"]), ("labels", labels)):
            if array.dim() != 2 or array.shape != tokens.shape or array.is_floating_point():
                raise ValueError(
                    f"{FUNCTION}: {name} is {array.dtype} of shape {tuple(array.shape)}: flat=True takes rows x length of whole numbers, "
                    f"as input of shape {tuple(tokens.shape)}"
                )
        return {**made, "input": tokens.flatten().long(), "positions": made["positions"].flatten().long()}, labels.flatten().long()

    def _positions(self, batch, tokens):
        """Returns positions for rows that are one document each."""
        import torch

        column = self.inputs["input"]
        if f"{column}.positions" in batch:
            raise ValueError(f'{FUNCTION}: {column!r} has several documents a row: inputs={{"positions": "{column}.positions"}}, not None')
        return torch.arange(tokens.shape[-1], device=tokens.device).expand(tokens.shape)

    def state_dict(self) -> dict[str, Any]:
        """Returns the loader's state.

        Returns:
            The state.
        """
        return self.loader.state_dict()

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Resumes from a state. An empty state, as in an older checkpoint, changes nothing.

        Args:
            state_dict: a state from state_dict().

        Raises:
            ValueError: the state is not from such a loader.
        """
        if state_dict:
            self.loader.load_state_dict(dict(state_dict))
