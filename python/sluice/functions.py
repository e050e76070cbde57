# SPDX-License-Identifier: Apache-2.0
"""What is made of a column before it is given out: functions of the user's (transforms.Python), and what they cost."""
import time
import warnings

WARN_AFTER = 8  # calls, so that what the first ones set up weighs little


def _stack(rows):
    if type(rows[0]).__module__.partition(".")[0] == "torch":
        import torch

        return torch.stack(rows)
    import numpy

    return numpy.stack(rows)


class Functions:
    """Calls the functions of one column, and counts their time."""

    def __init__(self, column, steps):
        self.column, self.steps = column, steps
        self.calls = self.rows = self.nanoseconds = 0
        self._warn = any(step.per_sample for step in steps)

    def __call__(self, array):
        rows, start = len(array), time.perf_counter_ns()
        for step in self.steps:
            if not step.per_sample:
                array = step.function(array)
            elif rows:
                array = _stack([step.function(row) for row in array])
            if array is None or len(array) != rows:
                given = "None" if array is None else f"{len(array)} rows"
                raise ValueError(f"{step!r} of column {self.column!r} returned {given}: expected {rows} rows")
        self.nanoseconds += time.perf_counter_ns() - start
        self.calls += 1
        self.rows += rows
        if self._warn and self.calls == WARN_AFTER:
            warnings.warn(f"{self}; with per_sample=False it would be called once a batch", RuntimeWarning, stacklevel=2)
        return array

    def cost(self):
        return {"calls": self.calls, "samples": self.rows, "seconds": self.nanoseconds / 1e9}

    def __str__(self):
        return (
            f"transforms.Python on column {self.column!r} takes {self.nanoseconds / 1e3 / max(self.rows, 1):.0f} us a "
            f"sample, {self.nanoseconds / 1e6 / max(self.calls, 1):.1f} ms a batch, on the thread that takes batches"
        )


class Conversion:
    """Makes of a column what is given out. Batches keep it, so it must not keep the loader."""

    def __init__(self, functions):
        self.functions = functions  # Functions by column

    def __call__(self, name, tensor):
        functions = self.functions.get(name)
        if functions is None:
            return tensor
        return functions(tensor.numpy() if tensor.device == "cpu" else tensor)
