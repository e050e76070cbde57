# SPDX-License-Identifier: Apache-2.0
"""Packed rows with a second field of the same documents, such as image patches: compared with rows that test_packed's packer
makes from the space of each document; over formats, ranks, workers, states and bad samples; with ids, masks and
filling in the middle, and in a mix; and errors."""
import re

import arrows
import numpy
import pages
import parquets
import pytest
from test_packed import IGNORE, MOST, damage, pack, row_of, up
from test_packed_fim import MIDDLE, PREFIX, SUFFIX, transform
from test_packed_ids import BOS, with_ids
from test_packed_mask import masks_of, runs_of, trained_of
from test_packed_mix import schedule

import sluice
from sluice import columns as C

LENGTH, PATCH = 64, 4  # elements of a row, of a patch
EOS = 2  # differs from the padding


def documents_of(count=80, seed=5, most=72):
    """Returns (tokens, patches) of documents: each token, and each number of a patch, appears in only one of them."""
    chance, made, first = numpy.random.default_rng(seed), [], 1000
    for number in range(count):
        tokens = numpy.arange(first, first + chance.integers(1, 40), dtype="int32")
        patches = chance.integers(0, most) if number % 3 else 0
        made.append((tokens, numpy.arange(1000 * number, 1000 * number + PATCH * patches, dtype="float32").reshape(patches, PATCH)))
        first += len(tokens)
    return made


def write(folder, kind, documents):
    tokens, patches = zip(*documents)
    if kind == "npz":
        (folder / "set").mkdir()
        for number, (t, p) in enumerate(documents):
            numpy.savez(folder / "set" / f"{number:04}.npz", tokens=t, patches=p)
        return sluice.Dataset(folder / "set")
    if kind in ("parquet", "arrow"):  # patches of one number each
        lists = {"tokens": [t.tolist() for t in tokens], "patches": [p[:, 0].tolist() for p in patches]}
        types = {"tokens": "list<int32>", "patches": "list<float>"}
        if kind == "parquet":
            columns = {name: parquets.Column(types[name], lists[name]) for name in lists}
            parquets.write(folder / "set.parquet", columns, rows_per_group=40, rows_per_page=7)
        else:
            arrows.write_stream(folder / "set.arrow", {name: arrows.Column(types[name], lists[name]) for name in lists})
        return sluice.Dataset(folder / f"set.{kind}")
    fields = {"patches": ("tensor", "float32", (0, PATCH)), "id": "int", "tokens": ("tensor", "int32", (0,))}
    with sluice.Writer(folder / "set", fields, zstd="off" if kind == "shards" else 3) as writer:
        for number, (t, p) in enumerate(documents):
            writer.add(id=number, tokens=t, **({"patches": p} if len(p) else {}))
    return sluice.Dataset(folder / "set")


KINDS = ("shards", "frames", "npz", "parquet", "arrow")


@pytest.fixture(scope="module")
def datasets(tmp_path_factory):
    documents = documents_of()
    return {kind: write(tmp_path_factory.mktemp(kind), kind, documents) for kind in KINDS}, documents


def loader_of(data, batch_size=4, shuffle=True, column=None, **options):
    column = {"length": LENGTH, "max_documents": MOST, "media": "patches", "per_token": 4} | (column or {})
    return sluice.Loader(data, batch_size=batch_size, shuffle=shuffle, seed=7, last_batch=options.pop("last_batch", "short"),
                         columns={"x": C.Packed("tokens", **column)}, **options)  # fmt: skip


PARTS = ("targets", "positions", "documents", "lengths", "cu_seqlens", "cu_seqlens_padded", "count", "max_seqlen", "loss_mask", "samples",
         "media_lengths")  # fmt: skip


def rows(loader, epoch=0):
    """Returns (index, {part: array}) of each row of an epoch; "media" is cut out by the row's offsets."""
    found = []
    loader.set_epoch(epoch)
    for batch in loader:
        arrays = {name: numpy.array(batch[f"x.{name}"].numpy()) for name in (*PARTS, "media", "media_offsets")} | {"x": numpy.array(batch["x"].numpy())}
        offsets = arrays.pop("media_offsets")
        assert offsets.dtype == "int64" and offsets[0] == 0 and offsets[-1] == len(arrays["media"])
        for row, index in enumerate(batch["index"].numpy()):
            one = {name: array[row] for name, array in arrays.items() if name != "media"}
            found.append((int(index), one | {"media": arrays["media"][offsets[row] : offsets[row + 1]]}))
    return found


def media_of(batch):
    """Returns the media of each row."""
    offsets = batch["x.media_offsets"].numpy()
    return [batch["x.media"].numpy()[b:e].tolist() for b, e in zip(offsets, offsets[1:])]


def check(row, documents, pieces, single=False, tokens=None, length=LENGTH, most=MOST, align=1, **more):
    """`single`: for formats whose patches are one number each. `tokens`: as they appear in rows."""
    wanted = row_of(tokens or [t for t, _ in documents], pieces, length, most, align, **more)
    wanted["x"][wanted["x"] == 9] = 0  # row_of pads with 9
    for name, array in wanted.items():
        assert row[name].tolist() == numpy.asarray(array).tolist(), name
    media = [documents[document][1] for document, _, _ in pieces]
    assert row["media_lengths"].tolist() == [len(p) for p in media] + [0] * (most - len(media))
    media = numpy.concatenate([*media, numpy.zeros((0, PATCH), "float32")])
    assert row["media"].dtype == "float32" and numpy.array_equal(row["media"], media[:, 0] if single else media)


def pieces_by_space(documents, per_token, tokens=None, **shape):
    """Returns rows by the space of each document; a piece has all of its tokens, or those of `tokens`, as they appear in rows."""
    tokens = tokens or [t for t, _ in documents]
    spaces = [len(t) + (-(-len(p) // per_token) if per_token else 0) for t, (_, p) in zip(tokens, documents)]
    return [[(d, 0, len(tokens[d])) for d, _, _ in row] for row in pack(spaces, **shape)]


# ---- rows ----


@pytest.mark.parametrize("per_token", [0, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_rows_in_their_order(datasets, kind, per_token):
    data, documents = datasets[0][kind], datasets[1]
    wanted = pieces_by_space(documents, per_token)
    found = rows(loader_of(data, shuffle=False, column={"per_token": per_token, "media_length": 500}))
    assert [i for i, _ in found] == list(range(len(wanted)))
    for (_, row), pieces in zip(found, wanted):
        check(row, documents, pieces, single=kind in ("parquet", "arrow"))


@pytest.mark.parametrize("column", [{"align": 8}, {"align": 16, "unit": 2, "length": 128}, {"max_documents": 2}, {"unit": 4, "max_documents": 9, "length": 256}],
                         ids=str)  # fmt: skip
def test_shapes(datasets, column):
    data, documents = datasets[0]["frames"], datasets[1]
    shape = {"length": LENGTH, "most": MOST, "align": 1} | {"most" if name == "max_documents" else name: value for name, value in column.items()}
    wanted = pieces_by_space(documents, 4, **shape)
    shape.pop("unit", None)
    found = rows(loader_of(data, shuffle=False, column=column))
    assert len(found) == len(wanted)
    for (_, row), pieces in zip(found, wanted):
        check(row, documents, pieces, **shape)
        spaces = [up(n + -(-m // 4), shape["align"]) for n, m in zip(row["lengths"], row["media_lengths"])]
        assert sum(spaces) <= shape["length"] and 0 < len(row["media_lengths"]) == shape["most"]


@pytest.mark.parametrize("kind", ["shards", "parquet"])
def test_workers_and_ranks(datasets, kind):
    data = datasets[0][kind]

    def short(found):
        return [(i, row["x"].tolist(), row["media"].tolist(), row["samples"].tolist()) for i, row in found]

    whole = short(rows(loader_of(data, num_workers=1), 1))
    assert whole == short(rows(loader_of(data, num_workers=4, resident_bytes=1), 1)) and len(whole) > 10
    ranks = [short(rows(loader_of(data, 1, rank=rank, world_size=3, last_batch="drop"), 1)) for rank in range(3)]
    shared = [row for some in zip(*ranks) for row in some]
    assert shared == whole[: len(shared)] and len(whole) - len(shared) < 3


def test_a_state(datasets):
    """It resumes with other workers, including its patches; loaders with other rows reject it."""
    data = datasets[0]["shards"]
    whole = [(i, row["media"].tolist()) for i, row in rows(loader_of(data, 2), 3)]
    first = loader_of(data, 2)
    first.set_epoch(3)
    run = iter(first)
    for _ in range(4):
        next(run)
    second = loader_of(data, 2, num_workers=3)
    second.load_state_dict(first.state_dict())
    rest = [(int(i), media) for batch in second for i, media in zip(batch["index"].numpy(), media_of(batch))]
    assert rest == whole[8:]
    for other in ({"per_token": 8}, {"per_token": 0, "media_length": 500}):
        with pytest.raises(sluice.InvalidError, match="packing: .*per_token"):
            loader_of(data, 2, column=other).load_state_dict(first.state_dict())


def test_a_subset_and_a_join(datasets):
    """Sample numbers are those of the dataset given to the loader."""
    data, documents = datasets[0]["shards"], datasets[1]
    both = sluice.concat([data.subset(range(10, 30)), data.subset(range(5))])
    chosen = documents[10:30] + documents[:5]
    found = rows(loader_of(both, shuffle=False))
    wanted = pieces_by_space(chosen, 4)
    assert len(found) == len(wanted)
    for (_, row), pieces in zip(found, wanted):
        check(row, chosen, pieces)


def test_one_length_for_all(tmp_path):
    """Media whose first dimension is the same everywhere."""
    documents = [(t, numpy.full((6, PATCH), i, "float32")) for i, (t, _) in enumerate(documents_of(20))]
    fields = {"patches": ("tensor", "float32", (6, PATCH)), "tokens": ("tensor", "int32", (0,))}
    with sluice.Writer(tmp_path / "set", fields, zstd="off") as writer:
        for tokens, patches in documents:
            writer.add(tokens=tokens, patches=patches)
    found = rows(loader_of(sluice.Dataset(tmp_path / "set"), shuffle=False))
    wanted = pieces_by_space(documents, 4)
    assert len(found) == len(wanted)
    for (_, row), pieces in zip(found, wanted):
        check(row, documents, pieces)


# ---- together with other parts of documents, and in a mix ----


def expect_rows(found, documents, tokens, per_token, trained=None, **shape):
    wanted = pieces_by_space(documents, per_token, tokens, **shape)
    assert len(found) == len(wanted)
    for (_, row), pieces in zip(found, wanted):
        check(row, documents, pieces, tokens=tokens, trained=trained, **shape)
        spaces = [n + (-(-m // per_token) if per_token else 0) for n, m in zip(row["lengths"], row["media_lengths"])]
        assert sum(spaces) <= shape.get("length", LENGTH)


@pytest.mark.parametrize("ids", [{"bos": BOS}, {"eos": EOS}, {"bos": BOS, "eos": EOS}], ids=str)
@pytest.mark.parametrize("kind, per_token", [("shards", 4), ("frames", 0), ("frames", 3)])
def test_ids(datasets, kind, per_token, ids):
    """They are tokens of their document beside its patches, which do not change."""
    tokens = with_ids([t for t, _ in datasets[1]], **ids)
    for align in (1, 8):
        column = {"per_token": per_token, "media_length": 500, "align": align} | ids
        expect_rows(rows(loader_of(datasets[0][kind], shuffle=False, column=column)), datasets[1], tokens, per_token, align=align)


def test_a_document_that_its_ids_make_too_long(tmp_path):
    """Its tokens and patches fill a row, and eos does not fit."""
    documents = documents_of(3)
    documents[1] = (documents[1][0][:10], numpy.zeros((4 * (LENGTH - 11) + 1, PATCH), "float32"))
    data = write(tmp_path, "shards", documents)
    assert len(documents[1][0]) == 10 and len(rows(loader_of(data))) > 1
    words = r"the longest document, 1, has 65 elements, but a row has 64: .*\(lengths count 1 added to each document, and the space of its media,"
    with pytest.raises(sluice.InvalidError, match=words):
        loader_of(data, column={"eos": EOS})


@pytest.fixture(scope="module")
def masked(tmp_path_factory):
    """Writes datasets with a mask in two forms, compressed by zstd. Returns them with their documents and masks."""
    documents, made = documents_of(60, seed=8), {}
    masks = masks_of([t for t, _ in documents])
    fields = {"patches": ("tensor", "float32", (0, PATCH)), "mask": ("tensor", "int8", (0,)), "runs": ("tensor", "int64", (0, 2)),
              "tokens": ("tensor", "int32", (0,))}  # fmt: skip
    for zstd in ("off", 3):
        path = tmp_path_factory.mktemp("masked") / "set"
        with sluice.Writer(path, fields, zstd=zstd) as writer:
            for (tokens, patches), mask in zip(documents, masks):
                writer.add(tokens=tokens, patches=patches, mask=mask, runs=runs_of(mask))
        made[zstd] = sluice.Dataset(path)
    return made, documents, masks


@pytest.mark.parametrize("mask", ["mask", "runs"])
@pytest.mark.parametrize("zstd", ["off", 3])
def test_masks(masked, zstd, mask):
    """Each of a document's three fields may have to be unpacked."""
    datasets, documents, masks = masked
    for ids in ({}, {"bos": BOS, "eos": EOS}):
        tokens, trained = with_ids([t for t, _ in documents], **ids), trained_of(masks, **ids)
        expect_rows(rows(loader_of(datasets[zstd], shuffle=False, column={"mask": mask} | ids)), documents, tokens, 4, trained)


@pytest.mark.parametrize("rate", [1, 0.5])
@pytest.mark.parametrize("zstd", ["off", 3])
def test_filling_in_the_middle(masked, zstd, rate):
    """Tokens are moved, with their masks; patches stay as stored."""
    datasets, documents, masks = masked
    loader = loader_of(datasets[zstd], shuffle=False, column={"eos": EOS, "mask": "runs", "fim": C.FIM(rate, PREFIX, MIDDLE, SUFFIX)})
    for epoch in (0, 2):
        made = [transform(t, number, epoch, rate, 0.5, mask) for number, ((t, _), mask) in enumerate(zip(documents, masks))]
        tokens = [numpy.array([*t, EOS], dtype="int64") for t, _ in made]
        trained = [[*good, mask[-1]] for (_, good), mask in zip(made, masks)]
        expect_rows(rows(loader, epoch), documents, tokens, 4, trained)


def test_filling_in_the_middle_moves_no_placeholders(datasets):
    with pytest.raises(sluice.InvalidError, match="placeholders away from their media.*needs per_token"):
        loader_of(datasets[0]["shards"], column={"per_token": 0, "media_length": 500, "fim": C.FIM(0.5, PREFIX, MIDDLE, SUFFIX)})


def test_a_mix(tmp_path):
    """Each source is packed separately; sample numbers are those of the mix."""
    datasets, documents = [], []
    for number, kind in enumerate(("shards", "frames", "npz")):
        (tmp_path / kind).mkdir()
        documents.append(documents_of(30 + 10 * number, seed=number))
        datasets.append(write(tmp_path / kind, kind, documents[-1]))
    mixed = sluice.mix(datasets, [2, 1, 1], fields=["tokens", "patches"])
    tokens = [with_ids([t for t, _ in some], eos=EOS) for some in documents]
    packed = [pieces_by_space(some, 4, own) for some, own in zip(documents, tokens)]
    samples, firsts = ([0, *numpy.cumsum([len(some) for some in many])] for many in (documents, packed))
    found, taken = rows(loader_of(mixed, shuffle=False, column={"eos": EOS})), [0] * 3
    assert len(found) == firsts[-1]
    for (index, row), source in zip(found, schedule([2, 1, 1], len(found))):
        own = taken[source] % len(packed[source])
        taken[source] += 1
        assert index == firsts[source] + own
        check(row, documents[source], packed[source][own], tokens=tokens[source], source=samples[source])
    assert min(taken) > 1
    whole = [row["media"].tolist() for _, row in rows(loader_of(mixed, 2, column={"eos": EOS}), 1)]
    first = loader_of(mixed, 2, column={"eos": EOS})
    first.set_epoch(1)
    run = iter(first)
    for _ in range(3):
        next(run)
    state = first.state_dict()
    second = loader_of(mixed, 2, column={"eos": EOS}, num_workers=3)
    second.load_state_dict(state)
    assert [row for batch in second for row in media_of(batch)] == whole[6:]
    with pytest.raises(sluice.InvalidError, match="packing: .*per_token"):
        loader_of(mixed, 2, column={"eos": EOS, "per_token": 5}).load_state_dict(state)


# ---- bad documents ----


@pytest.mark.parametrize("per_token", [0, 4])
@pytest.mark.parametrize("unit", [1, 2])
def test_a_damaged_document(tmp_path, per_token, unit):
    """In compressed shards, opening fails; when masked, neither the document with its patches nor the others of its unit are in a row."""
    documents = documents_of(20)
    data = write(tmp_path, "frames", documents)
    place = data.sample(7)
    damage(tmp_path / "set" / "shard-000000.sluice", place["offset"] + place["bytes"] - 1)
    data, column = sluice.Dataset(tmp_path / "set"), {"per_token": per_token, "media_length": 500, "unit": unit, "length": 128}
    with pytest.raises(sluice.CorruptError, match="sample 7") as raised:
        loader_of(data, column=column)
    assert raised.value.sample == 7
    with pytest.warns(UserWarning, match='1 of 20 documents of "tokens" cannot be read and are left out.*the first is sample 7'):
        loader = loader_of(data, shuffle=False, column=column, on_bad_sample="mask")
    lost = {7 // unit * unit + k for k in range(unit)}
    documents = [(t[:0], p[:0]) if number in lost else (t, p) for number, (t, p) in enumerate(documents)]
    wanted = pieces_by_space(documents, per_token, unit=unit, length=128)
    found = rows(loader)
    assert len(found) == len(wanted)
    for (_, row), pieces in zip(found, wanted):
        check(row, documents, pieces, length=128)


def test_more_patches_than_a_row_holds(datasets):
    """A bad row: masked, without patches, and the others do not change."""
    data, documents = datasets[0]["shards"], datasets[1]
    limit = 100
    wanted = pieces_by_space(documents, 0)
    sizes = [sum(len(documents[d][1]) for d, _, _ in pieces) for pieces in wanted]
    bad = [size > limit for size in sizes]
    assert 2 < sum(bad) < len(bad) - 2
    column = {"per_token": 0, "media_length": limit}
    found = rows(loader_of(data, shuffle=False, column=column, on_bad_sample="mask"))
    assert len(found) == len(wanted)
    for (_, row), pieces, is_bad in zip(found, wanted, bad):
        check(row, documents, [] if is_bad else pieces)
    words = r'no space for \d+ of "patches" after the \d+ of its earlier documents: it holds 100: give media_length more'
    with pytest.raises(sluice.UnsupportedError, match=words) as raised:
        rows(loader_of(data, shuffle=False, column=column))
    assert raised.value.sample in [d for pieces, is_bad in zip(wanted, bad) if is_bad for d, _, _ in pieces]  # of the row that was made first


def test_a_sample_without_media(tmp_path):
    """It has no patches, however it is stored."""
    with sluice.Writer(tmp_path / "set", {"tokens": ("tensor", "int32", (0,)), "patches": ("tensor", "uint8", (0,))}) as writer:
        for tokens, patches in (([1, 2], [7]), ([3], None), ([4], []), ([5], [8, 9])):
            writer.add(tokens=tokens, patches=patches)
    (_, row), = rows(loader_of(sluice.Dataset(tmp_path / "set"), shuffle=False))  # fmt: skip
    assert row["media"].tolist() == [7, 8, 9] and sorted(row["media_lengths"].tolist()) == [0, 0, 0, 1, 2]


@pytest.mark.parametrize("per_token", [0, 4])
@pytest.mark.parametrize("kind", ["shards", "npz"])
def test_patches_without_tokens(tmp_path, kind, per_token):
    documents = documents_of(6)
    documents[4] = (documents[4][0][:0], documents[4][1])
    data = write(tmp_path, kind, documents)
    words = f'sample 4: the document has {len(documents[4][1])} "patches" but no "tokens", and rows have no documents without elements: leave it out'
    with pytest.raises(sluice.InvalidError, match=words) as raised:
        loader_of(data, column={"per_token": per_token})
    assert raised.value.sample == 4
    documents[4] = (documents[4][0], documents[4][1][:0])
    (tmp_path / "none").mkdir()
    with pytest.warns(UserWarning, match='1 of 6 documents of "tokens" have no elements'):
        rows(loader_of(write(tmp_path / "none", kind, documents)))


def test_a_document_that_fills_more_than_a_row(tmp_path):
    documents = documents_of(6)
    documents[2] = (documents[2][0][:10], numpy.zeros((4 * (LENGTH - 10), PATCH), "float32"))
    (tmp_path / "fits").mkdir()
    assert len(rows(loader_of(write(tmp_path / "fits", "shards", documents)))) > 1
    documents[2] = (documents[2][0], numpy.zeros((4 * (LENGTH - 10) + 1, PATCH), "float32"))
    words = 'sample 2: the document has 10 "tokens" and 217 "patches", which take 65 elements of a row, but a row has 64: choose a larger length'
    with pytest.raises(sluice.InvalidError, match=words):
        loader_of(write(tmp_path, "shards", documents))
    documents = [(numpy.arange(70, dtype="int32"), documents[0][1])]
    (tmp_path / "long").mkdir()
    with pytest.raises(sluice.InvalidError, match='which take 70 elements of a row, but a row has 64: choose a larger length'):
        loader_of(write(tmp_path / "long", "shards", documents), column={"per_token": 0})


def test_other_shapes(tmp_path):
    """A patch of another size than the first file's makes the sample or the dataset bad."""
    documents = documents_of(6)
    documents[5] = (documents[5][0], numpy.zeros((3, PATCH + 1), "float32"))
    with pytest.raises(sluice.Error, match="shape|dimension") as raised:
        rows(loader_of(write(tmp_path, "npz", documents)))
    assert "patches" in str(raised.value)


# ---- errors ----


@pytest.mark.parametrize("column, words", [
    ({"media": "none"}, 'no field "none"'),
    ({"media": "tokens"}, "media must be another field than the tokens"),
    ({"media": "id"}, 'media "id" must be a tensor'),
    ({"media_length": 2**31}, "media_length"),
    ({"per_token": 2**20, "length": 2**20}, "media_length must be at most 2147483647"),
], ids=str)  # fmt: skip
def test_columns_that_are_refused(datasets, column, words):
    with pytest.raises((sluice.InvalidError, ValueError), match=words):
        loader_of(datasets[0]["shards"], column=column)


def test_arguments():
    with pytest.raises(ValueError, match="cut='long' does not work with media="):
        C.Packed("tokens", length=8, media="patches", cut="long")
    for name in ("per_token", "media_length"):
        with pytest.raises(ValueError, match="need media=, a field of the dataset"):
            C.Packed("tokens", length=8, **{name: 4})
        with pytest.raises(ValueError, match=name):
            C.Packed("tokens", length=8, media="patches", **{name: -1})
    with pytest.raises(TypeError, match="media"):
        C.Packed("tokens", length=8, media=3)
    assert repr(C.Packed("tokens", length=8, media="patches", per_token=4)) == "sluice.columns.Packed('tokens', length=8, media='patches', per_token=4)"


def test_no_other_parts(datasets):
    """Without media, a batch has no media parts, and rows do not change."""
    loader = sluice.Loader(datasets[0]["shards"], batch_size=2, columns={"x": C.Packed("tokens", length=LENGTH)})
    batch = next(iter(loader))
    assert not [name for name in ("media", "media_offsets", "media_lengths") if f"x.{name}" in batch]
    assert set(dict(batch)) == {"x"}
    assert int((batch["x.targets"].numpy() != IGNORE).sum()) > 0


# ---- docs/sequences.md ----


def test_the_page(tmp_path, monkeypatch):
    """Each placeholder holds the number of its own document, which its patches hold, too."""
    (text,) = re.findall(r"^## Text and pictures\n(.*?)^## ", (pages.DOCS / "sequences.md").read_text(), re.MULTILINE | re.DOTALL)
    (program,) = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(program, names)
    batch, tokens = names["batch"], names["tokens"]
    lengths, samples, numbers = (batch[f"tokens.{part}"].numpy() for part in ("media_lengths", "samples", "documents"))
    rows, places = numpy.nonzero(tokens == names["IMAGE"])
    assert len(rows) == lengths.sum() > 10
    assert (samples[rows, numbers[rows, places]] == names["inputs"][rows, places, 0]).all()
    begins = eval(re.search(r"`(offsets\[:-1.*?)`", text)[1], {"offsets": batch["tokens.media_offsets"].numpy(), "lengths": lengths})
    some = lengths > 0
    assert (names["patches"][begins[some], 0] == samples[some]).all()
    assert not (names["targets"] == names["IMAGE"]).any() and (names["targets"] >= 10).sum() > 100
