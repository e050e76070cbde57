# SPDX-License-Identifier: Apache-2.0
"""sluice.torchtitan under the protocol of torchtitan's trainer and of torch.distributed.checkpoint's Stateful."""
import copy
import dataclasses
import itertools
import pathlib
import pickle
import runpy
import sys
import types

import numpy
import pytest

import sluice
from sluice import columns as C

torch = pytest.importorskip("torch")
import sluice.torch  # noqa: E402
import sluice.torchtitan  # noqa: E402


EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "torchtitan_train.py"


@pytest.fixture(scope="module")
def tokens(tmp_path_factory):
    path = tmp_path_factory.mktemp("tokens") / "tokens.bin"
    numpy.arange(401, dtype="uint16").tofile(path)
    return sluice.Dataset(path, flat=("uint16", (401,)))


def open_loader(tokens, **options):
    columns = {"input": C.Window("tensor", length=10, dtype="int64"), "target": C.Window("tensor", length=10, offset=1, dtype="int64")}
    return sluice.torch.DataLoader(tokens, **{"batch_size": 4, "shuffle": True, "drop_last": True, "columns": columns, "num_workers": 1} | options)


def take(batches, steps):
    """Reads like torchtitan's batch_generator: next() of one iterator, for the configured number of steps."""
    taken = []
    for inputs, labels in itertools.islice(batches, steps):
        assert list(inputs) == ["input"] and (inputs["input"] + 1 == labels).all()
        taken.append(inputs["input"].tolist())
    return taken


def save(states):
    """Saves like dcp.save: objects with state_dict() are replaced by their state, and values that are not tensors are pickled by name."""
    return {name: {key: pickle.dumps(value) for key, value in thing.state_dict().items()} for name, thing in states.items()}


def load(checkpoint, states):
    """Loads like dcp.load: the object's own state determines the names to read."""
    for name, thing in states.items():
        thing.load_state_dict({key: pickle.loads(checkpoint[name][key]) for key in thing.state_dict()})


def test_steps_go_on_over_epochs(tokens):
    made = sluice.torchtitan.dataloader(open_loader(tokens))
    whole = take(made, 25)
    assert len(made) == 10 and made.epoch == 2 and whole[:10] != whole[10:20]
    for step in (1, 9, 10, 11, 24):
        first = sluice.torchtitan.dataloader(open_loader(tokens))
        take(first, step)
        checkpoint = copy.deepcopy(save({"dataloader": first}))
        other = sluice.torchtitan.dataloader(open_loader(tokens))
        load(checkpoint, {"dataloader": other})
        assert take(other, 25 - step) == whole[step:]


def test_another_number_of_ranks(tokens):
    one = sluice.torchtitan.dataloader(open_loader(tokens))
    batches = iter(one)
    take(batches, 6)
    state = one.state_dict()
    rest = take(batches, 4)
    ranks = [sluice.torchtitan.dataloader(open_loader(tokens, batch_size=2, rank=rank, world_size=2), dp_rank=rank, dp_world_size=2) for rank in (0, 1)]
    for rank in ranks:
        rank.load_state_dict(state)
    assert [a + b for a, b in zip(*(take(rank, 4) for rank in ranks))] == rest


def test_arguments(tokens):
    loader = open_loader(tokens)
    made = sluice.torchtitan.dataloader(loader, {"tokens": "input", "next": "target"}, "input", infinite=False)
    assert [list(inputs) for inputs, _ in made] == [["tokens", "next"]] * 10
    made.load_state_dict({})
    with pytest.raises(sluice.StateError, match="already belongs to sluice.torchtitan.dataloader"):
        sluice.torchtitan.dataloader(loader)
    with pytest.raises(ValueError, match="rank 0 of 1, but this process is rank 1 of 2: open the loader with rank=dp_rank"):
        sluice.torchtitan.dataloader(open_loader(tokens), dp_rank=1, dp_world_size=2)
    with pytest.raises(ValueError, match="go together"):
        sluice.torchtitan.dataloader(open_loader(tokens), dp_rank=1)
    with pytest.raises(KeyError, match="'nonsense'"):
        next(iter(sluice.torchtitan.dataloader(open_loader(tokens), labels="nonsense")))


@pytest.fixture(scope="module")
def documents(tmp_path_factory):
    path = tmp_path_factory.mktemp("documents") / "set"
    with sluice.Writer(path, {"tokens": ("tensor", "uint16", (0,))}, zstd="off") as writer:
        for number in range(60):
            writer.add(tokens=numpy.arange(1000 * number + 1, 1000 * number + 4 + number * 7 % 23, dtype="uint16"))
    return path


PACKED = {"input": "tokens", "positions": "tokens.positions"}


def open_flat(documents, batch_size=4, inputs=PACKED, packed=None, **options):
    ranks = {"dp_rank": options["rank"], "dp_world_size": options["world_size"]} if options else {}
    loader = sluice.torch.DataLoader(documents, batch_size, True, drop_last=True, seed=3, columns={"tokens": C.Packed(length=32, **packed or {})}, **options)
    return sluice.torchtitan.dataloader(loader, inputs, "tokens.targets", flat=True, **ranks)


def documents_of(batch):
    """Returns the documents of a flat batch as torchtitan's main branch finds them: each begins where positions are 0."""
    inputs, labels = batch
    assert set(inputs) == {"input", "positions"} and all(array.dtype == torch.int64 and array.dim() == 1 for array in (*inputs.values(), labels))
    begins = (inputs["positions"] == 0).nonzero()[:, 0].tolist() + [len(labels)]
    made = []
    for begin, end in zip(begins, begins[1:]):
        tokens, targets = inputs["input"][begin:end].tolist(), labels[begin:end].tolist()
        assert inputs["positions"][begin:end].tolist() == list(range(end - begin))
        if any(tokens):  # not padding
            assert targets == [*tokens[1:], -100] and numpy.diff(tokens).tolist() == [1] * (len(tokens) - 1)
            made.append(tuple(tokens))
        else:
            assert set(targets) == {-100}
    return made


@pytest.mark.parametrize("packed", [{}, {"align": 4}, {"max_documents": 2, "dtype": "int32"}], ids=str)
def test_flat_batches(documents, packed):
    made = open_flat(documents, packed=packed)
    steps = [documents_of(batch) for batch in itertools.islice(made, len(made))]
    found = [document for step in steps for document in step]
    lengths = {len(range(1000 * n + 1, 1000 * n + 4 + n * 7 % 23)) for n in range(60)}
    assert len(found) == len(set(found)) > 40 and {len(document) for document in found} <= lengths  # whole, each once
    for step in (1, len(made), len(made) + 2):
        first, other = open_flat(documents, packed=packed), open_flat(documents, packed=packed)
        rest = iter(first)
        for _ in range(step):
            next(rest)
        load(copy.deepcopy(save({"dataloader": first})), {"dataloader": other})
        assert [documents_of(batch) for batch in itertools.islice(other, 5)] == [documents_of(batch) for batch in itertools.islice(rest, 5)]


def test_flat_batches_on_other_ranks(documents):
    one = open_flat(documents)
    batches = iter(one)
    next(batches)
    state, rest = one.state_dict(), [documents_of(batch) for batch in itertools.islice(batches, 3)]
    ranks = [open_flat(documents, 2, rank=rank, world_size=2) for rank in (0, 1)]
    for rank in ranks:
        rank.load_state_dict(state)
    assert [a + b for a, b in zip(*([documents_of(batch) for batch in itertools.islice(rank, 3)] for rank in ranks))] == rest


def test_flat_windows(tokens):
    """Each row is a document; columns other than tokens do not change."""
    made = sluice.torchtitan.dataloader(open_loader(tokens), {"input": "input", "positions": None, "index": "index"}, flat=True)
    rows = sluice.torchtitan.dataloader(open_loader(tokens), {"input": "input", "index": "index"})
    for (inputs, labels), (wanted, targets) in itertools.islice(zip(made, rows), 12):
        assert torch.equal(inputs["input"], wanted["input"].flatten()) and torch.equal(labels, targets.flatten())
        assert inputs["positions"].tolist() == list(range(10)) * 4 and torch.equal(inputs["index"], wanted["index"])


def test_what_flat_refuses(tokens, documents):
    with pytest.raises(ValueError, match=r'needs "positions".*: inputs=\{"input": \'tokens\', "positions": "tokens.positions"\}'):
        open_flat(documents, inputs={"input": "tokens"})
    with pytest.raises(ValueError, match='the model needs "input", which inputs='):
        open_flat(documents, inputs={"tokens": "tokens", "positions": "tokens.positions"})
    with pytest.raises(ValueError, match='has several documents a row: inputs={"positions": "tokens.positions"}, not None'):
        next(iter(open_flat(documents, inputs={"input": "tokens", "positions": None})))
    with pytest.raises(ValueError, match=r"positions is torch.int32 of shape \(4,\): flat=True takes rows x length"):
        next(iter(open_flat(documents, inputs={"input": "tokens", "positions": "tokens.count"})))
    with pytest.raises(TypeError, match="inputs"):
        sluice.torchtitan.dataloader(open_loader(tokens), {"input": "input", "positions": None})
    with pytest.raises(ValueError, match="flat=2"):
        sluice.torchtitan.dataloader(open_loader(tokens), flat=2)


def test_assignments_reach_the_loader(tokens):
    made = sluice.torchtitan.dataloader(open_loader(tokens))
    with pytest.raises(AttributeError, match=r"DataLoader.epoch = \.\.\. would have no effect: call set_epoch"):
        made.epoch = 5
    made.batch_hook = lambda batch: {}
    assert made.loader.batch_hook is made.batch_hook


def test_a_loader_is_stateful(tokens):
    """torch.distributed.checkpoint and torchdata require these two methods."""
    loader = open_loader(tokens)
    next(iter(loader))
    checkpoint, other = save({"loader": loader}), open_loader(tokens)
    load(checkpoint, {"loader": other})
    assert other.state_dict() == loader.state_dict()


@dataclasses.dataclass
class TrainSpec:
    build_dataloader_fn: object = None
    build_validator_fn: object = print


def test_the_example(tmp_path, monkeypatch):
    """Run as torchtitan 0.2 runs a train spec, on rank 1 of 2."""
    numpy.arange(401, dtype="uint16").tofile(tmp_path / "tokens.bin")
    training = types.SimpleNamespace(dataset_path=str(tmp_path / "tokens.bin"), seq_len=10, local_batch_size=4)
    specs, taken = {"llama3": TrainSpec()}, []

    def main(trainer):
        build = specs["llama3_tokens"].build_dataloader_fn
        made = build(dp_world_size=2, dp_rank=1, tokenizer=None, job_config=types.SimpleNamespace(training=training))
        taken.extend(take(iter(made), 8))

    for name, members in (
        ("torchtitan", {}), ("torchtitan.protocols", {}), ("torchtitan.train", {"Trainer": object, "main": main}),
        ("torchtitan.protocols.train_spec", {"get_train_spec": specs.get, "register_train_spec": specs.__setitem__}),
    ):  # fmt: skip
        module = types.ModuleType(name)
        module.__dict__.update(members)
        monkeypatch.setitem(sys.modules, name, module)
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    assert specs["llama3_tokens"].build_validator_fn is None and len(taken) == 8 and all(len(batch) == 4 for batch in taken)


@pytest.mark.parametrize("name, words", [("keras", "Keras 3 and a backend: pip install keras torch"), ("jax", "JAX: pip install jax"), ("torchtitan", "torchtitan: pip install torchtitan")])
def test_examples_without_their_framework(name, words, monkeypatch):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(SystemExit, match=f"{name}_train.py needs {words}"):
        runpy.run_path(str(EXAMPLE.parent / f"{name}_train.py"), run_name="__main__")
