# SPDX-License-Identifier: Apache-2.0
"""After close(), everything that needs a loader's threads reports that it is closed, and the state is that of the last batch returned to the loop.
Holds in each trainer's seat, with and without a hook's thread, at any position of an epoch."""
import pytest

import sluice
from sluice import columns as C

torch = pytest.importorskip("torch")
import trainer_seats  # noqa: E402

import sluice.torch  # noqa: E402

BATCHES, ROWS = 5, 4
HOOKED = [{}, {"batch_hook": lambda batch: None, "batch_hook_thread": True}]
SEATS = [name for name in trainer_seats.SEATS if name != "keras"]  # its feed has no state
CALLS = {
    "iter": lambda loader, state: next(iter(loader)),
    "len": lambda loader, state: len(loader),
    "remaining": lambda loader, state: loader.remaining,
    "state_at": lambda loader, state: loader.state_at(0, 1),
    "set_epoch": lambda loader, state: loader.set_epoch(3),
    "sampler.set_epoch": lambda loader, state: loader.sampler.set_epoch(3),
    "len(sampler)": lambda loader, state: len(loader.sampler),
    "load_state_dict": lambda loader, state: loader.load_state_dict(state),
    "stats": lambda loader, state: loader.stats(),
    "describe": lambda loader, state: loader.describe(),
}
STAYS = {"state_dict", "epoch", "seed", "close", "dataset"}  # public names that keep working


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return trainer_seats.write_rows(tmp_path_factory.mktemp("rows") / "rows", BATCHES * ROWS)


@pytest.fixture
def seats(monkeypatch):
    yield trainer_seats.install(monkeypatch)
    trainer_seats.uninstall()


def opened(path, **options):
    return sluice.torch.DataLoader(path, ROWS, columns={"x": C.Tensor("x"), "number": C.Number("number")}, num_workers=1, shuffle=True, **options)


def place(loader):
    return loader.state_dict(), loader.epoch


@pytest.mark.parametrize("hook", HOOKED, ids=["", "thread"])
@pytest.mark.parametrize("seat", SEATS)
@pytest.mark.parametrize("taken", [0, 1, 3, BATCHES, BATCHES + 1])
def test_behind_close(seats, path, seat, hook, taken):
    loader = opened(path, **hook)
    made = trainer_seats.SEATS[seat](seats, loader)
    batches = iter(made)
    for _ in range(taken):
        next(batches, None)
    before = place(made)
    made.close()
    for name, call in CALLS.items():
        with pytest.raises(sluice.StateError, match="the loader is closed"):
            call(made, before[0])
            pytest.fail(name)
        assert place(made) == before, name
    is_complete = seat in ("accelerate", "transformers") and taken == BATCHES  # these seats know the last batch
    if taken <= BATCHES and not is_complete:
        with pytest.raises(sluice.StateError, match="closed"):
            next(batches)
    made.close()
    assert place(made) == before


@pytest.mark.parametrize("hook", HOOKED, ids=["", "thread"])
@pytest.mark.parametrize("seat", ["bare", "accelerate", "torchtitan"])
def test_a_state_behind_close_goes_on(seats, path, seat, hook):
    def rows(loader):
        return sum(map(trainer_seats.numbers, loader), [])

    whole, loader = rows(opened(path)), opened(path, **hook)
    made = trainer_seats.SEATS[seat](seats, loader)
    batches = iter(made)
    seen = sum((trainer_seats.numbers(next(batches)) for _ in range(2)), [])
    made.close()
    other = opened(path)
    other.load_state_dict(made.state_dict())
    assert seen + rows(other) == whole


def test_every_public_name(path):
    """A new name must be added to one of the lists."""
    own = {name for name in vars(sluice.Loader) if not name.startswith("_")}
    assert own == {name.partition(".")[0] for name in CALLS if name.partition(".")[0] in own} | STAYS & own
