# SPDX-License-Identifier: Apache-2.0
"""Random and middle parts of large arrays, which are read separately: compared with numpy's slices."""
import os

import numpy
import pytest

import sluice
from sluice import columns as C

SHAPE = (70, 100, 130)
PART = (9, 12, 14)


def volume(shape, first=0):
    """Returns an array whose elements encode their position."""
    return (numpy.arange(numpy.prod(shape), dtype="uint32") + numpy.uint32(first)).reshape(shape)


def rows_of(path):
    volumes = [volume(SHAPE, i << 22) for i in range(4)]
    numpy.save(path / "rows.npy", numpy.stack(volumes))
    return sluice.Dataset(path / "rows.npy"), volumes, "tensor"


def files_of(path):
    volumes = [volume((SHAPE[0] + 5 * i, SHAPE[1] - i, SHAPE[2] + i % 2), i << 22) for i in range(4)]
    (path / "set").mkdir()
    for i, array in enumerate(volumes):
        numpy.savez(path / "set" / f"{i}.npz", x=array, y=(array % 251).astype("uint8"))
    return sluice.Dataset(path / "set"), volumes, "x"


def shards_of(path):
    volumes = [volume(SHAPE, i << 22) for i in range(4)]
    with sluice.Writer(path / "packed", {"x": ("tensor", "uint32", SHAPE)}, zstd="off") as writer:
        for array in volumes:
            writer.add(x=array)
    return sluice.Dataset(path / "packed"), volumes, "x"


def loader_of(data, field, part="random", **options):
    options = {"page_cache": "buffered", "batch_size": 2, "seed": 5} | options
    columns = {"x": C.Tensor(field, shape=PART, part=part)}
    if "y" in data.fields:
        columns["y"] = C.Tensor("y", shape=PART, part=part)
    return sluice.Loader(data, columns=columns, **options)


def mean_read(loader):
    """Loaders read ahead, so the number of samples read follows only from the reads."""
    stats = loader.stats()
    return stats["bytes_read"] / stats["reads"]


def crops(loader, epochs=3):
    for _ in range(epochs):
        for batch in loader:
            for row, index in enumerate(numpy.asarray(batch["index"]).copy()):
                arrays = {name: numpy.asarray(batch[name])[row].copy() for name in ("x", "y") if name in batch}
                yield int(index), arrays


def slice_at(array, begin):
    return array[tuple(slice(b, b + p) for b, p in zip(begin, PART))]


@pytest.mark.parametrize("make", [rows_of, files_of, shards_of])
def test_a_random_part_is_a_slice(tmp_path, make):
    data, volumes, field = make(tmp_path)
    begins = set()
    with loader_of(data, field, shuffle=True) as loader:
        for index, arrays in crops(loader):
            whole = volumes[index]
            begin = numpy.unravel_index(int(arrays["x"].flat[0]) - (index << 22), whole.shape)
            begins.add((index, *begin))
            assert (arrays["x"] == slice_at(whole, begin)).all()
            if "y" in arrays:
                assert (arrays["y"] == slice_at(whole, begin) % 251).all()
        needed = numpy.prod(PART) * (5 if "y" in data.fields else 4)
        assert mean_read(loader) <= 1.2 * (needed + 500)
    assert len(begins) == 12


@pytest.mark.parametrize("make", [rows_of, files_of, shards_of])
def test_the_same_as_of_whole_samples(tmp_path, make):
    data, _, field = make(tmp_path)
    with loader_of(data, field, shuffle=True) as loader, loader_of(data, field, shuffle=True, whole_samples=True) as whole:
        for (index, arrays), (other, wholes) in zip(crops(loader), crops(whole), strict=True):
            assert index == other
            assert all((arrays[name] == wholes[name]).all() for name in arrays)
        assert mean_read(loader) * 10 < mean_read(whole)


@pytest.mark.parametrize("make", [rows_of, files_of, shards_of])
def test_the_middle(tmp_path, make):
    data, volumes, field = make(tmp_path)
    with loader_of(data, field, "center") as loader:
        for index, arrays in crops(loader, 1):
            begin = [(size - part) // 2 for size, part in zip(volumes[index].shape, PART)]
            assert (arrays["x"] == slice_at(volumes[index], begin)).all()


@pytest.mark.parametrize("whole_samples", [False, True])
def test_samples_that_come_again_have_other_parts(tmp_path, whole_samples):
    """As if the dataset were concatenated with itself, once per repetition."""
    data, volumes, field = shards_of(tmp_path)
    options, count = {"shuffle": True, "whole_samples": whole_samples}, len(volumes)

    def begins(source, order, **more):
        with loader_of(source, field, **options | more | order) as loader:
            return [(index, int(arrays["x"].flat[0])) for index, arrays in crops(loader, 1)]

    joined = dict(begins(sluice.concat([data] * 12), {}))
    for order, repetition in (
        ({"weights": [1.0] * count, "num_samples": 12}, lambda position: position), ({"repeats": 3}, lambda position: position % 3),
    ):  # fmt: skip
        drawn = begins(data, order)
        assert len(drawn) == 12
        assert [begin for _, begin in drawn] == [joined[index + count * repetition(i)] for i, (index, _) in enumerate(drawn)]
    assert len(set(drawn)) == 12
    mixed = begins(sluice.mix([data], [1], epoch_samples=12), {})
    assert len(set(mixed)) == 12 and {index for index, _ in mixed} == set(range(count))


def test_joined_and_chosen(tmp_path):
    """Joined files and shards, and a subset of the samples."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    first, volumes, _ = shards_of(tmp_path / "a")
    data = sluice.concat([first.subset([3, 1]), shards_of(tmp_path / "b")[0]])
    expected = [volumes[3], volumes[1], *volumes]
    with loader_of(data, "x", "center", batch_size=3) as loader:
        for index, arrays in crops(loader, 1):
            begin = [(size - part) // 2 for size, part in zip(SHAPE, PART)]
            assert (arrays["x"] == slice_at(expected[index], begin)).all()
        assert mean_read(loader) <= 1.2 * 4 * numpy.prod(PART)


def test_compressed_arrays_are_read_whole(tmp_path):
    (tmp_path / "set").mkdir()
    array = volume(SHAPE)
    numpy.savez(tmp_path / "set" / "0.npz", x=array)
    numpy.savez_compressed(tmp_path / "set" / "1.npz", x=array)
    with loader_of(sluice.Dataset(tmp_path / "set"), "x", "center", batch_size=1) as loader:
        begin = [(size - part) // 2 for size, part in zip(SHAPE, PART)]
        for _, arrays in crops(loader, 2):
            assert (arrays["x"] == slice_at(array, begin)).all()


def test_a_part_that_does_not_fit_is_a_bad_sample(tmp_path):
    (tmp_path / "set").mkdir()
    for i, shape in enumerate([SHAPE, (4, 100, 300), SHAPE]):
        numpy.savez(tmp_path / "set" / f"{i}.npz", x=volume(shape))
    data = sluice.Dataset(tmp_path / "set")
    with loader_of(data, "x", on_bad_sample="mask", batch_size=3) as loader:
        for batch in loader:
            assert list(numpy.asarray(batch["mask"])) == [1, 0, 1]
    with loader_of(data, "x", batch_size=3) as loader, pytest.raises(sluice.Error, match="dimension 0 of .x. is 4"):
        list(loader)


def test_a_file_cut_short_after_opening(tmp_path):
    data, _, field = rows_of(tmp_path)
    os.truncate(tmp_path / "rows.npy", 128 + 3 * 4 * int(numpy.prod(SHAPE)))
    with loader_of(data, field) as loader, pytest.raises(sluice.CorruptError, match="rows.npy"):
        list(loader)


def test_windows_of_stored_arrays(tmp_path):
    (tmp_path / "set").mkdir()
    lengths = [20, 5, 33]
    for i, length in enumerate(lengths):
        numpy.savez(tmp_path / "set" / f"{i}.npz", t=numpy.arange(length, dtype="uint16") + 100 * i, n=numpy.int64(i))
    data = sluice.Dataset(tmp_path / "set")
    windows = [row.tolist() for batch in sluice.Loader(data, columns={"t": C.Window("t", length=8, dtype="int32")}) for row in numpy.asarray(batch["t"])]
    assert windows == [list(range(b + s, b + s + 8)) for b, n in zip((0, 100, 200), lengths) for s in range(0, n - 7, 8)]
    numpy.savez_compressed(tmp_path / "set" / "1.npz", t=numpy.arange(9, dtype="uint16"), n=numpy.int64(1))
    with pytest.raises(sluice.Error, match="compressed"):
        sluice.Loader(sluice.Dataset(tmp_path / "set"), columns={"t": C.Window("t", length=8)})


def test_parts_of_sequences(tmp_path):
    """Parts of tensors of any length, with one open dimension."""
    chance = numpy.random.default_rng(1)
    lengths = [60_000, 30_000, 900, 45_001]
    with sluice.Writer(tmp_path / "packed", {"wave": ("tensor", "float32", (0, 2))}, zstd="off") as writer:
        waves = [chance.random((length, 2), dtype="float32") for length in lengths]
        for wave in waves:
            writer.add(wave=wave)
    data = sluice.Dataset(tmp_path / "packed")
    columns = {"wave": C.Tensor("wave", shape=(800, 2), part="random", dtype="float64")}
    options = {"columns": columns, "batch_size": 3, "page_cache": "buffered", "shuffle": True}
    with sluice.Loader(data, **options) as loader, sluice.Loader(data, whole_samples=True, **options) as whole:
        for _ in range(4):
            for batch, other in zip(loader, whole, strict=True):
                assert (numpy.asarray(batch["wave"]) == numpy.asarray(other["wave"])).all()
                for row, index in enumerate(numpy.asarray(batch["index"])):
                    first = numpy.asarray(batch["wave"])[row, 0, 0]
                    begin = int(numpy.flatnonzero(waves[int(index)][:, 0] == first)[0])
                    assert (numpy.asarray(batch["wave"])[row] == waves[int(index)][begin : begin + 800]).all()
        assert mean_read(loader) < 10_000 < mean_read(whole)
