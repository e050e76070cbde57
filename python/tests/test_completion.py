# SPDX-License-Identifier: Apache-2.0
"""Completion and repr of arguments, names, keys, columns and transforms."""
import copy
import inspect
import pickle
import sys

import pytest

import sluice
from sluice import columns as C
from sluice import transforms as T


def test_all_arguments_of_the_torch_loader():
    pytest.importorskip("torch")
    import sluice.torch

    shown = inspect.signature(sluice.torch.DataLoader).parameters
    assert set(sluice.torch.DataLoader.__init__.names) == set(shown) - {"arguments"} == set(shown)
    assert set(sluice.Loader.__init__.names) <= set(shown) and {"memory_format", "weights", "batch_hook_thread"} <= set(shown)
    assert shown["ignore_index"].default == -100 and shown["shuffle"].default is False and shown["seed"].default == 0
    assert list(shown)[:3] == ["dataset", "batch_size", "shuffle"]
    assert "seed" in inspect.signature(sluice.torch.DataLoader.__init__).parameters


def test_presets_are_presets():
    assert dir(T.presets) == sorted(T.presets.__all__) and all(callable(getattr(T.presets, name)) for name in dir(T.presets))


def test_keys_of_a_batch(data):
    columns = {"image": C.Image(transform=T.RandomResizedCrop(8)), "key": C.Ragged(length=200)}
    batch = next(iter(sluice.Loader(data, batch_size=2, columns=columns)))
    keys = batch._ipython_key_completions_()
    assert keys == ["image", "key", "key.offsets", "index", "mask", "status"] and all(key in batch for key in keys)
    assert repr(batch).startswith("sluice.Batch(epoch=0, index=0, rows=2, columns: image: uint8 2x8x8x3, key: uint8 ")
    assert sluice.Batch({"a": 1, "a.offsets": 2})._ipython_key_completions_() == ["a", "a.offsets"]


@pytest.mark.parametrize("column, text", [
    (C.Boxes(length=100, format="xywh"), "Boxes(length=100, format='xywh')"), (C.Boxes(), "Boxes()"),
    (C.Image("photo", transform=T.Pad(1), sizes="padded", max_size=9),
     "Image('photo', transform=Pad(padding=(1, 1, 1, 1), fill=0, padding_mode='constant'), sizes='padded', max_size=9)"),
    (C.OneHot(10, "label"), "OneHot(10, 'label')"), (C.Padded(length=3), "Padded(length=3)"),
])  # fmt: skip
def test_columns_show_their_arguments(column, text):
    for same in (column, copy.deepcopy(column), pickle.loads(pickle.dumps(column))):
        assert repr(same) == f"sluice.columns.{text}"
    assert "transform" in inspect.signature(C.Image).parameters and "arguments" not in inspect.signature(C.Boxes).parameters


def test_long_transforms_have_a_line_for_each_step():
    assert repr(T.Compose([T.Grayscale(3)])) == "Compose(transforms=[Grayscale(num_output_channels=3)])"
    made = T.Compose([T.RandomResizedCrop(64), T.RandomApply([T.RandomInvert(0.25), T.ColorJitter(0.4, 0.4, 0.2, 0.1), T.RandomHorizontalFlip()], 0.5),
                      T.RandomChoice([T.Pad(1), [T.Pad(2), T.RandomRotation(9)]])])  # fmt: skip
    assert repr(made) == """Compose(transforms=[
    RandomResizedCrop(size=(64, 64), scale=(0.08, 1.0), ratio=(0.75, 1.3333333333333333), interpolation='bilinear'),
    RandomApply(transforms=[
        RandomInvert(p=0.25),
        ColorJitter(brightness=0.4, contrast=0.4, saturation=0.2, hue=0.1),
        RandomHorizontalFlip(p=0.5),
    ], p=0.5),
    RandomChoice(transforms=[
        Pad(padding=(1, 1, 1, 1), fill=0, padding_mode='constant'),
        [
            Pad(padding=(2, 2, 2, 2), fill=0, padding_mode='constant'),
            RandomRotation(degrees=(-9.0, 9.0), interpolation='nearest', fill=0),
        ],
    ], p=(1.0, 1.0)),
])"""
    assert made._repr_html_().startswith("<pre>Compose(") and "&#x27;nearest&#x27;" in made._repr_html_()


def test_tensors_show_their_values(data, monkeypatch):
    numpy = pytest.importorskip("numpy")
    batch = next(iter(sluice.Loader(data, batch_size=2, columns={"image": C.Image(transform=T.RandomResizedCrop(64)), "label": C.Number(),
                                                                 "half": C.Image("image", transform=T.RandomResizedCrop(1), dtype="bfloat16")})))  # fmt: skip
    assert repr(batch["label"]) == "sluice.Tensor([0, 0], shape=(2,), dtype=int64, device='cpu')"
    image = repr(batch["image"])
    assert "..." in image and len(image) < 4000 and image.endswith(", shape=(2, 64, 64, 3), dtype=uint8, device='cpu')")
    assert image.startswith("sluice.Tensor([[[[") and numpy.array2string(batch["image"].numpy()[0, 0, 0], separator=", ") in image
    assert repr(batch["half"]) == "sluice.Tensor(shape=(2, 1, 1, 3), dtype=bfloat16, device='cpu')"
    monkeypatch.setitem(sys.modules, "numpy", None)
    assert repr(batch["label"]) == "sluice.Tensor(shape=(2,), dtype=int64, device='cpu')"
