# SPDX-License-Identifier: Apache-2.0
"""`python -m sluice`, and a wheel's `sluice`: replaces this process with the command-line tool."""
import os
import shutil
import signal
import sys

own: str = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "sluice")
tool: str | None = own if os.path.exists(own) else shutil.which("sluice")
if tool is None:
    sys.exit("python -m sluice: cannot find `sluice` beside the package or in PATH")
for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, and the tool would inherit that
    signal.signal(number, signal.SIG_DFL)
os.execv(tool, [tool, *sys.argv[1:]])
