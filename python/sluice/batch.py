# SPDX-License-Identifier: Apache-2.0
"""sluice.Batch."""
from __future__ import annotations

from . import _sluice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, NoReturn, Self

FACTS = ("index", "mask", "status")  # additional columns of every batch
PARTS = ("offsets", "lengths", "sizes", "shapes", "mixed_with", "weight", "share")  # parts of a column, also its attributes
OTHER_PARTS = ("size", "box", "scale", "flip")  # of columns.Geometry, by name only: torch's tensors have functions size and flip
PACKED_PARTS = ("targets", "positions", "documents", "cu_seqlens", "cu_seqlens_padded", "count", "max_seqlen", "loss_mask", "samples",
                "media", "media_offsets", "media_lengths")  # also by name only  # fmt: skip


class Batch(list["Any"]):
    """A batch: a list of the requested columns, which also have names.

    The requested columns are the keys of columns=, in their order; without columns=, the dataset's
    default columns (`image` and `label` of class folders). Iteration, len(batch), batch[i], keys(),
    values(), items(), dict(batch) and f(**batch) have these columns and nothing else: `images,
    labels = batch`. `rows` is the number of rows.

    Two kinds of arrays are available by name only, and `name in batch` includes them. Every batch
    has 'index' (the samples' numbers in the dataset), 'mask' (1: use the row) and 'status' (0
    unchanged, 1 replaced, 2 bad, 3 padding, 4 repeated). Parts of a column, batch["boxes.offsets"],
    are also attributes of the column, batch["boxes"].offsets: offsets of ragged columns, lengths of
    padded ones, sizes and shapes of variable-size images, mixed_with and weight (MixUp, CutMix),
    share (MixUpPartner). Parts of a columns.Geometry have names only. Results of a function on a
    column (transforms.Python, .to(device), a slice) lack the attributes; batch.to(device) keeps
    them.

    Columns can be replaced (batch[0] = ...), but not added or removed: list(batch) is a list that
    can change.

    Args:
        columns: the columns: a list or a dict. type(batch)(columns) has the names of `batch`; a
            list has no parts [none].

    Example:
        >>> batch = sluice.Batch({"image": numpy.zeros((2, 4, 4, 3)), "label": [0, 1]})
        >>> images, labels = batch
        >>> batch.keys(), batch["label"]
        (['image', 'label'], [0, 1])
    """

    __slots__ = ("_made", "_facts", "_about")
    _names: tuple[str, ...] = ()  # names of the columns, in a class made for a loader

    def __init__(self, columns: Iterable[Any] | Mapping[str, Any] = ()) -> None:
        if hasattr(columns, "keys"):
            known = self._names or [name for name in columns.keys() if name not in FACTS and not _is_part(name, columns)]
            list.__init__(self, [columns[name] for name in known])
            self._facts = columns._all_facts() if isinstance(columns, Batch) else {
                name: columns[name] for name in (*FACTS, *columns.keys()) if name in columns and name not in known
            }  # fmt: skip
            if not self._names:
                self.__class__ = named(type(self), tuple(known))
        else:
            list.__init__(self, columns)
            self._facts = {}
        self._made = self._about = None

    def _like(self, columns):
        """Returns another batch of the same place in the epoch, with other columns."""
        made = type(self)(columns)
        made._made = Told(self) if isinstance(self._made, _sluice.Batch) else self._made
        made._facts, made._about = self._all_facts(), self._about
        return made

    def _all_facts(self):
        """Returns the arrays that the batch has by name only."""
        return {name: self[name] for name in FACTS if name in self} | self._facts

    def _attach_parts(self):
        """Makes the parts attributes of their columns."""
        for name in self._facts:
            owner, _, part = name.rpartition(".")
            if part in PARTS and owner in self._names:
                attach(self[owner], part, self._facts[name])

    # ---- columns ----

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, str):
            try:
                return list.__getitem__(self, key)
            except IndexError:
                raise IndexError(f"batch[{key}]: the batch has {len(self)} columns, {self._said()}; to get rows, index a column") from None
        names = self._names
        if key in names and len(self) == len(names):
            return list.__getitem__(self, names.index(key))
        return self._fact(key)

    def _fact(self, key):
        if key in self._facts:
            return self._facts[key]
        if key in FACTS and isinstance(self._made, _sluice.Batch):
            return self._made[key]
        part = self._part(key)
        if part is not None:
            return part
        import difflib  # takes long to import

        if key in FACTS or _is_part(key, self._names):
            raise KeyError(f"{key!r}: this batch was made from columns and lacks it: the loader's batch has it" + self._said_parts())
        mixed = key.removesuffix(".partner") + ".mixed_with"
        if key.endswith(".partner") and mixed in self:
            raise KeyError(f"{key!r} is now {mixed!r}, the row of the batch that was mixed in")
        known = [*self._names, *(name for name in FACTS if name in self), *self._facts]
        near = difflib.get_close_matches(key, known, 1)
        raise KeyError(f"{key!r}: the batch has {self._said()}" + (f"; did you mean {near[0]!r}?" if near else ""))

    def _part(self, key):
        """Returns the part of a column that has it as an attribute, or None."""
        owner, _, part = key.rpartition(".")
        if part in PARTS and owner in self._names and len(self) == len(self._names):
            return getattr(self[owner], part, None)
        return None

    def _said(self):
        return ", ".join(map(repr, self._names)) or "no names"

    def _said_parts(self):
        return f"; it has {', '.join(map(repr, self.parts()))}" if self.parts() else ""

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(key, slice):
            raise TypeError("cannot assign a slice: replace the columns of a batch one by one")
        if isinstance(key, str):
            if key in FACTS or key in self._facts:
                self._facts[key] = value
                return
            if key not in self._names:
                self._fact(key)  # raises KeyError
            key = self._names.index(key)
        list.__setitem__(self, key, value)

    def __contains__(self, key: object) -> bool:
        if isinstance(key, str):
            is_fact = key in FACTS and isinstance(self._made, _sluice.Batch)
            return key in self._names or key in self._facts or is_fact or self._part(key) is not None
        return any(column is key for column in self)

    def get(self, key: str, default: Any = None) -> Any:
        """Returns the column or part of that name, or `default`.

        Args:
            key: name of a column or part.
            default: value if there is none [None].

        Returns:
            The column, or `default`.

        Example:
            >>> batch.get("caption") is None
            True
        """
        return self[key] if key in self else default

    def keys(self) -> list[str]:
        """Returns the names of the requested columns, in their order, without parts.

        Returns:
            The names.

        Example:
            >>> batch.keys()
            ['image', 'label']
        """
        return list(self._names)

    def parts(self) -> list[str]:
        """Returns the names of the columns' parts, such as 'boxes.offsets'.

        Returns:
            The names.

        Example:
            >>> batch.parts()
            []
        """
        return [name for name in self._facts if name not in FACTS]

    def values(self) -> list[Any]:
        """Returns the requested columns.

        Returns:
            The columns, in the order of keys().

        Example:
            >>> len(batch.values())
            2
        """
        return list(self)

    def items(self) -> list[tuple[str, Any]]:
        """Returns the requested columns with their names.

        Returns:
            Pairs (name, column).

        Example:
            >>> [name for name, column in batch.items()]
            ['image', 'label']
        """
        return list(zip(self._names, self))

    def pictures(self, name: str = "image") -> list[Any]:
        """Returns the images of a column of variable-size images, one for each row.

        Such columns are columns.Image(sizes='padded') or 'ragged'.

        Args:
            name: name of the column, also of a Mask or Instances column that follows such images
                ['image'].

        Returns:
            Views of the column, without a copy: numpy arrays, or torch tensors in a batch of
            sluice.torch. Images are height x width x 3 or 3 x height x width, masks height x width
            (x channels), instances n x height x width.

        Raises:
            KeyError: the column is not one of variable-size images.

        Example:
            >>> columns = {"image": sluice.columns.Image(sizes="padded", max_size=(60, 80))}
            >>> with sluice.Loader("photos", batch_size=2, columns=columns) as loader:
            ...     [image.shape for image in next(iter(loader)).pictures()]
            [(60, 80, 3), (60, 80, 3)]
        """
        if f"{name}.shapes" in self:
            return self._shaped(self[name], self[f"{name}.offsets"], self[f"{name}.shapes"])
        if name in self and f"{name}.sizes" not in self:
            raise KeyError(f"{name!r} is not a column of variable-size images (sizes=): its rows are batch[{name!r}]")
        column, sizes = self[name], self[f"{name}.sizes"]
        offsets = self.get(f"{name}.offsets")
        if isinstance(column, _sluice.Tensor):
            column, sizes = column.numpy(), sizes.numpy()
            offsets = None if offsets is None else offsets.numpy()
        sizes = [tuple(size) for size in sizes.tolist()]
        if offsets is None:
            largest = tuple(max((size[axis] for size in sizes), default=0) for axis in (0, 1))
            if tuple(column.shape[1:3]) == largest:
                return [column[row][:height, :width] for row, (height, width) in enumerate(sizes)]
            return [column[row][:, :height, :width] for row, (height, width) in enumerate(sizes)]
        begins = offsets.tolist()
        planes = column.ndim == 1 and begins[-1] != sum(height * width for height, width in sizes)
        shapes = [(*size, *column.shape[1:]) if not planes else (3, *size) for size in sizes]
        return [column[begin:end].reshape(shape) for begin, end, shape in zip(begins, begins[1:], shapes)]

    def texts(self, name: str, errors: str = "strict") -> list[str]:
        """Returns the rows of a text column as str, decoded from UTF-8, also from a GPU.

        A row without a sample is "".

        Args:
            name: name of a columns.Ragged or Padded of a text or bytes field.
            errors: as in bytes.decode: 'strict', 'replace', 'ignore', ... ['strict'].

        Returns:
            One str per row.

        Raises:
            UnicodeDecodeError: a row is not UTF-8; the error, a ValueError, names the row, its
                sample and the byte offset in the text.
            TypeError: the column does not hold bytes.

        Example:
            >>> columns = {"caption": sluice.columns.Ragged(length=64)}
            >>> with sluice.Loader("detection", batch_size=2, columns=columns) as loader:
            ...     next(iter(loader)).texts("caption")
            ['0 boxes', '1 boxes']
        """
        from ._texts import texts

        return texts(self, name, errors)

    @staticmethod
    def _shaped(column, offsets, shapes):
        if isinstance(column, _sluice.Tensor):
            column, offsets, shapes = column.numpy(), offsets.numpy(), shapes.numpy()
        begins = offsets.tolist()
        return [column[begin:end].reshape(shape) for begin, end, shape in zip(begins, begins[1:], shapes.tolist())]

    def _ipython_key_completions_(self):
        return [*self.keys(), *self.parts(), *(name for name in FACTS if name in self)]

    # ---- the batch ----

    @property
    def index(self) -> int:
        """The batch's number in its epoch, from 0."""
        return self._told().index

    @property
    def epoch(self) -> int:
        """The number of the batch's epoch."""
        return self._told().epoch

    @property
    def rows(self) -> int:
        """The number of rows of each column."""
        return self._told().rows

    @property
    def device(self) -> str:
        """The device where the loader left the columns: 'cpu' or 'cuda:N'."""
        return self._told().device

    def _told(self):
        if self._made is None:
            raise AttributeError("this batch was made from columns, not by a loader: it has no place in an epoch")
        return self._made

    def release(self) -> None:
        """Releases the batch without waiting for garbage collection.

        Columns already taken stay valid and keep the loader's memory until they are freed.

        Example:
            >>> batch.release()
        """
        list.clear(self)
        self._facts = {}
        if isinstance(self._made, _sluice.Batch):
            self._made.release()
        self.__class__ = Released

    # ---- as a list ----

    def _refuse(self, *arguments: Any) -> NoReturn:
        raise TypeError("cannot add or remove columns of a batch: list(batch) is a list that can change")

    if not TYPE_CHECKING:
        append = extend = insert = pop = remove = clear = sort = reverse = _refuse
        __delitem__ = __iadd__ = __imul__ = _refuse

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other

    __hash__ = object.__hash__  # type: ignore[assignment]

    def __reduce_ex__(self, version: Any) -> Any:
        base = next(kind for kind in type(self).__mro__ if not vars(kind).get("_names"))
        told = None if self._made is None else tuple(Told(self))
        return _again, (base, self._names, list(self), self._all_facts(), told)

    def __repr__(self) -> str:
        if self._made is None:
            return f"sluice.Batch(columns={self.keys()})"
        columns = ", ".join(f"{name}: {_shape(column)}" for name, column in self.items())
        return f"sluice.Batch(epoch={self.epoch}, index={self.index}, rows={self.rows}, columns: {columns})"

    def _repr_html_(self) -> str:
        from ._pictures import About, batch_page

        return batch_page(self, self._about and About(*self._about))


class Told(tuple):
    """The facts of a batch besides its columns: index, epoch, rows, device."""

    __slots__ = ()

    def __new__(cls, batch: Any) -> Self:
        return tuple.__new__(cls, (batch.index, batch.epoch, batch.rows, batch.device))

    if TYPE_CHECKING:
        epoch: int
        rows: int
        device: str
    else:
        index = property(lambda self: self[0])
        epoch = property(lambda self: self[1])
        rows = property(lambda self: self[2])
        device = property(lambda self: self[3])


class Released(Batch):
    """Class of a batch after release()."""

    __slots__ = ()

    def _raise(self, *arguments: Any) -> NoReturn:
        raise _sluice.StateError("the batch was released")

    if not TYPE_CHECKING:
        __getitem__ = __setitem__ = __iter__ = __len__ = __contains__ = _raise
        get = keys = parts = values = items = _raise

    def _repr_html_(self) -> str:
        return repr(self)

    def __repr__(self) -> str:
        return "sluice.Batch(released)" if self._made is None else f"sluice.Batch(epoch={self.epoch}, index={self.index}, released)"


_kinds: dict[tuple[type[Batch], tuple[str, ...]], type[Batch]] = {}  # existing classes


def named(base: type[Batch], names: tuple[str, ...]) -> type[Batch]:
    """Returns the class of batches with columns of these names, made once, because only the garbage
    collector frees classes.
    """
    made = _kinds.get((base, names))
    if made is None:
        made = type(base.__name__, (base,), {"__slots__": (), "__module__": base.__module__, "_names": names})
    return _kinds.setdefault((base, names), made)


def _shape(column):
    """Returns the dtype and the shape of a column, for people."""
    if not hasattr(column, "dtype"):
        return type(column).__name__
    return f"{str(column.dtype).removeprefix('torch.')} {'x'.join(map(str, column.shape))}"


def _is_part(name, names):
    owner, _, part = name.rpartition(".")
    return part in PARTS + OTHER_PARTS + PACKED_PARTS and owner in names


def attach(column: Any, part: str, value: Any) -> None:
    """Makes `value` an attribute of a column. numpy arrays, which a function of the user made, accept
    no attributes.
    """
    if isinstance(column, _sluice.Tensor):
        column._attach(part, value)
        return
    try:
        setattr(column, part, value)
    except AttributeError:
        pass


def parts_of(names: Iterable[str], requested: tuple[str, ...]) -> list[tuple[str, int, int, str]]:
    """Returns, for made_of, (name, place, number of the owning column or -1, part) of each array that
    was not requested. `place`: its index in the list of all arrays after the earlier ones were
    taken out.
    """
    found: list[tuple[str, int, int, str]] = []
    for number, name in enumerate(name for name in names if name not in FACTS):
        if name not in requested:
            owner, _, part = name.rpartition(".")
            found.append((name, number - len(found), requested.index(owner) if owner in requested and part in PARTS else -1, part))
    return found


def made_of(kind: type[Batch], made: _sluice.Batch, parts: Iterable[tuple[str, int, int, str]] = (), about: Any = None) -> Batch:
    """Returns a loader's batch: `kind` has the names of its columns, parts_of() the rest. `about`: for
    its page.
    """
    batch = kind.__new__(kind)
    columns = made.asked()
    facts = {name: columns.pop(place) for name, place, _, _ in parts}
    list.__init__(batch, columns)
    batch._made, batch._facts, batch._about = made, facts, about
    for name, _, owner, part in parts:
        if owner >= 0:
            attach(columns[owner], part, facts[name])
    return batch


def _again(base, names, columns, facts, told):
    """Returns the batch of a pickle."""
    batch = named(base, names)(columns)
    batch._facts = facts
    batch._attach_parts()
    batch._made = None if told is None else tuple.__new__(Told, told)
    return batch
