# SPDX-License-Identifier: Apache-2.0
"""WebDataset's tars, made by Python's tarfile, GNU tar and bsdtar, compared with a reader written from its rules."""
import io
import json
import os
import pathlib
import random
import shutil
import subprocess
import tarfile

import pytest
import training
from PIL import Image

import sluice

PICTURES = {"jpg", "jpeg", "png", "webp", "ppm", "pgm", "pbm", "bmp", "tif", "tiff"}
INTEGERS = {"cls", "cls2", "class", "count", "index", "inx", "id"}
TEXTS = {"txt", "text", "transcript", "caption", "json", "jsn"}


@pytest.fixture(autouse=True)
def cache(tmp_path_factory, monkeypatch):
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("SLUICE_CACHE_DIR", str(folder / "made"))
    return folder / "made"


def jpeg(number=0, size=(20, 16)):
    made = io.BytesIO()
    Image.new("RGB", size, (number * 9 % 256, 80, 160)).save(made, "JPEG")
    return made.getvalue()


def contents(archive, member):
    """Returns a member's bytes; None if it is not a file. Links have the bytes of their targets, as far as tarfile finds them."""
    if not member.isreg() and not member.islnk() and not member.issym():
        return None
    if member.linkname == member.name:
        return None
    try:
        return archive.extractfile(member).read()
    except (KeyError, AttributeError):  # no target, or a target that is not a file
        return None


def model(path):
    """Returns [(key, {extension: bytes})]: WebDataset's group_by_keys over the members that tarfile finds."""
    samples = []
    packed = pathlib.Path(path).read_bytes()[:2] == b"\x1f\x8b" or pathlib.Path(path).read_bytes()[:4] == b"\x28\xb5\x2f\xfd"
    with tarfile.open(path, errors="surrogateescape") as archive:
        for member in archive.getmembers():
            name = member.name
            data = contents(archive, member)
            if data is None or (packed and not member.isreg()) or any(part.startswith("__") and part.endswith("__") and len(part) > 3 for part in name.split("/")):
                continue
            folder, _, last = name.rpartition("/")
            base, dot, extension = last.partition(".")
            if not base or not extension:
                continue
            key = f"{folder}/{base}" if "/" in name else base
            if not samples or samples[-1][0] != key:
                samples.append((key, {}))
            assert extension.lower() not in samples[-1][1]
            samples[-1][1][extension.lower()] = data
    return samples


def field_of(extension, several):
    if extension in PICTURES and not several:
        return "image"
    return "label" if extension == "cls" else extension


def value_of(extension, data):
    last = extension.rpartition(".")[2]
    if last in INTEGERS:
        return int(data)
    return data.decode("utf-8", "surrogateescape") if last in TEXTS else data


def expected(paths):
    samples = [sample for path in paths for sample in model(path)]
    several = any(len(parts.keys() & PICTURES) > 1 for _, parts in samples)
    return [
        {"key": key} | {field_of(extension, several): value_of(extension, data) for extension, data in parts.items()}
        for key, parts in samples
    ]


def without_missing(sample):
    return {name: value for name, value in sample.items() if value not in (None, "", b"")}


def check(paths, *given):
    """Checks that the dataset equals the model, without and with a cached index."""
    paths = [paths] if not isinstance(paths, list) else paths
    wanted = [without_missing(sample) for sample in expected(paths)]
    for _ in range(2):
        data = sluice.Dataset(*given or (paths,))
        assert data.format == "tar" and len(data) == len(wanted)
        assert [without_missing(sample) for sample in data] == wanted
    return data


def add(archive, name, data, **facts):
    member = tarfile.TarInfo(name)
    member.size = len(data)
    for key, value in facts.items():
        setattr(member, key, value)
    archive.addfile(member, io.BytesIO(data))


def write(path, members, **options):
    with tarfile.open(path, "w", **options) as archive:
        for name, data in members:
            add(archive, name, data)
    return path


def usual(count=5, first=0):
    for number in range(first, first + count):
        yield f"{number:04}.jpg", jpeg(number)
        yield f"{number:04}.cls", f" {number}\n".encode()
        yield f"{number:04}.txt", f"caption «{number}»".encode()


def test_the_usual(tmp_path):
    data = check(write(tmp_path / "a.tar", usual()))
    assert list(data.fields) == ["image", "label", "txt", "key"]
    assert [data.fields[name].type for name in data.fields] == ["image", "int", "text", "text"]
    assert data[3]["label"] == 3 and data[3]["key"] == "0003" and data[3]["txt"] == "caption «3»"
    assert data.decode(2).shape == (16, 20, 3)


@pytest.mark.parametrize("format", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_names(tmp_path, format):
    names = ["a.x/b.jpg", "a.x/b.seg.PNG", "./c.jpg", "d" * 60 + "/" + "e" * 60 + ".jpg", "ü/ß.jpg", "no extension", ".hidden.jpg",
             "dot.", "__meta__.json", "x/__skip__/y.jpg", "__half/z.jpg", "f.JPG", "____.jpg", "q/.cls", "g.v1.json"]  # fmt: skip
    if format != tarfile.USTAR_FORMAT:
        names += ["h" * 99 + ".txt", "h" * 100 + ".txt", "i" * 500 + "/" + "k" * 500 + ".txt", "日本/" * 40 + "a.txt"]
    members = [(name, bytes([number]) * (number * 97)) for number, name in enumerate(names)]
    check(write(tmp_path / "a.tar", members, format=format))


def test_names_that_are_no_utf_8(tmp_path):
    path = write(tmp_path / "a.tar", [("x\udcff.jpg", jpeg())], format=tarfile.GNU_FORMAT, errors="surrogateescape")
    assert check(path)[0]["key"] == "x\udcff"


def test_texts_that_are_no_utf_8(tmp_path):
    texts = [b"\xff\xfec\0a\0f\0", b"caf\xe9", b"\xed\xa0\x80", "é".encode(), b""]
    write(tmp_path / "a.tar", [(f"{i}.txt", text) for i, text in enumerate(texts)])
    sluice.pack(tmp_path / "a.tar", tmp_path / "packed", keep_order=True, progress=None)
    for path in (tmp_path / "a.tar", tmp_path / "packed"):
        data = sluice.Dataset(path)
        assert [bytes(data.read(i, "txt")) for i in range(5)] == texts
        assert [sample["txt"].encode("utf-8", "surrogateescape") for sample in data] == texts


def test_what_is_no_file(tmp_path):
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        for kind in (tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE):
            add(archive, "0.jpg", b"", type=kind, linkname="0.jpg")
        add(archive, "0.jpg", jpeg(0))
        add(archive, "dir.d", b"", type=tarfile.DIRTYPE)
        add(archive, "0.cls", b"4")
        add(archive, "link.cls", b"", type=tarfile.SYMTYPE, linkname="0.cls")
        add(archive, "1.jpg", jpeg(1), type=tarfile.CONTTYPE)
        add(archive, "2.jpg", jpeg(2), type=tarfile.AREGTYPE)
        add(archive, "3.txt", b"")
    data = check(tmp_path / "a.tar")
    assert [sample["label"] for sample in data] == [4, 4, None, None, None]


def left_out(data):
    return {found.reason: (found.count, found.images, found.example) for found in data.left_out}


def link(archive, name, target, type=tarfile.LNKTYPE):
    add(archive, name, b"", type=type, linkname=target)


@pytest.mark.parametrize("format", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_links_are_what_they_name(tmp_path, cache, format):
    long = "d" * 40 + "/" + "e" * (60 if format != tarfile.USTAR_FORMAT else 5)
    with tarfile.open(tmp_path / "a.tar", "w", format=format) as archive:
        link(archive, "early.txt", "later/x.txt", tarfile.SYMTYPE)
        add(archive, "0.jpg", jpeg(0))
        add(archive, "0.cls", b"0")
        link(archive, "1.jpg", "0.jpg")
        add(archive, "1.cls", b"1")
        link(archive, "1.txt", "later/x.txt", tarfile.SYMTYPE)
        add(archive, "later/x.txt", b"a text")
        link(archive, "later/y.jpg", "../1.jpg", tarfile.SYMTYPE)  # a link to a link
        link(archive, "later/y.cls", ".././/1.cls", tarfile.SYMTYPE)
        add(archive, "empty.txt", b"")
        link(archive, "none.txt", "empty.txt")
        add(archive, f"{long}.jpg", jpeg(9))
        link(archive, "long.jpg", f"{long}.jpg")
        link(archive, "only.cls", "0.cls")
    data = check(tmp_path / "a.tar")
    assert data.left_out == []
    samples = {sample["key"]: sample for sample in data}
    assert samples["1"]["image"] == samples["0"]["image"] == samples["later/y"]["image"] == jpeg(0)
    assert samples["1"]["txt"] == samples["early"]["txt"] == "a text" and samples["later/y"]["label"] == 1
    assert samples["long"]["image"] == jpeg(9) and samples["only"]["label"] == 0
    assert data.verify(progress=None).findings == []


def test_links_that_gnu_tar_makes(tmp_path):
    (tmp_path / "in").mkdir()
    for number in range(3):
        (tmp_path / f"in/{number}.jpg").write_bytes(jpeg(number))
    os.link(tmp_path / "in/0.jpg", tmp_path / "in/3.jpg")
    os.symlink("1.jpg", tmp_path / "in/4.jpg")
    for program in ("tar", "bsdtar"):
        path = tmp_path / f"{program}.tar"
        if shutil.which(program):
            subprocess.run([program, "-cf", path, "-C", tmp_path / "in", "."], check=True)
            samples = {sample["key"]: sample["image"] for sample in check(path)}
            assert {key[-1]: image for key, image in samples.items()} == {
                "0": jpeg(0), "1": jpeg(1), "2": jpeg(2), "3": jpeg(0), "4": jpeg(1)}  # fmt: skip


def test_training_with_links(tmp_path):
    paths = training.make_photos(tmp_path)
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        for number, path in enumerate(paths):
            add(archive, f"x/{number}.bin", path.read_bytes())
        for number in range(len(paths)):
            link(archive, f"{number:03}.jpg", f"x/{number}.bin", (tarfile.LNKTYPE, tarfile.SYMTYPE)[number % 2])
            add(archive, f"{number:03}.cls", str(number // training.PER_CLASS).encode())
    data = sluice.Dataset(tmp_path / "a.tar")
    linked = data.subset(range(len(paths), 2 * len(paths)))
    assert training.batches(training.loader(linked)) == training.batches(training.loader(tmp_path / "photos"))
    joined = sluice.concat([linked.subset([4, 0]), linked])
    assert [sample["image"] for sample in joined] == [paths[i].read_bytes() for i in (4, 0, *range(len(paths)))]
    sluice.pack(linked, tmp_path / "packed", keep_order=True, keep_bytes=True, progress=None)
    assert [sample["image"] for sample in sluice.Dataset(tmp_path / "packed")] == [path.read_bytes() for path in paths]


def test_what_is_left_out_is_counted(tmp_path, cache):
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        for number in range(200):
            add(archive, f"{number}.cls", b"1")
        link(archive, "l0.jpg", "elsewhere.jpg")
        link(archive, "l1.seg.png", "/etc/x.png", tarfile.SYMTYPE)
        link(archive, "l2.jpg", "../out.jpg", tarfile.SYMTYPE)
        link(archive, "l3.txt", "l4.txt", tarfile.SYMTYPE)
        link(archive, "l4.txt", "l3.txt", tarfile.SYMTYPE)
        link(archive, "l5.txt", "folder", tarfile.SYMTYPE)
        link(archive, "._l6.jpg", "0.cls")
        add(archive, "folder", b"", type=tarfile.DIRTYPE)
        add(archive, "pipe.cls", b"", type=tarfile.FIFOTYPE)
        add(archive, "device.cls", b"", type=tarfile.CHRTYPE)
        add(archive, "odd.cls", b"7", type=b"Q")
        add(archive, ".hidden.jpg", b"x")
        add(archive, "sub/._a.jpg", b"x")
        add(archive, "README", b"x")
        add(archive, "__m__/a.jpg", b"x")
    for _ in range(2):  # walked, and then read through the cached index
        with pytest.warns(UserWarning, match="3 left out: images that are links to files that are not in the tar archive, the first a.tar: l0.jpg"):
            data = sluice.Dataset(tmp_path / "a.tar")
        assert len(data) == 200 and list(data.fields) == ["label", "key"]
        assert left_out(data) == {
            "images that are links to files that are not in the tar archive": (3, True, "a.tar: l0.jpg"),
            "links to files that are not in the tar archive": (3, False, "a.tar: l3.txt"),
            "AppleDouble files (._NAME) in tar archives": (2, False, "a.tar: ._l6.jpg"),
            "devices and pipes in tar archives": (2, False, "a.tar: pipe.cls"),
            "members of unknown types in tar archives": (1, False, "a.tar: odd.cls"),
            "hidden files in tar archives": (1, False, "a.tar: .hidden.jpg"),
            "members without an extension in tar archives": (1, False, "a.tar: README"),
            "members below names like __this__ in tar archives": (1, False, "a.tar: __m__/a.jpg"),
        }
        assert list(cache.iterdir())


def test_system_files_are_left_out(tmp_path):
    """In folders of any depth; a hidden folder that contains the whole archive stays."""
    system = [".ipynb_checkpoints/a-checkpoint.cls", "x/@eaDir/a.cls", "./__MACOSX/x/a.cls", "x/.git/a.cls", "CVS/a.cls", "x/Thumbs.db"]
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        for number in range(3):
            add(archive, f"./.data/{number}.cls", b"%d" % number)
            add(archive, system[2 * number], b"7")
            add(archive, system[2 * number + 1], b"7")
    with pytest.warns(UserWarning):
        data = sluice.Dataset(tmp_path / "a.tar")
    assert [sample["label"] for sample in data] == [0, 1, 2] and list(data.fields) == ["label", "key"]
    assert left_out(data) == {"hidden files in tar archives": (6, False, f"a.tar: {system[0]}")}


def test_links_in_compressed_archives_are_counted(tmp_path):
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as archive:
        add(archive, "0.jpg", jpeg(0))
        link(archive, "1.jpg", "0.jpg")
        add(archive, "1.cls", b"1")
    with pytest.warns(UserWarning, match="images that are links in a compressed tar archive: unpack it to follow them"):
        data = sluice.Dataset(tmp_path / "a.tar.gz")
    assert len(data) == 2 and list(data.fields) == ["image", "label", "key"]
    data = sluice.Dataset(tmp_path / "a.tar.gz", unpacked_dir=tmp_path / "unpacked")
    assert data.left_out == [] and data[1]["image"] == jpeg(0)


def test_hard_links_are_of_the_member_before(tmp_path):
    with tarfile.open(tmp_path / "a.tar", "w") as archive:  # appended to: a repeated name
        add(archive, "x/a.txt", b"old")
        link(archive, "b.txt", "x/a.txt")
        link(archive, "c.txt", "x/a.txt", tarfile.SYMTYPE)
        add(archive, "x/a.txt", b"new")
        link(archive, "d.txt", "x/a.txt")
        link(archive, "e.txt", "z.txt")
        add(archive, "z.txt", b"behind")
    data = sluice.Dataset(tmp_path / "a.tar")
    assert [(sample["key"], sample["txt"]) for sample in data] == [
        ("x/a", "old"), ("b", "old"), ("c", "new"), ("x/a", "new"), ("d", "new"), ("e", "behind"), ("z", "behind")]  # fmt: skip


def test_an_index_of_dali_does_not_hide_links(tmp_path):
    with tarfile.open(tmp_path / "a.tar", "w", format=tarfile.USTAR_FORMAT) as archive:
        add(archive, "0.jpg", jpeg(0))
        add(archive, "0.cls", b"0")
        link(archive, "1.jpg", "0.jpg")
        add(archive, "1.cls", b"1")
    with tarfile.open(tmp_path / "a.tar") as archive:
        offsets = {member.name: member.offset_data for member in archive}
    (tmp_path / "a.idx").write_text(
        f"v1.2 2\njpg {offsets['0.jpg']} {len(jpeg(0))} 0.jpg cls {offsets['0.cls']} 1 0.cls\ncls {offsets['1.cls']} 1 1.cls\n")
    assert sluice.Dataset(tmp_path / "a.tar")[1]["image"] == jpeg(0)


def test_members_of_other_orders(tmp_path):
    members = [("a.jpg", jpeg(1)), ("b.jpg", jpeg(2)), ("a.cls", b"1"), ("readme", b"x" * 3000), ("a.txt", b"of a"), ("b.txt", b"of b")]
    data = check(write(tmp_path / "a.tar", members))
    assert [sample["key"] for sample in data] == ["a", "b", "a", "b"]


def test_two_pictures_in_a_sample(tmp_path):
    data = check(write(tmp_path / "a.tar", [("a.jpg", jpeg(1)), ("a.png", b"\x89PNG"), ("b.jpg", jpeg(2)), ("c.seg.png", b"\x89PNG")]))
    assert {name for name, field in data.fields.items() if field.type == "image"} == {"jpg", "png", "seg.png"}


def test_pictures_of_several_kinds(tmp_path):
    data = check(write(tmp_path / "a.tar", [("a.jpg", jpeg(1)), ("b.jpeg", jpeg(2)), ("c.png", b"\x89PNG")]))
    assert list(data.fields) == ["image", "key"]


@pytest.mark.parametrize("seed", range(6))
def test_whatever_comes(tmp_path, seed):
    """Random archives: names, sizes, kinds, formats."""
    chance = random.Random(seed)
    paths = []
    for number in range(3):
        members = []
        for sample in range(chance.randrange(1, 40)):
            base = "/".join("".join(chance.choices("ab.é_ 0", k=chance.randrange(1, 70))) for _ in range(chance.randrange(1, 4)))
            extensions = chance.sample(["jpg", "cls", "json", "npy", "a.b", "pyd", "TXT", "txt2"], chance.randrange(1, 5))
            for extension in extensions:
                size = chance.choice([0, 1, 511, 512, 513, 5000, 70000]) if extension != "cls" else 0
                data = str(chance.randrange(-99, 99)).encode() if extension == "cls" else chance.randbytes(size)
                folder, _, last = base.rpartition("/")
                members.append((f"{folder}/{last.replace('.', '')}-{sample}.{extension}", data))
        paths.append(write(tmp_path / f"{number}.tar", members, format=chance.choice([0, 1, 2])))
    check(paths)


def program(*names):
    found = next((found for found in map(shutil.which, names) if found), None)
    return pytest.param(found or names[0], id=names[0], marks=[] if found else pytest.mark.skip(f"there is no {names[0]} here"))


@pytest.mark.parametrize("tar", [program("tar"), program("bsdtar")])
@pytest.mark.parametrize("format", ["ustar", "gnu", "pax", "v7"])
def test_other_peoples_tars(tmp_path, tar, format):
    source = tmp_path / "source"
    long = ("l" * 70 + "/") * 2 if format in ("gnu", "pax") else "l/"
    for number in range(7):
        for name, data in ((f"{number}.jpg", jpeg(number)), (f"{number}.cls", b"5"), (f"{long}{number}.äö.txt", b"text" * number)):
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes(data)
    (source / "link.jpg").symlink_to("0.jpg")
    if "bsdtar" in tar:
        format = {"gnu": "gnutar"}.get(format, format)
    names = sorted(str(path.relative_to(source)) for path in source.rglob("*"))
    done = subprocess.run([tar, "-C", source, "--format", format, "-cf", tmp_path / "a.tar", "--no-recursion", *names],
                          capture_output=True, text=True, env=os.environ | {"LC_ALL": "C.UTF-8"})  # fmt: skip
    if done.returncode != 0 and "nrecognized" in done.stderr + done.stdout:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr
    check(tmp_path / "a.tar")


def test_a_sparse_file_is_refused_alone(tmp_path):
    tar = shutil.which("tar")
    for name, size in (("a.npy", 100), ("b.npy", 1 << 20), ("c.npy", 200)):
        with open(tmp_path / name, "wb") as file:
            if size == 1 << 20:
                for at in range(0, size, 8192):
                    file.seek(at)
                    file.write(b"x" * 512)
            else:
                file.write(b"y" * size)
    for number, format in enumerate(("gnu", "pax")):
        path = tmp_path / f"{format}.tar"
        command = [tar, "-S", f"--format={format}", "-C", tmp_path, "-cf", path, "a.npy", "b.npy", "c.npy"]
        assert subprocess.run(command, capture_output=True).returncode == 0
        data = sluice.Dataset(path)
        assert len(data) >= 3 and data[0]["npy"] == b"y" * 100 and data[len(data) - 1]["npy"] == b"y" * 200
        if path.stat().st_size < 1 << 19:  # tar found the holes
            with pytest.raises(sluice.UnsupportedError, match="sparse"):
                data[1]


def test_many_archives(tmp_path, cache):
    for number in range(5):
        write(tmp_path / f"set-{number:03}.tar", usual(4, number * 4))
    write(tmp_path / "set-005.tar", [])
    paths = sorted(tmp_path.glob("*.tar"))
    for given in (tmp_path, str(tmp_path) + "/set-{000..005}.tar", paths, [str(tmp_path) + "/set-{000..002}.tar", *paths[3:]]):
        check(paths, given)
    assert len(list(cache.iterdir())) == 6
    order = [str(tmp_path / f"set-00{number}.tar") for number in (3, 0)]
    check(order, order)
    with pytest.raises(sluice.IOError) as caught:
        sluice.Dataset(str(tmp_path) + "/set-{004..006}.tar")
    assert caught.value.file.endswith("set-006.tar")
    for wrong in ("/set-{2..1}.tar", "/set-{0..99999999999}.tar"):
        with pytest.raises(sluice.InvalidError, match="range"):
            sluice.Dataset(str(tmp_path) + wrong)


def test_training(tmp_path):
    photos = training.make_photos(tmp_path)
    for shard in range(3):
        members = [
            (f"{path.stem}.{extension}", path.read_bytes() if extension == "jpg" else str(shard).encode())
            for path in photos[8 * shard : 8 * shard + 8]
            for extension in ("cls", "jpg")
        ]
        write(tmp_path / f"{shard}.tar", members)
    packed = training.check(str(tmp_path / "{0..2}.tar"), tmp_path)
    assert [sample["key"] for sample in packed] == [path.stem for path in photos]


# ---- errors ----


def test_cut_short_anywhere(tmp_path):
    whole = write(tmp_path / "whole.tar", usual(2), format=tarfile.PAX_FORMAT).read_bytes()
    end = whole.rindex(b"caption") + 512
    path = tmp_path / "cut.tar"
    for size in [*range(0, end, 256), *range(1, end, 331)]:
        path.write_bytes(whole[:size])
        with pytest.raises(sluice.CorruptError) as caught:
            sluice.Dataset(path)
        assert caught.value.file == str(path) and 0 <= caught.value.offset <= size
    path.write_bytes(whole[: end // 512 * 512 + 512])
    assert len(sluice.Dataset(path)) == 2  # one block of zeros is a sufficient end


def test_damaged_headers(tmp_path):
    whole = write(tmp_path / "whole.tar", usual(3)).read_bytes()
    path = tmp_path / "damaged.tar"
    for at in range(0, 512, 3):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x15]) + whole[at + 1 :])
        with pytest.raises(sluice.CorruptError, match="checksum"):
            sluice.Dataset(path)


def header(name=b"a.jpg", size=b"00000000000\0", kind=b"0", magic=b"ustar\x0000", prefix=b"", extended=b""):
    block = bytearray(512)
    for at, data in ((0, name), (100, b"0000644\0"), (124, size), (148, b" " * 8), (156, kind), (257, magic), (345, prefix)):
        block[at : at + len(data)] = data
    if extended:
        block[482] = 1
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


END = bytes(1024)


@pytest.mark.parametrize(
    "archive, kind, words",
    [
        (b"", sluice.CorruptError, "too short"),
        (b"x" * 511, sluice.CorruptError, "too short"),
        (bytes(10240), sluice.InvalidError, "no sample"),
        (header(size=b"77777777777\0"), sluice.CorruptError, "truncated"),
        (header(size=b"\x80" + b"\xff" * 11) + END, sluice.CorruptError, "number"),
        (header(size=b"\x80\0\0\0\x7f" + b"\xff" * 7) + END, sluice.CorruptError, "out of range"),
        (header(size=b"\xff" * 12) + END, sluice.CorruptError, "number"),
        (header(size=b"0000000000x\0") + END, sluice.CorruptError, "number"),
        (header(kind=b"L", size=b"00000000005\0") + b"x.jpg".ljust(512, b"\0") + END, sluice.CorruptError, "between a long name"),
        (header(kind=b"L", size=b"77777777777\0"), sluice.UnsupportedError, "1 MiB"),
        (header(kind=b"L", size=b"00000020000\0") + b"x" * 8192 + header() + END, sluice.UnsupportedError, "4095"),
        (header(kind=b"K", size=b"\x80" + b"\0" * 3 + b"\x7f" + b"\xff" * 7) + END, sluice.CorruptError, "out of range"),
        (header(kind=b"x", size=b"00000000010\0") + b"9 size=1".ljust(512, b"\0") + header() + END, sluice.CorruptError, "pax"),
        (header(kind=b"x", size=b"00000000013\0") + b"11 size=-1\n".ljust(512, b"\0") + header() + END, sluice.CorruptError, "pax"),
        (header(kind=b"x", size=b"00000000030\0") + b"24 size=9999999999999999\n".ljust(512, b"\0") + header() + END,
         sluice.CorruptError, "pax"),
        (header(kind=b"g", size=b"00000000012\0") + b"10 size=5\n".ljust(512, b"\0") + header() + END, sluice.CorruptError, "pax"),
        (header(kind=b"M") + END, sluice.UnsupportedError, "volumes"),
        (header() + END + header(b"b.jpg") + END, sluice.CorruptError, "several archives concatenated"),
        (header(), sluice.CorruptError, "truncate -s"),
        (header(b"a." + b"e" * 40) + END, sluice.UnsupportedError, "extension"),
        (b"".join(header(b"a.e%d" % i) for i in range(64)) + END, sluice.UnsupportedError, "more than 63 extensions"),
        (header(b"a.key") + END, sluice.UnsupportedError, "key"),
        (b"\x1f\x8b" + bytes(1000), sluice.CorruptError, "gzip"),
        (b"\x28\xb5\x2f\xfd" + bytes(1000), sluice.CorruptError, "zstd"),
        (b"BZh9" + bytes(1000), sluice.UnsupportedError, "bzip2"),
    ],
)  # fmt: skip
def test_archives_that_are_none(tmp_path, archive, kind, words):
    path = tmp_path / "a.tar"
    path.write_bytes(archive)
    with pytest.raises(kind, match=words) as caught:
        sluice.Dataset(path)
    if words != "key":
        assert caught.value.file == str(path)


def test_samples_that_are_bad_alone(tmp_path):
    members = [("a.cls", b"1"), ("b.cls", b"one"), ("c.cls", b"99999999999999999999"), ("d.cls", b""), ("e.cls", b"-7"), ("f.cls", b"+8 ")]
    data = sluice.Dataset(write(tmp_path / "a.tar", members))
    assert [data[i]["label"] for i in (0, 4, 5)] == [1, -7, 8]
    for number in (1, 2, 3):
        with pytest.raises(sluice.CorruptError, match='"label": not a whole number') as caught:
            data[number]
        assert caught.value.sample == number and caught.value.offset == 1024 * number
    twice = sluice.Dataset(write(tmp_path / "b.tar", [("a.txt", b"1"), ("a.txt", b"2"), ("b.txt", b"3")]))
    with pytest.raises(sluice.CorruptError, match="two files"):
        twice[0]
    assert twice[1]["txt"] == "3"
    loader = sluice.Loader(data, batch_size=6, on_bad_sample="mask", columns={"label": sluice.columns.Number()})
    (batch,) = loader
    assert batch["label"].numpy().tolist() == [1, -1, -1, -1, -7, 8] and batch["mask"].numpy().tolist() == [1, 0, 0, 0, 1, 1]


def test_archives_that_change(tmp_path):
    path = write(tmp_path / "a.tar", usual(4))
    data = sluice.Dataset(path)
    before = path.read_bytes()
    write(path, [(name.replace("000", "100"), content[:-1] + b"0") for name, content in usual(4)])
    assert path.stat().st_size == len(before)
    assert sluice.Dataset(path)[0]["key"] == "1000"  # another modification time
    write(path, [("0.txt", b"x" * 700), *usual(3)])
    assert path.stat().st_size == len(before)
    data = sluice.Dataset(path)
    times = path.stat()
    write(path, [("0.txt", b"x" * 1700), *usual(3)])
    with pytest.raises(sluice.IOError, match="changed since it was opened"):
        data[1]
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))  # only the bytes differ
    for number in range(1, 4):
        with pytest.raises(sluice.CorruptError, match="was modified|checksum"):
            data[number]
    os.truncate(path, 3000)
    for look in (lambda: data[3], lambda: sluice.Dataset(path)):
        with pytest.raises(sluice.CorruptError):
            look()
    path.unlink()
    with pytest.raises(sluice.IOError):
        sluice.Dataset(path)


def test_indexes_that_are_kept(tmp_path, cache, monkeypatch):
    path = write(tmp_path / "a.tar", usual(4))
    wanted = [sample["key"] for sample in sluice.Dataset(path)]
    (index,) = cache.iterdir()
    good = index.read_bytes()
    for wrong in (b"", good[:40], good[:-1], good + b"x", b"X" + good[1:], bytes(len(good)), good[:-9] + b"\1" + good[-8:]):
        index.write_bytes(wrong)
        assert [sample["key"] for sample in sluice.Dataset(path)] == wanted
        assert index.read_bytes() == good  # rebuilt
    index.unlink()
    beside = pathlib.Path(str(path) + ".sluice-index")
    beside.write_bytes(good)
    assert len(sluice.Dataset(path)) == 4 and not list(cache.iterdir())
    beside.unlink()
    monkeypatch.setenv("SLUICE_CACHE_DIR", "")
    assert len(sluice.Dataset(path)) == 4 and not list(cache.iterdir())
    monkeypatch.setenv("SLUICE_CACHE_DIR", "/proc/none/such")
    assert len(sluice.Dataset(path)) == 4
    monkeypatch.delenv("SLUICE_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert len(sluice.Dataset(path)) == 4 and len(list((tmp_path / "xdg" / "sluice").iterdir())) == 1


def flip(path, at, keep_times=True):
    """Flips a bit at `at`, in place."""
    times = path.stat()
    with open(path, "r+b") as file:
        file.seek(at)
        byte = file.read(1)
        file.seek(at)
        file.write(bytes([byte[0] ^ 1]))
    if keep_times:
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


@pytest.mark.parametrize("how", ["written to", "replaced"])
def test_indexes_of_files_that_were_changed(tmp_path, cache, how):
    """With size and time kept: the index is not mistaken for that of the other file."""
    path = write(tmp_path / "a.tar", [("0.bin", bytes(100_000)), ("1.txt", b"one"), ("2.txt", b"two")])
    assert len(sluice.Dataset(path)) == 3
    (index,) = cache.iterdir()
    kept = index.read_bytes()
    if how == "replaced":
        shutil.copy2(path, tmp_path / "copy")
        os.rename(tmp_path / "copy", path)
    flip(path, 50_000 + 1024)
    assert len(sluice.Dataset(path)) == 3
    assert index.read_bytes() != kept  # rebuilt


def test_an_index_that_travels_with_its_archive(tmp_path, cache):
    path = write(tmp_path / "a.tar", [("0.bin", bytes(100_000)), ("1.txt", b"one")])
    assert len(sluice.Dataset(path)) == 2
    (index,) = cache.iterdir()
    copy = tmp_path / "elsewhere" / "b.tar"
    copy.parent.mkdir()
    shutil.copy2(path, copy)
    shutil.copy(index, str(copy) + ".sluice-index")
    shutil.rmtree(cache)
    assert len(sluice.Dataset(copy)) == 2 and not cache.exists()
    size = path.stat().st_size
    for at in (600, size // 2, size - 1):  # positions whose bytes are checked
        flip(copy, at)
        if at < size - 1:  # otherwise the archive continues after its end
            assert len(sluice.Dataset(copy)) == 2
            shutil.rmtree(cache)  # it was walked
        else:
            with pytest.raises(sluice.CorruptError, match="data after the end-of-archive mark"):
                sluice.Dataset(copy)
        flip(copy, at)
        assert len(sluice.Dataset(copy)) == 2 and not cache.exists()


def test_an_index_that_others_can_write_is_no_index(tmp_path, cache):
    before = os.umask(0)
    try:
        path = write(tmp_path / "a.tar", usual(2))
        assert len(sluice.Dataset(path)) == 2
    finally:
        os.umask(before)
    (index,) = cache.iterdir()
    assert index.stat().st_mode & 0o777 == 0o600 and cache.stat().st_mode & 0o777 == 0o700
    good = index.read_bytes()
    kept = index.stat().st_ino
    assert len(sluice.Dataset(path)) == 2 and index.stat().st_ino == kept
    for mode in (0o620, 0o602):
        index.chmod(mode)
        kept = index.stat().st_ino
        assert len(sluice.Dataset(path)) == 2
        assert index.stat().st_ino != kept and index.stat().st_mode & 0o777 == 0o600 and index.read_bytes() == good


def write_wds2idx(path, members):
    """Writes an index like DALI's wds2idx 1.2."""
    groups = []
    with tarfile.open(path) as archive:
        for member in archive:
            base, _, extension = member.name.rpartition("/")[2].partition(".")
            if not groups or groups[-1][0] != base:
                groups.append((base, []))
            groups[-1][1].append(f"{extension} {member.offset_data} {member.size} {member.name}")
    index = path.with_suffix(".idx")
    index.write_text(f"v1.2 {len(groups)}\n" + "".join(" ".join(parts) + "\n" for _, parts in groups))
    return index


@pytest.mark.parametrize("format", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_indexes_of_dali(tmp_path, cache, format):
    long = [("d" * 90 + "/" + "e" * 60 + "." + extension, data) for extension, data in (("jpg", jpeg(8)), ("cls", b"4"))]
    path = write(tmp_path / "a.tar", [*usual(3), *long, *usual(2, 7)], format=format)
    index = write_wds2idx(path, None)
    check(path)
    assert cache.exists() == (format != tarfile.USTAR_FORMAT)  # a long name's own header may be a link, so it was walked
    shutil.rmtree(cache, ignore_errors=True)
    path = write(tmp_path / "a.tar", usual(6), format=format)
    index = write_wds2idx(path, None)
    check(path)
    assert not cache.exists()  # nothing had to be walked
    good = index.read_text()
    lines = good.splitlines(True)
    wrong = [
        "", "v1.2\n", "v1.1 6\n", lines[0].replace("6", "5") + "".join(lines[1:]), "".join(lines[:-1]), good.replace("0001.jpg", "00 01.jpg"),
        good.replace(" 512 ", " 1024 ", 1), good.replace(" 512 ", " 99999999 ", 1), good.replace("cls", "c" * 40), lines[0] + "\n" * 6,
    ]  # fmt: skip
    for text in wrong:
        index.write_text(text)
        check(path)
        assert cache.exists(), text  # walked
        shutil.rmtree(cache)
    index.write_text(good)
    os.utime(index, (1, 1))  # older than the archive
    check(path)
    assert cache.exists()


def test_folders_that_are_ambiguous(tmp_path):
    write(tmp_path / "a.tar", usual(2))
    (tmp_path / "n0001").mkdir()
    with pytest.raises(sluice.InvalidError, match='folder "n0001": name the archives'):
        sluice.Dataset(tmp_path)
    assert len(sluice.Dataset(tmp_path / "a.tar")) == 2
    (tmp_path / "n0001").rename(tmp_path / ".hidden")
    (tmp_path / "a.tar.bz2").write_bytes(b"BZh9" + bytes(2000))
    with pytest.raises(sluice.UnsupportedError, match="bzip2") as caught:
        sluice.Dataset(tmp_path)
    assert caught.value.file.endswith("a.tar.bz2")


def test_other_names_for_a_tar(tmp_path):
    write(tmp_path / "no-suffix", usual(2))
    assert sluice.Dataset(tmp_path / "no-suffix").format == "tar"
    (tmp_path / "picture.jpg").write_bytes(jpeg())
    with pytest.raises(sluice.InvalidError, match=r"an image \(JPEG\): open its folder"):
        sluice.Dataset(tmp_path / "picture.jpg")


def test_lists_of_archives(tmp_path):
    """As WebDataset's widsindex makes them."""
    (tmp_path / "data").mkdir()
    shards = []
    for number in range(3):
        name = f"train-{number:06}.tar"
        with tarfile.open(tmp_path / "data" / name, "w") as archive:
            for i in range(4 + number):
                member = tarfile.TarInfo(f"{number}{i}.jpg")
                data = jpeg(10 * number + i)
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))
        shards.append({"url": name, "nsamples": 4 + number, "filesize": 1})
    listed = {"__kind__": "wids-shard-index-v1", "wids_version": 1, "shardlist": shards[::-1], "name": "train"}

    def write(where="data/index.json", **changes):
        (tmp_path / where).write_text(json.dumps(listed | changes))
        return tmp_path / where

    data = sluice.Dataset(write())
    assert len(data) == 15 and data.format == "tar" and [data[i]["image"] for i in (0, 6)] == [jpeg(20), jpeg(10)]
    assert len(sluice.Dataset(write("index.json", base="data"))) == 15
    assert len(sluice.Dataset(write("index.json", base=str(tmp_path / "data")))) == 15
    assert len(sluice.Dataset(write(shardlist=[shard["url"] for shard in shards]))) == 15
    parts = [{"name": "a", "base": "data", "shardlist": shards[1:2]}, {"base": str(tmp_path / "data"), "shardlist": shards[:1]}]
    data = sluice.Dataset(write("index.json", base="data", shardlist=shards[2:], datasets=parts))
    assert len(data) == 15 and [data[i]["image"] for i in (0, 6, 11)] == [jpeg(20), jpeg(10), jpeg(0)]
    (tmp_path / "index.json").write_text(json.dumps({"wids_version": 1, "datasets": [{"shardlist": shards, "base": "data"}]}))
    assert len(sluice.Dataset(tmp_path / "index.json")) == 15
    for changes, reason in [
        ({"shardlist": [{"url": "train-000000.tar", "nsamples": 5}]}, "lists 5 samples in its archives, which have 4"),
        ({"shardlist": []}, "the list of archives is missing"),
        ({"shardlist": [], "datasets": []}, "the list of archives is missing"),
        ({"datasets": [{"shardlist": [{"nsamples": 5}]}]}, 'no "url"'),
        ({"datasets": [{"name": "x"}]}, 'an entry of its "datasets" has no list of archives'),
        ({"datasets": [7]}, 'an entry of its "datasets" has no list of archives'),
        ({"datasets": [{"source_url": "other.json"}]}, '"other.json": a list that refers to another one'),
        ({"datasets": [{"base": "s3://x", "shardlist": shards}]}, "remote"),
        ({"datasets": [{"shardlist": shards[:1] * 2}, {"shardlist": [{"url": "train-000000.tar", "nsamples": 5}]}]},
            "lists 28 samples in its archives, which have 27"),
        ({"shardlist": [{"nsamples": 5}]}, 'no "url"'),
        ({"shardlist": [{"url": "https://x/train-000000.tar"}]}, "remote"),
        ({"base": "s3://x"}, "remote"),
        ({"shardlist": ["train-{000000..000002}.tar"]}, "each archive must be named"),
        ({"shardlist": ["none.tar"]}, "none.tar"),
    ]:
        with pytest.raises(sluice.Error, match=reason):
            sluice.Dataset(write(**changes))
    with pytest.raises(sluice.InvalidError, match='cannot choose fields: the format "tar" does not support it'):
        sluice.Dataset(write(), fields={"x": "jpg"})
    with pytest.raises(sluice.InvalidError, match="lists of archives cannot be joined: put all archives into one list, or"):
        sluice.Dataset([write(), write("data/b.json")])
    (tmp_path / "cut.json").write_text(json.dumps(listed)[:-5])
    with pytest.raises(sluice.CorruptError, match="cut.json.*not valid JSON"):
        sluice.Dataset(tmp_path / "cut.json")
