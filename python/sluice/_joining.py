# SPDX-License-Identifier: Apache-2.0
"""Datasets made of others."""
from __future__ import annotations

import array
import operator
import os
from collections.abc import Mapping

from . import _check, _foreign, _sluice
from .dataset import Dataset, Made, opened

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ._types import Labels, Source


def concat(
    datasets: Sequence[Dataset | Source], *, fields: Sequence[str] | None = None, labels: Labels = "same",
    allow_case_duplicates: bool = False,
) -> Dataset:  # fmt: skip
    """Joins several datasets of any formats, one after the other.

    Field names and types must agree; sizes of tensors may differ. `a + b` is concat([a, b]).

    Args:
        datasets: a list of datasets, paths, or datasets of torch (as for a Loader).
        fields: fields to keep, which all datasets have [all].
        labels: how to join classes. 'same': the datasets that have class names must have the same
            ones in the same order. 'union': classes with the same name become one, in order of
            first appearance, and `label` is renumbered; the first dataset's numbers stay. A list of
            names: exactly these classes, in this order. A dict renames classes first, {"kitty":
            "cat"}: several may become one, None removes a class (label -1), and other names stay.
            If classes have no names, the dict's keys are their numbers, {0: "cat", 1: "dog"};
            without a dict, such datasets can only be joined with 'same'. For a single dataset, the
            result is that dataset with other classes ['same'].
        allow_case_duplicates: True keeps classes of different datasets apart whose names differ
            only in case; otherwise they are an error [False].

    Returns:
        The joined dataset.

    Raises:
        InvalidError: fields or classes do not agree.

    Example:
        >>> len(sluice.concat([data, "photos"]))
        24
    """
    return Made("concat", _datasets(datasets), (_names(fields), labels_of(labels, allow_case_duplicates)))


def mix(
    datasets: Mapping[Dataset, float] | Sequence[Dataset],
    weights: Sequence[float] | Mapping[int, Sequence[float]] | None = None,
    *, epoch_samples: int | None = None, fields: Sequence[str] | None = None, labels: Labels = "same",
    allow_case_duplicates: bool = False,
) -> Dataset:  # fmt: skip
    """Joins several datasets so that their samples come in given proportions.

    Write mix({a: 0.7, b: 0.3}) or mix([a, b], [7, 3]).

    At any point, the count of each dataset's samples is within one of its proportion. The samples
    of a dataset come in the order of the Loader's `shuffle`, reshuffled when they are used up; no
    sample repeats before all others have come, also across epochs. With columns.Window and
    columns.Packed, windows and rows are counted and mixed instead of samples.

    Args:
        datasets: a list of datasets, or a dict of weights by dataset.
        weights: one number for each dataset; or {epoch: numbers}, each valid from that epoch on,
            with an entry for epoch 0 [equal].
        epoch_samples: samples of an epoch [the sum of all datasets].
        fields: as in concat [all].
        labels: as in concat ['same'].
        allow_case_duplicates: as in concat [False].

    Returns:
        The mixed dataset.

    Raises:
        TypeError: weights are given twice.
        ValueError: there are more or fewer weights than datasets.

    Example:
        >>> cats = data.where('label == "cat"')
        >>> mixed = sluice.mix([data, cats], [1, 3], epoch_samples=20)
        >>> with sluice.Loader(mixed, batch_size=4, transform=T.CenterCrop(32)) as loader:
        ...     len(loader)
        5
    """
    if isinstance(datasets, Mapping):
        if weights is not None:
            raise TypeError("mix: weights are given twice: in the dict of datasets, and as weights=")
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
    return Made("mix", datasets, (numbers, epochs, epoch_samples, _names(fields), labels))


def balance(data: Dataset, field: str = "label", *, epoch_samples: int | None = None) -> Dataset:
    """Makes a mix in which all classes of a dataset come equally often.

    A class is the set of samples with the same number in `field`. Reads every sample once, as
    Dataset.where does. Samples without the field, or with NaN in it, are left out.

    Args:
        data: the dataset.
        field: number field that has the class ['label'].
        epoch_samples: samples of an epoch [as in mix].

    Returns:
        The mixed dataset.

    Raises:
        ValueError: no sample has the field.

    Example:
        >>> balanced = sluice.balance(data, epoch_samples=30)
        >>> with sluice.Loader(balanced, batch_size=10, transform=T.CenterCrop(32)) as loader:
        ...     len(loader)
        3
    """
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
    if not isinstance(datasets, (list, tuple)):  # a dataset could be iterated as well, sample by sample
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


def labels_of(labels: Any, allow_case_duplicates: Any) -> Any:
    """Returns labels in the library's form: None, or (classes, from, to, allow_case_duplicates)."""
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
    raise ValueError(f"{name} is empty: expected at least one name")


def _names(fields):
    return None if fields is None else _check.texts("fields", fields, "a list of names")
