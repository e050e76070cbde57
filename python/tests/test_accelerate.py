# SPDX-License-Identifier: Apache-2.0
"""sluice.accelerate against torch's DataLoader as accelerate shards it; with accelerate itself where it is installed."""
import collections
import gc
import importlib.util
import os
import pathlib
import runpy
import sys

import accelerates
import numpy
import pytest

import sluice
from sluice import columns as C

torch = pytest.importorskip("torch")
import sluice.accelerate  # noqa: E402
from sluice import _seats  # noqa: E402
import sluice.torch  # noqa: E402

SAMPLES = 33
VALUES = numpy.random.default_rng(0).normal(size=(SAMPLES, 4)).astype("float32")
EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "accelerate_train.py"


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("rows") / "rows"
    with sluice.Writer(path, {"x": ("tensor", "float32", (4,)), "number": "int"}) as writer:
        for number, x in enumerate(VALUES):
            writer.add(x=x, number=number)
    return path


def open_loader(path, **options):
    options = {"batch_size": 4, "columns": {"x": C.Tensor("x"), "number": C.Number("number")}, "num_workers": 1} | options
    return sluice.torch.DataLoader(path, **options)


def prepared(path, accelerator=None, **options):
    accelerator = accelerator or accelerates.Accelerator()
    return sluice.accelerate.prepare(open_loader(path, **options), accelerator)


def ranks(path, world, accumulation=1, accelerator_options={}, **options):
    """Returns (loaders, accelerators) of all ranks."""
    made = [accelerates.Accelerator(accumulation, rank, world, **accelerator_options) for rank in range(world)]
    options = {"last_batch": "wrap"} | options
    return [prepared(path, one, rank=one.process_index, world_size=world, **options) for one in made], made


def sharded(world, size):
    """Returns, as accelerate's BatchSamplerShard with even_batches, the ranks' rows of each step, and those that belong to the epoch."""
    rows = world * size
    for begin in range(0, SAMPLES, rows):
        step = [i % SAMPLES for i in range(begin, begin + rows)]
        yield [step[rank * size : (rank + 1) * size] for rank in range(world)], [i for i in range(begin, begin + rows) if i < SAMPLES]


@pytest.mark.parametrize("accumulation", [1, 3, 4])
@pytest.mark.parametrize("world", [1, 2, 3])
def test_steps_and_metrics_of_all_ranks(path, world, accumulation):
    """Checks each rank's rows, the steps that synchronize gradients, and the gathered rows, also when resumed at every step."""
    wanted, step = [], 0
    for rows, own in sharded(world, 4):
        last = own[-1] == SAMPLES - 1
        step = 0 if last else step + 1
        wanted.append((rows, own, last or step % accumulation == 0, last))

    def follow(loaders, accelerators):
        states = []
        for batches in zip(*loaders):
            for one in accelerators:
                with one.accumulate():
                    pass
            numbers = [batch["number"] for batch in batches]
            gathered = [one.gather_for_metrics(*numbers).tolist() for one in accelerators]
            assert gathered.count(gathered[0]) == world
            states.append(loaders[0].state_dict())
            end = {one.gradient_state.end_of_dataloader for one in accelerators}
            assert len(end) == 1
            seen.append(([number.tolist() for number in numbers], gathered[0], accelerators[0].sync_gradients, end.pop()))
        return states

    loaders, accelerators = ranks(path, world, accumulation)
    seen = []
    states = follow(loaders, accelerators)
    assert seen == wanted
    assert all(one.gradient_state.active_dataloader is None for one in accelerators)
    loaders, accelerators = ranks(path, world, accumulation)
    for number, state in enumerate(states[:-1], 1):
        seen = []
        for loader, one in zip(loaders, accelerators):
            loader.load_state_dict(state)
            one.step = number
        follow(loaders, accelerators)
        assert seen == wanted[number:]


@pytest.mark.parametrize("accumulation", [1, 3, 4])
def test_losses_are_torchs(path, accumulation):
    def losses(loader, accelerator, last_of):
        torch.manual_seed(0)
        net = torch.nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)
        for _ in range(2):
            for number, (x, _) in enumerate(loader):
                with accelerator.accumulate(net):
                    sync = last_of(number) if last_of else accelerator.sync_gradients
                    loss = ((net(x) - x.sum(1, keepdim=True)) ** 2).mean()
                    (loss / accumulation).backward()
                    if sync:
                        optimizer.step()
                        optimizer.zero_grad()
                yield loss.item(), sync

    rows = torch.utils.data.TensorDataset(torch.from_numpy(VALUES), torch.arange(SAMPLES))
    theirs = torch.utils.data.DataLoader(rows, batch_size=4)
    steps = [(number + 1) % accumulation == 0 or number == 8 for number in range(9)]
    wanted = list(losses(theirs, accelerates.Accelerator(), steps.__getitem__))
    accelerator = accelerates.Accelerator(accumulation)
    assert list(losses(prepared(path, accelerator), accelerator, None)) == wanted


def test_batches_are_the_loaders(path):
    loader, one = prepared(path, shuffle=True), open_loader(path, shuffle=True)
    for _ in range(2):
        assert [batch["number"].tolist() for batch in loader] == [batch["number"].tolist() for batch in one]
    assert len(loader) == 9 and loader.dataset is loader.loader.dataset and loader.batch_size == 4 and loader.epoch == 2
    assert loader.total_batch_size == 4 and loader.total_dataset_length == SAMPLES
    with pytest.raises(AttributeError):
        loader.nonsense


def test_the_place_is_that_of_the_batch_in_the_loop(path):
    loader, one = prepared(path), open_loader(path)
    for _, plain in zip(loader, one):
        assert (loader.epoch, loader.remaining, loader.state_dict()) == (0, one.remaining, one.state_dict())
    assert loader.epoch == 1 and loader.state_dict()["samples"] == 0


@pytest.mark.parametrize("batches", [0, 1, 8, 9])
def test_skipped_batches_are_not_read(path, batches):
    whole = [batch["number"].tolist() for batch in prepared(path, shuffle=True)]
    loader = prepared(path, shuffle=True, prefetch_factor=4)
    assert sluice.accelerate.skip_first_batches(loader, batches) is loader
    loader.set_epoch(0)
    rest = [batch["number"].tolist() for batch in loader]
    assert rest == whole[batches:]
    assert loader.stats()["samples"] <= sum(map(len, rest)) + 16  # four batches of the next epoch
    assert sum(1 for _ in loader) == 9  # the next epoch is whole
    plain = sluice.accelerate.skip_first_batches(open_loader(path, shuffle=True), batches)
    assert [batch["number"].tolist() for batch in plain] == rest


def test_a_skip_is_of_the_epoch_that_begins(path):
    loader, one = prepared(path, shuffle=True), open_loader(path, shuffle=True)
    one.set_epoch(4)
    wanted = [batch["number"].tolist() for batch in one][3:]
    sluice.accelerate.skip_first_batches(loader, 3)
    loader.set_epoch(4)
    assert [batch["number"].tolist() for batch in loader] == wanted
    with pytest.raises(ValueError, match="step 10 is out of range: an epoch has 9 steps"):
        sluice.accelerate.skip_first_batches(loader, 10)
    with pytest.raises(TypeError, match="skip_first_batches: loader=7: expected a sluice.torch.DataLoader"):
        sluice.accelerate.skip_first_batches(7, 1)


def test_an_iteration_that_is_left(path):
    accelerator = accelerates.Accelerator()
    loader = prepared(path, accelerator)
    for batch in loader:
        break
    assert accelerator.gradient_state.active_dataloader is None and loader.epoch == 0
    first, other = iter(loader), None
    next(first)
    other = iter(loader)
    next(other)
    with pytest.raises(sluice.StateError, match="another iteration"):
        next(first)
    assert accelerator.gradient_state.active_dataloader is loader
    for number, batch in enumerate(loader):
        loader.set_epoch(5)
    assert number == 0 and loader.state_dict()["epoch"] == 5
    evaluation = prepared(path, accelerator)
    for batch in loader:
        assert not accelerator.gradient_state.end_of_dataloader
        assert len(list(evaluation)) == 9 and accelerator.gradient_state.active_dataloader is loader
        break


@pytest.mark.parametrize("thread", [False, True])
@pytest.mark.parametrize("started", [False, True])
def test_two_iterators_at_once(path, started, thread):
    """The iterator that began first ends with an error; accelerate still sees the end of the other one."""
    accelerator = accelerates.Accelerator(4)
    loader = prepared(path, accelerator, batch_hook=lambda batch: None, batch_hook_thread=thread)
    first = iter(loader)
    if started:
        next(first)
    second, seen = iter(loader), []
    for number, batch in enumerate(second):
        if number == 1:
            with pytest.raises(sluice.StateError, match="another iteration of this loader has begun"):
                next(first)
        with accelerator.accumulate():
            seen.append(accelerator.sync_gradients)
        assert accelerator.gradient_state.active_dataloader is loader
    assert seen == [False, False, False, True, False, False, False, True, True]
    assert accelerator.gradient_state.active_dataloader is None


def test_two_loaders_at_once(path):
    """As with accelerate's own loaders, the loader whose loop began last is active until that loop ends."""
    accelerator = accelerates.Accelerator()
    long, short = prepared(path, accelerator), prepared(path, accelerator, drop_last=True)
    for number, batches in enumerate(zip(long, short)):
        assert accelerator.gradient_state.active_dataloader is short
        assert (accelerator.gradient_state.end_of_dataloader, long.end_of_dataloader) == (number == 7, False)
    assert number == 7 and accelerator.gradient_state.active_dataloader is None


@pytest.mark.parametrize("thread", [False, True])
def test_the_place_of_a_loop_that_was_left(path, thread):
    """The batch read ahead was not returned: a state saved after the loop still includes it."""
    open_prepared = lambda: prepared(path, shuffle=True, batch_hook=lambda batch: None, batch_hook_thread=thread)
    whole = [batch["number"].tolist() for _ in range(2) for batch in open_loader(path, shuffle=True)][:9]
    for taken in 1, 2, 8, 9:
        loader = open_prepared()
        with pytest.raises(KeyError):
            for number, _ in enumerate(loader, 1):
                if number == taken:
                    raise KeyError
        gc.collect()
        assert (loader.epoch, loader.remaining, loader.state_dict()) == (0, 9 - taken, loader.loader.state_at(0, taken))
        other = open_prepared()
        other.load_state_dict(loader.state_dict())
        assert [batch["number"].tolist() for batch in other] == whole[taken:] and other.epoch == 1
        assert loader.epoch == 0 and next(iter(loader)) is not None and (loader.epoch, loader.remaining) == (1, 8)
        loader.set_epoch(5)
        assert (loader.epoch, loader.state_dict()["samples"]) == (5, 0)
        loader.load_state_dict(other.loader.state_at(2, 3))
        assert (loader.epoch, loader.remaining) == (2, 6)


@pytest.mark.parametrize("thread", [False, True])
def test_an_iteration_that_is_ended(path, thread):
    loader = prepared(path, batch_hook=lambda batch: None, batch_hook_thread=thread)
    state = loader.loader.state_at(3, 1)
    for end in lambda: loader.set_epoch(3), lambda: loader.load_state_dict(state):
        batches = iter(loader)
        next(batches)
        end()
        assert next(batches, "end") == "end" and loader.epoch == 3
    for end, words in (lambda: iter(loader), "another iteration"), (loader.close, "closed"):
        batches = iter(loader)
        next(batches)
        end()
        with pytest.raises(sluice.StateError, match=words):
            next(batches)


@pytest.mark.skipif("asan" in os.environ.get("LD_PRELOAD", ""), reason="its allocator is not for forks")
def test_a_forked_child_has_no_place(path):
    loader = prepared(path)
    batches = iter(loader)
    next(batches)
    child = os.fork()
    if child == 0:
        try:
            loader.state_dict()
        except sluice.StateError:
            os._exit(7 if loader.epoch == 0 else 1)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_an_error_belongs_to_its_own_batch(path, monkeypatch):
    loader = prepared(path, batch_hook=None)
    take, taken = type(loader.loader)._take, []

    def fail_third(self):
        taken.append(1)
        if len(taken) == 3:
            raise sluice.CorruptError("sample 8")
        return take(self)

    monkeypatch.setattr(type(loader.loader), "_take", fail_third)
    seen = []
    with pytest.raises(sluice.CorruptError):
        for batch in loader:
            seen.append(batch["number"].tolist())
            assert not loader.end_of_dataloader
    assert len(seen) == 2


def test_what_a_hook_returns_is_moved():
    class Narrow:
        def to(self, device):
            return device

    made = collections.defaultdict(list, a=[Narrow()])
    found = _seats.moved({"made": made, "user": collections.UserDict(b=Narrow())}, "there")
    assert type(found["made"]) is collections.defaultdict and found["made"]["a"] == ["there"] and found["user"]["b"] == "there"
    assert isinstance(made["a"][0], Narrow)


def test_devices(path):
    loader = prepared(path, accelerates.Accelerator(device="meta"))
    batch = next(iter(loader))
    assert batch["x"].device.type == "meta" and batch[1].device.type == "meta"
    hook = lambda batch: {"x": batch[0], "more": [batch[1], "text"]}
    batch = next(iter(prepared(path, accelerates.Accelerator(device="meta"), batch_hook=hook)))
    assert batch["x"].device.type == batch["more"][0].device.type == "meta" and batch["more"][1] == "text"
    stays = sluice.accelerate.prepare(open_loader(path), accelerates.Accelerator(device="meta"), device_placement=False)
    assert next(iter(stays))["x"].device.type == "cpu"
    arrays = sluice.Loader(path, columns={"x": C.Tensor("x")})
    with pytest.raises(TypeError, match="batches of sluice.Loader are not tensors: open sluice.torch.DataLoader"):
        sluice.accelerate.prepare(arrays, accelerates.Accelerator())


def test_checkpoints(path, tmp_path):
    accelerator = accelerates.Accelerator()
    loader = prepared(path, accelerator, shuffle=True)
    assert accelerator._custom_objects == [loader]
    whole = [batch["number"].tolist() for batch in loader]
    loader.set_epoch(0)
    for number, batch in enumerate(loader):
        if number == 4:
            accelerator.save_state(tmp_path / "state")
    other = accelerates.Accelerator()
    loader = prepared(path, other, shuffle=True)
    other.load_state(tmp_path / "state")
    assert (loader.epoch, loader.remaining) == (0, 4)
    sluice.accelerate.skip_first_batches(loader, 5)  # as scripts do with other loaders: the same position
    assert [batch["number"].tolist() for batch in loader] == whole[5:]


def test_what_is_refused(path):
    make, one = sluice.accelerate.prepare, accelerates.Accelerator
    loader = open_loader(path)
    first = make(loader, one())
    for again in loader, first:
        with pytest.raises(sluice.StateError, match="already belongs to sluice.accelerate.prepare: use the object"):
            make(again, one())
    for error, words, loader, accelerator in (
        (TypeError, "accelerator=7: expected an accelerate.Accelerator", open_loader(path), 7),
        (TypeError, r"loader=\[\]: expected a sluice.torch.DataLoader", [], one()),
        (ValueError, "rank 0 of 1, but this process is rank 1 of 2: open the loader after the Accelerator", open_loader(path), one(1, 1, 2)),
        (ValueError, "dispatch_batches=True: each process reads its own", open_loader(path), one(dispatch_batches=True)),
        (ValueError, "open the loader with batch_size=2, and leave split_batches out", open_loader(path, rank=0, world_size=2),
         one(1, 0, 2, split_batches=True)),
        (ValueError, "33 samples do not fill batches of 4 rows on 2 processes.*last_batch='wrap', or drop_last=True",
         open_loader(path, rank=0, world_size=2, last_batch="repeat"), one(1, 0, 2)),
    ):  # fmt: skip
        with pytest.raises(error, match=words):
            make(loader, accelerator)
    make(open_loader(path, rank=0, world_size=2), one(1, 0, 2, even_batches=False))
    make(open_loader(path, rank=0, world_size=2, drop_last=True), one(1, 0, 2))
    with pytest.raises(AttributeError, match="sluice.nonsense|nonsense"):
        first.nonsense
    make(open_loader(path, rank=0, world_size=2, drop_last=True), one(1, 1, 4), model_parallel=2)
    with pytest.raises(TypeError, match="cannot be pickled"):
        __import__("pickle").dumps(first)


def test_a_dropped_last_batch(path):
    accelerator = accelerates.Accelerator(3)
    loader, seen = prepared(path, accelerator, drop_last=True), []
    for batch in loader:
        with accelerator.accumulate():
            seen.append(accelerator.sync_gradients)
        assert len(accelerator.gather_for_metrics(batch["number"])) == 4
    assert seen == [False, False, True, False, False, True, False, True]


def test_rows_that_cannot_be_cut_off(path):
    """If added rows lie between others, nothing is cut off: no row of the epoch is lost."""
    loaders, accelerators = ranks(path, 2, last_batch="short", accelerator_options={"even_batches": False})
    gathered = [accelerators[0].gather_for_metrics(*(batch["number"] for batch in batches)).tolist() for batches in zip(*loaders)]
    assert sum(gathered, []) == [*range(SAMPLES)] and loaders[0].remainder == -1
    state = prepared(path, batch_size=3).loader.state_at(0, 1)  # 30 rows are left: 3 batches of 8, and 6 rows
    loaders, accelerators = ranks(path, 2)
    for loader in loaders:
        loader.load_state_dict(state)
    gathered = [accelerators[0].gather_for_metrics(*(batch["number"] for batch in batches)).tolist() for batches in zip(*loaders)]
    assert sum(gathered, []) == [*range(3, SAMPLES)]


def test_buckets(data):
    transform = sluice.transforms.BucketCrop()
    open_buckets = lambda **options: sluice.torch.DataLoader(data, batch_size=4, transform=transform, buckets=[(32, 48), (48, 32)], num_workers=1, **options)
    accelerator = accelerates.Accelerator()
    loader = sluice.accelerate.prepare(open_buckets(), accelerator)
    assert sum(len(accelerator.gather_for_metrics(batch["label"])) for batch in loader) == len(data)
    for options, accelerator in ({"last_batch": "pad"}, accelerates.Accelerator()), ({"rank": 0, "world_size": 2}, accelerates.Accelerator(1, 0, 2)):
        with pytest.raises(ValueError, match="each bucket ends with a batch that gather_for_metrics does not trim"):
            sluice.accelerate.prepare(open_buckets(**options), accelerator)


def test_a_loader_is_free_again_with_its_owner(path):
    accelerator = accelerates.Accelerator()
    loader = open_loader(path)
    made = sluice.accelerate.prepare(loader, accelerator)
    del made, accelerator
    gc.collect()
    sluice.accelerate.prepare(loader, accelerates.Accelerator())


@pytest.fixture
def accelerate(monkeypatch):
    """Uses accelerate itself, or its protocol."""
    if importlib.util.find_spec("accelerate") is None:
        monkeypatch.setitem(sys.modules, "accelerate", accelerates)


def test_the_example(accelerate, photos, tmp_path, monkeypatch, capsys):
    arguments = [str(EXAMPLE), str(photos), str(tmp_path / "state"), "--epochs", "2"]
    monkeypatch.setattr(sys, "argv", arguments)
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    whole = capsys.readouterr().out.splitlines()
    monkeypatch.setattr(sys, "argv", [*arguments, "--resume"])
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    rest = capsys.readouterr().out.splitlines()
    assert "6 optimizer steps" in whole[-1] and 0 < len(rest) < len(whole)


@pytest.mark.parametrize("accumulation", [1, 3, 4])
def test_accelerate_itself(path, accumulation):
    real = pytest.importorskip("accelerate")

    def run(loader_of):
        accelerator = real.Accelerator(gradient_accumulation_steps=accumulation)  # on the GPU if there is one
        torch.manual_seed(0)
        net = torch.nn.Linear(4, 1)
        net, optimizer = accelerator.prepare(net, torch.optim.SGD(net.parameters(), 0.1, momentum=0.9))
        for x, number in loader_of(accelerator):
            with accelerator.accumulate(net):
                loss = ((net(x) - x.sum(1, keepdim=True)) ** 2).mean()
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()
            yield loss.item(), accelerator.sync_gradients, accelerator.gather_for_metrics(number).tolist()

    rows = torch.utils.data.TensorDataset(torch.from_numpy(VALUES), torch.arange(SAMPLES))
    wanted = list(run(lambda accelerator: accelerator.prepare(torch.utils.data.DataLoader(rows, batch_size=4))))
    assert list(run(lambda accelerator: sluice.accelerate.prepare(open_loader(path), accelerator))) == wanted
