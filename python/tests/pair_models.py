# SPDX-License-Identifier: Apache-2.0
"""
Models of the rows of each feature. A model looks at the rows alone, regardless of the loader's other features: the colours say which sample a pixel
shows, and which of its pixels, so they also say where each object is, in a mosaic or not.
"""
import numpy
from pair_rows import BAD, BOXES, CLASSES, COUNT, CROWD, FEW, FILL, LARGE, class_of, length_of, parts_of, sample_of, size_of, used, weight_of

NOTHING = 0, 114  # the blue values of pixels that show no sample: black, and the border of a mosaic


def shown(row):
    """Returns (y, x, sample) of the pixels that show a sample; empty for a blend."""
    y, x = numpy.nonzero(row.owners >= 0)
    return y, x, row.owners[y, x]


def check_image(batches):
    """Checks that an image shows only its own sample unless its recipe adds others, and that a row without a sample shows nothing."""
    for row in (row for batch in batches for row in batch):
        if not row.has_image:
            assert (row.of("image") == 0).all()
        elif not row.is_blended:
            samples = set(shown(row)[2].tolist())
            assert samples and samples <= set(sum(row.members, []))


def check_mask(batches):
    for row in (row for batch in batches for row in batch):
        mask = row.of("classes").astype(int)
        if not row.has_image:
            assert (mask == FILL).all()
        elif not row.is_blended:
            inside = mask != FILL
            assert mask.shape == row.picture.shape[:2]
            assert numpy.abs(row.picture[..., 2] - mask)[inside].max(initial=0) <= 4
            assert (row.owners[~inside] == -1).all()


# ---- where a row shows an object ----


def slack(row):
    """Returns how many stored pixels a colour may be off: half a pixel of the row, JPEG's error, and the rounding of nearest pixels."""
    return 6.5 if row.plan.first else 4.5


def box_of(label):
    sample, number = divmod(label - 1, BOXES)
    return sample, parts_of(sample)[0][number], parts_of(sample)[1][number]


def where(row, label):
    """Returns the pixels that surely show the object, and those that may show it, by their colours alone."""
    sample, box, _ = box_of(label)
    u, v = row.picture[..., 0] / 2 + 0.5, row.picture[..., 1] / 2 + 0.5
    here, far = row.owners == sample, slack(row)

    def within(far):
        return here & (u >= box[0] + far) & (u <= box[2] - far) & (v >= box[1] + far) & (v <= box[3] - far)

    return within(far), within(-far)


def hull(pixels):
    y, x = numpy.nonzero(pixels)
    return numpy.array([x.min(), y.min(), x.max() + 1, y.max() + 1])


def is_large(row, sure, maybe):
    """True if more than a pixel of the object is surely visible. Mosaics are too small for that: there the pixels around it decide,
    at least 2.5 stored pixels each."""
    if row.plan.first and not (row.plan.layers or row.plan.cuts) and maybe.any():
        return numpy.diff(hull(maybe).reshape(2, 2), axis=0).min() > 2 * slack(row) / 2.5 + 2
    return sure.any() and numpy.diff(hull(sure).reshape(2, 2), axis=0).min() >= 2


def labels_of(row):
    """Returns the labels of all objects that the row may have, except those of samples that it has twice, which pixels cannot distinguish."""
    members = sum(row.members, [])
    return [BOXES * sample + number + 1 for sample in set(members) if members.count(sample) == 1 for number in range(BOXES)]


def judged(batches):
    """Returns the rows in which each pixel belongs to a single sample."""
    return [row for row in used(batches) if not row.is_blended]


def is_inside(box, outer, far):
    return (box[:2] >= outer[:2] - far).all() and (box[2:] <= outer[2:] + far).all()


def may_lack(row, label):
    """True if the row may lack the box of a visible object: not every object is pasted, crowds are dropped, and rows are truncated."""
    boxes = row.plan.boxes
    return box_of(label)[0] in row.members[1] or "too_long" in boxes or ("crowds" in boxes and is_crowd(label))


def is_crowd(label):
    return (label - 1) % BOXES == CROWD


def check_crowds(batches):
    check_boxes(batches)
    assert not any(is_crowd(label) for row in used(batches) for label in row.of("boxes.labels").tolist())


def check_truncated(batches):
    check_boxes(batches)
    assert max(len(row.of("boxes")) for row in used(batches)) <= FEW


def check_second_boxes(batches):
    """Checks boxes by another rule, with their own labels: if both use the stored boxes, these are the large ones of the others."""
    for row in used(batches):
        large, labels = row.of("large"), row.of("large.labels").tolist()
        assert len(large) == len(labels) and (large[:, 2:] - large[:, :2]).min(initial=LARGE) >= LARGE
        if row.has("boxes") and not {"shapes", "crowds", "too_long"} & set(row.plan.boxes):
            boxes = row.of("boxes")
            kept = (boxes[:, 2:] - boxes[:, :2]).min(axis=1) >= LARGE
            assert (boxes[kept] == large).all() and row.of("boxes.labels")[kept].tolist() == labels
    for row in judged(batches):
        known = set(labels_of(row))
        for box, label in ((box, label) for box, label in zip(row.of("large"), row.of("large.labels").tolist()) if label in known):
            sure, maybe = where(row, label)
            assert maybe.any() and is_inside(box, hull(maybe), 1.5) and (not sure.any() or is_inside(hull(sure), box, 1.01))


def check_boxes(batches):
    """Each visible object has a box around the pixels that show it, and no other object has a box."""
    for row in used(batches):
        boxes, labels = row.of("boxes"), row.of("boxes.labels").tolist()
        height, width = row.picture.shape[:2]
        assert len(boxes) == len(labels) and {(label - 1) // BOXES for label in labels} <= set(sum(row.members, []))
        assert (boxes[:, :2] >= 0).all() and (boxes[:, 2:] <= [width, height]).all() and (boxes[:, 2:] >= boxes[:, :2]).all()
    for row in judged(batches):
        boxes, labels = row.of("boxes"), row.of("boxes.labels").tolist()
        for label in labels_of(row):
            sure, maybe = where(row, label)
            if label in labels:
                box = boxes[labels.index(label)]
                assert labels.count(label) == 1 and maybe.any() and is_inside(box, hull(maybe), 1.5), (label, box, hull(maybe))
                assert not sure.any() or is_inside(hull(sure), box, 1.01), (label, box, hull(sure))
            elif not may_lack(row, label):
                assert not is_large(row, sure, maybe), (label, hull(maybe))
    assert any(len(row.of("boxes")) for row in used(batches))


def check_points(batches):
    """Checks that each point is at the pixel that shows its position, or is marked invisible."""
    for row in judged(batches):
        points, labels = row.of("points"), row.of("boxes.labels").tolist()
        assert len(points) == len(labels)
        known = set(labels_of(row))
        for (x, y, v), label in ((point, label) for point, label in zip(points, labels) if label in known):
            sample, _, place = box_of(label)
            u, w = row.picture[..., 0] / 2 + 0.5 - place[0], row.picture[..., 1] / 2 + 0.5 - place[1]
            near = (row.owners == sample) & (numpy.abs(u) <= slack(row)) & (numpy.abs(w) <= slack(row))
            around = (slice(max(int(y) - 1, 0), int(y) + 2), slice(max(int(x) - 1, 0), int(x) + 2))
            if v == 0:
                edge = numpy.pad(row.owners == sample, 2)
                inner = numpy.min([edge[j : j + near.shape[0], i : i + near.shape[1]] for j in range(5) for i in range(5)], axis=0)
                assert x == y == 0 and (row.plan.cuts or not (inner & (numpy.abs(u) <= 0.5) & (numpy.abs(w) <= 0.5)).any())
            elif v == 1:
                assert set(row.owners[around].ravel().tolist()) & set(row.members[1])  # covered
            else:
                assert v == 2 and near[around].any()


def check_instances(batches):
    for row in used(batches):
        assert len(row.masks) == len(row.of("boxes"))
    for row in judged(batches):
        known = set(labels_of(row))
        for mask, label in zip(row.masks, row.of("boxes.labels").tolist()):
            if label in known:
                sure, maybe = where(row, label)
                assert not (sure & (mask == 0)).any() and not ((mask != 0) & ~maybe).any()


def check_class_map(batches):
    for row in (row for batch in batches for row in batch):
        made = row.of("map").astype(int)
        if not row.has_image:
            assert (made == FILL).all()
        elif not row.is_blended:
            assert (row.owners[made == FILL] == -1).all() and set(numpy.unique(made)) <= {0, FILL, *range(1, BOXES * COUNT + 1)}
            for label in labels_of(row):
                sure, maybe = where(row, label)
                assert ((made[sure] != 0) & (made[sure] != FILL)).all() and maybe[made == label].all()


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
        far = 1.5 + 1.5 / row.of("at.scale")  # one output pixel, and JPEG's own error
        right = (numpy.abs(u - 0.5 - red) <= far[0]) & (numpy.abs(v - 0.5 - green) <= far[1])
        alone = sum(row.members, []).count(row.sample) == 1
        assert len(y) == 0 or not alone or right.mean() > 0.95
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
            met.add(bool(row.inverted))
            assert sample_of(numpy.median(row.picture[..., 2])) == row.sample
    assert met <= {True, False}


def check_at_least_one(batches):
    kept = [len(row.of("boxes")) > 0 for row in used(batches)]
    assert sum(kept) >= 0.95 * len(kept)


def check_replaced(batches):
    rows = [row for batch in batches for row in batch]
    assert all(row.index != BAD for row in rows)
    assert any(row.status == 1 for row in rows) or "episode" in rows[0].plan.options  # SLUICE_ROW_REPLACED; episodes may contain no bad sample


def check_masked(batches):
    rows = [row for batch in batches for row in batch]
    assert all(row.status in (2, 4) for row in rows if row.index == BAD)
    assert any(row.status == 2 for row in rows) or "episode" in rows[0].plan.options  # episodes may contain no bad sample
    assert all(row.is_empty != bool(row.used) or row.status == 4 for row in rows)


def check_missing(batches):
    lacking = [row for batch in batches for row in batch if not row.is_empty and not row.has_image]
    assert lacking or "episode" in batches[0][0].plan.options  # episodes may not contain the sample
    for row in lacking:
        assert row.status in (0, 4) and not row.of("image").any() and not row.is_blended
        assert all(len(row.of(name)) == 0 for name in ("boxes", "boxes.labels", "padded", "points", "masks") if row.has(name))


def check_buckets(batches):
    for batch in batches:
        shapes = {row.of("image").shape[:2] for row in batch}
        assert len(shapes) == 1 and shapes <= {(40, 56), (56, 40)}


def check_sizes(batches):
    for row in (row for batch in batches for row in batch):
        height, width = row.of("image").shape[:2]
        assert (height == width == 0) if not row.has_image else min(height, width) > 0


def check_joined(batches):
    assert {row.index // COUNT for row in used(batches)} == set(range(batches[0][0].plan.copies))


def check_episodes(batches):
    for batch in batches:
        numbers = [row.sample for row in batch if not row.is_empty]
        if len(numbers) == 4:
            classes = [class_of(n) for n in numbers]
            assert len(set(classes)) == 2 and all(classes.count(c) == 2 for c in classes)


def check_weights(batches):
    assert sum(len(batch) for batch in batches) in (80, 84)  # 84: with padding, or repeated
    assert all(weight_of(row.sample) > 0 for batch in batches for row in batch if not row.is_empty)


def check_lengths(batches):
    """Checks that lengths differ by less than 16 in whole batches without a replaced sample."""
    for batch in batches:
        lengths = [length_of(row.sample) for row in batch if not row.is_empty]
        if len(lengths) == 4 and batch[0].plan.copies == 1 and not any(row.status for row in batch):
            assert max(lengths) - min(lengths) < 16


def check_repeats(batches):
    """Checks that each sample appears twice, if the epoch has neither bad samples nor padding."""
    plan, found = batches[0][0].plan, [row.index for batch in batches for row in batch if not row.is_empty]
    if not plan.bad and plan.options.get("last_batch", "short") == "short":
        assert sorted(found) == sorted(list(range(plan.copies * COUNT)) * 2)


def check_partners(batches):
    for row in used(batches):
        samples = sample_of(row.of("partner")[..., 2])
        if row.plan.lacks and not row.of("partner").any():
            continue
        assert (samples == samples[0, 0]).all() and class_of(int(samples[0, 0])) == class_of(row.sample)
        assert row.of("partner.label") == class_of(row.sample)


def check_view(batches, alone):
    for row in used(batches):
        assert (sample_of(row.of("view")[..., 2]) == row.sample).all()
        # With repeats, weights and episodes, each occurrence of a sample has its own draw.
        if row.index < COUNT and not {"repeats", "episode"} & set(row.plan.options) and "weights" not in row.plan.tables:
            assert (row.of("view") == alone[row.index]).all()


def check_other_view(name):
    def check(batches):
        for row in (row for batch in batches for row in batch):
            height, width = row.of(name).shape[:2]
            assert (height == width == 0) if not row.has_image else min(height, width) in (36, 40) or max(height, width) == 60
            assert not row.has_image or (sample_of(row.of(name)[..., 2]) == row.sample).mean() > 0.98  # except JPEG's errors

    return check


def check_all_rows(batches):
    """Checks that all batches have the same number of rows."""
    assert len({len(batch) for batch in batches}) == 1


def check_mosaic(batches):
    clean = [len(set(shown(row)[2].tolist())) for row in used(batches) if not row.is_blended]
    assert not clean or max(clean) > 1


def check_window(batches):
    for row in used(batches):
        assert row.of("tokens").tolist() == [4 * (row.index % (4 * COUNT)) + i for i in range(4)]


def check_packed(batches):
    """Checks two whole documents of 16 tokens each, and padding; the last row has one document."""
    for row in used(batches):
        tokens, count = row.values["packed"][row.number], int(row.values["packed.count"][row.number])
        assert 1 <= count <= 2 and not tokens[16 * count :].any()
        for document in tokens[: 16 * count].reshape(count, 16):
            assert document[0] % 16 == 0 and (numpy.diff(document) == 1).all()


def check_share(batches):
    shares = [float(row.of("image.share")) for row in used(batches)]
    assert all(0 <= share <= 1 for share in shares) and any(share < 1 for share in shares)


def check_mixing(batches):
    """Checks the single weight of a batch. The partner is the previous row, or the row at the same distance from the end."""
    for batch in batches:
        rows = sum(row.status != 3 for row in batch)
        weights = {float(row.of("image.weight")) for row in batch} - {1.0}
        assert len(weights) <= 1 and all(0 <= weight < 1 for weight in weights)
        for row in batch:
            partner, weight = int(row.of("image.mixed_with")), float(row.of("image.weight"))
            assert partner == row.number if weight == 1 else partner in ((row.number - 1) % rows, rows - 1 - row.number) and batch[partner].has_image
    assert any(row.is_blended for row in used(batches))


def check_soft_labels(batches):
    for batch in batches:
        hot = [numpy.eye(CLASSES)[class_of(row.sample)] for row in batch]
        for row in (row for row in batch if row.used):
            weight = float(row.of("image.weight"))
            assert numpy.abs(row.of("soft") - weight * hot[row.number] - (1 - weight) * hot[int(row.of("image.mixed_with"))]).max() < 1e-6


def check_pasted(batches):
    """Checks that some rows show partners, and some show their own image."""
    seen = [set(row.owners.ravel().tolist()) for row in used(batches)]
    assert any(samples & set(row.members[1]) for samples, row in zip(seen, used(batches)))
    assert any(samples & set(row.members[0]) for samples, row in zip(seen, used(batches)))
