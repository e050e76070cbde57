# SPDX-License-Identifier: Apache-2.0
"""COCO's annotations, written by Python's json from the format description of cocodataset.org."""
import json
import random
import warnings

import numpy
import pages
import pytest
from PIL import Image

import sluice

CORRUPT, INVALID = sluice.CorruptError, sluice.InvalidError
IMAGES = 9


def plain(value):
    return numpy.asarray(value).tolist() if isinstance(value, memoryview) else value


@pytest.fixture
def coco(tmp_path):
    """Writes annotations/ and val2017/, with annotations in random order."""
    (tmp_path / "annotations").mkdir()
    (tmp_path / "val2017").mkdir()
    images, annotations = [], []
    for number in range(IMAGES):
        name = f"{number:012}.jpg"
        Image.new("RGB", (32, 24 + number), (9 * number, 0, 0)).save(tmp_path / "val2017" / name)
        images.append({"license": 1, "file_name": name, "height": 24 + number, "width": 32, "id": 100 - 7 * number})
        for box in range(number % 4):
            annotations.append({
                "segmentation": [[1.5, 2, 3, 4]], "area": 0.5 * number + box, "iscrowd": box % 2, "image_id": 100 - 7 * number,
                "bbox": [box, 1.25, 3, 4], "category_id": [1, 3, 90][box], "id": 1000 * box + number,
                "keypoints": [number, box, 2] * 2, "num_keypoints": 2,
            })  # fmt: skip
    random.Random(1).shuffle(annotations)
    categories = [{"supercategory": "x", "id": i, "name": f"name {i}"} for i in (90, 1, 3)]
    return {"info": {"a": [1, {}]}, "annotations": annotations, "images": images, "categories": categories}


def write(tmp_path, tree, name="annotations/person_keypoints_val2017.json", **how):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text(json.dumps(tree, **how))
    return path


def of_image(tree, image):
    return [each for each in tree["annotations"] if each["image_id"] == image["id"]]


@pytest.mark.parametrize("indent", [None, 2])
def test_boxes_and_keypoints(tmp_path, coco, indent):
    data = sluice.Dataset(write(tmp_path, coco, indent=indent))
    assert data.format == "coco" and len(data) == IMAGES
    assert list(data.fields) == ["image", "image_id", "boxes", "labels", "iscrowd", "area", "keypoints", "width", "height", "key"]
    for image, sample in zip(coco["images"], data):
        wanted = of_image(coco, image)
        assert sample["image_id"] == image["id"] and sample["key"] == image["file_name"]
        assert bytes(sample["image"]) == (tmp_path / "val2017" / image["file_name"]).read_bytes()
        for name, key in {"boxes": "bbox", "labels": "category_id", "iscrowd": "iscrowd", "area": "area",
                          "keypoints": "keypoints"}.items():  # fmt: skip
            found = numpy.asarray(sample[name])
            assert (found.reshape(len(found), 6) if name == "keypoints" else found).tolist() == [each[key] for each in wanted], name
            assert name != "keypoints" or found.shape[1:] == (2, 3)
    assert data.fields["keypoints"].shape == (0, 6) and data.fields["boxes"].shape == (0, 4)
    names = list(data.classes)
    assert len(names) == 91 and names[90] == "name 90" and names[3] == "name 3" and names[2] == "2"


SIZED = {"orientation": "by_size"}
MEANINGS = {
    "image": SIZED, "boxes": {"role": "boxes", "box_format": "xywh", "coordinates": "pixels"} | SIZED,
    "labels": {"per_box": True}, "iscrowd": {"per_box": True}, "area": {"per_box": True},
    "keypoints": {"role": "points", "coordinates": "indices", "per_box": True} | SIZED,
    "segmentation": {"role": "shapes", "per_box": True} | SIZED, "width": {"role": "width"}, "height": {"role": "height"},
}  # fmt: skip


def test_meaning(tmp_path, coco):
    """The meaning of the values; the sizes that show which way up an image was annotated are always fields."""
    data = sluice.Dataset(write(tmp_path, coco))
    assert {name: field.meaning for name, field in data.fields.items()} == {
        name: MEANINGS.get(name, {}) for name in data.fields
    }
    for image, sample in zip(coco["images"], data):
        assert (sample["width"], sample["height"]) == (image["width"], image["height"])
    chosen = sluice.Dataset(data.paths[0], fields={"shapes": "segmentation", "h": "height"})
    assert {name: field.meaning for name, field in chosen.fields.items()} == {
        "shapes": {"role": "shapes"} | SIZED, "h": {"role": "height"}, "width": {"role": "width"},
    }  # fmt: skip


def test_sizes_unknown(tmp_path, coco):
    """A size of null or 0 is unknown; without sizes, the way up of annotations is unknown."""
    change(coco, "images", 0, width=0)
    change(coco, "images", 1, width=None, height=25.0)
    del coco["images"][2]["height"]
    data = sluice.Dataset(write(tmp_path, coco))
    assert data.numbers("width") == [None, None] + [32] * (IMAGES - 2)
    assert data.numbers("height") == [24, 25, None] + [24 + number for number in range(3, IMAGES)]
    for each in coco["images"]:
        each.pop("height", None)
    data = sluice.Dataset(write(tmp_path, coco))
    assert "height" not in data.fields and "width" in data.fields
    assert data.fields["image"].meaning == {} and "orientation" not in data.fields["boxes"].meaning


@pytest.mark.parametrize("size", [-1, 2.5, "32", True, 2**31, [32]])
def test_sizes_wrong(tmp_path, coco, size):
    change(coco, "images", 3, width=size)
    with pytest.raises(CORRUPT, match='element 3 of "images".*width is .*: expected a whole number of pixels'):
        sluice.Dataset(write(tmp_path, coco))


def test_captions(tmp_path, coco):
    for number, each in enumerate(coco["annotations"]):
        each.clear()
        each.update(image_id=coco["images"][number % 4]["id"], id=number, caption=f'ä "{number}"')
    del coco["categories"]
    data = sluice.Dataset(write(tmp_path, coco, "annotations/captions_val2017.json"))
    assert list(data.fields) == ["image", "image_id", "caption", "captions", "width", "height", "key"] and len(data.classes) == 0
    for image, sample in zip(coco["images"], data):
        wanted = [each["caption"] for each in of_image(coco, image)]
        assert sample["caption"] == (wanted[0] if wanted else "")
        assert (json.loads(sample["captions"]) if sample["captions"] else []) == wanted


def test_what_is_optional(tmp_path, coco):
    """iscrowd, area and keypoints are optional; images that are not listed do not matter."""
    for each in coco["annotations"]:
        del each["iscrowd"], each["area"], each["keypoints"]
    data = sluice.Dataset(write(tmp_path, coco))
    assert list(data.fields) == ["image", "image_id", "boxes", "labels", "iscrowd", "width", "height", "key"]
    assert sum(sum(plain(sample["iscrowd"])) for sample in data) == 0
    del coco["annotations"], coco["categories"]
    data = sluice.Dataset(write(tmp_path, coco, "annotations/image_info_val2017.json"))
    assert list(data.fields) == ["image", "image_id", "width", "height", "key"]
    assert list(sluice.Dataset(data.paths[0], fields={"x": "image_id"}).fields) == ["x"]


def test_strangers(tmp_path, coco):
    boxes = sum(len(of_image(coco, image)) for image in coco["images"][1:])
    coco["images"] = coco["images"][1:]
    coco["annotations"].append({**coco["annotations"][0], "image_id": -5})
    data = sluice.Dataset(write(tmp_path, coco))
    assert sum(len(plain(sample["boxes"])) for sample in data) == boxes


@pytest.mark.parametrize("place", ["", "images", "val2017", "../images", "../val2017", "../images/val2017"])
def test_where_pictures_lie(tmp_path, coco, place):
    path = write(tmp_path, coco, "deep/annotations/instances_val2017.json")
    with pytest.raises(INVALID, match=r"000000000000\.jpg.*../val2017"):
        sluice.Dataset(path)
    folder = path.parent / place
    folder.mkdir(exist_ok=True, parents=True)
    for file in (tmp_path / "val2017").iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    data = sluice.Dataset(path)
    assert all(len(sample["image"]) > 0 for sample in data)


def test_pack(tmp_path, coco):
    data = sluice.Dataset(write(tmp_path, coco))
    sluice.pack(data.paths[0], tmp_path / "packed", keep_order=True, progress=None)
    packed = sluice.Dataset(tmp_path / "packed")
    assert list(packed.classes) == list(data.classes)
    for one, other in zip(data, packed):
        assert {name: plain(value) for name, value in one.items() if name != "image"} == {
            name: plain(value) for name, value in other.items() if name != "image"
        }
    loader = sluice.Loader(data, batch_size=3, columns={"boxes": sluice.columns.Padded("boxes", length=4)}, shuffle=True)
    assert sum(1 for _ in loader) == 3


def test_shapes(tmp_path, coco):
    """One text per image: the shapes of its annotations, as stored; packed, too."""
    shapes = [[[1.5, 2, 3, 4, 5, 6.25], [7, 8, 9, 10, 11, 12]], {"counts": "\\R;", "size": [162, 70]},
              {"size": [2, 3], "counts": [1, 2, 3]}, [], None]  # fmt: skip
    for number, each in enumerate(coco["annotations"]):
        each["segmentation"] = shapes[number % len(shapes)]
    del coco["annotations"][0]["segmentation"]
    path = write(tmp_path, coco, indent=1)
    fields = {"image": "image", "labels": "labels", "shapes": "segmentation"}
    assert "segmentation" not in sluice.Dataset(path).fields
    data = sluice.Dataset(path, fields=fields)
    assert data.fields["shapes"].type == "text" and list(data.fields) == [*fields, "width", "height"]
    for image, sample in zip(coco["images"], data):
        assert json.loads(sample["shapes"]) == [each.get("segmentation") for each in of_image(coco, image)]
    sluice.pack(data, tmp_path / "packed", keep_order=True, progress=None)
    assert [sample["shapes"] for sample in sluice.Dataset(tmp_path / "packed")] == [sample["shapes"] for sample in data]
    change(coco, "annotations", 3, segmentation=[[1, 2, 3]])
    with pytest.raises(CORRUPT, match='element 3 of "annotations" .*: a polygon has an odd number'):
        sluice.Dataset(write(tmp_path, coco), fields=fields)


def change(tree, kind, number=0, **members):
    tree[kind][number] = {**tree[kind][number], **members}


BAD = {
    "no images": (lambda t: t.pop("images"), INVALID, 'no "images" list'),
    "images are not a list": (lambda t: t.update(images={}), CORRUPT, "one of its lists is not a list"),
    "an image is not an object": (lambda t: t["images"].append(3), CORRUPT, 'element 9 of "images"'),
    "no name": (lambda t: change(t, "images", 2, file_name=None), CORRUPT, r'element 2 of "images" \(id 86\): an image must'),
    "id": (lambda t: change(t, "images", id="x"), CORRUPT, r'element 0 of "images" \(id "x"\): its id is "x": expected an integer'),
    "id of an image is not a number": (lambda t: change(t, "images", id=[1]), CORRUPT, r"its id is \[1\]: expected an integer or a"),
    "twice": (lambda t: change(t, "images", id=93), CORRUPT, 'two images have the id 93: elements 0 and 1 of "images"'),
    "twice as floats": (lambda t: change(t, "images", id=93.0), CORRUPT, "two images have the id 93"),
    "URL without a path": (lambda t: (t["images"][1].pop("file_name"), change(t, "images", 1, coco_url="http://a")), CORRUPT,
                           'element 1 of "images".*file_name, or a coco_url'),
    "URL": (lambda t: change(t, "images", file_name="http://a/b.jpg"), CORRUPT, "URL"),
    "NUL": (lambda t: change(t, "images", file_name="a\0b"), CORRUPT, "u0000"),
    "box of 3": (lambda t: change(t, "annotations", bbox=[1, 2, 3]), CORRUPT, r'element 0 of "annotations" \(id \d+\): its bbox is \[1,2,3\]: expected a list of 4 numbers'),
    "box of texts": (lambda t: change(t, "annotations", bbox=["1", 2, 3, 4]), CORRUPT, "list of 4 numbers"),
    "box is not a list": (lambda t: change(t, "annotations", bbox={}), CORRUPT, "list of 4 numbers"),
    "one lacks a box": (lambda t: change(t, "annotations", bbox=None), CORRUPT,
                       r'element 0 of "annotations" \(id \d+\) has no bbox: 1 of 12 have none'),
    "one lacks a category": (lambda t: change(t, "annotations", 5, category_id=None), CORRUPT,
                             r'element 5 of "annotations" \(id \d+\) has no category_id'),
    "box too far": (lambda t: change(t, "annotations", bbox=[1e300, 2, 3, 4]), CORRUPT, "list of 4 numbers"),
    "category": (lambda t: change(t, "annotations", category_id=1.5), CORRUPT, "its category_id is 1.5: expected an integer or a text"),
    "no such category": (lambda t: change(t, "annotations", 3, category_id=9), CORRUPT,
                         r'element 3 of "annotations" \(id \d+\): its category_id is 9: none of the 3 "categories" has this id'),
    "no such category, of many": (lambda t: change(t, "annotations", 3, category_id=-5000), CORRUPT, "its category_id is -5000: none of"),
    "category of a text": (lambda t: change(t, "annotations", category_id="1"), CORRUPT, "its category_id is|its id is"),
    "image": (lambda t: change(t, "annotations", image_id=None), CORRUPT, "it has no image_id: expected an integer or a text"),
    "image of a text": (lambda t: change(t, "annotations", image_id="93"), CORRUPT, "expected an? (integer|text), like other ids"),
    "area": (lambda t: change(t, "annotations", 3, area=[200]), CORRUPT, r"its area is \[200\]: expected a number"),
    "area of a text": (lambda t: change(t, "annotations", 3, area="200"), CORRUPT, 'its area is "200"'),
    "caption": (lambda t: change(t, "annotations", 3, caption=["a"]), CORRUPT, "its caption is"),
    "points": (lambda t: change(t, "annotations", 3, keypoints=[1, 2, None]), CORRUPT, "its keypoints is .*: expected a list of numbers"),
    "more points": (lambda t: change(t, "annotations", 3, keypoints=[1, 2, 2]), CORRUPT,
                    'element 3 of "annotations": its keypoints have 3 numbers: expected 6'),
    "two of a category": (lambda t: change(t, "categories", 1, id=90), CORRUPT, 'two categories have the same id: "name 90" and'),
    "skeleton": (lambda t: change(t, "categories", keypoints=3), CORRUPT, "its keypoints is 3: expected a list of names"),
    **{f"crowd {value!r}": (lambda t, value=value: change(t, "annotations", 2, iscrowd=value), CORRUPT,
                            'element 2 of "annotations".*its iscrowd is .*: expected 0 or 1')
       for value in (2, 0.5, -1, "1", [1], [0], {}, "yes")},
    "name": (lambda t: change(t, "categories", name=3), CORRUPT, 'element 0 of "categories"'),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_what_is_wrong(tmp_path, coco, name):
    edit, error, words = BAD[name]
    edit(coco)
    path = write(tmp_path, coco)
    with pytest.raises(error, match=words) as told:
        sluice.Dataset(path)
    assert "val2017.json" in str(told.value)


def test_numbers_that_no_name_could_have(tmp_path, coco):
    def renumber(number):
        old = coco["categories"][0]["id"]
        for each in coco["annotations"]:
            each["category_id"] = number if each["category_id"] == old else each["category_id"]
        change(coco, "categories", id=number)

    renumber(2**40)
    assert len(sluice.Dataset(write(tmp_path, coco)).classes) == 0
    renumber(-1)
    assert len(sluice.Dataset(write(tmp_path, coco)).classes) == 0


def test_cut_short(tmp_path, coco):
    text = write(tmp_path, coco).read_text()
    known = text.index('"annotations":') + len('"annotations":')
    for cut in [*range(0, len(text), 29), len(text) - 1]:
        path = tmp_path / "annotations" / "cut_val2017.json"
        path.write_text(text[:cut])
        with pytest.raises(INVALID if cut < known else CORRUPT, match="COCO annotations|not valid JSON"):
            sluice.Dataset(path)
    path.write_text(text + "x")
    with pytest.raises(CORRUPT, match="unexpected data after"):
        sluice.Dataset(path)
    path.write_text(text + " \n")
    assert len(sluice.Dataset(path)) == IMAGES


def boxes_of(data):
    return [plain(sample["boxes"]) for sample in data]


def read_quietly(path, **how):
    """Returns the dataset and its warnings."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        return sluice.Dataset(path, **how), [str(each.message) for each in told]


@pytest.mark.parametrize("value", [0, 1, 0.0, 1.0, False, True, None])
def test_crowds(tmp_path, coco, value):
    """Compared like Python numbers: 1.0 and true equal 1."""
    change(coco, "annotations", 2, iscrowd=value)
    data = sluice.Dataset(write(tmp_path, coco))
    for image, sample in zip(coco["images"], data):
        assert plain(sample["iscrowd"]) == [int(each["iscrowd"] or 0) for each in of_image(coco, image)]


@pytest.mark.parametrize("make", [str, float, lambda number: f"id {number} ä"])
def test_ids(tmp_path, coco, make):
    """Ids of images and categories are numbers of any kind, or texts."""
    wanted = boxes_of(sluice.Dataset(write(tmp_path, coco)))
    for each in coco["images"]:
        each["id"] = make(each["id"])
    for each in coco["annotations"]:
        each["image_id"], each["category_id"] = make(each["image_id"]), make(each["category_id"])
    for each in coco["categories"]:
        each["id"] = make(each["id"])
    data = sluice.Dataset(write(tmp_path, coco))
    texts = make is not float
    assert boxes_of(data) == wanted and data.fields["image_id"].type == ("text" if texts else "int")
    assert [sample["image_id"] for sample in data] == [each["id"] for each in coco["images"]]
    names = {each["id"]: each["name"] for each in coco["categories"]}
    for image, sample in zip(coco["images"], data):
        assert [data.classes[label] for label in plain(sample["labels"])] == [
            names[each["category_id"]] for each in of_image(coco, image)
        ]
    if texts:
        assert list(data.classes) == [each["name"] for each in coco["categories"]]
        change(coco, "annotations", 4, category_id="of no category")
        with pytest.raises(CORRUPT, match=r'element 4 of "annotations" \(id \d+\): its category_id is "of no category": none of the 3 "categories" has'):
            sluice.Dataset(write(tmp_path, coco))


def test_points_of_some(tmp_path, coco):
    """Annotations without points get points of zeros; rows of categories with other skeletons are padded."""
    for number, each in enumerate(coco["annotations"]):
        if number % 3 == 0:
            del each["keypoints"]
        elif number % 3 == 1:
            each["keypoints"] = []
    data = sluice.Dataset(write(tmp_path, coco))
    for image, sample in zip(coco["images"], data):
        assert numpy.asarray(sample["keypoints"]).reshape(-1, 6).tolist() == [each.get("keypoints") or [0] * 6 for each in of_image(coco, image)]
    points = {90: 3, 1: 1, 3: 0}
    for each in coco["categories"]:
        each["keypoints"] = ["a point"] * points[each["id"]]
    for number, each in enumerate(coco["annotations"]):
        each["keypoints"] = [number, 2.5, 1] * points[each["category_id"]]
    data = sluice.Dataset(write(tmp_path, coco))
    assert data.fields["keypoints"].shape == (0, 9)
    for image, sample in zip(coco["images"], data):
        wanted = [each["keypoints"] + [0] * (9 - len(each["keypoints"])) for each in of_image(coco, image)]
        assert numpy.asarray(sample["keypoints"]).reshape(-1, 9).tolist() == wanted
    first = next(i for i, each in enumerate(coco["annotations"]) if each["category_id"] == 1)
    change(coco, "annotations", first, keypoints=[1, 2, 2] * 2)
    with pytest.raises(CORRUPT, match=f'element {first} of "annotations": its keypoints have 6 numbers: expected 3'):
        sluice.Dataset(write(tmp_path, coco))


def test_points_of_one_are_not_those_of_all(tmp_path, coco):
    """The rows of zeros stay in proportion to the file size."""
    for each in coco["annotations"]:
        each.pop("keypoints", None)
    for each in coco["categories"]:
        each.pop("keypoints", None)
    coco["annotations"] = [{**each, "id": 1000 * k + each["id"]} for k in range(20) for each in coco["annotations"]]
    coco["annotations"][0]["keypoints"] = [1] * 300000
    with pytest.raises(CORRUPT, match="1 of .* annotations have keypoints, 300000 numbers each"):
        sluice.Dataset(write(tmp_path, coco))


def test_area_of_some(tmp_path, coco):
    del coco["annotations"][4]["area"]
    data, told = read_quietly(write(tmp_path, coco))
    assert "area" not in data.fields
    assert any('"area" is left out: element 4 of "annotations"' in each and "1 of 12 have none" in each for each in told)


def test_missing_pictures(tmp_path, coco):
    """A missing image is a bad sample, even the first one; if all are missing, opening fails."""
    names = [image["file_name"] for image in coco["images"]]
    for name in names[:5]:
        (tmp_path / "val2017" / name).unlink()
    data = sluice.Dataset(write(tmp_path, coco))
    assert len(data) == IMAGES and bytes(data[5]["image"]) == (tmp_path / "val2017" / names[5]).read_bytes()
    for number in range(5):
        with pytest.raises(sluice.IOError, match=names[number]):
            data[number]
    for name in names[5:]:
        (tmp_path / "val2017" / name).unlink()
    with pytest.raises(INVALID, match=f"neither its first image, \"{names[0]}\", nor any"):
        sluice.Dataset(write(tmp_path, coco))


def test_left_out(tmp_path, coco):
    """Images that are not listed are counted, regardless of their format; so are annotations of other images."""
    data, told = read_quietly(write(tmp_path, coco))
    assert data.left_out == [] and told == []
    gone = coco["images"].pop(3)
    for name in ("x.MPO", "y.jfif", "z.txt", ".hidden.jpg"):
        (tmp_path / "val2017" / name).write_bytes(b"")
    (tmp_path / "val2017" / "folder.jpg").mkdir()
    (tmp_path / "val2017/link").symlink_to(tmp_path / "val2017")
    for number, spelled in enumerate(("./", "link/", "../val2017/", "link/link/../val2017/")):  # one folder by many names
        coco["images"][number]["file_name"] = spelled + coco["images"][number]["file_name"]
    data, told = read_quietly(write(tmp_path, coco))
    left = {each.reason: (each.count, each.images) for each in data.left_out}
    assert left == {"images that the annotations do not list": (3, True),
                    'annotations of images that "images" does not list': (len(of_image(coco, gone)), False)}  # fmt: skip
    assert any("3 left out: images that the annotations do not list" in each for each in told)


@pytest.mark.parametrize("layout", ["../train2017", "../images/train2017", "images"])
def test_lvis(tmp_path, coco, layout):
    """LVIS names images by URLs, from two folders: their paths are the ends of the URLs, or they are in one folder."""
    path = tmp_path / "lvis/annotations/lvis_v1_val.json"
    for number, image in enumerate(coco["images"]):
        split = "val2017" if number == 4 and layout != "images" else "train2017"
        name = image.pop("file_name")
        image.update(coco_url=f"http://images.cocodataset.org/{split}/{name}?x=1/2", neg_category_ids=[1], not_exhaustive_category_ids=[])
        folder = path.parent / layout.replace("train2017", split)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes((tmp_path / "val2017" / name).read_bytes())
    for each in coco["annotations"]:
        del each["iscrowd"]
    data, told = read_quietly(write(tmp_path, coco, path.relative_to(tmp_path)))
    assert all(len(sample["image"]) > 0 for sample in data) and len(data) == IMAGES
    assert data[0]["key"] == ("000000000000.jpg" if layout == "images" else "train2017/000000000000.jpg")
    assert [(each.reason.split()[2], each.count) for each in data.left_out] == [("neg_category_ids", IMAGES)] and len(told) == 1


def test_encodings(tmp_path, coco):
    path = write(tmp_path, coco)
    wanted = boxes_of(sluice.Dataset(path))
    text = path.read_text()
    path.write_text(text, encoding="utf-8-sig")
    assert boxes_of(sluice.Dataset(path)) == wanted and sluice.Dataset(tmp_path / "annotations").format == "coco"
    for encoding in ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-be"):
        path.write_text(text, encoding=encoding)
        with pytest.raises(sluice.UnsupportedError, match=encoding[:6].upper()) as told:
            sluice.Dataset(path)
        assert "person_keypoints_val2017.json" in str(told.value)
    with pytest.raises(sluice.UnsupportedError, match="UTF-32"):
        sluice.Dataset(tmp_path)
    path.write_bytes(text.replace("name 90", "\xe9").encode("latin-1"))
    with pytest.raises(CORRUPT, match='element 0 of "categories".*0xe9'):
        sluice.Dataset(path)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("name", ["score", "bbox", "area"])
def test_numbers_of_python(tmp_path, coco, number, name):
    """Python writes NaN and Infinity: rejected by name, with the position."""
    change(coco, "annotations", 7, **{name: [1, number, 2, 3] if name == "bbox" else number})
    path = write(tmp_path, coco)
    word = json.dumps(number)
    with pytest.raises(CORRUPT, match=f'element 7 of "annotations".*{word[-8:]}' if name == "bbox" else
                       f'element 7 of "annotations": {word} is not a number in JSON: write null') as told:  # fmt: skip
        sluice.Dataset(path)
    if name != "bbox":
        assert f"offset {path.read_text().index(word)}" in str(told.value)


@pytest.fixture
def panoptic(tmp_path, coco):
    """An annotation for each image except one, with segments stored in a PNG."""
    folder = tmp_path / "annotations/panoptic_val2017"
    folder.mkdir()
    annotations = []
    for number, image in enumerate(coco["images"][1:]):
        name = image["file_name"].replace("jpg", "png")
        Image.new("RGB", (32, image["height"]), (number, 1, 0)).save(folder / name)
        segments = [{"id": 256 + number + i, "category_id": [1, 3, 90][i], "iscrowd": i % 2, "bbox": [i, 1, 2, 3], "area": 5 * i}
                    for i in range(number % 4)]  # fmt: skip
        annotations.append({"image_id": image["id"], "file_name": name, "segments_info": segments})
    random.Random(2).shuffle(annotations)
    return {**coco, "annotations": annotations}


@pytest.mark.parametrize("place", ["annotations/panoptic_val2017", "panoptic_val2017", "annotations"])
@pytest.mark.parametrize("link", [False, True])
def test_panoptic(tmp_path, panoptic, place, link):
    path = write(tmp_path, panoptic, "annotations/panoptic_val2017.json")
    if place != "annotations/panoptic_val2017":
        (tmp_path / place).mkdir(exist_ok=True)
        for file in (tmp_path / "annotations/panoptic_val2017").iterdir():
            file.rename(tmp_path / place / file.name)
    if link:
        (tmp_path / "deep/deeper").mkdir(parents=True)
        (tmp_path / "val2017").rename(tmp_path / "deep/deeper/val2017")
        (tmp_path / "val2017").symlink_to(tmp_path / "deep/deeper/val2017")
    data, told = read_quietly(path)
    assert list(data.fields) == ["image", "panoptic", "image_id", "segment_ids", "boxes", "labels", "iscrowd", "area", "width",
                                 "height", "key"] and told == []  # fmt: skip
    assert data.fields["panoptic"].meaning == {"role": "mask", "orientation": "by_size"}
    assert data.fields["segment_ids"].meaning == {"per_box": True}
    names = {"segment_ids": "id", "boxes": "bbox", "labels": "category_id", "iscrowd": "iscrowd", "area": "area"}
    for image, sample in zip(panoptic["images"], data):
        found = of_image(panoptic, image)
        segments = found[0]["segments_info"] if found else []
        assert sample["key"] == image["file_name"]
        assert bytes(sample["image"]) == (tmp_path / "val2017" / image["file_name"]).read_bytes()
        assert {name: plain(sample[name]) for name in names} == {
            name: [each[key] for each in segments] for name, key in names.items()
        }
        assert bytes(sample["panoptic"] or b"") == ((tmp_path / place / found[0]["file_name"]).read_bytes() if found else b"")


def test_bad_panoptic(tmp_path, panoptic):
    path = tmp_path / "annotations/panoptic_val2017.json"

    def refused(match, error=CORRUPT, **members):
        changed = json.loads(json.dumps(panoptic))
        change(changed, "annotations", 2, **members)
        write(tmp_path, changed, path.relative_to(tmp_path))
        with pytest.raises(error, match=match):
            sluice.Dataset(path)

    refused('element 2 of "annotations".*: its segments_info is 3: expected a list', segments_info=3)
    refused(r"its segments_info\[1\].iscrowd is 5: expected 0 or 1",
            segments_info=[{"id": 1, "category_id": 1}, {"id": 2, "category_id": 1, "iscrowd": 5}])  # fmt: skip
    refused(r"it has no segments_info\[0\].id: expected an integer", segments_info=[{"category_id": 1}])
    refused("it has no file_name: expected the name of a PNG", file_name=None)
    refused("the file mixes panoptic annotations with others", segments_info=None)
    refused("have the same image", image_id=panoptic["annotations"][0]["image_id"])
    (tmp_path / "annotations/panoptic_val2017").rename(tmp_path / "elsewhere")
    refused("PNGs of segments of these panoptic annotations are not in any.*panoptic_val2017, ../panoptic_val2017", INVALID)


def test_splits(tmp_path, coco):
    """A folder with annotations of several splits: the split is chosen by its name, or by a synonym."""
    root = tmp_path / "coco"
    for split, images in (("train2017", coco["images"][3:]), ("val2017", coco["images"][:3])):
        (root / split).mkdir(parents=True)
        for image in images:
            (root / split / image["file_name"]).write_bytes((tmp_path / "val2017" / image["file_name"]).read_bytes())
        write(root, {**coco, "images": images}, f"annotations/instances_{split}.json")
    for path in (root, root / "annotations"):
        for split, count in (("train", 6), ("train2017", 6), ("val", 3), ("val2017", 3), ("instances_val2017", 3), ("validation", 3)):
            data = sluice.Dataset(path, split=split)
            assert len(data) == count and all(len(sample["image"]) > 0 for sample in data), split
        with pytest.raises(INVALID, match='split "test": no such split: the splits are instances_train2017, instances_val'):
            sluice.Dataset(path, split="test")
        with pytest.raises(INVALID, match=r'the folder contains several .*instances_train2017.json.*, or a split \(split "train"\)'):
            sluice.Dataset(path)
    assert len(sluice.Dataset(root / "annotations/instances_val2017.json", split="val")) == 3
    with pytest.raises(INVALID, match='split "train": no such split'):
        sluice.Dataset(root / "annotations/instances_val2017.json", split="train")
    (root / "annotations/instances_train2017.json").unlink()
    assert len(sluice.Dataset(root, split="val")) == len(sluice.Dataset(root)) == 3


def test_split_means_instances(tmp_path, coco):
    """Of a split's annotation files at cocodataset.org, the detection file is opened unless another one is named. The others are counted."""
    (tmp_path / "val2017").rename(tmp_path / "train2017")
    tasks = ("captions", "instances", "panoptic", "person_keypoints", "stuff")
    for task in tasks:  # each with another number of images
        write(tmp_path, {**coco, "images": coco["images"][tasks.index(task) :], "annotations": []}, f"annotations/{task}_train2017.json")
    for split in ("train", "train2017"):
        data = sluice.Dataset(tmp_path, split=split)
        found = next(each for each in data.left_out if each.reason == "annotation files of the split beside instances_train2017.json")
        assert len(data) == IMAGES - 1 and found.count == 4
        assert found.example.endswith("captions_train2017.json") and "beside instances_train2017.json" in repr(data)
    for task in tasks:
        data = sluice.Dataset(tmp_path, split=f"{task}_train2017")
        assert len(data) == IMAGES - tasks.index(task) and not any("beside" in each.reason for each in data.left_out)
    with pytest.raises(INVALID, match=r'the folder contains several .*captions_train2017.json .*, or a split \(split "train"\)'):
        sluice.Dataset(tmp_path)
    write(tmp_path, coco, "annotations/instances_train2014.json")  # of another year
    assert len(sluice.Dataset(tmp_path, split="train2017")) == IMAGES - 1
    with pytest.raises(INVALID, match='split "train" may mean captions_train2017, instances_train2014, instances_train2017, '):
        sluice.Dataset(tmp_path, split="train")
    for name in ("instances_train2014", "instances_train2017"):
        (tmp_path / f"annotations/{name}.json").unlink()
    for split in ("train", "train2017"):
        with pytest.raises(INVALID, match=f'split "{split}" may mean captions_train2017, panoptic_train2017, person_keypoints_train2017'):
            sluice.Dataset(tmp_path, split=split)
    with pytest.raises(INVALID, match=r"the folder contains several .*stuff_train2017.json \(stuff classes\)$"):
        sluice.Dataset(tmp_path)


@pytest.mark.parametrize("kind", ["jpg", "png"])
@pytest.mark.parametrize("decode", [False, True])
def test_verify_compares_the_annotated_size(tmp_path, coco, decode, kind):
    """Pillow writes the images and their EXIF orientation; sizes that fit either way up pass, and so do unknown sizes."""
    turned = Image.Exif()
    turned[0x0112] = 6
    for number, image in enumerate(coco["images"]):
        (tmp_path / "val2017" / image["file_name"]).unlink()
        image["file_name"] = f"{number}.{kind}"
        picture = Image.new("RGB", (32, 24 + number), (9 * number, 0, 0))
        picture.save(tmp_path / "val2017" / image["file_name"], exif=turned if number >= 5 else Image.Exif())
    change(coco, "images", 1, width=25, height=32)  # as if rotated, but without an EXIF orientation
    change(coco, "images", 2, width=320, height=260)
    change(coco, "images", 3, width=0, height=7)
    change(coco, "images", 5, width=29, height=32)
    change(coco, "images", 6, width=30, height=33)
    data = sluice.Dataset(write(tmp_path, coco))
    found = data.verify(decode=decode).findings
    said = {str(each.file).rsplit("/")[-1]: str(each) for each in found}
    assert sorted(said) == [f"1.{kind}", f"2.{kind}", f"6.{kind}"] and all(type(each) is CORRUPT for each in found)
    assert "is 32 x 25 (width x height), but was annotated as 25 x 32" in said[f"1.{kind}"]
    assert "is 32 x 26 (width x height), but was annotated as 320 x 260" in said[f"2.{kind}"]
    assert "is 32 x 30 (width x height) as stored, 30 x 32 upright, but was annotated as 30 x 33" in said[f"6.{kind}"]
    sluice.pack(data, tmp_path / "packed", keep_bytes=True)  # verifies its output, and changes nothing
    packed = sluice.Dataset(tmp_path / "packed")
    again = [packed[each.sample]["key"] for each in packed.verify(decode=decode).findings]
    assert sorted(again) == sorted(data[each.sample]["key"] for each in found)


def test_page(tmp_path, coco, monkeypatch):
    """The first example of the page, on the layout of cocodataset.org."""
    (tmp_path / "coco").mkdir()
    (tmp_path / "val2017").rename(tmp_path / "coco/train2017")
    write(tmp_path, coco, "coco/annotations/instances_train2017.json")
    names = pages.run("formats/annotations.md", "COCO", tmp_path, monkeypatch)
    assert len(names["data"]) == IMAGES
    batch = next(iter(names["loader"]))
    wanted = sum(len(of_image(coco, image)) for image in coco["images"])
    assert sum(len(numpy.asarray(each["boxes"])) for each in [batch, *names["loader"]]) >= wanted


def test_samples_with_objects(tmp_path, coco):
    """Counts by number of objects, in the file, in shards, and in derived datasets; compared with a count by hand."""
    data = sluice.Dataset(write(tmp_path, coco))
    sluice.pack(data, tmp_path / "packed", progress=None)
    of_id = {image["id"]: len(of_image(coco, image)) for image in coco["images"]}
    counts = list(of_id.values())
    assert 0 in counts and max(counts) == 3
    for one in (data, sluice.Dataset(tmp_path / "packed"), data[:9]):
        for field in ("boxes", "labels", "keypoints"):
            for least, most in ((1, None), (2, None), (0, 0), (1, 2)):
                numbers = [sample["image_id"] for sample in one]  # shards have their own order
                wanted = [number for number in numbers if least <= of_id[number] and (most is None or of_id[number] <= most)]
                chosen = one.having(field, at_least=least, at_most=most)
                assert [sample["image_id"] for sample in chosen] == wanted
    assert len(data.having("labels")) == len(counts) - counts.count(0)
    with pytest.raises(ValueError, match="no samples selected"):
        data.having("labels", at_least=4)
    with pytest.raises(ValueError, match="field='image': expected a tensor of any length, here .*boxes"):
        data.having("image")
    with pytest.raises(ValueError, match="unknown field 'lables': the fields are .*did you mean 'labels'"):
        data.having("lables")
    with pytest.raises(ValueError, match="at_most"):
        data.having("labels", at_least=3, at_most=2)


def test_sizes_without_reading_images(tmp_path, coco):
    """Sizes come from the annotations, even if the image is missing; 0 if an annotation has no size."""
    coco["images"][2].pop("width")
    path = write(tmp_path, coco)
    (tmp_path / "val2017" / coco["images"][1]["file_name"]).unlink()
    data = sluice.Dataset(path)
    wanted = [(image.get("width", 0), image["height"]) for image in coco["images"]]
    assert [(found["width"], found["height"]) for found in map(data.sample, range(IMAGES))] == wanted
    assert [(found["width"], found["height"]) for found in map(data[3:].sample, range(IMAGES - 3))] == wanted[3:]
