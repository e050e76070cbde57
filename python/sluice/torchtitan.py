# SPDX-License-Identifier: Apache-2.0
"""torchtitan and torch.distributed.checkpoint: a data loader with a state (Stateful).

torchtitan itself is not imported: its trainer takes any object that is iterated and has state_dict() and load_state_dict().
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
    loader: Loader, inputs: Mapping[str, str] | None = None, labels: str = "target", *, dp_rank: int | None = None,
    dp_world_size: int | None = None, infinite: bool = True,
) -> DataLoader:  # fmt: skip
    """What torchtitan's build_dataloader returns: batches are ({"input": tensor, ...}, labels).

    loader: a sluice.torch.DataLoader of this data-parallel rank, with batches of one size.
    inputs: names of columns by the names that the model knows [{"input": "input"}].
    labels: name of the column of labels.
    dp_rank, dp_world_size: torchtitan's, to check the loader's [they are not checked].
    infinite: True begins the next epoch by itself, as torchtitan's steps need.

    The object is Stateful for torch.distributed.checkpoint: dcp.save({"dataloader": it}, ...). Its state is the loader's, the same on
    every rank, so the data-parallel size may change between runs.

    ValueError: the loader has another rank. StateError: it has a trainer already, or is closed.
    """
    loader = _seats.loader_of(FUNCTION, loader)
    if (dp_rank is None) != (dp_world_size is None):
        raise ValueError("dp_rank and dp_world_size go together")
    if dp_rank is not None and dp_world_size is not None:
        dp_rank, dp_world_size = _check.integer("dp_rank", dp_rank), _check.integer("dp_world_size", dp_world_size, 1)
        _seats.check_ranks(FUNCTION, loader, dp_rank, dp_world_size, "with rank=dp_rank, world_size=dp_world_size")
    wanted = "a dict of columns' names by the names that the model knows"
    inputs = {"input": "input"} if inputs is None else dict(_check.mapping("inputs", inputs, wanted))
    if not inputs or not all(isinstance(column, str) for column in inputs.values()):
        raise _check.wrong("inputs", inputs, wanted)
    made = DataLoader(loader, inputs, _check.text("labels", labels), _check.flag("infinite", infinite))
    _seats.take(FUNCTION, loader, made)
    return made


class DataLoader(_seats.Over):
    """Batches for torchtitan; dataloader() makes it. Everything else is the loader's."""

    _made_by = FUNCTION

    def __init__(self, loader: Loader, inputs: dict[str, str], labels: str, infinite: bool) -> None:
        super().__init__(loader)
        self.inputs, self.labels, self.infinite = inputs, labels, infinite

    def __iter__(self) -> Iterator[tuple[dict[str, Any], Any]]:
        """Begins an epoch, as the loader does; infinite: all that follow, too."""
        return self._batches(iter(self.loader))

    def _batches(self, batches):
        while True:
            for batch in batches:
                yield {name: batch[column] for name, column in self.inputs.items()}, batch[self.labels]
            if not self.infinite:
                return
            batches = iter(self.loader)

    def state_dict(self) -> dict[str, Any]:
        """The loader's."""
        return self.loader.state_dict()

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """The loader's. An empty state, which a checkpoint of before has, changes nothing."""
        if state_dict:
            self.loader.load_state_dict(dict(state_dict))
