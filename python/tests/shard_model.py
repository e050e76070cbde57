# SPDX-License-Identifier: Apache-2.0
"""A model of the order of shuffle='shards', written from docs/format.md alone, independently of the implementation."""
import math

M32, M64 = 2**32 - 1, 2**64 - 1
UNIT, LANES, HEADS = 16384, 8, 8
LINE, WINDOW, DROP, SUBSTITUTE = (0x7368617264000000 + number for number in range(4))


def philox(key, low, high):
    """Philox4x32-10 (Salmon et al., 2011): returns four words."""
    a, b, c, d = low & M32, low >> 32, high & M32, high >> 32
    k0, k1 = key & M32, key >> 32
    for _ in range(10):
        p, q = 0xD2511F53 * a, 0xCD9E8D57 * c
        a, b, c, d = (q >> 32) ^ b ^ k0, q & M32, (p >> 32) ^ d ^ k1, p & M32
        k0, k1 = (k0 + 0x9E3779B9) & M32, (k1 + 0xBB67AE85) & M32
    return a, b, c, d


def mixed(key, low, high):
    words = philox(key & M64, low & M64, high & M64)
    return words[0] | words[1] << 32


class Permutation:
    """A permutation of range(count), drawn by the key."""

    def __init__(self, count, key):
        root = math.isqrt(count)
        root += root * root < count
        self.count, self.left = count, root + root % 2
        self.right = -(-count // self.left)
        self.keys = []
        for i in range(0, 24, 2):
            a, b, c, d = philox(key, i, 0x7065726D75746500)
            self.keys += [a | b << 32, c | d << 32]

    @staticmethod
    def drawn(half, key, modulus):
        x = (key + half * 0x9E3779B97F4A7C15) & M64
        x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & M64
        x = (x ^ x >> 27) * 0x94D049BB133111EB & M64
        return (x ^ x >> 31) * modulus >> 64

    def __getitem__(self, index):
        while True:
            left, right = index % self.left, index // self.left
            for i in range(0, 24, 2):
                left = (left + self.drawn(right, self.keys[i], self.left)) % self.left
                right = (right + self.drawn(left, self.keys[i + 1], self.right)) % self.right
            index = right * self.left + left
            if index < self.count:
                return index


def blocks_of(sizes, block_samples, window_units):
    """Returns [[(first, units)]] ... of a shard whose samples take these units: lists of [numbers within it, units]."""
    blocks = []
    for number, units in enumerate(sizes):
        full = not blocks or len(blocks[-1][0]) == block_samples or blocks[-1][1] + units > window_units // 8
        if full:
            blocks.append([[], 0])
        blocks[-1][0].append(number)
        blocks[-1][1] += units
    return blocks


class Order:
    """The order of an epoch. shards: for each file, the sizes of its samples in bytes."""

    def __init__(self, shards, *, compressed=True, seed=0, batch=1, world=1, last="short", block=16, window=1024, window_bytes=256 << 20):
        more = 64 + 512 + (0 if compressed else 8192)
        self.units = [[-(-(size + more) // UNIT) for size in sizes] for sizes in shards]
        self.firsts = [sum(len(sizes) for sizes in shards[:i]) for i in range(len(shards))]
        self.samples = sum(map(len, shards))
        self.seed, self.batch, self.world, self.block, self.window = seed, batch, world, block, window
        self.limit = window_bytes // UNIT
        self.dropped = self.samples % (batch * world) if last == "drop" else 0
        self.last = last

    def share(self, count, rank):
        return count * rank // self.world

    def windows(self, epoch, rank):
        """Returns [[sample]] in reading order."""
        key = mixed(self.seed, epoch, LINE)
        own = mixed(key, rank, WINDOW)
        line = Permutation(len(self.units), key)
        begin, end = self.share(self.samples, rank), self.share(self.samples, rank + 1)
        left_out = self.share(self.dropped, rank + 1) - self.share(self.dropped, rank)
        if mixed(own, rank, DROP) & 1:
            begin += left_out
        else:
            end -= left_out
        todo, at = [], 0
        for k in range(len(self.units)):
            shard = line[k]
            taken = {i for i in range(len(self.units[shard])) if begin <= at + i < end}
            at += len(self.units[shard])
            if taken:
                blocks = blocks_of(self.units[shard], self.block, self.limit)
                cut = [([i for i in numbers if i in taken], units) for numbers, units in blocks]
                todo.append([([self.firsts[shard] + i for i in numbers], units) for numbers, units in cut if numbers])
        lanes, turn, read = [[] for _ in range(LANES)], 0, []
        while todo or any(lanes):
            if not lanes[turn] and todo:
                lanes[turn] = todo.pop(0)
            if lanes[turn]:
                read.append(lanes[turn].pop(0))
            turn = (turn + 1) % LANES
        windows = []
        count = units = 0
        for numbers, size in read:
            if not windows or count == self.window or units + size > self.limit:
                windows.append([])
                count = units = 0
            windows[-1] += numbers
            count, units = count + 1, units + size
        return own, windows

    def rows(self, epoch, rank=0):
        """Returns the rank's samples in row order."""
        own, windows = self.windows(epoch, rank)
        rows = []
        for number, read in enumerate(windows, 1):
            stands = Permutation(len(read), mixed(own, number, 0))
            window = [None] * len(read)
            for i, sample in enumerate(read):
                window[stands[i]] = sample
            rows += window
        return rows

    def substitute(self, epoch, position, attempt, bad, rank=0):
        key = mixed(mixed(self.seed, epoch, SUBSTITUTE), rank, 0)
        drawn = mixed(key, position, attempt)
        number = (drawn >> 8) % len(self.units)
        count = min(HEADS, len(self.units[number]))
        sample = self.firsts[number] + (drawn & 255) % count
        if sample != bad:
            return sample
        if count > 1:
            return self.firsts[number] + (sample - self.firsts[number] + 1) % count
        return self.firsts[(number + 1) % len(self.units)]
