# SPDX-License-Identifier: Apache-2.0
"""The values in the repr of a sluice.Tensor, for python/src/tensor.c."""
from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import _sluice


def shown(tensor: _sluice.Tensor) -> str | None:
    """Returns the values as numpy prints them, with "..." in the middle of large tensors. None without
    numpy, for a dtype that numpy lacks (bfloat16), and for GPU memory, which is not read.
    """
    try:
        import numpy

        array = tensor.numpy()
    except (ModuleNotFoundError, TypeError):
        return None
    return numpy.array2string(array, separator=", ", prefix="sluice.Tensor(")
