# SPDX-License-Identifier: Apache-2.0
"""JPEG, PNG and WebP in one dataset, in any container, compared with pixels decoded by Pillow."""
import io
import shutil
import tarfile

import numpy
import pytest
from PIL import Image, features

import sluice
from sluice import transforms as T

KINDS = {
    "jpg": [("RGB", {}), ("L", {}), ("RGB", {"quality": 40})],
    "png": [("RGB", {}), ("L", {}), ("P", {}), ("RGBA", {}), ("LA", {}), ("1", {}), ("RGB", {"compress_level": 1})],
    "webp": [("RGB", {"quality": 70}), ("RGB", {"lossless": True}), ("RGBA", {"quality": 80})],
}
COUNT = 39


def picture(number):
    """Returns an image of a certain mode and size: slopes and noise."""
    random = numpy.random.RandomState(number)
    height, width = random.randint(20, 70, 2)
    pixels = random.randint(0, 60, (height, width, 4)) + numpy.arange(width)[None, :, None] * 2 + number
    return Image.fromarray(pixels.astype(numpy.uint8), "RGBA")


def encoded(number):
    """Returns (extension, file)."""
    extension = list(KINDS)[number % 3]
    mode, options = KINDS[extension][number // 3 % len(KINDS[extension])]
    made = io.BytesIO()
    picture(number).convert("RGB" if mode == "P" else mode).convert(mode).save(
        made, {"jpg": "JPEG"}.get(extension, extension), **options)
    return extension, made.getvalue()


@pytest.fixture(scope="module", autouse=True)
def webp(tmp_path_factory):
    if not features.check("webp"):
        pytest.skip("Pillow was built without WebP")
    try:
        with sluice.Writer(tmp_path_factory.mktemp("webp") / "packed", {"image": "image"}) as writer:
            writer.add(image=encoded(2)[1])
    except sluice.UnsupportedError as error:
        assert "without libwebp" in str(error)
        pytest.skip("the library was built without WebP")


@pytest.fixture(scope="module")
def files():
    return [encoded(number) for number in range(COUNT)]


@pytest.fixture(scope="module")
def pixels(files):
    return [numpy.asarray(Image.open(io.BytesIO(data)).convert("RGB")) for _, data in files]


@pytest.fixture(scope="module")
def folder(files, tmp_path_factory):
    root = tmp_path_factory.mktemp("mixed")
    for number, (extension, data) in enumerate(files):
        path = root / f"class{number // 13}" / f"p{number:02}.{extension}"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
    return root


@pytest.fixture(scope="module")
def plain(pixels, tmp_path_factory):
    """Pillow's pixels, as raw images in shards."""
    path = tmp_path_factory.mktemp("plain") / "packed"
    with sluice.Writer(path, {"image": "image", "label": "int"}) as writer:
        for number, array in enumerate(pixels):
            writer.add(image=array, label=number // 13)
    return path


def batches(path):
    """Returns crops at different positions and scales in two shuffled epochs; they show parts of the images."""
    loader = sluice.Loader(path, batch_size=8, shuffle=True, seed=3, exact=True,
                           transform=[T.RandomResizedCrop(24, scale=(0.1, 1)), T.RandomHorizontalFlip()])
    found = []
    for epoch in range(2):
        loader.set_epoch(epoch)
        found += [(images.numpy().copy(), labels.numpy().copy()) for images, labels in loader]
    return found


def assert_same(path, plain):
    found, expected = batches(path), batches(plain)
    assert len(found) == len(expected) == 2 * 5
    for (images, labels), (other_images, other_labels) in zip(found, expected):
        assert (labels == other_labels).all() and (images == other_images).all()


def test_decode(folder, pixels, files):
    data = sluice.Dataset(folder)
    for number, expected in enumerate(pixels):
        assert data[number]["image"] == files[number][1]
        assert (numpy.asarray(data.decode(number)) == expected).all(), files[number][0]


def test_a_folder(folder, plain):
    assert_same(folder, plain)


def test_a_tar(files, plain, tmp_path, monkeypatch):
    monkeypatch.setenv("SLUICE_CACHE_DIR", str(tmp_path / "cache"))
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        for number, (extension, data) in enumerate(files):
            for last, content in ((extension, data), ("cls", str(number // 13).encode())):
                member = tarfile.TarInfo(f"{number:03}.{last}")
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
    assert_same(tmp_path / "a.tar", plain)


@pytest.mark.parametrize("how", [{}, {"raw": True}, {"keep_bytes": True}, {"zstd": 3}, {"raw": True, "zstd": 3}])
def test_packed(folder, plain, files, tmp_path, how):
    result = sluice.pack(folder, tmp_path / "packed", keep_order=True, progress=None, **how)
    assert result.samples == COUNT and result.rejected == 0
    assert result.jpegs_retiled + result.jpegs_kept == (0 if "raw" in how else COUNT // 3)
    data = sluice.Dataset(tmp_path / "packed")
    if "raw" not in how:
        assert all(data[number]["image"] == stored for number, (kind, stored) in enumerate(files) if kind != "jpg")
    found = data.verify(decode=True, progress=None)
    assert found.samples == COUNT and found.findings == []
    assert_same(tmp_path / "packed", plain)


def test_damage_is_found(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "bad")
    victims = [tmp_path / "bad" / "class0" / name for name in ("p01.png", "p02.webp")]
    for victim in victims:
        victim.write_bytes(victim.read_bytes()[:-20])
    findings = sluice.Dataset(tmp_path / "bad").verify(decode=True, progress=None).findings
    assert sorted(finding.file for finding in findings) == [str(victim) for victim in victims]
    assert all(isinstance(finding, sluice.CorruptError) and finding.offset is not None for finding in findings)
    result = sluice.pack(tmp_path / "bad", tmp_path / "packed", on_bad_sample="skip", progress=None)
    assert result.rejected == 2 and result.samples == COUNT - 2


def test_animations_are_refused(tmp_path):
    (tmp_path / "data" / "a").mkdir(parents=True)
    frames = [picture(1).resize((30, 30)), picture(2).resize((30, 30))]
    frames[0].save(tmp_path / "data" / "a" / "1.webp", save_all=True, append_images=frames[1:])
    frames[0].convert("RGB").save(tmp_path / "data" / "a" / "2.png", save_all=True, append_images=[frames[1].convert("RGB")])
    data = sluice.Dataset(tmp_path / "data")
    with pytest.raises(sluice.UnsupportedError, match="is an animation, not one image"):
        data.decode(0)
    # the default image of an APNG, which PNG readers show
    assert (numpy.asarray(data.decode(1)) == numpy.asarray(frames[0].convert("RGB"))).all()
