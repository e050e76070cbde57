# SPDX-License-Identifier: Apache-2.0
"""A trainer's seat rejects a loader that another one uses, a closed one, and other types. The loader loses nothing."""
import pathlib
import types

import lightnings
import pytest

import sluice
from sluice import columns as C

torch = pytest.importorskip("torch")
import accelerates  # noqa: E402
import hf_trainers  # noqa: E402
import trainer_seats  # noqa: E402
from trainer_seats import REFUSED, SEATS, numbers  # noqa: E402

import sluice.torch  # noqa: E402

ROWS, SAMPLES = 4, 33
COLUMNS = {"x": C.Tensor("x"), "number": C.Number("number")}
MAKERS = {
    "accelerate": "sluice.accelerate.prepare",
    "fabric": "sluice.lightning.setup",
    "jax": "sluice.jax.global_batches",
    "keras": "sluice.keras.feed",
    "torchtitan": "sluice.torchtitan.dataloader",
    "transformers": "sluice.transformers.Trainer",
}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("rows") / "rows"
    with sluice.Writer(path, {"x": ("tensor", "float32", (4,)), "number": "int"}) as writer:
        for number in range(SAMPLES):
            writer.add(x=[number] * 4, number=number)
    return path


@pytest.fixture
def seats(monkeypatch):
    yield trainer_seats.install(monkeypatch)
    trainer_seats.uninstall()


@pytest.fixture
def loader(path):
    return sluice.torch.DataLoader(path, ROWS, columns=COLUMNS, num_workers=1)


@pytest.mark.parametrize("second", REFUSED)
@pytest.mark.parametrize("first", REFUSED)
def test_a_loader_has_one_trainer(seats, loader, first, second):
    made = SEATS[first](seats, loader)
    batches = iter(made)
    seen = numbers(next(batches))
    words = f"{MAKERS[second]}: the loader already belongs to {MAKERS[first]}: use the object that it returned, or open another loader"
    with pytest.raises(sluice.StateError, match=words):
        SEATS[second](seats, loader)
    for _ in range(-(-SAMPLES // ROWS) - 1):
        seen += numbers(next(batches))
    assert seen == list(range(SAMPLES))


@pytest.mark.parametrize("first", [name for name in REFUSED if name != "keras"])  # its object is a PyDataset
@pytest.mark.parametrize("second", REFUSED)
def test_what_a_seat_returned_is_not_a_loader(seats, loader, first, second):
    made = SEATS[first](seats, loader)
    with pytest.raises(sluice.StateError, match=f"{MAKERS[second]}: the loader already belongs to {MAKERS[first]}"):
        SEATS[second](seats, made)
    if first not in ("accelerate", "transformers"):
        with pytest.raises(TypeError, match="skip_first_batches: loader=.*: expected what sluice.accelerate.prepare returned, or a loader"):
            sluice.accelerate.skip_first_batches(made, 1)


@pytest.mark.parametrize("name", REFUSED)
def test_a_closed_loader(seats, loader, name):
    loader.close()
    # Trainer asks for the length first.
    words = "the loader is closed" if name == "transformers" else f"{MAKERS[name]}: the loader is closed: open another one"
    with pytest.raises(sluice.StateError, match=words):
        SEATS[name](seats, loader)


@pytest.mark.parametrize("name", [name for name in REFUSED if name != "transformers"])  # it accepts any other type as a dataset
def test_another_type(seats, path, name):
    data = sluice.Dataset(path)
    theirs = torch.utils.data.DataLoader([1, 2])
    for wrong in None, str(path), pathlib.Path(path), data, theirs, [theirs], sluice.torch.DataLoader, sluice.Loader:
        with pytest.raises(TypeError, match=r"loader=.*: expected a sluice.torch.DataLoader"):
            SEATS[name](seats, wrong)


def test_arguments_of_another_type(seats, loader):
    fabric = types.SimpleNamespace(global_rank=0, world_size=1, device="cpu")
    setup, feed, join, titan = seats["lightning"].setup, seats["keras"].feed, seats["jax"].global_batches, sluice.torchtitan.dataloader
    for words, call in (
        ("fabric=7: expected a lightning.Fabric", lambda: setup(7, loader)),
        ("fabric=.*: expected a lightning.Fabric", lambda: setup(lightnings.Trainer, loader)),
        ("move_to_device='cuda'", lambda: setup(fabric, loader, move_to_device="cuda")),
        ("accelerator=<class", lambda: sluice.accelerate.prepare(loader, accelerates.Accelerator)),
        ("device_placement='cuda'", lambda: sluice.accelerate.prepare(loader, accelerates.Accelerator(), device_placement="cuda")),
        ("inputs=7: expected the name of a column, or a list of names", lambda: feed(loader, inputs=7)),
        (r"targets=\[7\]: expected the name of a column, or a list", lambda: feed(loader, inputs="x", targets=[7])),
        ("sample_weight=0: expected a text", lambda: feed(loader, inputs="x", targets="number", sample_weight=0)),
        ("names='x': expected names of columns, in a list", lambda: join(loader, "rows", names="x")),
        ("inputs='x': expected a dict of columns' names", lambda: titan(loader, "x")),
        ("inputs={}: expected a dict", lambda: titan(loader, {})),
        ("inputs={'x': 7}: expected a dict", lambda: titan(loader, {"x": 7})),
        ("dp_rank='0': expected an integer", lambda: titan(loader, {"x": "x"}, "number", dp_rank="0", dp_world_size=1)),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=words):
            call()
    assert len(list(feed(loader, 1, inputs=iter(["x"])))) == 9  # nothing above took over the loader


def test_a_feed_that_failed_frees_its_loader(seats, loader):
    feed, failed = seats["keras"].feed, []
    loader.batch_hook = lambda batch: failed.append(batch) or 1 / 0
    made = feed(loader)
    with pytest.raises(ZeroDivisionError):
        next(iter(made))
    loader.batch_hook = None
    loader.set_epoch(0)
    assert len(list(feed(loader, 1))) == 9 and len(failed) == 1


def test_functions_of_a_data_module(seats, path, loader):
    module = seats["lightning"].DataModule
    for wrong in None, str(path), pathlib.Path(path), 7:
        with pytest.raises(TypeError, match="DataModule: train returned .*: expected a loader, or a list or dict of loaders"):
            module(train=lambda: wrong).train_dataloader()
    for wrong, words in ([1, 2], "a list with 1"), ({"a": [loader, "/data/x"]}, "a dict with '/data/x'"), ((loader, None), "a tuple with None"):
        with pytest.raises(TypeError, match=f"train returned {words}: expected a loader, or a list or dict of loaders"):
            module(train=lambda: wrong).train_dataloader()
    shared = module(val=lambda: loader, test=lambda: [loader], predict=lambda: loader)
    for _ in range(2):
        assert shared.val_dataloader() is shared.test_dataloader()[0] is shared.predict_dataloader() is loader
    made = module(train=lambda: loader, val=lambda: {"a": [loader]})
    assert made.train_dataloader() is made.train_dataloader() is loader
    with pytest.raises(ValueError, match="val and train return the same loader, which has one loop at a time: open a loader for each"):
        made.val_dataloader()
    assert module(val=lambda: loader).val_dataloader() is loader  # of a program that continues with another module
    loader.close()
    with pytest.raises(sluice.StateError, match="DataModule: the loader that train returned is closed: open it in the function"):
        made.train_dataloader()


def test_evaluation_of_the_loader_that_is_trained_on(seats, loader, tmp_path):
    trainer = seats["transformers"].Trainer(None, hf_trainers.TrainingArguments(tmp_path, ROWS, ROWS), loader, loader)
    batches = iter(trainer.get_train_dataloader())
    seen = numbers(next(batches))
    with pytest.raises(sluice.StateError, match="the loader that is being trained on would end its epoch: open another loader for evaluation"):
        trainer.get_eval_dataloader()
    assert sum((numbers(batch) for batch in batches), seen) == list(range(SAMPLES))
    assert len(list(trainer.get_eval_dataloader())) == 9  # after the training


def test_evaluation_in_another_loop_of_it(seats, loader, tmp_path):
    trainer = seats["transformers"].Trainer(None, hf_trainers.TrainingArguments(tmp_path, ROWS, ROWS), loader, loader)
    batches = iter(trainer.get_eval_dataloader())
    next(batches)
    trainer.get_train_dataloader()  # nothing trains yet
    for again in trainer.get_eval_dataloader, lambda: trainer.get_test_dataloader(loader):
        with pytest.raises(sluice.StateError, match="another loop of this evaluation loader is in progress.*: close that loop's iterator, or open"):
            again()
    batches.close()  # as the error says
    assert sum(map(numbers, trainer.get_eval_dataloader()), []) == list(range(SAMPLES))
