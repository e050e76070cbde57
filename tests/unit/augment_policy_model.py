#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares draws of policies (augment_policy_draws) with a model written from the tables of the papers,
torchvision and timm: values exactly, frequencies by chi-squared tests. The seeds are fixed, so the outcome
is always the same. If torchvision is installed, its own tables are compared as well."""
import collections
import itertools
import math
import struct
import subprocess
import sys

DRAWS = 16000
MOVED = {"ShearX", "ShearY", "TranslateX", "TranslateY", "Rotate"}
SIDE = (224, 160)  # width, height
tests = 0


class Draws:
    """The program that is judged."""

    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, kind, count, *arguments, side=SIDE):
        question = " ".join(str(word) for word in (kind, *side, count, *arguments))
        self.process.stdin.write(question + "\n")
        self.process.stdin.flush()
        lines = []
        while (line := self.process.stdout.readline().rstrip("\n")) != ".":
            assert self.process.poll() is None, question
            lines.append(line)
        assert len(lines) == count
        return lines


def choices(text):
    """(operation, value, interpolation where it matters) of each choice."""
    for word in text.split():
        op, value, interpolation = word.split(",")
        yield op, float(value), int(interpolation) if op in MOVED else None


def judge(name, found, expected):
    """`found`: how often what came; `expected`: with which probability it comes."""
    global tests
    tests += 1
    total = sum(found.values())
    assert abs(sum(expected.values()) - 1) < 1e-9, name
    strange = set(found) - {key for key, p in expected.items() if p > 0}
    assert not strange, f"{name}: {sorted(map(str, strange))[:3]} cannot come"
    rare = [key for key, p in expected.items() if p * total < 8]
    cells = [(found.get(key, 0), p * total) for key, p in expected.items() if p * total >= 8]
    rest = sum(expected[key] for key in rare) * total
    if rest > 0:
        cells.append((sum(found.get(key, 0) for key in rare), rest))
    chi_squared = sum((f - e) ** 2 / e for f, e in cells)
    df = len(cells) - 1
    if df > 0:  # Wilson and Hilferty: what one in a million exceeds
        limit = df * (1 - 2 / (9 * df) + 4.753 * math.sqrt(2 / (9 * df))) ** 3
        assert chi_squared < limit, f"{name}: chi-squared {chi_squared:.1f} of {df}, limit {limit:.1f}"


def sums(pairs):
    out = collections.Counter()
    for key, p in pairs:
        out[key] += p
    return out


# ---- torchvision ----


def f32(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def linspace(first, last, bins):
    first, last = f32(first), f32(last)
    step = f32(f32(last - first) / (bins - 1))
    return [f32(first + f32(step * i)) if i < bins // 2 else f32(last - f32(step * (bins - 1 - i))) for i in range(bins)]


def bits(first, lost, bins):
    return [first - round(i / ((bins - 1) / lost)) for i in range(bins)]


def space(bins, shear, translate, rotate, enhance, posterize):
    """operation -> (how a magnitude becomes a value, magnitudes, whether a sign is drawn)"""
    ops = {name: (lambda m: m, linspace(0, shear, bins), True) for name in ("ShearX", "ShearY")}
    for name, most in zip(("TranslateX", "TranslateY"), translate):
        ops[name] = (lambda m: float(math.trunc(m)), linspace(0, most, bins), True)
    ops["Rotate"] = (lambda m: m, linspace(0, rotate, bins), True)
    for name in ("Brightness", "Color", "Contrast", "Sharpness"):
        ops[name] = (lambda m: 1.0 + m, linspace(0, enhance, bins), True)
    ops["Posterize"] = (float, bits(*posterize, bins), False)
    ops["Solarize"] = (float, linspace(255, 0, bins), False)
    for name in ("AutoContrast", "Equalize", "Invert", "Identity"):
        ops[name] = (lambda m: 0.0, [0.0] * bins, False)
    return ops


def ordinary(bins, side=SIDE):
    return space(bins, 0.3, [150.0 / 331.0 * s for s in side], 30, 0.9, (8, 4))


def values(ops, op, levels, interpolation):
    """How likely each value of one operation is, when its level is one of `levels` by chance."""
    value, magnitudes, signed = ops[op]
    signs = (1, -1) if signed else (1,)
    one = [((op, value(sign * magnitudes[i]), interpolation if op in MOVED else None), 1 / len(levels) / len(signs))
           for i in levels for sign in signs]
    return sums(one)


def uniform(ops, names, levels, interpolation=0):
    return sums((key, p / len(names)) for op in names for key, p in values(ops, op, levels, interpolation).items())


def in_order(parts):
    """Of draws one after the other, each None (nothing) or a choice."""
    return sums((tuple(key for key, _ in keys if key is not None), math.prod(p for _, p in keys))
                for keys in itertools.product(*(part.items() for part in parts)))


def maybe(part, probability):
    return sums([(None, 1 - probability)] + [(key, p * probability) for key, p in part.items()])


def judge_torchvision(draws, policies):
    singles = [op for op in ordinary(31) if op != "Invert"]
    for magnitude, bins in ((9, 31), (0, 31), (30, 31), (5, 10), (1, 2)):
        found = collections.Counter(tuple(choices(t)) for t in draws.ask("rand", DRAWS, 2, magnitude, bins))
        one = uniform(ordinary(bins), singles, [magnitude])
        judge(f"RandAugment {magnitude} of {bins}", found, in_order([one, one]))
    for bins in (31, 8):
        wide = space(bins, 0.99, (32, 32), 135, 0.99, (8, 6))
        found = collections.Counter(c for t in draws.ask("trivial", DRAWS, bins) for c in choices(t))
        judge(f"TrivialAugmentWide {bins}", found, uniform(wide, singles, range(bins)))
    for number, pairs in enumerate(policies):
        found = collections.Counter(tuple(choices(t)) for t in draws.ask("auto", 4 * DRAWS, number))
        parts = [in_order([maybe(values(ordinary(10), op, [level], 0), p) for op, p, level in pair]) for pair in pairs]
        judge(f"AutoAugment {number}", found, sums((k, p / len(pairs)) for part in parts for k, p in part.items()))


def deciles(name, numbers, cdf):
    judge(name, collections.Counter(min(int(10 * cdf(x)), 9) for x in numbers), {i: 0.1 for i in range(10)})


def judge_mixes(draws, kind, arguments, name, width, depths, one):
    lines = [t.split("|") for t in draws.ask(kind, DRAWS, *arguments)]
    chains = [[(float(c.split()[0]), list(choices(" ".join(c.split()[1:])))) for c in line[1:]] for line in lines]
    assert all(len(c) == width for c in chains), name
    rules = [(int(r), float(o), float(b)) for r, o, b in (line[0].split() for line in lines)]
    judge(name + ": depths", collections.Counter(len(c) for cs in chains for _, c in cs), {d: 1 / len(depths) for d in depths})
    if one is not None:
        judge(name + ": choices", collections.Counter(x for cs in chains for _, c in cs for x in c), one)
    for i in range(width):
        shares = []
        for (rule, original, blend), cs in zip(rules, chains):
            weight = cs[i][0]
            if rule == 0:  # of the sum
                assert abs(original + sum(w for w, _ in cs) - 1) < 1e-6
                weight /= blend
            elif rule == 1:
                assert abs(sum(w for w, _ in cs) - 1) < 1e-6
            else:  # later members of the blend scale this weight
                weight *= math.prod(1 - w for w, _ in cs[i + 1:]) / blend
            shares.append(min(max(weight, 0), 1))
        deciles(f"{name}: share {i}", shares, lambda x: 1 - (1 - x) ** (width - 1))  # Beta(1, width - 1)
    deciles(name + ": blend", [b for _, _, b in rules], lambda x: x)


# ---- timm ----


def timm_values(op, way, m, translate=0.45, side=SIDE):
    """What a level becomes, by the table: all outcomes, equally likely."""
    x = m / 10.0
    if op in ("ShearX", "ShearY", "Rotate", "TranslateX", "TranslateY"):
        v = x * 30.0 if op == "Rotate" else x * 0.3 if "Shear" in op else x * translate * side[op == "TranslateY"]
        return [(op, sign * v, i) for sign in (1, -1) for i in (1, 2)]
    if op in ("Brightness", "Color", "Contrast", "Sharpness"):
        if way == "inc":
            return [(op, max(0.1, 1.0 + sign * (x * 0.9)), None) for sign in (1, -1)]
        return [(op, 1 - min(0.5 + 0.5 * x, 1) if way == "grey" else x * 1.8 + 0.1, None)]
    if op == "Posterize":
        kept = {"": int(x * 4), "inc": 4 - int(x * 4), "original": 4 + int(x * 4)}[way]
        return [(op, float(min(max(kept, 0), 8)), None)]
    if op == "Solarize":
        plain = min(256, int(x * 256))
        return [(op, float(256 - plain if way == "inc" else plain), None)]
    if op == "SolarizeAdd":
        return [(op, float(min(128, int(x * 110))), None)]
    if op == "GaussianBlur":
        return [(op, min(0.1 + 1.9 * x, 2.0), None)]
    return [(op, 0.0, None)]


ALL = ["AutoContrast", "Equalize", "Invert", "Rotate", "Posterize", "Solarize", "SolarizeAdd", "Color", "Contrast",
       "Brightness", "Sharpness", "ShearX", "ShearY", "TranslateX", "TranslateY"]
WEIGHTS = {"Rotate": 3, "ShearX": 2, "ShearY": 2, "TranslateX": 1, "TranslateY": 1, "Color": .25, "Sharpness": .25,
           "AutoContrast": .25, "Solarize": .05, "SolarizeAdd": .05, "Contrast": .05, "Brightness": .05, "Equalize": .05,
           "Posterize": .05, "Invert": .05}
OLD = {**{op: w / 10 for op, w in WEIGHTS.items()}, "Posterize": 0, "Invert": 0}
THREE = {("Solarize", "inc"): 6, ("Color", "grey"): 6, ("GaussianBlur", ""): 6, ("Rotate", ""): 3, ("ShearX", ""): 2,
         ("ShearY", ""): 2, **{(op, "inc"): 1 for op in ("Posterize", "AutoContrast", "Color", "Sharpness", "Contrast",
                                                         "Brightness", "Equalize", "Invert")}}


def with_way(weights, way):
    return {(op, way): w for op, w in weights.items()}


def timm_one(op, way, m):
    outcomes = timm_values(op, way, m)
    return sums((o, 1 / len(outcomes)) for o in outcomes)


def timm_pair(weights, m, p, replaced):
    """Of two operations, the second without the first where they are not replaced."""
    total = sum(weights.values())
    out = []
    for (first, w1), (second, w2) in itertools.product(weights.items(), repeat=2):
        if w1 * w2 == 0 or (not replaced and first == second):
            continue
        chance = w1 / total * w2 / (total if replaced else total - w1)
        pair = in_order([maybe(timm_one(*first, m), p), maybe(timm_one(*second, m), p)])
        out += [(key, chance * q) for key, q in pair.items()]
    return sums(out)


V0 = """Equalize.8,1 ShearY.8,4|Color.4,9 Equalize.6,3|Color.4,1 Rotate.6,8|Solarize.8,3 Equalize.4,7
Solarize.4,2 Solarize.6,2|Color.2,0 Equalize.8,8|Equalize.4,8 SolarizeAdd.8,3|ShearX.2,9 Rotate.6,8
Color.6,1 Equalize1,2|Invert.4,9 Rotate.6,0|Equalize1,9 ShearY.6,3|Color.4,7 Equalize.6,0
Posterize.4,6 AutoContrast.4,7|Solarize.6,8 Color.6,9|Solarize.2,4 Rotate.8,9|Rotate1,7 TranslateY.8,9
ShearX0,0 Solarize.8,4|ShearY.8,0 Color.6,4|Color1,0 Rotate.6,2|Equalize.8,4 Equalize0,8
Equalize1,4 AutoContrast.6,2|ShearY.4,7 SolarizeAdd.6,7|Posterize.8,2 Solarize.6,10|Solarize.6,8 Equalize.6,1
Color.8,6 Rotate.4,5"""
PAPER = """Posterize.4,8 Rotate.6,9|Solarize.6,5 AutoContrast.6,5|Equalize.8,8 Equalize.6,3|Posterize.6,7 Posterize.6,6
Equalize.4,7 Solarize.2,4|Equalize.4,4 Rotate.8,8|Solarize.6,3 Equalize.6,7|Posterize.8,5 Equalize1,2
Rotate.2,3 Solarize.6,8|Equalize.6,8 Posterize.4,6|Rotate.8,8 Color.4,0|Rotate.4,9 Equalize.6,2
Equalize0,7 Equalize.8,8|Invert.6,4 Equalize1,8|Color.6,4 Contrast1,8|Rotate.8,8 Color1,2
Color.8,8 Solarize.8,7|Sharpness.4,7 Invert.6,8|ShearX.6,5 Equalize1,9|Color.4,0 Equalize.6,3
Equalize.4,7 Solarize.2,4|Solarize.6,5 AutoContrast.6,5|Invert.6,4 Equalize1,8|Color.6,4 Contrast1,8
Equalize.8,8 Equalize.6,3"""
CIFAR10 = """Invert.1,6 Contrast.2,6|Rotate.7,2 TranslateX.3,9|Sharpness.8,1 Sharpness.9,3|ShearY.5,8 TranslateY.7,9
AutoContrast.5,8 Equalize.9,2|ShearY.2,7 Posterize.3,7|Color.4,3 Brightness.6,7|Sharpness.3,9 Brightness.7,9
Equalize.6,5 Equalize.5,1|Contrast.6,7 Sharpness.6,5|Color.7,7 TranslateX.5,8|Equalize.3,7 AutoContrast.4,8
TranslateY.4,3 Sharpness.2,6|Brightness.9,6 Color.2,8|Solarize.5,2 Invert0,3|Equalize.2,0 AutoContrast.6,0
Equalize.2,8 Equalize.6,4|Color.9,9 Equalize.6,6|AutoContrast.8,4 Solarize.2,8|Brightness.1,3 Color.7,0
Solarize.4,5 AutoContrast.9,3|TranslateY.9,9 TranslateY.7,9|AutoContrast.9,2 Solarize.8,3|Equalize.8,8 Invert.1,3
TranslateY.7,9 AutoContrast.9,1"""
SVHN = """ShearX.9,4 Invert.2,3|ShearY.9,8 Invert.7,5|Equalize.6,5 Solarize.6,6|Invert.9,3 Equalize.6,3
Equalize.6,1 Rotate.9,3|ShearX.9,4 AutoContrast.8,3|ShearY.9,8 Invert.4,5|ShearY.9,5 Solarize.2,6
Invert.9,6 AutoContrast.8,1|Equalize.6,3 Rotate.9,3|ShearX.9,4 Solarize.3,3|ShearY.8,8 Invert.7,4
Equalize.9,5 TranslateY.6,6|Invert.9,4 Equalize.6,7|Contrast.3,3 Rotate.8,4|Invert.8,5 TranslateY0,2
ShearY.7,6 Solarize.4,8|Invert.6,4 Rotate.8,4|ShearY.3,7 TranslateX.9,3|ShearX.1,6 Invert.6,5
Solarize.7,2 TranslateY.6,7|ShearY.8,4 Invert.8,8|ShearX.7,9 TranslateY.8,3|ShearY.8,5 AutoContrast.7,3
ShearX.7,2 Invert.1,5"""


LEVELLESS = {"AutoContrast", "Equalize", "Invert"}


def pairs_of(text):
    def part(word):
        at = next(i for i, c in enumerate(word) if c in ".01")
        p, level = word[at:].split(",")
        return word[:at], float(p), int(level)

    pairs = [[part(word) for word in pair.split()] for pair in text.replace("\n", "|").split("|")]
    assert len(pairs) == 25 and all(len(pair) == 2 for pair in pairs)
    return pairs


def judge_tables(draws):
    """Compares each pair exactly: the chi-squared tests miss a probability that is off by a tenth in one pair."""
    for number, text in enumerate((PAPER, CIFAR10, SVHN, V0)):
        found = draws.ask("table", 25, number)
        for at, (line, pair) in enumerate(zip(found, pairs_of(text))):
            parts = [(op, round(10 * p), 0 if op in LEVELLESS else level) for op, p, level in pair]
            want = " ".join(f"{op},{tenths},{level}" for op, tenths, level in parts)
            assert line == want, f"table {number}, pair {at}: {line}, expected {want}"


def judge_timm(draws):
    def ask(text, count=DRAWS):
        return collections.Counter(tuple(choices(t)) for t in draws.ask("timm", count, text))

    every = {op: 1 for op in ALL}
    for text, weights, m, p, replaced in (
            ("rand-m9", with_way(every, ""), 9, 0.5, True),
            ("rand-m7-n2-inc1-p0.8", with_way(every, "inc"), 7, 0.8, True),
            ("rand-tweights-p1", with_way(WEIGHTS, "inc"), 10, 1, False),
            ("rand-m5-w0", with_way(OLD, ""), 5, 0.5, False),
            ("rand-m5-inc1-w0", with_way(OLD, "inc"), 5, 0.5, False),
            ("rand-m6-t3a", with_way({"Solarize": 1}, "inc") | {("Color", "grey"): 1, ("GaussianBlur", ""): 1}, 6, 0.5, True),
            ("rand-m6-t3aw-p0.9", THREE, 6, 0.9, False)):
        judge(text, ask(text), timm_pair(weights, m, p, replaced))
    for text, pairs, way in (("v0", V0, ""), ("v0r", V0, "inc"), ("original", PAPER, "original"), ("originalr", PAPER, "inc")):
        parts = [in_order([maybe(timm_one(op, way if op == "Posterize" else "", m), p) for op, p, m in pair])
                 for pair in pairs_of(pairs)]
        judge(text, ask(text, 4 * DRAWS), sums((k, p / 25) for part in parts for k, p in part.items()))
    found = collections.Counter(("GaussianBlur" if c[0][0] == "GaussianBlur" else c[0]) for c in ask("3a").elements())
    judge("3a", found, {("Solarize", 128.0, None): 1 / 3, ("Color", 0.0, None): 1 / 3, "GaussianBlur": 1 / 3})
    radii = [c[0][1] for c in ask("3a").elements() if c[0][0] == "GaussianBlur"]
    deciles("3a: radius", radii, lambda r: (r - 0.1) / 1.9)


def judge_levels(draws):
    """Every level that a string can name gives the table's values, and each of them comes."""
    for m, way in itertools.product([*range(0, 16), 25, 100], ("", "-inc1", "-t3aw")):
        text = f"rand-m{m}-mmax100-n{14 if way == '-t3aw' else 16}-p1{way}"
        found = {c for t in draws.ask("timm", 100, text) for c in choices(t)}
        ops = THREE if way == "-t3aw" else with_way({op: 1 for op in ALL}, way[1:4])
        assert found == {v for op in ops for v in timm_values(*op, m)}, text


def judge_noise(draws):
    """Levels that are drawn, seen by the angle of Rotate."""
    def angles(text, kind="timm"):
        parts = (c for t in draws.ask(kind, 2 * DRAWS, text) for c in choices(t if kind == "timm" else t.replace("|", " ")))
        return [abs(v) / 3 for op, v, _ in parts if op == "Rotate"]

    def normal(x):
        return (1 + math.erf(x / math.sqrt(2))) / 2

    for text, mean, deviation, most in (("rand-m9-mstd0.5-inc1-n8", 9, 0.5, 10), ("rand-m3-mstd2-n8", 3, 2, 10),
                                        ("rand-m12-mstd1-mmax13-n8", 12, 1, 13)):
        edges = [mean + k * deviation / 2 for k in range(-4, 5) if 0 < mean + k * deviation / 2 < most]
        cuts = [0, *(normal((e - mean) / deviation) for e in [0, *edges, most]), 1]
        levels = angles(text)
        names = ["none", *range(len(edges) + 1), "most"]
        found = collections.Counter("none" if x == 0 else "most" if abs(x - most) < 1e-12 else sum(x > e for e in edges)
                                    for x in levels)
        judge(text, found, {n: b - a for n, a, b in zip(names, cuts, cuts[1:])})
    deciles("uniform", angles("rand-m8-mstd101-n8"), lambda x: x / 8)
    parts = [c for t in draws.ask("timm-mix", DRAWS, "augmix-m5")
             for chain in t.split("|")[1:] for c in choices(" ".join(chain.split()[1:]))]
    deciles("augmix, uniform", [abs(v) / 3 for op, v, _ in parts if op == "Rotate"], lambda x: x / 5)
    deciles("augmix, translation", [abs(v) for op, v, _ in parts if op == "TranslateX"], lambda x: x / (0.5 * 0.3 * 224))


def judge_by_torchvision(draws):
    """The same magnitudes as those of torchvision, whose linspace may be off by two last bits."""
    from torchvision.transforms import autoaugment as theirs
    compared = other_pixels = 0
    for bins, side in itertools.product((2, 3, 10, 31), ((224, 160), (331, 97), (27, 30))):
        tables = theirs.RandAugment()._augmentation_space(bins, side[::-1])
        for magnitude in range(bins):
            for op, value, _ in {c for t in draws.ask("rand", 40, 16, magnitude, bins, side=side) for c in choices(t)}:
                table = tables[op][0]
                want = float(table[magnitude]) if table.ndim > 0 else 0.0
                mine = abs(value - 1) if op in ("Brightness", "Color", "Contrast", "Sharpness") else abs(value)
                if "Translate" in op:
                    other_pixels += mine != int(want)
                    assert abs(mine - int(want)) <= (abs(want - round(want)) < 1e-4), (op, bins, magnitude, mine, want)
                else:
                    assert abs(mine - want) <= 3e-7 * max(abs(want), 1), (op, bins, magnitude, mine, want)
                compared += 1
    policies = [theirs.AutoAugmentPolicy.IMAGENET, theirs.AutoAugmentPolicy.CIFAR10, theirs.AutoAugmentPolicy.SVHN]
    for policy, text in zip(policies, (PAPER, CIFAR10, SVHN)):
        pairs = theirs.AutoAugment(policy)._get_policies(policy)
        for pair, mine in zip(pairs, pairs_of(text)):
            assert [(o, p) for o, p, _ in pair] == [(o, p) for o, p, _ in mine], pair
            assert all(m is None or m == k for (_, _, m), (_, _, k) in zip(pair, mine)), pair
    print(f"torchvision: {compared} magnitudes compared, {other_pixels} translations another pixel, 75 sub-policies")


def main():
    draws = Draws(sys.argv[1])
    judge_tables(draws)
    judge_torchvision(draws, [pairs_of(text) for text in (PAPER, CIFAR10, SVHN)])
    mixed = space(10, 0.3, [s / 3.0 for s in SIDE], 30, 0.9, (4, 4))
    names = [op for op in mixed if op not in ("Invert", "Identity")]
    plain = [op for op in names if op not in ("Brightness", "Color", "Contrast", "Sharpness")]
    judge_mixes(draws, "mix", (3, 3, -1, 1), "AugMix", 3, (1, 2, 3), uniform(mixed, names, range(3), 1))
    judge_mixes(draws, "mix", (10, 4, 2, 0), "AugMix without colour", 4, (2,), uniform(mixed, plain, range(10), 1))
    judge_mixes(draws, "timm-mix", ("augmix-m5-w4-d2",), "augmix", 4, (2,), None)
    judge_mixes(draws, "timm-mix", ("augmix-b1",), "augmix, blended", 3, (1, 2, 3), None)
    ops = ("AutoContrast", "Color", "Contrast", "Brightness", "Sharpness", "Equalize", "Rotate", "Posterize", "Solarize",
           "ShearX", "ShearY", "TranslateX", "TranslateY")
    one = sums((v, 1 / 13 / len(vs)) for op in ops for vs in [timm_values(op, "inc", 5, 0.3)] for v in vs)
    judge_mixes(draws, "timm-mix", ("augmix-m5-mstd0-w2",), "augmix without noise", 2, (1, 2, 3), one)
    judge_timm(draws)
    judge_levels(draws)
    judge_noise(draws)
    try:
        judge_by_torchvision(draws)
    except ImportError as error:
        print(f"not compared with torchvision: {error}")
    print(f"{tests} chi-squared tests, each of {DRAWS} draws or more")


main()
