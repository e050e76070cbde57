# SPDX-License-Identifier: Apache-2.0
"""Episodes of few-shot learning: their samples, ranks, restarts, bad samples, errors."""
import pathlib
import re

import episode_model
import numpy
import pytest
from PIL import Image

import sluice
from sluice import columns as C, transforms as T

COUNTS = [1, 2, 3, 4, 5, 6, 9, 20, 30]  # samples of each class
COUNT = sum(COUNTS)
CLASSES = numpy.random.RandomState(1).permutation(numpy.repeat(numpy.arange(len(COUNTS)), COUNTS)).tolist()
COLUMNS = {"id": C.Number("id"), "class": C.Number("class")}


def write(path, broken=()):
    with sluice.Writer(path, {"id": "int", "class": "int", "numbers": ("tensor", "float32", (0,))}) as writer:
        for number, own in enumerate(CLASSES):
            writer.add(**{"id": number, "class": own, "numbers": numpy.zeros(9 if number in broken else 1, "float32")})
    return path


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write(tmp_path_factory.mktemp("episodes") / "packed")


def loader(data, k=4, n=3, each=1, **options):
    options = {"shuffle": True, "classes": CLASSES, "columns": COLUMNS, "seed": 5, **options}
    return sluice.Loader(data, k * n * each, episode=(k, n), **options)


def taken(batches, k=4, n=3):
    """Returns the episodes of each batch: k x n samples each; None for a padding episode."""
    made = []
    for batch in batches:
        index = batch["index"].numpy().reshape(-1, k, n)
        made.append([None if (own < 0).all() else own.tolist() for own in index])
    return made


@pytest.mark.parametrize("last", ["drop", "short", "pad", "repeat"])
@pytest.mark.parametrize("world, each", [(1, 1), (1, 2), (2, 1), (3, 2)])
@pytest.mark.parametrize("k, n", [(4, 3), (2, 5), (9, 1), (1, 30)])
def test_episodes_are_those_of_the_model(data, k, n, world, each, last):
    count = 7
    for rank in range(world):
        with loader(data, k, n, each, last_batch=last, episodes=count, rank=rank, world_size=world) as own:
            for epoch in range(2):
                expected = [
                    [None if number is None else episode_model.episode(CLASSES, k, n, 5, epoch, number) for number in step]
                    for step in episode_model.steps(CLASSES, k, n, count, k * n * each, rank, world, last, 5, epoch)
                ]
                assert taken(own, k, n) == expected
                assert len(own) == len(expected)


def test_rows_are_class_after_class(data):
    with loader(data, 4, 3, 2) as own:
        seen = set()
        for _ in range(3):
            for batch in own:
                classes = batch["class"].numpy().reshape(2, 4, 3)
                samples = batch["id"].numpy().reshape(2, 12)
                for e in range(2):
                    assert (classes[e] == classes[e, :, :1]).all()
                    assert len(set(classes[e, :, 0].tolist())) == 4 and len(set(samples[e].tolist())) == 12
                    seen.add(tuple(samples[e].tolist()))
        assert len(seen) == 3 * 2 * len(own)
        assert len(own) == COUNT // 12 // 2 == 3


@pytest.mark.parametrize("last", ["drop", "short", "pad"])
def test_ranks_share_an_epoch(data, last):
    """Each of its episodes goes to one rank; the sampler reports the resulting number of rows."""
    rows, episodes = [], []
    for rank in range(3):
        with loader(data, each=2, episodes=10, last_batch=last, rank=rank, world_size=3, prefetch_factor=2) as own:
            got = [episode for step in taken(own) for episode in step if episode is not None]
            assert len(own.sampler) == 12 * (len(got) if last != "drop" else 2)
            rows.append(len(got))
            episodes += got
    assert sum(rows) == (6 if last == "drop" else 10)
    expected = [episode_model.episode(CLASSES, 4, 3, 5, 0, number) for number in range(sum(rows))]
    assert sorted(episodes) == sorted(expected)


def test_an_epoch_has_one_episode_at_least(data):
    with loader(data, 1, 30, drop_last=False) as own:
        assert len(own) == COUNT // 30
    with loader(data, 2, 20) as own:
        assert len(own) == 2
    with loader(data, 9, 1, episodes=1000) as own:
        assert len(own) == 1000
    with sluice.Loader(data, 60, True, episode=(2, 30), classes=[i % 2 for i in range(COUNT)], columns=COLUMNS, episodes=0) as own:
        assert len(own) == 1 and own.sampler and len(taken(own, 2, 30)) == 1


def test_more_episodes_than_samples_and_their_partners(data):
    """Partners come from all samples, not just those of the episodes; each round of the samples has its own order."""
    columns = COLUMNS | {f"id{j}": C.Number("id", partner=j) for j in (1, 2, 3)} | {f"class{j}": C.Number("class", partner=j) for j in (1, 2, 3)}
    rules = ["any", "same_class", "other_class"]
    with loader(data, columns=columns, partners=rules, episodes=40) as own:
        rows = [{name: batch[name].numpy().copy() for name in columns} for batch in own]
    row = {name: numpy.concatenate([one[name] for one in rows]) for name in columns}
    assert len(row["id"]) == 480
    for first in range(0, 480 // COUNT * COUNT, COUNT):
        assert sorted(row["id1"][first : first + COUNT].tolist()) == list(range(COUNT))
    assert row["id1"][:COUNT].tolist() != row["id1"][COUNT : 2 * COUNT].tolist()
    assert (row["class2"] == row["class"]).all() and (row["id2"] != row["id"]).all()
    assert (row["class3"] != row["class"]).all()


def test_a_state_goes_on(data):
    with loader(data, each=2, episodes=24) as own:
        whole = [taken(own), taken(own)]
    flat = [[episode for step in epoch for episode in step] for epoch in whole]
    for stop in (0, 1, 5, 11, 12):
        with loader(data, each=2, episodes=24) as own:
            batches = iter(own)
            for _ in range(stop):
                next(batches)
            state = own.state_dict()
        with loader(data, each=2, episodes=24) as own:  # the same shape
            own.load_state_dict(state)
            if stop < 12:
                assert taken(own) == whole[0][stop:]
            assert taken(own) == whole[1] if stop < 12 else True
        got = []
        for rank in range(3):  # 3 ranks with 1 episode resume where 1 rank with 2 stopped
            with loader(data, rank=rank, world_size=3, last_batch="short", episodes=24) as own:
                own.load_state_dict(state)
                got.append([episode for step in taken(own) for episode in step])
        if stop < 12:
            assert sorted(sum(got, [])) == sorted(flat[0][2 * stop :])


OTHERS = [
    ({"k": 3, "n": 4}, "number of classes of an episode, number of samples of each class"),
    ({"k": 4, "n": 3, "episodes": 9}, "number of episodes"),
    ({"k": 4, "n": 3, "classes": CLASSES[1:] + CLASSES[:1]}, "classes of samples"),
]


@pytest.mark.parametrize("other, words", OTHERS)
def test_a_state_of_other_episodes_is_refused(data, other, words):
    with loader(data) as own:
        next(iter(own))
        state = own.state_dict()
    with loader(data, **other) as own, pytest.raises(ValueError, match=f"different order of episodes: {words}$"):
        own.load_state_dict(state)
    with sluice.Loader(data, 12, True, columns=COLUMNS, seed=5) as own:
        with pytest.raises(ValueError, match="of episodes"):
            own.load_state_dict(state)
        next(iter(own))
        plain = own.state_dict()
    with loader(data) as own, pytest.raises(ValueError, match="of episodes"):
        own.load_state_dict(plain)


def test_a_notebook_shows_samples(data):
    with loader(data, columns=COLUMNS | {"other": C.Number("class", partner=1)}, partners="same_class") as own:
        assert own._repr_html_().count("<div") > 8


# ---- bad samples ----


def test_bad_samples(tmp_path):
    broken = {number for number in range(COUNT) if number % 8 == 3}
    data = write(tmp_path / "packed", broken)
    columns = COLUMNS | {"numbers": C.Ragged(length=4)}
    replaced = 0
    with loader(data, columns=columns, on_bad_sample="replace", episodes=60) as own:
        for number, batch in enumerate(own):
            model = episode_model.episode(CLASSES, 4, 3, 5, 0, number)
            status, index = batch["status"].numpy().tolist(), batch["index"].numpy().tolist()
            planned = sum(model, [])
            for slot in range(4):
                left = [i for i, own_class in enumerate(CLASSES) if own_class == CLASSES[model[slot][0]] and i not in broken and i not in model[slot]]
                for row in range(3 * slot, 3 * slot + 3):
                    if planned[row] not in broken:
                        assert index[row] == planned[row] and status[row] == 0
                        continue
                    replaced += status[row] == 1
                    if status[row] == 1:
                        assert CLASSES[index[row]] == CLASSES[planned[row]] and index[row] not in broken
                        assert index[row] in left or not left
                    else:
                        assert status[row] == 2 and not left  # no sample of the class is good
    assert replaced > 30
    with loader(data, columns=columns, on_bad_sample="mask", episodes=60) as own:
        for number, batch in enumerate(own):
            planned = sum(episode_model.episode(CLASSES, 4, 3, 5, 0, number), [])
            assert batch["index"].numpy().tolist() == planned
            assert batch["mask"].numpy().tolist() == [int(sample not in broken) for sample in planned]
    with loader(data, columns=columns, episodes=60) as own, pytest.raises(sluice.Error, match="numbers"):
        taken(own)


def test_pictures(photos):
    """From class folders: 3-way, 4 support and 6 queries."""
    data = sluice.Dataset(photos)
    with sluice.Loader(data, 30, shuffle=True, episode=(3, 10), classes=data.targets, transform=T.Resize((20, 24))) as own:
        assert len(own) == 1
        for batch in own:
            pictures = batch["image"].numpy().reshape(3, 10, 20, 24, 3)
            labels = batch["label"].numpy().reshape(3, 10)
            assert sorted(labels[:, 0].tolist()) == [0, 1, 2] and (labels == labels[:, :1]).all()
            for at, sample in numpy.ndenumerate(batch["index"].numpy().reshape(3, 10)):
                assert data.targets[sample] == labels[at]
            assert len({pictures[at].tobytes() for at in numpy.ndindex(3, 10)}) == 30


def test_the_page(tmp_path, monkeypatch):
    """The example of docs/several.md, with a net that sees only colours: each class is one colour."""
    torch = pytest.importorskip("torch")
    import sluice.torch

    monkeypatch.chdir(tmp_path)
    for label, colour in enumerate(numpy.ndindex(2, 2, 2)):
        folder = tmp_path / "miniImageNet" / "train" / f"class{label}"
        folder.mkdir(parents=True)
        for number in range(21):
            noise = numpy.random.RandomState(number).randint(0, 60, (20, 24, 3))
            Image.fromarray((noise + 190 * numpy.array(colour)).astype("uint8")).save(folder / f"{number:02}.png")
    page = (pathlib.Path(__file__).parents[2] / "docs" / "several.md").read_text()
    block = next(block for block in re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL) if "WAY" in block)
    names = {"sluice": sluice, "T": T, "net": lambda images: images.float().mean((2, 3))}
    exec(compile(block, "several.md", "exec"), names)
    assert len(names["loader"]) == 100 and names["features"].shape[:2] == (5, 20)
    assert (torch.cdist(names["queries"], names["prototypes"]).argmin(1) == names["wanted"]).all()
    assert 0 <= names["loss"] < 2


# ---- errors ----

REFUSED = [
    ({"k": 5, "n": 6}, "5 classes of 6 samples each, but of the dataset's 9 classes only 4 have as many .the largest has 30."),
    ({"n": 31, "k": 1}, "of the dataset's 9 classes only 0 have as many"),
    ({"batch": 10}, "batch_size is 10, but a batch has whole episodes: expected a multiple of the 12 samples of one .4 classes x 3."),
    ({"classes": dict(enumerate(CLASSES))}, "classes=.*expected an int for each sample"),
    ({"classes": None}, "episodes need the classes of all samples"),
    ({"classes": CLASSES[:-1]}, "classes has 79 samples, but the dataset has 80"),
    ({"shuffle": False}, "episodes need option shuffle full"),
    ({"shuffle": "block"}, "episodes need option shuffle full"),
    ({"each": 9, "drop_last": True}, "an epoch has 6 episodes, fewer than one global batch of 9"),
    ({"episode": 5}, "episode=5: expected .classes, samples of each."),
    ({"episode": (5,)}, "expected .classes, samples of each."),
    ({"episode": (5, 0)}, "episode=0: expected an integer, 1 to 65536"),
    ({"episode": None, "episodes": 4}, "episodes=4 needs episode="),
    ({"episodes": -1}, "episodes"),
    ({"episodes": 1 << 41}, "episodes"),
]


@pytest.mark.parametrize("options, reason", REFUSED)
def test_what_is_refused(data, options, reason):
    options = {"k": 4, "n": 3, "shuffle": True, "classes": CLASSES, "columns": COLUMNS, **options}
    k, n = options.pop("k"), options.pop("n")
    batch = options.pop("batch", k * n * options.pop("each", 1))
    with pytest.raises((sluice.Error, ValueError, TypeError), match=reason):
        sluice.Loader(data, batch, **{"episode": (k, n), **options})


def test_a_mix_is_refused(data):
    mixed = sluice.mix([sluice.Dataset(data), sluice.Dataset(data)], [1, 1])
    with pytest.raises(sluice.Error, match="cannot be used with a mix"):
        loader(mixed, classes=CLASSES * 2)
