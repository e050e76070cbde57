# SPDX-License-Identifier: Apache-2.0
"""repeats=: compared with the rule of DeiT's RASampler and timm's RepeatAugSampler, rank by rank; and different draws."""
import math

import numpy
import pytest
import layouts

import sluice
from sluice import columns as C, transforms as T

COUNT = 48


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    root = tmp_path_factory.mktemp("repeats")
    layouts.classes(root, "photos", 3, 16)
    return sluice.Dataset(root / "photos")


def open_loader(photos, **options):
    return sluice.Loader(photos, **{"batch_size": 4, "shuffle": True, "seed": 3, "transform": T.RandomResizedCrop(8)} | options)


def indices(loader, epoch=0):
    loader.set_epoch(epoch)
    return [batch["index"].tolist() for batch in loader]


def repeated_list(permutation, repeats, rank, ranks):
    """RASampler's list on a rank, before it is cut (facebookresearch/deit, samplers.py; timm/data/distributed_sampler.py)."""
    each = math.ceil(len(permutation) * repeats / ranks)
    entries = [sample for sample in permutation for _ in range(repeats)]
    entries += entries[: each * ranks - len(entries)]
    return entries[rank : each * ranks : ranks]


@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
@pytest.mark.parametrize("repeats", [2, 3, 5])
def test_the_rule(photos, repeats, ranks, shuffle):
    for epoch in (0, 2):
        permutation = sum(indices(open_loader(photos, shuffle=shuffle), epoch), [])  # that of a loader without repeats
        whole = COUNT * repeats // (4 * ranks)
        for rank in range(ranks):
            found = indices(open_loader(photos, repeats=repeats, shuffle=shuffle, rank=rank, world_size=ranks), epoch)
            wanted = repeated_list(permutation, repeats, rank, ranks)
            assert sum(found[:whole], []) == wanted[: whole * 4]
            assert len(found) == math.ceil(COUNT * repeats / (4 * ranks))


def test_an_epoch(photos):
    """All ranks together have each sample `repeats` times, or the first part of the list, as RASampler cuts it."""
    rows = [sum(indices(open_loader(photos, repeats=3, batch_size=5, rank=rank, world_size=2)), []) for rank in range(2)]
    assert sorted(rows[0] + rows[1]) == sorted(list(range(COUNT)) * 3)
    loader = open_loader(photos, repeats=3, num_samples=COUNT)
    assert len(loader) == COUNT // 4
    found = sum(indices(loader), [])
    assert found == sum(indices(open_loader(photos, repeats=3)), [])[:COUNT] and len(set(found)) == COUNT // 3


def test_draws_differ(photos):
    """As in a dataset that is concatenated with itself."""
    joined = {}
    for batch in open_loader(sluice.concat([photos] * 3)):
        joined |= dict(zip(batch["index"].tolist(), batch["image"].numpy()))
    for batch in open_loader(photos, repeats=3, batch_size=6):
        pictures, numbers = batch["image"].numpy(), batch["index"].numpy()
        for row in range(6):
            assert numpy.array_equal(pictures[row], joined[int(numbers[row]) + COUNT * (row % 3)])
        assert not numpy.array_equal(pictures[0], pictures[1])


def test_views_and_threads(photos):
    """Columns of a sample follow one draw, regardless of the number of threads."""
    columns = {name: C.Image("image", transform=T.RandomResizedCrop(8)) for name in ("a", "b")}
    loaders = [open_loader(photos, repeats=2, columns=columns, transform=None, num_workers=number) for number in (1, 3)]
    assert numpy.array_equal(*([batch["b"].numpy().copy() for batch in loader] for loader in loaders))


@pytest.mark.parametrize("after", [1, 7])
def test_states(photos, after):
    loader = open_loader(photos, repeats=3, batch_size=6)
    iterator = iter(loader)
    for _ in range(after):
        next(iterator)
    state = loader.state_dict()
    rest = [set(batch["index"].tolist()) for batch in iterator]
    halves = []
    for rank in range(2):
        half = open_loader(photos, repeats=3, batch_size=3, rank=rank, world_size=2)
        half.load_state_dict(state)
        halves.append([batch["index"].tolist() for batch in half])
    assert [set(one + two) for one, two in zip(*halves)] == rest
    for other in ({"batch_size": 4}, {"repeats": 2}, {"num_samples": COUNT}, {"repeats": 1, "batch_size": 6}):
        with pytest.raises(sluice.InvalidError, match="repe|order of samples"):
            open_loader(photos, **{"repeats": 3, "batch_size": 6} | other).load_state_dict(state)


def test_bad_samples(photos, tmp_path):
    """Another sample of the epoch replaces each repetition."""
    layouts.classes(tmp_path, "photos", 2, 8)
    (tmp_path / "photos/class00/003.jpg").write_bytes(b"no picture")
    for batch in open_loader(tmp_path / "photos", repeats=3, on_bad_sample="replace"):
        assert 3 not in batch["index"].tolist()
    loader = open_loader(tmp_path / "photos", repeats=3, on_bad_sample="mask")
    assert sum(batch["mask"].tolist().count(0) for batch in loader) == 3


def test_refused(photos):
    for options, match in (
        ({"repeats": 3, "weights": [1.0] * COUNT}, "weights and repeats each set the order"),
        ({"repeats": 3, "lengths": [1.0] * COUNT}, "lengths and repeats each set the order"),
        ({"repeats": 3, "shuffle": "block"}, "repeats needs option shuffle"),
        ({"repeats": 3, "num_samples": 145}, "num_samples is too large: 145, must be at most 3 times 48 samples, which is 144"),
        ({"num_samples": 10}, "num_samples needs option weights or repeats"),
    ):
        with pytest.raises(sluice.Error, match=match):
            open_loader(photos, **options)
    for repeats in (-1, 1.5, "3"):
        with pytest.raises(ValueError, match="repeats="):
            open_loader(photos, repeats=repeats)
    assert indices(open_loader(photos, repeats=1)) == indices(open_loader(photos))
    with pytest.raises(TypeError, match="num_repeats.*use repeats="):
        open_loader(photos, num_repeats=3)
