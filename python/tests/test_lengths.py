# SPDX-License-Identifier: Apache-2.0
"""Batches of similar length: padding compared with other samplers, ranks, restarts, sources of lengths, errors."""
import io

import numpy
import pytest
from PIL import Image

import sluice
from sluice import columns as C

COUNT, BATCH = 1200, 16
# Log-normal, like sentence lengths; many are equal.
LENGTHS = numpy.clip(numpy.exp(numpy.random.RandomState(3).normal(3.5, 0.8, COUNT)), 1, 512).astype(int)
COLUMNS = {"id": C.Number("id")}
BAD = 77


def write(path, broken=()):
    with sluice.Writer(path, {"id": "int", "length": "int", "text": "text", "tokens": ("tensor", "int32", (0,))}) as writer:
        for i, length in enumerate(LENGTHS.tolist()):
            writer.add(id=i, length=length, text="x", tokens=numpy.zeros(2000 if i in broken else length, "int32"))
    return path


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write(tmp_path_factory.mktemp("lengths") / "packed")


def loader(data, batch_size=BATCH, **options):
    options = {"shuffle": True, "columns": COLUMNS, "seed": 3, "lengths": LENGTHS, **options}
    return sluice.Loader(data, batch_size, **options)


def batches_of(own):
    return [[int(number) for number, used in zip(batch["id"], batch["mask"]) if used] for batch in own]


def padding(batches):
    """Returns the fraction of padded batches that is padding."""
    padded = sum(len(batch) * max(LENGTHS[batch]) for batch in batches)
    return 1 - sum(sum(LENGTHS[batch]) for batch in batches) / padded


def length_grouped(seed, batch):
    """transformers' LengthGroupedSampler, by its description: a permutation in megabatches, each sorted by length."""
    megabatch = min(COUNT // (batch * 4), 50) or 1
    order = numpy.random.RandomState(seed).permutation(COUNT)
    parts = [order[i : i + megabatch * batch] for i in range(0, COUNT, megabatch * batch)]
    order = numpy.concatenate([part[numpy.argsort(-LENGTHS[part], kind="stable")] for part in parts])
    return [order[i : i + batch] for i in range(0, COUNT, batch)]


def test_each_sample_once_with_less_padding(data):
    chance = padding([part for part in numpy.random.RandomState(0).permutation(COUNT).reshape(-1, BATCH)])
    with loader(data) as own:
        seen = []
        for _ in range(3):
            batches = batches_of(own)
            assert sorted(sum(batches, [])) == list(range(COUNT)) and len(batches) == len(own) == COUNT // BATCH
            assert padding(batches) < 0.5 * chance
            assert padding(batches) < 1.2 * padding(length_grouped(0, BATCH))
            seen.append(batches)
    assert seen[0] != seen[1] and not {tuple(sorted(b)) for b in seen[0]} & {tuple(sorted(b)) for b in seen[1]}
    means = [LENGTHS[batch].mean() for batch in seen[0]]
    assert abs(numpy.corrcoef(means, range(len(means)))[0, 1]) < 0.4  # batches are not sorted


@pytest.mark.parametrize("groups, least, most", [(1, 0.9, 1.1), (5, 0.2, 0.8)])
def test_groups(data, groups, least, most):
    chance = padding([part for part in numpy.random.RandomState(0).permutation(COUNT).reshape(-1, BATCH)])
    with loader(data, length_groups=groups) as own:
        assert least * chance < padding(batches_of(own)) < most * chance


def test_unshuffled(data):
    with loader(data, shuffle=False) as own:
        assert sum(batches_of(own), []) == numpy.argsort(LENGTHS, kind="stable").tolist()


@pytest.mark.parametrize("last_batch", ["drop", "pad", "short", "repeat"])
def test_ranks(data, last_batch):
    """Together they have the batches of one loader for all their rows, hence equally many, of similar lengths."""
    batch, world = 7, 3
    with loader(data, batch * world, last_batch=last_batch) as own:
        alone = batches_of(own)
    parts = []
    for rank in range(world):
        with loader(data, batch, rank=rank, world_size=world, last_batch=last_batch) as own:
            parts.append(batches_of(own))
            assert len(own) == len(alone)
    whole = COUNT // (batch * world)
    for step in range(whole):
        assert sum((part[step] for part in parts), []) == alone[step]
    rest = sorted(sum((part[step] for part in parts for step in range(whole, len(part))), []))
    assert rest == sorted(sum(alone[whole:], [])) and (len(rest) == COUNT % (batch * world)) == (last_batch != "drop")


def test_a_state_goes_on_after_each_batch(data):
    with loader(data, 100, last_batch="short") as own:
        alone = batches_of(own)
    for stop in range(1, len(alone)):
        with loader(data, 100, last_batch="short") as own:
            batches = iter(own)
            for _ in range(stop):
                next(batches)
            state = own.state_dict()
        with loader(data, 100, last_batch="short") as own:
            own.load_state_dict(state)
            assert batches_of(own) == alone[stop:]
    with loader(data, 50, rank=1, world_size=2) as own:  # the same global batch
        own.load_state_dict(state)
        assert batches_of(own) == [alone[-1][50:]]
    with loader(data, 100, last_batch="short") as own:
        between = own.state_at(3, 0)
    for other, words in (
        ({"batch_size": 50}, r"batch_size x world_size \(which lengths needs unchanged\)"), ({"length_groups": 2}, "number of groups"),
        ({"lengths": LENGTHS + numpy.arange(COUNT)}, "lengths of samples"),
    ):  # fmt: skip
        with loader(data, **({"batch_size": 100} | other)) as own:
            with pytest.raises(ValueError, match=f"different order by length: {words}$"):
                own.load_state_dict(state)
            with pytest.raises(ValueError, match=rf"order by length: {words}; it is at the beginning of an epoch.*: use set_epoch\(3\) instead$"):
                own.load_state_dict(between)
            own.set_epoch(between["epoch"])
            assert own.epoch == 3


def test_fields_and_arrays_are_the_same(data):
    with loader(data) as own:
        batches = batches_of(own)
    for lengths in ("length", "tokens", LENGTHS.tolist(), LENGTHS.astype("float32"), LENGTHS * 3):
        with loader(data, lengths=lengths) as own:
            assert batches_of(own) == batches


def bytes_read():
    with open("/proc/self/io") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("rchar"))


@pytest.mark.parametrize("shape", [(0,), (0, 4)])
@pytest.mark.parametrize("kind", ["index", "samples"])
def test_lengths_of_an_index_read_no_samples(tmp_path, shape, kind):
    """The order equals the one of lengths that require reading whole samples."""
    count, text = 60, {} if kind == "index" else {"text": "text"}
    lengths = [800 * (i * 37 % count) for i in range(count)]
    with sluice.Writer(tmp_path / "packed", {"id": "int", "x": ("tensor", "int32", shape)} | text, zstd="off") as writer:
        for i, length in enumerate(lengths):
            writer.add(id=i, x=numpy.zeros((length, *shape[1:]), "int32"), **{name: "" for name in text})
    data = sluice.Dataset(tmp_path / "packed")
    assert data.lengths_source("x") == kind
    before = bytes_read()  # without the loader, which reads ahead as soon as it is open
    assert data.lengths("x").tolist() == lengths
    read = bytes_read() - before
    with loader(data, 8, lengths="x") as own:
        batches = batches_of(own)
    assert (read < sum(lengths)) if kind == "index" else (read > 4 * sum(lengths))  # an element has 4 bytes or 16
    with loader(data, 8, lengths=lengths) as own:
        assert batches_of(own) == batches


def test_lengths_of_joined_files_some_with_empty_arrays(tmp_path):
    """The file position of an empty array is unknown: that sample is read, and no other length is lost."""
    lengths = [0, 3, 1, 0, 5, 0]
    for number, length in enumerate(lengths):
        numpy.savez(tmp_path / f"{number}.npz", tokens=numpy.zeros((length, 2), "float32"), other=numpy.zeros(number % 2 * 4, "int32"))
    data = sluice.Dataset(tmp_path)
    for joined in (sluice.concat([data, data]), sluice.mix([data, data], [1, 2])):
        assert joined.lengths("tokens").tolist() == lengths * 2
        assert joined.lengths("other").tolist() == [0, 4] * 6


def test_a_missing_tensor_has_no_length(tmp_path):
    """A missing tensor has no length, an empty one has; both have zero bytes in the index."""
    for missing in (False, True):
        with sluice.Writer(tmp_path / f"packed{missing}", {"id": "int", "tokens": ("tensor", "int32", (0,))}, zstd="off") as writer:
            for i in range(6):
                writer.add(id=i, tokens=None if missing and i == 4 else numpy.zeros(i % 4, "int32"))
        data = sluice.Dataset(tmp_path / f"packed{missing}")
        assert data.lengths_source("tokens") == "index"
        if missing:
            with pytest.raises(ValueError, match='sample 4 has no field "tokens"'):
                loader(data, 2, lengths="tokens")
        else:
            with loader(data, 2, shuffle=False, lengths="tokens") as own:
                assert batches_of(own) == [[0, 4], [1, 5], [2, 3]]


def test_tensors_of_several_widths(tmp_path):
    """Joined, their second dimension differs, too: a length is then a number of elements."""
    heights, parts = [i * 7 % 11 for i in range(40)], []
    for width in (3, 5):
        with sluice.Writer(tmp_path / str(width), {"id": "int", "x": ("tensor", "int32", (0, width))}, zstd="off") as writer:
            for i, height in enumerate(heights):
                writer.add(id=i + 40 * (width == 5), x=numpy.zeros((height, width), "int32"))
        parts.append(sluice.Dataset(tmp_path / str(width)))
    joined = sluice.concat(parts, fields=["id", "x"])
    assert joined.fields["x"].shape == (0, 0) and joined.lengths_source("x") == "index"
    elements = [height * width for width in (3, 5) for height in heights]
    with loader(joined, 8, lengths="x") as own, loader(joined, 8, lengths=elements) as other:
        assert batches_of(own) == batches_of(other)


def test_lengths_are_of_whole_tensors_where_parts_are_cut_out(tmp_path):
    count = 12
    with sluice.Writer(tmp_path / "packed", {"id": "int", "rows": ("tensor", "uint8", (0, 64))}) as writer:
        for i in range(count):
            writer.add(id=i, rows=numpy.full((2048 + 64 * (count - i), 64), i, "uint8"))
    part = {"rows": C.Tensor("rows", shape=(32, 64), part="random")}
    for resident in (1 << 20, 1 << 30):  # parts of samples are read, or all of them
        with sluice.Loader(tmp_path / "packed", 4, columns=part, lengths="rows", resident_bytes=resident) as own:
            assert [int(row[0, 0]) for batch in own for row in batch["rows"].numpy()] == list(range(count))[::-1]
        with sluice.Loader(tmp_path / "packed", 4, shuffle=True, columns=part, weights="id", resident_bytes=resident) as own:
            assert len(own) == 3


def test_the_index_gives_labels_without_the_images(tmp_path):
    for name in "ab":
        (tmp_path / name).mkdir()
        for i in range(4):
            Image.new("RGB", (8, 8)).save(tmp_path / name / f"{i}.png")
    opened = sluice.Dataset(tmp_path)
    (tmp_path / "b" / "3.png").unlink()
    with sluice.Loader(opened, 4, columns={"label": C.Number("label")}, lengths="label", on_bad_sample="mask") as own:
        assert [batch["label"].tolist() for batch in own][0] == [0, 0, 0, 0]


def test_aspect_ratios(tmp_path):
    """Like torchvision's detection references: batches have images of one orientation, except where groups meet."""
    sizes = [(30, 60) if i % 3 else (60, 30) for i in range(120)]
    with sluice.Writer(tmp_path / "packed", {"image": "image", "id": "int"}) as writer:
        for i, size in enumerate(sizes):
            made = io.BytesIO()
            Image.new("RGB", size).save(made, "PNG")
            writer.add(image=made.getvalue(), id=i)
    ratios = [width / height for width, height in sizes]
    with loader(tmp_path / "packed", 4, lengths="image") as own:
        batches = batches_of(own)
    assert sum(len({sizes[n] for n in batch}) > 1 for batch in batches) <= 10  # at random: 24 of 30
    with loader(tmp_path / "packed", 4, lengths=ratios) as own:
        assert batches_of(own) == batches


def test_a_bad_sample_is_replaced_by_one_of_its_length(tmp_path):
    data = write(tmp_path / "packed", [BAD])
    ranks = numpy.argsort(numpy.argsort(LENGTHS, kind="stable"))
    columns = COLUMNS | {"tokens": C.Padded("tokens", length=512)}
    with loader(data, columns=columns, on_bad_sample="replace") as own:
        replaced = [int(n) for batch in own for n, status in zip(batch["index"], batch["status"]) if status == 1]
    assert len(replaced) == 1 and replaced[0] != BAD
    assert abs(int(ranks[replaced[0]]) - int(ranks[BAD])) < 2 * COUNT / 50 + numpy.count_nonzero(LENGTHS == LENGTHS[BAD])


@pytest.mark.parametrize(
    "options, reason",
    [
        ({"lengths": [1.0] * (COUNT - 1)}, "lengths has 1199 values, but the dataset has 1200 samples"),
        ({"lengths": [-1.0] + [1.0] * (COUNT - 1)}, "lengths: sample 0 has length -1"),
        ({"lengths": [float("nan")] * COUNT}, "lengths: sample 0 has length nan"),
        ({"lengths": "absent"}, 'lengths.*no field "absent"'),
        ({"lengths": "text"}, 'lengths.*field "text" is not an int, a float, a tensor or an image'),
        ({"lengths": None, "length_groups": 4}, "length_groups needs option lengths"),
        ({"shuffle": "block"}, "lengths needs option shuffle full or none"),
        ({"weights": [1.0] * COUNT}, "weights and lengths each set the order of samples: choose one"),
        ({"episode": (2, 2), "classes": [i % 4 for i in range(COUNT)]}, "each set the order of samples"),
        ({"batch_size": COUNT + 1, "drop_last": True}, "so it would be empty"),
    ],
)
def test_refused(data, options, reason):
    with pytest.raises((sluice.Error, ValueError, TypeError), match=reason):
        loader(data, **options)


def test_memory_bytes_counts_the_tables(data):
    """They take 8 bytes per sample: the limit that just suffices without lengths is too low by that."""

    def opens(limit, **options):
        try:
            loader(data, memory_bytes=limit, num_workers=1, io_depth=1, read_buffer_bytes=2**20, **options).close()
        except (sluice.Error, MemoryError):
            return False
        return True

    low, high = 0, 2**28
    while high - low > 100:
        middle = (low + high) // 2
        low, high = (low, middle) if opens(middle, lengths=None) else (middle, high)
    assert opens(high, lengths=None) and not opens(high) and opens(high + 8 * COUNT)


def test_a_mix_has_its_own(data):
    mixed = sluice.mix([sluice.Dataset(data), sluice.Dataset(data)])
    with pytest.raises(sluice.Error, match="lengths cannot be used with a mix"):
        loader(mixed, lengths=numpy.tile(LENGTHS, 2))
