# SPDX-License-Identifier: Apache-2.0
"""Datasets that combine others, of several formats, compared with the content of their parts."""
import io
import itertools
import pickle
import tarfile

import numpy
import pytest
from parquets import Column, write
from PIL import Image

import sluice
from sluice import transforms as T

EACH = 12


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLUICE_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


def jpeg(number, comment=b""):
    made = io.BytesIO()
    shades = numpy.random.default_rng(number).integers(0, 255, (4, 4, 3), dtype=numpy.uint8)
    Image.fromarray(shades).resize((24 + number % 5, 20 + number % 3), Image.BILINEAR).save(made, "JPEG", comment=comment)
    return made.getvalue()


def make_tar(path, numbers):
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as archive:
        for number in numbers:
            for extension, data in (("jpg", jpeg(number)), ("cls", b"%d" % (number % 3))):
                member = tarfile.TarInfo(f"{number:04}.{extension}")
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))


def make_parquet(path, numbers, comment=b""):
    write(path, {"label": Column("int64", [number % 3 for number in numbers]),
                 "image": Column("image", [{"bytes": jpeg(number, comment), "path": "x.jpg"} for number in numbers])},
          rows_per_group=EACH, codec="SNAPPY")  # fmt: skip


def make_folder(path, numbers):
    for number in numbers:
        (path / f"c{number % 3}").mkdir(parents=True, exist_ok=True)
        (path / f"c{number % 3}" / f"{number:04}.jpg").write_bytes(jpeg(number))


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """A folder, a tar, two Parquet files and packed shards: images that all differ, and labels."""
    root = tmp_path_factory.mktemp("parts")
    numbers = [list(range(EACH * i, EACH * i + EACH)) for i in range(5)]
    make_folder(root / "folder", numbers[0])
    make_tar(root / "a.tar", numbers[1])
    make_parquet(root / "a.parquet", numbers[2])
    make_parquet(root / "b.parquet", numbers[3])
    make_folder(root / "packed", numbers[4])
    sluice.pack(root / "packed", root / "shards", keep_bytes=True, progress=False)
    return [sluice.Dataset(root / name) for name in ("folder", "a.tar", "a.parquet", "b.parquet", "shards")]


FIELDS = ["image", "label"]


@pytest.fixture
def joined(parts):
    return sluice.concat(parts, fields=FIELDS)


def test_samples_of_all_formats(parts, joined):
    assert len(joined) == 5 * EACH and joined.format == "mixed"
    assert list(joined.fields) == FIELDS and joined.classes == ["c0", "c1", "c2"]
    expected = [part[i] for part in parts for i in range(len(part))]
    for i, sample in enumerate(expected):
        assert joined[i] == {name: sample[name] for name in FIELDS}
    assert len({sample["image"] for sample in expected}) == 5 * EACH
    assert joined.sample(EACH)["file"].endswith("a.tar")


def test_the_same_numbers_in_two_files_are_not_confused(tmp_path):
    """A worker keeps compressed pages of both files apart, although their numbers are the same."""
    numbers, parts, expected = range(2 * EACH), [], {}
    for name in ("a", "b"):
        make_parquet(tmp_path / name, [100 * len(parts) + number for number in numbers], bytes(60000))
        (tmp_path / name).rename(tmp_path / f"{name}.parquet")
        parts.append(sluice.Dataset(tmp_path / f"{name}.parquet"))
    crop = [T.Resize(20), T.CenterCrop(16)]

    def rows(data, **options):
        for batch in sluice.Loader(data, batch_size=len(data), transform=crop, num_workers=1, **options):
            yield from zip(batch["index"].numpy().tolist(), batch["image"].numpy().copy())

    for number, part in enumerate(parts):
        expected |= {number * len(part) + index: row for index, row in rows(part)}
    count = len(parts[0])
    some = [part.subset(range(count)) for part in parts]  # the same samples, through different datasets
    for joined in (parts[0] + parts[1], some[0] + some[1], parts[0] + some[1], (some[0] + parts[1])[: 2 * count]):
        for index, row in rows(joined, shuffle=True, seed=5):
            assert numpy.array_equal(row, expected[index])
    mixed = sluice.mix([some[0][:count - 5], parts[1]])
    for index, row in rows(mixed, shuffle=True, seed=5):
        assert numpy.array_equal(row, expected[index if index < count - 5 else index + 5])
    packed = sluice.Dataset(sluice.pack(some[0] + some[1], tmp_path / "packed", keep_order=True, keep_bytes=True, progress=False) and tmp_path / "packed")
    assert [packed[i] for i in range(2 * count)] == [part[i] for part in parts for i in range(count)]


def epoch(data, epoch=0, **options):
    loader = sluice.Loader(data, batch_size=7, shuffle=True, seed=3, transform=T.RandomResizedCrop(16), last_batch="short", **options)
    loader.set_epoch(epoch)
    return [(b["index"].numpy().copy(), b["label"].numpy().copy(), b["image"].numpy().copy()) for b in loader]


def assert_equal(a, b):
    assert len(a) == len(b)
    for left, right in zip(a, b):
        assert all(numpy.array_equal(x, y) for x, y in zip(left, right))


def test_batches_whatever_the_workers(joined):
    first = epoch(joined, num_workers=1)
    assert sorted(itertools.chain(*(batch[0].tolist() for batch in first))) == list(range(len(joined)))
    assert_equal(first, epoch(joined, num_workers=4))
    ranks = [epoch(joined, rank=rank, world_size=3) for rank in range(3)]
    assert sorted(i for rank in ranks for batch in rank for i in batch[0].tolist()) == list(range(len(joined)))


def test_plus_is_concat_and_flat(parts):
    a, b = parts[2:4]
    assert (a + b).fingerprint == sluice.concat([a, b]).fingerprint != (b + a).fingerprint
    assert (a + b + a).fingerprint == (a + (b + a)).fingerprint
    with pytest.raises(TypeError):
        a + "b"


def test_what_differs_is_said(parts):
    with pytest.raises(sluice.InvalidError, match='dataset 2 has no field "key".*fields='):
        parts[0] + parts[2]
    with pytest.raises(sluice.InvalidError, match='has no field "nothing"'):
        sluice.concat(parts, fields=["nothing"])
    with pytest.raises(TypeError):
        sluice.concat([parts[0], 5])
    with pytest.raises(TypeError):
        sluice.concat(parts, fields="image")
    with pytest.raises(sluice.InvalidError):
        sluice.concat([])


def test_labels_mean_the_same_or_are_left_out(tmp_path, parts):
    make_folder(tmp_path / "other", range(9))
    for number, folder in enumerate(sorted((tmp_path / "other").iterdir())):
        folder.rename(tmp_path / "other" / f"d{number}")
    other = sluice.Dataset(tmp_path / "other")
    with pytest.raises(sluice.InvalidError, match="the same in all"):
        parts[0] + other
    joined = sluice.concat([parts[0], other], fields=["image"])
    assert joined.classes == [] and joined[EACH] == {"image": other[0]["image"]}


def test_depth_has_a_limit(parts):
    made = parts[2]
    for _ in range(100):
        made = made + parts[3]  # flat
    assert len(made) == 101 * EACH


def test_another_process_makes_it_again(joined):
    again = pickle.loads(pickle.dumps(joined))
    assert again.fingerprint == joined.fingerprint and again[30] == joined[30]


def test_a_forked_child_makes_it_again(run_python, photos):
    """Runs in a separate process: a sanitizer's allocator does not survive a fork while threads are busy. The
    earlier calls leave no threads."""
    done = run_python(
        """
import os, sys, time, sluice
joined = sluice.Dataset(sys.argv[1]) + sluice.Dataset(sys.argv[1])
expected = joined[40]
while len(os.listdir("/proc/self/task")) > 1:
    time.sleep(0.01)  # one that was joined may be listed for a moment still
child = os.fork()
if child == 0:
    os._exit(7 if joined[40] == expected else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
""",
        photos,
    )
    assert done.returncode == 0, done.stderr


def test_verify_and_pack(joined, tmp_path):
    assert joined.verify(decode=True, progress=False)[:1] == (len(joined),)
    assert joined.verify(progress=False).findings == []
    packed = sluice.Dataset(sluice.pack(joined, tmp_path / "out", keep_order=True, keep_bytes=True, progress=False) and tmp_path / "out")
    assert [packed[i]["label"] for i in range(len(packed))] == [joined[i]["label"] for i in range(len(joined))]


def test_verify_of_parts_that_share_files(parts):
    """Regardless of the datasets between them; if a shard appears more than once, no result counts for all of its samples."""
    packed = parts[-1]
    for joined in (sluice.concat([packed, packed]), sluice.concat([packed, parts[0], packed[2:5], parts[1], packed, parts[0]])):
        assert joined.verify(progress=False).findings == [] and joined.verify(decode=True, progress=False)[0] == len(joined)
        assert [sample["label"] for sample in joined[:EACH]] == [sample["label"] for sample in packed]


# ---- subsets ----


def samples(data):
    return [data[i] for i in range(len(data))]


@pytest.mark.parametrize("cut", [slice(5, 20), slice(-9, None), slice(None, None, 7), slice(None, None, -1), slice(3, 4)])
def test_slices_are_those_of_a_list(joined, cut):
    assert samples(joined[cut]) == samples(joined)[cut]


def test_numbers_in_any_order(parts, joined):
    expected = samples(joined)
    chosen = [3, 50, 3, 12, 59, 0, -1]
    for indices in (chosen, tuple(chosen), numpy.array(chosen), iter(chosen)):
        assert samples(joined.subset(indices)) == [expected[i] for i in chosen]
    even = numpy.arange(len(joined)) % 2 == 0
    tensor = type("tensor", (), {"dtype": "bool", "tolist": lambda self: even.tolist()})()  # like torch's and pandas' arrays
    for mask in (even, even.tolist(), list(even), tensor):
        assert samples(joined.subset(mask)) == expected[::2]
    both = parts[2][5:8] + parts[3].subset([1, 1, 0])
    assert [s["image"] for s in samples(both)] == [parts[2][i]["image"] for i in (5, 6, 7)] + [parts[3][i]["image"] for i in (1, 1, 0)]
    assert len(joined[10:40][5:][::2]) == 13 and joined[10:40][5:].fingerprint == joined[15:40].fingerprint
    for wrong, error in (([60], IndexError), ([1.5], TypeError), (numpy.array([1.0]), TypeError), ([], ValueError), (even[:5], ValueError), ([True, 1], TypeError)):
        with pytest.raises(error):
            joined.subset(wrong)
    with pytest.raises(ValueError):
        joined[5:5]


def test_numbers_in_a_file(joined, tmp_path):
    numpy.save(tmp_path / "n.npy", numpy.array([7, 7, 59]))
    (tmp_path / "n.txt").write_text("7\n7\n59\n")
    for name in ("n.npy", "n.txt"):
        assert samples(joined.subset(tmp_path / name)) == [joined[i] for i in (7, 7, 59)]
    assert joined.subset(str(tmp_path / "n.txt")).fingerprint == joined.subset([7, 7, 59]).fingerprint
    with pytest.raises(sluice.Error, match="missing"):
        joined.subset("missing.npy")


@pytest.mark.parametrize("number", ["0x1", "+inf", "nan", "1e", "1.5x", "--1", ""])
def test_numbers_of_conditions_are_decimal(joined, number):
    with pytest.raises(sluice.InvalidError, match="number"):
        joined.where(f"label < {number}")


def test_where_and_filter(joined, parts):
    with pytest.raises(ValueError, match="NUL"):
        joined.where("label == 1\0 or label == 2")
    expected = samples(joined)
    for chosen in (joined.where("label in (0, 2)"), joined.filter(lambda n: n["label"] != 1)):
        assert samples(chosen) == [s for s in expected if s["label"] != 1]
    assert joined.where("label == 'c2'").fingerprint == joined.where("label >= 2").fingerprint
    assert joined.numbers("label") == [s["label"] for s in expected]
    assert len(parts[0].where('label == "c1"')) == 4
    with pytest.raises(sluice.InvalidError, match="character 8"):
        joined.where("label << 2")
    with pytest.raises(sluice.InvalidError, match="not a number"):
        joined.numbers("image")


def test_a_subset_elsewhere(joined, tmp_path):
    chosen = joined.subset([5, 40, 5]) + joined[20:22]
    again = pickle.loads(pickle.dumps(chosen))
    assert samples(again) == samples(chosen) and again.fingerprint == chosen.fingerprint
    assert chosen.verify(decode=True, progress=False)[::2] == (5, [])
    assert_equal(epoch(chosen, num_workers=1), epoch(again, num_workers=3))
    sluice.pack(chosen, tmp_path / "out", keep_order=True, keep_bytes=True, progress=False)
    packed = sluice.Dataset(tmp_path / "out")
    assert [s["image"] for s in samples(packed)] == [s["image"] for s in samples(chosen)]


def test_a_folder_wanted_twice(parts):
    """Whole files that repeat in a row, and whose size is first guessed too small."""
    many = parts[0].subset([i // 30 for i in range(30 * EACH)])
    loader = sluice.Loader(many, batch_size=20, transform=T.RandomResizedCrop(16), num_workers=2)
    assert sum(len(batch["index"].numpy()) for batch in loader) == 30 * EACH


# ---- mixes ----


def indices(data, first=0, count=1, batch_size=7, **options):
    """Returns the samples of some epochs, one list each."""
    loader = sluice.Loader(data, batch_size=batch_size, shuffle=True, seed=3, transform=T.RandomResizedCrop(16),
                           last_batch="short", **options)  # fmt: skip
    found = []
    for number in range(first, first + count):
        loader.set_epoch(number)
        found.append([int(i) for batch in loader for i in batch["index"].numpy()])
    return found


def test_shares_of_every_prefix(parts):
    """For a folder, a tar, Parquet files and shards: within one sample of the share; each sample once before it repeats."""
    weights = [5, 1, 2, 0, 3]
    mixed = sluice.mix(parts, weights, epoch_samples=90, fields=FIELDS)
    assert len(mixed) == 5 * EACH
    order = [i for epoch in indices(mixed, count=5) for i in epoch]
    assert len(order) == 5 * 90
    for source, weight in enumerate(weights):
        taken = [i for i in order if i // EACH == source]
        count = 0
        for place, index in enumerate(order):
            count += index // EACH == source
            assert abs(count - (place + 1) * weight / 11) < 1
        for start in range(0, len(taken) - EACH + 1, EACH):
            assert sorted(taken[start : start + EACH]) == list(range(source * EACH, source * EACH + EACH))
        assert weight < 3 or taken[:EACH] != taken[EACH : 2 * EACH]  # another order


def test_a_mix_whatever_the_workers_and_ranks(parts):
    mixed = sluice.mix({part: weight for part, weight in zip(parts, (0.4, 0.1, 0.2, 0.2, 0.1))}, fields=FIELDS)
    assert_equal(epoch(mixed, epoch=2, num_workers=1), epoch(mixed, epoch=2, num_workers=4))
    whole = indices(mixed, first=1)[0]
    assert len(whole) == 5 * EACH
    ranks = [epoch(mixed, epoch=1, rank=rank, world_size=2) for rank in range(2)]
    shared = [int(i) for pair in zip(*ranks) for rank in pair for i in rank[0]]
    assert shared == whole
    for batch in epoch(mixed, epoch=1):
        assert batch[1].tolist() == [mixed[int(i)]["label"] for i in batch[0]]


def test_a_mix_goes_on_anywhere(parts):
    mixed = sluice.mix(parts[2:4], {0: [3, 1], 2: [1, 1], 3: [0, 1]}, epoch_samples=50)
    options = {"shuffle": True, "seed": 3, "transform": T.RandomResizedCrop(16), "last_batch": "short"}
    for number in range(4):
        whole = indices(mixed, first=number, batch_size=4)[0]
        for stop in range(0, 13):
            loader = sluice.Loader(mixed, batch_size=4, **options)
            loader.set_epoch(number)
            rows = iter(loader)
            before = [int(i) for _ in range(stop) for i in next(rows)["index"].numpy()]
            state = loader.state_dict()
            rest = []
            for rank in range(2):  # as two ranks with another batch size
                other = sluice.Loader(mixed, batch_size=3, rank=rank, world_size=2, **options)
                other.load_state_dict(state)
                rest.append([[int(i) for i in batch["index"].numpy()] for batch in other])
            assert before + [i for pair in zip(*rest) for rank in pair for i in rank] == whole
    shares = [sum(i < EACH for i in one) for one in indices(mixed, count=5)]
    assert shares[2] == 25 and shares[3:] == [0, 0] and abs(shares[0] - 37.5) < 1


def test_another_mix_is_refused(parts):
    a = sluice.mix(parts[2:4], [1, 2])
    loader = sluice.Loader(a, batch_size=4, transform=T.RandomResizedCrop(16))
    next(iter(loader))
    state = loader.state_dict()
    for other in (sluice.mix(parts[2:4], [2, 1]), sluice.mix(parts[2:4], [1, 2], epoch_samples=23), parts[2] + parts[3],
                  sluice.mix(parts[2:4], {0: [1, 2], 5: [1, 1]})):  # fmt: skip
        with pytest.raises(sluice.InvalidError, match="different dataset"):
            sluice.Loader(other, batch_size=4, transform=T.RandomResizedCrop(16)).load_state_dict(state)
    same = sluice.mix({parts[2]: 10, parts[3]: 20})
    sluice.Loader(same, batch_size=4, transform=T.RandomResizedCrop(16)).load_state_dict(state)
    assert pickle.loads(pickle.dumps(a)).fingerprint == a.fingerprint


def test_classes_that_are_balanced(parts):
    data = parts[0].subset([i for i in range(EACH) if i not in (5, 6)]) + parts[0][:4]
    labels = data.numbers("label")
    balanced = sluice.balance(data, epoch_samples=300)
    found = [sorted(labels)[i] for i in indices(balanced)[0]]
    assert [found.count(label) for label in range(3)] == [100, 100, 100]
    assert all(len(set(found[i : i + 3])) == 3 for i in range(0, 300, 3))


def test_nothing_is_no_class(tmp_path):
    with sluice.Writer(tmp_path / "scores", {"score": "float"}) as writer:
        for score in (1.5, float("nan"), 2.0, float("nan"), 1.5):
            writer.add(score=score)
    balanced = sluice.balance(sluice.Dataset(tmp_path / "scores"), "score")
    assert sorted(set(balanced.numbers("score"))) == [1.5, 2.0]


def test_mixes_that_make_no_sense(parts):
    for weights, error in (([1], ValueError), ([0, 0], sluice.InvalidError), ([1, -1], sluice.InvalidError),
                           ([1, float("nan")], sluice.InvalidError), ({1: [1, 1]}, sluice.InvalidError)):  # fmt: skip
        with pytest.raises(error):
            sluice.mix(parts[2:4], weights)
    mixed = sluice.mix(parts[2:4])
    for use in (lambda: mixed + parts[2], lambda: mixed[2:5], lambda: sluice.mix([mixed, parts[2]])):
        with pytest.raises(sluice.UnsupportedError, match="its own order"):
            use()
    with pytest.raises(TypeError):
        sluice.mix({parts[2]: 1}, [1])
    with pytest.raises(ValueError):
        sluice.mix(parts[2:4], epoch_samples=0)
