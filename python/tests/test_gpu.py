# SPDX-License-Identifier: Apache-2.0
"""
Batches on a real GPU, as torch, CuPy and JAX read them. They equal the host's bit for bit. Streams are kept busy, so that a
slot that is reused too early shows. Skipped without a CUDA device; each framework's tests also without the framework. CuPy and
JAX have a process each.
"""
import ctypes
import gc
import os
import pathlib
import threading
import warnings

import pytest
from gpu_batches import DTYPES, LAYOUTS, names_of, recipe, run_module, skip_without_gpu, wait_until, write_objects

import sluice
from sluice import columns as C
from sluice import transforms as T

DRIVER = skip_without_gpu()
try:
    import torch

    import sluice.torch
except ModuleNotFoundError:
    torch = None
needs_torch = pytest.mark.skipif(torch is None or not torch.cuda.is_available(), reason="there is no torch with a CUDA device")
BUSY = 20_000_000  # cycles that a stream sleeps per batch: about 10 ms


def test_cupy():
    run_module("gpu_cupy.py")


def test_jax():
    run_module("gpu_jax.py")


def open_loader(data, device="cuda", **options):
    options = {"batch_size": 4, "shuffle": True, "seed": 5, "num_workers": 2, "prefetch_factor": 4} | options
    if "columns" not in options:
        options = {"transform": recipe("uint8")} | options
    return sluice.torch.DataLoader(data, device=device, **options)


def content(batch):
    """Returns copies of all columns by name, made on the current stream."""
    return {name: batch[name].clone() for name in names_of(batch)}


def host_epoch(data, **options):
    with open_loader(data, "cpu", **options) as loader:
        return [content(batch) for batch in loader]


def same_bits(made, expected):
    if made.dtype != expected.dtype or made.shape != expected.shape:
        return False
    integers = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[made.element_size()]
    return torch.equal(made.contiguous().cpu().view(integers), expected.contiguous().view(integers))


def assert_same(made, expected):
    """Compares the columns of two batches, or their copies."""
    for name in expected:
        assert made[name].is_cuda and same_bits(made[name], expected[name]), name


def assert_epochs_equal(data, epochs=1, check=None, **options):
    """Compares epochs with the host's. `check`: called with each batch."""
    with open_loader(data, **options) as loader, open_loader(data, "cpu", **options) as host:
        for _ in range(epochs):
            for batch, expected in zip(loader, host, strict=True):
                assert batch.device == "cuda:0" and names_of(batch) == names_of(expected)
                assert_same(batch, content(expected))
                if check is not None:
                    check(batch)
        del batch
        assert all_returned(loader)
        return loader.stats()


def all_returned(loader):
    """True once all slots of the device are free: a program has released every batch."""
    gc.collect()
    return wait_until(lambda: loader._handle.held == 0)


@pytest.fixture(scope="module")
def objects(tmp_path_factory):
    return write_objects(tmp_path_factory.mktemp("objects") / "packed")


@pytest.fixture
def stream():
    made = torch.cuda.Stream()
    with torch.cuda.stream(made):
        yield made
    made.synchronize()


# ---- columns ----


@needs_torch
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes_and_layouts(data, dtype, layout):
    def check(batch):
        form = torch.channels_last if layout == "NHWC" else torch.contiguous_format
        assert batch["image"].shape[1] == 3 and batch["image"].is_contiguous(memory_format=form)

    assert_epochs_equal(data, check=check, transform=recipe(dtype), dtype=dtype, layout=layout, last_batch="pad")


@needs_torch
def test_the_device_converts(data):
    """The conversion runs on the device if the library has kernels."""
    stats = assert_epochs_equal(data, transform=recipe("float16"), dtype="float16")
    if not stats["converts_on_device"]:
        pytest.skip("the library was built without kernels")


@needs_torch
def test_channels_last(data):
    with open_loader(data, memory_format=torch.channels_last, transform=recipe("float32")) as loader:
        image = next(iter(loader))["image"]
        assert tuple(image.shape[1:]) == (3, 24, 24) and image.stride() == (24 * 24 * 3, 1, 24 * 3, 3)
        assert image.is_contiguous(memory_format=torch.channels_last)


@needs_torch
@pytest.mark.parametrize("mixing", [T.MixUp, T.CutMix], ids=["MixUp", "CutMix"])
@pytest.mark.parametrize("dtype", ["uint8", "bfloat16", "float32"])
def test_mixing(data, mixing, dtype):
    assert_epochs_equal(data, epochs=2, transform=[*recipe(dtype), mixing()], dtype=dtype)


@needs_torch
def test_soft_labels(data):
    assert_epochs_equal(data, transform=[*recipe("float32"), T.MixUp(num_classes=3)])


@needs_torch
@pytest.mark.parametrize("layout, dtype", [("NHWC", "uint8"), ("NCHW", "float32"), ("NHWC", "float16"), ("NCHW", "bfloat16")])
def test_sizes(data, layout, dtype):
    columns = {
        "image": C.Image(transform=[T.BucketCrop(), T.RandomHorizontalFlip()], layout=layout, dtype=dtype),
        "padded": C.Image("image", sizes="padded", max_size=(90, 90), layout=layout, dtype=dtype),
        "ragged": C.Image("image", sizes="ragged", max_size=(90, 90), layout=layout, dtype=dtype),
        "label": C.Number("label"),
    }
    shapes, buckets = set(), [(16, 16), (12, 20), (20, 12)]

    def check(batch):
        shapes.add(batch["image"].shape)

    assert_epochs_equal(data, 2, check, columns=columns, buckets=buckets, batch_size=3, last_batch="pad")
    assert len(shapes) == 3


@needs_torch
def test_empty_ragged_columns(objects):
    """The first batch has rows, but neither boxes nor labels."""
    columns = {
        "image": C.Image(transform=T.Resize((24, 24))), "boxes": C.Boxes("boxes", length=8),
        "labels": C.Ragged("labels", length=8, follows="boxes"), "padded": C.Padded("labels", length=8, follows="boxes"),
    }  # fmt: skip
    counts = []
    assert_epochs_equal(objects, 2, lambda batch: counts.append(len(batch["boxes"])), columns=columns, shuffle=False)
    assert counts[0] == 0 and max(counts) > 0


@needs_torch
def test_mosaics(objects):
    columns = {
        "image": C.Image(transform=[T.Mosaic(20), T.RandomHorizontalFlip(), T.ToTensor()]),
        "seg": C.Mask("mask", follows="image"), "boxes": C.Boxes("boxes", length=40, follows="image"),
        "labels": C.Ragged("labels", length=40, follows="boxes"),
    }  # fmt: skip
    assert_epochs_equal(objects, 2, columns=columns)


@needs_torch
def test_pasted_objects(objects):
    columns = {
        "image": C.Image(transform=[T.Resize((32, 32)), T.CopyPaste(), T.RandomHorizontalFlip()]),
        "seg": C.Mask("mask", follows="image"), "boxes": C.Boxes("boxes", length=20, shapes="shapes", follows="image"),
        "labels": C.Ragged("labels", length=20, follows="boxes"), "masks": C.Instances("shapes", length=20, follows="boxes"),
    }  # fmt: skip
    assert_epochs_equal(objects, 2, columns=columns)


@needs_torch
def test_columns_without_torchs_loader(data):
    """The columns of sluice.Loader, by each protocol that torch reads."""
    options = {"batch_size": 4, "transform": recipe("float32"), "seed": 5}
    with sluice.Loader(data, device="cuda", **options) as loader, sluice.Loader(data, **options) as host:
        for batch, expected in zip(loader, host, strict=True):
            for read in (torch.from_dlpack, lambda column: column.torch(), lambda column: torch.as_tensor(column, device="cuda")):
                for name in ("image", "label"):
                    assert read(batch[name]).is_cuda and same_bits(read(batch[name]), torch.from_dlpack(expected[name]))
        del batch
        assert all_returned(loader)


# ---- time ----


@needs_torch
@pytest.mark.parametrize("hold, slots", [("wait", 2), ("copy", 3)])
def test_a_busy_stream_reads_its_batch(data, stream, hold, slots):
    """Each copy is made long after the loop has released the batch. A slot that was filled again by then would show."""
    options = {"transform": recipe("float32"), "device_slots": slots, "hold": hold}
    expected = host_epoch(data, **options)
    with open_loader(data, **options) as loader:
        for _ in range(2):
            loader.set_epoch(0)
            made = []
            for batch in loader:
                torch.cuda._sleep(BUSY)
                made.append(content(batch))
                del batch
            for copies, host in zip(made, expected, strict=True):
                assert_same(copies, host)
        assert all_returned(loader)


@needs_torch
def test_an_epoch_that_is_left_early(data, stream):
    """The stream has not read the first batches yet when the epoch begins again, from its first batch."""
    expected = host_epoch(data)
    with open_loader(data, device_slots=2, hold="wait") as loader:
        for count in (1, 2, 3, len(expected)):
            loader.set_epoch(0)
            made = []
            for batch in loader:
                torch.cuda._sleep(BUSY)
                made.append(content(batch))
                del batch
                if len(made) == count:
                    break
            for copies, host in zip(made, expected):
                assert_same(copies, host)
        assert all_returned(loader)


@needs_torch
def test_a_thread_without_a_context_releases(data):
    """The batch was read on the default stream, which the thread has never used."""
    expected = host_epoch(data)
    with open_loader(data) as loader:
        made = []
        for batch in loader:
            torch.cuda._sleep(BUSY)
            made.append(content(batch))
            held = [batch]
            del batch
            thread = threading.Thread(target=held.clear)
            thread.start()
            thread.join()
        for copies, host in zip(made, expected, strict=True):
            assert_same(copies, host)
        assert all_returned(loader)


@needs_torch
def test_columns_outlive_their_batch_and_loader(data):
    options = {"transform": recipe("float16"), "dtype": "float16"}
    expected = host_epoch(data, **options)
    loader = open_loader(data, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # reports that further batches are copies
        kept = [batch["image"] for batch in loader]
    assert loader._handle.held == 2
    loader.close()
    handle = loader._handle
    del loader
    gc.collect()
    for image, host in zip(kept, expected, strict=True):
        assert same_bits(image, host["image"])
    del image
    kept.clear()
    assert wait_until(lambda: handle.held == 0)


@needs_torch
def test_two_loaders(data):
    """Their batches are in use at the same time."""
    options = [{"transform": recipe("float32")}, {"transform": recipe("uint8"), "seed": 9, "layout": "NHWC"}]
    hosts = [host_epoch(data, **each) for each in options]
    with open_loader(data, **options[0]) as first, open_loader(data, **options[1]) as second:
        for _ in range(3):
            first.set_epoch(0), second.set_epoch(0)
            for one, other, *expected in zip(first, second, *hosts, strict=True):
                torch.cuda._sleep(BUSY // 10)
                assert_same(one, expected[0])
                assert_same(other, expected[1])
        del one, other
        assert all_returned(first) and all_returned(second)


@needs_torch
def test_functions(data):
    """A function of a column runs on the tensor in GPU memory."""
    invert = T.Python(lambda images: 255 - images)
    assert_epochs_equal(data, transform=[*recipe("uint8"), invert])


@needs_torch
@pytest.mark.parametrize("own_thread", [False, True])
def test_hooks(data, stream, own_thread):
    """A hook works on the stream on which the loop takes batches, also on its own thread."""

    def hook(batch):
        torch.cuda._sleep(BUSY // 4)
        return batch["image"].float() * 2 + 1, batch["index"].clone()

    expected = [(host["image"].float() * 2 + 1, host["index"]) for host in host_epoch(data)]
    with open_loader(data, batch_hook=hook, batch_hook_thread=own_thread) as loader:
        count = 0
        for made, host in zip(loader, expected, strict=True):
            assert all(same_bits(*pair) for pair in zip(made, host, strict=True))
            count += 1
        assert count == len(expected) and all_returned(loader)


@needs_torch
def test_a_step_in_a_graph(data):
    """The loader works during the capture; each batch is copied to the graph's input, outside of it."""
    options = {"transform": recipe("float32"), "last_batch": "drop"}
    expected = host_epoch(data, **options)
    with open_loader(data, **options) as loader:
        batches = iter(loader)
        batch = next(batches)
        images, total = torch.empty_like(batch["image"]), torch.zeros_like(batch["image"])

        def step():
            total.add_(images * 2 + 1)

        step()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            step()
        for host in expected:
            images.copy_(batch["image"])
            total.zero_()
            graph.replay()
            assert same_bits(total, (host["image"].to("cuda") * 2 + 1).cpu())
            batch = next(batches, None)
        assert batch is None and all_returned(loader)


@needs_torch
def test_gradients(data):
    """Autograd keeps a batch until its backward pass, whose thread releases it."""
    weight = torch.full((3, 5), 0.25).to("cuda").requires_grad_()
    with open_loader(data, transform=recipe("float32")) as loader:
        for batch in loader:
            scores = batch["image"].mean((2, 3)) @ weight
            loss = torch.nn.functional.cross_entropy(scores, batch["label"])
            del batch
            loss.backward()
        assert torch.isfinite(weight.grad).all().item()
        del scores, loss
        assert all_returned(loader)


@needs_torch
@pytest.mark.parametrize("non_blocking", [False, True])
def test_host_batches_move(data, non_blocking):
    expected = host_epoch(data, transform=recipe("float32"))
    with open_loader(data, "cpu", transform=recipe("float32")) as loader:
        for batch, host in zip(loader, expected, strict=True):
            moved = batch.to("cuda", non_blocking=non_blocking)
            torch.cuda.synchronize()  # the host's memory is reused once the batch is released
            assert_same(moved, host)


# ---- the machine ----


def processors_of(node):
    text = pathlib.Path(f"/sys/devices/system/node/node{node}/cpulist").read_text().strip()
    ranges = [part.split("-") for part in text.split(",") if part]
    return {number for part in ranges for number in range(int(part[0]), int(part[-1]) + 1)}


def node_of_device():
    address = ctypes.create_string_buffer(32)
    assert DRIVER.cuDeviceGetPCIBusId(address, 32, 0) == 0
    file = pathlib.Path("/sys/bus/pci/devices") / address.value.decode().lower() / "numa_node"
    return int(file.read_text()) if file.exists() else -1


NEAR = "sluice-copy", "sluice-reap", "sluice-fetch", "sluice-dec-"  # threads that touch a batch's memory


def names_of_threads():
    return {int(task.name): (task / "comm").read_text().strip() for task in pathlib.Path("/proc/self/task").iterdir()}


def test_threads_are_near_the_device(data):
    node = node_of_device()
    if node < 0:
        pytest.skip("/sys does not say which NUMA node is near the device")
    own = os.sched_getaffinity(0)
    near = processors_of(node) & own
    with sluice.Loader(data, batch_size=4, transform=T.RandomResizedCrop(16), device="cuda") as loader:
        next(iter(loader))
        assert bool(loader.stats()["near_device"]) == (near not in (set(), own))
        if loader.stats()["near_device"]:
            mine = {number for number, name in names_of_threads().items() if name.startswith(NEAR)}
            assert mine and all(os.sched_getaffinity(number) <= near for number in mine)
