# SPDX-License-Identifier: Apache-2.0
"""sluice.Loader."""
from __future__ import annotations

import os
import sys
from _thread import allocate_lock
from _weakref import proxy
from array import array

from . import _assign, _buckets, _check, _seeds, _sluice, transforms as _transforms
from ._names import EXIFS, choice, keywords, layout_number, picture_dtype_number, seconds, values
from ._ranks import ranks
from .batch import FACTS, Batch, made_of, named, parts_of
from .columns import Column, Image, MixedImage, Number, OneHot, Tensor, Window
from .dataset import argument_hints, opened
from .functions import Conversion, Functions, called

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any, Self

    from ._types import Columns, Dtype, Hook, Source, Steps
    from .dataset import Dataset

WORDS = {"shuffle": {True: 0, False: 2}, "exif": EXIFS}  # besides the library's
HOLDS = {"copy": 1, "wait": 0}
LEAST_SLOTS = 3  # with hold="copy": the batch in use, the one before, which a loop still has, and one being made
STATE_VERSION = 1
BEGINNING = (0, 0, b"")

# DataLoader's arguments that are refused, and what takes their place.
INSTEAD = {
    "sampler": "shuffle=, rank= and world_size= give the order; dataset.subset(indices) or dataset[a:b] takes some samples, "
    "weights= draws by weight (sluice.torch.DataLoader takes a WeightedRandomSampler), repeats= is DeiT's RASampler",
    "batch_sampler": "batch_size=, shuffle=, rank= and world_size= give the order",
    "collate_fn": "columns= says what a batch holds, and what batch_hook= returns replaces the batch",
}

# What the library and other loaders call arguments.
HINTS = {
    "weight_field": "weights= also takes the name of a field",
    "weighted_samples": "it is num_samples=",
    "length_field": "lengths= also takes the name of a field",
    "group_by_length": "it is lengths=, an array or the name of a field",
    "num_repeats": "it is repeats=",
    "replacement": "weights= always draws with replacement",
    "backend": "it is io=, or io={'backend': ...}",
}

# Arguments that may be given together, in a dict: what they are called there, and by themselves.
GROUPS = {
    "order": {name: name for name in (
        "partners", "classes", "buckets", "sizes", "episode", "episodes", "weights", "num_samples", "lengths", "length_groups",
        "repeats", "block_samples", "window_blocks", "window_bytes",
    )},
    "limits": {name: name for name in (
        "read_buffer_bytes", "max_sample_bytes", "max_pixels", "memory_bytes", "resident_bytes", "stall_warn", "stall_fail",
    )},
    "io": {"backend": "io"} | {name: name for name in ("page_cache", "io_depth", "io_threads", "whole_samples", "any_numa_node")},
}  # fmt: skip


# Attributes that programs ask of a loader: its constructor sets them.
ATTRIBUTES = frozenset((
    "dataset", "rank", "world_size", "batch_size", "batch_hook", "batch_hook_thread", "num_workers", "prefetch_factor", "drop_last",
    "sampler", "batch_sampler", "collate_fn", "pin_memory", "timeout", "persistent_workers", "generator", "worker_init_fn", "multiprocessing_context",
))  # fmt: skip


def _refuse(arguments):
    for name, instead in INSTEAD.items():
        if arguments[name] is not None:
            raise TypeError(f"{name}= is not supported: {instead}")


def _warn(handle):
    """What the library says of the columns, of the line that opened the loader."""
    for text in iter(handle.warning, None):
        _check.warn(text)


def _integer(name, value, least=0, most=2**63 - 1):
    """An int, also of numpy, in range; a ValueError whatever else it is."""
    try:
        return _check.integer(name, value, least, most)
    except TypeError as error:
        raise ValueError(str(error)) from None


def _choose_ranks(rank, world_size, model_parallel):
    """(rank, world_size), checked."""
    if rank is None and world_size is None:
        return ranks(model_parallel)[:2]
    if rank is None or world_size is None:
        raise ValueError("rank and world_size go together")
    if model_parallel != 1:
        raise ValueError("rank= and world_size= are data-parallel numbers, which model_parallel= does not divide")
    return _integer("rank", rank, 0, 2**32 - 1), _integer("world_size", world_size, 1, 2**32 - 1)


def _options(given, copies):
    """Of the arguments, for the library."""
    dropped = _check.flag("drop_last", given["drop_last"])
    if dropped and given["last_batch"] not in (None, "drop"):
        raise ValueError(f"drop_last=True and last_batch={given['last_batch']!r} contradict each other: give one")
    given = given | given["self"]._more | {"layout": None, "dtype": None}  # these are a column's
    if given["last_batch"] is None:
        given["last_batch"] = "drop" if dropped else "short"
    if given["device"] is not None:
        given["device"] = "host" if str(given["device"]) == "cpu" else str(given["device"])
    if given["partners"] is not None and not isinstance(given["partners"], str):
        names = _check.items("partners", given["partners"], "names of rules")
        given["partners"] = ",".join(_check.text("partners", name) for name in names)
    _integer("batch_size", given["batch_size"], 1, 65536)
    classes, given["episode"] = _episode(given["episode"])
    if given["episodes"] and not classes:
        raise ValueError(f"episodes={given['episodes']!r}: of which episode=(classes, samples)?")
    if given["buckets"] is not None:
        given["buckets"] = _buckets.text(given["buckets"])
    options = values(Loader.__init__, "loader", given, WORDS, _integer)
    options |= {"episode_classes": classes, "episode_samples": given["episode"]}
    if options["ignore_index"] == 0:
        raise ValueError("ignore_index=0 is a class: expected a number that no label has, as -100")
    for name in ("prefetch", "device_slots"):
        least = LEAST_SLOTS + bool(given["batch_hook_thread"])  # and the one that is ahead
        if copies and (options.get(name) or (name == "device_slots" and least > LEAST_SLOTS)):  # 0: the library's choice, 4, and 3 on a device
            options[name] = max(options.get(name, 0), least)
    return options


def _episode(episode):
    """(classes, samples of each), 0 where there are none."""
    if episode is None:
        return 0, 0
    numbers = _check.items("episode", episode, "(classes, samples of each)")
    if len(numbers) != 2:
        raise ValueError(f"episode={episode!r}: expected (classes, samples of each)")
    return tuple(_integer("episode", number, 1, 65536) for number in numbers)


def _classes(classes):
    """As C takes them."""
    if classes is None:
        return None
    numbers = _check.series("classes", classes, "an int for each sample")
    return array("I", (_check.integer("classes", number, 0, 2**24 - 1) for number in numbers))


def _numbers(given, *names):
    """Of the arguments of these names, arrays of a number for each sample, as C takes them; one that is a text names a field, and stays."""
    arrays = {}
    for name in names:
        numbers = given[name]
        if numbers is not None and not isinstance(numbers, str):
            wanted = "a number for each sample, or the name of a field"
            arrays[name] = array("d", (_check.number(name, number) for number in _check.series(name, numbers, wanted)))
            given[name] = None
    return arrays


def _without_images(dataset):
    """The error of transform= over a dataset that has none."""
    fields = {name: of.type for name, of in dataset.fields.items()}
    said = ", ".join(f"{name!r} ({kind})" for name, kind in fields.items())
    encoded = [name for name, kind in fields.items() if kind == "bytes"]
    tensors = [name for name, kind in fields.items() if kind == "tensor"]
    advice = ""
    if encoded:
        advice = f"; if {encoded[0]!r} holds encoded images, open it with sluice.Dataset(path, fields={{'image': '{encoded[0]}:image', ...}})"
    elif tensors:
        advice = f"; tensors are columns={{{tensors[0]!r}: sluice.columns.Tensor(), ...}}, without transform="
    return ValueError(f"transform= is for images, and the dataset has none: its fields are {said}{advice}")


def _check_uint8(name, column, field):
    """The library takes uint8, which is 0, for "as it is by nature"."""
    asked = column._values.get("dtype") == 0 and type(column).__name__ not in ("Image", "OneHot")
    natural = {"int": "int64", "float": "float64", "tensor": field and field.dtype}.get(field and field.type, "uint8")
    if asked and natural != "uint8":
        raise ValueError(f"columns[{name!r}]: {natural} does not become uint8")


def _shown(
    self, dataset: Dataset | Source, batch_size: int = 1, shuffle: bool | str = False, *, num_workers: int | None = None,
    transform: Steps | Mapping[str, Steps] | None = None, columns: Columns | None = None, drop_last: bool = False,
    last_batch: str | None = None, seed: int | None = 0, dtype: Dtype = None, layout: str | None = None, device: Any = None,
    on_bad_sample: str = "fail", rank: int | None = None, world_size: int | None = None, prefetch_factor: int | None = None,
    order: Mapping[str, Any] | None = None, limits: Mapping[str, Any] | None = None, io: str | Mapping[str, Any] = "auto", **rare: Any,
) -> None:  # fmt: skip
    """help(sluice.Loader) describes the arguments above. `rare` stands for these:

    ignore_index: label of rows without a sample [-1].
    quarantine: path of a file to which bad samples are written.
    model_parallel: number of consecutive ranks that get the same batches [1].
    device_slots: batches in GPU memory [3].
    exact: True decodes every JPEG at its full size.
    exif: orientation of images: 'auto' (as annotated), 'apply' or 'ignore'.
    batch_hook: a function of a batch. What it returns replaces the batch in the loop; None keeps the
        batch. It is called on the thread that takes the batch.
    batch_hook_thread: True calls it on a thread of its own, one batch ahead of the loop, in the same
        order: for tokenizers. An error is raised in the loop, at its batch [False].
    hold, hold_timeout: for a program that keeps all batches except one: 'copy' (the next ones are
        copies, the default), or 'wait', for hold_timeout seconds, then StateError. Small columns are
        always copies.

    order: which samples are in a batch (docs/orders.md, docs/several.md, docs/buckets.md)
        partners, classes: rule of each partner sample ('any', 'same_class', 'other_class'), and the
            class of each sample
        episode, episodes: (classes, samples of each) of a few-shot episode with classes=, and
            episodes per epoch
        buckets, sizes: (height, width) of batches for transforms.BucketCrop, and of all images
        weights, num_samples: weights of samples (an array or a field) that are drawn with
            replacement, and draws per epoch
        lengths, length_groups: lengths of samples (an array or a field), which are similar in a
            batch, and groups of lengths [50]
        repeats: times that each sample comes in an epoch, with draws of its own, as of DeiT's
            RASampler; num_samples cuts the epoch
        block_samples, window_blocks: of shuffle='block' [64, 16] and 'shards' [16, 1024]
        window_bytes: of shuffle='shards' [256 MiB]
    limits: read_buffer_bytes, max_sample_bytes, max_pixels, memory_bytes, resident_bytes: as in
            sluice/loader.h
        stall_warn, stall_fail: seconds after which a read counts as stalled, and fails its samples
    io: 'auto', 'uring' or 'pread', which in the dict is its backend
        page_cache: 'auto', 'buffered', 'direct' or 'drop'
        io_depth, io_threads: reads in flight, and threads of the pread backend
        whole_samples: True reads whole samples also where columns take parts of tensors
        any_numa_node: True lets threads run on any NUMA node

    Arguments of torch's DataLoader: pin_memory, pin_memory_device, persistent_workers, timeout and
    multiprocessing_context are accepted and have no effect, and so is worker_init_fn, with a
    warning. generator gives its initial_seed(). sampler, batch_sampler and collate_fn raise a
    TypeError that names the argument to use instead.
    """


class Sampler:
    """What programs look for in a DataLoader's sampler."""

    def __init__(self, loader):
        self._loader = loader

    def set_epoch(self, epoch: int) -> None:
        """As the loader's."""
        self._loader.set_epoch(epoch)

    def __len__(self) -> int:
        """Rows of an epoch on this rank, but those that fill up its last batches."""
        return self._loader._handle.rows

    def __iter__(self):
        raise TypeError("the order is the library's: batch['index'] has the numbers of a batch's samples")


class Batches:
    """One iteration of a loader. It ends where the epoch does, and where set_epoch() or load_state_dict()
    goes elsewhere; once another iteration was begun, or the loader closed, it raises StateError."""

    def __init__(self, loader, turn):
        self._loader, self._turn, self._over = loader, turn, False

    def __iter__(self):
        return self

    def __next__(self):
        loader = self._loader
        loader._check_process()
        batch = loader._next_of(self)
        if batch is None:
            raise StopIteration
        batch = loader._given(batch)
        hook = loader.batch_hook
        return batch if hook is None else called(hook, batch)

    def _is_over(self):
        loader = self._loader
        if not self._over and self._turn != loader._turn:
            self._over = True
            if loader._why:
                raise _sluice.StateError(f"this iteration is over: {loader._why}")
        return self._over


class Loader:
    """Batches of a dataset, made ahead by threads of the library.

    dataset: a sluice.Dataset, or the path of one; or torch's Subset, ConcatDataset, ImageFolder,
        CocoDetection or VOCDetection, which are opened by the files they name (docs/datasets.md).
    batch_size: rows of this rank's batches, 1 to 65536.
    shuffle: True or 'full' (permutes all samples in every epoch), 'block' (neighbours stay together,
        for disks with slow random reads), 'shards' (whole files in random order and a window of
        samples, for compressed archives), or False.
    num_workers: decoding threads [None or 0: the processors of this process].
    transform: sluice.transforms for the dataset's images; or a dict of them by field.
    columns: contents of a batch, a dict of sluice.columns by name [the natural columns].
    drop_last, last_batch: treatment of a partial last batch: 'drop', 'short' (drop_last chooses
        between these), 'pad' (empty rows), 'repeat' or 'wrap' (the epoch's first samples; 'wrap' has
        them behind all others where the ranks' rows are joined, as accelerate expects). The 'mask'
        of rows that were added is 0.
    seed: of order and augmentation [0]. The same seed, epoch and batch_size give the same batches.
        None: a random one, with sluice.torch torch.initial_seed(); `loader.seed` and the state have
        it. With several ranks it has to be a number, the same for all.
    dtype, layout: of images: 'uint8' or a floating type, 'NHWC' or 'NCHW'.
    device: 'cpu', 'cuda', 'cuda:N' or 'auto' (a GPU if there is one).
    on_bad_sample: 'fail' (later batches raise, too), 'replace' (takes another sample) or 'mask' (the
        row is zero, its mask 0).
    rank, world_size: of data-parallel ranks [sluice.ranks()].
    prefetch_factor: batches in memory, including those in use [4; more if they are small].
    order, limits, io: dicts of arguments that choose samples, limit memory and time, and read files:
        order={"weights": w, "num_samples": 1000}. io="uring" names the backend alone.
    rare: the other arguments, and each member of these dicts by itself, as weights=w.
        help(sluice.Loader.__init__) lists them.

    `for batch in loader` is one epoch; the next loop is the next epoch. set_epoch() and
    load_state_dict() choose where the next loop begins. A loader has one iteration at a time: a new
    one ends the one before. Several threads may share an iterator.
    """

    _more: Mapping[str, Any] = {}

    def __init__(
        self, dataset: Dataset | Source, batch_size: int = 1, shuffle: bool | str = False, *,
        num_workers: int | None = None, transform: Steps | Mapping[str, Steps] | None = None,
        columns: Columns | None = None, drop_last: bool = False, last_batch: str | None = None, seed: int | None = 0,
        ignore_index: int = -1, dtype: Dtype = None, layout: str | None = None, device: Any = None, on_bad_sample: str = "fail",
        quarantine: str | os.PathLike[str] | None = None, rank: int | None = None, world_size: int | None = None,
        prefetch_factor: int | None = None, exact: bool = False, exif: bool | str = "auto", batch_hook: Hook | None = None,
        batch_hook_thread: bool = False, hold: str | None = None, hold_timeout: float | None = 30.0, stall_warn: float | None = None, stall_fail: float | None = None,
        io: str | Mapping[str, Any] = "auto", page_cache: str = "auto", block_samples: int = 0, window_blocks: int = 0, io_depth: int = 0,
        io_threads: int = 0, read_buffer_bytes: int = 0, max_sample_bytes: int = 0, max_pixels: int = 0,
        memory_bytes: int = 0, resident_bytes: int = 0, whole_samples: bool = False, any_numa_node: bool = False,
        device_slots: int = 0, model_parallel: int = 1, window_bytes: int = 0, partners: str | Sequence[str] | None = None,
        classes: Sequence[int] | None = None, buckets: Sequence[Sequence[int]] | None = None, sizes: Any = None,
        episode: Sequence[int] | None = None, episodes: int = 0, weights: Any = None, num_samples: int = 0, lengths: Any = None,
        length_groups: int = 0, repeats: int = 0, order: Mapping[str, Any] | None = None, limits: Mapping[str, Any] | None = None,
        pin_memory: Any = None, persistent_workers: Any = None, pin_memory_device: Any = None, timeout: Any = None, multiprocessing_context: Any = None,
        sampler: None = None, batch_sampler: None = None, collate_fn: None = None, worker_init_fn: Any = None,
        generator: Any = None,
    ) -> None:  # fmt: skip
        given = locals()
        _refuse(given)
        _check.flag("batch_hook_thread", batch_hook_thread)
        copies = choice("hold", "copy" if hold is None else hold, HOLDS)
        self.dataset = opened("dataset", dataset)
        self.rank, self.world_size = _choose_ranks(rank, world_size, model_parallel)
        given["seed"], self._seed_is_derived = _seeds.choose(given, self._derive_seed, self.world_size)
        numbers = _numbers(given, "lengths", "weights")
        options = _options(given | {"rank": self.rank, "world_size": self.world_size}, copies)
        self.batch_size, self.batch_hook, self.batch_hook_thread = options["batch_size"], batch_hook, bool(batch_hook_thread)
        table = None if sizes is None else _buckets.table(sizes, len(self.dataset))
        self._functions = {}  # of transforms.Python, by column
        views = self._views(columns)
        recipe, columns = self._columns(transform, columns, dtype, layout, options)
        natural = self.dataset._natural_columns().values() if columns is None else ()
        self._requested = {column["name"] for column in columns or ()} | {name for _, name in natural}  # the rest are parts
        self._about = self.dataset, columns, recipe  # for the pages of batches
        self._opened = (options, recipe, columns, _classes(classes), table, numbers)
        hold_ms = round(min(seconds("hold_timeout", 1e9 if hold_timeout is None else hold_timeout), 1e9) * 1000)
        self._holds = (hold_ms, views, bool(copies))
        self._open()
        if hold == "copy" and not self._copies_on_device and self._handle.on_device:
            self._handle.close()
            raise ValueError("hold='copy' on a device: only sluice.torch.DataLoader copies there")
        _warn(self._handle)
        # Where the next iteration begins: (epoch, samples before it on all ranks, cursor of a loaded state).
        # None: the library stands in an epoch and has given a batch of it, so it knows.
        self._start = BEGINNING
        self._turn = 0  # counts iterations: an older one ends
        self._untouched = False  # whether there is one, and it was asked for nothing yet
        self._again = False  # it is to begin again when it is
        self._why = ""  # why that is an error; "": it just ends
        self._shown = [None]  # with batch_hook_thread: the place of the last batch that the loop was given, which the loop writes
        self._ahead = None  # likewise: a weak reference to the iterator
        self._lock = allocate_lock()  # held while a batch is taken, or an iteration begun
        self._process = os.getpid()  # in a forked child the lock may be a thread's that is not there
        self._convert = Conversion(self._functions) if self._functions else None
        self._kind = None  # of its batches, with the first one
        # What programs ask of a DataLoader.
        self.num_workers, self.prefetch_factor = options.get("workers", 0), options.get("prefetch") or None
        self.drop_last = options["last_batch"] == 0
        self.sampler, self.batch_sampler, self.collate_fn = self._own_sampler(), None, None
        self.pin_memory, self.timeout, self.persistent_workers = bool(pin_memory), 0, False
        self.generator, self.worker_init_fn, self.multiprocessing_context = generator, worker_init_fn, None

    if not TYPE_CHECKING:
        __init__ = _check.named(__init__, more=keywords("loader"), hints=argument_hints("sluice.Loader") | HINTS, groups=GROUPS, shown=_shown)

    _batch: type[Batch] = Batch
    _copies_on_device = False
    _layout = "NHWC"  # of Image columns that have none

    if not TYPE_CHECKING:  # else checkers would take any name

        def __setattr__(self, name, value):
            """AttributeError: the assignment would have no effect. batch_hook has one."""
            if not name.startswith("_"):  # its own, several times a batch
                _assign.check(self, Loader, name, ATTRIBUTES, ("batch_hook",), Loader.__init__.names, _assign.LOADER)
                if name == "batch_hook" and value is not None and not callable(value):
                    raise ValueError(f"batch_hook={value!r}: expected something that can be called")
            object.__setattr__(self, name, value)

    _derive_seed = staticmethod(_seeds.random)

    def _own_sampler(self):
        return Sampler(proxy(self))

    def _open(self):
        options, recipe, columns, *tables = self._opened
        self._handle = _sluice.Loader(self.dataset._handle, options, recipe, columns, *self._holds, *tables)
        if not self._copies_on_device and self._handle.on_device:
            self._handle.copies = False

    def _reseed(self, seed):
        """Opens the library's loader again if another seed is asked for. Returns (handle, what it was opened with) before that."""
        before = (self._handle, self._opened)
        if seed != self.seed:
            self._opened = (self._opened[0] | {"seed": seed}, *self._opened[1:])
            self._open()
        return before

    def _views(self, columns):
        """Names of the columns that are never small."""
        if isinstance(columns, dict):
            return [name for name, column in columns.items() if isinstance(column, (Image, Tensor, Window))]
        return [name for name, field in self.dataset.fields.items() if field.type in ("image", "tensor")]

    def _columns(self, transform, columns, dtype, layout, options):
        """(recipe, columns) for the library."""
        if columns is not None:
            if not isinstance(columns, dict):
                raise TypeError(f"columns={columns!r}: expected a dict of sluice.columns by name")
            if transform is not None or dtype is not None or layout is not None:
                raise TypeError("with columns=, each column has its own transform, dtype and layout")
            for name, column in columns.items():
                _check.text("columns: name", name)
                if not isinstance(column, Column):
                    raise TypeError(f"columns[{name!r}]: expected one of sluice.columns, got {column!r}")
                _check_uint8(name, column, self.dataset.fields.get(column.field or name))
            for name, column in columns.items():
                self._add_functions(name, column._functions)
            return None, [column._dict(name) | self._image_defaults(name, column, options) for name, column in columns.items()]
        images = [name for name, field in self.dataset.fields.items() if field.type == "image"]
        if isinstance(transform, dict):
            if any(isinstance(value, Column) for value in transform.values()):
                raise TypeError("transform= is a dict of columns, as presets of several views are: give it as columns=")
            for name in transform.keys() - images:
                raise ValueError(f"transform[{name!r}]: the dataset's pictures are {images}")
            if len(images) > 1:
                raise TypeError("of several pictures, say columns=")
            transform = next(iter(transform.values()), None)
        if transform is None:
            if images:
                raise TypeError(
                    f"the pictures in {images} differ in size: transform=sluice.transforms.RandomResizedCrop(224), "
                    "or columns=, says what a batch holds"
                )
            return None, None
        if not images:
            raise _without_images(self.dataset)
        recipe = _transforms.recipe(transform)
        self._add_functions(images[0], recipe.functions)
        number = picture_dtype_number(recipe.dtype if dtype is None else dtype)
        if recipe.mixing is not None and recipe.mixing.num_classes is not None:
            return None, self._soft_columns(transform, recipe.mixing, dtype, layout)
        if recipe.mixing is not None and recipe.mixing._smoothing:
            raise ValueError(f"{recipe.mixing!r}: without num_classes there is nothing to smooth: set label_smoothing=0")
        options["dtype"] = number
        options["layout"] = layout_number("NHWC" if layout is None else layout)
        return recipe.steps, None

    def _image_defaults(self, name, column, options):
        """Of an Image column what it leaves open: its layout, and the space for images of several sizes."""
        defaults = {}
        if isinstance(column, Image):
            if "layout" not in column._values:
                defaults["layout"] = layout_number(self._layout)
            if column._values["sizes"] != 0 and "max_height" not in column._values:
                from ._largest import largest

                defaults["max_height"], defaults["max_width"] = largest(name, column, self.dataset, options)
        return defaults

    def _soft_columns(self, transform, mixing, dtype, layout):
        """Those that there are by nature, but that labels are shares of classes, which follow the pictures' mixing."""
        fields = self.dataset.fields
        natural = self.dataset._natural_columns()
        images = [name for name, field in fields.items() if field.type == "image"]
        numbers = [name for name in natural if fields[name].type == "int"]
        label = mixing.labels_getter or ("label" if "label" in numbers or len(numbers) != 1 else numbers[0])
        if label not in numbers:
            raise ValueError(f"{mixing!r}: the dataset's labels are in {label!r}? labels_getter= names one of {numbers}")
        if len(images) > 1:
            raise TypeError("of several pictures, say columns=, with OneHot(..., mixes=)")
        picture = natural[images[0]][1]
        columns = {}
        for name, (kind, called) in natural.items():
            if kind == "image":
                column = MixedImage(name, transform=transform, dtype=dtype, layout="NHWC" if layout is None else layout)
            elif name == label:
                column = OneHot(mixing.num_classes, name, mixes=picture, smoothing=mixing._smoothing)
            else:
                column = Number(name) if kind == "number" else Tensor(name)
            columns[called] = column
        return [column._dict(name) for name, column in columns.items()]

    def _add_functions(self, name, functions):
        if functions:
            self._functions[name] = Functions(name, functions)

    # ---- iterating ----

    def __iter__(self) -> Iterator[Any]:
        """Begins an epoch, at once: the one after the last, or where set_epoch or a state says."""
        self._check_process()
        return self._new_iteration()

    def _new_iteration(self):
        self._refuse_itself()
        if self.batch_hook_thread:
            from ._hooking import refuse_worker

            refuse_worker(self)
        self._stop_ahead()
        with self._lock:
            if self._start is None:
                self._start = (self._handle.epoch + 1, 0, b"")
            self._untouched, self._again, self._shown = True, False, [None]
            self._begin()
            self._end_iteration("another one of this loader was begun")
            return self._iterator(Batches(self, self._turn))

    def _iterator(self, batches):
        """What the loop gets: the batches, or those of a thread that runs ahead."""
        if not self.batch_hook_thread:
            return batches
        from weakref import ref

        from ._hooking import Ahead

        ahead = Ahead(batches)
        self._ahead = ref(ahead)
        return ahead

    def _stop_ahead(self):
        ahead = self._ahead and self._ahead()
        if ahead is not None:
            ahead.stop()

    def _hook_context(self):
        """In which the hook's thread makes a batch for the thread that calls this."""
        from contextlib import nullcontext

        return nullcontext()

    def _next_of(self, batches):
        """The next batch of an iteration; None: it is over. Of threads that share a loader, one at a time."""
        self._refuse_itself()
        with self._lock:
            batch = None if batches._is_over() else self._take()
            if batch is None or batches._is_over():
                batches._over = True
                return None
            return batch

    def _refuse_itself(self):
        """A thread must not wait for its own lock: handlers of signals run while it has it."""
        frame = sys._getframe(2) if self._lock.locked() else None
        while frame is not None:
            if frame.f_code in LOCKED and frame.f_locals.get("self") is self:
                raise _sluice.StateError(
                    "this thread is taking a batch of this loader already, and a signal handler cannot take another one: "
                    "set a flag in the handler, and look at it between batches"
                )
            frame = frame.f_back

    def _check_process(self):
        if self._process != os.getpid():
            self._handle.restore(None)  # raises, and says so

    def _begin(self):
        """Starts the epoch in the library; at the state that was loaded, if one was."""
        epoch, _, cursor = self._start
        self._handle.restore(cursor or None)
        self._handle.start(epoch)

    def _end_iteration(self, why=""):
        self._turn += 1
        self._why = why

    def _leave(self):
        """Ends an iteration in progress. One that was asked for nothing yet will begin where is gone to now: frameworks
        (Lightning) take an iterator before they say the epoch."""
        ahead = self._ahead and self._ahead()
        if ahead is not None:
            ahead.settle()
        self._again = self._untouched
        if self._untouched:
            self._shown[0] = None
        else:
            self._shown = [None]
            self._end_iteration()

    def _take(self):
        """The next batch; None: the epoch is over."""
        turn, self._untouched = self._turn, False
        if self._again:
            self._begin()
            self._again = False
        batch = self._handle.next(self._convert)
        if turn != self._turn:  # set_epoch() of another thread, or of a signal's handler, went elsewhere meanwhile
            return None
        self._start = (self._handle.epoch + 1, 0, b"") if batch is None else None
        return batch

    def _given(self, batch):
        """What is given out of a batch of the library's."""
        if self._kind is None:
            names = batch.keys()[: -len(FACTS)]
            self._kind = named(self._batch, tuple(name for name in names if name in self._requested))
            self._parts = parts_of(names, self._kind._names)
        self._handle.settle(batch)
        return made_of(self._kind, batch, self._parts, self._about)

    def __len__(self) -> int:
        """Batches of an epoch, on this rank."""
        return self._handle.steps

    @property
    def remaining(self) -> int:
        """Batches that are left of the epoch in progress (one more or less where a state of another
        batch_size or world_size goes on in the middle of a batch)."""
        rows = self.batch_size * self.world_size
        return max(0, len(self) + -self._place()[1] // rows)

    @property
    def seed(self) -> int:
        """The seed of order and augmentation: the argument, or the derived one."""
        return self._opened[0]["seed"]

    @property
    def epoch(self) -> int:
        """The epoch in progress, or the next one between two."""
        shown = self._shown[0]
        if shown is not None:
            return shown[0]
        return self._handle.epoch if self._start is None else self._start[0]

    def set_epoch(self, epoch: int) -> None:
        """The next iteration is this epoch (after load_state_dict, the one it was saved in goes on). An
        iteration in progress ends; one that has given no batch yet is of this epoch, too."""
        epoch = _integer("epoch", epoch)
        if self._start and self._start[2] and epoch == self._start[0]:
            return
        self._leave()
        self._start = (epoch, 0, b"")

    def _place(self):
        """(epoch, samples of it that were taken on all ranks, cursor)"""
        return self._shown[0] or self._place_made()

    def _place_made(self):
        """The same of the batches that were made; the loop may not have the last one yet."""
        return self._start or self._handle.place()

    # ---- state ----

    def state_dict(self) -> dict[str, int | str]:
        """Where this loader stands: every batch that was given out counts as consumed.

        A dict of ints and strings, the same on every rank. It has the seed if the loader was opened with seed=None or generator=;
        load_state_dict of a loader that was opened so takes that seed. Another loader of the same dataset, seed and
        shuffle goes on from it, with another batch_size or number of ranks, too; with shuffle='shards' the
        number of ranks has to stay, and batch_size where samples are dropped; with buckets, batch_size times ranks; with lengths,
        that, lengths and length_groups; with repeats, that, repeats and num_samples; with weights, weights and num_samples; with
        episode, it, episodes and classes; with rows of several samples, how many these are, partners and classes.
        """
        return self._state(self._place())

    def _state(self, place):
        epoch, samples, cursor = place
        derived = {"seed": self.seed} if self._seed_is_derived else {}
        return {"sluice": STATE_VERSION, "epoch": epoch, "samples": samples, "cursor": cursor.hex()} | derived

    def state_at(self, epoch: int, batches: int) -> dict[str, int | str]:
        """What state_dict() would return after `batches` batches of an epoch: load_state_dict(state_at(3, 100)) skips 100
        batches of epoch 3, which are neither read nor decoded. ValueError: the epoch has fewer batches."""
        epoch, batches = _integer("epoch", epoch), _integer("batches", batches)
        return self._state((epoch, batches * self.batch_size * self.world_size, self._handle.cursor(epoch, batches)))

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on from there with the next iteration. An iteration in progress ends; one that has given no
        batch yet goes on there, too. ValueError, and nothing has changed, for what is no state of such a loader."""
        if not isinstance(state, dict) or state.get("sluice") != STATE_VERSION:
            raise ValueError(f"not what state_dict() of this version gave: {str(state):.80}")
        missing = {"epoch", "samples", "cursor"} - state.keys()
        if missing:
            raise ValueError(f"the state is damaged: it has no {sorted(missing)[0]!r}")
        epoch = _integer("the state's epoch", state["epoch"])
        samples = _integer("the state's samples", state["samples"])
        try:
            cursor = bytes.fromhex(state["cursor"])
        except (TypeError, ValueError):
            raise ValueError("the state is damaged: its cursor is no hexadecimal text") from None
        if self._handle.closed:
            raise _sluice.StateError("the loader is closed: open another one for this state")
        before = self._reseed(_seeds.of_state(state, self.seed, self._seed_is_derived))
        try:
            # The library says whether the cursor is of such a loader, and its epoch; it is used in __iter__.
            if cursor and self._handle.restore(cursor) != epoch:
                raise ValueError(f"the state is damaged: its cursor is of another epoch than {epoch}")
        except BaseException:
            self._handle, self._opened = before
            raise
        if before[0] is not self._handle:
            before[0].close()
        self._leave()
        self._start = (epoch, samples if cursor else 0, cursor)

    # ---- figures and the end ----

    def stats(self) -> dict[str, Any]:
        """Figures since the loader was opened, as a dict.

        As sluice_loader_stats of sluice/loader.h has them, times in nanoseconds: workers, slots, samples
        (decoded, those made ahead included), batches (given out), bytes_read, reads, bad_samples,
        replaced_samples, memory_bytes, host_wait_ns (spent in waiting for batches), first_batch_ns,
        io_backend, device, device_slots, near_device, pinning, pinning_reason, ... "python": calls, samples and seconds of transforms.Python, by column. "operations":
        seconds by operation on pictures, summed over threads, from a sample of rows; its names are those of operations
        (box_blur, erase, geometry), of which steps are made, not of steps.
        """
        return self._handle.stats() | {
            "operations": self._handle.operations(),
            "python": {name: of.cost() for name, of in self._functions.items()},
        }

    def close(self) -> None:
        """Ends the threads. Batches and tensors stay readable. Called by `del` and `with`, too."""
        self._end_iteration("the loader was closed")
        self._handle.close()
        self._stop_ahead()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()

    def __reduce__(self):
        raise TypeError("a loader has threads and cannot be pickled: pickle its dataset and state_dict()")

    def __repr__(self):
        rank = f", rank={self.rank}, world_size={self.world_size}" if self.world_size > 1 else ""
        return f"{type(self).__name__}({self.dataset!r}, batch_size={self.batch_size}, epoch={self.epoch}{rank})"

    def _repr_html_(self) -> str:
        from .notebook import page

        return page(self)


LOCKED = (Loader._new_iteration.__code__, Loader._next_of.__code__)  # that take a loader's lock
