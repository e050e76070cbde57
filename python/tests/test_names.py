# SPDX-License-Identifier: Apache-2.0
"""Mistyped names: the error suggests the name that was probably meant, or lists all of them."""
import inspect
import os
import pickle
import subprocess
import sys

import pytest

import sluice
from sluice import columns as C, transforms as T

PATHS = os.pathsep.join(sys.path)


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda photos: sluice.Loader(photos, batchsize=8), r"Loader.*'batchsize'; did you mean 'batch_size'\?"),
        (lambda photos: sluice.Loader(photos, workers=8), r"did you mean 'num_workers'\?"),
        (lambda photos: sluice.Loader(photos, shufle=True), r"did you mean 'shuffle'\?"),
        (lambda photos: sluice.Loader(photos, nonsense=8), r"unexpected keyword argument 'nonsense'$"),
        (lambda photos: sluice.Dataset(photos, feilds={}), r"Dataset.*did you mean 'fields'\?"),
        (lambda photos: sluice.pack(photos, "p", shard_size=1 << 20), r"pack\(\).*'shard_size'"),
        (lambda photos: sluice.pack(photos, "p", over_write=True), r"did you mean 'overwrite'\?"),
        (lambda photos: sluice.unpack(photos, "p", sahrd_bytes=1), r"unpack.*did you mean 'shard_bytes'\?"),
        (lambda photos: sluice.Writer("p", {"x": "int"}, keepbytes=True), r"Writer.*did you mean 'keep_bytes'\?"),
    ],
)
def test_keyword_arguments(photos, call, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TypeError, match=words):
        call(photos)
    assert not list(tmp_path.iterdir())


def test_values(photos, tmp_path):
    crop = T.RandomResizedCrop(8)
    for call, words in (
        (lambda: sluice.Loader(photos, transform=crop, shuffle="blok"), "shuffle='blok': .*; did you mean 'block'"),
        (lambda: sluice.Loader(photos, transform=crop, dtype="fp16"), "unknown dtype 'fp16': .*; did you mean 'f16'"),
        (lambda: sluice.Loader(photos, transform=crop, layout="nchv"), "did you mean 'nchw'"),
        (lambda: sluice.Loader(photos, transform=crop, page_cache="Bufered"), "did you mean 'buffered'"),
        (lambda: sluice.Loader(photos, transform=crop, shuffle="quasi"), "'shards'$"),
        (lambda: sluice.pack(photos, tmp_path / "p", zstd="aut"), "did you mean 'auto'"),
        (lambda: sluice.Writer(tmp_path / "p", {"x": "imgae"}), "did you mean 'image'"),
        (lambda: C.Ragged(length=3, too_long="truncat"), "did you mean 'truncate'"),
    ):
        with pytest.raises(ValueError, match=words):
            call()


def test_attributes():
    for call, words in (
        (lambda: T.RandomResizeCrop, "did you mean 'RandomResizedCrop'"),
        (lambda: C.Imgae, "did you mean 'Image'"),
        (lambda: sluice.DataSet, "did you mean 'Dataset'"),
        (lambda: sluice.nonsense, "has no attribute 'nonsense'$"),
    ):
        with pytest.raises(AttributeError, match=words):
            call()
    assert not hasattr(T, "__nothing__") and not hasattr(sluice, "_names_")


def test_fields(photos):
    data = sluice.Dataset(photos)
    for call, words in (
        (lambda: data.read(0, "imgae"), 'unknown field "imgae": the fields are image, label'),
        (lambda: data.decode(0, "imgae"), "the image fields are image"),
        (lambda: data.numbers("labl"), 'unknown field "labl": the fields are image, label'),
        (lambda: data.where("labl < 1"), "the fields are image, label"),
        (lambda: sluice.concat([data, data], fields=["labl"]), "its fields are image, label"),
        (lambda: sluice.Loader(data, columns={"labl": C.Number()}), "its fields are image, label"),
    ):
        with pytest.raises(sluice.InvalidError, match=words):
            call()


def test_functions_are_as_before():
    """Signatures for editors, texts for help(), names for pickle."""
    assert "batch_size" in inspect.signature(sluice.Loader).parameters
    assert list(inspect.signature(sluice.pack).parameters)[:2] == ["source", "path"]
    assert sluice.pack.__doc__.startswith("Packs") and sluice.Loader.__init__.__qualname__ == "Loader.__init__"
    assert pickle.loads(pickle.dumps(sluice.pack)) is sluice.pack
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'dataset'"):
        sluice.Loader()


def run(program):
    done = subprocess.run([sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": PATHS}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_torch_that_is_not_there():
    said = run("import sys, sluice; sys.modules['torch'] = None\n"
               "try: import sluice.torch\n"
               "except ModuleNotFoundError as error: print(error, error.name)")  # fmt: skip
    assert "--system-site-packages" in said and said.endswith("torch\n")
    said = run("import sluice\ntry: sluice.torch\nexcept AttributeError as error: print(error)")
    assert "import sluice.torch" in said


def test_torch():
    pytest.importorskip("torch")
    run("from sluice import torch; torch.DataLoader")
    import sluice.torch

    for name, meant in (("memoryformat", "memory_format"), ("batchsize", "batch_size"), ("transforms", "transform")):
        with pytest.raises(TypeError, match=f"DataLoader.*did you mean '{meant}'"):
            sluice.torch.DataLoader("photos", **{name: 3})


def test_modules_of_frameworks():
    """`import sluice` imports none of them; using a module that was not imported raises an error that says so."""
    seats = ("accelerate", "jax", "keras", "lightning", "timm", "torchtitan", "transformers")
    said = run("import sys, sluice\n"
               "import os, rlcompleter\n"
               "shown = dir(sluice)\n"
               "words = rlcompleter.Completer({'sluice': sluice}).attr_matches('sluice.t')\n"
               "assert {'sluice.timm', 'sluice.torch', 'sluice.torchtitan', 'sluice.transformers'} <= set(words), words\n"
               "files = {name[:-3] for name in os.listdir(os.path.dirname(sluice.__file__)) if name.endswith('.py') and name[0] != '_'} - {'notebook'}\n"
               "assert shown == sorted(shown) and files <= set(shown) and {'Loader', '__version__'} <= set(shown), files - set(shown)\n"
               f"for name in {seats + ('torch',)}:\n"
               "    assert name not in sys.modules and 'sluice.' + name not in sys.modules, name\n"
               "    try: getattr(sluice, name)\n"
               "    except AttributeError as error: print(error)")  # fmt: skip
    assert said.splitlines() == [f"sluice.{name} is a module of its own: import sluice.{name}" for name in seats + ("torch",)]
