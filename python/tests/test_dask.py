# SPDX-License-Identifier: Apache-2.0
"""The lines of docs/distributed.md that pack with Dask, run on a worker process."""
import pathlib
import re

import pytest

import sluice

distributed = pytest.importorskip("distributed")

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "distributed.md"


def test_the_lines_of_the_docs(photos, tmp_path):
    function = re.search(r"^```python\n(def pack.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)[1]
    line = re.search(r"^\| Dask \| `(.*)` \|$", PAGE.read_text(), re.MULTILINE)[1].replace("64", "3")
    packed = tmp_path / "packed"
    for before, after in (("64", "3"), ('"photos"', repr(str(photos))), ('"/shared/packed"', repr(str(packed)))):
        assert before in function
        function = function.replace(before, after)
    settings = {"n_workers": 1, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with distributed.LocalCluster(**settings) as cluster, distributed.Client(cluster) as client:
        names = {"__name__": "__main__", "client": client, "sluice": sluice}  # a function of __main__ is pickled by value
        exec(function, names)
        made = eval(line, names)
    assert [part.complete for part in made] == [False, False, True] and sum(part.samples for part in made) == 33
    keys = sorted(sample["key"] for sample in sluice.Dataset(packed))
    assert keys == sorted(str(path.relative_to(photos)) for path in photos.rglob("*.jpg"))
