# SPDX-License-Identifier: Apache-2.0
"""Signals, forks, spawned processes, and the interpreter's end in every state."""
import signal
import subprocess
import sys
import textwrap
import time

import pytest

OPEN = """
import sys, warnings, sluice
from sluice import transforms as T
warnings.simplefilter("ignore")  # of batches that are kept
data = sluice.Dataset(sys.argv[1])
loader = sluice.Loader(data, batch_size=4, transform=T.RandomResizedCrop(16), prefetch_factor=2, hold="wait")
"""

STATES = {
    "a dataset": "",
    "no epoch": "pass",
    "in an epoch": "iterator = iter(loader); batch = next(iterator)",
    "a tensor": "image = next(iter(loader))['image']",
    "an array": "image = next(iter(loader))['image'].numpy()",
    "a capsule": "capsule = next(iter(loader))['image'].__dlpack__()",
    "a global cycle": "loader._me = loader; loader._b = next(iter(loader)); loader._b2 = loader._b['image']",
    "closed": "batch = next(iter(loader)); loader.close()",
    "a thread that waits": """
import threading, time
iterator = iter(loader); kept = [next(iterator), next(iterator)]
threading.Thread(target=next, args=(iterator,), daemon=True).start()
time.sleep(0.2)
""",
    "a thread that packs": """
import threading, time
def pack():
    while True:
        sluice.pack(data, sys.argv[2] + "/packed", overwrite=True, progress=None)
threading.Thread(target=pack, daemon=True).start()
time.sleep(0.2)
""",
    "a thread that opens and verifies": """
import threading, time
def work():
    while True:
        sluice.Dataset(sys.argv[1]).verify(progress=None)
threading.Thread(target=work, daemon=True).start()
time.sleep(0.2)
""",
    "threads that take batches": """
import threading, time
def take():
    while True:
        try:
            for batch in loader:
                batch["image"].numpy()
        except sluice.StateError:  # another thread has begun an iteration
            pass
for _ in range(3):
    threading.Thread(target=take, daemon=True).start()
time.sleep(0.2)
""",
    "a writer at work": """
writer = sluice.Writer(sys.argv[2] + "/packed", {"x": "int"})
writer.add(x=1)
""",
    "a function at its end": """
import atexit
atexit.register(lambda: print(next(iter(loader)).rows, file=sys.stdout))
""",
    "a loop that is left by os._exit": "import os; next(iter(loader)); os._exit(0)",
    "a generator that is not finished": "iterator = iter(loader); next(iterator); loader = None",
    "an error that is kept": """
try:
    sluice.Dataset("/none")
except sluice.Error as error:
    kept = error
""",
    "an exception": "next(iter(loader)); raise SystemExit(0)",
    "a hook that fails": """
loader.batch_hook = lambda batch: 1 / 0
try:
    list(loader)
except ZeroDivisionError:
    pass
""",
}


@pytest.mark.parametrize("state", STATES)
def test_the_interpreters_end(run_python, photos, tmp_path, state):
    done = run_python(OPEN + STATES[state], photos, tmp_path)
    assert done.returncode == 0 and done.stderr == "", done.stderr


def interrupt(program, *arguments, delay=0.5):
    """Sends SIGINT `delay` s after the program prints 'go'. Returns its last words and exit code."""
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program), *map(str, arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout.readline() == "go\n"
    time.sleep(delay)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=300)
    return out, process.returncode


def test_ctrl_c_while_waiting(photos):
    """CPU time is measured by the program itself, so that neither the interpreter's end nor a busy machine counts."""
    out, code = interrupt(
        OPEN
        + """
import signal, time
at = []
def handler(number, frame):
    at.extend([time.process_time(), time.monotonic()])
    raise KeyboardInterrupt
signal.signal(signal.SIGINT, handler)
iterator = iter(loader)
kept = [next(iterator), next(iterator)]
try:
    print("go", flush=True)
    next(iterator)
except KeyboardInterrupt:
    print("interrupted", time.process_time() - at[0] < 5 and time.monotonic() - at[1] < 60, flush=True)
kept.clear()
print(next(iter(loader)).index)
""",
        photos,
    )
    assert out == "interrupted True\n0\n" and code == 0


def test_a_handler_may_close_the_loader(run_python, photos):
    done = run_python(
        OPEN
        + """
import os, signal, threading
signal.signal(signal.SIGTERM, lambda number, frame: loader.close())
iterator = iter(loader)
kept = [next(iterator), next(iterator)]
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGTERM)).start()
try:
    next(iterator)
except sluice.Error as error:
    print(error.status)
""",
        photos,
    )
    assert done.stdout.strip() in ("state", "canceled") and done.returncode == 0, done.stderr


def test_a_child_of_a_process_with_a_waiting_thread(run_python, photos):
    """The child has no thread to release batches, and ends."""
    done = run_python(
        OPEN
        + """
import os, threading, time
iterator = iter(loader)
kept = [next(iterator), next(iterator)]
threading.Thread(target=next, args=(iterator,), daemon=True).start()
time.sleep(0.2)
child = os.fork()
if child == 0:
    try:
        loader._handle.next(None)
    except sluice.StateError:
        kept.clear()
        loader.close()
        raise SystemExit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
kept.clear()
time.sleep(0.2)
""",
        photos,
    )
    assert done.returncode == 0, done.stderr


def test_ctrl_c_while_opening(photos, tmp_path):
    """A listing that takes seconds: a folder of a thousand images, under a thousand names."""
    folder = tmp_path / "many" / "class"
    folder.mkdir(parents=True)
    source = next(photos.rglob("*.jpg"))
    for number in range(1000):
        (folder / f"{number}.jpg").hardlink_to(source)
        (folder.parent / f"link{number}").symlink_to("class")
    out, code = interrupt(
        """
import signal, sys, time, sluice
at = []
def handler(number, frame):
    at.extend([time.process_time(), time.monotonic()])
    raise KeyboardInterrupt
signal.signal(signal.SIGINT, handler)
try:
    print("go", flush=True)
    sluice.Dataset(sys.argv[1])
except KeyboardInterrupt:
    print("interrupted", time.process_time() - at[0] < 1 and time.monotonic() - at[1] < 60)
""",
        tmp_path / "many",
        delay=0.1,
    )
    assert out == "interrupted True\n" and code == 0


def test_a_forked_child_has_no_state(run_python, photos):
    """Neither at the parent's position nor between epochs, where its state would lack the cursor, before and after close()."""
    done = run_python(
        OPEN
        + """
import os
def refuses():
    try:
        loader.state_dict()
    except sluice.StateError as error:
        return "before the fork" in str(error)
child = os.fork()
if child == 0:
    refused = [refuses()]
    loader.set_epoch(3)
    refused.append(refuses())
    loader.close()
    os._exit(7 if refused + [refuses()] == [True] * 3 else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
loader.load_state_dict(loader.state_dict())
""",
        photos,
    )
    assert done.returncode == 0 and done.stderr == "", done.stderr


def test_a_forked_child_is_told(run_python, photos):
    done = run_python(
        OPEN
        + """
import os
iterator = iter(loader)
batch = next(iterator)
child = os.fork()
if child == 0:
    try:
        next(iterator)
    except sluice.StateError:
        os._exit(7)
    os._exit(1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
batch = None  # of two batches, the loop needs both
batches = sum(1 for _ in iterator)
assert batches == len(loader) - 1, batches
""",
        photos,
    )
    assert done.returncode == 0, done.stderr


def test_a_dataset_in_spawned_processes(run_python, photos, tmp_path):
    program = tmp_path / "spawn.py"
    program.write_text(
        textwrap.dedent(
            """
            import multiprocessing, sys
            import sluice

            def count(data):
                loader = sluice.Loader(data, batch_size=4, transform=sluice.transforms.RandomResizedCrop(16))
                return sum(batch.rows for batch in loader)

            if __name__ == "__main__":
                with multiprocessing.get_context("spawn").Pool(2) as pool:
                    print(pool.map(count, [sluice.Dataset(sys.argv[1])] * 2))
            """
        )
    )
    done = subprocess.run([sys.executable, program, photos], capture_output=True, text=True, timeout=300)
    assert done.stdout == "[33, 33]\n", done.stderr


def test_import_is_light(run_python):
    done = run_python(
        """
import sys
import sluice
heavy = {"typing", "re", "numpy", "torch", "PIL", "asyncio", "multiprocessing", "subprocess", "concurrent"} & set(sys.modules)
print(sorted(heavy))
"""
    )
    assert done.stdout == "[]\n"
