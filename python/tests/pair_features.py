# SPDX-License-Identifier: Apache-2.0
"""
Features of rows, each with what it adds to a loader and a model of what its rows have to be. test_pairs.py runs each with each.

Samples say in every pixel where they are from: red and green are twice x and y, blue says which sample; everything else that
a sample has (boxes, points, shapes, masks, labels) says the same again. So a model looks at a row alone, whatever else is in the loader:
a box's label is of the sample whose pixels are in the middle of it, in a mosaic or not.
"""
import ctypes
import io
import json
import os
import pathlib

import numpy
from PIL import Image

import sluice
from sluice import columns as C
from sluice import transforms as T

COUNT, CLASSES, BOXES, BAD, SIZE, SEED = 20, 4, 3, 5, 40, 3
FILL = 251  # of masks
MOST = 64  # boxes of a row
NEAREST = "nearest"


def blue(sample):
    return 20 + 10 * (sample % COUNT)


def sample_of(colour):
    """The sample that a blue is of, or -1: a border's colour."""
    near = numpy.rint((numpy.asarray(colour, float) - 20) / 10).astype(int)
    return numpy.where((numpy.abs(20 + 10 * near - colour) <= 3) & (near >= 0) & (near < COUNT), near, -1)


def png(array):
    made = io.BytesIO()
    Image.fromarray(array).save(made, "PNG")
    return made.getvalue()


def turned_jpeg(array):
    """A JPEG that is stored on its side."""
    made, exif = io.BytesIO(), Image.Exif()
    exif[0x112] = 6
    Image.fromarray(array).transpose(Image.Transpose.ROTATE_90).save(made, "JPEG", quality=100, subsampling=0, exif=exif)
    return made.getvalue()


def size_of(sample):
    random = numpy.random.RandomState(sample)
    return tuple(int(side) for side in random.randint(50, 90, 2))


def parts_of(sample):
    height, width = size_of(sample)
    random = numpy.random.RandomState(1000 + sample)
    corners = numpy.stack([random.randint(0, width - 24, BOXES), random.randint(0, height - 24, BOXES)], axis=1)
    boxes = numpy.concatenate([corners, corners + 16 + random.randint(0, 8, (BOXES, 2))], axis=1).astype("float32")
    points = numpy.concatenate([(boxes[:, :2] + boxes[:, 2:]) / 2, numpy.full((BOXES, 1), 2)], axis=1).astype("float32")
    return boxes, points


def class_of(sample):
    return sample % COUNT % CLASSES


FIELDS = {
    "image": "image", "mask": "image", "boxes": ("tensor", "float32", (0, 4)), "points": ("tensor", "float32", (0, 3)), "seg": "text",
    "labels": ("tensor", "int64", (0,)), "label": "int", "grid": ("tensor", "int32", (4,)), "tokens": ("tensor", "int32", (0,)),
}  # fmt: skip


def write(path, encode, bad):
    """The samples; of the one that is `bad` a byte is exchanged, so that its checksum says so."""
    with sluice.Writer(path, FIELDS) as writer:
        for i in range(COUNT):
            height, width = size_of(i)
            y, x = numpy.mgrid[0:height, 0:width]
            picture = numpy.stack([2 * x, 2 * y, numpy.full_like(x, blue(i))], axis=-1).astype("uint8")
            boxes, points = parts_of(i)
            shapes = [[[float(v) for v in (b[0], b[1], b[2], b[1], b[2], b[3], b[0], b[3])]] for b in boxes]
            writer.add(
                image=encode(picture), mask=png(picture[:, :, 2].copy()), boxes=boxes, points=points, seg=json.dumps(shapes),
                labels=numpy.arange(BOXES) + BOXES * i + 1, label=class_of(i), grid=numpy.arange(4, dtype="int32") + 4 * i,
                tokens=numpy.arange(16, dtype="int32") + 16 * i,
            )  # fmt: skip
    if bad:
        place = sluice.Dataset(path).sample(BAD)
        content = bytearray(pathlib.Path(place["file"]).read_bytes())
        content[place["offset"] + place["bytes"] // 2] ^= 255
        pathlib.Path(place["file"]).write_bytes(content)
    return path


def write_tokens(path):
    """Plain, so that windows can be read of them."""
    with sluice.Writer(path, {"tokens": ("tensor", "int32", (0,))}, zstd="off") as writer:
        for i in range(COUNT):
            writer.add(tokens=numpy.arange(16, dtype="int32") + 16 * i)
    return path


class Plan:
    """A loader in the making."""

    def __init__(self):
        self.first, self.cuts, self.sized, self.layers, self.colours, self.mixes = [], [], [], [], [], []
        self.image, self.columns, self.others, self.options, self.boxes = {}, {}, {}, {}, {}
        self.encode, self.bad, self.dataset = "png", False, None
        self.batch, self.bare = 4, False

    def open(self, folder):
        steps = [*self.first, *self.cuts, *(self.sized or [T.Resize((SIZE, SIZE), NEAREST)]), *self.layers, *self.colours, *self.mixes]
        others = sorted(self.others.items(), key=lambda item: item[0] != "view")  # which draws by its number
        only = self.bare and len(self.columns) == 1 and not (self.others or self.boxes or self.sized or len(steps) > 1)
        data = folder("tokens" if only else self.encode, self.bad)
        columns = {} if only else {**dict(others), "image": C.Image("image", transform=steps, **self.image)}
        if self.boxes:
            options = {"length": MOST, "follows": "image"} | {k: v for k, v in self.boxes.items() if k != "any"}
            columns["boxes"] = C.Boxes("boxes", **options)
            columns["boxes.labels"] = C.Ragged("labels", length=MOST, follows="boxes")
        columns |= {name: column() for name, column in self.columns.items()}
        options = {"seed": SEED, "num_workers": 1, "last_batch": "short", "shuffle": True, "ignore_index": -9} | self.options
        return sluice.Loader(self.dataset(data) if self.dataset else data, self.batch, columns=columns, **options)


class Row:
    """What a batch has of one row, each array under its column's name."""

    def __init__(self, values, number, plan):
        self.number, self.values, self.plan = number, values, plan
        self.index, self.used, self.status = (int(values[name][number]) for name in ("index", "mask", "status"))

    def has(self, name):
        return name in self.values

    def of(self, name):
        value = self.values[name]
        offsets = self.values.get(name + ".offsets")
        if offsets is not None:
            value = value[offsets[self.number] : offsets[self.number + 1]]
            sizes = self.values.get(name + ".sizes")
            return value if sizes is None else value.reshape(*sizes[self.number], *value.shape[1:])
        value = value[self.number]
        sizes = self.values.get(name + ".sizes")
        if sizes is not None:
            value = value[: sizes[self.number][0], : sizes[self.number][1]]
        lengths = self.values.get(name + ".lengths")
        return value if lengths is None else value[: lengths[self.number]]

    @property
    def is_empty(self):
        """Of no sample: masked, or padding."""
        return self.status in (2, 3)

    @property
    def sample(self):
        return self.index % COUNT

    @property
    def picture(self):
        """Of what the shared draw did, which the twin shows, it is set free."""
        made = self.of("image").astype(int)
        return 255 - made if self.inverted else made

    @property
    def inverted(self):
        return self.has("twin") and sample_of(numpy.median(self.of("twin")[..., 2])) != self.sample

    @property
    def is_several(self):
        """Whether there may be more than its own sample."""
        return bool(self.plan.first or self.plan.layers)

    @property
    def is_blended(self):
        shares = [self.values[name][self.number] for name in ("image.share", "image.weight") if name in self.values]
        return any(share != 1 for share in shares)


DRIVER = os.environ.get("SLUICE_CUDA_DRIVER")


def array(tensor):
    """Its values, wherever they are."""
    if not str(tensor.device).startswith("cuda"):
        return tensor.numpy().copy()
    driver, context = ctypes.CDLL(DRIVER), ctypes.c_void_p()
    driver.cuInit(0), driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), driver.cuCtxPushCurrent_v2(context)
    buffer, stream = ctypes.create_string_buffer(max(tensor.nbytes, 1)), ctypes.c_void_p(1)
    tensor.__dlpack__(stream=1)
    if tensor.nbytes:
        assert driver.cuMemcpyDtoHAsync_v2(buffer, ctypes.c_uint64(tensor.data_ptr), ctypes.c_size_t(tensor.nbytes), stream) == 0
        assert driver.cuStreamSynchronize(stream) == 0
    driver.cuCtxPopCurrent_v2(ctypes.byref(context)), driver.cuDevicePrimaryCtxRelease_v2(0)
    return numpy.frombuffer(buffer.raw[: tensor.nbytes], tensor.dtype).reshape(tensor.shape).copy()


def rows_of(loader, plan):
    """Of an epoch; and what each batch is."""
    batches = []
    for batch in loader:
        values = {name: array(value) for name, value in batch.items()} | {name: array(batch[name]) for name in ("index", "mask", "status")}
        batches.append([Row(values, number, plan) for number in range(len(values["index"]))])
    return batches


# ---- models ----


def shown(row):
    """(y, x, sample) of the pixels of the picture that are some sample's; none of a blend."""
    samples = sample_of(row.picture[..., 2])
    y, x = numpy.nonzero(samples >= 0)
    return y, x, samples[y, x]


def check_image(batches):
    """Nothing is in a picture but its sample, unless its recipe has others; and nothing in a row of no sample."""
    for row in (row for batch in batches for row in batch):
        if row.is_empty:
            assert (row.of("image") == 0).all()
        elif not row.is_blended and not row.is_several:
            samples = shown(row)[2]
            assert len(samples) > 0 and (samples == row.sample).all()


def used(batches):
    return [row for batch in batches for row in batch if row.used]


def check_mask(batches):
    for row in (row for batch in batches for row in batch):
        mask = row.of("classes").astype(int)
        if row.is_empty:
            assert (mask == FILL).all()
        elif not row.is_blended:
            inside = mask != FILL
            assert mask.shape == row.picture.shape[:2]
            assert numpy.abs(row.picture[..., 2] - mask)[inside].max(initial=0) <= 4
            assert (sample_of(row.picture[..., 2])[~inside] == -1).all()


def check_boxes(batches):
    for row in used(batches):
        boxes, labels = row.of("boxes"), row.of("boxes.labels")
        assert len(boxes) == len(labels)
        height, width = row.picture.shape[:2]
        assert (boxes[:, :2] >= 0).all() and (boxes[:, 2:] <= [width, height]).all() and (boxes[:, 2:] >= boxes[:, :2]).all()
        right = [owner_at(row, (b[0] + b[2]) / 2, (b[1] + b[3]) / 2) == (label - 1) // BOXES for b, label in zip(boxes, labels)]
        assert row.is_blended or sum(right) >= (0.3 if row.plan.layers else 0.6) * len(right)  # what is pasted lies over some
    assert any(len(row.of("boxes")) for row in used(batches))


def owner_at(row, x, y):
    height, width = row.picture.shape[:2]
    return int(sample_of(row.picture[min(int(y), height - 1), min(int(x), width - 1), 2]))


def check_points(batches):
    met = right = 0
    for row in used(batches):
        points = row.of("points")
        for x, y, v in points[points[:, 2] > 1] if not row.is_blended else []:
            owner = owner_at(row, x, y)
            if owner >= 0:
                red, green = row.picture[int(y), int(x), :2] / 2
                met += 1
                right += (numpy.abs(parts_of(owner)[1][:, :2] - [red, green]).max(axis=1) < 8).any()
    assert right >= 0.8 * met


def check_instances(batches):
    for row in used(batches):
        masks = instance_masks(row)
        boxes = row.of("boxes")
        assert len(masks) == len(boxes)
        for mask, box, label in zip(masks, boxes, row.of("boxes.labels")):
            y, x = numpy.nonzero(mask)
            if len(y) and not row.is_blended:
                assert box[0] - 2 <= x.min() and x.max() <= box[2] + 2 and box[1] - 2 <= y.min() and y.max() <= box[3] + 2
                assert (sample_of(row.picture[y, x, 2]) == (label - 1) // BOXES).mean() > 0.5


def instance_masks(row):
    shapes = row.values.get("masks.shapes")
    if shapes is None:
        return row.of("masks")
    flat, (count, height, width) = row.of("masks"), shapes[row.number]
    return flat.reshape(count, height, width)


def check_class_map(batches):
    for row in (row for batch in batches for row in batch):
        made = row.of("map").astype(int)
        if row.is_empty:
            assert (made == FILL).all()
        elif row.is_blended:
            assert row.has("image.weight") or (made[made != FILL] <= BOXES * COUNT).all()  # of both, drawn one after the other
        else:
            y, x = numpy.nonzero((made != FILL) & (made != 0))
            assert (sample_of(row.picture[y, x, 2]) == (made[y, x] - 1) // BOXES).all()
            assert (sample_of(row.picture[..., 2])[made == FILL] == -1).all()


def check_geometry(batches):
    for row in used(batches):
        if row.is_blended:
            continue
        y, x, samples = shown(row)
        own = samples == row.sample
        y, x = y[own], x[own]
        at = numpy.linalg.inv(row.of("at")) @ numpy.stack([x + 0.5, y + 0.5, numpy.ones(len(x))])
        u, v = at[:2] / at[2]
        red, green = row.picture[y, x, 0] / 2, row.picture[y, x, 1] / 2
        far = 1.5 + 1.5 / row.of("at.scale")  # a pixel of the output, and JPEG's own error
        right = (numpy.abs(u - 0.5 - red) <= far[0]) & (numpy.abs(v - 0.5 - green) <= far[1])
        assert len(y) == 0 or right.mean() > (0.2 if row.is_several else 0.95)  # it may be its own partner
        height, width = size_of(row.sample)
        assert row.of("at.size").tolist() == [height, width]


def check_padded(batches):
    for row in used(batches):
        assert row.of("padded").tolist() == row.of("boxes.labels").tolist()


def check_tensor(batches):
    for row in used(batches):
        assert row.of("grid").tolist() == [4 * row.sample + i for i in range(4)]


def check_one_hot(batches):
    for row in used(batches):
        assert row.of("hot").tolist() == [class_of(row.sample) == i for i in range(CLASSES)]


def check_number(batches):
    for row in (row for batch in batches for row in batch):
        assert row.of("number") == (class_of(row.sample) if not row.is_empty else -9)


def check_shared(batches):
    met = set()
    for row in used(batches):
        if not row.is_blended and not row.is_several:
            made, twin = (sample_of(numpy.median(row.of(name)[..., 2])) for name in ("image", "twin"))
            met.add(bool(row.inverted))
            assert (made == row.sample) == (twin == row.sample)
    assert met <= {True, False}


def check_at_least_one(batches):
    kept = [len(row.of("boxes")) > 0 for row in used(batches)]
    assert sum(kept) >= 0.95 * len(kept)


def check_replaced(batches):
    rows = [row for batch in batches for row in batch]
    assert all(row.index != BAD for row in rows)
    assert any(row.status == 1 for row in rows)  # SLUICE_ROW_REPLACED


def check_masked(batches):
    rows = [row for batch in batches for row in batch]
    assert all(row.index != BAD for row in rows if row.used) and any(row.status == 2 for row in rows)
    assert all(row.is_empty != bool(row.used) or row.status == 4 for row in rows)


def check_buckets(batches):
    for batch in batches:
        shapes = {row.of("image").shape[:2] for row in batch}
        assert len(shapes) == 1 and shapes <= {(40, 56), (56, 40)}


def check_sizes(batches):
    for row in (row for batch in batches for row in batch):
        height, width = row.of("image").shape[:2]
        assert (height == width == 0) if row.is_empty else min(height, width) > 0


def check_joined(batches):
    assert {row.index // COUNT for row in used(batches)} == {0, 1}


def check_episodes(batches):
    for batch in batches:
        numbers = [row.sample for row in batch if not row.is_empty]
        if len(numbers) == 4:
            classes = [class_of(n) for n in numbers]
            assert len(set(classes)) == 2 and all(classes.count(c) == 2 for c in classes)


def check_partners(batches):
    for row in used(batches):
        samples = sample_of(row.of("partner")[..., 2])
        assert (samples == samples[0, 0]).all() and class_of(int(samples[0, 0])) == class_of(row.sample)
        assert row.of("partner.label") == class_of(row.sample)


def check_view(batches, alone):
    for row in used(batches):
        assert (sample_of(row.of("view")[..., 2]) == row.sample).all()
        if row.index < COUNT:
            assert (row.of("view") == alone[row.index]).all()


def check_all_rows(batches):
    """As many as the epoch has, of whole batches."""
    assert len({len(batch) for batch in batches}) == 1


def check_mosaic(batches):
    clean = [len(set(shown(row)[2].tolist())) for row in used(batches) if not row.is_blended]
    assert not clean or max(clean) > 1


def check_window(batches):
    for row in used(batches):
        assert row.of("tokens").tolist() == [4 * (row.index % (4 * COUNT)) + i for i in range(4)]


def check_share(batches):
    shares = [float(row.of("image.share")) for row in used(batches)]
    assert all(0 < share <= 1 for share in shares) and any(share < 1 for share in shares)


def check_mixing(batches):
    for batch in batches:
        for row in batch:
            partner, weight = int(row.of("image.partner")), float(row.of("image.weight"))
            assert 0 <= partner < len(batch) and 0 <= weight <= 1
            assert partner != row.number or weight == 1


def check_pasted(batches):
    for row in used(batches):
        _, _, samples = shown(row)
        assert row.is_blended or row.plan.first or (samples == row.sample).any()


# ---- features ----


class Feature:
    """`add` takes it into a plan; `check` looks at an epoch's batches; `covers`: the library's names of what it is. Of those of one
    `slot` a loader has one: they are values of one option."""

    def __init__(self, name, add, check, covers=(), slot=None):
        self.name, self.add, self.check, self.covers, self.slot = name, add, check, covers, slot


def sets(**attributes):
    def add(plan):
        for name, value in attributes.items():
            own = getattr(plan, name)
            if isinstance(own, dict):
                own.update(value)
            elif isinstance(own, list):
                own.extend(value)
            else:
                setattr(plan, name, value)

    return add


def follower(name, column, boxes=None):
    return sets(columns={name: column}, **({} if boxes is None else {"boxes": boxes}))


def small(transform):
    return C.Image("image", transform=transform)


INVERTED = T.Shared([T.RandomInvert(0.5)], key=1)
RESIZED = T.Resize((24, 24), NEAREST)
SAMPLE_CLASSES = [class_of(i) for i in range(COUNT)]
TWICE = [class_of(i) for i in range(2 * COUNT)]


def join(how):
    def add(plan):
        plan.dataset = lambda data: how([sluice.Dataset(data), sluice.Dataset(data)])
        for name, value in (("classes", TWICE), ("sizes", [size_of(i % COUNT) for i in range(2 * COUNT)])):
            if name in plan.options:
                plan.options[name] = value

    return add


def per_sample(plan, name, of):
    plan.options[name] = [of(i % COUNT) for i in range(COUNT if plan.dataset is None else 2 * COUNT)]


def buckets(plan):
    sets(sized=[T.BucketCrop(interpolation=NEAREST)], options={"buckets": [(40, 56), (56, 40)]})(plan)
    per_sample(plan, "sizes", size_of)


def episodes(plan):
    sets(options={"episode": (2, 2), "episodes": 6}, batch=4)(plan)
    per_sample(plan, "classes", class_of)


def partners(plan):
    sets(others={"partner": C.Image("image", transform=RESIZED, partner=1)}, columns={"partner.label": lambda: C.Number("label", partner=1)},
         options={"partners": ["same_class"]})(plan)  # fmt: skip
    per_sample(plan, "classes", class_of)


def window(plan):
    """Alone: a loader of windows has nothing else."""
    plan.columns["tokens"], plan.bare = (lambda: C.Window(length=4)), True


FEATURES = [
    Feature("mosaic", sets(first=[T.Mosaic(SIZE)]), check_mosaic, ["mosaic"]),
    Feature("mixup_partner", sets(layers=[T.MixUpPartner(p=0.5)]), check_share, ["mixup_partner"]),
    Feature("copy_paste", sets(layers=[T.CopyPaste(p=1.0)], boxes={"shapes": "seg"}), check_pasted, ["copy_paste"]),
    Feature("mixup", sets(mixes=[T.MixUp()]), check_mixing, ["mixup"]),
    Feature("cutmix", sets(mixes=[T.CutMix()]), check_mixing, ["cutmix"]),
    Feature("timm_mix", sets(mixes=[T.MixUp.timm(cutmix_alpha=1.0, label_smoothing=0, num_classes=None)]), check_mixing, ["timm_mix"]),
    Feature("random_iou_crop", sets(cuts=[T.RandomIoUCrop()], boxes={"any": True}), check_boxes, ["random_iou_crop"]),
    Feature("shared", sets(colours=[INVERTED], others={"twin": small([RESIZED, INVERTED])}), check_shared, ["shared"]),
    Feature("number", follower("number", lambda: C.Number("label")), check_number, ["number"]),
    Feature("one_hot", follower("hot", lambda: C.OneHot(CLASSES, "label")), check_one_hot, ["one_hot"]),
    Feature("tensor", follower("grid", lambda: C.Tensor()), check_tensor, ["tensor"]),
    Feature("window", window, check_window, ["window"]),
    Feature("mask", follower("classes", lambda: C.Mask("mask", fill=FILL, follows="image")), check_mask, ["mask"]),
    Feature("map of classes", follower("map", lambda: C.Mask("seg", labels="labels", fill=FILL, follows="image")), check_class_map, ["mask"]),
    Feature("boxes, ragged labels", sets(boxes={"any": True}), check_boxes, ["boxes", "ragged"]),
    Feature("boxes of shapes", sets(boxes={"shapes": "seg"}), check_boxes, ["boxes"]),
    Feature("at_least_one", sets(boxes={"at_least_one": True}, cuts=[T.RandomResizedCrop(30, (0.1, 0.3), interpolation=NEAREST)]), check_at_least_one, ["boxes"]),
    Feature("padded labels", follower("padded", lambda: C.Padded("labels", length=MOST, follows="boxes"), {"any": True}), check_padded, ["padded"]),
    Feature("points", follower("points", lambda: C.Points(length=MOST, point_values=3, follows="boxes"), {"any": True}), check_points, ["points"]),
    Feature("instances", follower("masks", lambda: C.Instances("seg", length=MOST, follows="boxes"), {"shapes": "seg"}), check_instances, ["instances"]),
    Feature("geometry", follower("at", lambda: C.Geometry(follows="image")), check_geometry, ["geometry"]),
    Feature("views", sets(others={"view": small([T.RandomResizedCrop(20, interpolation=NEAREST), T.RandomHorizontalFlip()])}), None, ["image"]),
    Feature("partners", partners, check_partners, ["partners"]),
    Feature("padded sizes", sets(sized=[T.RandomShortestSize([36, 40], 60, NEAREST)], image={"sizes": "padded", "max_size": (80, 80)}), check_sizes, ["sizes"], "sizes"),
    Feature("ragged sizes", sets(sized=[T.RandomShortestSize([36, 40], 60, NEAREST)], image={"sizes": "ragged", "max_size": (80, 80)}), check_sizes, ["sizes"], "sizes"),
    Feature("buckets", buckets, check_buckets, ["buckets"]),
    Feature("replace", sets(bad=True, options={"on_bad_sample": "replace"}), check_replaced, ["on_bad_sample=replace"], "policy"),
    Feature("mask bad samples", sets(bad=True, options={"on_bad_sample": "mask"}), check_masked, ["on_bad_sample=mask"], "policy"),
    Feature("shuffle block", sets(options={"shuffle": "block", "block_samples": 4}), check_image, ["shuffle=block"], "shuffle"),
    Feature("no shuffle", sets(options={"shuffle": False}), check_image, ["shuffle=none"], "shuffle"),
    Feature("last_batch pad", sets(options={"last_batch": "pad"}, batch=6), check_all_rows, ["last_batch=pad"], "last"),
    Feature("last_batch repeat", sets(options={"last_batch": "repeat"}, batch=6), check_all_rows, ["last_batch=repeat"], "last"),
    Feature("mix", join(sluice.mix), check_joined, ["mix"], "dataset"),
    Feature("concat", join(sluice.concat), check_joined, ["concat"], "dataset"),
    Feature("episodes", episodes, check_episodes, ["episode", "episodes"]),
    Feature("exif", sets(encode="jpeg", options={"exif": True}), check_image, ["exif=apply"]),
    Feature("exact", sets(options={"exact": True}), check_image, ["exact"]),
    Feature("device cuda", sets(options={"device": "cuda"}), check_image, ["device"]),
]
