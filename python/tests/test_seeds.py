# SPDX-License-Identifier: Apache-2.0
"""Seeds that are not given: seed=None, torch's generators, and the seed in a state."""
import warnings

import pytest

import sluice
from sluice import _seeds, transforms as T

torch = pytest.importorskip("torch")
import sluice.torch  # noqa: E402

CROP = [T.RandomResizedCrop(16), T.RandomHorizontalFlip()]


def open_loader(photos, kind=sluice.torch.DataLoader, **options):
    return kind(photos, batch_size=4, shuffle=True, transform=CROP, **options)


def contents(batches):
    return [(batch["index"].tolist(), batch["image"].tolist()) for batch in batches]


def test_torchs_seed(photos):
    torch.manual_seed(7)
    loader = open_loader(photos, seed=None)
    assert loader.seed == 7
    first = contents(loader)
    assert contents(open_loader(photos, seed=7)) == first
    torch.manual_seed(8)
    assert contents(open_loader(photos, seed=None)) != first
    torch.manual_seed(-1)
    assert open_loader(photos, seed=None).seed == torch.initial_seed() == 2**64 - 1


def test_a_random_seed(photos):
    seeds = {open_loader(photos, sluice.Loader, seed=None).seed for _ in range(4)}
    assert len(seeds) == 4 and all(0 <= seed < 2**63 for seed in seeds)
    assert open_loader(photos, sluice.Loader).seed == 0


@pytest.mark.parametrize("kind", [sluice.Loader, sluice.torch.DataLoader])
def test_a_state_keeps_it(photos, kind):
    torch.manual_seed(1)
    loader = open_loader(photos, kind, seed=None)
    start = loader.state_dict()
    iterator = iter(loader)
    next(iterator)
    state = loader.state_dict()
    rest = contents(iterator)
    assert state["seed"] == start["seed"] == loader.seed
    torch.manual_seed(2)
    other = open_loader(photos, kind, seed=None)
    assert other.seed != loader.seed
    other.load_state_dict(state)
    assert other.seed == loader.seed and contents(other) == rest
    assert contents(other) == contents(loader)  # the next epoch
    other = open_loader(photos, kind, seed=None)
    other.load_state_dict(start)  # of an epoch that has not begun
    assert contents(other)[1:] == rest
    other = open_loader(photos, kind, seed=loader.seed)
    other.load_state_dict(state)
    assert contents(other) == rest and "seed" not in other.state_dict()


def test_states_that_are_refused(photos):
    loader = open_loader(photos, seed=None)
    iterator = iter(loader)
    next(iterator)
    state = loader.state_dict()
    with pytest.raises(ValueError, match=f"with seed {loader.seed}, and this one has 3: open it with seed={loader.seed} or seed=None"):
        open_loader(photos, seed=3).load_state_dict(state)
    other = open_loader(photos, seed=None)
    seed, wanted = other.seed, contents(open_loader(photos, seed=other.seed))
    for damaged in (state | {"seed": "x"}, state | {"seed": -1}, state | {"seed": True}, state | {"seed": 5}):
        with pytest.raises(ValueError):
            other.load_state_dict(damaged)
        assert other.seed == seed
    assert contents(other) == wanted


def test_ranks_need_a_number(photos, monkeypatch):
    for name, value in (("RANK", "0"), ("WORLD_SIZE", "2"), ("LOCAL_RANK", "0"), ("LOCAL_WORLD_SIZE", "2")):
        monkeypatch.setenv(name, value)
    for how in ({"rank": 0, "world_size": 2}, {"model_parallel": 2}):
        with pytest.raises(ValueError, match="every rank would draw its own seed.*give all of them the same number"):
            open_loader(photos, seed=None, **how)
    assert open_loader(photos, generator=torch.Generator(), rank=0, world_size=2).seed == torch.Generator().initial_seed()


def test_generator_and_worker_init_fn(photos):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        generator = torch.Generator().manual_seed(5)
        loader = open_loader(photos, generator=generator, worker_init_fn=print)
        assert loader.seed == 5 and loader.generator is generator and loader.worker_init_fn is print
        assert contents(loader) == contents(open_loader(photos, seed=5))
        assert loader.state_dict()["seed"] == 5
    with pytest.raises(TypeError, match="generator= and seed=3 both give the seed"):
        open_loader(photos, seed=3, generator=generator)
    with pytest.raises(TypeError, match="generator=.*expected a torch.Generator"):
        open_loader(photos, generator=5)
    with pytest.raises(TypeError, match="worker_init_fn=.*expected a callable"):
        open_loader(photos, worker_init_fn=5)
    _seeds.said.clear()
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for _ in range(3):
            open_loader(photos, generator=torch.Generator(), worker_init_fn=print)
    assert sorted(str(each.message).partition(": ")[0] for each in seen) == ["generator=", "worker_init_fn="]
    assert all(each.filename == __file__ for each in seen)


def test_a_closed_loader_takes_no_state(photos):
    options = {"batch_size": 4, "shuffle": True, "transform": CROP, "seed": None}
    state = sluice.Loader(photos, **options).state_dict()
    loader = sluice.Loader(photos, **options)
    loader.close()
    with pytest.raises(sluice.StateError, match="the loader is closed"):
        loader.load_state_dict(state)
