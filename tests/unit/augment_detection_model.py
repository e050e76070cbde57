#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Judges boxes through what was drawn before (augment_detection_draws), moved anew, one step at a time. The seed is fixed."""
import random
import subprocess
import sys

ROUNDS = 700


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


class Drawn:
    """What the program says of the last box: all that a step has drawn, if nothing was drawn before."""

    def __init__(self, line):
        numbers = list(map(int, line.split()))
        self.size, self.passes = tuple(numbers[:2]), numbers[2]
        self.source, self.raster, self.window, self.fill = (tuple(numbers[a:b]) for a, b in ((3, 7), (7, 9), (9, 11), (11, 14)))


# ---- boxes ----


def clipped(box, size):
    box = [max(box[0], 0), max(box[1], 0), min(box[2], size[0]), min(box[3], size[1])]
    return box if box[0] <= box[2] and box[1] <= box[3] else None


def some_boxes(r, width, height, count):
    made = []
    for _ in range(count):
        x, y = (sorted(r.uniform(-0.1, 1.1) * side for _ in range(2)) for side in (width, height))
        made.append([round(value * 8) / 8 for value in (x[0], y[0], x[1], y[1])])  # as float32 has them
    return made


class Path:
    """Four corners, moved by one step at a time; a hull where the next step is of a new canvas."""

    def __init__(self, box):
        self.there, self.corners = True, [(box[i], box[j]) for j in (1, 3) for i in (0, 2)]

    def hull(self):
        xs, ys = zip(*self.corners)
        return [min(xs), min(ys), max(xs), max(ys)]

    def cut(self, size):
        box = clipped(self.hull(), size) if self.there else None
        self.there = box is not None
        if box:
            self.corners = [(box[i], box[j]) for j in (1, 3) for i in (0, 2)]

    def move(self, function):
        moved = [function(x, y) for x, y in self.corners]
        self.there = self.there and None not in moved
        if self.there:
            self.corners = moved


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


def some_step(r, size, warped):
    """(what the program is told, the function of a point, the size behind it, whether it warps)"""
    width, height = size
    kind = r.choice(["crop", "out", "resize", "flip", "warp", "warp", "grey", "pad"])
    if kind in ("crop", "out"):
        new = tuple(r.randint(1, side) if kind == "crop" else side + r.randint(0, 40) for side in size)
        x, y = (r.randint(*sorted((0, a - b))) for a, b in zip(size, new))
        return ("crop", x, y, *new), lambda u, v: (u - x, v - y), new, warped
    if kind == "resize":
        new = tuple(r.randint(1, 2 * side) for side in size)
        return ("resize", *new), lambda u, v: (u * new[0] / width, v * new[1] / height), new, warped
    if kind == "flip":
        vertical = r.randint(0, 1)
        return ("flip", vertical), lambda u, v: (u, height - v) if vertical else (width - u, v), size, warped
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
        boxes = some_boxes(r, *size, 8)
        paths, warped, cuts = [Path(box) for box in boxes], False, 0
        program.tell("begin", *size, exact, *sum(boxes, []))
        for path in paths:
            path.cut(size)
        for _ in range(r.randint(0, 5)):
            words, function, new, warps = some_step(r, size, warped)
            if warped and cuts + (words[0] != "flip") > 3:  # as many as one warp holds
                break
            program.tell(*words)
            for path in paths:
                if exact or not (warped and warps):
                    path.cut(size)
                if function:
                    path.move(function)
                if exact or not warps:
                    path.cut(new)
            size, warped = new, warps
            cuts = cuts + (words[0] != "flip") if warps else 0
        for path in paths:
            path.cut(size)
        program.tell("size")
        assert Drawn(program.line()).size == size
        program.tell("boxes")
        for path, said in zip(paths, program.line().split(";")):
            if not path.there:
                gone += 1
            if (said == "none") == path.there:  # only where a last bit decides
                box = path.hull() if path.there else list(map(float, said.split()))
                assert min(box[2] - box[0], box[3] - box[1]) < 1e-3, (said, path.corners)
                continue
            if path.there:
                compared += 1
                assert all(abs(float(a) - b) < 2e-3 + 1e-5 * max(size) for a, b in zip(said.split(), path.hull())), (said, path.hull())
    assert compared > 3 * ROUNDS and gone > ROUNDS / 4, (compared, gone)
    print(f"{compared} boxes compared, {gone} gone")


def main():
    for judge in (judge_boxes,):
        program = Program(sys.argv[1])
        judge(program, random.Random(judge.__name__))
        program.process.stdin.close()
        assert program.process.wait() == 0
        print(judge.__name__)


main()
