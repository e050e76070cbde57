# SPDX-License-Identifier: Apache-2.0
"""A program that uses the package, for mypy and pyright: correct lines have types, and each marked mistake is found."""
from typing import Any

import numpy

import sluice
import sluice.torch
from sluice import transforms as T

data = sluice.Dataset("photos")
count: int = len(data)
sample = data[0]
pixels: numpy.ndarray[Any, Any] | None = data.decode(0)
loader = sluice.Loader(data, batch_size=8, shuffle=True, transform=[T.RandomResizedCrop(224), T.Normalize([0.5] * 3, [0.2] * 3)])
for batch in loader:
    index: int = batch.index
state = loader.state_dict()
loader.load_state_dict(state)
made: int = sluice.pack(data, "packed").samples
files: int = sluice.unpack(data, "files", tar=True, shard_samples=10).files
with sluice.Writer("w", {"x": "int"}) as writer:
    writer.add(x=1)
with sluice.Loader("packed", columns={"a": sluice.columns.Image("image", transform=T.RandomCrop(8))}) as other:
    print(other.remaining)
with sluice.profile(loader) as profile:
    print(profile.limit)
local: int | None = sluice.ranks(model_parallel=2).local_rank
sluice.Loader(data, exact=True, io_depth=4, weights=[1.0, 2.0], num_samples=10, limits={"max_pixels": 1000})
sluice.Loader(data, io_dept=4)  # type: ignore[call-arg]
sluice.Loader(data, batch_sise=8)  # type: ignore[call-arg]
sluice.Loader(5)  # type: ignore[arg-type]
T.RandomHorizontalFlip("x")  # type: ignore[arg-type]
data.decode("a")  # type: ignore[arg-type]
sluice.torch.DataLoader(data, "8")  # type: ignore[arg-type]
strong = T.Compose([T.RandomApply([T.ColorJitter(0.4, (0.6, 1.4), hue=0.1)], p=0.8), T.RandAugment.timm("rand-m9-mstd0.5-inc1"), T.GaussianBlur(9)])
T.RandomChoice([strong, [T.Grayscale(3), T.RandomErasing(value="random")]], p=[1, 2])
T.presets.deit3(192, simple_crop=True, num_classes=1000).transforms
for image, number in zip(data, range(3)):
    print(image.keys(), number)
jitter: float = T.RandomSolarize(128).threshold
size: tuple[int, int] = T.CenterCrop(224).size
rank: int = loader.rank
T.RandomRotation("x")  # type: ignore[arg-type]
T.Pad(3, fill="white")  # type: ignore[arg-type]
