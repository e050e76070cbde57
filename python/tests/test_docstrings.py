# SPDX-License-Identifier: Apache-2.0
"""Docstrings: each public name has a summary, its arguments and its result, and every example runs."""
import contextlib
import doctest
import importlib
import io
import json
import warnings

import documented
import numpy
import pytest
from PIL import Image

import sluice
from sluice import transforms as T

FLAGS = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
HEIGHT, WIDTH = 60, 80  # of each image


def test_each_name_is_documented():
    names = [*documented.names(), *(name for module in documented.FRAMEWORKS for name in documented.framework_names(module))]
    assert len(names) > 250
    assert "\n".join(problem for name in names for problem in documented.problems(name)) == ""


# ---- examples ----


def write_photos(folder):
    """Four images in each of three class folders, and one beside them."""
    random = numpy.random.default_rng(1)
    for label in ("bird", "cat", "dog"):
        (folder / "photos" / label).mkdir(parents=True)
        for number in range(4):
            small = random.integers(0, 255, (6, 8, 3), dtype=numpy.uint8)
            Image.fromarray(small).resize((WIDTH, HEIGHT)).save(folder / "photos" / label / f"{number}.jpg")
    Image.open(folder / "photos/cat/0.jpg").save(folder / "photo.jpg")


def write_detection(folder):
    """Three samples with 0, 1 and 2 boxes, each with a label, a shape and a point: fewer points than boxes would be an error."""
    pixels = {"coordinates": "pixels"}
    fields = {
        "image": "image", "mask": ("image", {"role": "mask"}), "caption": "text",
        "boxes": ("tensor", "float32", (0, 4), {"role": "boxes", "box_format": "xyxy", **pixels}),
        "labels": ("tensor", "int64", (0,), {"per_box": True, "of": "boxes"}),
        "points": ("tensor", "float32", (0, 2), {"role": "points", **pixels}),
        "segmentation": ("text", {"role": "shapes", "per_box": True, "of": "boxes"}),
    }  # fmt: skip
    mask = io.BytesIO()
    Image.fromarray(numpy.zeros((HEIGHT, WIDTH), "uint8")).save(mask, "PNG")
    photo = (folder / "photo.jpg").read_bytes()
    with sluice.Writer(folder / "detection", fields) as writer:
        for count in range(3):
            corners = [(10 + 20 * i, 10, 40 + 20 * i, 40) for i in range(count)]
            shapes = [[[left, top, right, top, right, bottom, left, bottom]] for left, top, right, bottom in corners]
            writer.add(
                image=photo, mask=mask.getvalue(), caption=f"{count} boxes", boxes=[list(map(float, box)) for box in corners],
                labels=list(range(count)), points=[[20.0, 10.0]] * count, segmentation=json.dumps(shapes),
            )  # fmt: skip


def write_tokens(folder):
    """Eight documents, and one long one."""
    fields = {"tokens": ("tensor", "int32", (0,)), "label": "int"}
    with sluice.Writer(folder / "tokens", fields, zstd="off") as writer:
        for label, length in enumerate((3, 5, 7, 2, 6, 4, 8, 5)):
            writer.add(tokens=list(range(length)), label=label)
    with sluice.Writer(folder / "corpus", fields, zstd="off") as writer:
        writer.add(tokens=list(range(41)), label=0)
    (folder / "lines.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in ("one", "two", "three")))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("examples")
    write_photos(folder)
    write_detection(folder)
    write_tokens(folder)
    (folder / "cache").mkdir()
    return folder


@pytest.fixture
def run(folder, monkeypatch):
    """Runs a docstring's example. Returns a text about its failures, and its number of lines."""
    monkeypatch.chdir(folder)
    loaders = []

    def run(test):
        data = sluice.Dataset("photos")
        loader = sluice.Loader(data, batch_size=4, transform=T.CenterCrop(32), num_workers=1)
        loaders.append(loader)
        batch = sluice.Batch({"image": numpy.zeros((2, 4, 4, 3)), "label": [0, 1]})
        test.globs = {
            "sluice": sluice, "T": T, "numpy": numpy, "warnings": warnings, "image": Image.open("photo.jpg"), "data": data, "loader": loader,
            "batch": batch,
        }  # fmt: skip
        text = io.StringIO()
        with contextlib.redirect_stderr(io.StringIO()):
            failed, count = doctest.DocTestRunner(optionflags=FLAGS, verbose=False).run(test, out=text.write)
        return text.getvalue() if failed else "", count

    yield run
    for loader in loaders:
        loader.close()


def examples_of(names):
    for name in names:
        test = doctest.DocTestParser().get_doctest(name.doc or "", {}, name.name, None, 0)
        if test.examples:
            yield test


def check(tests, run):
    failures, count = [], 0
    for test in tests:
        said, ran = run(test)
        failures += [said] if said else []
        count += ran
    assert not failures, "\n".join(failures)
    return count


def test_examples(run):
    assert check(examples_of(documented.names()), run) > 150


@pytest.mark.parametrize("module", ["timm", "torch", "torchtitan"])
def test_examples_of_modules_for_torch(run, module):
    pytest.importorskip("torch")
    importlib.import_module(f"sluice.{module}")
    assert check(examples_of(documented.framework_names(module)), run) > 1


def test_an_example_that_fails_is_found(run):
    bad = documented.Name("bad", "Text.\n\nExample:\n    >>> len(data)\n    13\n", (), False)
    assert "Expected:\n    13\nGot:\n    12" in run(next(examples_of([bad])))[0]


@pytest.mark.parametrize(
    "doc, said",
    [
        (None, "no docstring"),
        ("Does\nthings.", "summary"),
        ("Does things.\n\nReturns:\n    It.", "no entry for first"),
        ("Does things.\n\nArgs:\n    first: one.\n    third: none.\n\nReturns:\n    It.", "third, which is not a parameter"),
        ("Does things.\n\nArgs:\n    first: one.", "no Returns"),
        ("Does things.\n\nArgs:\n    first: one.\n\nReturns:\n    It.", None),
    ],
)
def test_what_is_missing_is_found(doc, said):
    found = documented.problems(documented.Name("name", doc, ("first",), True))
    assert (said is None and found == []) or said in found[0]
