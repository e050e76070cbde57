# SPDX-License-Identifier: Apache-2.0
"""bos and eos of packed sequences: rows equal those of documents stored with the two, in every format, cut and shape."""
import numpy
import pytest
from test_packed import KINDS, LENGTH, MOST, documents_of, expect, loader_of, pack, row_of, rows, write

import sluice
from sluice import columns as C

BOS, EOS = 1, 0  # not tokens of documents_of; 0 is an id like any other


@pytest.fixture(scope="module")
def datasets(tmp_path_factory):
    documents = documents_of(count=70, longest=50, seed=11)
    return {kind: write(tmp_path_factory.mktemp(kind), kind, documents) for kind in KINDS}, documents


def with_ids(documents, bos=None, eos=None):
    """Returns the documents with their ids, as they appear in rows."""
    front, behind = [[] if one is None else [one] for one in (bos, eos)]
    return [numpy.array([*front, *d, *behind] if len(d) else [], dtype="int64") for d in documents]


def shape_of(column):
    known = {"length": "length", "max_documents": "most", "align": "align", "cut": "cut", "unit": "unit"}
    return {"length": LENGTH, "most": MOST, "align": 1} | {known[name]: value for name, value in column.items() if name in known}


def wanted_rows(documents, column):
    """Returns the rows of documents that already have their ids."""
    shape = shape_of(column)
    made = pack([len(d) for d in documents], **shape)
    return [row_of(documents, pieces, shape["length"], shape["most"], shape["align"]) for pieces in made]


SHAPES = [{}, {"align": 8}, {"cut": "split"}, {"cut": "split", "align": 16}, {"cut": "long", "length": 10}, {"cut": "long", "length": 1},
          {"cut": "split", "length": 7, "max_documents": 3}]  # fmt: skip


@pytest.mark.parametrize("ids", [{"bos": BOS}, {"eos": EOS}, {"bos": BOS, "eos": EOS}], ids=str)
@pytest.mark.parametrize("column", SHAPES, ids=str)
@pytest.mark.parametrize("kind", ["megatron", "frames"])
def test_rows(datasets, kind, column, ids):
    documents = with_ids([d for d in datasets[1] if len(d) or kind != "megatron"], **ids)
    wanted = wanted_rows(documents, column)
    found = rows(loader_of(datasets[0][kind], shuffle=False, column=column | ids))
    assert len(found) == len(wanted)
    for (_, row), one in zip(found, wanted):
        expect(row, one)


@pytest.mark.parametrize("kind", ["shards", "parquet", "arrow"])
def test_other_formats(datasets, kind):
    column = {"cut": "split", "dtype": "int32", "bos": BOS, "eos": EOS}
    wanted = wanted_rows(with_ids(datasets[1], BOS, EOS), column)
    found = rows(loader_of(datasets[0][kind], shuffle=False, column=column))
    assert len(found) == len(wanted)
    for (_, row), one in zip(found, wanted):
        expect(row, one)


def test_arrays_of_numpy(tmp_path):
    """Documents of one length, in a .npy file."""
    tokens = numpy.arange(1000, 1000 + 30 * 9, dtype="uint16").reshape(30, 9)
    numpy.save(tmp_path / "tokens.npy", tokens)
    data = sluice.Dataset(tmp_path / "tokens.npy")
    field = next(iter(data.fields))
    loader = sluice.Loader(data, batch_size=4, shuffle=False, last_batch="short", columns={"x": C.Packed(field, length=LENGTH, max_documents=MOST, pad=9, eos=EOS)})
    found = rows(loader)
    wanted = wanted_rows(with_ids(tokens, eos=EOS), {})
    assert len(found) == len(wanted) == 6
    for (_, row), one in zip(found, wanted):
        expect(row, one)


def test_ids_without_a_piece_of_their_own(datasets):
    """Rows of one element: each id is its own row, and bos's target is the first token."""
    documents = with_ids(datasets[1], BOS, EOS)
    found = rows(loader_of(datasets[0]["shards"], shuffle=False, column={"length": 1, "cut": "split", "bos": BOS, "eos": EOS}))
    tokens = [token for document in documents for token in document]
    targets = [target for d in documents if len(d) for target in [*d[1:], -1]]
    assert [row["x"][0] for _, row in found] == tokens and [row["targets"][0] for _, row in found] == targets


def test_units_workers_and_ranks(datasets):
    data, documents = datasets[0]["shards"], datasets[1]
    chosen = [i for i, d in enumerate(documents) if len(d)][:40]
    column = {"unit": 2, "length": 128, "eos": EOS}
    loader = loader_of(data.subset(chosen), shuffle=False, column=column)
    wanted = wanted_rows(with_ids([documents[i] for i in chosen], eos=EOS), column)
    for (_, row), one in zip(rows(loader), wanted):
        expect(row, one)
    column = {"cut": "split", "bos": BOS, "eos": EOS}
    whole = [row["x"].tolist() for _, row in rows(loader_of(data, column=column, num_workers=1), first=1)]
    ranks = [[row["x"].tolist() for _, row in rows(loader_of(data, 1, column=column, rank=rank, world_size=2, last_batch="drop", num_workers=3), first=1)]
             for rank in range(2)]  # fmt: skip
    shared = [row for some in zip(*ranks) for row in some]
    assert shared == whole[: len(shared)] and len(whole) - len(shared) < 2


def test_resume(datasets):
    data, column = datasets[0]["frames"], {"cut": "long", "length": 20, "bos": BOS, "eos": EOS}
    whole = [row["x"].tolist() for _, row in rows(loader_of(data, column=column), first=2)]
    for steps in (1, 5, 9):
        first = loader_of(data, column=column)
        first.set_epoch(2)
        run = iter(first)
        for _ in range(steps):
            next(run)
        second = loader_of(data, column=column, num_workers=2)
        second.load_state_dict(first.state_dict())
        rest = [row for batch in second for row in batch["x"].numpy().tolist()]
        assert rest == whole[4 * steps :]


@pytest.mark.parametrize("other", [{}, {"bos": EOS}, {"eos": EOS + 1}, {"bos": BOS, "eos": EOS}], ids=str)
def test_a_state_of_other_ids(datasets, other):
    loader = loader_of(datasets[0]["megatron"], column={"eos": EOS})
    next(iter(loader))
    with pytest.raises(sluice.InvalidError, match="a different packing: (lengths of documents, )?bos, eos or fim$"):
        loader_of(datasets[0]["megatron"], column=other).load_state_dict(loader.state_dict())


# ---- documents that already contain the id ----


def with_ends(folder, zstd="off"):
    documents = [numpy.arange(20 * i + 1000, 20 * i + 1020, dtype="int32") for i in range(12)]
    documents[7][-1], documents[4][0] = EOS, BOS
    with sluice.Writer(folder / "set", {"tokens": ("tensor", "int32", (0,))}, zstd=zstd) as writer:
        for document in documents:
            writer.add(tokens=document)
    return sluice.Dataset(folder / "set"), documents


@pytest.mark.parametrize("zstd", ["off", 3])
def test_documents_with_the_id(tmp_path, zstd):
    data, documents = with_ends(tmp_path, zstd)
    for ids, sample, words in (({"eos": EOS}, 7, "already ends with eos, 0: leave eos out"), ({"bos": BOS}, 4, "already begins with bos, 1: leave bos out")):
        with pytest.raises(sluice.UnsupportedError, match=words) as raised:
            rows(loader_of(data, shuffle=False, column=ids))
        assert raised.value.sample == sample
        extended = with_ids(documents, **ids)
        loader = loader_of(data, 1, False, ids, on_bad_sample="mask")
        masks = [(int(batch["mask"].numpy()[0]), batch["x"].numpy()[0].tolist()) for batch in loader]
        for (mask, tokens), pieces in zip(masks, pack([len(d) for d in extended])):
            bad = any(document == sample for document, _, _ in pieces)
            assert mask == (not bad) and tokens == row_of(extended, [] if bad else pieces)["x"].tolist()


def test_the_other_pieces_of_such_a_document(tmp_path):
    """Only the row that would contain the id twice is bad."""
    data, documents = with_ends(tmp_path)
    column = {"cut": "long", "length": 7, "eos": EOS}
    loader = loader_of(data, 1, False, column, on_bad_sample="mask")
    masks = [int(batch["mask"].numpy()[0]) for batch in loader]
    made = pack([len(d) + 1 for d in documents], **shape_of(column))
    assert masks == [not any((document, first + count) == (7, 21) for document, first, count in pieces) for pieces in made]


# ---- errors ----


def test_a_document_longer_than_a_row(datasets):
    longest = max(range(len(datasets[1])), key=lambda i: len(datasets[1][i]))
    length = len(datasets[1][longest])
    loader_of(datasets[0]["shards"], column={"length": length})
    with pytest.raises(sluice.InvalidError, match=rf"has {length + 1} elements, but a row has {length}.*\(lengths count 1 added to each document\)"):
        loader_of(datasets[0]["shards"], column={"length": length, "eos": EOS})


def test_arguments(datasets):
    assert repr(C.Packed(length=8, eos=0)) == "sluice.columns.Packed(length=8, eos=0)"
    for wrong in ("</s>", 1.5, True):
        with pytest.raises(TypeError, match="eos="):
            C.Packed(length=8, eos=wrong)
    with pytest.raises(sluice.InvalidError, match="bos is 2147483648, which does not fit its dtype"):
        loader_of(datasets[0]["shards"], column={"bos": 2**31, "dtype": "int32"})
    with pytest.raises(sluice.InvalidError, match="eos is -1, the same as the loader's ignore_index"):
        loader_of(datasets[0]["shards"], column={"eos": -1})
    for name in ("bos", "eos", "pad"):  # values that fit a double, as in the tool
        with pytest.raises(ValueError, match=f"^{name}=9007199254740993: expected an integer, -9007199254740992 to 9007199254740992$"):
            C.Packed(length=8, **{name: 2**53 + 1})


def test_lengths_with_ids(datasets):
    """The counts of packed_rows equal the loader's: extra elements are added to the lengths."""
    data, documents = datasets[0]["megatron"], [d for d in datasets[1] if len(d)]
    made = sluice.packed_rows(data.lengths("tokens") + 2, LENGTH, max_documents=MOST, cut="split", seed=7)
    assert made.tokens == sum(len(d) + 2 for d in documents)
    assert made.rows == len(loader_of(data, 1, column={"cut": "split", "bos": BOS, "eos": EOS}))
