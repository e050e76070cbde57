# SPDX-License-Identifier: Apache-2.0
"""
What the rows of each feature have to be. A model looks at a row alone, whatever else is in the loader:
a box's label is of the sample whose pixels are in the middle of it, in a mosaic or not.
"""
import numpy
from pair_rows import BAD, BOXES, CLASSES, COUNT, FILL, class_of, parts_of, sample_of, size_of, used


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
