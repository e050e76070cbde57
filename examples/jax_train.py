#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Training with JAX on all devices of all processes: the rows of each process form global arrays.

    jax_train.py FOLDER [--epochs N] [--distributed]

FOLDER: class folders of images, or shards. --distributed: call jax.distributed.initialize() first; needed for several processes.
The number of devices must divide 64, the rows of a global batch. Prints the mean loss of each epoch.
"""
import argparse

try:
    import jax
    import jax.numpy as jnp
except ModuleNotFoundError:
    raise SystemExit("jax_train.py needs JAX: pip install jax") from None

import numpy

import sluice
import sluice.jax
from sluice import transforms as T

ROWS = 64  # of a global batch


def loss_of(params, images, labels):
    weights, bias = params
    logits = images.reshape(len(images), -1) @ weights + bias
    return -jax.nn.log_softmax(logits)[jnp.arange(len(labels)), labels].mean()


@jax.jit
def step(params, images, labels):
    loss, gradients = jax.value_and_grad(loss_of)(params, images, labels)
    return jax.tree_util.tree_map(lambda value, gradient: value - 0.1 * gradient, params, gradients), loss


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--distributed", action="store_true")
    arguments = parser.parse_args()
    if arguments.distributed:
        jax.distributed.initialize()
    loader = sluice.Loader(  # after initialize, which sets up the ranks
        arguments.folder, batch_size=ROWS // jax.process_count(), shuffle=True, drop_last=True, seed=7, num_workers=2,
        rank=jax.process_index(), world_size=jax.process_count(),
        transform=[T.RandomResizedCrop(16), T.RandomHorizontalFlip(), T.ToTensor()],
    )  # fmt: skip
    mesh = jax.sharding.Mesh(numpy.array(jax.devices()), ("data",))
    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("data"))
    batches = sluice.jax.global_batches(loader, sharding)
    classes = len(loader.dataset.classes)
    params = jnp.zeros((16 * 16 * 3, classes)), jnp.zeros(classes)
    for epoch in range(arguments.epochs):
        batches.set_epoch(epoch)
        losses = []
        for images, labels in batches:
            params, loss = step(params, images, labels)
            losses.append(loss)
        if jax.process_index() == 0:
            print(f"epoch {epoch}: loss {sum(map(float, losses)) / len(losses):.3f}")


if __name__ == "__main__":
    main()
