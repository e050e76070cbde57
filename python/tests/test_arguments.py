# SPDX-License-Identifier: Apache-2.0
"""Passes arguments of all types to all functions of the package. A bad one raises a TypeError that names the argument,
or an error about its value; never an error from inside Python's own code."""
import inspect

import numpy
import pytest
from PIL import Image

import sluice
from sluice import columns as C, transforms as T

ODD = (3, -1, 2**70, None, [], [None], [3], object(), "", "x", b"x", 1.5, float("nan"), True, {}, {"a": 1}, {3: 4}, (), (1, 2), numpy.arange(3), memoryview(b"ab"), set())  # fmt: skip
REFUSALS = (TypeError, ValueError, OverflowError, UnicodeError, sluice.Error)
FIELDS = {"image": "image", "label": "int", "score": "float", "tensor": ("tensor", "float32", (2,)), "text": "text", "bytes": "bytes"}


class World:
    """The objects that calls need."""

    def __init__(self, folder):
        self.folder, self.writers = folder, 0
        (folder / "photos/class").mkdir(parents=True)
        self.file = folder / "photos/class/0.png"  # a path where no folder can be created: calls get as far as that
        for number in range(4):
            Image.fromarray(numpy.full((20, 24, 3), number, numpy.uint8)).save(folder / f"photos/class/{number}.png")
        with sluice.Writer(folder / "packed", FIELDS) as writer:
            for number in range(4):
                writer.add(image=self.file.read_bytes(), label=number % 2, score=number / 2, tensor=[1, 2], text="x", bytes=b"y")
        self.data, self.packed = sluice.Dataset(folder / "photos"), sluice.Dataset(folder / "packed")
        self.taker = sluice.Writer(folder / "taker", FIELDS)
        self.open = self.make_loader()

    def make_loader(self, **options):
        crop = T.RandomResizedCrop(8)
        return sluice.Loader(**{"dataset": self.data, "batch_size": 2, "num_workers": 1, "transform": crop, "io": "pread"} | options)

    def loader(self, **options):
        self.make_loader(**options).close()

    def columns(self, columns):
        self.loader(dataset=self.packed, transform=None, columns=columns)

    def writer(self, **options):
        self.writers += 1
        sluice.Writer(**{"path": self.folder / f"out{self.writers}", "fields": {"x": "int"}} | options).abort()

    def field(self, what):
        self.writer(fields={"x": what})

    def image(self, *steps):
        self.loader(transform=T.Compose(steps))


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return World(tmp_path_factory.mktemp("world"))


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Output under an odd name is created here."""
    monkeypatch.chdir(tmp_path)


def with_base(call, **base):
    return lambda **given: call(**base | given)


def behind_crop(make, base):
    """Returns a call of a transform after a crop, and its arguments by name."""
    names = " ".join(inspect.signature(make).parameters)
    return lambda world: (lambda **given: world.image(T.RandomCrop(8), make(**base | given)), names)


def before_crop(make, base):
    names = " ".join(inspect.signature(make).parameters)
    return lambda world: (lambda **given: world.image(make(**base | given), T.CenterCrop(8)), names)


OPEN = [  # transforms that leave the size open
    (T.RandomShortestSize, {"min_size": 8}), (T.ScaleJitter, {"target_size": 8}), (T.RandomZoomOut, {}), (T.RandomIoUCrop, {}),
]  # fmt: skip
STEPS = [
    (T.AugMix, {}), (T.AutoAugment, {}), (T.GaussianBlur, {"kernel_size": 3}), (T.Grayscale, {"num_output_channels": 3}),
    (T.ElasticTransform, {}), (T.ToPILImage, {}), (T.ConvertImageDtype, {}), (T.JPEG, {"quality": 9}), (T.CopyPaste, {}), (T.MixUpPartner, {}), (T.PillowGaussianBlur, {}), (T.RandAugment, {}), (T.RandAugment.timm, {"config_str": "rand-m9"}),
    (T.RandomAdjustSharpness, {"sharpness_factor": 2}), (T.RandomAffine, {"degrees": 3}), (T.RandomApply, {"transforms": [T.JPEG(3)]}),
    (T.RandomAutocontrast, {}), (T.RandomChoice, {"transforms": [T.JPEG(3)]}), (T.RandomEqualize, {}), (T.RandomErasing, {}),
    (T.RandomGrayscale, {}), (T.RandomHsv, {}), (T.RandomInvert, {}), (T.RandomOrder, {"transforms": [T.JPEG(3)]}), (T.RandomPerspective, {}),
    (T.RandomPhotometricDistort, {}), (T.RandomPosterize, {"bits": 3}), (T.RandomRotation, {"degrees": 3}),
    (T.RandomSolarize, {"threshold": 3}), (T.RandomSolarizeAdd, {"add": 3}), (T.RandomVerticalFlip, {}), (T.ThreeAugment, {"size": 8}),
    (T.FixedSizeCrop, {"size": 8}), (T.LetterBox, {"size": 8}), (T.presets.large_scale_jitter, {"size": 8}),
    (T.presets.large_scale_jitter_eval, {"size": 8}), (T.presets.yolo, {"size": 8}), (T.presets.yolo_eval, {"size": 8}),
    (T.TrivialAugmentWide, {}), (T.presets.deit3, {}), (T.presets.mae, {}), (T.presets.resnet_strikes_back, {}), (T.presets.torchvision_vit, {}),
]  # fmt: skip

# For a World: a call, and its arguments.
CALLS = {
    "Dataset": lambda w: (with_base(sluice.Dataset, path=w.folder / "photos"), "path flat fields allow_empty_classes allow_case_duplicates"),
    "Dataset.sample": lambda w: (w.data.sample, "index"),
    "Dataset.read": lambda w: (with_base(w.data.read, index=0, field="image"), "index field"),
    "Dataset.decode": lambda w: (with_base(w.data.decode, index=0), "index field exif"),
    "Dataset.verify": lambda w: (with_base(w.data.verify, progress=None), "decode workers progress part"),
    "Dataset.__getitem__": lambda w: (lambda index: w.data[index], "index"),
    "Dataset.subset": lambda w: (w.data.subset, "indices"),
    "Dataset.where": lambda w: (w.data.where, "condition"),
    "Dataset.numbers": lambda w: (w.data.numbers, "field"),
    "Dataset.filter": lambda w: (w.data.filter, "keep"),
    "concat": lambda w: (with_base(sluice.concat, datasets=[w.data] * 2), "datasets fields labels allow_case_duplicates"),
    "mix": lambda w: (with_base(sluice.mix, datasets=[w.data] * 2), "datasets weights epoch_samples fields labels allow_case_duplicates"),
    "balance": lambda w: (with_base(sluice.balance, data=w.data), "data field epoch_samples"),
    "pack": lambda w: (
        with_base(sluice.pack, source=w.data, path=w.file, progress=None),
        "source path workers overwrite on_bad_sample keep_order keep_bytes raw seed zstd shard_bytes metadata verify "
        "progress max_side quality raw_share part append labels allow_case_duplicates",
    ),
    "pack_join": lambda w: (sluice.pack_join, "path"),
    "unpack": lambda w: (
        with_base(sluice.unpack, source=w.data, path=w.file, progress=None),
        "source path tar shard_bytes shard_samples workers overwrite on_bad_sample progress",
    ),
    "ranks": lambda w: (sluice.ranks, "model_parallel"),
    "profile": lambda w: (sluice.profile, "loader"),
    "Marks.batches": lambda w: (lambda loader: list(sluice.marks().batches(loader)), "loader"),
    "Loader": lambda w: (
        w.loader,
        "dataset batch_size shuffle num_workers transform columns drop_last last_batch seed dtype layout device "
        "on_bad_sample quarantine rank world_size prefetch_factor exact exif batch_hook batch_hook_thread hold_timeout stall_warn "
        "stall_fail io page_cache block_samples window_blocks io_depth io_threads read_buffer_bytes max_sample_bytes "
        "max_pixels memory_bytes resident_bytes whole_samples any_numa_node device_slots model_parallel window_bytes sampler "
        "batch_sampler collate_fn worker_init_fn generator",
    ),
    "Loader.set_epoch": lambda w: (w.open.set_epoch, "epoch"),
    "Loader.load_state_dict": lambda w: (w.open.load_state_dict, "state"),
    "Writer": lambda w: (w.writer, "path fields classes overwrite keep_bytes zstd shard_bytes"),
    "Writer.add": lambda w: (w.taker.add, " ".join(FIELDS)),
    "RandomResizedCrop": lambda w: (
        lambda **given: w.image(T.RandomResizedCrop(**{"size": 8} | given)), "size scale ratio interpolation antialias",
    ),
    "Resize": lambda w: (lambda **given: w.image(T.Resize(**{"size": 8} | given), T.CenterCrop(8)), "size interpolation max_size antialias"),
    "CenterCrop": lambda w: (lambda size: w.image(T.Resize(8), T.CenterCrop(size)), "size"),
    "RandomCrop": lambda w: (lambda **given: w.image(T.RandomCrop(**{"size": 8} | given)), "size padding pad_if_needed fill padding_mode"),
    "RandomHorizontalFlip": lambda w: (lambda p: w.image(T.RandomCrop(8), T.RandomHorizontalFlip(p)), "p"),
    "ColorJitter": lambda w: (lambda **given: w.image(T.RandomCrop(8), T.ColorJitter(**given)), "brightness contrast saturation hue"),
    "ToDtype": lambda w: (lambda **given: w.image(T.RandomCrop(8), T.ToDtype(**{"dtype": "uint8"} | given)), "dtype scale"),
    "Normalize": lambda w: (lambda **given: w.image(T.RandomCrop(8), T.Normalize(**{"mean": [0.1] * 3, "std": [1] * 3} | given)), "mean std"),
    **{make.__qualname__: behind_crop(make, base) for make, base in STEPS},
    **{make.__qualname__: before_crop(make, base) for make, base in OPEN},
    "Pad": lambda w: (lambda **given: w.image(T.Pad(**{"padding": 8} | given), T.CenterCrop(8)), "padding fill padding_mode"),
    "RandomResize": lambda w: (
        lambda **given: w.image(T.RandomResize(**{"min_size": 8, "max_size": 9} | given), T.CenterCrop(8)),
        "min_size max_size interpolation antialias",
    ),
    "RandomErasing.timm": lambda w: (
        lambda **given: w.image(T.RandomCrop(8), T.Normalize([0.1] * 3, [1] * 3), T.RandomErasing.timm(**given)),
        "probability min_area max_area min_aspect max_aspect mode min_count max_count num_splits",
    ),
    "Python": lambda w: (lambda **given: w.image(T.RandomCrop(8), T.Python(**{"function": len} | given)), "function per_sample"),
    "Native": lambda w: (lambda **given: T.Native(**{"function": 1, "keep": w} | given), "user_data name"),
    "Compose": lambda w: (lambda transforms: w.loader(transform=T.Compose(transforms)), "transforms"),
    "columns.Image": lambda w: (
        lambda **given: w.columns({"a": C.Image(**{"field": "image", "transform": T.RandomCrop(8)} | given)}),
        "field transform dtype layout missing",
    ),
    "columns.Number": lambda w: (lambda **given: w.columns({"a": C.Number(**{"field": "label"} | given)}), "field dtype missing"),
    "columns.Tensor": lambda w: (lambda **given: w.columns({"a": C.Tensor(**{"field": "tensor"} | given)}), "field shape part dtype missing"),
    "columns.Window": lambda w: (
        lambda **given: w.columns({"a": C.Window(**{"field": "tensor", "length": 1} | given)}), "field length stride offset dtype missing",
    ),
    "columns.Ragged": lambda w: (
        lambda **given: w.columns({"a": C.Ragged(**{"field": "text", "length": 4} | given)}), "field length dtype too_long missing",
    ),
    "columns.Padded": lambda w: (
        lambda **given: w.columns({"a": C.Padded(**{"field": "text", "length": 4} | given)}), "field length dtype too_long missing",
    ),
    "columns.OneHot": lambda w: (
        lambda **given: w.columns({"a": C.OneHot(**{"field": "label", "classes": 3} | given)}), "classes field dtype missing",
    ),
    # Values passed as an argument.
    "a path of several": lambda w: (lambda path: sluice.Dataset([path]), "path"),
    "what a field is called there": lambda w: (lambda fields: sluice.Dataset(w.data.paths, fields={"a": fields}), "fields"),
    "dtype of flat files": lambda w: (lambda dtype: sluice.Dataset(w.data.paths, flat=(dtype, (2,))), "dtype"),
    "shape of flat files": lambda w: (lambda flat: sluice.Dataset(w.data.paths, flat=("float32", flat)), "flat"),
    "size of flat files": lambda w: (lambda flat: sluice.Dataset(w.data.paths, flat=("float32", (flat,))), "flat"),
    "one of the datasets": lambda w: (lambda datasets: sluice.concat([w.data, datasets]), "datasets"),
    "one of the names": lambda w: (lambda fields: sluice.concat([w.data] * 2, fields=[fields]), "fields"),
    "one of the weights": lambda w: (lambda weights: sluice.mix([w.data] * 2, [1, weights]), "weights"),
    "weights of an epoch": lambda w: (lambda weights: sluice.mix([w.data] * 2, {0: weights}), "weights"),
    "weight of a dataset": lambda w: (lambda weights: sluice.mix({w.data: weights}), "weights"),
    "number of a part": lambda w: (lambda part: sluice.pack(w.data, w.file, part=(part, 2)), "part"),
    "number of parts": lambda w: (lambda part: sluice.pack(w.data, w.file, part=(0, part)), "part"),
    "a type of a field": lambda w: (w.field, "what"),
    "dtype of a field": lambda w: (lambda dtype: w.field(("tensor", dtype, (2,))), "dtype"),
    "shape of a field": lambda w: (lambda shape: w.field(("tensor", "float32", shape)), "shape"),
    "size of a field": lambda w: (lambda shape: w.field(("tensor", "float32", (shape,))), "shape"),
    "name of a class": lambda w: (lambda classes: w.writer(classes=[classes]), "classes"),
    "a column": lambda w: (lambda columns: w.columns({"a": columns}), "columns"),
    "a transform of a field": lambda w: (lambda transform: w.loader(transform={"image": transform}), "transform"),
    "a step": lambda w: (lambda transforms: w.image(transforms), "transforms"),
    "epoch of a state": lambda w: (lambda epoch: w.open.load_state_dict(w.open.state_dict() | {"epoch": epoch}), "epoch"),
    "cursor of a state": lambda w: (lambda cursor: w.open.load_state_dict(w.open.state_dict() | {"cursor": cursor}), "cursor"),
}

# Calls whose TypeError names the meaning of the argument instead.
ALSO = {"source": ["path"], "dataset": ["path"], "what": ["fields"]}


@pytest.mark.parametrize("name", CALLS)
def test_odd_types(world, name):
    call, arguments = CALLS[name](world)
    for argument in arguments.split():
        for odd in ODD:
            try:
                call(**{argument: odd})
            except IndexError:
                assert argument in ("index", "indices") and not isinstance(odd, str)
            except REFUSALS as error:
                named = any(word in str(error) for word in [argument, *ALSO.get(argument, ())])
                numpys = isinstance(odd, numpy.ndarray)  # numpy arrays raise errors with their own words
                assert named or numpys or not isinstance(error, TypeError), (argument, odd, error)


# Neither texts nor numbers have these types.
@pytest.mark.parametrize("name", [name for name in CALLS if name != "Marks.batches"])
def test_objects_are_nothing(world, name):
    call, arguments = CALLS[name](world)
    for argument in arguments.split():
        with pytest.raises((TypeError, ValueError)):
            call(**{argument: object()})


@pytest.mark.parametrize("key", [3, None, b"x", (1, 2)])
def test_keys_that_are_no_names(world, key):
    for call in (
        lambda: sluice.Dataset(world.data.paths, fields={key: "a"}),
        lambda: world.writer(fields={key: "int"}),
        lambda: world.columns({key: C.Number("label")}),
    ):
        with pytest.raises(TypeError, match="fields|columns"):
            call()


@pytest.mark.parametrize("key", ["a", None, 1.5, b"x"])
def test_epochs_that_are_no_numbers(world, key):
    with pytest.raises(TypeError, match="weights: epoch="):
        sluice.mix([world.data] * 2, {key: [1, 1]})


def test_what_is_wanted_is_said(world):
    for call, words in (
        (lambda: world.data.where(3), "condition=3: expected a text"),
        (lambda: sluice.Dataset(world.data.paths, fields=3), "fields=3: expected a dict"),
        (lambda: world.writer(fields=3), "fields=3: expected a dict"),
        (lambda: sluice.balance(3), "data=3: expected a sluice.Dataset"),
        (lambda: sluice.profile(3), "loader=3: expected a sluice.Loader"),
        (lambda: sluice.concat(world.data), "datasets=.*: expected a list of sluice.Dataset"),
        (lambda: world.taker.add(label="three"), "label: expected an integer, not str"),
    ):
        with pytest.raises(TypeError, match=words):
            call()
    with pytest.raises(ValueError, match="NUL"):
        world.writer(classes=["a\0b"])
