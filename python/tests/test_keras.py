# SPDX-License-Identifier: Apache-2.0
"""sluice.keras under the protocol of Keras 3's generators; with Keras itself where it is installed."""
import importlib
import importlib.util
import itertools
import sys
import types
import warnings

import numpy
import pytest

import sluice
from sluice import columns as C

SAMPLES = 33


@pytest.fixture(params=["jax", "torch"])
def backend(request):
    return request.param


@pytest.fixture
def seat(monkeypatch, backend):
    fake = types.ModuleType("keras")
    fake.config, fake.__version__ = types.SimpleNamespace(backend=lambda: backend), "3.12"
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


def test_epochs(seat, path):
    loader, plain = open_loader(path), open_loader(path)
    wanted = [[batch["number"].tolist() for batch in plain] for _ in range(3)]
    taken = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # what Keras keeps are copies: the loader's memory stays free
        generator = seat.feed(loader)
        peeked = list(itertools.islice(generator, 2))
        for batch in itertools.islice(itertools.chain(peeked, generator), 27):
            assert isinstance(batch, tuple) and all(isinstance(column, numpy.ndarray) for column in batch)
            taken.append(numbers(batch))
    assert taken == sum(wanted, [])
    assert len(next(generator)) == 2  # endless


def test_a_given_number_of_epochs(seat, path):
    loader = open_loader(path)
    generator = seat.feed(loader, 2)
    with pytest.raises(sluice.StateError, match="was given to sluice.keras.feed before"):
        seat.feed(loader)
    assert sum(len(numbers(batch)) for batch in generator) == 2 * SAMPLES
    assert sum(1 for _ in seat.feed(loader, 1)) == 9 and loader.epoch == 3  # it is free again


def test_a_loader_that_waits(seat, path):
    loader = open_loader(path, hold="wait", hold_timeout=0.5, prefetch_factor=3)
    generator = seat.feed(loader, 1)
    peeked = list(itertools.islice(generator, 2))
    assert sum(len(numbers(batch)) for batch in itertools.chain(peeked, generator)) == SAMPLES


def test_names(seat, path):
    x, y, weight = next(seat.feed(open_loader(path), inputs=["x"], targets="number", sample_weight="mask"))
    assert list(x) == ["x"] and x["x"].shape == (4, 2048) and y.shape == (4,) and weight.tolist() == [1] * 4
    columns = {"x": C.Tensor("x"), "number": C.Number("number"), "more": C.Number("number")}
    with pytest.raises(ValueError, match="columns 'x', 'number', 'more': write feed.loader, inputs='image'"):
        next(seat.feed(open_loader(path, columns=columns)))
    with pytest.raises(KeyError, match="'nonsense'"):
        next(seat.feed(open_loader(path), inputs="nonsense"))
    assert len(next(seat.feed(open_loader(path, columns={"x": C.Tensor("x")})))) == 1
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
    history = model.fit(sluice.keras.feed(loader), steps_per_epoch=9, epochs=2, validation_data=sluice.keras.feed(val), validation_steps=9, verbose=0)
    assert len(history.history["loss"]) == 2
