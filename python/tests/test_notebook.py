# SPDX-License-Identifier: Apache-2.0
"""A loader in a notebook: its page, and that displaying it changes nothing."""
import base64
import io
import re

import numpy
import pytest
from PIL import Image

import sluice
from sluice import columns as C
from sluice import transforms as T
from sluice.notebook import png


def pictures(page):
    return [numpy.asarray(Image.open(io.BytesIO(base64.b64decode(data)))) for data in re.findall(r"base64,([^']+)'", page)]


def test_the_first_samples_are_those_of_the_loop(data):
    """The loop returns them in epoch 1, normalised; the page shows them without normalisation."""
    steps = [T.RandomResizedCrop(24), T.RandomHorizontalFlip()]
    options = {"batch_size": 5, "shuffle": True, "seed": 3, "num_workers": 1}
    loader = sluice.Loader(data, transform=[*steps, T.Normalize([0.5] * 3, [0.2] * 3)], **options)
    loader.set_epoch(1)
    page = loader._repr_html_()
    same = sluice.Loader(data, transform=steps, **options)
    same.set_epoch(1)
    batch = next(iter(same))
    shown = pictures(page)
    assert len(shown) == 5 and all((a == b).all() for a, b in zip(shown, batch["image"].numpy()))
    for label in batch["label"].numpy():
        assert f"label: {label} class{label}" in page
    assert "epoch 1, 0 batches taken, 7 left" in page


def test_looking_changes_nothing(data):
    def numbers(look):
        loader, seen = sluice.Loader(data, batch_size=4, shuffle=True, transform=T.RandomResizedCrop(16)), []
        for batch in loader:
            seen.append(batch["index"].numpy().tolist())
            if look:
                before = loader.state_dict()
                assert f"{len(seen)} batches taken" in loader._repr_html_()
                assert loader.state_dict() == before
        return seen

    assert numbers(True) == numbers(False)


def test_large_pictures_are_shrunk(data):
    loader = sluice.Loader(data, batch_size=1, transform=T.RandomCrop((300, 2), padding=300))
    full = next(iter(loader))["image"].numpy()[0]
    (small,) = pictures(loader._repr_html_())
    assert small.shape == (100, 1, 3)
    assert (small == full.reshape(100, 3, 1, 2, 3).mean((1, 3)).astype("uint8")).all()


def test_columns(tmp_path):
    with sluice.Writer(tmp_path / "packed", {"photo": "image", "score": "float", "vector": ("tensor", "float32", (3,))}) as writer:
        for number in range(3):
            pixels = numpy.full((8, 8, 3), number * 10, numpy.uint8)
            writer.add(photo=pixels, score=number / 4, vector=numpy.zeros(3, numpy.float32))
    columns = {
        "one": C.Image("photo", transform=T.RandomCrop(4), layout="NCHW", dtype="float16"),
        "two": C.Image("photo", transform=T.RandomCrop(8)),
        "score": C.Number(),
        "vector": C.Tensor(),
    }
    page = sluice.Loader(tmp_path / "packed", batch_size=2, columns=columns)._repr_html_()
    shown = pictures(page)
    assert [picture.shape for picture in shown] == [(4, 4, 3), (8, 8, 3)] * 2 and (shown[3] == 10).all()
    assert "score: 0.25" in page and "batches" in page


def test_without_pictures(tmp_path):
    numpy.arange(100, dtype=numpy.uint16).tofile(tmp_path / "tokens.bin")
    data = sluice.Dataset(tmp_path / "tokens.bin", flat=("uint16", (100,)))
    page = sluice.Loader(data, batch_size=2, columns={"input": C.Window("tensor", length=10)})._repr_html_()
    assert "<img" not in page and "5 batches of 2 rows" in page


def test_bad_samples_and_names(tmp_path):
    folder = tmp_path / "a<b>&\udcff"
    folder.mkdir()
    Image.new("RGB", (9, 9)).save(folder / "a.png.jpg", "JPEG")
    (folder / "b.jpg").write_bytes(b"nothing")
    loader = sluice.Loader(tmp_path, batch_size=2, transform=T.RandomResizedCrop(8))
    page = loader._repr_html_()
    assert "sample 1 is bad" in page and "a&lt;b&gt;&amp;\\udcff" in page and len(pictures(page)) == 1
    page.encode()
    loader.close()
    assert "closed" in loader._repr_html_()


def test_what_cannot_be_shown_is_said(data, monkeypatch):
    loader = sluice.Loader(data, batch_size=2, transform=T.RandomResizedCrop(8))

    def refuse(*arguments):
        raise sluice.InvalidError("no <room>")

    monkeypatch.setattr("sluice.notebook.reopen", refuse)
    assert "cannot be shown: no &lt;room&gt;" in loader._repr_html_()


@pytest.mark.parametrize("shape", [(1, 1, 3), (5, 7, 3)])
def test_png(shape):
    pixels = numpy.random.default_rng(0).integers(0, 255, shape, dtype=numpy.uint8)
    assert (numpy.asarray(Image.open(io.BytesIO(png(pixels)))) == pixels).all()
