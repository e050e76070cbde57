# SPDX-License-Identifier: Apache-2.0
"""Hugging Face's Trainer over sluice's loaders: Trainer(train_dataset=loader, eval_dataset=loader).

docs/trainers.md has a complete program.
"""
from __future__ import annotations

import json
import os
from contextlib import contextmanager
from weakref import WeakKeyDictionary

from . import _check, _seats, _sluice

try:
    import transformers
except ModuleNotFoundError as _error:
    if _error.name != "transformers":
        raise
    raise _seats.needed("sluice.transformers", "Hugging Face's transformers and accelerate", "transformers accelerate") from None

from torch.utils.data import SequentialSampler

from . import accelerate
from .batch import Batch
from .loader import Loader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

__all__ = ["LoaderCallback", "STATE_NAME", "Trainer", "TrainerMixin"]

STATE_NAME = "sluice_loader.json"  # in a checkpoint's folder


class Named(accelerate.Prepared):
    """A prepared loader whose batches are dicts, as Trainer passes them to the model."""

    _made_by = "sluice.transformers.Trainer"
    _saved: dict[str, Any] | None = None  # a loaded state that has not been used yet
    _accumulation = 1  # batches of an optimizer step
    _kind = _loop = ""  # "train" or "eval": purpose of Trainer's last request, and of the loop that began last

    def _moved(self, batch):
        batch = super()._moved(batch)
        return dict(batch) if isinstance(batch, Batch) else batch

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch, as the loader does. Raises ValueError if the loaded checkpoint is in another
        epoch.
        """
        saved = self._saved
        if saved is not None and epoch != saved["epoch"]:
            behind = saved["epoch"] + (saved["samples"] >= self.total_dataset_length)
            if epoch != behind:
                raise self._elsewhere(saved, f"epoch {epoch}")
        super().set_epoch(epoch)

    def _skip_to(self, batches):
        """Skips batches for Trainer's skip_first_batches."""
        saved = self._saved  # kept for set_epoch, which Trainer 5 calls after this
        if saved is not None and saved["samples"] != batches * self.total_batch_size:
            raise self._elsewhere(saved, f"batch {batches} of an epoch")
        return accelerate.skip_first_batches(self, batches)

    def __iter__(self) -> Iterator[Any]:
        """Begins an epoch, as the loader does."""
        self._saved, self._loop = None, self._kind
        return super().__iter__()

    def _elsewhere(self, saved, where):
        """Returns the error of a Trainer that resumes at another place than the checkpoint's."""
        advice = "use the batch size, accumulation and number of processes that the checkpoint was made with"
        if len(self) % self._accumulation and _resumes_elsewhere():
            advice = (
                f"gradient_accumulation_steps={self._accumulation} does not divide the {len(self)} batches of an epoch, and "
                f"transformers {transformers.__version__} then resumes at the wrong place: install transformers 4.57 or newer (4.52 to "
                "4.56 leave out the last step of the epoch in progress)"
            )
        return ValueError(
            f"the checkpoint's loader is at sample {saved['samples']} of epoch {saved['epoch']}, but Trainer resumes at {where}: "
            f"{advice}, or write ignore_data_skip=True, which begins the epoch again"
        )


def _resumes_elsewhere():
    """Returns True before transformers 4.52: if accumulation does not divide the batches of an epoch,
    Trainer resumes at a wrong place. From 4.52 to 4.56 it resumes at the right one, but leaves out
    the last step of that epoch.
    """
    major, minor = transformers.__version__.split(".")[:2]
    return (int(major), int(minor)) < (4, 52)


class LoaderCallback(transformers.TrainerCallback):
    """Saves the training loader's state in each checkpoint's folder.

    The file is sluice_loader.json. TrainerMixin adds this callback.
    """

    def on_save(self, args: Any, state: Any, control: Any, train_dataloader: Any = None, **more: Any) -> None:
        """Writes the state, first to a file of another name.

        Args:
            args: the TrainingArguments.
            state: the TrainerState.
            control: not used.
            train_dataloader: the training loader [None].
            more: not used.
        """
        if not isinstance(train_dataloader, Named) or not args.should_save:
            return
        folder = os.path.join(args.output_dir, f"checkpoint-{state.global_step}")
        if not os.path.isdir(folder):  # a hyperparameter search uses other folders
            _check.warn(f"the loader's state is not saved: there is no folder {folder}; resuming counts batches instead")
            return
        path = os.path.join(folder, STATE_NAME)
        with open(path + ".tmp", "w") as file:
            json.dump(train_dataloader.state_dict(), file)
        os.replace(path + ".tmp", path)


class TrainerMixin:
    """Mixin for your own Trainer.

    Write class MyTrainer(sluice.transformers.TrainerMixin, transformers.Trainer).

    train_dataset, eval_dataset (also a dict by name) and predict's test_dataset may be
    sluice.torch.DataLoaders, opened after the TrainingArguments, with the same batch size. Trainer
    handles other datasets itself. The columns of a batch are the model's arguments, by name:
    columns={"pixel_values": ..., "labels": ...}. Batches are dicts.

    A checkpoint has the loader's state; train(resume_from_checkpoint=...) resumes after the last
    batch, without reading or decoding the earlier ones.

    Args:
        args: arguments of Trainer.
        more: keyword arguments of Trainer.

    Raises:
        ValueError: an argument does not fit the loader; the text says what to write.
        StateError: a loader has another trainer, or is evaluated while it is trained on or in
            another evaluation loop.
    """

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._prepared_loaders: Any = WeakKeyDictionary()
        self._loader_state: dict[str, Any] | None = None
        self.add_callback(LoaderCallback())  # type: ignore[attr-defined]

    def train(self, resume_from_checkpoint: Any = None, *args: Any, **more: Any) -> Any:
        """Trains, as Trainer does.

        Args:
            resume_from_checkpoint: as in Trainer.train [None].
            args: as in Trainer.train.
            more: as in Trainer.train.

        Returns:
            The TrainOutput.
        """
        self._loader_state = None if self.args.ignore_data_skip else _saved_state(resume_from_checkpoint, self.args.output_dir)  # type: ignore[attr-defined]
        with _seeks():
            return super().train(resume_from_checkpoint, *args, **more)  # type: ignore[misc]

    def get_train_dataloader(self) -> Any:
        """Returns the prepared training loader, at the checkpoint's place.

        Returns:
            The loader.
        """
        loader = self.train_dataset  # type: ignore[attr-defined]
        if not _is_loader(loader):
            return super().get_train_dataloader()  # type: ignore[misc]
        _check_arguments(self.args, loader)  # type: ignore[attr-defined]
        prepared = self._prepare_loader(loader, "train", self.args.train_batch_size)  # type: ignore[attr-defined]
        prepared._accumulation = self.args.gradient_accumulation_steps  # type: ignore[attr-defined]
        if self._loader_state is not None:
            prepared.load_state_dict(self._loader_state)
            prepared._saved, self._loader_state = self._loader_state, None
        return prepared

    def get_eval_dataloader(self, eval_dataset: Any = None) -> Any:
        """Returns a prepared loader for evaluation.

        Args:
            eval_dataset: the loader, or its name in the dict [Trainer's eval_dataset].

        Returns:
            The loader.
        """
        own = self.eval_dataset  # type: ignore[attr-defined]
        loader = own[eval_dataset] if isinstance(eval_dataset, str) else own if eval_dataset is None else eval_dataset
        if not _is_loader(loader):
            return super().get_eval_dataloader(eval_dataset)  # type: ignore[misc]
        return self._prepare_loader(loader, "eval", self.args.eval_batch_size)  # type: ignore[attr-defined]

    def get_test_dataloader(self, test_dataset: Any) -> Any:
        """Returns a prepared loader for predictions.

        Args:
            test_dataset: the loader.

        Returns:
            The loader.
        """
        if not _is_loader(test_dataset):
            return super().get_test_dataloader(test_dataset)  # type: ignore[misc]
        return self._prepare_loader(test_dataset, "eval", self.args.eval_batch_size)  # type: ignore[attr-defined]

    def _prepare_loader(self, loader, kind, batch_size):
        if loader.batch_size != batch_size:
            raise ValueError(
                f"the {kind} loader's batch_size is {loader.batch_size}, and TrainingArguments say {batch_size} for a process: "
                + _batch_size_advice(loader, kind, batch_size, max(1, getattr(self.args, "n_gpu", 1)))  # type: ignore[attr-defined]
            )
        prepared = self._prepared_loaders.get(loader)
        if prepared is None:
            prepared = self._prepared_loaders[loader] = accelerate._prepare(loader, self.accelerator, kind=Named)
        if kind == "eval":
            if prepared._is_iterated():
                raise _sluice.StateError(BUSY[prepared._loop])
            prepared.set_epoch(0)
        prepared._kind = kind
        return prepared


BUSY = {
    "train": "evaluation of the loader that is being trained on would end its epoch: open another loader for evaluation",
    "eval": "another loop of this evaluation loader is in progress, and evaluation would end it: close that loop's iterator, or open "
    "another loader",
}


def _is_loader(dataset):
    """Returns True for a loader; for other datasets, Trainer proceeds itself. Raises StateError if the
    loader belongs to another trainer.
    """
    if isinstance(dataset, _seats.Over):
        raise _seats.already(Named._made_by, dataset._made_by)
    return isinstance(dataset, Loader)


def _batch_size_advice(loader, kind, batch_size, devices):
    """Returns the text about a loader with another batch size than Trainer's. A process with several
    GPUs and no launcher takes the rows of all of them in one batch (DataParallel).
    """
    if devices == 1:
        return f"write per_device_{kind}_batch_size={loader.batch_size}"
    if loader.batch_size % devices:
        return f"this process uses {devices} GPUs: open the loader with batch_size={batch_size}, or start a process for each GPU by torchrun"
    return (
        f"this process uses {devices} GPUs: write per_device_{kind}_batch_size={loader.batch_size // devices}, or start a process for each "
        f"GPU by torchrun and write per_device_{kind}_batch_size={loader.batch_size}"
    )


def _check_arguments(args, loader):
    """Raises ValueError for arguments by which Trainer would change a dataset, and which the loader
    implements itself.
    """
    strategy = getattr(args, "train_sampling_strategy", "random")  # newer transformers have it instead of group_by_length
    if getattr(args, "group_by_length", False) or strategy == "group_by_length":
        name = "group_by_length" if hasattr(args, "group_by_length") else "train_sampling_strategy"
        raise ValueError(f"{name}={getattr(args, name)!r}: a loader groups samples itself: open it with lengths=, and leave {name} out")
    if strategy == "sequential" and not isinstance(loader.sampler, SequentialSampler):
        raise ValueError("train_sampling_strategy='sequential': open the loader with shuffle=False")
    if getattr(args, "auto_find_batch_size", False):
        raise ValueError("auto_find_batch_size=True: a loader's batch_size stays as it is: leave auto_find_batch_size out")
    if getattr(args, "dataloader_drop_last", False) and not loader.drop_last:
        raise ValueError("dataloader_drop_last=True: open the loader with drop_last=True")


def _saved_state(checkpoint, folder):
    """Returns the loader's state in a checkpoint. None: there is no checkpoint, or it has no state."""
    if checkpoint is True:
        from transformers.trainer_utils import get_last_checkpoint

        checkpoint = get_last_checkpoint(folder)
    if not checkpoint or not os.path.isfile(path := os.path.join(checkpoint, STATE_NAME)):
        return None
    with open(path) as file:
        return json.load(file)


@contextmanager
def _seeks():
    """Makes Trainer's skip_first_batches seek in loaders while it trains."""
    from transformers import trainer as module

    skip = module.skip_first_batches
    module.skip_first_batches = lambda loader, batches=0: loader._skip_to(batches) if isinstance(loader, Named) else skip(loader, batches)
    try:
        yield
    finally:
        module.skip_first_batches = skip


class Trainer(TrainerMixin, transformers.Trainer):  # type: ignore[misc]
    """transformers.Trainer with loaders instead of datasets: see TrainerMixin."""
