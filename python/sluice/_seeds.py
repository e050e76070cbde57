# SPDX-License-Identifier: Apache-2.0
"""The seed of a loader: given, derived, or from a state."""
from __future__ import annotations

import os

from . import _check

IGNORED = {
    "generator": "its initial_seed() is the loader's seed, and nothing is drawn from it",
    "worker_init_fn": "it is never called, since there are no worker processes; seed= decides all random draws",
}
said = set()  # arguments that this process has warned about


def note(name):
    """Warns once per process about an argument that has less effect than in torch's DataLoader."""
    if name not in said:
        said.add(name)
        _check.warn(f"{name}=: {IGNORED[name]}")


def choose(given, derive, world_size):
    """Returns (seed, True if it is derived) for a loader's arguments. derive: a function that makes a
    seed for seed=None.
    """
    if given["worker_init_fn"] is not None:
        _check.function("worker_init_fn", given["worker_init_fn"])
        note("worker_init_fn")
    if given["generator"] is not None:
        return _of_generator(given["generator"], given["seed"]), True
    if given["seed"] is not None:
        return given["seed"], False
    if world_size > 1 or given["model_parallel"] != 1:
        raise ValueError(
            "seed=None: every rank would draw its own seed, and ranks need the same order: "
            "give all of them the same number"
        )
    return derive(), True


def random():
    """Returns a seed from the operating system."""
    return int.from_bytes(os.urandom(8), "little") >> 1


def _of_generator(generator, seed):
    if not hasattr(generator, "initial_seed"):
        raise _check.wrong("generator", generator, "a torch.Generator")
    if seed:
        raise TypeError(f"generator= and seed={seed!r} both give the seed: give one")
    note("generator")
    return generator.initial_seed()


def of_state(state, seed, is_derived):
    """Returns the seed with which a loader resumes from a state: the state's, if both are derived.
    Raises ValueError if they differ.
    """
    if "seed" not in state:
        return seed
    found = state["seed"]
    if isinstance(found, bool) or not isinstance(found, int) or not 0 <= found < 1 << 64:
        raise ValueError(f"the state is damaged: its seed is {found!r:.80}")
    if not is_derived and found != seed:
        raise ValueError(
            f"the state is of a loader with seed {found}, and this one has {seed}: open it with seed={found} or seed=None"
        )
    return found
