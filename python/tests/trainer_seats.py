# SPDX-License-Identifier: Apache-2.0
"""The seats of all trainers over one loader, with models of the frameworks, which need not be installed."""
import importlib
import sys
import types

import accelerates
import hf_trainers
import lightnings
import torch

import sluice.accelerate
import sluice.timm
import sluice.torchtitan

LIGHTNING = "lightning"
FAKED = ("jax", "keras", LIGHTNING, "transformers")


def write_rows(path, count):
    """Writes a dataset of vectors and their numbers."""
    with sluice.Writer(path, {"x": ("tensor", "float32", (64,)), "number": "int"}) as writer:
        for number in range(count):
            writer.add(x=[number] * 64, number=number)
    return path


def modules():
    """Returns the frameworks' modules by name."""
    jax, keras, transformers = (types.ModuleType(name) for name in ("jax", "keras", "transformers"))
    jax.process_index, jax.process_count = lambda: 0, lambda: 1
    jax.make_array_from_process_local_data = lambda sharding, local: local
    keras.config, keras.__version__ = types.SimpleNamespace(backend=lambda: "jax"), "3.12"
    keras.utils = types.SimpleNamespace(PyDataset=type("PyDataset", (), {"__init__": lambda self, **options: None}))
    for name in ("TrainingArguments", "TrainerCallback", "Trainer"):
        setattr(transformers, name, getattr(hf_trainers, name))
    transformers.trainer = hf_trainers
    lightnings.pytorch = lightnings
    return {
        "jax": jax, "keras": keras, LIGHTNING: lightnings, "lightning.pytorch": lightnings,
        "transformers": transformers, "transformers.trainer": hf_trainers, "transformers.trainer_utils": hf_trainers,
    }  # fmt: skip


def install(monkeypatch):
    """Replaces the frameworks by the models, and imports the seats over them. Returns the seats by name."""
    for name, module in modules().items():
        monkeypatch.setitem(sys.modules, name, module)
    uninstall()
    return {name: importlib.import_module(f"sluice.{name}") for name in FAKED}


def uninstall():
    for name in FAKED:
        sys.modules.pop(f"sluice.{name}", None)


def _trainer(seat, loader, **more):
    arguments = hf_trainers.TrainingArguments("nowhere", loader.batch_size, loader.batch_size)
    return seat.Trainer(None, arguments, loader, **more)


def _titan(loader):
    return sluice.torchtitan.dataloader(loader, {"x": "x"}, "number")


# For each seat: a function (seats, loader) that returns the object that the trainer iterates.
SEATS = {
    "bare": lambda seats, loader: loader,
    "accelerate": lambda seats, loader: sluice.accelerate.prepare(loader, accelerates.Accelerator()),
    "fabric": lambda seats, loader: seats[LIGHTNING].setup(
        types.SimpleNamespace(global_rank=0, world_size=1, device=torch.device("cpu")), loader),
    "jax": lambda seats, loader: seats["jax"].global_batches(loader, "rows"),
    "keras": lambda seats, loader: seats["keras"].feed(loader),
    "torchtitan": lambda seats, loader: _titan(loader),
    "transformers": lambda seats, loader: _trainer(seats["transformers"], loader).get_train_dataloader(),
}  # fmt: skip
REFUSED = [name for name in SEATS if name != "bare"]  # reject a loader that another one uses


def numbers(batch):
    """Returns the samples of a batch, in any seat's form."""
    column = batch["number"] if isinstance(batch, dict) else batch[1]
    return column.tolist()
