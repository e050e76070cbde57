#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Training and validation with sluice.timm.create_loader, structured like timm's train.py.

    timm_train.py TRAIN VALIDATION [--model NAME] [--size N] [--epochs N]

TRAIN, VALIDATION: class folders of images, or shards. NAME: a timm model; "small" [default] has a few convolutions and
needs no timm. Prints the top-1 accuracy after each epoch.
"""
import argparse

import torch

from sluice.timm import create_loader


def model_of(name, classes):
    if name != "small":
        import timm

        return timm.create_model(name, num_classes=classes)
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 16, 3, stride=2), torch.nn.ReLU(), torch.nn.Conv2d(16, 32, 3, stride=2), torch.nn.ReLU(),
        torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(32, classes),
    )  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("train")
    parser.add_argument("validation")
    parser.add_argument("--model", default="small")
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=3)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    size = (3, arguments.size, arguments.size)
    train = create_loader(
        arguments.train, size, batch_size=8, is_training=True, auto_augment="rand-m9-mstd0.5-inc1", re_prob=0.25, re_mode="pixel",
        num_workers=2, device=device, seed=1,
    )  # fmt: skip
    validation = create_loader(arguments.validation, size, batch_size=8, num_workers=2, device=device)
    model = model_of(arguments.model, len(train.dataset.classes)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    for epoch in range(arguments.epochs):
        train.sampler.set_epoch(epoch)
        model.train()
        for images, labels in train:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(images), labels).backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            right = sum(int((model(images).argmax(1) == labels).sum()) for images, labels in validation)
        print(f"epoch {epoch}: {right} of {len(validation.dataset)} right")


if __name__ == "__main__":
    main()
