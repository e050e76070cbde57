# SPDX-License-Identifier: Apache-2.0
"""Lengths of token sequences in each kind of format, and results of packing them, compared with numpy."""
import numpy
import pages
import pytest
from test_arrays import write_megatron

import sluice

CHANCE = numpy.random.RandomState(5)
LENGTHS = numpy.clip(numpy.exp(CHANCE.normal(3, 1, 300)), 1, 400).astype(int)
DOCUMENTS = [numpy.arange(length, dtype="int32") for length in LENGTHS]


def packed(path, zstd):
    with sluice.Writer(path, {"id": "int", "tokens": ("tensor", "int32", (0,))}, zstd=zstd) as writer:
        for number, document in enumerate(DOCUMENTS):
            writer.add(id=number, tokens=document)
    return sluice.Dataset(path)


@pytest.fixture(scope="module")
def corpora(tmp_path_factory):
    """Datasets of the same documents, by the source of their lengths."""
    root = tmp_path_factory.mktemp("corpora")
    write_megatron(root / "web", DOCUMENTS, "int32")
    return {
        "megatron": (sluice.Dataset(root / "web.bin"), "index"),
        "plain": (packed(root / "plain", "off"), "index"),
        "zstd": (packed(root / "zstd", "auto"), "samples"),
    }


@pytest.mark.parametrize("name", ["megatron", "plain", "zstd"])
def test_lengths(corpora, name):
    data, source = corpora[name]
    assert data.lengths_source("tokens") == source
    found = data.lengths("tokens")
    assert found.dtype == numpy.int64 and found.tolist() == LENGTHS.tolist()
    assert data[10:20].lengths("tokens").tolist() == LENGTHS[10:20].tolist()
    assert data.subset([3, 299, 3]).lengths("tokens").tolist() == LENGTHS[[3, 299, 3]].tolist()


def test_joined(corpora):
    """One of them has an index, the other does not."""
    web, code = corpora["megatron"][0], corpora["zstd"][0]
    for order in ([web, code], [code, web], [web, code, web]):
        data = sluice.concat(order, fields=["tokens"])
        assert data.lengths("tokens").tolist() == LENGTHS.tolist() * len(order)
        assert data.lengths_source("tokens") == "samples"


def test_joined_of_joined(corpora):
    """One part of a joined dataset has an index, the other does not."""
    web, code, plain = (corpora[name][0] for name in ("megatron", "zstd", "plain"))
    for inner in ([web, code], [code, web], [web, code, plain]):
        part = sluice.concat(inner, fields=["tokens"]).subset(range(100, 300 * len(inner) - 100))
        lengths = (LENGTHS.tolist() * len(inner))[100:-100]
        for order in ([part, plain], [plain, part], [part, code]):
            found = sluice.concat(order, fields=["tokens"]).lengths("tokens").tolist()
            assert found == sum((lengths if data is part else LENGTHS.tolist() for data in order), [])


@pytest.mark.parametrize("zstd", ["off", "auto"])
def test_a_fixed_shape(tmp_path, zstd):
    """The length is the first dimension; no sample is read."""
    fields = {"row": ("tensor", "int32", (7,)), "table": ("tensor", "uint8", (3, 5)), "text": "text"}
    with sluice.Writer(tmp_path / "set", fields, zstd=zstd) as writer:
        for number in range(5):
            writer.add(row=numpy.arange(7, dtype="int32"), table=numpy.zeros((3, 5), "uint8"), text="x" * number)
    data = sluice.Dataset(tmp_path / "set")
    for field, length in (("row", 7), ("table", 3)):
        found = data.lengths(field)
        assert data.lengths_source(field) == "known" and found.dtype == numpy.int64 and found.tolist() == [length] * 5
        assert data[1:3].lengths(field).tolist() == [length] * 2


def test_other_fields(corpora, photos):
    data = corpora["plain"][0]
    assert data.lengths_source("id") == data.lengths_source("nothing") == "none"
    with pytest.raises(ValueError, match='field "id" has no length per sample'):
        data.lengths("id")
    with pytest.raises(ValueError, match="nothing"):
        data.lengths("nothing")
    with pytest.raises(TypeError, match="field"):
        data.lengths(3)


def best_fit(lengths, length, align, most):
    """Returns the number of rows of one window and the most documents in a row: the longest first, each in the fullest row that fits."""
    rows = []
    for need in sorted(((one + align - 1) // align * align for one in lengths if one), reverse=True):
        fits = [row for row in rows if row[0] >= need and row[1] < most]
        if not fits:
            rows.append([length, 0])
            fits = rows[-1:]
        row = min(fits, key=lambda row: row[0])
        row[0] -= need
        row[1] += 1
    return len(rows), max(row[1] for row in rows)


@pytest.mark.parametrize("align, most", [(1, 32), (8, 32), (16, 4096)])
def test_packed_rows(align, most):
    lengths = LENGTHS.tolist() + [0, 0]
    made = sluice.packed_rows(lengths, 512, align=align, max_documents=most)
    rows, pieces = best_fit(lengths, 512, align, most)
    assert (made.rows, made.most_documents) == (rows, pieces)
    aligned = sum((one + align - 1) // align * align for one in lengths)
    assert (made.tokens, made.documents, made.empty, made.pieces) == (sum(lengths), 302, 2, 300)
    assert made.targets == sum(lengths) - 300 and made.cut == 0
    assert made.align_padding == aligned - sum(lengths) and made.end_padding == rows * 512 - aligned
    assert made.padding == pytest.approx(1 - sum(lengths) / (rows * 512))
    assert (made.longest, made.longest_document) == (max(lengths), lengths.index(max(lengths)))


def test_cut():
    long = sluice.packed_rows(LENGTHS, 64, cut="long")
    assert long.cut == (LENGTHS > 64).sum() and long.tokens == LENGTHS.sum()
    split = sluice.packed_rows(LENGTHS, 64, cut="split", max_documents=300)
    assert split.rows == -(-LENGTHS.sum() // 64) and split.align_padding == 0


def test_pairs():
    made = sluice.packed_rows(LENGTHS, 1024, unit=2)
    assert made.most_documents % 2 == 0 and made.pieces == 300
    with pytest.raises(ValueError, match="3 documents are not a multiple of unit 2"):
        sluice.packed_rows([1, 2, 3], 64, unit=2)


def test_arguments():
    wanted = sluice.packed_rows(LENGTHS, 512)
    for given in (LENGTHS.tolist(), LENGTHS.astype("int32"), LENGTHS.astype("uint16"), tuple(LENGTHS)):
        assert sluice.packed_rows(given, 512) == wanted
    for call, error, words in (
        (lambda: sluice.packed_rows([100], 64), ValueError, "the longest document, 0, has 100 elements, but a row has 64"),
        (lambda: sluice.packed_rows([], 64), ValueError, "the dataset has no documents"),
        (lambda: sluice.packed_rows([0, 0], 64), ValueError, "all 2 documents are empty"),
        (lambda: sluice.packed_rows([5, 0], 64, unit=2), ValueError, "are empty and others are not"),
        (lambda: sluice.packed_rows([5, -1], 64), ValueError, "lengths=-1"),
        (lambda: sluice.packed_rows(numpy.array([5, -1]), 64), ValueError, "lengths contains -1: expected the number of tokens"),
        (lambda: sluice.packed_rows([5.5], 64), TypeError, "lengths=5.5"),
        (lambda: sluice.packed_rows({"a": 5}, 64), TypeError, "lengths"),
        (lambda: sluice.packed_rows([5], 100, align=16), ValueError, "96 and 112 are"),
        (lambda: sluice.packed_rows([5], 64, cut="longer"), ValueError, "did you mean 'long'"),
        (lambda: sluice.packed_rows([5], 64, max_document=3), TypeError, "did you mean 'max_documents'"),
        (lambda: sluice.packed_rows([5], 64, window=1 << 20), ValueError, "window is 1048576: expected 1 to 65536"),
    ):
        with pytest.raises(error, match=words):
            call()


def test_page(tmp_path, monkeypatch):
    assert pages.run("sequences.md", "Choose a row length", tmp_path, monkeypatch)["made"].targets == 50400
