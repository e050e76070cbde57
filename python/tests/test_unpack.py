# SPDX-License-Identifier: Apache-2.0
"""Unpacking: files and tars are restored, compared with tarfile, Pillow, numpy and json; malicious keys."""
import hashlib
import io
import json
import math
import os
import pathlib
import random
import shutil
import subprocess
import tarfile

import numpy
import pytest
from PIL import Image

import sluice
from test_process import interrupt


@pytest.fixture(autouse=True)
def cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("SLUICE_CACHE_DIR", str(tmp_path_factory.mktemp("cache") / "made"))


def digest(folder):
    """Returns the paths and contents of a folder's visible files."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def unpack(source, path, **options):
    return sluice.unpack(source, path, progress=None, **options)


def pack(source, path, **options):
    sluice.pack(source, path, progress=None, **options)
    return path


def picture(number=0, kind="JPEG", size=(20, 16)):
    made = io.BytesIO()
    Image.new("RGB", size, (number * 9 % 256, 80, 160)).save(made, kind)
    return made.getvalue()


def write(path, fields, samples, **options):
    with sluice.Writer(path, fields, **options) as writer:
        for sample in samples:
            writer.add(**sample)
    return path


def members(folder):
    """Returns {archive: [(name, bytes)]}, read by tarfile."""
    found = {}
    for path in sorted(folder.glob("*.tar")):
        with tarfile.open(path) as archive:
            found[path.name] = [(member.name, archive.extractfile(member).read()) for member in archive]
    return found


# ---- round trips ----


def test_a_folder_and_back(photos, tmp_path):
    """Restored byte for byte, including names and folders; also nested ones, other cases and wrong extensions."""
    shutil.copytree(photos, tmp_path / "photos")
    first = next((tmp_path / "photos" / "class1").iterdir())
    shutil.copy(first, tmp_path / "photos" / "class1" / "Ünïcode 1.JPEG")
    (tmp_path / "photos" / "class1" / "deep" / "er").mkdir(parents=True)
    shutil.copy(first, tmp_path / "photos" / "class1" / "deep" / "er" / "x.jpeg")
    (tmp_path / "photos" / "class1" / "a.b.png").write_bytes(picture(1, "PNG"))
    (tmp_path / "photos" / "class1" / "in truth a.jpg").write_bytes(picture(2, "PNG"))
    (tmp_path / "photos" / "class1" / "a.webp").write_bytes(picture(3, "WEBP"))
    pack(tmp_path / "photos", tmp_path / "packed", keep_bytes=True)
    result = unpack(tmp_path / "packed", tmp_path / "back")
    assert digest(tmp_path / "photos") == digest(tmp_path / "back")
    assert result.samples == result.files == 38 and result.renamed == result.renamed_classes == 0
    assert not result.labels_differ and result.bytes == sum(len(p.read_bytes()) for p in photos.rglob("*.jpg")) + sum(
        (tmp_path / "photos" / name).stat().st_size
        for name in ("class1/Ünïcode 1.JPEG", "class1/deep/er/x.jpeg", "class1/a.b.png", "class1/in truth a.jpg", "class1/a.webp")
    )
    assert sluice.Dataset(tmp_path / "back").classes == ["class0", "class1", "class2"]
    unpack(tmp_path / "photos", tmp_path / "copied")  # a folder is a dataset, too
    assert digest(tmp_path / "photos") == digest(tmp_path / "copied")


def test_retiled_and_raw_pictures_have_the_same_pixels(photos, tmp_path):
    unpack(pack(photos, tmp_path / "tiled"), tmp_path / "jpegs")
    unpack(pack(photos, tmp_path / "pixels", raw=True), tmp_path / "pngs")
    before = {path.relative_to(photos).with_suffix("") for path in photos.rglob("*.jpg")}
    for folder, suffix in (("jpegs", ".jpg"), ("pngs", ".png")):
        found = [path for path in (tmp_path / folder).rglob("*.*") if not path.name.startswith(".")]
        assert {path.relative_to(tmp_path / folder).with_suffix("") for path in found} == before
        for path in found:
            assert path.suffix == suffix
            source = photos / path.relative_to(tmp_path / folder).with_suffix(".jpg")
            assert Image.open(path).convert("RGB").tobytes() == Image.open(source).convert("RGB").tobytes()


def tar_samples(count, start=0):
    for number in range(start, start + count):
        kind = ("JPEG", "PNG", "WEBP")[number % 3]
        extension = {"JPEG": "jpg", "PNG": "png", "WEBP": "webp"}[kind]
        key = f"part{number % 2}/{number:05}" + ("x" * 120 if number % 5 == 0 else "") + ("é" * 120 if number % 7 == 0 else "")
        yield f"{key}.{extension}", picture(number, kind)
        yield f"{key}.cls", b"%d" % number
        yield f"{key}.caption.txt", f"número {number}".encode()
        yield f"{key}.json", json.dumps({"n": number}).encode()
        if number % 4:
            yield f"{key}.mask.png", picture(number, "PNG", (7, 5))
        array = io.BytesIO()
        numpy.save(array, numpy.arange(number))
        yield f"{key}.npy", array.getvalue()


def make_tar(path, samples):
    with tarfile.open(path, "w") as archive:
        for name, content in samples:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))


def by_sample(pairs):
    made = {}
    for name, content in pairs:
        folder, _, last = name.rpartition("/")
        key, _, extension = last.partition(".")
        made.setdefault(f"{folder}/{key}", {})[extension] = content
    return made


def test_tars_and_back(tmp_path):
    """tars -> shards -> tars: the same members, in any order within a sample."""
    (tmp_path / "tars").mkdir()
    make_tar(tmp_path / "tars" / "a.tar", tar_samples(20))
    make_tar(tmp_path / "tars" / "b.tar", tar_samples(15, 20))
    pack(tmp_path / "tars", tmp_path / "packed", keep_bytes=True, keep_order=True)
    result = unpack(tmp_path / "packed", tmp_path / "back", tar=True, shard_samples=10)
    found = members(tmp_path / "back")
    assert list(found) == [f"shard-00000{i}.tar" for i in range(4)] and result.archives == 4
    together = [pair for pairs in found.values() for pair in pairs]
    assert by_sample(together) == by_sample(tar_samples(35)) and result.files == len(together) and result.renamed == 0
    again = sluice.Dataset(tmp_path / "back")
    source = sluice.Dataset(tmp_path / "tars")
    assert again.fields == source.fields and len(again) == 35
    for a, b in zip(source, again):
        assert a == b
    # from tars directly to tars: the shards between do not matter
    unpack(tmp_path / "tars", tmp_path / "straight", tar=True, shard_samples=10)
    assert digest(tmp_path / "straight") == digest(tmp_path / "back")
    unpack(tmp_path / "back", tmp_path / "third", tar=True, shard_samples=10, workers=7)
    assert digest(tmp_path / "third") == digest(tmp_path / "back")


def test_tars_say_nothing_of_this_machine(photos, tmp_path):
    unpack(photos, tmp_path / "tars", tar=True)
    with tarfile.open(tmp_path / "tars" / "shard-000000.tar") as archive:
        for member in archive:
            assert (member.mtime, member.uid, member.gid, member.uname, member.gname, member.mode) == (0, 0, 0, "", "", 0o644)
            assert member.isreg()
    size = (tmp_path / "tars" / "shard-000000.tar").stat().st_size
    assert size % 512 == 0
    for tool in ("tar", "bsdtar"):
        if shutil.which(tool):
            listed = subprocess.run([tool, "tf", tmp_path / "tars" / "shard-000000.tar"], capture_output=True, text=True)
            assert listed.returncode == 0 and listed.stderr == "" and len(listed.stdout.split()) == 66


def test_archives_keep_to_their_size(tmp_path):
    samples = ({"x": os.urandom(200_000), "key": f"{i}"} for i in range(30))
    write(tmp_path / "packed", {"x": "bytes", "key": "text"}, samples)
    unpack(tmp_path / "packed", tmp_path / "tars", tar=True, shard_bytes=1 << 20)
    sizes = [path.stat().st_size for path in sorted((tmp_path / "tars").glob("*.tar"))]
    assert len(sizes) == 6 and all(size <= 1 << 20 for size in sizes)
    assert all(size + 201_000 > 1 << 20 for size in sizes[:-1])
    write(tmp_path / "large", {"x": "bytes"}, [{"x": bytes(3 << 20)}] * 2)
    assert unpack(tmp_path / "large", tmp_path / "one", tar=True, shard_bytes=1 << 20).archives == 2


# ---- fields of all kinds ----

EVERY = {
    "image": "image", "label": "int", "key": "text", "caption": "text", "meta": "text", "age": "int", "score": "float",
    "blob": "bytes", "clip": ("tensor", "float16", (0, 3)), "flag": ("tensor", "bool", (2,)), "brain": ("tensor", "bfloat16", (2,)),
    "one": ("tensor", "int64", ()), "image/mask": "image", "Odd.Name!": "text", "depth": "image",
}  # fmt: skip


def every(number):
    return {
        "image": picture(number), "label": number, "key": f"k{number}", "caption": "a\nb", "meta": '{"a": 1}', "age": -number,
        "score": [0.1, math.inf, 2.0, -math.inf, 1e-300][number % 5], "blob": bytes(range(number)),
        "clip": numpy.arange(number * 3, dtype=numpy.float16).reshape(-1, 3), "flag": numpy.array([True, False]),
        "brain": numpy.array([0x3F80, 0xC000], numpy.uint16), "one": numpy.array(number, numpy.int64),
        "image/mask": numpy.full((4, 6, 3), number, numpy.uint8), "Odd.Name!": "odd", "depth": picture(number, "PNG"),
    }  # fmt: skip


def check_every(read, number, tar):
    """Checks all fields of a sample. `read` returns the bytes of a suffix."""
    want = every(number)
    assert read("jpg") is not None
    assert read("caption" if tar else "caption") == b"a\nb"
    assert read("meta.txt") == b'{"a": 1}' and read("blob" if number else "blob") == want["blob"]
    assert int(read("age.cls" if tar else "age.txt")) == -number
    assert json.loads(read("score.json" if tar else "score.txt")) == want["score"]
    for name in ("clip", "flag", "one"):
        found = numpy.load(io.BytesIO(read(f"{name}.npy")))
        assert found.dtype == want[name].dtype and found.shape == want[name].shape and (found == want[name]).all()
    assert (numpy.load(io.BytesIO(read("brain.npy"))) == want["brain"]).all()
    pixels = numpy.asarray(Image.open(io.BytesIO(read("image_mask.png"))))
    assert (pixels == want["image/mask"]).all()
    assert read("odd.name_.txt" if tar else "Odd.Name_.txt") == b"odd" and read("depth.png") == want["depth"]


def test_fields_of_every_kind_in_a_folder(tmp_path):
    write(tmp_path / "packed", EVERY, map(every, range(8)), keep_bytes=True)
    result = unpack(tmp_path / "packed", tmp_path / "files")
    assert result.files == 8 * 14 and len(digest(tmp_path / "files")) == 8 * 14
    for number in range(8):
        check_every(lambda suffix: (tmp_path / "files" / f"k{number}.{suffix}").read_bytes(), number, False)
        assert (tmp_path / "files" / f"k{number}.label.txt").read_text() == str(number)


def test_fields_of_every_kind_in_tars(tmp_path):
    write(tmp_path / "packed", EVERY, map(every, range(8)), keep_bytes=True)
    unpack(tmp_path / "packed", tmp_path / "tars", tar=True)
    found = by_sample(pair for pairs in members(tmp_path / "tars").values() for pair in pairs)
    for number in range(8):
        check_every(lambda suffix: found[f"/k{number}"][suffix], number, True)
        assert found[f"/k{number}"]["cls"] == b"%d" % number
    data = sluice.Dataset(tmp_path / "tars")
    types = {name: field.type for name, field in data.fields.items()}
    assert types["image"] == "image" and types["label"] == "int" and types["caption"] == "text" and types["age.cls"] == "int"
    assert types["depth.png"] == "image" and types["clip.npy"] == "bytes"
    unpack(tmp_path / "tars", tmp_path / "again", tar=True)  # unpacking again changes nothing
    assert by_sample(p for pairs in members(tmp_path / "again").values() for p in pairs) == found


def test_fields_that_would_have_one_file(tmp_path):
    fields = {"cls": "int", "label": "int", "a": "text", "a.txt": "text", "A": "text", "jpg": "bytes", "image": "image", "txt": "text",
              "image.png": "image", "index": "int", "npy": ("tensor", "uint8", (1,)), "key": "bytes", "x" * 31: "text", "x" * 30 + "y": "text"}  # fmt: skip
    values = {"cls": 1, "label": 2, "a": "a", "a.txt": "b", "A": "c", "jpg": b"d", "image": picture(1), "txt": "e",
              "image.png": picture(2, "PNG"), "index": 3, "npy": b"f", "key": b"g", "x" * 31: "h", "x" * 30 + "y": "i"}  # fmt: skip
    write(tmp_path / "packed", fields, [values] * 2, keep_bytes=True)
    for tar in False, True:
        result = unpack(tmp_path / "packed", tmp_path / f"{tar}", tar=tar)
        assert result.files == 28
    found = by_sample(members(tmp_path / "True")["shard-000000.tar"])["/00000000"]
    assert len(found) == len({name.lower() for name in found}) == 14 and max(map(len, found)) <= 31
    assert sorted(found.values()) == sorted(by_sample(members(tmp_path / "True")["shard-000000.tar"])["/00000001"].values())
    assert found["cls"] == b"2" and found["index"] == b"3" and found["txt"] == b"e" and "key" not in found
    assert sluice.Dataset(tmp_path / "True")[0]["label"] == 2
    assert len(digest(tmp_path / "False")) == len({name.lower() for name in digest(tmp_path / "False")}) == 28


def test_a_sample_that_lacks_fields(tmp_path):
    write(tmp_path / "packed", {"a": "text", "n": "int", "key": "text"}, [{"a": "", "key": "x"}, {"n": 0, "key": "y"}])
    unpack(tmp_path / "packed", tmp_path / "files")
    assert set(digest(tmp_path / "files")) == {"x.a.txt", "y.n.txt"}
    write(tmp_path / "packed", {"a": "text"}, [{"a": "x"}, {}, {"a": "y"}], overwrite=True)
    with pytest.raises(sluice.UnsupportedError, match="nothing to write to a file"):
        unpack(tmp_path / "packed", tmp_path / "tars", tar=True)
    assert not (tmp_path / "tars").exists() and not (tmp_path / "tars.part").exists()
    assert unpack(tmp_path / "packed", tmp_path / "tars", tar=True, on_bad_sample="skip").rejected == 1
    assert len(sluice.Dataset(tmp_path / "tars")) == 2


def test_other_formats(tmp_path):
    numpy.save(tmp_path / "a.npy", numpy.arange(12, dtype=numpy.float32).reshape(4, 3))
    unpack(tmp_path / "a.npy", tmp_path / "rows")
    for row in range(4):
        assert (numpy.load(tmp_path / "rows" / f"0000000{row}.tensor.npy") == numpy.arange(row * 3, row * 3 + 3)).all()


def test_pictures_that_nothing_here_decodes(tmp_path):
    """Bytes are copied, not decoded: TIFF, BMP, and bytes that are not an image."""
    kinds = {"a": ("tif", picture(1, "TIFF")), "b": ("bmp", picture(2, "BMP")), "c": ("ppm", picture(3, "PPM")), "d": ("jpg", b"none")}
    make_tar(tmp_path / "a.tar", [(f"{key}.{extension}", content) for key, (extension, content) in kinds.items()])
    unpack(tmp_path / "a.tar", tmp_path / "files")
    found = {path.name: path.read_bytes() for path in (tmp_path / "files").glob("[a-d]*")}
    kinds["d"] = ("img", b"none")
    assert found == {f"{key}.{extension}": content for key, (extension, content) in kinds.items()}


# ---- keys and classes that cannot be file names ----

HARMFUL = [
    "/etc/passwd", "../up", "a/../../up", "..", ".", "", "a//b", "a/", "/", "./a", ".hidden", ".git/hooks", "a/.git/x", "a\\b",
    "a\nb", "\x01", "\x7f", "x" * 300, "x/" * 40 + "x", "y" * 4000, "CON/../../x", "~/x", "a\x1b[2J", "-rf", "a/b/c",
    "same", "same", "SAME", "Same", "straße", "STRASSE", "É", "é", "00000003", "rejected", ".sluice-unpack", "__meta__/x", "__y",
    "dir", "dir.jpg/inner", "dir.jpg", "t.a.r", "t.a", "t_a", "shard-000000.tar",
]  # fmt: skip


@pytest.mark.parametrize("classes", [(), ("ok", "other")])
@pytest.mark.parametrize("tar", [False, True])
def test_keys_that_mean_harm(tmp_path, tar, classes):
    keys = HARMFUL + [f"{number:08}" for number in range(len(HARMFUL), 0, -1)]
    random.Random(4).shuffle(keys)
    inside = tmp_path / "inside"
    inside.mkdir()
    samples = [{"image": picture(number), "label": number % 2, "note": str(number), "key": key} for number, key in enumerate(keys)]
    fields = {"image": "image", "label": "int", "note": "text", "key": "text"}
    write(inside / "packed", fields, samples, keep_bytes=True, classes=classes)
    before = digest(tmp_path)
    result = unpack(inside / "packed", inside / "out", tar=tar)
    after = digest(tmp_path)
    assert {name: value for name, value in after.items() if not name.startswith("inside/out/")} == before
    assert result.samples == len(keys) and 25 < result.renamed < 80
    if tar:
        pairs = [pair for found in members(inside / "out").values() for pair in found]
    else:
        pairs = [(str(p.relative_to(inside / "out")), p.read_bytes()) for p in (inside / "out").rglob("*") if p.is_file() and p.name != ".sluice-unpack"]
    names = [name for name, _ in pairs]
    assert len({name.lower() for name in names}) == len(names) == len(keys) * (3 if tar else 3 - bool(classes))
    for name in names:
        assert not name.startswith(("/", ".") + ("__",) * tar) and ".." not in name.split("/") and "\\" not in name and name.isprintable()
    notes = {}
    for name, content in pairs:
        if name.endswith(".txt") and "label" not in name:
            notes[int(content)] = name
    assert sorted(notes) == list(range(len(keys)))
    for number, name in notes.items():  # a sample's files share one name
        content = dict(pairs)[name.removesuffix(".note.txt") + ".jpg"]
        assert content == samples[number]["image"]
        if classes and not tar:
            assert name.split("/")[0] == classes[number % 2]
    if tar:
        data = sluice.Dataset(inside / "out")
        assert len(data) == len(keys) and [data[i]["note.txt"] for i in range(len(keys))] == [s["note"] for s in samples]


def test_pictures_that_share_a_stem(tmp_path):
    """They are allowed alone; with files beside them they would be ambiguous."""
    (tmp_path / "photos" / "c").mkdir(parents=True)
    (tmp_path / "photos" / "c" / "a.jpg").write_bytes(picture(1))
    (tmp_path / "photos" / "c" / "a.png").write_bytes(picture(1, "PNG"))
    (tmp_path / "photos" / "c" / "A.png").write_bytes(picture(2, "PNG"))
    unpack(tmp_path / "photos", tmp_path / "back")
    assert set(digest(tmp_path / "back")) == {"c/a.jpg", "c/A.png", "c/00000002.png"}
    unpack(tmp_path / "photos", tmp_path / "tars", tar=True)
    assert len(sluice.Dataset(tmp_path / "tars")) == 3


CLASSES = ["b", "a", "..", "x/y", "", "A", ".git", "class-00000002", "a\nb", ".", "z" * 300]


def test_classes_that_are_no_names(tmp_path):
    samples = [{"image": picture(number), "label": number, "key": f"{name}/k"} for number, name in enumerate(CLASSES)]
    samples.append({"image": picture(50), "label": -1, "key": "none"})
    write(tmp_path / "packed", None, samples, classes=CLASSES, keep_bytes=True)
    result = unpack(tmp_path / "packed", tmp_path / "out")
    assert result.renamed_classes == 7 and result.labels_differ
    folders = {path.name for path in (tmp_path / "out").iterdir() if path.is_dir()}
    assert {"a", "b", "class-00000002-2", "class-00000003", "class-00000007"} - folders == {"class-00000007"} and len(folders) == 10
    found = digest(tmp_path / "out")
    assert len(found) == 12 and "none.jpg" in found and {path.name for path in tmp_path.iterdir()} == {"packed", "out"}


def test_classes_without_a_sample_keep_their_place(tmp_path):
    write(tmp_path / "packed", None, [{"image": picture(1), "label": 2, "key": "x"}], classes=["a", "b", "c"])
    assert not unpack(tmp_path / "packed", tmp_path / "out").labels_differ
    assert sluice.Dataset(tmp_path / "out", allow_empty_classes=True)[0]["label"] == 2


# ---- bad samples, and folders that are not empty ----


def test_bad_samples(photos, tmp_path):
    packed = pack(photos, tmp_path / "packed")
    shard = bytearray((packed / "shard-000000.sluice").read_bytes())
    shard[6000] ^= 1
    (packed / "shard-000000.sluice").write_bytes(shard)
    with pytest.raises(sluice.CorruptError) as caught:
        unpack(packed, tmp_path / "out")
    assert caught.value.file.endswith("shard-000000.sluice") and caught.value.sample == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["packed"]
    for tar in False, True:
        result = unpack(packed, tmp_path / f"{tar}", tar=tar, on_bad_sample="skip")
        assert result.rejected == 1 and result.samples == 32
        lines = (tmp_path / f"{tar}" / "rejected.tsv").read_text().splitlines()
        assert lines[0] == "key\tstatus\toffset\treason" and len(lines) == 2 and "corrupt" in lines[1]
        assert len(sluice.Dataset(tmp_path / f"{tar}")) == 32


def test_folders_that_hold_something(photos, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("mine")
    (tmp_path / "file").write_text("file")
    (tmp_path / "loose").symlink_to("nowhere")
    for name in "full", "file", "loose":
        for overwrite in False, True:
            with pytest.raises(sluice.StateError, match="was not made by unpack"):
                unpack(photos, tmp_path / name, overwrite=overwrite)
    (tmp_path / "empty").mkdir()
    unpack(photos, tmp_path / "empty")
    assert digest(tmp_path / "empty") == digest(photos)
    with pytest.raises(sluice.StateError, match="overwrite"):
        unpack(photos, tmp_path / "empty")
    unpack(photos, tmp_path / "empty", tar=True, overwrite=True)
    assert list(digest(tmp_path / "empty")) == ["shard-000000.tar"] and not (tmp_path / "empty.part").exists()
    (tmp_path / "linked").symlink_to("empty")
    unpack(photos, tmp_path / "linked", overwrite=True)
    assert digest(tmp_path / "empty") == digest(photos) and (tmp_path / "linked").is_symlink()
    with pytest.raises(sluice.IOError, match="parent folder"):
        unpack(photos, tmp_path / "no" / "such")
    # files of a killed unpack are removed; others stay
    (tmp_path / "new.part").mkdir()
    (tmp_path / "new.part" / "mine").write_text("mine")
    with pytest.raises(sluice.StateError, match="move it away"):
        unpack(photos, tmp_path / "new")
    (tmp_path / "new.part" / ".sluice-unpack").write_text("")
    unpack(photos, tmp_path / "new")
    assert digest(tmp_path / "new") == digest(photos) and not (tmp_path / "new.part").exists()


def test_the_source_stays(photos, tmp_path, monkeypatch):
    shutil.copytree(photos, tmp_path / "photos")
    for path in ("photos", "photos/new", "photos/class1", "photos/class1/new"):
        with pytest.raises(sluice.Error):
            unpack(tmp_path / "photos", tmp_path / path, overwrite=True)
    unpack(tmp_path / "photos", tmp_path / "out", tar=True)
    pack(tmp_path / "out", tmp_path / "out" / "packed")
    for source in (tmp_path / "out" / "packed", tmp_path / "out" / "shard-000000.tar"):
        with pytest.raises(sluice.InvalidError):
            unpack(source, tmp_path / "out", overwrite=True)
    (tmp_path / "out").rename(tmp_path / "x.part")
    with pytest.raises(sluice.InvalidError, match="would be removed"):
        unpack(tmp_path / "x.part" / "packed", tmp_path / "x")
    assert (tmp_path / "x.part" / "shard-000000.tar").exists()
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with pytest.raises(sluice.InvalidError, match="current folder"):
        unpack(tmp_path / "photos", ".")
    unpack(tmp_path / "photos", "relative/")
    assert digest(pathlib.Path("relative")) == digest(photos) == digest(tmp_path / "photos")


def test_two_at_once(photos, tmp_path):
    """The second one fails, and does not disturb the first."""
    seen = []

    def second(done, total):
        if not seen:
            with pytest.raises(sluice.StateError, match="another process"):
                unpack(photos, tmp_path / "out")
            seen.append(done)

    many = tmp_path / "many" / "class"
    many.mkdir(parents=True)
    for number in range(3000):
        (many / f"{number}.jpg").hardlink_to(next(photos.rglob("*.jpg")))
    sluice.unpack(tmp_path / "many", tmp_path / "out", workers=1, progress=second)
    assert seen and seen[0] < 3000, "the machine was done before it could be disturbed"
    assert len(list((tmp_path / "out" / "class").iterdir())) == 3000


def test_progress_and_workers(photos, tmp_path):
    calls = []
    sluice.unpack(photos, tmp_path / "one", tar=True, workers=1, progress=lambda done, total: calls.append((done, total)))
    assert calls[-1] == (33, 33) and calls == sorted(calls)
    for workers in (2, 5, 16):
        unpack(photos, tmp_path / f"{workers}", tar=True, workers=workers)
        assert digest(tmp_path / "one") == digest(tmp_path / f"{workers}")
    with pytest.raises(sluice.InvalidError):
        unpack(photos, tmp_path / "x", workers=2000)
    with pytest.raises(sluice.InvalidError):
        unpack(photos, tmp_path / "x", tar=True, shard_bytes=5)
    with pytest.raises(ValueError):
        unpack(photos, tmp_path / "x", on_bad_sample="replace")


def test_ctrl_c(photos, tmp_path):
    """An interrupted unpack leaves nothing behind, and the next call unpacks everything."""
    many = tmp_path / "many" / "class"
    many.mkdir(parents=True)
    for number in range(20000):
        (many / f"{number:05}.jpg").hardlink_to(next(photos.rglob("*.jpg")))
    program = """
import signal, sys, sluice
def handler(number, frame):
    raise KeyboardInterrupt
signal.signal(signal.SIGINT, handler)
data = sluice.Dataset(sys.argv[1])
try:
    print("go", flush=True)
    sluice.unpack(data, sys.argv[2], workers=1)
except KeyboardInterrupt:
    print("interrupted")
"""
    out, code = interrupt(program, tmp_path / "many", tmp_path / "out", delay=0.1)
    if out == "":
        pytest.skip("the machine unpacked it all before the signal came")
    assert out == "interrupted\n" and code == 0 and not (tmp_path / "out").exists()
    unpack(tmp_path / "many", tmp_path / "out")
    assert len(list((tmp_path / "out" / "class").iterdir())) == 20000 and not (tmp_path / "out.part").exists()
