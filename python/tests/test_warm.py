# SPDX-License-Identifier: Apache-2.0
"""Programs in forks of an interpreter (warm.py): they see the same environment as under python3, and end in the same way."""
import os
import signal
import subprocess
import sys

import pytest
import warm

SHOWN = "import os, sys; print(sys.argv[1:], os.getcwd(), os.environ['SHOWN'], 'sluice' in sys.modules, len(os.listdir('/proc/self/task')))"


def run(*arguments, **options):
    return subprocess.run([warm.python(), *map(str, arguments)], capture_output=True, text=True, timeout=300, **options)


def show(tmp_path, *arguments):
    done = run(*arguments, "a", "b c", cwd=tmp_path, env={"SHOWN": "1", "PYTHONPATH": str(tmp_path)})
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_what_a_program_sees(tmp_path):
    (tmp_path / "shown.py").write_text(SHOWN)
    shown = f"['a', 'b c'] {tmp_path} 1 False 1\n"
    for arguments in (["-c", SHOWN], ["-u", "shown.py"], ["-m", "shown"]):
        assert show(tmp_path, *arguments) == shown
    assert run("-c", "import sys; print(sys.stdin.read(), sys.executable, __name__)", input="in").stdout.split() == ["in", warm.python(), "__main__"]


def test_how_it_ends():
    assert [run("-c", f"import sys; sys.exit({code})").returncode for code in (0, 3, "'no'")] == [0, 3, 1]
    assert run("-c", "import os; os.kill(os.getpid(), 9)").returncode == -signal.SIGKILL
    assert run("-c", "import os; os.kill(os.getpid(), 15)").returncode == -signal.SIGTERM
    wrong = run("-c", "import atexit; atexit.register(print, 'end'); 1 / 0")
    real = subprocess.run([sys.executable, "-c", "1 / 0"], capture_output=True, text=True)
    assert (wrong.returncode, wrong.stdout, wrong.stderr) == (1, "end\n", real.stderr)


def test_it_dies_with_the_one_who_asked():
    asked = subprocess.Popen([warm.python(), "-c", "import os, time; print(os.getpid(), flush=True); time.sleep(600)"], stdout=subprocess.PIPE)
    process = os.pidfd_open(int(asked.stdout.readline()))
    asked.kill()
    assert asked.stdout.read() == b"" and asked.wait() == -signal.SIGKILL  # end of file: no process has it open
    with pytest.raises(ProcessLookupError):
        while True:
            signal.pidfd_send_signal(process, 0)
