# SPDX-License-Identifier: Apache-2.0
"""level=True: the rows of each rank in each step, compared with a dealer in Python that knows the epoch's rows in their order; steps that
are resumed on other ranks; and errors."""
import numpy
import pytest
import test_packed_media as media
from test_packed import documents_of, loader_of, write

import sluice
from sluice import columns as C


@pytest.fixture(scope="module")
def datasets(tmp_path_factory):
    documents = documents_of(150)
    return {kind: write(tmp_path_factory.mktemp(kind), kind, documents) for kind in ("shards", "frames", "arrow")}


def steps_of(loader, epoch=0):
    """Returns the rows of each batch: (index, mask)."""
    loader.set_epoch(epoch)
    return [list(zip(batch["index"].numpy().tolist(), batch["mask"].numpy().tolist())) for batch in loader]


def epoch_of(data, epoch=0, **options):
    """Returns all rows of an epoch in their order: (index, cost)."""
    found = []
    loader = loader_of(data, 1, rank=0, world_size=1, **options)
    loader.set_epoch(epoch)
    for batch in loader:
        lengths = batch["x.lengths"].numpy()[0].tolist()
        found.append((int(batch["index"].numpy()[0]), sum(n * n for n in lengths)))
    return found


# ---- a dealer that tries three ways ----


def shares(rest, batch, world, last):
    """Yields (first, end) of each rank's rows in an epoch's last step, their offset, and the number of repeated rows."""
    for rank in range(world):
        if last == "wrap":
            first, end = min(rank * batch, rest), min((rank + 1) * batch, rest)
        else:
            first, end = rank * rest // world, (rank + 1) * rest // world
        yield first, end, rank * batch - first, batch - (end - first) if last in ("repeat", "wrap") else 0


def dealt(costs, counts, again):
    """Returns the positions dealt to each rank."""
    world = len(counts)
    order = sorted(range(len(costs)), key=lambda place: -costs[place])  # a stable sort
    plain = [list(range(sum(counts[:rank]), sum(counts[: rank + 1]))) for rank in range(world)]
    longest, snake = [[] for _ in counts], [[] for _ in counts]

    def sums(ranks):
        return [again[rank] + sum(costs[place] for place in ranks[rank]) for rank in range(world)]

    for place in order:
        having = sums(longest)
        rank = min((rank for rank in range(world) if len(longest[rank]) < counts[rank]), key=lambda rank: (having[rank], rank))
        longest[rank].append(place)
    turns, left = 0, list(order)
    while left:
        for rank in range(world) if turns % 2 == 0 else reversed(range(world)):
            if len(snake[rank]) < counts[rank]:
                snake[rank].append(left.pop(0))
        turns += 1
    best = min((plain, longest, snake), key=lambda ranks: max(sums(ranks)))  # the first of equal ones
    return [sorted(places) for places in best]


def wanted(rows, batch, world, last, start=0):
    """Returns the steps of each rank, in the form of steps_of."""
    ranks = [[] for _ in range(world)]
    size = batch * world
    for base in range(start, len(rows), size):
        here = rows[base : base + size]
        parts = list(shares(len(here), batch, world, last)) if len(here) < size else [(r * batch, (r + 1) * batch, 0, 0) for r in range(world)]
        if len(here) < size and last == "drop":
            break
        repeated = [[rows[(again + i) % len(rows)] for i in range(count)] for _, _, again, count in parts]
        own = dealt([cost for _, cost in here], [end - first for first, end, _, _ in parts], [sum(cost for _, cost in some) for some in repeated])
        for rank in range(world):
            step = [(here[place][0], 1) for place in own[rank]] + [(index, 0) for index, _ in repeated[rank]]
            ranks[rank].append(step + [(-1, 0)] * ((batch - len(step)) if last == "pad" else 0))
    return ranks


@pytest.mark.parametrize("world, batch", [(1, 3), (2, 1), (2, 4), (3, 2), (8, 4)])
def test_rows_of_each_rank(datasets, world, batch):
    rows = epoch_of(datasets["shards"], 1)
    ranks = [steps_of(loader_of(datasets["shards"], batch, level=True, last_batch="drop", rank=rank, world_size=world), 1) for rank in range(world)]
    assert ranks == wanted(rows, batch, world, "drop")
    plain = [steps_of(loader_of(datasets["shards"], batch, last_batch="drop", rank=rank, world_size=world), 1) for rank in range(world)]
    assert (plain != ranks) == (world > 1 and batch > 1)
    for step, other in zip(zip(*ranks), zip(*plain)):
        assert sorted(sum(step, [])) == sorted(sum(other, [])) and [len(rows) for rows in step] == [batch] * world


def test_rows_of_a_mix_and_with_ids(datasets):
    mix = sluice.mix({datasets["shards"]: 3, datasets["frames"]: 1})
    for data, column in ((mix, {}), (mix, {"eos": 30000, "bos": 30001}), (datasets["arrow"], {"eos": 30000, "fim": C.FIM(0.5, 30001, 30002, 30003)})):
        rows = epoch_of(data, column=column)
        ranks = [steps_of(loader_of(data, 3, level=True, last_batch="short", rank=rank, world_size=3, column=column)) for rank in range(3)]
        assert ranks == wanted(rows, 3, 3, "short")


def test_rows_with_media(tmp_path):
    """Each row goes to one rank with its own patches, and steps have the same rows as without level."""
    data = media.write(tmp_path, "shards", media.documents_of())

    def ranks(level):
        found = []
        for rank in range(3):
            loader = media.loader_of(data, 2, level=level, last_batch="drop", rank=rank, world_size=3)
            rows = [(index, (row["x"].tolist(), row["media"].tolist())) for index, row in media.rows(loader)]
            found.append([dict(rows[i : i + 2]) for i in range(0, len(rows), 2)])
        return found

    plain, level = ranks(False), ranks(True)
    assert plain != level and len(plain[0]) == len(level[0]) > 2
    for one, other in zip(zip(*plain), zip(*level)):
        assert [len(rows) for rows in other] == [2, 2, 2]
        assert {k: v for rows in one for k, v in rows.items()} == {k: v for rows in other for k, v in rows.items()}


@pytest.mark.parametrize("options", [
    {"column": {"cut": "split", "align": 16}}, {"column": {"cut": "long", "length": 24}}, {"column": {"unit": 2, "length": 128}, "kind": "full"},
    {"column": {"length": 512, "max_documents": 100}}, {"shuffle": False}, {"kind": "frames", "num_workers": 3}, {"kind": "arrow", "page_cache": "drop"},
    {"prefetch_factor": 2, "io_depth": 1, "resident_bytes": 1},
], ids=str)  # fmt: skip
def test_shapes_and_options(datasets, options):
    options = dict(options)
    kind = options.pop("kind", "shards")
    data = datasets["shards"].subset([i for i, d in enumerate(documents_of(150)) if len(d)][:120]) if kind == "full" else datasets[kind]
    rows = epoch_of(data, **options)
    ranks = [steps_of(loader_of(data, 3, level=True, last_batch="short", rank=rank, world_size=2, **options)) for rank in range(2)]
    assert ranks == wanted(rows, 3, 2, "short")


@pytest.mark.parametrize("last, world, batch", [("drop", 3, 4), ("short", 5, 3), ("pad", 3, 4), ("repeat", 4, 5), ("wrap", 4, 5)])
def test_last_steps(datasets, last, world, batch):
    """Starts at several positions of an epoch, so that the last steps have several sizes. Every rank has as many rows as without level."""
    rows = epoch_of(datasets["shards"])
    for start in (len(rows) - 33, len(rows) - 2):
        first = loader_of(datasets["shards"], 1)
        run = iter(first)
        for _ in range(start):
            next(run)
        ranks = []
        for rank in range(world):
            loader = loader_of(datasets["shards"], batch, level=True, last_batch=last, rank=rank, world_size=world)
            loader.load_state_dict(first.state_dict())
            ranks.append([list(zip(b["index"].numpy().tolist(), b["mask"].numpy().tolist())) for b in loader])
        assert ranks == wanted(rows, batch, world, last, start)


@pytest.mark.parametrize("before, after", [(True, True), (True, False), (False, True)])
def test_resume_on_other_ranks(datasets, before, after):
    """From two ranks to three, at any step, also if only one side levels: all rows, each once."""
    data = datasets["shards"]
    rows = epoch_of(data, 2)
    for steps in range(1, len(rows) // 4, 8):
        pair = [loader_of(data, 2, rank=rank, world_size=2, level=before) for rank in range(2)]
        found = []
        for loader in pair:
            loader.set_epoch(2)
            run = iter(loader)
            found += [i for _ in range(steps) for i in next(run)["index"].numpy().tolist()]
        assert pair[0].state_dict() == pair[1].state_dict()
        assert sorted(found) == sorted(i for i, _ in rows[: 4 * steps])
        ranks = []
        for rank in range(3):
            other = loader_of(data, 2, rank=rank, world_size=3, level=after, num_workers=1 + rank)
            other.load_state_dict(pair[0].state_dict())
            ranks.append([list(zip(b["index"].numpy().tolist(), b["mask"].numpy().tolist())) for b in other])
        if after:
            assert ranks == wanted(rows, 2, 3, "short", 4 * steps)
        assert sorted(i for rank in ranks for step in rank for i, _ in step) == sorted(i for i, _ in rows[4 * steps :])


def test_epochs_one_after_the_other(datasets):
    """Reads ahead into the next epoch, begins again, and stops in between."""
    data = datasets["shards"]
    loader = loader_of(data, 3, level=True, rank=1, world_size=2, prefetch_factor=3)
    steps = {epoch: wanted(epoch_of(data, epoch), 3, 2, "short")[1] for epoch in range(4)}
    for epoch in range(4):
        assert [batch["index"].numpy().tolist() for batch in loader] == [[i for i, _ in step] for step in steps[epoch]]
    for epoch in (2, 0, 2):
        loader.set_epoch(epoch)
        run = iter(loader)
        assert [next(run)["index"].numpy().tolist() for _ in range(3)] == [[i for i, _ in step] for step in steps[epoch][:3]]


def test_bad_documents_are_masked(tmp_path):
    """A bad row stays with its rank, and its cost follows from its lengths."""
    documents = [numpy.arange(100 * i, 100 * i + i * 7 % 60 + 1, dtype="int64") for i in range(80)]
    documents[7][3] = documents[40][0] = 1 << 40
    with sluice.Writer(tmp_path / "set", {"tokens": ("tensor", "int64", (0,))}, zstd="off") as writer:
        for document in documents:
            writer.add(tokens=document)
    data, options = sluice.Dataset(tmp_path / "set"), {"column": {"dtype": "int32"}, "on_bad_sample": "mask"}
    rows = epoch_of(sluice.Dataset(tmp_path / "set"), column={"dtype": "int64"})
    ranks = [steps_of(loader_of(data, 4, level=True, rank=rank, world_size=2, **options)) for rank in range(2)]
    assert [[[i for i, _ in step] for step in rank] for rank in ranks] == [[[i for i, _ in step] for step in rank] for rank in wanted(rows, 4, 2, "short")]
    assert sum(not mask for rank in ranks for step in rank for _, mask in step) == 2


def test_ranks_of_one_model(datasets, monkeypatch):
    """Ranks 2 and 3 have the same rows, those of data-parallel rank 1 of 2."""
    found = []
    for rank in range(4):
        for name, value in {"RANK": rank, "WORLD_SIZE": 4, "LOCAL_RANK": rank, "LOCAL_WORLD_SIZE": 4}.items():
            monkeypatch.setenv(name, str(value))
        found.append(steps_of(loader_of(datasets["shards"], 2, level=True, model_parallel=2)))
    assert [found[0], found[2]] == wanted(epoch_of(datasets["shards"]), 2, 2, "short")
    assert found[0] == found[1] and found[2] == found[3]


def test_in_a_dict(datasets):
    steps = wanted(epoch_of(datasets["shards"]), 2, 2, "short")[1]
    assert steps_of(loader_of(datasets["shards"], 2, order={"level": True}, rank=1, world_size=2)) == steps


# ---- benefit ----


def test_ranks_are_level(tmp_path):
    """The results in docs/measurements/loading.md use the same distribution, with more documents."""
    lengths = numpy.random.default_rng(4).lognormal(5.9, 1.2, 5000).astype(int) + 1
    with sluice.Writer(tmp_path / "set", {"tokens": ("tensor", "uint8", (0,))}, zstd="off") as writer:
        for length in lengths.tolist():
            writer.add(tokens=numpy.zeros(length, "uint8"))
    data, found = sluice.Dataset(tmp_path / "set"), []
    for level in (False, True):
        costs = []
        for rank in range(8):
            loader = sluice.Loader(data, batch_size=4, shuffle=True, drop_last=True, rank=rank, world_size=8, level=level, num_workers=1,
                                   columns={"x": C.Packed("tokens", length=8192, cut="long", max_documents=128)})  # fmt: skip
            costs.append([int((batch["x.lengths"].numpy().astype("int64") ** 2).sum()) for batch in loader])
        costs = numpy.array(costs)
        found.append(costs.max(0).sum() / costs.mean(0).sum())
    assert found[0] > 1.5 and found[1] < 1.15, found


# ---- errors ----


def test_what_does_not_go_with_it(datasets):
    for options in ({}, {"world_size": 2, "rank": 0}):
        with pytest.raises(sluice.InvalidError, match="option level needs a packed column"):
            sluice.Loader(datasets["shards"], batch_size=2, columns={"x": C.Ragged("tokens", length=60)}, level=True, **options)
    with pytest.raises(sluice.UnsupportedError, match=r"option level levels at most 1048576 rows of a step over all ranks, but 17 ranks of 65536 rows have 1114112"):
        loader_of(datasets["shards"], 65536, level=True, rank=3, world_size=17)
    for value in (2, "yes", None):
        with pytest.raises((TypeError, ValueError), match="level="):
            loader_of(datasets["shards"], level=value)
    with pytest.raises(TypeError, match="level_rows"):
        loader_of(datasets["shards"], level_rows=True)
    with pytest.raises(sluice.Error, match="memory_bytes"):
        loader_of(datasets["shards"], 1, level=True, rank=0, world_size=1 << 20, memory_bytes=40 << 20)
