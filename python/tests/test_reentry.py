# SPDX-License-Identifier: Apache-2.0
"""Code of the values passed to a call runs inside the call, and removes the objects that the call is using. Each
call may end in its own way; the test, above all under AddressSanitizer, is that it ends."""
import array
import threading

import pytest

import sluice
from sluice import _sluice


class Thief:
    """A number, or a path, that empties a list or dict when it is converted."""

    def __init__(self, victim, value):
        self.victim, self.value = victim, value

    def __index__(self):
        self.victim.clear()
        return self.value

    __fspath__ = __index__


def key(name):
    """Returns a text without other references."""
    return "".join(list(name))


NOTHING = (0, 0, 0, 0, 0)  # a field's meaning


def writer(path, fields=None):
    return _sluice.Writer(path, {}, fields or [("x", 2, 0, (), 0, NOTHING, ""), ("y", 5, 0, (), 0, NOTHING, "")], [])


def test_values_of_a_sample(tmp_path):
    made = writer(tmp_path / "packed")
    values = []
    values += [Thief(values, 7), key("a text that goes")]
    made.add(values)
    made.finish()
    assert values == [] and sluice.Dataset(tmp_path / "packed")[0] == {"x": 7, "y": "a text that goes"}


def test_fields_of_a_writer(tmp_path):
    fields = []
    fields += [(key("x"), Thief(fields, 2), 0, (), 0, NOTHING, ""), (key("y"), 2, 0, (), 0, NOTHING, "")]
    made = writer(tmp_path / "packed", fields)
    made.add([1, 2])
    made.finish()
    assert fields == [] and sluice.Dataset(tmp_path / "packed")[0] == {"x": 1, "y": 2}


def test_options(tmp_path):
    options = {}
    options[key("zstd_level")] = Thief(options, 1 << 40)
    with pytest.raises(sluice.InvalidError, match="zstd is out of range: 1099511627776, expected"):
        _sluice.Writer(tmp_path / "packed", options, [("x", 2, 0, (), 0, NOTHING, "")], [])


def test_paths(photos):
    paths = []
    paths += [Thief(paths, str(photos)), Thief(paths, str(photos))]
    with pytest.raises(sluice.Error):  # the same folder twice is not a dataset; both were examined
        _sluice.Dataset(paths, {}, None, [])
    fields = []
    fields += [Thief(fields, key("a=b")), Thief(fields, key("c=d"))]
    with pytest.raises(sluice.Error):
        _sluice.Dataset([str(photos)], {}, None, fields)


def test_columns_of_a_loader(data):
    def steps():
        columns.clear()
        yield "random_resized_crop", 16, 16, 0.5, 1.0, 1.0, 1.0

    columns = [{"kind": 1, "field": key("image"), "name": key("a"), "recipe": steps()}, {key("kind"): 2, key("field"): key("label")}]
    loader = _sluice.Loader(data._handle, {"batch_size": 4}, None, columns, 1000, [], False)
    loader.start(0)
    assert loader.next(None).keys()[:2] == ["a", "label"]


def test_names_that_another_thread_takes_away(data):
    """Names are read while other threads run."""
    names, over = [], threading.Event()

    def take_away():
        while not over.is_set():
            names[:] = [key("image"), key("label")]

    thread = threading.Thread(target=take_away)
    names[:] = [key("image"), key("label")]
    thread.start()
    try:
        for _ in range(300):
            assert _sluice.concat([data._handle] * 2, names, None).info()["fields"] == 2
            _sluice.mix([data._handle] * 2, array.array("d", [1, 1]), array.array("Q", [0]), 0, names, None)
    finally:
        over.set()
        thread.join()


def test_weights_that_are_not_there(data):
    with pytest.raises(ValueError, match="a weight for each"):
        _sluice.mix([data._handle] * 2, array.array("d", [1]), array.array("Q", [0]), 0, None, None)
