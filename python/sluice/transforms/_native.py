# SPDX-License-Identifier: Apache-2.0
"""Native: a step that calls the user's compiled code, and the functions and data that it accepts."""
from __future__ import annotations

import os

from .. import _check
from ._base import Transform

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

C = "int (uint8_t *pixels, uint32_t width, uint32_t height, size_t stride, uint64_t seed, void *user_data)"
SIZES = (None, 4, 4, 8, 8, None)  # bytes of each argument; None: a pointer
LONGEST = 63  # most bytes of a name in the library
WANTED = "a compiled function: of ctypes or cffi, numba's @cfunc, ('libfoo.so', 'symbol'), or an address with keep="


def _wrong(function, why):
    return TypeError(f"function={function!r:.80}: {why}; Native calls {C}")


# ---- signatures ----


def _is_integer(kind):
    """Returns True if a ctypes type is an integer."""
    return getattr(kind, "_type_", None) in tuple("bBhHiIlLqQ")


def _is_pointer(kind):
    import ctypes

    return kind in (ctypes.c_void_p, ctypes.c_char_p) or (isinstance(kind, type) and issubclass(kind, ctypes._Pointer))


def _check_ctypes(function, arguments, result):
    """Checks argument and result types of ctypes, where they are known."""
    import ctypes

    if arguments is None:
        return
    if len(arguments) != len(SIZES):
        raise _wrong(function, f"it has {len(arguments)} arguments, expected {len(SIZES)}")
    for number, (kind, size) in enumerate(zip(arguments, SIZES), 1):
        fits = _is_pointer(kind) if size is None else _is_integer(kind) and ctypes.sizeof(kind) == size
        if not fits:
            wanted = "a pointer" if size is None else f"an integer of {size} bytes"
            raise _wrong(function, f"its argument {number} is {getattr(kind, '__name__', kind)}, expected {wanted}")
    if not (_is_integer(result) and ctypes.sizeof(result) == 4):
        raise _wrong(function, f"it returns {getattr(result, '__name__', result)}, expected an int")


def _check_cffi(function, kind):
    """Checks a type of cffi."""
    if kind.kind == "pointer":
        kind = kind.item
    if kind.kind != "function":
        raise _wrong(function, f"it is a {kind.cname}, not a function")
    found = [(one.kind, None if one.kind == "pointer" else _cffi_bytes(one)) for one in kind.args]
    wanted = [("pointer", None) if size is None else ("primitive", size) for size in SIZES]
    if found != wanted or kind.ellipsis or _cffi_bytes(kind.result) != 4:
        raise _wrong(function, f"it is {kind.cname}")


def _cffi_bytes(kind):
    """Returns the size of an integer type in bytes; None for other types."""
    import _cffi_backend

    whole = kind.kind == "primitive" and "float" not in kind.cname and "double" not in kind.cname
    return _cffi_backend.FFI().sizeof(kind) if whole else None


# ---- addresses ----


def _of_ctypes(function):
    import ctypes

    address = ctypes.cast(function, ctypes.c_void_p).value
    if not address:
        raise _wrong(function, "it is NULL")
    if any(type(kept).__name__ == "CThunkObject" for kept in (function._objects or {}).values()):
        _check.warn(
            f"function={function!r:.80}: it calls a Python function, which takes Python's lock for each sample on the worker: "
            "compile it (numba's @cfunc, C), or use transforms.Python"
        )
    if type(function)._flags_ & ctypes._FUNCFLAG_PYTHONAPI:
        raise _wrong(function, "it needs Python's lock (PYFUNCTYPE, PyDLL), which workers do not have: use CFUNCTYPE or CDLL")
    _check_ctypes(function, function.argtypes or getattr(function, "_argtypes_", None), function.restype)
    return address


def _of_cffi(function):
    import _cffi_backend

    ffi = _cffi_backend.FFI()
    try:
        _check_cffi(function, ffi.typeof(function))
        address = int(ffi.cast("uintptr_t", function))
    except (AttributeError, NotImplementedError) as error:
        raise _wrong(function, f"it is not a pointer of cffi: {error}") from None
    if not address:
        raise _wrong(function, "it is NULL")
    return address


def _of_symbol(function):
    """Returns (address, the library, which ctypes never closes)."""
    import ctypes

    if len(function) != 2:
        raise _wrong(function, "expected ('libfoo.so', 'symbol')")
    path, symbol = function
    if not isinstance(path, (str, os.PathLike)) or not isinstance(symbol, str):
        raise _wrong(function, "expected ('libfoo.so', 'symbol'), two texts")
    try:
        library = ctypes.CDLL(os.fspath(path))
    except OSError as error:
        raise ValueError(f"function={function!r}: cannot load the library: {error}") from None
    try:
        return _of_ctypes(library[symbol]), library
    except AttributeError:
        raise ValueError(f"function={function!r}: the library has no symbol {symbol!r}") from None


def _resolve(function, keep):
    """Returns (address, owner of the code) of the user's function."""
    module = type(function).__module__.partition(".")[0]
    if isinstance(function, (tuple, list)):
        return _of_symbol(tuple(function))
    if isinstance(function, int) and not isinstance(function, bool):
        if not 0 < function < 2**64:
            raise _wrong(function, "it is not an address")
        if keep is None:
            raise _wrong(function, "an address needs keep=, the object that owns the code (a library, a compiled function)")
        return function, keep
    if module == "_cffi_backend":
        return _of_cffi(function), function
    if module == "numba" and hasattr(function, "address"):
        _of_ctypes(function.ctypes)  # for its signature
        return function.address, function
    if _is_ctypes_function(function):
        return _of_ctypes(function), function
    if callable(function):
        raise _wrong(
            function,
            "it is a function of Python: compile it (numba's @cfunc, C), or use transforms.Python(f), which calls it on the "
            "thread that takes batches; a ctypes.CFUNCTYPE of it (Native.function_type()) takes Python's lock",
        )
    raise _wrong(function, f"expected {WANTED}")


def _hold_library(address):
    """Keeps the library with the code loaded: cffi unloads one together with its object. Code outside
    of any library belongs to its owner.
    """
    import ctypes

    class Place(ctypes.Structure):  # Dl_info of dlfcn.h
        _fields_ = [("path", ctypes.c_char_p), ("base", ctypes.c_void_p), ("symbol", ctypes.c_char_p), ("address", ctypes.c_void_p)]

    place, locate = Place(), getattr(ctypes.CDLL(None), "dladdr", None)
    if locate is None or not locate(ctypes.c_void_p(address), ctypes.byref(place)) or not place.path:
        return
    try:
        ctypes.CDLL(os.fsdecode(place.path), os.RTLD_NOLOAD | os.RTLD_NODELETE)
    except OSError:  # the program itself, which is never unloaded
        pass


def _is_ctypes_function(function):
    import ctypes

    return isinstance(function, ctypes._CFuncPtr)


def _data(given):
    """Returns an address, or an object with a buffer, for the user's data."""
    if given is None:
        return 0
    if isinstance(given, int) and not isinstance(given, bool):
        if not 0 <= given < 2**64:
            raise _check.wrong("user_data", given, "an address")
        return given
    import ctypes

    if isinstance(given, (ctypes.c_void_p, ctypes.c_char_p, ctypes._Pointer)):
        return ctypes.cast(given, ctypes.c_void_p).value or 0
    try:
        with memoryview(given) as view:
            if not view.c_contiguous:
                raise ValueError("user_data: the array is not C-contiguous: give a copy of it")
    except TypeError:
        raise _check.wrong(
            "user_data", given, "None, an address, a pointer or structure of ctypes, or a buffer (a numpy array, bytes)"
        ) from None
    return given


class Native(Transform):
    """Calls your own compiled function for each image, on the workers, without the GIL.

    The function changes the 8-bit RGB pixels in place; row y begins at pixels + y * stride. The
    size stays. Use it anywhere before ToDtype and Normalize, also in groups. Masks, boxes and
    points stay unchanged. `seed` has 64 random bits of the row and the step, the same in every run.
    A result other than 0 makes a bad sample (`on_bad_sample` of the loader); the error names the
    step and the number.

    Several workers call the function at the same time. It must keep no pointer to the pixels, take
    a bounded time, raise and throw nothing, and depend only on its arguments; sluice/augment.h has
    the full rules. A mistake in it may crash the process. Nothing can be checked about an address.
    The library of the function stays loaded until the process ends, even if ctypes or cffi is asked
    to close it. A Native cannot be pickled, because an address is valid in one process only.

    Args:
        function: `int (uint8_t *pixels, uint32_t width, uint32_t height, size_t stride, uint64_t
            seed, void *user_data)`, as a function of ctypes or cffi, numba's @cfunc, ('libfoo.so',
            'symbol'), or an address.
        user_data: passed to each call: None (NULL), a numpy array, bytes or another buffer (its
            memory), a pointer or structure of ctypes, or an address. Kept, with the memory of a
            buffer locked, until the last loader with this step is closed [None].
        name: name for errors, 1 to 63 bytes ['native', or the symbol].
        keep: object to keep as long as user_data; for an address, the owner of its code [None].

    Raises:
        TypeError: `function` is a Python function, or its known types do not fit.
        ValueError: the library or the symbol does not exist.

    Example:
        >>> import ctypes
        >>> callback = T.Native.function_type()(lambda *arguments: 0)  # compiled code in a real program
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     step = T.Native(callback, name="nothing")
        >>> step(image).shape
        (60, 80, 3)
    """

    name: str

    def __init__(self, function: Any, user_data: Any = None, name: str | None = None, *, keep: Any = None) -> None:
        if name is None:
            named = isinstance(function, (tuple, list)) and len(function) == 2 and isinstance(function[1], str)
            name = function[1][:LONGEST] if named else "native"
        self.name = _check.text("name", name)
        if not 0 < len(name.encode()) <= LONGEST or not name.isprintable():
            raise ValueError(f"name={name!r:.80}: expected 1 to {LONGEST} bytes of printable text")
        self._data = _data(user_data)
        self._address, owner = _resolve(function, keep)
        _hold_library(self._address)
        self._kept = (function, owner, user_data, keep)

    @staticmethod
    def function_type() -> Any:
        """Returns the function's type in ctypes.

        Returns:
            A CFUNCTYPE: `Native.function_type()(address)` is a pointer to compiled code.
        """
        import ctypes

        kinds = (ctypes.c_uint32, ctypes.c_uint32, ctypes.c_size_t, ctypes.c_uint64, ctypes.c_void_p)
        return ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_uint8), *kinds)

    def _step(self):
        return ("native", self.name, self._address, self._data, self._kept)

    def __reduce__(self) -> Any:
        raise TypeError(
            f"{self!r} cannot be pickled: it has the address of a function in this process. Make it in the process that uses it"
        )

    def __copy__(self) -> Native:
        return self

    def __deepcopy__(self, memo: Any) -> Native:
        return self
