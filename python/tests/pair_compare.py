# SPDX-License-Identifier: Apache-2.0
"""
Compares rows with those of the same loader without one feature. The draws are the same, so all columns that the feature does not change are equal
bit for bit. Blended and pasted rows are computed in numpy from the rows without the feature.
"""
import numpy
from pair_models import NOTHING, box_of, hull, is_inside
from pair_rows import BOXES, used

FOLLOWERS = ("boxes", "boxes.labels", "padded", "points", "masks", "large", "large.labels")


def side_by_side(made, plain):
    """Yields each row, the same row without the feature, and all rows of that batch. A row whose sample a bad partner changed is skipped."""
    assert [len(batch) for batch in made] == [len(batch) for batch in plain]
    for batch, others in zip(made, plain):
        for row, other in zip(batch, others):
            same = (row.index, row.used, row.status) == (other.index, other.used, other.status)
            assert same or row.plan.bad
            if same:
                yield row, other, others


def is_same(row, other, name):
    a, b = row.of(name), other.of(name)
    return a.dtype == b.dtype and a.shape == b.shape and (a == b).all()


def check_unchanged(made, plain, changes=()):
    for row, other, _ in side_by_side(made, plain):
        for name in row.names & other.names - set(changes):
            assert is_same(row, other, name), (name, row.index)


# ---- rows of a batch that are mixed ----


def blend(share, own, other):
    """Blends in binary32: the exact product, held in a double, plus a rounded one; 8 bits are rounded to nearest even."""
    share = numpy.float32(share)
    rest = (numpy.float32(1) - share) * other.astype("float32")
    mixed = (float(share) * own + rest).astype("float32")
    return numpy.rint(mixed).astype("uint8") if own.dtype == numpy.uint8 else mixed


def is_blend(row, own, other):
    image, weight = row.of("image"), row.of("image.weight")
    if image.dtype == numpy.uint8:
        return (image == blend(weight, own, other)).all()
    return numpy.abs(image - blend(weight, own, other)).max() < 1e-6


def is_cut(row, own, other):
    """True if a rectangle of 1 - weight of the area has the partner's pixels, and all others are the row's own."""
    image = row.of("image")
    is_own, is_other = (image == own).all(axis=-1), (image == other).all(axis=-1)
    if not (is_own | is_other).all():
        return False
    differ = (own != other).any(axis=-1)
    area = (1 - float(row.of("image.weight"))) * is_own.size
    if is_own.all():
        return not differ.all() or area < 0.01
    left, top, right, bottom = hull(~is_own)
    found = (right - left) * (bottom - top)
    return is_other[top:bottom, left:right].all() and (abs(found - area) < 0.01 if differ.all() else found < area + 0.01)


def check_mixed(*kinds):
    def check(made, plain):
        for row, other, others in side_by_side(made, plain):
            partner, own = others[int(row.of("image.mixed_with"))], other.of("image")
            if partner is other or not row.is_blended:
                assert is_same(row, other, "image")
            else:
                assert partner.has_image and any(kind(row, own, partner.of("image")) for kind in kinds), row.index

    return check


# ---- two images of samples ----


def is_still(row):
    """True if no step before the layers draws anything, so that a sample has the same pixels in every row."""
    return not (row.plan.first or row.plan.cuts)


def rows_by_sample(plain):
    return {row.sample: row for batch in plain for row in used([batch])}


def is_redrawn(row):
    """True if the recipe may be drawn again because of the boxes of either image, which changes all draws."""
    return bool(row.plan.boxes.get("at_least_one"))


def values_of(row, name):
    return row.masks if name == "masks" else row.of(name)


def most(row):
    return row.plan.boxes.get("length")


def check_blended(made, plain):
    """Checks mixup_partner: the image is the blend of both, and the objects of both follow, the row's own first."""
    known = rows_by_sample(plain)
    for row, other, _ in side_by_side(made, plain):
        if is_redrawn(row) or not row.used:
            continue
        share, count = row.of("image.share"), len(other.of("boxes.labels")) if other.has("boxes.labels") else 0
        if share == 1:
            check_unchanged([[row]], [[other]])
            continue
        own, partner = other.picture.astype("uint8"), known.get(row.members[1][0])
        if is_still(row) and partner is not None:
            assert (row.picture == blend(share, own, partner.picture.astype("uint8"))).all() or row.plan.is_float
            if row.plan.is_float:
                assert numpy.abs(row.picture - blend(share, own, partner.picture.astype("uint8"))).max() <= 1
            for name in row.names & other.names & set(FOLLOWERS):
                assert (values_of(row, name) == numpy.concatenate([values_of(other, name), values_of(partner, name)])[: most(row)]).all(), name
            continue
        for name in row.names & other.names & set(FOLLOWERS):
            before = values_of(other, name)
            assert (values_of(row, name)[: len(before)] == before).all(), name
        if row.has("boxes.labels"):
            assert {(label - 1) // BOXES for label in row.of("boxes.labels")[count:].tolist()} <= set(row.members[1])
        if share < 0.9:  # the partner's image, up to rounding
            blue = (row.picture[..., 2] - share * own[..., 2]) / (1 - share)
            shades = numpy.array([*NOTHING, *(20 + 10 * sample for sample in row.members[1])])
            assert numpy.abs(blue[..., None] - shades).min(axis=-1).max() <= 0.51 / (1 - share) + 3 * (row.plan.encode == "jpeg")


def rectangles(row, boxes):
    """Returns the pixels that some box surely covers, and those that one may cover."""
    y, x = numpy.mgrid[0 : row.picture.shape[0], 0 : row.picture.shape[1]] + 0.5

    def covered(far):
        inside = [(x > b[0] + far) & (x < b[2] - far) & (y > b[1] + far) & (y < b[3] - far) for b in boxes]
        return numpy.any(inside, axis=0) if len(boxes) else numpy.zeros(x.shape, bool)

    return covered(1), covered(-1)


def check_pasted(made, plain):
    """Checks copy_paste: the row keeps its own image and objects, except where objects of the partner cover them."""
    known = rows_by_sample(plain)
    pasted_rows = 0
    for row, other, _ in side_by_side(made, plain):
        own, partners = row.members
        if is_redrawn(row) or not row.used or set(own) & set(partners):
            continue
        labels, wanted = row.of("boxes.labels").tolist(), other.of("boxes.labels").tolist()
        pasted = numpy.array([box_of(label)[0] in partners for label in labels], bool)
        assert pasted.tolist() == sorted(pasted.tolist())  # after the row's own
        sure, maybe = rectangles(row, row.of("boxes")[pasted])
        pasted_rows += pasted.any()
        assert (row.picture == other.picture)[~maybe].all() and set(row.owners[sure].tolist()) <= set(partners)
        partner = known.get(partners[0])
        if is_still(row) and partner is not None:
            assert (row.picture == partner.picture)[sure].all()
        kept = [label for label in labels if box_of(label)[0] not in partners]
        assert kept == [label for label in wanted if label in kept]
        for label in wanted:
            check_cut_object(row, other, label, (sure, maybe))
        check_pasted_pixels(row, other, pasted, (sure, maybe))
    assert pasted_rows


def check_cut_object(row, other, label, over):
    """Checks the box and the point of an object of the row's own against its uncovered part."""
    number, labels = other.of("boxes.labels").tolist().index(label), row.of("boxes.labels").tolist()
    box = other.of("boxes")[number]
    sure, maybe = rectangles(row, [box])
    seen, perhaps = sure & ~over[1], maybe & ~over[0]
    if label not in labels:
        assert not seen.any() or numpy.diff(hull(seen).reshape(2, 2), axis=0).min() < 2, label
        return
    at = labels.index(label)
    if not (maybe & over[1]).any():
        assert (row.of("boxes")[at] == box).all()
    assert perhaps.any() and is_inside(row.of("boxes")[at], hull(perhaps), 1.01)
    assert not seen.any() or is_inside(hull(seen), row.of("boxes")[at], 1.01)
    if row.has("points"):
        point, before = row.of("points")[at], other.of("points")[number]
        x, y = int(before[0]), int(before[1])
        assert (point[:2] == before[:2]).all() and point[2] in (before[2], 1)
        assert before[2] != 2 or (not over[0][y, x] or point[2] == 1) and (over[1][y, x] or point[2] == 2)


def check_pasted_pixels(row, other, pasted, over):
    if row.has("masks"):
        covered = row.masks[pasted].any(axis=0)
        assert (covered | over[1] == over[1]).all() and (covered & over[0] == over[0]).all()
        labels, wanted = row.of("boxes.labels").tolist(), other.of("boxes.labels").tolist()
        for mask, label in zip(row.masks[~pasted], labels):
            assert ((mask != 0) == ((other.masks[wanted.index(label)] != 0) & ~covered)).all()
    if row.has("map"):
        assert (row.of("map") == other.of("map"))[~over[1]].all()
        assert set(row.of("map")[over[0]].tolist()) <= set(row.of("boxes.labels")[pasted].tolist())
    if row.has("classes"):
        assert (row.of("classes") == other.of("classes"))[~over[1]].all()
