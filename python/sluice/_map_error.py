# SPDX-License-Identifier: Apache-2.0
"""sluice.MapError."""
from ._sluice import Error


class MapError(Error, RuntimeError):
    """A function given as `map` failed, returned something other than samples, or ended its process.

    sample, file, offset: where the sample lies that it was called for. reason: the last line of its traceback, or what
    is wrong with the value. traceback: the function's traceback as text; '' where there is none. The original exception is the
    cause (`__cause__`) with one process.
    """

    traceback = ""


MapError.__module__ = __package__
