# SPDX-License-Identifier: Apache-2.0
"""Another thread ends a loop in each trainer's seat, with and without a hook's thread: the seat behaves like the bare loader."""
import threading
import time

import pytest

import sluice
from sluice import columns as C

torch = pytest.importorskip("torch")
import trainer_seats  # noqa: E402

import sluice.torch  # noqa: E402

BATCHES, ROWS = 10, 4
STOPPED = (sluice.CanceledError, sluice.StateError)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return trainer_seats.write_rows(tmp_path_factory.mktemp("rows") / "rows", BATCHES * ROWS)


@pytest.fixture
def seats(monkeypatch):
    yield trainer_seats.install(monkeypatch)
    trainer_seats.uninstall()


@pytest.fixture(params=trainer_seats.SEATS)
def open_seat(request, seats, path):
    """Returns a function that returns (loader, the object that its trainer iterates)."""

    def open_it(**options):
        columns = {"x": C.Tensor("x"), "number": C.Number("number")}
        loader = sluice.torch.DataLoader(path, ROWS, columns=columns, num_workers=1, **options)
        return loader, trainer_seats.SEATS[request.param](seats, loader)

    return open_it


HOOKED = [{}, {"batch_hook": lambda batch: None, "batch_hook_thread": True}]


def wait_in_next(loader, batches, kept):
    """Returns (thread, errors): the thread keeps all batches until it waits for one that has no free slot."""
    errors = []

    def loop():
        try:
            kept.extend(batches)
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=loop)
    thread.start()
    while not (loader._lock.locked() and loader._handle.held == loader._handle.slots):
        time.sleep(0.001)
    return thread, errors


def close_in_a_thread(loader):
    """Returns once the loader is closed; the thread may still wait for the hook's."""
    threading.Thread(target=loader.close).start()
    while not loader._handle.closed:
        time.sleep(0.001)


@pytest.mark.parametrize("hook", HOOKED, ids=["", "thread"])
def test_close_while_the_loop_waits(open_seat, hook):
    loader, batches = open_seat(hold="wait", prefetch_factor=2, **hook)
    thread, errors = wait_in_next(loader, batches, kept := [])
    loader.close()
    thread.join(300)
    assert not thread.is_alive() and len(errors) == 1 and isinstance(errors[0], STOPPED) and "closed" in str(errors[0])
    assert len(kept) < BATCHES


@pytest.mark.parametrize("hook", HOOKED, ids=["", "thread"])
def test_close_between_batches(open_seat, hook):
    loader, batches = open_seat(**hook)
    batches = iter(batches)
    next(batches)
    close_in_a_thread(loader)
    with pytest.raises(sluice.StateError, match="closed"):
        next(batches)


@pytest.mark.parametrize("hook", HOOKED, ids=["", "thread"])
def test_another_loop_of_the_loader(open_seat, hook):
    loader, batches = open_seat(**hook)
    batches = iter(batches)
    next(batches)
    other = iter(loader)
    with pytest.raises(sluice.StateError, match="another iteration of this loader has begun"):
        next(batches)
    assert sum((batch["number"].tolist() for batch in other), []) == list(range(BATCHES * ROWS))


def test_set_epoch_while_the_loop_waits(open_seat):
    """The loop ends without an error; a seat that iterates over epochs continues with the new one."""
    loader, batches = open_seat(hold="wait", prefetch_factor=2)
    thread, errors = wait_in_next(loader, batches, kept := [])
    goes_on = isinstance(batches, sluice.torchtitan.DataLoader) or not hasattr(batches, "epoch")
    loader.set_epoch(7)
    kept.clear()
    while thread.is_alive() and not (goes_on and loader._handle.epoch == 7):
        time.sleep(0.001)
    assert not errors and loader.epoch == 7 and thread.is_alive() == goes_on
    loader.close()
    thread.join(300)
    assert not thread.is_alive()


class ClosedBehind:
    """The library's loader; another thread closes it as soon as the third batch is ready."""

    def __init__(self, loader):
        self.loader, self.handle, self.taken = loader, loader._handle, 0

    def __getattr__(self, name):
        return getattr(self.handle, name)

    def next(self, convert):
        batch, self.taken = self.handle.next(convert), self.taken + 1
        if self.taken == 3:
            close_in_a_thread(self.loader)
        return batch


@pytest.mark.parametrize("hook", HOOKED, ids=["", "thread"])
def test_close_behind_a_batch(open_seat, hook):
    loader, batches = open_seat(**hook)
    loader._handle = ClosedBehind(loader)
    with pytest.raises(sluice.StateError, match="closed"):
        list(batches)


def test_close_before_the_hooks_thread_is_asked(path, monkeypatch):
    class Running(set):
        def add(self, ahead):
            close_in_a_thread(loader)

    monkeypatch.setattr("sluice._hooking._running", Running())
    loader = sluice.Loader(path, ROWS, **HOOKED[1])
    with pytest.raises(sluice.StateError, match="closed"):
        next(iter(loader))
