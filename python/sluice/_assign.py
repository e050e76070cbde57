# SPDX-License-Identifier: Apache-2.0
"""Assignments to attributes of loaders and datasets that would have no effect: they raise, and the
error says what to do instead.

Names that begin with an underscore are free. So are a subclass's own names, unless this package's
class has them as attributes or arguments. The constructor sets each attribute of the package once.
"""
from __future__ import annotations

from . import _check

LOADER = {
    "epoch": "call set_epoch(epoch)",
    "mixup_enabled": "end_epoch= of MixUp, CutMix and MixUp.timm ends mixing",
    "transforms": "open another loader with transform=",
    "collate_fn": "columns= defines the contents of a batch, and batch_hook can be assigned",
}
DATASET = {
    "transform": "give transform= to the loader",
    "transforms": "give transform= to the loader",
    "target_transform": "a loader's columns= and batch_hook= define the contents of a batch",
    "classes": "sluice.concat([data], labels={...}) renames classes",
    "class_to_idx": "sluice.concat([data], labels={...}) renames classes",
    "targets": "sluice.concat([data], labels={...}) renames classes, and sluice.Writer writes other labels",
    "samples": "data.subset(indices) chooses samples",
    "imgs": "data.subset(indices) chooses samples",
}


def check(self, owner, name, own, free=(), arguments=(), hints=None):
    """Raises AttributeError unless the assignment of `name` has an effect.

    owner: the class of this package, whose attributes and `arguments` a subclass cannot assign
    either. own: attributes that the constructor sets, once. free: attributes that may be assigned
    at any time. hints: what to do instead, by name.
    """
    if name.startswith("_") or name in free or (name in own and name not in self.__dict__):
        return
    kinds = type(self).__mro__[: type(self).__mro__.index(owner)]
    of_subclass = any(name in vars(kind) or name in vars(kind).get("__annotations__", ()) for kind in kinds)
    known = not of_subclass and (name in own or name in arguments or hasattr(owner, name))
    is_closed = type(self).__module__ in (owner.__module__, *(f"{__package__}.{name}" for name in ("torch", "timm", "dataset")))
    if known or ((is_closed or name in hints) and not of_subclass):
        what = f"{type(self).__name__}.{name} = ... would have no effect"
        raise AttributeError(f"{what}: {_instead(name, owner, known, name in arguments, hints, [*own, *free, *arguments])}")


def _instead(name, owner, known, is_argument, hints, names):
    if name in hints:
        return hints[name]
    if is_argument:
        return f"open another one with {name}=..., and load_state_dict(loader.state_dict()) resumes in it"
    if known and callable(getattr(owner, name, None)):
        return "it is a method, which a subclass may override"
    if known:
        return "it is read-only"
    near = _check.near(name, names)
    return f"no such attribute{near}; names that begin with _ are free, and a subclass may define its own"
