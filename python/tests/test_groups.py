# SPDX-License-Identifier: Apache-2.0
"""Arguments of a loader in the dicts order=, limits= and io= work like separate ones."""
import inspect

import numpy
import pytest

import sluice
from sluice import columns as C
from sluice._loader_options import GROUPS

COUNT = 24
WEIGHTS = [i % 3 for i in range(COUNT)]
CLASSES = [i % 4 for i in range(COUNT)]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("groups") / "packed"
    with sluice.Writer(path, {"id": "int"}) as writer:
        for i in range(COUNT):
            writer.add(id=i)
    return path


def drawn(data, kind=sluice.Loader, **arguments):
    with kind(data, 4, shuffle=arguments.pop("shuffle", True), columns={"id": C.Number("id")}, seed=1, **arguments) as own:
        return [numpy.asarray(batch["id"]).tolist() for batch in own], own._opened[0]


@pytest.mark.parametrize(
    "group, arguments",
    [
        ("order", {"weights": WEIGHTS, "num_samples": 40}),
        ("order", {"lengths": WEIGHTS, "length_groups": 2}),
        ("order", {"episode": (2, 2), "episodes": 3, "classes": CLASSES}),
        ("limits", {"max_pixels": 1000, "stall_warn": 3.0, "memory_bytes": 2**30}),
        ("io", {"page_cache": "buffered", "io_depth": 4, "whole_samples": True}),
    ],
)
def test_both_spellings(data, group, arguments):
    assert drawn(data, **{group: arguments}) == drawn(data, **arguments)
    torch = pytest.importorskip("torch")
    import sluice.torch

    assert torch and drawn(data, sluice.torch.DataLoader, **{group: arguments})[0] == drawn(data, **arguments)[0]


def test_the_backend(data):
    assert drawn(data, io={"backend": "pread", "io_threads": 2}) == drawn(data, io="pread", io_threads=2)


@pytest.mark.parametrize(
    "arguments, reason",
    [
        ({"order": {"weights": WEIGHTS}, "weights": WEIGHTS}, "weights= is given twice: as an argument, and in order="),
        ({"order": {"wieghts": WEIGHTS}}, "order=.*'wieghts'.*expected partners, .*did you mean 'weights'"),
        ({"limits": {"io_depth": 4}}, "limits=.*'io_depth'.*expected read_buffer_bytes"),
        ({"order": 3}, "order=3: expected a dict"),
        ({"io": ["pread"]}, "io=.*expected a dict"),
    ],
)
def test_refused(data, arguments, reason):
    with pytest.raises(TypeError, match=reason):
        drawn(data, **arguments)


def test_members_are_arguments():
    assert all(member in sluice.Loader.__init__.names for group in GROUPS.values() for member in group.values())
