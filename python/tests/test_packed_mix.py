# SPDX-License-Identifier: Apache-2.0
"""Rows of packed sequences of a mix: each source is packed separately, its rows appear as often as the weights say, each once
before any repeats; compared with a packer and a schedule that try everything. Also joined datasets, whose documents share
rows, and ranks that hold parts of one model."""
import collections
import math

import numpy
import pytest
from test_packed import FIRST, LENGTH, MOST, documents_of, expect, loader_of, pack, pieces_of, row_of, rows, write

import sluice

APART = 100_000  # distance between the first tokens of two sources
WEIGHTS = [5, 1, 3]


def mix_of(datasets, weights=None, **options):
    return sluice.mix(datasets, weights, fields=["tokens"], **options)


def source_of(token):
    return (int(token) - FIRST) // APART


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """Datasets of three formats and their documents; tokens identify their source."""
    made = []
    for number, (kind, count, longest) in enumerate([("shards", 90, 60), ("parquet", 40, 64), ("arrow", 70, 30)]):
        documents = [d + number * APART for d in documents_of(count, longest, seed=number)]
        made.append((write(tmp_path_factory.mktemp(kind), kind, documents), documents))
    return [data for data, _ in made], [documents for _, documents in made]


def schedule(shares, count):
    """Returns the sources of the first positions: among those whose next turn has begun, the one whose turn ends first."""
    period, found = sum(shares), []
    while len(found) < count:
        taken = [0] * len(shares)
        for at in range(period):
            turns = [(math.ceil((n + 1) * period / share), source) for source, (n, share) in enumerate(zip(taken, shares))
                     if n < share and n * period // share <= at]  # fmt: skip
            found.append(min(turns)[1])
            taken[found[-1]] += 1
    return found[:count]


def numbered(data_rows):
    return [(number, row["x"].tolist(), row["targets"].tolist()) for number, row in data_rows]


# ---- rows ----


@pytest.mark.parametrize("column", [{}, {"align": 8}, {"cut": "split"}, {"cut": "long", "length": 24, "align": 4, "max_documents": 32}], ids=str)
def test_rows_in_their_order(sources, column):
    """Over three epochs, each source continues where it stopped, and begins again after its last row."""
    datasets, documents = sources
    shape = {"length": LENGTH, "most": MOST, "align": 1} | {"most" if name == "max_documents" else name: value for name, value in column.items()}
    packed = [pack([len(d) for d in some], **shape) for some in documents]
    shape.pop("cut", None)
    firsts, samples = (numpy.cumsum([0, *map(len, many)]) for many in (packed, documents))
    loader = loader_of(mix_of(datasets, WEIGHTS), 1, False, column)
    assert len(loader) == firsts[-1]
    found, taken = rows(loader, epochs=3), [0] * 3
    assert len(found) == 3 * firsts[-1]
    for (number, row), source in zip(found, schedule(WEIGHTS, len(found))):
        own = taken[source] % len(packed[source])
        taken[source] += 1
        assert number == firsts[source] + own
        expect(row, row_of(documents[source], packed[source][own], source=samples[source], **shape))
    assert taken[0] > len(packed[0])  # its rows repeated


def test_rows_of_a_shuffled_mix(sources):
    """Each row has one source, with the same rows in every epoch; all rows of a source appear before one repeats, then in another order."""
    datasets, documents = sources
    loader = loader_of(mix_of(datasets, WEIGHTS), column={"cut": "split"})
    found, rounds, taken = rows(loader, epochs=4), [[] for _ in datasets], [0] * 3
    by_number, turns = {}, schedule(WEIGHTS, len(found))
    assert len(found) == 4 * len(loader_of(mix_of(datasets), 1, column={"cut": "split"}))
    for (number, row), turn in zip(found, turns):
        assert {source_of(t) for t in row["x"] if t >= FIRST} == {turn}
        assert by_number.setdefault(number, pieces_of(row)) == pieces_of(row)
        rounds[turn].append(number)
    for source, numbers in enumerate(rounds):
        own = sorted(number for number, pieces in by_number.items() if source_of(min(pieces)[0]) == source)
        some = [numbers[at : at + len(own)] for at in range(0, len(numbers), len(own))]
        assert own == list(range(own[0], own[-1] + 1)) and len(some) > 1
        assert all(sorted(one) == own for one in some[:-1]) and len(set(some[-1])) == len(some[-1])
        assert len({tuple(one) for one in some}) == len(some)
        taken[source] = len(own)
        tokens = collections.Counter(t for number in own for first, n in by_number[number] for t in range(first, first + n))
        assert tokens == collections.Counter(numpy.concatenate(documents[source]).tolist())
    assert sum(taken) == len(by_number)


def test_a_dataset_that_is_two_sources(sources):
    """Each has its own rows, in its own order."""
    data = sources[0][0]
    found = rows(loader_of(mix_of([data, data], [1, 1])))
    half = len(found) // 2
    packed = [{number: pieces_of(row) for number, row in found if (number >= half) == second} for second in (False, True)]
    assert set(packed[0].values()) != set(packed[1].values()) and len(packed[0]) == len(packed[1]) == half
    pieces = [frozenset().union(*own.values()) for own in packed]
    assert pieces[0] == pieces[1]


def test_weights_that_change(sources):
    mixed = mix_of(sources[0], {0: [1, 1, 0], 2: [0, 1, 3]}, epoch_samples=20)
    loader = loader_of(mixed)
    shares = []
    for epoch in range(4):
        found = rows(loader, first=epoch)
        assert len(found) == 20 and len(loader) == 5
        shares.append([sum(source_of(row["x"][0]) == source for _, row in found) for source in range(3)])
    assert shares == [[10, 10, 0], [10, 10, 0], [0, 5, 15], [0, 5, 15]]


def test_pairs_stay_together(sources):
    documents = [[d for d in some if len(d)][:20] for some in sources[1]]
    chosen = [data.subset([i for i, d in enumerate(some) if len(d)][:20]) for data, some in zip(*sources)]
    packed = [pack([len(d) for d in some], length=128, unit=2) for some in documents]
    found, taken = rows(loader_of(mix_of(chosen), shuffle=False, column={"unit": 2, "length": 128})), [0] * 3
    for (_, row), source in zip(found, schedule([1, 1, 1], len(found))):
        expect(row, row_of(documents[source], packed[source][taken[source] % len(packed[source])], length=128, source=20 * source))
        taken[source] += 1
    assert sum(taken) == sum(map(len, packed))


# ---- workers, ranks, states ----


@pytest.mark.parametrize("shuffle", [True, False])
def test_workers_and_ranks(sources, shuffle):
    mixed = mix_of(sources[0], WEIGHTS)
    whole = numbered(rows(loader_of(mixed, shuffle=shuffle, num_workers=1), first=1))
    assert whole == numbered(rows(loader_of(mixed, shuffle=shuffle, num_workers=4), first=1))
    for world in (2, 3):
        ranks = [numbered(rows(loader_of(mixed, 1, shuffle, rank=rank, world_size=world, last_batch="drop"), first=1)) for rank in range(world)]
        shared = [row for some in zip(*ranks) for row in some]
        assert shared == whole[: len(shared)] and len(whole) - len(shared) < world


@pytest.mark.parametrize("epoch", [0, 3])
def test_resume_on_other_ranks(sources, epoch):
    """At 90 % of an epoch, and elsewhere, from two ranks to three; the next epoch does not change."""
    mixed = mix_of(sources[0], WEIGHTS)
    whole, behind = (numbered(rows(loader_of(mixed), first=number)) for number in (epoch, epoch + 1))
    for steps in (1, len(whole) // 4, len(whole) * 9 // 20):
        pair = [loader_of(mixed, 1, rank=rank, world_size=2, last_batch="drop") for rank in range(2)]
        for loader in pair:
            loader.set_epoch(epoch)
            run = iter(loader)
            for _ in range(steps):
                next(run)
        ranks, later = [], []
        for rank in range(3):
            other = loader_of(mixed, 1, rank=rank, world_size=3, last_batch="drop", num_workers=1 + rank)
            other.load_state_dict(pair[0].state_dict())
            ranks.append([(int(b["index"].numpy()[0]), b["x"].numpy()[0].tolist(), b["x.targets"].numpy()[0].tolist()) for b in other])
            later.append(numbered(rows(other, first=epoch + 1)))
        for some, wanted in ((ranks, whole[2 * steps :]), (later, behind)):
            rest = [row for same in zip(*some) for row in same]
            assert rest == wanted[: len(rest)] and len(wanted) - len(rest) < 3


def test_ranks_of_one_model(sources, monkeypatch):
    """Ranks 0 and 1 of four have the same rows, and so do 2 and 3."""
    for data in (sources[0][0], mix_of(sources[0], WEIGHTS)):
        whole, ranks = numbered(rows(loader_of(data))), []
        for rank in range(4):
            for name, value in {"RANK": rank, "WORLD_SIZE": 4, "LOCAL_RANK": rank, "LOCAL_WORLD_SIZE": 4}.items():
                monkeypatch.setenv(name, str(value))
            ranks.append(numbered(rows(loader_of(data, 1, model_parallel=2, last_batch="drop"))))
        assert ranks[0] == ranks[1] and ranks[2] == ranks[3]
        shared = [row for some in zip(ranks[0], ranks[2]) for row in some]
        assert shared == whole[: len(shared)] and len(whole) - len(shared) < 2
        for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"):
            monkeypatch.delenv(name)


def test_a_state_of_another_mix(sources):
    datasets = sources[0]
    loader = loader_of(mix_of(datasets, WEIGHTS))
    next(iter(loader))
    state = loader.state_dict()
    others = [mix_of(datasets, [5, 1, 4]), mix_of(datasets[::-1], WEIGHTS[::-1]), mix_of(datasets, WEIGHTS, epoch_samples=30),
              mix_of([datasets[0], datasets[1], datasets[2].subset(range(60))], WEIGHTS), datasets[0], sluice.concat(datasets, fields=["tokens"])]  # fmt: skip
    for other in others:
        with pytest.raises(sluice.InvalidError, match="dataset|order of samples|packing"):
            loader_of(other).load_state_dict(state)
    with pytest.raises(sluice.InvalidError, match="packing: max_documents$"):
        loader_of(mix_of(datasets, WEIGHTS), column={"max_documents": MOST + 1}).load_state_dict(state)


# ---- bad input ----


def made(folder, tokens, dtype="int32", shape=(0,), name="tokens"):
    with sluice.Writer(folder, {name: ("tensor", dtype, shape)}, zstd="off") as writer:
        for one in tokens:
            writer.add(**{name: numpy.array(one, dtype)})
    return sluice.Dataset(folder)


def test_a_source_is_named(tmp_path):
    good = made(tmp_path / "web", [[1, 2], [3, 4, 5], [6], [7]])
    long = made(tmp_path / "books", [[1], [2] * 5000, [3]])
    words = r'dataset 2 of the mix \(.*books.*\): packing: the longest document, 1, has 5000 elements, but a row has 64: cut="long"'
    with pytest.raises(sluice.InvalidError, match=words):
        loader_of(sluice.mix([good, long]))
    assert len(loader_of(sluice.mix([good, long]), 1, column={"cut": "long"})) == 80
    with pytest.raises(sluice.InvalidError, match=r"dataset 2 of the mix \(.*books.*\): packing: 3 documents are not a multiple of unit 2"):
        loader_of(sluice.mix([good, long]), column={"unit": 2})
    none = made(tmp_path / "none", [[], []])
    with pytest.raises(sluice.InvalidError, match=r"dataset 3 of the mix \(.*none.*\): packing: all 2 documents are empty"):
        loader_of(sluice.mix([good, good, none]))
    some = made(tmp_path / "some", [[1], [], [2]])
    with pytest.warns(UserWarning) as warned:
        loader_of(sluice.mix([good, some, some]))
    assert [str(warning.message).split(": ", 1)[1] for warning in warned] == [
        f'2 of 10 documents of "tokens" have no elements and are left out: 1 of dataset 2 of the mix ({tmp_path}/some/shard-000000.sluice); '
        f"1 of dataset 3 of the mix ({tmp_path}/some/shard-000000.sluice)"]  # fmt: skip


def test_many_sources_with_long_paths(tmp_path):
    folder = tmp_path / ("a" * 200) / ("b" * 200) / "some"
    folder.parent.mkdir(parents=True)
    some = made(folder, [[1], [], [2]])
    with pytest.warns(UserWarning, match=r"40 of 120 documents .*dataset 1 of the mix \(.*b/some/shard.*; and others"):
        loader_of(sluice.mix([some] * 40))
    with pytest.raises(sluice.InvalidError, match=r"dataset 1 of the mix \(b+/some/shard-000000.sluice\): packing: 3 documents"):
        loader_of(sluice.mix([some] * 40), column={"unit": 2})


def test_sources_without_the_field(tmp_path):
    good, other = made(tmp_path / "web", [[1, 2]]), made(tmp_path / "other", [[1]], name="words")
    with pytest.raises(sluice.InvalidError, match="tokens"):
        sluice.mix([good, other])
    flat, square = made(tmp_path / "flat", [[[1, 2]]], shape=(0, 2)), made(tmp_path / "square", [[[1, 2]]], shape=(0, 2))
    with pytest.raises(sluice.InvalidError, match="dim"):
        sluice.mix([good, flat])
    with pytest.raises(sluice.InvalidError, match="only one-dimensional tensors can be packed"):
        loader_of(sluice.mix([flat, square]))
    with pytest.raises(sluice.InvalidError, match="tokens"):
        sluice.mix([good, made(tmp_path / "small", [[1]], "uint16")])


def test_fields_in_another_order(tmp_path, sources):
    """Documents are found by their field's name in each source."""
    documents = sources[1][0]
    with sluice.Writer(tmp_path / "set", {"tokens": ("tensor", "int32", (0,)), "id": "int"}, zstd="off") as writer:
        for document in documents:
            writer.add(tokens=document, id=1)
    found = rows(loader_of(sluice.mix([sources[0][0], sluice.Dataset(tmp_path / "set")], fields=["id", "tokens"]), shuffle=False))
    half = len(found) // 2
    wanted = pack([len(d) for d in documents])
    for (number, row), pieces in zip(found, [pieces for pieces in wanted for _ in range(2)]):
        expect(row, row_of(documents, pieces, source=len(documents) * (number >= half)))
    assert {number >= half for number, _ in found} == {False, True}


def test_a_bad_document_is_a_bad_row(tmp_path):
    """A token beyond the dtype in the second source: its row is masked, at any position."""
    documents = [numpy.arange(20 * i + FIRST, 20 * i + FIRST + 20, dtype="int64") for i in range(12)]
    good = made(tmp_path / "good", documents, "int64")
    documents[7][3] = 1 << 40
    mixed = sluice.mix([good, made(tmp_path / "bad", documents, "int64")])
    batches = [(int(i), int(m)) for batch in loader_of(mixed, 2, True, {"dtype": "int32"}, on_bad_sample="mask")
               for i, m in zip(batch["index"].numpy(), batch["mask"].numpy())]  # fmt: skip
    assert len(batches) == 8 and [i >= 4 for i, m in batches if not m] == [True]
    with pytest.raises(sluice.Error, match="contains a number that i[0-9]+ cannot represent") as raised:
        rows(loader_of(mixed, 2, False, {"dtype": "int32"}))
    assert raised.value.sample == 12 + 7 and "bad" in str(raised.value)


# ---- joined datasets ----


def test_joined_datasets_share_rows(sources):
    documents = [d for some in sources[1] for d in some]
    wanted = pack([len(d) for d in documents])
    joined = sluice.concat(sources[0], fields=["tokens"])
    found = rows(loader_of(joined, shuffle=False))
    assert len(found) == len(wanted) and any(len({source_of(documents[d][0]) for d, _, _ in pieces}) > 1 for pieces in wanted)
    for (_, row), pieces in zip(found, wanted):
        expect(row, row_of(documents, pieces))
    shuffled = rows(loader_of(joined), epochs=2)
    tokens = collections.Counter(int(t) for _, row in shuffled for t in row["x"] if t >= FIRST)
    assert tokens == collections.Counter(2 * numpy.concatenate(documents).tolist())


def test_a_mix_of_joined_datasets(sources):
    """A joined dataset is one source, whose documents share rows."""
    datasets, documents = sources
    both = [*documents[0], *documents[1]]
    packed = [pack([len(d) for d in some]) for some in (both, documents[2])]
    found, taken = rows(loader_of(sluice.mix([sluice.concat(datasets[:2], fields=["tokens"]), datasets[2]], [2, 1], fields=["tokens"]), shuffle=False)), [0, 0]
    for (_, row), source in zip(found, schedule([2, 1], len(found))):
        expect(row, row_of([both, documents[2]][source], packed[source][taken[source] % len(packed[source])], source=len(both) * source))
        taken[source] += 1
    assert len(found) == sum(map(len, packed))


@pytest.mark.parametrize("turned", [False, True])
def test_only_datasets_without_lengths_are_read(tmp_path, turned):
    """If a dataset's index has the lengths, its samples are not read, also beside one whose samples must be."""
    documents = documents_of(700, 5)
    datasets = []
    for kind in ("frames", "shards"):
        (tmp_path / kind).mkdir()
        datasets.append(write(tmp_path / kind, kind, documents))
    shard = tmp_path / "shards" / "set" / "shard-000000.sluice"
    stored = bytearray(shard.read_bytes())
    at = stored.find(documents[300].tobytes())
    assert len(documents[300]) > 1 and at > 0
    stored[at] ^= 255
    shard.write_bytes(stored)
    datasets = datasets[::-1] if turned else datasets
    with pytest.raises(sluice.CorruptError):
        sluice.Dataset(tmp_path / "shards" / "set")[300]
    for joined in (sluice.concat(datasets), sluice.mix(datasets), sluice.concat([*datasets, *datasets])):
        assert joined.lengths_source("tokens") == "samples"
        assert joined.lengths("tokens").tolist() == [len(d) for d in documents] * (len(joined) // len(documents))
    assert len(loader_of(sluice.mix(datasets), 1, False)) == 2 * len(pack([len(d) for d in documents]))
