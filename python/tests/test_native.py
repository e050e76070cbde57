# SPDX-License-Identifier: Apache-2.0
"""transforms.Native: its calls, the objects that it keeps alive, and its errors. The function is compiled here; the oracle is numpy.

tests/api/loader_native_test.c tests the steps, groups and seeds themselves."""
import _ctypes
import copy
import ctypes
import gc
import io
import os
import pathlib
import pickle
import shutil
import subprocess
import weakref

import numpy
import PIL.Image
import pytest

import sluice
from sluice import columns as C
from sluice import transforms as T

SOURCE = """
#include <sluice/augment.h>
int add(uint8_t *pixels, uint32_t width, uint32_t height, size_t stride, uint64_t seed, void *user_data)
{
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t i = 0; i < 3 * width; i++)
            pixels[y * stride + i] = (uint8_t)(pixels[y * stride + i] + (user_data ? *(const uint8_t *)user_data : 1));
    return 0;
}
int seed(uint8_t *pixels, uint32_t width, uint32_t height, size_t stride, uint64_t seed, void *user_data)
{
    *(uint64_t *)pixels = seed;
    return 0;
}
int refuse(uint8_t *pixels, uint32_t width, uint32_t height, size_t stride, uint64_t seed, void *user_data)
{
    return -12345;
}
"""
ROOT = pathlib.Path(__file__).parents[2]
KIND = T.Native.function_type()


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("native")
    (folder / "steps.c").write_text(SOURCE)
    path = folder / "libsteps.so"
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", f"-I{ROOT / 'include'}", "-o", path, folder / "steps.c"], check=True)
    return path


@pytest.fixture
def steps(library):
    return ctypes.CDLL(str(library))


def images(data, *more, **options):
    crop = T.RandomResizedCrop(16)
    with sluice.Loader(data, batch_size=8, seed=1, transform=[crop, *more], num_workers=2, **options) as loader:
        return numpy.concatenate([numpy.array(batch["image"]) for batch in loader])


def test_every_way_to_say_a_function(data, library, steps):
    plain = images(data)
    address = ctypes.cast(steps.add, ctypes.c_void_p).value
    typed = ctypes.CDLL(str(library)).add
    typed.argtypes, typed.restype = KIND._argtypes_, ctypes.c_int
    ways = [steps.add, typed, KIND(("add", steps)), KIND(address), (library, "add"), [str(library), "add"]]
    made = [T.Native(way) for way in ways] + [T.Native(address, keep=steps)]
    for native in made:
        assert (images(data, native) == plain + 1).all()
    assert repr(T.Native((library, "add"))) == "Native(name='add')" and repr(T.Native(steps.add)) == "Native(name='native')"


def test_cffi(data, library):
    cffi = pytest.importorskip("cffi")
    ffi = cffi.FFI()
    arguments = "uint8_t *, uint32_t, uint32_t, size_t, uint64_t, void *"
    ffi.cdef(f"int add({arguments}); int seed(uint8_t *, double);")
    opened = ffi.dlopen(str(library))
    pointer = ffi.cast(f"int (*)({arguments})", opened.add)
    assert (images(data, T.Native(opened.add), T.Native(pointer)) == images(data) + 2).all()
    for wrong, words in ((opened.seed, "double"), (ffi.NULL, "not a function"), (ffi.cast("int *", pointer), "not a function")):
        with pytest.raises(TypeError, match=words):
            T.Native(wrong)
    with pytest.raises(TypeError, match="it is NULL"):
        T.Native(ffi.cast(f"int (*)({arguments})", 0))


def unload_by_ctypes(path):
    opened = ctypes.CDLL(path)
    native = T.Native(opened.add)
    _ctypes.dlclose(opened._handle)
    return native


def open_by_cffi(path):
    ffi = pytest.importorskip("cffi").FFI()
    ffi.cdef("int add(uint8_t *, uint32_t, uint32_t, size_t, uint64_t, void *);")
    return ffi, ffi.dlopen(path)


def unload_by_cffi(path):
    ffi, opened = open_by_cffi(path)
    native = T.Native(opened.add)
    ffi.dlclose(opened)
    return native


def drop_of_cffi(path):
    return T.Native(open_by_cffi(path)[1].add)


def unload_behind_an_address(path):
    opened = ctypes.CDLL(path)
    native = T.Native(ctypes.cast(opened.add, ctypes.c_void_p).value, keep="its owner")
    _ctypes.dlclose(opened._handle)
    return native


@pytest.mark.parametrize("make", [unload_by_ctypes, unload_by_cffi, drop_of_cffi, unload_behind_an_address])
def test_a_library_stays_loaded(data, library, tmp_path, make):
    path = shutil.copy(library, tmp_path / "libgone.so")
    native = make(str(path))
    gc.collect()
    assert str(path) in pathlib.Path("/proc/self/maps").read_text()  # otherwise the call below would end the process
    assert (images(data, native) == images(data) + 1).all()


def test_user_data(data, steps):
    class Pair(ctypes.Structure):
        _fields_ = [("first", ctypes.c_uint8), ("second", ctypes.c_uint8)]

    plain, number = images(data), ctypes.c_uint8(7)
    for given in (b"\7", bytearray(b"\7"), numpy.array([7, 8], "uint8"), Pair(7, 9), number, ctypes.pointer(number),
                  ctypes.cast(ctypes.pointer(number), ctypes.c_void_p), ctypes.addressof(number)):  # fmt: skip
        assert (images(data, T.Native(steps.add, given)) == plain + 7).all(), given
    held = bytearray(b"\7")
    loader = sluice.Loader(data, transform=[T.RandomCrop(8), T.Native(steps.add, held)])
    with pytest.raises(BufferError):
        held.append(1)
    loader.close()
    held.append(1)
    with pytest.raises(ValueError, match="C-contiguous"):
        T.Native(steps.add, numpy.zeros((4, 4))[:, ::2])
    for wrong in (1.5, "text", object(), True, -1):
        with pytest.raises(TypeError, match="user_data="):
            T.Native(steps.add, wrong)


def test_what_is_kept_is_kept_until_the_loader_closes(data, steps):
    class Kept(numpy.ndarray):
        pass

    kept = numpy.array([3], "uint8").view(Kept)
    gone, plain = weakref.ref(kept), images(data)
    transform = [T.RandomResizedCrop(16), T.Native(steps.add, kept)]
    loader = sluice.Loader(data, batch_size=8, seed=1, transform=transform)
    del kept, transform
    gc.collect()
    assert gone() is not None
    assert (numpy.concatenate([numpy.array(batch["image"]) for batch in loader]) == plain + 3).all()
    loader.close()
    del loader  # the loader keeps its transform alive
    gc.collect()
    assert gone() is None


def test_in_groups_views_and_mosaics(data, steps):
    one, two = T.Native(steps.add, b"\1"), T.Native(steps.add, b"\2")
    plain = images(data)
    chosen = images(data, T.RandomChoice([one, two])) - plain
    assert set(numpy.unique(chosen)) == {1, 2} and (chosen == chosen[:, :1, :1, :1]).all()
    assert set(numpy.unique(images(data, T.RandomApply([one], p=0.5)) - plain)) == {0, 1}
    crop = T.RandomResizedCrop(16)

    def views(*more):
        columns = {"a": C.Image("image", transform=[crop, *more]), "b": C.Image("image", transform=[crop, *more, *more])}
        return next(iter(sluice.Loader(data, batch_size=33, columns=columns)))

    (a, b), (plain_a, plain_b) = ([numpy.array(batch[name]) for name in "ab"] for batch in (views(one), views()))
    assert (a == plain_a + 1).all() and (b == plain_b + 2).all()

    def mosaic(*more):
        return next(iter(sluice.Loader(data, batch_size=8, transform=[T.Mosaic(16), *more, T.CenterCrop(16)])))["image"].numpy()

    assert (mosaic(two) == mosaic() + 2).all()


def test_masks_do_not_see_it(steps, tmp_path):
    file = io.BytesIO()
    PIL.Image.fromarray(numpy.full((20, 30, 3), 9, "uint8")).save(file, "PNG")
    with sluice.Writer(tmp_path / "packed", {"image": "image", "mask": ("tensor", "uint8", (20, 30))}) as writer:
        writer.add(image=file.getvalue(), mask=numpy.arange(600).reshape(20, 30).astype("uint8"))

    def batch(*more):
        columns = {"image": C.Image(transform=[T.RandomResizedCrop(16), T.RandomRotation(9), *more]), "seg": C.Mask("mask")}
        return next(iter(sluice.Loader(tmp_path / "packed", columns=columns)))

    made, plain = batch(T.Native(steps.add)), batch()
    assert (made["image"].numpy() == plain["image"].numpy() + 1).all()
    assert (made["seg"].numpy() == plain["seg"].numpy()).all()


def test_seeds_are_of_the_row_and_the_step(data, steps):
    first, again = (images(data, T.Native(steps.seed))[:, 0, :8].reshape(33, -1)[:, :8] for _ in range(2))
    assert (first == again).all() and len({bytes(row) for row in first}) == 33


def test_a_result_that_is_not_0_is_a_bad_sample(data, steps):
    with pytest.raises(sluice.Error, match='native step "fog": its function returned -12345 for an image of 16 x 16'):
        images(data, T.Native(steps.refuse, name="fog"))
    assert not images(data, T.Native(steps.refuse), on_bad_sample="mask").any()


def test_it_stands_before_floats(data, steps):
    with pytest.raises(ValueError, match="comes too late: it works on 8-bit pixels"):
        images(data, T.ToTensor(), T.Native(steps.add))


def wrong_kind(*changes):
    kinds = list(KIND._argtypes_)
    for place, kind in changes:
        kinds[place] = kind
    return kinds


@pytest.mark.parametrize("kind, words", [
    (ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p), "it has 1 arguments, expected 6"),
    (ctypes.CFUNCTYPE(ctypes.c_int, *wrong_kind((1, ctypes.c_uint64))), "argument 2 is c_ulong, expected an integer of 4 bytes"),
    (ctypes.CFUNCTYPE(ctypes.c_int, *wrong_kind((4, ctypes.c_double))), "argument 5 is c_double"),
    (ctypes.CFUNCTYPE(ctypes.c_int, *wrong_kind((0, ctypes.c_uint64))), "argument 1 is c_ulong, expected a pointer"),
    (ctypes.CFUNCTYPE(None, *KIND._argtypes_), "it returns None, expected an int"),
    (ctypes.PYFUNCTYPE(ctypes.c_int, *KIND._argtypes_), "needs Python's lock"),
])  # fmt: skip
def test_signatures_that_do_not_fit(steps, kind, words):
    with pytest.raises(TypeError, match=words):
        T.Native(kind(ctypes.cast(steps.add, ctypes.c_void_p).value))


@pytest.mark.parametrize("function, error, words", [
    (None, TypeError, "expected a compiled function"),
    (0, TypeError, "not an address"),
    (4096, TypeError, "an address needs keep="),
    (True, TypeError, "expected a compiled function"),
    (KIND(0), TypeError, "it is NULL"),
    (len, TypeError, r"function of Python: compile it .*transforms\.Python\(f\).*CFUNCTYPE"),
    (lambda *given: 0, TypeError, "function of Python"),
    (("libnowhere.so", "add"), ValueError, "cannot load the library"),
    (("libc.so.6", "no_such_symbol"), ValueError, "has no symbol 'no_such_symbol'"),
    (("libc.so.6",), TypeError, r"expected \('libfoo.so', 'symbol'\)"),
    ((3, "abs"), TypeError, "two texts"),
])  # fmt: skip
def test_what_is_no_function(function, error, words):
    with pytest.raises(error, match=words):
        T.Native(function)


@pytest.mark.parametrize("name", ["", "a\nb", "x" * 64, "ä" * 32])
def test_names(steps, name):
    with pytest.raises(ValueError, match="name="):
        T.Native(steps.add, name=name)


def test_a_python_function_behind_a_pointer_warns(data):
    def darker(pixels, width, height, stride, seed, user_data):
        for i in range(width * 3):
            pixels[i] //= 2
        return 0

    plain = images(data)
    with pytest.warns(UserWarning, match="takes Python's lock for each sample"):
        native = T.Native(KIND(darker))
    made = images(data, native)
    assert (made[:, 0] == plain[:, 0] // 2).all() and (made[:, 1:] == plain[:, 1:]).all()


def test_it_stays_in_its_process(steps):
    native = T.Native(steps.add, name="mine")
    with pytest.raises(TypeError, match=r"Native\(name='mine'\) cannot be pickled: it has the address of a function"):
        pickle.dumps(T.Compose([native]))
    assert copy.deepcopy(native) is native and copy.copy(native) is native


def test_a_state_goes_on(data, steps):
    def loader():
        return sluice.Loader(data, batch_size=4, seed=5, transform=[T.RandomResizedCrop(8), T.Native(steps.seed)])

    whole, interrupted, resumed = loader(), loader(), loader()
    expected = [batch["image"].numpy().copy() for batch in whole]
    iterator = iter(interrupted)
    next(iterator)
    resumed.load_state_dict(interrupted.state_dict())
    assert all((a["image"].numpy() == b).all() for a, b in zip(resumed, expected[1:], strict=True))


def block_of(language):
    """Returns the first code block of docs/native.md."""
    return (ROOT / "docs/native.md").read_text().partition(f"```{language}\n")[2].partition("```")[0]


def test_the_page(photos, tmp_path, monkeypatch):
    if "asan" in os.environ.get("LD_PRELOAD", ""):
        pytest.skip("numba's compiler takes long under a sanitizer")
    pytest.importorskip("numba")
    (tmp_path / "photos").symlink_to(photos)
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(compile(block_of("python"), "native.md", "exec"), names)
    assert names["images"].shape[1:] == (224, 224, 3)


def test_the_page_in_c(library, tmp_path):
    (tmp_path / "darken.c").write_text(block_of("c"))
    flags = ["-O2", "-Wall", "-Werror", "-shared", "-fPIC", f"-I{ROOT / 'include'}"]
    subprocess.run(["cc", *flags, "-o", tmp_path / "d.so", tmp_path / "darken.c"], check=True)
    T.Native((tmp_path / "d.so", "darken"))
