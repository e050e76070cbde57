# SPDX-License-Identifier: Apache-2.0
"""sluice.ranks: which of several processes this is."""
from __future__ import annotations

from collections import namedtuple

from . import _sluice
from ._check import integer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import Ranks as Ranks

if not TYPE_CHECKING:
    Ranks = namedtuple("Ranks", ["rank", "world_size", "local_rank", "local_size", "source"])
    Ranks.__doc__ = "Which of several processes this is. Local ones: among those on this machine, None: not known; \
`source`: 'torch.distributed', 'torchrun', 'Open MPI', 'PMI', 'PALS', 'Slurm', or '': one process."


def ranks(model_parallel: int = 1) -> Ranks:
    """Which of several processes this is, as a loader without rank= finds it.

    torch.distributed's word if it is initialised, then the variables that launchers set: torchrun's, Open
    MPI's, PMI's, PALS', and Slurm's inside a step of several tasks. InvalidError, a ValueError, where two
    contradict each other, or one says only half.

    model_parallel: this many consecutive ranks hold parts of one model and need the same batches: rank and
    world_size are divided by it. The local ones stay.
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
