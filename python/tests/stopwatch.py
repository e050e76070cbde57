# SPDX-License-Identifier: Apache-2.0
"""Measures the time of an operation in a test that runs beside others. The limit applies to its CPU time, which other programs do not
change; wall-clock time has a generous limit, PATIENCE, since waiting takes no CPU."""
import time

PATIENCE = 60.0  # seconds: more than a busy machine needs, but a hung wait for storage exceeds it


class Stopwatch:
    def __init__(self):
        self._cpu, self._clock = time.process_time(), time.monotonic()

    def seconds(self):
        """Returns (CPU seconds, wall-clock seconds) since the stopwatch was created."""
        return time.process_time() - self._cpu, time.monotonic() - self._clock


def check(took, most, what):
    """`took`: a Stopwatch's seconds. Fails above `most` CPU seconds, or above PATIENCE of wall-clock time."""
    cpu, clock = took
    assert cpu < most, f"{what}: {cpu:.1f} s of CPU"
    assert clock < PATIENCE, f"{what}: {clock:.1f} s"
