# SPDX-License-Identifier: Apache-2.0
"""Ranks: as given by launchers, torch.distributed and arguments; and ranks that share a batch."""
import os
import sys
import types

import pytest

import sluice
from sluice import transforms as T

LAUNCHERS = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_", "OMPI_", "PMI_", "PALS_", "SLURM_", "TORCHELASTIC_")


@pytest.fixture
def launched(monkeypatch):
    """Sets the variables of a launcher, and removes all others."""
    for name in list(os.environ):
        if name.startswith(LAUNCHERS):
            monkeypatch.delenv(name)
    monkeypatch.delitem(sys.modules, "torch.distributed", raising=False)
    yield lambda **variables: [monkeypatch.setenv(name, str(value)) for name, value in variables.items()]


@pytest.fixture
def data(photos):
    return sluice.Dataset(photos)


def open_loader(data, **options):
    options = {"batch_size": 4, "shuffle": True, "seed": 3, "num_workers": 1, "last_batch": "pad"} | options
    return sluice.Loader(data, transform=T.RandomResizedCrop(32), **options)


def epoch(loader):
    return [(batch["index"].tolist(), batch["mask"].tolist(), batch["image"].numpy().tobytes()) for batch in loader]


def test_slurm_counts_in_its_steps_only(data, launched):
    assert sluice.ranks() == (0, 1, 0, 1, "")
    launched(SLURM_PROCID=3, SLURM_NTASKS=4)
    assert open_loader(data).world_size == 1
    launched(SLURM_STEP_ID=0, SLURM_LOCALID=1)
    assert sluice.ranks() == (3, 4, 1, None, "Slurm")
    assert (open_loader(data).rank, open_loader(data).world_size) == (3, 4)
    launched(RANK=1)
    with pytest.raises(sluice.InvalidError, match="RANK is set, but WORLD_SIZE is not"):
        open_loader(data)
    launched(WORLD_SIZE=2)
    assert (open_loader(data).rank, open_loader(data).world_size) == (1, 2)


def test_contradictions_and_what_wins(data, launched):
    launched(RANK=1, WORLD_SIZE=2, OMPI_COMM_WORLD_RANK=1, OMPI_COMM_WORLD_SIZE=4)
    with pytest.raises(ValueError, match=r"(?s)RANK and WORLD_SIZE .* 1 of 2.*OMPI_COMM_WORLD_RANK .* 1 of 4"):
        sluice.ranks()
    with pytest.raises(ValueError, match="disagree"):
        open_loader(data)
    assert open_loader(data, rank=2, world_size=3).world_size == 3
    for half in ({"rank": 0}, {"world_size": 1}):
        with pytest.raises(ValueError, match="together"):
            open_loader(data, **half)
    with pytest.raises(ValueError, match="rank"):
        open_loader(data, rank=3, world_size=3)


def test_an_initialised_torch_comes_first(monkeypatch, launched):
    torch = types.SimpleNamespace(
        is_available=lambda: True, is_initialized=lambda: True, get_rank=lambda: 2, get_world_size=lambda: 4
    )
    launched(RANK=2, WORLD_SIZE=4, LOCAL_RANK=0, LOCAL_WORLD_SIZE=2)
    monkeypatch.setitem(sys.modules, "torch.distributed", torch)
    assert sluice.ranks() == (2, 4, 0, 2, "torch.distributed")
    launched(RANK=9)
    assert sluice.ranks() == (2, 4, None, None, "torch.distributed")
    monkeypatch.setattr(torch, "is_initialized", lambda: False)
    with pytest.raises(ValueError, match="RANK is 9"):
        sluice.ranks()


def test_ranks_of_one_model_get_the_same_batches(data, launched):
    ranks = []
    for rank in range(4):
        launched(RANK=rank, WORLD_SIZE=4, LOCAL_RANK=rank)
        assert sluice.ranks(model_parallel=2) == (rank // 2, 2, rank, None, "torchrun")
        ranks.append(open_loader(data, model_parallel=2))
    first, second, third, fourth = map(epoch, ranks)
    assert first == second and third == fourth and len(first) == len(third)
    had = [index for batches in (first, third) for row in batches for index, mask in zip(*row[:2]) if mask]
    assert sorted(had) == list(range(len(data)))
    assert len({str(loader.state_dict()) for loader in ranks}) == 1


def test_groups_that_do_not_fit(data, launched):
    launched(RANK=5, WORLD_SIZE=8)
    with pytest.raises(sluice.InvalidError, match="5 of 8: not divisible into groups of 3"):
        open_loader(data, model_parallel=3)
    with pytest.raises(ValueError, match="data-parallel"):
        open_loader(data, rank=0, world_size=2, model_parallel=2)
    for wrong in (0, -1, 2**32):
        with pytest.raises(ValueError, match="model_parallel"):
            sluice.ranks(model_parallel=wrong)
    with pytest.raises(TypeError):
        sluice.ranks(model_parallel="2")


def test_four_three_five_ranks_of_one_state(data):
    """In the middle of an epoch: each sample once, equal numbers of steps, one state for all ranks."""

    def run(world, state, steps):
        loaders = [open_loader(data, batch_size=2, rank=rank, world_size=world) for rank in range(world)]
        for loader in loaders if state else []:
            loader.load_state_dict(state)
        iterators = [iter(loader) for loader in loaders]
        had = []
        taken = 0
        while taken != steps:
            batches = [next(iterator, None) for iterator in iterators]
            assert len({batch is None for batch in batches}) == 1  # equal steps
            if batches[0] is None:
                break
            had += [i for batch in batches for i, mask in zip(batch["index"].tolist(), batch["mask"].tolist()) if mask]
            taken += 1
        states = [loader.state_dict() for loader in loaders]
        assert all(state == states[0] for state in states)
        return had, states[0]

    first, state = run(4, None, 2)
    second, state = run(3, state, 1)
    third, _ = run(5, state, None)
    assert (len(first), len(second)) == (16, 6)
    assert sorted(first + second + third) == list(range(len(data)))
