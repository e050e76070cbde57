# SPDX-License-Identifier: Apache-2.0
"""Pascal VOC's annotations compared with xml.etree's reading, by detectron2's rule for boxes."""
import random
import xml.etree.ElementTree

import numpy
import pages
import pytest
from PIL import Image

import sluice

CORRUPT, INVALID = sluice.CorruptError, sluice.InvalidError
USUAL = """aeroplane bicycle bird boat bottle bus car cat chair cow diningtable dog horse motorbike person pottedplant sheep
    sofa train tvmonitor""".split()
SAMPLES = 12


def annotate(name, objects, size=(500, 375), filename=None):
    parts = "".join(
        f"<object><name>{kind}</name><pose>Left</pose><truncated>{flags & 1}</truncated><difficult>{flags >> 1}</difficult>"
        f"<bndbox><xmin>{x0}</xmin><ymin>{y0}</ymin><xmax>{x1}</xmax><ymax>{y1}</ymax></bndbox></object>"
        for kind, flags, (x0, y0, x1, y1) in objects
    )
    return (
        f"<annotation><folder>VOC</folder><filename>{filename or name + '.jpg'}</filename><size><width>{size[0]}</width>"
        f"<height>{size[1]}</height><depth>3</depth></size><segmented>0</segmented>{parts}</annotation>"
    )


def write(root, names=("dog", "person", "cat"), pictures="JPEGImages", pages="Annotations"):
    """Writes the files of a dataset."""
    draw = random.Random(1)
    for folder in (pictures, pages, "ImageSets/Main"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    for number in range(SAMPLES):
        name = f"2008_{number:06}"
        Image.new("RGB", (40 + number, 30), (9 * number, 0, 0)).save(root / pictures / f"{name}.jpg")
        objects = []
        for _ in range(number % 4):
            x, y = draw.randrange(1, 20), draw.randrange(1, 20)
            box = (x, y, x + draw.choice([0, 5, 45.700000762939453]), y + draw.randrange(9))
            objects.append((draw.choice(names), draw.randrange(4), box))
        (root / pages / f"{name}.xml").write_text(annotate(name, objects, (40 + number, 30)))
    (root / "ImageSets/Main/train.txt").write_text("".join(f"2008_{number:06}\n" for number in range(0, SAMPLES, 2)))
    (root / "ImageSets/Main/dog_val.txt").write_text("".join(f"2008_{number:06} {number % 3 - 1:2}\n" for number in (7, 3, 5)))
    return root


def read(path):
    """Reads an annotation like torchvision and detectron2: boxes from 0, here as x, y, width, height."""
    tree = xml.etree.ElementTree.parse(path).getroot()
    boxes, found = [], tree.findall("object")
    for each in found:
        x0, y0, x1, y1 = (float(each.find("bndbox").find(edge).text) for edge in ("xmin", "ymin", "xmax", "ymax"))
        x0, y0 = x0 - 1, y0 - 1
        boxes.append([x0, y0, x1 - x0, y1 - y0])
    return {
        "boxes": numpy.array(boxes, "f4").reshape(-1, 4).tolist(),
        "names": [each.find("name").text for each in found],
        "truncated": [int(each.find("truncated").text) for each in found],
        "difficult": [int(each.find("difficult").text) for each in found],
        "width": int(tree.find("size/width").text),
        "height": int(tree.find("size/height").text),
    }


def plain(value):
    return numpy.asarray(value).tolist() if isinstance(value, memoryview) else value


@pytest.fixture
def voc(tmp_path):
    root = write(tmp_path / "VOC2012")
    try:
        sluice.Dataset(root)
    except sluice.UnsupportedError as error:
        assert "without libexpat" in str(error)
        pytest.skip("the library was built without libexpat")
    return root


def check(data, root, names, pages="Annotations", pictures="JPEGImages"):
    assert data.format == "voc" and len(data) == len(names)
    for name, sample in zip(names, data):
        wanted = read(root / pages / f"{name}.xml")
        assert [data.classes[label] for label in plain(sample["labels"])] == wanted.pop("names")
        assert {field: plain(sample[field]) for field in wanted} == wanted
        assert sample["key"] == f"{name}.jpg"
        assert bytes(sample["image"]) == (root / pictures / f"{name}.jpg").read_bytes()


def all_names():
    return [f"2008_{number:06}" for number in range(SAMPLES)]


@pytest.mark.parametrize("way", ["", "Annotations", "Annotations/"])
def test_all(voc, way):
    data = sluice.Dataset(voc / way if not way.endswith("/") else f"{voc}/{way}")
    assert list(data.fields) == ["image", "boxes", "labels", "difficult", "truncated", "width", "height", "key"]
    assert list(data.classes) == USUAL and data.fields["boxes"].shape == (0, 4)
    check(data, voc, all_names())


def test_meaning(voc):
    sized = {"orientation": "by_size"}
    assert {name: field.meaning for name, field in sluice.Dataset(voc).fields.items()} == {
        "image": sized, "boxes": {"role": "boxes", "box_format": "xywh", "coordinates": "pixels"} | sized,
        "labels": {"per_box": True}, "difficult": {"per_box": True}, "truncated": {"per_box": True},
        "width": {"role": "width"}, "height": {"role": "height"}, "key": {},
    }  # fmt: skip


def test_a_split_is_a_list(voc):
    (voc / "ImageSets/Main/val.txt").write_text("2008_000003\n")
    with pytest.raises(INVALID, match=r'split "val": its splits are lists: open .*/ImageSets/Main/val\.txt$'):
        sluice.Dataset(voc, split="val")
    assert len(sluice.Dataset(voc / "ImageSets/Main/val.txt")) == 1
    for split in ("nothing", "../Main/val", "v" * 300):
        with pytest.raises(INVALID, match="has no splits to choose from"):
            sluice.Dataset(voc, split=split)


def test_lists(voc, monkeypatch):
    check(sluice.Dataset(voc / "ImageSets/Main/train.txt"), voc, all_names()[::2])
    data = sluice.Dataset(voc / "ImageSets/Main/dog_val.txt")
    check(data, voc, [all_names()[number] for number in (7, 3, 5)])
    assert [sample["gt"] for sample in data] == [0, -1, 1]
    assert len(data.where("gt >= 0")) == 2
    monkeypatch.chdir(voc / "ImageSets/Main")
    check(sluice.Dataset("train.txt"), voc, all_names()[::2])
    monkeypatch.chdir(voc / "Annotations")
    check(sluice.Dataset("."), voc, all_names())
    (voc / "train.txt").write_text("2008_000003\n")
    check(sluice.Dataset(voc / "train.txt"), voc, ["2008_000003"])
    assert len(sluice.concat([sluice.Dataset(voc / "train.txt"), sluice.Dataset(voc)])) == SAMPLES + 1


def test_other_names(voc):
    write(voc, names=("zebra", "dog", "Äpfel"))
    data = sluice.Dataset(voc)
    assert list(data.classes) == ["dog", "zebra", "Äpfel"]
    check(data, voc, all_names())


def name_objects(root, names):
    """Writes an object into each annotation, with these names in turn; makes lists of the even and of the odd annotations."""
    for number, name in enumerate(all_names()):
        objects = [(names[number % len(names)], 0, (1, 1, 9, 9))]
        (root / f"Annotations/{name}.xml").write_text(annotate(name, objects, (40 + number, 30)))
    (root / "ImageSets/Main/val.txt").write_text("\n".join(all_names()[1::2]))


def test_lists_number_classes_alike(voc):
    """The names in all annotations of the folder count: a label means the same in each list."""
    name_objects(voc, ("dog", "cat", "zebra", "ant"))
    for path, names in (("ImageSets/Main/train.txt", all_names()[::2]), ("ImageSets/Main/val.txt", all_names()[1::2]), ("", all_names())):
        data = sluice.Dataset(voc / path)
        assert list(data.classes) == ["ant", "cat", "dog", "zebra"]
        check(data, voc, names)
    name_objects(voc, ("dog", "cat", "drone", "cat"))  # those of val.txt have usual names
    assert list(sluice.Dataset(voc / "ImageSets/Main/val.txt").classes) == ["cat", "dog", "drone"]
    name_objects(voc, ("dog", "cat", "person", "cat"))
    assert list(sluice.Dataset(voc / "ImageSets/Main/val.txt").classes) == USUAL


@pytest.mark.parametrize("fields", [None, {"image": "image", "key": "key"}])
def test_split_folders_number_classes_alike(voc, tmp_path, fields):
    """Roboflow's folders: train, valid and test, with annotations beside the images."""
    splits = {"train": ("dog", "cat", "zebra"), "valid": ("dog", "person"), "test": ("dog",)}
    for split, names in splits.items():
        write(tmp_path / "own" / split, pictures="", pages="")
        for number, name in enumerate(all_names()):
            objects = [(names[number % len(names)], 0, (1, 1, 9, 9))]
            (tmp_path / "own" / split / f"{name}.xml").write_text(annotate(name, objects, (40 + number, 30)))
    for split in splits:
        data = sluice.Dataset(tmp_path / "own", split=split, fields=fields)
        assert list(data.classes) == ["cat", "dog", "person", "zebra"]
        if fields is None:
            check(data, tmp_path / "own" / split, all_names(), pages="", pictures="")
    (tmp_path / "own/train").rename(tmp_path / "train")  # the others have usual names only
    assert list(sluice.Dataset(tmp_path / "own", split="valid").classes) == USUAL


def test_annotations_beside_a_list(voc):
    """Annotations that the list does not name may be damaged: a warning says that classes may be missing."""
    (voc / "ImageSets/Main/val.txt").write_text("\n".join(all_names()[1:3]))
    for name in all_names()[3:]:
        page = voc / f"Annotations/{name}.xml"
        page.write_text(page.read_text()[:-5])
    with pytest.warns(UserWarning, match=f"class names may be missing: {SAMPLES - 3} annotations .*{all_names()[3]}.xml; correct them"):
        check(sluice.Dataset(voc / "ImageSets/Main/val.txt"), voc, all_names()[1:3])
    with pytest.raises(CORRUPT):
        sluice.Dataset(voc)


@pytest.mark.parametrize(
    "pictures, pages, path",
    [("images", "annotations", ""), ("Images", "Annotations", ""), ("images", "annotations/xmls", "annotations/xmls"),
     ("flat", "flat", "flat")],
)  # fmt: skip
def test_other_folders(voc, tmp_path, pictures, pages, path):
    root = write(tmp_path / "other", pictures=pictures, pages=pages)
    check(sluice.Dataset(root / path), root, all_names(), pages, pictures)


def test_other_extensions(voc):
    """The filename element without an extension, as in ImageNet; a converted file; a renamed file."""
    pictures, pages = voc / "JPEGImages", voc / "Annotations"
    for old, new, filename in (("0", "0.JPEG", "2008_000000"), ("1", "1.png", "2008_000001.jpg"), ("2", "2x.jpg", "2008_000002x.jpg")):
        (pictures / f"2008_00000{old}.jpg").rename(pictures / f"2008_00000{new}")
        (pages / f"2008_00000{old}.xml").write_text(annotate("", [], filename=filename))
    (pages / "2008_000003.xml").write_text(annotate("", [], filename="2008_000004.jpg"))
    data = sluice.Dataset(voc)
    keys = [data[number]["key"] for number in range(4)]
    assert keys == ["2008_000000.JPEG", "2008_000001.png", "2008_000002x.jpg", "2008_000003.jpg"]
    assert [len(data[number]["image"]) > 0 for number in range(4)] == [True] * 4


def test_choices(voc):
    data = sluice.Dataset(voc, fields={"x": "image", "box": "boxes", "file": ("image", "text")})
    assert list(data.fields) == ["x", "box", "file", "width", "height"] and data[1]["file"] == "2008_000001.jpg"
    with pytest.raises(INVALID, match="occluded"):
        sluice.Dataset(voc, fields={"image": "image", "o": "occluded"})


def test_pack_and_load(voc, tmp_path):
    data = sluice.Dataset(voc)
    sluice.pack(voc, tmp_path / "packed", keep_order=True, progress=None)
    packed = sluice.Dataset(tmp_path / "packed")
    assert list(packed.classes) == USUAL
    for one, other in zip(data, packed):
        assert {name: plain(value) for name, value in one.items() if name != "image"} == {
            name: plain(value) for name, value in other.items() if name != "image"
        }
    loader = sluice.Loader(data, batch_size=4, columns={"boxes": sluice.columns.Padded("boxes", length=4)}, shuffle=True)
    assert sum(1 for _ in loader) == 3


def test_what_is_wrong(voc):
    page = voc / "Annotations/2008_000005.xml"
    page.write_text(annotate("2008_000005", [("dog", 0, (5, 5, 4, 9))]))
    with pytest.raises(CORRUPT, match='"dog" has xmin 5, ymin 5, xmax 4, ymax 9; correct the box') as told:
        sluice.Dataset(voc)
    assert "2008_000005.xml" in str(told.value)
    page.unlink()
    with pytest.raises(sluice.IOError, match="2008_000005.xml"):
        (voc / "ImageSets/Main/val.txt").write_text("2008_000004\n2008_000005\n")
        sluice.Dataset(voc / "ImageSets/Main/val.txt")
    with pytest.raises(INVALID, match="cannot be joined"):
        sluice.Dataset([voc, voc])


def test_what_is_none(voc, tmp_path):
    """YOLO's lists beside COCO's annotations, other kinds of XML, lists elsewhere."""
    (tmp_path / "coco/annotations").mkdir(parents=True)
    (tmp_path / "coco/annotations/a.json").write_text("{}")
    (tmp_path / "coco/train.txt").write_text("./images/a.jpg\n")
    (tmp_path / "coco/annotations/a.xml").write_text("<?xml version='1.0'?><html/>")
    for path in ("coco/train.txt", "coco/annotations", "coco"):
        with pytest.raises(INVALID) as told:
            sluice.Dataset(tmp_path / path)
        assert any(text in str(told.value) for text in ("no dataset in it", "unknown format", "has a label file"))


def test_annotations_that_are_none(tmp_path):
    """If all of them are empty, or Git LFS pointers, the folder is not opened as a plain folder of images."""
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n"
    for content, match in ((b"", "a.xml.*the file is empty"), (pointer, "a.xml.*Git LFS pointer")):
        for pictures, texts in (("JPEGImages", "Annotations"), ("", "")):
            root = tmp_path / f"{len(content)}{texts}"
            for name in ("a", "b"):
                for folder in (pictures, texts):
                    (root / folder).mkdir(exist_ok=True, parents=True)
                Image.new("RGB", (9, 8)).save(root / pictures / f"{name}.jpg")
                (root / texts / f"{name}.xml").write_bytes(content)
            with pytest.raises(sluice.CorruptError, match=match):
                sluice.Dataset(root)


def test_lists_with_extensions(voc):
    """Image names in a list of VOC's stand for their annotations, unless the images have YOLO labels."""
    way = voc / "ImageSets/Main/train.txt"
    names = way.read_text().split()
    way.write_text("".join(f"{name}.jpg\n" for name in names), encoding="utf-8-sig")
    check(sluice.Dataset(way), voc, names)
    way.write_text("".join(f"{name}.jpg  1\n" for name in names))
    assert [sample["gt"] for sample in sluice.Dataset(way)] == [1] * len(names)
    dotted = voc / "Annotations/a.jpg.xml"
    dotted.write_text(annotate("", [], filename="2008_000001.jpg"))
    way.write_text("a.jpg\n")
    assert sluice.Dataset(way)[0]["key"] == "2008_000001.jpg"
    dotted.unlink()
    (voc / "paths.txt").write_text("".join(f"./JPEGImages/{name}.jpg\n" for name in names))
    check(sluice.Dataset(voc / "paths.txt"), voc, names)
    (voc / "images").mkdir()
    (voc / "labels").mkdir()
    (voc / "images/2008_000001.jpg").write_bytes((voc / "JPEGImages/2008_000001.jpg").read_bytes())
    (voc / "labels/2008_000001.txt").write_text("0 .5 .5 .1 .1\n")
    (voc / "images/only.jpg").write_bytes(b"")
    (voc / "labels/only.txt").write_text("0 .5 .5 .1 .1\n")
    (voc / "yolo.txt").write_text("images/only.jpg\n")
    assert sluice.Dataset(voc / "yolo.txt").format == "yolo"
    (voc / "both.txt").write_text("2008_000001.jpg\n")
    assert sluice.Dataset(voc / "both.txt").format == "voc"
    (voc / "2008_000001.txt").write_text("0 .5 .5 .1 .1\n")
    with pytest.raises(INVALID, match='ambiguous format: "voc" or "yolo"'):
        sluice.Dataset(voc / "both.txt")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-32"])
def test_encodings(voc, encoding):
    page = voc / "Annotations/2008_000000.xml"
    text = page.read_text()
    page.write_text(text, encoding="utf-8-sig")
    check(sluice.Dataset(voc), voc, all_names())
    for path in ([page], sorted((voc / "Annotations").iterdir())):
        for each in path:
            each.write_text(f'<?xml version="1.0" encoding="{encoding}"?>{text}', encoding=encoding)
        with pytest.raises(sluice.UnsupportedError, match=encoding[:6].upper()) as told:
            sluice.Dataset(voc)
        assert "/Annotations/2008_" in str(told.value)


def test_other_encoding(voc):
    page = voc / "Annotations/2008_000003.xml"
    page.write_text('<?xml version="1.0" encoding="gb2312"?>' + page.read_text())
    with pytest.raises(sluice.UnsupportedError, match="line 1: encoding gb2312: save the file as UTF-8"):
        sluice.Dataset(voc)


@pytest.mark.parametrize("element, text, expected", [
    ("truncated", "0.0597", "neither 0 nor 1"), ("difficult", "maybe", "neither 0 nor 1"), ("truncated", "[1]", "neither 0 nor 1"),
    ("xmin", "left", "not a number of pixels"), ("ymax", "nan", "not a number of pixels"), ("width", "1.5", "not a whole number"),
    ("height", "-3", "not a whole number"),
])  # fmt: skip
def test_values(voc, element, text, expected):
    """An invalid value is rejected with its element, value, line and file."""
    page = voc / "Annotations/2008_000001.xml"
    tree = xml.etree.ElementTree.parse(page)
    next(tree.iter(element)).text = text
    page.write_bytes(xml.etree.ElementTree.tostring(tree.getroot()))
    with pytest.raises(CORRUPT) as told:
        sluice.Dataset(voc)
    assert f'line 1: {element} is "{text}", which is {expected}' in str(told.value) and told.value.file == str(page)


def test_left_out(voc):
    """Images without an annotation are counted, unless a list selects samples; annotations without an image are bad samples."""
    assert sluice.Dataset(voc).left_out == []
    for name in ("new.jpg", "old.jfif"):
        (voc / "JPEGImages" / name).write_bytes(b"")
    for number in range(5):
        (voc / f"JPEGImages/2008_{number:06}.jpg").unlink()
    with pytest.warns(UserWarning, match="2 left out: images that the annotations do not list"):
        data = sluice.Dataset(voc)
    assert [(each.count, each.images) for each in data.left_out] == [(2, True)]
    assert len(data) == SAMPLES and len(data[5]["image"]) > 0
    with pytest.raises(sluice.IOError, match="2008_000004"):
        data[4]
    assert sluice.Dataset(voc / "ImageSets/Main/train.txt").left_out == []


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.filterwarnings("error")
def test_few_beside_pictures(tmp_path, count):
    """As exported by Roboflow: an annotation that names its image was read, and is not a list of the images."""
    names = [f"{number}a" for number in range(count)]
    for name in names:
        Image.new("RGB", (500, 375)).save(tmp_path / f"{name}.jpg")
        (tmp_path / f"{name}.xml").write_text(annotate(name, [("cat", 0, (1, 2, 30, 40))]))
    data = sluice.Dataset(tmp_path)
    assert data.format == "voc" and [each["key"] for each in data] == [f"{name}.jpg" for name in names] and data.left_out == []


def test_sizes_unknown(voc):
    for number, size in enumerate(("<width>0</width><height>0</height>", "", "<width>41</width><height></height>")):
        page = voc / f"Annotations/2008_{number:06}.xml"
        text = page.read_text()
        begin, end = text.index("<size>") + 6, text.index("</size>")
        page.write_text(text[:begin] + size.replace("<height></height>", "") + text[end:])
    data = sluice.Dataset(voc)
    assert data.numbers("width")[:4] == [None, None, 41, 43] and data.numbers("height")[:4] == [None, None, None, 30]


def test_repeats(voc):
    """An annotation that a list names many times is read and stored once."""
    page = voc / "Annotations/2008_000003.xml"
    page.write_text(annotate("2008_000003", [("dog", 2, (1, 2, 3, 4 + i % 9)) for i in range(20000)], (43, 30)))
    (voc / "Annotations/link.xml").symlink_to(page)
    names = ["2008_000003", "2008_000001", "./2008_000003", "link", "2008_000000"]
    lines = [names[(i * i) % len(names)] for i in range(3000)] + names
    (voc / "ImageSets/Main/train.txt").write_text("\n".join(lines))
    data = sluice.Dataset(voc / "ImageSets/Main/train.txt", memory_bytes=48 << 20)  # 2 GB if each was stored
    for number in [*range(10), *range(len(lines) - len(names), len(lines))]:
        wanted = read(voc / "Annotations" / f"{lines[number]}.xml")
        assert [data.classes[label] for label in plain(data[number]["labels"])] == wanted.pop("names")
        assert {field: plain(data[number][field]) for field in wanted} == wanted


def test_page(voc, monkeypatch):
    """The first example of the page, on VOC2012's layout."""
    names = pages.run("formats/annotations.md", "Pascal VOC", voc.parent, monkeypatch)
    check(names["data"], voc, all_names()[::2])
    batches = list(names["loader"])
    assert sum(len(numpy.asarray(batch["labels"])) for batch in batches) == sum(len(plain(sample["labels"])) for sample in names["data"])


@pytest.mark.parametrize("text, value", [("0", 0), ("1", 1), ("0.0", 0), ("1.0", 1), ("", 0), ("true", 1), ("False", 0), ("Unspecified", 0)])
def test_flags(voc, text, value):
    page = voc / "Annotations/2008_000001.xml"
    tree = xml.etree.ElementTree.parse(page)
    for each in tree.iter("truncated"):
        each.text = text
    page.write_bytes(xml.etree.ElementTree.tostring(tree.getroot()))
    assert set(plain(sluice.Dataset(voc)[1]["truncated"])) == {value}
