# SPDX-License-Identifier: Apache-2.0
"""Pixels compared with torchvision's functions on Pillow images, through whole loaders: operations with random but fixed
parameters, over images of many kinds. Values that a step draws itself (translations, corners, windows) are searched among all
possible ones."""
import functools
import io
import itertools
import os

import numpy
import pytest

torchvision = pytest.importorskip("torchvision", reason="no torchvision: python3-torchvision is the oracle")
import torch  # noqa: E402
from PIL import Image, ImageFilter  # noqa: E402
from torchvision.transforms import InterpolationMode  # noqa: E402
from torchvision.transforms import functional as F  # noqa: E402

import sluice  # noqa: E402
from sluice import columns as C  # noqa: E402
from sluice import transforms as T  # noqa: E402

ROUNDS = int(os.environ.get("SLUICE_ORACLE_ROUNDS", "6"))  # sets of parameters for each operation
SIZES = [(43, 61), (32, 32), (7, 90), (3, 2), (1, 1)]  # height, width
MODES = {mode: InterpolationMode(mode) for mode in ("nearest", "bilinear", "bicubic", "lanczos")}


def arrays(height, width, random):
    """Noise, smooth, flat, of few colours, of little contrast, grey, with hard edges, and full of 0 and 255."""
    noise = random.integers(0, 256, (height, width, 3))
    x, y = numpy.linspace(0, 255, width), numpy.linspace(0, 255, height)[:, None]
    smooth = numpy.dstack([x + 0 * y, 0 * x + y, (x + y) / 2])
    small = Image.fromarray(random.integers(0, 256, (5, 5, 3), dtype=numpy.uint8))
    yield from (noise, smooth, numpy.asarray(small.resize((width, height), Image.BICUBIC)), noise // 64 * 64, 100 + noise // 8)
    yield from (noise * 0 + random.integers(0, 256, 3), noise * 0, noise * 0 + 255, noise[..., :1] + 0 * noise)
    yield from (noise // 128 * 255, numpy.where(x + 0 * y > 128, 250, 3)[..., None] + 0 * noise, 255 - smooth // 7)
    yield numpy.clip(random.normal(128, 40, (height, width, 3)), 0, 255)


class Pictures:
    """A dataset of images of one size, and the same images for Pillow."""

    def __init__(self, folder, size):
        self.size = size
        made = [numpy.ascontiguousarray(one).astype(numpy.uint8) for one in arrays(*size, numpy.random.default_rng(size))]
        self.pictures = [Image.fromarray(array) for array in made]
        with sluice.Writer(folder, {"image": "image"}) as writer:
            for picture in self.pictures:
                file = io.BytesIO()
                picture.save(file, "PNG")
                writer.add(image=file.getvalue())
        self.data = sluice.Dataset(folder)

    def opened(self, **options):
        small = {"read_buffer_bytes": 1 << 20, "prefetch_factor": 1, "num_workers": 1}  # allocating memory is most of a loader's start
        return sluice.Loader(self.data, batch_size=len(self.pictures), **options, **small)

    def through(self, *transforms, seed=0, exact=True):
        """Returns all images, rows x height x width x 3."""
        with self.opened(transform=[T.CenterCrop(self.size), *transforms], exact=exact, seed=seed) as loader:
            return next(iter(loader))["image"].numpy().copy()

    def through_each(self, chains, exact=True):
        """Returns the same for each chain of transforms, from one loader with a column for each: opening takes longer than 13 small images."""
        columns = {f"image{i}": C.Image("image", transform=[T.CenterCrop(self.size), *chain]) for i, chain in enumerate(chains)}
        with self.opened(columns=columns, exact=exact) as loader:
            batch = next(iter(loader))
            return [batch[name].numpy().copy() for name in columns]


@pytest.fixture(scope="module", params=SIZES, ids=lambda size: "{}x{}".format(*size))
def pictures(request, tmp_path_factory):
    return Pictures(tmp_path_factory.mktemp("oracle") / "pictures", request.param)


@pytest.fixture(scope="module")
def photos_like(tmp_path_factory):
    return Pictures(tmp_path_factory.mktemp("oracle") / "pictures", SIZES[0])


@pytest.fixture
def random(request):
    return numpy.random.default_rng(sum(request.node.name.encode()))


def single(value):
    """Rounds to binary32, like the library's factors."""
    return float(numpy.float32(value))


def solarize_add(picture, add, threshold):
    array = numpy.asarray(picture).astype(int)
    return Image.fromarray(numpy.where(array < threshold, numpy.minimum(array + add, 255), array).astype(numpy.uint8))


def as_jpeg(picture, quality):
    file = io.BytesIO()
    picture.save(file, "JPEG", quality=quality)
    return Image.open(file).convert("RGB")


def jitter(name):
    return lambda value: T.ColorJitter(**{name: (value, value)})


# Name: (drawn values, the transform for them, torchvision's or Pillow's function)
POINTS = {
    "brightness": (lambda r: single(r.choice([0, 1, r.uniform(0, 3)])), jitter("brightness"), F.adjust_brightness),
    "contrast": (lambda r: single(r.choice([0, 1, r.uniform(0, 3)])), jitter("contrast"), F.adjust_contrast),
    "saturation": (lambda r: single(r.choice([0, 1, r.uniform(0, 3)])), jitter("saturation"), F.adjust_saturation),
    "hue": (lambda r: single(r.choice([-0.5, 0.5, r.uniform(-0.5, 0.5)])), jitter("hue"), F.adjust_hue),
    "posterize": (lambda r: int(r.integers(0, 9)), lambda v: T.RandomPosterize(v, 1), F.posterize),
    "solarize": (lambda r: int(r.integers(0, 257)), lambda v: T.RandomSolarize(v, 1), F.solarize),
    "grey": (lambda r: 3, T.Grayscale, F.to_grayscale),
    "invert": (lambda r: 1, T.RandomInvert, lambda picture, _: F.invert(picture)),
    "autocontrast": (lambda r: 1, T.RandomAutocontrast, lambda picture, _: F.autocontrast(picture)),
    "equalize": (lambda r: 1, T.RandomEqualize, lambda picture, _: F.equalize(picture)),
    "solarize_add": (
        lambda r: (int(r.integers(0, 256)), int(r.integers(0, 257))), lambda v: T.RandomSolarizeAdd(*v, p=1),
        lambda picture, v: solarize_add(picture, *v),
    ),
    "flip": (lambda r: 1, T.RandomHorizontalFlip, lambda picture, _: F.hflip(picture)),
    "vertical_flip": (lambda r: 1, T.RandomVerticalFlip, lambda picture, _: F.vflip(picture)),
}  # fmt: skip
STENCILS = {
    "sharpness": (lambda r: single(r.choice([0, 1, r.uniform(0, 5)])), lambda v: T.RandomAdjustSharpness(v, 1), F.adjust_sharpness),
    "pillow_blur": (
        lambda r: single(r.choice([0, 0.1, r.uniform(0, 3), r.uniform(0, 60)])), T.PillowGaussianBlur,
        lambda picture, radius: picture.filter(ImageFilter.GaussianBlur(radius)),
    ),
    "jpeg": (lambda r: int(r.integers(1, 101)), T.JPEG, as_jpeg),
}  # fmt: skip


def differences(made, expected):
    return numpy.abs(made.astype(int) - numpy.stack([numpy.asarray(picture) for picture in expected]))


def check(pictures, cases, most=0, exact=True):
    """cases: transforms, the oracle function of an image, and the message if they differ by more than `most`."""
    for pixels, (_, function, what) in zip(pictures.through_each([steps for steps, _, _ in cases], exact), cases):
        assert differences(pixels, [function(picture) for picture in pictures.pictures]).max() <= most, what


@pytest.mark.parametrize("name", [*POINTS, *STENCILS])
def test_points_and_stencils_are_equal(pictures, random, name):
    draw, transform, function = (POINTS | STENCILS)[name]
    values = {draw(random) for _ in range(ROUNDS)}
    check(pictures, [([transform(value)], functools.partial(lambda value, picture: function(picture, value), value), value) for value in values])


def test_chains_of_points_are_equal(pictures, random):
    """Also if the library merges several into one pass, and without `exact`."""
    known = {**POINTS, "sharpness": STENCILS["sharpness"]}

    def applied_in_turn(chain, picture):
        for name, value in chain:
            picture = known[name][2](picture, value)
        return picture

    cases = {False: [], True: []}
    for _ in range(3 * ROUNDS):
        chain = [(name, known[name][0](random)) for name in random.choice(list(known), random.integers(2, 8))]
        steps = [known[name][1](value) for name, value in chain]
        cases[bool(random.integers(2))].append((steps, functools.partial(applied_in_turn, chain), chain))
    for exact, some in cases.items():
        check(pictures, some, exact=exact)


def test_gaussian_blur_within_1(pictures, random):
    height, width = pictures.size
    for _ in range(ROUNDS):
        kernel = [int(2 * random.integers(0, min(side, 16)) + 1) for side in (width, height)]
        kernel = [min(size, 2 * side - 1) for size, side in zip(kernel, (width, height))]  # torchvision rejects wider ones
        sigma = single(random.uniform(0.1, 5))
        expected = [F.gaussian_blur(picture, kernel, [sigma, sigma]) for picture in pictures.pictures]
        found = differences(pictures.through(T.GaussianBlur(kernel, sigma)), expected)
        assert found.max() <= 1 and (found > 0).sum() <= 2 + 0.01 * found.size, (kernel, sigma)


def limit(mode):
    return 0 if mode == "nearest" else 1


@pytest.mark.parametrize("mode", MODES)
def test_resizes(pictures, random, mode):
    height, width = pictures.size
    sizes = [[int(random.integers(1, 100)), int(random.integers(1, 100))] for _ in range(ROUNDS)]
    cases = []
    for size in sizes:
        resized = functools.partial(F.resize, size=size, interpolation=MODES[mode])
        cases.append(([T.Resize(size, mode)], resized, size))
        cases.append(([T.RandomResizedCrop(size, (1, 1), (width / height,) * 2, mode)], resized, size))
    check(pictures, cases, limit(mode))


@pytest.mark.parametrize("mode", MODES)
def test_resizes_of_the_shorter_side(pictures, random, mode):
    def cropped(size, most, crop, picture):
        return F.center_crop(F.resize(picture, size, MODES[mode], most), crop)

    cases = []
    for _ in range(ROUNDS):
        size, crop = int(random.integers(1, 60)), [int(random.integers(1, 80)), int(random.integers(1, 80))]
        most = size + int(random.integers(1, 40)) if random.integers(2) else None
        shorter = T.Resize(size, mode, most) if most or random.integers(2) else T.RandomResize(size, size, mode)
        longer = size * max(pictures.size) // min(pictures.size)
        if most and longer > most * size:
            continue  # the shorter side would vanish, which Pillow rejects
        cases.append(([shorter, T.CenterCrop(crop)], functools.partial(cropped, size, most, crop), (size, most, crop)))
    check(pictures, cases, limit(mode))


def test_padding_is_equal(pictures, random):
    cases = []
    for _ in range(ROUNDS):
        mode = str(random.choice(["constant", "edge", "reflect", "symmetric"]))
        sides = [int(side) for side in random.integers(0, 80 if random.integers(2) else 3, 4)]
        fill = tuple(int(value) for value in random.integers(0, 256, 3)) if random.integers(2) else int(random.integers(0, 256))
        if mode == "reflect" and 1 in pictures.size:
            continue  # too small to mirror, an error in numpy
        padded = functools.partial(F.pad, padding=sides, fill=fill, padding_mode=mode)
        cases.append(([T.Pad(sides, fill, mode)], padded, (mode, sides, fill)))
    check(pictures, cases)


@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic"])
def test_rotations(pictures, random, mode):
    cases = []
    for _ in range(ROUNDS):
        angle = float(random.choice([0, 90, 180, -90, 45, random.uniform(-360, 360), random.uniform(-1, 1)]))
        fill = [int(value) for value in random.integers(0, 256, 3)]
        rotated = functools.partial(F.rotate, angle=angle, interpolation=MODES[mode], fill=fill)
        cases.append(([T.RandomRotation((angle, angle), mode, fill=fill)], rotated, angle))
    check(pictures, cases, limit(mode))


def affine_case(angle, scale, shear, mode):
    step = T.RandomAffine((angle, angle), None, (scale, scale), [shear[0]] * 2 + [shear[1]] * 2, mode, 7)
    function = functools.partial(F.affine, angle=angle, translate=[0, 0], scale=scale, shear=[*shear], interpolation=MODES[mode], fill=7)
    return [step], function, (angle, scale, shear)


@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic"])
def test_affine_maps(pictures, random, mode):
    cases = []
    for _ in range(ROUNDS):
        angle, scale = float(random.uniform(-180, 180)), float(random.uniform(0.3, 3))
        shear = [float(random.uniform(-60, 60)), float(random.uniform(-60, 60))]
        cases.append(affine_case(angle, scale, shear, mode))
    check(pictures, cases, limit(mode))


@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic"])
def test_affine_maps_of_round_angles(pictures, mode):
    """Their positions are on edges and centres of pixels: so the matrix must equal torchvision's to the last bit."""
    shears = [(45, 0), (0, 45), (-45, 0), (45, -45), (30, 0), (0, -60), (45, 30)]
    check(pictures, [affine_case(*map_of, shear, mode) for shear in shears for map_of in ((0, 1), (45, 1), (90, 0.5), (-135, 2))], limit(mode))


# ---- a drawn result is one of all possible ones ----


def check_drawn(pictures, transform, candidates, most=0, seeds=3, ties=0):
    """`candidates`: functions of an image; each row equals one of them, except `ties` pixels. Returns those that occurred.

    Only every other image is used: most of the others are smooth or flat, and distinguish few candidates."""
    met = set()
    rows = [pictures.through(*transform, seed=seed).astype(numpy.int16) for seed in range(seeds)]
    for number, picture in [*enumerate(pictures.pictures)][::2]:
        expected = numpy.stack([numpy.asarray(function(picture)) for function in candidates]).astype(numpy.int16)
        for row in (made[number] for made in rows):
            same = (expected == row).all((1, 2, 3))
            if same.any():
                met.add(int(same.argmax()))
                continue
            wrong = (numpy.abs(expected - row).max(3) > most).sum((1, 2))
            assert wrong.min() <= ties
            met.add(int(wrong.argmin()))
    return met


@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic"])
def test_translations(photos_like, mode):
    step = T.RandomAffine(0, (2 / 61, 2 / 43), interpolation=mode)
    by = itertools.product(range(-2, 3), repeat=2)
    met = check_drawn(photos_like, [step], [lambda p, by=by: F.affine(p, 0.0, list(by), 1.0, [0, 0], MODES[mode]) for by in by], limit(mode), 12)
    assert len(met) > 8


def perspective(starts, ends):
    """torchvision's _get_perspective_coeffs, in binary64 as since 0.17: before that it was accurate to about 1e-4."""
    rows = []
    for (x, y), (u, v) in zip(ends, starts):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
    return numpy.linalg.solve(numpy.array(rows, float), numpy.array(starts, float).ravel())


@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic"])
def test_perspectives(photos_like, mode):
    def moved(by):
        corners = [[0, 0], [60, 0], [60, 42], [0, 42]]
        ends = [[x - dx if x else dx, y - dy if y else dy] for (x, y), (dx, dy) in zip(corners, zip(by[::2], by[1::2]))]
        numbers, way = perspective(corners, ends), getattr(Image, mode.upper())
        return lambda picture: picture.transform((61, 43), Image.PERSPECTIVE, numbers, way, fillcolor=(9, 9, 9))

    candidates = [moved(by) for by in itertools.product(range(2), repeat=8)]  # 0.05 of half a side: a pixel
    step = T.RandomPerspective(0.05, 1, mode, 9)
    # a row or a column halfway between pixels, or at the border, depends on the last bit of the solution
    assert len(check_drawn(photos_like, [step], candidates, limit(mode), ties=43 + 61)) > 10


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "symmetric"])
def test_windows(photos_like, mode):
    def window(at):
        return lambda picture: F.crop(F.pad(picture, [2, 1], 9, mode), *at, 43, 61)

    candidates = [window(at) for at in itertools.product(range(3), range(5))]
    assert len(check_drawn(photos_like, [T.RandomCrop((43, 61), (2, 1), fill=9, padding_mode=mode)], candidates)) > 6
    needed = [lambda p, at=at: F.crop(F.pad(p, [3, 2], 9, mode), *at, 45, 64) for at in itertools.product(range(3), range(4))]
    assert len(check_drawn(photos_like, [T.RandomCrop((45, 64), None, True, 9, mode)], needed)) > 6


def on_canvas(picture, size, at, fill):
    canvas = Image.new("RGB", size[::-1], fill)
    canvas.paste(picture, at)
    return canvas


def resized_on_canvas(new, mode, size, at, fill):
    return lambda picture: on_canvas(F.resize(picture, new, MODES[mode]), size, at, fill)


@pytest.mark.parametrize("mode", MODES)
def test_letter_boxes(pictures, random, mode):
    height, width = pictures.size
    cases = []
    for _ in range(ROUNDS // 2):
        size, fill = [int(side) for side in random.integers(1, 120, 2)], tuple(int(value) for value in random.integers(0, 256, 3))
        enlarge, corner = bool(random.integers(2)), bool(random.integers(2))
        ratio = min(size[0] / height, size[1] / width, 1e9 if enlarge else 1)
        new = [max(round(side * ratio), 1) for side in (height, width)]
        left, top = (0 if corner else (size[i] - new[i]) // 2 for i in (1, 0))
        letter_box = T.LetterBox(size, fill, enlarge, "top-left" if corner else "center", mode)
        cases.append(([letter_box], resized_on_canvas(new, mode, size, (left, top), fill), (size, enlarge, corner)))
    for exact in (False, True):
        check(pictures, cases, limit(mode), exact)


@pytest.mark.parametrize("mode", MODES)
def test_scales_and_shortest_sizes(pictures, random, mode):
    height, width = pictures.size
    cases = []
    for _ in range(ROUNDS // 2):
        size, scale = [int(side) for side in random.integers(1, 90, 2)], float(random.uniform(0.2, 1.5))
        shortest, most = int(random.integers(1, 90)), int(random.integers(1, 120))
        jitter = T.ScaleJitter(size, (scale, scale), mode), min(size[0] / height, size[1] / width) * scale
        shorter = T.RandomShortestSize(shortest, most, mode), min(shortest / min(height, width), most / max(height, width))
        for step, ratio in (jitter, shorter):
            new = [max(int(side * ratio), 1) for side in (height, width)]
            whole = [new[0] + 3, new[1] + 5]
            function = resized_on_canvas(new, mode, whole, (0, 0), (9, 8, 7))
            cases.append(([step, T.FixedSizeCrop(whole, (9, 8, 7))], function, (step, new)))
    check(pictures, cases, limit(mode))


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "symmetric"])
def test_windows_of_fixed_size(photos_like, mode):
    inside = [lambda p, at=at: F.crop(p, *at, 40, 57) for at in {(int(3 * r / 99), int(4 * r / 99)) for r in range(99)}]
    assert len(check_drawn(photos_like, [T.FixedSizeCrop((40, 57))], inside)) > 4
    padded = [lambda p, top=top: F.pad(F.crop(p, top, 0, 40, 61), [0, 0, 19, 0], 9, mode) for top in range(3)]
    assert len(check_drawn(photos_like, [T.FixedSizeCrop((40, 80), 9, mode)], padded)) == 3
    smaller = [lambda p: F.pad(p, [0, 0, 39, 57], 9, mode)]
    check_drawn(photos_like, [T.FixedSizeCrop(100, 9, mode)], smaller)


def test_zooming_out(photos_like):
    larger = [int(43 * 1.1), int(61 * 1.1)]
    places = itertools.product(range(larger[1] - 61), range(larger[0] - 43))
    candidates = [lambda p, at=at: on_canvas(p, larger, at, (9, 8, 7)) for at in places]
    assert len(check_drawn(photos_like, [T.RandomZoomOut((9, 8, 7), (1.1, 1.1), 1), T.FixedSizeCrop(larger)], candidates)) > 10
    check_drawn(photos_like, [T.RandomZoomOut(9, p=0), T.FixedSizeCrop((43, 61))], [lambda p: p])


def test_iou_crops_without_boxes(photos_like):
    check_drawn(photos_like, [T.RandomIoUCrop(), T.FixedSizeCrop((43, 61))], [lambda p: p])


def test_channels(photos_like):
    orders = [lambda p, order=order: numpy.asarray(p)[..., list(order)] for order in itertools.permutations(range(3))]
    assert len(check_drawn(photos_like, [T.RandomChannelPermutation()], orders)) > 3


def test_groups(photos_like):
    """One of three as a choice, both in one of two orders, all or nothing."""
    grey, bits = T.Grayscale(3), T.RandomPosterize(2, p=1)
    hue = T.ColorJitter(hue=(0.25, 0.25))

    def does(*functions):
        def call(picture):
            for function in functions:
                picture = function(picture)
            return picture

        return call

    to_grey, to_bits, turned = lambda p: F.to_grayscale(p, 3), lambda p: F.posterize(p, 2), lambda p: F.adjust_hue(p, 0.25)
    choice = T.RandomChoice([grey, [hue, bits], T.Compose([bits, hue])])
    assert len(check_drawn(photos_like, [choice], [does(to_grey), does(turned, to_bits), does(to_bits, turned)])) == 3
    check_drawn(photos_like, [T.RandomChoice([grey, hue], p=[0, 3])], [does(turned)])
    assert len(check_drawn(photos_like, [T.RandomOrder([bits, hue])], [does(turned, to_bits), does(to_bits, turned)])) == 2
    assert len(check_drawn(photos_like, [T.RandomApply([bits, hue])], [does(), does(to_bits, turned)])) == 2


# ---- policies: torchvision's own tables list the possible draws ----

autoaugment = pytest.importorskip("torchvision.transforms.autoaugment")


def applied(name, magnitude, mode="nearest", fill=None):
    return lambda picture: autoaugment._apply_op(picture, name, magnitude, MODES[mode], fill)


def signed(name, magnitude, is_signed):
    return [(name, magnitude), (name, -magnitude)] if is_signed else [(name, magnitude)]


@pytest.mark.parametrize("magnitude", [0, 9, 30])
@pytest.mark.parametrize("mode", ["nearest", "bilinear"])
def test_rand_augment(photos_like, magnitude, mode):
    space = autoaugment.RandAugment()._augmentation_space(31, (43, 61))
    known = [
        applied(*one, mode)
        for name, (levels, is_signed) in space.items()
        for one in signed(name, float(levels[magnitude]) if levels.ndim else 0.0, is_signed)
    ]
    assert len(check_drawn(photos_like, [T.RandAugment(1, magnitude, interpolation=mode)], known, limit(mode), 10)) > (5 if magnitude else 3)


def test_trivial_augment_wide(photos_like):
    space = autoaugment.TrivialAugmentWide()._augmentation_space(31)
    known = [
        applied(*one)
        for name, (levels, is_signed) in space.items()
        for level in (levels.tolist() if levels.ndim else [0.0])
        for one in signed(name, float(level), is_signed)
    ]
    assert len(check_drawn(photos_like, [T.TrivialAugmentWide()], known, 0, 10)) > 20


@pytest.mark.parametrize("policy", ["imagenet", "cifar10", "svhn"])
def test_auto_augment(photos_like, policy):
    made = autoaugment.AutoAugment(autoaugment.AutoAugmentPolicy(policy))
    space = made._augmentation_space(10, (43, 61))

    def options(name, p, level):
        levels, is_signed = space[name]
        done = [applied(*one) for one in signed(name, float(levels[level]) if level is not None else 0.0, is_signed)]
        return [*done, *([lambda picture: picture] if p < 1 else [])]

    known = [
        lambda picture, first=first, second=second: second(first(picture))
        for one, other in made.policies
        for first in options(*one)
        for second in options(*other)
    ]
    assert len(check_drawn(photos_like, [T.AutoAugment(policy)], known, 0, 10)) > 15


def test_erasing(photos_like):
    """A rectangle of the value, and all other pixels unchanged."""
    rows = photos_like.through(T.RandomErasing(1, value=(1, 2, 3)))
    erased = 0
    for row, picture in zip(rows, photos_like.pictures):
        changed = (row != numpy.asarray(picture)).any(2)
        y, x = numpy.nonzero(changed)
        if not len(y):
            continue  # ten tries found none
        part = row[y.min() : y.max() + 1, x.min() : x.max() + 1]
        assert (part == (1, 2, 3)).all() and 0.01 < part.shape[0] * part.shape[1] / changed.size < 0.35
        erased += 1
    assert erased > 8


def elastic_field(transform, height, width, seed):
    """Returns dx and dy in pixels, to a sixteenth, from a transformed ramp of 8 per pixel. NaN: unknown, from outside or near it."""
    x, y = numpy.meshgrid(numpy.arange(width), numpy.arange(height))
    made = transform(numpy.dstack([20 + 8 * x, 20 + 8 * y, 0 * x + 255]).astype(numpy.uint8), seed=seed).astype(float)
    inside = (made[..., 2] == 255) & (made[..., 0] > 20) & (made[..., 1] > 20)
    return [numpy.where(inside, (made[..., c] - 20) / 8 - at, numpy.nan) for c, at in enumerate((x, y))]


@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
def test_elastic_pixels_of_the_same_field(mode):
    """The field is measured from a ramp, and passed to torchvision's function."""
    height, width = 26, 29
    x, y = numpy.meshgrid(numpy.arange(width), numpy.arange(height))
    smooth = numpy.dstack([120 + 100 * numpy.sin(x / 9), 120 + 100 * numpy.cos(y / 8), 4 * x + 4 * y]).astype(numpy.uint8)
    for seed in range(6):
        dx, dy = elastic_field(T.ElasticTransform(80.0, 4.0), height, width, seed)
        known = ~numpy.isnan(dx + dy)
        field = torch.tensor(numpy.dstack([dx * 2 / width, dy * 2 / height])[None].astype("float32")).nan_to_num()
        tensor = torch.from_numpy(smooth).permute(2, 0, 1)
        expected = F.elastic_transform(tensor, field, InterpolationMode(mode), [0.0]).permute(1, 2, 0).numpy().astype(int)
        got = T.ElasticTransform(80.0, 4.0, mode)(smooth, seed=seed).astype(int)
        off = abs(got - expected)[known]
        assert known.mean() > 0.5 and abs(dx[known]).max() > 1
        assert off.max() <= (2 if mode == "bilinear" else 13)  # 13 per pixel is the steepest: positions between two may round either way
        assert (off > 2).mean() < 0.1


def test_elastic_fields_are_distributed_as_torchvisions():
    """Deviation, smoothness, and the scale of an image that is not square."""
    height, width, sigma = 22, 29, [2.0, 3.0]
    draw = T.ElasticTransform([40.0, 30.0], sigma)
    inner = slice(5, -5)
    ours = numpy.array([[one[inner, inner] for one in elastic_field(draw, height, width, seed)] for seed in range(40)])
    theirs = [torchvision.transforms.ElasticTransform.get_params([40.0, 30.0], sigma, [height, width])[0] for _ in range(200)]
    theirs = torch.stack(theirs).permute(0, 3, 1, 2).numpy()[:, :, inner, inner] * (numpy.array([width, height]) / 2)[:, None, None]
    assert numpy.isfinite(ours).mean() > 0.99
    ours = numpy.nan_to_num(ours)
    for axis in (0, 1):
        a, b = ours[:, axis], theirs[:, axis]
        assert abs(a.mean()) < 0.15 * b.std() and abs(a.std() / b.std() - 1) < 0.15
        for lag in ((0, 2), (2, 0)):
            down, across = lag
            smooth = [(one[:, down:, across:] * one[:, : one.shape[1] - down, : one.shape[2] - across]).mean() / one.var() for one in (a, b)]
            assert abs(smooth[0] - smooth[1]) < 0.08
