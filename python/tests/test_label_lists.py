# SPDX-License-Identifier: Apache-2.0
"""Images beside a list of their labels: the list is opened, or the error for the folder names the list."""
import hashlib
import json
import warnings

import pytest
from test_folders import photo, refused, text

import sluice


def pictures(folder, count=6, name="{}.jpg"):
    for i in range(count):
        photo(folder / name.format(i), i)


def labels_of(data):
    """Returns the label of each image, by its bare name."""
    return {sample["key"].rsplit("/", 1)[-1]: sample["label"] for sample in data}


def opened(path, **options):
    """Opens the dataset; fails on a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return sluice.Dataset(path, **options)


# ---- lists that can be read ----

NUMBERS = range(6)
READABLE = {
    "train.csv": "image_id,label\n" + "".join(f"{i}.jpg,{i + 3}\n" for i in NUMBERS),
    "labels.csv": "file,label\n" + "".join(f"{i}.jpg,{i + 3}\n" for i in NUMBERS),
    "any.csv": "label,of\n" + "".join(f"{i + 3},{i}.jpg\n" for i in NUMBERS),
    "ids.csv": "id_code,label\n" + "".join(f"{i},{i + 3}\n" for i in NUMBERS),  # without an extension
    "crlf.csv": "\ufeffpath,label\r\n" + "".join(f'"{i}.jpg",{i + 3}\r\n' for i in NUMBERS),
    "labels.tsv": "name\tlabel\n" + "".join(f"{i}.jpg\t{i + 3}\n" for i in NUMBERS),
    "labels.jsonl": "".join(json.dumps({"img_name": f"{i}.jpg", "label": i + 3}) + "\n" for i in NUMBERS),
    "dataset.json": json.dumps({"labels": [[f"{i}.jpg", i + 3] for i in NUMBERS]}),
}


@pytest.mark.parametrize("name", READABLE)
@pytest.mark.parametrize("below", ["", "images", "train", "img_align"])
def test_a_list_that_can_be_read_is_opened(tmp_path, name, below):
    pictures(tmp_path / below)
    content = READABLE[name]
    if name == "dataset.json" and below:
        content = content.replace('["', f'["{below}/')
    text(tmp_path / name, content)
    for note in ("README.md", "LICENSE", "notes.txt", "wnids.txt", "words.txt"):
        text(tmp_path / note, "n01 goldfish\n")
    data = opened(tmp_path)
    assert data.format == "table" and labels_of(data) == {f"{i}.jpg": i + 3 for i in NUMBERS} and data.left_out == []
    assert labels_of(opened(tmp_path / name)) == labels_of(data)
    for i, sample in enumerate(data):
        assert bytes(sample["image"]) == (tmp_path / below / f"{i}.jpg").read_bytes()


def test_images_that_a_list_lacks_are_counted(tmp_path):
    pictures(tmp_path / "images")
    text(tmp_path / "train.csv", "image_id,label\n0.jpg,3\n1.jpg,4\n5.jpg,1\n")
    with pytest.warns(UserWarning, match="3 left out: images that train.csv does not list, the first images/[234].jpg"):
        data = sluice.Dataset(tmp_path)
    assert len(data) == 3 and [(entry.count, entry.images) for entry in data.left_out] == [(3, True)]
    assert len(opened(tmp_path / "train.csv")) == 3  # the list was named by the caller


@pytest.mark.parametrize("name", ["metadata.csv", "metadata.jsonl"])
def test_metadata_that_lists_too_few(tmp_path, name):
    pictures(tmp_path / "train")
    pictures(tmp_path / "train/.ipynb_checkpoints")
    rows = [{"file_name": f"{where}train//{i}.jpg", "text": f"a {i}"} for i, where in enumerate(("", "./", ""))]
    lines = ["file_name,text"] + [",".join(row.values()) for row in rows] if name.endswith("csv") else map(json.dumps, rows)
    text(tmp_path / name, "\n".join(lines) + "\n")
    with pytest.warns(UserWarning, match=f"3 left out: images that {name} does not list"):
        assert len(sluice.Dataset(tmp_path)) == 3


def test_the_folder_of_the_list_comes_first(tmp_path):
    """If several folders contain the names, the folder named like the table is used; otherwise opening fails."""
    pictures(tmp_path / "train")
    pictures(tmp_path / "test")
    rows = "image_id,label\n" + "".join(f"{i}.jpg,{i}\n" for i in NUMBERS)
    text(tmp_path / "train.csv", rows)
    assert [sample["key"] for sample in opened(tmp_path / "train.csv")] == [f"train/{i}.jpg" for i in NUMBERS]
    text(tmp_path / "labels.csv", rows)
    refused(tmp_path / "labels.csv", 'column "image_id"', "may be", "test/0.jpg", "train/0.jpg", "write full paths")


def test_paths_that_lead_nowhere_stay(tmp_path):
    """Missing images are bad samples, whose errors name their paths."""
    text(tmp_path / "a.csv", "path,label\n0.jpg,1\n1.jpg,2\n")
    data = opened(tmp_path / "a.csv")
    assert len(data) == 2
    with pytest.raises(OSError, match="0.jpg"):
        data[0]
    photo(tmp_path / "1.jpg")
    assert len(opened(tmp_path)) == 2


def test_stylegan(tmp_path):
    names = [f"{i // 2:05}/img{i:08}.png" for i in NUMBERS]
    for name in names:
        photo(tmp_path / name)
    text(tmp_path / "dataset.json", json.dumps({"labels": [[name, i % 3] for i, name in enumerate(names)]}))
    data = opened(tmp_path)
    assert [sample["label"] for sample in data] == [0, 1, 2, 0, 1, 2] and [sample["key"] for sample in data] == names
    text(tmp_path / "dataset.json", json.dumps({"labels": [[name, [0.0, 1.0]] for name in names]}))
    assert opened(tmp_path)[0]["label"].tolist() == [0.0, 1.0]
    text(tmp_path / "dataset.json", json.dumps({"labels": None}))
    data = sluice.Dataset(tmp_path)  # its folders are not classes
    assert list(data.fields) == ["image", "key"] and len(data) == 6 and "dataset.json" in data.description
    text(tmp_path / "dataset.json", json.dumps({"labels": [["a.png", 1], ["b.png"]]}))
    refused(tmp_path, 'element 1 of "labels"', error=sluice.CorruptError)


# ---- unreadable lists ----

LINES = [(f"{i}.jpg", i + 3) for i in NUMBERS]
UNREADABLE = {
    "val_annotations.txt": "".join(f"{name}\tn0{label}\t0\t0\t9\t9\n" for name, label in LINES),
    "val.txt": "".join(f"{name} {label}\n" for name, label in LINES),
    "train_list": "".join(f"images/{name} {label}\n" for name, label in LINES),
    "stems.txt": "".join(f"{name[:-4]} {label}\n" for name, label in LINES),
    "list_attr_celeba.txt": "6\nSmiling Young\n" + "".join(f"{name} -1  1\n" for name, _ in LINES),
    "headless.csv": "".join(f"{name},{label}\n" for name, label in LINES),
    "semicolons.csv": "image;label\n" + "".join(f"{name};{label}\n" for name, label in LINES),
    "elsewhere.csv": "path,label\n" + "".join(f"data/pics/{name},{label}\n" for name, label in LINES),
    "det_train.json": json.dumps([{"name": name, "labels": [{"category": "car"}]} for name, _ in LINES]),
    "via.json": json.dumps({name + "123": {"filename": name, "regions": []} for name, _ in LINES}),
    "map.json": json.dumps(dict(LINES), indent=2),
    "faces.xml": "<dataset><images>" + "".join(f"<image file='{name}'><box top='1'/></image>" for name, _ in LINES),
    "boxes.csv": "filename,class\n" + "".join(f"{name},a\n{name},b\n" for name, _ in LINES),
}


@pytest.mark.parametrize("name", UNREADABLE)
@pytest.mark.parametrize("below", ["", "images"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_list_that_cannot_be_read_is_named(tmp_path, name, below, encoding):
    pictures(tmp_path / below)
    (tmp_path / name).write_bytes(UNREADABLE[name].encode(encoding))
    said = refused(tmp_path, name)
    assert "write" in said or "first line" in said, said


# ---- lists with other image names ----

COUNT = 20
PADDED = [f"{i:02}.jpg" for i in range(COUNT)]


def csv(names, head="path,label", delimiter=","):
    lines = [head] + [f"{name}{delimiter}{i % 5}" for i, name in enumerate(names)]
    return "\n".join(lines) + "\n"


OTHERWISE = {
    "backslashes.csv": csv([f"images\\{name}" for name in PADDED]),
    "drive.csv": csv([f"C:\\data\\images\\{name}" for name in PADDED]),
    "absolute.csv": csv([f"/kaggle/input/images/{name}" for name in PADDED]),
    "urls.csv": csv([f"https://example.org/a/{name}" for name in PADDED]),
    "capitals.csv": csv([name.upper() for name in PADDED]),
    "extension.csv": csv([name.replace("jpg", "png") for name in PADDED]),
    "numbers.csv": csv(range(COUNT), "image,level"),
    "floats.csv": csv([f"{i}.0" for i in range(COUNT)], "id,level"),
    "semicolons.csv": csv([name[:2] for name in PADDED], "id;label", ";"),
    "metadata.csv": csv([name[:2] for name in PADDED], "id;label", ";"),
    "numbers.txt": csv(range(COUNT), "id, label", ", "),
    "ids.json": json.dumps({name[:2]: i % 3 for i, name in enumerate(PADDED)}),
    "objects.json": json.dumps([{"name": name[:2], "label": 3} for name in PADDED]),
    "results.json": json.dumps([{"image_id": i // 2, "bbox": [1, 2, 3, 4]} for i in range(2 * COUNT)]),
    "two.jsonl": "".join(json.dumps({"id": i, "text": "a"}) + "\n" for i in range(COUNT)),
    "classes_of.json": json.dumps({"cat": PADDED[:10], "dog": PADDED[10:]}),
    "short.xml": "".join(f"<image id='{name[:2]}'><label>3</label></image>" for name in PADDED),
}


@pytest.mark.parametrize("name", OTHERWISE)
@pytest.mark.parametrize("below", ["", "images"])
def test_a_list_of_other_names_is_refused(tmp_path, name, below):
    pictures(tmp_path / below, COUNT, "{:02}.jpg")
    text(tmp_path / name, OTHERWISE[name])
    said = refused(tmp_path, name)
    assert "under names that differ from their file names" in said or "in an unsupported form" in said or "cannot be read" in said, said


SAID = {
    "labels.json": json.dumps([i % 5 for i in range(COUNT)]),
    "any.json": json.dumps({"of": [i % 5 for i in range(COUNT)]}),
    "header.csv": "label\n" + "".join(f"{i % 5}\n" for i in range(COUNT)),
    "labels.csv.gz": "\x1f",
    "labels.zip": "PK",
    "labels.db": "SQLite format 3\0",
    "labels.ods": "PK",
    "labels.md": "see elsewhere\n",
    "train.csv": "a,b\n1,2\n",
    "gt.txt": "1\n",
    "instances.json": "",
    "metadata.jsonl": "version https://git-lfs.github.com/spec/v1\noid sha256:0\n",
}


@pytest.mark.parametrize("name", SAID)
@pytest.mark.parametrize("below", ["", "images"])
def test_what_may_be_labels_is_said(tmp_path, name, below):
    pictures(tmp_path / below, COUNT, "{:02}.jpg")
    text(tmp_path / name, SAID[name])
    with pytest.warns(UserWarning, match=f": {name}: it "):
        assert len(sluice.Dataset(tmp_path)) == COUNT


def test_lists_among_many_texts(tmp_path):
    """Captions of single images do not hide a list."""
    pictures(tmp_path, 40, "{:02}.jpg")
    for i in range(40):
        text(tmp_path / f"note-{i:02}.txt", "a photo\n")
    text(tmp_path / "labels.csv", csv([f"{i:02}.png" for i in range(40)]))
    refused(tmp_path, "labels.csv")
    for i in range(40):
        (tmp_path / f"note-{i:02}.txt").rename(tmp_path / f"{i:02}.txt")
    with pytest.warns(UserWarning, match="labels.csv: it also describes the images"):
        assert len(sluice.Dataset(tmp_path)) == 40


@pytest.mark.parametrize("ending", ["", ".jpg"])
@pytest.mark.parametrize("folders", [("part_1", "part_2"), ("0", "1"), ("a/images", "b/images")])
def test_a_list_of_images_in_several_folders(tmp_path, ending, folders):
    """The folders may be classes, or the list may have the labels: this is not guessed."""
    for i in range(COUNT):
        photo(tmp_path / folders[i % 2] / f"x{i}.jpg")
    rows = [f"L{i},x{i}{ending},{'melanoma' if i % 3 else 'nevus'}\n" for i in range(COUNT)]
    text(tmp_path / "HAM_metadata.csv", "lesion_id,image_id,dx\n" + "".join(rows))
    refused(tmp_path, "HAM_metadata.csv", "labels are ambiguous: the folder names, or the entries", f"{folders[0]}/x")
    rows = [f"x{i}{ending},{folders[i % 2].split('/')[0]}\n" for i in range(COUNT)]
    text(tmp_path / "HAM_metadata.csv", "image_id,dx\n" + "".join(rows))
    assert sluice.Dataset(tmp_path).classes == [folder.split("/")[0] for folder in folders]  # the list agrees


# ---- beside other annotations ----


def coco(names):
    images = [{"id": i, "file_name": name, "width": 8, "height": 8} for i, name in enumerate(names)]
    boxes = [{"id": i, "image_id": i, "category_id": 1, "bbox": [1, 2, 3, 4], "area": 12, "iscrowd": 0} for i in NUMBERS]
    return json.dumps({"images": images, "annotations": boxes, "categories": [{"id": 1, "name": "x"}]})


BESIDE = {
    "masks": lambda folder: [photo(folder / f"masks/{i}.png") for i in NUMBERS],
    "yolo": lambda folder: [text(folder / f"labels/{i}.txt", "0 .5 .5 .1 .1\n") for i in NUMBERS],
    "table": lambda folder: text(folder / "metadata.csv", csv([f"{i}.jpg" for i in NUMBERS], "file_name,label")),
}


@pytest.mark.parametrize("kind, name", [(kind, "instances.json") for kind in BESIDE] + [
    (kind, "annotations/instances.json") for kind in BESIDE if kind != "yolo"])
def test_a_second_annotation_is_not_passed_over(tmp_path, kind, name):
    pictures(tmp_path / "images")
    (tmp_path / "annotations").mkdir()
    BESIDE[kind](tmp_path)
    text(tmp_path / name, coco([f"{i}.jpg" for i in NUMBERS]))
    refused(tmp_path, f'"{kind}" and one of "coco"', f"open the second by its file ({tmp_path}/{name})")
    assert len(sluice.Dataset(tmp_path / name)) == 6


@pytest.mark.parametrize("below", ["", "/train"])
def test_labels_of_yolo_beside_coco_are_said(tmp_path, below):
    pictures(tmp_path / f"images{below}")
    for i in NUMBERS:
        text(tmp_path / f"labels{below}/{i}.txt", "0 .5 .5 .1 .1\n")
    (tmp_path / "annotations").mkdir()
    text(tmp_path / "annotations/instances_train.json", coco([f"{i}.jpg" for i in NUMBERS]))
    with pytest.warns(UserWarning, match="labels: the folder has .txt files, like YOLO's labels, and was not read"):
        assert sluice.Dataset(tmp_path).format == "coco"


@pytest.mark.parametrize("kind", [*BESIDE, "coco"])
@pytest.mark.parametrize("name", ["labels.csv", "list.tsv"])
def test_lists_beside_annotations_are_said(tmp_path, kind, name):
    pictures(tmp_path / "images")
    if kind == "coco":
        text(tmp_path / "instances.json", coco([f"{i}.jpg" for i in NUMBERS]))
    else:
        BESIDE[kind](tmp_path)
    text(tmp_path / name, csv([f"{i}.jpg" for i in NUMBERS]).replace(",", "\t" if name.endswith("tsv") else ","))
    for other in ("README.md", "classes.txt", "md5sums.txt"):
        text(tmp_path / other, HARMLESS[other] if other != "classes.txt" else "a\n")
    with pytest.warns(UserWarning, match=f"{name}: it also describes the images") as said:
        data = sluice.Dataset(tmp_path)
    assert data.format == kind and len([w for w in said if "also describes" in str(w.message)]) == 1
    assert ("lists of the images", 1, False, name) in [tuple(entry) for entry in data.left_out]


@pytest.mark.parametrize("names", ["{}.jpg", "images/{}.jpg", "thumbs/{}.jpg"])
def test_coco_beside_several_folders_of_images(tmp_path, names):
    """The names in COCO's file decide which of the folders it describes."""
    for i, folder in enumerate(("images", "thumbs")):
        for k in NUMBERS:
            photo(tmp_path / folder / f"{k}.jpg", 10 * i + k)
    text(tmp_path / "instances.json", coco([names.format(i) for i in NUMBERS]))
    data = sluice.Dataset(tmp_path)
    folder = "thumbs" if "thumbs" in names else "images"
    assert data.format == "coco" and len(data) == 6
    assert bytes(data[3]["image"]) == (tmp_path / folder / "3.jpg").read_bytes()
    (tmp_path / "classes").mkdir()
    for folder_of in ("images", "thumbs"):  # no folder has a usual name of image folders
        (tmp_path / folder_of).rename(tmp_path / "classes" / folder_of.replace("images", "cat"))
    (tmp_path / "instances.json").rename(tmp_path / "classes/instances.json")
    with pytest.warns(UserWarning, match="instances.json: it contains annotations of images and was not read"):
        assert sluice.Dataset(tmp_path / "classes").classes == ["cat", "thumbs"]


def test_several_lists(tmp_path):
    pictures(tmp_path / "images")
    for name in ("train.csv", "sample_submission.csv"):
        text(tmp_path / name, READABLE["train.csv"])
    refused(tmp_path, "several lists describe its images (sample_submission.csv, train.csv)", "open one of them (")
    assert len(opened(tmp_path / "train.csv")) == 6


# ---- files that are not lists of labels ----

HARMLESS = {
    "README.md": "Look at images/0.jpg, 1.jpg, 2.jpg, 3.jpg and 4.jpg, 5.jpg first.\n",
    "LICENSE": "0.jpg 1.jpg 2.jpg 3.jpg 4.jpg 5.jpg are of others\n",
    "notes.txt": "taken in May, except 0.jpg\n",
    "classes.txt": "".join(f"{i} class-{i}\n" for i in NUMBERS),
    "class_names.csv": "id,name\n0,cat\n1,dog\n",
    "wnids.txt": "n01\nn02\n",
    "words.txt": "n01\tgoldfish, Carassius auratus\n",
    "prices.csv": "item,price\napple,3\npear,4\n",
    "md5sums.txt": "".join(f"{hashlib.md5(bytes([i])).hexdigest()}  {name}\n" for i, (name, _) in enumerate(LINES)),
    "config.json": json.dumps({"mean": [1, 2, 3], "names": {"0": "cat", "1": "dog"}}),
    "settings.yaml": "epochs: 3\npath: images\n",
}


@pytest.mark.parametrize("name", HARMLESS)
@pytest.mark.parametrize("below", ["", "images", "cat"])
def test_other_files_change_nothing(tmp_path, name, below):
    pictures(tmp_path / below)
    text(tmp_path / name, HARMLESS[name])
    data = sluice.Dataset(tmp_path)
    assert data.format == "folder" and len(data) == 6 and data.classes == ([below] if below else [])


def test_names_alone_are_said(tmp_path):
    pictures(tmp_path)
    text(tmp_path / "val.lst.txt", "".join(f"{name}\n" for name, _ in LINES[:4]))
    with pytest.warns(UserWarning, match="val.lst.txt: it names images of the folder and was not read"):
        assert len(sluice.Dataset(tmp_path)) == 6


def test_class_folders_stay(tmp_path):
    """Names of class folders are the labels; a warning reports a list that describes their images."""
    for name in ("cat", "dog"):
        pictures(tmp_path / name)
    for name in HARMLESS:
        text(tmp_path / name, HARMLESS[name])
    assert sluice.Dataset(tmp_path).classes == ["cat", "dog"]
    text(tmp_path / "all.csv", "path,label\n" + "".join(f"{c}/{i}.jpg,1\n" for c in ("cat", "dog") for i in NUMBERS))
    with pytest.warns(UserWarning, match="all.csv: it lists images of the class folders and was not read"):
        data = sluice.Dataset(tmp_path)
    assert data.classes == ["cat", "dog"] and len(data) == 12
    text(tmp_path / "all.csv", "cat/0.jpg 1\ncat/1.jpg 1\ncat/2.jpg 1\ndog/0.jpg 0\ndog/1.jpg 0\ndog/2.jpg 0\n")
    with pytest.warns(UserWarning, match="all.csv: it describes the images in an unsupported form"):
        assert sluice.Dataset(tmp_path).classes == ["cat", "dog"]


def test_fields_of_a_list_in_a_folder(tmp_path):
    pictures(tmp_path / "images")
    text(tmp_path / "train.csv", "image_id,label,zip\n" + "".join(f"{i}.jpg,{i},0{i}\n" for i in NUMBERS))
    data = opened(tmp_path, fields={"image": ("image_id", "image"), "zip": ("zip", "text")})
    assert list(data.fields) == ["image", "zip"] and data[3]["zip"] == "03"
    (tmp_path / "train.csv").unlink()
    with pytest.raises(sluice.InvalidError, match="cannot choose fields"):
        sluice.Dataset(tmp_path, fields={"image": ("image_id", "image")})


def test_a_list_in_the_only_class_folder(tmp_path):
    pictures(tmp_path / "train")
    text(tmp_path / "train/metadata.csv", "file_name,label\n" + "".join(f"{i}.jpg,{i + 3}\n" for i in NUMBERS))
    assert labels_of(opened(tmp_path)) == {f"{i}.jpg": i + 3 for i in NUMBERS}
    (tmp_path / "train/metadata.csv").rename(tmp_path / "train/boxes.txt")
    refused(tmp_path, "boxes.txt describes the images")


def test_splits_with_a_list(tmp_path):
    """As Kaggle has them."""
    for split in ("train", "test"):
        pictures(tmp_path / split)
    text(tmp_path / "train.csv", READABLE["train.csv"])
    text(tmp_path / "sample_submission.csv", READABLE["train.csv"].replace("image_id", "id"))
    said = refused(tmp_path, "splits, not classes", "or open a table that lists images in them (", "train.csv")
    assert labels_of(opened(tmp_path / "train.csv")) == {f"{i}.jpg": i + 3 for i in NUMBERS}, said


@pytest.mark.parametrize("name", ["ground_truth.txt", "imagelabels.mat", "labels.pkl"])
@pytest.mark.parametrize("below", ["", "jpg"])
def test_lists_in_the_order_of_images_are_said(tmp_path, name, below):
    pictures(tmp_path / below, 12)
    text(tmp_path / name, "".join(f"{i * 40 + 100}\n" for i in range(12)))
    with pytest.warns(UserWarning, match=f"{name}: it (has as many lines|is beside the images)"):
        assert len(sluice.Dataset(tmp_path)) == 12


def test_a_list_of_rows_beside_one_class(tmp_path):
    """Data of another format are not silently skipped."""
    numpy = pytest.importorskip("numpy")
    pictures(tmp_path / "images")
    numpy.save(tmp_path / "labels.npy", numpy.arange(6))
    refused(tmp_path, "labels.npy", '"folder" and one of "npy"')


def test_a_table_beside_splits(tmp_path):
    """Its labels of a split's images are not silently ignored."""
    for split in ("train", "test"):
        pictures(tmp_path / split, 3, split + "{}.jpg")
    (tmp_path / "train.csv").write_text("id,label\n" + "".join(f"train{i},{i}\n" for i in range(3)))
    with pytest.warns(UserWarning, match="have no labels, and train.csv beside its folder was not read: open that file"):
        data = sluice.Dataset(tmp_path, split="train")
    assert len(data) == 3 and "label" not in data.fields


def test_a_log_beside_pictures(tmp_path):
    """A text that names the images may be captions, so opening fails and explains how to open them; a .log is never a list."""
    pictures(tmp_path)
    text(tmp_path / "log.txt", "started\n" + "".join(f"{i}.jpg resized in {i} ms\n" for i in range(6)))
    refused(tmp_path, "log.txt", "file_name,label", "or move it elsewhere to open the images alone")
    (tmp_path / "log.txt").rename(tmp_path / "resize.log")
    data = sluice.Dataset(tmp_path)
    assert len(data) == 6 and [each.example for each in data.left_out] == ["resize.log"]


def test_tables_beside_a_doubled_folder(tmp_path):
    """CelebA's archive, unpacked into a folder of the same name: the table finds its images."""
    pictures(tmp_path / "img_align_celeba/img_align_celeba", 6, "00000{}.jpg")
    text(tmp_path / "list_eval_partition.csv", "image_id,partition\n" + "".join(f"00000{i}.jpg,{i % 3}\n" for i in range(6)))
    data = sluice.Dataset(tmp_path / "list_eval_partition.csv")
    assert [sample["partition"] for sample in data] == [i % 3 for i in range(6)] and all(sample["image"] for sample in data)
    assert [sample["partition"] for sample in opened(tmp_path)] == [i % 3 for i in range(6)]


def write_splits(root, splits, name="label"):
    for split, labels in splits.items():
        pictures(root / split, len(labels))
        text(root / split / "metadata.csv", f"file_name,{name}\n" + "".join(f"{i}.jpg,{label}\n" for i, label in enumerate(labels)))


@pytest.mark.parametrize("name, fields", [("label", None), ("breed", {"image": "file_name", "label": "breed"})])
def test_text_labels_of_splits_are_numbered_together(tmp_path, name, fields):
    """Numbered over the sorted texts in the tables of all splits; numeric labels are the same everywhere."""
    splits = {"train": ["dog", "cat", "dog"], "val": ["dog", "zebra", "ant"], "test": ["dog"]}
    write_splits(tmp_path, splits, name)
    wanted = sorted(set(sum(splits.values(), [])))
    for split, labels in splits.items():
        data = opened(tmp_path, split=split, fields=fields)
        assert list(data.classes) == wanted
        assert [data.classes[sample["label"]] for sample in data] == labels
    assert len({data.fingerprint for data in (opened(tmp_path, split=split, fields=fields) for split in splits)}) == 3
    assert list(sluice.Dataset(tmp_path / "test", fields=fields).classes) == ["dog"]


def test_numbers_of_splits_stay(tmp_path):
    splits = {"train": [0, 1], "test": [1]}
    write_splits(tmp_path, splits)
    for split, labels in splits.items():
        assert [sample["label"] for sample in opened(tmp_path, split=split)] == labels


def test_a_split_that_cannot_be_opened_beside_text_labels(tmp_path):
    """Its texts may be missing, and a warning says so; a split without labels has none."""
    write_splits(tmp_path, {"train": ["dog", "cat"], "val": ["zebra"]})
    pictures(tmp_path / "test", 2)
    assert list(opened(tmp_path, split="train").classes) == ["cat", "dog", "zebra"]
    text(tmp_path / "val/metadata.csv", 'file_name,label\n0.jpg,"zebra\n')
    with pytest.warns(UserWarning, match="numbered without those of the split .*/val, which cannot be opened"):
        assert list(sluice.Dataset(tmp_path, split="train").classes) == ["cat", "dog"]
