# SPDX-License-Identifier: Apache-2.0
"""TFRecords of tf.train.SequenceExample: feature_lists as fields, written by the tests' own writer (tfrecords.py)."""
import io
import json
import struct

import pytest
import tfrecords as tf
from PIL import Image

import sluice


@pytest.fixture(autouse=True)
def cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("SLUICE_CACHE_DIR", str(tmp_path_factory.mktemp("cache") / "made"))


def picture(number, kind="JPEG"):
    made = io.BytesIO()
    Image.new("RGB", (20, 16), (number * 9 % 256, 80, 160)).save(made, kind)
    return made.getvalue()


def write(path, samples):
    """Writes records. `samples`: (context, lists) of each."""
    return tf.write(path, [sample if isinstance(sample, bytes) else tf.sequence_example(*sample) for sample in samples])


def plain(value):
    return value.tolist() if isinstance(value, memoryview) else value


def kinds(data):
    return {name: (field.type, field.dtype, field.shape) for name, field in data.fields.items()}


def lists_only(entries):
    """Returns a message whose feature_lists are these bytes."""
    return tf.field(2, entries)


def entry(key, steps):
    return tf.field(1, tf.field(1, key.encode()) + tf.field(2, steps))


def test_numbers(tmp_path):
    """One value per step, several, packed and not; lists of another length in each sample, empty ones, and missing ones."""
    big = [2**63 - 1, -(2**63), -1, 0, 300]
    samples = [
        ({"label": n, "caption": "a"}, {"ids": [big[(n + i) % 5] for i in range(n)], "box": [[0.5, i / 4, -1.0, float(n)] for i in range(2 * n)],
                                        "loose": [tf.Unpacked([i, -i]) for i in range(n + 1)], "one": [[0.25]] * n})
        for n in range(5)
    ] + [({"label": 5, "caption": "b"}, {})]  # fmt: skip
    data = sluice.Dataset(write(tmp_path / "a.tfrecord", samples))
    assert kinds(data) == {
        "label": ("int", "int64", ()), "caption": ("text", "uint8", (0,)), "ids": ("tensor", "int64", (0,)), "one": ("tensor", "float32", (0,)),
        "box": ("tensor", "float32", (0, 4)), "loose": ("tensor", "int64", (0, 2)),
    }  # fmt: skip
    for (context, lists), found in zip(samples, data):
        assert found["label"] == context["label"]
        for key in ("ids", "box", "loose", "one"):
            steps = lists.get(key, [])  # a missing list has no steps
            wanted = [step[0] for step in steps] if key == "one" else [list(step) if isinstance(step, list) else step for step in steps]
            assert plain(found[key]) == wanted, key
    assert len(data[0]["box"]) == 0 and data[3]["box"].shape == (6, 4) and data[4]["ids"].tolist() == big[4:] + big[:3]
    columns = {"ids": sluice.columns.Ragged(length=9, missing="blank"), "box": sluice.columns.Ragged(length=9, missing="blank")}
    (batch,) = sluice.Loader(data, batch_size=6, columns=columns)
    assert batch["box"].numpy().shape == (20, 4) and batch["ids"].numpy().tolist() == [v for _, lists in samples for v in lists.get("ids", [])]
    assert data.verify(decode=True, progress=None)[2] == []
    sluice.pack(data, tmp_path / "packed", keep_order=True, progress=None)
    packed = sluice.Dataset(tmp_path / "packed")
    assert packed.verify(decode=True, progress=None)[2] == [] and kinds(packed) == kinds(data)
    for before, after in zip(data, packed):
        assert {name: plain(value) for name, value in before.items()} == {name: plain(value) for name, value in after.items()}


def test_pictures(tmp_path):
    """Each position of the longest list is a field."""
    frames = [[picture(10 * n + i, "PNG" if i % 2 else "JPEG") for i in range(length)] for n, length in enumerate((3, 0, 2, 12))]
    samples = [({"label": n}, {"video/frames": list_, "times": list(range(len(list_)))}) for n, list_ in enumerate(frames)]
    path = write(tmp_path / "a.tfrecord", samples)
    data = sluice.Dataset(path)
    assert list(data.fields) == [f"video/frames.{i}" for i in range(12)] + ["label", "times"]
    for found, wanted in zip(data, frames):
        assert [found[f"video/frames.{i}"] for i in range(12)] == wanted + [None] * (12 - len(wanted))
    assert data.decode(3, "video/frames.11").shape == (16, 20, 3) and data.verify(decode=True, progress=None)[2] == []
    chosen = sluice.Dataset(path, fields={"last": "video/frames.11", "first": "video/frames.0:image", "raw": "video/frames.1:bytes", "x": "video/frames.70"})
    assert [field.type for field in chosen.fields.values()] == ["image", "image", "bytes", "image"]
    assert chosen[2]["last"] is None and chosen[0]["first"] == frames[0][0] and chosen[3]["raw"] == frames[3][1] and chosen[3]["x"] is None
    columns = {"first": sluice.columns.Image(transform=sluice.transforms.RandomResizedCrop(8), missing="blank")}
    (batch,) = sluice.Loader(chosen, batch_size=4, columns=columns)
    assert batch["first"].numpy().shape == (4, 8, 8, 3)
    for key, words in {"video/frames": "by position, KEY.0", "video/frames:image": "by position, KEY.0", "video/frames.x": "read at opening has that key",
                       "video/frames.01": "read at opening has", "times.0": "only elements of byte lists", "times.0:i64[1]": "only elements of byte lists", "times:int": "DTYPE",
                       "video/frames.0:int": "does not contain integers", "label.0": "read at opening has that key", "times:f32[]": "i64"}.items():  # fmt: skip
        with pytest.raises(sluice.InvalidError, match=words):
            sluice.Dataset(path, fields={"a": key})
    many = write(tmp_path / "b.tfrecord", [({"label": 1}, {"frames": [picture(1)] * 64})])
    with pytest.raises(sluice.UnsupportedError, match='more than 64 fields.*"label".*NAME.0'):
        sluice.Dataset(many)
    assert sluice.Dataset(many, fields={"end": "frames.63"})[0]["end"] == picture(1)


def test_longer_lists_than_looked_at(tmp_path):
    samples = [({"label": 1}, {"frames": [picture(n)] * 2}) for n in range(200)]
    samples[4] = ({"label": 1}, {"frames": [picture(4)] * 3})  # not one of the 64 sampled
    path = write(tmp_path / "a.tfrecord", samples)
    data = sluice.Dataset(path)
    assert list(data.fields) == ["frames.0", "frames.1", "label"] and data[3]["frames.1"] == picture(3)
    with pytest.raises(sluice.CorruptError, match='"frames.1": it has more steps') as caught:
        data[4]
    assert caught.value.sample == 4
    columns = {"frames.0": sluice.columns.Image(transform=sluice.transforms.RandomResizedCrop(8))}
    assert sum(batch["frames.0"].numpy().shape[0] for batch in sluice.Loader(data, batch_size=50, columns=columns)) == 200  # from sample 0
    assert sluice.Dataset(path, fields={"x": "frames.2"})[4]["x"] == picture(4)


def test_texts(tmp_path):
    """One text: a JSON array."""
    words = [["a", "dog", "«ä»"], [], ['quote " and \\', "line\nbreak\t\x01", ""], ["x" * 9000] * 3]
    samples = [({"label": n}, {"words": list_}) for n, list_ in enumerate(words)]
    samples.append(lists_only(entry("words", tf.field(1, tf.feature("a")) + tf.field(1, b"") + tf.field(1, tf.field(3, b"")) + tf.field(1, tf.feature("b")))))
    path = write(tmp_path / "a.tfrecord", samples)
    data = sluice.Dataset(path)
    assert kinds(data)["words"] == ("text", "uint8", (0,))
    assert [json.loads(sample["words"]) for sample in data] == words + [["a", None, None, "b"]]
    assert data[0]["words"] == '["a","dog","«ä»"]'
    assert data.verify(decode=True, progress=None)[2] == []
    sluice.pack(data, tmp_path / "packed", keep_order=True, progress=None)
    assert [sample["words"] for sample in sluice.Dataset(tmp_path / "packed")] == [sample["words"] for sample in data]
    chosen = sluice.Dataset(path, fields={"second": "words.1", "bytes": "words.0:bytes", "all": "words:text"})
    assert chosen[0]["second"] == "dog" and not chosen[1]["second"] and chosen[0]["bytes"] == b"a" and json.loads(chosen[2]["all"]) == words[2]
    bad = [({"label": 1}, {"words": ["a"]})] * 100
    bad[4] = ({"label": 1}, {"words": ["a", b"\xff\xfe"]})
    bad[5] = ({"label": 1}, {"words": [["a", "b"]]})
    bad[6] = ({"label": 1}, {"words": [1]})
    data = sluice.Dataset(write(tmp_path / "b.tfrecord", bad), fields={"words": "words:text"})
    for number, reason in ((4, "not valid UTF-8"), (5, "several texts"), (6, "a different type")):
        with pytest.raises(sluice.CorruptError, match=reason):
            data[number]


def test_bytes_of_one_size(tmp_path):
    """As YouTube-8M stores its frames: one row of a tensor each."""
    rows = [[bytes((7 * n + i + k) % 251 + 1 | 0x80 for k in range(6)) for i in range(n + 1)] for n in range(4)]
    path = write(tmp_path / "a.tfrecord", [({"id": f"v{n}"}, {"rgb": list_, "odd": [b"\xff" * (i + 1) for i in range(n)]}) for n, list_ in enumerate(rows)])
    data = sluice.Dataset(path)
    assert kinds(data) == {"id": ("text", "uint8", (0,)), "rgb": ("tensor", "uint8", (0, 6))}  # several sizes: left out
    assert [bytes(sample["rgb"]) for sample in data] == [b"".join(list_) for list_ in rows] and data[2]["rgb"].shape == (3, 6)
    chosen = sluice.Dataset(path, fields={"half": "rgb:u16[0,3]", "flat": "rgb:u8[]", "cube": "rgb:u8[0,2,3]", "odd": "odd:u8[]", "first": "rgb.0:u16[3]"})
    found = chosen[3]
    assert found["half"].shape == (4, 3) and found["flat"].shape == (24,) and found["cube"].shape == (4, 2, 3) and found["odd"].shape == (6,)
    assert found["half"].tolist()[0] == list(struct.unpack("<3H", rows[3][0])) == found["first"].tolist()
    for key, reason in {"rgb:u8[0,5]": "number of values in a step", "rgb:u32[]": "not a multiple of the element size", "odd:u8[0,2]": "number of", "rgb:u8[7,6]": "number of",
                        "rgb.1:u8[5]": "number of"}.items():  # fmt: skip
        with pytest.raises(sluice.CorruptError, match=reason):
            sluice.Dataset(path, fields={"a": key})[2]
    with pytest.raises(sluice.InvalidError, match="different numbers of values"):
        sluice.Dataset(path, fields={"a": "odd"})


def test_uneven_steps(tmp_path):
    """Such lists are left out, unless all values are requested; if sampled steps are even, an uneven sample is bad."""
    samples = [({"label": n}, {"box": [[0.5] * i for i in range(1, n + 2)], "ids": [[1, 2], []]}) for n in range(1, 4)]
    path = write(tmp_path / "a.tfrecord", samples)
    assert list(sluice.Dataset(path).fields) == ["label"]
    data = sluice.Dataset(path, fields={"box": "box:f32[]", "ids": "ids:i64[]"})
    assert [sample["box"].shape for sample in data] == [(3,), (6,), (10,)] and data[0]["ids"].tolist() == [1, 2]
    with pytest.raises(sluice.InvalidError, match="different numbers of values"):
        sluice.Dataset(path, fields={"a": "box"})
    even = [({"label": 1}, {"box": [[1, 2], [3, 4]], "one": [1, 2]})] * 200
    even[4] = ({"label": 1}, {"box": [[1, 2], [3]], "one": [1]})
    even[5] = ({"label": 1}, {"box": [[1, 2, 3], [4]], "one": [1]})
    even[7] = ({"label": 1}, {"box": [], "one": [[1, 2]]})
    even[8] = ({"label": 1}, {"box": [[1.0, 2.0]], "one": [None]})
    data = sluice.Dataset(write(tmp_path / "b.tfrecord", even))
    for number, reason in ((4, '"box": the number of values in a step'), (5, '"box": the number of values in a step'), (7, '"one": the number of values in a step'), (8, '"box": its values have a different type')):
        with pytest.raises(sluice.CorruptError, match=reason) as caught:
            data[number]
        assert caught.value.sample == number
    mixed = write(tmp_path / "c.tfrecord", [({"label": 1}, {"box": [1, 1.0]})])
    with pytest.raises(sluice.UnsupportedError, match='"box" has values of several kinds'):
        sluice.Dataset(mixed)


def test_names_that_are_in_both(tmp_path):
    samples = [({"x": 7, "image/class/label": 1}, {"x": [1, 2], "label": [3], "a.0": [1], "a": ["t", "u"], "empty": []})]
    path = write(tmp_path / "a.tfrecord", samples)
    data = sluice.Dataset(path)
    assert {name: plain(value) for name, value in data[0].items()} == {
        "x": 7, "feature_lists/x": [1, 2], "label": [3], "image/class/label": 1, "a.0": [1], "a": '["t","u"]'}  # fmt: skip
    data = sluice.Dataset(path, fields={"p": "x", "q": "feature_lists/x", "r": "a.0", "s": "feature_lists/a.1", "t": "label"})
    assert [plain(value) for value in data[0].values()] == [7, [1, 2], [1], "u", [3]]


def test_what_protobuf_allows(tmp_path):
    """Lists before the context, in pieces, keys after values, unknown fields, a repeated key (the last one counts)."""
    unknown = b"\x78\x05" + b"\x7d1234" + b"\x7912345678" + tf.field(15, b"x")
    steps = unknown + tf.field(1, unknown + tf.feature(5) + unknown) + unknown + tf.field(1, tf.feature(tf.Unpacked([6])))
    message = (
        unknown + lists_only(entry("a", tf.field(1, tf.feature(1)))) + tf.field(1, tf.features({"label": 3}))
        + lists_only(unknown + tf.field(1, tf.field(2, steps) + unknown + tf.field(1, b"a"))) + lists_only(b"") + lists_only(tf.field(1, tf.field(1, b"none")))
    )  # fmt: skip
    data = sluice.Dataset(write(tmp_path / "a.tfrecord", [message] * 2))
    assert {name: plain(value) for name, value in data[1].items()} == {"label": 3, "a": [5, 6]}
    twice = entry("a", tf.field(1, tf.feature(1))) + entry("a", b"")
    data = sluice.Dataset(write(tmp_path / "b.tfrecord", [lists_only(twice)]))
    assert data[0]["a"].shape == (0,)


def test_what_is_damaged(tmp_path):
    good = ({"label": 1}, {"a": [1, 2], "w": ["x", "y"]})
    step = tf.field(1, tf.feature(1))
    bad = [
        lists_only(b"\x0a\x7f"), lists_only(entry("a", b"\x0a\x7f")), lists_only(entry("a", tf.field(1, b"\x1a\x7f"))), lists_only(entry("a", step + b"\x08\x01")),
        lists_only(entry("a", tf.field(1, tf.field(3, b"\x0a\x02\x01")))), lists_only(entry("a", tf.field(1, tf.feature(1) + tf.feature(2)))),
        lists_only(entry("a", tf.field(1, tf.field(3, tf.field(1, b"\xff" * 10 + b"\1"))))), lists_only(entry("w", tf.field(1, tf.field(1, b"\x0a\x7f")))),
        lists_only(entry("w", tf.field(1, tf.field(1, b"\x08\x01")))), b"\x10\x01", lists_only(b"\x08\x01"), lists_only(tf.field(1, b"\x10\x01")),
        lists_only(b"\x0a" + b"\xff" * 9 + b"\x01"), lists_only(entry("a", step * 100 + b"\x0a\xff\xff\xff\xff\x0f")),
    ]  # fmt: skip
    samples = [good] * 400
    for number, message in enumerate(bad):
        samples[3 + 8 * number] = message
    path = write(tmp_path / "a.tfrecord", samples)
    data = sluice.Dataset(path, fields={"label": "label:int", "a": "a:i64[]", "w": "w:text"})
    for number in range(len(bad)):
        with pytest.raises(sluice.CorruptError, match="two lists|damaged|not a valid tf.train.Example") as caught:
            data[3 + 8 * number]
        assert caught.value.sample == 3 + 8 * number and caught.value.offset > 0
    loader = sluice.Loader(data, batch_size=400, on_bad_sample="mask", columns={"a": sluice.columns.Ragged(length=9)})
    (batch,) = loader
    assert batch["mask"].numpy().tolist() == [0 if n % 8 == 3 and n < 3 + 8 * len(bad) else 1 for n in range(400)]


def test_cut_short_anywhere(tmp_path):
    """A truncated message with a valid checksum is bad, unless it ends at the end of a part."""
    whole = tf.sequence_example({"label": 1}, {"a": [1, 300, 70000], "f": [[0.5, 1.0]] * 3, "w": ["x", "yz"], "p": [picture(1)[:40]] * 2})
    fields = {"a": "a:i64[]", "f": "f:f32[0,2]", "w": "w:text", "p": "p.1:bytes", "label": "label:int"}
    path = tf.write(tmp_path / "a.tfrecord", [whole] * 2 + [whole[:size] for size in range(len(whole))])
    data = sluice.Dataset(path, fields=fields)
    whole_parts = 0
    for size in range(len(whole)):
        try:
            sample = data[2 + size]
        except sluice.CorruptError as error:
            assert error.sample == 2 + size
            continue
        whole_parts += 1
        assert len(sample["a"]) == 0 and sample["label"] in (None, 1)
    assert whole_parts == 2  # the empty message, and the context alone


def test_many_steps(tmp_path):
    """A quarter of a million steps, and shapes that no list can have."""
    count = 250_000
    steps = list(range(count))
    path = write(tmp_path / "a.tfrecord", [({"label": 1}, {"ids": steps}), lists_only(entry("ids", tf.field(1, b"") * count))])
    data = sluice.Dataset(path, fields={"ids": "ids:i64[]", "label": "label"})
    assert data[0]["ids"].tolist() == steps and data[1]["ids"].shape == (0,)
    with pytest.raises(sluice.CorruptError, match="number of values in a step"):
        sluice.Dataset(path, fields={"a": "ids:i64[0,2000000]"})[0]
