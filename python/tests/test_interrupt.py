# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C takes effect within a second, regardless of the data: each kind of hostile or very large data, with each command of the tool that reads it,
and with opening, verifying, packing and unpacking in Python. The library's threads are gone afterwards, too.
Machines of tests are busy, so five seconds of CPU are allowed, as some builds have sanitizers, and a minute on the clock for waits; the work itself
would take much longer."""
import contextlib
import functools
import gzip
import io
import os
import pathlib
import random
import signal
import struct
import subprocess
import tarfile
import threading
import time
import zlib

import numpy
import pytest
import stopwatch
from sanitized import amount

import sluice
from test_closing import chunk, packed, pictures, png, png_behind, polygons, run_lengths, shapes, zeros

Image = pytest.importorskip("PIL.Image")
TOOL = pathlib.Path(os.environ.get("SLUICE_TOOL") or pathlib.Path(sluice.__file__).parents[2] / "bin" / "sluice")
MOST = 5.0
NO_TIME = (0.0, 0.0)
LONGEST = {"took": 0.0, "what": ""}
ENDED = []  # commands that were ended by a signal


# ---- data ----


@functools.lru_cache
def progressive_jpeg(side):
    noise = numpy.random.default_rng(1).integers(0, 256, (side // 8, side // 8, 3), dtype=numpy.uint8)
    made = io.BytesIO()
    Image.fromarray(noise).resize((side, side), Image.NEAREST).save(made, "JPEG", quality=95, progressive=True)
    return made.getvalue()


def huge_pngs(path):
    return pictures(path, *[png(9900, 9900)] * 6)


def pngs_with_more_behind(path):
    return pictures(path, *[png_behind(2)] * 6)


def one_row(path):
    """Images of a hundred million pixels in one row."""
    return pictures(path, *[png(99_000_000, 1)] * 4)


def progressive_jpegs(path):
    (path / "a").mkdir(parents=True)
    for number in range(6):
        (path / "a" / f"{number}.jpg").write_bytes(progressive_jpeg(6000))
    return path


def scans_without_end(path):
    """Repeats the last scan of a progressive image hundreds of times."""
    data = progressive_jpegs(path)
    whole = (data / "a" / "0.jpg").read_bytes()
    last = whole.rindex(b"\xff\xda")
    many = whole[:last] + whole[last:-2] * 300 + b"\xff\xd9"
    for one in (data / "a").iterdir():
        one.write_bytes(many if len(many) < 400_000_000 else whole)
    return data


def webps(path):
    (path / "a").mkdir(parents=True)
    Image.new("RGB", (6000, 6000)).save(path / "a" / "0.webp", lossless=True, quality=0, method=0)
    for number in range(1, 6):
        os.link(path / "a" / "0.webp", path / "a" / f"{number}.webp")
    return path


def head_of_member(name, size):
    member = tarfile.TarInfo(name)
    member.size = size
    return member.tobuf(tarfile.GNU_FORMAT)


def gzip_bomb(path):
    """A tar with a member of 7 GiB of zeros."""
    path.mkdir()
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    head = packer.compress(head_of_member("0.png", 7 << 30)) + packer.flush(zlib.Z_FULL_FLUSH)
    name = path / "a.tar.gz"
    name.write_bytes(b"\x1f\x8b\x08\0\0\0\0\0\0\x03" + head + zeros(8))
    return name


def long_tar(path):
    """Many small members, in a sparse file."""
    path.mkdir()
    picture = png(8, 8)
    head = head_of_member("00000000.png", len(picture))  # tarfile takes a second for all of them
    checksum = int(head[148:154], 8) - sum(b"00000000")
    with open(path / "a.tar", "wb") as to:
        for number in range(60_000):
            name = b"%08d" % number
            to.write(name + head[8:148] + b"%06o" % (checksum + sum(name)) + head[154:] + picture.ljust(512, b"\0"))
        to.write(bytes(1024))
    return path / "a.tar"


def npz_bomb(path):
    """Members of half a GiB of zeros each, unpacked from a few hundred KiB."""
    path.mkdir()
    rows = 1 << 29
    head = b"{'descr': '|u1', 'fortran_order': False, 'shape': (%d, 1024), }" % (rows >> 10)
    head = b"\x93NUMPY\x01\0" + struct.pack("<H", 118) + head.ljust(117) + b"\n"
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    stream = packer.compress(head) + packer.flush(zlib.Z_FULL_FLUSH)
    stream += zeros(1)[: len(zeros(1)) // 2] + zlib.compressobj(9, zlib.DEFLATED, -15).flush()
    crc = zlib.crc32(head)
    block = bytes(1 << 24)
    for _ in range(32):
        crc = zlib.crc32(block, crc)
    sizes = struct.pack("<III", crc, len(stream), len(head) + rows)
    with open(path / "a.npz", "wb") as to:
        central = b""
        for name in (b"a.npy", b"b.npy"):
            at = to.tell()
            to.write(b"PK\x03\x04" + struct.pack("<HHHHH", 20, 0, 8, 0, 0) + sizes + struct.pack("<HH", len(name), 0) + name + stream)
            central += b"PK\x01\x02" + struct.pack("<HHHHHH", 20, 20, 0, 8, 0, 0) + sizes + struct.pack("<HHHHHII", len(name), 0, 0, 0, 0, 0, at) + name
        at = to.tell()
        to.write(central + b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, 2, 2, len(central), at, 0))
    return path / "a.npz"


def long_table(path):
    path.mkdir()
    (path / "0.png").write_bytes(png(8, 8))
    (path / "list.csv").write_bytes(b"file_name,label,score\n" + b"0.png,1,0.25\n" * 800_000)
    return path / "list.csv"


def long_lines(path):
    path.mkdir()
    (path / "0.png").write_bytes(png(8, 8))
    line = b'{"file_name": "0.png", "label": 1, "more": {"a": [[1, 2], [3, 4]]}}\n'
    (path / "metadata.jsonl").write_bytes(line * 140_000)
    return path


def long_coco(path):
    path.mkdir()
    (path / "0.png").write_bytes(png(8, 8))
    images = ",".join('{"id":%d,"file_name":"0.png","width":8,"height":8}' % i for i in range(2))
    box = '{"id":1,"image_id":1,"category_id":1,"bbox":[1,1,2,2],"area":4,"iscrowd":0,"segmentation":[[1,1,2,1,2,2]]},'
    text = '{"images":[%s],"categories":[{"id":1,"name":"a"}],"annotations":[%s%s]}' % (images, box * 250_000, box[:-1])
    (path / "instances.json").write_text(text)
    return path / "instances.json"


def deep_json(path):
    path.mkdir()
    (path / "0.png").write_bytes(png(8, 8))
    (path / "instances.json").write_text('{"images":' + "[" * 40_000_000)
    return path / "instances.json"


def many_folders(path):
    for number in range(1000):
        (path / f"class{number}").mkdir(parents=True)
    picture = path / "class0" / "0.png"
    picture.write_bytes(png(8, 8))
    for number in range(1, 6_000):
        os.link(picture, path / f"class{number % 1000}" / f"{number}.png")
    return path


def pipes(path):
    """Pipes without a writer."""
    (path / "a").mkdir(parents=True)
    for number in range(3):
        os.mkfifo(path / "a" / f"{number}.png")
    return path


def shapes_of_polygons(path):
    return shapes(path / "d", polygons(600, 4000, 40), 4000)


def shapes_of_run_lengths(path):
    return shapes(path / "d", run_lengths(600, 8000), 8000)


def large_values(path):
    """Large samples of numbers: compressed when packed, and unpacked from their frames."""
    numbers = numpy.random.default_rng(2).integers(0, 7, 30_000_000, dtype=numpy.uint8)
    return packed(path / "d", {"x": ("tensor", "uint8", (0,))}, *[{"x": numbers}] * 2)


KINDS = [
    huge_pngs,
    pngs_with_more_behind,
    one_row,
    progressive_jpegs,
    scans_without_end,
    webps,
    gzip_bomb,
    long_tar,
    npz_bomb,
    long_table,
    long_lines,
    long_coco,
    deep_json,
    many_folders,
    pipes,
    shapes_of_polygons,
    shapes_of_run_lengths,
    large_values,
]


@pytest.fixture(scope="module", params=KINDS, ids=lambda make: make.__name__)
def hostile(request, tmp_path_factory):
    return request.param.__name__, request.param(tmp_path_factory.mktemp(request.param.__name__) / "x")


def note(took, what):
    if took[1] > LONGEST["took"]:
        LONGEST.update(took=took[1], what=what)
    stopwatch.check(took, MOST, f"{what}, after Ctrl-C")


def some(things, name, first=0):
    """Returns half of `things`, a third with a sanitizer: a different selection for each kind of data."""
    kind = [make.__name__ for make in KINDS].index(name) + first
    return list(things)[kind % amount(2, 3) :: amount(2, 3)]


# ---- the tool ----


def commands(path, to):
    return [
        ["info", path],
        ["verify", path, "--decode"],
        ["pack", path, to / "packed", "--zstd=19"],
        ["unpack", path, to / "unpacked"],
        ["bench", path, "--batch=4", "--size=64", "--workers=2"],
        ["view", path, "-o", to / "sheet.png"],
    ]


def cpu_of(pid):
    """Returns the CPU seconds that a process, which may have ended, has used."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def killed_after(process, seconds):
    timer = threading.Timer(seconds, process.kill)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


def interrupt(command, delay):
    """Returns (exit code, seconds until it ended, of CPU and on the clock)."""
    process = subprocess.Popen([TOOL, *map(str, command)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(delay)
    cpu, clock = cpu_of(process.pid), time.monotonic()
    os.kill(process.pid, signal.SIGINT)  # the process may have ended already, and is not reaped yet
    with killed_after(process, 300):
        used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(used[1])
    return process.returncode, (used[2].ru_utime + used[2].ru_stime - cpu, time.monotonic() - clock)


def test_the_tool(hostile, tmp_path):
    name, path = hostile
    delays = random.Random(name)
    for command in some(commands(path, tmp_path), name):
        code, took = interrupt(command, delays.uniform(0.02, 0.15))
        note(took, f"sluice {command[0]} of {name}")
        if code in (130, -signal.SIGINT):
            ENDED.append(name)
        else:  # a signal is too late if it arrives while the command ends
            assert code in (0, 1, 2, 3), f"sluice {command[0]} of {name}: exit code {code}"


# ---- Python ----


def threads():
    return {entry for entry in os.listdir("/proc/self/task")}


def wait_for_end(before, what):
    """Waits until the abandoned call has ended, too."""
    watch = stopwatch.Stopwatch()
    while threads() - before:
        assert watch.seconds()[1] < stopwatch.PATIENCE, f"{what}: threads are left"
        time.sleep(0.01)
    note(watch.seconds(), what)


def interrupt_call(call, delay):
    """Returns whether the call was interrupted, and the seconds since then, of CPU and on the clock; it may end earlier, or fail."""
    watches = []

    def send():
        watches.append(stopwatch.Stopwatch())
        signal.raise_signal(signal.SIGINT)

    timer = threading.Timer(delay, send)
    interrupted = False
    try:
        timer.start()
        try:
            call()
        except sluice.Error:
            pass
        timer.cancel()
        timer.join()
    except KeyboardInterrupt:
        interrupted = True
        timer.join()
    return interrupted, watches[0].seconds() if interrupted else NO_TIME


def opened(path):
    try:
        return sluice.Dataset(path)
    except sluice.Error:
        return None


def test_python(hostile, tmp_path):
    name, path = hostile
    before = threads()
    delays = random.Random(name)
    interrupted, took = interrupt_call(lambda: sluice.Dataset(path), delays.uniform(0.01, 0.2))
    note(took, f"Dataset of {name}")
    wait_for_end(before, f"the end of Dataset of {name}")
    data = opened(path)
    if data is None:
        return
    calls = {  # the calls of verify, pack and unpack that the tool is not interrupted in, for each kind: see `commands`
        "pack": lambda: sluice.pack(data, tmp_path / "packed", zstd=19, progress=False),
        "verify": lambda: data.verify(decode=True, progress=False),
        "pack with smaller pictures": lambda: sluice.pack(data, tmp_path / "smaller", max_side=5000, progress=False),
        "unpack": lambda: sluice.unpack(data, tmp_path / "unpacked", progress=False),
    }
    before = threads()
    for what, call in some(calls.items(), name, first=1):
        interrupted, took = interrupt_call(call, delays.uniform(0.02, 0.15))
        note(took, f"{what} of {name}")
        wait_for_end(before, f"the end of {what} of {name}")


def test_unpacked_folder(tmp_path):
    """Interrupts an opening that unpacks, alone and while another process unpacks."""
    path = gzip_bomb(tmp_path / "x")
    before = threads()
    for delay in (0.05, 0.5):
        interrupted, took = interrupt_call(lambda: sluice.Dataset(path, unpacked_dir=tmp_path / "kept"), delay)
        assert interrupted
        note(took, "Dataset with unpacked_dir")
        wait_for_end(before, "the end of Dataset with unpacked_dir")
    assert not [one for one in (tmp_path / "kept").rglob("*") if one.is_file() and one.stat().st_size > 0]


def test_many_packed_files(tmp_path):
    """More files than are unpacked at once: threads that wait for their turn end, too."""
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w") as archive:
        for number in range(2000):
            member = tarfile.TarInfo(f"{number:06}.bin")
            member.size = 4096
            archive.addfile(member, io.BytesIO(bytes(4096)))
    for number in range(3 * os.cpu_count() + 6):
        (tmp_path / f"{number}.tar.gz").write_bytes(gzip.compress(tar.getvalue(), 1))
    for delay in (0.01, 0.02, 0.04, 0.06, 0.08):
        before = threads()
        interrupted, took = interrupt_call(lambda: sluice.Dataset(tmp_path), delay)
        note(took, "Dataset of many packed files")
        wait_for_end(before, "the end of Dataset of many packed files")


def test_most_were_ended():
    assert len(ENDED) > len(KINDS) // amount(1, 3), "most commands were over before their signals: more must be read"
    print(f"\nthe longest: {LONGEST['what']}, {LONGEST['took']:.2f} s")
