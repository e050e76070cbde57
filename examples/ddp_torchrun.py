#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Data-parallel training: the ranks share each epoch exactly, even if their number changes in mid-epoch.

    torchrun --nproc_per_node 2 ddp_torchrun.py FOLDER [--checkpoint FILE] [--epochs N] [--save-at STEP] [--stop]
    torchrun --nproc_per_node 3 ddp_torchrun.py FOLDER --checkpoint FILE --resume
    mpirun -n 2 python3 ddp_torchrun.py FOLDER           (or srun; on several machines MASTER_ADDR is the first)

FOLDER: class folders of images, or shards. Uses DistributedDataParallel: with NCCL if each process of the machine
has a GPU of its own, else on the CPU with gloo. The loader finds its rank. In the last epoch, after step STEP [half
of the epoch], rank 0 saves model, optimizer and loader; with --stop, all ranks end there. --resume resumes from that
state with any number of processes, and saves again only with --save-at (counting its own steps). Fails if the ranks'
steps, states or weights differ, or if the ranks together, also across a checkpoint, did not read each sample of an
epoch once.
"""
import argparse
import hashlib
import os

import torch
from torch import distributed, nn

import sluice.torch
from sluice import transforms as T


def device_of(where):
    """Returns this process's GPU if there is one for each process of the machine, else the CPU."""
    local_rank = where.rank if where.local_rank is None else where.local_rank
    if torch.cuda.device_count() < (where.local_size or where.world_size):
        return torch.device("cpu")
    torch.cuda.set_device(local_rank)
    return torch.device("cuda", local_rank)


def gather(value):
    """Returns the values of all ranks, on every rank."""
    values = [None] * distributed.get_world_size()
    distributed.all_gather_object(values, value)
    return values


def gather_same(what, value):
    """Raises if the values differ, on every rank, so that none waits for another."""
    values = gather(value)
    if any(other != values[0] for other in values):
        raise SystemExit(f"{what} differ between ranks: {values}")
    return values[0]


def train_step(model, optimizer, batch):
    """Returns the loss to minimize. DistributedDataParallel averages over ranks, so this scales it to a mean over all rows."""
    rows = batch["mask"].sum()
    distributed.all_reduce(rows)
    # Rows added to the last batch have mask 0 and label -100, which cross_entropy ignores.
    loss = nn.functional.cross_entropy(model(batch["image"]), batch["label"], reduction="sum")
    optimizer.zero_grad()
    (loss * distributed.get_world_size() / rows).backward()
    optimizer.step()


def save(path, model, optimizer, loader, seen):
    state = gather_same("states", loader.state_dict())
    seen = sum(gather(seen), [])
    if distributed.get_rank() == 0:
        made = {"model": model.module.state_dict(), "optimizer": optimizer.state_dict(), "loader": state, "seen": seen}
        torch.save(made, path + ".tmp")
        os.replace(path + ".tmp", path)


def train(arguments, device, say):
    torch.manual_seed(0)
    loader = sluice.torch.DataLoader(
        arguments.folder, batch_size=4, shuffle=True, last_batch="pad", seed=7, num_workers=1, device=device,
        transform=T.Compose([T.RandomResizedCrop(32), T.RandomHorizontalFlip(), T.ToTensor()]),
    )  # fmt: skip
    classes, count = len(loader.dataset.classes), len(loader.dataset)
    model = nn.Sequential(nn.Conv2d(3, 8, 3, 2), nn.ReLU(), nn.AvgPool2d(3), nn.Flatten(), nn.Linear(200, classes))
    model = nn.parallel.DistributedDataParallel(model.to(device))
    optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)
    seen = []  # numbers of this rank's samples in this epoch, for the check
    if arguments.resume:
        state = torch.load(arguments.checkpoint, map_location=device)
        model.module.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        loader.load_state_dict(state["loader"])
        seen = state["seen"] if distributed.get_rank() == 0 else []
        say(f"resuming in epoch {loader.epoch} after {len(state['seen'])} of {count} samples")
    say(f"ranks: {gather((loader.rank, loader.world_size))}")
    save_at = arguments.save_at or (0 if arguments.resume else len(loader) // 2)
    for epoch in range(loader.epoch, arguments.epochs):
        loader.set_epoch(epoch)
        steps = 0
        for batch in loader:
            train_step(model, optimizer, batch)
            steps += 1
            seen += batch["index"][batch["mask"].bool()].tolist()
            if arguments.checkpoint and (epoch, steps) == (arguments.epochs - 1, save_at):
                save(arguments.checkpoint, model, optimizer, loader, seen)
                say(f"epoch {epoch}: saved after step {steps}")
                if arguments.stop:
                    return
        gather_same("steps", steps)
        seen = sorted(sum(gather(seen), []))
        if seen != list(range(count)):
            raise SystemExit(f"epoch {epoch}: {len(seen)} samples, {len(set(seen))} different ones, of {count}")
        say(f"epoch {epoch}: {steps} steps on each rank, each of {count} samples once")
        seen = []
    weights = b"".join(weight.detach().cpu().numpy().tobytes() for weight in model.parameters())
    say(f"weights on all ranks: {gather_same('weights', hashlib.sha256(weights).hexdigest()[:16])}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--checkpoint")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--save-at", type=int)
    parser.add_argument("--stop", action="store_true")
    parser.add_argument("--resume", action="store_true")
    arguments = parser.parse_args()
    if (arguments.stop or arguments.resume) and arguments.checkpoint is None:
        parser.error("--stop and --resume need --checkpoint")
    torch.set_num_threads(1)
    torch.backends.cudnn.deterministic = True  # a resumed run ends with the same weights
    where = sluice.ranks()  # from torchrun, or from another launcher that does not set up torch
    found = {"RANK": where.rank, "WORLD_SIZE": where.world_size, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": 29501}
    for name, value in found.items():
        os.environ.setdefault(name, str(value))
    device = device_of(where)
    distributed.init_process_group("nccl" if device.type == "cuda" else "gloo")
    train(arguments, device, print if distributed.get_rank() == 0 else lambda text: None)
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
