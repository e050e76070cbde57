# SPDX-License-Identifier: Apache-2.0
"""The verdict, and marks."""
import os
import time
import types

import pytest

import sluice
from sluice import transforms as T


@pytest.fixture
def loader(data):
    with sluice.Loader(data, batch_size=1, transform=T.RandomResizedCrop(16), num_workers=1) as made:
        yield made


class Handle:
    """A loader's statistics, taken one second apart."""

    closed = False
    batches = 10  # per second

    def __init__(self, waited, decode, augment, upload, empty):
        self.looks, self.after = 0, (waited, decode, augment, upload, empty)

    def stats(self):
        self.looks += 1
        waited = self.after[0] if self.looks > 1 else 0
        return {"host_wait_ns": waited * 1e9, "batches": self.looks * self.batches, "samples": self.looks * 99, "workers": 2}

    def operations(self):
        return {"gaussian_blur": 0.5 * self.looks, "geometry": 0.25 * self.looks}

    def stage(self, number):
        if self.looks < 2:
            return 0, 0, [0] * 17
        _, decode, augment, upload, empty = self.after
        return (0.5, decode, augment, upload)[number] * 1e9, 99, [empty * 100, *[0] * 15, 100 - empty * 100]


def dataset_of(format="folder", files=0, description="", kind="image"):
    fields = {"x": types.SimpleNamespace(type=kind)}
    return types.SimpleNamespace(format=format, fields=fields, description=description, _info={"shards": files})


@pytest.mark.parametrize(
    "limit, words, figures",
    [
        ("loop", "waited for data 1.0%", (0.01, 0.5, 0.1, 0, 0.9)),
        ("decode", "workers were busy 95%", (0.9, 1.5, 0.4, 0, 0)),
        ("augment", "workers were busy 95%", (0.9, 0.4, 1.5, 0, 0)),
        ("copy", "copies", (0.5, 0.4, 0.4, 0.9, 0)),
        ("read", "nothing to do 80%", (0.9, 0.4, 0.1, 0, 0.8)),
        ("none", "nothing is at its limit", (0.2, 0.6, 0.3, 0.1, 0.1)),
    ],
)
def test_verdicts(monkeypatch, limit, words, figures):
    clock = iter([10.0, 11.0])
    monkeypatch.setattr("sluice.profiling.time.perf_counter", lambda: next(clock))
    loader = types.SimpleNamespace(_functions={}, _handle=Handle(*figures), dataset=dataset_of())
    profile = sluice.profile(loader)
    profile.__exit__()
    assert profile.limit == limit and words in str(profile), str(profile)
    assert (profile.seconds, profile.batches, profile.samples) == (1.0, 10, 99)
    assert ("sluice.pack" in str(profile)) == (limit in ("decode", "read"))
    assert ("; the loop waited" in str(profile)) == (limit != "loop")


def test_few_batches_are_no_verdict(monkeypatch):
    clock = iter([10.0, 11.0])
    monkeypatch.setattr("sluice.profiling.time.perf_counter", lambda: next(clock))
    handle = Handle(0.9, 1.5, 0.4, 0, 0)
    handle.batches = 9
    profile = sluice.profile(types.SimpleNamespace(_functions={}, _handle=handle, dataset=dataset_of()))
    profile.__exit__()
    assert profile.limit == "unknown" and str(profile).startswith("too few steps for a verdict: 9 of 10;")


COMPRESSED = "Parquet files, each of whose rows is a sample; compressed: shuffle by blocks, or pack"
DECODE, READ = (0.9, 1.5, 0.4, 0, 0), (0.9, 0.4, 0.1, 0, 0.8)


@pytest.mark.parametrize(
    "dataset, figures, ends",
    [
        (dataset_of("tar", 3, "tar archives"), DECODE, "would help, and packing (sluice.pack) makes decoding cheaper"),
        (dataset_of("shards", 3), DECODE, "(num_workers) would help"),
        (dataset_of("npy", 3, kind="tensor"), DECODE, "(num_workers) would help"),
        (dataset_of("parquet", 3, COMPRESSED), DECODE, "cheaper; the dataset is compressed: shuffle by blocks, or pack"),
        (dataset_of("parquet", 3, COMPRESSED), READ, "faster storage would help; the dataset is compressed: shuffle by blocks, or pack"),
        (dataset_of("table", 0), READ, "faster storage or packing (sluice.pack), for longer reads, would help"),
        (dataset_of("tar", 3), READ, "faster storage would help"),
    ],
)
def test_what_would_help_depends_on_the_format(monkeypatch, dataset, figures, ends):
    clock = iter([10.0, 11.0])
    monkeypatch.setattr("sluice.profiling.time.perf_counter", lambda: next(clock))
    profile = sluice.profile(types.SimpleNamespace(_functions={}, _handle=Handle(*figures), dataset=dataset))
    profile.__exit__()
    said, _, waited = str(profile).rpartition("; the loop waited")
    assert said.endswith(ends) and waited, str(profile)


def test_functions_of_python_are_said(monkeypatch):
    clock = iter([10.0, 12.0])
    monkeypatch.setattr("sluice.profiling.time.perf_counter", lambda: next(clock))
    cost = types.SimpleNamespace(nanoseconds=7_000_000_000)
    handle = Handle(0.2, 0.6, 0.3, 0.1, 0.1)
    loader = types.SimpleNamespace(_functions={"image": cost}, _handle=handle, dataset=dataset_of("shards", 3))
    profile = sluice.profile(loader)
    cost.nanoseconds += 1_000_000_000
    profile.__exit__()
    assert profile.python == 0.5 and "functions of transforms.Python took 50% of it" in str(profile)


def test_figures_stay_when_the_time_is_over(loader):
    with sluice.profile(loader) as profile:
        next(iter(loader))
    before = (profile.batches, profile.seconds)
    for _ in loader:
        pass
    assert (profile.batches, profile.seconds) == before


def test_nothing_taken_is_said(loader):
    assert "no batch" in str(sluice.profile(loader))


def test_marks(loader, tmp_path, monkeypatch):
    with sluice.marks() as marks:  # without `sluice idle` they do nothing
        assert sum(1 for _ in marks.batches(loader)) == 33
    monkeypatch.setenv("SLUICE_IDLE_DIR", str(tmp_path))
    start = time.monotonic_ns()
    with sluice.marks() as marks:
        assert sum(1 for _ in marks.batches(loader)) == 33
    lines = [line.split() for line in (tmp_path / f"marks.{os.getpid()}").read_text().splitlines()]
    assert [line[0] for line in lines] == ["wait", "step"] * 33 + ["wait"]
    times = [int(number) for line in lines for number in line[1:]]
    assert times == sorted(times) and start <= times[0] and times[-1] <= time.monotonic_ns()
