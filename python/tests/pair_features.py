# SPDX-License-Identifier: Apache-2.0
"""
Features of rows: each extends a loader, and has a model of the resulting rows (pair_models.py). test_pairs.py runs each with every other one.
"""
import functools

import pair_compare as compare
import pair_models as models
from following import SMALL
from pair_rows import CLASSES, COUNT, FEW, FILL, LARGE, MOST, NEAREST, SEED, SIZE, class_of, length_of, size_of, weight_of

import sluice
from sluice import columns as C
from sluice import transforms as T


class Plan:
    """A loader in the making."""

    def __init__(self):
        self.first, self.cuts, self.sized, self.layers, self.colours, self.mixes = [], [], [], [], [], []
        self.image, self.columns, self.others, self.options, self.boxes = {}, {}, {}, {}, {}
        self.encode, self.bad, self.lacks, self.dataset = "png", False, False, None
        self.batch, self.bare, self.copies, self.tables = 4, False, 1, {}

    @property
    def tiles(self):
        """Samples of one image."""
        return 4 if self.first else 1

    @property
    def is_float(self):
        return "dtype" in self.image

    def partners(self):
        """Returns columns that identify each partner sample, for rows that have partners."""
        count = self.tiles * (2 if self.layers else 1)
        return {f"of.{j}": C.Tensor("grid", partner=j) for j in range(1, count)}

    def open(self, folder, **options):
        steps = [*self.first, *self.cuts, *(self.sized or [T.Resize((SIZE, SIZE), NEAREST)]), *self.layers, *self.colours, *self.mixes]
        others = sorted(self.others.items(), key=lambda item: item[0] != "view")  # the view draws by its number
        only = self.bare and len(self.columns) == 1 and not (self.others or self.boxes or self.sized or self.image or len(steps) > 1)
        data = folder("tokens" if only else self.encode, self.bad, self.lacks)
        missing = {"missing": "blank"} if self.lacks else {}
        columns = {name: column(**missing) for name, column in others}
        columns |= {} if only else {"image": C.Image("image", transform=steps, **self.image, **missing)}
        if self.boxes:
            boxes = {"length": MOST, "follows": "image"} | {k: v for k, v in self.boxes.items() if k != "any"}
            columns["boxes"] = C.Boxes("boxes", **boxes)
            columns["boxes.labels"] = C.Ragged("labels", length=MOST, follows="boxes")
        columns |= {name: column() for name, column in self.columns.items()} | self.partners()
        tables = {name: [of(i % COUNT) for i in range(self.copies * COUNT)] for name, of in self.tables.items()}
        options = {"seed": SEED, "num_workers": 1, "last_batch": "short", "shuffle": True, "ignore_index": -9, **SMALL} | self.options | tables | options
        return sluice.Loader(self.dataset(data) if self.dataset else data, self.batch, columns=columns, **options)


class Feature:
    """
    `add` adds the feature to a plan, and `check` checks the batches of an epoch. `covers` lists the library's names for it. Features with the
    same `slot` are values of one option, which a loader has only once. `changes` names the columns that differ from the loader without the
    feature (None: any), and `compare` checks these against that loader, whose plan has `instead` in its place.
    """

    def __init__(self, name, add, check, covers=(), slot=None, changes=None, compare=None, instead=None):
        self.name, self.add, self.check, self.covers, self.slot = name, add, check, covers, slot
        self.changes, self.compare, self.instead = changes, compare, instead


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


def another(transform, **options):
    """Another image column of the same field."""
    return functools.partial(C.Image, "image", transform=transform, **options)


INVERTED = T.Shared([T.RandomInvert(0.5)], key=1)
RESIZED = T.Resize((24, 24), NEAREST)
def join(how, copies=2):
    def add(plan):
        plan.dataset, plan.copies = (lambda data: how([sluice.Dataset(data) for _ in range(copies)])), copies

    return add


def concat_in_mix(datasets):
    return sluice.mix([sluice.concat(datasets[:2]), datasets[2]])


def buckets(plan):
    sets(sized=[T.BucketCrop(interpolation=NEAREST)], options={"buckets": [(40, 56), (56, 40)]}, tables={"sizes": size_of})(plan)


episodes = sets(options={"episode": (2, 2), "episodes": 6}, batch=4, tables={"classes": class_of})
weights = sets(options={"num_samples": 80}, tables={"weights": weight_of})
lengths = sets(options={"length_groups": 3}, tables={"lengths": length_of})
partners = sets(others={"partner": another(RESIZED, partner=1)}, columns={"partner.label": lambda: C.Number("label", partner=1)},
                options={"partners": ["same_class"]}, tables={"classes": class_of})  # fmt: skip


def window(plan):
    """Combines with nothing: a loader of windows has no other columns."""
    plan.columns["tokens"], plan.bare = (lambda: C.Window(length=4)), True


def packed(plan):
    """Combines with nothing, like windows."""
    plan.columns["packed"], plan.bare = (lambda: C.Packed("tokens", length=40)), True


LARGER = {"large": lambda: C.Boxes("boxes", length=MOST, min_size=LARGE, follows="image"), "large.labels": lambda: C.Ragged("labels", length=MOST, follows="large")}
SAME = ()  # no column differs from the loader without the feature
MIXED = ("image", "image.mixed_with", "image.weight")
VARYING = [T.RandomShortestSize([36, 40], 60, NEAREST)]
FLOATS = {"layout": "NCHW", "dtype": "float32"}

FEATURES = [
    Feature("mosaic", sets(first=[T.Mosaic(SIZE)]), models.check_mosaic, ["mosaic"]),
    Feature("mixup_partner", sets(layers=[T.MixUpPartner(p=0.5)]), models.check_share, ["mixup_partner"], None,
            ("image", "image.share", *compare.FOLLOWERS), compare.check_blended),  # fmt: skip
    Feature("copy_paste", sets(layers=[T.CopyPaste(p=1.0)], boxes={"shapes": "seg"}), models.check_pasted, ["copy_paste"], None,
            ("image", "classes", "map", *compare.FOLLOWERS), compare.check_pasted, sets(boxes={"shapes": "seg"})),  # fmt: skip
    Feature("mixup", sets(mixes=[T.MixUp()]), models.check_mixing, ["mixup"], None, MIXED, compare.check_mixed(compare.is_blend)),
    Feature("cutmix", sets(mixes=[T.CutMix()]), models.check_mixing, ["cutmix"], None, MIXED, compare.check_mixed(compare.is_cut)),
    Feature("soft labels", sets(mixes=[T.MixUp()], columns={"soft": lambda: C.OneHot(CLASSES, "label", mixes="image")}), models.check_soft_labels, ["mixup"], None,
            MIXED, compare.check_mixed(compare.is_blend)),  # fmt: skip
    Feature("timm_mix", sets(mixes=[T.MixUp.timm(cutmix_alpha=1.0, label_smoothing=0, num_classes=None)]), models.check_mixing, ["timm_mix"], None,
            MIXED, compare.check_mixed(compare.is_blend, compare.is_cut)),  # fmt: skip
    Feature("random_iou_crop", sets(cuts=[T.RandomIoUCrop()], boxes={"any": True}), models.check_boxes, ["random_iou_crop"]),
    Feature("shared", sets(colours=[INVERTED], others={"twin": another([RESIZED, INVERTED])}), models.check_shared, ["shared"]),
    Feature("number", follower("number", lambda: C.Number("label")), models.check_number, ["number"], None, SAME),
    Feature("one_hot", follower("hot", lambda: C.OneHot(CLASSES, "label")), models.check_one_hot, ["one_hot"], None, SAME),
    Feature("tensor", follower("grid", lambda: C.Tensor()), models.check_tensor, ["tensor"], None, SAME),
    Feature("window", window, models.check_window, ["window"]),
    Feature("packed", packed, models.check_packed, ["packed"]),
    Feature("mask", follower("classes", lambda: C.Mask("mask", fill=FILL, follows="image")), models.check_mask, ["mask"], None, SAME),
    Feature("map of classes", follower("map", lambda: C.Mask("seg", labels="labels", fill=FILL, follows="image")), models.check_class_map, ["mask"], None, SAME),
    Feature("boxes, ragged labels", sets(boxes={"any": True}), models.check_boxes, ["boxes", "ragged"], None, SAME),
    Feature("crowds", sets(boxes={"crowds": "crowd"}), models.check_crowds, ["crowds"]),
    Feature("truncated", sets(boxes={"length": FEW, "too_long": "truncate"}), models.check_truncated, ["too_long"]),
    Feature("second boxes", sets(columns=LARGER), models.check_second_boxes, ["boxes"], None, SAME),
    Feature("flips", sets(cuts=[T.RandomHorizontalFlip(), T.RandomVerticalFlip()]), models.check_image),
    Feature("boxes of shapes", sets(boxes={"shapes": "seg"}), models.check_boxes, ["boxes"], None, compare.FOLLOWERS),
    Feature("at_least_one", sets(boxes={"at_least_one": True}, cuts=[T.RandomResizedCrop(30, (0.1, 0.3), interpolation=NEAREST)]), models.check_at_least_one, ["boxes"]),
    Feature("padded labels", follower("padded", lambda: C.Padded("labels", length=MOST, follows="boxes"), {"any": True}), models.check_padded, ["padded"], None, SAME),
    Feature("points", follower("points", lambda: C.Points(length=MOST, point_values=3, follows="boxes"), {"any": True}), models.check_points, ["points"], None, SAME),
    Feature("instances", follower("masks", lambda: C.Instances("seg", length=MOST, follows="boxes"), {"shapes": "seg"}), models.check_instances, ["instances"], None, compare.FOLLOWERS),
    Feature("geometry", follower("at", lambda: C.Geometry(follows="image")), models.check_geometry, ["geometry"], None, SAME),
    Feature("views", sets(others={"view": another([T.RandomResizedCrop(20, interpolation=NEAREST), T.RandomHorizontalFlip()])}), None, ["image"]),
    Feature("partners", partners, models.check_partners, ["partners"]),
    Feature("padded sizes", sets(sized=VARYING, image={"sizes": "padded", "max_size": (80, 80)}), models.check_sizes, ["sizes"], "sizes"),
    Feature("ragged sizes", sets(sized=VARYING, image={"sizes": "ragged", "max_size": (80, 80)}), models.check_sizes, ["sizes"], "sizes"),
    Feature("padded view", sets(others={"padded.view": another(VARYING, sizes="padded", max_size=(80, 80))}), models.check_other_view("padded.view"), ["sizes"]),
    Feature("ragged view", sets(others={"ragged.view": another(VARYING, sizes="ragged", max_size=(80, 80))}), models.check_other_view("ragged.view"), ["sizes"]),
    Feature("buckets", buckets, models.check_buckets, ["buckets"]),
    Feature("replace", sets(bad=True, options={"on_bad_sample": "replace"}), models.check_replaced, ["on_bad_sample=replace"], "on_bad_sample"),
    Feature("mask bad samples", sets(bad=True, options={"on_bad_sample": "mask"}), models.check_masked, ["on_bad_sample=mask"], "on_bad_sample"),
    Feature("missing images", sets(lacks=True), models.check_missing, ["missing=blank"]),
    Feature("shuffle block", sets(options={"shuffle": "block", "block_samples": 4}), models.check_image, ["shuffle=block"], "shuffle"),
    Feature("no shuffle", sets(options={"shuffle": False}), models.check_image, ["shuffle=none"], "shuffle"),
    Feature("last_batch pad", sets(options={"last_batch": "pad"}, batch=6), models.check_all_rows, ["last_batch=pad"], "last_batch"),
    Feature("last_batch repeat", sets(options={"last_batch": "repeat"}, batch=6), models.check_all_rows, ["last_batch=repeat"], "last_batch"),
    Feature("mix", join(sluice.mix), models.check_joined, ["mix"], "dataset"),
    Feature("concat", join(sluice.concat), models.check_joined, ["concat"], "dataset"),
    Feature("mix of a concat", join(concat_in_mix, 3), models.check_joined, ["mix", "concat"], "dataset"),
    Feature("episodes", episodes, models.check_episodes, ["episode", "episodes"]),
    Feature("weights", weights, models.check_weights, ["weights", "num_samples"]),
    Feature("lengths", lengths, models.check_lengths, ["lengths", "length_groups"]),
    Feature("repeats", sets(options={"repeats": 2}), models.check_repeats, ["repeats"]),
    Feature("exif", sets(encode="jpeg", options={"exif": True}), models.check_image, ["exif=apply"]),
    Feature("exact", sets(options={"exact": True}), models.check_image, ["exact"], None, ("image", "classes", "map", *compare.FOLLOWERS)),
    Feature("channels first", sets(image=FLOATS), models.check_image, ["layout", "dtype"]),
    Feature("device cuda", sets(options={"device": "cuda"}), models.check_image, ["device"], None, SAME),
]
