# SPDX-License-Identifier: Apache-2.0
"""Substitutes for bad samples if rows or batches have constraints: classes, buckets, episodes, mixes."""
import collections
import itertools

import numpy
import pytest
from PIL import Image

import sluice
from sluice import columns as C, transforms as T

CLASSES, EACH = 5, 12
OF = [number % CLASSES for number in range(CLASSES * EACH)]
FIELDS = {"id": "int", "class": "int", "numbers": ("tensor", "float32", (0,))}


def write(path, of, bad, first=0):
    """Writes samples; a bad one has more values than a row can hold."""
    with sluice.Writer(path, FIELDS) as writer:
        for number, own in enumerate(of):
            writer.add(**{"id": first + number, "class": own, "numbers": numpy.zeros(9 if number in bad else 1, "float32")})
    return path


def columns(partners):
    made = {}
    for j in range(partners + 1):
        for name, column in (("id", C.Number("id", partner=j)), ("class", C.Number("class", partner=j)), ("numbers", C.Padded("numbers", length=4, partner=j))):
            made[f"{name}{j}"] = column
    return made


def rows_of(loader, names):
    """Yields each row that has samples, and whether one of them was replaced."""
    for batch in loader:
        mask, status = batch["mask"].numpy(), batch["status"].numpy()
        found = numpy.stack([batch[name].numpy() for name in names], 1)
        assert (found[mask == 1][:, 0] == batch["index"].numpy()[mask == 1]).all()
        for row, own in zip(found[mask == 1].tolist(), status[mask == 1].tolist()):
            yield row, own == 1


@pytest.mark.parametrize("share", [5, 25, 50])
@pytest.mark.parametrize("rules", [["same_class"], ["same_class", "other_class"], ["other_class", "same_class", "same_class"], ["any", "same_class"]])
def test_partners_are_of_the_class_that_came_in(tmp_path, rules, share):
    bad = {number for number in range(len(OF)) if number * 37 % 100 < share}
    path = write(tmp_path / "d", OF, bad)
    names = [f"id{j}" for j in range(len(rules) + 1)]
    replaced = 0
    for workers in (1, 3):
        own = sluice.Loader(
            path, batch_size=10, shuffle=True, seed=share, on_bad_sample="replace", partners=rules, classes=OF, columns=columns(len(rules)), num_workers=workers
        )
        rows = [row for _ in range(4) for row in rows_of(own, names)]
        assert len(rows) == 4 * len(OF) or share == 50
        for row, changed in rows:
            replaced += changed
            assert not bad & set(row)
            for rule, partner in zip(rules, row[1:]):
                if rule != "any":
                    assert (OF[partner] == OF[row[0]]) == (rule == "same_class")
                    assert partner != row[0] or share == 50  # no other good sample of the class may be left
        assert workers == 1 or rows == before  # noqa: F821
        before = rows
    assert (replaced > 0) == (share > 0)


@pytest.mark.parametrize("count, bad", [(1, 0), (2, 0), (2, 1), (3, 1), (3, 2), (4, 3)])
def test_small_classes(tmp_path, count, bad):
    """With two good samples the positive differs from the anchor; with one it is the anchor, as in a class of one."""
    of = [0] * count + [1] * 8
    path = write(tmp_path / "d", of, set(range(bad)))
    found = 0
    for seed in range(4):
        own = sluice.Loader(
            path, batch_size=4, shuffle=True, seed=seed, on_bad_sample="replace", partners=["same_class"], classes=of, columns=columns(1), last_batch="short"
        )
        for (anchor, positive), _ in rows_of(own, ["id0", "id1"]):
            assert of[anchor] == of[positive] and not {anchor, positive} & set(range(bad))
            found += of[anchor] == 0
            if count - bad > 1 or of[anchor] == 1:
                assert count - bad < 3 or anchor != positive
    assert found == 4 * count


def test_a_class_of_bad_samples_gives_rows_without_one(tmp_path):
    of = [0] * 3 + [1] * 9
    path = write(tmp_path / "d", of, {0, 1, 2})
    own = sluice.Loader(path, batch_size=4, shuffle=True, on_bad_sample="replace", partners=["other_class"], classes=of, columns=columns(1))
    rows = list(rows_of(own, ["id0", "id1"]))
    assert rows == []  # the negatives of class 1 have no other class than 0


def test_a_batch_of_buckets_stays_in_its_bucket_and_its_class(tmp_path):
    """Anchors are replaced by images of their bucket and class, if one exists."""
    sizes = [(32, 32), (24, 40)]
    of, shapes = [], []
    for number in range(64):
        of.append(number % 4)
        shapes.append(sizes[number // 4 % 2])
    for number, (own, (height, width)) in enumerate(zip(of, shapes)):
        folder = tmp_path / f"c{own}"
        folder.mkdir(exist_ok=True)
        Image.fromarray(numpy.full((height, width, 3), number, "uint8")).save(folder / f"{number:03}.png")
    order = sorted(range(64), key=lambda number: (of[number], number))  # in the folder's order
    bad = [number for number in range(64) if number // 8 % 4 == 0]
    data = sluice.Dataset(tmp_path)
    loader = sluice.Loader(
        data,
        batch_size=4,
        shuffle=True,
        seed=1,
        on_bad_sample="replace",
        buckets=sizes,
        partners=["same_class", "other_class"],
        classes=data.targets,
        columns={
            "a": C.Image("image", transform=T.BucketCrop()),
            "p": C.Image("image", transform=T.Resize((8, 8)), partner=1),
            "n": C.Image("image", transform=T.Resize((8, 8)), partner=2),
        },
    )
    for number in bad:
        path = tmp_path / f"c{of[number]}" / f"{number:03}.png"
        path.write_bytes(path.read_bytes()[:-30])
    replaced = 0
    for _ in range(3):
        for batch in loader:
            a, p, n = (batch[name].numpy()[:, 0, 0, 0].tolist() for name in "apn")
            for row in range(len(a)):
                assert shapes[a[row]] == batch["a"].shape[1:3] and order[batch["index"].numpy()[row]] == a[row]
                assert of[a[row]] == of[p[row]] != of[n[row]] and a[row] != p[row]
                assert not {a[row], p[row], n[row]} & set(bad)
            replaced += int((batch["status"].numpy() == 1).sum())
    assert replaced > 20


@pytest.mark.parametrize("spare", [0, 2])
@pytest.mark.parametrize("bad_count", [1, 3, 4])
def test_episodes_have_no_sample_twice(tmp_path, bad_count, spare):
    """Tries combinations of bad samples, while a class has at least as many good samples as an episode needs."""
    n, size = 8 - bad_count - spare, 8
    of = [number // size for number in range(3 * size)]
    for bad in itertools.islice(itertools.combinations(range(size), bad_count), spare, None, 31):
        path = write(tmp_path / ("d" + "".join(map(str, bad))), of, {own * size + number for own in range(3) for number in bad})
        options = {"shuffle": True, "episode": (3, n), "episodes": 20, "classes": of, "on_bad_sample": "replace", "columns": columns(0)}
        runs = [
            [batch["index"].numpy().copy() for batch in sluice.Loader(path, batch_size=3 * n * each, num_workers=workers, **options)]
            for each, workers in ((1, 1), (1, 3), (2, 2))
        ]
        runs = [numpy.concatenate(run) for run in runs]
        assert (runs[0] == runs[1]).all() and (runs[0] == runs[2]).all()
        for run in runs[:1]:
            for items in run.reshape(-1, n).tolist():
                assert len(set(items)) == n and len({of[item] for item in items}) == 1
                assert not {item % size for item in items} & set(bad)


def test_episodes_of_files_that_are_gone(tmp_path):
    """Another thread detects unreadable samples; also, loaders are closed, or change the epoch, while rows wait for one another."""
    of = [number // 10 for number in range(40)]
    for number, own in enumerate(of):
        (tmp_path / f"c{own}").mkdir(exist_ok=True)
        Image.fromarray(numpy.full((8, 8, 3), number, "uint8")).save(tmp_path / f"c{own}" / f"{number:02}.png")
    data = sluice.Dataset(tmp_path)
    options = {"shuffle": True, "episode": (3, 5), "episodes": 24, "classes": of, "on_bad_sample": "replace", "transform": T.Resize((8, 8))}
    own = sluice.Loader(data, batch_size=15, num_workers=2, **options)
    others = [sluice.Loader(data, batch_size=30, num_workers=1 + number % 3, seed=number, **options) for number in range(12)]
    gone = {number for number in range(40) if number % 10 in (0, 3, 4, 8)}
    for number in gone:
        path = tmp_path / f"c{of[number]}" / f"{number:02}.png"
        path.write_bytes(path.read_bytes()[:-20]) if number % 3 == 0 else path.unlink()
    for _ in range(3):
        for batch in own:
            assert (batch["image"].numpy()[:, 0, 0, 0] == batch["index"].numpy()).all()
            for items in batch["index"].numpy().reshape(-1, 5).tolist():
                assert len(set(items)) == 5 and not set(items) & gone
    for number, one in enumerate(others):
        batches = iter(one)
        for _ in range(number % 4):
            next(batches)
        if number % 2:
            one.set_epoch(number)
            next(iter(one))
        one.close()


def test_episodes_and_partners_of_their_class(tmp_path):
    bad = set(range(0, len(OF), 7))
    path = write(tmp_path / "d", OF, bad)
    own = sluice.Loader(
        path, batch_size=9, shuffle=True, episode=(3, 3), episodes=60, classes=OF, on_bad_sample="replace", partners=["same_class", "other_class"], columns=columns(2)
    )
    rows = list(rows_of(own, ["id0", "id1", "id2"]))
    assert len(rows) == 540 and any(changed for _, changed in rows)
    for (anchor, positive, negative), _ in rows:
        assert OF[anchor] == OF[positive] != OF[negative]


# ---- mixes ----


def mixed(tmp_path, counts, weights, bad=()):
    parts = [sluice.Dataset(write(tmp_path / str(k), [k] * count, bad, sum(counts[:k]))) for k, count in enumerate(counts)]
    return sluice.mix(parts, weights=weights)


@pytest.mark.parametrize("shuffle", [True, False, "block"])
@pytest.mark.parametrize("counts, weights", [((200, 200), (1, 1)), ((300, 100), (3, 1)), ((100, 100, 200), (2, 1, 1))])
def test_partners_of_a_mix_are_of_all_its_datasets(tmp_path, counts, weights, shuffle):
    """Pairs of equal datasets occur as often as by chance; each sample as often as in an epoch of the mix."""
    data = mixed(tmp_path, counts, weights)
    options = {"block_samples": 8, "window_blocks": 4} if shuffle == "block" else {}
    same = total = 0
    own = sluice.Loader(data, batch_size=20, shuffle=shuffle, seed=3, columns=columns(2), last_batch="short", **options)
    first = numpy.cumsum([0, *counts])
    for _ in range(3):
        seen = [collections.Counter(), collections.Counter(), collections.Counter()]
        for batch in own:
            of = [batch[f"class{j}"].numpy() for j in range(3)]
            same += int((of[0] == of[1]).sum() + (of[0] == of[2]).sum() + (of[1] == of[2]).sum())
            total += 3 * len(of[0])
            for j in range(3):
                seen[j].update(batch[f"id{j}"].numpy().tolist())
        assert seen[0].total() == seen[1].total() == seen[2].total()
        shares = [sorted(collections.Counter(int(numpy.searchsorted(first, i, "right")) for i in one.elements()).items()) for one in seen]
        assert shares[0] == shares[1] == shares[2]
        assert max(seen[1].values()) - min(seen[1].values()) <= 1 or weights != (1, 1)
    share = sum((w / sum(weights)) ** 2 for w in weights)
    assert abs(same / total - share) < 0.05


def test_substitutes_for_partners_follow_the_weights(tmp_path):
    """Every other sample is bad: a tenth of the substitutes come from the second dataset."""
    data = mixed(tmp_path, (400, 400), (9, 1), bad=range(0, 400, 2))
    of = []
    own = sluice.Loader(data, batch_size=20, shuffle=True, columns=columns(1), on_bad_sample="replace")
    for _ in range(4):
        for batch in own:
            of += batch["class1"].numpy()[batch["mask"].numpy() == 1].tolist()
    assert 0.07 < numpy.mean(of) < 0.13


def test_partners_of_a_mix_on_ranks_and_after_a_restart(tmp_path):
    data = mixed(tmp_path, (60, 90), (1, 2), bad=(5, 7))
    options = {"shuffle": True, "seed": 4, "columns": columns(1), "on_bad_sample": "replace", "last_batch": "short"}
    whole = [row for row, _ in rows_of(sluice.Loader(data, batch_size=12, **options), ["id0", "class0", "id1", "class1"])]
    assert len(whole) > 140
    got = []
    ranks = [list(sluice.Loader(data, batch_size=4, rank=rank, world_size=3, **options)) for rank in range(3)]
    for step in zip(*ranks):
        for batch in step:
            got += numpy.stack([batch[name].numpy() for name in ("id0", "class0", "id1", "class1")], 1)[batch["mask"].numpy() == 1].tolist()
    assert got == whole
    own = sluice.Loader(data, batch_size=12, num_workers=3, **options)
    batches = iter(own)
    next(batches), next(batches)
    state = own.state_dict()
    own = sluice.Loader(data, batch_size=12, num_workers=1, **options)
    own.load_state_dict(state)
    assert [row for row, _ in rows_of(own, ["id0", "class0", "id1", "class1"])] == whole[24:]


# ---- states ----


def test_a_state_goes_on_with_the_same_rows_alone(tmp_path):
    path = write(tmp_path / "d", OF, ())
    other = [own if number != 7 else (own + 1) % CLASSES for number, own in enumerate(OF)]

    def opened(count=2, **options):
        rules = {"partners": ["same_class", "other_class"], "classes": OF} if count == 2 else {}
        return sluice.Loader(path, batch_size=10, shuffle=True, columns=columns(count), **(rules | options))

    own = opened()
    next(iter(own))
    state = own.state_dict()
    for changed in (
        opened(partners=["other_class", "same_class"]),
        opened(partners=["same_class"]),
        opened(partners=[], classes=None),
        opened(classes=other),
        opened(0),
        opened(1),
        opened(3),
    ):
        with pytest.raises(sluice.InvalidError, match="number of samples in a row, other rules of partners, or other classes"):
            changed.load_state_dict(state)
            next(iter(changed))
    with opened(num_workers=3) as same:
        same.load_state_dict(state)
        assert len(list(same)) == 5
    alone = opened(0)
    next(iter(alone))
    with pytest.raises(sluice.InvalidError, match="number of samples in a row"):
        loader = opened()
        loader.load_state_dict(alone.state_dict())
        next(iter(loader))
