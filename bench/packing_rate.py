#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""packing_rate.py FOLDER [DOCUMENTS]: measures packed rows, windows, and a numpy loop over a memmap.

Writes a Megatron-LM file of DOCUMENTS [60000], lognormal (5.9, 1.2), uint16, into the empty FOLDER, and reads it from memory: one
worker, int64, batches of 131,072 tokens, shuffled. Prints M tokens per second of the process's CPU time, without the first epoch. Needs
numpy, and the sluice package in PYTHONPATH.
"""
import pathlib
import struct
import sys
import time

import numpy

import sluice
from sluice import columns as C

BATCH = 131072


def write(folder, documents):
    chance = numpy.random.default_rng(1)
    lengths = numpy.maximum(1, chance.lognormal(5.9, 1.2, documents).astype("int32"))
    places = numpy.concatenate([[0], numpy.cumsum(lengths[:-1], dtype="int64") * 2])
    with open(folder / "t.idx", "wb") as file:
        file.write(b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, 8, documents, documents + 1))
        for table in (lengths, places, numpy.arange(documents + 1)):
            table.tofile(file)
    chance.integers(0, 50000, int(lengths.sum()), dtype="uint16").tofile(folder / "t.bin")
    return folder / "t.bin"


def of_loader(path, length, column):
    rows = BATCH // length
    loader = sluice.Loader(sluice.Dataset(path), batch_size=rows, shuffle=True, last_batch="drop", num_workers=1, columns={"tokens": column})
    for _ in loader:
        pass
    start = time.process_time()
    loader.set_epoch(1)
    batches = sum(1 for _ in loader)
    return batches * BATCH / (time.process_time() - start)


def of_numpy(path, length):
    stream, rows = numpy.memmap(path, "uint16", "r"), BATCH // length
    order = numpy.random.default_rng(0).permutation((len(stream) - 1) // length)
    start, tokens = time.process_time(), 0
    for at in range(0, len(order) - rows + 1, rows):
        for shift in (0, 1):  # tokens and targets
            made = numpy.stack([stream[i * length + shift : (i + 1) * length + shift].astype("int64") for i in order[at : at + rows]])
        tokens += made.size
    return tokens / (time.process_time() - start)


def main():
    path = write(pathlib.Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 60000)
    for length, most in ((2048, 32), (8192, 128), (131072, 1024)):
        packed = of_loader(path, length, C.Packed(length=length, cut="long", max_documents=most))
        print(f"rows of {length}: packed {packed / 1e6:.0f}, numpy {of_numpy(path, length) / 1e6:.0f} M tokens/s")
    print(f"windows of 2048: {of_loader(path, 2048, C.Window(length=2048, dtype='int64')) / 1e6:.0f} M tokens/s")


if __name__ == "__main__":
    main()
