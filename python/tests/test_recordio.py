# SPDX-License-Identifier: Apache-2.0
"""MXNet's RecordIO files, written by the tests' own writer (recordios.py)."""
import io
import os
import pathlib
import struct

import numpy
import pytest
import recordios as rec
import training
from PIL import Image

import sluice
from sluice import transforms as T

MAGIC = rec.MAGIC_BYTES


@pytest.fixture(autouse=True)
def cache(tmp_path_factory, monkeypatch):
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("SLUICE_CACHE_DIR", str(folder / "made"))
    return folder / "made"


def jpeg(number=0, comment=b""):
    """Returns a JPEG with a comment of any content, which begins at byte 6."""
    made = io.BytesIO()
    noise = numpy.random.default_rng(number).integers(0, 255, (4, 5, 3), dtype=numpy.uint8)
    Image.fromarray(noise).resize((40 + number % 9, 32)).save(made, "JPEG")
    data = made.getvalue()
    return data[:2] + b"\xff\xfe" + struct.pack(">H", len(comment) + 2) + comment + data[2:] if comment else data


def magics(number):
    """Returns comments with magic numbers at positions where a record is split, and at others."""
    return [b"", b"ab" + MAGIC, b"abc" + MAGIC, b"ab" + MAGIC * 3, b"ab" + MAGIC + b"wxyz" + MAGIC + b"!"][number % 5]


def photos(count, first=0):
    return [(number % 7, number * 3, jpeg(number, magics(number))) for number in range(first, first + count)]


def write(path, samples, **options):
    rec.write(path, [rec.image(label, data, key) for label, key, data in samples], **options)
    return path


def check(source, samples, **options):
    """Checks the dataset twice, the second time through a cached index."""
    for _ in range(2):
        data = sluice.Dataset(source, **options)
        assert data.format == "recordio" and len(data) == len(samples)
        for found, (label, key, content) in zip(data, samples):
            assert (found["label"], found["id"]) == (label, key)
            assert bytes(found["image"]) == content
    return data


def pixels(data):
    return numpy.asarray(Image.open(io.BytesIO(data)).convert("RGB"))


@pytest.mark.parametrize("beside", [{"idx": False}, {}, {"lst": True}, {"keys": [7, 5, 5, 0, *range(100, 116)]}])
def test_pictures(tmp_path, cache, beside):
    samples = photos(20)
    path = write(tmp_path / "a.rec", samples, **beside)
    assert b"".join(rec.frame(rec.image(*sample[:1], sample[2], sample[1])) for sample in samples) == path.read_bytes()
    data = check(path, samples)
    assert {name: field.type for name, field in data.fields.items()} == {"image": "image", "label": "int", "id": "int"}
    assert all((numpy.asarray(data.decode(i)) == pixels(sample[2])).all() for i, sample in enumerate(samples))
    assert data.verify(decode=True, progress=None)[2] == [] and data.verify(progress=None)[2] == []
    assert cache.exists() == (beside == {"idx": False})  # otherwise nothing was walked


def test_split_anywhere(tmp_path):
    """In the header, the labels and the image: the first position, the last, and several in a row."""
    key = rec.MAGIC
    label = struct.unpack("<f", MAGIC)[0]
    bodies = [b"", MAGIC, MAGIC * 4, b"abcd" + MAGIC, MAGIC + b"a", b"abc" + MAGIC, b"abcd" + MAGIC + MAGIC[:3], MAGIC[:2], b"ab" + MAGIC * 2]
    for labels in (1.0, [1.0], [label], [label] * 3, [2.0, label, 3.0], [label, 2.0], list(range(1000)) + [label]):
        for first in (key, 5, key | key << 32, 0x0A00CED723):
            records = [rec.image(labels, body, first & 2**63 - 1) for body in bodies]
            path = tmp_path / "a.rec"
            rec.write(path, records, idx=False)
            data = sluice.Dataset(path)
            assert list(data.fields) == ["data", "label", "id"]
            for found, body in zip(data, bodies):
                assert bytes(found["data"]) == body and found["id"] == first & 2**63 - 1
                if isinstance(labels, list):
                    assert numpy.array(found["label"]).tobytes() == numpy.array(labels, "<f4").tobytes()
                else:
                    assert found["label"] == 1
            columns = {"label": sluice.columns.Tensor(dtype="float32")} if isinstance(labels, list) else {"label": sluice.columns.Number()}
            columns["data"] = sluice.columns.Ragged(length=64, missing="blank")
            (batch,) = sluice.Loader(data, batch_size=len(bodies), columns=columns)
            assert batch["data"].numpy().tobytes() == b"".join(bodies)
            assert batch["label"].numpy().tobytes() == numpy.array([labels] * len(bodies), batch["label"].numpy().dtype).tobytes()
            assert data.verify(decode=True, progress=None)[2] == []


def test_plain_records(tmp_path):
    bodies = [b"", b"text that is no header, but longer", MAGIC, MAGIC * 2, b"abcd" * 100 + MAGIC + b"x", b"\xff" * 24]
    rec.write(tmp_path / "a.rec", bodies)
    data = sluice.Dataset(tmp_path / "a.rec")
    assert list(data.fields) == ["data"] and [bytes(sample["data"]) for sample in data] == bodies
    rec.write(tmp_path / "b.rec", [sample[2] for sample in photos(10)])
    data = sluice.Dataset(tmp_path / "b.rec")
    assert list(data.fields) == ["image"] and [bytes(sample["image"]) for sample in data] == [sample[2] for sample in photos(10)]
    assert data.verify(decode=True, progress=None)[2] == []
    rec.write(tmp_path / "c.rec", [struct.pack("<3h", n, -n, 7) for n in range(5)])
    data = sluice.Dataset(tmp_path / "c.rec", fields={"x": "data:i16[3]"})
    assert [sample["x"].tolist() for sample in data] == [[n, -n, 7] for n in range(5)]
    rec.write(tmp_path / "d.rec", [numpy.arange(n, n + 10, dtype="<i4").tobytes() for n in (0, 0, 0, 7)])
    data = sluice.Dataset(tmp_path / "d.rec", fields={"x": "data:i32[]"})  # four zero bytes are not a header
    assert [sample["x"].tolist() for sample in data] == [list(range(n, n + 10)) for n in (0, 0, 0, 7)]
    for made in (numpy.zeros(9, "<f4"), numpy.array([3, 4, 5, 6, 0, 0, 0], "<i8"), numpy.array([0, 1e30] * 5, "<f4"),
                 numpy.array([0, 0, 1, 0, 1, 0], "<i4")):  # fmt: skip
        rec.write(tmp_path / "e.rec", [made.tobytes()] * 5)
        data = sluice.Dataset(tmp_path / "e.rec")
        assert list(data.fields) == ["data"] and bytes(data[4]["data"]) == made.tobytes()
    (tmp_path / "no_name").write_bytes(rec.frame(b"abc"))
    assert sluice.Dataset(tmp_path / "no_name").format == "recordio"


def test_headers_that_are_not_sure(tmp_path):
    """Content that resembles headers stays available unchanged; content that does not can be read as headers by choice."""
    path = tmp_path / "a.rec"
    bodies = [struct.pack("<IfQQ", 0, n, n, 0) + b"content %d" % n for n in range(20)]
    rec.write(path, [*bodies, b"short"])
    data = sluice.Dataset(path)
    assert list(data.fields) == ["data", "label", "id"] and bytes(data[3]["data"]) == b"content 3"
    data = sluice.Dataset(path, fields={"all": "record"})
    assert [bytes(sample["all"]) for sample in data] == [*bodies, b"short"]
    data = sluice.Dataset(path, fields={"all": "record:u8[]", "y": "label"})
    assert bytes(data[3]["all"]) == bodies[3] and data[3]["y"] == 3
    with pytest.raises(sluice.CorruptError, match="no IRHeader"):
        data[20]
    rec.write(path, [rec.image(n, b"text %d" % n, n, 5) for n in range(20)])
    assert list(sluice.Dataset(path).fields) == ["data"]
    data = sluice.Dataset(path, fields={"data": "data", "y": "label"})
    assert bytes(data[3]["data"]) == b"text 3" and data[3]["y"] == 3
    rec.write(path, [rec.image(n / 2, jpeg(n), n, 5) for n in range(20)])  # images are sufficient evidence
    assert list(sluice.Dataset(path).fields) == ["image", "label", "id"]
    assert bytes(sluice.Dataset(path, fields={"x": "record"})[2]["x"]) == rec.image(1, jpeg(2), 2, 5)


def test_labels(tmp_path):
    path = tmp_path / "a.rec"

    def opened(labels, **options):
        rec.write(path, [rec.image(label, jpeg(i), i) for i, label in enumerate(labels)])
        return sluice.Dataset(path, **options)

    data = opened([0.5, 1, -3, float("nan"), float("inf")])
    assert data.fields["label"].type == "float" and [sample["label"] for sample in data][:3] == [0.5, 1, -3]
    data = opened([-1, 2**24, 0, 2.0**62])
    assert data.fields["label"].type == "int" and [sample["label"] for sample in data] == [-1, 2**24, 0, 2**62]
    data = opened([[1, 2.5], [3, 4], [5, 6]])
    assert data.fields["label"].shape == (2,) and data[0]["label"].tolist() == [1, 2.5]
    data = opened([[1, 2.5], [3], [4, 5, 6]])
    assert data.fields["label"].shape == (0,) and [len(sample["label"]) for sample in data] == [2, 1, 3]
    mixed = [[9.0, 10.0], *[float(i) for i in range(6)], 0.5]  # like face recognition's labels, and worse
    data = opened(mixed)
    assert data.fields["label"].type == "float" and data[7]["label"] == 0.5
    with pytest.raises(sluice.CorruptError, match='"label": the label is a list of numbers') as caught:
        data[0]
    assert caught.value.sample == 0 and caught.value.file == str(path)
    data = opened(mixed, fields={"image": "image", "id": "id"})
    assert [sample["id"] for sample in data] == list(range(8))
    data = opened(mixed, fields={"label": "label:f32[0]"})
    assert data[0]["label"].tolist() == [9, 10]
    with pytest.raises(sluice.CorruptError, match='"label": the label is one number'):
        data[1]
    data = opened([1.0] * 300, fields={"label": "label:float"})
    assert data[0]["label"] == 1.0 and data.fields["label"].type == "float"
    whole = [1.0] * 300
    whole[1] = 0.5  # between the sampled records
    with pytest.raises(sluice.CorruptError, match="not a whole number.*label=label:float"):
        opened(whole)[1]


def test_without_a_picture(tmp_path):
    """InsightFace: the first record has numbers instead of an image."""
    samples = [rec.image([100.0, 200.0], b"", 0), *[rec.image(float(i), jpeg(i), i) for i in range(1, 30)]]
    rec.write(tmp_path / "train.rec", samples)
    data = sluice.Dataset(tmp_path, fields={"image": "image", "id": "id"})
    assert data[0]["image"] is None and data[1]["image"] is not None
    loader = sluice.Loader(data, batch_size=30, transform=T.RandomResizedCrop(16), on_bad_sample="mask")
    (batch,) = loader
    assert batch["mask"].numpy().tolist() == [0] + [1] * 29


def faces(pictures, ranges, labels=float):
    """Returns an insightface file: a header, images, and a header for each identity, with the range of its images."""
    first = pictures + 1
    made = [rec.image([float(first), float(first + len(ranges))], b"", 0)]
    made += [rec.image(labels(i % 3), jpeg(i), i) for i in range(1, first)]
    return made + [rec.image([float(a), float(b)], b"", first + i) for i, (a, b) in enumerate(ranges)]


@pytest.mark.parametrize("idx", [True, False])
@pytest.mark.parametrize("labels", [float, lambda label: [label, 0.5, 0.25]])
def test_files_of_insightface(tmp_path, idx, labels):
    rec.write(tmp_path / "train.rec", faces(9, [(1, 4), (4, 10)], labels), idx=idx)
    (tmp_path / "property").write_text("2,112,112")
    for _ in range(2):
        data = sluice.Dataset(tmp_path)
        assert [sample["image"] for sample in data] == [jpeg(i) for i in range(1, 10)]
        assert [sample["id"] for sample in data] == list(range(1, 10))
        assert all(numpy.ravel(sample["label"])[0] == (i + 1) % 3 for i, sample in enumerate(data))
        assert {left.reason: left.count for left in data.left_out} == {
            "header records (insightface), which have no image": 3, "files beside those of the dataset": 1}  # fmt: skip
        assert data.verify(progress=None).findings == []
    rec.write(tmp_path / "train2.rec", faces(4, []), idx=idx)
    assert len(sluice.Dataset([tmp_path / "train.rec", tmp_path / "train2.rec"])) == 13


@pytest.mark.parametrize("change", [
    lambda records: records[:5],  # records named by the header are missing
    lambda records: [*records[:3], rec.image([1.0, 2.0], b"", 3), *records[3:-2]],  # a record of the image range has no image
    lambda records: [*records[:-1], rec.image(1.0, jpeg(1), 11)],
    lambda records: [rec.image([10.5, 12.0], b"", 0), *records[1:]],
    lambda records: [rec.image([1.0, 12.0], b"", 0), *records[1:]],
    lambda records: [rec.image([12.0, 10.0], b"", 0), *records[1:]],
    lambda records: [rec.image([10.0, 12.0], jpeg(3), 0), *records[1:]],
    lambda records: [rec.image(10.0, b"", 0), *records[1:]],
])  # fmt: skip
def test_headers_that_are_not_insightface(tmp_path, change):
    """In these cases, nothing is left out."""
    records = change(faces(9, [(1, 4), (4, 10)]))
    rec.write(tmp_path / "train.rec", records)
    data = sluice.Dataset(tmp_path, fields={"image": "image"})
    assert len(data) == len(records) and data.left_out == []


def test_ids(tmp_path):
    rec.write(tmp_path / "a.rec", [rec.image(1, b"x", key) for key in (0, 2**63 - 1, 2**63)])
    data = sluice.Dataset(tmp_path / "a.rec")
    assert data[1]["id"] == 2**63 - 1
    with pytest.raises(sluice.CorruptError, match='"id"'):
        data[2]
    assert bytes(sluice.Dataset(tmp_path / "a.rec", fields={"x": "data"})[2]["x"]) == b"x"


def test_indexes_of_others(tmp_path, cache):
    samples = photos(40)
    path = write(tmp_path / "a.rec", samples, idx=False)
    offsets, at = [], 0
    for label, key, data in samples:
        offsets.append(at)
        at += len(rec.frame(rec.image(label, data, key)))

    def used(text, name="a.idx", old=False):
        for file in [*tmp_path.glob("*.idx"), *(cache.glob("*") if cache.exists() else [])]:
            file.unlink()
        (tmp_path / name).write_text(text)
        os.utime(tmp_path / name, (1, 1) if old else None)
        check(path, samples)
        return not list(cache.glob("*")) if cache.exists() else True

    def lines(numbers):
        return "".join(f"{i}\t{number}\n" for i, number in enumerate(numbers))

    assert used(lines(offsets)) and used(lines(offsets), name="a.rec.idx") and used(lines(offsets)[:-1])
    assert used("".join(f"key {i}\t{number} \n" for i, number in enumerate(offsets)))
    assert not used(lines(offsets), old=True)
    for wrong in (offsets[1:], offsets[:-1], offsets[::-1], [*offsets, at], [*offsets, at + 8], [number + 4 for number in offsets],
                  [0, 4, *offsets[1:]], [0, *[number - 4 for number in offsets[1:]]], [0, 2**63, 2**64], []):  # fmt: skip
        assert not used(lines(wrong)), wrong
    for wrong in ("", "\n", "0 0\n", "0\t-8\n", "0\tx\n", "\t", "0\t0\t8\n", "x" * 10000):
        assert not used(wrong), wrong
    gap = lines(offsets[:2] + offsets[3:])  # one is missing, at an unchecked position: a bad sample, and no other effect
    (tmp_path / "a.idx").write_text(gap)
    for file in cache.glob("*"):
        file.unlink()
    data = sluice.Dataset(path)
    assert len(data) == 39 and bytes(data[2]["image"]) == samples[3][2]
    with pytest.raises(sluice.CorruptError, match=r"shorter than the index says.*\.idx.* leaves records out") as caught:
        data[1]
    assert caught.value.offset == offsets[2]


def test_several_files_and_ranks(tmp_path):
    samples = []
    for number in range(5):
        part = photos(7, 7 * number)
        write(tmp_path / f"train-{number}.rec", part, idx=number % 2 == 0, lst=number % 3 == 0)
        samples += part
    (tmp_path / "train-5.rec").write_bytes(b"")
    for given in (tmp_path, str(tmp_path / "train-{0..5}.rec"), sorted(tmp_path.glob("*.rec"))):
        check(given, samples)
    seen = []
    for rank in range(3):
        loader = sluice.Loader(tmp_path, batch_size=3, shuffle=True, seed=1, rank=rank, world_size=3,
                               columns={"id": sluice.columns.Number()}, drop_last=False, num_workers=2)  # fmt: skip
        seen += [int(key) for batch in loader for key, mask in zip(batch["id"].numpy(), batch["mask"].numpy()) if mask]
    assert set(seen) == {sample[1] for sample in samples} and len(seen) <= len(samples) + 2


def test_training(tmp_path):
    """On images that contain RecordIO's own magic."""
    photos = training.make_photos(tmp_path)
    for number, path in enumerate(photos):
        path.write_bytes(jpeg(number, magics(number)))
    for shard in range(3):
        write(tmp_path / f"{shard}.rec", [(shard, i, photos[i].read_bytes()) for i in range(8 * shard, 8 * shard + 8)])
    source = str(tmp_path / "{0..2}.rec")
    training.check(source, tmp_path)
    for before, after in zip(sluice.Dataset(source), sluice.Dataset(tmp_path / "kept")):
        assert {name: bytes(v) if name == "image" else v for name, v in before.items()} == {
            name: bytes(v) if name == "image" else v for name, v in after.items()
        }


# ---- errors ----


def test_cut_short_anywhere(tmp_path):
    path = write(tmp_path / "a.rec", [(i, i, b"ab" * i + b"xy" * (i % 2) + MAGIC * i) for i in range(4)], idx=False)
    whole = path.read_bytes()
    ends, at = [0], 0
    for i in range(4):
        at += len(rec.frame(rec.image(i, b"ab" * i + b"xy" * (i % 2) + MAGIC * i, i)))
        ends.append(at)
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        if size == 0:
            with pytest.raises(sluice.InvalidError, match="empty"):
                sluice.Dataset(path)
        elif size in ends:
            assert len(sluice.Dataset(path)) == ends.index(size)  # nothing in a RecordIO file marks its end
        else:
            with pytest.raises(sluice.CorruptError, match="truncated") as caught:
                sluice.Dataset(path)
            assert caught.value.file == str(path) and 0 <= caught.value.offset <= size


def test_damaged_heads(tmp_path):
    bodies = [b"x" * 40, b"abcd" + MAGIC + b"ef", b"y" * 30]
    framed = [rec.frame(rec.image(1, body)) for body in bodies]
    whole = b"".join(framed)
    second = len(framed[0])
    path = tmp_path / "a.rec"
    words = {0: "magic number", 4: "", 36: "magic number"}
    for begin, match in words.items():
        for at in range(second + begin, second + begin + 4):
            for bit in range(8):
                path.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << bit]) + whole[at + 1 :])
                try:
                    data = sluice.Dataset(path)  # a length that fits the padding changes the meaning of the last bytes
                    assert begin == 4 and [bytes(sample["data"]) for sample in data] != bodies
                except sluice.CorruptError as error:
                    assert match in str(error) and error.file == str(path) and second <= error.offset <= len(whole)
                except sluice.UnsupportedError:
                    pytest.fail("no length is that large")


def part(kind, data):
    return MAGIC + struct.pack("<I", kind << 29 | len(data)) + data + bytes(-len(data) % 4)


@pytest.mark.parametrize(
    "data, words",
    [
        (b"x" * 100, "no record begins here"), (bytes(100), "all zero bytes"), (b"x" * 7, "truncated"),
        (part(2, b"abcd"), "not the first part"), (part(3, b"abcd"), "not the first part"), (part(4, b""), "not the first part"),
        (part(7, b""), "not the first part"), (part(1, b"abcd"), "truncated"), (part(1, b"abcd") + part(0, b""), "of the wrong kind"),
        (part(1, b"abcd") + part(1, b""), "of the wrong kind"), (part(1, b"abcd") + bytes(8), "next part of a record is missing"),
        (part(1, b"abc") + part(3, b""), "multiple of 4"), (part(1, b"") + part(2, b"") * 5 + part(2, b"a"), "multiple of 4"),
        (part(0, b"a" * 30) + b"\n", "truncated"), (part(0, b"a" * 30) + b"\n" * 8, "no record begins here"),
        (MAGIC + b"\xff\xff\xff\x1f" + bytes(100), "longer than the rest of the file"),
    ],
)  # fmt: skip
def test_files_that_are_none(tmp_path, data, words):
    path = tmp_path / "a.rec"
    path.write_bytes(data)
    with pytest.raises(sluice.CorruptError, match=words) as caught:
        sluice.Dataset(path)
    assert caught.value.file == str(path)


def test_samples_that_are_bad_alone(tmp_path):
    bad = {
        3: (rec.frame(b"abc"), "no IRHeader"), 10: (rec.frame(b""), "no IRHeader"),
        17: (rec.frame(struct.pack("<IfQQ", 1000, 0, 0, 0) + b"x" * 3999), "fewer labels"),
        24: (part(1, bytes(24)) + part(3, MAGIC + b"abcd"), "is not split at each magic number"),
        31: (part(1, bytes(24) + MAGIC) + part(3, b""), "is not split at each magic number"),
        38: (part(1, MAGIC) + part(2, MAGIC) + part(3, bytes(24)), "is not split at each magic number"),
    }  # fmt: skip
    good = rec.frame(rec.image(1, b"\xff\xd8\xff" + b"x" * 50, 9))
    path = tmp_path / "a.rec"
    path.write_bytes(b"".join(bad[i][0] if i in bad else good for i in range(200)))
    data = sluice.Dataset(path)
    for number, (_, words) in bad.items():
        with pytest.raises(sluice.CorruptError, match=words) as caught:
            data[number]
        assert caught.value.sample == number and caught.value.offset >= number * 24
    (batch,) = sluice.Loader(data, batch_size=200, on_bad_sample="mask", columns={"label": sluice.columns.Number()})
    assert batch["mask"].numpy().tolist() == [0 if i in bad else 1 for i in range(200)]


def test_files_that_change(tmp_path):
    path = write(tmp_path / "a.rec", [(i, i, b"x" * 40) for i in range(4)])
    data = sluice.Dataset(path)
    write(path, [(i, i, b"x" * (20 if i % 2 else 60)) for i in range(4)])
    with pytest.raises(sluice.CorruptError):
        data[2]
    fresh = sluice.Dataset(path)
    assert fresh.fingerprint != data.fingerprint and bytes(fresh[1]["data"]) == b"x" * 20


def test_choices_that_cannot_be(tmp_path):
    path = write(tmp_path / "a.rec", photos(3))
    for fields in ({"x": "y"}, {"x": "id:float"}, {"x": "label:text"}, {"x": "label:u8[1]"}, {"x": "image:int"}):
        with pytest.raises(sluice.InvalidError):
            sluice.Dataset(path, fields=fields)
    assert pathlib.Path(path).exists()
