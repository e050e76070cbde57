#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the CPU time of an epoch over Parquet with small rows in compressed pages, in each order.

    PYTHONPATH=build/release/python bench/parquet_rows.py FOLDER [--rows 50000] [--side 32] [--page 430] [--rounds 3]

Makes FOLDER/rows-SIDE-PAGE.parquet if it does not exist: images of SIDE x SIDE pixels as PNG, PAGE of them in each
zstd-compressed page. One worker; prints the median, minimum and maximum of the rounds.
"""
import argparse
import os
import random
import resource
import statistics
import struct
import sys
import zlib

import sluice


def png(chance, side):
    """Returns noise around a colour; 2.8 kB for 32 x 32 pixels."""
    base = [chance.randrange(180) for _ in range(3)]
    rows = b"".join(b"\0" + bytes(base[i % 3] + chance.randrange(64) for i in range(3 * side)) for _ in range(side))
    chunks = [(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)) for kind, body in chunks
    )


def make(path, given):
    sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "python", "tests"))
    import parquets

    chance = random.Random(1)
    pictures = [{"bytes": png(chance, given.side), "path": f"{i}.png"} for i in range(2000)]
    columns = {
        "image": parquets.Column("image", [pictures[i % 2000] for i in range(given.rows)]),
        "label": parquets.Column("int64", [i % 10 for i in range(given.rows)], optional=False),
    }
    parquets.write(path + ".part", columns, rows_per_page=given.page, codec={"image.bytes": "ZSTD"})
    os.rename(path + ".part", path)


def epoch(loader, number):
    """Returns CPU seconds."""
    before = resource.getrusage(resource.RUSAGE_SELF)
    loader.set_epoch(number)
    for _ in loader:
        pass
    after = resource.getrusage(resource.RUSAGE_SELF)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("folder")
    words.add_argument("--rows", type=int, default=50000)
    words.add_argument("--side", type=int, default=32)
    words.add_argument("--page", type=int, default=430)
    words.add_argument("--rounds", type=int, default=3)
    given = words.parse_args()
    os.makedirs(given.folder, exist_ok=True)
    path = os.path.join(given.folder, f"rows-{given.side}-{given.page}.parquet")
    if not os.path.exists(path):
        make(path, given)
    data, side = sluice.Dataset(path), given.side
    crop = [sluice.transforms.Resize(side), sluice.transforms.CenterCrop(side)]
    for order in (False, "block", "full"):
        with sluice.Loader(data, 256, shuffle=order, num_workers=1, transform=crop) as loader:
            took = sorted(epoch(loader, number) / len(data) * 1e6 for number in range(given.rounds))
        print(f"shuffle={order!s:5} {statistics.median(took):7.1f} us of CPU per row ({took[0]:.1f} .. {took[-1]:.1f})")


main()
