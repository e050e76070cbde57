# SPDX-License-Identifier: Apache-2.0
"""sluice.transformers under the protocol of Hugging Face's Trainer."""
import importlib
import json
import os
import pathlib
import runpy
import sys
import types

import pytest

import sluice
from sluice import columns as C

torch = pytest.importorskip("torch")
import hf_trainers  # noqa: E402

import sluice.torch  # noqa: E402

SAMPLES = 33
EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "hf_trainer.py"


@pytest.fixture
def seat(monkeypatch):
    package = types.ModuleType("transformers")
    package.__version__ = "4.57.6"
    package.TrainingArguments, package.TrainerCallback, package.Trainer, package.trainer = hf_trainers.TrainingArguments, hf_trainers.TrainerCallback, hf_trainers.Trainer, hf_trainers
    for name, module in ("", package), (".trainer", hf_trainers), (".trainer_utils", hf_trainers):
        monkeypatch.setitem(sys.modules, "transformers" + name, module)
    monkeypatch.delitem(sys.modules, "sluice.transformers", raising=False)
    yield importlib.import_module("sluice.transformers")
    sys.modules.pop("sluice.transformers", None)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("rows") / "rows"
    with sluice.Writer(path, {"x": ("tensor", "float32", (2,)), "number": "int"}) as writer:
        for number in range(SAMPLES):
            writer.add(x=[number, 0], number=number)
    return path


def open_loader(path, **options):
    options = {"batch_size": 4, "columns": {"x": C.Tensor("x"), "labels": C.Number("number")}, "num_workers": 1} | options
    return sluice.torch.DataLoader(path, **options)


def trainer(seat, folder, loader, stop=None, evaluation=None, **arguments):
    arguments = {"per_device_train_batch_size": 4, "per_device_eval_batch_size": 4, "num_train_epochs": 2} | arguments
    return seat.Trainer(None, hf_trainers.TrainingArguments(folder, **arguments), loader, evaluation, stop=stop)


@pytest.mark.parametrize("accumulation", [1, 3, 4])
def test_every_checkpoint_goes_on(seat, path, tmp_path, accumulation):
    whole = trainer(seat, tmp_path / "whole", open_loader(path, shuffle=True), gradient_accumulation_steps=accumulation)
    whole.train()
    plain = open_loader(path, shuffle=True)
    rows = [[batch["labels"].tolist() for batch in plain] for _ in range(2)]
    assert whole.steps == [epoch[at : at + accumulation] for epoch in rows for at in range(0, 9, accumulation)]
    for stop in range(1, len(whole.steps)):
        folder = tmp_path / str(stop)
        trainer(seat, folder, open_loader(path, shuffle=True), stop, gradient_accumulation_steps=accumulation, save_steps=stop).train()
        rest = trainer(seat, folder, open_loader(path, shuffle=True), gradient_accumulation_steps=accumulation, save_steps=100)
        rest.train(True if stop % 2 else os.path.join(folder, f"checkpoint-{stop}"))
        assert rest.steps == whole.steps[stop:], stop
    with pytest.raises(AssertionError):  # Trainer's own method is restored
        hf_trainers.skip_first_batches(None, 1)


@pytest.mark.parametrize("skips_first", [False, True])
def test_what_a_checkpoint_refuses(seat, path, tmp_path, monkeypatch, skips_first):
    monkeypatch.setattr(hf_trainers.Trainer, "skips_first", skips_first)
    trainer(seat, tmp_path, open_loader(path, shuffle=True), 11, save_steps=11).train()
    state = json.loads((tmp_path / "checkpoint-11" / seat.STATE_NAME).read_text())
    assert (state["epoch"], state["samples"]) == (1, 8)
    other = trainer(seat, tmp_path, open_loader(path, shuffle=True, seed=1))
    with pytest.raises(ValueError, match="different seed"):
        other.train(True)
    other = trainer(seat, tmp_path, open_loader(path, shuffle=True, batch_size=2), per_device_train_batch_size=2)
    with pytest.raises(ValueError, match="at sample 8 of epoch 1, but Trainer resumes at (epoch 0|batch 11 of an epoch): use the batch size"):
        other.train(True)
    (tmp_path / "checkpoint-11" / "trainer_state.json").write_text('{"global_step": 2}')
    other = trainer(seat, tmp_path, open_loader(path, shuffle=True))
    with pytest.raises(ValueError, match="at sample 8 of epoch 1, but Trainer resumes at epoch 0"):
        other.train(True)
    (tmp_path / "checkpoint-11" / "trainer_state.json").write_text('{"global_step": 11}')
    again = trainer(seat, tmp_path, open_loader(path, shuffle=True), ignore_data_skip=True, save_steps=100)
    again.train(True)
    assert len(again.steps) == 9
    os.remove(tmp_path / "checkpoint-11" / seat.STATE_NAME)  # made by another loader: the number of batches is sufficient
    rest = trainer(seat, tmp_path, open_loader(path, shuffle=True), save_steps=100)
    rest.train(True)
    assert len(rest.steps) == 7


def test_a_trainer_that_counts_whole_steps(seat, path, tmp_path, monkeypatch):
    """transformers before 4.52 resumes elsewhere if the accumulation does not divide the batches: the error says so."""
    monkeypatch.setattr(sys.modules["transformers"], "__version__", "4.51.3")
    monkeypatch.setattr(hf_trainers.Trainer, "resume_rounds_down", True)
    for accumulation, advice in (4, "gradient_accumulation_steps=4 does not divide the 9 batches.*install transformers 4.57 or newer .4.52 to 4.56 leave out the last step"), (3, None):
        folder, arguments = tmp_path / str(accumulation), {"gradient_accumulation_steps": accumulation, "save_steps": 2}
        trainer(seat, folder, open_loader(path, shuffle=True), 2, **arguments).train()
        rest = trainer(seat, folder, open_loader(path, shuffle=True), **arguments | {"save_steps": 100})
        if advice is None:
            rest.train(True)
            assert rest.state.global_step == 6
        else:
            with pytest.raises(ValueError, match=advice):
                rest.train(True)


def test_a_checkpoint_elsewhere(seat, path, tmp_path):
    made = trainer(seat, tmp_path, open_loader(path))
    with pytest.warns(UserWarning, match="state is not saved: there is no folder .*checkpoint-0"):
        seat.LoaderCallback().on_save(made.args, made.state, None, train_dataloader=made.get_train_dataloader())


@pytest.mark.parametrize("thread", [False, True])
def test_the_place_of_a_training_that_was_stopped(seat, path, tmp_path, thread):
    loader = open_loader(path, shuffle=True, batch_hook=lambda batch: None, batch_hook_thread=thread)
    made = trainer(seat, tmp_path, loader, 11, save_steps=100)
    made.train()
    named = made.get_train_dataloader()
    assert (named.epoch, named.remaining, named.state_dict()) == (1, 7, loader.state_at(1, 2))


def test_evaluation(seat, path, tmp_path):
    made = trainer(seat, tmp_path, None, evaluation={"a": open_loader(path), "b": [1, 2]})
    assert made.evaluate("a") == made.evaluate("a") == list(range(SAMPLES))
    assert made.get_eval_dataloader("b") == "Trainer's own" == made.get_train_dataloader() == made.get_test_dataloader([1])
    assert made.evaluate(open_loader(path)) == list(range(SAMPLES)) and len(made.get_test_dataloader(open_loader(path))) == 9
    with pytest.raises(ValueError, match="eval loader's batch_size is 8.*write per_device_eval_batch_size=8"):
        made.evaluate(open_loader(path, batch_size=8))


def test_what_is_refused(seat, path, tmp_path):
    for words, arguments in (
        ("train loader's batch_size is 4, and TrainingArguments say 8", {"per_device_train_batch_size": 8}),
        ("group_by_length=True: .*open it with lengths=", {"group_by_length": True}),
        ("leave train_sampling_strategy out", {"train_sampling_strategy": "group_by_length"}),
        ("open the loader with drop_last=True", {"dataloader_drop_last": True}),
        ("leave auto_find_batch_size out", {"auto_find_batch_size": True}),
    ):
        with pytest.raises(ValueError, match=words):
            trainer(seat, tmp_path, open_loader(path), **arguments).train()
    loader = open_loader(path)
    first = trainer(seat, tmp_path, loader, save_steps=100)
    first.train()
    with pytest.raises(sluice.StateError, match="already belongs to "):
        trainer(seat, tmp_path, loader).train()


def test_an_order_that_trainer_would_give(seat, path, tmp_path):
    """Newer transformers have one argument for the order."""
    for name in "random", "sequential":
        trainer(seat, tmp_path / name, open_loader(path), train_sampling_strategy=name, num_train_epochs=1).train()
    with pytest.raises(ValueError, match="train_sampling_strategy='sequential': open the loader with shuffle=False"):
        trainer(seat, tmp_path, open_loader(path, shuffle=True), train_sampling_strategy="sequential").train()


def test_several_gpus_in_a_process(seat, path, tmp_path):
    """Trainer then wants the rows of all GPUs in a batch; each error leads to a loader or arguments that fit."""
    with pytest.raises(ValueError, match="for a process: this process uses 2 GPUs: write per_device_train_batch_size=2, or start a process"):
        trainer(seat, tmp_path, open_loader(path), n_gpu=2).train()
    trainer(seat, tmp_path / "fits", open_loader(path), n_gpu=2, per_device_train_batch_size=2, num_train_epochs=1).train()
    with pytest.raises(ValueError, match="open the loader with batch_size=12, or start a process for each GPU by torchrun"):
        trainer(seat, tmp_path, None, evaluation=open_loader(path), n_gpu=3).evaluate()


def test_the_example(seat, photos, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", [str(EXAMPLE), str(photos), str(tmp_path / "out"), "--epochs", "2"])
    whole = runpy.run_path(str(EXAMPLE), run_name="__main__")["trainer"]
    assert len(whole.steps) == 10
    monkeypatch.setattr(sys, "argv", [*sys.argv[:3], "--resume"])
    rest = runpy.run_path(str(EXAMPLE), run_name="__main__")["trainer"]
    assert rest.state.global_step == 15 and len(rest.steps) == 5
    monkeypatch.setattr(hf_trainers.TrainingArguments, "gpus", 2)
    monkeypatch.setattr(sys, "argv", [str(EXAMPLE), str(photos), str(tmp_path / "two"), "--epochs", "1"])
    assert len(runpy.run_path(str(EXAMPLE), run_name="__main__")["trainer"].steps) == 3


def test_without_transformers(run_python):
    done = run_python("import sys\nsys.modules['transformers'] = None\nimport sluice\ntry: import sluice.transformers\n"
                      "except ModuleNotFoundError as error: print(error)")  # fmt: skip
    assert done.stdout == "sluice.transformers needs Hugging Face's transformers and accelerate: pip install transformers accelerate\n"
