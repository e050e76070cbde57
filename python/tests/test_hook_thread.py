# SPDX-License-Identifier: Apache-2.0
"""batch_hook_thread=True: the hook runs one batch ahead of the loop, and the loop behaves as without the thread."""
import gc
import os
import subprocess
import sys
import threading
import traceback
import weakref

import pytest

import sluice
from sluice import transforms as T

BATCHES = 9  # of 33 samples


def open_loader(data, kind=sluice.Loader, **options):
    options = {"batch_size": 4, "shuffle": True, "seed": 5, "transform": T.RandomResizedCrop(8), "batch_hook_thread": True} | options
    return kind(data, **options)


def workers():
    return [thread for thread in threading.enumerate() if thread.name == "sluice batch_hook"]


@pytest.fixture(autouse=True)
def no_thread_is_left():
    yield
    gc.collect()
    assert not workers()


def content(batch):
    return batch.epoch, batch.index, batch["image"].numpy().tobytes(), batch["label"].tolist()


def test_order_and_content_stay(data, recwarn):
    def hook(batch):
        seen.append(threading.current_thread().name)
        return content(batch)

    seen = []
    plain = open_loader(data, batch_hook=hook, batch_hook_thread=False)
    ahead = open_loader(data, batch_hook=hook)
    for _ in range(3):
        assert list(ahead) == list(plain) and ahead.epoch == plain.epoch
    assert set(seen) == {"MainThread", "sluice batch_hook"} and not recwarn.list
    assert [type(batch) for batch in open_loader(data, batch_hook=lambda batch: None)] == [ahead._kind] * BATCHES


def test_one_batch_ahead(data):
    made, go = [], threading.Semaphore(0)

    def hook(batch):
        made.append(batch.index)
        go.release()

    iterator = iter(open_loader(data, batch_hook=hook))
    assert made == []
    for number in range(BATCHES):
        assert next(iterator).index == number
        for _ in range(2 if number == 0 else number < BATCHES - 1):
            assert go.acquire(timeout=600)
        assert made == list(range(min(number + 2, BATCHES)))
    assert list(iterator) == [] and not workers()


def test_a_batch_that_is_ahead_has_a_slot(data, recwarn):
    loader, before = open_loader(data, prefetch_factor=2, batch_hook=lambda batch: None), None
    assert loader._handle.slots == 4
    for images, _ in loader:
        before = images  # noqa: F841
    assert not recwarn.list
    loader = open_loader(data, prefetch_factor=2, hold="wait", hold_timeout=300, batch_hook=lambda batch: None)
    assert loader._handle.slots == 2 and sum(1 for batch in loader) == BATCHES


def test_an_error_comes_at_its_batch(data):
    def tokenize(batch):
        if batch.index == 3:
            raise ValueError("no such token")

    loader, seen = open_loader(data, batch_hook=tokenize), []
    iterator = iter(loader)
    with pytest.raises(ValueError, match="no such token") as told:
        for batch in iterator:
            seen.append(batch.index)
    assert seen == [0, 1, 2] and told.value.__notes__ == ["in batch_hook, called with batch 3 of epoch 0"]
    assert "tokenize" in "".join(traceback.format_exception(told.value)) and loader.remaining == BATCHES - 4
    assert [batch.index for batch in iterator] == [4, 5, 6, 7, 8]  # the remaining batches
    loader.batch_hook = lambda batch: batch.index
    assert list(loader) == list(range(BATCHES))


def test_what_a_hook_must_not_do(data):
    def stop(batch):
        raise StopIteration

    def take(batch):
        return next(iterator)

    for thread in (False, True):
        with pytest.raises(RuntimeError, match="batch_hook raised StopIteration for batch 0 of epoch 0"):
            list(open_loader(data, batch_hook=stop, batch_hook_thread=thread))
    iterator = iter(open_loader(data, batch_hook=take))
    with pytest.raises(sluice.StateError, match="batch_hook"):
        next(iterator)
    del iterator
    begin = lambda batch: next(iter(loader)) if len(workers()) < 5 else pytest.fail("threads without end")
    loader, other = open_loader(data, batch_hook=begin), open_loader(data, batch_hook=lambda batch: batch.index)
    iterator = iter(loader)
    with pytest.raises(sluice.StateError, match="batch_hook cannot iterate its own loader: open another loader"):
        next(iterator)
    loader.batch_hook = lambda batch: list(other)
    assert next(iterator) == list(range(BATCHES))  # the iteration continues, and other loaders are allowed
    del iterator
    with pytest.raises((TypeError, ValueError), match="batch_hook_thread"):
        open_loader(data, batch_hook_thread="yes")


@pytest.mark.parametrize("kind", [ValueError, sluice.CanceledError])
def test_an_error_leaves_no_cycle(data, kind):
    class Failed(kind):  # allows weak references
        pass

    def fail(batch):
        raise Failed("hook")

    iterator = iter(open_loader(data, batch_hook=fail))
    gc.collect()
    gc.disable()
    try:
        try:
            next(iterator)
        except Failed as raised:
            error = weakref.ref(raised)
        assert error() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("taken", [0, 1, 4, BATCHES - 1, BATCHES])
def test_a_state_is_that_of_the_loop(data, taken):
    whole = [content(batch) for _ in range(2) for batch in open_loader(data, batch_hook_thread=False)]
    loader = open_loader(data, batch_hook=content)
    iterator = iter(loader)
    assert [next(iterator) for _ in range(taken)] == whole[:taken]
    state = loader.state_dict()
    assert loader.epoch == 0 and loader.remaining == BATCHES - taken
    other = open_loader(data, batch_hook=content)
    other.load_state_dict(state)
    assert list(other) == whole[taken:BATCHES]
    loader.load_state_dict(state)  # here, too
    assert list(iterator) == [] or taken == 0
    if taken:
        assert list(loader) == whole[taken:BATCHES]


def test_leaving_a_loop_joins_the_thread(data):
    loader = open_loader(data, batch_hook=lambda batch: None)
    for batch in loader:
        assert len(workers()) == 1
        if batch.index == 2:
            break
    assert not workers() and loader.epoch == 0 and loader.remaining == BATCHES - 3
    assert [batch.epoch for batch in loader] == [1] * BATCHES and not workers()
    iterator = iter(loader)
    next(iterator)
    loader.set_epoch(7)
    assert list(iterator) == [] and [batch.epoch for batch in loader] == [7] * BATCHES
    first = iter(loader)
    next(first)
    second = iter(loader)
    with pytest.raises(sluice.StateError, match="another iteration"):
        next(first)
    assert next(second).index == 0
    loader.close()
    assert not workers()
    with pytest.raises(sluice.StateError, match="closed"):
        next(second)


def test_set_epoch_before_the_first_batch(data):
    loader = open_loader(data, batch_hook=lambda batch: batch.epoch)
    iterator = iter(loader)
    loader.set_epoch(4)
    assert set(iterator) == {4}


def test_set_epoch_while_a_batch_is_given(data, monkeypatch):
    """Another thread calls it after the loop has checked the iteration and before it records the position."""
    from sluice._hooking import Ahead

    def look(self, loader):
        end_if_elsewhere(self, loader)
        calls.append(1)
        if len(calls) == 4:  # two calls per batch
            there = threading.Thread(target=loader.set_epoch, args=[4])
            there.start()
            there.join()

    end_if_elsewhere, calls = Ahead._end_if_elsewhere, []
    monkeypatch.setattr(Ahead, "_end_if_elsewhere", look)
    loader = open_loader(data, batch_hook=lambda batch: batch.index)
    assert list(loader) == [0, 1]
    assert (loader.epoch, loader.remaining, loader.state_dict()["samples"]) == (4, BATCHES, 0)
    assert list(loader) == list(range(BATCHES)) and loader.epoch == 5


def test_a_bad_sample_comes_at_its_batch(tmp_path):
    for number in range(8):
        folder = tmp_path / "in" / "a"
        folder.mkdir(parents=True, exist_ok=True)
        from PIL import Image

        Image.new("RGB", (20, 20)).save(folder / f"{number}.png")
    content = bytearray((tmp_path / "in/a/5.png").read_bytes())
    content[-30] ^= 255
    (tmp_path / "in/a/5.png").write_bytes(content)
    seen = []
    with pytest.raises(sluice.CorruptError):
        for batch in open_loader(tmp_path / "in", batch_size=2, shuffle=False, batch_hook=lambda batch: batch.index):
            seen.append(batch)
    assert seen == [0, 1]


def test_torchs_tensors(data):
    torch = pytest.importorskip("torch")
    import sluice.torch

    loader = open_loader(data, sluice.torch.DataLoader, batch_hook=lambda batch: (batch["image"].float().mean(), batch["label"]))
    assert sum(len(labels) for mean, labels in loader if isinstance(mean, torch.Tensor)) == 33


PROGRAM = """
import os, sys, time
import sluice
from sluice import transforms as T
def hook(batch):
    if batch.index == 1:
        os.write(1, b"go\\n")
        time.sleep(float(sys.argv[2]))
loader = sluice.Loader(sys.argv[1], 4, transform=T.RandomResizedCrop(8), batch_hook=hook, batch_hook_thread=True)
iterator = iter(loader)
next(iterator)
if len(sys.argv) > 3 and os.fork() == 0:
    try:
        next(iterator)
    except sluice.StateError as error:
        os.write(1, f"child: {error}\\n".encode())
    del iterator
    loader = None
    os._exit(0)
if len(sys.argv) > 3:
    os.wait()
"""


CHILD = """
import faulthandler, os, sys, threading
import sluice
from sluice import transforms as T
def hook(batch):
    if batch.index == 1:
        begun.set()
        end.wait()
begun, end = threading.Event(), threading.Event()
loader = sluice.Loader(sys.argv[1], 4, transform=T.RandomResizedCrop(8), batch_hook=hook, batch_hook_thread=True)
iterator = iter(loader)
next(iterator)
begun.wait()
child = os.fork()
if child == 0:
    faulthandler.dump_traceback_later(60, exit=True)
    assert loader.epoch == 0
    for ask in lambda: loader.state_dict(), lambda: loader.remaining:
        try:
            ask()
        except sluice.StateError as error:
            assert "before the fork" in str(error)
        else:
            os._exit(1)  # the place is the parent's
    loader.set_epoch(3)
    assert loader.epoch == 3
    loader.close()
    os._exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
end.set()
"""


@pytest.mark.skipif("asan" in os.environ.get("LD_PRELOAD", ""), reason="its allocator is not for forks")
def test_a_child_does_not_wait_for_the_thread(run_python, photos):
    done = run_python(CHILD, photos)
    assert done.returncode == 0 and done.stderr == "", done.stderr


@pytest.mark.parametrize("arguments", [("0",), ("0.3",), ("0.1", "fork")])
def test_a_program_ends_while_a_hook_runs(photos, arguments):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", PROGRAM, photos, *arguments], capture_output=True, text=True, env=environment, timeout=600)
    assert done.returncode == 0 and done.stderr == ""
    assert ("child: the loader belongs to the process before the fork" in done.stdout) == ("fork" in arguments)
