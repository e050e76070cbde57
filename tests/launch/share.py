# SPDX-License-Identifier: Apache-2.0
"""share.py PHOTOS OUT [--state FILE] [--steps N] [--save-at N] [--die]: one rank's share of an epoch.

A launcher starts it once per rank; only the loader knows the rank. Appends a line to OUT/RANK for each step: its number,
samples, a checksum of the batch, and the state after it. Resumes from FILE if it exists; rank 0 saves it after step N. With
--die, the last rank kills itself in the step after that, unless FILE existed.
"""
import argparse
import hashlib
import json
import os
import pathlib
import signal
import time

import sluice
from sluice import transforms as T


def wait_for_all(given, world_size):
    """Training would keep ranks in step; here some may be behind or not yet started."""
    files = [given.out / f"{rank}.{world_size}" for rank in range(world_size)]
    while not all(path.exists() and path.read_text().count("\n") >= given.save_at for path in files):
        time.sleep(0.02)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("photos")
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--state", type=pathlib.Path)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--save-at", type=int)
    parser.add_argument("--die", action="store_true")
    given = parser.parse_args()
    loader = sluice.Loader(
        given.photos, batch_size=2, shuffle=True, seed=3, num_workers=1, last_batch="pad",
        transform=T.RandomResizedCrop(32),
    )  # fmt: skip
    resumed = given.state is not None and given.state.exists()
    if resumed:
        loader.load_state_dict(json.loads(given.state.read_text()))
    last = loader.rank == loader.world_size - 1
    with open(given.out / f"{loader.rank}.{loader.world_size}", "a") as lines:
        for taken, batch in enumerate(loader, 1):
            samples = [i for i, mask in zip(batch["index"].tolist(), batch["mask"].tolist()) if mask]
            seen = hashlib.sha256(batch["image"].numpy().tobytes()).hexdigest()[:16]
            state = loader.state_dict()
            print(json.dumps([batch.index, samples, seen, state]), file=lines, flush=True)
            if given.save_at == taken and loader.rank == 0 and not resumed:  # otherwise others may still read it
                wait_for_all(given, loader.world_size)
                part = given.out / "state.part"
                part.write_text(json.dumps(state))
                part.replace(given.out / "state")
            if given.die and last and not resumed and taken == given.save_at + 1:
                while not given.state.exists():
                    time.sleep(0.02)
                os.kill(os.getpid(), signal.SIGKILL)
            if taken == given.steps:
                break


main()
