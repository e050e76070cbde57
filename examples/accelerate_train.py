#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Training with Hugging Face's accelerate: gradient accumulation, metrics, and checkpoints in the middle of an epoch.

    accelerate launch accelerate_train.py FOLDER STATE [--epochs N] [--accumulate N] [--every N] [--resume]

FOLDER: class folders of images, or shards. Saves the model, the optimizer and the loader to STATE every N steps. --resume
resumes after the last saved step, without reading earlier samples.
"""
import argparse

import torch
from accelerate import Accelerator

import sluice.accelerate
import sluice.torch
from sluice import transforms as T


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("state")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--accumulate", type=int, default=3)
    parser.add_argument("--every", type=int, default=4)
    parser.add_argument("--resume", action="store_true")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    accelerator = Accelerator(gradient_accumulation_steps=arguments.accumulate)
    loader = sluice.torch.DataLoader(  # after the Accelerator, which sets up the ranks
        arguments.folder, batch_size=4, shuffle=True, seed=7, last_batch="wrap",
        transform=[T.RandomResizedCrop(32), T.RandomHorizontalFlip(), T.ToTensor()],
    )  # fmt: skip
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, stride=2), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(1800, 10))
    model, optimizer = accelerator.prepare(model, torch.optim.SGD(model.parameters(), 0.01, momentum=0.9))
    loader = sluice.accelerate.prepare(loader, accelerator)
    if arguments.resume:
        accelerator.load_state(arguments.state)
    steps = 0
    for epoch in range(loader.epoch, arguments.epochs):
        loader.set_epoch(epoch)
        hits = rows = 0
        for number, (images, labels) in enumerate(loader, 1):
            with accelerator.accumulate(model):
                outputs = model(images)
                accelerator.backward(torch.nn.functional.cross_entropy(outputs, labels % 10))
                optimizer.step()
                optimizer.zero_grad()
                steps += accelerator.sync_gradients
            right = accelerator.gather_for_metrics((outputs.argmax(1) == labels % 10).float())
            hits, rows = hits + int(right.sum()), rows + len(right)
            if number % arguments.every == 0:
                accelerator.save_state(arguments.state)
        accelerator.print(f"epoch {epoch}: {hits} of {rows} right")
    accelerator.print(f"{steps} optimizer steps")


if __name__ == "__main__":
    main()
