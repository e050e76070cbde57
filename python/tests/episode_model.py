# SPDX-License-Identifier: Apache-2.0
"""A model of episodes, written from docs/several.md alone, independently of the implementation."""
from shard_model import Permutation, mixed

EPISODE = 0x657069736F646500


def episode(classes, k, n, seed, epoch, number):
    """Returns [samples] of each class of an episode, support and query together."""
    members = {}
    for sample, own in enumerate(classes):
        members.setdefault(own, []).append(sample)
    fit = sorted(own for own in members if len(members[own]) >= n)
    key = mixed(seed, epoch, EPISODE)
    order = Permutation(len(fit), mixed(key, number, 0))
    made = []
    for own in (fit[order[place]] for place in range(k)):
        places = Permutation(len(members[own]), mixed(key, number, 1 + own))
        made.append([members[own][places[place]] for place in range(n)])
    return made


def steps(classes, k, n, count, batch, rank, world, last, seed, epoch):
    """Returns a rank's steps: [[number of an episode, or None for padding]]."""
    each = batch // (k * n)
    whole, rest = divmod(count, each * world)
    made = [[(step * world + rank) * each + i for i in range(each)] for step in range(whole)]
    if rest and last != "drop":
        base, begin, end = whole * world * each, rest * rank // world, rest * (rank + 1) // world
        own = list(range(base + begin, base + end))
        missing = each - len(own)
        own += {"short": [], "pad": [None] * missing, "repeat": [(rank * each - begin + i) % count for i in range(missing)]}[last]
        made.append(own)
    return made
