# SPDX-License-Identifier: Apache-2.0
"""Samples drawn by weight: the distribution, ranks, restarts, bad samples, sources of weights, errors."""
import math
import pathlib

import numpy
import pytest
import layouts

import sluice
from sluice import columns as C, transforms as T

COUNT = 40
WEIGHTS = [0.0 if i % 4 == 3 else 1.0 + i % 7 for i in range(COUNT)]
BAD = 12
COLUMNS = {"id": C.Number("id")}


def write(path, broken=()):
    with sluice.Writer(path, {"id": "int", "weight": "float", "twice": "int", "text": "text", "numbers": ("tensor", "float32", (0,))}) as writer:
        for i in range(COUNT):
            numbers = numpy.zeros(9 if i in broken else 1, "float32")
            writer.add(id=i, weight=WEIGHTS[i], twice=int(2 * WEIGHTS[i]), text="x", numbers=numbers)
    return path


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write(tmp_path_factory.mktemp("weights") / "packed")


def loader(data, batch_size=8, **options):
    options = {"shuffle": True, "columns": COLUMNS, "seed": 3, "weights": WEIGHTS, **options}
    return sluice.Loader(data, batch_size, **options)


def drawn(own):
    return [int(number) for batch in own for number, used in zip(batch["id"], batch["mask"]) if used]


def check_distribution(numbers, weights):
    weights = numpy.array(weights)
    seen = numpy.bincount(numbers, minlength=len(weights))
    assert not seen[weights == 0].any()
    wanted = (weights / weights.sum() * len(numbers))[weights > 0]
    freedom = len(wanted) - 1
    assert ((seen[weights > 0] - wanted) ** 2 / wanted).sum() < freedom + 5 * math.sqrt(2 * freedom)


def test_the_distribution(data):
    with loader(data, 100, num_samples=20000) as own:
        assert len(own) == 200
        numbers = drawn(own)
        assert len(numbers) == 20000
        check_distribution(numbers, WEIGHTS)
        again = drawn(own)  # of the next epoch
        assert again != numbers
        check_distribution(again, WEIGHTS)


def test_as_many_as_the_dataset(data):
    with loader(data, 7) as own:
        assert len(own) == 6 and len(drawn(own)) == COUNT
    with loader(data, 7, drop_last=True) as own:
        assert len(own) == 5 and len(drawn(own)) == 35


def test_ranks_and_batches_take_the_same_draws(data):
    with loader(data, 6, num_samples=96) as own:
        alone = drawn(own)
    parts = []
    for rank in range(4):
        with loader(data, 4, num_samples=96, rank=rank, world_size=4) as own:
            parts.append(numpy.array(drawn(own)).reshape(6, 4))
    assert numpy.stack(parts, axis=1).ravel().tolist() == alone


@pytest.mark.parametrize("batch_size, world_size", [(6, 1), (9, 1), (3, 2)])
def test_a_state_goes_on(data, batch_size, world_size):
    with loader(data, 6, num_samples=72) as own:
        alone, state = [], None
        for number, batch in enumerate(own):
            alone += batch["id"].tolist()
            if number == 2:
                state = own.state_dict()
    made = []
    for rank in range(world_size):
        with loader(data, batch_size, num_samples=72, rank=rank, world_size=world_size) as own:
            own.load_state_dict(state)
            made.append(numpy.array(drawn(own)).reshape(-1, batch_size))
    assert numpy.stack(made, axis=1).ravel().tolist() == alone[18:]


def test_a_state_of_other_weights_is_refused(data):
    with loader(data) as own:
        next(iter(own))
        state = own.state_dict()
    for other, words in (({"num_samples": 32}, "number of samples in an epoch"), ({"weights": [1.0] * COUNT}, "weights of samples")):
        with loader(data, **other) as own, pytest.raises(ValueError, match=f"different order by weight: {words}$"):
            own.load_state_dict(state)
    with sluice.Loader(data, 8, shuffle=True, columns=COLUMNS, seed=3) as own, pytest.raises(ValueError, match="different"):
        own.load_state_dict(state)


def test_fields_and_arrays_are_the_same(data):
    with loader(data) as own:
        numbers = drawn(own)
    for weights in ("weight", "twice", numpy.array(WEIGHTS, "float32"), tuple(WEIGHTS), [2 * w for w in WEIGHTS]):
        with loader(data, weights=weights) as own:
            assert drawn(own) == numbers


@pytest.mark.parametrize("how", ["replace", "mask"])
def test_bad_samples(tmp_path, how):
    data = write(tmp_path / "packed", [BAD])
    with sluice.Loader(write(tmp_path / "good"), 8, shuffle=True, columns=COLUMNS, seed=3, weights=WEIGHTS, num_samples=4000) as own:
        planned = drawn(own)
    with loader(data, columns=COLUMNS | {"r": C.Ragged("numbers", length=4)}, on_bad_sample=how, num_samples=4000) as own:
        rows = [(int(n), int(status)) for batch in own for n, status in zip(batch["index"], batch["status"])]
    assert len(rows) == 4000
    for (number, status), plan in zip(rows, planned):
        if plan != BAD:
            assert (number, status) == (plan, 0)
        else:
            assert (number != BAD and WEIGHTS[number] > 0) if how == "replace" else status == 2
    if how == "replace":
        check_distribution([n for (n, _), plan in zip(rows, planned) if plan == BAD], [0 if i == BAD else w for i, w in enumerate(WEIGHTS)])


def test_a_substitute_of_the_class_has_weight(tmp_path):
    """If partners have the row's class, a bad row is replaced by a sample of that class: one that can be drawn."""
    data = write(tmp_path / "packed", [BAD])
    columns = COLUMNS | {"r": C.Ragged("numbers", length=4), "partner": C.Number("id", partner=1)}
    classes = [i % 2 for i in range(COUNT)]
    with loader(data, columns=columns, classes=classes, partners="same_class", on_bad_sample="replace", num_samples=400) as own:
        numbers = [int(n) for batch in own for n in batch["index"]]
    assert BAD not in numbers and all(WEIGHTS[n] > 0 for n in numbers)


@pytest.mark.parametrize(
    "options, reason",
    [
        ({"weights": [1.0] * (COUNT - 1)}, "weights has 39 values, but the dataset has 40 samples"),
        ({"weights": [0.0] * COUNT}, "weights.*all weights are 0"),
        ({"weights": [1.0] * (COUNT - 1) + [math.nan]}, "weights.*sample 39 has weight nan"),
        ({"weights": [-1.0] + [1.0] * (COUNT - 1)}, "weights.*sample 0 has weight -1"),
        ({"weights": [math.inf] + [1.0] * (COUNT - 1)}, "weights.*sample 0 has weight inf: expected a finite number of at least 0"),
        ({"weights": ["1"] * COUNT}, "weights.*a number"),
        ({"weights": 3}, "weights"),
        ({"weights": dict(enumerate(WEIGHTS))}, "weights=.*expected a number for each sample"),
        ({"weights": set(range(COUNT))}, "weights=.*expected a number for each sample"),
        ({"weight_field": "weight"}, "unexpected keyword argument 'weight_field'; weights= also takes the name of a field"),
        ({"weighted_samples": 8}, "unexpected keyword argument 'weighted_samples'; use num_samples="),
        ({"order": "weights"}, "order='weights': expected a dict"),
        ({"weights": "absent"}, 'weights.*no field "absent"'),
        ({"weights": "text"}, 'weights.*field "text" is not an int or a float'),
        ({"weights": "numbers"}, 'weights.*field "numbers" is not an int or a float'),
        ({"weights": None, "num_samples": 5}, "num_samples needs option weights"),
        ({"shuffle": False}, "weights needs option shuffle full"),
        ({"shuffle": "block"}, "weights needs option shuffle full"),
        ({"episode": (2, 2), "classes": [i % 4 for i in range(COUNT)]}, "each set the order of samples"),
        ({"num_samples": 5, "drop_last": True}, "so it would be empty"),
    ],
)
def test_refused(data, options, reason):
    with pytest.raises((sluice.Error, ValueError, TypeError), match=reason):
        loader(data, **options)


def test_a_mix_has_its_own(data):
    mixed = sluice.mix([sluice.Dataset(data), sluice.Dataset(data)])
    with pytest.raises(sluice.Error, match="weights cannot be used with a mix"):
        loader(mixed, weights=WEIGHTS * 2)


def test_the_sampler_of_torch(data):
    torch = pytest.importorskip("torch")
    import sluice.torch

    sampler = torch.utils.data.WeightedRandomSampler(WEIGHTS, 64)
    with sluice.torch.DataLoader(data, 8, columns=COLUMNS, seed=3, sampler=sampler) as own:
        made = [int(n) for batch in own for n in batch["id"]]
    with loader(data, num_samples=64) as own:
        assert made == drawn(own)
    once = torch.utils.data.WeightedRandomSampler(WEIGHTS, 8, replacement=False)
    with pytest.raises(TypeError, match="replacement=True"):
        sluice.torch.DataLoader(data, 8, columns=COLUMNS, sampler=once)
    with pytest.raises(TypeError, match="weights and num_samples are given twice"):
        sluice.torch.DataLoader(data, 8, columns=COLUMNS, sampler=sampler, weights=WEIGHTS)
    with pytest.raises(TypeError, match="weights and num_samples are given twice"):
        sluice.torch.DataLoader(data, 8, columns=COLUMNS, sampler=sampler, order={"weights": WEIGHTS})
    with pytest.raises(sluice.Error, match="weights needs option shuffle full"):
        sluice.torch.DataLoader(data, 8, "block", columns=COLUMNS, sampler=sampler)
    with pytest.raises(TypeError, match="sampler= is not supported: .*weights="):
        sluice.torch.DataLoader(data, 8, columns=COLUMNS, sampler=torch.utils.data.SequentialSampler(WEIGHTS))


def test_each_draw_is_augmented_on_its_own(tmp_path):
    """As if the dataset were repeated once per position; the same on ranks, and after a resume."""
    layouts.classes(tmp_path, "photos", 2, 4)
    photos, count, draws = sluice.Dataset(tmp_path / "photos"), 8, 24

    def made(source, batch_size=4, start=None, **options):
        options = {"seed": 3, "shuffle": True, "transform": T.RandomResizedCrop(8)} | options
        with sluice.Loader(source, batch_size, **options) as own:
            if start:
                own.load_state_dict(own.state_at(0, start))
            return [(int(n), image) for batch in own for n, image in zip(batch["index"], batch["image"].numpy().copy())]

    weighted = {"weights": [1.0] * count, "num_samples": draws}
    alone = made(photos, **weighted)
    joined = dict(made(sluice.concat([photos] * draws), 32))
    for position, (number, image) in enumerate(alone):
        assert (image == joined[number + count * position]).all()
    times = {}
    for number, image in made(sluice.mix([photos], [1], epoch_samples=draws)):
        times[number] = times.get(number, -1) + 1
        assert (image == joined[number + count * times[number]]).all()
    assert set(times.values()) == {2}
    for place, (number, image) in enumerate(made(photos, episode=(2, 2), episodes=6, classes=[i // 4 for i in range(count)])):
        assert (image == joined[number + count * (place // 4)]).all()
    of_sample = [image for number, image in alone if number == alone[0][0]]
    assert len(of_sample) > 1 and all((image != of_sample[0]).any() for image in of_sample[1:])

    def is_same(found, wanted):
        return len(found) == len(wanted) and all(a[0] == b[0] and (a[1] == b[1]).all() for a, b in zip(found, wanted))

    for rank in range(3):
        own = [one for step in range(0, draws, 6) for one in alone[step + 2 * rank : step + 2 * rank + 2]]
        assert is_same(made(photos, 2, rank=rank, world_size=3, **weighted), own)
    assert is_same(made(photos, start=2, **weighted), alone[8:])


def test_weights_are_closed_with_the_loader(data):
    for _ in range(20):
        loader(data).close()
    assert pathlib.Path(data).exists()
