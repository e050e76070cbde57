# SPDX-License-Identifier: Apache-2.0
"""copy_rows.py FILE.npy BATCH SECONDS THREADS: copies rows of a mapped .npy file in random order into batches.

The upper limit of a loader of rows that makes one copy: numpy's assignment is a memcpy here, and releases the GIL. Each thread
fills four batches in turn. Prints MB/s and CPU seconds per GB.
"""
import sys
import threading
import time

import numpy


def work(array, batch, until, seed, copied):
    order = numpy.random.default_rng(seed).permutation(len(array))
    slots = numpy.zeros((4, batch, *array.shape[1:]), array.dtype)
    at = 0
    while time.monotonic() < until:
        slot = slots[at // batch % 4]
        for row in range(batch):
            slot[row] = array[order[(at + row) % len(order)]]
        at += batch
    copied[seed] = at * array[0].nbytes


def main():
    array = numpy.load(sys.argv[1], mmap_mode="r")
    batch, seconds, count = int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
    array[:, :: 4096 // array.itemsize].max()  # maps its pages
    copied = {}
    begin, cpu = time.monotonic(), time.process_time()
    threads = [threading.Thread(target=work, args=(array, batch, begin + seconds, seed, copied)) for seed in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gigabytes = sum(copied.values()) / 1e9
    print(gigabytes * 1000 / (time.monotonic() - begin), (time.process_time() - cpu) / gigabytes)


if __name__ == "__main__":
    main()
