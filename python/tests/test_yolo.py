# SPDX-License-Identifier: Apache-2.0
"""YOLO's labels compared with numpy, by the rules of ultralytics' data/utils.py (verify_image_label, segments2boxes)."""
import json
import os
import random
import warnings

import numpy
import pages
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
    """Writes images and labels; number 2 has no label file, number 4 an empty one."""
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
    """Returns boxes as centre and size, classes, points; computed from a file like ultralytics."""
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
        assert found.format == "f" and found.shape == boxes.shape and found.tobytes() == boxes.tobytes()
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
    """The layout of coco128: images/train2017 and labels/train2017."""
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
        with pytest.raises(INVALID, match=r"several splits.*: train \(train/images\), val \(valid/images\): choose one, such as split=.train."):
            sluice.Dataset(roboflow / way)


def test_one_split(roboflow):
    """A YAML that names one split is a dataset; its paths may be relative to different folders."""
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


@pytest.mark.parametrize("info", [{"year": 2024, "version": "1.0", "contributor": "Label Studio"}, {"images": []}])
def test_label_studio(tmp_path, info):
    """Its notes.json has COCO's categories, and is not a dataset beside the labels; one that lists images is, and a truncated one may be."""
    pictures, labels = tmp_path / "images", tmp_path / "labels"
    write(pictures, labels)
    (tmp_path / "classes.txt").write_text("\n".join(NAMES) + "\n")
    notes = {"categories": [{"id": number, "name": name} for number, name in enumerate(NAMES)], "info": info}
    (tmp_path / "notes.json").write_text(json.dumps(notes, indent=2))
    data, told = read_quietly(tmp_path)
    check(data, pictures, labels)
    assert list(data.classes) == NAMES and left_out(data) == {} and not [each for each in told if "notes.json" in each]
    for text in (json.dumps({**notes, "images": []}), json.dumps(notes)[:-2]):
        (tmp_path / "notes.json").write_text(text)
        with pytest.raises(INVALID, match='"yolo" and one of "coco": open the second by its file .*notes.json'):
            sluice.Dataset(tmp_path)


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
        ("./images/val/000001.jpg\nimages/val/notes.md\n", CORRUPT, 'line 2: "images/val/notes.md" is not the name of an image'),
        ("images/val/000001.jpg\n\n../secret.jpg\n", INVALID, 'line 3: .*"../secret.jpg" is outside'),
        ("/etc/secret.jpg\n", INVALID, "line 1: .*outside"),
        ("images/val/000002.jpg\n", INVALID, "none of its 1 images has a label file: the first one's would be .*labels/val/000002.txt"),
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
    """Files named by a list must be inside its folder, and so must their labels."""
    secret = coco.parent / "secret.txt"
    secret.write_text("0 0.5 0.5 0.1 0.1\n")
    (coco / "labels/val/000001.txt").unlink()
    (coco / "labels/val/000001.txt").symlink_to(secret)
    (coco / "val.txt").write_text("images/val/000000.jpg\nimages/val/000001.jpg\n")
    with pytest.raises(INVALID, match="000001.txt.*outside|outside|elsewhere"):
        sluice.Dataset(coco / "val.txt")
    assert len(sluice.Dataset(coco / "val.txt", allow_outside=True)[1]["labels"]) == 1
    assert len(sluice.Dataset(coco / "images/val")[1]["labels"]) == 1  # links in a folder are followed


def test_beside_images(tmp_path):
    """Without a folder named images, labels are beside the images of a list."""
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
    for text, match in (("0 .5 .5 .1 .1\n", f"5 numbers: kpt_shape requires {5 + each}"),
                        ("0 .5 .5 .1 .1" + " 1.5" * each, "1.5 is not in 0..1")):  # fmt: skip
        path.write_text(text)
        with pytest.raises(CORRUPT, match=match):
            sluice.Dataset(roboflow / "train")


@pytest.mark.parametrize("text, match", [
    ("dog 0.5 0.5 0.1 0.1", 'line 1: "dog" is not a number'),
    ("0 0.5 0.5 0.1 0.1\n\n1.5 0.5 0.5 0.1 0.1", "line 3: its class is not a whole number"),
    ("-1 0.5 0.5 0.1 0.1", "line 1: its class is not a whole number of at least 0"),
    ("3 0.5 0.5 0.1 0.1", "line 1: class 3 is out of range: there are 3 classes"),
    ("0 0.5 0.5 0.1", "line 1: 4 numbers: a box has 5"),
    ("0 0.5 0.5 0.1 0.1 0.9", "line 1: 6 numbers"),
    ("0 0.5 0.5 0.1 0.1 0.9 0.1 0.2", "line 1: 8 numbers"),
    ("0 0.5 nan 0.1 0.1", '"nan" is not a number'),
    ("0 0.5 inf 0.1 0.1", '"inf" is not a number'),
    ("0 0.5 1e999 0.1 0.1", '"1e999" is not a number'),
    ("0 0.5 0x1 0.1 0.1", '"0x1" is not a number'),
    ("0 320 240 10 20", "line 1: 320 is not in 0..1, .*; divide pixel values by these"),
    ("0 0.5 1.02 0.1 0.1", "line 1: 1.02 is not in 0..1"),
    ("0 0.5 0.5 -0.001 0.1", "line 1: negative width or height: -0.001 x 0.1; correct the line"),
    ("0 0 0 1 -0.5 1 1", "line 1: -0.5 is not in 0..1"),
    ("0 0.5 0.5 0.1 0.1\0", "not a text"),
    ("0,0.5,0.5,0.1,0.1", "is not a number"),
])  # fmt: skip
def test_refused(roboflow, text, match):
    (roboflow / "train/labels/000005.txt").write_text(text)
    with pytest.raises(CORRUPT, match=match) as error:
        sluice.Dataset(roboflow / "train")
    assert error.value.file.endswith("train/labels/000005.txt")


def test_kept(roboflow):
    """Duplicate objects, classes written as floats, coordinates slightly outside, boxes without width."""
    path = roboflow / "train/labels/000005.txt"
    path.write_text("1.0 0.5 0.5 0.1 0.1\n1.0 0.5 0.5 0.1 0.1\n2 1.005 -0.005 0 1.01\n0e0\t+5e-1 0.5 1 1")
    data = sluice.Dataset(roboflow / "train")
    check(data, roboflow / "train/images", roboflow / "train/labels")
    assert numpy.asarray(data[5]["labels"]).tolist() == [1, 1, 2, 0]


@pytest.mark.parametrize("text, error, match", [
    ("names: [a\ntrain: x\n", CORRUPT, "not valid YAML"),
    ("- train\n- names\n", None, None),
    ("train: valid/images\nnames: [a, b]\nnc: 3\n", CORRUPT, '"names" has 2 classes, but "nc" is 3'),
    ("train: valid/images\nnames: {0: a, 2: b}\n", CORRUPT, "has 2 classes, but not number 1"),
    ("train: valid/images\nnames: {0: a, 0: b}\n", CORRUPT, "line 2: a class has two names"),
    ("train: valid/images\ntrain: valid/images\nnc: 3\n", CORRUPT, 'line 2: the key "train" occurs twice'),
    ("train: valid/images\nnames: [a]\nx: 1\nnames: [b]\n", CORRUPT, 'line 4: the key "names" occurs twice'),
    ("train: valid/images\nnc: 3\nx: 1\nx: 1\n", CORRUPT, 'line 4: the key "x" occurs twice'),
    ("Train: valid/images\nnc: 3\n", CORRUPT, 'line 1: unknown key "Train": write "train"'),
    ("train: valid/images\nVAL: valid/images\nnc: 3\n", CORRUPT, 'line 2: unknown key "VAL": write "val"'),
    ("train: valid/images\nvalid: valid/images\nnc: 3\n", CORRUPT, 'unknown key "valid": write "val"'),
    ("train: valid/images\nnames: {a: b}\n", CORRUPT, "line 2: expected the number of a class"),
    ("train: valid/images\nnames: dog\n", CORRUPT, '"names" must be a list'),
    ("train: valid/images\nnc: -3\n", CORRUPT, '"nc" must be a number'),
    ("train: valid/images\nnc: 70000\n", CORRUPT, '"nc" must be a number'),
    ("train: valid/images\nnc: 3\nkpt_shape: [17]\n", CORRUPT, '"kpt_shape" must be a list of two numbers'),
    ("train: valid/images\nnc: 3\nkpt_shape: [17, 4]\n", CORRUPT, '"kpt_shape" must be a list of two numbers'),
    ("train: {a: b}\nnc: 3\n", CORRUPT, "line 1: expected a text"),
    ("train: elsewhere\nnc: 3\n", INVALID, 'it names "elsewhere", which is neither an existing folder nor a list'),
    ("train: ../../..\nnc: 3\n", INVALID, "outside"),
    ("train: [valid/images, ./valid/images/]\nnc: 3\n", INVALID, 'it names "./valid/images/" twice for one split'),
    ("path: ..\ntrain: secret\nnc: 3\n", INVALID, "outside"),
    ("train: ''\nnc: 3\n", INVALID, "neither an existing folder nor a list|names no images"),
    ("nc: 3\ntrain:\nval: ~\n", INVALID, "it names no images"),
    ("names: [a, b]\n", INVALID, "it names no images: train, val and test are empty"),
    ("a: &a [x]\ntrain: *a\nnc: 3\n", sluice.UnsupportedError, "aliases are not supported"),
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
    """Folders keep their meaning: COCO's and VOC's annotations beside labels, class folders, captions."""
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
        for folder, name in ((f"birds/labels/{number % 2}.kind", f"{number}.txt"), ("texts/labels", "README.txt")):
            (tmp_path / folder).mkdir(parents=True, exist_ok=True)
            (tmp_path / folder / name).write_text("0 0.5 0.5 0.1 0.1")
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
    with pytest.raises(INVALID, match="inside the one to be packed"):
        sluice.pack(source, roboflow / "train/images/out")


def test_special_files(roboflow):
    path = roboflow / "train/labels/000005.txt"
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(sluice.Error, match="000005.txt"):
        sluice.Dataset(roboflow / "train")
    path.unlink()
    path.symlink_to("nowhere.txt")
    assert len(sluice.Dataset(roboflow / "train")[5]["labels"]) == 0  # like a missing one
    (roboflow / "train/images/000005.jpg").unlink()
    (roboflow / "train/images/000005.jpg").symlink_to("nowhere.jpg")
    with pytest.raises(sluice.Error, match="000005.jpg"):
        sluice.Dataset(roboflow / "train")[5]


def read_quietly(path, **how):
    """Returns the dataset and its warnings."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        return sluice.Dataset(path, **how), [str(each.message) for each in told]


def left_out(data):
    return {each.reason: (each.count, each.images, each.example) for each in data.left_out}


def test_splits_of_yaml(roboflow):
    for path in (roboflow, roboflow / "data.yaml"):
        for split, folder in (("train", "train"), ("val", "valid"), ("validation", "valid")):
            data = sluice.Dataset(path, split=split)
            assert data[0]["key"] == f"{folder}/images/000000.jpg" and len(data) == 9 and list(data.classes) == NAMES
        with pytest.raises(INVALID, match="data.yaml.*split .test.: no such split: the splits are train, val"):
            sluice.Dataset(path, split="test")
    (roboflow / "one.yaml").write_text("train: train/images\nnc: 3\n")
    assert len(sluice.Dataset(roboflow / "one.yaml", split="train")) == 9
    with pytest.raises(INVALID, match="split .val.: no such split"):
        sluice.Dataset(roboflow / "one.yaml", split="val")
    with pytest.raises(INVALID, match="split .val.: its images have no splits"):
        sluice.Dataset(roboflow / "train", split="val")
    (roboflow / "list.txt").write_text("train/images/000000.jpg\n")
    with pytest.raises(INVALID, match="a list of images has no splits"):
        sluice.Dataset(roboflow / "list.txt", split="train")


def test_splits_of_folders(coco):
    for split in ("train", "val", "validation"):
        name = "train" if split == "train" else "val"
        check(sluice.Dataset(coco, split=split), coco / "images" / name, coco / "labels" / name)
    with pytest.raises(INVALID, match="split .test.: no such split: the splits are train, val"):
        sluice.Dataset(coco, split="test")


@pytest.mark.parametrize("other", ["images/train", "./images/train/", "images/../images/train", "link"])
def test_one_folder_twice(coco, other):
    """train and val may be the same folder, as in coco128.yaml."""
    (coco / "link").symlink_to(coco / "images/train")
    yaml = f"train: images/train\nval: {other}\nnc: 3\n"
    (coco / "data.yaml").write_text(yaml)
    try:
        data = sluice.Dataset(coco)
    except sluice.UnsupportedError as error:
        assert "without libyaml" in str(error)
        return
    assert len(data) == 9 and data[0]["key"] == "images/train/000000.jpg"
    (coco / "data.yaml").write_text(yaml + "test: images/val\n")
    with pytest.raises(INVALID, match="several splits"):
        sluice.Dataset(coco)


COCO128 = """# Ultralytics COCO128 dataset
# parent
# ├── ultralytics
# └── datasets
#     └── coco128  ← downloads here (7 MB)

# Train/val/test sets as 1) dir: path/to/imgs, 2) file: path/to/imgs.txt, or 3) list: [path/to/imgs1, path/to/imgs2, ..]
path: ../datasets/coco128 # dataset root dir
train: images/train2017 # train images (relative to 'path') 128 images
val: images/train2017 # val images (relative to 'path') 128 images
test: # test images (optional)

# Classes
names:
  0: person
  1: bicycle
  2: car

# Download script/URL (optional)
download: https://github.com/ultralytics/assets/releases/download/v0.0.0/coco128.zip
"""


@pytest.mark.parametrize("yaml, root", [("coco128.yaml", "coco128"), ("coco128.yaml", "datasets/coco128"), ("coco128.yaml", ""),
                                        ("coco128/coco128.yaml", "coco128"), ("coco128/data.yaml", "coco128")])  # fmt: skip
def test_coco128(tmp_path, monkeypatch, yaml, root):
    """ultralytics' file, unchanged, beside the images, or in their folder."""
    write(tmp_path / root / "images/train2017", tmp_path / root / "labels/train2017")
    (tmp_path / yaml).write_text(COCO128)
    monkeypatch.chdir(tmp_path)
    for path in (yaml, tmp_path / yaml, *(["coco128"] if "/" in yaml else [])):
        for split in (None, "train", "val"):
            try:
                data = sluice.Dataset(path, split=split)
            except sluice.UnsupportedError as error:
                assert "without libyaml" in str(error)
                return
            assert len(data) == 9 and list(data.classes) == ["person", "bicycle", "car"]
            assert (numpy.asarray(data[1]["boxes"]) == model(tmp_path / root / "labels/train2017/000001.txt")[0]).all()


def test_marks(roboflow):
    """A UTF-8 byte order mark is ignored; other encodings are rejected by name."""
    wanted = [numpy.asarray(sample["boxes"]).tolist() for sample in sluice.Dataset(roboflow / "train")]
    (roboflow / "list.txt").write_text("".join(f"train/images/{name}\n" for name in sorted(os.listdir(roboflow / "train/images"))))
    files = [*(roboflow / "train/labels").iterdir(), roboflow / "data.yaml", roboflow / "list.txt"]
    for path in files:
        path.write_text(path.read_text(), encoding="utf-8-sig")
    for path in (roboflow / "train", roboflow / "list.txt"):
        assert [numpy.asarray(sample["boxes"]).tolist() for sample in sluice.Dataset(path)] == wanted
    assert len(sluice.Dataset(roboflow, split="train")) == 9
    (roboflow / "train/labels/000005.txt").write_text("0 .5 .5 .1 .1\ndog 1 1 1 1", encoding="utf-8-sig")
    with pytest.raises(CORRUPT, match='line 2: "dog" is not a number') as error:
        sluice.Dataset(roboflow / "train")
    assert error.value.offset == 3 + len("0 .5 .5 .1 .1\n")
    for encoding in ("utf-16", "utf-16-be", "utf-32"):
        for path in (roboflow / "train/labels/000005.txt", roboflow / "data.yaml", roboflow / "list.txt"):
            kept = path.read_bytes()
            path.write_text(kept.decode("utf-8-sig"), encoding=encoding)
            with pytest.raises(sluice.UnsupportedError, match=encoding[:6].upper()) as error:
                sluice.Dataset(roboflow / "list.txt" if path.name == "list.txt" else roboflow / "train")
            assert error.value.file.endswith(path.name)
            path.write_bytes(kept)


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 99\n"


@pytest.mark.parametrize("text, error, match", [
    (POINTER, CORRUPT, "labels/000000.txt.*Git LFS pointer"),
    (b"dog 0.5 0.5 0.1 0.1", CORRUPT, 'labels/000000.txt.*line 1: "dog" is not a number'),
    (b"0,0.5,0.5,0.1,0.1", CORRUPT, "labels/000000.txt.*line 1: .*is not a number"),
    (b"<!DOCTYPE html>", CORRUPT, "labels/000000.txt.*an HTML page"),
    ("0 .5 .5 .1 .1".encode("utf-16"), sluice.UnsupportedError, "labels/000000.txt.*UTF-16"),
])  # fmt: skip
def test_all_labels_unreadable(tmp_path, text, error, match):
    """A folder with unreadable labels is not opened as a plain folder of images, from any of its folders."""
    write(tmp_path / "images", tmp_path / "labels", count=4)
    for path in (tmp_path / "labels").iterdir():
        path.write_bytes(text)
    for way in ("", "images"):
        with pytest.raises(error, match=match):
            sluice.Dataset(tmp_path / way)


def test_labels_called_otherwise(tmp_path):
    write(tmp_path / "images", tmp_path / "labels", count=4)
    for path in list((tmp_path / "labels").iterdir()):
        path.rename(path.with_name(f"label_{path.name}"))
    for way in ("", "images"):
        with pytest.raises(INVALID, match=r'labels/000000.txt"; the existing label files have other names, such as "label_000000.txt"'):
            sluice.Dataset(tmp_path / way)
    for path in list((tmp_path / "labels").iterdir()):
        path.rename(path.with_name(path.name[6:-4] + ".TXT"))
    for way in ("", "images"):
        with pytest.raises(INVALID, match="000000.TXT: label files must end in lower-case .txt"):
            sluice.Dataset(tmp_path / way)


def test_pointers_to_names(roboflow):
    """Files of class names that were not downloaded, and names in a YAML without splits."""
    path = roboflow / "train/data.yaml"
    path.write_text("names: [a, b, c]\n")
    assert list(sluice.Dataset(roboflow / "train").classes) == ["a", "b", "c"]
    path.write_text("Names: [a, b, c]\n")
    with pytest.raises(CORRUPT, match='train/data.yaml: line 1: unknown key "Names": write "names"'):
        sluice.Dataset(roboflow / "train")
    path.unlink()
    for name, way in (("data.yaml", ""), ("data.yaml", "train"), ("train/labels/classes.txt", "train"), ("train/classes.txt", "train")):
        if "classes" in name:
            (roboflow / "data.yaml").unlink(missing_ok=True)
        (roboflow / name).write_bytes(POINTER)
        with pytest.raises(CORRUPT, match=f"{name.rsplit('/')[-1]}.*Git LFS pointer"):
            sluice.Dataset(roboflow / way)


def test_system_folders(roboflow):
    for folder in ("@eaDir", ".svn", "#recycle", "CVS"):
        for kind in ("images", "labels"):
            (roboflow / "train" / kind / folder).mkdir()
            (roboflow / "train" / kind / folder / f"000001.{'jpg' if kind == 'images' else 'txt'}").write_bytes(b"")
    data, _ = read_quietly(roboflow / "train")
    assert len(data) == 9 and left_out(data) == {"hidden files and folders": (8, False, left_out(data)["hidden files and folders"][2])}


def test_left_out(coco):
    pictures, labels = coco / "images/train", coco / "labels/train"
    (labels / "000002.txt").write_text("")
    data, told = read_quietly(pictures)
    assert left_out(data) == {} and told == []
    (coco / "classes.txt").write_text("\n".join(NAMES))
    for name in ("a.mpo", "b.JFIF", "c.heic", "000000.npy", ".hidden.jpg"):
        (pictures / name).write_bytes(b"")
    for name in ("a.txt", "gone.txt", "lost.txt", "classes.txt", "train.cache"):
        (labels / name).write_text("cat" if name == "classes.txt" else "0 .5 .5 .1 .1\n")
    data, told = read_quietly(pictures)
    assert len(data) == 9 and left_out(data) == {
        "images of unsupported kinds": (3, True, left_out(data)["images of unsupported kinds"][2]),
        "files of image folders that are not images": (1, False, "000000.npy"),
        "hidden files and folders": (1, False, ".hidden.jpg"),
        "label files without an image": (2, True, "gone.txt"),
        "files of label folders that are not labels": (1, False, "train.cache"),
        "lists of classes that are not used": (1, False, "classes.txt"),
    }
    assert len([each for each in told if "unsupported kinds" in each or "2 left out: label files" in each]) == 2
    (coco / "classes.txt").rename(labels / "classes.txt")
    data, _ = read_quietly(pictures)
    assert "lists of classes that are not used" not in left_out(data) and list(data.classes) == NAMES


def test_left_out_beside_pictures(tmp_path):
    """Labels that are read do not count as left out, if they are in the image folder that a YAML names."""
    for folder in ("train", "val/images"):
        write(tmp_path / folder, tmp_path / folder.replace("images", "labels"))
        (tmp_path / folder.replace("images", "labels") / "000002.txt").write_text("")
    (tmp_path / "data.yaml").write_text("train: train\nval: val\nnames: [a, b, c]\n")
    data, told = read_quietly(tmp_path, split="train")
    assert left_out(data) == {} and told == [] and len(data) == 9
    assert (numpy.asarray(data[1]["boxes"]) == model(tmp_path / "train/000001.txt")[0]).all()
    data, told = read_quietly(tmp_path, split="val")
    assert left_out(data) == {} and told == [] and len(data) == 9
    assert (numpy.asarray(data[1]["boxes"]) == model(tmp_path / "val/labels/000001.txt")[0]).all()
    (tmp_path / "train/notes.md").write_text("")
    for name in ("train/gone.txt", "val/images/000001.txt"):
        (tmp_path / name).write_text("0 .5 .5 .1 .1\n")
    assert left_out(read_quietly(tmp_path, split="train")[0]) == {
        "label files without an image": (1, True, "gone.txt"), "files of image folders that are not images": (1, False, "notes.md")}
    assert left_out(read_quietly(tmp_path, split="val")[0]) == {"label files without an image": (1, True, "images/000001.txt")}


def test_unlabelled(coco):
    """Images without a label file are samples without objects; many of them cause a warning."""
    for number in (1, 2, 7):
        (coco / f"labels/train/{number:06}.txt").unlink(missing_ok=True)
    data, told = read_quietly(coco / "images/train")
    assert len(data) == 9 and [len(data[number]["labels"]) for number in (1, 2, 7)] == [0] * 3 and left_out(data) == {}
    assert len(told) == 1 and "3 of 9 images have no label file, and so no objects: the first is" in told[0] and "000001.jpg" in told[0]


def test_repeats(coco, monkeypatch):
    """A label file that a list names many times, by any names, is read and stored once."""
    (coco / "labels/val/000001.txt").write_text("0 .5 .5 .1 .1\n1 .25 .5 .1 .1\n" * 20000)
    (coco / "images/val/link.jpg").symlink_to(coco / "images/val/000001.jpg")
    (coco / "labels/val/link.txt").symlink_to(coco / "labels/val/000001.txt")
    names = ["images/val/000001.jpg", "images/val/000003.png", "./images/val/000001.jpg", "images/val/../val/000001.jpg",
             "images/val/link.jpg", "images/val/000002.jpg"]  # fmt: skip
    lines = [names[(i * i) % len(names)] for i in range(3000)] + names
    (coco / "many.txt").write_text("\n".join(lines))
    data = sluice.Dataset(coco / "many.txt", memory_bytes=32 << 20)  # 1.9 GB if each was stored
    assert sluice.Dataset(coco / "many.txt").fingerprint == data.fingerprint
    wanted = {name: model(coco / "labels/val" / f"{os.path.basename(name)[:-4]}.txt") for name in names}
    for number in [*range(12), *range(len(lines) - len(names), len(lines))]:
        boxes, classes, _ = wanted[lines[number]]
        assert numpy.asarray(data[number]["boxes"]).reshape(-1, 4).tobytes() == boxes.tobytes()
        assert numpy.asarray(data[number]["labels"]).tolist() == classes.tolist()
        assert data[number]["key"] == (lines[number][2:] if lines[number].startswith("./") else lines[number])
    (coco / "many.txt").write_text("\n".join([lines[1], lines[0], *lines[2:]]))
    assert sluice.Dataset(coco / "many.txt").fingerprint != data.fingerprint


def test_page(tmp_path, monkeypatch):
    """The example of formats/annotations.md with coco128.yaml, on its layout."""
    write(tmp_path / "coco128/images/train2017", tmp_path / "coco128/labels/train2017", count=16, kinds=("box",))
    (tmp_path / "coco128.yaml").write_text(COCO128)
    try:
        names = pages.run("formats/annotations.md", "YOLO", tmp_path, monkeypatch)
    except sluice.UnsupportedError as error:
        assert "without libyaml" in str(error)
        return
    batch = next(iter(names["loader"]))
    assert len(batch["image"]) == 16 and len(numpy.asarray(batch["boxes"])) > 16


def test_coco128_elsewhere(tmp_path):
    """As unpacked by ultralytics: the folder is beside that of the YAML, which must be allowed."""
    write(tmp_path / "datasets/coco128/images/train2017", tmp_path / "datasets/coco128/labels/train2017")
    (tmp_path / "ultralytics").mkdir()
    path = tmp_path / "ultralytics/coco128.yaml"
    path.write_text(COCO128)
    try:
        with pytest.raises(INVALID, match='"../datasets/coco128/images/train2017" is outside.*allow_outside'):
            sluice.Dataset(path)
    except sluice.UnsupportedError as error:
        assert "without libyaml" in str(error)
        return
    assert len(sluice.Dataset(path, allow_outside=True)) == 9
    (tmp_path / "datasets").rename(tmp_path / "gone")
    with pytest.raises(INVALID, match='"../datasets/coco128/images/train2017", which does not exist: write a path relative to the folder of this file'):
        sluice.Dataset(path)


@pytest.mark.parametrize("named", ["/mnt/bob/own/images/train", "../../bob/own/images/train", "/content/images/train/"])
def test_paths_of_another_machine(tmp_path, named):
    """They do not exist: a replacement is found below the YAML and suggested, but not used by default."""
    write(tmp_path / "own/images/train", tmp_path / "own/labels/train")
    path = tmp_path / "own/data.yaml"
    path.write_text(f"train: {named}\nnc: 3\n")
    try:
        with pytest.raises(INVALID, match=f'it names "{named}", which does not exist: write "images/train/?", which exists'):
            sluice.Dataset(path)
    except sluice.UnsupportedError as error:
        assert "without libyaml" in str(error)
        return
    path.write_text("train: images/train\nnc: 3\n")
    assert len(sluice.Dataset(path)) > 0
    path.write_text("train: /mnt/bob/elsewhere\nnc: 3\n")
    with pytest.raises(INVALID, match='"/mnt/bob/elsewhere", which does not exist: write a path relative to the folder of this file'):
        sluice.Dataset(path)


def test_joined_with_boxes_of_another_meaning(tmp_path):
    """COCO boxes cannot be joined with YOLO's, and the error names the fields that can."""
    names = ["cat", "dog"]
    (tmp_path / "b").mkdir()
    for path in "a/images", "a/labels":
        (tmp_path / path).mkdir(parents=True)
    for path in "a/images/0.jpg", "a/images/1.jpg", "b/0.jpg":
        Image.new("RGB", (30, 20)).save(tmp_path / path)
    for number in 0, 1:
        (tmp_path / f"a/labels/{number}.txt").write_text(f"{number} 0.5 0.5 0.25 0.25\n")
    (tmp_path / "a/data.yaml").write_text(f"train: images\nnames: {names}\n")
    tree = {"images": [{"id": 1, "file_name": "0.jpg", "width": 30, "height": 20}],
            "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 2, 3, 4]}],
            "categories": [{"id": number, "name": name} for number, name in enumerate(names)]}  # fmt: skip
    (tmp_path / "b/coco.json").write_text(json.dumps(tree))
    a, b = sluice.Dataset(tmp_path / "a"), sluice.Dataset(tmp_path / "b/coco.json")
    for first, second in (a, b), (b, a):
        with pytest.raises(INVALID, match='field "boxes" means .* name only fields that can be joined .*, which are image, labels, key; or'):
            sluice.concat([first, second], fields=["image", "boxes"])
        data = sluice.concat([first, second], fields=["image", "labels", "key"])
        assert len(data) == 3 and list(data.fields) == ["image", "labels", "key"]


def test_joined_classes(tmp_path):
    """Lists of labels are numbers of classes: either they agree, or the datasets are not joined."""

    def write_set(name, names):
        (tmp_path / name / "images" / "train").mkdir(parents=True)
        (tmp_path / name / "labels" / "train").mkdir(parents=True)
        Image.fromarray(numpy.zeros((8, 8, 3), "uint8")).save(tmp_path / name / "images" / "train" / "0.png")
        (tmp_path / name / "labels" / "train" / "0.txt").write_text("1 .5 .5 .2 .2\n")
        (tmp_path / name / "data.yaml").write_text(f"train: images/train\nnames: {names}\n")
        return sluice.Dataset(tmp_path / name / "data.yaml")

    one, same, other = write_set("a", "[cat, dog]"), write_set("b", "[cat, dog]"), write_set("c", "[dog, cat]")
    joined = sluice.concat([one, same])
    assert list(joined.classes) == ["cat", "dog"] and [list(joined[i]["labels"]) for i in range(2)] == [[1], [1]]
    for make in (sluice.concat, lambda parts: sluice.mix(parts, [1, 1])):
        with pytest.raises(INVALID, match='the classes differ, and they belong to "labels"'):
            make([one, other])
