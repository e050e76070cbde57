#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Training with Lightning, which resumes exactly after the batch of a checkpoint.

    lightning_train.py FOLDER [--epochs N] [--checkpoint FILE]

FOLDER: class folders of images, or shards. --checkpoint resumes from a checkpoint that Lightning saved, also in the
middle of an epoch, without reading earlier samples.
"""
import argparse

import lightning
import torch

import sluice.lightning
import sluice.torch
from sluice import transforms as T


class Classifier(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, stride=2), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(1800, 10))

    def training_step(self, batch, number):
        images, labels = batch
        return torch.nn.functional.cross_entropy(self.net(images), labels % 10)

    def validation_step(self, batch, number):
        images, labels = batch
        self.log("right", (self.net(images).argmax(1) == labels % 10).float().mean())

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.01, momentum=0.9)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--checkpoint")
    arguments = parser.parse_args()

    def open_train():  # called by Lightning once the ranks are known
        return sluice.torch.DataLoader(
            arguments.folder, batch_size=4, shuffle=True, drop_last=True, seed=7,
            transform=[T.RandomResizedCrop(32), T.RandomHorizontalFlip(), T.ToTensor()],
        )  # fmt: skip

    def open_val():
        return sluice.torch.DataLoader(arguments.folder, batch_size=4, transform=[T.Resize(36), T.CenterCrop(32), T.ToTensor()])

    trainer = lightning.Trainer(max_epochs=arguments.epochs, callbacks=[sluice.lightning.LoaderState()])
    resume = {"ckpt_path": arguments.checkpoint} if arguments.checkpoint else {}
    trainer.fit(Classifier(), datamodule=sluice.lightning.DataModule(train=open_train, val=open_val), **resume)
    return trainer


if __name__ == "__main__":
    trainer = main()
