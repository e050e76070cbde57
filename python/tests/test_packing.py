# SPDX-License-Identifier: Apache-2.0
"""Packing and verifying."""
import hashlib
import shutil

import numpy
import pytest

import sluice
from test_process import interrupt


def digest(folder):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def test_pack_and_read(photos, tmp_path):
    calls = []
    result = sluice.pack(photos, tmp_path / "packed", progress=lambda done, total: calls.append((done, total)))
    assert result.samples == 33 and result.rejected == 0 and result.shards == 1 and not result.was_complete
    assert result.jpegs_retiled + result.jpegs_kept == 33
    assert calls[-1] == (33, 33) and calls == sorted(calls)
    data = sluice.Dataset(tmp_path / "packed")
    keys = sorted(sample["key"] for sample in data)
    assert keys == sorted(str(path.relative_to(photos)) for path in photos.rglob("*.jpg"))
    assert sluice.pack(sluice.Dataset(photos), tmp_path / "packed", progress=None).was_complete
    found = data.verify(decode=True, progress=None)
    assert found.samples == 33 and found.bytes > 0 and found.findings == []


def test_the_source_stays(photos):
    with pytest.raises(sluice.InvalidError):
        sluice.pack(photos, photos, overwrite=True)
    with pytest.raises(sluice.InvalidError):
        sluice.pack(photos, photos / "packed")
    assert not (photos / "packed").exists()


def test_bad_samples(photos, tmp_path):
    shutil.copytree(photos, tmp_path / "photos")
    victim = tmp_path / "photos" / "class2" / "p05.jpg"
    victim.write_bytes(victim.read_bytes()[:300])
    with pytest.raises(sluice.CorruptError) as caught:
        sluice.pack(tmp_path / "photos", tmp_path / "packed")
    assert caught.value.file == str(victim) and caught.value.sample == 27
    result = sluice.pack(tmp_path / "photos", tmp_path / "packed", on_bad_sample="skip")
    assert result.rejected == 1 and result.samples == 32
    (finding,) = sluice.Dataset(tmp_path / "photos").verify(decode=True).findings
    assert isinstance(finding, sluice.CorruptError) and finding.file == str(victim) and finding.reason


def test_a_progress_that_raises_ends_it(photos, tmp_path):
    many = tmp_path / "many" / "class"
    many.mkdir(parents=True)
    source = next(photos.rglob("*.jpg"))
    for number in range(3000):
        (many / f"{number}.jpg").hardlink_to(source)

    def fail(done, total):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        sluice.pack(tmp_path / "many", tmp_path / "packed", workers=1, progress=fail)


def test_ctrl_c_and_the_same_call_again(photos, tmp_path):
    """Interrupted on the way, the next call goes on, and the bytes are those of a run without."""
    many = tmp_path / "many" / "class"
    many.mkdir(parents=True)
    source = next(photos.rglob("*.jpg"))
    for number in range(20000):
        (many / f"{number}.jpg").hardlink_to(source)
    program = """
import signal, sys, time, sluice
at = []
def handler(number, frame):
    at.append(time.monotonic())
    raise KeyboardInterrupt
signal.signal(signal.SIGINT, handler)
print("go", flush=True)
try:
    sluice.pack(sys.argv[1], sys.argv[2], workers=1, shard_bytes=1 << 20)
except KeyboardInterrupt:
    print("interrupted", time.monotonic() - at[0] < 2)
"""
    _, out, code = interrupt(program, tmp_path / "many", tmp_path / "packed")
    if out == "":
        pytest.skip("the machine packed it all before the signal came")
    assert out == "interrupted True\n" and code == 0
    assert not (tmp_path / "packed" / "manifest.sluice").exists()
    sluice.pack(tmp_path / "many", tmp_path / "packed", shard_bytes=1 << 20)
    sluice.pack(tmp_path / "many", tmp_path / "whole", shard_bytes=1 << 20)
    assert digest(tmp_path / "packed") == digest(tmp_path / "whole")


def test_the_same_call_again_at_once(tmp_path, run_python):
    """In the process that was interrupted, while the first call's thread is still busy with a sample."""
    values = numpy.random.default_rng(1).integers(0, 3, 1 << 20, dtype=numpy.uint8)
    with sluice.Writer(tmp_path / "source", {"x": ("tensor", "uint8", values.shape)}, zstd="off") as writer:
        for _ in range(3):
            writer.add(x=values)
    program = """
import signal, sys, sluice
def handler(number, frame):
    raise KeyboardInterrupt
signal.signal(signal.SIGALRM, handler)
data = sluice.Dataset(sys.argv[1])
def pack():
    return sluice.pack(data, sys.argv[2], workers=1, zstd=19, progress=None)
signal.setitimer(signal.ITIMER_REAL, 0.1)
try:
    pack()
except KeyboardInterrupt:
    print("interrupted")
print(pack().samples)
"""
    done = run_python(program, tmp_path / "source", tmp_path / "packed", timeout=120)
    assert done.stdout == "interrupted\n3\n", done.stdout + done.stderr
