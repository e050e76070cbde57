# SPDX-License-Identifier: Apache-2.0
"""sluice.Dataset."""
from __future__ import annotations

import array
import math
import operator
import os
import stat
from collections import namedtuple
from collections.abc import Mapping

from . import _assign, _check, _foreign, _sluice
from ._addresses import is_address, shown
from ._meanings import MEANINGS
from ._names import DTYPE_NAMES, EXIFS, TABLES, dtype_number, values

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, overload

    import numpy

    from ._types import Field as Field, Labels, LeftOut as LeftOut, Part, Paths, Progress, Source, Verified as Verified

TYPES = {1: "image", 2: "int", 3: "float", 4: "bytes", 5: "text", 6: "tensor"}

# Of the struct module; float16 has 'e', bfloat16 none.
FORMATS = {
    "uint8": "B", "float32": "f", "int64": "l", "int32": "i", "int16": "h", "int8": "b", "uint16": "H",
    "uint32": "I", "uint64": "L", "float64": "d", "bool": "?",
}  # fmt: skip


inherited = []  # never closed: the parent's


if not TYPE_CHECKING:

    def overload(function):  # the typing module takes long to import
        return function


if not TYPE_CHECKING:  # else as _types.py has them: the typing module takes long to import
    LeftOut = namedtuple("LeftOut", ["reason", "count", "images", "example"])
    LeftOut.__doc__ = "Files, rows or values that opening a dataset found and left out. `example` is the first one."

    class Field(namedtuple("Field", ["name", "type", "dtype", "shape"])):
        """What each sample has under a name. A 0 in `shape` differs from sample to sample.

        meaning: what the dataset knows of its values: role ('boxes', 'points', 'shapes', 'mask', 'width', 'height'),
        box_format ('xyxy', 'xywh', 'cxcywh'), coordinates ('relative', 'pixels', 'indices'), orientation ('stored',
        'upright', 'by_size'), per_box (True: an element for each box), of (the field that it belongs to).
        """

        meaning = {}  # no member of the tuple, which has four
        _words = ""  # the same for people

        @classmethod
        def _known(cls, name, kind, dtype, shape, meaning):
            field = cls(name, TYPES.get(kind, "unknown"), DTYPE_NAMES.get(dtype, "unknown"), shape)
            known = {key: words[meaning[key]] for key, words in MEANINGS.items() if meaning[key] in words}
            field.meaning = known | ({"of": meaning["of"]} if meaning["of"] else {})
            field._words = meaning["words"]
            return field

    class Verified(namedtuple("Verified", ["samples", "bytes", "findings", "unchecked"])):
        """What Dataset.verify found. `undecoded`: pictures whose pixels were not read, as `decode` does. `left_out`: what is
        not part of the dataset, and so was not looked at (Dataset.left_out)."""

        undecoded = 0  # no members of the tuple, which has four
        left_out = ()

        def __repr__(self):
            more = f", undecoded={self.undecoded}" if self.undecoded else ""
            more += f", left_out={self.left_out}" if self.left_out else ""
            return super().__repr__()[:-1] + more + ")"


def argument_hints(call):
    """What to write where arguments of a Dataset are given to a function that opens one from a path."""
    return {name: f"it is an argument of sluice.Dataset: {call}(sluice.Dataset(path, {name}=...), ...)" for name in Dataset.__init__.names}


def _absolute(path):
    """So that it is found after a change of folder, too. What is not there stays as it was given."""
    if is_address(path):
        return path
    brace = b"{" if isinstance(path, bytes) else "{"
    return os.path.abspath(path) if brace in path or os.path.exists(path) else path


def field_choices(fields: Mapping[str, str | tuple[str, str]] | None) -> list[str]:
    """As the library takes them: "NAME=KEY" or "NAME=KEY:TYPE"."""
    choices = []
    wanted = "names, each with what it is called there, or with a pair of that and a type"
    for name, key in _check.mapping("fields", {} if fields is None else fields, f"a dict of {wanted}").items():
        if "=" in name:
            raise ValueError(f"fields: {name!r} is no name")
        if not isinstance(key, str):
            key = ":".join(_check.texts(f"fields[{name!r}]", key, "a text or a pair of texts"))
        choices.append(f"{name}={key}")
    return choices


def opened(name, value):
    """The dataset that an argument is, is the path of, or, if it is one of torch's, consists of."""
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
    """What has to be the same where a forked child opens it again; of a folder, that it is the one."""
    try:
        found = os.stat(path)
    except OSError:
        return None  # opening says why
    kept = (found.st_dev, found.st_ino)
    return kept if stat.S_ISDIR(found.st_mode) else (*kept, found.st_size, found.st_mtime_ns)


class Dataset:
    """Samples that lie in files, found and not read.

    path: a folder of class folders with pictures (torchvision's ImageFolder rules), a folder of packed
    shards (`sluice pack`), or any other format of docs/formats.md (`sluice info --formats` lists them), also with ranges
    ("train-{000..146}.tar"); or a list of those. Those that are compressed as a whole (archives, MDS, LitData) are read from front to
    back (a Loader's shuffle='shards'), unless `unpacked_dir` is given. With `flat=("float32", (3, 32, 32))` the files hold nothing but
    tensors of that dtype and shape, back to back. Class folders without a picture, and those whose names differ in case only, are
    refused unless they are allowed (allow_empty_classes, allow_case_duplicates).

    fields: of formats with features, columns or arrays (`sluice info --formats` says of which), which are wanted and what
    they are called here [all, by docs/formats.md]:
    {"image": "image/encoded", "label": "image/class/label:int", "box": ("box", "f32[4]")}. What is behind the
    colon, or in a pair, is the type: image, int, float, bytes, text, or a tensor as dtype[shape]: i64[] has as many
    elements as there are, f32[0,4] as many rows, u8[28,28] is made of bytes.

    data[i] is a sample as it is stored: a dict of its fields (a picture's encoded bytes, a text as str,
    numbers, a tensor as a memoryview, of 16-bit floats its bytes); a number or a picture that the sample
    lacks is None, a text or tensor empty. Boxes of an image without objects have the shape (0, 4), COCO's keypoints
    [objects, points, 3]. data.decode(i) its picture, decoded. For decoded and augmented
    batches there is sluice.Loader.

    allow_outside: lists of files (CSV, COCO, VOC, JSON) may name files that do not lie below the list's own folder, also by
    links; otherwise that is refused, since who made the list could have any file of this machine read.
    unpacked_dir: a folder where what is compressed as a whole is kept unpacked, and read from there, in any order. Each file is
    unpacked once, when it is opened first; the ranks of a run share the work. It is removed when its source has changed, and else
    never; the folder may be removed while nobody uses it.
    split: the split to open of a dataset that has several: its name there, or 'train', 'val', 'test'.
    memory_bytes: what opening may take, for indexes and columns that are kept [half of what is available, at most 8 GiB].

    Raises InvalidError, IOError, CorruptError, UnsupportedError, OutOfMemoryError. A dataset can be pickled: the other
    process opens the same paths.
    """

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

    if not TYPE_CHECKING:  # else checkers would take any name

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
        """Warns where the user opens the dataset, not where another process or a forked child opens it again."""
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
        """The library's dataset; in a forked child one of its own: threads of the parent may have held the
        inherited one's locks."""
        if self._process != os.getpid():
            inherited.append(self._opened)
            self._open()
        return self._opened

    def __len__(self) -> int:
        return self._info["samples"]

    @property
    def format(self) -> str:
        """What it was read as, a word of sluice_dataset_info.format (sluice/dataset.h): 'folder', 'tar', ...; 'mixed' where
        several formats are joined."""
        return self._info["format"]

    @property
    def description(self) -> str:
        """What the path was taken for, a sentence; behind "; " what makes it slow as it is stored."""
        return self._info["description"]

    @property
    def front_to_back(self) -> bool:
        """Whether files are compressed as a whole (.tar.gz): then data[i] and decode refuse it, and a Loader takes
        shuffle='shards' or False. What sluice.pack makes of it, and it with `unpacked_dir`, can be read in any order."""
        return bool(self._info["front_to_back"])

    @property
    def fingerprint(self) -> int:
        """A number that changes when the list of samples changes."""
        return self._info["fingerprint"]

    @property
    def nbytes(self) -> int:
        """Stored bytes of all samples; 0 where that is not known without reading (folders)."""
        return self._info["bytes"]

    @property
    def fields(self) -> dict[str, Field]:
        """The fields of a sample, by name."""
        return {field[0]: Field._known(*field) for field in self._fields}

    def _natural_columns(self):
        """{field: (kind, name)} of the columns that a loader without columns= has."""
        found = {field[0]: self._handle.natural_column(i) for i, field in enumerate(self._fields)}
        return {field: column for field, column in found.items() if column is not None}

    @property
    def left_out(self) -> list[LeftOut]:
        """What opening the dataset found and left out: a (reason, count, images, example) for each reason."""
        return list(self._left_out)

    @staticmethod
    def _counted(get):
        numbers = iter(range(1 << 30))
        return lambda: get(next(numbers))

    @property
    def classes(self) -> list[str]:
        """Class names by label."""
        return [self._handle.class_name(label) or "" for label in range(self._info["classes"])]

    @property
    def class_to_idx(self) -> dict[str, int]:
        """Labels by class name, as torchvision has them."""
        return {name: label for label, name in enumerate(self.classes)}

    @property
    def targets(self) -> list[int | None]:
        """The labels of all samples, as torchvision has them; None where one lacks it. Read once, as `numbers` does."""
        if self._targets is None:
            if "label" not in self.fields or self.fields["label"].type != "int":
                raise AttributeError("targets: the dataset has no field 'label' of class numbers; numbers(field) reads others")
            self._targets = self.numbers("label")
        return self._targets

    @property
    def samples(self) -> list[tuple[str, int]]:
        """Path and label of each picture of an image folder, as torchvision has them."""
        if self.format != "folder":
            raise AttributeError(
                f"samples: those of {self.format!r} are no files of their own; targets has the labels, sample(i) where one lies"
            )
        return [(found["file"], found["label"]) for found in map(self.sample, range(len(self)))]

    imgs = samples

    def sample(self, index: int) -> dict[str, Any]:
        """Where a sample lies: key, file, label, offset, bytes, width, height. The last two are 0 where they are not known
        without reading the image; of COCO and VOC they are those of the annotations."""
        return self._handle.sample(self._number(index), self._is_remote)

    def read(self, index: int, field: str) -> bytes:
        """A field of a sample as stored: bytes; of a picture the encoded file (or raw pixels)."""
        return self._handle.read(self._number(index), self._is_remote, _check.text("field", field))

    def decode(self, index: int, field: str | None = None, *, exif: bool | str = "auto") -> numpy.ndarray[Any, Any] | None:
        """A picture of a sample, decoded at its full size: a writable numpy array of uint8, height x width x 3, as
        PIL.Image.fromarray and torch.as_tensor take it (without numpy a memoryview of that shape); None where the sample
        lacks it.

        field: of pictures [the first]. exif: the way up, as of a Loader: 'auto' (as the dataset annotated it), 'apply' or
        True (upright as EXIF says), 'ignore' or False (as stored). These are the pixels that a Loader with
        exact=True crops and resizes. It decodes on this thread, other threads run meanwhile; for training
        there is Loader.
        """
        if field is None:
            field = next((name for name, of in self.fields.items() if of.type == "image"), None)
            if field is None:
                raise ValueError("the dataset has no field of pictures")
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
        """Reads all of it and checks every checksum and header; with `decode` also every picture's pixels
        and every frame. workers: threads [one for each processor]. part: (i, n): only part i of n, from 0; 'auto' as of sluice.pack. max_sample_bytes: a larger sample is a bad one
        [1 GiB; 2^31 - 1 at most].

        Returns (samples looked at, bytes read, findings, unchecked): the findings are exceptions, with file,
        sample, offset and reason, that are not raised. Empty: all is good. unchecked: what no checksum was
        checked of, as "tars have no checksums"; "" when it was of every sample. Its attribute `undecoded` is how many
        pictures were looked at by their headers only, since pixels are not read without `decode`.
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
            raise IndexError(f"sample {index} of {count}")
        return number

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> Dataset: ...
    def __getitem__(self, index):
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
            raise ValueError("a NUL character in it")
        return _Made("subset", [self], (how, choice, *more))

    def _slice(self, numbers):
        if len(numbers) == 0:
            raise ValueError("no sample is left: a dataset has at least one")
        if numbers.step == 1:
            return self._subset("ranges", b"%d:%d" % (numbers.start, numbers.stop))
        return self.subset(numbers)

    def subset(self, indices: Sequence[int] | Any) -> Dataset:
        """Some samples, by their numbers, in that order; one may come several times. Whole numbers, or as many bools as
        there are samples: a list, a range, an array, a tensor, a Series; or the path of a file of numbers: .npy, or
        text with one a line. Also a torch Subset of this dataset, or of range(len(data)), as random_split makes them.
        data[10:20] is a subset, too."""
        if isinstance(indices, (str, os.PathLike)):
            return self._subset("index_file", os.fsencode(os.path.abspath(indices)))
        chosen = _foreign.indices_of(indices, self)
        indices = _check.items("indices", _listed(indices if chosen is None else chosen), "numbers, bools or a path")
        bools = sum(type(index).__name__ in ("bool", "bool_") for index in indices)
        if bools > 0:
            if bools < len(indices):
                raise TypeError("indices: whole numbers, or bools, and not both")
            if len(indices) != len(self):
                raise ValueError(f"{len(indices)} bools for {len(self)} samples")
            indices = [number for number, is_taken in enumerate(indices) if is_taken]
        numbers = array.array("Q", (self._number(index, "indices") for index in indices))
        if not numbers:
            raise ValueError("no sample is left: a dataset has at least one")
        return self._subset("indices", numbers.tobytes())

    def where(self, condition: str, *, max_sample_bytes: int = 0) -> Dataset:
        """Those samples whose numbers meet a condition: "score > 0.5 and not label in (3, 7)",
        'label == "dog" or width >= 640'; comparisons of fields that are numbers, `in`, and, or, not, parentheses.
        A sample that lacks the field meets no comparison. Every sample is read once, by threads of the library,
        but an image folder's. max_sample_bytes: a larger sample raises UnsupportedError [1 GiB; 2^31 - 1 at most]."""
        from .packing import sample_limit

        return self._subset("where", _check.text("condition", condition).encode(), sample_limit(max_sample_bytes))

    def numbers(self, field: str, *, max_sample_bytes: int = 0) -> list[int | float | None]:
        """A field that is a number, of all samples (None where one lacks it). Reads as `where` does."""
        from .packing import sample_limit

        if _check.text("field", field) in self.fields and self.fields[field].type == "tensor":
            raise ValueError(f"field={field!r} is a tensor, not a number: having() chooses samples by its length")
        kind = self.fields[field].type if _check.text("field", field) in self.fields else "int"
        values, present = _sluice.numbers(self._handle, field, sample_limit(max_sample_bytes))
        found = array.array("q" if kind == "int" else "d", values)
        return [value if there else None for value, there in zip(found, present)] if 0 in present else found.tolist()

    def lengths(self, field: str, *, max_sample_bytes: int = 0) -> numpy.ndarray[Any, Any]:
        """How many elements a tensor has in each sample (rows, of several dimensions): a numpy array of int64 (without numpy an
        array.array); 0 where a sample lacks it. `sluice.packed_rows` takes them, and a loader's `lengths=`.

        field: of tensors, as tokens. One of a fixed shape has its first dimension in every sample; which ones lack it is not looked
        at. Reads the index where that says
        where the tensor lies (Megatron's does, and that of shards with only numbers beside it, written with zstd="off"), else
        every sample, whole: `lengths_source` says which. max_sample_bytes: as of `where`. ValueError: there is no such field."""
        from ._sequences import lengths_of
        from .packing import sample_limit

        return lengths_of(self, _check.text("field", field), sample_limit(max_sample_bytes))

    def lengths_source(self, field: str) -> str:
        """What `lengths(field)` reads: 'known' (nothing), 'index' (the dataset's index) or 'samples' (every sample, whole);
        'none' if the field has no lengths. Looks at the first sample, of joined datasets at that of each."""
        words = ("none", "known", "index", "samples")
        return words[_sluice.lengths_source(self._handle, _check.text("field", field))]

    def filter(self, keep: Callable[[dict[str, int | float | None]], Any]) -> Dataset:
        """Those samples for which `keep` says so, of a dict of their numbers: data.filter(lambda n: n["label"] < 10).
        Reads as `where` does, once for each such field, and calls `keep` in this thread."""
        _check.function("keep", keep)
        names = [name for name, of in self.fields.items() if of.type in ("int", "float")]
        if not names:
            raise ValueError("the dataset has no field that is a number: use subset(indices)")
        rows = zip(*(self.numbers(name) for name in names))
        return self.subset([i for i, row in enumerate(rows) if keep(dict(zip(names, row)))])

    def having(self, field: str, *, at_least: int = 1, at_most: int | None = None, max_sample_bytes: int = 0) -> Dataset:
        """Those samples that have so many elements in a tensor of any length, as boxes or labels are: data.having("labels")
        leaves out images without objects.

        at_least, at_most: objects of a sample [1; any number]. A sample without the field has none. Reads as `where` does and
        decodes nothing; of annotations (COCO, VOC, YOLO) no image is opened. ValueError: no sample is left, or the field is no
        such tensor."""
        from .packing import sample_limit

        least = _check.integer("at_least", at_least)
        most = 2**63 - 1 if at_most is None else _check.integer("at_most", at_most, least)
        of = self.fields.get(_check.text("field", field))
        if of is None or of.type != "tensor" or of.shape[:1] != (0,):
            known = [name for name, of in self.fields.items() if of.type == "tensor" and of.shape[:1] == (0,)]
            if of is None:
                raise ValueError(f"there is no field {field!r}: the fields are {', '.join(self.fields)}{_check.near(field, list(self.fields))}")
            those = f"which here {', '.join(known)} are" if known else "and this dataset has none"
            raise ValueError(f"field={field!r}: expected a tensor of any length, {those}")
        counts = array.array("q", _sluice.numbers(self._handle, field, sample_limit(max_sample_bytes))[0])
        return self.subset([index for index, count in enumerate(counts) if least <= count <= most])

    def __add__(self, other: Dataset) -> Dataset:
        return concat([self, other]) if isinstance(other, Dataset) else NotImplemented

    def __reduce__(self):
        return _reopen, (self.paths, self._arguments)

    def __repr__(self):
        return f"sluice.Dataset({[shown(path) for path in self.paths]}, {len(self)} samples, {self.format}{self._without()})"

    def _repr_html_(self) -> str:
        from ._pictures import dataset_page

        return dataset_page(self)

    def _without(self):
        """What was left out, in a few words."""
        shown = ", ".join(f"{found.count} {_shown(found.reason)}" for found in self._left_out[:4])
        more = ", ..." if len(self._left_out) > 4 else ""
        return f", {sum(found.count for found in self._left_out)} left out ({shown}{more})" if shown else ""


class _Made(Dataset):
    """A dataset that is made of others: another process, or a forked child, opens them and makes it again."""

    def __init__(self, make, parts, arguments):
        self._make, self._parts, self._arguments = make, list(parts), arguments
        self.paths = list(dict.fromkeys(path for part in parts for path in part.paths))
        self._look()

    def _open(self):
        handles = [part._handle for part in self._parts]
        self._opened = getattr(_sluice, self._make)(handles, *self._arguments)
        self._process = os.getpid()

    def __reduce__(self):
        return _Made, (self._make, self._parts, self._arguments)


def concat(
    datasets: Sequence[Dataset | Source], *, fields: Sequence[str] | None = None, labels: Labels = "same",
    allow_case_duplicates: bool = False,
) -> Dataset:  # fmt: skip
    """Several datasets, of whatever formats, as one: the samples of the first, then those of the second, ...

    datasets: a list of datasets, of their paths, or of datasets of torch (a Loader's `dataset` says which).
    Their fields must agree in names and types (sizes of tensors may differ). fields: those that all of them have
    and the joined one is to have [all]. a + b is concat([a, b]).

    labels: 'same': names of classes, where datasets have any, must be the same in the same order. 'union': classes of
        the same name are one, in the order in which they first appear, and `label` is renumbered: the first dataset's
        numbers stay. A list of names: these classes in this order, and there may be no other. A dict: what classes
        are to be called before that, {"kitty": "cat"}; several may become one, None is no class (-1), others keep their
        names. Classes without names are called by their numbers there, {0: "cat", 1: "dog"}: without a dict, datasets of
        such go along with 'same' ones only. Of one dataset it gives that dataset with other classes.
    allow_case_duplicates: classes of different datasets whose names differ in case only are two; otherwise they are
        refused.
    """
    return _Made("concat", _datasets(datasets), (_names(fields), labels_of(labels, allow_case_duplicates)))


def mix(
    datasets: Mapping[Dataset, float] | Sequence[Dataset],
    weights: Sequence[float] | Mapping[int, Sequence[float]] | None = None,
    *, epoch_samples: int | None = None, fields: Sequence[str] | None = None, labels: Labels = "same",
    allow_case_duplicates: bool = False,
) -> Dataset:  # fmt: skip
    """Several datasets as one, whose samples come as often as weights say: mix({a: 0.7, b: 0.3}), or
    mix([a, b], [7, 3]). After any number of samples each has come within one of its share.

    weights: a number for each dataset [all the same]; or {epoch: numbers}, from that epoch on, 0 being one of
    them. epoch_samples: samples of an epoch [as many as all have together]. fields, labels,
    allow_case_duplicates: as of concat.
    A dataset's own samples come in the order that a Loader's `shuffle` says, another each time that they are
    used up; none comes again before all of them have come, whatever the epochs. Of columns.Window and columns.Packed
    windows and rows are what is counted and mixed, instead of samples.
    """
    if isinstance(datasets, Mapping):
        if weights is not None:
            raise TypeError("mix: weights are those of the dict, or a list, not both")
        datasets, weights = list(datasets), list(datasets.values())
    datasets = _datasets(datasets)
    rows = weights if isinstance(weights, Mapping) else {0: [1] * len(datasets) if weights is None else weights}
    rows = dict(sorted((_check.integer("weights: epoch", epoch), _weights(row)) for epoch, row in rows.items()))
    for row in rows.values():
        if len(row) != len(datasets):
            raise ValueError(f"{len(row)} weights for {len(datasets)} datasets")
    epoch_samples = 0 if epoch_samples is None else _check.integer("epoch_samples", epoch_samples, 1)
    numbers = array.array("d", (weight for row in rows.values() for weight in row)).tobytes()
    epochs = array.array("Q", rows).tobytes()
    labels = labels_of(labels, allow_case_duplicates)
    return _Made("mix", datasets, (numbers, epochs, epoch_samples, _names(fields), labels))


def balance(data: Dataset, field: str = "label", *, epoch_samples: int | None = None) -> Dataset:
    """A mix of the classes of a dataset, all of which come equally often: of the samples that have the same
    number in `field`. Reads every sample once, as Dataset.where does. Samples that lack it, or where it is not a
    number (NaN), are left out."""
    if not isinstance(data, Dataset):
        _foreign.refuse_datasets("data", data, Dataset, "a sluice.Dataset", "sluice.balance({})")
        path = ": for a path, write sluice.balance(sluice.Dataset(path))" if isinstance(data, (str, bytes, os.PathLike)) else ""
        raise _check.wrong("data", data, f"a sluice.Dataset{path}")
    classes: dict[int | float, list[int]] = {}
    for index, number in enumerate(data.numbers(field)):
        if number is not None and number == number:
            classes.setdefault(number, []).append(index)
    if not classes:
        raise ValueError(f"no sample has a {field!r}")
    return mix([data.subset(classes[number]) for number in sorted(classes)], epoch_samples=epoch_samples)


def _datasets(datasets):
    wanted = "a list of sluice.Dataset, or of paths"
    if not isinstance(datasets, (list, tuple)):  # a dataset could be gone through as well, sample by sample
        _foreign.refuse_datasets("datasets", datasets, Dataset, wanted)
    datasets = _check.items("datasets", datasets, wanted)
    if not all(isinstance(one, (Dataset, str, bytes, os.PathLike)) or _foreign.is_foreign(one) for one in datasets):
        for one in datasets:
            if isinstance(one, (list, tuple)):
                _foreign.refuse_datasets("datasets: one of them", one, Dataset, "a sluice.Dataset or a path")
        raise _check.wrong("datasets", datasets, wanted)
    return [opened("datasets", one) for one in datasets]


def _weights(row):
    return [_check.number("weights", weight) for weight in _check.items("weights", row, "a number for each dataset")]


def labels_of(labels, allow_case_duplicates):
    """As the library takes them: None, or (classes, from, to, allow_case_duplicates)."""
    wanted = "'same', 'union', a list of names, or a dict of names (or numbers), each with a name or None"
    allowed = _check.flag("allow_case_duplicates", allow_case_duplicates)
    if isinstance(labels, str):
        if labels not in ("same", "union"):
            raise ValueError(f"labels={labels!r:.80}: expected {wanted}")
        return None if labels == "same" else (None, None, None, allowed)
    if not isinstance(labels, Mapping):
        return (_check.texts("labels", labels, wanted) or _empty("labels"), None, None, allowed)
    names = [key if isinstance(key, str) else str(_label(key, wanted)) for key in labels]
    if not all(value is None or isinstance(value, str) for value in labels.values()):
        raise _check.wrong("labels", labels, wanted)
    return (None, names or _empty("labels"), list(labels.values()), allowed)


def _label(key, wanted):
    try:
        return operator.index(key)
    except TypeError:
        raise _check.wrong("labels", key, wanted) from None


def _empty(name):
    raise ValueError(f"{name} names nothing")


def _names(fields):
    return None if fields is None else _check.texts("fields", fields, "a list of names")


def _reopen(paths, arguments):
    made = Dataset.__new__(Dataset)
    made.paths, made._arguments = paths, {"flat": None, "fields": None} | arguments
    made._look()
    return made


def _shown(text):
    """On one line, whatever files are called."""
    text = os.fsdecode(text)
    return text if text.isprintable() else repr(text)[1:-1]


def _listed(indices):
    """Numbers one by one: those of an array as Python's own, so that 3.0 is refused as in a list."""
    return indices.tolist() if hasattr(indices, "tolist") else indices


def _of_points(shape, meaning):
    """By point, where a row has three numbers for each, as COCO's keypoints have. Others may have two."""
    role, coordinates = (MEANINGS[word].get(meaning[word]) for word in ("role", "coordinates"))
    is_coco = role == "points" and coordinates == "indices" and len(shape) == 2
    return (shape[0], shape[1] // 3, 3) if is_coco and shape[1] > 3 and shape[1] % 3 == 0 else shape


def _view(data, format, shape):
    """A tensor as a memoryview of its shape; flat where two dimensions differ from sample to sample."""
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
