# SPDX-License-Identifier: Apache-2.0
"""The code of docs/python.md and docs/columns.md, and the programs of docs/from-loaders.md and docs/recipes.md, run from top to bottom."""
import pathlib
import re
import sys

import lightnings
import pytest

torch = pytest.importorskip("torch")

DOCS = pathlib.Path(__file__).parents[2] / "docs"


def test_the_page(photos, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(lightnings, "pytorch", lightnings, raising=False)
    for name in "lightning", "lightning.pytorch":
        monkeypatch.setitem(sys.modules, name, lightnings)
    monkeypatch.delitem(sys.modules, "sluice.lightning", raising=False)
    (tmp_path / "photos").symlink_to(photos)
    names = run("python.md", 19)
    assert names["images"].shape[1:] == (3, 64, 64) and names["array"].dtype == "uint8"
    assert len(names["both"]) == 66 and len(names["some"]) == 13
    assert {names["kept"][i]["label"] for i in range(len(names["kept"]))} == {0}
    assert all(sample["label"] > 0 for sample in names["rest"])
    assert names["findings"] == [] and names["result"].samples == 33
    check_lightning(names["module"])
    del sys.modules["sluice.lightning"]


def test_columns(photos, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "photos").symlink_to(photos)
    names = run("columns.md", 7)
    assert (names["inputs"].numpy() + 1 == names["targets"].numpy()).all()
    assert names["strong"].shape[1:] == (3, 64, 64) and names["rows"].shape == (5, 64)


def test_a_folder_for_another_loader(photos, monkeypatch):
    monkeypatch.chdir(photos.parent)
    assert run("from-loaders.md", 1)["images"].shape[1:] == (3, 224, 224)


def test_a_recipe_of_a_paper(photos, monkeypatch):
    monkeypatch.chdir(photos.parent)
    names = run("recipes.md", 1)
    assert names["images"].shape[1:] == next(iter(names["evaluation"]))[0].shape[1:] == (3, 224, 224)


def run(page, least):
    """Runs all blocks of a page in one namespace, and returns it. Checks the minimum number of blocks."""
    blocks = re.findall(r"^```python\n(.*?)^```", (DOCS / page).read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) >= least
    names = {}
    for block in blocks:
        exec(compile(block, page, "exec"), names)
    return names


def check_lightning(module):
    """From each checkpoint, after any step and after any epoch, the remaining batches are the same, bit for bit."""
    state = sys.modules["sluice.lightning"].LoaderState
    for version in (2.0, 2.2, 2.5):
        whole = lightnings.Trainer(version=version, max_epochs=3, callbacks=[state()])
        whole.fit(lightnings.LightningModule(), datamodule=module)
        assert len(whole.steps) == 12
        assert not same(whole.steps[:4], whole.steps[4:8])  # each epoch has its own order
        behind = [4 * (end + 1) for end in range(3)]
        for step, checkpoint in [*enumerate(whole.checkpoints, 1), *zip(behind, whole.ends)]:
            rest = lightnings.Trainer(version=version, max_epochs=3, callbacks=[state()])
            rest.fit(lightnings.LightningModule(), checkpoint, module)
            assert same(rest.steps, whole.steps[step:]), (version, step, checkpoint)


def same(left, right):
    return len(left) == len(right) and all(torch.equal(a, b) for x, y in zip(left, right) for a, b in zip(x, y))
