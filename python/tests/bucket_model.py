# SPDX-License-Identifier: Apache-2.0
"""A model of the order with buckets, written from docs/buckets.md alone, independently of the implementation."""
import math

from shard_model import Permutation, mixed

BATCH, BUCKET = 0x6275636B65740000, 0x6275636B65740001


def nearest(size, buckets):
    """Returns the bucket of an image, by logarithms; both sizes are (height, width)."""

    def key(number):
        height, width = buckets[number]
        distance = abs(math.log(size[1] / size[0]) - math.log(width / height))
        return round(distance, 12), -width * height, number

    return min(range(len(buckets)), key=key)


def epoch(bucket_of, count, whole, shuffle, seed, number):
    """Returns [(bucket, samples)]: an epoch's global batches, `whole` samples each, then the remainder of each bucket."""
    batches, rests = [], []
    for bucket in range(count):
        members = [sample for sample, own in enumerate(bucket_of) if own == bucket]
        if shuffle and members:
            order = Permutation(len(members), mixed(seed, number, BUCKET + bucket))
            members = [members[order[place]] for place in range(len(members))]
        full = len(members) // whole * whole
        batches += [(bucket, members[at : at + whole]) for at in range(0, full, whole)]
        rests += [(bucket, members[full:])] if members[full:] else []
    if shuffle and batches:
        order = Permutation(len(batches), mixed(seed, number, BATCH))
        batches = [batches[order[place]] for place in range(len(batches))]
    return batches, rests


def steps(bucket_of, count, batch, rank, world, shuffle, last, seed, number):
    """Returns a rank's batches: [(bucket, [sample, or None for a padding row])]."""
    batches, rests = epoch(bucket_of, count, batch * world, shuffle, seed, number)
    made = [(bucket, samples[rank * batch : (rank + 1) * batch]) for bucket, samples in batches]
    for bucket, samples in rests if last != "drop" else []:
        begin, end = len(samples) * rank // world, len(samples) * (rank + 1) // world
        own = samples[begin:end]
        if last == "pad":
            own = own + [None] * (batch - len(own))
        if last == "repeat":
            members = [sample for one, taken in batches_of(batches, bucket, bucket_of, shuffle, seed, number) for sample in taken] + samples
            at = rank * batch - begin
            own = own + [members[(at + i) % len(members)] for i in range(batch - len(own))]
        made.append((bucket, own))
    return made


def batches_of(batches, bucket, bucket_of, shuffle, seed, number):
    """Returns the bucket's whole batches in the bucket's own order."""
    members = [sample for sample, own in enumerate(bucket_of) if own == bucket]
    if shuffle:
        order = Permutation(len(members), mixed(seed, number, BUCKET + bucket))
        members = [members[order[place]] for place in range(len(members))]
    own = [one for one in batches if one[0] == bucket]
    return sorted(own, key=lambda one: members.index(one[1][0]))
