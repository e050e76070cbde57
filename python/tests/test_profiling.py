# SPDX-License-Identifier: Apache-2.0
"""The verdict, and marks."""
import os
import time

import pytest

import sluice
from sluice import transforms as T


@pytest.fixture
def loader(data):
    with sluice.Loader(data, batch_size=1, transform=T.RandomResizedCrop(16), num_workers=1) as made:
        yield made


def test_a_slow_loop_is_the_limit(loader):
    for _ in loader:
        pass
    with sluice.profile(loader) as profile:
        for _ in loader:
            time.sleep(0.005)
    assert profile.limit == "loop" and "the loop is the limit" in str(profile)
    assert profile.batches == 33 and profile.waiting < 0.02 and profile.seconds > 0.1
    assert "loop" in repr(profile)


def test_a_loop_that_only_takes_waits(data):
    loader = sluice.Loader(data, batch_size=33, transform=T.RandomResizedCrop(600), num_workers=1)
    with sluice.profile(loader) as profile:
        for _ in range(8):
            for batch in loader:
                del batch
    assert profile.waiting > 0.3 and profile.workers_busy > 0.3
    assert profile.limit in ("decode", "augment", "none", "read")
    assert "of the time" in str(profile)


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
    with sluice.marks() as marks:  # without `sluice idle` they are nothing
        assert sum(1 for _ in marks.batches(loader)) == 33
    monkeypatch.setenv("SLUICE_IDLE_DIR", str(tmp_path))
    start = time.monotonic_ns()
    with sluice.marks() as marks:
        assert sum(1 for _ in marks.batches(loader)) == 33
    lines = [line.split() for line in (tmp_path / f"marks.{os.getpid()}").read_text().splitlines()]
    assert [line[0] for line in lines] == ["wait", "step"] * 33 + ["wait"]
    times = [int(number) for line in lines for number in line[1:]]
    assert times == sorted(times) and start <= times[0] and times[-1] <= time.monotonic_ns()
