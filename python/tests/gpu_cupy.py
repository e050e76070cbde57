# SPDX-License-Identifier: Apache-2.0
"""Columns on a GPU as CuPy reads them, by DLPack and by __cuda_array_interface__. test_gpu.py runs this file."""
import gc

import numpy
import pytest
from gpu_batches import DTYPES, LAYOUTS, host_epoch, names_of, recipe, skip_without_gpu, wait_until, write_objects

import sluice
from sluice import columns as C
from sluice import transforms as T

skip_without_gpu()
try:
    import cupy
except ImportError as error:
    pytest.skip(f"no CuPy: {error}", allow_module_level=True)
if not cupy.is_available():
    pytest.skip("CuPy finds no CUDA device", allow_module_level=True)


def same(array, expected):
    """Compares an array in GPU memory with the host's bits."""
    dtype, shape, content = expected
    return str(array.dtype) == dtype and array.shape == shape and array.get().tobytes() == content


def all_returned(loader):
    gc.collect()
    return wait_until(lambda: loader._handle.held == 0)


@pytest.mark.parametrize("read", [cupy.from_dlpack, cupy.asarray], ids=["from_dlpack", "asarray"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [dtype for dtype in DTYPES if dtype != "bfloat16"])
def test_dtypes_and_layouts(data, dtype, layout, read):
    options = {"batch_size": 4, "shuffle": True, "transform": recipe(dtype), "dtype": dtype, "layout": layout}
    with sluice.Loader(data, device="cuda", **options) as loader:
        for batch, expected in zip(loader, host_epoch(data, **options), strict=True):
            assert all(same(read(batch[name]), expected[name]) for name in names_of(batch))
        del batch
        assert all_returned(loader)


def test_bfloat16(data):
    """CuPy needs ml_dtypes for it. If the import fails, the slot comes back."""
    options = {"batch_size": 4, "transform": recipe("bfloat16"), "dtype": "bfloat16"}
    with sluice.Loader(data, device="cuda", **options) as loader:
        why = None
        for batch, expected in zip(loader, host_epoch(data, **options), strict=True):
            try:
                array = cupy.from_dlpack(batch["image"])
            except (NotImplementedError, TypeError) as error:
                why = str(error)
            else:
                assert same(array, expected["image"])
                del array
        del batch
        assert all_returned(loader)
    if why is not None:
        pytest.skip(why)


@pytest.mark.parametrize("read", [cupy.from_dlpack, cupy.asarray], ids=["from_dlpack", "asarray"])
def test_empty_columns(tmp_path, read):
    """The first batch has rows, but no boxes."""
    objects = write_objects(tmp_path / "packed")
    columns = {
        "image": C.Image(transform=T.Resize((24, 24))), "boxes": C.Boxes("boxes", length=8),
        "labels": C.Ragged("labels", length=8, follows="boxes"),
    }  # fmt: skip
    expected = host_epoch(objects, batch_size=4, columns=columns)
    assert expected[0]["boxes"][1] == (0, 4)
    with sluice.Loader(objects, batch_size=4, columns=columns, device="cuda") as loader:
        for batch, host in zip(loader, expected, strict=True):
            assert all(same(read(batch[name]), host[name]) for name in names_of(batch))
        del batch
        assert all_returned(loader)


def test_a_busy_stream_reads_its_batch(data):
    """The stream makes long copies first, so each column is copied long after the loop has released it."""
    options = {"batch_size": 4, "shuffle": True, "transform": recipe("float32")}
    busy = [cupy.zeros(1 << 27, "uint8") for _ in range(2)]
    with sluice.Loader(data, device="cuda", device_slots=2, **options) as loader, cupy.cuda.Stream(non_blocking=True) as stream:
        made = []
        for batch in loader:
            for _ in range(40):
                busy[0].data.copy_from_device_async(busy[1].data, busy[0].nbytes, stream)
            image = cupy.from_dlpack(batch["image"])
            copy = cupy.empty(image.shape, image.dtype)
            copy.data.copy_from_device_async(image.data, image.nbytes, stream)
            made.append(copy)
            del batch, image
        stream.synchronize()
        for copy, expected in zip(made, host_epoch(data, **options), strict=True):
            assert same(copy, expected["image"])
        assert all_returned(loader)


def test_arrays_outlive_their_loader(data):
    options = {"batch_size": 4, "transform": recipe("float32")}
    loader = sluice.Loader(data, device="cuda", **options)
    expected = host_epoch(data, **options)
    batches = iter(loader)
    kept = [cupy.asarray(next(batches)["image"]), cupy.from_dlpack(next(batches)["image"])]
    loader.close()
    del loader, batches
    gc.collect()
    assert all(same(array, host["image"]) for array, host in zip(kept, expected))
    assert numpy.isfinite(kept[0].get()).all()
