#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares detection steps (augment_detection_draws) with a second implementation of the rules of torchvision's references
and v2, and of ultralytics' LetterBox: from the random numbers that the program prints, both must get the same sizes and
positions. Also moves boxes through random steps, one at a time. The seeds are fixed."""
import math
import random
import subprocess
import sys

ROUNDS = 700
OPTIONS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)


class Program:
    def __init__(self, path):
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def tell(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")

    def line(self):
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, "the program has ended"
        return line.strip()

    def step(self, name, sample, count, *arguments):
        self.tell("step", name, sample, count, *arguments)
        return Numbers(map(int, self.line().split())), Drawn(self.line())


class Numbers:
    """torch.rand and torch.randint, of given numbers of 32 bits."""

    def __init__(self, numbers):
        self.numbers = iter(numbers)

    def rand(self):
        return ((next(self.numbers) << 32 | next(self.numbers)) >> 11) * 2.0**-53

    def between(self, low, high):
        return low + (high - low) * self.rand()

    def below(self, bound):  # Lemire's
        while True:
            product = next(self.numbers) * bound
            if product % 2**32 >= 2**32 % bound:
                return product >> 32


class Drawn:
    """What the program says of the last box: all that a step has drawn, if nothing was drawn before."""

    def __init__(self, line):
        numbers = list(map(int, line.split()))
        self.size, self.passes = tuple(numbers[:2]), numbers[2]
        self.source, self.raster, self.window, self.fill = (tuple(numbers[a:b]) for a, b in ((3, 7), (7, 9), (9, 11), (11, 14)))


def some_size(r, most=3000):
    return tuple(r.choice([1, 2, 3, r.randint(1, 60), r.randint(1, most)]) for _ in range(2))


def judge_shortest_sizes(program, r):
    for sample in range(ROUNDS):
        width, height = some_size(r)
        sizes = [r.randint(1, 1500) for _ in range(r.choice([1, 1, 2, 5, 14]))]
        most = r.choice([0, r.randint(1, 2000)])
        program.tell("begin", width, height, 0)
        numbers, drawn = program.step("random_shortest_size", sample, 8, most, 1, *sizes)
        ratio = sizes[numbers.below(len(sizes))] / min(height, width)
        if most:
            ratio = min(ratio, most / max(height, width))
        expected = tuple(max(int(side * ratio), 1) for side in (width, height))
        assert drawn.size == drawn.raster == expected and drawn.passes == 0, (width, height, sizes, most, vars(drawn))


def judge_letter_boxes(program, r):
    centered = 0
    for sample in range(ROUNDS):
        width, height = some_size(r)
        wanted = r.choice([(640, 640), some_size(r, 1500)])
        enlarge, corner, fill = r.randint(0, 1), r.randint(0, 1), [r.randint(0, 255) for _ in range(3)]
        program.tell("begin", width, height, 0)
        _, drawn = program.step("letter_box", sample, 0, *wanted, *fill, enlarge, corner)
        ratio = min(wanted[1] / height, wanted[0] / width)
        if not enlarge:
            ratio = min(ratio, 1.0)
        new = tuple(max(int(round(side * ratio)), 1) for side in (width, height))
        left, top = wanted[0] - new[0], wanted[1] - new[1]
        before, behind = [(0, left), (0, top)], []
        if not corner:
            pads = [d / 2 for d in (left, top)]
            before = [(int(round(d - 0.1)), int(round(d + 0.1))) for d in pads]
            centered += any(first != last for first, last in before)
        assert all(a + b + side == want for (a, b), side, want in zip(before, new, wanted)), (before, new, wanted)
        assert drawn.size == wanted and drawn.raster == new and drawn.passes == 0, (width, height, wanted, vars(drawn))
        assert drawn.window == tuple(-a for a, _ in before), (width, height, wanted, vars(drawn))
        assert drawn.fill == (tuple(fill) if new != wanted else (0, 0, 0))
    assert centered > 100


def judge_scale_jitter(program, r):
    for sample in range(ROUNDS):
        width, height = some_size(r)
        wanted, scale = r.choice([(1024, 1024), some_size(r, 1500)]), sorted(r.choice([0.1, 2.0, r.uniform(0.001, 5)]) for _ in range(2))
        program.tell("begin", width, height, 0)
        numbers, drawn = program.step("scale_jitter", sample, 2, *wanted, *map(repr, scale))
        ratio = min(wanted[1] / height, wanted[0] / width) * min(numbers.between(*scale), scale[1])
        expected = tuple(max(int(side * ratio), 1) for side in (width, height))
        assert drawn.size == drawn.raster == expected and drawn.passes == 0, (width, height, wanted, vars(drawn))


def judge_fixed_size_crops(program, r):
    for sample in range(ROUNDS):
        width, height = some_size(r, 800)
        wanted, mode = some_size(r, 800), r.choice([0, 0, 1, 2, 3])
        program.tell("begin", width, height, 0)
        numbers, drawn = program.step("fixed_size_crop", sample, 2, *wanted, mode, 5, 6, 7)
        number = numbers.rand()
        kept = min(width, wanted[0]), min(height, wanted[1])
        at = tuple(int(max(side - want, 0) * number) for side, want in zip((width, height), wanted))
        found = tuple(a + b for a, b in zip(drawn.source[:2], drawn.window))
        assert drawn.size == wanted and found == at, (width, height, wanted, mode, vars(drawn))
        assert drawn.passes == (mode > 0 and kept != wanted)
        assert drawn.fill == ((5, 6, 7) if mode == 0 and kept != wanted else (0, 0, 0))


def place_in_mosaic(grid, member, size, new, point):
    """The corner of one of the pictures, which is `new` large."""
    if grid == 2:
        return tuple(at if member >> axis & 1 else at - side for axis, (at, side) in enumerate(zip(point, new)))
    cell = [(1, 1), (1, 0), (2, 0), (2, 1), (2, 2), (1, 2), (0, 2), (0, 1), (0, 0)][member]
    inside = [(size - side, (size - side) // 2, 0)[c] for c, side in zip(cell, new)]
    return tuple(c * size + left - at for c, left, at in zip(cell, inside, point))


def judge_mosaics(program, r):
    done = 0
    for sample in range(ROUNDS):
        size, grid, p, end = r.choice([640, r.randint(1, 900)]), r.choice([2, 3]), r.choice([0.0, 0.5, 1.0, 1.0]), r.choice([0, 0, 5])
        epoch = r.randint(0, 9)
        for member in r.sample(range(grid * grid), 3):
            width, height = some_size(r)
            program.tell("begin", width, height, 0)
            program.tell("member", member, epoch)
            numbers, drawn = program.step("mosaic", sample, 6, size, grid, 1, 2, 3, p, end)
            program.tell("trail")
            *matrix, absent = map(float, program.line().split())
            is_mosaic = numbers.rand() < p and not (end and epoch >= end)
            ratio = size / max(width, height)
            if is_mosaic:
                done += 1
                new = tuple(min(max(math.ceil(side * ratio), 1), size) for side in (width, height))
                first = size / 2 if grid == 2 else 0
                y, x = (int(numbers.between(first, first + size)) for _ in range(2))
                at = place_in_mosaic(grid, member, size, new, (x, y))
            else:
                new = tuple(min(max(round(side * ratio), 1), size) for side in (width, height))
                at = (2 * size, 2 * size) if member else tuple(size // 2 + int(round((size - side) / 2 - 0.1)) for side in new)
            assert drawn.size == (2 * size, 2 * size) and drawn.raster == new and drawn.passes == 0
            assert absent == (member > 0 and not is_mosaic)
            assert (matrix[2], matrix[5]) == at, (width, height, size, grid, member, matrix, at)
            assert abs(matrix[0] - new[0] / width) < 1e-12 and abs(matrix[4] - new[1] / height) < 1e-12
    assert done > ROUNDS


def judge_zoom_outs(program, r):
    done = 0
    for sample in range(ROUNDS):
        width, height = some_size(r)
        side, p = sorted(r.choice([1, 4, r.uniform(1, 9)]) for _ in range(2)), r.choice([0.0, 0.5, 1.0])
        program.tell("begin", width, height, 0)
        numbers, drawn = program.step("random_zoom_out", sample, 8, *map(repr, side), p, 1, 2, 3)
        if numbers.rand() >= p:
            assert drawn.size == (width, height) and drawn.window == (0, 0)
            continue
        done += 1
        ratio = min(numbers.between(*side), side[1])
        canvas = int(width * ratio), int(height * ratio)
        left, top = (int((c - s) * numbers.rand()) for c, s in zip(canvas, (width, height)))
        assert drawn.size == canvas and drawn.window == (-left, -top) and drawn.passes == 0, (width, height, side, vars(drawn))
    assert done > ROUNDS / 3


# ---- boxes ----


def clipped(box, size):
    box = [max(box[0], 0), max(box[1], 0), min(box[2], size[0]), min(box[3], size[1])]
    return box if box[0] <= box[2] and box[1] <= box[3] else None


def center_iou(box, window):
    """None where the centre is not inside."""
    x, y = 0.5 * (box[0] + box[2]), 0.5 * (box[1] + box[3])
    if not (window[0] < x < window[2] and window[1] < y < window[3]):
        return None
    across, down = (min(box[i + 2], window[i + 2]) - max(box[i], window[i]) for i in (0, 1))
    areas = [(b[2] - b[0]) * (b[3] - b[1]) for b in (box, window)]
    return across * down / (sum(areas) - across * down)


def iou_crop(numbers, size, boxes, scale, aspect, trials, options, close):
    """torchvision's RandomIoUCrop, ended after 50 options: (left, top, width, height), or None: as it is."""
    width, height = size
    for _ in range(50 if boxes else 0):
        option = options[numbers.below(len(options))]
        if option >= 1.0:
            return None
        for _ in range(trials):
            new = [int(side * min(numbers.between(*scale), scale[1])) for side in (width, height)]
            if not all(new) or not aspect[0] <= new[0] / new[1] <= aspect[1]:
                continue
            left, top = (int((side - part) * numbers.rand()) for side, part in zip(size, new))
            window = left, top, left + new[0], top + new[1]
            overlaps = [iou for box in boxes if (iou := center_iou(box, window)) is not None]
            if overlaps:
                close.append(abs(max(overlaps) - option))
            if overlaps and max(overlaps) >= option:
                return left, top, *new
    return None


def some_boxes(r, width, height, count):
    made = []
    for _ in range(count):
        x, y = (sorted(r.uniform(-0.1, 1.1) * side for _ in range(2)) for side in (width, height))
        made.append([round(value * 8) / 8 for value in (x[0], y[0], x[1], y[1])])  # as float32 has them
    return made


def judge_iou_crops(program, r):
    outcomes = {"cut": 0, "as it is": 0}
    for sample in range(ROUNDS // 2):
        width, height = r.randint(1, 900), r.randint(1, 700)
        boxes = some_boxes(r, width, height, r.choice([0, 1, 2, 5, 30]))
        scale, aspect = r.choice([((0.3, 1.0), (0.5, 2.0)), ((0.1, 0.2), (1.0, 1.5)), ((0.9, 0.9), (0.01, 100.0))])
        options = r.choice([OPTIONS, (0.5,), (0.0,), (0.99, 0.7), (0.2, 1.0)])
        trials = r.choice([40, 3])
        program.tell("begin", width, height, 0, *sum(boxes, []))
        options = r.sample(options, len(options))
        numbers, drawn = program.step("random_iou_crop", sample, 17000 if boxes else 1, *scale, *aspect, trials, *options)
        close = []
        there = [box for box in (clipped(box, (width, height)) for box in boxes) if box]
        crop = iou_crop(numbers, (width, height), there if boxes else [], scale, aspect, trials, options, close)
        outcomes["as it is" if crop is None else "cut"] += 1
        expected = crop or (0, 0, width, height)
        if min(close, default=1) > 1e-6:  # else a last bit decides
            assert drawn.source == expected and drawn.size == expected[2:], (width, height, boxes, options, crop, vars(drawn))
    assert min(outcomes.values()) > ROUNDS // 16, outcomes


def bounds(points):
    xs, ys = zip(*points)
    return [min(xs), min(ys), max(xs), max(ys)]


def cut(points, size):
    """A convex polygon, one side of the canvas after the other."""
    for axis, most in ((0, 0), (1, 0), (0, size[0]), (1, size[1])):
        inside = (lambda p: p[axis] <= most) if most else (lambda p: p[axis] >= 0)
        kept = []
        for i, p in enumerate(points):
            before = points[i - 1]
            if inside(before) != inside(p):
                share = (most - before[axis]) / (p[axis] - before[axis])
                kept.append(tuple(u + share * (v - u) for u, v in zip(before, p)))
            if inside(p):
                kept.append(p)
        points = kept
    return points


def followed(box, size, steps):
    """(the box, whether it was ever seen through a fold): cut at each canvas, as it is, up to the last warp; upright behind it."""
    points = cut([(box[0], box[1]), (box[2], box[1]), (box[2], box[3]), (box[0], box[3])], size)
    if not points or min(bounds(points)[i + 2] - bounds(points)[i] for i in (0, 1)) <= 0:  # a line is nothing
        return None, False
    last = max((i for i, step in enumerate(steps) if step[2]), default=-1)
    for i, (function, new, _) in enumerate(steps):
        if i == last + 1 and points:
            left, top, right, bottom = bounds(points)
            points = cut([(left, top), (right, top), (right, bottom), (left, bottom)], size)
        points = [function(*p) for p in points] if function else points
        if None in points:
            return None, True
        if i != last:
            points = cut(points, new)
        size = new
    found = clipped(bounds(points), size) if points else None
    return found, False


def inverse(m):
    a, b, c, d, e, f, g, h, i = m
    det = a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)
    rows = (e * i - f * h, c * h - b * i, b * f - c * e, f * g - d * i, a * i - c * g, c * d - a * f, d * h - e * g, b * g - a * h, a * e - b * d)
    return [value / det for value in rows]


def through(m):
    def move(x, y):
        w = m[6] * x + m[7] * y + m[8]
        return ((m[0] * x + m[1] * y + m[2]) / w, (m[3] * x + m[4] * y + m[5]) / w) if w > 0 else None

    return move


def some_step(r, size):
    """Returns (words for the program, function of a point, size after the step, True if it warps)."""
    width, height = size
    kind = r.choice(["crop", "out", "resize", "flip", "warp", "warp", "grey", "pad"])
    if kind in ("crop", "out"):
        new = tuple(r.randint(1, side) if kind == "crop" else side + r.randint(0, 40) for side in size)
        x, y = (r.randint(*sorted((0, a - b))) for a, b in zip(size, new))
        return ("crop", x, y, *new), lambda u, v: (u - x, v - y), new, False
    if kind == "resize":
        new = tuple(r.randint(1, 2 * side) for side in size)
        return ("resize", *new), lambda u, v: (u * new[0] / width, v * new[1] / height), new, False
    if kind == "flip":
        vertical = r.randint(0, 1)
        return ("flip", vertical), lambda u, v: (u, height - v) if vertical else (width - u, v), size, False
    if kind == "warp":
        m = [1 + r.uniform(-0.4, 0.4), r.uniform(-0.3, 0.3), r.uniform(-20, 20), r.uniform(-0.3, 0.3), 1 + r.uniform(-0.4, 0.4), r.uniform(-20, 20)]
        m += r.choice([[0, 0, 1], [r.uniform(-0.002, 0.002), r.uniform(-0.002, 0.002), 1]])
        return ("warp", *map(repr, m), *size), through(inverse(m)), size, True
    if kind == "pad":
        left, top, right, bottom = (r.randint(1, 30) for _ in range(4))
        return ("pad", left, top, right, bottom), lambda u, v: (u + left, v + top), (width + left + right, height + top + bottom), False
    return ("grey",), None, size, False


def judge_boxes(program, r):
    compared = gone = 0
    for _ in range(ROUNDS):
        size, exact = (r.randint(2, 400), r.randint(2, 400)), r.randint(0, 1)
        boxes, steps, begun = some_boxes(r, *size, 8), [], size
        program.tell("begin", *size, exact, *sum(boxes, []))
        for _ in range(r.randint(0, 5)):
            words, function, new, warps = some_step(r, size)
            program.tell(*words)
            steps.append((function, new, warps))
            size = new
        program.tell("size")
        assert Drawn(program.line()).size == size
        program.tell("boxes")
        for box, said in zip(boxes, program.line().split(";")):
            there, folds = followed(box, begun, steps)
            if folds:
                continue
            gone += there is None
            if (said == "none") == (there is not None):  # only where a last bit decides
                box = there or list(map(float, said.split()))
                assert min(box[2] - box[0], box[3] - box[1]) < 1e-3, (said, there)
            elif there:
                compared += 1
                assert all(abs(float(a) - b) < 2e-3 + 1e-5 * max(size) for a, b in zip(said.split(), there)), (said, there, steps)
    assert compared > 3 * ROUNDS and gone > ROUNDS / 4, (compared, gone)
    print(f"{compared} boxes compared, {gone} gone")


def main():
    for judge in (judge_shortest_sizes, judge_letter_boxes, judge_scale_jitter, judge_fixed_size_crops, judge_mosaics, judge_zoom_outs, judge_iou_crops, judge_boxes):
        program = Program(sys.argv[1])
        judge(program, random.Random(judge.__name__))
        program.process.stdin.close()
        assert program.process.wait() == 0
        print(judge.__name__)


main()
