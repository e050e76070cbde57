# SPDX-License-Identifier: Apache-2.0
"""How programs use batches: they keep, unpack and move them, and access columns by name; and the end of an epoch."""
import collections.abc
import copy
import gc
import pickle
import warnings

import numpy
import pytest

import sluice
from sluice import columns as C
from sluice import transforms as T

SAMPLES = 33


def open_loader(data, kind=sluice.Loader, **options):
    options = {"batch_size": 4, "transform": T.RandomResizedCrop(16), "shuffle": True, "seed": 5, "prefetch_factor": 4} | options
    return kind(data, **options)


@pytest.fixture
def batch(data):
    return next(iter(open_loader(data)))


# ---- keeping ----


def test_labels_can_be_kept(data, recwarn):
    loader, labels = open_loader(data, hold="wait", hold_timeout=300), []
    expected = [batch["label"].tolist() for batch in loader]
    for epoch in range(3):
        loader.set_epoch(0)
        for images, label in loader:
            labels.append(label)
    del images
    gc.collect()
    assert [label.tolist() for label in labels] == expected * 3
    assert loader._handle.held == 0 and not recwarn.list
    arrays = [batch["index"].numpy() for batch in loader]  # and results computed from them
    assert sorted(numpy.concatenate(arrays)) == list(range(SAMPLES))


def test_all_columns_but_pictures_tensors_and_windows_are_copies(tmp_path):
    fields = {"n": "int", "f": "float", "t": "text", "b": "bytes", "x": ("tensor", "float32", (4,)), "big": "bytes"}
    with sluice.Writer(tmp_path / "p", fields) as writer:
        for i in range(12):
            writer.add(n=i, f=i / 2, t=f"text {i}", b=b"x" * i, x=numpy.full(4, i, "float32"), big=b"y" * 5000)
    columns = {"n": C.Number(), "f": C.Number(), "one": C.OneHot(12, "n"), "t": C.Ragged(length=99), "b": C.Padded(length=12),
               "x": C.Tensor(), "big": C.Padded(length=5000)}  # fmt: skip
    loader = sluice.Loader(tmp_path / "p", batch_size=4, columns=columns)
    batch = next(iter(loader))
    kept = {name: batch[name] for name in [*batch.keys(), *batch.parts()] if name not in ("x", "big", "big.lengths")}
    assert list(kept) == ["n", "f", "one", "t", "b", "t.offsets", "b.lengths"]
    before = {name: column.numpy().copy() for name, column in kept.items()}
    x = batch["x"]
    del batch
    assert loader._handle.held == 1  # held by x
    del x
    assert loader._handle.held == 0
    list(loader)
    loader.close()
    for name, column in kept.items():
        assert (column.numpy() == before[name]).all() and column.data_ptr % 64 == 0
        column.numpy()[:] = 0  # they are writable


def test_a_thousand_small_columns_are_kept(data):
    with pytest.raises(ValueError, match="64"):  # a batch has at most 64 columns
        open_loader(data, transform=None, columns={f"c{i}": C.Number("label") for i in range(65)})
    loader = open_loader(data, hold="wait", transform=None, columns={f"c{i}": C.Number("label") for i in range(60)})
    kept = [column for _ in range(2) for batch in loader for column in batch]
    assert len(kept) == 2 * 9 * 60 and loader._handle.held == 0
    assert len({tuple(column.tolist()) for column in kept[:60]}) == 1


def test_pictures_that_are_kept_are_copies_beyond_a_bound(data):
    loader = open_loader(data)
    expected = [(batch["image"].numpy().copy(), batch["index"].tolist()) for batch in loader]
    loader.set_epoch(0)
    with pytest.warns(RuntimeWarning, match=r"all except one of 4 batches.*'image' of 3.*copies.*prefetch_factor") as told:
        kept = list(loader)
    assert len(told) == 1 and len(kept) == 9 and loader._handle.held == 3
    loader.close()
    for batch, (image, index) in zip(kept, expected, strict=True):
        assert (batch["image"].numpy() == image).all() and batch["index"].tolist() == index
        assert batch["mask"].tolist() == [1] * batch.rows and batch["image"] is batch[0]
    assert [batch.index for batch in kept] == list(range(9))


def test_a_loop_that_keeps_nothing_copies_nothing(data, recwarn):
    for asked in (2, 3, 4):
        loader = open_loader(data, prefetch_factor=asked)
        assert loader._handle.slots == max(3, asked)
        before = None
        for images, labels in loader:
            assert loader._handle.held == (1 if before is None else 2)
            before = images
    assert not recwarn.list


def test_kept_pictures_are_told_by_name_and_end_the_epoch_where_memory_is_to_stay(data):
    columns = {"strong": C.Image("image", transform=T.RandomResizedCrop(8)), "weak": C.Image("image", transform=T.RandomResizedCrop(8)),
               "label": C.Number()}  # fmt: skip
    loader = open_loader(data, transform=None, columns=columns, hold="wait", hold_timeout=0.5)
    kept = []
    with pytest.warns(RuntimeWarning, match=r"'weak' of 4\)"), pytest.raises(sluice.StateError, match=r"'weak' of 4\).*hold='copy'"):
        for strong, weak, label in loader:
            kept.append((weak.numpy(), label))
    del strong, weak
    state = loader.state_dict()  # nothing is lost: it resumes where it stopped
    kept.clear()
    gc.collect()
    other = open_loader(data, transform=None, columns=columns)
    other.load_state_dict(state)
    assert sum(1 for _ in other) == 9 - 4


def test_a_warning_that_is_an_error_counts_the_batch_as_taken(data):
    loader = open_loader(data)
    iterator = iter(loader)
    kept = [next(iterator) for _ in range(3)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning):
            next(iterator)
    assert loader.remaining == 9 - 4 and next(iterator).index == 4 and len(kept) == 3


def test_copies_are_made_by_functions_too(data):
    loader = open_loader(data, transform=[T.RandomResizedCrop(16), T.Python(lambda images: images.astype("float32"))])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kept = [batch["image"] for batch in loader]
    assert loader.stats()["python"]["image"]["calls"] == 9 and all(image.dtype == "float32" for image in kept)
    assert loader._handle.held == 0  # the function's result does not use the loader's memory


def test_no_memory_for_copies_is_an_error_that_says_so(run_python, photos):
    program = """
import resource, sys, sluice
from sluice import transforms as T
loader = sluice.Loader(sys.argv[1], batch_size=33, transform=T.RandomResizedCrop(512), num_workers=1)
iterator, kept = iter(loader), []
kept.append(next(iterator))
used = int(next(line for line in open("/proc/self/status") if line.startswith("VmSize")).split()[1]) << 10
resource.setrlimit(resource.RLIMIT_AS, (used + (400 << 20), -1))
try:
    for epoch in range(99):
        kept += list(loader)
except sluice.OutOfMemoryError as error:
    assert isinstance(error, MemoryError) and "'image' of 3" in str(error) and "MiB are left" in str(error), error
    print(4 < len(kept) + len(loader) < 99)
"""
    done = run_python(program, photos)
    assert done.stdout == "True\n", done.stderr[-2000:]


# ---- a list, and names ----


def test_a_batch_is_a_list(batch):
    images, labels = batch
    assert isinstance(batch, list) and isinstance(batch, collections.abc.Sequence) and len(batch) == 2 and batch
    assert batch[0] is images is batch["image"] and batch[-1] is labels is batch["label"]
    assert batch[:2] == [images, labels] and type(batch[:2]) is list and batch[1:] == [labels]
    assert [*batch] == list(batch) == [images, labels] and list(reversed(batch)) == [labels, images]
    assert batch.rows == 4 == len(images) and batch.index == 0 and batch.epoch == 0 and batch.device == "cpu"
    assert (lambda x, y: y)(*batch) is labels
    with pytest.raises(IndexError, match="2 columns, 'image', 'label'"):
        batch[99]
    with pytest.raises(TypeError):
        batch[None]


def test_a_batch_goes_by_names(batch):
    assert batch.keys() == ["image", "label"] and batch.values() == list(batch) and batch.items()[1] == ("label", batch[1])
    assert dict(batch) == {**batch} == {"image": batch[0], "label": batch[1]}
    assert (lambda image, label: label)(**batch) is batch[1]
    assert "image" in batch and "mask" in batch and "nothing" not in batch and 3 not in batch and batch[0] in batch
    assert batch.get("nothing") is None and batch.get("index") is batch["index"]
    with pytest.raises(KeyError, match="'imgae': the batch has 'image', 'label'; did you mean 'image'"):
        batch["imgae"]
    with pytest.raises(KeyError, match="no such"):
        batch["no such"]


def test_columns_of_a_batch_are_replaced_and_stay_as_many(batch):
    batch[0] = batch[0].numpy().astype("float32")
    assert batch["image"].dtype == "float32"
    batch["label"] = 3
    assert batch[1] == 3 and list(batch)[1] == 3
    batch["mask"] = 5
    assert batch["mask"] == 5
    with pytest.raises(KeyError):
        batch["more"] = 1
    for change in (lambda: batch.append(1), lambda: batch.pop(), lambda: batch.__delitem__(0), lambda: batch.sort(),
                   lambda: batch.__setitem__(slice(0, 1), [1, 2]), lambda: batch.__iadd__([1])):  # fmt: skip
        with pytest.raises(TypeError):
            change()
    assert len(batch) == 2 and (batch + [1])[2] == 1


def test_a_batch_is_itself(batch):
    assert batch == batch and not batch != batch and batch != list(batch) and batch in {batch: 1}


def test_a_released_batch_says_so(batch):
    image = batch[0].numpy()
    batch.release()
    for use in (lambda: batch[0], lambda: batch["image"], lambda: list(batch), lambda: len(batch), batch.keys, lambda: "x" in batch):
        with pytest.raises(sluice.StateError, match="released"):
            use()
    assert batch.rows == 4 and image.shape == (4, 16, 16, 3) and "released" in repr(batch)


def to(data, device):
    """Moves a batch as programs do (and torch's own pin_memory, Accelerate, Lightning and Transformers, in other words)."""
    if hasattr(data, "to"):
        return data.to(device)
    if isinstance(data, collections.abc.Mapping):
        return type(data)({key: to(value, device) for key, value in data.items()})
    if isinstance(data, (tuple, list)):
        return type(data)(to(value, device) for value in data)
    raise TypeError(type(data))


class Tensor:
    def __init__(self, of):
        self.of = of

    def to(self, device):
        return (device, self.of)


def test_a_batch_is_rebuilt_of_its_columns(batch):
    again = type(batch)(Tensor(column) for column in batch)
    assert isinstance(again, sluice.Batch) and again.keys() == ["image", "label"] and again["label"].of is batch[1]
    moved = to(again, "there")
    assert type(moved) is type(batch) and moved["image"] == ("there", batch[0])
    named = type(batch)({name: 1 for name in ("label", "image", "mask")})
    assert named.keys() == ["image", "label"] and named["mask"] == 1
    with pytest.raises(AttributeError, match="made from columns"):
        named.index
    other = sluice.Batch({"a": 1, "b": 2, "index": 3})
    assert other.keys() == ["a", "b"] and other[1] == other["b"] == 2 and other["index"] == 3 and len(other) == 2
    assert sluice.Batch([1, 2]).keys() == [] and sluice.Batch([1, 2])[1] == 2


def test_copies_of_a_batch_are_of_its_class(batch):
    """With the garbage collector switched off, a new class per copy would leak."""
    again = copy.copy(batch)
    assert type(again) is type(batch) and again[0] is batch[0] and again.index == batch.index
    again[0] = None
    assert batch[0] is not None
    assert type(sluice.Batch({"a": 1})) is type(sluice.Batch({"a": 2})) is not type(batch)


def test_batches_of_torch_move_and_pickle(data):
    torch = pytest.importorskip("torch")
    import sluice.torch

    loader = open_loader(data, sluice.torch.DataLoader)
    batch = next(iter(loader))
    moved = to(batch, "meta")  # a device available in every torch
    assert isinstance(moved, sluice.torch.Batch) and [column.device.type for column in moved] == ["meta", "meta"]
    assert moved["mask"].device.type == "meta" and moved.index == 0 and moved.rows == 4 and moved.keys() == ["image", "label"]
    assert batch.to("cpu", non_blocking=True)["image"].data_ptr() == batch[0].data_ptr()
    held = batch.to(torch.device("meta"))
    del batch
    assert loader._handle.held == 0 and held["index"].shape == (4,)
    batch = next(iter(loader))
    for again in (pickle.loads(pickle.dumps(batch)), copy.deepcopy(batch)):
        assert isinstance(again, sluice.torch.Batch) and again.epoch == batch.epoch and again.rows == 4
        assert all((again[name] == batch[name]).all() for name in ("image", "label", "index", "mask", "status"))
        assert again[0].data_ptr() != batch[0].data_ptr()
    assert torch.stack(batch[1:]).shape == (1, 4)


def test_batches_of_a_programs_own_columns_move(data):
    torch = pytest.importorskip("torch")
    import sluice.torch

    def hook(batch):
        return type(batch)(column.float() for column in batch)

    batch = next(iter(open_loader(data, sluice.torch.DataLoader, batch_hook=hook)))
    moved = batch.to("meta")
    assert moved[0].dtype == torch.float32 and moved["label"].device.type == "meta"
    with pytest.raises(AttributeError, match="made from columns"):
        moved.index
    with pytest.raises(KeyError, match="'mask': this batch was made from columns and lacks it"):
        moved["mask"]
    batch = next(iter(open_loader(data, sluice.torch.DataLoader)))
    batch["label"] = ["red"] * 4
    batch["mask"] = None
    moved = batch.to("meta")
    assert moved[0].device.type == "meta" and moved["label"] == ["red"] * 4 and moved["mask"] is None and moved.rows == 4


# ---- attributes of a DataLoader and of its dataset ----


def test_what_programs_ask_of_a_loader(data):
    loader = open_loader(data, num_workers=2, drop_last=True)
    assert loader.num_workers == 2 and loader.drop_last is True and loader.batch_size == 4 and loader.dataset is data
    assert open_loader(data, last_batch="pad").drop_last is False
    assert loader.generator is loader.worker_init_fn is loader.collate_fn is loader.batch_sampler is None
    assert loader.pin_memory is False and loader.timeout == 0 and loader.persistent_workers is False
    first = [batch["index"].tolist() for batch in loader]
    loader.sampler.set_epoch(0)  # as programs with a DistributedSampler do
    assert [batch["index"].tolist() for batch in loader] == first
    assert len(loader.sampler) == 32
    with pytest.raises(TypeError, match="index"):
        list(loader.sampler)
    for name, word in (("sampler", "subset"), ("generator", "torch.Generator"), ("worker_init_fn", "expected a callable"), ("collate_fn", "columns=")):
        with pytest.raises(TypeError, match=f"{name}.*{word}"):
            open_loader(data, **{name: object()})


@pytest.mark.parametrize("last", ["drop", "short", "pad", "repeat", "wrap"])
@pytest.mark.parametrize("ranks, batch_size", [(1, 4), (2, 4), (3, 4), (3, 1), (5, 6), (7, 2)])
def test_how_many_rows_a_rank_has(data, ranks, batch_size, last):
    for rank in range(ranks):
        loader = open_loader(data, rank=rank, world_size=ranks, batch_size=batch_size, last_batch=last)
        assert len(loader.sampler) == sum(int(batch["mask"].numpy().sum()) for batch in loader)


def test_rows_of_windows(tmp_path):
    numpy.arange(1000, dtype="uint16").tofile(tmp_path / "tokens.bin")
    tokens = sluice.Dataset(tmp_path / "tokens.bin", flat=("uint16", (1000,)))
    for last, rows in ("drop", 96), ("short", 100), ("pad", 100):
        loader = sluice.Loader(tokens, batch_size=8, columns={"x": C.Window("tensor", length=10)}, last_batch=last)
        assert len(loader.sampler) == sum(int(batch["mask"].numpy().sum()) for batch in loader) == rows


def test_a_loader_still_goes_with_its_last_name(data):
    loader = open_loader(data)
    sampler = loader.sampler
    del loader
    with pytest.raises(ReferenceError):
        sampler.set_epoch(1)


def test_what_programs_ask_of_an_image_folder(data, tmp_path):
    assert data.targets == [data.sample(i)["label"] for i in range(SAMPLES)] and data.imgs == data.samples
    path, label = data.samples[7]
    assert open(path, "rb").read() == data.read(7, "image") and label == data.targets[7]
    counts = numpy.bincount(data.targets, minlength=len(data.classes))  # weights of classes
    assert counts.sum() == SAMPLES and sorted(data.class_to_idx) == data.classes
    sluice.pack(data, tmp_path / "p", keep_order=True, progress=None)
    packed = sluice.Dataset(tmp_path / "p")
    assert packed.targets == data.targets
    with pytest.raises(AttributeError, match="targets has the labels"):
        packed.samples
    numpy.zeros(9, "uint16").tofile(tmp_path / "flat")
    flat = sluice.Dataset(tmp_path / "flat", flat=("uint16", (3,)))
    assert not hasattr(flat, "targets") and not hasattr(flat, "imgs")


# ---- the end of an epoch ----


@pytest.mark.parametrize("world", [1, 2, 3, 5])
@pytest.mark.parametrize("samples, size", [(33, 4), (32, 4), (7, 8), (1, 3), (2, 5)])
def test_repeated_samples_fill_the_last_batch(data, world, samples, size):
    """As with torch's DistributedSampler, every rank gets equally many rows, filled with samples from the epoch's beginning."""
    some = data[:samples]
    options = {"batch_size": size, "last_batch": "repeat", "world_size": world, "transform": None, "columns": {"label": C.Number()}}
    ranks = [[batch for batch in open_loader(some, rank=rank, **options)] for rank in range(world)]
    order = [i for batch in open_loader(some, last_batch="short") for i in batch["index"].tolist()]
    own, again = [], []
    assert {len(batches) for batches in ranks} == {-(-samples // (size * world))}
    for batches in zip(*ranks):
        for batch in batches:
            index, mask, status = (batch[name].tolist() for name in ("index", "mask", "status"))
            assert batch.rows == size == len(index) and mask == sorted(mask, reverse=True)
            assert status == [0 if use else 4 for use in mask]
            own += [i for i, use in zip(index, mask) if use]
            again += [i for i, use in zip(index, mask) if not use]
            assert batch["label"].tolist() == [some.targets[i] for i in index]
    assert own == order and again == (order * len(again))[: len(again)]
    if world > 1 and size * world <= samples:
        assert len({tuple(batches[0]["index"].tolist()) for batches in ranks}) == world
    metric = sum(batch["mask"].numpy().sum() for batches in ranks for batch in batches)  # as gather_for_metrics counts
    assert metric == samples


@pytest.mark.parametrize("world", [1, 2, 3, 5])
@pytest.mark.parametrize("samples, size", [(33, 4), (32, 4), (7, 8), (1, 3)])
def test_wrapped_ranks_are_one_global_batch(data, world, samples, size):
    """The rows of all ranks, joined in order, are the epoch and then its beginning again."""
    options = {"last_batch": "wrap", "transform": None, "columns": {"label": C.Number()}}
    ranks = [list(open_loader(data[:samples], rank=rank, world_size=world, batch_size=size, **options)) for rank in range(world)]
    order = [i for batch in open_loader(data[:samples], last_batch="short") for i in batch["index"].tolist()]
    joined = [i for batches in zip(*ranks) for batch in batches for i in batch["index"].tolist()]
    used = [use for batches in zip(*ranks) for batch in batches for use in batch["mask"].tolist()]
    assert joined == (order * len(joined))[: len(joined)]
    assert used == [1] * samples + [0] * (len(joined) - samples)


@pytest.mark.parametrize("options", [{}, {"last_batch": "wrap"}, {"drop_last": True}, {"shuffle": "block"}, {"shuffle": "shards"}, {"lengths": [*range(33)]}])
def test_a_state_without_iterating(data, options, tmp_path):
    if options.get("shuffle") == "shards":
        sluice.pack(data, tmp_path / "packed", progress=None)
        sluice.unpack(tmp_path / "packed", tmp_path / "tars", tar=True, shard_samples=10, progress=None)
        data = sluice.Dataset(tmp_path / "tars")
    loader, other = (open_loader(data, batch_size=4, **options) for _ in range(2))
    loader.set_epoch(1)
    whole, states = [], [loader.state_at(1, 0)]
    for batch in loader:
        whole.append(batch["index"].tolist())
        states.append(loader.state_dict())
    assert [loader.state_at(1, n) for n in range(len(loader) + 1)] == states
    for n in range(len(loader) + 1):
        other.load_state_dict(other.state_at(1, n))
        assert [batch["index"].tolist() for batch in other] == whole[n:]
    with pytest.raises(ValueError, match=f"step {len(loader) + 1} is out of range: an epoch has {len(loader)} steps"):
        loader.state_at(1, len(loader) + 1)


def test_repeated_samples_are_the_same_pictures(data):
    columns = {"image": C.Image(transform=T.RandomResizedCrop(16)), "label": C.Number()}
    batches = list(open_loader(data, batch_size=20, transform=None, columns=columns, last_batch="repeat", prefetch_factor=4))
    pictures = {i: batches[0]["image"].numpy()[row] for row, i in enumerate(batches[0]["index"].tolist())}
    last = batches[1]
    for row in range(13, 20):
        assert (last["image"].numpy()[row] == pictures[last["index"].tolist()[row]]).all()


def test_a_state_goes_on_to_repeated_samples(data):
    options = {"batch_size": 8, "last_batch": "repeat"}
    whole = [batch["index"].tolist() for batch in open_loader(data, **options)]
    loader = open_loader(data, **options)
    iterator = iter(loader)
    for taken in range(4):
        next(iterator)
    other = open_loader(data, **options)
    other.load_state_dict(loader.state_dict())
    assert [batch["index"].tolist() for batch in other] == whole[4:]


def test_bad_samples_among_repeated_ones(data, tmp_path):
    for i in range(5):
        (tmp_path / "p" / f"class{i}").mkdir(parents=True)
        (tmp_path / "p" / f"class{i}" / "0.jpg").write_bytes(data.read(i, "image") if i != 1 else b"\xff\xd8\xff no picture")
    options = {"batch_size": 8, "shuffle": False, "last_batch": "repeat"}
    (batch,) = open_loader(tmp_path / "p", on_bad_sample="mask", **options)
    assert batch["mask"].tolist() == [1, 0, 1, 1, 1, 0, 0, 0] and batch["status"].tolist() == [0, 2, 0, 0, 0, 4, 2, 4]
    assert batch["label"].tolist() == [0, -1, 2, 3, 4, 0, -1, 2]
    (batch,) = open_loader(tmp_path / "p", on_bad_sample="replace", **options)
    assert batch["mask"].tolist() == [1, 1, 1, 1, 1, 0, 0, 0] and batch["status"].tolist() == [0, 1, 0, 0, 0, 4, 1, 4]


def test_labels_without_a_sample_are_ignored(data):
    last = list(open_loader(data, last_batch="pad"))[-1]
    assert last["label"].tolist()[1:] == [-1] * 3
    last = list(open_loader(data, last_batch="pad", ignore_index=255))[-1]
    assert last["label"].tolist()[1:] == [255] * 3 and last["index"].tolist()[1:] == [-1] * 3
    for wrong in (0, 2**31, "a"):
        with pytest.raises(ValueError, match="ignore_index"):
            open_loader(data, ignore_index=wrong)
    torch = pytest.importorskip("torch")
    import sluice.torch

    loss = torch.nn.CrossEntropyLoss()
    images, labels = list(open_loader(data, sluice.torch.DataLoader, last_batch="pad"))[-1]
    scores = torch.randn(4, len(data.classes))
    assert labels.tolist()[1:] == [-100] * 3
    assert torch.isclose(loss(scores, labels), loss(scores[:1], labels[:1]))


@pytest.mark.parametrize("shuffle", [True, "block", False])
def test_repeated_samples_out_of_memory_windows_and_mixes(tmp_path, shuffle):
    """A copy in memory has a shorter code path; windows and mixes have orders that are not of samples."""
    with sluice.Writer(tmp_path / "p", {"n": "int"}) as writer:
        for i in range(50):
            writer.add(n=i)
    numpy.arange(1000, dtype="uint16").tofile(tmp_path / "t")
    packed, tokens = sluice.Dataset(tmp_path / "p"), sluice.Dataset(tmp_path / "t", flat=("uint16", (1000,)))
    window = {"n": C.Window("tensor", length=20, dtype="int64")}
    for data, columns in ((packed, {"n": C.Number()}), (tokens, window), (sluice.mix([packed, packed], [2, 1], epoch_samples=50), {"n": C.Number()})):
        options = {"columns": columns, "transform": None, "shuffle": shuffle, "batch_size": 8}

        def rows(**more):
            loader = open_loader(data, **options, **more)
            return [[(batch["index"].tolist(), batch["n"].tolist(), batch["mask"].tolist()) for batch in loader] for epoch in range(4)]

        for epoch, whole in enumerate(rows(last_batch="short")):
            order = [(i, n) for index, n, _ in whole for i, n in zip(index, n)]
            assert len(order) == 50
            ranks = [rows(last_batch="repeat", rank=rank, world_size=3)[epoch] for rank in range(3)]
            got = [row for step in zip(*ranks) for index, n, mask in step for row in zip(index, n, mask)]
            assert [(i, n) for i, n, use in got if use] == order and len(got) == 72
            assert [(i, n) for i, n, use in got if not use] == order[:22]
