# SPDX-License-Identifier: Apache-2.0
"""Datasets of torch and torchvision, compared sample by sample with their own output."""
import json
import random
import sys
import types
import warnings

import numpy
import pytest
from PIL import Image

import sluice
from sluice import transforms as T

torch = pytest.importorskip("torch")
vision = pytest.importorskip("torchvision.datasets")
from torch.utils.data import ConcatDataset, DataLoader, Subset, TensorDataset, random_split  # noqa: E402

CROP = T.CenterCrop(16)


def numbers_of(dataset, **how):
    """Returns the labels and pixels of all samples, in a loader's order."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with sluice.Loader(dataset, batch_size=4, transform=CROP, **how) as loader:
            rows = [(batch["image"].numpy(), batch["label"].tolist()) for batch in loader]
    return numpy.concatenate([pixels for pixels, _ in rows]), [label for _, labels in rows for label in labels]


def cut(picture):
    """Returns CROP applied to a PIL image."""
    left, top = round((picture.width - 16) / 2), round((picture.height - 16) / 2)
    return numpy.asarray(picture.crop((left, top, left + 16, top + 16)))


def same(dataset, foreign):
    pixels, labels = numbers_of(dataset)
    assert labels == [label for _, label in foreign]
    assert numpy.array_equal(pixels, [cut(picture) for picture, _ in foreign])


def test_image_folder(photos):
    folder = vision.ImageFolder(str(photos))
    same(folder, folder)
    assert sluice.Loader(folder, transform=CROP).dataset.classes == folder.classes


def test_samples_that_were_chosen(photos):
    """The samples accepted by is_valid_file, and a list of samples that the program changed."""
    folder = vision.ImageFolder(str(photos), is_valid_file=lambda path: path.endswith("3.jpg"))
    assert len(folder) == 3
    same(folder, folder)
    folder = vision.ImageFolder(str(photos))
    folder.samples = folder.samples[::-1][:7] + folder.samples[:1]
    same(folder, folder)
    folder.samples[2] = (folder.samples[2][0], 0)
    with pytest.raises(ValueError, match="is not in .* or has another label there"):
        sluice.Loader(folder, transform=CROP)


def test_composition(photos):
    folder = vision.ImageFolder(str(photos))
    first, second = random_split(folder, [20, 13], torch.Generator().manual_seed(3))
    for dataset in (first, Subset(first, range(3, 9)), Subset(folder, torch.tensor([5, 5, 2])), Subset(second, numpy.array([-1, 0]))):
        same(dataset, dataset)
    both = ConcatDataset([second, Subset(first, [0, 3])])
    same(both, both)
    same(sluice.concat([second, first]), ConcatDataset([second, first]))
    data = sluice.Dataset(photos)
    assert numbers_of(Subset(data, [3, 30]))[1] == [data.targets[3], data.targets[30]]
    assert numbers_of(Subset(data, {0: 30, 1: 3}))[1] == [data.targets[30], data.targets[3]]
    assert numbers_of(ConcatDataset([data, Subset(folder, [32])]))[1] == data.targets + [2]


def test_subset_takes_a_split(photos, data):
    split = random_split(range(len(data)), [30, 3], torch.Generator().manual_seed(1))[1]
    assert data.subset(split).targets == [data.targets[i] for i in split]
    assert data.subset(Subset(data, [4, 20])).targets == [data.targets[4], data.targets[20]]


def test_paths_are_joined(photos):
    assert sluice.concat([photos, str(photos)]).targets == sluice.Dataset(photos).targets * 2
    with pytest.raises(sluice.InvalidError, match=r"open one path, or join the datasets \(sluice\.concat\)"):
        sluice.Dataset([photos / "class0", photos / "class1"])


def refused(value, match, error=(TypeError, ValueError)):
    with pytest.raises(error, match=match):
        sluice.Loader(value, transform=CROP)


def test_refused(photos, data):
    folder = vision.ImageFolder(str(photos))
    refused(vision.ImageFolder(str(photos), transform=str), r"it has transform=.*sluice\.transforms.*give sluice\.Dataset\('")
    refused(vision.ImageFolder(str(photos), target_transform=str), "it has target_transform=")
    refused(vision.ImageFolder(str(photos), loader=str), r"it has loader=, .* give sluice\.Dataset\('")
    refused(Subset(range(9), [1, 2]), r"chooses from a range, not a dataset: give dataset\.subset")
    refused(Subset(folder, [True] * 33), r"its indices are bools, .*dataset\.subset\(mask\)")
    refused(Subset(folder, []), "no samples selected")
    refused(Subset(folder, [33]), "sample 33 is out of range: the dataset has 33 samples", IndexError)
    refused(TensorDataset(torch.zeros(3)), r"TensorDataset: .*never calls __getitem__.*sluice\.Writer", TypeError)
    refused(DataLoader(folder), r"it is a loader: give its dataset", TypeError)
    refused(type("Mine", (vision.ImageFolder,), {})(str(photos)), "a subclass of ImageFolder may make samples of its own", TypeError)
    refused(type("Mine", (Subset,), {})(folder, [1]), "a subclass of Subset may make", TypeError)
    refused(type("Stream", (torch.utils.data.IterableDataset,), {})(), "no samples by number", TypeError)
    (photos / "class1" / "p00.jpg").rename(photos / "away.jpg")
    try:
        refused(folder, "p00.jpg.* is not in")
    finally:
        (photos / "away.jpg").rename(photos / "class1" / "p00.jpg")


def voc_xml(name, objects):
    parts = "".join(
        f"<object><name>{kind}</name><difficult>0</difficult><bndbox><xmin>{x0}</xmin><ymin>{y0}</ymin><xmax>{x1}</xmax>"
        f"<ymax>{y1}</ymax></bndbox></object>"
        for kind, (x0, y0, x1, y1) in objects
    )
    return f"<annotation><filename>{name}.jpg</filename><size><width>40</width><height>30</height><depth>3</depth></size>{parts}</annotation>"


@pytest.fixture
def voc(tmp_path):
    root, draw = tmp_path / "VOCdevkit/VOC2012", random.Random(1)
    for folder in ("JPEGImages", "Annotations", "SegmentationClass", "ImageSets/Main", "ImageSets/Segmentation"):
        (root / folder).mkdir(parents=True)
    names = [f"2008_{number:06}" for number in range(8)]
    for number, name in enumerate(names):
        Image.new("RGB", (40, 30), (9 * number, 0, 0)).save(root / "JPEGImages" / f"{name}.jpg")
        Image.new("L", (40, 30), number).save(root / "SegmentationClass" / f"{name}.png")
        corners = [(draw.randrange(1, 20), draw.randrange(1, 20), draw.randrange(20, 40), draw.randrange(20, 30)) for _ in range(number % 3)]
        (root / "Annotations" / f"{name}.xml").write_text(voc_xml(name, [(draw.choice(["dog", "cat"]), corner) for corner in corners]))
    for folder in ("Main", "Segmentation"):
        (root / f"ImageSets/{folder}/val.txt").write_text("".join(f"{name}\n" for name in (names[6], *names[:5])))
    return tmp_path


def test_voc(voc):
    foreign = vision.VOCDetection(str(voc), image_set="val")
    data = sluice.concat([foreign])
    assert len(data) == len(foreign) == 6
    for sample, number in zip(data, range(6)):
        picture, target = foreign[number]
        objects = target["annotation"]["object"]
        boxes = [[int(each["bndbox"][edge]) for edge in ("xmin", "ymin", "xmax", "ymax")] for each in objects]
        found = [[x + 1, y + 1, x + width, y + height] for x, y, width, height in numpy.asarray(sample["boxes"]).reshape(-1, 4).tolist()]
        assert found == boxes  # docs/formats.md: VOC's pixels count from 1, ours from 0
        assert [data.classes[label] for label in sample["labels"]] == [each["name"] for each in objects]
        assert numpy.array_equal(numpy.asarray(data.decode(number)), numpy.asarray(picture))
    masks = vision.VOCSegmentation(str(voc), image_set="val")
    data = sluice.concat([masks])
    assert [data.read(i, "mask") for i in range(6)] == [open(path, "rb").read() for path in masks.masks]
    refused(vision.VOCDetection(str(voc), image_set="val", transforms=max), "it has transforms=")
    foreign.images[1], foreign.images[2] = foreign.images[2], foreign.images[1]
    refused(foreign, "image 1 is .* give the path of the files")


class COCO:
    """The part of pycocotools that torchvision uses."""

    def __init__(self, path):
        self.dataset = json.loads(open(path).read())
        self.imgs = {image["id"]: image for image in self.dataset["images"]}

    def loadImgs(self, number):  # noqa: N802
        return [self.imgs[number]]

    def getAnnIds(self, number):  # noqa: N802
        return [number]

    def loadAnns(self, numbers):  # noqa: N802
        return [each for each in self.dataset["annotations"] if each["image_id"] in numbers]


@pytest.fixture
def coco(tmp_path, monkeypatch):
    package, module = types.ModuleType("pycocotools"), types.ModuleType("pycocotools.coco")
    module.COCO = COCO
    monkeypatch.setitem(sys.modules, "pycocotools", package)
    monkeypatch.setitem(sys.modules, "pycocotools.coco", module)
    (tmp_path / "annotations").mkdir()
    (tmp_path / "val2017").mkdir()
    images, annotations = [], []
    for number in range(6):
        name = f"{number:012}.jpg"
        Image.new("RGB", (32, 24), (9 * number, 0, 0)).save(tmp_path / "val2017" / name)
        images.append({"file_name": name, "height": 24, "width": 32, "id": 10 + number * 7 % 6})  # not in id order
        for box in range(number % 3):
            where = {"image_id": images[-1]["id"], "id": 10 * number + box}
            annotations.append({**where, "bbox": [box, 1, 3, 4 + number], "area": 9, "iscrowd": 0, "category_id": 1 + 2 * box})
    tree = {"images": images, "annotations": annotations, "categories": [{"id": 1, "name": "a"}, {"id": 3, "name": "b"}]}
    for name, change in (("captions_val2017", []), ("instances_val2017", annotations)):
        (tmp_path / f"annotations/{name}.json").write_text(json.dumps({**tree, "annotations": change}))
    return tmp_path


def test_coco(coco):
    random.seed(1)
    path = coco / "annotations/instances_val2017.json"
    foreign = vision.CocoDetection(str(coco / "val2017"), str(path))
    foreign.ids.append(foreign.ids[0])  # a program may change them
    data = sluice.concat([foreign])
    assert len(data) == 7
    for number, sample in enumerate(data):
        picture, target = foreign[number]
        assert sample["image_id"] == foreign.ids[number]
        assert numpy.asarray(sample["boxes"]).reshape(-1, 4).tolist() == [each["bbox"] for each in target]
        assert list(sample["labels"]) == [each["category_id"] for each in target]
        assert numpy.array_equal(numpy.asarray(data.decode(number)), numpy.asarray(picture))
    refused(vision.CocoDetection(str(coco / "val2017"), str(path), transform=str), r"it has transform=.*instances_val2017\.json")
    foreign.coco.dataset["annotations"].pop()
    refused(foreign, r"does not store the path of its annotation file.*give sluice\.Dataset\(annFile\)")


def test_torch_is_not_imported(run_python, photos):
    done = run_python(
        """
        import sys, sluice
        sluice.concat([sys.argv[1]])
        sluice.Dataset(sys.argv[1]).subset([1])
        try:
            sluice.Loader(5)
        except TypeError as error:
            assert "a sluice.Dataset, a path or a list of paths" in str(error)
        assert "torch" not in sys.modules
        """,
        photos,
    )
    assert done.returncode == 0, done.stderr


def test_lists_of_datasets_are_told_to_be_joined(photos):
    """Each error contains the line to write, and that line works."""
    folder, data = vision.ImageFolder(str(photos)), sluice.Dataset(photos)
    joined = r"for several datasets, write sluice\.concat\(\[first, second\]\)"
    for pair in ([folder, folder], [data, folder], (data, str(photos))):
        for call in (sluice.Dataset, lambda given: sluice.Loader(given, transform=CROP), lambda given: sluice.pack(given, photos / "never")):
            with pytest.raises(TypeError, match=joined):
                call(pair)
        with pytest.raises(TypeError, match=r"expected a sluice.Dataset: for several datasets, write sluice\.balance\(sluice\.concat\(\[first, second\]\)\)"):
            sluice.balance(pair)
        assert len(sluice.concat(pair)) == len(sluice.balance(sluice.concat(pair))) == 2 * len(data)
    with pytest.raises(TypeError, match=rf"one of them=\[ImageFolder, ImageFolder\].*{joined}"):
        sluice.mix([[folder, folder], data])


def test_a_dataset_in_place_of_a_list_or_a_path(photos):
    folder = vision.ImageFolder(str(photos))
    for call, line in (
        (sluice.Dataset, r"sluice\.concat\(\[dataset\]\)"), (sluice.concat, r"sluice\.concat\(\[dataset\]\)"),
        (sluice.mix, r"sluice\.concat\(\[dataset\]\)"), (sluice.balance, r"sluice\.balance\(sluice\.concat\(\[dataset\]\)\)"),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=f"=ImageFolder: expected .*: for a dataset, write {line}"):
            call(folder)
    with pytest.raises(TypeError, match=r"for a path, write sluice\.balance\(sluice\.Dataset\(path\)\)"):
        sluice.balance(str(photos))
    assert len(sluice.balance(sluice.concat([folder]))) == len(folder)
