# SPDX-License-Identifier: Apache-2.0
"""sluice.keras under the protocol of Keras 3's PyDatasetAdapter; with Keras itself where it is installed."""
import importlib
import importlib.util
import itertools
import pathlib
import runpy
import sys
import types
import warnings

import numpy
import pytest
import training

import sluice
from sluice import columns as C

SAMPLES = 33


class PyDataset:
    """keras.utils.PyDataset, reduced to its constructor."""

    def __init__(self, workers=1, use_multiprocessing=False, max_queue_size=10):
        assert workers == 1 and not use_multiprocessing  # otherwise other threads or processes request batches


class Adapter:
    """One epoch iterator of fit, or of all validations of a fit: a pass begins first, after building, and in each validation."""

    def __init__(self, feed, steps=None):
        self.feed, self.steps, self.current = feed, steps, None

    def batches(self):
        count = self.feed.num_batches
        for index in itertools.count() if count is None else range(count):
            yield self.feed[index]

    def build(self):
        """Keras reads a batch to learn the shapes, and resets the iterator."""
        next(self.batches())
        self.current = None

    def epoch(self, reset=False):
        if self.current is None or reset or self.steps is None:
            self.current = self.batches()
        return list(itertools.islice(self.current, self.steps))


@pytest.fixture(params=["jax", "torch"])
def backend(request):
    return request.param


@pytest.fixture
def seat(monkeypatch, backend):
    fake = types.ModuleType("keras")
    fake.config, fake.__version__ = types.SimpleNamespace(backend=lambda: backend), "3.12"
    fake.utils = types.SimpleNamespace(PyDataset=PyDataset)
    monkeypatch.setitem(sys.modules, "keras", fake)
    monkeypatch.delitem(sys.modules, "sluice.keras", raising=False)
    yield importlib.import_module("sluice.keras")
    sys.modules.pop("sluice.keras", None)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("rows") / "rows"
    with sluice.Writer(path, {"x": ("tensor", "float32", (2048,)), "number": "int"}) as writer:
        for number in range(SAMPLES):
            writer.add(x=numpy.full(2048, number, "float32"), number=number)
    return path


def open_loader(path, kind=sluice.Loader, **options):
    options = {"batch_size": 4, "columns": {"x": C.Tensor("x"), "number": C.Number("number")}, "num_workers": 1, "shuffle": True} | options
    return kind(path, **options)


def numbers(batch):
    assert (numpy.asarray(batch[0])[:, 0] == numpy.asarray(batch[1])).all()
    return numpy.asarray(batch[1]).tolist()


def rows(path, epochs, **options):
    plain = open_loader(path, **options)
    return [[batch["number"].tolist() for batch in plain] for _ in range(epochs)]


@pytest.mark.parametrize("epochs, steps", [(None, 9), (1, None)])
def test_training(seat, path, epochs, steps):
    loader = open_loader(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # Keras keeps copies only: the loader's memory stays free
        adapter = Adapter(seat.feed(loader, epochs), steps)
        adapter.build()
        assert [[numbers(batch) for batch in adapter.epoch()] for _ in range(3)] == rows(path, 3)
    assert isinstance(adapter.feed[0], tuple) and all(isinstance(column, numpy.ndarray) for column in adapter.feed[0])


@pytest.mark.parametrize("epochs, steps", [(None, 9), (1, None), (None, 5)])
@pytest.mark.parametrize("built", [False, True])
def test_each_validation_is_the_whole_of_it(seat, path, epochs, steps, built):
    adapter = Adapter(seat.feed(open_loader(path, shuffle=False), epochs), steps)
    if built:
        adapter.build()
    (whole,) = rows(path, 1, shuffle=False)
    for _ in range(3):
        assert [numbers(batch) for batch in adapter.epoch(reset=True)] == whole[:steps]


def test_epochs_of_fewer_steps(seat, path):
    adapter = Adapter(seat.feed(open_loader(path)), 5)
    taken = [numbers(batch) for _ in range(4) for batch in adapter.epoch()]
    assert taken == sum(rows(path, 3), [])[:20]


@pytest.mark.parametrize("epochs, steps", [(None, 2), (1, None)])
def test_short_passes_do_not_repeat_forever(seat, path, epochs, steps):
    """A pass with as many batches as Keras reads to learn their shapes."""
    feed, taken = seat.feed(open_loader(path, batch_size=17), epochs), []
    for _ in range(8):  # fit, again and again
        taken += [sum((numbers(batch) for batch in Adapter(feed, steps).epoch()), [])]
    assert all(sorted(epoch) == list(range(SAMPLES)) for epoch in taken) and len(set(map(str, taken))) == (8 if epochs else 3)


def test_tensorflow_reads_two_batches_first(seat, path):
    feed = seat.feed(open_loader(path), 1)
    first = [numbers(feed[index]) for index in range(2)]
    assert [numbers(batch) for batch in Adapter(feed).epoch()] == rows(path, 1)[0] and first == rows(path, 1)[0][:2]


def test_a_loader_that_goes_on(seat, path):
    loader = open_loader(path)
    loader.load_state_dict(loader.state_at(1, 4))
    with pytest.raises(ValueError, match=r"is inside epoch 1, and feed.loader, epochs. needs whole epochs: write loader.set_epoch\(2\), or loader.load"):
        seat.feed(loader, 1)
    adapter = Adapter(seat.feed(loader), 9)
    adapter.build()
    assert [numbers(batch) for batch in adapter.epoch()] == sum(rows(path, 3), [])[13:22]
    other = open_loader(path)
    other.set_epoch(1)
    assert [[numbers(batch) for batch in Adapter(seat.feed(other, 1)).epoch()] for _ in range(2)] == rows(path, 3)[1:]


@pytest.mark.parametrize("peeked", [0, 1, 2])
@pytest.mark.parametrize("move", [lambda loader, epoch: loader.set_epoch(epoch), lambda loader, epoch: loader.load_state_dict(loader.state_at(epoch, 0))])
def test_a_loader_that_is_moved(seat, path, peeked, move):
    """Before fit, after Keras has read ahead, and in a callback at the beginning of each epoch."""
    loader, expected = open_loader(path), rows(path, 7)
    feed = seat.feed(loader, 1)
    for epoch in 5, 0, 1, 2, 6, 6:
        for index in range(peeked):
            feed[index]
        move(loader, epoch)
        assert [numbers(batch) for batch in Adapter(feed).epoch()] == expected[epoch]


def test_a_loader_that_is_moved_inside_a_pass(seat, path):
    loader, expected = open_loader(path), rows(path, 7)
    feed = seat.feed(loader, 1)
    numbers(feed[0]), numbers(feed[1]), numbers(feed[0])
    loader.set_epoch(5)  # batch 1, which is kept, belongs to another epoch
    assert [numbers(feed[index]) for index in range(1, 9)] == expected[5][:8]
    assert [numbers(batch) for batch in Adapter(feed).epoch()] == expected[6]


@pytest.mark.parametrize("peeked", [False, True])
def test_a_state_inside_an_epoch(seat, path, peeked):
    loader, expected = open_loader(path), rows(path, 4)
    feed = seat.feed(loader, 1)
    if peeked:
        feed[0]
    loader.load_state_dict(loader.state_at(2, 4))
    with pytest.raises(ValueError, match=r"inside epoch 2.*write loader.set_epoch\(3\), or loader.load_state_dict\(loader.state_at\(2, 0\)\)"):
        feed[0]
    loader.load_state_dict(loader.state_at(2, 0))  # as the error says
    assert [[numbers(batch) for batch in Adapter(feed).epoch()] for _ in range(2)] == expected[2:]
    endless = seat.feed(other := open_loader(path))
    if peeked:
        endless[0]
    other.load_state_dict(other.state_at(2, 4))
    assert [numbers(batch) for batch in Adapter(endless, 14).epoch()] == sum(expected[2:], [])[4:]


@pytest.mark.parametrize("peeked", [False, True])
def test_a_loader_that_is_closed(seat, path, peeked):
    loader = open_loader(path)
    feed = seat.feed(loader, 1)
    if peeked:
        feed[0]
    loader.close()
    with pytest.raises(sluice.StateError, match="closed"):
        feed[0]


def test_two_steps_in_each_fit(seat, path):
    """As docs/trainers.md says."""
    loader, expected = open_loader(path), rows(path, 4)
    feed = seat.feed(loader)
    fits = [[numbers(batch) for batch in Adapter(feed, 2).epoch()] for _ in range(4)]
    assert fits == [expected[epoch][:2] for epoch in (0, 0, 0, 1)]
    for epoch in 2, 3:
        loader.set_epoch(epoch)
        assert [numbers(batch) for batch in Adapter(feed, 2).epoch()] == expected[epoch][:2]


def test_another_order(seat, path):
    feed = seat.feed(open_loader(path), 1)
    with pytest.raises(ValueError, match="Keras requests batch 3 instead of 0: write shuffle=False in fit"):
        feed[3]


def test_a_given_number_of_epochs(seat, path):
    loader = open_loader(path)
    feed = seat.feed(loader, 2)
    with pytest.raises(sluice.StateError, match="already belongs to sluice.keras.feed"):
        seat.feed(loader)
    assert sum(len(numbers(batch)) for batch in feed) == 2 * SAMPLES
    assert sum(1 for _ in seat.feed(loader, 1)) == 9 and loader.epoch == 3  # the loader is free again


def test_a_feed_that_only_a_cycle_holds(seat, path):
    loader, cycle = open_loader(path), []
    cycle += [cycle, seat.feed(loader)]
    del cycle
    assert seat.feed(loader).loader is loader


def test_a_loader_that_waits(seat, path):
    loader = open_loader(path, hold="wait", hold_timeout=0.5, prefetch_factor=3)
    assert sum(len(numbers(batch)) for batch in Adapter(seat.feed(loader, 1)).batches()) == SAMPLES


def test_names(seat, path):
    x, y, weight = seat.feed(open_loader(path), inputs=["x"], targets="number", sample_weight="mask")[0]
    assert list(x) == ["x"] and x["x"].shape == (4, 2048) and y.shape == (4,) and weight.tolist() == [1] * 4
    columns = {"x": C.Tensor("x"), "number": C.Number("number"), "more": C.Number("number")}
    with pytest.raises(ValueError, match="columns 'x', 'number', 'more': write feed.loader, inputs='image'"):
        seat.feed(open_loader(path, columns=columns))[0]
    with pytest.raises(KeyError, match="'nonsense'"):
        seat.feed(open_loader(path), inputs="nonsense")[0]
    assert len(seat.feed(open_loader(path, columns={"x": C.Tensor("x")}))[0]) == 1
    hooked = seat.feed(open_loader(path, batch_hook=lambda batch: {"a": batch["x"], "b": batch["number"]}))[0]
    assert len(hooked) == 2 and len(numbers(hooked)) == 4
    for words, arguments in ("inputs= names", {"targets": "x"}), ("needs targets=", {"inputs": "x", "sample_weight": "mask"}):
        with pytest.raises(ValueError, match=words):
            seat.feed(open_loader(path), **arguments)
    with pytest.raises(TypeError, match="feed: loader=7: expected"):
        seat.feed(7)
    with pytest.raises(ValueError, match="epochs=0"):
        seat.feed(open_loader(path), 0)


def test_torch_tensors(seat, path, backend):
    torch = pytest.importorskip("torch")
    import sluice.torch

    for batch in itertools.islice(seat.feed(open_loader(path, sluice.torch.DataLoader)), 3):
        assert all(isinstance(column, torch.Tensor if backend == "torch" else numpy.ndarray) for column in batch)
        numbers(batch)


def test_without_keras(run_python):
    done = run_python("import sys, types\nimport sluice\nfor module in None, types.SimpleNamespace(__version__='2.15'):\n"
                      "    sys.modules['keras'] = module\n"
                      "    try: import sluice.keras\n    except ImportError as error: print(error)")  # fmt: skip
    assert done.stdout == "sluice.keras needs Keras 3: pip install keras\nsluice.keras needs Keras 3, this is 2.15: pip install -U keras\n"


@pytest.mark.skipif(importlib.util.find_spec("keras") is None, reason="without Keras")
def test_keras_itself(path):
    import keras

    import sluice.keras

    model = keras.Sequential([keras.Input((2048,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    loader, val = open_loader(path), open_loader(path, shuffle=False)
    history = model.fit(sluice.keras.feed(loader, 1), epochs=2, shuffle=False, validation_data=sluice.keras.feed(val, 1), verbose=0)
    assert len(history.history["loss"]) == 2


@pytest.mark.skipif(importlib.util.find_spec("keras") is None, reason="without Keras: its layers are not part of the protocol")
def test_the_example(tmp_path, monkeypatch, capsys):
    training.colours(tmp_path, "train", 16)
    training.colours(tmp_path, "val", 6)
    program = pathlib.Path(__file__).parents[2] / "examples" / "keras_train.py"
    monkeypatch.setattr(sys, "argv", [str(program), str(tmp_path / "train"), str(tmp_path / "val"), "--epochs", "8"])
    runpy.run_path(str(program), run_name="__main__")
    assert capsys.readouterr().out.splitlines()[-1].endswith("100% right")
