# SPDX-License-Identifier: Apache-2.0
"""sluice.ranks: the rank of this process among several."""
from __future__ import annotations

from collections import namedtuple

from . import _sluice
from ._check import integer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import Ranks as Ranks

if not TYPE_CHECKING:
    Ranks = namedtuple("Ranks", ["rank", "world_size", "local_rank", "local_size", "source"])
    Ranks.__doc__ = """Rank of this process among several.

    Attributes:
        rank: number of this process, from 0.
        world_size: number of processes.
        local_rank: number of this process on this machine; None: not known.
        local_size: processes on this machine; None: not known.
        source: 'torch.distributed', 'torchrun', 'Open MPI', 'PMI', 'PALS', 'Slurm', or '': a
            single process.
    """


def ranks(model_parallel: int = 1) -> Ranks:
    """Finds the rank of this process, as a loader without rank= does.

    Asks torch.distributed if it is initialised, then the variables that launchers set: torchrun's,
    Open MPI's, PMI's, PALS', and Slurm's inside a step of several tasks.

    Args:
        model_parallel: number of consecutive ranks that hold parts of one model and need the same
            batches. rank and world_size are divided by it; the local ones stay [1].

    Returns:
        Ranks.

    Raises:
        InvalidError: two sources contradict each other, or one is incomplete.

    Example:
        >>> sluice.ranks().world_size
        1
    """
    model_parallel = integer("model_parallel", model_parallel, 1, 2**32 - 1)
    found = _of_torch() or _of_launcher()
    if model_parallel != 1:
        rank, world_size = _sluice.divide_ranks(found.rank, found.world_size, model_parallel)
        found = found._replace(rank=rank, world_size=world_size)
    return found


def _of_launcher():
    rank, world_size, local_rank, local_size, launcher = _sluice.find_ranks()
    return Ranks(rank, world_size, None if local_rank < 0 else local_rank, local_size or None, launcher)


def _of_torch():
    import sys

    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return None
    rank, world_size = distributed.get_rank(), distributed.get_world_size()
    try:
        launcher = _of_launcher()
    except _sluice.InvalidError:
        launcher = None
    if launcher is None or launcher[:2] != (rank, world_size):
        return Ranks(rank, world_size, None, None, "torch.distributed")
    return launcher._replace(source="torch.distributed")
