# SPDX-License-Identifier: Apache-2.0
"""The code of docs/python.md, run from top to bottom."""
import pathlib
import re

import pytest

pytest.importorskip("torch")

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "python.md"


def test_the_page(photos, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "photos").symlink_to(photos)
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 6
    names = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    assert names["images"].shape[1:] == (3, 64, 64) and names["array"].dtype == "uint8"
    assert (names["inputs"].numpy() + 1 == names["targets"].numpy()).all()
    assert len(names["both"]) == 66 and len(names["some"]) == 13
    assert {names["kept"][i]["label"] for i in range(len(names["kept"]))} == {0}
    assert all(sample["label"] > 0 for sample in names["rest"])
    assert names["findings"] == [] and names["result"].samples == 33
