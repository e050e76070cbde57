# SPDX-License-Identifier: Apache-2.0
"""Entries that opening left out and warned about, and splits, as users of the package see them.

Each reader has tests of its own counts; here a fake dataset reports them."""
import os
import pickle
import subprocess
import sys
import warnings

import pytest

import sluice

BOXES = ("tensor", "float32", (0, 4), {"role": "boxes", "box_format": "xywh", "coordinates": "pixels", "orientation": "upright"})
FOUND = [("links in tars", 2, True, "a/b.jpg"), ("hidden files", 1, False, ""), ("a\nb", 4, False, "c")]
WORDS = ["3 left out: links", "another line"]


class Told:
    """An open dataset of the library that reports additional entries."""

    def __init__(self, *arguments):
        self.real = real(*arguments)

    def __getattr__(self, name):
        return getattr(self.real, name)

    def left_out(self, number):
        return FOUND[number] if number < len(FOUND) else None

    def warning(self, number):
        return WORDS[number] if number < len(WORDS) else None


real = sluice._sluice.Dataset


@pytest.fixture
def packed(tmp_path):
    path = tmp_path / "packed"
    with sluice.Writer(path, {"image": ("image", {"orientation": "upright"}), "boxes": BOXES, "key": "text"}) as writer:
        writer.add(key="x", boxes=[[1, 2, 3, 4]])
    return path


@pytest.fixture
def told(packed, monkeypatch):
    monkeypatch.setattr(sluice.dataset._sluice, "Dataset", Told)
    return packed


def test_nothing_is_said_of_nothing(packed, recwarn):
    data = sluice.Dataset(packed)
    assert data.left_out == [] and repr(data).endswith(", 1 samples, shards)") and not recwarn
    assert "left_out" not in repr(data.verify(progress=False))


def test_what_was_left_out_is_shown(told):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        data = sluice.Dataset(told)
    assert [str(one.message) for one in found] == [f"{told}: 3 left out: links", f"{told}: another line"]
    assert all(one.filename == __file__ for one in found)
    assert data.left_out == FOUND and data.left_out[0].images and data.left_out[1].reason == "hidden files"
    assert repr(data).endswith("1 samples, shards, 7 left out (2 links in tars, 1 hidden files, 4 a\\nb))")


def test_warnings_are_of_the_line_that_opens(told):
    def lines(call):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            with pytest.raises(TypeError):  # the loader needs the library's own dataset
                call()
        return {(one.filename, one.lineno) for one in found}

    here = lines.__code__.co_firstlineno
    assert lines(lambda: sluice.Loader(told)) == {(__file__, here + 8)}
    torch = pytest.importorskip("torch")
    assert torch and lines(lambda: __import__("sluice.torch").torch.DataLoader(told)) == {(__file__, here + 10)}


def test_a_dataset_warns_once(told):
    with pytest.warns(UserWarning):
        data = sluice.Dataset(told)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = pickle.loads(pickle.dumps(data))
        data._process = -1  # as in a forked child, which opens it again
        assert len(data._handle.warning(0)) > 0
    assert again.left_out == data.left_out == FOUND and len(again) == 1


def test_split_reaches_the_library(packed):
    with pytest.raises(sluice.InvalidError, match='split "train": format "shards" has no splits'):
        sluice.Dataset(packed, split="train")
    with pytest.raises(ValueError, match="split is empty"):
        sluice.Dataset(packed, split="")
    with pytest.raises(TypeError, match="split=3"):
        sluice.Dataset(packed, split=3)
    with pytest.raises(ValueError, match="flat files have no splits"):
        sluice.Dataset(packed / "manifest.sluice", flat=("uint8", (1,)), split="train")
    for call, name in ((sluice.Loader, "Loader"), (lambda path, split: sluice.pack(path, "x", split=split), "pack")):
        with pytest.raises(TypeError, match=rf"argument of sluice.Dataset: sluice.{name}\(sluice.Dataset\(path, split=...\), ...\)"):
            call(packed, split="train")


def test_split_is_kept(packed):
    """It survives pickling, and reopening in a forked child."""
    data = sluice.Dataset(packed)
    data._arguments["split"] = "train"
    with pytest.raises(sluice.InvalidError, match='split "train"'):
        pickle.loads(pickle.dumps(data))
    data._process = -1
    with pytest.raises(sluice.InvalidError, match='split "train"'):
        data._handle


def tool(*arguments):
    path = os.pathsep.join(sys.path)
    done = subprocess.run(
        [sys.executable, "-m", "sluice", *map(str, arguments)], capture_output=True, text=True, env=os.environ | {"PYTHONPATH": path}
    )
    return done.returncode, done.stdout, done.stderr


def test_the_tool_shows_meaning(packed):
    if not os.path.exists(os.path.join(os.path.dirname(sluice.__file__), "bin", "sluice")):
        pytest.skip("built without the tool")
    code, said, _ = tool("info", packed)
    assert code == 0
    assert "image        image, plain (annotated upright)" in said or "image        image, zstd (annotated upright)" in said
    assert "(boxes, xywh in pixels, of the upright image)" in said and "key          text" in said
    assert "boxes        follow the image: --column image:image --column boxes:boxes" in said
    assert "left out" not in said
    import json

    code, said, _ = tool("info", packed, "--json")
    fields = {field["name"]: field.get("meaning") for field in json.loads(said)["fields"]}
    assert fields["boxes"] == BOXES[3] and fields["key"] is None and json.loads(said)["left_out"] == json.loads(said)["warnings"] == []
    code, said, _ = tool("verify", packed, "--json")
    assert code == 0 and json.loads(said)["left_out"] == []
    for command in ("info", "verify", "bench", "view", "pack", "unpack"):
        more = ["-o", packed.parent / "out"] if command in ("pack", "unpack", "view") else []
        more = [packed.parent / "out"] if command in ("pack", "unpack") else more
        code, _, said = tool(command, packed, *more, "--split", "train")
        assert code == 2 and '--split "train": format "shards" has no splits' in said, said


def test_a_notebook_shows_both(told):
    from sluice import notebook

    with pytest.warns(UserWarning):
        data = sluice.Dataset(told)

    class Loader:
        dataset, batch_size, world_size, epoch, remaining = data, 1, 1, 0, 1

        def __len__(self):
            return 1

        def stats(self):
            return {"workers": 1, "device": "cpu", "slots": 2, "memory_bytes": 0, "batches": 0}

    rows = list(notebook.figures(Loader()))
    assert rows[0] == ("fields", "image (annotated upright), boxes (boxes, xywh in pixels, of the upright image), key")
    assert rows[1] == ("left out", "2 links in tars, the first a/b.jpg") and rows[2] == ("left out", "1 hidden files")
