# SPDX-License-Identifier: Apache-2.0
"""Tensors, and the protocols by which other libraries import them."""
import ctypes
import gc
import pickle
import threading

import numpy
import pytest

import sluice
from sluice import transforms as T

VERSIONED, OLD = b"dltensor_versioned", b"dltensor"


def name_of(capsule):
    get = ctypes.pythonapi.PyCapsule_GetName
    get.restype, get.argtypes = ctypes.c_char_p, [ctypes.py_object]
    return get(capsule)


def pointer_of(capsule):
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return get(capsule, name_of(capsule))


@pytest.fixture
def loader(data, crop):
    with sluice.Loader(data, batch_size=8, transform=crop, num_workers=2) as made:
        yield made


@pytest.fixture
def batch(loader):
    return next(iter(loader))


def test_attributes(batch):
    image = batch["image"]
    assert image.shape == (8, 16, 16, 3) and image.ndim == 4 and len(image) == 8
    assert image.dtype == "uint8" and image.device == "cpu" and image.nbytes == 8 * 16 * 16 * 3
    assert batch["label"].dtype == "int64" and batch["label"].shape == (8,)
    assert "uint8" in repr(image) and "(8, 16, 16, 3)" in repr(image)


def test_all_views_show_the_same_memory(batch):
    image = batch["image"]
    arrays = [
        image.numpy(),
        numpy.asarray(image),
        numpy.asarray(memoryview(image)),
        numpy.from_dlpack(image),
        numpy.ndarray(image.shape, "u1", memoryview(image)),
    ]
    interface = image.__array_interface__
    assert interface["data"] == (image.data_ptr, False) and interface["typestr"] == "|u1"
    for array in arrays:
        assert array.__array_interface__["data"][0] == image.data_ptr
        assert array.shape == image.shape
    arrays[0][0, 0, 0, 0] ^= 255
    assert all((array == arrays[0]).all() for array in arrays)


def test_arrays_can_be_written(batch):
    assert batch["image"].numpy().flags.writeable
    assert not memoryview(batch["image"]).readonly


@pytest.mark.parametrize("copy", [None, False, True])
@pytest.mark.parametrize("version", [None, (0, 8), (1, 0), (1, 1), (2, 0)])
def test_capsules(batch, version, copy):
    capsule = batch["image"].__dlpack__(max_version=version, copy=copy)
    assert name_of(capsule) == (VERSIONED if version and version >= (1, 0) else OLD)


def test_the_versioned_struct(batch):
    class Tensor(ctypes.Structure):
        _fields_ = [
            ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
            ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
            ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
            ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64),
        ]  # fmt: skip

    class Versioned(ctypes.Structure):
        _fields_ = [
            ("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
            ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", Tensor),
        ]  # fmt: skip

    image = batch["image"]
    for copy, flags in ((False, 0), (True, 2)):
        capsule = image.__dlpack__(max_version=(1, 1), copy=copy)
        made = Versioned.from_address(pointer_of(capsule))
        assert (made.major, made.flags) == (1, flags)
        tensor = made.tensor
        assert (tensor.data == image.data_ptr) is not copy
        assert (tensor.device_type, tensor.device_id, tensor.ndim) == (1, 0, 4)
        assert (tensor.code, tensor.bits, tensor.lanes, tensor.byte_offset) == (1, 8, 1, 0)
        assert tuple(tensor.shape[:4]) == image.shape
        assert tuple(tensor.strides[:4]) == (16 * 16 * 3, 16 * 3, 3, 1)
        assert ctypes.string_at(tensor.data, image.nbytes) == bytes(memoryview(image))


def test_a_stream_is_the_devices(batch):
    assert batch["image"].__dlpack_device__() == (1, 0)
    batch["image"].__dlpack__(stream=None, dl_device=(1, 0))
    for stream in (-1, 0, 1, 2, 12345):
        with pytest.raises(BufferError):
            batch["image"].__dlpack__(stream=stream)
    with pytest.raises(BufferError):
        batch["image"].__dlpack__(dl_device=(2, 0))
    with pytest.raises(AttributeError):
        batch["image"].__cuda_array_interface__


def test_bfloat16_has_no_buffer(data):
    torch = pytest.importorskip("torch")
    loader = sluice.Loader(data, batch_size=4, transform=T.RandomResizedCrop(16), dtype="bfloat16")
    image = next(iter(loader))["image"]
    with pytest.raises(BufferError, match="DLPack"):
        memoryview(image)
    with pytest.raises(TypeError, match="torch"):
        image.numpy()
    assert image.torch().dtype == torch.bfloat16
    assert not hasattr(image, "__array_interface__")
    for convert in (numpy.asarray, numpy.array):
        with pytest.raises(TypeError, match="bfloat16"):
            convert(image)
    assert image.tolist() == image.torch().tolist()


def test_rows(batch):
    image, array = batch["image"], batch["image"].numpy()
    assert (image[2].numpy() == array[2]).all() and image[2].shape == (16, 16, 3)
    assert (image[-1].numpy() == array[-1]).all()
    assert (image[2:5].numpy() == array[2:5]).all() and len(image[5:2]) == 0
    assert numpy.asarray(image[5:5]).shape == (0, 16, 16, 3)
    assert list(batch["index"]) == batch["index"].tolist() == batch["index"].numpy().tolist()
    assert image.tolist() == array.tolist() and image[1][2][3][1] == array[1, 2, 3, 1]
    with pytest.raises(IndexError):
        image[8]
    with pytest.raises(ValueError):
        image[::2]
    with pytest.raises(TypeError):
        image["a"]


def test_an_empty_tensor_exports(batch):
    empty = batch["image"][3:3]
    assert numpy.from_dlpack(empty).shape == (0, 16, 16, 3)
    torch = pytest.importorskip("torch")
    assert torch.from_dlpack(empty).shape == (0, 16, 16, 3)


def test_a_tensor_outlives_all(data, crop):
    kept = []
    for view_of in (lambda t: t, lambda t: t.numpy(), memoryview, numpy.from_dlpack, lambda t: t[1:3].numpy()):
        loader = sluice.Loader(data, batch_size=8, transform=crop)
        image = next(iter(loader))["image"]
        kept.append((view_of(image), bytes(memoryview(image))))
        loader.close()
        del loader, image
    gc.collect()
    for thing, expected in kept:
        found = bytes(memoryview(thing))
        assert found == expected or found == expected[768 : 768 * 3]


def test_orders_of_letting_go(data, crop):
    """Batch, tensor, export, loader: released in each order, the slot stays intact until the last one is gone."""
    import itertools

    for order in itertools.permutations(range(4)):
        loader = sluice.Loader(data, batch_size=8, transform=crop)
        batch = next(iter(loader))
        tensor = batch["image"]
        things = [loader, batch, tensor, numpy.from_dlpack(tensor)]
        expected = things[3].tobytes()
        del loader, batch, tensor
        for which in order:
            if things[3] is not None:
                assert things[3].tobytes() == expected
            things[which] = None


def test_a_deleter_on_a_foreign_thread(loader, batch):
    """Without the GIL: called through ctypes, which releases it."""
    capsule = batch["image"].__dlpack__()
    pointer = pointer_of(capsule)
    rename = ctypes.pythonapi.PyCapsule_SetName
    rename.argtypes = [ctypes.py_object, ctypes.c_char_p]
    rename(capsule, b"used_dltensor")
    deleter = ctypes.cast(pointer + 56, ctypes.POINTER(ctypes.c_void_p))[0]
    batch.release()
    assert loader._handle.held == 1
    thread = threading.Thread(target=ctypes.CFUNCTYPE(None, ctypes.c_void_p)(deleter), args=(pointer,))
    thread.start()
    thread.join()
    assert loader._handle.held == 0


def test_released_batches_say_so(batch):
    image = batch["image"].numpy()
    before = image.copy()
    batch.release()
    batch.release()
    with pytest.raises(sluice.StateError, match="released"):
        batch["image"]
    assert (image == before).all() and "released" in repr(batch)


def test_types_cannot_be_made_or_derived_from():
    for kind in (sluice.Tensor, sluice._sluice.Batch):
        with pytest.raises(TypeError):
            kind()
        with pytest.raises(TypeError):
            type("Derived", (kind,), {})


def test_numbers(data):
    """A tensor of one element converts to a number, and no other does."""
    one = next(iter(sluice.Loader(data, batch_size=1, transform=T.RandomResizedCrop(16))))
    label, image = one["label"], one["image"]
    assert int(label) == label.item() == label[0] == float(label) == label.numpy()[0] and [10, 20, 30][label] in (10, 20, 30)
    assert bool(label) == bool(label.numpy()[0])
    for convert in (int, float, bool, lambda tensor: tensor.item(), lambda tensor: [1][tensor]):
        with pytest.raises(TypeError, match="one element"):
            convert(image)
    for other in (3, label.numpy(), one["index"]):
        with pytest.raises(TypeError, match="cannot compare tensors"):
            label == other
    assert label == label and label != None and label in {label: 1}  # noqa: E711
    torch = pytest.importorskip("torch")
    assert torch.as_tensor(label).tolist() == label.tolist()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "bool"])
def test_elements_of_all_dtypes(tmp_path, dtype):
    if dtype == "float16":
        values = numpy.arange(1 << 16, dtype=numpy.uint16).view("float16")
    elif dtype.startswith("float"):
        values = numpy.array([0.0, -0.0, 1.5, -2.25, numpy.inf, -numpy.inf, numpy.nan, 1e-40, 3e38], dtype)
    elif dtype == "bool":
        values = numpy.array([True, False])
    else:
        values = numpy.array([numpy.iinfo(dtype).min, 0, 1, numpy.iinfo(dtype).max], dtype)
    with sluice.Writer(tmp_path / "p", {"x": ("tensor", dtype, values.shape), "none": ("tensor", dtype, ())}) as writer:
        writer.add(x=values, none=values[1])
    (batch,) = sluice.Loader(tmp_path / "p")
    assert numpy.array_equal(batch["x"].tolist(), [values.tolist()], equal_nan=dtype.startswith("float"))
    assert all(type(a) is type(b) for a, b in zip(batch["x"].tolist()[0], values.tolist())) and batch["none"].shape == (1,)


def test_arguments_of_the_protocols(batch):
    image = batch["image"]
    for name in ("max_version", "dl_device"):
        for wrong in ([1, 0], 3, (1,), ("a", "b")):
            with pytest.raises(TypeError):
                image.__dlpack__(**{name: wrong})
    assert image.__array__(numpy.float64).dtype == numpy.float64
    copy = image.__array__(copy=True)
    copy += 1
    assert not (copy == image.numpy()).all()
    for protocol in range(5):
        with pytest.raises(TypeError, match="pickle"):
            pickle.dumps(image, protocol)
    buffers = pytest.importorskip("_testbuffer")
    with pytest.raises(BufferError, match="order"):
        buffers.ndarray(image, getbuf=buffers.PyBUF_F_CONTIGUOUS)
    assert buffers.ndarray(image, getbuf=buffers.PyBUF_C_CONTIGUOUS).nbytes == image.nbytes
    assert buffers.ndarray(batch["label"], getbuf=buffers.PyBUF_F_CONTIGUOUS).nbytes == 64


def test_a_batch_that_is_released_while_it_is_asked(data):
    box = []
    loader = sluice.Loader(data, batch_size=8, transform=[T.RandomResizedCrop(8), T.Python(lambda a: (box[0].release(), a)[1])])
    for use in (lambda batch: batch.asked(), lambda batch: batch["image"]):
        iter(loader)
        batch = loader._handle.next(loader._convert)  # the batch that sluice.Batch wraps
        box[:] = [batch]
        use(batch)
        with pytest.raises(sluice.StateError, match="released"):
            batch["label"]
        assert loader._handle.held == 0 and batch.released

    class Name(str):
        def __hash__(self):
            box[0].release()
            return hash(str(self))

    batch = next(iter(sluice.Loader(data, batch_size=8, transform=T.RandomResizedCrop(8))))
    box[:] = [batch]
    assert batch[Name("label")].shape == (8,)
    plain = sluice.Loader(data, batch_size=2, transform=T.RandomResizedCrop(8))
    for batch in plain:
        thread = threading.Thread(target=batch.release)
        thread.start()
        try:
            batch.items()
        except sluice.StateError:
            pass
        thread.join()


def test_a_function_that_fails_is_not_called_again(data):
    calls = []

    def fail_half_way(images):
        calls.append(1)
        images //= 2
        raise ZeroDivisionError

    loader = sluice.Loader(data, batch_size=4, transform=[T.RandomResizedCrop(8), T.Python(fail_half_way)])
    iterator = iter(loader)
    with pytest.raises(ZeroDivisionError):
        next(iterator)
    assert len(calls) == 1 and loader.remaining == len(loader) - 1
    batch = loader._handle.next(loader._convert)
    with pytest.raises(ZeroDivisionError):
        batch["image"]
    with pytest.raises(sluice.StateError, match="failed"):
        batch["image"]
    assert len(calls) == 2 and batch["label"].shape == (4,)


def test_a_forked_child_reads_what_it_has(run_python, photos):
    program = """
import os, sys, sluice
from sluice import transforms as T
batch = next(iter(sluice.Loader(sys.argv[1], batch_size=4, transform=T.RandomResizedCrop(16))))
image = memoryview(batch["image"])
total = sum(image.cast("B"))
child = os.fork()
if child == 0:
    try:
        if len(batch["label"].tolist()) == 4:  # a copy
            batch["index"]
    except sluice.StateError as error:
        os._exit(3 if sum(image.cast("B")) == total and "fork" in str(error) else 4)
    os._exit(5)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert run_python(program, photos).stdout == "3\n"
