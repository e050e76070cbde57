# SPDX-License-Identifier: Apache-2.0
"""EXIF orientation in JPEG, PNG and WebP, applied as Pillow applies it: types, counts, byte orders, damage."""
import io
import itertools
import random
import struct
import warnings
import zlib

import numpy
import pytest
from PIL import Image, ImageOps, features

import sluice

ORIENTATION = 0x112
# struct's letters for TIFF's types, each with its value first
TYPES = {1: "B", 2: "c", 3: "H", 4: "I", 5: "I4x", 6: "b", 7: "B", 8: "h", 9: "i", 10: "i4x", 11: "f", 12: "d", 13: "I", 16: "Q"}


def element(order, kind, value):
    if kind in (5, 10):
        return struct.pack(order + "iI", value * 3, 3)
    if kind == 2:
        return str(value)[-1:].encode()
    return struct.pack(order + TYPES.get(kind, "H"), value)


def tiff(big, entries, magic=None, second=()):
    """Returns a TIFF file of (tag, type, count, bytes of the elements); `second`: the entries of another directory."""
    order = ">" if big else "<"
    base = 8 + sum(6 + 12 * len(entries) for entries in (entries, second))
    data, directories = b"", b""
    for last, some in ((False, entries), (True, second)):
        directories += struct.pack(order + "H", len(some))
        for tag, kind, count, content in some:
            inline = content.ljust(4, b"\0")
            if len(content) > 4:
                inline = struct.pack(order + "I", base + len(data))
                data += content
            directories += struct.pack(order + "HHI", tag, kind, count) + inline
        directories += struct.pack(order + "I", 0 if last or not second else 8 + len(directories) + 4)
    magic = magic or (b"\0*" if big else b"*\0")
    return (b"MM" if big else b"II") + magic + struct.pack(order + "I", 8) + directories + data


def saved(kind):
    pixels = numpy.random.RandomState(5).randint(0, 256, (5, 7, 3), numpy.uint8)
    made = io.BytesIO()
    Image.fromarray(pixels).resize((21, 15), Image.BILINEAR).save(made, kind, **({"lossless": True} if kind == "WEBP" else {}))
    return made.getvalue()


def jpeg(*blocks, before=b""):
    file = saved("JPEG")
    segments = b""
    for block in blocks:
        content = b"Exif\0\0" + block
        segments += b"\xff\xe1" + struct.pack(">H", len(content) + 2) + content
    return file[:2] + before + segments + file[2:]


def png(block):
    file = saved("PNG")
    chunk = b"eXIf" + block
    return file[:33] + struct.pack(">I", len(block)) + chunk + struct.pack(">I", zlib.crc32(chunk)) + file[33:]


def webp(block):
    file = saved("WEBP")
    chunks = file[12:]
    canvas = b"VP8X" + struct.pack("<II", 10, 8) + struct.pack("<I", 20)[:3] + struct.pack("<I", 14)[:3]
    exif = b"EXIF" + struct.pack("<I", len(block)) + block + b"\0" * (len(block) % 2)
    return b"RIFF" + struct.pack("<I", 4 + len(canvas + chunks + exif)) + b"WEBP" + canvas + chunks + exif


def upright(file):
    """Returns Pillow's upright image; None if Pillow cannot read the file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return numpy.asarray(ImageOps.exif_transpose(Image.open(io.BytesIO(file))).convert("RGB"))
        except Exception:
            return None


def check(folder, files, extension="jpg"):
    """Compares decoded images with Pillow's. Returns the number of images rotated by a quarter."""
    (folder / "a").mkdir(parents=True)
    wanted = []
    for file in files:
        pixels = upright(file)
        if pixels is not None:
            (folder / "a" / f"{len(wanted):05}.{extension}").write_bytes(file)
            wanted.append(pixels)
    data = sluice.Dataset(folder)
    for i, pixels in enumerate(wanted):
        ours = numpy.asarray(data.decode(i, exif=True))
        assert ours.shape == pixels.shape, (i, ours.shape, pixels.shape)
        assert (ours == pixels).all(), i
    return sum(pixels.shape[0] > pixels.shape[1] for pixels in wanted)


def table():
    for big, kind, count, value in itertools.product((0, 1), range(18), (0, 1, 2, 4), (0, 1, 3, 6, 8, 9, 107)):
        order = ">" if big else "<"
        content = element(order, kind, value) + element(order, kind, 3) * (max(count, 1) - 1)
        yield tiff(big, [(0x10F, 2, 6, b"maker\0"), (ORIENTATION, kind, count, content)])


def test_types_and_counts(tmp_path):
    assert check(tmp_path, (jpeg(block) for block in table())) >= 120


@pytest.mark.parametrize("form", [png, pytest.param(webp, marks=pytest.mark.skipif(
    not features.check("webp"), reason="Pillow without WebP"))])
def test_other_formats(tmp_path, form):
    blocks = [block for i, block in enumerate(table()) if i % 3 == 0]
    assert check(tmp_path, map(form, blocks), form.__name__) > 40


def test_values_that_are_large_or_no_whole_numbers(tmp_path):
    entries = [(4, struct.pack("<I", value)) for value in (6, 256 + 6, 65536 + 6, 1 << 31, 0xFFFFFFFF)]
    entries += [(5, struct.pack("<II", *value)) for value in ((6, 1), (12, 2), (13, 2), (6, 0), (0, 0), (4294967291, 715827882))]
    entries += [(10, struct.pack("<ii", *value)) for value in ((6, 1), (-6, -1), (-6, 1), (18, 3))]
    entries += [(11, struct.pack("<f", value)) for value in (6, 5.999999, 6.5, float("nan"), float("inf"))]
    entries += [(12, struct.pack("<d", value)) for value in (6, 6 + 1e-15, -6, float("nan"))]
    entries += [(16, struct.pack("<Q", value)) for value in (6, (1 << 32) + 6)]
    assert check(tmp_path, (jpeg(tiff(0, [(ORIENTATION, kind, 1, data)])) for kind, data in entries)) == 9


def test_several_entries_segments_and_directories(tmp_path):
    def short(value, kind=3):
        return ORIENTATION, kind, 1, struct.pack("<H", value)

    other = 0x100, 3, 1, b"\6\0"
    outside = 0x10E, 2, 5000, b"\xff\xff\0\0"
    directories = [
        [short(6), short(3)], [short(3), short(6)], [short(6), short(3, 99)], [short(6, 99), short(8)],
        [short(0), short(6)], [other, short(6)], [short(6), other], [short(6), outside], [outside, short(6)], [],
    ]  # fmt: skip
    files = [jpeg(tiff(0, entries)) for entries in directories]
    files += [jpeg(tiff(0, entries), tiff(0, [short(5)])) for entries in directories]
    files += [jpeg(tiff(0, [other], second=[short(6)])), jpeg(tiff(0, [short(8)], second=[short(3)]))]
    files += [jpeg(tiff(0, [short(6)], magic=magic)) for magic in (b"\0*", b"*\0", b"+\0", b"\0\0")]
    files += [jpeg(tiff(0, [other, short(6)])[:-cut]) for cut in range(1, 30)]
    files += [jpeg(tiff(0, [short(6)]), before=junk) for junk in (b"\xff\xff", b"\1\2\3", b"\xff\0", b"\xff\xd0")]
    assert check(tmp_path, files) > 20


def test_directories_by_chance(tmp_path):
    draw = random.Random(3)
    files = []
    for _ in range(500):
        big = draw.random() < 0.5
        order = ">" if big else "<"
        entries = b""
        for _ in range(draw.randrange(5)):
            tag = ORIENTATION if draw.random() < 0.6 else draw.choice([0x10F, 0x110, 0x11A, 0x9286])
            count = draw.choice([0, 1, 1, 1, 2, 3, 4, 8, 1 << 31, (1 << 32) - 1])
            offset = struct.pack(order + "I", draw.randrange(8, 100))
            inline = struct.pack(order + "HH", draw.randrange(10), draw.randrange(10))
            entries += struct.pack(order + "HHI", tag, draw.randrange(19), count) + draw.choice([offset, inline])
        start = 8 if draw.random() < 0.8 else draw.randrange(80)
        block = (b"MM\0*" if big else b"II*\0") + struct.pack(order + "IH", start, len(entries) // 12) + entries
        block += bytes(draw.choice([0, 0, 6, 8, 3]) for _ in range(64))
        files.append(jpeg(block[:draw.randrange(8, len(block))] if draw.random() < 0.3 else block))
    check(tmp_path, files)


def test_packing_without_metadata_keeps_it(tmp_path):
    for number, (big, kind) in enumerate(itertools.product((0, 1), (3, 4, 9, 12))):
        content = element(">" if big else "<", kind, 6)
        (tmp_path / "in" / "a").mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / "a" / f"{number}.jpg").write_bytes(jpeg(tiff(big, [(ORIENTATION, kind, 2, content * 2)])))
    sluice.pack(tmp_path / "in", tmp_path / "out", metadata="drop", progress=False)
    before, after = sluice.Dataset(tmp_path / "in"), sluice.Dataset(tmp_path / "out")
    for i in range(len(before)):
        assert bytes(after.decode(i, exif=True)) == bytes(before.decode(i, exif=True))
        assert after.decode(i, exif=True).shape == (21, 15, 3)
    sluice.pack(tmp_path / "in", tmp_path / "small", metadata="drop", max_side=14, progress=False)
    assert sluice.Dataset(tmp_path / "small").decode(0, exif=True).shape == (14, 10, 3)
