# SPDX-License-Identifier: Apache-2.0
"""Nothing accumulates over ten thousand batches and a hundred epochs: objects, references, memory, threads, files."""

ASAN = "libasan" in open("/proc/self/maps").read()

# A thread that was joined may remain listed for a moment.
TASKS = """
import os, time
def tasks():
    def look():
        time.sleep(0.005)
        return len(os.listdir("/proc/self/task"))
    return min(look() for _ in range(20))

"""

PROGRAM = TASKS + """
import gc, os, sys, numpy, sluice
from sluice import transforms as T

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

def use(batch, number):
    image, label = batch
    if number % 2:
        image = image.numpy()
        image += 1
        del image
    if number % 3 == 0:
        numpy.from_dlpack(batch["label"])
    if number % 5 == 0:
        memoryview(batch["image"][1:])
        batch["image"].__dlpack__()          # a capsule that nobody takes
    if number % 7 == 0:
        batch.items(), repr(batch), batch["mask"], "none" in batch
        try:
            batch["none"]
        except KeyError:
            pass
    if number % 11 == 0:
        batch.release()

def look():
    gc.collect()
    return (len(gc.get_objects()), sys.getallocatedblocks(), resident(), tasks(),
            len(os.listdir("/proc/self/fd")))

def objects():
    return [sys.getrefcount(one) for one in (None, loader, data, sluice.Tensor, sluice.Batch, sluice.Error, loader._handle)]

data = sluice.Dataset(sys.argv[1])
loader = sluice.Loader(data, batch_size=3, shuffle=True, num_workers=2, transform=T.RandomResizedCrop(16))
number = 0
def run(batches):
    global number
    end = number + batches
    while number < end:
        for batch in loader:
            use(batch, number)
            number += 1
            if number % 50 == 0:
                state = loader.state_dict()
                loader.stats(), loader.remaining, data[number % 33], data.sample(3), data.decode(4)
            if number % 500 == 0:
                loader.load_state_dict(state)
        batch = None
run(3000)
first, references = look(), objects()
run(10000)
last, later = look(), objects()
print(*(b - a for a, b in zip(first, last)), loader.epoch >= 100, max(abs(b - a) for a, b in zip(references, later)))
"""


def test_ten_thousand_batches(run_python, photos):
    done = run_python(PROGRAM, photos, timeout=300)
    assert done.returncode == 0, done.stderr
    objects, blocks, memory, threads, files, epochs, references = done.stdout.split()
    # Some come and go by themselves; a leak per batch would be 10,000.
    assert int(objects) < 100 and int(blocks) < 1000 and int(references) < 1000, done.stdout
    assert epochs == "True", done.stdout
    assert (threads, files) == ("0", "0"), done.stdout
    if not ASAN:
        assert int(memory) < 2 << 20, done.stdout


OPENED = TASKS + """
import gc, os, sys, sluice
from sluice import transforms as T
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
def run(times):
    for number in range(times):
        data = sluice.Dataset(sys.argv[1])
        loader = sluice.Loader(data, batch_size=4, num_workers=1, transform=T.RandomResizedCrop(16))
        iterator = iter(loader)
        for _ in range(number % 4):
            kept = next(iterator)["image"]
        for wrong in (lambda: sluice.Loader(data, batch_size=4, transform=T.RandomResizedCrop(16), seed=-1),
                      lambda: sluice.Dataset("/none"), lambda: data.read(99, "image"),
                      lambda: loader.load_state_dict({"sluice": 1, "cursor": "00", "epoch": 0, "samples": 0})):
            try:
                wrong()
            except (sluice.Error, ValueError, IndexError):
                pass
run(30)
gc.collect()
first = sys.getallocatedblocks(), resident(), tasks(), len(os.listdir("/proc/self/fd"))
run(60)
sizes = []  # what malloc keeps comes and goes, what leaks stays
for _ in range(3):
    run(20)
    gc.collect()
    sizes.append(resident())
last = sys.getallocatedblocks(), min(sizes), tasks(), len(os.listdir("/proc/self/fd"))
print(*(b - a for a, b in zip(first, last)))
"""


def test_a_hundred_loaders(run_python, photos):
    done = run_python(OPENED, photos, timeout=300)
    assert done.returncode == 0, done.stderr
    blocks, memory, threads, files = map(int, done.stdout.split())
    assert blocks < 100 and (threads, files) == (0, 0), done.stdout
    if not ASAN:
        assert memory < 8 << 20, done.stdout  # malloc's memory varies by up to 4 MiB; 120 large objects exceed that
