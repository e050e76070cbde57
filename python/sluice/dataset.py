# SPDX-License-Identifier: Apache-2.0
"""sluice.Dataset."""
from __future__ import annotations

import array
import math
import operator
import os
import stat
from collections.abc import Mapping

from . import _assign, _check, _foreign, _sluice
from ._addresses import is_address, shown
from ._meanings import MEANINGS
from ._names import DTYPE_NAMES, EXIFS, TABLES, dtype_number, values
from ._records import TYPES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any, overload

    import numpy

    from ._types import Field as Field, LeftOut as LeftOut, Part, Paths, Progress, Verified as Verified

# Format characters of the struct module, which has 'e' for float16 and none for bfloat16.
FORMATS = {
    "uint8": "B", "float32": "f", "int64": "l", "int32": "i", "int16": "h", "int8": "b", "uint16": "H",
    "uint32": "I", "uint64": "L", "float64": "d", "bool": "?",
}  # fmt: skip


inherited: list[Any] = []  # the parent's handles in a forked child, never closed


if not TYPE_CHECKING:
    from ._records import Field, LeftOut, Verified

    def overload(function):  # the typing module takes long to import
        return function


def argument_hints(call: str) -> dict[str, str]:
    """Returns error hints for arguments of a Dataset that are given to a function that opens one from
    a path.
    """
    return {name: f"it is an argument of sluice.Dataset: {call}(sluice.Dataset(path, {name}=...), ...)" for name in Dataset.__init__.names}


def _absolute(path):
    """Returns an absolute path, which stays valid when the working folder changes. A path that does
    not exist is returned unchanged.
    """
    if is_address(path):
        return path
    brace = b"{" if isinstance(path, bytes) else "{"
    return os.path.abspath(path) if brace in path or os.path.exists(path) else path


def field_choices(fields: Mapping[str, str | tuple[str, str]] | None) -> list[str]:
    """Returns the fields in the library's form: "NAME=KEY" or "NAME=KEY:TYPE"."""
    choices = []
    wanted = "names, each with its name in the files, or a pair of that and a type"
    for name, key in _check.mapping("fields", {} if fields is None else fields, f"a dict of {wanted}").items():
        if "=" in name:
            raise ValueError(f"fields: {name!r} is not a valid name")
        if not isinstance(key, str):
            key = ":".join(_check.texts(f"fields[{name!r}]", key, "a text or a pair of texts"))
        choices.append(f"{name}={key}")
    return choices


def opened(name: str, value: Any) -> Dataset:
    """Returns the dataset for an argument: a Dataset, a path, a list of paths, or a dataset of
    torch.
    """
    if isinstance(value, Dataset):
        return value
    if _foreign.is_foreign(value):
        return _foreign.opened(name, value)
    wanted = "a sluice.Dataset, a path or a list of paths"
    if not isinstance(value, (str, bytes, os.PathLike, list, tuple)):
        raise _check.wrong(name, value, wanted)
    _foreign.refuse_datasets(name, value, Dataset, wanted)
    return Dataset(value)


def _identity(path):
    """Returns the properties of a file that must be unchanged when a forked child opens it again; a
    folder must only be the same folder.
    """
    try:
        found = os.stat(path)
    except OSError:
        return None  # opening the file reports the reason
    kept = (found.st_dev, found.st_ino)
    return kept if stat.S_ISDIR(found.st_mode) else (*kept, found.st_size, found.st_mtime_ns)


class Dataset:
    """Samples in files. Opening a dataset finds the samples without reading them.

    `data[i]` is a sample as stored: a dict of its fields. Images are encoded bytes, texts are str,
    tensors are memoryviews (for 16-bit floats, bytes). A missing number or image is None; a missing
    text or tensor is empty. Boxes of an image without objects have the shape (0, 4), COCO keypoints
    [objects, points, 3]. `data.decode(i)` decodes the sample's image. For decoded and augmented
    batches, use sluice.Loader. A dataset can be pickled: the other process opens the same paths.

    Args:
        path: a folder of class folders with images (torchvision's ImageFolder rules), a folder of
            packed shards (`sluice pack`), or any other format in docs/formats.md (`sluice info
            --formats` lists them); ranges such as "train-{000..146}.tar" are allowed. Or a list of
            paths.
        flat: (dtype, shape): the files hold nothing but tensors of that dtype and shape, back to
            back [None].
        fields: fields to read and their names here, for formats with features, columns or arrays:
            {"image": "image/encoded", "label": "image/class/label:int", "box": ("box", "f32[4]")}.
            The type follows a colon, or is the second of a pair: image, int, float, bytes, text, or
            a tensor as dtype[shape]; i64[] has any number of elements, f32[0,4] any number of rows,
            u8[28,28] is made of bytes [all, by docs/formats.md].
        allow_empty_classes: True accepts class folders without an image [False].
        allow_case_duplicates: True accepts class folders whose names differ only in case, as
            different classes [False].
        allow_outside: True accepts file lists (CSV, COCO, VOC, JSON) that name files outside the
            list's own folder, also through links. Otherwise that is an error, because a list could
            make the program read any file of this machine [False].
        memory_bytes: memory limit for opening, for indexes and columns that are kept [half of the
            available memory, at most 8 GiB].
        unpacked_dir: folder where files that are compressed as a whole (archives, MDS, LitData) are
            kept unpacked, so that they can be read in any order; without it, they are read from
            front to back (a Loader's shuffle='shards'). Each file is unpacked once, when first
            opened; the ranks of a run share the work. It is removed when its source has changed.
            You may delete the folder while nobody uses it [None].
        split: split to open, if there are several: its name in the dataset, or 'train', 'val' or
            'test' [None].

    Raises:
        InvalidError: an argument does not fit the files, or the files match no format.
        IOError: a file cannot be read.
        CorruptError: a file is damaged.
        UnsupportedError: a file uses a feature that the library lacks.
        OutOfMemoryError: opening needs more than `memory_bytes`.

    Example:
        >>> data = sluice.Dataset("photos")
        >>> len(data), data.classes
        (12, ['bird', 'cat', 'dog'])
        >>> sorted(data[0])
        ['image', 'key', 'label']
    """

    paths: list[str | bytes]
    _arguments: dict[str, Any]

    @_check.named
    def __init__(
        self, path: Paths, *, flat: tuple[Any, Sequence[int]] | None = None,
        fields: Mapping[str, str | tuple[str, str]] | None = None, allow_empty_classes: bool = False,
        allow_case_duplicates: bool = False, allow_outside: bool = False, memory_bytes: int = 0,
        unpacked_dir: str | bytes | os.PathLike[Any] | None = None, split: str | None = None,
    ) -> None:  # fmt: skip
        _foreign.refuse_datasets("path", path, Dataset, "a path or a list of paths")
        if isinstance(path, (str, bytes, os.PathLike)):
            path = [path]
        elif not isinstance(path, (list, tuple)):
            raise TypeError(f"path={path!r}: expected a path or a list of paths")
        paths = list(path)
        self.paths = [_absolute(_check.path("path", one)) for one in paths]
        given = locals()
        if unpacked_dir is not None:
            unpacked_dir = _check.path("unpacked_dir", unpacked_dir)
            unpacked_dir = unpacked_dir and os.path.abspath(unpacked_dir)
        self._arguments = {name: given[name] for name in Dataset.__init__.names if name != "path"} | {"unpacked_dir": unpacked_dir}
        self._look()
        self._warn()

    _targets = None

    if not TYPE_CHECKING:  # otherwise type checkers would accept any name

        def __setattr__(self, name, value):
            """AttributeError: the assignment would have no effect."""
            _assign.check(self, Dataset, name, ("paths",), hints=_assign.DATASET)
            object.__setattr__(self, name, value)

    def _look(self):
        self._open()
        self._is_remote = any(is_address(path) for path in self.paths)
        self._info = self._handle.info()
        self._fields = [self._handle.field(i) for i in range(self._info["fields"])]
        self._left_out = [LeftOut(*found) for found in iter(self._counted(self._handle.left_out), None)]

    def _warn(self):
        """Warns where the user opens the dataset, but not where another process or a forked child
        opens it again.
        """
        for text in iter(self._counted(self._handle.warning), None):
            _check.warn(f"{_shown(shown(self.paths[0]))}: {text}")

    def _open(self) -> None:
        flat = self._arguments["flat"]
        if flat is not None:
            if not isinstance(flat, (tuple, list)) or len(flat) != 2:
                raise _check.wrong("flat", flat, "(dtype, shape)")
            flat = ("", dtype_number(flat[0]), _check.shape("flat: shape", flat[1]))
        fields = field_choices(self._arguments["fields"])
        options = values(Dataset.__init__, "dataset", self._arguments)
        identities = [_identity(path) for path in self.paths]
        if getattr(self, "_identities", identities) != identities:
            changed = next(path for path, now, then in zip(self.paths, identities, self._identities) if now != then)
            raise _sluice.IOError(f"{shown(changed)}: the file was changed since it was opened: replaced, or written to")
        self._opened = _sluice.Dataset(self.paths, options, flat, fields)
        self._identities, self._process = identities, os.getpid()

    @property
    def _handle(self) -> _sluice.Dataset:
        """The library's dataset. A forked child gets its own, because threads of the parent may have
        held locks of the inherited one.
        """
        if self._process != os.getpid():
            inherited.append(self._opened)
            self._open()
        return self._opened

    def __len__(self) -> int:
        return self._info["samples"]

    @property
    def format(self) -> str:
        """The format: 'folder', 'tar', ...; 'mixed' for joined datasets of several formats.

        sluice/dataset.h (sluice_dataset_info.format) lists the words.
        """
        return self._info["format"]

    @property
    def description(self) -> str:
        """A sentence that describes the files; after "; ", why they are slow to read as stored."""
        return self._info["description"]

    @property
    def front_to_back(self) -> bool:
        """True if files are compressed as a whole (.tar.gz).

        Such a dataset has no random access: data[i] and decode raise an error, and a Loader accepts
        shuffle='shards' or False. Use sluice.pack or `unpacked_dir` to read it in any order.
        """
        return bool(self._info["front_to_back"])

    @property
    def fingerprint(self) -> int:
        """A number that changes when the list of samples changes."""
        return self._info["fingerprint"]

    @property
    def nbytes(self) -> int:
        """Stored bytes of all samples; 0 if finding out would require reading them (image folders)."""
        return self._info["bytes"]

    @property
    def fields(self) -> dict[str, Field]:
        """The fields of a sample, by name."""
        return {field[0]: Field._known(*field) for field in self._fields}

    def _natural_columns(self):
        """Returns {field: (kind, name)} of the default columns, which a loader without columns= has."""
        found = {field[0]: self._handle.natural_column(i) for i, field in enumerate(self._fields)}
        return {field: column for field, column in found.items() if column is not None}

    @property
    def left_out(self) -> list[LeftOut]:
        """Data that opening the dataset found and left out: one LeftOut for each reason."""
        return list(self._left_out)

    @staticmethod
    def _counted(get):
        numbers = iter(range(1 << 30))
        return lambda: get(next(numbers))

    @property
    def classes(self) -> list[str]:
        """Class names, by label."""
        return [self._handle.class_name(label) or "" for label in range(self._info["classes"])]

    @property
    def class_to_idx(self) -> dict[str, int]:
        """Labels by class name, as torchvision has them."""
        return {name: label for label, name in enumerate(self.classes)}

    @property
    def targets(self) -> list[int | None]:
        """The labels of all samples, as torchvision has them; None for a sample without one.

        They are read once, like `numbers`.
        """
        if self._targets is None:
            if "label" not in self.fields or self.fields["label"].type != "int":
                raise AttributeError("targets: the dataset has no field 'label' of class numbers; numbers(field) reads others")
            self._targets = self.numbers("label")
        return self._targets

    @property
    def samples(self) -> list[tuple[str, int]]:
        """Path and label of each image of an image folder, as torchvision has them."""
        if self.format != "folder":
            raise AttributeError(
                f"samples: samples of format {self.format!r} are not separate files; targets has the labels, sample(i) the place of a sample"
            )
        return [(found["file"], found["label"]) for found in map(self.sample, range(len(self)))]

    imgs = samples

    def sample(self, index: int) -> dict[str, Any]:
        """Locates a sample.

        Args:
            index: number of the sample; negative numbers count from the end.

        Returns:
            A dict with key, file, label, offset, bytes, width and height. Width and height are 0 if
            they are unknown without reading the image; for COCO and VOC they are those of the
            annotations.

        Raises:
            IndexError: the dataset has no such sample.

        Example:
            >>> found = data.sample(0)
            >>> found["file"].endswith(".jpg"), found["label"]
            (True, 0)
        """
        return self._handle.sample(self._number(index), self._is_remote)

    def read(self, index: int, field: str) -> bytes:
        r"""Reads one field of a sample as stored.

        Args:
            index: number of the sample; negative numbers count from the end.
            field: name of the field.

        Returns:
            The bytes; for an image, those of the encoded file (or raw pixels).

        Raises:
            IndexError: the dataset has no such sample.
            InvalidError: the dataset has no such field.

        Example:
            >>> data.read(0, "image")[:2]
            b'\xff\xd8'
        """
        return self._handle.read(self._number(index), self._is_remote, _check.text("field", field))

    def decode(self, index: int, field: str | None = None, *, exif: bool | str = "auto") -> numpy.ndarray[Any, Any] | None:
        """Decodes an image of a sample at its full size.

        Runs on this thread, with the GIL released. The pixels are those that a Loader with
        exact=True crops and resizes. For training, use Loader.

        Args:
            index: number of the sample; negative numbers count from the end.
            field: image field [the first].
            exif: orientation: 'auto' (as annotated), 'apply' or True (upright, by EXIF), 'ignore'
                or False (as stored) ['auto'].

        Returns:
            A writable numpy array of uint8, height x width x 3, as PIL.Image.fromarray and
            torch.as_tensor accept it; without numpy, a memoryview of that shape. None if the sample
            lacks the image.

        Raises:
            IndexError: the dataset has no such sample.
            ValueError: the dataset has no such image field.
            CorruptError: the image is damaged.

        Example:
            >>> data.decode(0).shape
            (60, 80, 3)
        """
        if field is None:
            field = next((name for name, of in self.fields.items() if of.type == "image"), None)
            if field is None:
                raise ValueError("the dataset has no image field")
        exif = TABLES["loader"]["exif"].value(exif, EXIFS)
        decoded = self._handle.decode(self._number(index), self._is_remote, _check.text("field", field), exif)
        if decoded is None:
            return None
        height, width, pixels = decoded
        view = memoryview(pixels).cast("B", (height, width, 3))
        try:
            import numpy
        except ModuleNotFoundError:
            return view
        return numpy.asarray(view)

    @_check.named
    def verify(
        self, decode: bool = False, *, workers: int | None = None, progress: Progress = True,
        part: Part | None = None, max_sample_bytes: int = 0,
    ) -> Verified:  # fmt: skip
        """Reads the whole dataset and checks every checksum and header.

        Args:
            decode: True also decodes all pixels and frames [False].
            workers: number of threads [available CPUs].
            progress: True shows a bar where tqdm is installed; or a function of (done, total)
                [True].
            part: (i, n) checks only part i of n, from 0; 'auto' as in sluice.pack [all].
            max_sample_bytes: largest accepted sample [1 GiB; at most 2^31 - 1].

        Returns:
            Verified: (samples, bytes, findings, unchecked). `findings` is empty if everything is
            good.

        Example:
            >>> data.verify(decode=True).findings
            []
        """
        given = locals()
        from .packing import part_options, progress_of

        options = {**values(Dataset.verify, "verify", given), **part_options(part)}
        with progress_of(progress, "verify") as show:
            *found, undecoded = _sluice.verify(self._handle, options, show)
        made = Verified(*found)
        made.undecoded, made.left_out = undecoded, self.left_out
        return made

    def _number(self, index, name="index"):
        try:
            count, index = len(self), operator.index(index)
        except TypeError:
            raise _check.wrong(name, index, "the number of a sample") from None
        number = index + count if index < 0 else index
        if not 0 <= number < count:
            raise IndexError(f"sample {index} is out of range: the dataset has {count} samples")
        return number

    if TYPE_CHECKING:  # zip() and for loops use __getitem__

        def __iter__(self) -> Iterator[dict[str, Any]]: ...

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> Dataset: ...
    def __getitem__(self, index):
        """Returns a sample as a dict of its fields, or, for a slice, a Dataset of some samples."""
        if isinstance(index, slice):
            return self._slice(range(*index.indices(len(self))))
        index = self._number(index)
        return {field[0]: self._value(index, *field) for field in self._fields}

    def _value(self, index, name, kind, dtype, shape, meaning):
        data = self._handle.read(index, self._is_remote, name)
        kind = TYPES.get(kind)
        if kind in ("int", "float"):
            return array.array("q" if kind == "int" else "d", data)[0] if data else None
        if kind == "image":
            return data or None
        if kind == "text":
            return data.decode("utf-8", "surrogateescape")
        if kind == "tensor" and DTYPE_NAMES[dtype] in FORMATS:
            return _view(data, FORMATS[DTYPE_NAMES[dtype]], _of_points(shape, meaning))
        return data

    def _subset(self, how, choice, *more):
        if how != "indices" and b"\0" in choice:
            raise ValueError("the text contains a NUL character")
        return Made("subset", [self], (how, choice, *more))

    def _slice(self, numbers):
        if len(numbers) == 0:
            raise ValueError("no samples selected: a dataset needs at least one")
        if numbers.step == 1:
            return self._subset("ranges", b"%d:%d" % (numbers.start, numbers.stop))
        return self.subset(numbers)

    def subset(self, indices: Sequence[int] | Any) -> Dataset:
        """Chooses samples by their numbers, in the given order. data[10:20] is a subset, too.

        Args:
            indices: numbers, which may repeat, or one bool per sample: a list, range, array, tensor
                or Series. Or the path of a file of numbers: .npy, or text with one number a line.
                Or a torch Subset of this dataset or of range(len(data)), as random_split makes it.

        Returns:
            The dataset of these samples.

        Raises:
            IndexError: the dataset has no such sample.
            ValueError: no sample is selected, or there are more or fewer bools than samples.

        Example:
            >>> len(data.subset([3, 1, 1]))
            3
        """
        if isinstance(indices, (str, os.PathLike)):
            return self._subset("index_file", os.fsencode(os.path.abspath(indices)))
        chosen = _foreign.indices_of(indices, self)
        indices = _check.items("indices", _listed(indices if chosen is None else chosen), "numbers, bools or a path")
        bools = sum(type(index).__name__ in ("bool", "bool_") for index in indices)
        if bools > 0:
            if bools < len(indices):
                raise TypeError("indices: expected whole numbers, or bools, but not both")
            if len(indices) != len(self):
                raise ValueError(f"indices has {len(indices)} bools: the dataset has {len(self)} samples")
            indices = [number for number, is_taken in enumerate(indices) if is_taken]
        numbers = array.array("Q", (self._number(index, "indices") for index in indices))
        if not numbers:
            raise ValueError("no samples selected: a dataset needs at least one")
        return self._subset("indices", numbers.tobytes())

    def where(self, condition: str, *, max_sample_bytes: int = 0) -> Dataset:
        """Chooses the samples whose fields meet a condition.

        Reads every sample once, on the library's threads; an image folder is not read.

        Args:
            condition: comparisons of fields with `in`, `and`, `or`, `not` and parentheses: 'score >
                0.5 and not label in (3, 7)', 'label == "dog" or width >= 640'. No comparison is
                true for a sample without the field.
            max_sample_bytes: largest accepted sample; a larger one raises UnsupportedError [1 GiB;
                at most 2^31 - 1].

        Returns:
            The dataset of these samples.

        Raises:
            InvalidError: the condition is not valid, names an unknown field, or no sample meets it.

        Example:
            >>> len(data.where('label == "cat" or label == 2'))
            8
        """
        from .packing import sample_limit

        return self._subset("where", _check.text("condition", condition).encode(), sample_limit(max_sample_bytes))

    def numbers(self, field: str, *, max_sample_bytes: int = 0) -> list[int | float | None]:
        """Reads a number field of all samples, as `where` does.

        Args:
            field: name of an int or float field.
            max_sample_bytes: largest accepted sample; a larger one raises UnsupportedError [1 GiB;
                at most 2^31 - 1].

        Returns:
            One number per sample; None for a sample without the field.

        Raises:
            InvalidError: the dataset has no such field.
            ValueError: the field is a tensor.

        Example:
            >>> data.numbers("label")[:5]
            [0, 0, 0, 0, 1]
        """
        from .packing import sample_limit

        if _check.text("field", field) in self.fields and self.fields[field].type == "tensor":
            raise ValueError(f"field={field!r} is a tensor, not a number: having() chooses samples by its length")
        kind = self.fields[field].type if _check.text("field", field) in self.fields else "int"
        values, present = _sluice.numbers(self._handle, field, sample_limit(max_sample_bytes))
        found = array.array("q" if kind == "int" else "d", values)
        return [value if there else None for value, there in zip(found, present)] if 0 in present else found.tolist()

    def lengths(self, field: str, *, max_sample_bytes: int = 0) -> numpy.ndarray[Any, Any]:
        """Counts the elements of a tensor in each sample: its size along the first dimension.

        sluice.packed_rows and a loader's `lengths` take the result. Reads only the index if it has
        the tensors' positions (Megatron's does, and so do shards whose other fields are numbers,
        written with zstd="off"); otherwise reads every sample, whole. `lengths_source` reports
        which.

        Args:
            field: tensor field, such as tokens. If its shape is fixed, the result is the first
                dimension for every sample, without checking which samples lack it.
            max_sample_bytes: largest accepted sample; a larger one raises UnsupportedError [1 GiB;
                at most 2^31 - 1].

        Returns:
            A numpy array of int64; without numpy, an array.array. 0 for a sample without the field.

        Raises:
            ValueError: the dataset has no such tensor field.

        Example:
            >>> sluice.Dataset("tokens").lengths("tokens").tolist()
            [3, 5, 7, 2, 6, 4, 8, 5]
        """
        from ._sequences import lengths_of
        from .packing import sample_limit

        return lengths_of(self, _check.text("field", field), sample_limit(max_sample_bytes))

    def lengths_source(self, field: str) -> str:
        """Reports what `lengths(field)` reads.

        Looks at the first sample, or for joined datasets at the first of each.

        Args:
            field: name of the field.

        Returns:
            'known' (nothing), 'index' (the dataset's index), 'samples' (every sample, whole), or
            'none' if the field has no lengths.

        Example:
            >>> sluice.Dataset("tokens").lengths_source("tokens")
            'index'
        """
        words = ("none", "known", "index", "samples")
        return words[_sluice.lengths_source(self._handle, _check.text("field", field))]

    def filter(self, keep: Callable[[dict[str, int | float | None]], Any]) -> Dataset:
        """Chooses the samples that a function accepts by their numbers.

        Reads as `where` does, once for each number field, and calls `keep` on this thread.

        Args:
            keep: function of a dict of the sample's numbers by field; a true result keeps the
                sample.

        Returns:
            The dataset of these samples.

        Raises:
            ValueError: the dataset has no number field, or no sample is selected.

        Example:
            >>> len(data.filter(lambda numbers: numbers["label"] < 2))
            8
        """
        _check.function("keep", keep)
        names = [name for name, of in self.fields.items() if of.type in ("int", "float")]
        if not names:
            raise ValueError("the dataset has no number field: use subset(indices)")
        rows = zip(*(self.numbers(name) for name in names))
        return self.subset([i for i, row in enumerate(rows) if keep(dict(zip(names, row)))])

    def having(self, field: str, *, at_least: int = 1, at_most: int | None = None, max_sample_bytes: int = 0) -> Dataset:
        """Chooses the samples by the number of elements of a variable-length tensor.

        data.having("labels") drops images without objects.

        Reads as `where` does and decodes nothing; for annotations (COCO, VOC, YOLO) no image is
        opened.

        Args:
            field: tensor field of any length, such as boxes or labels. A sample without the field
                has 0 elements.
            at_least: smallest number of elements [1].
            at_most: largest number of elements [any].
            max_sample_bytes: largest accepted sample; a larger one raises UnsupportedError [1 GiB;
                at most 2^31 - 1].

        Returns:
            The dataset of these samples.

        Raises:
            ValueError: no sample is selected, or the field is not a tensor of any length.

        Example:
            >>> len(sluice.Dataset("detection").having("boxes", at_least=1))
            2
        """
        from .packing import sample_limit

        least = _check.integer("at_least", at_least)
        most = 2**63 - 1 if at_most is None else _check.integer("at_most", at_most, least)
        of = self.fields.get(_check.text("field", field))
        if of is None or of.type != "tensor" or of.shape[:1] != (0,):
            known = [name for name, of in self.fields.items() if of.type == "tensor" and of.shape[:1] == (0,)]
            if of is None:
                raise ValueError(f"unknown field {field!r}: the fields are {', '.join(self.fields)}{_check.near(field, list(self.fields))}")
            those = f"here {', '.join(known)}" if known else "which this dataset lacks"
            raise ValueError(f"field={field!r}: expected a tensor of any length, {those}")
        counts = array.array("q", _sluice.numbers(self._handle, field, sample_limit(max_sample_bytes))[0])
        return self.subset([index for index, count in enumerate(counts) if least <= count <= most])

    def __add__(self, other: Dataset) -> Dataset:
        from ._joining import concat

        return concat([self, other]) if isinstance(other, Dataset) else NotImplemented

    def __reduce__(self) -> Any:
        return _reopen, (self.paths, self._arguments)

    def __repr__(self) -> str:
        return f"sluice.Dataset({[shown(path) for path in self.paths]}, {len(self)} samples, {self.format}{self._without()})"

    def _repr_html_(self) -> str:
        from ._pictures import dataset_page

        return dataset_page(self)

    def _without(self):
        """Returns a short text about the samples that were left out."""
        shown = ", ".join(f"{found.count} {_shown(found.reason)}" for found in self._left_out[:4])
        more = ", ..." if len(self._left_out) > 4 else ""
        return f", {sum(found.count for found in self._left_out)} left out ({shown}{more})" if shown else ""


class Made(Dataset):
    """A dataset made of others. Another process, or a forked child, opens those and makes it again."""

    def __init__(self, make: str, parts: Sequence[Dataset], arguments: tuple[Any, ...]) -> None:
        self._make, self._parts, self._arguments = make, list(parts), arguments
        self.paths: list[str | bytes] = list(dict.fromkeys(path for part in parts for path in part.paths))
        self._look()

    def _open(self):
        handles = [part._handle for part in self._parts]
        self._opened = getattr(_sluice, self._make)(handles, *self._arguments)
        self._process = os.getpid()

    def __reduce__(self) -> tuple[type[Made], tuple[Any, ...]]:
        return Made, (self._make, self._parts, self._arguments)


def _reopen(paths, arguments):
    made = Dataset.__new__(Dataset)
    made.paths, made._arguments = paths, {"flat": None, "fields": None} | arguments
    made._look()
    return made


def _shown(text):
    """Returns a file name on one line."""
    text = os.fsdecode(text)
    return text if text.isprintable() else repr(text)[1:-1]


def _listed(indices):
    """Returns an array's numbers as Python's own, so that 3.0 fails as it does in a list."""
    return indices.tolist() if hasattr(indices, "tolist") else indices


def _of_points(shape, meaning):
    """Returns the shape by points if a row has three numbers for each point, as COCO's keypoints do.
    Other points may have two.
    """
    role, coordinates = (MEANINGS[word].get(meaning[word]) for word in ("role", "coordinates"))
    is_coco = role == "points" and coordinates == "indices" and len(shape) == 2
    return (shape[0], shape[1] // 3, 3) if is_coco and shape[1] > 3 and shape[1] % 3 == 0 else shape


def _view(data, format, shape):
    """Returns a tensor as a memoryview of its shape; flat if two dimensions differ from sample to
    sample.
    """
    view = memoryview(data).cast(format)
    if shape.count(0) > 1 or (0 in view.shape and shape[:1] != (0,)):
        return view
    if 0 in view.shape:  # cast() has no shape without elements, but a slice has
        one = [size or 1 for size in shape]
        return memoryview(bytes(math.prod(one) * view.itemsize)).cast(format, one)[:0]
    known = 1
    for size in shape:
        known *= size or 1
    return memoryview(data).cast(format, [size or len(view) // known for size in shape])
