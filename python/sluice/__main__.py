# SPDX-License-Identifier: Apache-2.0
"""`python -m sluice`: the command-line tool."""
import os
import shutil
import sys

own = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "sluice")
tool = own if os.path.exists(own) else shutil.which("sluice")
if tool is None:
    sys.exit("python -m sluice: there is no `sluice` beside the package or in PATH")
os.execv(tool, [tool, *sys.argv[1:]])
