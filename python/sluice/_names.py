# SPDX-License-Identifier: Apache-2.0
"""Names that users write for the library's numbers."""
from ._check import near, wrong

DTYPES = {
    "uint8": 0, "float32": 1, "float16": 2, "bfloat16": 3, "int64": 4, "int32": 5, "int16": 6,
    "int8": 7, "uint16": 8, "uint32": 9, "uint64": 10, "float64": 11, "bool": 12,
    "u8": 0, "f32": 1, "f16": 2, "bf16": 3, "i64": 4, "i32": 5, "i16": 6, "i8": 7, "u16": 8,
    "u32": 9, "u64": 10, "f64": 11,
    "float": 1, "half": 2,
}  # fmt: skip
DTYPE_NAMES = {number: name for name, number in reversed(list(DTYPES.items())[:13])}


def dtype_number(dtype):
    """The library's number for 'float16', numpy.float16, torch.float16, ..."""
    name = dtype if isinstance(dtype, str) else getattr(dtype, "__name__", None) or str(dtype)
    name = name.removeprefix("torch.")
    if name not in DTYPES:
        raise ValueError(f"no dtype {dtype!r}: there are {', '.join(list(DTYPES)[:13])}{near(name, DTYPES)}")
    return DTYPES[name]


def choice(option, value, choices):
    """The number that `value` stands for; what can be had is said where it is none."""
    known = "one of " + ", ".join(repr(key) for key in choices)
    try:
        if value not in choices:
            raise ValueError(f"{option}={value!r}: expected {known}{near(value, choices)}")
    except TypeError:  # it cannot be looked for
        raise wrong(option, value, known) from None
    return choices[value]
