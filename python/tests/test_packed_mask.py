# SPDX-License-Identifier: Apache-2.0
"""mask= of packed sequences: a field marks the trained tokens, one number each or runs; targets are these tokens, in every kind of row."""
import numpy
import parquets
import pytest
from test_packed import FIRST, LENGTH, MOST, documents_of, expect, loader_of, pack, row_of, rows
from test_packed_ids import BOS, EOS, shape_of, with_ids

import sluice
from sluice import columns as C

KINDS = ("shards", "frames", "parquet")


def masks_of(documents, seed=5):
    """Marks some tokens of each document; in some documents all, or none."""
    chance = numpy.random.default_rng(seed)
    return [(chance.random(len(d)) < chance.choice([0, 0.3, 0.8, 1])).astype("int8") for d in documents]


def runs_of(mask):
    edges = numpy.flatnonzero(numpy.diff([0, *mask, 0]))
    return edges.reshape(-1, 2).astype("int64")


def write(folder, kind, documents, masks):
    if kind == "parquet":
        lists = {"tokens": documents, "mask": masks}
        columns = {name: parquets.Column("list<int32>", [[int(x) for x in one] for one in many]) for name, many in lists.items()}
        parquets.write(folder / "set.parquet", columns, rows_per_group=40, rows_per_page=7)
        return sluice.Dataset(folder / "set.parquet")
    fields = {"tokens": ("tensor", "int32", (0,)), "mask": ("tensor", "int8", (0,)), "flags": ("tensor", "bool", (0,)), "runs": ("tensor", "int64", (0, 2))}
    with sluice.Writer(folder / "set", fields, zstd="off" if kind == "shards" else 3) as writer:
        for document, mask in zip(documents, masks):
            writer.add(tokens=document, mask=mask * -3, flags=mask.astype(bool), runs=runs_of(mask))
    return sluice.Dataset(folder / "set")


@pytest.fixture(scope="module")
def datasets(tmp_path_factory):
    documents = documents_of(count=70, longest=50, seed=12)
    masks = masks_of(documents)
    return {kind: write(tmp_path_factory.mktemp(kind), kind, documents, masks) for kind in KINDS}, documents, masks


def trained_of(masks, bos=None, eos=None):
    """Returns the masks with ids: eos has the mask of the last token, and bos is not a target."""
    return [[*([1] if bos is not None else []), *m, *([m[-1]] if eos is not None else [])] if len(m) else [] for m in masks]


def wanted_rows(documents, masks, column):
    ids, shape = {name: column[name] for name in ("bos", "eos") if name in column}, shape_of(column)
    extended, trained = with_ids(documents, **ids), trained_of(masks, **ids)
    made = pack([len(d) for d in extended], **shape)
    return [row_of(extended, pieces, shape["length"], shape["most"], shape["align"], trained) for pieces in made]


SHAPES = [{}, {"align": 8, "eos": EOS}, {"cut": "split", "bos": BOS, "eos": EOS}, {"cut": "long", "length": 10, "eos": EOS}, {"cut": "split", "length": 1, "bos": BOS}]


@pytest.mark.parametrize("column", SHAPES, ids=str)
@pytest.mark.parametrize("kind, mask", [("shards", "mask"), ("shards", "runs"), ("frames", "flags"), ("frames", "runs"), ("parquet", "mask")])
def test_rows(datasets, kind, mask, column):
    wanted = wanted_rows(*datasets[1:], column)
    found = rows(loader_of(datasets[0][kind], shuffle=False, column=column | {"mask": mask}))
    assert len(found) == len(wanted)
    for (_, row), one in zip(found, wanted):
        expect(row, one)


def test_units_workers_ranks_and_resume(datasets):
    data, column = datasets[0]["frames"], {"cut": "split", "bos": BOS, "eos": EOS, "mask": "runs"}

    def short(found):
        return [(i, row["x"].tolist(), row["targets"].tolist(), row["loss_mask"].tolist()) for i, row in found]

    whole = short(rows(loader_of(data, column=column, num_workers=1), first=1))
    ranks = [short(rows(loader_of(data, 1, column=column, rank=rank, world_size=2, last_batch="drop", num_workers=3), first=1)) for rank in range(2)]
    shared = [row for some in zip(*ranks) for row in some]
    assert shared == whole[: len(shared)] and len(whole) - len(shared) < 2
    first = loader_of(data, column=column)
    first.set_epoch(1)
    run = iter(first)
    next(run), next(run)
    second = loader_of(data, column=column | {"mask": "mask"}, num_workers=2)  # a mask changes no row, so a state fits loaders with another mask
    second.load_state_dict(first.state_dict())
    rest = [row for batch in second for row in zip(batch["x"].numpy().tolist(), batch["x.targets"].numpy().tolist())]
    assert rest == [(x, targets) for _, x, targets, _ in whole[8:]]
    documents, masks = zip(*[(d, m) for d, m in zip(*datasets[1:]) if len(d)][:40])
    chosen = datasets[0]["shards"].subset([i for i, d in enumerate(datasets[1]) if len(d)][:40])
    column = {"unit": 2, "length": 128, "eos": EOS}
    for (_, row), one in zip(rows(loader_of(chosen, shuffle=False, column=column | {"mask": "mask"})), wanted_rows(documents, masks, column)):
        expect(row, one)


def test_without_a_mask_every_target_counts(datasets):
    for _, row in rows(loader_of(datasets[0]["shards"], column={"cut": "split"})):
        assert ((row["targets"] != -1) == row["loss_mask"]).all() and row["loss_mask"].any()


# ---- bad masks ----


@pytest.mark.parametrize("zstd", ["off", 3])
@pytest.mark.parametrize("field, bad, words", [
    ("mask", [1] * 19, '"mask" has length 19, but "tokens" has 20'),
    ("mask", None, 'the sample has no "mask"'),
    ("runs", [[0, 3], [2, 5]], r'run 1 of "runs" is \[2, 5\): the previous run ends at 3'),
    ("runs", [[-1, 3]], r'run 0 of "runs" is \[-1, 3\): elements are numbered from 0'),
    ("runs", [[0, 3], [9, 7]], r'run 1 of "runs" is \[9, 7\): it ends before 9'),
    ("runs", [[0, 3], [18, 21]], r'run 1 of "runs" is \[18, 21\): the document\'s length is 20'),
], ids=str)  # fmt: skip
def test_bad_masks(tmp_path, zstd, field, bad, words):
    """The whole row is masked, and the others do not change; or the error names the sample."""
    documents = [numpy.arange(20 * i + FIRST, 20 * i + FIRST + 20, dtype="int32") for i in range(12)]
    fields = {"tokens": ("tensor", "int32", (0,)), "mask": ("tensor", "uint8", (0,)), "runs": ("tensor", "int64", (0, 2))}
    with sluice.Writer(tmp_path / "set", fields, zstd=zstd) as writer:
        for number, document in enumerate(documents):
            masks = {"mask": numpy.ones(20, "uint8"), "runs": numpy.array([[0, 20]])}
            if number == 7:
                masks[field] = bad if bad is None else numpy.array(bad, "uint8" if field == "mask" else "int64")
            writer.add(tokens=document, **masks)
    data = sluice.Dataset(tmp_path / "set")
    with pytest.raises(sluice.CorruptError, match=words) as raised:
        rows(loader_of(data, 2, False, {"mask": field}))
    assert raised.value.sample == 7
    loader = loader_of(data, 1, False, {"mask": field, "cut": "split", "length": 30}, on_bad_sample="mask")
    batches = [(int(batch["mask"].numpy()[0]), batch["x.loss_mask"].numpy()[0].tolist()) for batch in loader]
    made = pack([20] * 12, length=30, cut="split")
    assert [mask for mask, _ in batches] == [not any(document == 7 for document, _, _ in pieces) for pieces in made]
    for (mask, trained), pieces in zip(batches, made):
        assert trained == (row_of(documents, pieces, 30)["loss_mask"].tolist() if mask else [0] * 30)


def test_fields_that_are_no_masks(tmp_path):
    fields = {"tokens": ("tensor", "int32", (0,)), "weights": ("tensor", "float32", (0,)), "triples": ("tensor", "int32", (0, 3)), "id": "int"}
    with sluice.Writer(tmp_path / "set", fields, zstd="off") as writer:
        writer.add(tokens=[1, 2], weights=[0.5, 1], triples=[[1, 2, 3]], id=1)
    data = sluice.Dataset(tmp_path / "set")
    for mask in ("weights", "triples", "id"):
        with pytest.raises(sluice.InvalidError, match=f'mask "{mask}" must be a tensor of ints or bools'):
            loader_of(data, column={"mask": mask})
    with pytest.raises(sluice.InvalidError, match='the dataset has no field "none"'):
        loader_of(data, column={"mask": "none"})
    with pytest.raises(TypeError, match="mask="):
        C.Packed(length=LENGTH, max_documents=MOST, mask=1)
