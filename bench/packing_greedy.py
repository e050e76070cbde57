#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""packing_greedy.py [DOCUMENTS [LENGTH [BUFFER]]]: packs documents from a buffer, like loaders in Python.

For comparison with bench/packing_bench, with the same distribution of lengths: DOCUMENTS [100000], lognormal (5.9, 1.2), rows of
LENGTH [2048], BUFFER [1000] documents. Two packers, of lengths only:
  crop   takes the longest document of the buffer that fits into the row; if none does, the shortest one fills it, and its end is lost
         (nanochat's rule)
  pad    loses nothing: if none fits, the row is padded; documents longer than a row are cut into rows, like cut="long"
Prints for each: CPU ns per document, documents/s, tokens/s; padding, tokens lost and documents cut.
"""
import random
import sys
import time


def lengths_of(count):
    draw = random.Random(1)
    return [max(1, int(draw.lognormvariate(5.9, 1.2))) for _ in range(count)]


def longest_that_fits(buffer, space):
    best = -1
    for place, length in enumerate(buffer):
        if length <= space and (best < 0 or length > buffer[best]):
            best = place
    return best


def pack(lengths, row, size, crop):
    source, buffer = iter(lengths), []
    rows = used = cut = 0
    left = True
    while left or buffer:
        space = row
        while space > 0:
            while left and len(buffer) < size:
                length = next(source, None)
                left = length is not None
                if left and not crop and length > row:
                    cut += 1
                    rows, used = rows + length // row, used + length // row * row
                    length %= row
                if left and length:
                    buffer.append(length)
            if not buffer:
                break
            place = longest_that_fits(buffer, space)
            if place < 0:
                if not crop:
                    break
                buffer.pop(min(range(len(buffer)), key=buffer.__getitem__))
                cut, used, space = cut + 1, used + space, 0
            else:
                length = buffer.pop(place)
                used, space = used + length, space - length
        rows += space < row
    return rows, used, cut


def main():
    count, row, size = (int(given) for given in (sys.argv[1:] + ["100000", "2048", "1000"][len(sys.argv) - 1 :]))
    lengths = lengths_of(count)
    for name, crop in (("crop", True), ("pad", False)):
        start = time.process_time()
        rows, used, cut = pack(lengths, row, size, crop)
        seconds = time.process_time() - start
        tokens = sum(lengths)
        print(f"{name:8} {seconds / count * 1e9:8.1f} ns per document, {count / seconds / 1e6:.4f} M documents/s, {tokens / seconds / 1e9:.4f} G tokens/s")
        print(f"{rows} rows, padding {100 * (1 - used / rows / row):.3f} %, lost {100 * (1 - used / tokens):.2f} % of tokens, cut {100 * cut / count:.2f} % of documents")


if __name__ == "__main__":
    main()
