# SPDX-License-Identifier: Apache-2.0
"""Columns on a GPU as JAX reads them. test_gpu.py runs this file."""
import gc
import os

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # else it takes most of the GPU's memory

import numpy
import pytest
from gpu_batches import DTYPES, LAYOUTS, host_epoch, names_of, recipe, skip_without_gpu, wait_until, write_objects

import sluice
from sluice import columns as C
from sluice import transforms as T

skip_without_gpu()
try:
    import jax

    jax.devices("cuda")
except (ImportError, RuntimeError) as error:
    pytest.skip(f"no JAX with a CUDA device: {error}", allow_module_level=True)


def read(column):
    return jax.dlpack.from_dlpack(column)


def same(array, expected):
    """Compares an array with the host's bits. Without 64-bit types, some versions of JAX make int64 int32."""
    dtype, shape, content = expected
    made = numpy.asarray(array)
    if dtype == "int64" and made.dtype == "int32" and not jax.config.jax_enable_x64:
        dtype, content = "int32", numpy.frombuffer(content, "int64").astype("int32").tobytes()
    return made.dtype.name == dtype and made.shape == shape and made.tobytes() == content


def all_returned(loader):
    gc.collect()
    return wait_until(lambda: loader._handle.held == 0)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes_and_layouts(data, dtype, layout):
    options = {"batch_size": 4, "shuffle": True, "transform": recipe(dtype), "dtype": dtype, "layout": layout}
    with sluice.Loader(data, device="cuda", **options) as loader:
        for batch, expected in zip(loader, host_epoch(data, **options), strict=True):
            for name in names_of(batch):
                array = read(batch[name])
                assert array.devices() == {jax.devices("cuda")[0]} and same(array, expected[name]), name
        del batch, array
        assert all_returned(loader)


def test_empty_columns(tmp_path):
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


def test_a_jitted_step(data):
    """Each result is ready before the batch is released, as docs/trainers.md requires."""
    options = {"batch_size": 4, "shuffle": True, "transform": recipe("float32"), "last_batch": "drop"}
    step = jax.jit(lambda images, labels: (images * 2 + 1, labels + 1))
    with sluice.Loader(data, device="cuda", **options) as loader:
        for batch, expected in zip(loader, host_epoch(data, **options), strict=True):
            images, labels = jax.block_until_ready(step(read(batch["image"]), read(batch["label"])))
            del batch
            _, shape, content = expected["image"]
            assert (numpy.asarray(images) == numpy.frombuffer(content, "float32").reshape(shape) * 2 + 1).all()
            assert (numpy.asarray(labels) == numpy.frombuffer(expected["label"][2], "int64") + 1).all()
        assert all_returned(loader)


def test_arrays_outlive_their_loader(data):
    options = {"batch_size": 4, "transform": recipe("float32")}
    loader = sluice.Loader(data, device="cuda", **options)
    kept = [read(next(iter(loader))["image"])]
    loader.close()
    del loader
    gc.collect()
    assert same(kept[0], host_epoch(data, **options)[0]["image"])


@pytest.mark.xfail(reason="JAX may release its view of a column when a step is only queued", strict=False)
def test_a_queued_step_keeps_its_batch(data):
    """Queues long work first and releases each batch at once; a slot that is filled again before the step runs would show."""
    options = {"batch_size": 4, "shuffle": True, "transform": recipe("float32"), "last_batch": "drop"}
    busy = jax.numpy.zeros(1 << 26, "float32")
    work = jax.jit(lambda x: jax.lax.fori_loop(0, 100, lambda _, y: jax.numpy.sin(y), x))  # 10 ms or more
    step = jax.jit(lambda images, after: images * 2 + 1 + 0 * after[0])
    jax.block_until_ready(work(busy))
    with sluice.Loader(data, device="cuda", device_slots=2, **options) as loader:
        made = []
        for batch in loader:
            made.append(step(read(batch["image"]), work(busy)))
            del batch
        for images, expected in zip(made, host_epoch(data, **options), strict=True):
            _, shape, content = expected["image"]
            assert (numpy.asarray(images) == numpy.frombuffer(content, "float32").reshape(shape) * 2 + 1).all()
