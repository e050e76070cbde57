# SPDX-License-Identifier: Apache-2.0
"""The same binary under the other, sufficiently recent CPythons of this machine."""
import os
import shutil
import subprocess
import sys

import pytest

PROGRAM = """
import sys, sluice
from sluice import transforms as T
data = sluice.Dataset(sys.argv[1])
loader = sluice.Loader(data, batch_size=4, shuffle=True, seed=5, num_workers=2, transform=T.RandomResizedCrop(16))
total = 0
for images, labels in loader:
    total = total * 31 % 1000003 + sum(memoryview(images).cast("B")) + sum(memoryview(labels).cast("B"))
try:
    sluice.Dataset("/none")
except sluice.IOError as error:
    print(total, error.errno, len(data.decode(3)))
"""


def run(python, photos):
    return subprocess.run([python, "-c", PROGRAM, photos], capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize("minor", range(11, 16))
def test_the_same_batches(minor, photos):
    python = shutil.which(f"python3.{minor}")
    if python is None or subprocess.run([python, "--version"], capture_output=True).returncode != 0:
        pytest.skip(f"there is no python3.{minor} here")
    if os.path.realpath(python) == os.path.realpath(sys.executable):
        pytest.skip("it runs all the other tests")
    done = run(python, photos)
    assert done.returncode == 0 and done.stdout == run(sys.executable, photos).stdout, done.stderr
