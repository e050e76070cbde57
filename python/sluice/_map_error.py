# SPDX-License-Identifier: Apache-2.0
"""sluice.MapError."""
from ._sluice import Error


class MapError(Error, RuntimeError):
    """A function given as `map` failed, returned something other than samples, or ended its process.

    With one process, the original exception is the cause (`__cause__`).

    Attributes:
        sample: number of the sample that the function was called for.
        file: file of the sample.
        offset: offset of the sample in the file.
        reason: last line of the traceback, or the problem with the returned value.
        traceback: the function's traceback as text, or ''.
    """

    traceback = ""


MapError.__module__ = __package__
