# SPDX-License-Identifier: Apache-2.0
"""Label masks and depth maps stored as PNGs, read as tensor columns: compared with Pillow, value by value."""
import io
import tarfile

import numpy
import pytest
from PIL import Image

import sluice
from sluice import columns as C
from sluice import transforms as T

COUNT, HEIGHT, WIDTH = 7, 40, 56


def png(array, palette=None):
    image = Image.fromarray(array)
    if palette is not None:
        image.putpalette(palette)
    made = io.BytesIO()
    image.save(made, "PNG")
    return made.getvalue()


def sample(number, height=HEIGHT, width=WIDTH):
    random = numpy.random.RandomState(number)
    arrays = {
        "gray": random.randint(0, 256, (height, width)).astype("uint8"),  # Cityscapes, ADE20K
        "palette": random.randint(0, 21, (height, width)).astype("uint8"),  # VOC
        "few": random.randint(0, 4, (height, width)).astype("uint8"),  # a palette of 2 bits
        "binary": random.randint(0, 2, (height, width)).astype(bool),  # mode "1"
        "depth": random.randint(0, 65536, (height, width)).astype("uint16"),  # NYU, KITTI
        "ids": random.randint(0, 256, (height, width, 3)).astype("uint8"),  # COCO's panoptic ids
    }
    arrays["palette"][:, -1] = 255  # void
    files = {name: png(array) for name, array in arrays.items()}
    files["palette"] = png(arrays["palette"], list(range(256)) * 3)
    files["few"] = png(arrays["few"], [9, 9, 9, 1, 1, 1, 200, 0, 0, 5, 5, 5])
    assert Image.open(io.BytesIO(files["few"])).mode == "P" and files["few"][24] == 2
    assert Image.open(io.BytesIO(files["binary"])).mode == "1" and files["depth"][24] == 16
    for name, data in files.items():
        read = numpy.asarray(Image.open(io.BytesIO(data)))
        assert (read == arrays[name]).all(), name
    return arrays, files


@pytest.fixture(scope="module")
def samples():
    return [sample(number) for number in range(COUNT)]


def photo(number):
    made = io.BytesIO()
    Image.new("RGB", (WIDTH, HEIGHT), (number, 2, 3)).save(made, "JPEG")
    return made.getvalue()


@pytest.fixture(scope="module")
def packed(samples, tmp_path_factory):
    path = tmp_path_factory.mktemp("masks") / "packed"
    with sluice.Writer(path, {name: "image" for name in ["image", *samples[0][1]]}) as writer:
        for number, (_, files) in enumerate(samples):
            writer.add(image=photo(number), **files)
    return path


def tensor(name, dtype="uint8", **options):
    return C.Tensor(name, shape=(HEIGHT, WIDTH, 3) if name == "ids" else (HEIGHT, WIDTH), dtype=dtype, **options)


def test_every_kind(packed, samples):
    columns = {name: tensor(name) for name in ("gray", "palette", "few", "binary", "ids")} | {"depth": tensor("depth", "uint16")}
    columns["image"] = C.Image("image", transform=[T.Resize(32), T.CenterCrop(32)])
    with sluice.Loader(packed, batch_size=3, shuffle=True, columns=columns) as loader:
        seen = 0
        for batch in loader:
            for row, index in enumerate(batch["index"].tolist()):
                for name, array in samples[index][0].items():
                    assert (batch[name].numpy()[row] == array).all(), name
                assert batch["image"].numpy()[row].shape == (32, 32, 3)
                seen += 1
    assert seen == COUNT


@pytest.mark.parametrize("dtype", ["float32", "int32", "int64", "float64", "float16"])
def test_dtypes(packed, samples, dtype):
    columns = {"gray": tensor("gray", dtype), "depth": tensor("depth", dtype)}
    for batch in sluice.Loader(packed, batch_size=COUNT, columns=columns):
        for name in columns:
            with numpy.errstate(over="ignore"):
                expected = numpy.stack([arrays[name] for arrays, _ in samples]).astype("float32").astype(dtype)
            assert batch[name].numpy().dtype == dtype and numpy.array_equal(batch[name].numpy(), expected)


def test_a_tar(samples, tmp_path, monkeypatch):
    monkeypatch.setenv("SLUICE_CACHE_DIR", str(tmp_path / "cache"))
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        for number, (_, files) in enumerate(samples):
            for last, content in (("jpg", photo(number)), ("seg.png", files["palette"]), ("depth.png", files["depth"])):
                member = tarfile.TarInfo(f"{number:03}.{last}")
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
    shape = {"shape": (24, 24), "part": "random"}
    columns = {"seg": C.Tensor("seg.png", dtype="int64", **shape), "depth": C.Tensor("depth.png", dtype="float32", **shape)}
    places = set()
    with sluice.Loader(tmp_path / "a.tar", batch_size=2, seed=3, columns=columns) as loader:
        for _ in range(3):
            for batch in loader:
                for row, index in enumerate(batch["index"].tolist()):
                    arrays = samples[index][0]
                    windows = numpy.lib.stride_tricks.sliding_window_view(arrays["depth"], (24, 24))
                    (y,), (x,) = numpy.nonzero((windows == batch["depth"].numpy()[row]).all(axis=(2, 3)))
                    places.add((y, x))
                    assert (batch["seg"].numpy()[row] == arrays["palette"][y : y + 24, x : x + 24]).all()
    assert len(places) > COUNT


def test_the_same_part_of_a_picture_and_its_mask(packed, samples):
    shape = (16, 20)
    columns = {
        "photo": C.Tensor("ids", shape=(*shape, 3), part="random"),
        "labels": C.Tensor("gray", shape=shape, part="random"),
        "middle": C.Tensor("gray", shape=shape, part="center"),
    }
    for batch in sluice.Loader(packed, batch_size=2, columns=columns):
        for row, index in enumerate(batch["index"].tolist()):
            arrays = samples[index][0]
            windows = numpy.lib.stride_tricks.sliding_window_view(arrays["gray"], shape)
            (y,), (x,) = numpy.nonzero((windows == batch["labels"].numpy()[row]).all(axis=(2, 3)))
            assert (batch["photo"].numpy()[row] == arrays["ids"][y : y + 16, x : x + 20]).all()
            assert (batch["middle"].numpy()[row] == arrays["gray"][12:28, 18:38]).all()


def test_a_folder_and_its_pack(samples, tmp_path):
    """Packing them unchanged keeps the values."""
    for number, (_, files) in enumerate(samples):
        path = tmp_path / "folder" / "a" / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(files["depth"])
    sluice.pack(tmp_path / "folder", tmp_path / "packed", keep_order=True, progress=None)
    for path in (tmp_path / "folder", tmp_path / "packed"):
        for batch in sluice.Loader(path, batch_size=COUNT, columns={"depth": tensor("image", "uint16")}):
            assert (batch["depth"].numpy() == numpy.stack([arrays["depth"] for arrays, _ in samples])).all()


BAD = {
    "another size": (lambda files: png(numpy.zeros((HEIGHT + 1, WIDTH), "uint8")), "41 x 56 .height x width., the column wants 40 x 56"),
    "truncated": (lambda files: files["gray"][: len(files["gray"]) // 2], "ends inside chunk IDAT"),
    "damaged": (lambda files: files["gray"][:200] + b"????" + files["gray"][204:], "checksum of chunk IDAT"),
    "16 bits": (lambda files: files["depth"], "samples of 16 bits, but the column is u8"),
    "colours": (lambda files: files["ids"], "3 samples per pixel, the column wants 1"),
    "a JPEG": (lambda files: photo(1), "stored as JPEG"),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_samples(samples, tmp_path, kind):
    make, reason = BAD[kind]
    for number, (_, files) in enumerate(samples):
        path = tmp_path / "a" / f"{number}.png"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(make(files) if number == 4 else files["gray"])
    columns = {"labels": tensor("image")}
    with sluice.Loader(tmp_path, batch_size=COUNT, columns=columns) as loader, pytest.raises(sluice.Error, match=reason) as caught:
        list(loader)
    assert "4.png" in str(caught.value)
    with sluice.Loader(tmp_path, batch_size=COUNT, columns=columns, on_bad_sample="mask") as loader:
        for batch in loader:
            assert batch["mask"].tolist() == [1, 1, 1, 1, 0, 1, 1]
            assert not batch["labels"].numpy()[4].any()
            assert (batch["labels"].numpy()[5] == samples[5][0]["gray"]).all()


@pytest.mark.parametrize("options, reason", [
    ({}, "needs a shape"),
    ({"shape": (HEIGHT,)}, "needs a shape"),
    ({"shape": (HEIGHT, WIDTH, 9)}, "1 to 4 channels"),
    ({"shape": (HEIGHT, WIDTH), "dtype": "int16"}, "cannot be converted to i16"),
])  # fmt: skip
def test_refused(packed, options, reason):
    with pytest.raises(sluice.Error, match=reason):
        sluice.Loader(packed, columns={"m": C.Tensor("gray", **options)})
