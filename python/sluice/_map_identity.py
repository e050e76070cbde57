# SPDX-License-Identifier: Apache-2.0
"""How a resumed pack with `map` recognises the function: by its name, its source, and the values bound to it.

Bound values are the arguments of functools.partial, defaults of parameters, and variables of
enclosing functions. They are compared by value, with the same result in every process: sets in
sorted order, objects by their __reduce_ex__, like copy, functions as functions. Without a source
(exec, an interactive session), the code and its constants are compared. Not compared: attributes of
a callable object, global variables, and other functions that it uses.
"""
from __future__ import annotations

import copyreg
import functools
import hashlib
import inspect
import types


def identity_of(function, version):
    """Returns a dict that identifies the function. Raises TypeError if a bound value cannot be compared."""
    if version is not None:
        return {"map_version": version}
    inner = _inner(function)
    kind = inner if hasattr(inner, "__qualname__") else type(inner)
    try:
        bound = _Sum().of(_bound(function))
    except RecursionError:
        raise _incomparable(kind.__qualname__, "a value with too many levels") from None
    except Exception as error:
        raise _incomparable(kind.__qualname__, error) from error
    return {"map": kind.__qualname__, "source_text": _text(kind), "bound": bound}


def _incomparable(name, what):
    return TypeError(f"map={name}: a value that is bound to it cannot be compared by a later run ({what}): name a version of it: map_version=1")


def _inner(function):
    while isinstance(function, functools.partial):
        function = function.func
    return getattr(function, "__func__", function)


def _text(kind):
    """Returns a checksum of the source; of the code if there is no source, or several functions may share a line."""
    try:
        text = inspect.getsource(kind)
        if kind.__name__ != "<lambda>":
            return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    except (OSError, TypeError):
        text = ""
    return _Sum().of((text, _code(kind)))


def _code(kind):
    if isinstance(kind, type):
        return [(name, _code(value)) for name, value in sorted(vars(kind).items()) if isinstance(value, types.FunctionType)]
    return getattr(kind, "__code__", None)


def _bound(function):
    if isinstance(function, functools.partial):
        return "partial", _bound(function.func), function.args, function.keywords
    function = getattr(function, "__func__", function)
    if not isinstance(function, types.FunctionType):
        return None
    return "function", function.__defaults__, function.__kwdefaults__, function.__closure__


class _Sum:
    """Checksum of a value. A value that contains itself is represented by its depth."""

    def __init__(self):
        self._open = []

    def of(self, value):
        if any(value is one for one in self._open):
            return f"level {[value is one for one in self._open].index(True)}"
        self._open.append(value)
        try:
            return hashlib.sha256(repr(self._parts(value)).encode("utf-8", "surrogatepass")).hexdigest()
        finally:
            self._open.pop()

    def _parts(self, value):
        kind = type(value)
        if value is None or kind in (bool, int, float, complex, str, type(...)):
            return kind.__name__, value
        if kind is bytes:
            return kind.__name__, hashlib.sha256(value).hexdigest()
        if kind in (list, tuple):
            return kind.__name__, [self.of(one) for one in value]
        if kind in (set, frozenset):
            return kind.__name__, sorted(self.of(one) for one in value)
        if kind is dict:
            return kind.__name__, [(self.of(name), self.of(one)) for name, one in value.items()]
        if kind is types.CellType:
            return "cell", [self.of(one) for one in _contents(value)]
        if kind is types.CodeType:
            return "code", value.co_code, self.of(value.co_consts), value.co_names, value.co_varnames, value.co_freevars
        if isinstance(value, (types.FunctionType, functools.partial)):
            inner = _inner(value)
            return "function", getattr(inner, "__qualname__", type(inner).__name__), _text(inner), self.of(_bound(value))
        if isinstance(value, (type, types.ModuleType)) or isinstance(getattr(value, "__self__", value), types.ModuleType):
            return "named", getattr(value, "__module__", ""), getattr(value, "__qualname__", value.__name__)
        reduced = copyreg.dispatch_table[kind](value) if kind in copyreg.dispatch_table else value.__reduce_ex__(4)
        if isinstance(reduced, str):
            return "named", kind.__module__, kind.__qualname__, reduced
        made, arguments, state, items, pairs = (*reduced, None, None, None)[:5]
        return "object", self.of(made), self.of(arguments), self.of(state), self.of(list(items or ())), self.of(list(pairs or ()))


def _contents(cell):
    try:
        return [cell.cell_contents]
    except ValueError:  # not assigned yet
        return []
