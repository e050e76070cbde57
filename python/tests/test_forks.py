# SPDX-License-Identifier: Apache-2.0
"""Forked children of writing processes leave their parent's files alone, however they end, and do not wait for
threads that they do not have."""
import os

import pytest

# A child that allocates while another thread of its parent holds a lock: glibc's allocator supports that.
threads_allocate = pytest.mark.skipif("asan" in os.environ.get("LD_PRELOAD", ""), reason="AddressSanitizer's allocator is not")

BEGIN = """
import gc, os, signal, sys, threading, time
import sluice

def fork(work):
    "What the child says at its end, which `work` may come before."
    child = os.fork()
    if child == 0:
        work()
        sys.exit(7)
    return child

def end(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

def numbers(path):
    data = sluice.Dataset(path)
    assert data.verify(progress=None).findings == []
    return data.numbers("x")

out = sys.argv[1]
"""

WRITER = BEGIN + """
writer = sluice.Writer(out, {"x": "int", "data": "bytes"}, zstd="off")
writer.add(x=0, data=bytes(3000000))
"""

ENDS = {
    "the interpreter's end": "pass",
    "garbage": "del writer; gc.collect(); os._exit(7)",
    "abort": "writer.abort(); os._exit(7)",
    "a cycle": "sys.modules['x'] = writer; writer.me = writer; del writer; sys.exit(7)",
    "refusals": """
for call in (lambda: writer.add(x=1), writer.finish):
    try:
        call()
    except sluice.StateError as error:
        assert "before the fork" in str(error), error
    else:
        os._exit(1)
""",
}


@pytest.mark.parametrize("end", ENDS)
def test_a_writer_in_a_child(run_python, tmp_path, end):
    work = "".join(f"    {line}\n" for line in ENDS[end].strip().splitlines())
    done = run_python(
        WRITER
        + f"""
def work():
    global writer
{work}
assert end(fork(work)) == 7
writer.add(x=1)
writer.finish()
assert numbers(out) == [0, 1]
""",
        tmp_path / "packed",
    )
    assert done.returncode == 0 and done.stderr == "", done.stderr


def test_a_with_block_in_a_child(run_python, tmp_path):
    """Left through sys.exit, and normally."""
    done = run_python(
        BEGIN
        + """
try:
    with sluice.Writer(out, {"x": "int"}) as writer:
        writer.add(x=0)
        if os.fork() == 0:
            sys.exit(7)
        assert end(-1) == 7
        child = os.fork()
        if child:
            assert end(child) == 7
            writer.add(x=1)
except sluice.StateError:
    os._exit(7 if child == 0 else 1)
assert numbers(out) == [0, 1]
""",
        tmp_path / "packed",
    )
    assert done.returncode == 0 and done.stderr == "", done.stderr


def test_multiprocessing(run_python, tmp_path):
    done = run_python(
        WRITER
        + """
import multiprocessing

def work(number):
    try:
        writer.add(x=number)
    except sluice.StateError:
        return number

with multiprocessing.get_context("fork").Pool(2) as pool:
    assert pool.map(work, range(4)) == [0, 1, 2, 3]
writer.add(x=1)
writer.finish()
assert numbers(out) == [0, 1]
""",
        tmp_path / "packed",
    )
    assert done.returncode == 0, done.stderr


@threads_allocate
def test_a_writer_that_another_thread_is_using(run_python, tmp_path):
    """Its samples are large, so that children are forked during a call."""
    done = run_python(
        WRITER
        + """
def add_some():
    for number in range(1, 60):
        writer.add(x=number, data=data)

data = bytes(3000000)
thread = threading.Thread(target=add_some)
thread.start()
forks = 0
while thread.is_alive():
    assert end(fork([lambda: None, writer.abort][forks % 2])) == 7
    forks += 1
thread.join()
writer.finish()
assert numbers(out) == list(range(60)) and forks > 1
""",
        tmp_path / "packed",
    )
    assert done.returncode == 0, done.stderr


@threads_allocate
def test_children_that_exit_during_a_pack(run_python, photos, tmp_path):
    """Another thread writes the list of bad samples."""
    many = tmp_path / "many"
    many.mkdir()
    for folder in photos.iterdir():
        (many / folder.name).mkdir()
        for number in range(40):
            (many / folder.name / f"bad{number}.jpg").write_bytes(b"no picture")
            for picture in folder.iterdir():
                (many / folder.name / f"{number}-{picture.name}").hardlink_to(picture)
    done = run_python(
        BEGIN
        + """
def pack():
    made.append(sluice.pack(many, f"{out}/forked", on_bad_sample="skip", progress=None))

many, made = sys.argv[2], []
sluice.pack(many, f"{out}/plain", on_bad_sample="skip", progress=None)
thread = threading.Thread(target=pack)
thread.start()
while thread.is_alive():
    assert end(fork(lambda: None)) == 7
thread.join()
assert made[0].rejected == 120
for name in os.listdir(f"{out}/plain"):
    one, other = (open(f"{out}/{folder}/{name}", "rb").read() for folder in ("plain", "forked"))
    assert one == other, name
""",
        tmp_path,
        many,
    )
    assert done.returncode == 0, done.stderr


def test_progress_that_forks(run_python, photos, tmp_path):
    """The child returns from it into a call made by its parent."""
    done = run_python(
        BEGIN
        + """
def progress(done, total):
    if not children:
        children.append(os.fork())

children = []
for call in (
    lambda: sluice.pack(sys.argv[2], f"{out}/packed", progress=progress),
    lambda: sluice.unpack(f"{out}/packed", f"{out}/files", progress=progress),
    lambda: sluice.Dataset(sys.argv[2]).verify(progress=progress),
):
    children.clear()
    try:
        call()
    except sluice.StateError as error:
        os._exit(7 if children == [0] and "before the fork" in str(error) else 1)
    if children == [0]:
        os._exit(7)  # it was done before its progress was shown
    assert end(children[0]) == 7
assert len(sluice.Dataset(f"{out}/files")) == len(sluice.Dataset(sys.argv[2]))
""",
        tmp_path,
        photos,
    )
    assert done.returncode == 0, done.stderr


def test_a_child_that_lives_on_keeps_no_lock(run_python, photos, tmp_path):
    done = run_python(
        WRITER
        + """
import signal
child = fork(signal.pause)
writer.finish()
with sluice.Writer(out, {"x": "int"}, overwrite=True) as writer:
    writer.add(x=5)
os.kill(child, signal.SIGKILL)
assert numbers(out) == [5]
""",
        tmp_path / "packed",
    )
    assert done.returncode == 0, done.stderr


def test_a_child_waits_for_no_pack_of_its_parent(run_python, tmp_path):
    """The parent's pack was stopped and still processes its last samples, which are large."""
    import numpy
    from PIL import Image

    folder = tmp_path / "large" / "class"
    folder.mkdir(parents=True)
    noise = numpy.random.default_rng(1).integers(0, 256, (2500, 2500, 3), dtype=numpy.uint8)
    Image.fromarray(noise).save(folder / "0.jpg", quality=95)
    for number in range(1, 12):
        (folder / f"{number}.jpg").hardlink_to(folder / "0.jpg")
    done = run_python(
        BEGIN
        + """
def stop(done, total):
    raise KeyboardInterrupt

try:
    sluice.pack(sys.argv[2], f"{out}/packed", workers=1, progress=stop)
except KeyboardInterrupt:
    pass

def work():
    signal.alarm(600)
    try:
        sluice.pack(sys.argv[2], f"{out}/packed", workers=1, progress=stop)
    except sluice.StateError:  # the parent has the folder
        pass
    except KeyboardInterrupt:  # it was through with it
        pass
    os._exit(7)

assert end(fork(work)) == 7
""",
        tmp_path,
        tmp_path / "large",
    )
    assert done.returncode == 0, done.stderr


def test_a_loader_that_another_thread_waits_for(run_python, photos, tmp_path):
    """A thread that the child does not have holds the lock by which threads take turns."""
    done = run_python(
        BEGIN
        + """
data = sluice.Dataset(sys.argv[1])
loader = sluice.Loader(data, batch_size=4, transform=sluice.transforms.RandomResizedCrop(16), prefetch_factor=2, hold="wait")
iterator = iter(loader)
kept = [next(iterator), next(iterator)]
threading.Thread(target=next, args=(iterator,), daemon=True).start()
time.sleep(0.2)

def work():
    for call in (lambda: next(iterator), lambda: iter(loader)):
        try:
            call()
        except sluice.StateError as error:
            assert error.status == "state" and "before the fork" in str(error)
        else:
            os._exit(1)

assert end(fork(work)) == 7
kept.clear()
time.sleep(0.2)
""",
        photos,
    )
    assert done.returncode == 0, done.stderr


def test_marks_are_of_one_process(run_python, tmp_path, monkeypatch):
    monkeypatch.setenv("SLUICE_IDLE_DIR", str(tmp_path))
    done = run_python(
        BEGIN
        + """
marks = sluice.marks()
marks.step()
assert end(fork(marks.step)) == 7
with marks.waiting():
    pass
marks.close()
lines = open(f"{out}/marks.{os.getpid()}").read().splitlines()
assert [line.split()[0] for line in lines] == ["step", "wait"], lines
""",
        tmp_path,
    )
    assert done.returncode == 0, done.stderr


def test_files_that_were_replaced(run_python, tmp_path):
    """A child opens the same files as its parent, or reports that it cannot."""
    done = run_python(
        BEGIN
        + """
import numpy
numpy.save(out + "/a.npy", numpy.zeros((10, 4), "int32"))
numpy.save(out + "/b.npy", numpy.ones((10, 4), "int32"))
data = sluice.Dataset(out + "/a.npy")

def look(wanted):
    try:
        found = data[3]
    except sluice.IOError as error:
        found = str(error)
    os._exit(7 if (wanted in found if isinstance(found, str) else wanted == "") else 1)

assert end(fork(lambda: look(""))) == 7
os.link(out + "/a.npy", out + "/other")
assert end(fork(lambda: look(""))) == 7
os.replace(out + "/b.npy", out + "/a.npy")
assert end(fork(lambda: look("was changed since it was opened"))) == 7
""",
        tmp_path,
    )
    assert done.returncode == 0, done.stderr
