# SPDX-License-Identifier: Apache-2.0
"""YOLO's labels against numpy, by the rules of ultralytics' data/utils.py (verify_image_label, segments2boxes)."""
import os
import random

import numpy
import pytest
from PIL import Image

import sluice
from sluice import columns as C
from sluice import transforms as T

CORRUPT, INVALID = sluice.CorruptError, sluice.InvalidError
NAMES = ["person", "house cat", "dög"]
YAML = "# a comment\ntrain: {train}\nval: {val}\ntest:  # none\n\nnc: 3\nnames: ['person', \"house cat\", dög]\n"


def line(draw, kind):
    numbers = [draw.randrange(3)]
    if kind == "box":
        numbers += [round(draw.uniform(0.2, 0.8), 6) for _ in range(2)] + [round(draw.uniform(0, 0.4), 6) for _ in range(2)]
    else:
        numbers += [round(draw.random(), 6) for _ in range(2 * draw.randrange(3, 9))]
    return " ".join(map(str, numbers))


def write(pictures, labels, count=9, seed=1, kinds=("box", "polygon")):
    """Number 2 has no label file, number 4 an empty one."""
    draw = random.Random(seed)
    for folder in (pictures, labels):
        folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        Image.new("RGB", (30 + number, 20), (7 * number, 1, 2)).save(pictures / f"{number:06}.{'png' if number == 3 else 'jpg'}")
        lines = [line(draw, draw.choice(kinds)) for _ in range(1 + number % 4)]
        if number != 2:
            ends = ("\r\n", "\n", "\n\n ")[number % 3]
            (labels / f"{number:06}.txt").write_text("" if number == 4 else ends.join(lines) + (ends if number % 2 else ""))


def model(path, points=None):
    """Boxes as centre and size, classes, points; as ultralytics makes them of a file."""
    rows = [row.split() for row in path.read_text().strip().splitlines() if row.split()] if path.exists() else []
    boxes, classes, keypoints = [], [], []
    for row in rows:
        numbers = numpy.array(row[1:], "f4")
        classes.append(int(float(row[0])))
        if points is None and len(row) > 6:
            x, y = numbers.reshape(-1, 2).T
            x0, y0, x1, y1 = numpy.array([x.min(), y.min(), x.max(), y.max()])
            boxes.append(numpy.array([(x0 + x1) / 2, (y0 + y1) / 2, x1 - x0, y1 - y0]))
        else:
            boxes.append(numbers[:4])
            keypoints.append(numbers[4:])
    return (numpy.array(boxes, "f4").reshape(-1, 4), numpy.array(classes, "i8"),
            numpy.array(keypoints if points else [], "f4").reshape(-1, points or 1))  # fmt: skip


def check(data, pictures, labels, key=lambda name: name, points=None):
    names = sorted(os.listdir(pictures))
    assert data.format == "yolo" and [sample["key"] for sample in data] == [key(name) for name in names]
    fields = ["image", "boxes", "labels"] + (["keypoints"] if points else []) + ["key"]
    assert list(data.fields) == fields and data.fields["boxes"].shape == (0, 4)
    upright = {"orientation": "upright"}
    meanings = {"image": upright, "boxes": {"role": "boxes", "box_format": "cxcywh", "coordinates": "relative"} | upright,
                "labels": {"per_box": True},
                "keypoints": {"role": "points", "coordinates": "relative", "per_box": True} | upright}  # fmt: skip
    assert all(data.fields[name].meaning == meanings.get(name, {}) for name in fields)
    for name, sample in zip(names, data):
        boxes, classes, keypoints = model(labels / (name.rsplit(".", 1)[0] + ".txt"), points)
        assert bytes(sample["image"]) == (pictures / name).read_bytes()
        found = sample["boxes"]
        assert found.format == "f" and found.shape == (boxes.shape if len(boxes) else (0,)) and found.tobytes() == boxes.tobytes()
        assert numpy.asarray(sample["labels"]).tolist() == classes.tolist()
        if points:
            assert len(sample["keypoints"]) == len(keypoints) and sample["keypoints"].tobytes() == keypoints.tobytes()


@pytest.fixture
def roboflow(tmp_path):
    root = tmp_path / "export"
    for seed, split in enumerate(("train", "valid")):
        write(root / split / "images", root / split / "labels", seed=seed)
    (root / "data.yaml").write_text(YAML.format(train="../train/images", val="../valid/images"))
    try:
        sluice.Dataset(root / "train")
    except sluice.UnsupportedError as error:
        assert "without libyaml" in str(error)
        pytest.skip("the library was built without libyaml")
    return root


@pytest.fixture
def coco(tmp_path):
    """As coco128 lies: images/train2017 and labels/train2017."""
    root = tmp_path / "coco8"
    for seed, split in enumerate(("train", "val")):
        write(root / "images" / split, root / "labels" / split, seed=seed)
    return root


def test_roboflow(roboflow):
    for split in ("train", "valid"):
        for way in ("", "images"):
            data = sluice.Dataset(roboflow / split / way)
            check(data, roboflow / split / "images", roboflow / split / "labels")
            assert list(data.classes) == NAMES
    for way in ("", "data.yaml"):
        with pytest.raises(INVALID, match="names several splits, .*: train/images, valid/images"):
            sluice.Dataset(roboflow / way)


def test_one_split(roboflow):
    """A YAML that names one split is a dataset; paths as whoever wrote it may have meant them."""
    for text in ("train: train/images\n", "path: .\ntrain: train/images\n", "path: ./\ntrain: ./train/images/\n",
                 "train: ../train/images\nval: ~\n", f"path: {roboflow}\ntrain: train/images\n",
                 "path: /data/elsewhere\ntrain: train/images\n", "path: train\ntrain: images\n",
                 "train:\n  - train/images\n", "train: [train/images]\ntest: null\nval: ''\n"):  # fmt: skip
        names = "names:\n  2: dög\n  0: person\n  1: house cat\n"
        text += names
        (roboflow / "one.yaml").write_text(text)
        data = sluice.Dataset(roboflow / "one.yaml")
        assert list(data.classes) == NAMES and len(data) == 9, text
        prefix = "" if not text.startswith(f"path: {roboflow}") else f"{roboflow}/"
        check(data, roboflow / "train/images", roboflow / "train/labels", lambda name: f"{prefix}train/images/{name}")


def test_several_sources(roboflow):
    (roboflow / "both.yaml").write_text("train: [train/images, lists/valid.txt]\nnc: 3\n")
    (roboflow / "lists").mkdir()
    (roboflow / "lists/valid.txt").write_text("../valid/images/000003.png\n./../valid/images/000001.jpg  \r\n\n")
    data = sluice.Dataset(roboflow / "both.yaml")
    assert len(data) == 11 and len(data.classes) == 0
    for sample, name in zip([data[9], data[10]], ("000003", "000001")):
        boxes, classes, _ = model(roboflow / f"valid/labels/{name}.txt")
        assert (numpy.asarray(sample["boxes"]) == boxes).all() and numpy.asarray(sample["labels"]).tolist() == classes.tolist()


def test_folders(coco, monkeypatch):
    for split in ("train", "val"):
        pictures, labels = coco / "images" / split, coco / "labels" / split
        check(sluice.Dataset(pictures), pictures, labels)
        monkeypatch.chdir(pictures)
        check(sluice.Dataset("."), pictures, labels)
        monkeypatch.chdir(coco / "images")
        check(sluice.Dataset(split), pictures, labels)
    with pytest.raises(INVALID, match=r"are splits \(train, val\): open one of them \(.*/images/train\)"):
        sluice.Dataset(coco)
    assert len(sluice.Dataset(coco / "images/train").classes) == 0
    (coco / "classes.txt").write_text("\n".join(NAMES) + "\n")
    assert list(sluice.Dataset(coco / "images/train").classes) == NAMES
    nested = coco.parent / "nested"
    write(nested / "images/a/b", nested / "labels/a/b")
    data = sluice.Dataset(nested)
    assert len(data) == 9 and data[0]["key"] == "a/b/000000.jpg"


def test_list(coco):
    wanted = [f"./images/val/{number:06}.jpg" for number in (7, 1, 8)]
    (coco / "val.txt").write_text("\n".join(wanted))
    data = sluice.Dataset(coco / "val.txt")
    assert [sample["key"] for sample in data] == [name[2:] for name in wanted]
    for sample in data:
        boxes, classes, _ = model(coco / sample["key"].replace("images", "labels").replace(".jpg", ".txt"))
        assert (numpy.asarray(sample["boxes"]) == boxes).all()
    for text, error, match in (
        ("./images/val/000001.jpg\nimages/val/notes.md\n", CORRUPT, 'line 2: "images/val/notes.md" is not the name of a picture'),
        ("images/val/000001.jpg\n\n../secret.jpg\n", INVALID, 'line 3: .*"../secret.jpg" is outside'),
        ("/etc/secret.jpg\n", INVALID, "line 1: .*outside"),
        ("images/val/000002.jpg\n", INVALID, "none of its 1 pictures has a label file: that of the first one would be .*labels/val/000002.txt"),
        ("a.jpg\0\n", CORRUPT, "not a text"),
        ("a.jpg\nb\0.jpg\n", CORRUPT, "not a text"),
    ):
        (coco / "val.txt").write_text(text)
        with pytest.raises(error, match=match):
            sluice.Dataset(coco / "val.txt")
    elsewhere = coco.parent / "lists"
    elsewhere.mkdir()
    (elsewhere / "val.txt").write_text(str(coco / "images/val/000007.jpg"))
    with pytest.raises(INVALID, match="outside"):
        sluice.Dataset(elsewhere / "val.txt")
    assert len(sluice.Dataset(elsewhere / "val.txt", allow_outside=True)) == 1


def test_links_out(coco):
    """What a list names stays in its folder, and so do the labels that are found by it."""
    secret = coco.parent / "secret.txt"
    secret.write_text("0 0.5 0.5 0.1 0.1\n")
    (coco / "labels/val/000001.txt").unlink()
    (coco / "labels/val/000001.txt").symlink_to(secret)
    (coco / "val.txt").write_text("images/val/000000.jpg\nimages/val/000001.jpg\n")
    with pytest.raises(INVALID, match="000001.txt.*outside|outside|elsewhere"):
        sluice.Dataset(coco / "val.txt")
    assert len(sluice.Dataset(coco / "val.txt", allow_outside=True)[1]["labels"]) == 1
    assert len(sluice.Dataset(coco / "images/val")[1]["labels"]) == 1  # a folder's links are followed


def test_beside_images(tmp_path):
    """Without a folder called images labels are beside the pictures of a list."""
    write(tmp_path / "all", tmp_path / "all", count=2)
    (tmp_path / "train.txt").write_text("all/000001.jpg\n")
    data = sluice.Dataset(tmp_path / "train.txt")
    assert (numpy.asarray(data[0]["boxes"]) == model(tmp_path / "all/000001.txt")[0]).all()


@pytest.mark.parametrize("shape", [(2, 3), (3, 2)])
def test_points(roboflow, shape):
    draw = random.Random(5)
    each = shape[0] * shape[1]
    for path in sorted((roboflow / "train/labels").iterdir()):
        rows = []
        for _ in range(draw.randrange(4)):
            points = [[round(draw.random(), 5), round(draw.random(), 5), draw.randrange(3)][: shape[1]] for _ in range(shape[0])]
            rows.append(" ".join(map(str, [0, 0.5, 0.5, 0.25, 0.125, *sum(points, [])])))
        path.write_text("\n".join(rows))
    (roboflow / "data.yaml").write_text(f"train: train/images\nkpt_shape: [{shape[0]}, {shape[1]}]  # x, y, visible\nnames: [person]\n")
    data = sluice.Dataset(roboflow / "train")
    assert data.fields["keypoints"].shape == (0, each)
    check(data, roboflow / "train/images", roboflow / "train/labels", points=each)
    path = roboflow / "train/labels/000001.txt"
    for text, match in (("0 .5 .5 .1 .1\n", f"5 numbers, where kpt_shape makes it {5 + each}"),
                        ("0 .5 .5 .1 .1" + " 1.5" * each, "1.5 is not from 0 to 1")):  # fmt: skip
        path.write_text(text)
        with pytest.raises(CORRUPT, match=match):
            sluice.Dataset(roboflow / "train")


@pytest.mark.parametrize("text, match", [
    ("dog 0.5 0.5 0.1 0.1", 'line 1: "dog" is not a number'),
    ("0 0.5 0.5 0.1 0.1\n\n1.5 0.5 0.5 0.1 0.1", "line 3: its class is not a whole number"),
    ("-1 0.5 0.5 0.1 0.1", "line 1: its class is not a whole number from 0 on"),
    ("3 0.5 0.5 0.1 0.1", "line 1: class 3, of 3 classes"),
    ("0 0.5 0.5 0.1", "line 1: 4 numbers, where a box has 5"),
    ("0 0.5 0.5 0.1 0.1 0.9", "line 1: 6 numbers"),
    ("0 0.5 0.5 0.1 0.1 0.9 0.1 0.2", "line 1: 8 numbers"),
    ("0 0.5 nan 0.1 0.1", '"nan" is not a number'),
    ("0 0.5 inf 0.1 0.1", '"inf" is not a number'),
    ("0 0.5 1e999 0.1 0.1", '"1e999" is not a number'),
    ("0 0.5 0x1 0.1 0.1", '"0x1" is not a number'),
    ("0 320 240 10 20", "line 1: 320 is not from 0 to 1"),
    ("0 0.5 1.02 0.1 0.1", "line 1: 1.02 is not from 0 to 1"),
    ("0 0.5 0.5 -0.001 0.1", "line 1: its width or height is less than 0"),
    ("0 0 0 1 -0.5 1 1", "line 1: -0.5 is not from 0 to 1"),
    ("0 0.5 0.5 0.1 0.1\0", "not a text"),
    ("0,0.5,0.5,0.1,0.1", "is not a number"),
])  # fmt: skip
def test_refused(roboflow, text, match):
    (roboflow / "train/labels/000005.txt").write_text(text)
    with pytest.raises(CORRUPT, match=match) as error:
        sluice.Dataset(roboflow / "train")
    assert error.value.file.endswith("train/labels/000005.txt")


def test_kept(roboflow):
    """Objects that are there twice, classes written as floats, a little outside, nothing wide."""
    path = roboflow / "train/labels/000005.txt"
    path.write_text("1.0 0.5 0.5 0.1 0.1\n1.0 0.5 0.5 0.1 0.1\n2 1.005 -0.005 0 1.01\n0e0\t+5e-1 0.5 1 1")
    data = sluice.Dataset(roboflow / "train")
    check(data, roboflow / "train/images", roboflow / "train/labels")
    assert numpy.asarray(data[5]["labels"]).tolist() == [1, 1, 2, 0]


@pytest.mark.parametrize("text, error, match", [
    ("names: [a\ntrain: x\n", CORRUPT, "not valid YAML"),
    ("- train\n- names\n", None, None),
    ("train: valid/images\nnames: [a, b]\nnc: 3\n", CORRUPT, '"names" has 2 classes, and "nc" is 3'),
    ("train: valid/images\nnames: {0: a, 2: b}\n", CORRUPT, "has 2 classes, but not number 1"),
    ("train: valid/images\nnames: {0: a, 0: b}\n", CORRUPT, "line 2: a class has two names"),
    ("train: valid/images\nnames: {a: b}\n", CORRUPT, "line 2: the number of a class"),
    ("train: valid/images\nnames: dog\n", CORRUPT, '"names" is a list'),
    ("train: valid/images\nnc: -3\n", CORRUPT, '"nc" is not a number'),
    ("train: valid/images\nnc: 70000\n", CORRUPT, '"nc" is not a number'),
    ("train: valid/images\nnc: 3\nkpt_shape: [17]\n", CORRUPT, '"kpt_shape" is a list of two numbers'),
    ("train: valid/images\nnc: 3\nkpt_shape: [17, 4]\n", CORRUPT, '"kpt_shape" is a list of two numbers'),
    ("train: {a: b}\nnc: 3\n", CORRUPT, "line 1: a text is wanted here"),
    ("train: elsewhere\nnc: 3\n", INVALID, 'it names "elsewhere", and there is no such folder or list'),
    ("train: ../../..\nnc: 3\n", INVALID, "outside"),
    ("path: ..\ntrain: secret\nnc: 3\n", INVALID, "outside"),
    ("train: ''\nnc: 3\n", INVALID, "no such folder|names no pictures"),
    ("nc: 3\ntrain:\nval: ~\n", INVALID, "it names no pictures"),
    ("a: &a [x]\ntrain: *a\nnc: 3\n", sluice.UnsupportedError, "an alias, which is not followed"),
    ("train: valid/images\nnc: 3\nx: " + "[" * 40 + "]" * 40 + "\n", sluice.UnsupportedError, "more than 32 deep"),
    ("train: valid/images\nnc: 3\nx: " + "[" * 200000, sluice.UnsupportedError, "more than 32 deep"),
    ("train: valid/images\nnc: 3\n#" + "x" * (1 << 20), sluice.UnsupportedError, ""),
])  # fmt: skip
def test_yaml_refused(roboflow, text, error, match):
    (roboflow.parent / "secret").mkdir()
    (roboflow / "bad.yaml").write_text(text)
    with pytest.raises(error or INVALID, match=match):
        sluice.Dataset(roboflow / "bad.yaml")


def test_others_stay(tmp_path):
    """What a folder was before: COCO's and VOC's annotations beside labels, class folders, captions."""
    write(tmp_path / "coco/images/train", tmp_path / "coco/labels/train")
    (tmp_path / "coco/annotations").mkdir()
    (tmp_path / "coco/annotations/instances_train.json").write_text(
        '{"images": [{"id": 1, "file_name": "000000.jpg"}], "annotations": [], "categories": []}')
    assert sluice.Dataset(tmp_path / "coco").format == "coco"
    assert sluice.Dataset(tmp_path / "coco/images/train").format == "yolo"
    for number in range(4):
        for folder in ("classes/images", "classes/labels", f"birds/images/{number % 2}.kind", "texts/images"):
            (tmp_path / folder).mkdir(parents=True, exist_ok=True)
            Image.new("RGB", (9, 9)).save(tmp_path / folder / f"{number}.jpg")
        for folder, text in ((f"birds/labels/{number % 2}.kind", "0 0.5 0.5 0.1 0.1"), ("texts/labels", "a cat")):
            (tmp_path / folder).mkdir(parents=True, exist_ok=True)
            (tmp_path / folder / f"{number}.txt").write_text(text)
    assert sluice.Dataset(tmp_path / "texts/images").format == "folder"
    assert list(sluice.Dataset(tmp_path / "birds/images").classes) == ["0.kind", "1.kind"]


def test_loaded_and_packed(roboflow, tmp_path):
    source = sluice.Dataset(roboflow / "train")
    columns = {"image": C.Image("image", transform=[T.Resize(16), T.CenterCrop(16)]), "boxes": C.Ragged("boxes", length=99), "labels": C.Ragged("labels", length=99)}
    seen = 0
    with sluice.Loader(source, batch_size=4, shuffle=True, seed=3, last_batch="short", columns=columns) as loader:
        for batch in loader:
            for row, index in enumerate(batch["index"].tolist()):
                name = source[index]["key"].rsplit(".", 1)[0]
                boxes, classes, _ = model(roboflow / f"train/labels/{name}.txt")
                for field, wanted in (("boxes", boxes), ("labels", classes)):
                    begin, end = batch[f"{field}.offsets"].numpy()[row : row + 2]
                    assert (batch[field].numpy()[begin:end] == wanted).all() and end - begin == len(wanted)
                seen += 1
    assert seen == 9
    sluice.pack(source, tmp_path / "packed", keep_order=True, keep_bytes=True)
    packed = sluice.Dataset(tmp_path / "packed")
    assert list(packed.fields) == list(source.fields)
    for ours, theirs in zip(packed, source):
        for field in ("boxes", "labels"):
            assert numpy.asarray(ours[field]).tolist() == numpy.asarray(theirs[field]).tolist()
    assert not source.verify(decode=True).findings
    assert "labels have no checksums" in str(source.verify().unchecked)
    sluice.unpack(source, tmp_path / "unpacked")
    assert numpy.load(tmp_path / "unpacked/000001.boxes.npy").tolist() == model(roboflow / "train/labels/000001.txt")[0].tolist()
    with pytest.raises(INVALID, match="in the one that is to be packed"):
        sluice.pack(source, roboflow / "train/images/out")


def test_special_files(roboflow):
    path = roboflow / "train/labels/000005.txt"
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(sluice.Error, match="000005.txt"):
        sluice.Dataset(roboflow / "train")
    path.unlink()
    path.symlink_to("nowhere.txt")
    assert len(sluice.Dataset(roboflow / "train")[5]["labels"]) == 0  # as one that is not there
    (roboflow / "train/images/000005.jpg").unlink()
    (roboflow / "train/images/000005.jpg").symlink_to("nowhere.jpg")
    with pytest.raises(sluice.Error, match="000005.jpg"):
        sluice.Dataset(roboflow / "train")[5]
