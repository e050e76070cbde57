# SPDX-License-Identifier: Apache-2.0
"""Rows of packed sequences, compared with a packer in Python that tries every row, over formats whose documents are read partly
or entirely; with any number of workers and ranks, resumed anywhere; and errors."""
import collections
import itertools
import re

import arrows
import numpy
import pages
import parquets
import pytest
from test_arrays import write_megatron

import sluice
from sluice import columns as C

LENGTH, MOST, PAD, IGNORE = 64, 5, 9, -1
FIRST = 1000  # the first token; all tokens differ, so a token identifies its origin


def documents_of(count=90, longest=60, seed=3):
    chance, first, made = numpy.random.default_rng(seed), FIRST, []
    for length in chance.integers(0, longest, count):
        made.append(numpy.arange(first, first + length, dtype="int32"))
        first += length
    return made


def write(folder, kind, documents):
    """Writes the same documents as a dataset of that kind."""
    lists = [d.tolist() for d in documents]
    if kind == "megatron":
        return sluice.Dataset(write_megatron(folder / "set", documents, "int32"))
    if kind == "parquet":
        parquets.write(folder / "set.parquet", {"tokens": parquets.Column("list<int32>", lists)}, rows_per_group=40, rows_per_page=7)
        return sluice.Dataset(folder / "set.parquet")
    if kind == "arrow":
        arrows.write_stream(folder / "set.arrow", {"tokens": arrows.Column("list<int32>", lists)})
        return sluice.Dataset(folder / "set.arrow")
    with sluice.Writer(folder / "set", {"id": "int", "tokens": ("tensor", "int32", (0,))}, zstd="off" if kind == "shards" else 3) as writer:
        for number, document in enumerate(documents):
            writer.add(id=number, tokens=document)
    return sluice.Dataset(folder / "set")


KINDS = ("megatron", "shards", "frames", "parquet", "arrow")


@pytest.fixture(scope="module")
def datasets(tmp_path_factory):
    documents = documents_of()
    return {kind: write(tmp_path_factory.mktemp(kind), kind, documents) for kind in KINDS}, documents


def loader_of(data, batch_size=4, shuffle=True, column=None, **options):
    column = {"length": LENGTH, "max_documents": MOST, "pad": PAD} | (column or {})
    return sluice.Loader(data, batch_size=batch_size, shuffle=shuffle, seed=7, last_batch=options.pop("last_batch", "short"),
                         columns={"x": C.Packed("tokens", **column)}, **options)  # fmt: skip


PARTS = ("targets", "positions", "documents", "lengths", "cu_seqlens", "cu_seqlens_padded", "count", "max_seqlen", "loss_mask", "samples")


def rows(loader, epochs=1, first=0):
    """Returns (index, {part: array}) of each row of some epochs."""
    found = []
    for epoch in range(first, first + epochs):
        loader.set_epoch(epoch)
        for batch in loader:
            named = {"x": batch["x"], **{part: batch[f"x.{part}"] for part in PARTS}}
            arrays = {name: numpy.array(column.numpy()) for name, column in named.items()}
            found += [(int(i), {name: a[row] for name, a in arrays.items()}) for row, i in enumerate(batch["index"].numpy())]
    return found


# ---- a packer that tries every row ----


def up(number, align):
    return -(-number // align) * align


def pack(lengths, length=LENGTH, most=MOST, align=1, cut="none", unit=1):
    """Returns the pieces (document, first, count) of each row of a window; documents in a row keep their order."""
    if cut == "split":
        made, at = [[]], 0
        for number, n in enumerate(lengths):
            first = 0
            while first < n:
                if at == length or len(made[-1]) == most:
                    made, at = [*made, []], 0
                count = min(n - first, length - at)
                made[-1].append((number, first, count))
                first, at = first + count, at + up(count, align)
        return made
    whole, entries = [], []
    for begin in range(0, len(lengths), unit):
        pieces = []
        for number in range(begin, begin + unit):
            first, n = 0, lengths[number]
            while cut == "long" and n > length and n - first >= length:
                whole.append([(number, first, length)])
                first += length
            if n > first:
                pieces.append((number, first, n - first))
        if pieces:
            entries.append((sum(up(count, align) for _, _, count in pieces), pieces))
    fitted = []  # [free space, time of the last change, entries]
    for when, (need, pieces) in enumerate(sorted(entries, key=lambda entry: -entry[0])):
        fit = [row for row in fitted if row[0] >= need and len(row[2]) + len(pieces) <= most]
        if not fit:
            fitted.append(fit := [length, 0, []])
        else:
            fit = min(fit, key=lambda row: (row[0], -row[1]))
        fit[0], fit[1] = fit[0] - need, when
        fit[2].extend(pieces)
    return whole + sorted(sorted(pieces) for _, _, pieces in fitted)


def row_of(documents, pieces, length=LENGTH, most=MOST, align=1, trained=None, source=0):
    """Returns all parts of a batch for a row of these pieces, element by element; `trained`: whether each element of each document is trained;
    `source`: the number of the first document."""
    row = {"x": numpy.full(length, PAD), "targets": numpy.full(length, IGNORE), "positions": numpy.zeros(length), "documents": numpy.full(length, len(pieces)), "loss_mask": numpy.zeros(length)}
    lengths, begins, at = [0] * most, [0], 0
    padding = []
    for number, (document, first, count) in enumerate(pieces):
        tokens = documents[document]
        lengths[number] = count
        for k in range(count):
            row["x"][at + k], row["positions"][at + k], row["documents"][at + k] = tokens[first + k], k, number
            if first + k + 1 < len(tokens) and (trained is None or trained[document][first + k + 1]):
                row["targets"][at + k], row["loss_mask"][at + k] = tokens[first + k + 1], 1
        padding.append((at + count, at + up(count, align)))
        at += up(count, align)
        begins.append(at)
    for begin, end in [*padding, (at, length)]:
        row["positions"][begin:end] = numpy.arange(end - begin)
    starts = numpy.cumsum([0, *lengths])
    padded = begins + [at] * (most + 1 - len(begins))
    samples = [source + document for document, _, _ in pieces] + [-1] * (most - len(pieces))
    return row | {"lengths": lengths, "cu_seqlens": starts, "cu_seqlens_padded": padded, "count": len(pieces), "max_seqlen": max(lengths), "samples": samples}


def expect(found, wanted):
    for name, array in wanted.items():
        assert found[name].tolist() == numpy.asarray(array).tolist(), name


# ---- rows ----


@pytest.mark.parametrize("kind", KINDS)
def test_rows_in_their_order(datasets, kind):
    data, documents = datasets[0][kind], datasets[1]
    if kind == "megatron":  # it has no empty samples
        documents = [d for d in documents if len(d)]
    wanted = pack([len(d) for d in documents])
    found = rows(loader_of(data, shuffle=False))
    assert [i for i, _ in found] == list(range(len(wanted)))
    for (_, row), pieces in zip(found, wanted):
        expect(row, row_of(documents, pieces))


@pytest.mark.parametrize("column", [{"align": 8}, {"cut": "split"}, {"cut": "split", "align": 16}, {"cut": "long", "length": 32},
                                    {"cut": "long", "length": 24, "align": 4, "max_documents": 32}], ids=str)  # fmt: skip
@pytest.mark.parametrize("kind", ["shards", "parquet"])
def test_shapes(datasets, kind, column):
    data, documents = datasets[0][kind], datasets[1]
    shape = {"length": LENGTH, "most": MOST, "align": 1} | {"most" if name == "max_documents" else name: value for name, value in column.items()}
    wanted = pack([len(d) for d in documents], **shape)
    shape.pop("cut", None)
    found = rows(loader_of(data, shuffle=False, column=column))
    assert len(found) == len(wanted)
    for (_, row), pieces in zip(found, wanted):
        expect(row, row_of(documents, pieces, **shape))


def test_pairs_stay_together(datasets):
    data, documents = datasets[0]["shards"], [d for d in datasets[1] if len(d)][:60]
    chosen = data.subset([i for i, d in enumerate(datasets[1]) if len(d)][:60])
    column = {"unit": 2, "length": 128}
    wanted = pack([len(d) for d in documents], length=128, unit=2)
    found = rows(loader_of(chosen, shuffle=False, column=column))
    assert len(found) == len(wanted)
    for (_, row), pieces in zip(found, wanted):
        expect(row, row_of(documents, pieces, length=128))


def test_rows_of_many_documents(tmp_path):
    documents = documents_of(700, 3)
    data = write(tmp_path, "shards", documents)
    wanted = pack([len(d) for d in documents], length=256, most=150)
    found = rows(loader_of(data, shuffle=False, column={"length": 256, "max_documents": 150}))
    assert len(found) == len(wanted) and max(len(pieces) for pieces in wanted) == 150
    for (_, row), pieces in zip(found, wanted):
        expect(row, row_of(documents, pieces, length=256, most=150))


def pieces_of(row):
    """Returns the pieces of a row: the first token and the length of each."""
    begins = row["cu_seqlens_padded"][: row["count"]]
    return frozenset((int(row["x"][b]), int(n)) for b, n in zip(begins, row["lengths"]))


def test_every_epoch_has_the_same_rows(datasets):
    data, documents = datasets[0]["shards"], datasets[1]
    loader = loader_of(data, column={"cut": "split"})
    epochs = [rows(loader, first=epoch) for epoch in range(3)]
    assert [len(epoch) for epoch in epochs] == [len(loader_of(data, 1, column={"cut": "split"}))] * 3
    by_number = [{i: pieces_of(row) for i, row in epoch} for epoch in epochs]
    assert by_number[0] == by_number[1] == by_number[2]
    assert len({tuple(i for i, _ in epoch) for epoch in epochs}) == 3
    assert all(row["loss_mask"].dtype == "uint8" for _, row in epochs[0])
    tokens = collections.Counter(int(t) for i, row in epochs[0] for t in row["x"] if t >= FIRST)
    assert tokens == collections.Counter(numpy.concatenate(documents).tolist())


@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("kind", ["shards", "arrow"])
def test_workers_and_ranks(datasets, kind, shuffle):
    data = datasets[0][kind]

    def short(found):
        return [(i, row["x"].tolist(), row["targets"].tolist()) for i, row in found]

    whole = short(rows(loader_of(data, shuffle=shuffle, num_workers=1), first=1))
    assert whole == short(rows(loader_of(data, shuffle=shuffle, num_workers=4), first=1))
    for world in (2, 3):
        ranks = [short(rows(loader_of(data, 1, shuffle, rank=rank, world_size=world, last_batch="drop"), first=1)) for rank in range(world)]
        shared = [row for some in zip(*ranks) for row in some]
        assert shared == whole[: len(shared)] and len(whole) - len(shared) < world


def test_resume_on_other_ranks(datasets):
    """From two ranks to three, at any step: the following rows equal those of one loader."""
    data = datasets[0]["shards"]
    whole = [(i, row["x"].tolist()) for i, row in rows(loader_of(data), first=2)]
    for steps in range(0, len(whole) // 2, 3):
        pair = [loader_of(data, 1, rank=rank, world_size=2, last_batch="drop") for rank in range(2)]
        for loader in pair:
            loader.set_epoch(2)
            run = iter(loader)
            for _ in range(steps):
                next(run)
        ranks = []
        for rank in range(3):
            other = loader_of(data, 1, rank=rank, world_size=3, last_batch="drop", num_workers=1 + rank)
            other.load_state_dict(pair[0].state_dict())
            ranks.append([(int(batch["index"].numpy()[0]), batch["x"].numpy()[0].tolist()) for batch in other])
        rest = [row for some in zip(*ranks) for row in some]
        assert rest == whole[2 * steps :][: len(rest)] and len(whole) - 2 * steps - len(rest) < 3


@pytest.mark.parametrize("kind", ["megatron", "frames"])
def test_resume_at_90_percent(datasets, kind):
    """Two ranks stop at 90 % of an epoch, and three resume: all arrays of all rows are equal, bit for bit, and each row appears once."""
    data = datasets[0][kind]
    column = {"length": 16, "cut": "split", "align": 2}
    whole = rows(loader_of(data, 1, column=column), first=1)
    pair = [loader_of(data, 1, column=column, rank=rank, world_size=2) for rank in range(2)]
    before = []
    for loader in pair:
        loader.set_epoch(1)
        run = iter(loader)
        before += [int(next(run)["index"].numpy()[0]) for _ in range(len(whole) * 9 // 20)]
    done = len(before)
    share = done / len(whole)
    assert 0.89 < share <= 0.9
    ranks = []
    for rank in range(3):
        other = loader_of(data, 1, column=column, rank=rank, world_size=3, num_workers=1 + rank)
        other.load_state_dict(pair[rank % 2].state_dict())
        found = []
        for batch in other:
            if batch["mask"].numpy()[0]:
                named = {"x": batch["x"], **{part: batch[f"x.{part}"] for part in PARTS}}
                found.append((int(batch["index"].numpy()[0]), {name: numpy.array(a.numpy()[0]) for name, a in named.items()}))
        ranks.append(found)
    rest = [row for some in itertools.zip_longest(*ranks) for row in some if row is not None]
    assert sorted(before) == sorted(i for i, _ in whole[:done]) and [i for i, _ in rest] == [i for i, _ in whole[done:]]
    for (_, here), (_, there) in zip(rest, whole[done:]):
        for name in here:
            assert here[name].dtype == there[name].dtype and here[name].tobytes() == there[name].tobytes(), name
    print(f"{kind}: {done} of {len(whole)} rows ({100 * share:.0f} %) on 2 ranks, {len(rest)} on 3: the same bytes")


# ---- errors ----


NOTE = 24  # digits of a cursor that name its options; older states lack them


@pytest.mark.parametrize("column, words", [
    ({"length": 80}, "length"), ({"align": 2}, "align"), ({"cut": "long"}, "cut"), ({"cut": "split"}, "cut"),
    ({"max_documents": 4}, "max_documents"), ({"length": 256, "cut": "long", "align": 32}, "length, align, cut"),
], ids=str)  # fmt: skip
def test_a_state_of_other_rows(datasets, column, words):
    """The error names the options that differ."""
    data = datasets[0]["megatron"]
    loader = loader_of(data)
    next(iter(loader))
    state, other = loader.state_dict(), loader_of(data, column=column)
    with pytest.raises(sluice.InvalidError, match=f"a different packing: {words}$"):
        other.load_state_dict(state)
    with pytest.raises(sluice.InvalidError, match="packing: length, max_documents, align, cut, unit, bos, eos, fim or per_token of the column, seed"):
        other.load_state_dict(state | {"cursor": state["cursor"][:-NOTE]})
    seeded = sluice.Loader(data, batch_size=4, shuffle=True, seed=8, columns={"x": C.Packed("tokens", **{"length": LENGTH, "max_documents": MOST} | column)})
    with pytest.raises(sluice.InvalidError, match=f"a different packing: {words}, seed$"):
        seeded.load_state_dict(state)
    with pytest.raises(sluice.InvalidError, match=f"a different packing: {words}, shuffle$"):
        loader_of(data, shuffle=False, column=column).load_state_dict(state)


def test_a_state_of_other_documents(tmp_path):
    """A state fits neither a loader with units nor one of another field of the same samples."""
    with sluice.Writer(tmp_path / "set", {"a": ("tensor", "int32", (0,)), "b": ("tensor", "int32", (0,)), "id": "int"}, zstd="off") as writer:
        for number in range(1, 31):
            writer.add(id=number, a=list(range(number)), b=list(range(31 - number)))

    def opened(field, **column):
        return sluice.Loader(sluice.Dataset(tmp_path / "set"), batch_size=2, shuffle=True, seed=7, columns={"x": C.Packed(field, length=64, **column)})

    loader = opened("a")
    next(iter(loader))
    for field, column, words in (("b", {}, "lengths of documents"), ("a", {"unit": 2}, "unit"), ("b", {"align": 4}, "align, lengths of documents")):
        with pytest.raises(sluice.InvalidError, match=f"a different packing: {words}$"):
            opened(field, **column).load_state_dict(loader.state_dict())
    with pytest.raises(sluice.InvalidError, match="a different order of samples: packed$"):
        sluice.Loader(sluice.Dataset(tmp_path / "set"), batch_size=2, shuffle=True, seed=7, columns={"id": C.Number("id")}).load_state_dict(loader.state_dict())


def test_a_state_of_before(datasets):
    """A state without the note of its options still resumes."""
    loader = loader_of(datasets[0]["shards"])
    run = iter(loader)
    next(run)
    state = loader.state_dict()
    wanted = [batch["x"].numpy().tolist() for batch in run]
    other = loader_of(datasets[0]["shards"])
    other.load_state_dict(state | {"cursor": state["cursor"][:-NOTE]})
    assert [batch["x"].numpy().tolist() for batch in other] == wanted


def test_a_document_longer_than_a_row(datasets):
    longest = max(range(len(datasets[1])), key=lambda i: len(datasets[1][i]))
    words = f"the longest document, {longest}, has {len(datasets[1][longest])} elements, but a row has 40: cut=\"long\""
    with pytest.raises(sluice.InvalidError, match=words):
        loader_of(datasets[0]["shards"], column={"length": 40})


@pytest.mark.parametrize("options, words", [
    ({"on_bad_sample": "replace"}, "replacing a document changes its row"),
    ({"shuffle": "block"}, "need option shuffle full or none"),
    ({"partners": "any"}, "partners"),
    ({"weights": "id", "num_samples": 5}, "set the order of samples|cannot be used with"),
], ids=str)  # fmt: skip
def test_options_that_do_not_go_together(datasets, options, words):
    with pytest.raises((sluice.Error, ValueError, TypeError), match=words):
        loader_of(datasets[0]["shards"], **options)


def test_units_are_not_split(datasets):
    with pytest.raises(sluice.InvalidError, match="units of 2 documents would not stay together"):
        loader_of(datasets[0]["shards"], column={"unit": 2, "cut": "split"})


@pytest.mark.parametrize("zstd", ["off", 3])
def test_samples_without_a_document(tmp_path, zstd):
    """They are empty documents, and counted, however they are stored."""
    with sluice.Writer(tmp_path / "set", {"tokens": ("tensor", "int32", (0,))}, zstd=zstd) as writer:
        for tokens in ([1, 2], None, [3], []):
            writer.add(tokens=tokens)
    with pytest.warns(UserWarning, match='2 of 4 documents of "tokens" have no elements and are left out'):
        found = rows(loader_of(sluice.Dataset(tmp_path / "set"), 1, False))
    assert [row["lengths"].tolist() for _, row in found] == [[2, 1, 0, 0, 0]]


def test_arguments():
    with pytest.raises(TypeError):
        C.Packed("tokens")
    with pytest.raises(ValueError, match="cut="):
        C.Packed("tokens", length=8, cut="some")
    for name in ("length", "max_documents", "align", "unit"):
        with pytest.raises(ValueError, match=f"{name}=0: expected an integer, 1 to"):
            C.Packed("tokens", **{"length": 8} | {name: 0})
    assert repr(C.Packed("tokens", length=8, cut="long")) == "sluice.columns.Packed('tokens', length=8, cut='long')"


# ---- docs/sequences.md ----


def test_the_examples(tmp_path, monkeypatch):
    text = (pages.DOCS / "sequences.md").read_text()
    monkeypatch.chdir(tmp_path)
    names = {}
    first, masked = [code for code in re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL) if "sluice.Writer(" in code][:2]
    exec(first, names)
    assert names["tokens"].shape == names["positions"].shape == (4, 128) and len(names["loader"]) > 5
    exec(masked, names)


@pytest.mark.parametrize("table, column", [(0, {"cut": "split"}), (1, {"align": 4}), (2, {"length": 8, "eos": 0})])
def test_the_picture_of_a_row(tmp_path, table, column):
    """A loader makes the page's tables from these documents; letters are their numbers in the alphabet."""
    text = (pages.DOCS / "sequences.md").read_text().split("| array | row |")[1 + table].split("\n\n")[0]
    shown = dict(re.findall(r"^\| `([^|]*)` \| `([^|]*)` \|$", text.replace("`, `", "|"), re.MULTILINE))
    with sluice.Writer(tmp_path / "set", {"tokens": ("tensor", "int32", (0,))}, zstd="off") as writer:
        for first, length in [(1, 5), (6, 2), (8, 10)][: 3 - table]:
            writer.add(tokens=numpy.arange(first, first + length, dtype="int32"))
    columns = {"tokens": C.Packed(**{"length": 12, "max_documents": 4} | column)}
    batch = next(iter(sluice.Loader(sluice.Dataset(tmp_path / "set"), batch_size=1, shuffle=False, last_batch="short", columns=columns)))
    assert len(shown) >= (6, 6, 3)[table]
    for name, row in shown.items():
        numbers = [ord(word) - ord("a") + 1 if word.isalpha() else int(word) for word in row.split()]
        assert batch[name].numpy()[0].tolist() == numbers, name


# ---- bad documents ----


@pytest.mark.parametrize("kind", ["shards", "frames"])
def test_a_bad_document_is_a_bad_row(tmp_path, kind):
    """A token beyond the dtype: the whole row is masked, and the others do not change."""
    documents = [numpy.arange(20 * i + FIRST, 20 * i + FIRST + 20, dtype="int64") for i in range(12)]
    documents[7][3] = 1 << 40
    with sluice.Writer(tmp_path / "set", {"tokens": ("tensor", "int64", (0,))}, zstd="off" if kind == "shards" else 3) as writer:
        for document in documents:
            writer.add(tokens=document)
    data = sluice.Dataset(tmp_path / "set")
    wanted = pack([20] * 12)
    loader = loader_of(data, 2, False, {"dtype": "int32"}, on_bad_sample="mask")
    batches = [(int(i), int(m), numpy.array(x), numpy.array(t)) for batch in loader
               for i, m, x, t in zip(batch["index"].numpy(), batch["mask"].numpy(), batch["x"].numpy(), batch["x.targets"].numpy())]  # fmt: skip
    assert [i for i, _, _, _ in batches] == list(range(len(wanted)))
    for (_, mask, tokens, targets), pieces in zip(batches, wanted):
        bad = any(document == 7 for document, _, _ in pieces)
        row = row_of(documents, [] if bad else pieces)
        assert mask == (not bad) and tokens.tolist() == row["x"].tolist() and targets.tolist() == row["targets"].tolist()
    with pytest.raises(sluice.Error, match="contains a number that i[0-9]+ cannot represent") as raised:
        rows(loader_of(data, 2, False, {"dtype": "int32"}))
    assert raised.value.sample == 7


# ---- documents with unreadable lengths ----


def damage(path, at):
    stored = bytearray(path.read_bytes())
    stored[at] ^= 1
    path.write_bytes(stored)


def write_damaged(folder, documents, bad=()):
    """Writes texts beside the tokens, so that lengths require whole samples, which have checksums."""
    with sluice.Writer(folder, {"tokens": ("tensor", "int32", (0,)), "note": "text"}, zstd="off") as writer:
        for document in documents:
            writer.add(tokens=document, note="x")
    path = folder / "shard-000000.sluice"
    for number in bad:
        damage(path, path.read_bytes().index(documents[number].tobytes()) + 5)
    return sluice.Dataset(folder)


CANNOT = '3 of 30 documents of "tokens" cannot be read and are left out{}: the first is sample 7: the sample does not match its checksum'


@pytest.mark.parametrize("column", [{}, {"align": 4}, {"cut": "long", "length": 24}, {"cut": "split"}, {"unit": 2}], ids=str)
def test_unreadable_lengths(tmp_path, column):
    """When masked, they appear in no row, nor do the others of their units; the rows consist of the remaining documents."""
    documents = [numpy.arange(100 * i + FIRST, 100 * i + FIRST + 12 + i % 9, dtype="int32") for i in range(30)]
    bad, unit = (7, 20, 21), column.get("unit", 1)
    data = write_damaged(tmp_path / "set", documents, bad)
    with pytest.raises(sluice.CorruptError, match="sample 7: the sample does not match its checksum") as raised:
        loader_of(data, column=column)
    assert raised.value.sample == 7
    with pytest.warns(UserWarning, match=CANNOT.format(", with the others of their units" if unit == 2 else "")) as warned:
        loader = loader_of(data, 3, False, column, on_bad_sample="mask")
    assert len(warned) == 1  # they do not also count as empty documents
    lost = {number // unit * unit + k for number in bad for k in range(unit)}
    shape = {"length": LENGTH, "align": 1} | {name: column[name] for name in ("length", "align") if name in column}
    wanted = pack([0 if number in lost else len(document) for number, document in enumerate(documents)], **{"length": LENGTH, **column})
    found = rows(loader)
    assert len(found) == len(wanted)
    for (_, row), pieces in zip(found, wanted):
        expect(row, row_of(documents, pieces, **shape))


def test_a_source_of_unreadable_lengths(tmp_path):
    """All documents of one source of a mix: the error says why they have no elements."""
    documents = [numpy.arange(100 * i + FIRST, 100 * i + FIRST + 12, dtype="int32") for i in range(6)]
    good, bad = write_damaged(tmp_path / "good", documents), write_damaged(tmp_path / "bad", documents, range(6))
    why = "dataset 2 of the mix .*all 6 documents are empty .those that cannot be read.*sample 6: the sample does not match its checksum"
    with pytest.raises(sluice.InvalidError, match=why):
        loader_of(sluice.mix([good, bad], fields=["tokens"]), on_bad_sample="mask")


def test_a_state_of_unreadable_lengths(tmp_path):
    """It resumes with the same documents left out, also on other ranks; not with all of them."""
    documents = [numpy.arange(100 * i + FIRST, 100 * i + FIRST + 12 + i % 9, dtype="int32") for i in range(30)]
    data = write_damaged(tmp_path / "set", documents, [7, 20, 21])
    with pytest.warns(UserWarning, match="cannot be read"):
        loader = loader_of(data, 2, on_bad_sample="mask", last_batch="drop")
        run = iter(loader)
        next(run)
        state = loader.state_dict()
        ranks = [loader_of(data, 1, on_bad_sample="mask", last_batch="drop", rank=rank, world_size=2) for rank in (0, 1)]
    for rank in ranks:
        rank.load_state_dict(state)
    parts = [[batch["x"].numpy()[0].tolist() for batch in rank] for rank in ranks]
    assert [list(pair) for pair in zip(*parts)] == [batch["x"].numpy().tolist() for batch in run]
    mended = write_damaged(tmp_path / "mended", documents)
    with pytest.raises(sluice.InvalidError, match="a different dataset|lengths of documents"):
        loader_of(mended, 2).load_state_dict(state)
    for number in (7, 20, 21):  # the same files, repaired
        path = tmp_path / "set" / "shard-000000.sluice"
        stored = bytearray(documents[number].tobytes())
        stored[5] ^= 1
        damage(path, path.read_bytes().index(stored) + 5)
    with pytest.raises(sluice.InvalidError, match="a different packing: lengths of documents$"):
        loader_of(sluice.Dataset(tmp_path / "set"), 2).load_state_dict(state)


def test_unreadable_lengths_of_a_shard(tmp_path):
    """With lengths from an index: all documents of the shard whose header is damaged."""
    with sluice.Writer(tmp_path / "set", {"tokens": ("tensor", "int32", (0,))}, zstd="off", shard_bytes=1 << 20) as writer:
        for number in range(2000):
            writer.add(tokens=numpy.full(250 + number % 100, number + 1, "int32"))
    damage(tmp_path / "set" / "shard-000001.sluice", 200)
    data = sluice.Dataset(tmp_path / "set")
    assert data.lengths_source("tokens") == "index"
    column = {"length": 512, "max_documents": 2}
    with pytest.raises(sluice.CorruptError, match="shard-000001.sluice.*the header does not match its checksum") as raised:
        loader_of(data, column=column)
    first = raised.value.sample
    with pytest.warns(UserWarning, match=f'[0-9]+ of 2000 documents of "tokens" cannot be read.*sample {first}: the header') as warned:
        loader = loader_of(data, 64, column=column, on_bad_sample="mask")
    lost = int(re.search("([0-9]+) of 2000", str(warned[0].message))[1])
    seen = numpy.unique(numpy.concatenate([batch["x"].numpy().ravel() for batch in loader]))
    assert set(range(1, 2001)) - set(seen.tolist()) == set(range(first + 1, first + lost + 1)) and lost > 500


def test_all_lengths_unreadable(tmp_path):
    documents = [numpy.arange(100 * i + FIRST, 100 * i + FIRST + 12, dtype="int32") for i in range(4)]
    data = write_damaged(tmp_path / "set", documents, range(4))
    with pytest.raises(sluice.CorruptError, match="sample 0: the sample does not match its checksum"):
        loader_of(data, on_bad_sample="mask")
