#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a byte-level language model on windows of a long file of tokens.

    tokens.py [FILE] [--steps N]

FILE: any text [this program, repeated]. Its bytes become 16-bit tokens in one file, which is never copied or
cut: a batch has random windows of it, and targets are the same windows shifted by one token. Prints the loss,
which falls, and the tokens per second of the loader.
"""
import argparse
import pathlib
import tempfile
import time

import numpy
import torch

import sluice.torch
from sluice import columns as C

LENGTH, BATCH = 32, 32


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="?")
    parser.add_argument("--steps", type=int, default=300)
    arguments = parser.parse_args()
    text = pathlib.Path(arguments.file or __file__).read_bytes()
    text *= 1 + 500_000 // len(text)
    torch.manual_seed(0)
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "tokens.bin"
        numpy.frombuffer(text, numpy.uint8).astype(numpy.uint16).tofile(path)
        data = sluice.Dataset(path, flat=("uint16", (len(text),)))
        loader = sluice.torch.DataLoader(
            data, batch_size=BATCH, shuffle=True, drop_last=True,
            columns={
                "input": C.Window("tensor", length=LENGTH, stride=LENGTH // 2, dtype="int64"),
                "target": C.Window("tensor", length=LENGTH, stride=LENGTH // 2, offset=1, dtype="int64"),
            },
        )  # fmt: skip
        embedding, recurrent, head = torch.nn.Embedding(256, 32), torch.nn.GRU(32, 64, batch_first=True), torch.nn.Linear(64, 256)
        optimizer = torch.optim.Adam([*embedding.parameters(), *recurrent.parameters(), *head.parameters()], 1e-2)
        losses, step = [], 0
        while step < arguments.steps:
            for inputs, targets in loader:
                scores = head(recurrent(embedding(inputs))[0])
                loss = torch.nn.functional.cross_entropy(scores.flatten(0, 1), targets.flatten())
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(float(loss))
                step += 1
                if step % 100 == 0 or step == 1:
                    print(f"step {step}: {losses[-1]:.2f} nats per token", flush=True)
                if step == arguments.steps:
                    break
        start, tokens = time.perf_counter(), 0
        for inputs, targets in loader:
            tokens += inputs.numel()
        print(f"the loader alone: {tokens / (time.perf_counter() - start) / 1e6:.0f} million tokens/s")
    return 0 if losses[-1] < losses[0] / 2 else "the loss did not fall"


if __name__ == "__main__":
    raise SystemExit(main())
