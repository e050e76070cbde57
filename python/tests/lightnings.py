# SPDX-License-Identifier: Apache-2.0
"""Models of Lightning's Trainer: they use a module's loader, hook by hook, as each version does. Lightning itself is not needed."""
import copy
import json


class Callback:
    def setup(self, trainer, module, stage):
        pass


class LightningDataModule:
    trainer = None


class LightningModule:
    trainer = None

    @property
    def current_epoch(self):
        return self.trainer.epoch


class Trainer:
    """Trains nothing: `steps` are the batches it took, `checkpoints` has one after each step, `ends` one after each epoch.

    version: 2.0 makes an iterator before training and one for each epoch. 2.2 makes one before training, and more for later
    epochs that do not resume; it also keeps the states of loaders, and loads them when an epoch resumes. 2.5 resumes after an
    epoch's last step with the next epoch and its current iterator; it does not call on_train_epoch_start when it resumes.
    early: the module asks for estimated_stepping_batches, so loaders are made before their states are known, and the states are
    not loaded (#20550)."""

    train_dataloader, global_rank, world_size, overfit_batches = None, 0, 1, 0

    def __init__(self, version=2.5, max_epochs=1, callbacks=(), early=False):
        self.version, self.epochs, self.epoch, self.done = version, max_epochs, 0, 0
        self.steps, self.checkpoints, self.ends = [], [], []
        self.callbacks, self.early = callbacks, early

    @property
    def current_epoch(self):
        return self.epoch

    def save(self, module, kept, epoch, done, loader):
        checkpoint = {"epoch": epoch, "done": done, "loaders": loader.state_dict()}
        if hasattr(module, "on_save_checkpoint"):
            module.on_save_checkpoint(checkpoint)
        checkpoint["callbacks"] = [callback.state_dict() for callback in self.callbacks]
        kept.append(json.loads(json.dumps(checkpoint)))

    def fit(self, module, checkpoint=None, datamodule=None):
        module.trainer, restarting = self, False
        if datamodule is not None:
            datamodule.trainer = self

        def call(name, *given):
            getattr(module, name, lambda *_: None)(*given)
            for callback in self.callbacks:
                getattr(callback, name, lambda *_: None)(self, module, *given)

        call("setup", "fit")
        if checkpoint:
            checkpoint = copy.deepcopy(checkpoint)
            call("on_load_checkpoint", checkpoint)
            for callback, state in zip(self.callbacks, checkpoint["callbacks"]):
                callback.load_state_dict(state)
            self.epoch, self.done, restarting = checkpoint["epoch"], checkpoint["done"], checkpoint["done"] > 0
        loader = self.train_dataloader = (datamodule or module).train_dataloader()
        if restarting and self.version >= 2.2 and not self.early:
            loader.load_state_dict(checkpoint["loaders"])
        iterator = iter(loader)
        if restarting and self.version >= 2.5 and self.done == len(loader):
            self.epoch, self.done = self.epoch + 1, 0
        call("on_train_start")
        while self.epoch < self.epochs:
            if not restarting or self.version < 2.5:
                call("on_train_epoch_start")
            if self.version < 2.2 or (self.epoch > 0 and not restarting):
                iterator = iter(loader)
            while self.done < len(loader):
                try:
                    batch = next(iterator)
                except StopIteration:
                    break
                self.done += 1
                if callable(getattr(batch, "to", None)):  # moves a batch to a GPU as Lightning does
                    assert type(batch.to("meta")) is type(batch) and batch.to("meta")[0].device.type == "meta"
                else:
                    assert isinstance(batch, (tuple, list))
                self.steps.append([tensor.clone() for tensor in batch])
                self.save(module, self.checkpoints, self.epoch, self.done, loader)
            self.save(module, self.ends, self.epoch + 1, 0, loader)
            self.epoch, self.done, restarting = self.epoch + 1, 0, False
