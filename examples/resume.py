#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Training that is killed and resumes, with the same batches and weights as an uninterrupted run.

    resume.py FOLDER CHECKPOINT [--epochs N] [--every N] [--die-at STEP]

FOLDER: class folders of images, or shards. Saves model, optimizer and loader every N steps; when started
again, it resumes from the last checkpoint. --die-at kills the process at that step, like a failing machine.
Prints a checksum of the weights at the end, which is the same regardless of the number of kills.
"""
import argparse
import hashlib
import os
import signal

import torch

import sluice.torch
from sluice import transforms as T


def save(path, model, optimizer, loader, step):
    """Saves under a temporary name first, so a checkpoint is complete or does not exist."""
    torch.save(
        {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "loader": loader.state_dict(), "step": step},
        path + ".tmp",
    )
    os.replace(path + ".tmp", path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("checkpoint")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--every", type=int, default=2)
    parser.add_argument("--die-at", type=int)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    loader = sluice.torch.DataLoader(
        arguments.folder, batch_size=4, shuffle=True, seed=7,
        transform=T.Compose([T.RandomResizedCrop(32), T.RandomHorizontalFlip(), T.ToTensor()]),
    )  # fmt: skip
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, stride=2), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.LazyLinear(10))
    model(torch.zeros(1, 3, 32, 32))
    optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)
    step = 0
    if os.path.exists(arguments.checkpoint):
        state = torch.load(arguments.checkpoint)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        loader.load_state_dict(state["loader"])
        step = state["step"]
        print(f"resuming at step {step}, epoch {loader.epoch}, {loader.remaining} batches left")
    for epoch in range(loader.epoch, arguments.epochs):
        loader.set_epoch(epoch)
        for images, labels in loader:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(images), labels % 10).backward()
            optimizer.step()
            step += 1
            if step == arguments.die_at:
                os.kill(os.getpid(), signal.SIGKILL)
            if step % arguments.every == 0:
                save(arguments.checkpoint, model, optimizer, loader, step)
    weights = b"".join(weight.detach().numpy().tobytes() for weight in model.parameters())
    print(f"{step} steps, weights {hashlib.sha256(weights).hexdigest()[:16]}")


if __name__ == "__main__":
    main()
