# SPDX-License-Identifier: Apache-2.0
"""The library's table of options, compared with the package's parameters and their descriptions."""
import inspect

import pytest

import sluice
from sluice import _check, _names, columns as C

CALLS = {"loader": sluice.Loader, "dataset": sluice.Dataset, "writer": sluice.Writer, "pack": sluice.pack, "unpack": sluice.unpack, "verify": sluice.Dataset.verify}  # fmt: skip
COLUMNS = tuple(getattr(C, name) for name in C.__all__)


def parts(struct):
    """Returns (names of parameters, their descriptions)."""
    if struct == "column":
        return {name for kind in COLUMNS for name in inspect.signature(kind).parameters} | {"classes"}, "\n".join(
            text for kind in (*COLUMNS, C.Column) for text in (kind.__doc__, kind.__init__.__doc__ or "")
        )
    call = CALLS[struct]
    function = call.__init__ if isinstance(call, type) else call
    return set(function.names if hasattr(function, "names") else inspect.signature(function).parameters), "\n".join(filter(None, (call.__doc__, function.__doc__)))


@pytest.mark.parametrize("struct", _names.STRUCTS)
def test_all_are_arguments(struct):
    names, text = parts(struct)
    assert _names.TABLES[struct]
    for keyword, option in _names.keywords(struct).items():
        assert keyword in names, keyword
        assert keyword in text or keyword == "dtype", keyword


@pytest.mark.parametrize("struct", _names.STRUCTS)
def test_all_words_are_said(struct):
    """Except those for which an argument has other words: exif=True, dtypes' long names."""
    _, text = parts(struct)
    for keyword, option in _names.keywords(struct).items():
        if option.words and keyword not in ("exif", "dtype"):
            said = text.lower()
            missing = [word for word in option.choices if f"'{word}'" not in said and (keyword, word) != ("shuffle", "none")]
            assert not missing, (keyword, missing)


@pytest.mark.parametrize("keyword", ["shuffle", "last_batch", "on_bad_sample", "io", "page_cache"])
def test_every_word_is_taken(keyword):
    option = _names.keywords("loader")[keyword]
    for number, word in enumerate(option.choices):
        assert _names.values(sluice.Loader.__init__, "loader", {keyword: word}) == {option.name: number}


def test_dtypes_are_the_librarys():
    assert list(_names.DTYPE_NAMES.values()) == [
        "uint8", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint16", "uint32", "uint64", "float64", "bool",
    ]  # fmt: skip
    for number, name in _names.DTYPE_NAMES.items():
        assert _names.dtype_number(name) == number == _names.dtype_number(sluice._sluice.dtype_name(number))


def test_one_that_the_signature_has_not():
    class Call:
        def __init__(self, known: int = 0) -> None:
            self.known = known

        __init__ = _check.named(__init__, more={"known": None, "new_one": _names.TABLES["loader"]["io_depth"]})

    class Shown:
        def shown(self, known: int = 0, **rare: int) -> None:
            """The rest."""

        __init__ = _check.named(lambda self, known=0, other=1: None, more={"new_one": _names.TABLES["loader"]["io_depth"]}, shown=shown)

    assert list(inspect.signature(Shown).parameters) == ["known", "rare"]
    assert Shown.__init__.__doc__.startswith("The rest.\n\nArgs:\n    new_one: reads in flight") and Shown(new_one=5)._more == {"new_one": 5}
    assert Call(1, new_one=5)._more == {"new_one": 5} and Call(known=2)._more == {"new_one": None}
    assert "new_one" in inspect.signature(Call).parameters and "new_one: reads in flight" in Call.__init__.__doc__
    with pytest.raises(TypeError, match="did you mean 'new_one'"):
        Call(new_on=5)


def test_none_is_a_default_where_the_signature_says_so():
    assert _names.values(sluice.Loader.__init__, "loader", {"num_workers": None}) == {}
    for keyword in ("shuffle", "seed", "on_bad_sample"):
        with pytest.raises((TypeError, ValueError), match=keyword):
            _names.values(sluice.Loader.__init__, "loader", {keyword: None})
