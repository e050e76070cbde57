# SPDX-License-Identifier: Apache-2.0
"""Lists the package's public names and the problems of their docstrings. Used by test_docstrings.py."""
import ast
import collections
import inspect
import pathlib
import re

import sluice

SECTIONS = ("Args", "Returns", "Raises", "Example", "Attributes")
MODULES = (sluice, sluice.columns, sluice.transforms, sluice.transforms.presets, sluice.remote, sluice.cache)
FRAMEWORKS = ("accelerate", "jax", "keras", "lightning", "timm", "torch", "torchtitan", "transformers")
NONE = (None, "None", "NoReturn", inspect.Signature.empty)
# A public name. parameters: names without self; returns: True if the docstring needs Returns.
Name = collections.namedtuple("Name", "name doc parameters returns")


def sections_of(doc):
    """Returns {heading: text} of a docstring's sections; "" is the text before them."""
    found, heading = {"": []}, ""
    for line in inspect.cleandoc(doc).splitlines():
        if line.rstrip(":") in SECTIONS and line.endswith(":"):
            heading = line[:-1]
            found[heading] = []
        else:
            found[heading].append(line)
    return {heading: "\n".join(lines) for heading, lines in found.items()}


def described(section):
    """Returns the names of a section's entries."""
    entries = re.findall(r"^    (\w[\w, ]*):", section, re.M)
    return {name for entry in entries for name in entry.split(", ")}


def problems(public):
    """Returns the problems of a Name's docstring."""
    if not public.doc:
        return [f"{public.name}: no docstring"]
    lines = inspect.cleandoc(public.doc).splitlines()
    sections = sections_of(public.doc)
    known = described(sections.get("Args", "")) | described(sections.get("Attributes", ""))
    found = []
    if not lines[0].endswith((".", ":")) or (len(lines) > 1 and lines[1]):
        found.append(f"{public.name}: the summary is not one line and a sentence: {lines[0]!r}")
    found += [f"{public.name}: no entry for {name}" for name in public.parameters if name not in known]
    if "Attributes" not in sections:
        found += [f"{public.name}: an entry for {name}, which is not a parameter" for name in known - set(public.parameters)]
    if public.returns and "Returns" not in sections:
        found.append(f"{public.name}: no Returns")
    return found


def names():
    """Each public Name of the modules that need no framework."""
    for module in MODULES:
        yield Name(module.__name__, module.__doc__, (), False)
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isclass(value):
                yield from _of_class(f"{module.__name__}.{name}", value)
            elif callable(value):
                yield _of_function(f"{module.__name__}.{name}", value)


def _of_class(name, kind):
    is_error = issubclass(kind, Exception)
    has_no_arguments = is_error or kind is sluice.Tensor or issubclass(kind, sluice.transforms.InterpolationMode.__base__)
    yield Name(name, vars(kind).get("__doc__"), () if has_no_arguments else tuple(_parameters(kind)), False)
    for member, value in vars(kind).items():
        if member.startswith("_"):
            continue
        function = value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
        if isinstance(value, property):
            yield Name(f"{name}.{member}", value.__doc__, (), False)
        elif inspect.isroutine(function) and getattr(function, "__qualname__", "").endswith(f".{member}"):
            yield _of_function(f"{name}.{member}", value.__get__(None, kind) if isinstance(value, classmethod) else function)


def _parameters(function):
    return [name for name in inspect.signature(function).parameters if name not in ("self", "cls")]


def _of_function(name, function):
    return Name(name, function.__doc__, tuple(_parameters(function)), inspect.signature(function).return_annotation not in NONE)


def framework_names(module):
    """Each public Name of a module for a framework, read from its source, since the framework may be missing."""
    tree = ast.parse((pathlib.Path(sluice.__file__).parent / f"{module}.py").read_text())
    yield Name(f"sluice.{module}", ast.get_docstring(tree), (), False)
    listed = next(ast.literal_eval(node.value) for node in tree.body if isinstance(node, ast.Assign) and node.targets[0].id == "__all__")
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name in listed:
            yield _of_node(f"sluice.{module}.{node.name}", node)
        elif isinstance(node, ast.ClassDef) and node.name in listed:
            functions = {member.name: member for member in ast.walk(node) if isinstance(member, ast.FunctionDef)}
            init = functions.get("__init__")
            yield Name(f"sluice.{module}.{node.name}", ast.get_docstring(node), _arguments(init) if init else (), False)
            for name, member in functions.items():
                if not name.startswith("_") and not any("setter" in ast.unparse(one) for one in member.decorator_list):
                    yield _of_node(f"sluice.{module}.{node.name}.{name}", member)


def _arguments(node):
    given = node.args
    each = [*given.posonlyargs, *given.args, *([given.vararg] if given.vararg else []), *given.kwonlyargs, *([given.kwarg] if given.kwarg else [])]
    return tuple(one.arg for one in each if one.arg != "self")


def _of_node(name, node):
    is_property = any("property" in ast.unparse(one) or "setter" in ast.unparse(one) for one in node.decorator_list)
    returned = None if node.returns is None else ast.unparse(node.returns)
    return Name(name, ast.get_docstring(node), _arguments(node), returned not in NONE and not is_property)
