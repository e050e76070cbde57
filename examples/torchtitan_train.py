#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""torchtitan 0.2 on a file of tokens: llama3 with a sluice loader, whose state the checkpoints contain.

    torchrun --nproc_per_node N torchtitan_train.py --model.name llama3_tokens --training.dataset_path FILE [options of torchtitan]

FILE: consecutive tokens as 16-bit unsigned numbers, like nanoGPT's *.bin. It is read in random order as samples of
--training.seq_len tokens; labels are the same tokens, shifted by one.
"""
import dataclasses
import os

try:
    from torchtitan.protocols.train_spec import get_train_spec, register_train_spec
    from torchtitan.train import Trainer, main
except ModuleNotFoundError as error:
    if error.name.partition(".")[0] != "torchtitan":
        raise
    raise SystemExit("torchtitan_train.py needs torchtitan: pip install torchtitan") from None

import sluice
import sluice.torch
import sluice.torchtitan
from sluice import columns as C


def build_dataloader(dp_world_size, dp_rank, job_config, **_):
    """Returns the loader; torchtitan calls this once its ranks are known."""
    training = job_config.training
    tokens = sluice.Dataset(training.dataset_path, flat=("uint16", (os.path.getsize(training.dataset_path) // 2,)))
    length = training.seq_len
    loader = sluice.torch.DataLoader(
        tokens, batch_size=training.local_batch_size, shuffle=True, drop_last=True, seed=7, rank=dp_rank, world_size=dp_world_size,
        columns={
            "input": C.Window("tensor", length=length, dtype="int64"),
            "target": C.Window("tensor", length=length, dtype="int64", offset=1),
        },
    )  # fmt: skip
    return sluice.torchtitan.dataloader(loader, {"input": "input"}, "target", dp_rank=dp_rank, dp_world_size=dp_world_size)


if __name__ == "__main__":
    spec = get_train_spec("llama3")
    register_train_spec("llama3_tokens", dataclasses.replace(spec, build_dataloader_fn=build_dataloader, build_validator_fn=None))
    main(Trainer)
