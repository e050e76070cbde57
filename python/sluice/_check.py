# SPDX-License-Identifier: Apache-2.0
"""Checks of arguments. An argument of the wrong type is a TypeError that names the argument and what
is expected.
"""
from __future__ import annotations

import operator
import os
from collections.abc import Mapping
from types import MappingProxyType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    Function = TypeVar("Function", bound=Callable[..., Any])


def near(word, words):
    """Returns the end of an error for a word that is not one of `words`: "; did you mean 'block'?", or
    nothing.
    """
    import difflib

    known = {known.lower(): known for known in words if isinstance(known, str)}
    found = difflib.get_close_matches(word.lower(), known, 1, 0.65) if isinstance(word, str) else []
    return f"; did you mean {known[found[0]]!r}?" if found else ""


def warn(text):
    """Warns at the line of the user's program that called this package, from any depth."""
    import sys
    import warnings

    level, frame = 1, sys._getframe()
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == __package__:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, UserWarning, stacklevel=level)


def named(
    function: Function, *beside: Any, more: Mapping[str, Any] = MappingProxyType({}), hints: Mapping[str, str] = MappingProxyType({}),
    groups: Mapping[str, Mapping[str, str]] = MappingProxyType({}), shown: Callable[..., Any] | None = None,
) -> Function:  # fmt: skip
    """Wraps a function so that its TypeError for an unknown keyword argument suggests the probable
    one.

    Known names are the function's own and those of the functions `beside`, to which it passes the
    others on. `more`: options of the library, by name, that are accepted although the signature
    lacks them; their values are in the attribute _more of the first argument. `hints`: advice for
    arguments of other functions, by name. `groups`: arguments that may also be given together, in a
    dict that is the argument of the group's name; each group maps its members' names in the dict to
    the arguments' names. `shown`: a function that is never called; help() and inspect.signature()
    show its signature and docstring instead of the function's.
    """
    code = function.__code__
    names = [name for name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount] if name != "self"]
    more = {name: option for name, option in more.items() if name not in names}
    names += [name for other in beside for name in other.names if name not in names]
    names += more
    defaults = dict(zip(reversed(names[: code.co_argcount - 1]), reversed(function.__defaults__ or ())))
    defaults |= function.__kwdefaults__ or {}

    def call(*arguments: Any, **named: Any) -> Any:
        for group, members in groups.items():
            _ungroup(group, members, named)
        for name in named:
            if name not in names:
                said = f"{function.__qualname__}() got an unexpected keyword argument {name!r}"
                raise TypeError(said + (f"; {hints[name]}" if name in hints else near(name, names)))
        if more:
            arguments[0]._more = {name: named.pop(name, None) for name in more}
        return function(*arguments, **named)

    call.names, call.taken = names, function
    call.__wrapped__ = shown or function  # for inspect
    call.optional = {name for name in names if defaults.get(name) is None}
    for name in ("__module__", "__name__", "__qualname__"):
        setattr(call, name, getattr(function, name))
    call.__doc__ = call.__wrapped__.__doc__
    if more and not shown:
        _show(call, more)
    if more:
        call.__doc__ = _described(call.__doc__ or "", more)
    return call


def _described(text, more):
    """Returns a docstring with an entry for each of the options `more`, as the last ones of its arguments."""
    lines = text.rstrip().splitlines()
    indent = next((line[: -len("Args:")] for line in lines if line.strip() == "Args:"), None)
    if indent is None:
        lines, indent = [*lines, "", "Args:"], ""
    at = lines.index(f"{indent}Args:") + 1
    while at < len(lines) and lines[at].strip():
        at += 1
    return "\n".join([*lines[:at], *(f"{indent}    {name}: {option.help}" for name, option in more.items()), *lines[at:], indent])


def _ungroup(group, members, named):
    """Replaces a group's dict by the arguments in it. A text is the argument with the group's name, if
    there is one.
    """
    given = named.get(group)
    if given is None or (isinstance(given, str) and group in members.values()):
        return
    if not isinstance(given, Mapping):
        raise wrong(group, given, "a dict")
    del named[group]
    for member, value in given.items():
        if member not in members:
            raise TypeError(f"{group}={{{member!r}: ...}}: expected {', '.join(members)}{near(member, members)}")
        if members[member] in named:
            raise TypeError(f"{members[member]}= is given twice: as an argument, and in {group}=")
        named[members[member]] = value


def _show(call, more):
    """Adds the options `more` to the signature."""
    import inspect

    signature = inspect.signature(call.__wrapped__)
    added = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in more]
    call.__signature__ = signature.replace(parameters=[*signature.parameters.values(), *added])


def complete_signature(call: Any, beside: Any) -> Any:
    """Returns, for inspect and completion, the signature of a function from named(), with all
    arguments of the one beside it.
    """
    import inspect

    own = inspect.signature(call.taken).parameters
    others = inspect.signature(beside.taken).parameters
    taken = {name: one for name, one in {**others, **own}.items() if one.kind is not inspect.Parameter.VAR_KEYWORD}
    first = [one for one in own.values() if one.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    rest = [one for name, one in taken.items() if one not in first]
    more = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in call.names if name not in taken]
    return inspect.signature(call.taken).replace(parameters=[*first, *rest, *more])


def missing_name(module, name, words):
    """Returns the AttributeError of a module that has no such name."""
    asked = "" if name.startswith("_") else near(name, words)  # Python itself looks up such names
    return AttributeError(f"module {module!r} has no attribute {name!r}{asked}")


def wrong(name, value, wanted):
    return TypeError(f"{name}={value!r:.80}: expected {wanted}")


def text(name, value):
    if not isinstance(value, str):
        raise wrong(name, value, "a text")
    return value


def texts(name, values, wanted):
    values = items(name, values, wanted)
    if not all(isinstance(value, str) for value in values):
        raise wrong(name, values, wanted)
    return values


def path(name, value):
    """Returns the path, as os.fspath gives it."""
    try:
        return os.fspath(value)
    except TypeError:
        raise wrong(name, value, "a path") from None


def integer(name, value, least=0, most=2**63 - 1):
    """Returns an int in range, also from numpy."""
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool):
        raise wrong(name, value, f"an integer, {least} to {most}")
    if not least <= number <= most:
        raise ValueError(f"{name}={value!r}: expected an integer, {least} to {most}")
    return number


def number(name, value):
    """Returns a float, also from numpy's numbers, but not from a text, which float() would read."""
    try:
        if hasattr(value, "__float__") or hasattr(value, "__index__"):
            return float(value)
    except TypeError:  # an array's
        pass
    raise wrong(name, value, "a number")


def flag(name, value):
    """Returns a bool, also from 0 or 1."""
    try:
        good = bool(value in (0, 1))
    except (TypeError, ValueError):  # arrays, whose comparison is not a bool
        good = False
    if not good:
        kind = ValueError if isinstance(value, (int, float)) else TypeError
        raise kind(f"{name}={value!r:.80}: expected True or False")
    return bool(value)


def function(name, value):
    if not callable(value):
        raise wrong(name, value, "a callable")
    return value


def mapping(name, value, wanted):
    """Returns a mapping whose keys are names."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise wrong(name, value, wanted)
    return value


def items(name, values, wanted):
    """Returns a list of the values. A text or bytes, which can be iterated as well, is a mistake."""
    try:
        if isinstance(values, (str, bytes, bytearray)):
            raise TypeError
        iterator = iter(values)
    except TypeError:
        raise wrong(name, values, wanted) from None
    return list(iterator)


def series(name, values, wanted):
    """Returns a list with one value per sample, also from numpy or torch. A dict has keys, and a set
    no order: both are mistakes.
    """
    if isinstance(values, (dict, set, frozenset)):
        raise wrong(name, values, wanted)
    return items(name, values.tolist() if hasattr(values, "tolist") else values, wanted)


def shape(name, values):
    wanted = "sizes, which are integers"
    try:
        return tuple(operator.index(side) for side in items(name, values, wanted))
    except TypeError:
        raise wrong(name, values, wanted) from None


def zstd_level(zstd):
    """Returns the library's level for 'auto', 'off' or a level."""
    levels = {"auto": 0, "off": -1}
    if isinstance(zstd, str):
        if zstd not in levels:
            raise ValueError(f"zstd={zstd!r}: expected 'auto', 'off' or a level, 1 to 19{near(zstd, levels)}")
        return levels[zstd]
    return integer("zstd", zstd, -(2**31), 2**31 - 1)
