# SPDX-License-Identifier: Apache-2.0
"""fim= of packed sequences: rows consist of documents that a model in Python transforms like Megatron-LM, with draws of its own Philox."""
import numpy
import pytest
from shard_model import mixed, philox
from test_packed import FIRST, documents_of, expect, loader_of, pack, row_of, rows
from test_packed import write as write_plain
from test_packed_ids import BOS, EOS, shape_of
from test_packed_mask import masks_of
from test_packed_mask import write as write_masked
from test_packed_mix import schedule

import sluice
from sluice import columns as C

PREFIX, MIDDLE, SUFFIX = 7, 0, 5
SEED = 7  # the seed of loader_of
TRANSFORMED, SPLIT = 65533, 65534  # streams of document_layout.c
STREAM_DOMAIN = 0x73747265616D0000  # of philox.c


class Random:
    """sl_random_for: words of one stream, block by block."""

    def __init__(self, epoch, document, operation):
        self.key, self.low, self.high, self.words = mixed(SEED, epoch, STREAM_DOMAIN), document, operation << 16, []

    def word(self):
        if not self.words:
            self.words, self.high = list(philox(self.key, self.low, self.high)), self.high + 1
        return self.words.pop(0)

    def unit(self):
        upper, lower = self.word(), self.word()
        return (upper << 32 | lower) >> 11

    def below(self, bound):
        while True:
            product = self.word() * bound
            if product & 0xFFFFFFFF >= 2**32 % bound:
                return product >> 32


def is_transformed(number, rate):
    return Random(0, number, TRANSFORMED).unit() < rate * 2**53


def transform(tokens, number, epoch, rate, spm, mask=None):
    """Returns the document, and whether each of its elements is trained."""
    trained = [1] * len(tokens) if mask is None else list(mask)
    tokens = list(tokens)
    if not tokens or not is_transformed(number, rate):
        return tokens, trained
    random = Random(epoch, number, SPLIT)
    begin, end = sorted([random.below(len(tokens) + 1), random.below(len(tokens) + 1)])
    last = random.unit() < spm * 2**53
    parts = [(list_[:begin], list_[begin:end], list_[end:]) for list_ in (tokens, trained)]
    made = []
    for (p, m, s), ids in zip(parts, ([PREFIX, SUFFIX, MIDDLE], [1, 1, 1])):
        made.append([ids[0], ids[1], *s, ids[2], *p, *m] if last else [ids[0], *p, ids[1], *s, ids[2], *m])
    return made[0], made[1]


def wanted_rows(documents, epoch, column, rate, spm, masks=None, before=0):
    bos, eos = ([column[name]] if name in column else [] for name in ("bos", "eos"))
    extended, trained = [], []
    for number, tokens in enumerate(documents):
        mask = None if masks is None else masks[number]
        made, good = transform(tokens, before + number, epoch, rate, spm, mask)
        last = [1 if mask is None else mask[-1]] if eos and len(tokens) else []
        extended.append(numpy.array([*bos, *made, *eos] if made else [], dtype="int64"))
        trained.append([*[1] * len(bos), *good, *last] if made else [])
    shape = shape_of(column)
    made = pack([len(d) for d in extended], **shape)
    return [row_of(extended, pieces, shape["length"], shape["most"], shape["align"], trained, before) for pieces in made]


def fim(rate=0.6, spm=0.4):
    return C.FIM(rate, PREFIX, MIDDLE, SUFFIX, spm)


KINDS = ("megatron", "shards", "frames", "parquet")


@pytest.fixture(scope="module")
def datasets(tmp_path_factory):
    documents = [d for d in documents_of(count=70, longest=40, seed=13) if len(d)]
    return {kind: write_plain(tmp_path_factory.mktemp(kind), kind, documents) for kind in KINDS}, documents


SHAPES = [{}, {"align": 8, "eos": EOS + 2}, {"cut": "split", "bos": BOS}, {"cut": "long", "length": 10, "bos": BOS, "eos": EOS + 2}, {"cut": "split", "length": 1}]


@pytest.mark.parametrize("column", SHAPES, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_rows(datasets, kind, column):
    loader = loader_of(datasets[0][kind], shuffle=False, column=column | {"fim": fim()})
    for epoch in (0, 3):
        wanted = wanted_rows(datasets[1], epoch, column, 0.6, 0.4)
        found = rows(loader, first=epoch)
        assert len(found) == len(wanted)
        for (_, row), one in zip(found, wanted):
            expect(row, one)


@pytest.mark.parametrize("rate, spm", [(1, 0), (1, 1), (1.0, 0.5), (0.2, 0.5)])
def test_shares(datasets, rate, spm):
    found = rows(loader_of(datasets[0]["megatron"], shuffle=False, column={"fim": fim(rate, spm)}))
    for (_, row), one in zip(found, wanted_rows(datasets[1], 0, {}, rate, spm)):
        expect(row, one)
    tokens = numpy.concatenate([row["x"] for _, row in found])
    transformed = sum(is_transformed(number, rate) for number in range(len(datasets[1])))
    assert (tokens == PREFIX).sum() == (tokens == SUFFIX).sum() == (tokens == MIDDLE).sum() == transformed
    first = [row["x"][begin : begin + 2].tolist() == [PREFIX, SUFFIX] for _, row in found for begin in row["cu_seqlens_padded"][: row["count"]]]
    assert rate < 1 or spm == 0.5 or sum(first) >= spm * len(first)


def test_the_default_form(datasets):
    default = rows(loader_of(datasets[0]["megatron"], column={"fim": C.FIM(0.5, prefix=PREFIX, middle=MIDDLE, suffix=SUFFIX)}))
    half = rows(loader_of(datasets[0]["megatron"], column={"fim": fim(0.5, 0.5)}))
    none = rows(loader_of(datasets[0]["megatron"], column={"fim": fim(0)}))
    plain = rows(loader_of(datasets[0]["megatron"]))
    assert [row["x"].tolist() for _, row in default] == [row["x"].tolist() for _, row in half] != [row["x"].tolist() for _, row in plain]
    assert [row["x"].tolist() for _, row in none] == [row["x"].tolist() for _, row in plain]


def test_epochs_have_the_same_lengths_and_other_splits(datasets):
    loader = loader_of(datasets[0]["shards"], column={"cut": "split", "fim": fim(1)})
    epochs = [dict(rows(loader, first=epoch)) for epoch in range(3)]
    for other in epochs[1:]:
        assert other.keys() == epochs[0].keys()
        assert all(other[i]["lengths"].tolist() == row["lengths"].tolist() for i, row in epochs[0].items())
        assert sum(other[i]["x"].tolist() != row["x"].tolist() for i, row in epochs[0].items()) > len(other) / 2
        tokens = [sorted(int(t) for row in epoch.values() for t in row["x"] if t >= FIRST) for epoch in (epochs[0], other)]
        assert tokens[0] == tokens[1] == numpy.concatenate(datasets[1]).tolist()


def test_rounds_of_a_mix(tmp_path, datasets):
    """All pieces of a document have one draw, even if an epoch ends between them; a document that repeats in an epoch gets another."""
    sources = [datasets[1], [d + 100_000 for d in documents_of(8, 40, seed=1) if len(d)]]
    column = {"cut": "split", "length": 10, "eos": EOS + 2}
    mixed = sluice.mix([datasets[0]["shards"], write_plain(tmp_path, "shards", sources[1])], [1, 1], epoch_samples=61)
    found = rows(loader_of(mixed, 1, False, column | {"fim": fim()}), epochs=8)
    turns, taken = schedule([1, 1], len(found)), [0, 0]
    wanted = [[wanted_rows(some, turn, column, 0.6, 0.4, before=before) for turn in range(25)] for some, before in zip(sources, (0, len(sources[0])))]
    for (_, row), source in zip(found, turns):
        turn, own = divmod(taken[source], len(wanted[source][0]))
        expect(row, wanted[source][turn][own])
        taken[source] += 1
    assert 31 < len(wanted[0][0]) < taken[0] and 2 * len(wanted[1][0]) < 61  # an epoch ends inside a round, and has several


@pytest.mark.parametrize("kind, mask", [("shards", "mask"), ("frames", "runs"), ("parquet", "mask")])
def test_masks_move_with_their_elements(tmp_path, datasets, kind, mask):
    documents = datasets[1]
    masks = masks_of(documents)
    data = write_masked(tmp_path, kind, documents, masks)
    for column in ({"eos": EOS + 2, "cut": "split"}, {"length": 10, "cut": "long", "bos": BOS}):
        wanted = wanted_rows(documents, 1, column, 0.6, 0.4, masks)
        for (_, row), one in zip(rows(loader_of(data, shuffle=False, column=column | {"fim": fim(), "mask": mask}), first=1), wanted):
            expect(row, one)


def test_workers_ranks_units_and_resume(datasets):
    data, column = datasets[0]["shards"], {"cut": "long", "length": 20, "eos": EOS + 2, "fim": fim()}

    def short(found):
        return [(i, row["x"].tolist(), row["targets"].tolist()) for i, row in found]

    whole = short(rows(loader_of(data, column=column, num_workers=1), first=2))
    ranks = [short(rows(loader_of(data, 1, column=column, rank=rank, world_size=2, last_batch="drop", num_workers=3), first=2)) for rank in range(2)]
    shared = [row for some in zip(*ranks) for row in some]
    assert shared == whole[: len(shared)] and len(whole) - len(shared) < 2
    first = loader_of(data, column=column)
    first.set_epoch(2)
    run = iter(first)
    next(run), next(run)
    second = loader_of(data, column=column, num_workers=2)
    second.load_state_dict(first.state_dict())
    assert [row for batch in second for row in batch["x"].numpy().tolist()] == [x for _, x, _ in whole[8:]]
    column = {"unit": 2, "length": 128, "fim": fim()}
    documents = datasets[1][:40]
    for (_, row), one in zip(rows(loader_of(data.subset(range(40)), shuffle=False, column=column)), wanted_rows(documents, 0, {"unit": 2, "length": 128}, 0.6, 0.4)):
        expect(row, one)


@pytest.mark.parametrize("other", [None, C.FIM(0.6, PREFIX, MIDDLE, SUFFIX + 1, 0.4), C.FIM(0.6, PREFIX, MIDDLE, SUFFIX, 0.5), C.FIM(1, PREFIX, MIDDLE, SUFFIX, 0.4)], ids=str)
def test_a_state_of_another_transformation(datasets, other):
    loader = loader_of(datasets[0]["megatron"], column={"fim": fim()})
    next(iter(loader))
    with pytest.raises(sluice.InvalidError, match="packing: (lengths of documents, )?bos, eos or fim$"):
        loader_of(datasets[0]["megatron"], column={"fim": other}).load_state_dict(loader.state_dict())


def test_a_bad_document(tmp_path):
    """It already contains eos, at any position of its end in the row."""
    documents = [numpy.arange(20 * i + FIRST, 20 * i + FIRST + 20, dtype="int32") for i in range(12)]
    documents[7][-1] = 2
    data = write_plain(tmp_path, "shards", documents)
    column = {"eos": 2, "cut": "split", "length": 10}
    loader = loader_of(data, 1, False, column | {"fim": fim(1)}, on_bad_sample="mask")
    masks = [int(batch["mask"].numpy()[0]) for batch in loader]
    made = pack([24] * 12, length=10, cut="split")
    assert masks == [not any((document, first + count) == (7, 24) for document, first, count in pieces) for pieces in made]


def test_arguments(datasets):
    assert repr(fim()) == "sluice.columns.FIM(rate=0.6, prefix=7, middle=0, suffix=5, spm=0.4)"
    assert repr(C.Packed(length=8, fim=fim())) == f"sluice.columns.Packed(length=8, fim={fim()!r})"
    with pytest.raises(ValueError, match="rate=1.5: expected a fraction, 0 to 1"):
        C.FIM(1.5, 1, 2, 3)
    with pytest.raises(ValueError, match="spm=-1.0: expected a fraction, 0 to 1"):
        C.FIM(0.5, 1, 2, 3, -1)
    with pytest.raises(ValueError, match="rate=nan"):
        C.FIM(float("nan"), 1, 2, 3)
    with pytest.raises(ValueError, match="prefix=1, middle=2, suffix=1: expected three different ids"):
        C.FIM(0.5, 1, 2, 1)
    with pytest.raises(TypeError, match="middle="):
        C.FIM(0.5, 1, "<m>", 3)
    with pytest.raises(TypeError, match=r"fim=0.5: expected a sluice.columns.FIM\(rate"):
        C.Packed(length=8, fim=0.5)
    with pytest.raises(sluice.InvalidError, match="fim_suffix is 4294967296, which does not fit its dtype"):
        loader_of(datasets[0]["shards"], column={"dtype": "int32", "fim": C.FIM(0.5, 1, 2, 2**32)})
    with pytest.raises(sluice.InvalidError, match=r"\(lengths count up to 3 added to each document\)"):
        loader_of(datasets[0]["shards"], column={"length": 39, "fim": fim(1)})
