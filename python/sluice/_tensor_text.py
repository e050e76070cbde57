# SPDX-License-Identifier: Apache-2.0
"""The values in the repr of a sluice.Tensor, which python/src/tensor.c asks for."""
from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import _sluice


def shown(tensor: _sluice.Tensor) -> str | None:
    """The values as numpy prints them, with "..." for the middle of large ones. None: without numpy, of a dtype that numpy lacks
    (bfloat16), and in GPU memory, which is not read for it."""
    try:
        import numpy

        array = tensor.numpy()
    except (ModuleNotFoundError, TypeError):
        return None
    return numpy.array2string(array, separator=", ", prefix="sluice.Tensor(")
