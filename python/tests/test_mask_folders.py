# SPDX-License-Identifier: Apache-2.0
"""Folders of images beside folders of masks, laid out like ADE20K, Cityscapes, VOC and Carvana, compared with a plain walk
over the same files with Pillow."""
import os

import numpy
import pages
import pytest
from PIL import Image

import sluice
from sluice import columns as C
from sluice import transforms as T

HEIGHT, WIDTH = 24, 36
CORRUPT, INVALID = sluice.CorruptError, sluice.InvalidError


def picture(path, number):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (WIDTH, HEIGHT), (number * 5 % 256, 7, 9)).save(path)


def mask(path, number, dtype="uint8", palette=False):
    path.parent.mkdir(parents=True, exist_ok=True)
    array = numpy.random.RandomState(number).randint(0, 256 if dtype == "uint8" else 65536, (HEIGHT, WIDTH)).astype(dtype)
    image = Image.fromarray(array)
    if palette:
        image.putpalette(list(range(256)) * 3)
    image.save(path)


def walk(folder):
    """Returns the paths below a folder, in byte order."""
    found = [os.path.relpath(os.path.join(at, name), folder) for at, _, names in os.walk(folder, followlinks=True) for name in names]
    return sorted((name for name in found if not os.path.basename(name).startswith(".")), key=os.fsencode)


def check(data, pictures, belonging, fields=("mask",)):
    """Checks the dataset. `belonging`: maps an image's path to that of a field's file."""
    names = walk(pictures)
    assert data.format == "masks" and list(data.fields) == ["image", *fields, "key"]
    assert all(data.fields[name].type == "image" for name in ("image", *fields))
    assert data.fields["image"].meaning == {} and data.fields["key"].meaning == {}
    assert all(data.fields[name].meaning == {"role": "mask", "orientation": "by_size"} for name in fields)
    assert [sample["key"] for sample in data] == names
    for name, sample in zip(names, data):
        assert bytes(sample["image"]) == (pictures / name).read_bytes()
        for field in fields:
            assert bytes(sample[field]) == belonging(name, field).read_bytes(), (name, field)


def ade(root, splits=(("training", 9), ("validation", 4))):
    for split, count in splits:
        for number in range(count):
            name = f"ADE_{split[:-3]}_{number:08}"
            picture(root / "images" / split / f"{name}.jpg", number)
            mask(root / "annotations" / split / f"{name}.png", number)
    (root / "objectInfo150.txt").write_text("Idx\tRatio\n")
    return root


def other(pictures, masks, ending=".png"):
    return lambda name, field: masks / (os.path.splitext(name)[0] + ending)


def test_ade(tmp_path, monkeypatch):
    root = ade(tmp_path / "ADEChallengeData2016")
    for split in ("training", "validation"):
        pictures, masks = root / "images" / split, root / "annotations" / split
        check(sluice.Dataset(pictures), pictures, other(pictures, masks))
        check(sluice.Dataset(f"{pictures}//"), pictures, other(pictures, masks))
        monkeypatch.chdir(pictures)
        check(sluice.Dataset("."), pictures, other(pictures, masks))
        monkeypatch.chdir(root / "images")
        check(sluice.Dataset(split), pictures, other(pictures, masks))
        monkeypatch.chdir(root)
        check(sluice.Dataset(f"images/{split}"), pictures, other(pictures, masks))
        for path in root, f"{root}/", root / "images":
            check(sluice.Dataset(path, split=split), pictures, other(pictures, masks))
    with pytest.raises(INVALID, match=r"are splits \(training, validation\): open one of them \(.*/images/training\)"):
        sluice.Dataset(root)
    with pytest.raises(INVALID, match='images: split "test": no such split: the splits are training, validation'):
        sluice.Dataset(root, split="test")
    with pytest.raises(INVALID, match="are splits, not classes"):
        sluice.Dataset(root / "images")
    kinds = sluice.concat([sluice.Dataset(root / "images" / split) for split in ("training", "validation")])
    assert len(kinds) == 13


def test_same_wherever_it_lies(tmp_path):
    """The fingerprint depends on names, not on the location of the folder."""
    ways = [ade(tmp_path / name) for name in ("a", "b")]
    first, second = (sluice.Dataset(root / "images/training") for root in ways)
    assert first.fingerprint == second.fingerprint
    assert first.fingerprint != sluice.Dataset(ways[0] / "images/validation").fingerprint


def test_values(tmp_path):
    root = ade(tmp_path / "ade")
    data = sluice.Dataset(root / "images/training")
    columns = {"image": C.Image("image", transform=[T.Resize(16), T.CenterCrop(16)]), "seg": C.Tensor("mask", shape=(HEIGHT, WIDTH), dtype="uint8")}
    seen = 0
    with sluice.Loader(data, batch_size=4, shuffle=True, seed=1, last_batch="short", columns=columns, num_workers=2) as loader:
        for batch in loader:
            for row, index in enumerate(batch["index"].tolist()):
                name = data[index]["key"]
                wanted = numpy.asarray(Image.open(root / "annotations/training" / name.replace("jpg", "png")))
                assert (batch["seg"].numpy()[row] == wanted).all()
                seen += 1
    assert seen == 9


def test_masks_are_asked_for(tmp_path):
    """As default columns they would be images, cropped independently of their own."""
    root = ade(tmp_path / "ade")
    transform = [T.RandomResizedCrop(16)]
    with pytest.raises(sluice.Error, match='"mask" would be cropped independently of "image": request columns, one of kind image of "image"'):
        sluice.Loader(root / "images/training", batch_size=4, transform=transform)
    with sluice.Loader(sluice.Dataset(root / "images/training", fields={"image": "image"}), batch_size=4, transform=transform) as loader:
        assert "image" in next(iter(loader)).keys()


@pytest.mark.parametrize("pictures", ["images", "img", "img_dir", "JPEGImages"])
@pytest.mark.parametrize("masks, ending", [("masks", ".png"), ("labels", "_mask.png"), ("ann_dir", ".PNG"), ("gt", "_L.png"),
                                           ("annotations/trimaps", ".png"), ("masks", "_segmentation.png")])
def test_two_folders(tmp_path, pictures, masks, ending):
    for number in range(5):
        picture(tmp_path / pictures / f"p{number}.{'png' if number % 2 else 'JPG'}", number)
        mask(tmp_path / masks / f"p{number}{ending}", number)
    mask(tmp_path / masks / f"nobodys{ending}", 9)
    wanted = other(tmp_path / pictures, tmp_path / masks, ending)
    check(sluice.Dataset(tmp_path), tmp_path / pictures, wanted)
    check(sluice.Dataset(tmp_path / pictures), tmp_path / pictures, wanted)


def test_nested_and_hidden(tmp_path):
    for number in range(12):
        below = f"{'ab'[number % 2]}/{number % 3}"
        picture(tmp_path / "images" / below / f"{number}.jpg", number)
        mask(tmp_path / "masks" / below / f"{number}.png", number)
    picture(tmp_path / "images/__MACOSX/x.jpg", 1)
    (tmp_path / "images/a/.hidden.jpg").write_bytes(b"no picture")
    (tmp_path / "images/Thumbs.db").write_bytes(b"none")
    (tmp_path / "images/loop").symlink_to(tmp_path / "images")
    data = sluice.Dataset(tmp_path)
    assert [sample["key"] for sample in data] == sorted(f"{'ab'[n % 2]}/{n % 3}/{n}.jpg" for n in range(12))
    for sample in data:
        assert bytes(sample["mask"]) == (tmp_path / "masks" / sample["key"].replace("jpg", "png")).read_bytes()


def test_links(tmp_path):
    """Folders that are links: the masks are beside the link, not beside its target."""
    root = ade(tmp_path / "store", [("training", 3)])
    linked = tmp_path / "linked"
    linked.mkdir()
    (linked / "images").symlink_to(root / "images")
    (linked / "annotations").symlink_to(root / "annotations")
    wanted = other(root / "images/training", root / "annotations/training")
    check(sluice.Dataset(linked / "images/training"), linked / "images/training", wanted)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/pictures").symlink_to(root / "images/training")
    plain = sluice.Dataset(tmp_path / "elsewhere/pictures")
    assert plain.format == "folder" and len(plain) == 3


def test_classes_stay(tmp_path):
    """Image folders keep their meaning: classes, including classes named like masks, and folders without masks."""
    for number in range(6):
        picture(tmp_path / "faces" / ["mask", "images"][number % 2] / f"{number}.jpg", number)
        picture(tmp_path / "birds/images" / f"00{number % 3}.Kind" / f"{number}.jpg", number)
        mask(tmp_path / "birds/segmentations" / f"00{number % 3}.Kind" / f"{number}.png", number)
        picture(tmp_path / "alone/images" / f"{number}.jpg", number)
        (tmp_path / "alone/labels").mkdir(exist_ok=True)
        (tmp_path / "alone/labels/notes.txt").write_text("the masks no longer exist")
    faces = sluice.Dataset(tmp_path / "faces")
    assert faces.format == "folder" and list(faces.classes) == ["images", "mask"]
    birds = sluice.Dataset(tmp_path / "birds/images")
    assert birds.format == "folder" and list(birds.classes) == ["000.Kind", "001.Kind", "002.Kind"]
    check(sluice.Dataset(tmp_path / "birds"), tmp_path / "birds/images",
          other(None, tmp_path / "birds/segmentations"))
    assert sluice.Dataset(tmp_path / "alone/images").format == "folder"


def test_system_folders(tmp_path):
    for number in range(3):
        picture(tmp_path / "images" / f"{number}.jpg", number)
        mask(tmp_path / "masks" / f"{number}.png", number)
    for folder in ("@eaDir", "~snapshot", "@tmp"):
        picture(tmp_path / "images" / folder / "0.jpg", 0)
        mask(tmp_path / "masks" / folder / "9.png", 0)
    data = sluice.Dataset(tmp_path)
    assert data.format == "masks" and len(data) == 3
    assert [(each.reason, each.count) for each in data.left_out] == [("hidden files and folders", 3)]


def test_coco_stays(tmp_path):
    """COCO's annotations beside masks of the same images (COCO-Stuff) are still found from the parent folder."""
    root = ade(tmp_path / "coco", [("train2017", 2)])
    (root / "annotations/instances_train2017.json").write_text(
        '{"images": [{"id": 1, "file_name": "ADE_train2_00000000.jpg"}], "annotations": [], "categories": []}')
    assert sluice.Dataset(root).format == "coco"
    assert sluice.Dataset(root / "images/train2017").format == "masks"


@pytest.fixture
def city(tmp_path):
    root = tmp_path / "cityscapes"
    for split, towns in (("train", ["aachen", "bochum"]), ("val", ["ulm"]), ("test", ["bonn"])):
        for number in range(3):
            for town in towns:
                name = f"{town}_{number:06}_000019"
                picture(root / "leftImg8bit" / split / town / f"{name}_leftImg8bit.png", number)
                if split != "test":
                    for kind, dtype in (("labelIds", "uint8"), ("instanceIds", "uint16"), ("color", "uint8")):
                        mask(root / "gtFine" / split / town / f"{name}_gtFine_{kind}.png", number, dtype)
                    (root / "gtFine" / split / town / f"{name}_gtFine_polygons.json").write_text("{}")
    return root


def belongs(city, split, kind="gtFine"):
    ends = {"mask": "labelIds", "instances": "instanceIds", "train_ids": "labelTrainIds"}
    return lambda name, field: city / kind / split / name.replace("leftImg8bit.png", f"{kind}_{ends[field]}.png")


def test_cityscapes(city):
    for split in ("train", "val"):
        pictures = city / "leftImg8bit" / split
        check(sluice.Dataset(pictures), pictures, belongs(city, split), ("mask", "instances"))
        check(sluice.Dataset(city, split=split), pictures, belongs(city, split), ("mask", "instances"))
    town = city / "leftImg8bit/train/bochum"
    check(sluice.Dataset(town), town, belongs(city, "train/bochum"), ("mask", "instances"))
    with pytest.raises(INVALID, match=r"are splits \(test, train, val\): open one of them"):
        sluice.Dataset(city)
    assert sluice.Dataset(city / "leftImg8bit/test").format == "folder"  # images without masks, as before
    for path in walk(city / "gtFine/train"):
        if path.endswith("labelIds.png"):
            mask(city / "gtFine/train" / path.replace("labelIds", "labelTrainIds"), 5)
    pictures = city / "leftImg8bit/train"
    check(sluice.Dataset(pictures), pictures, belongs(city, "train"), ("mask", "instances", "train_ids"))
    chosen = sluice.Dataset(pictures, fields={"image": "image", "seg": "train_ids"})
    assert list(chosen.fields) == ["image", "seg"]
    assert bytes(chosen[0]["seg"]) == belongs(city, "train")(walk(pictures)[0], "train_ids").read_bytes()
    (city / "gtFine").rename(city / "gtCoarse")
    for path in walk(city / "gtCoarse"):
        (city / "gtCoarse" / path).rename(city / "gtCoarse" / path.replace("gtFine", "gtCoarse"))
    check(sluice.Dataset(pictures), pictures, belongs(city, "train", "gtCoarse"), ("mask", "instances", "train_ids"))


def test_penn_fudan(tmp_path):
    """The dataset of torchvision's tutorial on detection: instance masks, beside annotations in its own format."""
    root = tmp_path / "PennFudanPed"
    for number in range(3):
        picture(root / f"PNGImages/FudanPed{number:05}.png", number)
        mask(root / f"PedMasks/FudanPed{number:05}_mask.png", number, palette=True)
        (root / "Annotation").mkdir(exist_ok=True)
        (root / f"Annotation/FudanPed{number:05}.txt").write_text("# Compatible with PASCAL Annotation Version 1.00\n")
    (root / "readme.txt").write_text("1. Directory Structure\n")
    data = sluice.Dataset(root)
    assert data.format == "masks" and [sample["key"] for sample in data] == [f"FudanPed{number:05}.png" for number in range(3)]
    assert all(bytes(sample["mask"]) == (root / f"PedMasks/{sample['key'][:-4]}_mask.png").read_bytes() for sample in data)


def test_carvana(tmp_path):
    for number in range(3):
        picture(tmp_path / "train" / f"{number:03}.jpg", number)
        mask(tmp_path / "train_masks" / f"{number:03}_mask.png", number)
    check(sluice.Dataset(tmp_path / "train"), tmp_path / "train", other(None, tmp_path / "train_masks", "_mask.png"))
    for number in range(3):
        (tmp_path / "train_masks" / f"{number:03}_mask.png").rename(tmp_path / "train_masks" / f"{number:03}_mask.gif")
    with pytest.raises(INVALID, match='"000_mask.gif" is a GIF, which cannot be decoded'):
        sluice.Dataset(tmp_path / "train")


@pytest.fixture
def voc(tmp_path):
    root = tmp_path / "VOC2012"
    for number in range(6):
        picture(root / "JPEGImages" / f"2007_{number:06}.jpg", number)
        if number % 2:
            mask(root / "SegmentationClass" / f"2007_{number:06}.png", number, palette=True)
            mask(root / "SegmentationObject" / f"2007_{number:06}.png", number + 50, palette=True)
    (root / "ImageSets/Segmentation").mkdir(parents=True)
    (root / "ImageSets/Segmentation/train.txt").write_text("2007_000005\n2007_000001\r\n\n")
    return root


def check_voc(data, voc, format, pictures="JPEGImages/"):
    assert data.format == format and [sample["key"] for sample in data] == ["2007_000005.jpg", "2007_000001.jpg"]
    for sample in data:
        name = sample["key"][:-4]
        assert bytes(sample["image"]) == (voc / f"JPEGImages/{name}.jpg").read_bytes()
        assert bytes(sample["mask"]) == (voc / f"SegmentationClass/{name}.png").read_bytes()
        assert bytes(sample["instances"]) == (voc / f"SegmentationObject/{name}.png").read_bytes()


def test_voc_list(voc, monkeypatch):
    way = voc / "ImageSets/Segmentation/train.txt"
    check_voc(sluice.Dataset(way), voc, "masks")
    monkeypatch.chdir(way.parent)
    check_voc(sluice.Dataset("train.txt"), voc, "masks")
    for text, error, match in (
        ("2007_000002\n", INVALID, '1 of 1 images have no mask in .* such as "2007_000002.jpg"'),
        ("2007_000001\n../../secret\n", INVALID, r'line 2: no image "../../secret"'),
        ("2007_000001 1\n", CORRUPT, "line 1: expected only the name of an image"),
        ("\n \n", INVALID, "the list is empty"),
        ("2007\0\n", CORRUPT, "not a text"),
    ):
        way.write_text(text)
        with pytest.raises(error, match=match):
            sluice.Dataset(way)


def test_voc_beside_annotations(voc):
    """Beside annotations, a list belongs to them, and the masks are an additional field."""
    (voc / "Annotations").mkdir()
    way = voc / "ImageSets/Segmentation/train.txt"
    for number in range(6):
        (voc / f"Annotations/2007_{number:06}.xml").write_text(
            f"<annotation><filename>2007_{number:06}.jpg</filename><object><name>dog</name><bndbox><xmin>1</xmin><ymin>2</ymin>"
            "<xmax>8</xmax><ymax>9</ymax></bndbox></object></annotation>")
    try:
        data = sluice.Dataset(way)
    except sluice.UnsupportedError as error:
        assert "without libexpat" in str(error)
        return
    check_voc(data, voc, "voc")
    assert list(data.fields)[:4] == ["image", "mask", "instances", "boxes"]
    assert numpy.asarray(data[0]["boxes"]).tolist() == [[0, 1, 8, 8]]
    assert "mask" not in sluice.Dataset(voc).fields
    (voc / "ImageSets/Main").mkdir()
    (voc / "ImageSets/Main/train.txt").write_text("2007_000005\n")
    assert "mask" not in sluice.Dataset(voc / "ImageSets/Main/train.txt").fields
    way.write_text("2007_000001\n2007_000002\n2007_000004\n")
    with pytest.raises(INVALID, match=r'2 of 3 images have no mask in ".*SegmentationClass", such as "2007_000002"'):
        sluice.Dataset(way)


def test_voc_link_out(voc, tmp_path):
    """Files named by a list must be inside its folder."""
    (tmp_path / "secret.png").write_bytes((voc / "SegmentationClass/2007_000005.png").read_bytes())
    (voc / "SegmentationClass/2007_000005.png").unlink()
    (voc / "SegmentationClass/2007_000005.png").symlink_to(tmp_path / "secret.png")
    way = voc / "ImageSets/Segmentation/train.txt"
    with pytest.raises(INVALID, match="outside|elsewhere"):
        sluice.Dataset(way)
    assert len(sluice.Dataset(way, allow_outside=True)) == 2
    way.write_text("2007_000001\n2007_000005\n")
    data = sluice.Dataset(way)
    with pytest.raises(sluice.Error, match="2007_000005.png"):
        data[1]
    assert data[0]["key"] == "2007_000001.jpg"


def test_missing(tmp_path):
    root = ade(tmp_path / "ade")
    for number in (2, 5):
        (root / f"annotations/training/ADE_train_{number:08}.png").unlink()
    with pytest.raises(INVALID, match=r'2 of 9 images have no mask in ".*annotations/training", such as "ADE_train_00000002.jpg"'):
        sluice.Dataset(root / "images/training")


def test_gone(tmp_path):
    """A mask that is unreadable when its sample is read makes a bad sample, which names it."""
    root = ade(tmp_path / "ade")
    data = sluice.Dataset(root / "images/training")
    (root / "annotations/training/ADE_train_00000004.png").unlink()
    with pytest.raises(sluice.Error, match="annotations/training/ADE_train_00000004.png"):
        data[4]
    columns = {"seg": C.Tensor("mask", shape=(HEIGHT, WIDTH), dtype="uint8")}
    with sluice.Loader(data, batch_size=3, shuffle=False, columns=columns, on_bad_sample="mask") as loader:
        status = numpy.concatenate([batch["status"].numpy() for batch in loader])
    assert (status != 0).tolist() == [number == 4 for number in range(9)]


def test_not_a_mask(tmp_path):
    root = ade(tmp_path / "ade")
    data = (root / "annotations/training/ADE_train_00000004.png").read_bytes()
    (root / "annotations/training/ADE_train_00000004.png").write_bytes(data[:-30] + b"x" * 30)
    result = sluice.Dataset(root / "images/training").verify(decode=True)
    assert len(result.findings) == 1 and "ADE_train_00000004.png" in str(result.findings[0])


def test_packed(city, tmp_path):
    source = sluice.Dataset(city / "leftImg8bit/train")
    sluice.pack(source, tmp_path / "packed", keep_order=True, keep_bytes=True)
    packed = sluice.Dataset(tmp_path / "packed")
    assert list(packed.fields) == list(source.fields) and len(packed) == len(source)
    for ours, theirs in zip(packed, source):
        assert ours["key"] == theirs["key"]
        for field in ("mask", "instances"):
            assert bytes(ours[field]) == bytes(theirs[field])
    assert not packed.verify(decode=True).findings
    sluice.unpack(source, tmp_path / "unpacked")
    name = walk(city / "leftImg8bit/train")[0]
    made = walk(tmp_path / "unpacked")
    assert name in made and name.replace(".png", ".mask.png") in made
    for where in ("leftImg8bit/train/out", "gtFine/train/out"):
        with pytest.raises(INVALID, match="inside the one to be packed"):
            sluice.pack(source, city / where)


def test_left_out(tmp_path):
    """Masks without an image and images in unsupported formats are counted; other kinds of masks are not."""
    root = ade(tmp_path / "ade", (("training", 4),))
    pictures, masks = root / "images/training", root / "annotations/training"
    assert sluice.Dataset(pictures).left_out == []
    for name in ("x.jfif", "y.txt", ".z.jpg"):
        (pictures / name).write_bytes(b"")
    mask(masks / "gone.png", 1)
    mask(masks / "lost_mask.png", 1)
    with pytest.warns(UserWarning, match="left out") as told:
        data = sluice.Dataset(pictures)
    assert len(data) == 4 and {each.reason: (each.count, each.images, each.example) for each in data.left_out} == {
        "images of unsupported kinds": (1, True, "x.jfif"),
        "files of image folders that are not images": (1, False, "y.txt"),
        "hidden files and folders": (1, False, ".z.jpg"),
        "masks that no image of the dataset has": (2, True, "gone.png"),
    }
    assert len([each for each in told if "unsupported kinds" in str(each.message) or "masks that no" in str(each.message)]) == 2


def test_cityscapes_left_out(city):
    """The other files of Cityscapes belong to their images."""
    data = sluice.Dataset(city / "leftImg8bit/train")
    assert data.left_out == []
    mask(city / "gtFine/train/aachen/gone_000001_000019_gtFine_labelIds.png", 3)
    with pytest.warns(UserWarning, match="1 left out: masks that no image"):
        assert len(sluice.Dataset(city / "leftImg8bit/train")) == 6


def test_mark(voc):
    way = voc / "ImageSets/Segmentation/train.txt"
    way.write_text(way.read_text(), encoding="utf-8-sig")
    check_voc(sluice.Dataset(way), voc, "masks")
    way.write_text("2007_000005\n", encoding="utf-16")
    with pytest.raises(sluice.UnsupportedError, match="UTF-16"):
        sluice.Dataset(way)


def test_page(tmp_path, monkeypatch):
    """The first example of the page, on ADE20K's layout."""
    ade(tmp_path / "ADEChallengeData2016", (("training", 16),))
    names = pages.run("formats/images.md", "Folders of masks", tmp_path, monkeypatch)
    batch = next(iter(names["loader"]))
    assert len(names["data"]) == 16 and numpy.asarray(batch["seg"]).shape[:3] == (16, 512, 512)


@pytest.mark.parametrize("end, added, palette", [
    ("_masks", "", False), ("_mask", "_mask", True), ("annot", "_masks", False), ("_labels", "_segmentation", False), ("_masks", "_seg", True),
    ("_mask", "_gt", False), ("annot", "_label", False), ("_labels", "_labels", False), ("_masks", "_L", False),
])
def test_images_and_masks_are_not_two_classes(tmp_path, end, added, palette):
    for number in range(3):
        picture(tmp_path / "train" / f"{number}.jpg", number)
        mask(tmp_path / f"train{end}" / f"{number}{added}.png", number, palette=palette)
    with pytest.raises(INVALID, match=f'the folders "train" and "train{end}" are images and their masks, not classes: open ".*/train" to read'):
        sluice.Dataset(tmp_path)
    assert sluice.Dataset(tmp_path / "train").format == "masks"


@pytest.mark.parametrize("change", ["photos", "unpaired", "nested", "other name"])
def test_classes_whose_names_look_like_masks(tmp_path, change):
    """Photos of faces with masks, a missing mask, folders in a class, another suffix."""
    second = tmp_path / ("face_masked" if change == "other name" else "face_mask")
    for number in range(3):
        picture(tmp_path / "face" / f"{number}.jpg", number)
        if change == "photos":
            picture(second / f"{number}.png", number)
        elif change != "unpaired" or number != 1:
            mask(second / ("a" if change == "nested" else "") / f"{number}.png", number)
    data = sluice.Dataset(tmp_path)
    assert data.format == "folder" and data.classes == ["face", second.name]


def test_a_pair_among_other_classes(tmp_path):
    """Classes before, between and behind the two, and one whose folder has folders."""
    for number in range(3):
        for name in ("a", "train", "train2", "zoo/b", "zoo/c"):
            picture(tmp_path / name / f"{number}.jpg", number)
        mask(tmp_path / "train_masks" / f"{number}.png", number)
    with pytest.raises(INVALID, match='"train" and "train_masks" are images and their masks'):
        sluice.Dataset(tmp_path)
