# SPDX-License-Identifier: Apache-2.0
"""Checks a loader's arguments and turns them into the library's options. No function here has state."""
from __future__ import annotations

from array import array

from . import _buckets, _check
from ._names import EXIFS, values
from ._ranks import ranks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ._types import Columns, Dtype, Source, Steps
    from .dataset import Dataset

WORDS = {"shuffle": {True: 0, False: 2}, "exif": EXIFS}  # besides the library's words
HOLDS = {"copy": 1, "wait": 0}
LEAST_SLOTS = 3  # with hold="copy": the batch in use, the previous one, which a loop still holds, and one being made

# Rejected arguments of DataLoader, and their replacements.
INSTEAD = {
    "sampler": "shuffle=, rank= and world_size= decide the order; dataset.subset(indices) or dataset[a:b] takes some samples, "
    "weights= draws by weight (sluice.torch.DataLoader takes a WeightedRandomSampler), repeats= is DeiT's RASampler",
    "batch_sampler": "batch_size=, shuffle=, rank= and world_size= decide the order",
    "collate_fn": "columns= defines the contents of a batch, and the result of batch_hook= replaces the batch",
}

# Names that the library and other loaders use for arguments.
HINTS = {
    "weight_field": "weights= also takes the name of a field",
    "weighted_samples": "use num_samples=",
    "length_field": "lengths= also takes the name of a field",
    "group_by_length": "use lengths=, an array or the name of a field",
    "num_repeats": "use repeats=",
    "replacement": "weights= always draws with replacement",
    "backend": "use io=, or io={'backend': ...}",
}

# Arguments that may be given together in a dict: {name in the dict: name of the argument}.
GROUPS = {
    "order": {name: name for name in (
        "partners", "classes", "buckets", "sizes", "episode", "episodes", "weights", "num_samples", "lengths", "length_groups",
        "repeats", "level", "block_samples", "window_blocks", "window_bytes",
    )},
    "limits": {name: name for name in (
        "read_buffer_bytes", "max_sample_bytes", "max_pixels", "memory_bytes", "resident_bytes", "stall_warn", "stall_fail",
    )},
    "io": {"backend": "io"} | {name: name for name in ("page_cache", "io_depth", "io_threads", "whole_samples", "any_numa_node")},
}  # fmt: skip


def refuse(arguments):
    for name, instead in INSTEAD.items():
        if arguments[name] is not None:
            raise TypeError(f"{name}= is not supported: {instead}")


def integer(name, value, least=0, most=2**63 - 1):
    """Returns an int in range, also from numpy. Raises ValueError for anything else."""
    try:
        return _check.integer(name, value, least, most)
    except TypeError as error:
        raise ValueError(str(error)) from None


def choose_ranks(rank, world_size, model_parallel):
    """Returns (rank, world_size), checked."""
    if rank is None and world_size is None:
        return ranks(model_parallel)[:2]
    if rank is None or world_size is None:
        raise ValueError("rank and world_size go together")
    if model_parallel != 1:
        raise ValueError("rank= and world_size= are data-parallel numbers, which model_parallel= does not divide")
    return integer("rank", rank, 0, 2**32 - 1), integer("world_size", world_size, 1, 2**32 - 1)


def library_options(call, given, copies):
    """Returns the library's options for the arguments of `call` (_check.named)."""
    dropped = _check.flag("drop_last", given["drop_last"])
    if dropped and given["last_batch"] not in (None, "drop"):
        raise ValueError(f"drop_last=True and last_batch={given['last_batch']!r} contradict each other: give one")
    given = given | given["self"]._more | {"layout": None, "dtype": None}  # a column has these
    if given["last_batch"] is None:
        given["last_batch"] = "drop" if dropped else "short"
    if given["device"] is not None:
        given["device"] = "host" if str(given["device"]) == "cpu" else str(given["device"])
    if given["partners"] is not None and not isinstance(given["partners"], str):
        names = _check.items("partners", given["partners"], "names of rules")
        given["partners"] = ",".join(_check.text("partners", name) for name in names)
    integer("batch_size", given["batch_size"], 1, 65536)
    classes, given["episode"] = _episode(given["episode"])
    if given["episodes"] and not classes:
        raise ValueError(f"episodes={given['episodes']!r} needs episode=(classes, samples)")
    if given["buckets"] is not None:
        given["buckets"] = _buckets.text(given["buckets"])
    made = values(call, "loader", given, WORDS, integer)
    made |= {"episode_classes": classes, "episode_samples": given["episode"]}
    if made["ignore_index"] == 0:
        raise ValueError("ignore_index=0 is a class: expected a number that no label has, such as -100")
    for name in ("prefetch", "device_slots"):
        least = LEAST_SLOTS + bool(given["batch_hook_thread"])  # plus the one made ahead
        if copies and (made.get(name) or (name == "device_slots" and least > LEAST_SLOTS)):  # 0: the library's default, 4, or 3 on a device
            made[name] = max(made.get(name, 0), least)
    return made


def _episode(episode):
    """Returns (classes, samples of each); (0, 0): no episodes."""
    if episode is None:
        return 0, 0
    numbers = _check.items("episode", episode, "(classes, samples of each)")
    if len(numbers) != 2:
        raise ValueError(f"episode={episode!r}: expected (classes, samples of each)")
    return tuple(integer("episode", number, 1, 65536) for number in numbers)


def class_numbers(classes):
    """Returns the classes of samples in the form that C takes."""
    if classes is None:
        return None
    numbers = _check.series("classes", classes, "an int for each sample")
    return array("I", (_check.integer("classes", number, 0, 2**24 - 1) for number in numbers))


def number_arrays(given, *names):
    """Returns, for the arguments of these names, arrays with one number per sample in the form that C
    takes. A text names a field, and stays in `given`.
    """
    arrays = {}
    for name in names:
        numbers = given[name]
        if numbers is not None and not isinstance(numbers, str):
            wanted = "a number for each sample, or the name of a field"
            arrays[name] = array("d", (_check.number(name, number) for number in _check.series(name, numbers, wanted)))
            given[name] = None
    return arrays


def shown(
    self, dataset: Dataset | Source, batch_size: int = 1, shuffle: bool | str = False, *, num_workers: int | None = None,
    transform: Steps | Mapping[str, Steps] | None = None, columns: Columns | None = None, drop_last: bool = False,
    last_batch: str | None = None, seed: int | None = 0, dtype: Dtype = None, layout: str | None = None, device: Any = None,
    on_bad_sample: str = "fail", rank: int | None = None, world_size: int | None = None, prefetch_factor: int | None = None,
    order: Mapping[str, Any] | None = None, limits: Mapping[str, Any] | None = None, io: str | Mapping[str, Any] = "auto", **rare: Any,
) -> None:  # fmt: skip
    """Opens the loader. help(sluice.Loader) describes the arguments above; `rare` means the ones below.

    Arguments may also be given in dicts by group: `order` chooses samples (partners to
    window_bytes; docs/orders.md, docs/several.md, docs/buckets.md), `limits` bounds memory and time
    (read_buffer_bytes to stall_fail), and `io` configures reading (page_cache to any_numa_node; its
    `backend` is 'auto', 'uring' or 'pread').

    Args:
        ignore_index: label of rows without a sample [-1].
        quarantine: path of a file that lists bad samples; the loader appends to it [none].
        model_parallel: number of consecutive ranks that get the same batches [1].
        device_slots: batches in GPU memory [3].
        exact: True decodes every JPEG at its full size [False].
        exif: orientation of images: 'auto' (as annotated), 'apply' or 'ignore' ['auto'].
        batch_hook: function of a batch, called on the thread that takes it; its result replaces the
            batch, None keeps it [None].
        batch_hook_thread: True calls it on a thread of its own, one batch ahead, in order: for
            tokenizers. Its error is raised in the loop, at that batch [False].
        hold, hold_timeout: when a program holds all batches except one: 'copy' (further ones are
            copies), or 'wait', for hold_timeout seconds, then StateError. Small columns are always
            copies ['copy', 30].
        partners, classes: rule of each partner sample, 'any', 'same_class' or 'other_class'
            ['any'], and the class of each sample.
        episode, episodes: (classes, samples of each) of a few-shot episode with classes=, and
            episodes per epoch.
        buckets, sizes: (height, width) of batches for transforms.BucketCrop, and of all images.
        weights, num_samples: weights of samples (array or field), drawn with replacement; draws per
            epoch.
        lengths, length_groups: lengths of samples (array or field), similar within a batch; groups
            [50].
        repeats: how often each sample is used per epoch, with new draws each time, as in DeiT's
            RASampler; num_samples cuts the epoch [1].
        level: True distributes packed rows so that attention costs about the same on all ranks
            [False].
        block_samples, window_blocks: of shuffle='block' [64, 16] and 'shards' [16, 1024].
        window_bytes: of shuffle='shards' [256 MiB].
        read_buffer_bytes, max_sample_bytes, max_pixels, memory_bytes, resident_bytes: as in
            sluice/loader.h.
        stall_warn, stall_fail: age in seconds at which a read is reported as stalled, and fails its
            samples [30, 120].
        page_cache: 'auto', 'buffered', 'direct' or 'drop' ['auto'].
        io_depth, io_threads: reads in flight [32]; threads of the pread backend [8].
        whole_samples: True reads whole samples even if columns use only parts of tensors [False].
        any_numa_node: True lets threads run on any NUMA node [False].
        pin_memory, pin_memory_device, persistent_workers, timeout, multiprocessing_context:
            torch's, without effect. So is worker_init_fn, with a warning.
        generator: torch's, whose initial_seed() becomes the seed.
        sampler, batch_sampler, collate_fn: torch's; a TypeError names the argument to use instead.
    """
