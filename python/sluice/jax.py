# SPDX-License-Identifier: Apache-2.0
"""JAX: batches as global arrays, made from the rows of each process.

docs/trainers.md has a complete program.
"""
from __future__ import annotations

from . import _check, _seats

try:
    import jax
except ModuleNotFoundError as _error:
    if _error.name != "jax":
        raise
    raise _seats.needed("sluice.jax", "JAX", "jax") from None

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from .loader import Loader

__all__ = ["GlobalBatches", "global_batches"]

FUNCTION = "sluice.jax.global_batches"


def global_batches(loader: Loader, sharding: Any, *, names: Sequence[str] | None = None, model_parallel: int = 1) -> GlobalBatches:
    """Makes batches of global jax.Arrays from each process's rows: `for images, labels in batches`.

    A batch has batch_size x world_size rows, over all devices.

    Args:
        loader: a sluice.Loader, opened after jax.distributed.initialize, with
            rank=jax.process_index() and world_size=jax.process_count(). With several processes, all
            its batches must have one size (drop_last=True, last_batch='pad', 'repeat' or 'wrap').
        sharding: a jax.sharding.Sharding whose first axis is the data axis, for all columns; or a
            dict of them by column name.
        names: columns of a batch, which is then a dict of them [all columns, as a tuple].
        model_parallel: number of consecutive processes that read the same batches, as for the
            loader [1].

    Returns:
        GlobalBatches.

    Raises:
        ValueError: the loader has the rank of another process, batches on a GPU, a last batch of
            fewer rows, or a column without a sharding.
        StateError: the loader has a trainer already, or is closed.
    """
    loader = _seats.loader_of(FUNCTION, loader)
    if loader._handle.on_device:
        raise ValueError(f"{FUNCTION}: the loader's batches are on a GPU, and JAX copies rows from host memory: open the loader without device=")
    if names is not None:
        names = tuple(_check.texts("names", names, "names of columns, in a list"))
    parallel = _check.integer("model_parallel", model_parallel, 1, 2**32 - 1)
    count = jax.process_count()
    if count % parallel:
        raise ValueError(f"{FUNCTION}: model_parallel={parallel} does not divide {count} processes")
    _seats.check_ranks(
        FUNCTION, loader, jax.process_index() // parallel, count // parallel,
        "with " + ("rank=jax.process_index(), world_size=jax.process_count()" if parallel == 1
                   else f"rank=jax.process_index() // {parallel}, world_size=jax.process_count() // {parallel}"),
    )  # fmt: skip
    rows = loader.batch_size * loader.world_size
    if loader.world_size > 1 and loader._opened[0]["last_batch"] == SHORT and loader._handle.samples % rows:
        raise ValueError(f"{FUNCTION}: the last batch has fewer rows on some processes: open the loader with drop_last=True or last_batch='pad'")
    batches = GlobalBatches(loader, sharding, names)
    _seats.take(FUNCTION, loader, batches)
    return batches


SHORT = 2  # value of last_batch='short' in the library


class GlobalBatches(_seats.Over):
    """A loader whose batches are tuples or dicts of global arrays.

    global_batches() makes it. Everything else is the loader's.

    Args:
        loader: the loader.
        sharding: as in global_batches.
        names: as in global_batches.
    """

    _made_by = FUNCTION
    sharding: Any
    names: tuple[str, ...] | None

    def __init__(self, loader: Loader, sharding: Any, names: tuple[str, ...] | None) -> None:
        super().__init__(loader)
        self.sharding, self.names = sharding, names

    def __iter__(self) -> Iterator[tuple[Any, ...] | dict[str, Any]]:
        """Begins an epoch, as the loader does."""
        batches = iter(self.loader)
        return (self._global(batch) for batch in batches)

    def _global(self, batch):
        if self.names is not None:
            return {name: self._array(name, batch[name]) for name in self.names}
        return tuple(self._array(name, column) for name, column in batch.items())

    def _array(self, name, column):
        return jax.make_array_from_process_local_data(self._sharding(name), column.numpy())

    def _sharding(self, name):
        shardings: Mapping[str, Any] | Any = self.sharding
        if not isinstance(shardings, dict):
            return shardings
        if name not in shardings:
            raise ValueError(f"{FUNCTION}: column {name!r} has no sharding: the dict has those of {sorted(shardings)}; or leave the column out by names=")
        return shardings[name]
