#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Damages small datasets of all formats at random, then opens, reads, verifies and loads them in this process.

    PYTHONPATH=build/release/python fuzz/mutate_files.py [--count 100000] [--seed 1] [--memory MiB] [--jobs 2] [--keep DIR]
    LD_PRELOAD=$(gcc -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=0 PYTHONPATH=build/asan/python fuzz/...

--memory: address space per process (RLIMIT_AS), without a sanitizer. Reports any crash, time above 20 s, or exception that
is not a sluice.Error, with its number and the folder, which is kept below DIR; exit code 1. The same seed and count make
the same mutants. Needs numpy and Pillow; formats whose writers are missing are skipped with a note.
"""
import argparse
import collections
import io
import json
import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import zlib

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "python" / "tests"))
CPU_SECONDS, SECONDS = 60, 1800  # ASan reads a 4 GiB hole, on a busy machine
AT_ONCE = 500  # mutants per process


# ---- datasets ----


def pictures(kind="JPEG", count=6):
    import numpy
    from PIL import Image

    made = []
    for number in range(count):
        out = io.BytesIO()
        pixels = numpy.random.default_rng(number).integers(0, 255, (16, 24, 3), "uint8")
        Image.fromarray(pixels).save(out, kind)
        made.append(out.getvalue())
    return made


def make_folder(path):
    for number, (name, body) in enumerate(zip(("jpg", "png", "webp"), (pictures(kind)[0] for kind in ("JPEG", "PNG", "WEBP")))):
        (path / f"class {number % 2}").mkdir(exist_ok=True)
        (path / f"class {number % 2}" / f"{number}.{name}").write_bytes(body)


def make_unpacked(path):
    for number, body in enumerate(pictures()):
        for name, content in (("jpg", body), ("cls", b"%d" % number), ("txt", b"a caption"), ("seg.png", pictures("PNG")[0])):
            (path / f"{number}.{name}").write_bytes(content)


def make_shards(path):
    import sluice

    with tempfile.TemporaryDirectory() as scratch:
        make_folder(pathlib.Path(scratch))
        sluice.pack(scratch, path / "packed", progress=None, shard_bytes=1 << 20)
        with sluice.Writer(path / "written", {"x": ("tensor", "float32", (0,)), "t": "text", "n": "int"}) as writer:
            for number in range(5):
                writer.add(x=bytes(40 * number), t="abc" * number, n=number)


def tar_bytes():
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for number, body in enumerate(pictures() + pictures("PNG")):
            for name, content in ((f"{number}.{'png' if body[0] == 137 else 'jpg'}", body), (f"{number}.cls", b"%d" % number)):
                info = tarfile.TarInfo(name if number else "long/" * 30 + name)
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


def make_tar(path):
    (path / "a.tar").write_bytes(tar_bytes())


def make_tar_gz(path):
    import gzip

    (path / "a.tar.gz").write_bytes(gzip.compress(tar_bytes()))


def make_tar_zst(path):
    import zstds

    (path / "a.tar.zst").write_bytes(zstds.compress(tar_bytes()))


def make_wids(path):
    (path / "a.tar").write_bytes(tar_bytes())
    (path / "a.json").write_text(json.dumps({"wids_version": 1, "shardlist": [{"url": "a.tar", "nsamples": 12}]}))


def make_tfrecord(path):
    import tfrecords

    samples = [tfrecords.example({"image/encoded": [body], "image/class/label": [number], "x": [1.5] * number})
               for number, body in enumerate(pictures())]
    tfrecords.write(path / "a.tfrecord", samples)


def parquet(path, **how):
    import parquets

    body = [picture + bytes(300_000) for picture in pictures()]
    columns = {
        "image": parquets.Column("image", [{"bytes": one, "path": f"{i}.jpg"} for i, one in enumerate(body)]),
        "label": parquets.Column("int64", list(range(6))),
        "box": parquets.Column("list<float>", [[1.0] * i for i in range(6)]),
        "text": parquets.Column("string", ["a", None, "bc", "a", "bc", ""]),
    }
    parquets.write(path / "a.parquet", columns, rows_per_group=4, rows_per_page=2, **how)


def make_parquet(path):
    parquet(path, crc=True)


def make_parquet_packed(path):
    parquet(path, codec="ZSTD", dictionary={"text", "label"}, data_page_version=2, page_index=True)


def arrow_columns():
    import arrows

    return {
        "image": arrows.Column("image", [{"bytes": one, "path": "a"} for one in pictures()]),
        "label": arrows.Column("int64", list(range(6))),
        "word": arrows.Column("dictionary[int8]<string>", ["a", "b", None, "a", "b", "c"]),
        "box": arrows.Column("fixed_list[4]<float>", [[1.0, 2.0, 3.0, 4.0]] * 6),
    }


def make_arrow(path):
    import arrows

    arrows.write_stream(path / "a.arrow", arrow_columns(), rows_per_batch=4)


def make_arrow_file(path):
    import arrows

    arrows.write_file(path / "a.arrow", arrow_columns(), rows_per_batch=4)


def make_mds(path, **how):
    import mds_files

    samples = [{"image": body, "label": number, "text": "x" * number} for number, body in enumerate(pictures())]
    how = {"hashes": ["sha256"]} | how
    mds_files.write(str(path), {"image": "jpeg", "label": "int", "text": "str"}, samples, samples_per_shard=4, **how)


def make_mds_zstd(path):
    make_mds(path, compression="zstd", hashes=[])


def make_mds_gz(path):
    make_mds(path, compression="gz")


def make_mds_br(path):
    make_mds(path, compression="br", hashes=[])


def make_mds_snappy(path):
    make_mds(path, compression="snappy", hashes=[])


def make_litdata(path, **how):
    import litdata_files

    samples = [[body, number] for number, body in enumerate(pictures())]
    litdata_files.write(str(path), ["bytes", "int"], samples, chunk_samples=4, **how)


def make_litdata_zstd(path):
    make_litdata(path, compression="zstd")


def make_recordio(path):
    import recordios

    records = [recordios.image(number, body, number) for number, body in enumerate(pictures())]
    recordios.write(path / "a.rec", records)


def make_beton(path):
    import betons

    samples = [{"image": body, "label": number} for number, body in enumerate(pictures())]
    betons.write(path / "a.beton", {"image": "rgb", "label": "int"}, samples)


def make_lmdb(path):
    import lmdbs

    lmdbs.caffe(str(path / "a.lmdb"), list(zip(pictures(), range(6))))


def make_npz(path):
    import numpy

    for number in range(4):
        save = numpy.savez_compressed if number % 2 else numpy.savez
        save(path / f"{number}.npz", x=numpy.arange(50 + number, dtype="float32"), y=numpy.int64(number))


def make_npz_rows(path):
    import numpy

    numpy.savez(path / "a.npz", x=numpy.zeros((7, 5), "uint8"), y=numpy.arange(7))


def make_npy(path):
    import numpy

    numpy.save(path / "a.npy", numpy.zeros((9, 4), "int16"))


def make_megatron(path):
    import numpy

    tokens = numpy.arange(100, dtype="uint16")
    (path / "a.bin").write_bytes(tokens.tobytes())
    index = b"MMIDIDX\0\0" + (1).to_bytes(8, "little") + b"\x08" + (4).to_bytes(8, "little") + (5).to_bytes(8, "little")
    index += numpy.array([25] * 4, "int32").tobytes() + numpy.array([0, 50, 100, 150], "int64").tobytes()
    (path / "a.idx").write_bytes(index + numpy.arange(5, dtype="int64").tobytes())


def make_table(path):
    for number, body in enumerate(pictures()):
        (path / f"{number}.jpg").write_bytes(body)
    rows = "".join(f'{n}.jpg,{n},"a ""b""","[1, 2]"\n' for n in range(6))
    (path / "metadata.csv").write_text("file_name,label,text,box\n" + rows)


def make_lines(path):
    for number, body in enumerate(pictures()):
        (path / f"{number}.jpg").write_bytes(body)
    lines = [json.dumps({"file_name": f"{n}.jpg", "label": n, "box": [1.5, n], "text": "ä"}) for n in range(6)]
    (path / "metadata.jsonl").write_text("\n".join(lines))


def make_coco(path):
    (path / "images").mkdir()
    for number, body in enumerate(pictures()):
        (path / "images" / f"{number}.jpg").write_bytes(body)
    (path / "annotations.json").write_text(json.dumps({
        "images": [{"id": n, "file_name": f"{n}.jpg", "width": 24, "height": 16} for n in range(6)],
        "categories": [{"id": 1, "name": "cat"}],
        "annotations": [{"id": n, "image_id": n // 2, "category_id": 1, "bbox": [1, 2, 3, 4], "area": 12, "iscrowd": 0}
                        for n in range(12)]}))  # fmt: skip


def make_voc(path):
    (path / "Annotations").mkdir()
    (path / "JPEGImages").mkdir()
    for number, body in enumerate(pictures()):
        (path / "JPEGImages" / f"{number}.jpg").write_bytes(body)
        (path / "Annotations" / f"{number}.xml").write_text(
            f"<annotation><filename>{number}.jpg</filename><size><width>24</width><height>16</height><depth>3</depth></size>"
            "<object><name>cat</name><bndbox><xmin>1</xmin><ymin>2</ymin><xmax>9</xmax><ymax>8</ymax></bndbox></object>"
            "</annotation>"
        )


def masks_in(folder):
    folder.mkdir()
    for number, body in enumerate(pictures("PNG")):
        (folder / f"{number}.png").write_bytes(body)


def make_masks(path):
    (path / "images").mkdir()
    for number, body in enumerate(pictures()):
        (path / "images" / f"{number}.jpg").write_bytes(body)
    masks_in(path / "masks")


def make_yolo(path):
    for folder in ("images", "labels"):
        (path / folder).mkdir()
    for number, body in enumerate(pictures()):
        (path / "images" / f"{number}.jpg").write_bytes(body)
        (path / "labels" / f"{number}.txt").write_text(f"{number % 2} 0.5 0.5 0.25 0.125\n1 0.1 0.1 0.2 0.3 0.4 0.25\n")
    (path / "data.yaml").write_text("path: .\ntrain: images\nval:\nnc: 2\nnames:\n  0: cat\n  1: dog\n")


def make_yolo_list(path):
    make_yolo(path)
    (path / "train.txt").write_text("".join(f"./images/{number}.jpg\n" for number in (4, 0, 5, 1)))


def make_voc_masks(path):
    make_voc(path)
    masks_in(path / "SegmentationClass")
    masks_in(path / "SegmentationObject")
    (path / "ImageSets/Segmentation").mkdir(parents=True)
    (path / "ImageSets/Segmentation/train.txt").write_text("".join(f"{number}\n" for number in (4, 0, 5, 1)))


FORMATS = {name[5:]: make for name, make in list(globals().items()) if name.startswith("make_")}
# The path to open, if it is not the folder.
OPENED = {"shards": ("packed", "written"), "tar": ("a.tar",), "tar_gz": ("a.tar.gz",), "tar_zst": ("a.tar.zst",),
          "wids": ("a.json",), "tfrecord": ("a.tfrecord",), "parquet": ("a.parquet",), "parquet_packed": ("a.parquet",),
          "arrow": ("a.arrow",), "arrow_file": ("a.arrow",), "recordio": ("a.rec",), "beton": ("a.beton",),
          "lmdb": ("a.lmdb",), "npz_rows": ("a.npz",), "npy": ("a.npy",), "megatron": ("a.bin",),
          "coco": ("annotations.json",), "voc_masks": ("ImageSets/Segmentation/train.txt",),
          "yolo": ("", "images"), "yolo_list": ("train.txt",)}  # fmt: skip


def make_all(root):
    """Returns the formats that could be made."""
    made = []
    for name, make in FORMATS.items():
        (root / name).mkdir()
        try:
            make(root / name)
            made.append(name)
        except (ImportError, RuntimeError) as missing:
            print(f"left out: {name} ({missing})", file=sys.stderr)
            shutil.rmtree(root / name)
    return made


# ---- damage ----

NUMBERS = [0, 1, 2, 7, 8, 127, 128, 255, 256, 32767, 65535, 65536, 2**24, 2**31 - 1, 2**31, 2**32 - 1, 2**33, 2**62, 2**63 - 1, 2**64 - 1]


def damage(chance, body, others):
    body = bytearray(body)
    for _ in range(chance.choice((1, 1, 1, 2, 3, 6))):
        at = chance.randrange(len(body) + 1)
        # heads and tails determine how the rest is read
        at = min(at, chance.randrange(64)) if chance.random() < 0.25 else at
        at = max(at, len(body) - chance.randrange(1, 600)) if chance.random() < 0.2 else at
        size = chance.choice((1, 2, 4, 8, 16, 512))
        kind = chance.randrange(9)
        if kind == 0 and at < len(body):
            body[at] ^= 1 << chance.randrange(8)
        elif kind == 1 and at < len(body):
            body[at] = chance.randrange(256)
        elif kind in (2, 3):
            width = chance.choice((1, 2, 4, 8))
            number = chance.choice(NUMBERS) + chance.choice((0, 0, 1, -1))
            order = chance.choice(("little", "big"))
            body[at : at + width] = (number % 256**width).to_bytes(width, order)[: max(0, len(body) - at)]
        elif kind == 4:
            del body[at:]
        elif kind == 5:
            del body[at : at + size]
        elif kind == 6:
            body[at:at] = body[chance.randrange(len(body) + 1) :][:size]
        elif kind == 7:
            digits = [i for i, byte in enumerate(body[:4000]) if 48 <= byte <= 57]
            if digits:  # counts in texts
                body[chance.choice(digits)] = 48 + chance.randrange(10)
        else:
            other = chance.choice(others)
            start = chance.randrange(len(other) + 1)
            body[at : at + size] = other[start : start + size]
        if not body:
            break
    return bytes(body)


def mend(chance, name, body):
    """Corrects some checksums, which would otherwise hide the code behind them."""
    if name.endswith(".gz") and len(body) > 18 and chance.random() < 0.5:
        try:
            plain = zlib.decompressobj(31).decompress(body)
            return body[:-8] + zlib.crc32(plain).to_bytes(4, "little") + (len(plain) % 2**32).to_bytes(4, "little")
        except zlib.error:
            pass
    return body


def mend_index(chance, folder):
    """Changes the sizes of compressed shards, which are checked before anything else of them."""
    try:
        index = json.loads(beginning(folder / "index.json"))
        for shard in index["shards"]:
            shard["zip_data"]["bytes"] = (folder / shard["zip_data"]["basename"]).stat().st_size
        if chance.random() < 0.5:
            (folder / "index.json").write_text(json.dumps(index))
    except (OSError, ValueError, KeyError, TypeError):
        pass


def beginning(path):
    with open(path, "rb") as file:
        return file.read(1 << 20)


def mutant(chance, seeds, name, folder):
    source = seeds / name
    shutil.copytree(source, folder)
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    for path in chance.sample(files, min(len(files), chance.choice((1, 1, 1, 2)))):
        others = [beginning(chance.choice(files)) for _ in range(2)]
        body = damage(chance, path.read_bytes(), others)
        path.write_bytes(mend(chance, path.name, body))
        if chance.random() < 0.005:
            size = 1 << 32 if chance.random() < 0.1 else 1 << chance.choice((24, 26, 28))
            os.truncate(path, size)  # sparse: takes no disk space
    if name.startswith("mds_"):
        mend_index(chance, folder)


# ---- looking at it ----


def look(sluice, path, chance):
    try:
        work = os.environ["SLUICE_CACHE_DIR"]
        data = sluice.Dataset(str(path), unpacked_dir=chance.choice((None, work + "-unpacked")))
        if data.front_to_back:
            sluice.pack(data, work + "-packed", progress=None, on_bad_sample="skip", overwrite=True)
        for number in {0, len(data) - 1, chance.randrange(len(data))}:
            try:
                values = data[number]
                if values != data[number] and all(value == value for value in values.values()):
                    raise AssertionError("it is not the same twice")
            except sluice.Error:
                pass
        data.verify(decode=chance.random() < 0.5, progress=None, workers=2)
        columns = {"image": sluice.columns.Image(transform=sluice.transforms.RandomResizedCrop(16))} if "image" in data.fields else None
        with sluice.Loader(data, 4, chance.choice((False, "block", True)), columns=columns, num_workers=2, on_bad_sample="mask") as loader:
            for _ in zip(range(50), loader):
                pass
        return "read"
    except sluice.Error as error:
        return type(error).__name__
    except (TypeError, ValueError) as error:
        return type(error).__name__  # no column for a field, or no batch


def child(given):
    import sluice

    if given.memory:
        resource.setrlimit(resource.RLIMIT_AS, (given.memory << 20, given.memory << 20))
    names = sorted(path.name for path in pathlib.Path(given.seeds).iterdir())
    folder = pathlib.Path(given.work) / "set"
    found = collections.Counter()
    for number in range(given.first, given.end):
        chance = random.Random(f"{given.seed} {number}")
        name = names[number % len(names)]
        shutil.rmtree(folder, ignore_errors=True)
        mutant(chance, pathlib.Path(given.seeds), name, folder)
        (folder.parent / "number").write_text(f"{number} {name}")
        signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
        signal.alarm(SECONDS)
        found[look(sluice, folder / chance.choice(OPENED.get(name, ("",))), chance)] += 1
        signal.alarm(0)
        signal.setitimer(signal.ITIMER_PROF, 0)
    print(json.dumps(found))


def run(given, seeds, first):
    """Runs until all of these have been tried, whatever some of them do."""
    bad, found, end = [], collections.Counter(), min(first + AT_ONCE, given.count)
    while first < end:
        work = pathlib.Path(tempfile.mkdtemp(prefix="sluice-mutants-"))
        words = [sys.executable, __file__, "--child", "--seeds", str(seeds), "--work", str(work), "--first", str(first),
                 "--end", str(end), "--seed", str(given.seed), "--memory", str(given.memory)]  # fmt: skip
        ran = subprocess.run(words, capture_output=True, text=True, env=os.environ | {"SLUICE_CACHE_DIR": str(work / "cache")})
        if ran.returncode == 0:
            found.update(json.loads(ran.stdout))
            first = end
        elif not (work / "number").exists():
            raise RuntimeError(f"it does not begin:\n{ran.stderr}")
        else:
            number, name = (work / "number").read_text().split()
            kept = pathlib.Path(given.keep) / f"{name}-{number}"
            shutil.copytree(work / "set", kept, dirs_exist_ok=True)
            bad.append(f"{name} {number}: exit code {ran.returncode}, kept in {kept}\n{ran.stderr[-3000:]}")
            first = int(number) + 1
        shutil.rmtree(work)
    return bad, found


def main():
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, default in (("count", 100_000), ("seed", 1), ("memory", 0), ("jobs", 2), ("first", 0), ("end", 0)):
        words.add_argument(f"--{name}", type=int, default=default)
    words.add_argument("--keep", default="mutants")
    words.add_argument("--seeds")
    words.add_argument("--work")
    words.add_argument("--child", action="store_true")
    given = words.parse_args()
    if given.child:
        child(given)
        return 0
    from concurrent.futures import ThreadPoolExecutor

    with tempfile.TemporaryDirectory() as seeds, ThreadPoolExecutor(given.jobs) as threads:
        seeds = pathlib.Path(seeds)
        print(f"{len(make_all(seeds))} kinds of datasets")
        bad, found = [], collections.Counter()
        for wrong, counts in threads.map(lambda first: run(given, seeds, first), range(0, given.count, AT_ONCE)):
            bad += wrong
            found += counts
            for one in wrong:
                print(one, flush=True)
    print(f"{sum(found.values())} mutants: {dict(found)}; {len(bad)} failures")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
