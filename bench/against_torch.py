#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""against_torch.py PHOTOS PACKED [SECONDS [RUNS]]: compares sluice.torch with torch's DataLoader and torchvision.

RandomResizedCrop 224, flip, normalised, float32 NCHW, batches of 64, two workers, on the CPU. PHOTOS is an
image folder, PACKED the same in shards. The loaders alternate, RUNS times [3] for SECONDS [5], each in a
separate process, after one epoch that is not counted. Prints medians: images/s; CPU ms per image of the process
and its workers; ms from the interpreter's start to the first batch; and the peak RSS of all processes in MiB.
Needs the sluice package in PYTHONPATH, and torchvision.
"""
import json
import os
import statistics
import subprocess
import sys
import time

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
BATCH, WORKERS = 64, 2


def torch_loader(path):
    import torch
    from torchvision import datasets, transforms as V

    steps = V.Compose([V.RandomResizedCrop(224), V.RandomHorizontalFlip(), V.ToTensor(), V.Normalize(MEAN, STD)])
    return torch.utils.data.DataLoader(
        datasets.ImageFolder(path, steps), BATCH, shuffle=True, num_workers=WORKERS, drop_last=True,
        persistent_workers=True,
    )  # fmt: skip


def sluice_loader(path):
    import sluice.torch
    from sluice import transforms as T

    return sluice.torch.DataLoader(
        path, batch_size=BATCH, shuffle=True, num_workers=WORKERS, drop_last=True,
        transform=T.Compose([T.RandomResizedCrop(224), T.RandomHorizontalFlip(), T.ToTensor(), T.Normalize(MEAN, STD)]),
    )  # fmt: skip


def children():
    with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as file:
        return [int(child) for child in file.read().split()]


def cpu_seconds():
    ticks = 0
    for process in [os.getpid(), *children()]:
        with open(f"/proc/{process}/stat", encoding="ascii") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def peak_mib():
    total = 0
    for process in [os.getpid(), *children()]:
        with open(f"/proc/{process}/status", encoding="ascii") as file:
            total += next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))
    return total / 1024


def measure(kind, path, seconds, started):
    loader = (torch_loader if kind == "torch" else sluice_loader)(path)
    iterator = iter(loader)
    next(iterator)
    first = time.time() - started
    for _ in iterator:
        pass
    cpu, start, images = cpu_seconds(), time.perf_counter(), 0
    while time.perf_counter() < start + seconds:
        for pictures, labels in loader:
            images += len(labels)
    elapsed = time.perf_counter() - start
    print(json.dumps([images / elapsed, (cpu_seconds() - cpu) / images * 1e3, first * 1e3, peak_mib()]))


def main():
    if sys.argv[1] == "--one":
        measure(sys.argv[2], sys.argv[3], float(sys.argv[4]), float(sys.argv[5]))
        return
    photos, packed = sys.argv[1:3]
    seconds = sys.argv[3] if len(sys.argv) > 3 else "5"
    runs = int(sys.argv[4]) if len(sys.argv) > 4 else 3
    cases = {"torch, folder": ("torch", photos), "sluice, folder": ("sluice", photos), "sluice, shards": ("sluice", packed)}
    found = {name: [] for name in cases}
    for _ in range(runs):
        for name, case in cases.items():
            command = [sys.executable, __file__, "--one", *case, seconds, str(time.time())]
            found[name].append(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
    shown = {name: [statistics.median(row[i] for row in rows) for i in range(4)] for name, rows in found.items()}
    print(f"{'':16} {'images/s':>9} {'CPU ms':>8} {'first ms':>9} {'RSS MiB':>8}")
    for name, row in shown.items():
        print(f"{name:16} " + " ".join(f"{value:{width}}" for value, width in zip(row, ("9.0f", "8.3f", "9.0f", "8.0f"))))
    theirs, folder, shards = (shown[name][1] for name in cases)
    print(f"CPU time per image: torch needs {theirs / folder:.1f} times as much as sluice on the folder, {theirs / shards:.1f} times as much as on shards")


if __name__ == "__main__":
    main()
