# SPDX-License-Identifier: Apache-2.0
"""How long something takes, in a test beside other programs: its CPU time, which they do not change, has the limit; the time on
the clock has a generous one, PATIENCE, since a wait takes no CPU."""
import time

PATIENCE = 60.0  # seconds, which a busy machine does not reach and a wait for storage that hangs does


class Stopwatch:
    def __init__(self):
        self._cpu, self._clock = time.process_time(), time.monotonic()

    def seconds(self):
        """(of CPU, on the clock) since it was made."""
        return time.process_time() - self._cpu, time.monotonic() - self._clock


def check(took, most, what):
    """`took`: a Stopwatch's seconds. Fails above `most` seconds of CPU, or PATIENCE on the clock."""
    cpu, clock = took
    assert cpu < most, f"{what}: {cpu:.1f} s of CPU"
    assert clock < PATIENCE, f"{what}: {clock:.1f} s"
