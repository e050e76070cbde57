# SPDX-License-Identifier: Apache-2.0
"""Order, epochs, states, ranks, policies, arguments."""
import gc
import json
import pickle
import re
import signal
import threading
import time
import warnings

import numpy
import pytest

import sluice
from sluice import columns as C
from sluice import transforms as T

SAMPLES = 33


def open_loader(data, **options):
    options = {"batch_size": 4, "transform": T.RandomResizedCrop(16), "shuffle": True, "seed": 5} | options
    return sluice.Loader(data, **options)


def indices(batches):
    return [batch["index"].numpy().tolist() for batch in batches]


def contents(batches):
    return [{name: column.numpy().copy() for name, column in batch.items()} for batch in batches]


def same(a, b):
    return len(a) == len(b) and all(
        x.keys() == y.keys() and all((x[name] == y[name]).all() for name in x) for x, y in zip(a, b)
    )


def test_an_epoch_is_every_sample_once(data):
    loader = open_loader(data)
    for epoch in range(3):
        assert loader.epoch == epoch and len(loader) == 9
        seen = indices(loader)
        assert [len(rows) for rows in seen] == [4] * 8 + [1]
        assert sorted(sum(seen, [])) == list(range(SAMPLES))


def test_epochs_follow_one_another_and_differ(data):
    loader = open_loader(data)
    first, second = indices(loader), indices(loader)
    assert first != second
    loader.set_epoch(0)
    assert indices(loader) == first and indices(loader) == second
    assert indices(open_loader(data, seed=6)) != first


def test_no_shuffle_is_the_datasets_order(data):
    loader = open_loader(data, shuffle=False)
    assert sum(indices(loader), []) == list(range(SAMPLES))
    loader.set_epoch(0)
    labels = sum((batch["label"].numpy().tolist() for batch in loader), [])
    assert labels == [data.sample(i)["label"] for i in range(SAMPLES)]


def test_the_last_batch(data):
    assert len(open_loader(data, drop_last=True)) == 8
    padded = list(batch["mask"].numpy().tolist() for batch in open_loader(data, last_batch="pad"))
    assert padded[-1] == [1, 0, 0, 0] and len(padded) == 9
    with pytest.raises(ValueError, match="drop_last=True and last_batch='pad' contradict each other: give one"):
        open_loader(data, drop_last=True, last_batch="pad")


def test_breaking_out_begins_the_next_epoch(data):
    loader = open_loader(data)
    for batch in loader:
        if batch.index == 2:
            break
    assert loader.epoch == 0 and loader.remaining == 6
    for batch in loader:
        assert batch.epoch == 1
        break


def test_an_older_iteration_ends(data):
    loader = open_loader(data)
    first = iter(loader)
    next(first)
    second = iter(loader)
    next(second)
    with pytest.raises(sluice.StateError, match="another iteration"):
        next(first)
    assert next(second).index == 1 and list(first) == []
    with pytest.raises(sluice.StateError, match="another iteration"):  # two nested loops
        for _ in loader:
            for _ in loader:
                pass
    for _ in loader:
        loader.set_epoch(7)  # ends it
    third = iter(loader)
    assert next(third).epoch == 7
    loader.close()
    with pytest.raises(sluice.StateError, match="closed"):
        next(third)


@pytest.mark.parametrize("what", [next, lambda iterator: iter(iterator._loader)])
def test_a_thread_does_not_wait_for_itself(data, what):
    """A signal handler runs while its own thread waits for a batch and holds the lock."""
    told = []

    def meanwhile(*_):
        try:
            what(iterator)
        except sluice.StateError as error:
            told.append(str(error))

    loader = open_loader(data, hold="wait", prefetch_factor=3)
    iterator = iter(loader)
    held = [next(iterator) for _ in range(loader.stats()["slots"])]

    def handler(*_):
        meanwhile()
        meanwhile()
        loader.close()

    before = signal.signal(signal.SIGUSR1, handler)
    timer = threading.Timer(0.2, signal.pthread_kill, (threading.main_thread().ident, signal.SIGUSR1))
    timer.start()
    try:
        with pytest.raises(sluice.Error):
            next(iterator)
    finally:
        timer.join()
        signal.signal(signal.SIGUSR1, before)
    assert held and len(told) == 2 and all("this thread is taking a batch of this loader already" in one for one in told)


def test_other_threads_wait_their_turn(data):
    """A thread that waits for another one gets no error."""
    loader = open_loader(data, transform=[T.RandomResizedCrop(16), T.Python(lambda images: (time.sleep(0.02), images.astype("float32"))[1])])
    iterator, got = iter(loader), []
    threads = [threading.Thread(target=lambda: got.extend(iterator)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == len(loader)


@pytest.mark.parametrize("workers", [1, 3])
def test_threads_change_nothing(data, workers):
    assert same(contents(open_loader(data)), contents(open_loader(data, num_workers=workers)))


def test_resume_at_every_batch(data):
    whole = [contents(open_loader(data)), None]
    loader = open_loader(data)
    list(loader)
    whole[1] = contents(loader)
    for taken in range(10):
        loader = open_loader(data)
        loader.set_epoch(0)
        iterator = iter(loader)
        for _ in range(taken):
            next(iterator, None)
        next(iterator, None) if taken == 9 else None
        state = json.loads(json.dumps(loader.state_dict()))
        assert all(isinstance(value, (int, str)) for value in state.values())
        other = open_loader(data, num_workers=2)
        other.load_state_dict(state)
        assert other.state_dict() == state
        if taken < 9:
            assert other.remaining == 9 - taken and len(other) == 9
            assert same(contents(other), whole[0][taken:])
            assert same(contents(other), whole[1])
        else:
            assert other.epoch == 1 and same(contents(other), whole[1])


def test_a_state_ends_an_iteration_in_progress(data):
    loader = open_loader(data)
    state = loader.state_dict()
    iterator = iter(loader)
    next(iterator)
    loader.load_state_dict(state)
    assert list(iterator) == []
    assert [batch.index for batch in loader] == list(range(9))


def test_an_iteration_that_gave_nothing_goes_along(data):
    """As in Lightning: iterators are made ahead, even twice, and the epoch or a state is set afterwards."""
    epochs = []
    loader = open_loader(data)
    for epoch in range(3):
        epochs.append(contents(loader))
    iterator = iter(loader)
    loader.set_epoch(1)
    assert loader.epoch == 1 and loader.remaining == 9
    assert same(contents(iterator), epochs[1]) and same(contents(loader), epochs[2])
    for taken in range(1, 10):
        loader = open_loader(data)
        iterator = iter(loader)
        for _ in range(taken):
            next(iterator)
        state = loader.state_dict()
        loader.set_epoch(2)  # ends it: it has returned batches
        assert list(iterator) == []
        for begin in (lambda other: other.load_state_dict(state), lambda other: (iter(other), other.load_state_dict(state))):
            other = open_loader(data)
            begin(other)
            first, second = iter(other), iter(other)
            assert other.state_dict() == state
            with pytest.raises(sluice.StateError, match="another iteration"):
                next(first)
            assert same(contents(second), epochs[0][taken:]) and same(contents(other), epochs[1])
        other = open_loader(data)
        third = iter(other)
        other.load_state_dict(state)
        other.set_epoch(2)
        other.set_epoch(1)
        assert same(contents(third), epochs[1])


def test_set_epoch_after_a_state(data):
    loader = open_loader(data)
    iterator = iter(loader)
    next(iterator), next(iterator)
    other = open_loader(data)
    other.load_state_dict(loader.state_dict())
    for epoch in range(other.epoch, 2):
        other.set_epoch(epoch)
        assert [batch.index for batch in other][0] == (2 if epoch == 0 else 0)


def test_ranks_share_an_epoch_and_a_state(data):
    """1 -> 3 -> 2 ranks: every sample once, regardless of the rank."""
    seen = []
    loader = open_loader(data, batch_size=3, rank=0, world_size=1)
    iterator = iter(loader)
    seen += sum(indices([next(iterator), next(iterator)]), [])
    state = loader.state_dict()
    del iterator
    states = []
    for rank in range(3):
        three = open_loader(data, batch_size=1, rank=rank, world_size=3)
        three.load_state_dict(state)
        iterator = iter(three)
        seen += sum(indices([next(iterator), next(iterator)]), [])
        states.append(three.state_dict())
    assert states[0] == states[1] == states[2]
    for rank in range(2):
        two = open_loader(data, batch_size=2, rank=rank, world_size=2)
        two.load_state_dict(states[1])
        seen += sum(indices(two), [])
    assert sorted(seen) == list(range(SAMPLES))


def test_states_of_something_else_are_refused(data):
    loader = open_loader(data)
    next(iter(loader))
    state = loader.state_dict()
    with pytest.raises(sluice.InvalidError):
        open_loader(data, seed=99).load_state_dict(state)
    with pytest.raises(ValueError):
        loader.load_state_dict({})
    with pytest.raises(ValueError):
        loader.load_state_dict(state | {"sluice": 77})
    with pytest.raises(ValueError, match="state_dict"):
        loader.load_state_dict(None)
    with pytest.raises(ValueError, match="damaged"):
        loader.load_state_dict(state | {"cursor": "zz"})
    with pytest.raises(sluice.CorruptError):
        loader.load_state_dict(state | {"cursor": "00" * (len(state["cursor"]) // 2)})


def test_states_between_epochs_of_something_else_are_refused(data):
    """Like those in the middle of an epoch: before the first epoch, after one, at a chosen one, and of a closed loader."""
    def states():
        loader = open_loader(data)
        yield loader.state_dict()
        assert len(list(loader)) == 9
        yield loader.state_dict()
        loader.set_epoch(4)
        yield loader.state_dict()
        loader.close()
        yield loader.state_dict()

    for state, epoch in zip(states(), (0, 1, 4, 4)):
        others = {"seed": (data, {"seed": 99}), "shuffle": (data, {"shuffle": False}), "dataset": (data.subset(range(20)), {})}
        for different, (source, options) in others.items():
            with pytest.raises(sluice.InvalidError, match=f"a different {different}"):
                open_loader(source, **options).load_state_dict(state)
        for before in (state, state | {"cursor": ""}):  # as earlier versions saved it
            loader = open_loader(data, batch_size=5)
            loader.load_state_dict(before)
            assert (loader.epoch, loader.remaining) == (epoch, 7) and loader.state_dict() == state
            plain = open_loader(data, batch_size=5)
            plain.set_epoch(epoch)
            assert indices(loader) == indices(plain)


def test_a_state_behind_the_last_epoch_of_a_mix(data):
    loader = open_loader(sluice.mix([data, data]))
    loader.set_epoch(2**62)
    other = open_loader(loader.dataset)
    other.load_state_dict(loader.state_dict())
    assert other.epoch == 2**62


@pytest.fixture
def broken(tmp_path, photos):
    import shutil

    shutil.copytree(photos, tmp_path / "broken")
    victim = tmp_path / "broken" / "class1" / "p03.jpg"
    victim.write_bytes(victim.read_bytes()[:200])
    return sluice.Dataset(tmp_path / "broken"), victim


def test_bad_samples(broken, tmp_path):
    data, victim = broken
    with pytest.raises(sluice.CorruptError) as caught:
        list(open_loader(data))
    error = caught.value
    assert error.file == str(victim) and error.sample == 14 and error.reason and error.status == "corrupt"
    masks = [batch["mask"].numpy().tolist() for batch in open_loader(data, on_bad_sample="mask")]
    assert sum(masks, []).count(0) == 1
    listed = tmp_path / "bad.tsv"
    loader = open_loader(data, on_bad_sample="replace", quarantine=listed)
    statuses = sum((batch["status"].numpy().tolist() for batch in loader), [])
    assert statuses.count(1) == 1 and loader.stats()["replaced_samples"] >= 1
    assert str(victim) in listed.read_text()


def test_the_hook(data):
    loader = open_loader(data, batch_hook=lambda batch: batch["label"].numpy().sum())
    assert all(isinstance(made, numpy.int64) for made in loader)

    def fail(batch):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        list(open_loader(data, batch_hook=fail))


def test_columns(data):
    loader = sluice.Loader(
        data,
        batch_size=5,
        columns={
            "large": C.Image("image", transform=T.RandomResizedCrop((20, 30)), layout="NCHW", dtype="float16"),
            "small": C.Image("image", transform=[T.Resize(16), T.CenterCrop(12)]),
            "label": C.OneHot(3),
            "key": C.Ragged(length=100),
        },
    )
    batch = next(iter(loader))
    large, small, label, key = batch
    assert large.shape == (5, 3, 20, 30) and large.dtype == "float16"
    assert small.shape == (5, 12, 12, 3) and label.shape == (5, 3) and label.numpy().sum() == 5
    text = bytes(memoryview(key))
    offsets = key.offsets.numpy()
    assert text[offsets[1] : offsets[2]].decode() == data.sample(1)["key"]
    with pytest.raises(TypeError, match="columns"):
        sluice.Loader(data, columns={"image": 3})
    with pytest.raises(TypeError, match="own transform"):
        sluice.Loader(data, columns={"label": C.Number()}, dtype="float32")
    with pytest.raises(sluice.InvalidError):
        sluice.Loader(data, columns={"none": C.Number()})


def test_pictures_are_pillows(data, photos):
    from PIL import Image

    loader = open_loader(
        data, shuffle=False, exact=True, transform=T.Compose([T.Resize(32), T.CenterCrop((24, 28))])
    )
    for batch in loader:
        for row, index in zip(batch["image"], batch["index"].numpy()):
            picture = Image.open(data.sample(int(index))["file"]).convert("RGB")
            width, height = picture.size
            short = min(width, height)
            size = (32, int(32 * height / width)) if width == short else (int(32 * width / height), 32)
            picture = picture.resize(size, Image.BILINEAR)
            left, top = round((size[0] - 28) / 2.0), round((size[1] - 24) / 2.0)
            expected = numpy.asarray(picture.crop((left, top, left + 28, top + 24))).astype(int)
            assert numpy.abs(expected - row.numpy()).max() <= 1


def test_floating_pictures(data):
    plain = contents(open_loader(data, dtype="float32"))
    normal = contents(open_loader(data, transform=[T.RandomResizedCrop(16), T.Normalize([0.5] * 3, [0.25] * 3)]))
    for a, b in zip(plain, normal):
        assert numpy.allclose((a["image"] - 0.5) / 0.25, b["image"], atol=1e-5)


def test_arguments_are_explained(data):
    crop = T.RandomResizedCrop(16)
    for name in ("sampler", "batch_sampler", "collate_fn", "worker_init_fn", "generator"):
        with pytest.raises(TypeError, match=name):
            open_loader(data, **{name: object()})
        open_loader(data, **{name: None})
    open_loader(data, pin_memory=True, persistent_workers=True, timeout=3)
    with pytest.raises(TypeError, match="unexpected"):
        open_loader(data, nonsense=1)
    with pytest.raises(ValueError, match="'full'"):
        open_loader(data, shuffle="some")
    with pytest.raises(ValueError, match="float16"):
        open_loader(data, dtype="complex64")
    with pytest.raises(TypeError, match="transform"):
        sluice.Loader(data)
    for size in (0, -1, 1 << 20, 1.5):
        with pytest.raises(ValueError, match="batch_size"):
            sluice.Loader(data, size, transform=crop)
    for name, values in {
        "seed": (-1, "a", 1.5, 1 << 64), "num_workers": (-1, "2"), "rank": (-1,), "hold_timeout": (-1, 0), "stall_fail": (0, -1),
        "exact": ("no", 2), "drop_last": ("x",), "batch_hook": (5,), "columns": ([],), "max_pixels": ("x",),
    }.items():  # fmt: skip
        for value in values:
            options = {name: value} | ({"world_size": 2} if name == "rank" else {})
            with pytest.raises((ValueError, TypeError), match=f"{name}="):
                open_loader(data, **options)
    for size in (numpy.int64(4), 4):
        assert len(open_loader(data, batch_size=size, seed=numpy.int64(5), num_workers=numpy.int32(1))) == 9
    for epoch in (-1, 1.5, "3", 1 << 64):
        with pytest.raises(ValueError, match="epoch="):
            open_loader(data).set_epoch(epoch)
    with pytest.raises(sluice.UnsupportedError):
        open_loader(data, device="cuda:77")
    with pytest.raises(sluice.OutOfMemoryError):
        open_loader(data, memory_bytes=1000)
    with pytest.raises(MemoryError):
        open_loader(data, memory_bytes=1000)


def test_slots_without_memory_name_the_largest_column(data):
    for size, rows, given, left in (512, 32, {"memory_bytes": 16 << 20}, "memory_bytes"), (16384, 4096, {}, "the system's memory"):
        columns = {f"crop{i}": C.Image("image", transform=T.RandomResizedCrop(size >> i)) for i in (1, 0, 2)}
        text = rf'[0-9]+ slots of {rows} rows need .* left of {left}: column "crop0" has {3 * size * size} bytes in each row'
        with pytest.raises(sluice.OutOfMemoryError, match=text):
            open_loader(data, batch_size=rows, num_workers=1, transform=None, columns=columns, **given)


def test_a_loader_says_what_it_waits_for(data):
    loader = open_loader(data)
    assert loader.describe() == "no epoch was started"
    iterator = iter(loader)
    next(iterator)
    assert re.search("slots: [0-9]+ empty, .*; samples: [0-9]+ requested, .*; reads: [0-9]+ in flight.*; workers: ", loader.describe())
    loader.close()
    with pytest.raises(sluice.StateError, match="closed"):
        loader.describe()


def test_figures(data):
    loader = open_loader(data, num_workers=2)
    list(loader)
    figures = loader.stats()
    assert figures["workers"] == 2 and figures["batches"] == 9 and figures["samples"] >= SAMPLES
    assert figures["device"] == "host" and figures["io_backend"] in ("uring", "pread")
    assert sum(figures["host_waits"]) == 9


def test_closed_loaders_say_so(data):
    with open_loader(data) as loader:
        batch = next(iter(loader))
    image = batch["image"].numpy().copy()
    loader.close()
    for call in (lambda: iter(loader), lambda: len(loader), loader.stats):
        with pytest.raises(sluice.StateError, match="closed"):
            call()
    assert (batch["image"].numpy() == image).all()


def test_two_threads_take_turns(data):
    loader = open_loader(data, batch_size=1)
    iterator, lock, seen = iter(loader), threading.Lock(), []
    handle = loader._handle

    def take():
        while (batch := handle.next(None)) is not None:
            with lock:
                seen.append(int(batch["index"].numpy()[0]))

    threads = [threading.Thread(target=take) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    assert sorted(seen) == list(range(SAMPLES))
    del iterator


def test_another_thread_closes(data):
    loader = open_loader(data, prefetch_factor=2, hold="wait")
    iterator = iter(loader)
    kept = [next(iterator), next(iterator)]
    failed = []

    def wait():
        try:
            next(iterator)
        except sluice.Error as error:
            failed.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    loader.close()
    thread.join(300)
    assert not thread.is_alive() and len(failed) == 1
    assert all(len(batch["image"].numpy()) == 4 for batch in kept)


def test_another_thread_goes_to_an_epoch(data):
    """Another thread takes batches ahead, and the program leaves an epoch early."""
    loader = open_loader(data, prefetch_factor=2, hold="wait")
    expected = [indices(loader) for epoch in range(3)]
    state = open_loader(data).state_dict()
    for go, epoch in (lambda: loader.set_epoch(2), 2), (lambda: loader.load_state_dict(state), 0):
        loader.set_epoch(1)
        iterator = iter(loader)
        kept, ahead = [next(iterator), next(iterator)], []
        thread = threading.Thread(target=lambda: ahead.extend(iterator))
        thread.start()
        while not loader._lock.locked():  # waits for the other thread to block: all batches are kept
            time.sleep(0.001)
        go()
        kept.clear()
        thread.join(300)
        assert not thread.is_alive() and not ahead and loader.epoch == epoch and loader.remaining == 9
        assert next(iterator, None) is None
        assert indices(loader) == expected[epoch]


def test_batches_kept_too_long_are_named(data):
    loader = open_loader(data, prefetch_factor=2, hold="wait")
    iterator = iter(loader)
    kept = [next(iterator)["image"].numpy(), next(iterator)["image"].numpy()]
    told = []

    def show(message, *rest):
        told.append(str(message))
        kept.clear()

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = show
        assert next(iterator).index == 2
    assert len(told) == 1 and "all 2 batches" in told[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert next(iterator).index == 3


def test_batches_that_nobody_lets_go_of_are_an_error(data):
    loader = open_loader(data, prefetch_factor=2, hold="wait", hold_timeout=1.2)
    with pytest.warns(RuntimeWarning), pytest.raises(sluice.StateError, match="held"):
        list(loader)
    assert next(iter(loader)).rows == 4


def test_pickles(data):
    loader = open_loader(data)
    with pytest.raises(TypeError, match="state_dict"):
        pickle.dumps(loader)
    other = pickle.loads(pickle.dumps(data))
    assert len(other) == len(data) and other.fingerprint == data.fingerprint


def test_iterating_makes_no_garbage(data):
    """References and memory stay the same from batch to batch."""
    import gc
    import resource

    loader = open_loader(data)
    list(loader)
    gc.collect()
    before, memory = len(gc.get_objects()), 0
    for epoch in range(60):
        for batch in loader:
            batch["image"].numpy(), batch["label"]
            memoryview(batch["image"])
        if epoch == 20:
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    del batch
    gc.collect()
    assert len(gc.get_objects()) - before < 20
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory < 2048
    assert loader._handle.held == 0


def test_remaining_after_a_padded_epoch_of_more_ranks(data, crop):
    options = {"batch_size": 4, "transform": crop, "last_batch": "pad"}
    ranks = [sluice.Loader(data, rank=rank, world_size=4, **options) for rank in range(4)]
    for batches in zip(*ranks):
        assert ranks[0].remaining >= 0
    alone = sluice.Loader(data, rank=0, world_size=1, **options)
    iterator = iter(ranks[0])
    states = [(next(iterator), ranks[0].state_dict())[1] for _ in range(len(ranks[0]))]
    for state in states:
        alone.load_state_dict(state)
        before = alone.remaining
        assert before >= 0 and abs(sum(1 for _ in alone) - before) <= 1


def test_states_that_are_not_used_leave_nothing(data):
    loader = open_loader(data)
    fresh = loader.state_dict()
    iterator = iter(loader)
    next(iterator), next(iterator)
    middle = loader.state_dict()
    for forget in (lambda: loader.load_state_dict(fresh), lambda: (loader.set_epoch(3), loader.set_epoch(0))):
        loader.load_state_dict(middle)
        forget()
        assert loader.remaining == 9 and sum(batch.rows for batch in loader) == SAMPLES
    loader.load_state_dict(middle)
    assert sum(batch.rows for batch in loader) == SAMPLES - 8
    wrong = [
        {"samples": -50}, {"samples": 10**30}, {"samples": 1.5}, {"epoch": -3}, {"epoch": "a"}, {"epoch": 77}, {"cursor": None}, {"cursor": "zz"},
    ]  # fmt: skip
    for change in wrong:
        other = open_loader(data)
        with pytest.raises(ValueError):
            other.load_state_dict(middle | change)
        assert other.remaining == 9 and sum(batch.rows for batch in other) == SAMPLES
    for name in ("samples", "epoch", "cursor"):
        with pytest.raises(ValueError, match=name):
            loader.load_state_dict({key: value for key, value in middle.items() if key != name})


def test_threads_that_share_an_iterator(data):
    loader = open_loader(data, batch_size=1)
    iterator, seen = iter(loader), []

    def take():
        for batch in iterator:
            seen.append(batch["index"].tolist()[0])

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seen) == list(range(SAMPLES))


def test_garbage_does_not_hold_batches(data, recwarn):
    class Node:
        pass

    loader, count = open_loader(data, batch_size=1, prefetch_factor=2, hold="wait"), 0
    before = gc.get_threshold()
    gc.set_threshold(1_000_000)  # disables automatic collection
    try:
        for batch in loader:
            node = Node()
            node.me, node.batch = node, batch
            del node, batch
            count += 1
            if count == 5:
                break
    finally:
        gc.set_threshold(*before)
    assert count == 5 and not recwarn.list


def test_uint8_is_not_ignored(tmp_path, data):
    columns = sluice.columns
    for column in (columns.Number("label", dtype="uint8"), columns.Tensor("x", dtype="uint8")):
        with sluice.Writer(tmp_path / "p", {"label": "int", "x": ("tensor", "float32", (2,))}, overwrite=True) as writer:
            writer.add(label=1, x=numpy.ones(2, "f4"))
        with pytest.raises(ValueError, match="cannot convert .* to uint8"):
            sluice.Loader(tmp_path / "p", columns={"c": column})
    with sluice.Writer(tmp_path / "q", {"x": ("tensor", "uint8", (2,))}) as writer:
        writer.add(x=numpy.ones(2, "u1"))
    (batch,) = sluice.Loader(tmp_path / "q", columns={"x": columns.Tensor(dtype="uint8")})
    assert batch["x"].dtype == "uint8"


def test_a_hook_that_returns_nothing(data):
    seen = []
    assert [batch.index for batch in open_loader(data, batch_hook=lambda batch: seen.append(batch.index))] == seen == list(range(9))
