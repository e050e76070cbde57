# SPDX-License-Identifier: Apache-2.0
"""Windows of tokens over joined, chosen and mixed datasets, compared with windows cut by Python."""
import itertools

import litdata_files
import mds_files
import numpy
import pytest
from test_arrays import write_megatron

import sluice
from sluice import columns as C

LENGTH, STRIDE = 32, 16
FIELDS = ["tokens"]


def cut(documents, length=LENGTH, stride=STRIDE):
    return [d[at : at + length] for d in documents for at in range(0, len(d) - length + 1, stride)]


@pytest.fixture(scope="module")
def corpora(tmp_path_factory):
    """Two corpora of documents of many lengths, with all tokens different: Megatron's, and packed shards with another field."""
    root, chance, first = tmp_path_factory.mktemp("corpora"), numpy.random.default_rng(7), 0
    documents = []
    for count, longest in ((60, 200), (25, 90)):
        documents.append([])
        for length in chance.integers(0, longest, count):
            documents[-1].append(numpy.arange(first, first + length, dtype="int32"))
            first += length
    write_megatron(root / "web", documents[0], "int32")
    documents[0] = [d for d in documents[0] if len(d)]
    with sluice.Writer(root / "code", {"id": "int", "tokens": ("tensor", "int32", (0,))}, zstd="off") as writer:
        for number, document in enumerate(documents[1]):
            writer.add(id=number, tokens=document)
    return [sluice.Dataset(root / "web.bin"), sluice.Dataset(root / "code")], documents


def rows(data, epochs=1, first=0, field="tokens", batch_size=7, **options):
    """Returns (index, tokens) of each row of some epochs."""
    options = {"shuffle": True, "seed": 5, "last_batch": "short"} | options
    loader = sluice.Loader(data, batch_size=batch_size, columns={"x": C.Window(field, length=LENGTH, stride=STRIDE)}, **options)
    found = []
    for epoch in range(first, first + epochs):
        loader.set_epoch(epoch)
        found += [(int(i), tuple(row)) for batch in loader for i, row in zip(batch["index"].numpy(), batch["x"].numpy().tolist())]
    return found


def test_joined(corpora):
    (web, code), documents = corpora
    wanted = [tuple(w) for w in cut(documents[0] + documents[1] + documents[0])]
    assert sorted(rows(sluice.concat([web, code, web], fields=FIELDS))) == list(enumerate(wanted))


def test_chosen(corpora):
    (web, code), documents = corpora
    numbers = [17, 3, 3, 40, 0, *range(5, 20)]
    wanted = [tuple(w) for w in cut([documents[0][i] for i in numbers])]
    assert sorted(rows(web.subset(numbers))) == list(enumerate(wanted))
    both = sluice.concat([web.subset(numbers), code[2:9]], fields=FIELDS)
    wanted += [tuple(w) for w in cut(documents[1][2:9])]
    assert sorted(rows(both)) == list(enumerate(wanted))


def mixed(corpora, weights, **options):
    """Returns a mix of two corpora and a part of the first one, and the windows of each."""
    (web, code), documents = corpora
    parts = [web, code, web[10:30]]
    windows = [cut(d) for d in (documents[0], documents[1], documents[0][10:30])]
    return sluice.mix(parts, weights, fields=FIELDS, **options), [[tuple(w) for w in own] for own in windows]


@pytest.mark.parametrize("weights", [(0.7, 0.3, 0), (5, 1, 2), (1, 2**0.5, 3**0.5)])
@pytest.mark.parametrize("shuffle", [True, False])
def test_shares_of_a_mix(corpora, weights, shuffle):
    """After every window, each source is within one window of its share; each window appears once before one repeats; tokens are right."""
    data, windows = mixed(corpora, weights, epoch_samples=101)
    every, first = list(itertools.chain(*windows)), [0, *itertools.accumulate(map(len, windows))]
    found = rows(data, epochs=7, shuffle=shuffle)
    assert len(found) == 7 * 101 and all(row == every[i] for i, row in found)
    for source, weight in enumerate(weights):
        own = range(first[source], first[source + 1])
        count, taken = 0, [i for i, _ in found if i in own]
        for place, (index, _) in enumerate(found):
            count += index in own
            assert abs(count - (place + 1) * weight / sum(weights)) < 1.01
        for start in range(0, len(taken), len(own)):
            some = taken[start : start + len(own)]
            assert len(set(some)) == len(some)
            assert shuffle or some == list(own)[: len(some)]


def test_an_epoch_of_a_mix_has_all_windows(corpora):
    data, windows = mixed(corpora, (1, 1, 1))
    assert len(rows(data)) == sum(map(len, windows))
    data, _ = mixed(corpora, {0: (1, 0, 0), 1: (0, 1, 1), 3: (2, 1, 0)}, epoch_samples=60)
    ends = numpy.cumsum([len(own) for own in windows])
    shares = [numpy.bincount(numpy.searchsorted(ends, [i for i, _ in rows(data, first=e)], "right"), minlength=3) for e in range(4)]
    assert [list(s) for s in shares] == [[60, 0, 0], [0, 30, 30], [0, 30, 30], [40, 20, 0]]


def test_a_mix_whatever_the_workers_and_ranks(corpora):
    data, _ = mixed(corpora, (0.6, 0.3, 0.1))
    whole = rows(data, first=2, num_workers=1)
    assert whole == rows(data, first=2, num_workers=4)
    ranks = [rows(data, first=2, batch_size=1, rank=rank, world_size=3, last_batch="drop") for rank in range(3)]
    shared = [row for three in zip(*ranks) for row in three]
    assert shared == whole[: len(shared)] and len(whole) - len(shared) < 3


def test_a_mix_goes_on_anywhere(corpora):
    data, _ = mixed(corpora, (3, 1, 1), epoch_samples=50)
    options = {"columns": {"x": C.Window("tokens", length=LENGTH, stride=STRIDE)}, "shuffle": True, "seed": 5, "last_batch": "short"}
    whole = rows(data, first=1)
    for stop in range(8):
        loader = sluice.Loader(data, batch_size=7, **options)
        loader.set_epoch(1)
        steps = iter(loader)
        before = [int(i) for _ in range(stop) for i in next(steps)["index"].numpy()]
        other = sluice.Loader(data, batch_size=3, **options)
        other.load_state_dict(loader.state_dict())
        assert before + [int(i) for batch in other for i in batch["index"].numpy()] == [i for i, _ in whole]
    for changed in (mixed(corpora, (2, 1, 1), epoch_samples=50)[0], mixed(corpora, (3, 1, 1), epoch_samples=51)[0]):
        with pytest.raises(sluice.InvalidError, match="different dataset"):
            sluice.Loader(changed, batch_size=3, **options).load_state_dict(loader.state_dict())


def test_a_source_without_a_window(corpora, tmp_path):
    (web, _), _ = corpora
    short = sluice.Dataset(write_megatron(tmp_path / "short", [[1, 2, 3], [4]], "int32"))
    assert len(rows(web + short)) == len(rows(web))
    with pytest.raises(sluice.InvalidError, match=r"short\.bin.*has 32 elements, more than any sample of dataset 2"):
        rows(sluice.mix([web, short]))


# ---- MDS ----


def documents_of(lengths, dtype, first=1):
    ends = numpy.cumsum([first, *lengths])
    return [numpy.arange(begin, end).astype(dtype) for begin, end in zip(ends, ends[1:])]


LENGTHS = [40, 1, 254, 255, 256, 257, 100, 65535, 65536, 31, 32, 33, 500]


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint64"])
@pytest.mark.parametrize("others", [{}, {"a": "int32", "z": "float64"}, {"z": "ndarray:float32:5"}])
def test_mds(tmp_path, dtype, others):
    """Arrays with headers of all sizes, between columns of fixed ones."""
    documents = documents_of(LENGTHS, dtype)
    values = {"a": 7, "z": numpy.arange(5, dtype="float32") if others.get("z", "").startswith("nd") else 0.5}
    samples = [{"tokens": d} | {name: values[name] for name in others} for d in documents]
    mds_files.write(tmp_path, {"tokens": "ndarray:" + dtype} | others, samples, samples_per_shard=4)
    data = sluice.Dataset(tmp_path)
    wanted = [tuple(w.tolist()) for w in cut(documents)]
    assert sorted(rows(data, batch_size=512)) == list(enumerate(wanted))
    assert data.verify(progress=None).findings == []
    chosen = sluice.mix([data.subset([0, 6]), data[4:6]], [3, 1], epoch_samples=40)
    own = [[tuple(w.tolist()) for w in cut([documents[i] for i in some])] for some in ((0, 6), (4, 5))]
    assert all(row == (own[0] + own[1])[i] for i, row in rows(chosen))


def test_mds_of_one_size(tmp_path):
    """Columns of fixed sizes require no reading of samples; bytes have the chosen type."""
    chance = numpy.random.default_rng(3)
    samples = [{"mask": chance.integers(0, 9, 64).astype("uint8"), "tokens": chance.integers(0, 999, 64).astype("uint16"), "id": f"{'x' * n}"}
               for n in range(30)]  # fmt: skip
    columns = {"mask": "ndarray:uint8:64", "tokens": "ndarray:uint16:64", "id": "str"}
    mds_files.write(tmp_path / "a", columns, samples, samples_per_shard=7)
    data = sluice.Dataset(tmp_path / "a")
    for field in ("tokens", "mask"):
        wanted = cut([s[field] for s in samples])
        found = sorted(rows(data, field=field))
        assert len(found) == 90 and all(row == tuple(wanted[i]) for i, row in found)
    documents = documents_of(LENGTHS, "int64")
    mds_files.write(tmp_path / "b", {"tokens": "bytes"}, [{"tokens": d.tobytes()} for d in documents])
    data = sluice.Dataset(tmp_path / "b", fields={"tokens": ("tokens", "i64[]")})
    assert sorted(rows(data, batch_size=512)) == list(enumerate(tuple(w.tolist()) for w in cut(documents)))


def test_mds_whose_places_samples_say(tmp_path):
    document = numpy.arange(300, dtype="uint16")
    for number, (columns, extra, words) in enumerate([
        ({"tokens": "ndarray:uint16", "id": "str"}, {"id": "x"}, "other columns vary in size"),
        ({"tokens": "ndarray"}, {}, "from each sample"),
    ]):  # fmt: skip
        mds_files.write(tmp_path / str(number), columns, [{"tokens": document} | extra] * 3)
        data = sluice.Dataset(tmp_path / str(number))
        with pytest.raises(sluice.UnsupportedError, match=f'field "tokens".*{words}.*pack'):
            rows(data)
        alone = sluice.Dataset(tmp_path / str(number), fields={"tokens": "tokens"})
        sluice.pack(alone, tmp_path / f"packed{number}", zstd="off", progress=None)
        assert len(rows(sluice.Dataset(tmp_path / f"packed{number}"))) == 3 * len(cut([document]))
    # A header wider than necessary, as no MDS writer makes it: it is read, but not at the expected offset.
    wide = bytes([1 << 2 | 2]) + numpy.array([300], "<u4").tobytes() + document.tobytes()
    mds_files.write(tmp_path / "wide", {"tokens": "ndarray:uint16"}, [{"tokens": wide}] * 3)
    data = sluice.Dataset(tmp_path / "wide")
    assert data[0]["tokens"].tolist() == document.tolist()
    with pytest.raises(sluice.UnsupportedError, match="from each sample"):
        rows(data)


def test_mds_sizes_that_lie(tmp_path):
    document = numpy.arange(300, dtype="uint16")
    good = mds_files.encode("ndarray:uint16", document)
    for number, bad in enumerate((good + b"x", good[:2], b"", good[:-600])):
        columns = {"a": "int64", "tokens": "ndarray:uint16"}
        mds_files.write(tmp_path / str(number), columns, [{"a": 1, "tokens": good}, {"a": 1, "tokens": bad}])
        with pytest.raises(sluice.CorruptError, match=r"shard\.00000\.mds.*tokens"):
            rows(sluice.Dataset(tmp_path / str(number)))


def test_litdata_samples(tmp_path):
    documents = documents_of(LENGTHS, "int32")
    litdata_files.write(tmp_path, ["no_header_numpy"], [[d] for d in documents], data_spec={"tokens": 0}, chunk_samples=4)
    data = sluice.Dataset(tmp_path)
    assert sorted(rows(data, batch_size=512)) == list(enumerate(tuple(w.tolist()) for w in cut(documents)))


def test_compressed_tokens_have_no_windows(tmp_path):
    numpy.zeros(5000, "uint16").tofile(tmp_path / "tokens.bin")
    data = sluice.Dataset(tmp_path / "tokens.bin", flat=("uint16", (1000,)))
    columns = {"x": sluice.columns.Window("tensor", length=100)}
    for zstd in (3, "off"):
        sluice.pack(data, tmp_path / f"packed {zstd}", zstd=zstd, progress=None)
    with pytest.raises(sluice.UnsupportedError, match="stored plain.* pack it again with zstd off"):
        list(sluice.Loader(tmp_path / "packed 3", columns=columns))
    assert sum(batch.rows for batch in sluice.Loader(tmp_path / "packed off", columns=columns)) == 50
