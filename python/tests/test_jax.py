# SPDX-License-Identifier: Apache-2.0
"""sluice.jax under the protocol of jax.make_array_from_process_local_data; with JAX itself where it is installed."""
import importlib
import importlib.util
import pathlib
import runpy
import sys
import types

import numpy
import pytest
import training

import sluice
from sluice import columns as C

SAMPLES = 33


class Array:
    """The part of a global array that a process has."""

    def __init__(self, sharding, local):
        assert isinstance(local, numpy.ndarray)
        self.sharding, self.local = sharding, local


@pytest.fixture
def process():
    return types.SimpleNamespace(index=0, count=1)


@pytest.fixture
def seat(monkeypatch, process):
    fake = types.ModuleType("jax")
    fake.process_index, fake.process_count = lambda: process.index, lambda: process.count
    fake.make_array_from_process_local_data = Array
    monkeypatch.setitem(sys.modules, "jax", fake)
    monkeypatch.delitem(sys.modules, "sluice.jax", raising=False)
    yield importlib.import_module("sluice.jax")
    sys.modules.pop("sluice.jax", None)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("rows") / "rows"
    with sluice.Writer(path, {"x": ("tensor", "float32", (3,)), "number": "int"}) as writer:
        for number in range(SAMPLES):
            writer.add(x=[number] * 3, number=number)
    return path


def open_loader(path, **options):
    options = {"batch_size": 4, "columns": {"x": C.Tensor("x"), "number": C.Number("number")}, "num_workers": 1} | options
    return sluice.Loader(path, **options)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_processes_make_global_batches(seat, path, process, count):
    """The local rows of all processes, joined in order, are the global batch of one."""
    process.count, joined = count, []
    for process.index in range(count):
        batches = seat.global_batches(open_loader(path, rank=process.index, world_size=count, last_batch="wrap"), "rows")
        joined.append([(x.local, numbers.local, x.sharding) for x, numbers in batches])
    assert len(batches) == len(joined[0])
    whole = [batch["number"].tolist() for batch in open_loader(path, batch_size=4 * count, last_batch="repeat")]
    assert [sum((part[1].tolist() for part in parts), []) for parts in zip(*joined)] == whole
    assert all((x[:, 0] == numbers).all() and sharding == "rows" for parts in joined for x, numbers, sharding in parts)


def test_names_and_shardings(seat, path):
    loader = open_loader(path)
    batches = seat.global_batches(loader, {"x": "two axes", "mask": "one"}, names=["x", "mask"])
    first = next(iter(batches))
    assert list(first) == ["x", "mask"] and first["x"].sharding == "two axes" and first["mask"].local.tolist() == [1] * 4
    assert batches.state_dict() == loader.state_dict() and batches.epoch == 0
    with pytest.raises(ValueError, match="column 'number' has no sharding: the dict has those of \\['x'\\]"):
        next(iter(seat.global_batches(open_loader(path), {"x": "rows"})))


def test_what_is_refused(seat, path, process):
    loader = open_loader(path)
    first = seat.global_batches(loader, "rows")
    with pytest.raises(sluice.StateError, match="already belongs to sluice.jax.global_batches"):
        seat.global_batches(loader, "rows")
    del first
    process.index, process.count = 1, 2
    with pytest.raises(ValueError, match=r"rank 0 of 1, but this process is rank 1 of 2: open the loader with rank=jax.process_index\(\)"):
        seat.global_batches(open_loader(path), "rows")
    with pytest.raises(ValueError, match="open the loader with drop_last=True or last_batch='pad'"):
        seat.global_batches(open_loader(path, rank=1, world_size=2), "rows")
    seat.global_batches(open_loader(path), "rows", model_parallel=2)
    there = open_loader(path)
    there._handle = types.SimpleNamespace(on_device=True, closed=False)
    with pytest.raises(ValueError, match="JAX copies rows from host memory: open the loader without device="):
        seat.global_batches(there, "rows")
    with pytest.raises(ValueError, match="model_parallel=3 does not divide 2"):
        seat.global_batches(open_loader(path), "rows", model_parallel=3)


def test_without_jax(run_python):
    done = run_python("import sys\nsys.modules['jax'] = None\nimport sluice\n"
                      "try: import sluice.jax\nexcept ModuleNotFoundError as error: print(error)")  # fmt: skip
    assert done.stdout == "sluice.jax needs JAX: pip install jax\n"


@pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="without JAX")
def test_jax_itself(path):
    import jax

    import sluice.jax

    mesh = jax.sharding.Mesh(numpy.array(jax.devices()), ("data",))
    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("data"))
    loader = open_loader(path, batch_size=4 * len(jax.devices()), drop_last=True)
    total = sum(float(jax.jit(lambda x: x[:, 0].sum())(x)) for x, _ in sluice.jax.global_batches(loader, sharding))
    assert total == sum(sum(batch["number"].tolist()) for batch in open_loader(path, batch_size=4 * len(jax.devices()), drop_last=True))


@pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="without JAX: its gradients are not part of the protocol")
def test_the_example(tmp_path, monkeypatch, capsys):
    training.colours(tmp_path, "train", 40)
    program = pathlib.Path(__file__).parents[2] / "examples" / "jax_train.py"
    monkeypatch.setattr(sys, "argv", [str(program), str(tmp_path / "train")])
    runpy.run_path(str(program), run_name="__main__")
    losses = [float(line.split()[-1]) for line in capsys.readouterr().out.splitlines()]
    assert len(losses) == 8 and losses[-1] < losses[0] / 2
