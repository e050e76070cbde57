# SPDX-License-Identifier: Apache-2.0
"""
Features of rows, each with what it adds to a loader and a model of what its rows have to be (pair_models.py). test_pairs.py runs each with each.
"""
import pair_models as models
from pair_rows import CLASSES, COUNT, FILL, MOST, NEAREST, SEED, SIZE, class_of, size_of

import sluice
from sluice import columns as C
from sluice import transforms as T


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
    Feature("mosaic", sets(first=[T.Mosaic(SIZE)]), models.check_mosaic, ["mosaic"]),
    Feature("mixup_partner", sets(layers=[T.MixUpPartner(p=0.5)]), models.check_share, ["mixup_partner"]),
    Feature("copy_paste", sets(layers=[T.CopyPaste(p=1.0)], boxes={"shapes": "seg"}), models.check_pasted, ["copy_paste"]),
    Feature("mixup", sets(mixes=[T.MixUp()]), models.check_mixing, ["mixup"]),
    Feature("cutmix", sets(mixes=[T.CutMix()]), models.check_mixing, ["cutmix"]),
    Feature("timm_mix", sets(mixes=[T.MixUp.timm(cutmix_alpha=1.0, label_smoothing=0, num_classes=None)]), models.check_mixing, ["timm_mix"]),
    Feature("random_iou_crop", sets(cuts=[T.RandomIoUCrop()], boxes={"any": True}), models.check_boxes, ["random_iou_crop"]),
    Feature("shared", sets(colours=[INVERTED], others={"twin": small([RESIZED, INVERTED])}), models.check_shared, ["shared"]),
    Feature("number", follower("number", lambda: C.Number("label")), models.check_number, ["number"]),
    Feature("one_hot", follower("hot", lambda: C.OneHot(CLASSES, "label")), models.check_one_hot, ["one_hot"]),
    Feature("tensor", follower("grid", lambda: C.Tensor()), models.check_tensor, ["tensor"]),
    Feature("window", window, models.check_window, ["window"]),
    Feature("mask", follower("classes", lambda: C.Mask("mask", fill=FILL, follows="image")), models.check_mask, ["mask"]),
    Feature("map of classes", follower("map", lambda: C.Mask("seg", labels="labels", fill=FILL, follows="image")), models.check_class_map, ["mask"]),
    Feature("boxes, ragged labels", sets(boxes={"any": True}), models.check_boxes, ["boxes", "ragged"]),
    Feature("boxes of shapes", sets(boxes={"shapes": "seg"}), models.check_boxes, ["boxes"]),
    Feature("at_least_one", sets(boxes={"at_least_one": True}, cuts=[T.RandomResizedCrop(30, (0.1, 0.3), interpolation=NEAREST)]), models.check_at_least_one, ["boxes"]),
    Feature("padded labels", follower("padded", lambda: C.Padded("labels", length=MOST, follows="boxes"), {"any": True}), models.check_padded, ["padded"]),
    Feature("points", follower("points", lambda: C.Points(length=MOST, point_values=3, follows="boxes"), {"any": True}), models.check_points, ["points"]),
    Feature("instances", follower("masks", lambda: C.Instances("seg", length=MOST, follows="boxes"), {"shapes": "seg"}), models.check_instances, ["instances"]),
    Feature("geometry", follower("at", lambda: C.Geometry(follows="image")), models.check_geometry, ["geometry"]),
    Feature("views", sets(others={"view": small([T.RandomResizedCrop(20, interpolation=NEAREST), T.RandomHorizontalFlip()])}), None, ["image"]),
    Feature("partners", partners, models.check_partners, ["partners"]),
    Feature("padded sizes", sets(sized=[T.RandomShortestSize([36, 40], 60, NEAREST)], image={"sizes": "padded", "max_size": (80, 80)}), models.check_sizes, ["sizes"], "sizes"),
    Feature("ragged sizes", sets(sized=[T.RandomShortestSize([36, 40], 60, NEAREST)], image={"sizes": "ragged", "max_size": (80, 80)}), models.check_sizes, ["sizes"], "sizes"),
    Feature("buckets", buckets, models.check_buckets, ["buckets"]),
    Feature("replace", sets(bad=True, options={"on_bad_sample": "replace"}), models.check_replaced, ["on_bad_sample=replace"], "policy"),
    Feature("mask bad samples", sets(bad=True, options={"on_bad_sample": "mask"}), models.check_masked, ["on_bad_sample=mask"], "policy"),
    Feature("shuffle block", sets(options={"shuffle": "block", "block_samples": 4}), models.check_image, ["shuffle=block"], "shuffle"),
    Feature("no shuffle", sets(options={"shuffle": False}), models.check_image, ["shuffle=none"], "shuffle"),
    Feature("last_batch pad", sets(options={"last_batch": "pad"}, batch=6), models.check_all_rows, ["last_batch=pad"], "last"),
    Feature("last_batch repeat", sets(options={"last_batch": "repeat"}, batch=6), models.check_all_rows, ["last_batch=repeat"], "last"),
    Feature("mix", join(sluice.mix), models.check_joined, ["mix"], "dataset"),
    Feature("concat", join(sluice.concat), models.check_joined, ["concat"], "dataset"),
    Feature("episodes", episodes, models.check_episodes, ["episode", "episodes"]),
    Feature("exif", sets(encode="jpeg", options={"exif": True}), models.check_image, ["exif=apply"]),
    Feature("exact", sets(options={"exact": True}), models.check_image, ["exact"]),
    Feature("device cuda", sets(options={"device": "cuda"}), models.check_image, ["device"]),
]
