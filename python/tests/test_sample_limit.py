# SPDX-License-Identifier: Apache-2.0
"""The size limit of a sample in every reader; and missing memory, which is never a bad sample."""
import json
import os
import subprocess
import sys
import tarfile

import numpy
import pytest

import sluice

MIB = 1 << 20


def sparse_tar(path, sizes):
    """Writes samples of a file .bin of zeros and a number, in an archive that occupies no disk space."""
    with open(path, "wb") as file:

        def member(name, size, body=b""):
            made = tarfile.TarInfo(name)
            made.size = size
            file.write(made.tobuf(tarfile.GNU_FORMAT))
            file.write(body)
            file.seek(-(-size // 512) * 512 - len(body), os.SEEK_CUR)

        for number, size in enumerate(sizes):
            member(f"{number:04}.bin", size)
            member(f"{number:04}.cls", 1, str(number).encode())
        file.seek(1023, os.SEEK_CUR)
        file.write(b"\0")
    return path


# A separate process, whose address space may grow by a given size after the dataset is open.
PROGRAM = """
import json, re, resource, sys
import sluice
path, more, call, arguments = json.loads(sys.argv[1])
data = sluice.Dataset(path)
taken = int(re.search(r"VmSize:\\s*(\\d+)", open("/proc/self/status").read())[1]) << 10
resource.setrlimit(resource.RLIMIT_AS, (taken + more, taken + more))
try:
    found = getattr(data, call)(**arguments)
    found = [found.samples, [str(one) for one in found.findings]] if call == "verify" else found
except Exception as error:
    found = [type(error).__name__, str(error)]
print(json.dumps(found))
"""


def within(more, path, call, **arguments):
    if any(name in os.environ.get("LD_PRELOAD", "") for name in ("asan", "tsan")):
        pytest.skip("sanitizers need more addresses than there are")
    given = json.dumps([str(path), more, call, arguments])
    ran = subprocess.run([sys.executable, "-c", PROGRAM.replace("import sluice\n", "import sluice\n" + PACKING), given], capture_output=True, text=True, timeout=300,
                         env=os.environ | {"MALLOC_ARENA_MAX": "1"})  # each arena takes 64 MiB of addresses, regardless of its content
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def test_large_samples_take_turns(tmp_path):
    path = sparse_tar(tmp_path / "a.tar", [150 * MIB] * 6)
    assert within(450 * MIB, path, "verify", workers=6, progress=None) == [6, []]
    assert within(450 * MIB, path, "numbers", field="label") == list(range(6))


PACKING = """
def call(self, name, out, **arguments):
    made = getattr(sluice, name)(self, out, progress=None, on_bad_sample="skip", **arguments)
    return [made.samples, made.rejected]
sluice.Dataset.call = call
"""


@pytest.mark.parametrize("name", ["pack", "unpack"])
def test_what_is_too_large_is_never_read(tmp_path, name):
    path = sparse_tar(tmp_path / "a.tar", [1000, 700 * MIB, 1000])
    arguments = {"name": name, "out": str(tmp_path / "out"), "max_sample_bytes": MIB, "workers": 2}
    assert within(400 * MIB, path, "call", **arguments) == [2, 1]
    assert (tmp_path / "out" / "rejected.tsv").read_text().splitlines()[1].startswith("sample 1\tunsupported\t")


@pytest.mark.parametrize("call, arguments", [("verify", {"progress": None}), ("numbers", {"field": "label"})])
def test_what_is_missing_is_memory(tmp_path, call, arguments):
    path = sparse_tar(tmp_path / "a.tar", [1000, 600 * MIB, 1000])
    kind, text = within(300 * MIB, path, call, **arguments)
    assert kind == "OutOfMemoryError" and "memory" in text


# ---- the limit ----


def npz(tmp_path):
    """The middle one of three is a bomb."""
    (tmp_path / "set").mkdir()
    for number, size in enumerate([1000, 4 * MIB, 1000]):
        numpy.savez_compressed(tmp_path / "set" / f"{number:04}.npz", x=numpy.zeros(size, "uint8"), z=numpy.int64(number))
    return tmp_path / "set"


def tar(tmp_path):
    return sparse_tar(tmp_path / "a.tar", [1000, 4 * MIB, 1000])


@pytest.mark.parametrize("make", [npz, tar])
def test_a_larger_sample_is_bad(tmp_path, make):
    path = make(tmp_path)
    data = sluice.Dataset(path)
    assert not data.verify(decode=True).findings
    found = data.verify(decode=True, max_sample_bytes=MIB)
    assert found.samples == 3 and [one.sample for one in found.findings] == [1]
    assert isinstance(found.findings[0], sluice.UnsupportedError) and "max_sample_bytes" in str(found.findings[0])
    assert os.path.dirname(found.findings[0].file) in (str(path), str(tmp_path))
    for out, call in (("files", sluice.unpack), ("packed", sluice.pack)):
        with pytest.raises(sluice.UnsupportedError, match="limit|larger") as why:
            call(data, tmp_path / f"{out}-0", max_sample_bytes=MIB, progress=None)
        assert why.value.sample == 1
        made = call(data, tmp_path / f"{out}-1", max_sample_bytes=MIB, on_bad_sample="skip", progress=None)
        assert (made.samples, made.rejected) == (2, 1)
        assert call(data, tmp_path / f"{out}-2", progress=None).samples == 3


def test_of_conditions(tmp_path):
    bomb = sluice.Dataset(npz(tmp_path))
    assert bomb.numbers("z", max_sample_bytes=MIB) == [0, 1, 2]  # its unpacked size does not matter
    data = sluice.Dataset(tar(tmp_path))
    assert len(data.where("label > 0")) == 2 and data.numbers("label") == [0, 1, 2]
    for call in (lambda: data.where("label > 0", max_sample_bytes=MIB), lambda: data.numbers("label", max_sample_bytes=MIB)):
        with pytest.raises(sluice.UnsupportedError, match="max_sample_bytes") as why:
            call()
        assert why.value.sample == 1


@pytest.mark.parametrize("wrong", [-1, 2**31, "1", 1.0, True])
def test_wrong_limits(tmp_path, wrong):
    data = sluice.Dataset(tar(tmp_path))
    kind = ValueError if type(wrong) is int else TypeError
    for call in (
        lambda: data.verify(max_sample_bytes=wrong),
        lambda: data.where("label > 0", max_sample_bytes=wrong),
        lambda: data.numbers("label", max_sample_bytes=wrong),
        lambda: sluice.pack(data, tmp_path / "packed", max_sample_bytes=wrong, progress=None),
        lambda: sluice.unpack(data, tmp_path / "files", max_sample_bytes=wrong, progress=None),
    ):
        with pytest.raises(kind, match="max_sample_bytes"):
            call()
