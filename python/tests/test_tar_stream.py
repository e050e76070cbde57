# SPDX-License-Identifier: Apache-2.0
"""Training directly from compressed tars: the order compared with a model, the bytes with Python's tarfile."""
import gzip
import io
import os
import pathlib
import random
import shutil
import tarfile
import time
import zlib

import numpy
import pytest
import zstds
from shard_model import UNIT, Order
from test_tar import jpeg
from test_tar_packed import flipped, keep_index, replace

import sluice
from sluice import columns as C
from sluice import transforms as T



@pytest.fixture(autouse=True)
def cache(tmp_path_factory, monkeypatch):
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("SLUICE_CACHE_DIR", str(folder / "made"))
    return folder / "made"


class Shards:
    """Tars in a folder; each sample's label is its number over all tars."""

    def __init__(self, folder, counts, kinds=(".tar.gz",), seed=0, sizes=lambda chance: chance.randrange(3000), letters=256):
        folder.mkdir(parents=True, exist_ok=True)
        chance, alphabet = random.Random(seed), bytes(byte % letters for byte in range(256))
        self.folder, self.paths, self.sizes, self.bytes, self.unpacked = folder, [], [], [], 0
        for number, count in enumerate(counts):
            made = io.BytesIO()
            with tarfile.open(fileobj=made, mode="w") as archive:
                for _ in range(count):
                    self.bytes.append(chance.randbytes(sizes(chance)).translate(alphabet))
                    for extension, data in (("bin", self.bytes[-1]), ("cls", str(len(self.bytes) - 1).encode())):
                        member = tarfile.TarInfo(f"{len(self.bytes) - 1:06}.{extension}")
                        member.size = len(data)
                        archive.addfile(member, io.BytesIO(data))
            kind = kinds[number % len(kinds)]
            data = made.getvalue()
            with tarfile.open(fileobj=io.BytesIO(data)) as archive:
                members = archive.getmembers()
            self.sizes.append([b.offset_data + b.size - a.offset for a, b in zip(members[::2], members[1::2])])
            self.unpacked += len(data) if kind != ".tar" else 0
            self.paths.append(folder / f"{number:04}{kind}")
            self.paths[-1].write_bytes({".tar.gz": lambda d: gzip.compress(d, 1), ".stored.tar.gz": lambda d: gzip.compress(d, 0), ".tar.zst": zstds.compress, ".tar": bytes}[kind](data))

    def __len__(self):
        return len(self.bytes)

    def order(self, **options):
        return Order(self.sizes, **options)


@pytest.fixture(scope="module")
def some(tmp_path_factory):
    return Shards(tmp_path_factory.mktemp("some") / "set", (100, 37, 250, 1, 64, 9, 80), (".tar.gz", ".tar.zst", ".tar.gz"))


def load(data, batch=16, shuffle="shards", room=9000, **options):
    options = {"columns": {"label": C.Number(), "bin": C.Ragged(length=room)}, "last_batch": "short"} | options
    return sluice.Loader(data, batch, shuffle, **options)


def rows(loader, masked=False):
    """Returns [(label, bytes)] of an epoch; masked rows are None, unless `masked`."""
    found = []
    for batch in loader:
        ends, whole = (batch["bin.offsets"].tolist(), bytes(batch["bin"])) if "bin.offsets" in batch else (None, None)
        for i, (label, good) in enumerate(zip(batch["label"].tolist(), batch["mask"].tolist())):
            data = whole[ends[i] : ends[i + 1]] if ends is not None else None
            found.append((label, data) if good or masked else None)
    return found


def labels(loader):
    return [row and row[0] for row in rows(loader)]


OPEN = sluice.loader._sluice.Loader


def ends_with(monkeypatch, epoch):
    """Keeps loaders from reading ahead into the next epoch: their work can then be counted, and is a third of the usual."""
    monkeypatch.setattr(sluice.loader._sluice, "Loader", lambda data, options, *rest: OPEN(data, options | {"end_epoch": epoch + 1}, *rest))


# ---- the order ----


WORLDS, LASTS = (1, 2, 3, 11), ("drop", "pad", "short")


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("last", LASTS)
def test_the_order_is_the_models(some, monkeypatch, world, last):
    """Every sample appears once over all ranks, also with more ranks than files, at the model's position."""
    data = sluice.Dataset(some.folder)
    sizes = ((16, 16, 1024, 256 << 20), (7, 3, 5, 256 << 20), (32, 1, 1, 1 << 20), (10, 16, 1024, 1 << 20))
    for batch, block, window, room in sizes[(WORLDS.index(world) + LASTS.index(last)) % 2 :: 2]:  # each with each world and each last
        asked = {"seed": 5, "world": world, "batch": batch, "last": last, "block": block, "window": window, "window_bytes": room}
        order = some.order(**asked)
        for epoch in (0, 3) if world < 3 else (3,):
            seen, steps = [], set()
            ends_with(monkeypatch, epoch)
            for rank in range(world):
                options = {"block_samples": block, "window_blocks": window, "window_bytes": room, "last_batch": last}
                with load(data, batch, seed=5, rank=rank, world_size=world, columns={"label": C.Number()}, **options) as loader:
                    loader.set_epoch(epoch)
                    found = [label for label in labels(loader) if label is not None]
                    assert found == order.rows(epoch, rank)
                    assert loader.stats()["unpack_restarts"] == 0
                    steps.add(len(loader))
                seen += found
            assert len(steps) == 1 and len(set(seen)) == len(seen)
            assert len(seen) == len(some) - (len(some) % (batch * world) if last == "drop" else 0)


def test_bytes_are_tarfiles(some):
    order = some.order(seed=1)
    with load(some.folder, seed=1) as loader:
        for epoch in range(3):
            assert rows(loader) == [(n, some.bytes[n]) for n in order.rows(epoch)]
    with load(some.folder, shuffle=False) as loader:
        for _ in range(2):
            assert rows(loader) == list(enumerate(some.bytes))


def test_in_order_as_plain_ones(some, tmp_path):
    """Without a shuffle, each rank has the same rows as from the same archives uncompressed."""
    plain = Shards(tmp_path / "plain", (100, 37, 250, 1, 64, 9, 80), (".tar",))
    assert plain.bytes == some.bytes
    for rank, world in ((0, 1), (1, 2), (2, 3)):
        for last in ("drop", "pad", "short", "repeat"):
            options = {"shuffle": False, "rank": rank, "world_size": world, "last_batch": last}
            with load(some.folder, 24, **options) as loader, load(plain.folder, 24, **options) as other:
                assert rows(loader, masked=True) == rows(other, masked=True)
                assert rows(loader) == rows(other)
                assert loader.stats()["unpack_restarts"] == 0


def test_round_and_round(tmp_path):
    """A last batch of samples that repeat several times, from one file."""
    made = Shards(tmp_path / "few", (5,))
    with load(made.folder, 17, False, last_batch="repeat") as loader:
        for _ in range(2):
            assert rows(loader, masked=True) == [(n % 5, made.bytes[n % 5]) for n in range(17)]
        assert loader.stats()["unpack_restarts"] == 0


def test_the_order_of_plain_files(tmp_path):
    """Files whose samples are known in advance can also be read in this order, and be mixed with compressed ones."""
    counts = (30, 50, 7, 120)
    for kinds in ((".tar",), (".tar", ".tar.gz", ".tar.zst")):
        made = Shards(tmp_path / f"{len(kinds)}", counts, kinds)
        for backend in ("uring", "pread"):
            try:
                loader = load(made.folder, seed=2, io=backend)
            except sluice.UnsupportedError:
                continue  # no io_uring here
            with loader:
                assert rows(loader) == [(n, made.bytes[n]) for n in made.order(seed=2).rows(0)]
                assert loader.stats()["io_backend"] == backend


def test_the_same_whatever_the_threads(some):
    found = set()
    for options in ({"num_workers": 1, "io_threads": 1}, {"num_workers": 2, "io_threads": 2, "io": "pread"}, {"num_workers": 8, "io_depth": 3},
                    {"num_workers": 3, "io_depth": 1, "prefetch_factor": 2}, {"io_threads": 8, "io_depth": 512}):  # fmt: skip
        with load(some.folder, 13, seed=9, **options) as loader:
            found.add(str(rows(loader) + rows(loader)))
    assert len(found) == 1


def test_goes_on_anywhere(some, monkeypatch):
    ends_with(monkeypatch, 1)
    tried = ({"window_blocks": 4}, {"last_batch": "drop"}, {"rank": 1, "world_size": 2, "last_batch": "pad"}, {"shuffle": False})
    for first, options in enumerate(tried):
        with load(some.folder, 37, seed=3, **options) as loader:
            whole = [rows(loader), rows(loader)]
            count = len(loader)
            loader.set_epoch(0)
            states = [loader.state_dict() for _ in iter(loader)]
        for number, state in [*enumerate(states)][first % 3 :: 3]:
            with load(some.folder, 37, seed=3, **options) as loader:
                assert loader.state_at(0, number + 1) == state
                loader.load_state_dict(state)
                assert rows(loader) == whole[0][(number + 1) * 37 :]
                assert rows(loader) == whole[1]
                assert loader.stats()["unpack_restarts"] == 0
        assert len(states) == count


def test_states_that_fit(some):
    def state(**options):
        with load(some.folder, **({"batch": 16, "seed": 3, "rank": 0, "world_size": 2} | options)) as loader:
            next(iter(loader))
            return loader.state_dict()

    with load(some.folder, 10, seed=3, rank=1, world_size=2) as loader:
        loader.load_state_dict(state())  # no sample is dropped: another batch_size is fine
        assert labels(loader) == some.order(seed=3, world=2).rows(0, 1)[16:]
        for options, why in (({"rank": 0, "world_size": 3}, "world_size"), ({"last_batch": "drop"}, "batch_size"), ({"seed": 4}, "seed"),
                             ({"shuffle": False}, "shuffle"), ({"block_samples": 3}, "shuffle"), ({"window_bytes": 1 << 21}, "window_bytes")):  # fmt: skip
            with pytest.raises(sluice.InvalidError, match=why):
                loader.load_state_dict(state(**options))
    with load(some.folder, 16, seed=3, rank=1, world_size=2, last_batch="drop") as loader:
        loader.load_state_dict(state(last_batch="drop"))
        assert labels(loader) == some.order(seed=3, world=2, batch=16, last="drop").rows(0, 1)[16:]


# ---- reading ----


def test_each_byte_comes_out_once(some, tmp_path, monkeypatch):
    ends_with(monkeypatch, 0)
    for data in (some, Shards(tmp_path / "one", (200,)), Shards(tmp_path / "ones", (1,) * 60, (".tar.gz", ".tar.zst"))):
        for options in ({"shuffle": False}, {"io_depth": 2, "window_blocks": 3}, {"io_threads": 1}, {}):
            with load(data.folder, **options) as loader:
                assert len(rows(loader)) == len(data)
                stats = loader.stats()
                assert stats["unpacked_bytes"] == data.unpacked and stats["unpack_restarts"] == 0 and stats["unpack_ns"] > 0
                assert stats["bytes_read"] == sum(path.stat().st_size for path in data.paths)
                assert stats["io_backend"] == "unpack" and stats["io_reason"]


def test_ranks_share_the_work(some, monkeypatch):
    """A rank unpacks nothing in vain except in the files at the ends of its share."""
    ends_with(monkeypatch, 0)
    for world in (2, 3):
        unpacked = 0
        for rank in range(world):
            with load(some.folder, rank=rank, world_size=world) as loader:
                rows(loader)
                unpacked += loader.stats()["unpacked_bytes"]
        assert unpacked <= some.unpacked + (world - 1) * max(sum(sizes) for sizes in some.sizes) + world * (256 << 10)


def test_a_thousand_small_ones(tmp_path):
    data = Shards(tmp_path / "many", [1 + n % 3 for n in range(300)], seed=1, sizes=lambda chance: chance.randrange(50))
    for world in (1, 3):
        seen = []
        for rank in range(world):
            with load(data.folder, 64, rank=rank, world_size=world, columns={"label": C.Number()}) as loader:
                found = labels(loader)
                assert found == data.order(world=world).rows(0, rank)
                seen += found
        assert sorted(seen) == list(range(len(data)))
    assert len(os.listdir("/proc/self/fd")) < 100


def test_sizes_of_all_kinds(tmp_path):
    """Empty samples, and some as large as the window, in a buffer that holds one window."""
    sizes = lambda chance: chance.choice([0, 0, 10, 500, 16000, 20000, 70000, 390000])  # noqa: E731
    data = Shards(tmp_path / "sizes", (90, 150, 20, 1, 60), seed=4, sizes=sizes)
    for room in (1 << 20, 3 << 20):
        order = data.order(window_bytes=room)
        with load(data.folder, 8, room=400000, window_bytes=room) as loader:
            for epoch in range(2):
                assert rows(loader) == [(n, data.bytes[n]) for n in order.rows(epoch)]
            assert loader.stats()["unpack_restarts"] == 0
            assert loader.stats()["memory_bytes"] < room + (64 << 20)


def test_slow_consumers_and_few_slots(tmp_path):
    """The buffer is full most of the time, and rows wait for it."""
    data = Shards(tmp_path / "slow", (60, 60), seed=4, sizes=lambda chance: chance.choice([100, 390000]))
    with load(data.folder, 3, room=400000, window_bytes=4 << 20, prefetch_factor=2, num_workers=1) as loader:
        for epoch in range(2):
            found = []
            for batch in loader:
                time.sleep(0.002)
                found += batch["label"].tolist()
            assert found == data.order(window_bytes=4 << 20).rows(epoch)


def test_the_memory_is_bounded(some):
    with load(some.folder, window_bytes=8 << 20) as loader:
        small = loader.stats()["memory_bytes"]
        rows(loader)
        assert loader.stats()["memory_bytes"] == small < 192 << 20  # includes zstd's windows
    with pytest.raises(sluice.InvalidError, match="read_buffer_bytes.* window_bytes"):
        load(some.folder, read_buffer_bytes=8 << 20)
    with pytest.raises(sluice.Error, match="window_bytes"):
        load(some.folder, memory_bytes=8 << 20)
    with load(some.folder, memory_bytes=256 << 20, window_bytes=4 << 20, read_buffer_bytes=8 << 20) as loader:
        assert len(rows(loader)) == len(some)
    with pytest.raises(sluice.InvalidError, match="window of 65536 samples"):
        load(some.folder, block_samples=1 << 8, window_blocks=1 << 8)
    with pytest.raises(sluice.InvalidError, match="window_bytes is out of range: .*, expected"):
        load(some.folder, window_bytes=1000)


# ---- beginning, interrupting, ending ----


def threads():
    return sorted(path.read_text() for path in pathlib.Path("/proc/self/task").glob("*/comm"))


def are_threads(expected):
    """True if these threads run. A thread that was joined may be in /proc for a moment longer."""
    for _ in range(12000):
        if threads() == expected:
            return True
        time.sleep(0.01)
    return False


def test_break_off(some):
    before = threads()
    for shuffle in ("shards", False):
        loader = load(some.folder, 8, shuffle)
        for _ in range(20):
            batches = iter(loader)
            for _ in range(random.Random(shuffle).randrange(4)):
                next(batches)
        loader.set_epoch(0)
        assert labels(loader) == (some.order().rows(0) if shuffle else list(range(len(some))))
        next(iter(loader))
        assert "sluice-unpack\n" in threads()
        loader.close()
        assert are_threads(before)
        for _ in range(10):
            with load(some.folder, 8, shuffle, window_bytes=1 << 20) as loader:
                next(iter(loader))
        assert are_threads(before)


def test_break_off_what_takes_long(tmp_path):
    """Inside a file of almost endless zeros: closing does not wait for skipped data."""
    path = tmp_path / "long.tar.gz"
    header = tarfile.TarInfo("no-sample")
    header.size = 1 << 30
    zeros = gzip.compress(bytes(1 << 26), 1) * 16
    first, second = (tarfile.TarInfo(name) for name in ("a.cls", "b.cls"))
    first.size = second.size = 1
    one = lambda member: gzip.compress(member.tobuf(tarfile.GNU_FORMAT) + b"1" + bytes(511))  # noqa: E731
    path.write_bytes(one(first) + gzip.compress(header.tobuf(tarfile.GNU_FORMAT)) + zeros + one(second) + gzip.compress(bytes(1024)))
    data = sluice.Dataset(path)
    begin = time.process_time()
    loader = load(data, 1, False, columns={"label": C.Number()})
    assert next(iter(loader))["label"].tolist() == [1]
    loader.close()
    closed = time.process_time() - begin
    begin = time.process_time()
    with load(data, 1, False, columns={"label": C.Number()}, stall_warn=1, stall_fail=1) as loader:
        assert labels(loader) == [1, 1]  # takes longer than a read may, but makes progress
        assert loader.stats()["reads_stalled"] == 0
    assert closed < (time.process_time() - begin) / 2


def test_epochs_follow_one_another(some):
    with load(some.folder, 16, columns={"label": C.Number()}) as loader:
        for epoch in range(12):
            assert labels(loader) == some.order().rows(epoch)
        assert loader.stats()["unpack_restarts"] == 0


# ---- errors ----


def damaged(tmp_path, cache, at, kind):
    """Three shards, the second with a flipped bit, and an index that does not reveal it."""
    made = Shards(tmp_path / "bad", (40, 60, 30), (kind,), seed=8, sizes=lambda chance: chance.randrange(4000, 9000), letters=64)
    for path in made.paths:
        keep_index(path, cache)
    good = made.paths[1].read_bytes()
    while kind == ".tar.gz" and is_inflated(flipped(good, at)):
        at += 1
    replace(made.paths[1], flipped(good, at))
    return made, sluice.Dataset(made.folder)


def is_inflated(content):
    """True if only the checksum reveals the damage."""
    try:
        return zlib.decompressobj(-15).decompress(content[10:]) is not None
    except zlib.error:
        return False


@pytest.mark.parametrize("shuffle", ("shards", False))
@pytest.mark.parametrize("kind", (".tar.gz", ".stored.tar.gz"))
def test_rot(tmp_path, cache, shuffle, kind):
    """All samples after the damage are bad; if only the file's checksum reveals it, the last sample is."""
    made, data = damaged(tmp_path, cache, 100_000, kind)
    at_its_end = kind == ".stored.tar.gz"
    list_of_bad = tmp_path / "bad.tsv"
    found = set()
    for workers in (1, 4):
        with load(data, 10, shuffle, on_bad_sample="mask", num_workers=workers, quarantine=list_of_bad) as loader:
            got = rows(loader)
            assert loader.stats()["unpack_restarts"] == 0 and not cache.exists()
        found.add(str(got))
        order = made.order().rows(0) if shuffle else list(range(len(made)))
        bad = sorted(n for n, row in zip(order, got) if row is None)
        assert bad == list(range(bad[0], 100)) and 40 < bad[0] and (bad == [99] if at_its_end else len(bad) > 20)
        right = [row[1] == made.bytes[row[0]] for row in got if row]
        assert [row[0] for row in got if row] == [n for n in order if n not in bad] and right.count(False) <= at_its_end
    assert len(found) == 1
    lines = [line.split("\t") for line in list_of_bad.read_text().splitlines()]
    assert {int(line[1]) for line in lines if line[0] == "0"} == set(bad) and {line[3] for line in lines} == {str(made.paths[1])}
    with load(data, 10, shuffle) as loader:
        with pytest.raises(sluice.CorruptError) as caught:
            rows(loader)
        assert caught.value.file == str(made.paths[1]) and caught.value.sample in bad


@pytest.mark.parametrize("shuffle", ("shards", False))
def test_replaced(tmp_path, cache, shuffle):
    """Bad samples are replaced by samples at the front of some file, as in the model; a bad one of these by the next."""
    made, data = damaged(tmp_path, cache, 5000, ".tar.gz")
    order = made.order()
    with load(data, 10, False, on_bad_sample="mask") as loader:
        bad = {n for n, row in enumerate(rows(loader)) if row is None}
    found = set()
    for workers in (1, 4):
        with load(data, 10, shuffle, on_bad_sample="replace", num_workers=workers) as loader:
            found.add(str(got := rows(loader)))
            assert loader.stats()["unpack_restarts"] == 0
    assert len(found) == 1 and None not in got
    planned = order.rows(0) if shuffle else list(range(len(made)))
    for position, (planned_one, row) in enumerate(zip(planned, got)):
        sample, attempt = planned_one, 0
        while sample in bad:
            attempt += 1
            sample = order.substitute(0, position, attempt, sample)
        assert row == (sample, made.bytes[sample])


def test_changed_meanwhile(tmp_path):
    for how in ("touched", "cut", "another", "gone"):
        made = Shards(tmp_path / how, (50, 50), seed=6)
        data = sluice.Dataset(made.folder)
        path, content = made.paths[1], made.paths[1].read_bytes()
        with load(data, 10) as loader:
            if how == "gone":
                path.unlink()
            else:
                path.write_bytes({"touched": content, "cut": content[:-3000], "another": made.paths[0].read_bytes()}[how])
                os.utime(path, (1, 1))
            with pytest.raises(sluice.IOError, match="changed since it was opened|No such file") as caught:
                rows(loader)
            assert caught.value.file == str(path)
        with load(data, 10, on_bad_sample="mask") as loader:
            good = [row for row in rows(loader) if row]
            assert sorted(n for n, _ in good) == list(range(50))
    made = Shards(tmp_path / "later", (2000,), seed=6)
    with load(made.folder, 10, False, read_buffer_bytes=1 << 20, io_depth=1) as loader:
        batches = iter(loader)
        next(batches).release()
        replace(made.paths[0], flipped(made.paths[0].read_bytes(), 2_000_000))
        os.utime(made.paths[0], (1, 1))
        with pytest.raises(sluice.IOError, match="changed since it was opened"):
            for batch in batches:
                batch.release()


def test_samples_that_are_too_large(tmp_path):
    made = Shards(tmp_path / "large", (40, 40), seed=6, sizes=lambda chance: chance.choice([100, 60000]))
    for shuffle in ("shards", False):
        with load(made.folder, 10, shuffle, room=60000, max_sample_bytes=20000, on_bad_sample="mask") as loader:
            good = [row for row in rows(loader) if row]
        assert sorted(n for n, _ in good) == [n for n, data in enumerate(made.bytes) if len(data) < 20000]


# ---- datasets over datasets, and errors ----


def test_choices_of_samples(some):
    data = sluice.Dataset(some.folder)
    for chosen, wanted in ((data[5:300], range(5, 300)), (data[::3], range(0, len(some), 3)), (data.subset([1, 1, 7, 19, 400]), [1, 1, 7, 19, 400])):
        with load(chosen, 8, False) as loader:
            assert rows(loader) == [(n, some.bytes[n]) for n in wanted]
        with load(chosen, 8) as loader:
            assert sorted(rows(loader)) == sorted((n, some.bytes[n]) for n in wanted)
            assert loader.stats()["unpack_restarts"] == 0
    with load(data.where("label > 500"), 8) as loader:
        assert sorted(labels(loader)) == list(range(501, len(some)))


def test_joined(some, tmp_path):
    data = sluice.Dataset(some.folder)
    plain = Shards(tmp_path / "plain", (60, 20), (".tar",), seed=3)
    for joined, wanted in ((data + data, some.bytes * 2), (data + sluice.Dataset(plain.folder), some.bytes + plain.bytes)):
        with load(joined, 8, False) as loader:
            assert [row[1] for row in rows(loader)] == wanted
        with load(joined, 8) as loader:
            found = [row[1] for row in rows(loader)]
            assert sorted(found) == sorted(wanted) and found != wanted
            assert loader.stats()["unpack_restarts"] == 0


def test_beside_shards_of_our_own(some, tmp_path):
    """Samples that need an index lookup are looked up when the loader is opened."""
    made = Shards(tmp_path / "plain", (700, 20), (".tar",), seed=3)
    sluice.pack(made.folder, tmp_path / "packed", progress=False, keep_order=True)
    joined = sluice.Dataset(some.folder) + sluice.Dataset(tmp_path / "packed")
    for shuffle in ("shards", False):
        with load(joined, 8, shuffle) as loader:
            found = [row[1] for row in rows(loader)]
            assert sorted(found) == sorted(some.bytes + made.bytes) and (shuffle or found == some.bytes + made.bytes)
    with pytest.raises(sluice.UnsupportedError, match="whose index has the byte ranges of its samples"):
        load(sluice.Dataset(tmp_path / "packed"))


def test_what_is_refused(some, tmp_path):
    data = sluice.Dataset(some.folder)
    for shuffle in (True, "full", "block"):
        with pytest.raises(sluice.UnsupportedError, match='shuffle "shards".* pack') as caught:
            load(data, 8, shuffle)
        assert caught.value.file == str(some.paths[0])
    with pytest.raises(sluice.UnsupportedError, match="one by one.* pack"):
        data[0]
    with pytest.raises(sluice.UnsupportedError, match="mix"):
        load(sluice.mix([data, data], [1, 2]), 8, False)
    with pytest.raises(sluice.UnsupportedError, match="last_batch.* drop, pad or short"):
        load(data, 8, last_batch="repeat")
    (tmp_path / "folder" / "a").mkdir(parents=True)
    (tmp_path / "folder" / "a" / "a.jpg").write_bytes(jpeg())
    with pytest.raises(sluice.UnsupportedError, match="each sample is a file"):
        sluice.Loader(tmp_path / "folder", 1, "shards", transform=T.RandomResizedCrop(8))


def test_pictures(tmp_path):
    """They equal those of the plain archive: pixels, crops and flips."""
    (tmp_path / "a").mkdir()
    with tarfile.open(tmp_path / "a" / "a.tar", "w") as archive:
        for number in range(50):
            for name, data in ((f"{number:03}.jpg", jpeg(number, (40 + number, 60))), (f"{number:03}.cls", b"%d" % number)):
                member = tarfile.TarInfo(name)
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "a.tar.gz").write_bytes(gzip.compress((tmp_path / "a" / "a.tar").read_bytes()))
    made = []
    for folder in "ab":
        options = {"seed": 3, "transform": [T.RandomResizedCrop(24), T.RandomHorizontalFlip()], "dtype": "float32"}
        with sluice.Loader(tmp_path / folder, 8, "shards", **options) as loader:
            made.append([(batch["image"].numpy().copy(), batch["label"].tolist()) for batch in loader])
    assert len(made[0]) == 7
    for (pixels, numbers), (others, same) in zip(*made):
        assert numpy.array_equal(pixels, others) and numbers == same
