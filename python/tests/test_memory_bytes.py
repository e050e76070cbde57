# SPDX-License-Identifier: Apache-2.0
"""A loader's memory, compared with memory_bytes, for formats whose samples must be unpacked."""
import functools
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile

import mds_files
import numpy
import parquets
import pytest
from PIL import Image, features
from test_open_memory import data_page, parquet

import sluice

MIB = 1 << 20
BUDGET = 48 * MIB
ASAN = "asan" in os.environ.get("LD_PRELOAD", "")
WORKERS = [1, 16]

# Each loader is measured in its own process, forked from one that has imported all modules and opened nothing. Libraries loaded for the first
# image are loaded before the measurement, and earlier peaks are forgotten.
PROGRAM = """
import json, os, sys
import numpy, sluice
def status(name):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith(name))
def run(path, memory_bytes, workers, arguments, columns, options):
    data = sluice.Dataset(path, **arguments)
    made = columns and {name: getattr(sluice.columns, kind)(**more) for name, (kind, more) in columns.items()}
    crop = None if made else sluice.transforms.RandomResizedCrop(32)
    loader = sluice.Loader(data, columns=made, transform=crop, memory_bytes=memory_bytes, num_workers=workers,
        seed=1, on_bad_sample="mask", page_cache="buffered", last_batch="pad", **{"shuffle": True, **options[0]})
    bad, most, sums = [], 0, []
    for epoch in range(options[1]):
        for batch in loader:
            kept = {name: numpy.asarray(batch[name]) for name in sorted([*batch.keys(), *batch.parts(), "index", "mask", "status"])}
            bad += [int(i) for i, m in zip(kept["index"], kept["mask"]) if i >= 0 and not m]
            sums.append([int(values.sum(dtype="int64")) for values in kept.values()])
            batch.release()
            most = max(most, loader.stats()["memory_bytes"])
    loader.close()
    return sorted(bad), most, sums
def measured(path, warm, arguments, columns, options, budget):
    workers = options[2]
    run(warm, 0, workers, arguments, columns, options)
    open("/proc/self/clear_refs", "w").write("5")
    before = status("VmRSS")
    try:
        bad, most, sums = run(path, budget, workers, arguments, columns, options)
    except sluice.OutOfMemoryError as error: # whatever becomes of bad samples
        assert "use fewer num_workers" in str(error), error
        bad, most, sums = "refused", 0, []
    return [status("VmHWM") - before, bad, most, sums]
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        print(json.dumps(measured(*json.loads(line))), flush=True)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code:
        print(json.dumps(f"exit code {code}, see above"), flush=True)
"""


@pytest.fixture(scope="module", autouse=True)
def server():
    with subprocess.Popen([sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        SERVER.append(process)
        yield
        SERVER.pop()
        process.stdin.close()


SERVER = []


def measure(path, warm, workers, budget, columns=None, arguments=None, epochs=1, **options):
    """Returns a loader's peak memory in bytes, the number of bad rows, memory_bytes of its statistics, sums of batches."""
    options = {"batch_size": 2, "prefetch_factor": 2, "read_buffer_bytes": 8 * MIB, **options}
    given = json.dumps([str(path), str(warm), arguments or {}, columns, [options, epochs, workers], budget])
    SERVER[0].stdin.write(given + "\n")
    SERVER[0].stdin.flush()
    found = json.loads(SERVER[0].stdout.readline())
    assert not isinstance(found, str), found
    return found


def budget_holds(path, warm, workers, budget=BUDGET, **options):
    """Returns the number of bad rows, or "refused", and the batches' sums; callers check that they do not depend on the number of workers."""
    memory, bad, told, sums = measure(path, warm, workers, budget, **options)
    # "code and stacks" of sluice/loader.h: the allocator keeps some memory for each thread.
    assert ASAN or memory <= budget + 8 * MIB + workers * MIB // 2, f"{memory / MIB:.0f} MiB of {budget / MIB:.0f}"
    assert told <= budget
    return bad, sums


# ---- data ----


def noise(number, shape):
    return numpy.random.default_rng(number).integers(0, 4, shape, "uint8")


def repeated(number, shape, times):
    """Repeats noise of less than 32 KiB: deflate compresses and decompresses it fast."""
    return numpy.tile(noise(number, shape), (times, *[1] * (len(shape) - 1)))


def parquet_of(folder, rows, side, columns, codec="ZSTD"):
    """Writes columns of arrays, four to a page."""
    names = [f"x{i}" for i in range(columns)]
    made = {name: parquets.Column("binary", [noise(10 * row + i, (side, side)).tobytes() for row in range(rows)])
            for i, name in enumerate(names)}  # fmt: skip
    made["id"] = parquets.Column("int64", range(rows))
    parquets.write(folder / "a.parquet", made, codec={name: codec for name in names}, rows_per_page=4)
    arguments = {"fields": {name: [name, f"u8[{side},{side}]"] for name in names} | {"id": "id"}}
    return {"path": folder / "a.parquet", "warm": folder / "a.parquet", "arguments": arguments,
            "columns": {name: ["Tensor", {}] for name in names} | {"id": ["Number", {}]}}  # fmt: skip


QUICKLY = {"png": {"compress_level": 1}, "webp": {"lossless": True, "method": 0, "quality": 0}}


@functools.lru_cache(maxsize=16)
def picture(kind, size, i):
    pixels = noise(i, (size, size, 3)) if kind == "png" else numpy.tile(noise(i, (1, size, 3)), (size, 1, 1))
    made = io.BytesIO()
    Image.fromarray(pixels).save(made, kind, **QUICKLY[kind])
    return made.getvalue()


def pictures_of(folder, kind, side, count=8):
    for name, size in (("many", side), ("warm", 40)):
        (folder / name / "a").mkdir(parents=True)
        for i in range(count if name == "many" else 2):
            (folder / name / "a" / f"{i:02}.{kind}").write_bytes(picture(kind, size, i))
    return {"path": folder / "many", "warm": folder / "warm"}


def npz_of(folder, rows=8):
    (folder / "many").mkdir()
    for i in range(rows):
        array = io.BytesIO()
        numpy.save(array, repeated(i, (8, 2048), 128))
        with zipfile.ZipFile(folder / "many" / f"{i:02}.npz", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as made:  # savez_compressed is slow
            made.writestr("x.npy", array.getvalue())
    return {"path": folder / "many", "warm": folder / "many", "columns": {"x": ["Tensor", {}]}}


def mds_of(folder):
    """Writes images in shards."""
    pictures = pictures_of(folder, "png", 1000)
    for name, source in (("shards", pictures["path"]), ("few", pictures["warm"])):
        samples = [{"image": path.read_bytes(), "i": i} for i, path in enumerate(sorted(source.glob("a/*.png")))]
        mds_files.write(folder / name, {"image": "png", "i": "int"}, samples)
    return {"path": folder / "shards", "warm": folder / "few"}


FORMATS = {
    "parquet": lambda folder: parquet_of(folder, 16, 512, 4),
    "snappy": lambda folder: parquet_of(folder, 16, 256, 2, "SNAPPY"),
    "npz": npz_of,
    "png": lambda folder: pictures_of(folder, "png", 1000),
    "mds": mds_of,  # with the same images
    "webp": lambda folder: pictures_of(folder, "webp", 1000),
}


# ---- tests ----

needs = {
    "parquet": pytest.mark.skipif(not parquets.have("ZSTD"), reason="no Zstandard here"),
    "webp": pytest.mark.skipif(not features.check("webp"), reason="Pillow has no WebP here"),
}


@pytest.fixture(scope="module", params=[pytest.param(name, marks=needs.get(name, ())) for name in FORMATS])
def samples(request, tmp_path_factory):
    return request.param, FORMATS[request.param](tmp_path_factory.mktemp(request.param))


all_sums = {}


@pytest.mark.parametrize("workers", WORKERS)
def test_budgets_hold(samples, workers):
    """Regardless of the number of workers; with sufficient memory, no sample is bad."""
    name, given = samples
    found = budget_holds(**given, workers=workers, budget=BUDGET)
    if workers == 1:
        assert found[0] == []
        all_sums[name] = found[1]
    elif found != ([], all_sums[name]):
        assert found[0] == "refused" or found == budget_holds(**given, workers=workers, budget=BUDGET)
        assert budget_holds(**given, workers=workers, budget=1000 * MIB) == ([], all_sums[name])


@pytest.mark.skipif(not parquets.have("ZSTD"), reason="no Zstandard here")
@pytest.mark.parametrize("workers", WORKERS)
def test_pages_of_nothing(tmp_path, workers):
    """Pages of 56 MiB, in a file of some kilobytes; each sample spans four of them."""
    row = 14 * MIB
    body = (row.to_bytes(4, "little") + bytes(row)) * 4
    groups, columns = 3, {}
    for i in range(4):
        columns[f"x{i}"] = (parquets.BYTE_ARRAY, 0, 4, [data_page(4, body, "ZSTD", encoding=0)], len(body))
    parquet(tmp_path / "a.parquet", columns, groups)
    parquet(tmp_path / "warm.parquet", columns, 1)
    assert (tmp_path / "a.parquet").stat().st_size < 100_000
    arguments = {"fields": {f"x{i}": [f"x{i}", f"u8[{row}]"] for i in range(4)}}
    given = {"path": tmp_path / "a.parquet", "warm": tmp_path / "warm.parquet", "arguments": arguments, "batch_size": 1, "epochs": 1,
             "columns": {f"x{i}": ["Tensor", {"shape": [1], "part": "center"}] for i in range(4)}, "read_buffer_bytes": MIB}  # fmt: skip
    bad, _ = budget_holds(**given, workers=workers, budget=200 * MIB)
    assert bad == "refused"  # each sample needs 224 MiB
    if workers == 1:
        bad, _ = budget_holds(**given, workers=1, budget=260 * MIB)
        assert bad == []


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    """Writes folders of twelve archives with the same content, and of one."""
    few, many = (tmp_path_factory.mktemp("archives") / name for name in ("few", "many"))
    few.mkdir(), many.mkdir()
    with tarfile.open(few / "0.tar.gz", "w:gz", compresslevel=1) as tar:
        for i in range(8):
            png = io.BytesIO()
            Image.fromarray(repeated(i, (30, 300, 3), 10)).save(png, "PNG", compress_level=0)
            member = tarfile.TarInfo(f"{i}.png")
            member.size = png.tell()
            png.seek(0)
            tar.addfile(member, png)
    for archive in range(12):
        shutil.copy(few / "0.tar.gz", many / f"{archive}.tar.gz")
    return few, many


@pytest.mark.parametrize("shuffle", (False, "shards"))
def test_compressed_archives(archives, shuffle):
    """Twelve archives, and a window of samples: unpacked bytes are counted."""
    few, many = archives
    for workers in (1, 4):
        bad, _ = budget_holds(many, few, workers, 80 * MIB, shuffle=shuffle, window_bytes=12 * MIB, read_buffer_bytes=16 * MIB)
        assert bad == []
