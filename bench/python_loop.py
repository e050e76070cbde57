#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""python_loop.py SHARDS [RUNS [SECONDS]]: measures the overhead of the Python package.

Needs the sluice package in PYTHONPATH, and space for 100 MB of temporary files. Two workers, batches of 64,
RandomResizedCrop 224 and flip, uint8. RUNS [3] of SECONDS [3], medians (min..max). Prints CPU ms per image of a
loop in Python and of `sluice bench`, in turn; microseconds of the consuming thread for a batch of 4 kB tensors,
also with labels and texts; ms from the interpreter's start to the first batch, and of `import sluice`; ms from
Ctrl-C to the exception in blocking calls; and resident memory after 5 and after 105 epochs.
"""
import json
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

LOADER = """
import os, signal, sys, time, resource, sluice
from sluice import transforms as T
def open_loader(path, **options):
    options = {"batch_size": 64, "shuffle": True, "num_workers": 2, "drop_last": True} | options
    return sluice.Loader(path, transform=[T.RandomResizedCrop(224), T.RandomHorizontalFlip()], **options)
"""

CPU = LOADER + """
loader, images = open_loader(sys.argv[1]), 0
for _ in loader: pass
start, cpu = time.perf_counter(), time.process_time()
while time.perf_counter() - start < float(sys.argv[2]):
    for pictures, labels in loader:
        images += len(labels)
print((time.process_time() - cpu) / images * 1e3)
"""

WRITE = """
import sys, sluice
more = {"label": "int", "caption": "text"} if len(sys.argv) > 2 else {}
with sluice.Writer(sys.argv[1], {"x": ("tensor", "float32", (1024,)), **more}, zstd="off") as writer:
    for number in range(20000):
        values = {"label": number, "caption": f"a photograph of the number {number}"} if more else {}
        writer.add(x=number.to_bytes(4, "little") * 1024, **values)
"""

BATCH = """
import sys, time, sluice
C = sluice.columns
more = {"label": C.Number(), "caption": C.Ragged(length=64)} if len(sys.argv) > 2 else {}
loader, batches = sluice.Loader(sys.argv[1], batch_size=64, shuffle=True, num_workers=1, columns={"x": C.Tensor(), **more}), 0
for _ in loader: pass
cpu = time.thread_time()
for _ in range(4):
    for batch in loader:
        for name in ("x", *more):
            batch[name]
        batches += 1
print((time.thread_time() - cpu) / batches * 1e6)
"""

EPOCHS = LOADER + """
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
loader = open_loader(sys.argv[1])
for epoch in range(105):
    for pictures, labels in loader: pass
    if epoch == 4: before = resident()
print(f"{before:.1f} {resident():.1f} {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.1f}")
"""

# What waits, in a loop of its own so that a signal meets it.
WAITS = {
    "next": "iterator = iter(loader); kept = [next(iterator) for _ in range(2)]\ndef call(): next(iterator)",
    "Loader()": "def call(): open_loader(path)",
    "Dataset()": "def call(): sluice.Dataset(sys.argv[2])",
    "pack": "def call(): sluice.pack(path, sys.argv[3], overwrite=True, progress=None)",
    "verify": "def call(): loader.dataset.verify(decode=True, progress=None)",
}
INTERRUPTED = LOADER + """
path = sys.argv[1]
loader = open_loader(path, prefetch_factor=2, hold="wait", hold_timeout=60)
{what}
print("go", flush=True)
try:
    while True:
        call()
except KeyboardInterrupt:
    print(time.monotonic(), flush=True)
os._exit(0)
"""


def run(program, *arguments):
    done = subprocess.run([sys.executable, "-c", program, *map(str, arguments)], capture_output=True, text=True, check=True)
    return done.stdout


def bench(path, seconds):
    command = ["-m", "sluice", "bench", path, "--batch", "64", "--workers", "2", "--last", "drop", "--json"]
    done = subprocess.run([sys.executable, *command, "--seconds", str(seconds)], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["cpu_ms_per_image"]


def interrupt(what, folder, *arguments):
    """ms from the signal, sent at some moment of the call, to the exception."""
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", INTERRUPTED.replace("{what}", WAITS[what]), *map(str, arguments)],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    process.stdout.readline()
    interrupt.sent = (getattr(interrupt, "sent", 0) + 37) % 100
    time.sleep(0.2 + interrupt.sent / 1000)
    sent = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    return (float(out) - sent) * 1e3


def timed(*command):
    start = time.perf_counter()
    subprocess.run([sys.executable, *map(str, command)], check=True, stdout=subprocess.DEVNULL)
    return (time.perf_counter() - start) * 1e3


def show(what, values, form):
    print(f"{what:45} {statistics.median(values):{form}}  ({min(values):{form}}..{max(values):{form}})", flush=True)


def make_many(folder):
    """Makes a folder that is slow to list: a thousand files under two hundred names."""
    first = folder / "many" / "class"
    first.mkdir(parents=True)
    for number in range(1000):
        (first / f"{number}.jpg").write_bytes(b"")
    for number in range(200):
        (first.parent / f"link{number}").symlink_to("class")
    return folder / "many"


def main():
    path = sys.argv[1]
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 3.0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        pairs = [(bench(path, seconds), float(run(CPU, path, seconds))) for _ in range(runs)]
        show("CPU ms an image, sluice bench", [pair[0] for pair in pairs], ".3f")
        show("CPU ms an image, Python", [pair[1] for pair in pairs], ".3f")
        run(WRITE, folder / "tensors")
        show("us a batch of the taking thread", [float(run(BATCH, folder / "tensors")) for _ in range(runs)], ".1f")
        run(WRITE, folder / "labelled", "more")
        show("the same with labels and texts", [float(run(BATCH, folder / "labelled", "more")) for _ in range(runs)], ".1f")
        first = LOADER + "next(iter(open_loader(sys.argv[1])))['image']; os._exit(0)"
        show("ms to the first batch, cold", [timed("-c", first, path) for _ in range(3 * runs)], ".0f")
        imports = [timed("-c", "import sluice") - timed("-c", "pass") for _ in range(3 * runs)]
        show("ms of import sluice", imports, ".0f")
        many = make_many(folder)
        for what in WAITS:
            delays = [interrupt(what, folder, path, many, folder / "packed") for _ in range(5 * runs)]
            show(f"ms from Ctrl-C to the exception, {what}", delays, ".0f")
        before, after, peak = run(EPOCHS, path).split()
        print(f"{'MiB resident after 5 and 105 epochs, at most':45} {before}, {after}, {peak}")


if __name__ == "__main__":
    main()
