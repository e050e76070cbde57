# SPDX-License-Identifier: Apache-2.0
"""Functions of the user on columns (transforms.Python), and their cost."""
from __future__ import annotations

import time
import warnings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

WARN_AFTER = 8  # calls, so that setup in the first ones has little weight
CHEAPER = "pass per_sample=False to call it once per batch, or use transforms.Native for compiled code on the workers"


def _is_torch(array):
    return type(array).__module__.partition(".")[0] == "torch"


def _stack(rows, like):
    if _is_torch(like):
        import torch

        return torch.stack([row if isinstance(row, torch.Tensor) else torch.as_tensor(row) for row in rows])
    import numpy

    made = numpy.stack(rows)
    if made.dtype == object:
        raise TypeError(f"rows of {type(rows[0]).__name__} cannot become an array")
    return made


def _rows(array):
    """Returns the number of rows; -1: the value has no rows."""
    try:
        return -1 if isinstance(array, (str, bytes, dict)) else len(array)
    except TypeError:
        return -1


class Functions:
    """Calls the functions of one column, and counts their time."""

    def __init__(self, column: str, steps: Any) -> None:
        self.column: str = column
        self.steps: Any = steps
        self.calls: int = 0
        self.rows: int = 0
        self.nanoseconds: int = 0
        self._warn = any(step.per_sample for step in steps)

    def __call__(self, array: Any) -> Any:
        if self._warn and self.calls == WARN_AFTER:  # before they may change the array, because the warning may be an error
            self._warn = False
            warnings.warn(f"{self}; {CHEAPER}", RuntimeWarning, stacklevel=3)
        rows, start = len(array), time.perf_counter_ns()
        for step in self.steps:
            array = self._run(step, array, rows)
        self.nanoseconds += time.perf_counter_ns() - start
        self.calls += 1
        self.rows += rows
        return array

    def _run(self, step, array, rows):
        if not step.per_sample:
            made = step.function(array)
        elif rows:
            results = [step.function(row) for row in array]
            if any(result is None for result in results):
                raise ValueError(f"{step!r} of column {self.column!r} returned None for a row")
            made = _stack(results, array)
        else:
            made = array
        if _rows(made) != rows:
            given = f"{_rows(made)} rows" if _rows(made) >= 0 else f"{type(made).__name__}"
            raise ValueError(f"{step!r} of column {self.column!r} returned {given}: expected {rows} rows")
        return made

    def cost(self) -> dict[str, int | float]:
        return {"calls": self.calls, "samples": self.rows, "seconds": self.nanoseconds / 1e9}

    def __str__(self) -> str:
        return (
            f"transforms.Python on column {self.column!r} takes {self.nanoseconds / 1e3 / max(self.rows, 1):.0f} us per "
            f"sample, {self.nanoseconds / 1e6 / max(self.calls, 1):.1f} ms per batch, on the thread that takes batches"
        )


def called(hook: Any, batch: Any) -> Any:
    """Calls a hook and returns its result, or the batch itself for None. Adds a note with the batch's
    place to an error.
    """
    place = f"batch {batch.index} of epoch {batch.epoch}"
    try:
        made = hook(batch)
    except StopIteration as error:  # it would end the epoch
        raise RuntimeError(f"batch_hook raised StopIteration for {place}") from error
    except BaseException as error:
        error.add_note(f"in batch_hook, called with {place}")
        raise
    return batch if made is None else made


class Conversion:
    """Converts a column before it is returned. Batches keep this object, so it must not keep the
    loader.
    """

    def __init__(self, functions: dict[str, Functions]) -> None:
        self.functions: dict[str, Functions] = functions  # Functions by column

    def __call__(self, name: str, tensor: Any, copy: bool) -> Any:
        functions = self.functions.get(name)
        if functions is None:
            return tensor
        return functions(tensor.numpy() if tensor.device == "cpu" else tensor)
