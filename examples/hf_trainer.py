#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Training with Hugging Face's Trainer, which resumes without rereading samples.

    hf_trainer.py FOLDER OUTPUT [--epochs N] [--resume]

FOLDER: class folders of images, or shards. OUTPUT: folder for checkpoints; --resume resumes from the last one.
"""
import argparse

import torch
from transformers import TrainingArguments

import sluice.torch
from sluice import columns as C, transforms as T
from sluice.transformers import Trainer

BATCH = 4


class Classifier(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, stride=2), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(1800, 10))

    def forward(self, pixel_values, labels):  # the columns' names
        logits = self.net(pixel_values)
        return {"loss": torch.nn.functional.cross_entropy(logits, labels % 10), "logits": logits}


def open_loader(folder, batch_size, steps, **options):
    columns = {"pixel_values": C.Image("image", transform=steps, dtype="float32"), "labels": C.Number("label")}
    return sluice.torch.DataLoader(folder, batch_size=batch_size, last_batch="wrap", columns=columns, **options)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("output")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--resume", action="store_true")
    given = parser.parse_args()
    arguments = TrainingArguments(
        given.output, per_device_train_batch_size=BATCH, per_device_eval_batch_size=BATCH, num_train_epochs=given.epochs,
        gradient_accumulation_steps=2, save_steps=2, report_to=[],
    )  # fmt: skip
    # After the TrainingArguments, which know the ranks and, in train_batch_size, the GPUs of this process.
    steps = [T.RandomResizedCrop(32), T.RandomHorizontalFlip()]
    train = open_loader(given.folder, arguments.train_batch_size, steps, shuffle=True, seed=7)
    val = open_loader(given.folder, arguments.eval_batch_size, [T.Resize(36), T.CenterCrop(32)])
    trainer = Trainer(Classifier(), arguments, train_dataset=train, eval_dataset=val)
    trainer.train(resume_from_checkpoint=given.resume or None)
    return trainer


if __name__ == "__main__":
    trainer = main()
