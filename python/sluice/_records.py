# SPDX-License-Identifier: Apache-2.0
"""Named tuples that a Dataset returns. _types.py has their types."""
from __future__ import annotations

from collections import namedtuple

from ._meanings import MEANINGS
from ._names import DTYPE_NAMES

TYPES = {1: "image", 2: "int", 3: "float", 4: "bytes", 5: "text", 6: "tensor"}

LeftOut = namedtuple("LeftOut", ["reason", "count", "images", "example"])
LeftOut.__doc__ = """Files, rows or values that opening a dataset found and left out.

Attributes:
    reason: the reason, a phrase.
    count: number of them.
    images: True if each of them is an image.
    example: the first one.
"""


class Field(namedtuple("Field", ["name", "type", "dtype", "shape"])):
    """A field of a dataset's samples.

    Attributes:
        name: name of the field.
        type: 'image', 'int', 'float', 'bytes', 'text' or 'tensor'.
        dtype: dtype of a tensor's elements.
        shape: shape of a tensor; a dimension of 0 differs from sample to sample.
        meaning: what the dataset knows about the values, a dict with any of: role ('boxes',
            'points', 'shapes', 'mask', 'width', 'height'), box_format ('xyxy', 'xywh',
            'cxcywh'), coordinates ('relative', 'pixels', 'indices'), orientation ('stored',
            'upright', 'by_size'), per_box (True: one element for each box), of (the field that
            it describes).
    """

    meaning = {}  # not a member of the tuple, which has four
    _words = ""  # the same as text

    @classmethod
    def _known(cls, name, kind, dtype, shape, meaning):
        field = cls(name, TYPES.get(kind, "unknown"), DTYPE_NAMES.get(dtype, "unknown"), shape)
        known = {key: words[meaning[key]] for key, words in MEANINGS.items() if meaning[key] in words}
        field.meaning = known | ({"of": meaning["of"]} if meaning["of"] else {})
        field._words = meaning["words"]
        return field


class Verified(namedtuple("Verified", ["samples", "bytes", "findings", "unchecked"])):
    """Result of Dataset.verify.

    Attributes:
        samples: samples that were checked.
        bytes: bytes that were read.
        findings: exceptions with file, sample, offset and reason, which are not raised; empty
            if everything is good.
        unchecked: data without a checksum, such as "tars have no checksums"; '' if every sample
            has one.
        undecoded: images whose pixels were not read, because verify ran without `decode`.
        left_out: files and samples outside of the dataset, which were not checked
            (Dataset.left_out).
    """

    undecoded = 0  # not members of the tuple, which has four
    left_out = ()

    def __repr__(self):
        more = f", undecoded={self.undecoded}" if self.undecoded else ""
        more += f", left_out={self.left_out}" if self.left_out else ""
        return super().__repr__()[:-1] + more + ")"
