# SPDX-License-Identifier: Apache-2.0
"""COCO's annotations, made by Python's json as the formats of cocodataset.org are described."""
import json
import random

import numpy
import pytest
from PIL import Image

import sluice

CORRUPT, INVALID = sluice.CorruptError, sluice.InvalidError
IMAGES = 9


def plain(value):
    return numpy.asarray(value).tolist() if isinstance(value, memoryview) else value


@pytest.fixture
def coco(tmp_path):
    """annotations/ and val2017/, annotations in no order."""
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
            assert plain(sample[name]) == [each[key] for each in wanted], name
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
    """What the values mean; the sizes that decide which way up an image was annotated are always fields."""
    data = sluice.Dataset(write(tmp_path, coco))
    assert {name: field.meaning for name, field in data.fields.items()} == {
        name: MEANINGS.get(name, {}) for name in data.fields
    }
    for image, sample in zip(coco["images"], data):
        assert (sample["width"], sample["height"]) == (image["width"], image["height"])
    chosen = sluice.Dataset(data.paths[0], fields={"shapes": "segmentation", "h": "height"})
    assert {name: field.meaning for name, field in chosen.fields.items()} == {
        "shapes": MEANINGS["segmentation"], "h": {"role": "height"}, "width": {"role": "width"},
    }  # fmt: skip


def test_sizes_unknown(tmp_path, coco):
    """A size of null or 0 is not known; without any nothing tells which way up images were annotated."""
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
    with pytest.raises(CORRUPT, match='element 3 of "images".*width or height'):
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
    """iscrowd and area need not be; keypoints have to be alike; images that are not listed do not matter."""
    for number, each in enumerate(coco["annotations"]):
        del each["iscrowd"], each["area"]
        each["keypoints"] = [1, 2, 0] * (1 + number % 2)
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
    """A text for each picture: the shapes of its annotations, as they are stored; packed, too."""
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
    with pytest.raises(CORRUPT, match='element 3 of "annotations": a polygon has an odd number'):
        sluice.Dataset(write(tmp_path, coco), fields=fields)


def change(tree, kind, number=0, **members):
    tree[kind][number] = {**tree[kind][number], **members}


BAD = {
    "no images": (lambda t: t.pop("images"), INVALID, 'lists no "images"'),
    "images are none": (lambda t: t.update(images={}), CORRUPT, "one of its lists is none"),
    "an image is none": (lambda t: t["images"].append(3), CORRUPT, 'element 9 of "images"'),
    "no name": (lambda t: change(t, "images", 2, file_name=None), CORRUPT, 'element 2 of "images": an image has to'),
    "id": (lambda t: change(t, "images", id="x"), CORRUPT, "integer id"),
    "twice": (lambda t: change(t, "images", id=93), CORRUPT, "two images have the id 93"),
    "URL": (lambda t: change(t, "images", file_name="http://a/b.jpg"), CORRUPT, "URL"),
    "NUL": (lambda t: change(t, "images", file_name="a\0b"), CORRUPT, "u0000"),
    "box of 3": (lambda t: change(t, "annotations", bbox=[1, 2, 3]), CORRUPT, 'element 0 of "annotations".*4 numbers'),
    "box of texts": (lambda t: change(t, "annotations", bbox=["1", 2, 3, 4]), CORRUPT, "list of numbers"),
    "box is none": (lambda t: change(t, "annotations", bbox={}), CORRUPT, "list of numbers"),
    "one lacks a box": (lambda t: change(t, "annotations", bbox=None), CORRUPT, "1 of 12 annotations have no bbox"),
    "category": (lambda t: change(t, "annotations", category_id=1.5), CORRUPT, "integer category_id"),
    "image": (lambda t: change(t, "annotations", image_id=None), CORRUPT, "integer image_id"),
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
    change(coco, "categories", id=2**40)
    assert len(sluice.Dataset(write(tmp_path, coco)).classes) == 0
    change(coco, "categories", id=-1)
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
    with pytest.raises(CORRUPT, match="something behind"):
        sluice.Dataset(path)
    path.write_text(text + " \n")
    assert len(sluice.Dataset(path)) == IMAGES
