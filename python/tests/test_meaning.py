# SPDX-License-Identifier: Apache-2.0
"""Columns without options: the default uses what COCO and YOLO datasets know about their boxes, points and images."""
import io
import json
import warnings

import numpy
import pytest
from PIL import Image

import sluice
from sluice import columns as C
from sluice import transforms as T

WIDTH, HEIGHT = 64, 48
TURNS = {2: 0, 3: 3, 4: 1, 5: 5, 6: 4, 7: 6, 8: 2}  # EXIF orientations as Pillow's transpositions
# in the upright image: left, top, right, bottom
BOX = (8, 20, 24, 30)


def upright(orientation):
    """Returns a white box on black, and the size of the image."""
    size = (HEIGHT, WIDTH) if orientation > 4 else (WIDTH, HEIGHT)
    image = Image.new("RGB", size)
    image.paste((255, 255, 255), BOX)
    return image


def save(path, image, orientation):
    """Saves a file from which Pillow's exif_transpose makes `image`."""
    undone = {6: 8, 8: 6}.get(orientation, orientation)
    stored = image if orientation == 1 else image.transpose(TURNS[undone])
    exif = Image.Exif()
    exif[0x112] = orientation
    path.parent.mkdir(parents=True, exist_ok=True)
    stored.save(path, quality=95, exif=exif)


def inside(picture, box):
    """Returns the mean pixel values of an image inside a box, and outside it."""
    left, top, right, bottom = (int(round(float(number))) for number in box)
    mask = numpy.zeros(picture.shape[:2], bool)
    mask[top:bottom, left:right] = True
    return picture[mask].mean(), picture[~mask].mean()


def batches(data, columns, **arguments):
    with sluice.Loader(data, 1, columns=columns, drop_last=False, **arguments) as loader:
        yield from loader


def whole(field=None):
    return C.Image(field, transform=None, sizes="padded", max_size=(WIDTH, WIDTH))


def check(data, orientations, **arguments):
    columns = {"image": whole(), "boxes": C.Boxes(), "labels": C.Ragged()}
    seen = 0
    for batch in batches(data, columns, **arguments):
        box, label = numpy.asarray(batch["boxes"]), numpy.asarray(batch["labels"])
        assert box.shape == (1, 4) and label.shape == (1,)
        white, black = inside(numpy.asarray(batch["image"])[0], box[0])
        assert white > 240 and black < 15
        seen += 1
    assert seen == len(orientations)


# ---- YOLO: boxes refer to the upright image ----


@pytest.fixture
def yolo(tmp_path):
    for orientation in range(1, 9):
        image = upright(orientation)
        save(tmp_path / "images" / "train" / f"{orientation}.jpg", image, orientation)
        left, top, right, bottom = BOX
        numbers = ((left + right) / 2 / image.width, (top + bottom) / 2 / image.height, 16 / image.width, 10 / image.height)
        label = tmp_path / "labels" / "train" / f"{orientation}.txt"
        label.parent.mkdir(parents=True, exist_ok=True)
        label.write_text("0 " + " ".join(map(str, numbers)) + "\n")
    (tmp_path / "data.yaml").write_text("names: [thing]\ntrain: images/train\n")
    return tmp_path / "images" / "train"


@pytest.mark.parametrize("exif", ["auto", "apply", "ignore", True, False])
def test_yolo(yolo, exif):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(yolo, range(8), exif=exif)


def test_decode_is_as_the_loader(yolo):
    data = sluice.Dataset(yolo)
    for index in range(8):
        name = int(data.sample(index)["path"].split("/")[-1].split(".")[0]) if "path" in data.sample(index) else index + 1
        assert data.decode(index).shape[:2] == upright(name).size[::-1]
        assert data.decode(index, exif=False).shape[:2] == data.decode(index, exif="ignore").shape[:2] == (HEIGHT, WIDTH) or name == 1


def test_an_argument_that_contradicts(yolo):
    with pytest.warns(UserWarning) as told:
        with sluice.Loader(yolo, 4, columns={"image": whole(), "boxes": C.Boxes(format="xywh", relative=False)}) as loader:
            pass
    texts = [str(warning.message) for warning in told]
    assert texts == [
        "column \"boxes\": format says xywh, but the dataset says cxcywh for \"boxes\"; the loader follows format: "
        "leave it out to follow the dataset",
        "column \"boxes\": relative says pixels, but the dataset says fractions of the image size for \"boxes\"; the loader "
        "follows relative: leave it out to follow the dataset",
    ]
    assert all(warning.filename == __file__ for warning in told)


def test_a_batch_without_a_box(yolo):
    with pytest.warns(UserWarning, match="relative says pixels, but the dataset says fractions"):
        loader = sluice.Loader(yolo, 4, columns={"image": whole(), "boxes": C.Boxes(format="cxcywh", relative=False)})
    with pytest.warns(UserWarning, match="dropped all 4 boxes of a batch; .* cxcywh in pixels: write relative=True") as told:
        for batch in loader:
            assert not numpy.asarray(batch["boxes"]).size
    assert len(told) == 1 and told[0].filename == __file__


def test_a_warning_that_is_an_error_loses_no_batch(yolo):
    """It is raised before the next batch is taken."""
    with pytest.warns(UserWarning, match="relative says pixels, but the dataset says fractions"):
        loader = sluice.Loader(yolo, 1, shuffle=False, columns={"image": whole(), "boxes": C.Boxes(format="cxcywh", relative=False)})
    wanted, seen, raised = list(range(len(loader.dataset))), [], 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rows = iter(loader)
        for _ in range(len(wanted) + 1):
            try:
                seen.append(int(next(rows)["index"][0]))
            except UserWarning:
                raised += 1
            except StopIteration:
                break
    assert seen == wanted and raised == 1


def test_warnings_as_errors(yolo):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="format says xywh"):
            sluice.Loader(yolo, 4, columns={"image": whole(), "boxes": C.Boxes(format="xywh")})


# ---- COCO: by width and height ----


def coco(path, pictures, **more):
    """Writes images: (orientation, whether it was annotated upright, width and height in the JSON)"""
    images, annotations = [], []
    for number, (orientation, turned, *size) in enumerate(pictures):
        image = upright(orientation) if turned else Image.new("RGB", (WIDTH, HEIGHT))
        if not turned:  # as stored
            image.paste((255, 255, 255), BOX)
            image = image if orientation == 1 else image.transpose(TURNS[orientation])
        save(path / "images" / f"{number}.jpg", image, orientation)
        width, height = size or (upright(orientation).size if turned else (WIDTH, HEIGHT))
        images.append({"id": number, "file_name": f"{number}.jpg", "width": width, "height": height})
        left, top, right, bottom = BOX
        annotations.append({
            "id": number, "image_id": number, "category_id": 1, "bbox": [left, top, right - left, bottom - top], "iscrowd": 0, "area": 160,
            **more,
        })  # fmt: skip
    made = {"images": images, "annotations": annotations, "categories": [{"id": 1, "name": "thing"}]}
    (path / "instances.json").write_text(json.dumps(made))
    return path


BOTH = [(orientation, turned) for orientation in (1, 5, 6, 7, 8) for turned in (False, True)]


@pytest.mark.parametrize("exif", ["auto", "apply", "ignore"])
def test_coco(tmp_path, exif):
    check(coco(tmp_path, BOTH), BOTH, exif=exif)


def test_coco_views_and_buckets(tmp_path):
    coco(tmp_path, BOTH)
    columns = {"a": whole("image"), "b": whole("image"), "boxes": C.Boxes(follows="b")}
    for batch in batches(tmp_path, columns):
        assert (numpy.asarray(batch["a"]) == numpy.asarray(batch["b"])).all()
        assert inside(numpy.asarray(batch["b"])[0], numpy.asarray(batch["boxes"])[0])[0] > 240
    columns = {"image": C.Image(transform=T.BucketCrop()), "boxes": C.Boxes()} if hasattr(T, "BucketCrop") else None
    if columns is None:
        return
    shapes = set()
    with sluice.Loader(tmp_path, 2, columns=columns, buckets=[(64, 48), (48, 64)], drop_last=False) as loader:
        for batch in loader:
            for picture, box in zip(numpy.asarray(batch["image"]), numpy.asarray(batch["boxes"])):
                shapes.add(picture.shape[:2])
                assert inside(picture, box)[0] > 240
    assert shapes == {(48, 64), (64, 48)}


def test_coco_mosaic(tmp_path):
    """The boxes of each of its samples are where the white boxes are."""
    coco(tmp_path, BOTH)
    columns = {"image": C.Image(transform=T.Mosaic(64, grid=2)), "boxes": C.Boxes(min_size=6, min_visibility=0.9), "labels": C.Ragged()}
    for batch in batches(tmp_path, columns):
        assert len(numpy.asarray(batch["labels"])) == len(numpy.asarray(batch["boxes"]))
        for box in numpy.asarray(batch["boxes"]):
            left, top, right, bottom = numpy.ceil(box + [1, 1, -1, -1]).astype(int)
            part = numpy.asarray(batch["image"])[0][top : bottom - 1, left : right - 1]
            assert part.size == 0 or part.min() > 150


def test_sizes_that_do_not_fit(tmp_path):
    data = coco(tmp_path, [(6, True, 640, 480)])
    with pytest.raises(sluice.CorruptError, match=r"is 64 x 48 \(width x height\) as stored, 48 x 64 upright, but was annotated as 640 x 480"):
        list(batches(data, {"image": whole()}))
    with pytest.raises(sluice.CorruptError, match="640 x 480"):
        sluice.Dataset(data).decode(0)
    assert sluice.Dataset(data).decode(0, exif="apply").shape == (64, 48, 3)


def test_a_half_turn_is_not_guessed(tmp_path):
    data = coco(tmp_path, [(3, True)])
    columns = {"image": whole(), "boxes": C.Boxes()}
    with pytest.raises(sluice.CorruptError, match='orientation 3, .* give column "boxes", .* orientation upright or stored'):
        list(batches(data, columns))
    for exif in ("auto", "apply"):
        (batch,) = batches(data, {"image": whole(), "boxes": C.Boxes(orientation="upright")}, exif=exif)
        assert inside(numpy.asarray(batch["image"])[0], numpy.asarray(batch["boxes"])[0])[0] > 240
    (batch,) = batches(data, {"image": whole()})
    assert numpy.asarray(batch["image"]).shape == (1, HEIGHT, WIDTH, 3)


def test_keypoints_are_numbers_of_pixels(tmp_path):
    """Flipped like a numpy array: W - 1 - x; column 0 survives."""
    points = [0, 10, 2, 63, 10, 2, 5, 6, 1, 0, 0, 0]
    data = coco(tmp_path, [(1, False)], keypoints=points, num_keypoints=3)
    columns = {"image": C.Image(transform=[T.Resize((HEIGHT, WIDTH)), T.RandomHorizontalFlip(1)]), "boxes": C.Boxes(), "keypoints": C.Points()}
    (batch,) = batches(data, columns)
    assert numpy.asarray(batch["keypoints"]).tolist() == [[63, 10, 2, 0, 10, 2, 58, 6, 1, 0, 0, 0]]


def test_labels_follow_what_is_kept(tmp_path):
    coco(tmp_path, [(1, False)] * 4)
    columns = {"image": C.Image(transform=T.CenterCrop(16)), "boxes": C.Boxes(), "labels": C.Ragged(), "area": C.Ragged()}
    (batch, *_) = batches(tmp_path, columns)  # without a warning: a crop may miss a box or two
    assert [numpy.asarray(batch[name]).size for name in ("boxes", "labels", "area")] == [0, 0, 0]


def test_shapes_and_masks_are_turned(tmp_path):
    left, top, right, bottom = BOX
    data = coco(tmp_path, BOTH, segmentation=[[left, top, right, top, right, bottom, left, bottom]])
    data = sluice.Dataset(data, fields={"image": "image", "boxes": "boxes", "labels": "labels", "shapes": "segmentation"})
    columns = {
        "image": whole(), "boxes": C.Boxes(shapes="shapes"), "masks": C.Instances("shapes", length=2), "map": C.Mask("shapes", labels="labels"),
    }  # fmt: skip
    for exif in ("auto", "apply", "ignore"):
        for batch in batches(data, columns, exif=exif):
            picture = numpy.asarray(batch["image"])[0][..., 0] > 127
            (masks,) = batch.pictures("masks")
            assert (numpy.asarray(masks)[0].astype(bool) != picture).sum() <= 8  # a JPEG's edge
            assert inside(numpy.asarray(batch["image"])[0], numpy.asarray(batch["boxes"])[0])[0] > 240


# ---- masks: by their own size ----


def masks(path, orientation, turned, square=False):
    """Writes a folder with one image and its mask, which fits either the upright image or the stored one."""
    image = upright(orientation)
    image = image.crop((0, 0, HEIGHT, HEIGHT)) if square else image
    save(path / "images" / "0.png", image, orientation)
    mask = image.convert("L")
    if not turned:
        with Image.open(path / "images" / "0.png") as stored:
            mask = Image.frombytes("L", stored.size, stored.convert("L").tobytes())
    (path / "masks").mkdir()
    mask.save(path / "masks" / "0.png")
    return path


def check_mask(data, exif, **arguments):
    (batch,) = batches(data, {"image": whole("image"), "m": C.Mask("mask", **arguments)}, exif=exif)
    (mask,) = batch.pictures("m")
    picture = numpy.asarray(batch["image"])[0][..., 0]
    assert picture.any() and (numpy.asarray(mask).reshape(picture.shape) == picture).all()


@pytest.mark.parametrize("square", [False, True])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_folder_of_masks(tmp_path, orientation, square):
    told = orientation == 1 or (orientation > 4 and not square)
    for turned in (False, True):
        way = "upright" if turned else "stored"
        folder = masks(tmp_path / way, orientation, turned, square)
        assert sluice.Dataset(folder).fields["mask"].meaning == {"role": "mask", "orientation": "by_size"}
        sluice.pack(folder, tmp_path / f"{way}.packed", progress=False)
        ways = [(folder, "auto"), (folder, "apply"), (folder, "ignore"), (tmp_path / f"{way}.packed", "auto")]
        for data, exif in ways:
            check_mask(data, exif, orientation=way)
            if told:
                check_mask(data, exif)
                continue
            words = f'orientation {orientation}, .* "mask" does not show .* give column "m" orientation upright or stored'
            with pytest.raises(sluice.CorruptError, match=words):
                check_mask(data, exif)


def test_bad_masks_are_counted(tmp_path):
    """They are bad samples, others are not."""
    for orientation in range(1, 9):
        made = masks(tmp_path / str(orientation), orientation, True)
        for folder in ("images", "masks"):
            (tmp_path / "all" / folder).mkdir(parents=True, exist_ok=True)
            (made / folder / "0.png").rename(tmp_path / "all" / folder / f"{orientation}.png")
    columns = {"image": whole("image"), "m": C.Mask("mask")}
    found = [int(numpy.asarray(batch["status"])[0]) != 0 for batch in batches(tmp_path / "all", columns, on_bad_sample="mask", shuffle=False)]
    assert found == [orientation in (2, 3, 4) for orientation in range(1, 9)]


def test_a_mask_without_a_meaning(tmp_path):
    """It is oriented like the decoded image."""
    folder = masks(tmp_path / "folder", 3, False)
    with sluice.Writer(tmp_path / "d", {"image": "image", "mask": "image"}) as writer:
        writer.add(image=(folder / "images" / "0.png").read_bytes(), mask=(folder / "masks" / "0.png").read_bytes())
    check_mask(tmp_path / "d", "auto")


def test_pixels_would_forget_it(tmp_path):
    folder = masks(tmp_path / "folder", 3, True)
    with pytest.raises(sluice.CorruptError, match='orientation 3, and the size of "mask" does not show'):
        sluice.pack(folder, tmp_path / "packed", progress=False, raw=True)


@pytest.mark.parametrize("picture, words", [((3, True), "its size does not show"), ((6, True, None, None), "no width and height show")])
def test_pixels_would_forget_boxes(tmp_path, picture, words):
    data = coco(tmp_path / "coco", [(1, True), picture])
    with pytest.raises(sluice.CorruptError, match=f"EXIF orientation {picture[0]}, and {words} in which orientation it was annotated"):
        sluice.pack(data, tmp_path / "packed", progress=False, raw=True)


def test_panoptic_masks(tmp_path):
    """Decided by the size of the mask, which equals the size in the JSON; half turns are undetectable."""
    for orientation, turned in [*BOTH, (2, True), (3, False), (4, True)]:
        name = f"{orientation}{turned}"
        folder = masks(tmp_path / name, orientation, turned)
        with Image.open(folder / "masks" / "0.png") as mask:
            size = mask.size
            rgb = Image.merge("RGB", (mask.point(lambda value: value and 7), Image.new("L", size), Image.new("L", size)))
        (folder / "annotations" / "panoptic_val").mkdir(parents=True)
        rgb.save(folder / "annotations" / "panoptic_val" / "0.png")
        (folder / "masks" / "0.png").unlink()
        (folder / "masks").rmdir()
        (folder / "images").rename(folder / "val")
        (folder / "annotations" / "panoptic_val.json").write_text(json.dumps({
            "images": [{"id": 0, "file_name": "0.png", "width": size[0], "height": size[1]}],
            "annotations": [{"image_id": 0, "file_name": "0.png", "segments_info": [
                {"id": 7, "category_id": 1, "bbox": [0, 0, 1, 1], "area": 160, "iscrowd": 0}]}],
            "categories": [{"id": 1, "name": "thing", "isthing": 1}],
        }))  # fmt: skip
        columns = {"image": whole("image"), "m": C.Mask("panoptic", channels=3)}
        for exif in ("auto", "apply", "ignore"):
            if orientation in (2, 3, 4):
                with pytest.raises(sluice.CorruptError, match='size of "panoptic" does not show .* give column "m"'):
                    list(batches(folder / "annotations" / "panoptic_val.json", columns, exif=exif))
                continue
            (batch,) = batches(folder / "annotations" / "panoptic_val.json", columns, exif=exif)
            (mask,) = batch.pictures("m")
            assert ((numpy.asarray(mask)[..., 0] == 7) == (numpy.asarray(batch["image"])[0][..., 0] > 127)).all()


@pytest.mark.parametrize("how", [{"raw": True}, {}])
def test_packed_it_is_the_same(tmp_path, how):
    """Pixels have no EXIF, and are stored the way up that they were annotated."""
    data = coco(tmp_path / "coco", BOTH)
    sluice.pack(data, tmp_path / "packed", progress=False, **how)
    columns = {"image": whole(), "boxes": C.Boxes(format="xywh"), "labels": C.Ragged(length=9, follows="boxes")}
    for exif in ("auto",) if not how else ("auto", "apply", "ignore"):
        seen = 0
        for batch in batches(tmp_path / "packed", columns, exif=exif):
            white, black = inside(numpy.asarray(batch["image"])[0], numpy.asarray(batch["boxes"])[0])
            assert white > 240 and black < 15
            seen += 1
        assert seen == len(BOTH)


def test_smaller_pictures_lose_their_places(tmp_path):
    data = coco(tmp_path / "coco", BOTH)
    with pytest.raises(sluice.InvalidError, match='"boxes" has positions in pixels, .* leave out max_side'):
        sluice.pack(data, tmp_path / "packed", progress=False, max_side=32)
    data = sluice.Dataset(data, fields={"image": "image", "width": "width", "height": "height"})
    sluice.pack(data, tmp_path / "packed", progress=False, max_side=32)
    with sluice.Loader(tmp_path / "packed", 1, columns={"image": whole()}) as loader:
        assert {numpy.asarray(batch["image"]).shape[1:3] for batch in loader} == {(24, 32), (32, 24)}


# ---- warnings of any loader ----


def test_a_mean_of_eight_bits(tmp_path):
    made = io.BytesIO()
    Image.new("RGB", (8, 8)).save(made, "PNG")
    with sluice.Writer(tmp_path / "d", {"image": "image", "label": "int"}) as writer:
        writer.add(image=made.getvalue(), label=0)
    recipe = [T.Resize((8, 8)), T.ToTensor(), T.Normalize((123.675, 116.28, 103.53), (58.395, 57.12, 57.375))]
    with pytest.warns(UserWarning, match="mean 123.675, 116.28, 103.53, .* divide mean and deviation by 255"):
        sluice.Loader(tmp_path / "d", 1, transform=recipe).close()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sluice.Loader(tmp_path / "d", 1, transform=[T.Resize((8, 8)), T.ToTensor(), T.Normalize((0.485, 0.456, 0.406), (1, 1, 1))]).close()


def test_boxes_in_another_format_say_so(tmp_path):
    made = io.BytesIO()
    Image.new("RGB", (8, 8)).save(made, "PNG")
    with sluice.Writer(tmp_path / "d", {"image": "image", "boxes": ("tensor", "float32", (0, 4))}) as writer:
        writer.add(image=made.getvalue(), boxes=numpy.array([[5, 5, 2, 2]], "float32"))
    with pytest.raises(sluice.CorruptError, match='right edge left of the left one, or its lower edge above the upper one: .* write format="xywh"'):
        list(batches(tmp_path / "d", {"image": whole(), "boxes": C.Boxes()}))
