# SPDX-License-Identifier: Apache-2.0
"""Functions for sluice.pack(map=...), imported by worker processes; run as a program, packs with one of them.

    map_functions.py SOURCE PATH FUNCTION PROCESSES"""
import array
import os
import signal
import sys
import time


def tokens(sample):
    return {"tokens": memoryview(array.array("i", list(sample["text"].encode()))), "n": sample["n"]}  # importing numpy takes long


def some(sample):
    """Returns None, one or two results, depending on the number."""
    n = sample["n"]
    return (None, {"n": n}, [{"n": n}, {"n": -n}])[n % 3]


def raises(sample):
    if sample["n"] % 50 == 7:
        raise KeyError("no such word")
    return {"n": sample["n"]}


def exits(sample):
    if sample["n"] == 150:
        os._exit(3)
    return {"n": sample["n"]}


def crashes(sample):
    if sample["n"] == 150:
        os.kill(os.getpid(), signal.SIGSEGV)
    return {"n": sample["n"]}


def interrupts(sample):
    if sample["n"] == 150:
        raise KeyboardInterrupt("x")
    return {"n": sample["n"]}


def nothing(sample):
    return None


def kills(sample):
    """Kills the packing process once at each number listed in the file DEATHS."""
    with open(os.environ["DEATHS"], "r+") as file:
        numbers = file.read().split()
        if str(sample["n"]) in numbers:
            file.seek(0)
            file.truncate()
            file.write(" ".join(number for number in numbers if number != str(sample["n"])))
            file.close()
            os.kill(int(os.environ["PACKER"]), signal.SIGKILL)
            time.sleep(600)
    return tokens(sample)


def sleeps(sample):
    if sample["n"] == 20:
        with open(os.environ["ASLEEP"] + ".tmp", "w") as file:
            file.write(str(os.getpid()))
        os.rename(os.environ["ASLEEP"] + ".tmp", os.environ["ASLEEP"])
        time.sleep(600)
    return tokens(sample)


class Loaded:
    """Loads something once in each process; the caller's count of calls is not pickled."""

    def __init__(self, name):
        self.name, self.calls = name, 0

    def __getstate__(self):
        return self.name

    def __setstate__(self, name):
        self.__init__(name)

    def __call__(self, sample):
        self.calls += 1
        return {"name": self.name, "n": sample["n"]}


class Sticky:
    """Cannot be unpickled."""

    def __reduce__(self):
        return int, ("x",)

    def __call__(self, sample):
        return sample


def main():
    import sluice
    import sluice._map_source

    source, path, function, processes = sys.argv[1:]
    os.environ["PACKER"] = str(os.getpid())
    sluice._map_source.BYTES = 3000, 3000, 3000  # as in test_map.py
    die_at_pack = os.environ.get("DIE_AT_PACK")

    def progress(done, total):
        if die_at_pack and total == 300:  # 300 samples: the second stage
            os.kill(os.getpid(), signal.SIGKILL)

    made = sluice.pack(sluice.JsonLines(source), path, map=globals()[function], map_version=1, processes=int(processes), progress=progress)
    print(made.samples, made.mapped, made.was_complete)


if __name__ == "__main__":
    main()
