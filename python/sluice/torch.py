# SPDX-License-Identifier: Apache-2.0
"""torch tensors: sluice.torch.DataLoader replaces torch.utils.data.DataLoader."""
from __future__ import annotations

try:
    import torch
except ModuleNotFoundError as _error:
    if _error.name != "torch":
        raise
    raise ModuleNotFoundError(
        "sluice.torch needs torch: pip install torch. Virtual environments see Debian's python3-torch if they "
        "are made with `python3 -m venv --system-site-packages`. sluice.Loader needs no torch",
        name="torch",
    ) from None

from _weakref import proxy

from . import _check, _sluice, batch
from ._loader_options import HINTS, WORDS
from ._names import choice
from .dataset import argument_hints
from .functions import Conversion
from .loader import Loader, Sampler

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._types import Source
    from .dataset import Dataset

__all__ = ["Batch", "DataLoader", "targets"]

SHUFFLE_NONE = WORDS["shuffle"][False]
LAYOUTS: dict[Any, str] = {
    torch.contiguous_format: "NCHW",
    torch.channels_last: "NHWC",
    "contiguous_format": "NCHW",
    "channels_last": "NHWC",
}


class Batch(batch.Batch):
    """A sluice.Batch of torch tensors."""

    __slots__ = ()

    def to(self, device: Any, non_blocking: bool = False) -> Batch:
        """Returns the batch with its columns and their parts on a device.

        'index', 'mask' and 'status' are copied when they are read. Columns without a `to`, such as
        lists of texts, stay as they are. The loader's memory is released once nobody holds the
        original batch.

        Args:
            device: device of torch.
            non_blocking: as in torch.Tensor.to [False].

        Returns:
            The batch on the device.

        Example:
            >>> with sluice.torch.DataLoader("photos", batch_size=4, transform=T.CenterCrop(32)) as loader:
            ...     images, labels = next(iter(loader)).to("cpu")
            >>> images.shape
            torch.Size([4, 3, 32, 32])
        """
        made = self._like(
            [column.to(device, non_blocking=non_blocking) if hasattr(column, "to") else column for column in self]
        )
        made._facts = Moved(made._facts, device)
        made._attach_parts()
        return made


class Moved(dict[str, "Any"]):
    """Tensors by name, which are copied to a device when they are read."""

    def __init__(self, tensors: Any, device: Any) -> None:
        super().__init__(tensors)
        self.device = device

    def __getitem__(self, name: str) -> Any:
        tensor = super().__getitem__(name)
        if hasattr(tensor, "to"):
            tensor = self[name] = tensor.to(self.device)
        return tensor


class Sequential(Sampler, torch.utils.data.SequentialSampler):
    """Sampler of a loader that does not shuffle: programs (Lightning's overfit_batches) look for
    torch's class.
    """


class DataLoader(Loader):
    """A sluice.Loader whose batches hold torch tensors; images are rows x channels x height x width.

    Args:
        dataset: as in sluice.Loader.
        batch_size: as in sluice.Loader [1].
        shuffle: as in sluice.Loader [False].
        memory_format: memory format of images: torch.contiguous_format or torch.channels_last; the
            latter is how files are stored and suits convolutions on a GPU; the shape is the same
            [contiguous_format].
        layout: as in sluice.Loader, instead of memory_format. With columns=, a columns.Image has
            layout='NCHW' unless it sets another ['NCHW'].
        device: as in sluice.Loader; 'cuda' and 'auto' choose torch's current GPU, not the first one
            ['cpu'].
        ignore_index: label of rows without a sample; cross_entropy ignores the default [-100].
        sampler: a torch.utils.data.WeightedRandomSampler, for its weights and num_samples; its
            generator is not used [None].
        arguments: all other arguments of sluice.Loader.

    Raises:
        TypeError: an argument is unknown or of the wrong type, or a sampler draws without
            replacement.
        ValueError: an argument is out of range.

    Example:
        >>> with sluice.torch.DataLoader("photos", batch_size=4, transform=T.CenterCrop(32)) as loader:
        ...     images, labels = next(iter(loader))
        >>> images.shape, labels.tolist()
        (torch.Size([4, 3, 32, 32]), [0, 0, 0, 0])
    """

    _batch = Batch
    _copies_on_device = True
    _derive_seed = staticmethod(torch.initial_seed)
    _layout = "NCHW"

    def __init__(
        self, dataset: Dataset | Source, batch_size: int = 1, shuffle: bool | str = False, *, memory_format: Any = None,
        layout: str | None = None, device: Any = None, ignore_index: int = -100, sampler: Any = None, **arguments: Any,
    ) -> None:  # fmt: skip
        if isinstance(sampler, torch.utils.data.WeightedRandomSampler):
            _take_weights(sampler, arguments)
            shuffle, sampler = True if shuffle is False else shuffle, None
        if memory_format is not None:
            if layout is not None:
                raise TypeError("memory_format and layout set the same: give one")
            layout = choice("memory_format", memory_format, LAYOUTS)
        if layout is None and arguments.get("columns") is None and arguments.get("transform") is not None:
            layout = "NCHW"
        layout = layout.upper() if isinstance(layout, str) else layout
        super().__init__(
            dataset, batch_size, shuffle, layout=layout, device=_current(device), ignore_index=ignore_index, sampler=sampler,
            **arguments,
        )  # fmt: skip
        nhwc = set()
        if arguments.get("columns") is None and layout == "NHWC":
            nhwc = {name for name, field in self.dataset.fields.items() if field.type == "image"}
        self._convert = _ToTorch(self._functions, nhwc)

    def _hook_context(self):
        """Returns a context with the stream of the thread that takes batches, on which work on them
        runs.
        """
        if not self._handle.on_device:
            return super()._hook_context()
        return torch.cuda.stream(torch.cuda.current_stream())

    def _own_sampler(self):
        return Sequential(proxy(self)) if self._is_in_order() else super()._own_sampler()

    def _is_in_order(self):
        """Returns True if each epoch is the dataset in its order."""
        options, *_, numbers = self._opened
        others = ("weight_field", "length_field", "buckets", "episode_classes", "repeats")
        return options["shuffle"] == SHUFFLE_NONE and not numbers and not any(options.get(name) for name in others)

    if not TYPE_CHECKING:
        __init__ = _check.named(__init__, Loader.__init__, hints=argument_hints("sluice.torch.DataLoader") | HINTS)
        __init__.__signature__ = _check.complete_signature(__init__, Loader.__init__)


def _current(device):
    """Returns the name of torch's current GPU for 'cuda' and 'auto': the library takes the first GPU,
    in each of several processes. 'auto' stays where the library cannot use a GPU that torch can use.
    """
    if str(device) not in ("cuda", "auto") or torch.version.cuda is None or not torch.cuda.is_available():
        return device
    if str(device) == "auto" and not _sluice.device_text("cuda")[0]:
        return device
    return f"cuda:{torch.cuda.current_device()}"


def _take_weights(sampler, arguments):
    """Adds a sampler's weights and num_samples to the arguments."""
    if not sampler.replacement:
        raise TypeError("sampler=WeightedRandomSampler(replacement=False): samples are drawn with replacement here: set replacement=True")
    in_order = arguments.get("order") if isinstance(arguments.get("order"), dict) else {}
    if any(given.get("weights") is not None or given.get("num_samples") for given in (arguments, in_order)):
        raise TypeError("weights and num_samples are given twice: sampler= has them, too")
    arguments |= {"weights": sampler.weights, "num_samples": sampler.num_samples}


class _ToTorch(Conversion):
    def __init__(self, functions, nhwc):
        super().__init__(functions)
        self.nhwc = nhwc

    def array(self, name, tensor, copy):
        try:
            made = torch.from_dlpack(tensor)
        except RuntimeError:
            if hasattr(torch, tensor.dtype):
                raise
            raise TypeError(f"column {name!r} is {tensor.dtype}, which torch {torch.__version__} lacks: give the column dtype='int64'") from None
        if copy:  # on the current stream, which waits for the batch since from_dlpack
            made = made.clone()
        return made.permute(0, 3, 1, 2) if name in self.nhwc else made

    def __call__(self, name, tensor, copy):
        array = self.array(name, tensor, copy)
        functions = self.functions.get(name)
        return array if functions is None else functions(array)


def targets(batch: Batch, *names: str) -> list[dict[str, Any]]:
    """Splits a batch into one dict per row, without a copy.

    torchvision's detection models take such dicts.

    Ragged columns are split at their offsets, padded ones are cut to their lengths, variable-size
    images have their own sizes, as in batch.pictures(name). Other columns ('index', an Image, a
    Mask) give the row itself. A column 'keypoints' with multiples of three becomes [boxes, points,
    3].

    Args:
        batch: a batch of sluice.torch.DataLoader.
        names: columns of the dicts ['boxes', 'labels'].

    Returns:
        A list of dicts, one per row.

    Raises:
        ValueError: a row has a different number of elements in two columns (texts excepted),
            because a column does not follow the boxes.

    Example:
        >>> columns = {"image": sluice.columns.Image(transform=T.Resize((30, 40))), "boxes": sluice.columns.Boxes(),
        ...            "labels": sluice.columns.Ragged()}
        >>> with sluice.torch.DataLoader("detection", batch_size=3, columns=columns) as loader:
        ...     [len(row["labels"]) for row in sluice.torch.targets(next(iter(loader)))]
        [0, 1, 2]
    """
    names = names or ("boxes", "labels")
    pieces = {name: _rows_of(batch, name) for name in names}
    _check_lengths(batch, pieces)
    if "keypoints" in pieces:
        pieces["keypoints"] = [_points_of(rows) for rows in pieces["keypoints"]]
    return [{name: pieces[name][row] for name in names} for row in range(batch.rows)]


def _check_lengths(batch, pieces):
    """Raises ValueError if a row has more elements of one variable-length column than of the first;
    texts are exempt.
    """
    listed = [name for name in pieces if any(f"{name}.{part}" in batch for part in ("offsets", "lengths", "shapes"))]
    listed = [name for name in listed if f"{name}.sizes" not in batch and not _is_text(batch[name])]
    for name in listed[1:]:
        for row, (first, other) in enumerate(zip(pieces[listed[0]], pieces[name])):
            if len(first) != len(other):
                raise ValueError(
                    f"row {row} has {len(first)} {listed[0]!r} and {len(other)} {name!r}: write follows={listed[0]!r} in column "
                    f"{name!r}, which then loses the elements of boxes that are dropped"
                )


def _is_text(column):
    return column.dtype == torch.uint8 and column.ndim == 1


def _points_of(rows):
    return rows.view(len(rows), rows.shape[1] // 3, 3) if rows.ndim == 2 and rows.shape[1] % 3 == 0 else rows


def _rows_of(batch, name):
    if f"{name}.sizes" in batch or f"{name}.shapes" in batch:
        return batch.pictures(name)
    column = batch[name]
    if f"{name}.offsets" in batch:
        offsets = batch[f"{name}.offsets"].tolist()
        return [column[begin:end] for begin, end in zip(offsets, offsets[1:])]
    if f"{name}.lengths" in batch:
        return [column[row][:length] for row, length in enumerate(batch[f"{name}.lengths"].tolist())]
    return list(column)
