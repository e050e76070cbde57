# SPDX-License-Identifier: Apache-2.0
"""Modules transformers, transformers.trainer and .trainer_utils, which use their loaders as Hugging Face's Trainer does
(4.57; resume_rounds_down: 4.47 to 4.51; skips_first: 5.0 and 5.1). transformers itself is not needed."""
import json
import os
import types

import accelerates
import torch


class TrainerCallback:
    pass


class TrainingArguments(types.SimpleNamespace):
    gpus = 1  # of this process: several without a launcher, for DataParallel

    def __init__(self, output_dir, per_device_train_batch_size=8, per_device_eval_batch_size=8, num_train_epochs=3, **more):
        defaults = {"gradient_accumulation_steps": 1, "save_steps": 1, "ignore_data_skip": False, "should_save": True}
        super().__init__(output_dir=str(output_dir), num_train_epochs=num_train_epochs, **defaults | more)
        self.n_gpu = more.get("n_gpu", self.gpus)
        devices = max(1, self.n_gpu)
        self.train_batch_size, self.eval_batch_size = per_device_train_batch_size * devices, per_device_eval_batch_size * devices


def get_last_checkpoint(folder):
    numbers = [int(name.split("-")[1]) for name in os.listdir(folder) if name.startswith("checkpoint-")]
    return os.path.join(folder, f"checkpoint-{max(numbers)}") if numbers else None


def skip_first_batches(loader, batches):
    raise AssertionError("accelerate would make a torch DataLoader of this one")


class Trainer:
    """Trains nothing: `steps` holds the list of batches of each optimizer step."""

    resume_rounds_down = False  # resuming ignores the shorter step at the end of an epoch
    skips_first = False  # skip_first_batches is called before set_epoch

    def __init__(self, model=None, args=None, train_dataset=None, eval_dataset=None, stop=None):
        self.model, self.args, self.train_dataset, self.eval_dataset, self.stop = model, args, train_dataset, eval_dataset, stop
        assert train_dataset is None or len(train_dataset) > 0
        self.accelerator = accelerates.Accelerator(args.gradient_accumulation_steps)
        self.callbacks, self.steps, self.state = [], [], types.SimpleNamespace(global_step=0)

    def add_callback(self, callback):
        self.callbacks.append(callback)

    def get_train_dataloader(self):
        return "Trainer's own"

    get_eval_dataloader = get_test_dataloader = lambda self, dataset=None: "Trainer's own"

    def train(self, resume_from_checkpoint=None):
        args, loader = self.args, self.get_train_dataloader()
        accumulation, length = args.gradient_accumulation_steps, len(loader)
        updates = -(-length // accumulation)
        epochs_trained = skipped = 0
        if resume_from_checkpoint:
            if resume_from_checkpoint is True:
                resume_from_checkpoint = get_last_checkpoint(args.output_dir)
            with open(os.path.join(resume_from_checkpoint, "trainer_state.json")) as file:
                self.state.global_step = json.load(file)["global_step"]
            epochs_trained, skipped = divmod(self.state.global_step, max(1, length // accumulation) if self.resume_rounds_down else updates)
            skipped = 0 if args.ignore_data_skip else skipped * accumulation
        for epoch in range(epochs_trained, args.num_train_epochs):
            batches, step = loader, skipped
            if hasattr(batches, "set_epoch") and not self.skips_first:
                batches.set_epoch(epoch)
            if skipped > 0:
                batches, skipped = skip_first_batches(batches, skipped), 0
            if hasattr(batches, "set_epoch") and self.skips_first:
                batches.set_epoch(epoch)
            iterator = iter(batches)
            for update in range(updates):
                count = accumulation if update != updates - 1 else length % accumulation or accumulation
                taken = [inputs for _, inputs in zip(range(count), iterator)]
                group = []
                for inputs in taken:
                    step += 1
                    assert isinstance(inputs, dict) and inputs.get("labels") is not None
                    group.append(inputs["labels"].tolist())
                    if step % accumulation == 0 or step == length:
                        self.steps.append(group)
                        self.state.global_step, group = self.state.global_step + 1, []
                        self._save(loader)
                        if self.state.global_step == self.stop:
                            return

    def _save(self, loader):
        if self.state.global_step % self.args.save_steps == 0:
            folder = os.path.join(self.args.output_dir, f"checkpoint-{self.state.global_step}")
            os.makedirs(folder)
            with open(os.path.join(folder, "trainer_state.json"), "w") as file:
                json.dump({"global_step": self.state.global_step}, file)
            for callback in self.callbacks:
                callback.on_save(self.args, self.state, None, train_dataloader=loader, model=self.model)

    def evaluate(self, eval_dataset=None):
        """Returns the gathered labels."""
        loader, labels = self.get_eval_dataloader(eval_dataset), []
        for inputs in loader:
            inputs.pop("x")  # as label smoothing does with labels
            labels.append(self.accelerator.gather_for_metrics(inputs["labels"]))
        return torch.cat(labels).tolist()
