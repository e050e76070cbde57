# SPDX-License-Identifier: Apache-2.0
"""sluice.torch."""
import gc
import weakref

import numpy
import pytest

torch = pytest.importorskip("torch")

import sluice.torch  # noqa: E402
from sluice import columns as C, transforms as T  # noqa: E402


def open_loader(data, **options):
    options = {"batch_size": 4, "seed": 2, "transform": T.RandomResizedCrop(16)} | options
    return sluice.torch.DataLoader(data, **options)


def test_batches_are_torch_tensors(data):
    for images, labels in open_loader(data):
        assert isinstance(images, torch.Tensor) and images.shape[1:] == (3, 16, 16)
        assert images.dtype == torch.uint8 and images.is_contiguous() and labels.dtype == torch.int64
    batch = next(iter(open_loader(data)))
    assert isinstance(batch["index"], torch.Tensor) and batch["image"] is batch["image"]


def test_memory_formats_hold_the_same(data):
    plain = next(iter(open_loader(data)))["image"].clone()
    last = next(iter(open_loader(data, memory_format=torch.channels_last)))["image"]
    assert last.shape == plain.shape and (last == plain).all()
    assert last.is_contiguous(memory_format=torch.channels_last)
    with pytest.raises(ValueError):
        open_loader(data, memory_format=torch.preserve_format)
    with pytest.raises(TypeError):
        open_loader(data, memory_format="channels_last", layout="NHWC")


def test_the_current_gpu(data, monkeypatch):
    """'cuda' is torch's current GPU, not the first one of each process."""
    assert [sluice.torch._current(device) for device in ("cpu", None, "cuda:1")] == ["cpu", None, "cuda:1"]
    if not torch.cuda.is_available():
        assert sluice.torch._current("auto") == "auto"
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 70)
    with monkeypatch.context() as here:
        here.setattr(sluice.torch._sluice, "device_text", lambda name: (False, "the driver is too old"))
        assert sluice.torch._current("auto") == "auto" and sluice.torch._current("cuda") == "cuda:70"
        here.setattr(sluice.torch._sluice, "device_text", lambda name: (name == "cuda", ""))
        assert {sluice.torch._current(device) for device in ("cuda", "auto", torch.device("cuda"))} == {"cuda:70"}
    assert open_loader(data).stats()["device"] == "host"
    with pytest.raises(sluice.Error):  # no GPU has that number, or the driver cannot be loaded
        open_loader(data, device="cuda")
    if not sluice.torch._sluice.device_text("cuda")[0]:
        assert open_loader(data, device="auto").stats()["device"] == "host"


def test_dtypes_of_torch(data):
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        assert next(iter(open_loader(data, dtype=dtype)))["image"].dtype == dtype


@pytest.mark.parametrize("per_sample", [False, True])
def test_functions_are_given_torch_tensors(data, per_sample):
    plain = next(iter(open_loader(data)))["image"].clone()
    function = T.Python(lambda images: images.float().flip(-1), per_sample)
    made = next(iter(open_loader(data, transform=[T.RandomResizedCrop(16), function])))["image"]
    assert made.dtype == torch.float32 and (made == plain.flip(-1)).all()


def test_a_loader_goes_with_its_last_name(data):
    """Its threads end at once, not at the next garbage collection."""
    gc.collect()
    gc.disable()
    try:
        loader = open_loader(data, transform=[T.RandomResizedCrop(16), T.Python(lambda images: images)])
        batch = next(iter(loader))
        images, gone = batch["image"], weakref.ref(loader)
        del loader
        assert gone() is None and images.shape[0] == 4 and batch["label"].shape == (4,)
    finally:
        gc.enable()


def test_tensors_outlive_the_loader(data):
    kept = next(iter(open_loader(data)))["image"]
    copy = kept.clone()
    assert (kept == copy).all()
    kept += 1
    assert (kept != copy).all()


def test_a_state_goes_through_torch_save(data, tmp_path):
    loader = open_loader(data, shuffle=True)
    iterator = iter(loader)
    next(iterator)
    torch.save({"loader": loader.state_dict()}, tmp_path / "state.pt")
    rest = [batch["index"].tolist() for batch in iterator]
    other = open_loader(data, shuffle=True)
    other.load_state_dict(torch.load(tmp_path / "state.pt", weights_only=True)["loader"])
    assert [batch["index"].tolist() for batch in other] == rest


class Decoded(torch.utils.data.Dataset):
    """A map-style dataset, as torch's DataLoader takes it."""

    def __init__(self, data):
        self.data, self.inherited = data, data._opened

    def __len__(self):
        return len(self.data)

    def __getitem__(self, index):
        pixels = torch.from_numpy(numpy.asarray(self.data.decode(index)))
        return pixels.float().mean(), self.data[index]["label"], self.data._opened is self.inherited


def test_torchs_worker_processes_beside_us(data):
    """Forked while our threads use the same dataset: they reopen it."""
    own = iter(open_loader(data))
    next(own)
    workers = torch.utils.data.DataLoader(Decoded(data), batch_size=11, num_workers=2, multiprocessing_context="fork")
    means, labels, shared = zip(*workers)
    assert torch.cat(labels).tolist() == [sample["label"] for sample in data] and not torch.cat(shared).any()
    expected = [numpy.asarray(data.decode(index)).mean() for index in range(33)]
    assert numpy.allclose(torch.cat(means).numpy(), expected, rtol=1e-4)
    assert sum(len(labels) for _, labels in own) == 29


def test_a_step_of_training(data):
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten())
    loader = open_loader(data, transform=[T.RandomResizedCrop(16), T.Normalize([0.5] * 3, [0.2] * 3)])
    for images, labels in loader:
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        loss.backward()
    assert loss.isfinite()


def test_a_dtype_that_torch_lacks_is_named(tmp_path):
    numpy.arange(100, dtype="uint16").tofile(tmp_path / "tokens.bin")
    tokens = sluice.Dataset(tmp_path / "tokens.bin", flat=("uint16", (100,)))
    windows = {dtype: sluice.columns.Window("tensor", length=10, dtype=dtype) for dtype in (None, "int64")}
    if not hasattr(torch, "uint16"):
        with pytest.raises(TypeError, match="column 'x' is uint16, which torch .* lacks: give the column dtype='int64'"):
            next(iter(sluice.torch.DataLoader(tokens, columns={"x": windows[None]})))
    (rows,) = next(iter(sluice.torch.DataLoader(tokens, columns={"x": windows["int64"]})))
    assert rows.tolist() == [list(range(10))]


def test_images_of_columns_are_as_torch_has_them(data):
    """As with transform=, without extra options."""
    def shape(kind, **options):
        columns = {"image": C.Image(transform=T.RandomResizedCrop((20, 30)), **options), "label": C.Number()}
        return tuple(next(iter(kind(data, batch_size=2, columns=columns)))["image"].shape)

    assert shape(sluice.torch.DataLoader) == shape(sluice.torch.DataLoader, layout="NCHW") == (2, 3, 20, 30)
    assert shape(sluice.torch.DataLoader, layout="NHWC") == shape(sluice.Loader) == (2, 20, 30, 3)
    assert shape(sluice.Loader, layout="NCHW") == (2, 3, 20, 30)
    columns = {"image": C.Image(transform=T.RandomResizedCrop((20, 30))), "label": C.Number()}
    for kind, expected in ((sluice.Loader, (2, 20, 30, 3)), (sluice.torch.DataLoader, (2, 3, 20, 30)), (sluice.Loader, (2, 20, 30, 3))):
        assert tuple(next(iter(kind(data, batch_size=2, columns=columns)))["image"].shape) == expected  # the column itself does not change
