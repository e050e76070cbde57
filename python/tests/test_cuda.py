# SPDX-License-Identifier: Apache-2.0
"""Batches on a device: with a simulated driver, or with a real one (SLUICE_CUDA_DRIVER=libcuda.so.1)."""
import contextlib
import ctypes
import os
import warnings

import numpy
import pytest

import sluice
from sluice import transforms as T
from test_tensor import name_of, pointer_of

if "SLUICE_CUDA_DRIVER" not in os.environ:
    pytest.skip("SLUICE_CUDA_DRIVER names no driver", allow_module_level=True)


def open_loader(data, **options):
    options = {"batch_size": 4, "transform": T.RandomResizedCrop(16), "device": "cuda", "prefetch_factor": 4} | options
    return sluice.Loader(data, **options)


@pytest.fixture
def loader(data):
    with open_loader(data) as made:
        yield made


@pytest.fixture(scope="module")
def driver():
    made, context = ctypes.CDLL(os.environ["SLUICE_CUDA_DRIVER"]), ctypes.c_void_p()
    assert made.cuInit(0) == 0 and made.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert made.cuCtxPushCurrent_v2(context) == 0
    yield made
    made.cuCtxPopCurrent_v2(ctypes.byref(context))
    made.cuDevicePrimaryCtxRelease_v2(0)


def pixels(driver, tensor):
    """Returns the bytes at the tensor's address, once the legacy default stream has reached this point."""
    array, stream = numpy.empty(tensor.shape, tensor.dtype), ctypes.c_void_p(1)
    if array.nbytes:
        to, bytes_, address = ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(tensor.nbytes), ctypes.c_uint64(tensor.data_ptr)
        assert driver.cuMemcpyDtoHAsync_v2(to, address, bytes_, stream) == 0
    assert driver.cuStreamSynchronize(stream) == 0
    return array


def test_columns_are_there(loader, data, driver):
    batch = next(iter(loader))
    image = batch["image"]
    assert image.device == batch.device == "cuda:0" and image.__dlpack_device__() == (2, 0)
    host = next(iter(open_loader(data, device="cpu")))
    capsule = image.__dlpack__(stream=1)
    assert pointer_of(capsule) and (pixels(driver, image) == host["image"].numpy()).all()
    for view_of in (memoryview, numpy.asarray, lambda t: t.__array_interface__):
        with pytest.raises((BufferError, AttributeError, TypeError)):
            view_of(image)
    with pytest.raises(TypeError, match="torch"):
        image.numpy()


def test_streams(loader):
    image = next(iter(loader))["image"]
    for stream in (None, -1, 1, 2):
        for version, name in ((None, b"dltensor"), ((1, 0), b"dltensor_versioned")):
            assert name_of(image.__dlpack__(stream=stream, max_version=version)) == name
    assert name_of(image.__dlpack__(stream=numpy.int64(2))) == b"dltensor"
    for stream in (0, -2):
        with pytest.raises(BufferError):
            image.__dlpack__(stream=stream)
    with pytest.raises(BufferError):
        image.__dlpack__(copy=True)
    with pytest.raises(BufferError):
        image.__dlpack__(dl_device=(1, 0))
    image.__dlpack__(dl_device=(2, 0))


def test_the_cuda_array_interface(loader):
    batch = next(iter(loader))
    interface = batch["image"].__cuda_array_interface__
    assert interface["version"] == 3 and interface["stream"] == 1
    assert interface["shape"] == (4, 16, 16, 3) and interface["data"] == (batch["image"].data_ptr, False)


def test_empty_columns_have_no_address(tmp_path):
    """Importers look up a pointer's device, and an address past the end may belong to another allocation, or to none."""
    with sluice.Writer(tmp_path / "d", {"boxes": ("tensor", "float32", (0, 4))}) as writer:
        for _ in range(4):
            writer.add(boxes=numpy.zeros((0, 4), "float32"))
    columns = {"boxes": sluice.columns.Ragged(length=2)}
    with sluice.Loader(tmp_path / "d", batch_size=4, columns=columns, device="cuda") as loader:
        (batch,) = loader
        boxes = batch["boxes"]
        assert boxes.shape == (0, 4) and boxes.__cuda_array_interface__["data"] == (0, False)
        assert DLTensor.from_address(pointer_of(boxes.__dlpack__(stream=1))).data is None


class DLTensor(ctypes.Structure):
    """The beginning of a capsule's struct."""

    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32)]


def test_slots_come_back(loader):
    """They return regardless of their holder and its stream."""
    for turn in range(6):
        for number, batch in enumerate(loader):
            capsules = [batch["image"].__dlpack__(stream=stream) for stream in (None, 1, 2, -1)]
            if number % 2:
                batch["label"].__cuda_array_interface__
            pointers = [pointer_of(capsule) for capsule in capsules]
            assert all(pointers)
            del capsules
        assert loader.epoch == turn + 1
    del batch
    assert loader._handle.held == 0


@pytest.fixture
def stream(driver):
    made = ctypes.c_void_p()
    assert driver.cuStreamCreateWithPriority(ctypes.byref(made), 1, 0) == 0
    yield made
    driver.cuStreamDestroy_v2(made)


@contextlib.contextmanager
def capture(driver, stream):
    """Captures in the mode that forbids unsafe calls in this thread only."""
    graph = ctypes.c_void_p()
    assert driver.cuStreamBeginCapture_v2(stream, 1) == 0
    try:
        yield
    finally:  # a failed test leaves no capture that would break the next one
        ended = driver.cuStreamEndCapture(stream, ctypes.byref(graph))
    assert ended == 0 and driver.cuGraphDestroy(graph) == 0


def test_batches_that_are_let_go_in_a_capture_come_back(loader, driver, stream):
    """They return once the capture has ended: until then, a slot cannot be released after the stream's pending work."""
    for turn in range(3):
        batches = iter(loader)
        capsules = [next(batches)["image"].__dlpack__(stream=stream.value) for _ in range(2)]
        with capture(driver, stream):
            del capsules
            next(batches)
            assert loader._handle.held == 2
        assert sum(batch.rows for batch in batches) == 33 - 3 * 4
        assert loader._handle.held == 0


@contextlib.contextmanager
def context_of_its_own(driver):
    context = ctypes.c_void_p()  # drivers keep this version of the function for older programs
    assert driver.cuCtxCreate_v2(ctypes.byref(context), 0, 0) == 0
    try:
        yield
    finally:
        assert driver.cuCtxPopCurrent_v2(ctypes.byref(context)) == 0
        if hasattr(driver, "cuCtxDestroy_v2"):  # the simulated one has no such function
            assert driver.cuCtxDestroy_v2(context) == 0


def test_default_streams_of_other_contexts(loader, driver):
    """These differ from the tensor's stream, so they are rejected, also when a tensor is released."""
    batches = iter(loader)
    capsule = next(batches)["image"].__dlpack__(stream=1)
    with context_of_its_own(driver):
        image = next(batches)["image"]
        for stream in (None, 1, 2):
            with pytest.raises(ValueError, match="current context"):
                image.__dlpack__(stream=stream)
        with pytest.raises(ValueError, match="current context"):
            image.__cuda_array_interface__
        del image
        held = loader._handle.held
        del capsule  # kept until a thread can use its stream
        assert loader._handle.held == held
    assert sum(batch.rows for batch in batches) == 33 - 2 * 4
    assert loader._handle.held == 0


def test_who_holds_all_that_fit_on_the_device_is_told(data):
    loader = open_loader(data, hold_timeout=2.0)
    batches = iter(loader)
    held = [next(batches) for _ in range(loader.stats()["device_slots"])]
    with pytest.warns(RuntimeWarning, match="all 3 batches.*device_slots"), pytest.raises(sluice.StateError, match="held by columns"):
        next(batches)
    held.pop()
    assert next(batches).rows == 4
    loader.close()
    with open_loader(data, device_slots=5) as loader:
        held = [batch for _, batch in zip(range(5), loader)]
        assert loader.stats()["device_slots"] == 5 and len(held) == 5


def test_loaders_may_go_before_the_capture_ends(data, driver, stream):
    with open_loader(data) as loader:
        capsule = next(iter(loader))["image"].__dlpack__(stream=stream.value)
        with capture(driver, stream):
            del capsule
            assert loader._handle.held == 1
            loader.close()


def test_why_a_stream_is_refused_is_told(loader, driver, stream):
    image = next(iter(loader))["image"]
    with capture(driver, stream), pytest.raises(sluice.StateError, match="captur"):
        image.__dlpack__(stream=stream.value)
    assert pointer_of(image.__dlpack__(stream=stream.value))


def test_epochs_are_the_hosts(data, driver):
    options = {"shuffle": True, "dtype": "float16", "layout": "NCHW"}
    count = 0
    for batch, host in zip(open_loader(data, **options), open_loader(data, device="cpu", **options)):
        capsule = batch["image"].__dlpack__(stream=1)
        assert (pixels(driver, batch["index"]) == host["index"].numpy()).all()
        assert (pixels(driver, batch["image"]) == host["image"].numpy()).all()
        count += 1
        del capsule
    assert count == 9


class CopyingLoader(sluice.Loader):
    """Like sluice.torch.DataLoader, whose device copies are torch's; here they go to the host."""

    _copies_on_device = True

    def __init__(self, driver, *arguments, **options):
        super().__init__(*arguments, **options)

        def convert(name, tensor, copy):  # without the loader, so that batches do not keep it alive
            capsule = tensor.__dlpack__(stream=1)  # makes the stream wait for the batch
            return pixels(driver, tensor).copy() if copy else (tensor, capsule)

        self._convert = convert


def test_pictures_that_are_kept_on_a_device_are_copies_beyond_a_bound(data, driver):
    options = {"batch_size": 4, "transform": T.RandomResizedCrop(16), "shuffle": True}
    host = [{name: column.numpy().copy() for name, column in batch.items()} for batch in open_loader(data, device="cpu", **options)]
    loader = CopyingLoader(driver, data, device="cuda", **options)
    for _ in range(2):
        loader.set_epoch(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the warning that batches are held
            kept = list(loader)
        assert loader._handle.held == 2 and sum(isinstance(batch["image"], tuple) for batch in kept) == 2
        for batch, expected in zip(kept, host):
            image = batch["image"]
            assert (batch["label"] == expected["label"]).all() and batch.device == "cuda:0" and batch["mask"].sum() == batch.rows
            assert ((pixels(driver, image[0]) if isinstance(image, tuple) else image) == expected["image"]).all()
        del batch, kept, image
        assert loader._handle.held == 0
    labels = [batch["label"] for batch in loader]
    assert loader._handle.held == 0 and len(labels) == 9


def test_what_follows_a_mirrored_picture(tmp_path, driver):
    """The device may mirror images; the workers mirror masks and boxes."""
    random = numpy.random.RandomState(2)
    with sluice.Writer(tmp_path / "d", {"image": "image", "labels": ("tensor", "uint8", (0, 0)), "boxes": ("tensor", "float32", (0, 4))}) as writer:
        for _ in range(40):
            pixels_ = random.randint(0, 256, (40, 50, 3)).astype("uint8")
            writer.add(image=pixels_, labels=pixels_[:, :, 0].copy(), boxes=numpy.array([[3, 4, 20, 30]], "float32"))
    crop = T.RandomResizedCrop(16, interpolation="nearest")
    columns = {
        "image": sluice.columns.Image(transform=[crop, T.RandomHorizontalFlip(), T.ToTensor()]),
        "seg": sluice.columns.Mask("labels"), "boxes": sluice.columns.Boxes(length=2, padded=True), "where": sluice.columns.Geometry(),
    }  # fmt: skip
    made = {}
    for device in ("cpu", "cuda"):
        with sluice.Loader(tmp_path / "d", batch_size=40, columns=columns, device=device, seed=1) as loader:
            (batch,) = loader
            made[device] = {}
            for name in (*columns, "where.flip"):
                if device == "cuda":
                    batch[name].__dlpack__(stream=1)  # makes the stream wait
                made[device][name] = pixels(driver, batch[name]) if device == "cuda" else batch[name].numpy().copy()
    assert 0 < made["cpu"]["where.flip"][:, 0].sum() < 40
    for name, array in made["cpu"].items():
        assert (array == made["cuda"][name]).all(), name
    assert (numpy.round(made["cuda"]["image"][..., 0] * 255) == made["cuda"]["seg"]).all()


BUCKETS = [(16, 16), (12, 20), (20, 12)]


@pytest.mark.parametrize("layout, dtype", [("NHWC", "uint8"), ("NCHW", "float32"), ("NHWC", "float16")])
def test_batches_of_several_sizes(data, driver, layout, dtype):
    """Each is copied and converted at its own size, and reports it; batches that are kept do not change."""
    from sluice import columns as C

    columns = {
        "image": C.Image(transform=[T.BucketCrop(), T.RandomHorizontalFlip()], layout=layout, dtype=dtype),
        "padded": C.Image("image", sizes="padded", max_size=(90, 90), layout=layout, dtype=dtype),
        "ragged": C.Image("image", sizes="ragged", max_size=(90, 90), layout=layout, dtype=dtype),
        "label": C.Number("label"),
    }
    options = {"batch_size": 3, "shuffle": True, "columns": columns, "buckets": BUCKETS, "last_batch": "pad", "seed": 3}
    with open_loader(data, transform=None, **options) as own, sluice.Loader(data, **options) as host:
        shapes = set()
        for _ in range(2):
            for batch, other in zip(own, host, strict=True):
                for name in ("image", "padded", "padded.sizes", "ragged", "ragged.offsets", "ragged.sizes", "label"):
                    assert batch[name].device == "cuda:0" and batch[name].shape == other[name].shape
                    capsule = batch[name].__dlpack__(stream=1)
                    assert (pixels(driver, batch[name]) == other[name].numpy()).all(), name
                    del capsule
                shapes.add(batch["image"].shape)
        assert len(shapes) == 3
