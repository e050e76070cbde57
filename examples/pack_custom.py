#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packs data of a custom layout with sluice.Writer, compares it with the source, and trains on it.

    pack_custom.py [SOURCE] [--out PACKED]

SOURCE: a folder with samples.jsonl. Each line has the name of a JPEG in the folder, its width and height, a
caption, boxes (any number of left, top, right, bottom, in pixels), a score and an embedding of 16 values [an
example with two bad samples]. Packs the samples; skips and names images that are damaged or missing. Compares
every field of the shards with the source, bit for bit (for images the pixels: JPEGs are re-tiled without
loss), shows a batch, and trains a small model that predicts the score from the image.
"""
import argparse
import io
import json
import pathlib
import tempfile

import numpy
import torch
from PIL import Image, ImageDraw

import sluice.torch
from sluice import columns as C
from sluice import transforms as T

SIDE = 64
FIELDS = {
    "key": "text",  # the sample's name in error messages
    "image": "image", "width": "int", "height": "int", "caption": "text", "score": "float",
    "boxes": ("tensor", "float32", (0, 4)),  # 0: variable size
    "embedding": ("tensor", "float16", (16,)),
}  # fmt: skip


def make_source(folder, count=64):
    """Draws bright rectangles on a dark background; the score is the brightness."""
    random = numpy.random.default_rng(0)
    with open(folder / "samples.jsonl", "w", encoding="utf-8") as lines:
        for number in range(count):
            size = random.integers(72, 160, 2)
            boxes = numpy.sort(random.uniform(0, size, (number % 4, 2, 2)), axis=1).astype(numpy.float32)
            picture = Image.new("RGB", (int(size[0]), int(size[1])), (40, 50, 60))
            for box in boxes:
                ImageDraw.Draw(picture).rectangle(box.ravel().tolist(), fill=(230, 180, 90))
            record = {
                "file": f"{number:03}.jpg", "width": picture.width, "height": picture.height,
                "caption": f"{number % 4} × rectangle", "boxes": boxes.reshape(-1, 4).tolist(),
                "score": numpy.asarray(picture).mean() / 255, "embedding": random.normal(size=16).tolist(),
            }  # fmt: skip
            picture.save(folder / record["file"], quality=90)
            lines.write(json.dumps(record, ensure_ascii=False) + "\n")
    damaged = folder / "005.jpg"
    damaged.write_bytes(damaged.read_bytes()[:-400])
    (folder / "009.jpg").unlink()


def values(record):
    """Returns the fields of a sample except the image."""
    return {
        "key": record["file"], "width": record["width"], "height": record["height"],
        "caption": record["caption"], "score": record["score"],
        "boxes": numpy.array(record["boxes"], numpy.float32).reshape(-1, 4),
        "embedding": numpy.array(record["embedding"], numpy.float16),
    }  # fmt: skip


def pack(source, out):
    """Returns the records that were packed, in the order of the shards."""
    packed = []
    with sluice.Writer(out, FIELDS) as writer, open(source / "samples.jsonl", encoding="utf-8") as lines:
        for record in map(json.loads, lines):
            try:
                writer.add(image=(source / record["file"]).read_bytes(), **values(record))
                packed.append(record)
            except (FileNotFoundError, sluice.CorruptError, sluice.UnsupportedError) as error:
                print(f"skipped {record['file']}: {error}")
    return packed


def is_same(stored, record, source):
    before, after = (numpy.asarray(Image.open(file)) for file in (source / record["file"], io.BytesIO(stored["image"])))
    return numpy.array_equal(before, after) and all(
        bytes(stored[name]) == value.tobytes() if isinstance(value, numpy.ndarray) else stored[name] == value
        for name, value in values(record).items()
    )


def open_loader(data):
    view = [T.Resize(SIDE), T.CenterCrop(SIDE), T.Normalize((0.5,) * 3, (0.25,) * 3)]
    return sluice.torch.DataLoader(
        data, batch_size=8, shuffle=True,
        columns={
            "image": C.Image(transform=view),
            "boxes": C.Ragged(length=100),
            "caption": C.Padded(length=32, too_long="truncate"),
            "embedding": C.Tensor(dtype="float32"),
            "score": C.Number(dtype="float32"), "width": C.Number(), "height": C.Number(),
        },
    )  # fmt: skip


def boxes_in_view(batch):
    """Maps boxes to pixels of the batch's images; empty if out of view. Columns that are not declared as boxes do not follow crops."""
    sizes = torch.stack([batch["width"], batch["height"]], 1)
    sizes = sizes.repeat_interleave(batch["boxes.offsets"].diff(), 0)[:, None]
    scale = SIDE / sizes.amin(2, keepdim=True)
    corners = batch["boxes"].unflatten(1, (2, 2)) * scale - (sizes * scale - SIDE) / 2
    return corners.clamp(0, SIDE).flatten(1)


def show(batch):
    for name, column in batch.items():
        print(f"  {name:16} {str(column.dtype).removeprefix('torch.'):8} {tuple(column.shape)}")
    text = batch.texts("caption", errors="ignore")[0]  # truncated at a byte
    boxes = boxes_in_view(batch)[: batch["boxes"].offsets[1]].round().tolist()
    print(f"  sample {batch['index'][0]}: {text!r}, score {batch['score'][0]:.2f}, boxes {boxes}")


def train(loader):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.AvgPool2d(SIDE // 8), torch.nn.Flatten(), torch.nn.Linear(3 * 8 * 8, 1))
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    for epoch in range(5):
        total = 0
        for batch in loader:
            loss = torch.nn.functional.mse_loss(model(batch["image"]).squeeze(1), batch["score"])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += float(loss)
        print(f"epoch {epoch}: squared error {total / len(loader):.4f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", nargs="?", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        source, out = arguments.source or pathlib.Path(folder), arguments.out or pathlib.Path(folder) / "packed"
        if arguments.source is None:
            make_source(source)
        records = pack(source, out)
        data = sluice.Dataset(out)
        different = [record["file"] for sample, record in zip(data, records) if not is_same(sample, record, source)]
        print(f"{len(data)} samples packed, {len(different)} of them differ from the source")
        loader = open_loader(data)
        show(next(iter(loader)))
        train(loader)
    return f"not as in the source: {different}" if different or len(data) != len(records) else 0


if __name__ == "__main__":
    raise SystemExit(main())
